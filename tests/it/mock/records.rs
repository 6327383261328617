//! The requests of clients, as the service records them.

use std::sync::{Arc, Mutex};

use azure_table_client::mock::{Fault, MockTableService, RecordedRequest};
use azure_table_client::{DynamicEntity, ErrorCode, Operation, RetryPolicy};

#[tokio::test(start_paused = true)]
async fn a_request_is_recorded_with_its_attempt_and_its_payload() {
    let shown = Arc::<Mutex<Vec<String>>>::default();
    let seen = Arc::clone(&shown);
    let observer = move |request: &RecordedRequest| {
        let line = format!("{} {} {}", request.method, request.url, request.status);
        seen.lock().unwrap().push(line);
    };
    let mock = MockTableService::builder().observer(observer).build();
    let blogs = mock.client().table_named::<DynamicEntity>("Blogs");
    blogs.create().await.unwrap();
    mock.requests().clear();
    mock.faults().add(Fault::busy().on(Operation::Insert).times(2));
    blogs.insert(&DynamicEntity::new("a", "b")).await.unwrap();
    blogs.get(("a", "b")).await.unwrap();

    let all = mock.requests().all();
    let recorded: Vec<_> = all.iter().map(|r| (r.operation, r.attempt, r.status)).collect();
    let insert = Operation::Insert;
    let expected = [(insert, 1, 503), (insert, 2, 503), (insert, 3, 204), (Operation::Get, 1, 200)];
    assert_eq!(recorded, expected);
    assert_eq!((all[2].method.as_str(), all[2].payload_len), ("POST", all[2].payload.len()));
    let payload: serde_json::Value = serde_json::from_slice(&all[2].payload).unwrap();
    assert_eq!(payload, serde_json::json!({"PartitionKey": "a", "RowKey": "b"}));
    assert_eq!(all[0].error_code, Some(ErrorCode::ServerBusy));
    assert_eq!(all[3].error_code, None);
    assert!(all.windows(2).all(|pair| pair[0].arrived <= pair[1].arrived));
    let shown = shown.lock().unwrap();
    assert!(shown[0].starts_with("POST /devstoreaccount1/Tables") && shown[0].ends_with(" 204"));
    assert_eq!(shown.len(), 5);
}

#[tokio::test]
async fn errors_of_responses_are_recorded_also_in_batches() {
    let mock = MockTableService::new();
    let blogs = mock.client().table_named::<DynamicEntity>("Blogs");
    blogs.create().await.unwrap();
    let (old, new) = (DynamicEntity::new("p", "old"), DynamicEntity::new("p", "new"));
    blogs.insert(&old).await.unwrap();
    mock.requests().clear();
    blogs.insert(&old).await.unwrap_err();
    blogs.transaction().insert(&new).insert(&old).await.unwrap_err();
    mock.faults().add(Fault::busy().times(1));
    blogs.get(("p", "old")).retry(RetryPolicy::none()).await.unwrap_err();
    blogs.get(("p", "old")).await.unwrap();

    let all = mock.requests().all();
    let recorded: Vec<_> = all
        .iter()
        .map(|one| (one.number, one.status, one.error_code.clone(), one.error_message.as_deref()))
        .collect();
    let exists = Some(ErrorCode::EntityAlreadyExists);
    let expected = [
        (1, 409, exists.clone(), Some("The specified entity already exists.")),
        (2, 202, exists, Some("1:The specified entity already exists.")),
        (3, 503, Some(ErrorCode::ServerBusy), Some("The server is busy.")),
        (4, 200, None, None),
    ];
    assert_eq!(recorded, expected);
    assert_eq!(mock.requests().last().map(|last| last.number), Some(4));
}

#[tokio::test]
async fn a_direct_client_leaves_no_record_and_meets_no_fault() {
    let mock = MockTableService::new();
    let fault = mock.faults().add(Fault::busy());
    let blogs = mock.direct_client().table_named::<DynamicEntity>("Blogs");
    blogs.create().await.unwrap();
    blogs.insert(&DynamicEntity::new("p", "r")).await.unwrap();
    assert_eq!(blogs.query().await.unwrap().len(), 1);
    let error = blogs.insert(&DynamicEntity::new("p", "r")).await.unwrap_err();
    assert_eq!(error.code(), Some(&ErrorCode::EntityAlreadyExists));
    assert_eq!((mock.requests().total(), fault.struck()), (0, 0));
}
