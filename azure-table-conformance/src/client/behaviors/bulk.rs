//! Many rows at once.

use azure_table_client::bulk::BulkOperation;
use azure_table_client::client::WriteOutcome;
use azure_table_client::{DynamicEntity, EntityKey, ErrorCode, ErrorKind, IfMatch, TableEntity};

use crate::client::target::Target;

fn row(partition: i32, n: i32) -> DynamicEntity {
    let mut row = DynamicEntity::new(format!("p{partition}"), format!("{n:06}"));
    row.set("N", n);
    row
}

/// Rows of several partitions, in turn: the smallest number of transactions.
pub(crate) async fn many_rows(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let rows = (0..950).map(|n| BulkOperation::Insert(row(n % 3, n)));
    let report = table.bulk().keep_results().run(rows).await.unwrap();
    assert_eq!((report.progress.applied, report.progress.requests), (950, 12), "{report}");
    assert!(report.is_complete() && report.checkpoint.next() == 950);
    assert_eq!(report.results.len(), 950);
    for (n, result) in (0..950).zip(&report.results).step_by(97) {
        let key = result.key.clone().unwrap();
        assert_eq!((i32::try_from(result.index).unwrap(), &key), (n, row(n % 3, n).key()));
        let WriteOutcome::Applied { etag: Some(etag), .. } = &result.outcome else {
            panic!("{result}")
        };
        assert_eq!(table.get(key).await.unwrap().etag, *etag);
    }
    assert_eq!(table.query().count().await.unwrap(), 950);
    table.delete_table().await.unwrap();
}

/// Each kind of operation, and operations on one key in their order.
pub(crate) async fn every_operation_in_order(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let key = |n| row(0, n).key().clone();
    let mut operations: Vec<_> = (0..100).map(|n| BulkOperation::Insert(row(0, n))).collect();
    operations.extend((0..100).map(|n| {
        let mut other = DynamicEntity::new("p0", format!("{n:06}"));
        other.set("Other", n);
        if n < 50 {
            BulkOperation::Merge(other, IfMatch::Any)
        } else {
            BulkOperation::Replace(other, IfMatch::Any)
        }
    }));
    operations.extend((0..10).map(|n| BulkOperation::Delete(key(n), IfMatch::Any)));
    operations.extend((0..10).map(|n| BulkOperation::DeleteIfExists(key(n), IfMatch::Any)));
    operations.extend((0..5).map(|n| BulkOperation::InsertOrReplace(row(0, n))));
    operations.extend((5..10).map(|n| BulkOperation::InsertOrMerge(row(0, n))));
    let report = table.bulk().run(operations).await.unwrap();
    assert_eq!(report.progress.applied, 230, "{report}");
    let rows = table.query().await.unwrap();
    assert_eq!(rows.len(), 100);
    for (n, row) in rows.iter().enumerate() {
        let has = (row.value("N").is_some(), row.value("Other").is_some());
        let expected = match n {
            0..10 => (true, false),
            10..50 => (true, true),
            _ => (false, true),
        };
        assert_eq!(has, expected, "{n}");
    }
    table.delete_table().await.unwrap();
}

/// Bad rows fail alone, each with its own error.
pub(crate) async fn bad_rows_fail_alone(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let there = table.insert(&row(0, 7)).await.unwrap();
    table.merge(&row(0, 7), &there.etag).await.unwrap();
    let mut operations: Vec<_> = (0..300).map(|n| BulkOperation::Insert(row(0, n))).collect();
    operations[20] = BulkOperation::Insert(DynamicEntity::new("p0", "a/b"));
    let mut large = DynamicEntity::new("p0", "large");
    for n in 0..17 {
        large.set(format!("P{n}"), "x".repeat(32_000));
    }
    operations[30] = BulkOperation::Insert(large);
    operations[40] = BulkOperation::Delete(EntityKey::new("p0", "none"), IfMatch::Any);
    operations[250] = BulkOperation::Replace(row(0, 7), IfMatch::Tag(there.etag.clone()));
    let error = table.bulk().run(operations).await.unwrap_err();
    let report = error.report();
    assert_eq!((report.progress.applied, report.progress.failed), (295, 5), "{error}");
    let of = |index: u64| {
        let result = report.failures().find(|result| result.index == index).unwrap();
        let WriteOutcome::Failed(error) = &result.outcome else { panic!("{result}") };
        (error.kind(), error.code().cloned())
    };
    assert_eq!(of(7).1, Some(ErrorCode::EntityAlreadyExists));
    assert_eq!(of(20).0, ErrorKind::InvalidInput);
    assert_eq!(of(30).0, ErrorKind::InvalidInput);
    assert_eq!(of(40).1, Some(ErrorCode::ResourceNotFound));
    assert_eq!(of(250).1, Some(ErrorCode::UpdateConditionNotSatisfied));
    assert_eq!(table.query().count().await.unwrap(), 296);
    assert_eq!(report.checkpoint.next(), 300, "refused rows are resolved");
    table.delete_table().await.unwrap();
}

/// A whole batch of existing rows: each fails, and a new row succeeds.
pub(crate) async fn a_run_that_is_repeated(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let insert = |rows: std::ops::Range<i32>| rows.map(|n| BulkOperation::Insert(row(0, n)));
    table.bulk().run(insert(0..40)).await.unwrap();
    let error = table.bulk().run(insert(0..41)).await.unwrap_err();
    let progress = error.report().progress;
    assert_eq!((progress.applied, progress.failed), (1, 40), "{error}");
    assert!(progress.requests < 90, "{error}");
    // Rows that need not exist may be deleted twice.
    let delete = |n| BulkOperation::DeleteIfExists(row(0, n).key().clone(), IfMatch::Any);
    for _ in 0..2 {
        let report = table.bulk().run((0..50).map(delete)).await.unwrap();
        assert_eq!(report.progress.applied, 50);
    }
    assert_eq!(table.query().count().await.unwrap(), 0);
    table.delete_table().await.unwrap();
}

/// 4 MiB end a batch before 100 rows do.
pub(crate) async fn slices_by_bytes(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let rows = (0..20).map(|n| {
        let mut row = row(0, n);
        for part in 0..15 {
            row.set(format!("P{part}"), "e".repeat(32_000));
        }
        BulkOperation::InsertOrReplace(row)
    });
    let report = table.bulk().run(rows).await.unwrap();
    assert_eq!(report.progress.applied, 20, "{report}");
    assert!(report.progress.bytes / report.progress.requests <= 4 * 1024 * 1024, "{report}");
    // A batch has room for 8 rows of 480 kB, but a batch that waits for a second is sent before it
    // is full.
    assert!((3..=10).contains(&report.progress.requests), "{report}");
    table.delete_table().await.unwrap();
}

/// A missing table ends the run, since all other rows would fail too.
pub(crate) async fn without_a_table(target: &Target) {
    let table = target.service().table_named::<DynamicEntity>(target.unique_name());
    let rows = (0..1000).map(|n| BulkOperation::Insert(row(n % 20, n)));
    let error = table.bulk().concurrency(2).run(rows).await.unwrap_err();
    let report = error.report();
    assert!(report.stopped.as_ref().unwrap().to_string().contains("TableNotFound"), "{error}");
    let progress = report.progress;
    assert_eq!((progress.applied, progress.unknown, progress.held()), (0, 0, 0));
    assert!(progress.not_attempted > 0 && progress.requests <= 2, "{error}");
    assert_eq!(report.checkpoint.resolved(), 0);
}

#[derive(Debug, PartialEq, TableEntity)]
struct Reading {
    #[table(partition_key)]
    device: String,
    #[table(row_key)]
    id: u32,
    value: f64,
}

/// Deletes the rows of a query.
pub(crate) async fn deleting(target: &Target) {
    let table = target.table::<Reading>().await;
    let reading =
        |n: u32| Reading { device: format!("d{}", n % 4), id: n, value: f64::from(n) / 2.0 };
    let rows = || (0..1200).map(|n| BulkOperation::InsertOrReplace(reading(n)));
    table.bulk().run(rows()).await.unwrap();
    let count = async || table.query().count().await.unwrap();
    let report = table.bulk().delete_partition("d1").await.unwrap();
    assert_eq!((report.progress.applied, count().await), (300, 900));
    let report = table
        .bulk()
        .delete_found(table.query().filter(|r| r.device.eq("d2") & r.value.ge(300.0)))
        .await
        .unwrap();
    assert_eq!((report.progress.applied, count().await), (150, 750));
    let unchanged =
        table.bulk().delete_found(table.query().filter(|r| r.device.eq("d2"))).await.unwrap();
    assert_eq!((unchanged.progress.applied, count().await), (150, 600));
    let report = table.bulk().truncate().await.unwrap();
    assert_eq!((report.progress.applied, count().await), (600, 0));
    assert_eq!(table.bulk().truncate().await.unwrap().progress.read, 0);
    table.delete_table().await.unwrap();
}

/// A copy of all rows with all properties, pages and partitions included; existing rows are
/// replaced.
pub(crate) async fn copying(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let copy = target.table::<DynamicEntity>().await;
    let rows = (0..2100).map(|n| {
        let mut row = row(n % 2, n);
        row.set("Long", i64::from(n)).set("Double", f64::from(n)).set("Text", "é'\n");
        BulkOperation::Insert(row)
    });
    table.bulk().run(rows).await.unwrap();
    let mut old = row(1, 1);
    old.set("Old", "goes");
    copy.insert(&old).await.unwrap();
    let report = copy.bulk().copy_from(&table).await.unwrap();
    assert_eq!(report.progress.applied, 2100, "{report}");
    let all = async |table: &azure_table_client::TableClient<DynamicEntity>| {
        let rows = table.query().await.unwrap().into_vec();
        rows.iter()
            .map(|row| {
                let mut properties: Vec<_> = row
                    .properties()
                    .map(|(name, value)| (name.to_owned(), value.clone()))
                    .collect();
                properties.sort_by(|a, b| a.0.cmp(&b.0));
                (row.key().clone(), properties)
            })
            .collect::<Vec<_>>()
    };
    assert!(all(&table).await == all(&copy).await);
    table.delete_table().await.unwrap();
    copy.delete_table().await.unwrap();
}
