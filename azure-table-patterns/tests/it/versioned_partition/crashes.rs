//! A program that reads and writes stops at each of its requests, and others continue.

use azure_table_tests::crashes::{
    CrashPoints, LATENESS, at_every_pair_of_requests, at_every_request,
};

use super::*;

/// Reads the partition, and moves 10 from the first member to a new one, several times.
async fn work(client: azure_table_client::TableServiceClient, times: usize) {
    let partition = members(&client.table_named(TABLE));
    for _ in 0..times {
        let view = partition.read_with(|query| query.page_size(2)).await.unwrap();
        assert_eq!(view.rows.iter().map(|member| member.state).sum::<i64>(), 100);
        let mut first = view.rows[0].clone();
        first.state -= 10;
        let new = member(format!("n{}", view.header.version), 10);
        let write = partition.transaction(&next(&view)).unwrap();
        let write = write.replace(&first, first.etag.clone().unwrap()).insert(&new).await;
        // A request of the program that stopped may arrive between.
        if let Err(error) = write {
            assert!(error.is_precondition_failed(), "{error}");
        }
    }
}

async fn prepare(mock: &MockTableService) {
    let table = table(mock).await;
    let partition = members(&table);
    let write = partition.transaction(&partition.header().await.unwrap()).unwrap();
    write.insert(&member("a", 70)).insert(&member("b", 30)).await.unwrap();
}

async fn check(mock: &MockTableService) {
    for _ in 0..2 {
        work(mock.client(), 1).await;
        tokio::time::sleep(LATENESS * 2).await;
        let view = members(&mock.client().table_named(TABLE)).read().await.unwrap();
        assert_eq!(view.rows.iter().map(|member| member.state).sum::<i64>(), 100);
        let writes = view.rows.len() - 2;
        assert_eq!(view.header.version, writes as u64);
    }
}

fn print(what: &str, points: CrashPoints) {
    println!("versioned_partition: {what}: {points}");
}

#[tokio::test(start_paused = true)]
async fn a_write_is_whole_or_absent() {
    let points = at_every_request(
        prepare,
        async |(), client| work(client, 2).await,
        async |(), mock, _| check(mock).await,
    );
    print("one crash", points.await);
}

#[tokio::test(start_paused = true)]
async fn a_write_is_whole_or_absent_after_two_crashes() {
    let points = at_every_pair_of_requests(
        prepare,
        async |(), client| work(client, 1).await,
        async |(), client| work(client, 1).await,
        async |(), mock, _| check(mock).await,
    );
    print("two crashes", points.await);
}
