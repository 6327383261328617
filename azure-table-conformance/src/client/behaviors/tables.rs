//! Tables: create, delete, list.

use azure_table_client::{DynamicEntity, ErrorCode, ErrorKind};
use futures_util::TryStreamExt as _;

use crate::client::target::Target;

/// A table exists from its creation to its deletion.
pub(crate) async fn create_and_delete(target: &Target) {
    let (service, name) = (target.service(), target.unique_name());
    let created = service.create_table(&name).await.unwrap();
    assert_eq!(created.status, target.created());
    assert!(created.request_id.is_some());
    assert!(service.table_exists(&name).await.unwrap());
    assert_eq!(service.delete_table(&name).await.unwrap().status, 204);
    assert!(!service.table_exists(&name).await.unwrap());
}

/// Creating an existing table is a conflict.
pub(crate) async fn create_twice(target: &Target) {
    let (service, name) = (target.service(), target.unique_name());
    service.create_table(&name).await.unwrap();
    let error = service.create_table(&name).await.unwrap_err();
    assert!(error.is_conflict());
    assert_eq!(error.code(), Some(&ErrorCode::TableAlreadyExists));
    service.delete_table(&name).await.unwrap();
}

/// `create_if_not_exists` reports whether it created the table.
pub(crate) async fn create_if_not_exists(target: &Target) {
    let (service, name) = (target.service(), target.unique_name());
    assert!(service.create_table_if_not_exists(&name).await.unwrap());
    assert!(!service.create_table_if_not_exists(&name).await.unwrap());
    service.delete_table(&name).await.unwrap();
}

/// Deleting a missing table is a 404.
pub(crate) async fn delete_missing(target: &Target) {
    let error = target.service().delete_table(&target.unique_name()).await.unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(error.kind(), ErrorKind::Service);
}

/// `delete_if_exists` reports whether the table existed.
pub(crate) async fn delete_if_exists(target: &Target) {
    let (service, name) = (target.service(), target.unique_name());
    assert!(!service.delete_table_if_exists(&name).await.unwrap());
    service.create_table(&name).await.unwrap();
    assert!(service.delete_table_if_exists(&name).await.unwrap());
    assert!(!service.delete_table_if_exists(&name).await.unwrap());
}

/// `exists` of a missing table is not an error.
pub(crate) async fn exists(target: &Target) {
    assert!(!target.service().table_exists(&target.unique_name()).await.unwrap());
}

/// Names are case-insensitive and keep their case.
pub(crate) async fn names_ignore_case(target: &Target) {
    let service = target.service();
    let name = format!("{}Mixed", target.unique_name());
    service.create_table(&name).await.unwrap();
    if !target.skips_on_azurite(
        "it finds a table under the case it was created with only \
         (https://github.com/Azure/Azurite/issues/1355)",
    ) {
        assert!(service.table_exists(&name.to_uppercase()).await.unwrap());
        assert!(!service.create_table_if_not_exists(&name.to_lowercase()).await.unwrap());
    }
    let listed =
        service.list_tables().filter_text(&format!("TableName eq '{name}'")).await.unwrap();
    assert_eq!(listed, [name.as_str()]);
    service.delete_table(&name).await.unwrap();
}

/// A filter over names, including the prefix idiom.
pub(crate) async fn list_by_filter(target: &Target) {
    let service = target.service();
    let prefix = target.unique_name();
    let names: Vec<String> = ["a", "b", "c"].iter().map(|end| format!("{prefix}{end}")).collect();
    for name in &names {
        service.create_table(name).await.unwrap();
    }
    let filter = format!("TableName ge '{prefix}' and TableName lt '{prefix}c'");
    let listed = service.list_tables().filter_text(&filter).await.unwrap();
    assert_eq!(listed, names[..2]);
    for name in &names {
        service.delete_table(name).await.unwrap();
    }
}

/// Pages of one table each give the same names in the same order.
pub(crate) async fn list_in_pages(target: &Target) {
    let service = target.service();
    let prefix = target.unique_name();
    let names: Vec<String> = (0..3).map(|n| format!("{prefix}{n}")).collect();
    for name in &names {
        service.create_table(name).await.unwrap();
    }
    let filter = format!("TableName ge '{prefix}' and TableName lt '{prefix}9'");
    let list = || service.list_tables().filter_text(&filter).page_size(1);
    assert_eq!(list().await.unwrap(), names);
    assert_eq!(list().stream().try_collect::<Vec<_>>().await.unwrap(), names);
    for name in &names {
        service.delete_table(name).await.unwrap();
    }
}

/// The service's own tables can be read; the client refuses to create or delete one.
pub(crate) async fn metrics_are_the_services(target: &Target) {
    let (service, name) = (target.service(), "$MetricsHourPrimaryTransactionsTable");
    let table = service.table_named::<DynamicEntity>(name);
    for error in [
        service.create_table(name).await.unwrap_err(),
        service.create_table_if_not_exists(name).await.unwrap_err(),
        service.delete_table(name).await.unwrap_err(),
        service.delete_table_if_exists(name).await.unwrap_err(),
        table.create().await.unwrap_err(),
        table.delete_table().await.unwrap_err(),
    ] {
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0), "{error}");
    }
    let read = table.query().take(1).await;
    assert!(read.is_ok() || read.is_err_and(|error| error.is_not_found()));
    service.table_exists(name).await.unwrap();
}
