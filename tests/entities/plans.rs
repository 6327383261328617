//! The cost of a query is visible before it is sent.

use azure_table_client::client::ScanPolicy;
use azure_table_client::entity::KeyRange;
use azure_table_client::filter::{Condition, Filter, PlanKind};
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{DynamicEntity, ErrorKind, TableClient};

fn client(mock: &MockTableService, policy: ScanPolicy) -> TableClient<DynamicEntity> {
    mock.client_builder().scans(policy).build().unwrap().table_named("Blogs")
}

#[tokio::test]
async fn the_plan_matches_the_requests() {
    let mock = MockTableService::new();
    let blogs = client(&mock, ScanPolicy::Allow);
    blogs.create().await.unwrap();
    for (filter, kind, why) in [
        ("", PlanKind::TableScan, "there is no filter"),
        ("Rating ge 3", PlanKind::TableScan, "does not bound the PartitionKey"),
        ("RowKey eq '1'", PlanKind::TableScan, "by which rows are found"),
        ("PartitionKey gt 'a'", PlanKind::PartitionRange, "not state a single one"),
        ("PartitionKey eq 'a' and Rating ge 3", PlanKind::Partition, "does not bound the RowKey"),
        ("PartitionKey eq 'a' and RowKey ge '3'", PlanKind::RowRange, "bounds the RowKey"),
        ("PartitionKey eq 'a' and RowKey eq '3'", PlanKind::Point, "both keys"),
    ] {
        let query = match filter {
            "" => blogs.query(),
            filter => blogs.query().filter_text(filter),
        };
        let plan = query.plan().unwrap();
        assert_eq!(plan.kind, kind, "{filter}");
        assert!(plan.to_string().contains(why), "{plan}");
        query.await.unwrap();
        assert_eq!(mock.requests().last().unwrap().plan, Some(kind), "{filter}");
    }
    assert!(blogs.query().filter_text("Rating => 3").plan().is_err());
}

#[tokio::test]
async fn scans_are_refused_on_request() {
    let mock = MockTableService::new();
    let blogs = client(&mock, ScanPolicy::Refuse);
    blogs.create().await.unwrap();
    for filter in [
        "PartitionKey ge ''",
        "PartitionKey gt ''",
        "PartitionKey ge '' and RowKey eq 'x'",
        "not (PartitionKey eq 'a')",
        "PartitionKey lt 'a' or PartitionKey ge 'a'",
    ] {
        let query = blogs.query().filter_text(filter);
        assert_eq!(query.plan().unwrap().kind, PlanKind::TableScan, "{filter}");
        assert_eq!(query.await.unwrap_err().kind(), ErrorKind::InvalidInput, "{filter}");
    }
    let all_keys = Filter::partitions_in(&KeyRange::of_prefix(""));
    assert!(blogs.query().matching(&all_keys).await.is_err());
    assert!(blogs.query().filter_opt(Some(Condition::all(None::<Condition<_>>))).await.is_err());
    // A query that no key can meet scans nothing.
    for filter in ["PartitionKey lt ''", "(RowKey eq '1' or RowKey eq '3') and RowKey eq '2'"] {
        assert!(blogs.query().filter_text(filter).await.unwrap().is_empty(), "{filter}");
    }
    // A bound of another filter keeps the query in its partition.
    blogs.query().matching(&all_keys).partition("a").await.unwrap();
    blogs.query().filter_text("Rating ge 3").partition("a").await.unwrap();
    let error = blogs.query().filter_text("Rating ge 3").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.to_string().contains("does not bound the PartitionKey"), "{error}");
    assert!(blogs.query().count().await.is_err());
    assert_eq!(mock.requests().table_scans(), 0, "nothing was sent");

    blogs.query().allow_scan().await.unwrap();
    blogs.query().allow_scan().count().await.unwrap();
    assert_eq!(mock.requests().table_scans(), 2);
    blogs.query().filter_text("PartitionKey eq 'a'").await.unwrap();
    client(&mock, ScanPolicy::Warn).query().await.unwrap();
}

/// 100 partitions of 100 rows.
fn wide(mock: &MockTableService) -> TableClient<DynamicEntity> {
    let blogs = client(mock, ScanPolicy::Refuse);
    let rows = (0..10_000).map(|n| {
        let mut row = DynamicEntity::new(format!("{:02}", n / 100), format!("{:02}", n % 100));
        row.set("N", n % 7);
        row
    });
    mock.seed("Blogs", &rows.collect::<Vec<_>>()).unwrap();
    blogs
}

/// Returns a list of keys as text.
fn any_of(property: &str, keys: &[&str]) -> String {
    let each = keys.iter().map(|key| format!("{property} eq '{key}'"));
    format!("({})", each.collect::<Vec<_>>().join(" or "))
}

#[tokio::test]
async fn a_list_of_partitions_scans_these_partitions_only() {
    let mock = MockTableService::new();
    let blogs = wide(&mock);
    let query = || blogs.query().filter_text(&any_of("PartitionKey", &["99", "00", "99"]));
    let plan = query().plan().unwrap();
    assert_eq!((plan.kind, plan.queries), (PlanKind::Partition, 2));
    assert_eq!(plan.to_string(), "2 partitions: the filter lists the PartitionKeys");
    mock.requests().clear();
    let found = query().await.unwrap();
    assert_eq!((found.len(), mock.requests().scanned_rows()), (200, 200));
    assert_eq!((found.cost.requests, mock.requests().total()), (2, 2));
    assert_eq!(found[0].key().partition_key, "00");
    assert_eq!(found[199].key().partition_key, "99");

    let filters = || {
        let sent = mock.requests().all();
        sent.iter().map(|request| request.filter().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(filters(), ["PartitionKey eq '00'", "PartitionKey eq '99'"]);

    // Other conditions are sent with the query of each partition.
    mock.requests().clear();
    let text = format!("{} and N eq 3", any_of("PartitionKey", &["99", "00"]));
    let found = blogs.query().filter_text(&text).await.unwrap();
    assert!(found.iter().all(|row| row.get::<i32>("N") == Some(Ok(3))));
    assert_eq!((found.len(), mock.requests().scanned_rows()), (29, 200));
    let sent = ["00", "99"].map(|p| format!("PartitionKey eq '{p}' and N eq 3"));
    assert_eq!(filters(), sent);
}

#[tokio::test]
async fn alternatives_of_both_keys_are_point_reads() {
    let mock = MockTableService::new();
    let blogs = wide(&mock);
    let point = |p: &str, r: &str| format!("PartitionKey eq '{p}' and RowKey eq '{r}'");
    let text = format!("{} or {} or {}", point("99", "07"), point("00", "x"), point("00", "50"));
    let query = || blogs.query().filter_text(&text);
    let plan = query().plan().unwrap();
    assert_eq!((plan.kind, plan.queries), (PlanKind::Point, 3));
    assert_eq!(plan.to_string(), "3 point reads: the filter lists both keys");
    mock.requests().clear();
    let found = query().await.unwrap();
    let keys: Vec<_> = found.iter().map(|row| row.key().to_string()).collect();
    assert_eq!(keys, [r#"("00", "50")"#, r#"("99", "07")"#], "a missing row is skipped");
    assert_eq!((found.cost.requests, mock.requests().scanned_rows()), (3, 2));
    let urls: Vec<_> = mock.requests().all().into_iter().map(|request| request.url).collect();
    let url = |p, r| format!("/devstoreaccount1/Blogs(PartitionKey='{p}',RowKey='{r}')");
    assert_eq!(urls, [url("00", "50"), url("00", "x"), url("99", "07")]);

    // Another condition is sent with each pair of keys.
    let text = format!("({} or {}) and N eq 1", point("99", "07"), point("00", "x"));
    let plan = blogs.query().filter_text(&text).plan().unwrap();
    assert_eq!((plan.kind, plan.queries), (PlanKind::Point, 2));
    assert_eq!(plan.to_string(), "2 points: the filter lists both keys");

    // Two lists are read as their product, and a list of one partition too.
    for (partitions, rows, count) in
        [(&["99", "00"][..], &["50", "07"][..], 4), (&["00"], &["1", "01"], 2)]
    {
        let text = format!("{} and {}", any_of("PartitionKey", partitions), any_of("RowKey", rows));
        let query = || blogs.query().filter_text(&text);
        assert_eq!(
            query().plan().unwrap().to_string(),
            format!("{count} point reads: the filter lists both keys")
        );
        mock.requests().clear();
        let found = query().await.unwrap();
        assert_eq!(mock.requests().scanned_rows(), found.len(), "{text}");
        assert_eq!(found.cost.requests, count);
    }
}

#[tokio::test]
async fn listed_rows_with_another_condition_are_read_alone() {
    let mock = MockTableService::new();
    let blogs = wide(&mock);
    let text = |partition: &str, rows: &[&str]| {
        format!("PartitionKey eq '{partition}' and {} and N ge 1", any_of("RowKey", rows))
    };
    let query = || blogs.query().filter_text(&text("05", &["99", "00", "x", "99"]));
    let plan = query().plan().unwrap();
    assert_eq!((plan.kind, plan.queries), (PlanKind::Point, 3));
    assert_eq!(plan.to_string(), "3 points: the filter lists both keys");
    mock.requests().clear();
    let page = query().page().await.unwrap();
    let keys: Vec<_> = page.entities.iter().map(|row| &*row.key().row_key).collect();
    assert_eq!((keys, page.continuation), (vec!["00", "99"], None), "one page");
    assert_eq!(mock.requests().scanned_rows(), 2);
    let sent = mock.requests().all();
    let sent: Vec<_> = sent.iter().map(|request| request.filter().unwrap()).collect();
    let row = |r| format!("PartitionKey eq '05' and RowKey eq '{r}' and N ge 1");
    assert_eq!(sent, ["00", "99", "x"].map(row));

    // Eight rows take about as long as one query, which nine rows need.
    let names: Vec<_> = (0..100).map(|row| format!("{row:02}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    for (rows, kind, queries) in [
        (8, PlanKind::Point, 8),
        (9, PlanKind::RowRange, 1),
        (16, PlanKind::Point, 16),
        (17, PlanKind::RowRange, 2),
        (100, PlanKind::RowRange, 8),
    ] {
        let query = || blogs.query().filter_text(&text("05", &names[..rows]));
        let plan = query().plan().unwrap();
        assert_eq!((plan.kind, plan.queries), (kind, queries), "{rows} rows");
        mock.requests().clear();
        let found = query().await.unwrap();
        assert_eq!(found.len(), (500..500 + rows).filter(|n| n % 7 > 0).count());
        assert_eq!((mock.requests().total(), mock.requests().scanned_rows()), (queries, rows));
    }
    let plan = blogs.query().filter_text(&text("05", &names)).plan().unwrap();
    assert_eq!(
        plan.to_string(),
        "1 row range: the filter lists too many rows with other conditions to read each alone, in 8 queries"
    );

    // Empty pages before the row are read, too.
    mock.faults().add(Fault::split_page());
    mock.requests().clear();
    let found = query().take(1).await.unwrap();
    assert_eq!((found.len(), mock.requests().total()), (1, 2));
    mock.faults().remove_all();

    // The conditions of each row are sent with it.
    let text = "PartitionKey eq '05' and (RowKey eq '01' and N eq 0 or RowKey eq '98' and N ge 0)";
    mock.requests().clear();
    assert_eq!(blogs.query().filter_text(text).await.unwrap().len(), 1);
    assert_eq!(mock.requests().scanned_rows(), 2);
}
