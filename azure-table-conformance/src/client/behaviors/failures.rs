//! Errors of the service, and errors that are found before a request is sent.

use azure_table_client::{DynamicEntity, ErrorCode, ErrorKind, Outcome};

use crate::client::target::Target;

/// A wrong key is refused, and the error shows neither key nor signature.
pub(crate) async fn wrong_key(target: &Target) {
    let service = target.with_wrong_key();
    let error = service.create_table(&target.unique_name()).await.unwrap_err();
    assert_eq!(error.status(), Some(403));
    assert_eq!(error.kind(), ErrorKind::Service);
    // https://github.com/Azure/Azurite/issues/2357
    if !target.differs_on_azurite("authorization/wrong-key") {
        assert_eq!(error.code(), Some(&ErrorCode::AuthenticationFailed));
    }
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("d3Jvbmc") && !shown.contains("SharedKey "), "{shown}");
}

/// An error names the operation, the response of the service, and the ids for its logs.
pub(crate) async fn service_errors_are_complete(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let error = table.get(("p", "r")).client_request_id("my-id").await.unwrap_err();
    assert_eq!(error.status(), Some(404));
    assert_eq!(error.attempts(), 1);
    assert_eq!(error.outcome(), Outcome::NotApplied);
    assert_eq!(error.client_request_id(), Some("my-id"));
    for bad in ["x".repeat(1025), "line\nbreak".into(), "é".into()] {
        let error = table.get(("p", "r")).client_request_id(bad).await.unwrap_err();
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0));
    }
    let text = error.to_string();
    assert!(text.starts_with(&format!("Get on {}: ", table.name())), "{text}");
    assert!(text.contains("404 ResourceNotFound"), "{text}");
    assert!(text.contains(error.request_id().unwrap()), "{text}");
    assert!(!text.contains('\n'), "{text}");
    table.delete_table().await.unwrap();
}

/// 252 properties are accepted; the 253rd is refused before a request is sent.
pub(crate) async fn too_many_properties(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    let mut entity = DynamicEntity::new("p", "r");
    for n in 0..252 {
        entity.set(format!("P{n:03}"), n);
    }
    table.insert(&entity).await.unwrap();
    assert_eq!(table.get(("p", "r")).await.unwrap().properties().len(), 252);
    entity.set("OneMore", 1);
    let error = table.insert_or_replace(&entity).await.unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0));
    table.delete_table().await.unwrap();
}

/// The client refuses a filter that does not parse, and the error shows the position.
pub(crate) async fn unknown_functions_are_refused_before_sending(target: &Target) {
    let table = target.service().table_named::<DynamicEntity>(target.unique_name());
    for bad in ["startswith(Text, 'a')", "A eq", "A eq 'x", "A = 1", "(A eq 1", "A eq 1 B eq 2", ""]
    {
        let error = table.query().filter_text(bad).await.unwrap_err();
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0), "{bad}");
        assert!(std::error::Error::source(&error).is_some());
    }
}

/// All filters must match, and the first invalid one is the error. A projection replaces the earlier ones.
pub(crate) async fn all_filters_and_the_last_projection_count(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    table.insert(DynamicEntity::new("p", "r").set("A", 1).set("B", 2)).await.unwrap();
    let query = table.query().filter_text("A eq 1").filter_text("B eq 2 or B eq 3");
    let found = query.select_names(["a b"]).select_names(["B"]).await.unwrap();
    let names: Vec<&str> = found[0].properties().map(|(name, _)| name).collect();
    assert_eq!(names, ["B"]);
    let other = table.query().filter_text("A eq 2").filter_text("B eq 2 or B eq 3");
    assert_eq!(other.await.unwrap().len(), 0);
    for (first, second) in [("A eq 1", "A eq"), ("A eq", "A eq 1")] {
        let error = table.query().filter_text(first).filter_text(second).await.unwrap_err();
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0));
    }
    let service = target.service();
    let filter = format!("TableName eq '{}'", table.name());
    let listed = service.list_tables().filter_text("x y").filter_text(&filter);
    assert_eq!(listed.await.unwrap_err().kind(), ErrorKind::InvalidInput);
    let of_table = || service.list_tables().filter_text(&filter);
    assert_eq!(of_table().filter_text("TableName ge 'A'").await.unwrap(), [table.name()]);
    assert_eq!(of_table().filter_text("TableName lt 'A'").await.unwrap().len(), 0);
    table.delete_table().await.unwrap();
}

/// The client refuses an invalid property name.
pub(crate) async fn bad_names_in_projections(target: &Target) {
    let table = target.service().table_named::<DynamicEntity>(target.unique_name());
    for bad in ["", "*", "a b", "A,B", "1a", "A&$top=1", &"x".repeat(256)] {
        let error = table.query().select_names(["Good", bad]).await.unwrap_err();
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0), "{bad}");
    }
    let names = ["PartitionKey", "RowKey", "Timestamp", "Größe"];
    assert_eq!(table.query().select_names(names).await.unwrap_err().kind(), ErrorKind::Service);
}

/// 1 to 1,000.
pub(crate) async fn bad_page_sizes(target: &Target) {
    let table = target.service().table_named::<DynamicEntity>(target.unique_name());
    for size in [0, 1001] {
        let error = table.query().page_size(size).await.unwrap_err();
        assert_eq!((error.kind(), error.attempts()), (ErrorKind::InvalidInput, 0));
    }
}
