//! The plans of scans.

use std::sync::Arc;

use arrow::array::{Array as _, Int64Array, RecordBatch};
use azure_table_arrow::{Mixed, SchemaOptions};
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{DynamicEntity, Operation};
use datafusion::physical_plan::{collect, displayable};
use datafusion::prelude::{SessionConfig, SessionContext, ident, lit};
use datafusion_catalog::TableProvider as _;
use datafusion_physical_plan::ExecutionPlanProperties as _;
use datafusion_physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};

use crate::{AzureTable, AzureTableScan, ranges};

/// 100 rows in 10 partitions, read in pages of 20.
async fn table() -> (MockTableService, AzureTable) {
    let mock = MockTableService::new();
    let table = mock.client().table_named::<DynamicEntity>("Blogs");
    table.create().await.unwrap();
    for row in 0..100 {
        let entity = DynamicEntity::new(format!("p{}", row % 10), format!("{row:02}"));
        let entity = entity.with("Text", format!("t{row:02}")).with("Count", row);
        table.insert(&entity).await.unwrap();
    }
    mock.faults().add(Fault::page_of(20).on_reads());
    let options = SchemaOptions::new().mixed(Mixed::Omit);
    let table = AzureTable::infer(table, 10, &options).await.unwrap().partitions(4);
    (mock, table)
}

async fn session() -> (MockTableService, SessionContext) {
    let (mock, table) = table().await;
    let config =
        SessionConfig::new().set_bool("datafusion.sql_parser.enable_ident_normalization", false);
    let session = SessionContext::new_with_config(config);
    session.register_table("t", Arc::new(table)).unwrap();
    (mock, session)
}

/// The line of the scan in `EXPLAIN VERBOSE`.
async fn scan(session: &SessionContext, sql: &str) -> String {
    let plan = session.sql(sql).await.unwrap().create_physical_plan().await.unwrap();
    let text = displayable(&*plan).indent(true).to_string();
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| line.starts_with("AzureTableScan")).unwrap().to_owned()
}

#[tokio::test]
async fn plans_show_the_filter_the_columns_and_the_ranges() {
    let (_mock, session) = session().await;
    let sql = "SELECT Count FROM t WHERE PartitionKey >= 'p4' AND Text > 't3' AND Count <> 5";
    let filter = "PartitionKey ge 'p4' and Text gt 't3' and Count ne 5";
    let expected = format!(
        "AzureTableScan: table=Blogs, columns=[Text, Count], filter=[{filter}], partitions=4, ranges=[\
         {filter} and PartitionKey lt 'p5'; \
         {filter} and PartitionKey ge 'p5' and PartitionKey lt 'p7'; \
         {filter} and PartitionKey ge 'p7' and PartitionKey lt 'p8'; \
         {filter} and PartitionKey ge 'p8']"
    );
    assert_eq!(scan(&session, sql).await, expected);
    let sql = "SELECT Text FROM t WHERE PartitionKey = 'p1' AND RowKey >= '5' LIMIT 3";
    let filter = "PartitionKey eq 'p1' and RowKey ge '5'";
    let expected = format!(
        "AzureTableScan: table=Blogs, columns=[Text], filter=[{filter}], partitions=1, limit=3, ranges=[{filter}]"
    );
    assert_eq!(scan(&session, sql).await, expected);
    // The limit counts rows after the condition that is not sent.
    let limited = scan(&session, "SELECT Text FROM t WHERE Count + 1 = 3 LIMIT 3").await;
    assert!(!limited.contains("limit="), "{limited}");
}

#[tokio::test]
async fn only_the_columns_of_a_query_are_read() {
    let (_mock, session) = session().await;
    let rows = session.sql("SELECT count(*) FROM t").await.unwrap().collect().await.unwrap();
    let counts = rows[0].column(0).as_any().downcast_ref::<Int64Array>().unwrap();
    assert_eq!(counts.value(0), 100);
    let names = scan(&session, "SELECT count(*) FROM t").await;
    assert!(names.contains("columns=[], filter=[none]"), "{names}");
}

/// Each listed partition is read by a request of its own.
#[tokio::test]
async fn a_list_of_partition_keys_reads_no_other_partition() {
    let (mock, session) = session().await;
    for keys in [2, 16, 200] {
        let list = (0..keys).map(|n| format!("'p{n}'")).collect::<Vec<_>>().join(", ");
        let sql = format!("SELECT Count FROM t WHERE PartitionKey IN ({list}) AND Text >= 't50'");
        mock.requests().clear();
        let rows = session.sql(&sql).await.unwrap().collect().await.unwrap();
        let rows: usize = rows.iter().map(RecordBatch::num_rows).sum();
        assert_eq!(rows, 5 * usize::min(keys, 10), "{keys} keys");
        assert_eq!(mock.requests().table_scans(), 0, "{keys} keys");
        let queries = mock.requests().of(Operation::Query);
        let is_of_one = |filter: String| filter.matches("PartitionKey eq").count() == 1;
        assert!(queries.iter().all(|query| query.filter().is_some_and(is_of_one)), "{keys} keys");
        assert!(queries.len() >= keys, "{keys} keys: {} queries", queries.len());
    }
}

/// Filters that were promised in several calls may not fit into one request.
#[tokio::test]
async fn promised_filters_that_do_not_fit_are_evaluated_here() {
    let (_mock, table) = table().await;
    let session = SessionContext::new();
    let conditions: Vec<_> =
        (0..20).map(|n| ident("RowKey").not_eq(lit(format!("{n:02}")))).collect();
    for one in &conditions {
        let support = table.supports_filters_pushdown(&[one]).unwrap();
        assert_eq!(support, [datafusion_expr::TableProviderFilterPushDown::Exact]);
    }
    let projection = vec![3, 0];
    let plan = table.scan(&session.state(), Some(&projection), &conditions, Some(5)).await.unwrap();
    let names: Vec<_> = plan.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["Count", "PartitionKey"]);
    let text = displayable(&*plan).indent(false).to_string();
    assert!(text.contains("FilterExec") && !text.contains("limit="), "{text}");
    let rows = collect(plan, session.task_ctx()).await.unwrap();
    assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 80);
}

/// An engine of a cluster gives each task a part of the input. The tasks together read each row once.
#[tokio::test]
async fn a_part_of_the_input_is_a_part_of_the_rows() {
    let (_mock, table) = table().await;
    let session = SessionContext::new();
    let plan = table.scan(&session.state(), None, &[], None).await.unwrap();
    let filters = plan.downcast_ref::<AzureTableScan>().unwrap().filters();
    assert_eq!((filters.len(), plan.children().len()), (4, 1));
    let mut rows = 0;
    for part in [&filters[..1], &filters[1..3], &filters[3..], &[]] {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        let input = ranges::input(part).unwrap();
        let task = Arc::clone(&plan).replace_children(vec![input], options).unwrap();
        assert_eq!(task.output_partitioning().partition_count(), part.len());
        let batches = collect(task, session.task_ctx()).await.unwrap();
        rows += batches.iter().map(RecordBatch::num_rows).sum::<usize>();
    }
    assert_eq!(rows, 100);
}

#[tokio::test]
async fn a_property_without_a_column_is_an_error_in_a_query_of_all_columns() {
    let mock = MockTableService::new();
    let table = mock.client().table_named::<DynamicEntity>("Blogs");
    table.create().await.unwrap();
    table.insert(&DynamicEntity::new("a", "1").with("Count", 1)).await.unwrap();
    table.insert(&DynamicEntity::new("a", "2").with("Text", "two")).await.unwrap();
    let table = AzureTable::infer(table, 1, &SchemaOptions::new()).await.unwrap();
    let session = SessionContext::new();
    session.register_table("t", Arc::new(table)).unwrap();
    let error = session.sql("SELECT * FROM t").await.unwrap().collect().await.unwrap_err();
    assert!(error.to_string().contains(r#"("a", "2")"#), "{error}");
    let sql = r#"SELECT "RowKey", "Count" FROM t"#;
    let rows = session.sql(sql).await.unwrap().collect().await.unwrap();
    assert_eq!(rows.iter().map(RecordBatch::num_rows).sum::<usize>(), 2);
}

#[tokio::test]
async fn a_row_of_another_type_is_an_error_that_names_it() {
    let mock = MockTableService::new();
    let table = mock.client().table_named::<DynamicEntity>("Blogs");
    table.create().await.unwrap();
    table.insert(&DynamicEntity::new("a", "1").with("Count", 1)).await.unwrap();
    table.insert(&DynamicEntity::new("a", "2").with("Count", "two")).await.unwrap();
    let table = AzureTable::infer(table, 1, &SchemaOptions::new()).await.unwrap();
    let session = SessionContext::new();
    session.register_table("t", Arc::new(table)).unwrap();
    let error = session.sql(r#"SELECT "Count" FROM t"#).await.unwrap().collect().await.unwrap_err();
    assert!(error.to_string().contains(r#"("a", "2")"#), "{error}");
    let rows = session.sql(r#"SELECT "RowKey" FROM t"#).await.unwrap().count().await.unwrap();
    assert_eq!(rows, 2);
}
