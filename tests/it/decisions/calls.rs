//! Decisions that concern several calls, and the settings of a client.

use super::*;

/// A permanent refusal is not retried, at either endpoint.
#[tokio::test(start_paused = true)]
async fn permanent_refusals_are_not_retried() {
    for status in [400, 401, 403, 404, 405, 409, 412, 413, 415, 416, 501, 505] {
        for mode in [LocationMode::PrimaryOnly, LocationMode::PrimaryThenSecondary] {
            let script = script(&[Answer(status, "Refused", NO)]);
            let table = builder(&script).locations(mode).build().unwrap().table_named("Blogs");
            assert_eq!(call(&table, Call::Get).await, End::Refused(status, Outcome::NotApplied));
            assert_eq!(script.requests().len(), 1, "{status}");
        }
    }
}

/// Once a clock skew is known, later calls sign with the service's time too.
#[tokio::test(start_paused = true)]
async fn the_clock_skew_is_remembered() {
    let off = Answer(403, "AuthenticationFailed", ("date", "Sun, 06 Nov 1994 06:00:00 GMT"));
    let script = script(&[off]);
    let table = builder(&script).build().unwrap().table_named("Blogs");
    assert_eq!(call(&table, Call::Insert).await, End::Done);
    assert_eq!(call(&table, Call::Insert).await, End::Done);
    assert_eq!(script.requests().len(), 3);
}

/// Calls in flight when the skew is learned are signed again with the corrected date.
#[tokio::test(start_paused = true)]
async fn all_calls_use_a_learned_clock_skew() {
    let mock = MockTableService::new();
    let table = mock.client().table_named::<DynamicEntity>("Blogs");
    table.create().await.unwrap();
    table.insert(&row()).await.unwrap();
    mock.faults().clock_ahead(Duration::from_secs(60 * 60));
    let table = mock.client().table_named::<DynamicEntity>("Blogs");
    let calls = (0..20).map(|_| tokio::spawn(table.get(("p", "r")).into_future()));
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap().unwrap();
    }
}

/// Calls that are dropped while they wait use no retry token.
#[tokio::test(start_paused = true)]
async fn dropped_calls_use_no_retry_token() {
    let script = script(&[BUSY; 100]);
    let client = builder(&script).retry(RetryPolicy::fixed(3, Duration::from_secs(60)));
    let table = client.retry_budget(Some(20)).build().unwrap().table_named("Blogs");
    for _ in 0..100 {
        let call = call(&table, Call::Get);
        assert!(tokio::time::timeout(Duration::from_secs(1), call).await.is_err());
    }
    script.play(in_turn([BUSY]));
    assert_eq!(call(&table, Call::Get).await, End::ReadAt(Location::Primary));
}

/// With a deadline of zero, no request is sent.
#[tokio::test(start_paused = true)]
async fn a_deadline_of_zero_sends_nothing() {
    let script = script(&[]);
    let table = builder(&script).build().unwrap().table_named::<DynamicEntity>("Blogs");
    let error = table.insert(&row()).deadline(Duration::ZERO).await.unwrap_err();
    assert_eq!((error.kind(), error.outcome()), (ErrorKind::Timeout, Outcome::NotApplied));
    assert!(script.requests().is_empty());
}

/// In an outage, retries stop for all calls of a client, and resume with the service.
#[tokio::test(start_paused = true)]
async fn an_outage_is_not_multiplied() {
    let script = script(&[BUSY; 100]);
    let client = builder(&script).retry(RetryPolicy::fixed(3, Duration::ZERO));
    let client = client.retry_budget(Some(50)).build().unwrap();
    let table = client.table_named("Blogs");
    for _ in 0..90 {
        let result = call(&table, Call::Get).await;
        assert_eq!(result, End::Refused(503, Outcome::NotApplied));
    }
    assert_eq!(script.requests().len(), 100, "90 calls, and 10 retries for 50 tokens");
    for _ in 0..15 {
        assert_eq!(call(&table, Call::Get).await, End::ReadAt(Location::Primary));
    }
    script.play(in_turn([BUSY; 3]));
    assert_eq!(call(&table, Call::Get).await, End::ReadAt(Location::Primary), "with 15 tokens");
}

/// `max_in_flight` bounds the requests in flight, and a call that waits too long for a permit fails
/// with an error.
#[tokio::test(start_paused = true)]
async fn requests_wait_for_a_permit() {
    let script = script(&[Late(10, 204); 7]);
    let client = builder(&script).max_in_flight(3).try_timeout(Duration::from_secs(60));
    let table = client.build().unwrap().table_named::<DynamicEntity>("Blogs");
    let calls = (0..7).map(|_| tokio::spawn(table.insert(&row()).into_future()));
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap().unwrap();
    }
    let times: Vec<u64> = script.times().iter().map(Duration::as_secs).collect();
    assert_eq!(times, [0, 0, 0, 10, 10, 10, 20]);

    script.play(in_turn([Late(10, 204); 3]));
    let calls: Vec<_> = (0..3).map(|_| tokio::spawn(table.insert(&row()).into_future())).collect();
    tokio::task::yield_now().await;
    let late = table.insert(&row()).deadline(Duration::from_secs(5)).await.unwrap_err();
    assert_eq!((late.kind(), late.outcome()), (ErrorKind::Timeout, Outcome::NotApplied));
    assert_eq!((late.attempts(), script.requests().len()), (0, 10), "nothing was sent");
    for call in calls {
        call.await.unwrap().unwrap();
    }
}

/// The request states a timeout to the service if it is shorter than the service's own limit.
#[tokio::test(start_paused = true)]
async fn the_remaining_time_is_sent_to_the_service() {
    let slow = Scripted::alone(|_| {
        Step::respond(answer(503, "ServerBusy", NO)).after(sleep(Duration::from_secs(7)))
    });
    let key = SharedKey::new(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY).unwrap();
    let client = TableServiceClient::builder("https://me.example.com", key)
        .transport(slow.clone())
        .retry(RetryPolicy::fixed(9, Duration::ZERO))
        .proof(Proof::Response)
        .build()
        .unwrap();
    let table = client.table_named::<DynamicEntity>("Blogs");
    let call = table.get(("p", "r")).deadline(Duration::from_secs(40));
    call.await.unwrap_err();
    let urls: Vec<_> = slow.requests().iter().map(|request| request.uri.to_string()).collect();
    let timeouts: Vec<_> =
        urls.iter().map(|url| url.split_once("timeout=").map(|(_, t)| t)).collect();
    assert_eq!(timeouts, [None, None, Some("26"), Some("19"), Some("12"), Some("5")], "{urls:?}");
}

/// Reads that prepare a write go to the primary.
#[tokio::test(start_paused = true)]
async fn reads_before_writes_go_to_the_primary() {
    let script = script(&[LOST, Answer(409, "EntityAlreadyExists", NO), BUSY]);
    let client = builder(&script).locations(LocationMode::SecondaryThenPrimary);
    let client = client.proof(Proof::default()).retry(RetryPolicy::fixed(3, Duration::ZERO));
    let table = client.build().unwrap().table_named::<DynamicEntity>("Blogs");
    assert!(
        table.insert(&row()).await.unwrap().confirmation
            != azure_table_client::Confirmation::Response
    );
    let change = |row: &mut DynamicEntity| {
        row.set("A", 1);
    };
    table.update_with(("p", "r"), change).await.unwrap();
    let sent = sent(&script);
    assert!(sent.iter().all(|(_, what)| what.ends_with("primary")), "{sent:?}");
    assert_eq!(sent.len(), 6);
}

/// The replication lag is read from the secondary, in every location mode.
#[tokio::test(start_paused = true)]
async fn the_replication_lag_is_read_from_the_secondary() {
    let told = async |body: &'static str| {
        let stats = Scripted::always(HttpResponse { body: body.into(), ..answer(200, "", NO) });
        let key = SharedKey::new(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY).unwrap();
        let client = TableServiceClient::builder("https://me.example.com", key)
            .secondary_endpoint("https://me-secondary.example.com")
            .transport(stats.clone());
        let told = client.build().unwrap().stats().await;
        let url = "https://me-secondary.example.com/?restype=service&comp=stats";
        assert_eq!(stats.requests().len(), 1);
        assert_eq!(stats.last().uri, url);
        told
    };
    let stats = told(
        "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceStats><GeoReplication>\
         <Status>live</Status><LastSyncTime>Sun, 06 Nov 1994 08:49:37 GMT</LastSyncTime>\
         </GeoReplication></StorageServiceStats>",
    );
    let stats = stats.await.unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
    assert_eq!((stats.replication, stats.last_sync), (Replication::Live, Some(time)));
    let stats = told(
        "<StorageServiceStats><GeoReplication><Status>bootstrap</Status><LastSyncTime></LastSyncTime>\
         </GeoReplication></StorageServiceStats>",
    );
    let stats = stats.await.unwrap();
    assert_eq!((stats.replication, stats.last_sync), (Replication::Bootstrap, None));
    let error = told("<StorageServiceStats/>").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnexpectedReply);
    let key = SharedKey::new(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY).unwrap();
    let client = TableServiceClient::builder("https://me.example.com", key).build().unwrap();
    let error = client.stats().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

/// The address of the secondary, and endpoints without a known secondary.
#[tokio::test(start_paused = true)]
async fn a_secondary_must_be_known() {
    let key = || SharedKey::new(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY).unwrap();
    let client = TableServiceClient::builder("https://me.example.com", key());
    let error = client.locations(LocationMode::SecondaryOnly).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    let client = TableServiceClient::builder("https://me.example.com", key());
    let client = client.secondary_endpoint("http://copy.example.com");
    let error = client.locations(LocationMode::SecondaryOnly).build().unwrap_err();
    assert!(error.to_string().contains("plain HTTP"), "{error}");

    let script = script(&[]);
    let table = builder(&script).locations(LocationMode::SecondaryThenPrimary).build().unwrap();
    let results = table.table_named::<DynamicEntity>("Blogs").query().matching(
        &azure_table_client::filter::Filter::parse("PartitionKey eq 'p' and RowKey eq 'r'")
            .unwrap(),
    );
    assert_eq!(results.await.unwrap().cost.secondary_pages, 1);
}
