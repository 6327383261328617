//! The isolation of tenants with similar names, and their rate limits.

use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{IfMatch, Operation};
use futures_util::future::join_all;
use tokio::time::Instant;

use super::*;

const TABLE: &str = "Invoices";
// The second name is a prefix of the others, and the last one has the separator of keys.
const NAMES: [&str; 5] = ["acme-labs", "acme", "acme2", "acme\"", "acme!0000202611"];

async fn stage() -> (MockTableService, Store, Vec<Tenant>) {
    let mock = MockTableService::new();
    let store = Store::new(mock.client(), mock.transport(), TABLE.to_owned());
    store.create_table().await.unwrap();
    let tenants: Vec<Tenant> = NAMES.iter().map(|name| store.sign_in(name).unwrap()).collect();
    for (tenant, count) in tenants.iter().zip(1..) {
        for number in 0..count {
            tenant.add(MONTHS[1], number, 100).await.unwrap();
        }
    }
    (mock, store, tenants)
}

#[tokio::test(start_paused = true)]
async fn a_tenant_reads_its_own_rows_only() {
    let (_, _, tenants) = stage().await;
    for (tenant, count) in tenants.iter().zip(1..) {
        assert_eq!(tenant.query().await.await.unwrap().len(), count, "{}", tenant.name());
        for filter in ["PartitionKey ge ''", "Cents gt 0L or PartitionKey eq 'acme!0000202611'"] {
            assert_eq!(search(tenant, filter).await.unwrap().len(), count, "{}", tenant.name());
        }
        assert!(search(tenant, "Cents gt 0L) or (PartitionKey ge ''").await.is_err());
        assert!(tenant.get(MONTHS[1], u32::try_from(count).unwrap()).await.unwrap().is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_link_to_the_next_page_of_another_tenant_is_refused() {
    let (_, _, tenants) = stage().await;
    let page = tenants[4].query().await.page_size(2).page().await.unwrap();
    let next = page.continuation.unwrap();
    assert_eq!(tenants[4].query().await.start_at(next.clone()).await.unwrap().len(), 3);
    assert!(tenants[1].query().await.start_at(next).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn the_service_enforces_the_keys_of_a_signature() {
    let (mock, store, tenants) = stage().await;
    for (tenant, count) in tenants.iter().zip(1..) {
        let token = store.share(tenant, Duration::from_secs(60)).unwrap();
        let client = TableServiceClient::builder(mock.client().endpoint(), token)
            .transport(mock.transport())
            .clock(mock.clock())
            .build()
            .unwrap();
        let rows = client.table_named::<DynamicEntity>(TABLE);
        // Any key, and any filter: the holder writes its requests itself.
        let visible = rows.query().allow_scan().await.unwrap();
        assert_eq!(visible.len(), count, "{}", tenant.name());
        for row in mock.rows(TABLE).unwrap() {
            let is_own = visible.iter().any(|own| own.key() == row.key());
            assert_eq!(rows.get_if_exists(row.key()).await.unwrap().is_some(), is_own);
            assert_eq!(rows.delete(row.key(), IfMatch::Any).await.unwrap_err().status(), Some(403));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_tenant_waits_and_the_others_do_not() {
    let (_, store, tenants) = stage().await;
    tokio::time::sleep(GAP * BURST).await;
    let start = Instant::now();
    try_join_all((10..10 + NOISY).map(|number| tenants[0].add(1, number, 1))).await.unwrap();
    assert_eq!(start.elapsed(), GAP * (NOISY - BURST));
    // A second session has the same limit.
    let again = store.sign_in(tenants[0].name()).unwrap();
    let start = Instant::now();
    again.get(1, 10).await.unwrap();
    assert_eq!(start.elapsed(), GAP);
    let start = Instant::now();
    tenants[1].get(MONTHS[1], 0).await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn callers_that_give_up_send_nothing_and_leave_their_turns() {
    let (mock, _, tenants) = stage().await;
    tokio::time::sleep(GAP * BURST).await;
    try_join_all((10..10 + BURST).map(|number| tenants[0].add(1, number, 1))).await.unwrap();
    let sent = mock.requests().total();
    let late = (100..100 + NOISY)
        .map(|number| tokio::time::timeout(GAP / 2, tenants[0].add(1, number, 1)));
    assert!(join_all(late).await.iter().all(Result::is_err));
    assert_eq!(mock.requests().total(), sent);
    let start = Instant::now();
    tenants[0].get(1, 10).await.unwrap();
    assert_eq!(start.elapsed(), GAP / 2);
}

#[tokio::test(start_paused = true)]
async fn a_tenant_is_exported_and_deleted_despite_faults() {
    let (mock, store, tenants) = stage().await;
    mock.faults().add(Fault::busy().on(Operation::Query).times(1));
    mock.faults().add(Fault::page_of(1));
    let mut file = Vec::new();
    assert_eq!(tenants[1].export(&mut file).await.unwrap(), 2);
    let text = String::from_utf8(file).unwrap();
    assert!(text.lines().all(|line| line.starts_with(r#"{"PartitionKey":"acme!0000202611""#)));

    mock.faults().add(Fault::lose_reply().on(Operation::Transaction).times(1));
    let report = store.delete_rows(&tenants[1]).await.unwrap();
    assert_eq!(report.progress.applied, 2);
    let left: Vec<u64> = {
        let mut left = Vec::new();
        for tenant in &tenants {
            left.push(tenant.query().await.count().await.unwrap());
        }
        left
    };
    assert_eq!(left, [1, 0, 3, 4, 5]);
}
