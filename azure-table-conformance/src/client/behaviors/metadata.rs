//! The three levels of JSON metadata.

use azure_table_client::edm::EdmDateTime;
use azure_table_client::{DynamicEntity, ETag, ErrorKind, Metadata, TableEntity};
use bytes::Bytes;
use uuid::Uuid;

use crate::client::target::Target;

#[derive(Debug, Clone, PartialEq, TableEntity)]
struct Everything {
    #[table(partition_key)]
    partition: String,
    #[table(row_key)]
    row: String,
    text: String,
    yes: bool,
    small: i32,
    big: i64,
    whole: f64,
    infinite: f64,
    at: EdmDateTime,
    uid: Uuid,
    bytes: Bytes,
    none: Option<i64>,
    #[table(timestamp)]
    timestamp: Option<EdmDateTime>,
    #[table(etag)]
    etag: Option<ETag>,
}

/// A struct reads the same at each level, by get and by query.
pub(crate) async fn every_level_reads_the_same_structs(target: &Target) {
    let name = target.unique_name();
    target.service().create_table(&name).await.unwrap();
    let written = Everything {
        partition: "p".into(),
        row: "r".into(),
        text: "2017-11-10T02:43:55Z".into(),
        yes: true,
        small: -5,
        big: i64::MAX,
        whole: 5.0,
        infinite: f64::INFINITY,
        at: EdmDateTime::MAX,
        uid: Uuid::from_u128(7),
        bytes: Bytes::from_static(&[0, 255]),
        none: None,
        timestamp: None,
        etag: None,
    };
    let version = target.service().table_named(&name).insert(&written).await.unwrap().etag;
    for level in [Metadata::None, Metadata::Minimal, Metadata::Full] {
        let service = target.builder().metadata(level).build().unwrap();
        let table = service.table_named::<Everything>(&name);
        let point = table.get(("p", "r")).await.unwrap();
        assert_eq!(point.etag, version, "{level:?}");
        let queried = table.query().await.unwrap().remove(0);
        assert_eq!(queried, point.entity, "{level:?}");
        assert!(queried.timestamp.is_some());
        assert_eq!(queried.etag.is_some(), level != Metadata::None);
        assert_eq!(Everything { timestamp: None, etag: None, ..queried }, written, "{level:?}");
        assert!(service.table_exists(&name).await.unwrap());
        let filter = format!("TableName eq '{name}'");
        assert_eq!(service.list_tables().filter_text(&filter).await.unwrap(), [name.as_str()]);
    }
    target.service().delete_table(&name).await.unwrap();
}

/// Without metadata a text may have any type, so dynamic entities refuse it.
pub(crate) async fn dynamic_entities_need_types(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let mut entity = DynamicEntity::new("p", "r");
    entity.set("Big", 5_i64);
    table.insert(&entity).await.unwrap();
    let service = target.builder().metadata(Metadata::None).build().unwrap();
    let untyped = service.table_named::<DynamicEntity>(table.name());
    assert_eq!(untyped.get(("p", "r")).await.unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(untyped.query().await.unwrap_err().kind(), ErrorKind::InvalidInput);
    table.delete_table().await.unwrap();
}
