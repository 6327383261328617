//! Calls that read and write until no concurrent update intervenes.

use azure_table_client::{
    DynamicEntity, ETag, EntityKey, ErrorKind, Outcome, Stored, TableClient, TableEntity,
};
use futures_util::future::join_all;

use crate::Target;

fn counter(n: i32) -> DynamicEntity {
    let mut row = DynamicEntity::new("it's", "n");
    row.set("N", n);
    row
}

fn key() -> EntityKey {
    EntityKey::new("it's", "n")
}

async fn add(table: &TableClient<DynamicEntity>) -> Stored<DynamicEntity> {
    let change = |row: &mut DynamicEntity| {
        let n: i32 = row.get("N").unwrap().unwrap();
        row.set("N", n + 1);
    };
    table.update_with(key(), change).rounds(100).await.unwrap()
}

/// Concurrent tasks add to one number, and each addition counts.
pub async fn increments_are_not_lost(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    table.insert(&counter(0)).await.unwrap();
    let five = || async {
        for _ in 0..5 {
            add(&table).await;
        }
    };
    join_all((0..4).map(|_| five())).await;
    let last = add(&table).await;
    assert_eq!((last.get::<i32>("N"), last.rounds()), (Some(Ok(21)), 1));
    let stored = table.get(key()).await.unwrap();
    assert_eq!((stored.get::<i32>("N"), &stored.etag), (Some(Ok(21)), &last.etag));
    table.delete_table().await.unwrap();
}

/// A missing row is not written, nor a change that returns an error.
pub async fn changes_that_are_not_made(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let error = table.update_with(key(), |_| {}).await.unwrap_err();
    assert!(error.is_not_found() && error.rounds() == 1, "{error}");
    let first = table.insert(&counter(0)).await.unwrap();
    let move_it = |row: &mut DynamicEntity| *row = DynamicEntity::new("it's", "m");
    let error = table.update_with(key(), move_it).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(table.get(key()).await.unwrap().etag, first.etag);
    assert_eq!(table.query().count().await.unwrap(), 1);
    table.delete_table().await.unwrap();
}

/// A change removes a property and keeps the properties of other programs.
pub async fn removed_properties_are_gone(target: &Target) {
    #[derive(Debug, TableEntity)]
    struct Noted {
        #[table(partition_key)]
        p: String,
        #[table(row_key)]
        r: String,
        note: Option<String>,
        #[table(etag)]
        version: ETag,
    }
    let rows = target.table::<DynamicEntity>().await;
    rows.insert(counter(1).set("note", "x")).await.unwrap();
    let updated = rows.with_entity::<Noted>().update_with(key(), |n| n.note = None).await.unwrap();
    let stored = rows.get(key()).await.unwrap();
    assert_eq!((updated.note.as_ref(), stored.value("note")), (None, None));
    assert_eq!(stored.get::<i32>("N"), Some(Ok(1)));
    assert_eq!((&updated.version, &updated.etag), (&stored.etag, &stored.etag));
    rows.delete_table().await.unwrap();
}

/// A missing row is inserted, an existing one is read, and one of several concurrent calls inserts.
pub async fn get_or_insert(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let rows: Vec<_> = (0..5).map(counter).collect();
    let obtained =
        join_all(rows.iter().map(|row| async { table.get_or_insert(row).await.unwrap() }));
    let obtained = obtained.await;
    let inserted = obtained.iter().filter(|(_, outcome)| *outcome == Outcome::Applied);
    assert_eq!(inserted.count(), 1);
    let stored = table.get(key()).await.unwrap();
    for (row, _) in obtained {
        assert_eq!(row.get::<i32>("N"), stored.get("N"));
        assert_eq!(row.etag, stored.etag);
    }
    let (found, inserted) = table.get_or_insert_with(key(), || counter(9)).await.unwrap();
    assert_eq!((inserted, found.get::<i32>("N")), (Outcome::NotApplied, stored.get("N")));
    table.delete_table().await.unwrap();
}
