//! The harness itself, with a counter that two programs increment.

use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{DynamicEntity, IfMatch, Outcome, RetryPolicy, TableClient};
use azure_table_tests::chaos::{self, Report, Round};
use azure_table_tests::crashes::{LATENESS, at_every_pair_of_requests, at_every_request};
use azure_table_tests::sized;

const KEY: (&str, &str) = ("p", "counter");

fn counter(count: i64) -> DynamicEntity {
    let mut row = DynamicEntity::new(KEY.0, KEY.1);
    row.set("Count", count);
    row
}

fn stored(mock: &MockTableService) -> i64 {
    mock.row("Counters", KEY.0, KEY.1).unwrap().get("Count").unwrap().unwrap()
}

async fn prepare(mock: &MockTableService) {
    let table = mock.client().table_named::<DynamicEntity>("Counters");
    table.create().await.unwrap();
    table.insert(&counter(0)).await.unwrap();
}

/// Sets the counter to one, in two requests.
async fn set(table: TableClient<DynamicEntity>) {
    let row = table.get(KEY).await.unwrap();
    table.replace(&counter(1), &row.etag).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_program_stops_at_each_request() {
    let states = std::cell::RefCell::new(Vec::new());
    let points = at_every_request(
        prepare,
        async |(), client| set(client.table_named("Counters")).await,
        async |(), mock, _| {
            let at_once = stored(mock);
            tokio::time::sleep(LATENESS * 2).await;
            states.borrow_mut().push((at_once, stored(mock)));
        },
    )
    .await;
    assert_eq!((points.requests, points.runs), (2, sized(5, 6)));
    let not_sent = (0, 0);
    let mut expected = vec![not_sent; sized(3, 4)];
    expected.extend([(1, 1), (0, 1)]);
    assert_eq!(states.take(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_second_program_stops_at_each_request() {
    let points = at_every_pair_of_requests(
        prepare,
        async |(), client| set(client.table_named("Counters")).await,
        async |(), client| set(client.table_named("Counters")).await,
        async |(), mock, _| set(mock.client().table_named("Counters")).await,
    )
    .await;
    // The second program also runs to its end once.
    assert_eq!((points.requests, points.runs), (2, sized(2 * 3, 6 * 7)));
}

async fn increment_without_condition(round: &mut Round) -> Report {
    prepare(round.mock()).await;
    round.start_faults();
    let tasks = (0..4).map(|task| {
        let (client, mut chance) = (round.client(task), round.chance(task));
        async move {
            let table = client.table_named::<DynamicEntity>("Counters");
            let mut applied = 0;
            for _ in 0..10 {
                tokio::time::sleep(std::time::Duration::from_millis(chance.u64(..50))).await;
                let Ok(row) = table.get(KEY).await else { continue };
                let count: i64 = row.get("Count").unwrap().unwrap();
                applied +=
                    i64::from(table.replace(&counter(count + 1), IfMatch::Any).await.is_ok());
            }
            applied
        }
    });
    let applied: i64 = round.run_programs(tasks).await.into_iter().sum();
    let mut report = Report { operations: 40, ..Report::default() };
    let stored = stored(round.mock());
    report.check(stored >= applied, || format!("{applied} increments, {stored} stored"));
    report
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "violations")]
async fn a_lost_update_is_a_violation() {
    chaos::run("lost updates", 400, increment_without_condition).await;
}

/// Inserts rows whose connections are refused, so that nothing is sent, through the proxy that delivers writes twice.
async fn insert_without_connection(round: &mut Round) -> Report {
    let service = round.client_with(0, |builder| builder.retry(RetryPolicy::none()));
    let table = service.table_named::<DynamicEntity>("Counters");
    table.create().await.unwrap();
    round.start_faults();
    round.mock().faults().clear();
    let mock = round.mock().clone();
    let inserts = async move {
        let mut refused = Vec::new();
        for n in 0..100 {
            let fault = mock.faults().add(Fault::refuse_connection().times(1));
            let row = DynamicEntity::new("p", n.to_string());
            let error = table.insert(&row).await.unwrap_err();
            // Otherwise, the proxy was too busy for the first delivery.
            if error.status().is_none() && fault.struck() == 1 {
                assert_eq!(error.outcome(), Outcome::NotApplied);
                refused.push(n.to_string());
            }
            // Another delivery would arrive by then.
            mock.faults().clear();
            tokio::time::sleep(LATENESS * 2).await;
        }
        refused
    };
    let refused = round.run_programs([inserts]).await.remove(0);
    let mut report = Report { operations: 100, ..Report::default() };
    report.check(refused.len() > 50, || format!("{} connections were refused", refused.len()));
    for row_key in &refused {
        let is_stored = round.mock().row("Counters", "p", row_key).is_some();
        report.check(!is_stored, || format!("{row_key} is stored"));
    }
    report
}

#[tokio::test(start_paused = true)]
async fn a_refused_connection_delivers_nothing() {
    chaos::run("refused connections", 100, insert_without_connection).await;
}
