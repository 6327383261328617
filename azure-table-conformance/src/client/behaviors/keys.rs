//! Keys: every valid key is stored, in the service's order.

use azure_table_client::{DynamicEntity, ErrorKind, IfMatch};

use crate::client::target::Target;

/// Keys that clients and emulators are known to mishandle (peer pitfall 2).
const ODD_KEYS: [&str; 18] = [
    "it's",
    "''",
    "'",
    "100%",
    "%25",
    "%2F",
    "a+b",
    "a b  c",
    " ",
    "a&b=c;d,e",
    "(1)",
    "a,RowKey='x",
    "\"quoted\"",
    "é ß 日本語",
    "\u{1f600}\u{10ffff}",
    "<xml>",
    "..",
    "$filter!*@:|^~`{}[]",
];

/// Insert, get, query, update and delete with each odd key in both positions.
pub(crate) async fn odd_keys_survive_every_operation(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    for key in ODD_KEYS {
        let mut entity = DynamicEntity::new(key, key);
        entity.set("Key", key);
        table.insert(&entity).await.unwrap_or_else(|e| panic!("insert {key:?}: {e}"));
        let read = table.get((key, key)).await.unwrap_or_else(|e| panic!("get {key:?}: {e}"));
        assert_eq!((&*read.key().partition_key, &*read.key().row_key), (key, key));
        let literal = key.replace('\'', "''");
        let filter = format!("PartitionKey eq '{literal}' and RowKey eq '{literal}'");
        let found = table.query().filter_text(&filter).await.unwrap();
        assert_eq!(found.len(), 1, "query {key:?}");
        let merged = table.merge(&entity, &read.etag).await;
        let merged = merged.unwrap_or_else(|e| panic!("merge {key:?}: {e}"));
        table.replace(&entity, &merged.etag).await.unwrap_or_else(|e| panic!("put {key:?}: {e}"));
        table.insert_or_merge(&entity).await.unwrap();
    }
    assert_eq!(table.query().await.unwrap().len(), ODD_KEYS.len(), "no key met another one's row");
    for key in ODD_KEYS {
        table.delete((key, key), IfMatch::Any).await.unwrap_or_else(|e| panic!("{key:?}: {e}"));
    }
    assert_eq!(table.query().await.unwrap().len(), 0);
    table.delete_table().await.unwrap();
}

/// The empty string is a valid key.
pub(crate) async fn empty_keys(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    for (partition_key, row_key) in [("", "r"), ("p", ""), ("", "")] {
        table.insert(&DynamicEntity::new(partition_key, row_key)).await.unwrap();
        let read = table.get((partition_key, row_key)).await.unwrap();
        assert_eq!(read.key().row_key, row_key);
        table.delete((partition_key, row_key), &read.etag).await.unwrap();
    }
    table.delete_table().await.unwrap();
}

/// Case and normalization distinguish keys.
pub(crate) async fn keys_are_compared_exactly(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let keys = ["a", "A", "\u{e9}", "e\u{301}", "a ", "a\u{a0}"];
    for key in keys {
        table.insert(&DynamicEntity::new("p", key)).await.unwrap();
    }
    assert_eq!(table.query().await.unwrap().len(), keys.len());
    table.delete_table().await.unwrap();
}

/// By PartitionKey, then RowKey, each by UTF-16 code units, for any order of insertion.
pub(crate) async fn rows_come_in_key_order(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let mut keys = ["rk1", "rk12", "rk123", "rk2", "RK", "", "~", "é", "\u{1f600}", "\u{ffff}"];
    for partition_key in ["b", "a"] {
        for row_key in &keys {
            table.insert(&DynamicEntity::new(partition_key, *row_key)).await.unwrap();
        }
    }
    keys.sort_by_key(|key| key.encode_utf16().collect::<Vec<_>>());
    let expected: Vec<(&str, &str)> =
        ["a", "b"].iter().flat_map(|p| keys.iter().map(move |r| (*p, *r))).collect();
    let rows = table.query().await.unwrap();
    let found: Vec<(&str, &str)> = rows
        .iter()
        .map(|row| (row.key().partition_key.as_str(), row.key().row_key.as_str()))
        .collect();
    assert_eq!(found, expected);
    table.delete_table().await.unwrap();
}

/// The client refuses invalid keys before a request is sent, with character and position.
pub(crate) async fn forbidden_characters(target: &Target) {
    let table = target.service().table_named::<DynamicEntity>(target.unique_name());
    for bad in ["a/b", "a\\b", "a#b", "a?b", "a\u{0}b", "a\u{1f}b", "a\u{7f}b", "a\u{9f}b"] {
        for entity in [DynamicEntity::new(bad, "r"), DynamicEntity::new("p", bad)] {
            let error = table.insert(&entity).await.unwrap_err();
            assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0));
            let cause = std::error::Error::source(&error).unwrap().to_string();
            let character = bad.chars().nth(1).unwrap();
            assert!(cause.contains(&format!("{character:?} at position 1")), "{cause}");
        }
    }
}
