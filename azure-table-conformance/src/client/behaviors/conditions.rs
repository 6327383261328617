//! Versions and conditions.

use azure_table_client::{DynamicEntity, ETag, ErrorCode, IfMatch};

use crate::client::target::Target;

fn entity(value: i32) -> DynamicEntity {
    let mut entity = DynamicEntity::new("p", "r");
    entity.set("Value", value);
    entity
}

/// Two writes never return the same version, however fast they follow each other.
pub(crate) async fn every_write_changes_the_etag(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let mut seen: Vec<ETag> = vec![table.insert(&entity(0)).await.unwrap().etag];
    for value in 1..20 {
        let written = if value % 2 == 0 {
            table.merge(&entity(value), seen.last().unwrap()).await.unwrap()
        } else {
            table.replace(&entity(value), seen.last().unwrap()).await.unwrap()
        };
        assert!(!seen.contains(&written.etag), "write {value} repeated {}", written.etag);
        seen.push(written.etag);
    }
    assert_eq!(table.get(("p", "r")).await.unwrap().etag, *seen.last().unwrap());
    table.delete_table().await.unwrap();
}

/// A condition on an old version refuses every kind of write and changes nothing.
pub(crate) async fn stale_etag_is_refused(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let stale = table.insert(&entity(1)).await.unwrap().etag;
    table.merge(&entity(2), &stale).await.unwrap();
    let errors = [
        table.merge(&entity(3), &stale).await.unwrap_err(),
        table.replace(&entity(3), &stale).await.unwrap_err(),
        table.delete(("p", "r"), &stale).await.unwrap_err(),
        table.delete_if_exists(("p", "r"), &stale).await.unwrap_err(),
    ];
    for error in errors {
        assert!(error.is_precondition_failed(), "{error}");
        assert_eq!(error.code(), Some(&ErrorCode::UpdateConditionNotSatisfied));
    }
    assert_eq!(table.get(("p", "r")).await.unwrap().get::<i32>("Value"), Some(Ok(2)));
    table.delete_table().await.unwrap();
}

/// `Any` accepts every version, but not a missing entity.
pub(crate) async fn any_needs_the_entity(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    for error in [
        table.merge(&entity(1), IfMatch::Any).await.unwrap_err(),
        table.replace(&entity(1), IfMatch::Any).await.unwrap_err(),
        table.delete(("p", "r"), IfMatch::Any).await.unwrap_err(),
    ] {
        assert!(error.is_not_found(), "{error}");
        assert_eq!(error.code(), Some(&ErrorCode::ResourceNotFound));
    }
    table.insert(&entity(1)).await.unwrap();
    table.replace(&entity(2), IfMatch::Any).await.unwrap();
    table.delete_table().await.unwrap();
}

/// An update of a row that another program deleted fails and leaves it deleted.
pub(crate) async fn an_update_never_resurrects(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let etag = table.insert(&entity(1)).await.unwrap().etag;
    table.delete(("p", "r"), IfMatch::Any).await.unwrap();
    assert!(table.merge(&entity(2), &etag).await.unwrap_err().is_not_found());
    assert!(table.replace(&entity(2), &etag).await.unwrap_err().is_not_found());
    assert_eq!(table.get_if_exists(("p", "r")).await.unwrap(), None);
    table.delete_table().await.unwrap();
}

/// The paper's two writers (section 5): the second one reads again and succeeds.
pub(crate) async fn a_lost_race_is_seen_and_done_again(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    table.insert(&entity(1)).await.unwrap();
    let (first, second) =
        (table.get(("p", "r")).await.unwrap(), table.get(("p", "r")).await.unwrap());
    table.merge(&entity(10), &first.etag).await.unwrap();
    assert!(table.merge(&entity(20), &second.etag).await.unwrap_err().is_precondition_failed());
    let again = table.get(("p", "r")).await.unwrap();
    table.merge(&entity(30), &again.etag).await.unwrap();
    assert_eq!(table.get(("p", "r")).await.unwrap().get::<i32>("Value"), Some(Ok(30)));
    table.delete_table().await.unwrap();
}

/// The service sets the Timestamp, which moves forward with every write.
pub(crate) async fn timestamps_advance(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    table.insert(&entity(0)).await.unwrap();
    let mut last = table.get(("p", "r")).await.unwrap().timestamp().unwrap();
    for value in 1..5 {
        table.merge(&entity(value), IfMatch::Any).await.unwrap();
        let now = table.get(("p", "r")).await.unwrap().timestamp().unwrap();
        assert!(now > last, "{now} after {last}");
        last = now;
    }
    table.delete_table().await.unwrap();
}
