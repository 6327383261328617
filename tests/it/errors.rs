//! The contents of an error: the entity, the wait that the service requests, and its text.

use std::time::Duration;

use azure_table_client::context::{SaveOptions, TableContext};
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{
    DynamicEntity, EntityKey, Error, ErrorCode, ErrorKind, IfMatch, Operation, Outcome,
    RetryPolicy, TableClient, TableEntity, TableServiceClient,
};
use azure_table_tests::scripted::{Scripted, response};

const KEY: (&str, &str) = ("it's", "100% é");

fn row() -> DynamicEntity {
    DynamicEntity::new(KEY.0, KEY.1)
}

fn client(mock: &MockTableService) -> TableServiceClient {
    mock.client_builder().retry(RetryPolicy::fixed(2, Duration::from_secs(1))).build().unwrap()
}

async fn blogs(mock: &MockTableService) -> TableClient<DynamicEntity> {
    let blogs = client(mock).table_named("Blogs");
    blogs.create().await.unwrap();
    blogs
}

/// Checks that an error names the entity, and that its text names it once.
#[track_caller]
fn assert_names(error: &Error, key: (&str, &str)) {
    let key = EntityKey::from(key);
    assert_eq!(error.entity_key(), Some(&key), "{error}");
    let text = error.to_string();
    assert_eq!(text.matches(&key.to_string()).count(), 1, "{text}");
}

async fn all_calls(table: &TableClient<DynamicEntity>, key: (&str, &str)) -> Vec<Error> {
    let mut row = DynamicEntity::new(key.0, key.1);
    row.set("Text", "Hello");
    let mut errors = vec![
        table.insert(&row).await.unwrap_err(),
        table.get(key).await.unwrap_err(),
        table.get_if_exists(key).await.unwrap_err(),
        table.merge(&row, IfMatch::Any).await.unwrap_err(),
        table.replace(&row, IfMatch::Any).await.unwrap_err(),
        table.insert_or_merge(&row).await.unwrap_err(),
        table.insert_or_replace(&row).await.unwrap_err(),
        table.delete(key, IfMatch::Any).await.unwrap_err(),
        table.delete_if_exists(key, IfMatch::Any).await.unwrap_err(),
        table.update_with(key, |_| {}).await.unwrap_err(),
        table.get_or_insert(&row).await.unwrap_err(),
    ];
    errors.push(table.get_or_insert_with(key, || row.clone()).await.unwrap_err());
    errors
}

#[tokio::test(start_paused = true)]
async fn every_call_about_one_entity_names_it() {
    let mock = MockTableService::new();
    let missing = client(&mock).table_named::<DynamicEntity>("Missing");
    for error in all_calls(&missing, KEY).await {
        assert_eq!(error.kind(), ErrorKind::Service, "{error}");
        assert_names(&error, KEY);
    }
    let blogs = blogs(&mock).await;
    for fault in
        [Fault::hang(), Fault::lose_reply(), Fault::proxy_page(502), Fault::refuse_connection()]
    {
        mock.faults().add(fault);
        for error in all_calls(&blogs, KEY).await {
            assert_names(&error, KEY);
        }
        mock.faults().clear();
    }
    // Nothing is sent.
    let before = mock.requests().total();
    for error in all_calls(&blogs, ("a/b", "1")).await {
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0), "{error}");
        assert_names(&error, ("a/b", "1"));
    }
    let call = blogs.insert(&row()).client_request_id("line\nbreak");
    assert_names(&call.await.unwrap_err(), KEY);
    assert_eq!(mock.requests().total(), before);
}

#[tokio::test(start_paused = true)]
async fn long_keys_are_shortened_in_errors() {
    let mock = MockTableService::new();
    let blogs = blogs(&mock).await;
    let long = "字".repeat(500);
    let key = (&*long, &*"é".repeat(400));
    let error = blogs.get(key).await.unwrap_err();
    assert_eq!(error.code(), Some(&ErrorCode::ResourceNotFound));
    assert_eq!(error.entity_key(), Some(&EntityKey::from(key)));
    let text = error.to_string();
    assert!(text.contains("字…") && text.chars().count() < 600, "{text}");
}

#[tokio::test(start_paused = true)]
async fn errors_of_a_save_name_their_entities() {
    let mock = MockTableService::new();
    let mut ctx = TableContext::new(&client(&mock));
    let blogs = blogs(&mock).await;
    blogs.insert(&DynamicEntity::new("p", "2")).await.unwrap();
    for row_key in ["1", "2"] {
        ctx.table_named("Blogs").add(&DynamicEntity::new("p", row_key)).unwrap();
    }
    let options = SaveOptions::each().continue_on_error();
    let saved = ctx.save_changes_with(options).await.unwrap_err();
    assert_eq!((saved.report.applied(), saved.report.failed()), (1, 1));
    assert_names(&saved.error, ("p", "2"));
    assert_eq!(saved.error.code(), Some(&ErrorCode::EntityAlreadyExists));
}

#[tokio::test(start_paused = true)]
async fn the_wait_requested_by_the_service() {
    let mock = MockTableService::new();
    let blogs = blogs(&mock).await;
    let wait = Duration::from_secs(7);
    for fault in [
        Fault::busy().retry_after(wait),
        Fault::busy().retry_after_ms(wait),
        Fault::busy().retry_after_date(wait),
    ] {
        mock.faults().add(fault);
        let retry = RetryPolicy::none;
        let errors = [
            blogs.insert(&row()).retry(retry()).await.unwrap_err(),
            blogs.get(KEY).retry(retry()).await.unwrap_err(),
            blogs.transaction().insert(&row()).retry(retry()).await.unwrap_err(),
            blogs.query().retry(retry()).await.unwrap_err(),
        ];
        for error in errors {
            let waits = error.retry_after().unwrap();
            assert!(waits.abs_diff(wait) <= Duration::from_secs(1), "{waits:?}: {error}");
            assert!(format!("{error:?}").contains("retry_after: "), "{error:?}");
        }
        mock.faults().clear();
    }
    let missing = blogs.get(KEY).await.unwrap_err();
    assert_eq!(missing.retry_after(), None);
    assert!(!format!("{missing:?}").contains("retry_after"), "{missing:?}");
}

#[tokio::test(start_paused = true)]
async fn a_deadline_and_a_try_timeout_have_different_texts() {
    let mock = MockTableService::new();
    let blogs = blogs(&mock).await;
    mock.faults().add(Fault::hang());
    let end = |error: Error| {
        assert_eq!(error.kind(), ErrorKind::Timeout);
        error.to_string().split(" (").next().unwrap().to_owned()
    };
    let whole = Duration::from_secs(5);
    let get = || blogs.get(("p", "r"));
    assert_eq!(
        end(get().deadline(whole).await.unwrap_err()),
        "Get on Blogs: deadline of 5 s reached after 1 attempt"
    );
    assert_eq!(
        end(get().deadline(Duration::from_secs(150)).await.unwrap_err()),
        "Get on Blogs: deadline of 2 min 30 s reached after 3 attempts"
    );
    assert_eq!(
        end(get().deadline(Duration::ZERO).await.unwrap_err()),
        "Get on Blogs: deadline of 0 s reached before the first attempt"
    );
    assert_eq!(
        end(get().retry(RetryPolicy::none()).await.unwrap_err()),
        "Get on Blogs: no response within 60 s"
    );
    // The parts of a composite call share its deadline; the text states the whole deadline.
    mock.faults().clear();
    blogs.insert(&DynamicEntity::new("p", "r")).await.unwrap();
    mock.faults().add(Fault::delay_request(Duration::from_millis(23)));
    mock.faults().add(Fault::hang().on(Operation::Merge));
    let update = blogs.update_with(("p", "r"), |row| {
        row.set("Rating", 1);
    });
    let error = update.deadline(whole).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown);
    assert_eq!(end(error), "Merge on Blogs: deadline of 5 s reached after 1 attempt");
}

#[tokio::test]
async fn text_of_a_server_is_escaped_and_bounded() {
    let message = format!("\\u001b[31mred\\rnext\\u202e {}", "é".repeat(5000));
    let body = format!(
        r#"{{"odata.error":{{"code":"Evil\ncode\u001b{}","message":"{message}"}}}}"#,
        "x".repeat(500)
    );
    let transport = Scripted::always(response(409, &[("x-ms-request-id", "id\t1")], body));
    let service = MockTableService::new().client_builder().transport(transport).build().unwrap();
    let error = service.table_named::<DynamicEntity>("Blogs").insert(&row()).await.unwrap_err();
    for shown in [error.to_string(), format!("{error:?}")] {
        assert!(!shown.contains(|c: char| c.is_control() || c == '\u{202e}'), "{shown}");
        assert!(shown.contains(r"\u{1b}[31mred\rnext\u{202e} ééé"), "{shown}");
        assert!(shown.chars().count() < 2000, "{shown}");
    }
    assert!(error.code().unwrap().as_str().starts_with(r"Evil\ncode\u{1b}xx"), "{error}");
}

#[tokio::test]
async fn debug_starts_with_the_text_and_omits_empty_fields() {
    let mock = MockTableService::new();
    let blogs = blogs(&mock).await;
    let error = blogs.get(("p", "r")).client_request_id("my-id").await.unwrap_err();
    let id = error.request_id().unwrap();
    assert_eq!(
        format!("{error:?}"),
        format!(
            "Get on Blogs: The specified resource does not exist. (404 ResourceNotFound, entity \
             (\"p\", \"r\"), request id {id}) {{ kind: Service, outcome: NotApplied, status: 404, \
             code: \"ResourceNotFound\", request_id: \"{id}\", client_request_id: \"my-id\", \
             entity_key: (\"p\", \"r\"), attempts: 1 }}"
        )
    );
    let other = blogs.insert(&DynamicEntity::new("p", "a/b")).await.unwrap_err();
    let shown = format!("{other:?}");
    assert!(shown.starts_with(&other.to_string()) && !shown.contains("None"), "{shown}");
}

#[derive(Debug, TableEntity)]
struct Numbered {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    number: u32,
}

/// Errors of other types become an [`Error`] by `?`.
#[test]
fn one_error_type_for_functions_of_a_program() {
    fn key(channel: &str) -> Result<EntityKey, Error> {
        Ok(Numbered::key(channel, 7_u32)?)
    }
    fn filter(text: &str) -> Result<azure_table_client::filter::Filter, Error> {
        Ok(azure_table_client::filter::Filter::parse(text)?)
    }
    fn date(text: &str) -> Result<azure_table_client::edm::EdmDateTime, Error> {
        Ok(text.parse::<azure_table_client::edm::EdmDateTime>()?)
    }
    fn entity_key() -> Result<EntityKey, Error> {
        Ok(Numbered { channel: "c".into(), number: 1 }.entity_key()?)
    }
    assert_eq!(key("c").unwrap(), EntityKey::new("c", "0000000007"));
    assert_eq!(entity_key().unwrap(), EntityKey::new("c", "0000000001"));
    assert_eq!(filter("A eq").unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(date("tomorrow").unwrap_err().kind(), ErrorKind::InvalidInput);
}
