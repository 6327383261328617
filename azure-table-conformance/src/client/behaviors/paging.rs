//! Pages and continuation.

use azure_table_client::{DynamicEntity, ErrorKind, TableClient};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use crate::client::target::Target;

async fn filled(target: &Target, partitions: usize, rows: usize) -> TableClient<DynamicEntity> {
    let table = target.table::<DynamicEntity>().await;
    stream::iter((0..partitions).flat_map(|p| (0..rows).map(move |r| (p, r))))
        .map(|(p, r)| {
            let table = table.clone();
            async move {
                let mut row = DynamicEntity::new(format!("p{p}"), format!("r{r:05}"));
                row.set("Number", i32::try_from(r).unwrap());
                table.insert(&row).await.map(|_| ())
            }
        })
        .buffer_unordered(16)
        .try_collect::<()>()
        .await
        .unwrap();
    table
}

fn keys(rows: &[DynamicEntity]) -> Vec<String> {
    rows.iter().map(|row| format!("{}{}", row.key().partition_key, row.key().row_key)).collect()
}

/// No page exceeds the page size, and together the pages have every row once.
pub(crate) async fn pages_of_a_size(target: &Target) {
    let table = filled(target, 2, 5).await;
    let mut pages = table.query().page_size(3).pages();
    let mut all = Vec::new();
    while let Some(page) = pages.next().await {
        let page = page.unwrap();
        assert!(page.entities.len() <= 3);
        all.extend(page.entities);
    }
    assert!(pages.next().await.is_none());
    assert_eq!(keys(&all), keys(&table.query().await.unwrap()));
    assert_eq!(all.len(), 10);
    table.delete_table().await.unwrap();
}

/// `take` counts over pages; a `$top` alone does not.
pub(crate) async fn take_is_a_true_limit(target: &Target) {
    let table = filled(target, 2, 4).await;
    for take in [0, 1, 3, 7, 8, 100] {
        let found = table.query().page_size(2).take(take).await.unwrap();
        assert_eq!(found.len() as u64, take.min(8));
    }
    let found = table.query().filter_text("Number ge 2").take(3).await.unwrap();
    assert_eq!(keys(&found), ["p0r00002", "p0r00003", "p1r00002"]);
    table.delete_table().await.unwrap();
}

/// The stream crosses page borders transparently.
pub(crate) async fn stream_over_all_pages(target: &Target) {
    let table = filled(target, 3, 3).await;
    let found: Vec<DynamicEntity> =
        table.query().page_size(2).stream().try_collect().await.unwrap();
    assert_eq!(keys(&found), keys(&table.query().await.unwrap()));
    assert_eq!(found.len(), 9);
    table.delete_table().await.unwrap();
}

/// A continuation resumes at the end of its page, in another query object too.
pub(crate) async fn resume_from_a_continuation(target: &Target) {
    let table = filled(target, 2, 3).await;
    let mut first = table.query().page_size(4).pages();
    let page = first.next().await.unwrap().unwrap();
    let at = page.continuation.expect("more follows");
    let rest = table.query().start_at(at).await.unwrap();
    let mut all = page.entities;
    all.extend(rest);
    assert_eq!(keys(&all), keys(&table.query().await.unwrap()));
    table.delete_table().await.unwrap();
}

/// A continuation is bound to its query, and can be sent to another process as text.
pub(crate) async fn continuations_travel_as_text(target: &Target) {
    let table = filled(target, 1, 5).await;
    let page = table.query().page_size(2).pages().next().await.unwrap().unwrap();
    let text = page.continuation.expect("more follows").to_string();
    let at = || text.parse().expect("a continuation");
    let rest = table.query().page_size(1).take(2).start_at(at()).await.unwrap();
    assert_eq!(rest.len(), 2);
    for other in [
        table.query().filter_text("RowKey gt ''"),
        table.query().select_names(["A"]),
        target.service().table_named::<DynamicEntity>("Another").query(),
    ] {
        let error = other.start_at(at()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
    }
    table.delete_table().await.unwrap();
}

/// `first`, `single`, `any` and `count`.
pub(crate) async fn other_than_all(target: &Target) {
    let table = filled(target, 2, 3).await;
    let query = || table.query();
    let none = || query().filter_text("PartitionKey eq 'none'");
    let all = keys(&query().await.unwrap());

    assert_eq!(keys(&[query().first().await.unwrap().unwrap()]), all[..1]);
    assert!(none().first().await.unwrap().is_none());
    assert!(query().take(0).first().await.unwrap().is_none());

    let one = || query().filter_text("PartitionKey eq 'p1' and RowKey eq 'r00001'");
    assert_eq!(keys(&[one().single().await.unwrap()]), all[4..5]);
    assert_eq!(keys(&[one().single_or_none().await.unwrap().unwrap()]), all[4..5]);
    assert!(none().single_or_none().await.unwrap().is_none());
    for error in [
        none().single().await.unwrap_err(),
        query().single().await.unwrap_err(),
        query().single_or_none().await.unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::NotSingle, "{error}");
    }

    assert!(query().any().await.unwrap());
    assert!(!none().any().await.unwrap());
    assert_eq!(query().count().await.unwrap(), 6);
    assert_eq!(query().page_size(1).count().await.unwrap(), 6);
    assert_eq!(query().take(4).count().await.unwrap(), 4);
    assert_eq!(none().count().await.unwrap(), 0);
    table.delete_table().await.unwrap();
}

/// Dropping a pending `next`, like a timeout or `select!` does, loses no page.
pub(crate) async fn a_dropped_next_loses_nothing(target: &Target) {
    let table = filled(target, 1, 5).await;
    let mut pages = table.query().page_size(2).pages();
    let mut found = pages.next().await.unwrap().unwrap().entities;
    assert!(futures_util::poll!(Box::pin(pages.next())).is_pending());
    while let Some(page) = pages.next().await {
        found.extend(page.unwrap().entities);
    }
    assert_eq!(found.len(), 5);
    table.delete_table().await.unwrap();
}

/// The service's own limit of 1,000 rows per page.
pub(crate) async fn more_than_a_thousand(target: &Target) {
    let table = filled(target, 1, 1001).await;
    let mut pages = table.query().pages();
    let first = pages.next().await.unwrap().unwrap();
    assert!(first.entities.len() <= 1000);
    assert!(first.continuation.is_some());
    assert_eq!(table.query().await.unwrap().len(), 1001);
    table.delete_table().await.unwrap();
}

/// A row added after the current position is returned, one added before it is not (the paper, 6.2).
pub(crate) async fn rows_added_between_pages(target: &Target) {
    let table = filled(target, 1, 4).await;
    let mut pages = table.query().page_size(2).pages();
    pages.next().await.unwrap().unwrap();
    table.insert(&DynamicEntity::new("p0", "r")).await.unwrap();
    table.insert(&DynamicEntity::new("p0", "r00003x")).await.unwrap();
    let mut rest = Vec::new();
    while let Some(page) = pages.next().await {
        rest.extend(page.unwrap().entities);
    }
    assert_eq!(keys(&rest), ["p0r00002", "p0r00003", "p0r00003x"]);
    table.delete_table().await.unwrap();
}
