//! A program that appends and stores snapshots stops at each of its requests, and another one does the same work.

use azure_table_client::TableServiceClient;
use azure_table_tests::crashes::{
    CrashPoints, LATENESS, at_every_pair_of_requests, at_every_request,
};

use super::*;

/// Three appends, two of them at the end of any stream, and two snapshots.
async fn work(client: TableServiceClient) {
    append_twice(&client).await;
    let mut stream = EventStream::new(&client.table_named::<DynamicEntity>(TABLE), STREAM).unwrap();
    let loaded: Loaded<Vec<i64>> = load(&stream).await;
    stream.save_snapshot(&loaded).await.unwrap();
    stream.append(Expected::AtLeast(0), id(3), &[Deposited(4), Deposited(5)]).await.unwrap();
    stream.save_snapshot(&load(&stream).await).await.unwrap();
}

async fn append_twice(client: &TableServiceClient) {
    let mut stream = EventStream::new(&client.table_named::<DynamicEntity>(TABLE), STREAM).unwrap();
    let first = [Deposited(1), Deposited(2)];
    stream.append(Expected::Version(0), id(1), &first).await.unwrap();
    stream.append(Expected::AtLeast(1), id(2), &[Deposited(3)]).await.unwrap();
}

async fn load(stream: &EventStream<Change>) -> Loaded<Vec<i64>> {
    let push = |amounts: &mut Vec<i64>, event: Event<Change>| {
        if let Deposited(amount) = event.data {
            amounts.push(amount);
        }
    };
    stream.load(push).await.unwrap()
}

/// Another program adds an event of its own, if the first append was applied.
async fn interfere(client: &TableServiceClient) {
    let mut stream = EventStream::new(&client.table_named::<DynamicEntity>(TABLE), STREAM).unwrap();
    if stream.version().await.unwrap() >= 2 {
        stream.append(Expected::AtLeast(2), id(9), &[Deposited(9)]).await.unwrap();
    }
}

async fn check(mock: &MockTableService) {
    interfere(&mock.client()).await;
    work(mock.client()).await;
    for _ in 0..2 {
        let client = mock.client();
        let stream = EventStream::new(&client.table_named::<DynamicEntity>(TABLE), STREAM).unwrap();
        let events = read(&stream, 0).await.unwrap();
        for (append, expected) in [(1, &[1, 2][..]), (2, &[3]), (3, &[4, 5])] {
            let of_append: Vec<_> =
                events.iter().filter(|event| event.append == id(append)).collect();
            let first = of_append[0].version;
            let found: Vec<_> =
                of_append.iter().map(|event| (event.version, event.data.clone())).collect();
            let expected: Vec<_> =
                (first..).zip(expected.iter().map(|amount| Deposited(*amount))).collect();
            assert_eq!(found, expected);
        }
        assert!(events.iter().filter(|event| event.append == id(9)).count() <= 1);
        assert_eq!(stream.version().await.unwrap(), events.len() as u64);
        let loaded = load(&stream).await;
        let amounts: Vec<_> = events
            .iter()
            .map(|event| match event.data {
                Deposited(amount) => amount,
                Change::Opened { .. } => panic!("no such event"),
            })
            .collect();
        assert_eq!(loaded.state, amounts);
        // Late requests arrive, and change nothing.
        tokio::time::sleep(LATENESS * 2).await;
    }
}

async fn prepare(mock: &MockTableService) {
    table(mock).await;
}

fn print(what: &str, points: CrashPoints) {
    println!("event_stream: {what}: {points}");
}

#[tokio::test(start_paused = true)]
async fn another_program_completes_the_work() {
    let points = at_every_request(
        prepare,
        async |(), client| work(client).await,
        async |(), mock, _| check(mock).await,
    );
    print("one crash", points.await);
}

#[tokio::test(start_paused = true)]
async fn a_third_program_completes_the_work() {
    let points = at_every_pair_of_requests(
        prepare,
        async |(), client| append_twice(&client).await,
        async |(), client| {
            interfere(&client).await;
            append_twice(&client).await;
        },
        async |(), mock, _| check(mock).await,
    );
    print("two crashes", points.await);
}
