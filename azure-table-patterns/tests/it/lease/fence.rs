//! Rows outside the lease's partition.

use azure_table_client::mock::Fault;
use azure_table_client::{DynamicEntity, ErrorKind, Operation, Outcome, TableClient};
use azure_table_patterns::Error;
use azure_table_patterns::lease::merge_fenced;

use super::{DEVICES, table};
use crate::hostile::touching;

fn state(text: &str) -> DynamicEntity {
    DynamicEntity::new("p", "device").with("State", text)
}

async fn devices() -> (azure_table_client::mock::MockTableService, TableClient<DynamicEntity>) {
    let (mock, table) = table().await;
    let devices = mock.client().table_named(DEVICES);
    devices.create().await.unwrap();
    drop(table);
    (mock, devices)
}

#[tokio::test(start_paused = true)]
async fn a_row_refuses_tokens_older_than_the_newest_it_has_seen() {
    let (mock, devices) = devices().await;
    devices.insert(&state("new").with("Model", "x")).await.unwrap();
    for (token, is_applied) in [(3, true), (3, true), (2, false), (4, true), (3, false)] {
        let written = merge_fenced(&devices, &state(&format!("by {token}")), token).await;
        assert_eq!(written.is_ok(), is_applied, "{token}");
        if let Err(error) = written {
            assert!(matches!(error, Error::Lost { token: old, .. } if old == token));
            assert_eq!(error.outcome(), Outcome::NotApplied);
        }
    }
    let row = mock.row(DEVICES, "p", "device").unwrap();
    assert_eq!(row.get::<String>("State"), Some(Ok("by 4".to_owned())));
    assert_eq!(row.get::<String>("Model"), Some(Ok("x".to_owned())));
    assert_eq!(row.get::<i64>("LeaseToken"), Some(Ok(4)));
}

#[tokio::test(start_paused = true)]
async fn a_late_write_of_an_old_token_is_refused() {
    let (mock, devices) = devices().await;
    merge_fenced(&devices, &state("first"), 1).await.unwrap();
    let seconds = std::time::Duration::from_secs;
    for operation in [Operation::Merge, Operation::Insert] {
        mock.faults().add(Fault::delay_request(seconds(5)).on(operation).times(1));
        let (table, late) = (devices.clone(), state("late"));
        let late = tokio::spawn(async move { merge_fenced(&table, &late, 1).await });
        tokio::time::sleep(seconds(1)).await;
        merge_fenced(&devices, &state("newer"), 2).await.unwrap();
        assert!(matches!(late.await.unwrap(), Err(Error::Lost { token: 1, .. })));
        let row = mock.row(DEVICES, "p", "device").unwrap();
        assert_eq!(row.get::<String>("State"), Some(Ok("newer".to_owned())));
        // The second time, the row does not exist yet.
        devices.delete(("p", "device"), azure_table_client::IfMatch::Any).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_gives_up_after_ten_rounds_with_pauses() {
    let (mock, devices) = devices().await;
    merge_fenced(&devices, &state("first"), 1).await.unwrap();
    let (row, before) = (("p", "device"), ("MERGE", "device"));
    let touching = touching(&mock, DEVICES, row, before);
    let slow = touching.table_named::<DynamicEntity>(DEVICES);
    let (start, reads) = (tokio::time::Instant::now(), mock.requests().count(Operation::Get));
    let error = merge_fenced(&slow, &state("late"), 1).await.unwrap_err();
    let Error::Failed { outcome: Outcome::Unknown, error: Some(error) } = error else {
        panic!("{error:?}")
    };
    assert!(error.is_precondition_failed(), "{error}");
    assert_eq!(mock.requests().count(Operation::Get) - reads, 10);
    assert!(!start.elapsed().is_zero());
    let row = mock.row(DEVICES, "p", "device").unwrap();
    assert_eq!(row.get::<String>("State"), Some(Ok("first".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn only_the_fence_writes_its_column() {
    let (mock, devices) = devices().await;
    let before = mock.requests().total();
    let error = merge_fenced(&devices, &state("x").with("LeaseToken", 9_i64), 1).await.unwrap_err();
    assert!(matches!(error, Error::InvalidInput { .. }), "{error}");
    let key = DynamicEntity::new("a/b", "device");
    let error = merge_fenced(&devices, &key, 1).await.unwrap_err();
    assert!(
        matches!(&error, Error::Client { error: client } if client.kind() == ErrorKind::InvalidInput)
    );
    assert_eq!(mock.requests().total(), before);
}
