//! Input that is refused before anything is sent.

use std::time::Duration;

use azure_table_client::{DynamicEntity, ErrorKind, Outcome, TableEntity};
use azure_table_patterns::Error;
use azure_table_patterns::outbox::Outbox;

use super::{Copy, copy, mock_with_table, orders, outbox};

fn refused(error: &Error, text: &str) {
    assert_eq!(error.outcome(), Outcome::NotApplied);
    let Error::Client { error: client } = error else { panic!("{error}") };
    assert_eq!(client.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains(text), "{error}");
}

#[derive(Debug, TableEntity)]
struct Clash {
    #[table(partition_key)]
    city: String,
    #[table(row_key)]
    id: String,
    #[table(rename = "Token")]
    token: i64,
}

#[tokio::test(start_paused = true)]
async fn names_and_columns_of_the_outbox_are_refused() {
    let mock = mock_with_table().await;
    mock.requests().clear();
    let table = orders(&mock);
    for name in ["", "copy!", "a!b"] {
        let error = Outbox::<Copy>::new(&table, name).unwrap_err();
        assert!(matches!(error, Error::InvalidInput { .. }), "{error}");
        assert!(error.to_string().contains("outbox name"), "{error}");
    }
    for name in ["a/b", "a?", &"x".repeat(1024)] {
        assert!(Outbox::<Copy>::new(&table, name).unwrap_err().is_invalid_input(), "{name}");
    }
    let unnamed = mock.client().table_named::<DynamicEntity>("no name");
    assert!(Outbox::<Copy>::new(&unnamed, "copy").unwrap_err().is_invalid_input());
    let clash = Clash { city: "oslo".to_owned(), id: "7".to_owned(), token: 1 };
    let outbox = Outbox::new(&table, "copy").unwrap();
    refused(&outbox.insert(&clash).await.unwrap_err(), "\"Token\"");
    assert_eq!(mock.requests().total(), 0);
}

#[tokio::test(start_paused = true)]
async fn another_table_or_partition_is_refused() {
    let mock = mock_with_table().await;
    mock.requests().clear();
    let other = mock.client().table_named::<DynamicEntity>("Others");
    let cause = DynamicEntity::new("oslo", "order-7");
    let error = outbox(&mock).enqueue(other.transaction().insert(&cause), &copy("7")).await;
    refused(&error.unwrap_err(), "the outbox is in table Orders");
    let cause = DynamicEntity::new("rome", "order-7");
    let transaction = orders(&mock).transaction().insert(&cause);
    let error = outbox(&mock).enqueue(transaction, &copy("7")).await.unwrap_err();
    let index = error.client().unwrap().batch_index();
    assert_eq!((error.kind(), index), (Some(ErrorKind::InvalidInput), Some(1)));
    assert_eq!(mock.requests().total(), 0);
}

#[tokio::test(start_paused = true)]
async fn limits_of_the_service_are_refused() {
    let mock = mock_with_table().await;
    mock.requests().clear();
    let (table, outbox) = (orders(&mock), outbox(&mock));
    for id in ["a/b", "a\\b", "a#b", "a?b", "a\u{7}b", &"x".repeat(1020)] {
        assert!(outbox.insert(&copy(id)).await.unwrap_err().outcome() == Outcome::NotApplied);
    }
    let long = Copy { target: "x".repeat(40_000), ..copy("7") };
    refused(&outbox.insert(&long).await.unwrap_err(), "Target");
    let full = (0..100).fold(table.transaction(), |transaction, at| {
        transaction.insert(&DynamicEntity::new("oslo", at.to_string()))
    });
    let error = outbox.enqueue(full, &copy("7")).await.unwrap_err();
    let index = error.client().unwrap().batch_index();
    assert_eq!((error.kind(), index), (Some(ErrorKind::InvalidInput), Some(100)));
    for ttl in [Duration::ZERO, Duration::from_secs(25 * 3600)] {
        let error = outbox.worker("w").ttl(ttl).unwrap_err();
        assert!(matches!(error, Error::InvalidInput { .. }), "{error}");
    }
    assert_eq!(mock.requests().total(), 0);
    // An empty RowKey of the work is a key of the item.
    outbox.insert(&copy("")).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_item_refuses_another_key_of_its_work() {
    let mock = mock_with_table().await;
    let outbox = outbox(&mock);
    outbox.insert(&copy("7")).await.unwrap();
    let mut worker = outbox.worker("w");
    let mut item = worker.next().await.unwrap().unwrap();
    mock.requests().clear();
    item.work.id = "8".to_owned();
    let error = item.save().await.unwrap_err();
    assert!(matches!(error, Error::InvalidInput { .. }), "{error}");
    let effect = item.commit(|transaction| transaction).await.unwrap_err();
    assert!(matches!(effect, Error::InvalidInput { .. }), "{effect}");
    assert_eq!(mock.requests().total(), 0);
}
