//! The cost of a query is visible before it is sent.

use azure_table_client::client::ScanPolicy;
use azure_table_client::entity::KeyRange;
use azure_table_client::filter::{Condition, Filter, PlanKind};
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, ErrorKind, TableClient, TableServiceClient};

fn client(mock: &MockTableService, policy: ScanPolicy) -> TableClient<DynamicEntity> {
    TableServiceClient::builder_from_connection_string(&mock.connection_string())
        .unwrap()
        .transport(mock.transport())
        .clock(mock.clock())
        .scans(policy)
        .build()
        .unwrap()
        .table_named("Blogs")
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
