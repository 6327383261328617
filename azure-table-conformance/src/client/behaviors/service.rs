//! The settings of an account's service.

use std::time::Duration;

use azure_table_client::auth::TablePermissions;
use azure_table_client::client::{
    CorsRule, Logging, Metrics, ServiceProperties, StoredAccessPolicy,
};
use azure_table_client::{DynamicEntity, ErrorKind};
use tokio::time::Instant;

use crate::client::target::Target;

/// Properties that are set are stored; omitted ones stay unchanged.
pub(crate) async fn settings(target: &Target) {
    let service = target.service();
    let before = service.properties().await.unwrap();
    let rule = CorsRule {
        allowed_origins: vec!["https://a.example".into(), "https://b.example".into()],
        allowed_methods: vec!["GET".into(), "PUT".into()],
        allowed_headers: vec!["x-ms-*".into()],
        exposed_headers: vec!["etag".into()],
        max_age: Duration::from_secs(5 * 60),
    };
    let logging = Logging { read: true, write: false, delete: true, retention_days: Some(7) };
    let metrics = Metrics { enabled: true, include_apis: false, retention_days: None };
    let new = ServiceProperties {
        logging: Some(logging),
        hour_metrics: Some(metrics),
        minute_metrics: None,
        cors: Some(vec![rule]),
    };
    assert_eq!(service.set_properties(&new).await.unwrap().status, 202);
    let read = || async { service.properties().await.unwrap() };
    let new = ServiceProperties { minute_metrics: before.minute_metrics, ..new };
    settles(read, &new, differing).await;

    let no_rules = ServiceProperties { cors: Some(Vec::new()), ..ServiceProperties::default() };
    service.set_properties(&no_rules).await.unwrap();
    settles(read, &ServiceProperties { cors: no_rules.cors, ..new }, differing).await;
    service.set_properties(&before).await.unwrap();
}

/// Reads until the service has applied a change, which takes up to 30 s on an account.
async fn settles<T: PartialEq, F: Future<Output = T>>(
    read: impl Fn() -> F,
    expected: &T,
    shown: impl Fn(&T, &T) -> String,
) {
    let end = Instant::now() + Duration::from_secs(40);
    loop {
        let found = read().await;
        if found == *expected {
            return;
        }
        assert!(Instant::now() < end, "{}", shown(&found, expected));
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// The names of the settings that differ. Their values are those of the account.
fn differing(found: &ServiceProperties, expected: &ServiceProperties) -> String {
    let parts = [
        ("logging", found.logging != expected.logging),
        ("hour metrics", found.hour_metrics != expected.hour_metrics),
        ("minute metrics", found.minute_metrics != expected.minute_metrics),
        ("CORS rules", found.cors != expected.cors),
    ];
    let names = parts.into_iter().filter_map(|(name, differs)| differs.then_some(name));
    format!("other settings than those that were set: {}", names.collect::<Vec<_>>().join(", "))
}

/// The client refuses invalid settings before a request is sent.
pub(crate) async fn settings_that_cannot_be(target: &Target) {
    let rules = vec![CorsRule::default(); 6];
    let properties = ServiceProperties { cors: Some(rules), ..ServiceProperties::default() };
    let error = target.service().set_properties(&properties).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

/// Policies stay unchanged until others replace them.
pub(crate) async fn access_policies(target: &Target) {
    let table = target.table::<DynamicEntity>().await;
    assert_eq!(table.access_policies().await.unwrap(), []);
    let readers = StoredAccessPolicy {
        start: "2026-01-01T00:00:00Z".parse().ok(),
        expiry: "2031-01-01T12:30:00Z".parse().ok(),
        permissions: Some(TablePermissions::READ),
        ..StoredAccessPolicy::new("read <only> & \u{e9}")
    };
    let mut policies = vec![readers];
    if !target.differs_on_azurite("service/policy-without-fields") {
        policies.push(StoredAccessPolicy::new("open"));
    }
    assert_eq!(table.set_access_policies(&policies).await.unwrap().status, 204);
    let read = || async { table.access_policies().await.unwrap() };
    let shown = |found: &Vec<_>, expected: &Vec<_>| format!("{found:?} instead of {expected:?}");
    settles(read, &policies, shown).await;
    table.set_access_policies(&[]).await.unwrap();
    settles(read, &Vec::new(), shown).await;
    table.delete_table().await.unwrap();
    assert!(table.access_policies().await.unwrap_err().is_not_found());
}
