//! Single entities: insert, get, update, delete.

use crate::client::blog::Blog;
use azure_table_client::{DynamicEntity, ErrorCode, ErrorKind, IfMatch, TableEntity};

use crate::client::target::Target;

fn blog(id: &str, text: &str) -> Blog {
    Blog::new("Channel9", id, text)
}

/// An entity is read back unchanged, with its version.
pub(crate) async fn insert_and_get(target: &Target) {
    let table = target.table::<Blog>().await;
    let blog = blog("1", "Hello");
    let written = table.insert(&blog).await.unwrap();
    assert_eq!(written.status, target.created());
    assert!(written.request_id.is_some());
    let read = table.get(blog.entity_key().unwrap()).await.unwrap();
    assert_eq!(read.entity, blog);
    assert_eq!(read.etag, written.etag);
    table.delete_table().await.unwrap();
}

/// An insert never overwrites.
pub(crate) async fn insert_twice(target: &Target) {
    let table = target.table::<Blog>().await;
    let blog = blog("1", "Hello");
    table.insert(&blog).await.unwrap();
    let error = table.insert(&Blog { text: "Other".into(), ..blog.clone() }).await.unwrap_err();
    assert!(error.is_conflict());
    assert_eq!(error.code(), Some(&ErrorCode::EntityAlreadyExists));
    assert_eq!(table.get(blog.entity_key().unwrap()).await.unwrap().entity, blog);
    table.delete_table().await.unwrap();
}

/// A missing entity is a 404 with the service's code.
pub(crate) async fn get_missing(target: &Target) {
    let table = target.table::<Blog>().await;
    let error = table.get(("p", "r")).await.unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(error.code(), Some(&ErrorCode::ResourceNotFound));
    table.delete_table().await.unwrap();
}

/// A missing entity is `None` where the call allows it.
pub(crate) async fn get_if_exists(target: &Target) {
    let table = target.table::<Blog>().await;
    let blog = blog("1", "Hello");
    assert_eq!(table.get_if_exists(blog.entity_key().unwrap()).await.unwrap(), None);
    table.insert(&blog).await.unwrap();
    assert_eq!(
        table.get_if_exists(blog.entity_key().unwrap()).await.unwrap().unwrap().entity,
        blog
    );
    table.delete_table().await.unwrap();
}

/// A missing table is never mistaken for a missing entity.
pub(crate) async fn missing_table(target: &Target) {
    let table = target.service().table_named::<Blog>(target.unique_name());
    let blog = blog("1", "Hello");
    let errors = [
        table.insert(&blog).await.unwrap_err(),
        table.get(blog.entity_key().unwrap()).await.unwrap_err(),
        table.get_if_exists(blog.entity_key().unwrap()).await.unwrap_err(),
        table.query().await.unwrap_err(),
        table.insert_or_replace(&blog).await.unwrap_err(),
        table.merge(&blog, IfMatch::Any).await.unwrap_err(),
        table.delete(blog.entity_key().unwrap(), IfMatch::Any).await.unwrap_err(),
        table.delete_if_exists(blog.entity_key().unwrap(), IfMatch::Any).await.unwrap_err(),
    ];
    for error in errors {
        assert!(error.is_not_found(), "{error}");
        assert_eq!(error.code(), Some(&ErrorCode::TableNotFound), "{error}");
    }
}

/// A merge keeps the other properties.
pub(crate) async fn merge_keeps_other_properties(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let mut stored = DynamicEntity::new("p", "r");
    stored.set("A", 1).set("B", "two");
    table.insert(&stored).await.unwrap();
    let mut change = DynamicEntity::new("p", "r");
    change.set("B", 2.0).set("C", true);
    table.merge(&change, IfMatch::Any).await.unwrap();
    let read = table.get(("p", "r")).await.unwrap();
    assert_eq!(read.get::<i32>("A"), Some(Ok(1)));
    assert_eq!(read.get::<f64>("B"), Some(Ok(2.0)));
    assert_eq!(read.get::<bool>("C"), Some(Ok(true)));
    table.delete_table().await.unwrap();
}

/// A replace removes the other properties.
pub(crate) async fn replace_removes_other_properties(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let mut stored = DynamicEntity::new("p", "r");
    stored.set("A", 1).set("B", "two");
    table.insert(&stored).await.unwrap();
    let mut change = DynamicEntity::new("p", "r");
    change.set("C", true);
    table.replace(&change, IfMatch::Any).await.unwrap();
    let read = table.get(("p", "r")).await.unwrap();
    assert_eq!(read.properties().map(|(name, _)| name).collect::<Vec<_>>(), ["C"]);
    table.delete_table().await.unwrap();
}

/// The upsert that merges.
pub(crate) async fn insert_or_merge_both_ways(target: &Target) {
    let table = target.table::<Blog>().await;
    let blog = blog("1", "Hello");
    table.insert_or_merge(&blog).await.unwrap();
    table.insert_or_merge(&Blog { rating: None, text: "Hi".into(), ..blog.clone() }).await.unwrap();
    let read = table.get(blog.entity_key().unwrap()).await.unwrap();
    assert_eq!((read.text.as_str(), read.rating), ("Hi", Some(3)), "None changes nothing");
    table.delete_table().await.unwrap();
}

/// The upsert that replaces.
pub(crate) async fn insert_or_replace_both_ways(target: &Target) {
    let table = target.table::<Blog>().await;
    let blog = blog("1", "Hello");
    table.insert_or_replace(&blog).await.unwrap();
    let second = Blog { rating: None, text: "Hi".into(), ..blog.clone() };
    let written = table.insert_or_replace(&second).await.unwrap();
    let read = table.get(blog.entity_key().unwrap()).await.unwrap();
    assert_eq!(read.entity, second, "None removes");
    assert_eq!(read.etag, written.etag);
    table.delete_table().await.unwrap();
}

/// A deleted entity is gone, and deleting it again is a 404.
pub(crate) async fn delete(target: &Target) {
    let table = target.table::<Blog>().await;
    let blog = blog("1", "Hello");
    let written = table.insert(&blog).await.unwrap();
    assert_eq!(table.delete(blog.entity_key().unwrap(), &written.etag).await.unwrap().status, 204);
    assert_eq!(table.get_if_exists(blog.entity_key().unwrap()).await.unwrap(), None);
    assert!(
        table.delete(blog.entity_key().unwrap(), IfMatch::Any).await.unwrap_err().is_not_found()
    );
    table.delete_table().await.unwrap();
}

/// `delete_if_exists` reports whether the entity existed.
pub(crate) async fn delete_if_exists(target: &Target) {
    let table = target.table::<Blog>().await;
    let blog = blog("1", "Hello");
    assert!(!table.delete_if_exists(blog.entity_key().unwrap(), IfMatch::Any).await.unwrap());
    table.insert(&blog).await.unwrap();
    assert!(table.delete_if_exists(blog.entity_key().unwrap(), IfMatch::Any).await.unwrap());
    table.delete_table().await.unwrap();
}

/// `None` stores no property.
pub(crate) async fn none_is_not_stored(target: &Target) {
    let table = target.table::<Blog>().await;
    let blog = Blog { rating: None, ..blog("1", "Hello") };
    table.insert(&blog).await.unwrap();
    let dynamic =
        table.with_entity::<DynamicEntity>().get(blog.entity_key().unwrap()).await.unwrap();
    assert_eq!(dynamic.properties().map(|(name, _)| name).collect::<Vec<_>>(), ["Text"]);
    table.delete_table().await.unwrap();
}

/// A struct and a dynamic entity are two views of one row.
pub(crate) async fn typed_and_dynamic_see_the_same(target: &Target) {
    let table = target.table::<Blog>().await;
    let blog = blog("1", "Hello");
    table.insert(&blog).await.unwrap();
    let dynamic =
        table.with_entity::<DynamicEntity>().get(blog.entity_key().unwrap()).await.unwrap();
    assert_eq!(dynamic.key().partition_key, "Channel9");
    assert_eq!(dynamic.get::<String>("Text"), Some(Ok("Hello".into())));
    assert_eq!(dynamic.etag(), Some(&dynamic.etag.clone()));
    assert!(dynamic.timestamp().is_some());
    let wrong = table.with_entity::<WrongType>().get(blog.entity_key().unwrap()).await.unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::Decode);
    let cause = std::error::Error::source(&wrong).unwrap().to_string();
    assert_eq!(
        cause,
        r#"property "Rating" of entity ("Channel9", "1"): expected Edm.Int64, found Edm.Int32"#
    );
    table.delete_table().await.unwrap();
}

#[derive(Debug, TableEntity)]
#[table(rename_all = "PascalCase")]
struct WrongType {
    #[table(partition_key)]
    _channel: String,
    #[table(row_key)]
    _posted: String,
    #[table(rename = "Rating")]
    _rating: i64,
}

/// A row that was read can be inserted elsewhere, including its Timestamp.
pub(crate) async fn insert_accepts_no_timestamp(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let mut entity = DynamicEntity::new("p", "r");
    entity.set("A", 1);
    table.insert(&entity).await.unwrap();
    let read = table.get(("p", "r")).await.unwrap().into_inner();
    table.delete(("p", "r"), IfMatch::Any).await.unwrap();
    table.insert(&read).await.unwrap();
    assert_eq!(table.get(("p", "r")).await.unwrap().get::<i32>("A"), Some(Ok(1)));
    table.delete_table().await.unwrap();
}
