//! The events of observers, and the values that telemetry never contains.

use super::*;

/// Keeps its events as text, and adds headers.
#[derive(Debug, Default)]
pub(super) struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn note(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }

    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Observer for Notes {
    fn before_send(&self, sending: &mut Sending<'_>) {
        for name in ["x-trace", "authorization", "x-ms-version", "content-type"] {
            let name = HeaderName::from_static(name);
            sending.insert_header(name, HeaderValue::from_static("mine"));
        }
        self.note(format!("{sending:?}"));
    }

    fn after_receive(&self, received: &Received<'_>) {
        let Received { attempt, waited, outcome, .. } = received;
        let names = ["location", "dataserviceid", "x-ms-continuation-nextpartitionkey"];
        let headers = names.map(|name| received.header(name));
        let id = received.header("x-ms-request-id");
        self.note(format!("{attempt} {waited:?} {outcome:?} {headers:?} {id:?} of {received:?}"));
    }

    fn call_finished(&self, finished: &Finished<'_>) {
        let outcome = match finished.outcome {
            CallOutcome::Succeeded => "succeeded",
            CallOutcome::Expected(_) => "expected",
            CallOutcome::Failed(_) => "failed",
            CallOutcome::Dropped => "dropped",
        };
        let Finished { operation, attempts, retries, pages, rows, .. } = finished;
        let by = if finished.by_earlier_attempt { " by an earlier attempt" } else { "" };
        self.note(format!("{operation} {outcome} {attempts} {retries} {pages} {rows}{by}"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_header_of_an_observer_is_sent_and_those_of_the_client_stay() {
    let mock = mock_with(0).await;
    let recording = Recording::of(mock.transport());
    let notes = Arc::new(Notes::default());
    let service =
        builder(&mock).transport(recording.clone()).observer(notes.clone()).build().unwrap();
    // The signature is checked.
    cities(&service).insert(&entity()).client_request_id("import-42").await.unwrap();
    cities(&service).get(KEY).await.unwrap();
    let sent = recording.take_requests();
    for request in &sent {
        assert_eq!(request.headers["x-trace"], "mine");
        assert_ne!(request.headers["x-ms-version"], "mine");
        assert_ne!(request.headers[header::AUTHORIZATION], "mine");
    }
    assert_eq!(sent[0].headers["x-ms-client-request-id"], "import-42");
    let told = notes.take();
    assert!(told[1].contains("import-42") && !told[1].contains("None of"), "{told:?}");
    assert!(!sent[1].headers.contains_key(header::CONTENT_TYPE));
}

#[tokio::test(start_paused = true)]
async fn observers_are_told_of_attempts_waits_and_ends() {
    let mock = mock_with(0).await;
    let (notes, stats) = (Arc::new(Notes::default()), Arc::new(ClientStats::default()));
    let service = builder(&mock).observer(notes.clone()).observer(stats.clone()).build().unwrap();
    let table = cities(&service);
    mock.faults().add(Fault::busy().times(1));
    table.insert(&entity()).await.unwrap();
    let told = notes.take();
    assert!(told[1].starts_with("1 0ns Responded(503)"), "{told:?}");
    assert!(told[3].starts_with("2 3s Responded(204)"), "{told:?}");
    assert_eq!(told[4], "Insert succeeded 2 1 0 0");
    let counts = stats.of(Operation::Insert);
    assert_eq!((counts.calls, counts.requests, counts.retries, counts.throttled), (1, 2, 1, 1));
    assert_eq!((counts.waited, counts.failed), (Duration::from_secs(3), 0));
    assert!(counts.bytes_out > 0 && counts.bytes_in > 0 && counts.time >= counts.waited);

    // The row exists.
    table.insert(&entity()).await.unwrap_err();
    assert_eq!(notes.take().pop().unwrap(), "Insert failed 1 0 0 0");
    assert_eq!(stats.of(Operation::Insert).failed, 1);
    table.get_if_exists(("no", "one")).await.unwrap();
    assert_eq!(notes.take().pop().unwrap(), "Get succeeded 1 0 0 0");
    table.query().await.unwrap();
    assert_eq!(notes.take().pop().unwrap(), "Query succeeded 1 0 1 1");

    // The future is dropped before its response comes.
    mock.faults().add(Fault::hang());
    let get = tokio::time::timeout(Duration::from_secs(1), table.get(KEY).into_future());
    get.await.unwrap_err();
    let told = notes.take();
    assert!(told[1].starts_with("1 0ns Dropped"), "{told:?}");
    assert_eq!(told[2], "Get dropped 1 0 0 0");
    assert_eq!(stats.of(Operation::Get).dropped, 1);
    let used: Vec<_> = stats.by_operation().into_iter().map(|(operation, _)| operation).collect();
    assert_eq!(used, [Operation::Insert, Operation::Get, Operation::Query]);
    assert_eq!(stats.total().calls, 5);
}

#[tokio::test(start_paused = true)]
async fn a_throttled_slice_of_a_bulk_run_is_reckoned_with() {
    let mock = mock_with(0).await;
    let stats = Arc::new(ClientStats::default());
    let notes = Arc::new(Notes::default());
    let service = builder(&mock).observer(stats.clone()).observer(notes.clone()).build().unwrap();
    mock.faults().add(Fault::busy().times(1));
    let rows = (0..150).map(|n| DynamicEntity::new("p", format!("{n:04}")));
    cities(&service).bulk().run(rows.map(BulkOperation::Insert)).await.unwrap();
    let counts = stats.total();
    assert_eq!((counts.failed, counts.throttled), (0, 1));
    assert!(counts.requests >= 3);
    assert!(notes.take().iter().any(|note| note.contains("expected")));
}

#[tokio::test(start_paused = true)]
async fn no_secret_no_key_and_no_value_is_told() {
    const SECRET: &str = "c2VjcmV0LXNlY3JldC1zZWNyZXQ=";
    let sas = "sv=2019-02-02&sp=r&sig=c2VjcmV0LXNlY3JldC1zZWNyZXQ%3D";
    let shared = MockTableService::builder().account("me", SECRET).unwrap().build();
    let loose = MockTableService::builder().loose(true).build();
    let endpoint = "http://127.0.0.1:10002/me";
    for (mock, credential) in [
        (shared, SharedKey::new("me", SECRET).unwrap().into()),
        (loose, crate::auth::Credential::from(SasToken::new(sas).unwrap())),
    ] {
        let endpoint = if mock.connection_string().contains("/me") {
            endpoint
        } else {
            "http://127.0.0.1:10002/devstoreaccount1"
        };
        let recording = Recording::of(mock.transport());
        let notes = Arc::new(Notes::default());
        let service = TableServiceClient::builder(endpoint, credential)
            .transport(recording.clone())
            .clock(mock.clock())
            .observer(notes.clone())
            .retry(RetryPolicy::fixed(2, Duration::from_secs(3)))
            .build()
            .unwrap();
        Recorder::start();
        let table = cities(&service);
        table.create().await.unwrap();
        table.insert(&entity()).await.unwrap();
        table.insert(&entity()).await.unwrap_err();
        table.get(KEY).await.unwrap();
        table.get(("Zanzibar", "Zanzibar")).await.unwrap_err();
        table.query().filter_text("City eq 'Ouagadougou'").await.unwrap();
        table.query().filter_text("PartitionKey eq 'Zanzibar'").page_size(1).await.unwrap();
        table.transaction().merge(&entity(), IfMatch::Any).await.unwrap();
        // The response is lost, and the row is read back.
        mock.faults().add(Fault::lose_reply().times(1));
        table.merge(&entity(), IfMatch::Any).await.unwrap();
        table.delete(KEY, IfMatch::Any).await.unwrap();
        mock.faults().add(Fault::lose_reply().times(1));
        assert!(
            table.insert(&entity()).await.unwrap().confirmation != crate::Confirmation::Response
        );
        let told = format!("{} {}", Recorder::take().text(), notes.take().join(" "));
        assert!(told.contains("Cities") && told.contains("REDACTED"));
        let sent = recording.take_requests();
        let signatures = sent.iter().filter_map(|request| {
            let value = request.headers.get(header::AUTHORIZATION)?.to_str().ok()?;
            Some(value.split(':').nth(1)?.to_owned())
        });
        let hidden = ["Zanzibar", "Samarkand", "Ouagadougou", "c2VjcmV0", "sig=", "SharedKey"];
        for secret in hidden.map(str::to_owned).into_iter().chain(signatures) {
            assert!(!told.contains(&secret), "{secret} in {told}");
        }
    }
}
