//! A worker whose write is proved by a read that arrives after another worker has taken the item over.

use std::time::Duration;

use azure_table_client::mock::Fault;
use azure_table_client::{DynamicEntity, Operation};
use azure_table_patterns::Error;
use azure_table_patterns::outbox::Outbox;
use azure_table_tests::chaos::mock;
use azure_table_tests::scripted::{Scripted, Step, is_write, on};
use tokio::time::sleep;

use super::{Copy, TTL, copy, orders, outbox};

#[tokio::test(start_paused = true)]
async fn a_read_of_the_next_holders_row_does_not_help_a_stalled_worker() {
    let mock = mock();
    orders(&mock).create().await.unwrap();
    let new = outbox(&mock);
    new.insert(&copy("7")).await.unwrap();
    let slow_reads =
        on(|request| !is_write(request), |_| Step::pass().after(sleep(Duration::from_secs(45))));
    let builder = mock.client_builder().transport(Scripted::new(mock.transport(), slow_reads));
    let slow = builder.write_id_column("WriteId").build().unwrap();
    let slow = Outbox::<Copy>::new(&slow.table_named::<DynamicEntity>("Orders"), "copy").unwrap();
    let mut first = slow.worker("first").ttl(TTL).unwrap();
    let mut old = first.next().await.unwrap().unwrap();

    mock.faults().add(Fault::lose_reply().on(Operation::Transaction).times(1));
    let effect = |text| DynamicEntity::new("oslo", text);
    let take_over = async {
        let mut second = new.worker("second").ttl(TTL * 10).unwrap();
        loop {
            if let Some(mut item) = second.next().await.unwrap() {
                item.commit(|transaction| transaction.insert(&effect("second"))).await.unwrap();
                return item;
            }
            sleep(TTL / 2).await;
        }
    };
    let first_effect = effect("first");
    let commit = old.commit(|transaction| transaction.insert(&first_effect));
    let (committed, newer) = tokio::join!(commit, take_over);
    // The write id in the row of the effect proves the commit.
    committed.unwrap();
    assert_eq!(newer.token(), 2);
    let late = old.commit(|transaction| transaction.insert(&effect("late"))).await;
    assert!(matches!(late, Err(Error::Lost { token: 1, .. })), "{late:?}");
    assert!(mock.row("Orders", "oslo", "late").is_none());
}
