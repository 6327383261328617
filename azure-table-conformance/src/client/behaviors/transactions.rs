//! Entity group transactions.

use azure_table_client::{
    DynamicEntity, EntityKey, Error, ErrorCode, ErrorKind, IfMatch, Outcome, TableClient,
    TableEntity,
};

use crate::client::target::Target;

fn row(row_key: &str, n: i32) -> DynamicEntity {
    let mut row = DynamicEntity::new("p", row_key);
    row.set("N", n);
    row
}

async fn values(table: &TableClient<DynamicEntity>) -> Vec<(String, Option<i32>)> {
    let rows = table.query().await.unwrap();
    let value = |row: &DynamicEntity| row.get("N").map(Result::unwrap);
    rows.iter().map(|row| (row.key().row_key.clone(), value(row))).collect()
}

fn expected(rows: &[(&str, i32)]) -> Vec<(String, Option<i32>)> {
    rows.iter().map(|(key, n)| ((*key).to_owned(), Some(*n))).collect()
}

/// Each kind of operation in one transaction; every ETag is that of the row.
pub(crate) async fn every_operation(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let mut old = row("1 merge", 1);
    old.set("Other", "stays");
    let merged = table.insert(&old).await.unwrap();
    let mut old = row("2 replace", 2);
    old.set("Other", "goes");
    table.insert(&old).await.unwrap();
    let deleted = table.insert(&row("3 delete", 3)).await.unwrap();
    table.insert(&row("5 upsert", 5)).await.unwrap();
    let transaction = table
        .transaction()
        .insert(&row("0 insert", 10))
        .merge(&row("1 merge", 11), &merged.etag)
        .replace(&row("2 replace", 12), IfMatch::Any)
        .delete(("p", "3 delete"), &deleted.etag)
        .insert_or_merge(&row("4 upsert", 14))
        .insert_or_replace(&row("5 upsert", 15));
    assert_eq!(transaction.len(), 6);
    let committed = transaction.await.unwrap();
    let rows = ["0 insert", "1 merge", "2 replace", "4 upsert", "5 upsert"];
    assert_eq!(
        values(&table).await,
        expected(&[(rows[0], 10), (rows[1], 11), (rows[2], 12), (rows[3], 14), (rows[4], 15)])
    );
    let etags: Vec<_> = committed.operations.iter().map(|result| result.etag.clone()).collect();
    assert!(etags[3].is_none(), "a deleted entity has no version");
    for (row_key, etag) in rows.iter().zip(etags.into_iter().flatten()) {
        assert_eq!(table.get(("p", *row_key)).await.unwrap().etag, etag, "{row_key}");
    }
    assert!(committed.operations.iter().all(|result| result.status == 204));
    assert_eq!(committed.status, 202);
    let others = table.query().filter_text("Other eq 'stays' or Other eq 'goes'").await.unwrap();
    assert_eq!(others.len(), 1, "a merge keeps other properties, a replace does not");
    table.delete_table().await.unwrap();
}

/// One failure, and no operation is applied; the error names the operation.
pub(crate) async fn all_or_nothing(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let first = table.insert(&row("1", 1)).await.unwrap();
    table.insert(&row("2", 2)).await.unwrap();
    let merged = table.merge(&row("1", 3), &first.etag).await.unwrap();
    let before = values(&table).await;
    let new = || table.transaction().insert(&row("new", 1)).delete(("p", "2"), IfMatch::Any);
    for (transaction, status, code) in [
        (new().insert(&row("1", 9)), 409, ErrorCode::EntityAlreadyExists),
        (new().merge(&row("1", 9), &first.etag), 412, ErrorCode::UpdateConditionNotSatisfied),
        (new().replace(&row("none", 9), IfMatch::Any), 404, ErrorCode::ResourceNotFound),
        (new().delete(("p", "none"), IfMatch::Any), 404, ErrorCode::ResourceNotFound),
    ] {
        let error = transaction.await.unwrap_err();
        assert_eq!((error.status(), error.code()), (Some(status), Some(&code)), "{error}");
        assert_eq!(error.kind(), ErrorKind::Service);
        assert_eq!(error.outcome(), Outcome::NotApplied);
        assert_eq!(values(&table).await, before, "{error}");
        let key = if status == 404 { "none" } else { "1" };
        assert_eq!(error.batch_index(), Some(2), "{error}");
        assert_eq!(error.entity_key(), Some(&EntityKey::new("p", key)));
    }
    assert_eq!(table.get(("p", "1")).await.unwrap().etag, merged.etag, "not written at all");
    // In a transaction of one operation, the error belongs to that one.
    let error = table.transaction().insert(&row("1", 9)).await.unwrap_err();
    assert!(error.is_conflict());
    assert_eq!(error.batch_index(), Some(0));
    table.delete_table().await.unwrap();
    let error = table.transaction().insert(&row("1", 9)).await.unwrap_err();
    assert_eq!(error.code(), Some(&ErrorCode::TableNotFound), "{error}");
}

/// Invalid transactions are refused before a request is sent.
pub(crate) async fn bad_transactions_are_not_sent(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let large = |row_key: String| {
        let mut row = DynamicEntity::new("p", row_key);
        for n in 0..15 {
            row.set(format!("P{n}"), "x".repeat(32_000));
        }
        row
    };
    let refused = |error: Error, index: Option<usize>, text: &str| {
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert_eq!((error.attempts(), error.batch_index()), (0, index), "{error}");
        assert!(error.to_string().contains(text), "{error}");
    };
    let new = || table.transaction().insert(&row("1", 1));
    refused(table.transaction().await.unwrap_err(), None, "at least one");
    let other = DynamicEntity::new("other", "1");
    refused(new().insert(&other).await.unwrap_err(), Some(1), "one partition");
    let twice = new().delete(("p", "1"), IfMatch::Any);
    refused(twice.await.unwrap_err(), Some(1), "twice");
    let many = (0..101).fold(table.transaction(), |t, n| t.insert(&row(&n.to_string(), n)));
    refused(many.await.unwrap_err(), Some(100), "at most 100");
    let mut transaction = table.transaction();
    for n in 0..9 {
        transaction = transaction.insert(&large(n.to_string()));
    }
    refused(transaction.await.unwrap_err(), Some(8), "4194304 bytes");
    let mut too_large = large("x".to_owned());
    too_large.set("More", "x".repeat(32_000)).set("Yet", "x".repeat(32_000));
    assert_eq!(new().insert(&too_large).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    let bad_key = DynamicEntity::new("p", "a/b");
    assert_eq!(new().insert(&bad_key).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    // The first mistake is reported, regardless of the following ones.
    let both = new().insert(&other).delete(("p", "1"), IfMatch::Any).insert(&row("2", 2));
    refused(both.await.unwrap_err(), Some(1), "one partition");
    assert_eq!(values(&table).await, []);
    // The maximum is 100 operations.
    let all = (0..100).fold(table.transaction(), |t, n| t.insert(&row(&format!("{n:02}"), n)));
    let bytes = all.bytes();
    assert_eq!(all.await.unwrap().operations.len(), 100);
    assert!(bytes > 10_000, "{bytes}");
    assert_eq!(table.query().count().await.unwrap(), 100);
    table.delete_table().await.unwrap();
}

/// Keys with characters that have a meaning in a URL, a literal, or a multipart body.
pub(crate) async fn odd_keys_in_transactions(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let keys =
        ["it's", "100%", "a b", "a&b=c", "--batch", "é\u{1f600}", "\"quoted\"", "a,b(c)", "%41"];
    let entity = |key: &str| {
        let mut row = DynamicEntity::new("it's --changeset", key);
        row.set("Text", format!("{key}\r\n--batch_1--\r\n"));
        row
    };
    let insert = keys.iter().fold(table.transaction(), |t, key| t.insert(&entity(key)));
    insert.await.unwrap();
    for key in &keys {
        let stored = table.get(("it's --changeset", *key)).await.unwrap();
        assert_eq!(stored.get::<String>("Text"), entity(key).get::<String>("Text"), "{key}");
    }
    let replace =
        keys.iter().fold(table.transaction(), |t, key| t.replace(&entity(key), IfMatch::Any));
    replace.await.unwrap();
    let delete = keys
        .iter()
        .fold(table.transaction(), |t, key| t.delete(("it's --changeset", *key), IfMatch::Any));
    delete.await.unwrap();
    assert_eq!(table.query().count().await.unwrap(), 0);
    table.delete_table().await.unwrap();
}

#[derive(Debug, PartialEq, TableEntity)]
struct Post {
    #[table(partition_key)]
    user: String,
    #[table(row_key)]
    id: String,
    text: String,
}

#[derive(Debug, PartialEq, TableEntity)]
struct Photo {
    #[table(partition_key)]
    user: String,
    #[table(row_key)]
    id: String,
    uri: String,
}

/// Entities of several types in one partition (the paper, 8.3.3).
pub(crate) async fn several_types_in_one(target: &Target) {
    let posts = target.table::<Post>().await;
    let post = Post { user: "joe".into(), id: "1_Post".into(), text: "Hello".into() };
    let photo = Photo { user: "joe".into(), id: "2_Photo".into(), uri: "a.jpg".into() };
    let transaction = posts.transaction().insert(&post).with_entity::<Photo>().insert(&photo);
    assert_eq!(transaction.await.unwrap().operations.len(), 2);
    assert_eq!(posts.get(("joe", "1_Post")).await.unwrap().entity, post);
    let photos = posts.with_entity::<Photo>();
    assert_eq!(photos.get(("joe", "2_Photo")).await.unwrap().entity, photo);
    posts.delete_table().await.unwrap();
}
