//! Timestamps, ETags, and streams of batches.

use azure_table_client::mock::MockTableService;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::*;
use crate::{Mixed, SchemaOptions, Timestamps};

async fn stored() -> Vec<DynamicEntity> {
    let table = MockTableService::new().client().table_named::<DynamicEntity>("Rows");
    table.create().await.unwrap();
    for n in 0..5 {
        let row = DynamicEntity::new("p", n.to_string());
        table
            .insert(&if n % 2 == 0 { row.with("Value", n) } else { row.with("Value", "odd") })
            .await
            .unwrap();
    }
    table.query().await.unwrap().into_iter().collect()
}

#[tokio::test]
async fn versions_survive() {
    let rows = stored().await;
    assert!(rows.iter().all(|row| row.etag().is_some() && row.timestamp().is_some()));
    for timestamps in [Timestamps::Nanos, Timestamps::Ticks] {
        let options = SchemaOptions::new().timestamps(timestamps).mixed(Mixed::rest());
        let options = options.with_timestamp(true).with_etag(true);
        let schema = TableSchema::infer(&rows, &options).unwrap();
        let read = rows_of(&batches(&rows, &schema, 2).unwrap()).unwrap();
        assert_eq!(read, rows);
    }
}

#[tokio::test]
async fn a_row_without_a_timestamp_is_refused_where_there_is_a_column() {
    let schema = TableSchema::infer([], &SchemaOptions::new().with_timestamp(true)).unwrap();
    let error = BatchBuilder::new(&schema).append(&DynamicEntity::new("p", "1")).unwrap_err();
    assert!(error.to_string().contains("\"Timestamp\" is missing"), "{error}");
    let schema = TableSchema::infer([], &SchemaOptions::new().with_etag(true)).unwrap();
    BatchBuilder::new(&schema).append(&DynamicEntity::new("p", "1")).unwrap();
}

#[tokio::test]
async fn a_stream_returns_the_rows_before_an_error() {
    let rows = stored().await;
    let schema = TableSchema::declared([("Value", EdmType::Int32)], &SchemaOptions::new()).unwrap();
    // The second row has a text.
    let batches: Vec<_> =
        crate::stream(stream::iter(rows.clone().into_iter().map(Ok)), &schema, 2).collect().await;
    let [Ok(batch), Err(Error::Row { key, .. })] = &batches[..] else { panic!("{batches:?}") };
    assert_eq!((batch.num_rows(), key.row_key.as_str()), (1, "1"));

    let options = SchemaOptions::new().mixed(Mixed::rest());
    let schema = TableSchema::infer(&rows, &options).unwrap();
    let batches: Vec<_> = crate::stream(stream::iter(rows.clone().into_iter().map(Ok)), &schema, 2)
        .try_collect()
        .await
        .unwrap();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [2, 2, 1]);
    assert_eq!(contents(&rows_of(&batches).unwrap()), contents(&rows));
}

#[tokio::test]
async fn an_error_of_the_query_ends_the_stream() {
    let table = MockTableService::new().client().table_named::<DynamicEntity>("Missing");
    let schema = TableSchema::infer([], &SchemaOptions::new()).unwrap();
    let batches: Vec<_> = crate::stream(table.query().stream(), &schema, 2).collect().await;
    let [Err(Error::Client(error))] = &batches[..] else { panic!("{batches:?}") };
    assert_eq!(error.status(), Some(404));
}

#[test]
fn a_batch_of_large_values_is_full_early() {
    let schema = TableSchema::declared([("Data", EdmType::Binary)], &SchemaOptions::new()).unwrap();
    let mut builder = BatchBuilder::new(&schema);
    let row = DynamicEntity::new("p", "1").with("Data", vec![0; 1 << 20]);
    while !builder.is_full() {
        builder.append(&row).unwrap();
    }
    assert_eq!(builder.len(), 32);
    builder.finish().unwrap();
    assert!(!builder.is_full() && builder.is_empty());
}

#[test]
fn conversions_can_move_to_other_threads() {
    fn is_send<T: Send + 'static>() {}
    is_send::<BatchBuilder>();
    is_send::<RowReader>();
    is_send::<crate::BatchStream>();
    #[cfg(feature = "parquet")]
    is_send::<crate::ParquetRows>();
    #[cfg(feature = "parquet")]
    is_send::<crate::ParquetWriter<Vec<u8>>>();
}

#[tokio::test]
async fn the_schema_of_a_stream_is_known_before_its_first_batch() {
    let columns = [("Name", EdmType::String), ("Rating", EdmType::Int32)];
    let schema = TableSchema::declared(columns, &SchemaOptions::new()).unwrap();
    let schema = schema.project(&[0, 3]).unwrap();
    let row = DynamicEntity::new("p", "1").with("Rating", 5);
    for rows in [vec![], vec![Ok(row)]] {
        let mut batches = crate::stream(stream::iter(rows), &schema, 2);
        assert_eq!(batches.schema(), schema.arrow());
        while let Some(batch) = batches.try_next().await.unwrap() {
            assert_eq!(batch.schema(), batches.schema());
        }
        assert_eq!(batches.schema(), schema.arrow());
    }
}
