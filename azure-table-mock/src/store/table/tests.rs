//! Tests of tables.

use std::sync::Barrier;
use std::thread;

use super::super::{Precondition, RowChange, RowUpdate};
use super::*;
use crate::dialect::ServiceDialect;
use crate::edm::EdmCow;

fn put(partition: &str, row: &str, number: i32) -> StagedWrite<'static> {
    let properties = vec![("N".into(), EdmCow::Int32(number))];
    let change = RowChange::Update(RowUpdate::replace(row, properties), Precondition::None);
    StagedWrite::new(StoredKey::new(partition, row), change)
}

fn apply(table: &Table, writes: &[StagedWrite<'_>]) {
    table.apply(writes, || EdmDateTime::MIN, |_| {}).unwrap();
}

#[test]
fn a_locked_partition_does_not_block_another() {
    let table = Table::new("T", EdmDateTime::MIN);
    apply(&table, &[put("a", "1", 0)]);
    apply(&table, &[put("b", "1", 0)]);
    let (started, done) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            let wait = |_: &[AppliedWrite]| {
                started.wait();
                done.wait();
            };
            table.apply(&[put("a", "1", 1)], || EdmDateTime::MIN, wait).unwrap();
        });
        started.wait();
        // The writer of `a` is in the middle of its write meanwhile.
        apply(&table, &[put("b", "1", 2)]);
        assert!(table.get(("b", "1")).is_some());
        done.wait();
    });
}

#[test]
fn a_scan_misses_no_row() {
    let table = Table::new("T", EdmDateTime::MIN);
    for partition in 0..3 * PARTITIONS_PER_STEP {
        let partition = format!("{partition:03}");
        let rows: Vec<_> = (0..7).map(|row| put(&partition, &row.to_string(), 0)).collect();
        apply(&table, &rows);
    }
    let mut last = None;
    let mut count = 0;
    table.scan(("000", "1"), &mut |keys, _| {
        let keys = Some((keys.0.to_owned(), keys.1.to_owned()));
        assert!(last < keys);
        assert!(table.partitions.try_write().is_ok(), "a scan holds no lock");
        (last, count) = (keys, count + 1);
        ControlFlow::Continue(())
    });
    assert_eq!((count, table.len()), (3 * PARTITIONS_PER_STEP * 7 - 1, count + 1));
}

#[test]
fn a_merge_of_a_changed_row_is_computed_again() {
    let table = Table::new("T", EdmDateTime::MIN);
    apply(&table, &[put("p", "r", 1)]);
    let merge = RowUpdate::merge(vec![("M".into(), EdmCow::Int32(2))]);
    let key = StoredKey::new("p", "r");
    let mut write = StagedWrite::new(key, RowChange::Update(merge, Precondition::Exists));
    write.prepare(table.get(("p", "r")).as_ref(), ServiceDialect::default());
    apply(&table, &[put("p", "r", 3)]);
    let stale = table.apply(std::slice::from_ref(&write), || EdmDateTime::MIN, |_| {});
    assert_eq!(stale.unwrap_err(), WriteRefusal::Stale);
    write.prepare(table.get(("p", "r")).as_ref(), ServiceDialect::default());
    apply(&table, &[write]);
    let row = table.get(("p", "r")).unwrap();
    assert_eq!(row.properties().text(), "\"M\":2,\"N\":3,");
}

#[test]
fn the_clock_is_read_while_the_partition_is_locked() {
    let table = Table::new("T", EdmDateTime::MIN);
    let key = &"p" as &dyn KeyText;
    let is_locked = || match table.partitions.try_read() {
        Ok(partitions) => partitions.get(key).is_none_or(|rows| rows.try_lock().is_err()),
        Err(_) => true,
    };
    for _ in ["the first row", "another one"] {
        let now = || {
            assert!(is_locked());
            EdmDateTime::MIN
        };
        table.apply(&[put("p", "r", 1)], now, |_| assert!(is_locked())).unwrap();
        assert!(!is_locked());
    }
}

#[test]
fn a_reader_sees_a_whole_transaction_or_nothing() {
    let table = Table::new("T", EdmDateTime::MIN);
    let rows: Vec<String> = (0..20).map(|row| format!("{row:02}")).collect();
    let all = |number| rows.iter().map(|row| put("p", row, number)).collect::<Vec<_>>();
    apply(&table, &all(0));
    thread::scope(|scope| {
        scope.spawn(|| (1..300).for_each(|number| apply(&table, &all(number))));
        for _ in 0..300 {
            let mut seen = Vec::new();
            table.scan(("p", ""), &mut |_, row| {
                seen.push(row.properties().text().to_owned());
                ControlFlow::Continue(())
            });
            assert_eq!(seen.len(), 20);
            assert!(seen.iter().all(|text| *text == seen[0]), "{seen:?}");
        }
    });
}

#[test]
fn writers_that_empty_and_fill_a_partition_lose_no_row() {
    let table = Table::new("T", EdmDateTime::MIN);
    thread::scope(|scope| {
        for writer in 0..4 {
            let table = &table;
            scope.spawn(move || {
                let row = writer.to_string();
                for number in 0..500 {
                    apply(table, &[put("p", &row, number)]);
                    assert!(table.get(("p", &row)).is_some());
                    let change = RowChange::Delete(Precondition::Exists);
                    apply(table, &[StagedWrite::new(StoredKey::new("p", &*row), change)]);
                }
            });
        }
    });
    assert_eq!((table.len(), read(&table.partitions).len()), (0, 0));
}
