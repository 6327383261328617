//! The traces of requests for user delegation keys, and of their signatures.

use super::*;
use crate::auth::{Issuer, TablePermissions, TableSas, UserDelegationKeyRequest};

const HOUR: Duration = Duration::from_secs(60 * 60);

#[tokio::test(start_paused = true)]
async fn user_delegation_keys_and_their_signatures_are_not_traced() {
    Recorder::start();
    let mock = MockTableService::builder().tokens(|token| token.starts_with("secret-")).build();
    let recording = Recording::of(mock.transport());
    let endpoint = "https://127.0.0.1:10002/devstoreaccount1";
    let client = |credential: crate::auth::Credential| {
        let builder = TableServiceClient::builder(endpoint, credential);
        builder.transport(recording.clone()).clock(mock.clock()).build().unwrap()
    };
    let service = client(Issuer::of(HOUR).into());
    let request = UserDelegationKeyRequest::until(mock.clock().now() + HOUR);
    let key = service.user_delegation_key(&request).await.unwrap();
    let response = recording.last_response();
    let body = str::from_utf8(&response.body).unwrap();
    let value = body.split_once("<Value>").unwrap().1.split_once('<').unwrap().0;
    let sas = TableSas::new("Blogs")
        .permissions(TablePermissions::READ)
        .expires_at(mock.clock().now() + HOUR / 2)
        .sign_delegated(&key)
        .unwrap();
    let signature = sas.as_query().split_once("&sig=").unwrap().1.to_owned();
    let reader = client(sas.clone().into());
    let error = reader.create_table("Blogs").await.unwrap_err();
    mock.faults().add(Fault::error(403, "AuthenticationFailed"));
    let refused = service.user_delegation_key(&request).await.unwrap_err();

    let recorded = Recorder::take();
    assert_eq!(recorded.calls().count(), 3);
    let (_, call) = recorded.calls().next().unwrap();
    assert_eq!(call.fields.get("db.operation.name"), "GetUserDelegationKey");
    assert_eq!(call.fields.get("db.collection.name"), "", "it is about no table");
    let shown = format!(
        "{} {key:?} {service:?} {sas:?} {reader:?} {error} {error:?} {refused} {refused:?}",
        recorded.text()
    );
    for secret in [value, &signature, "secret-1"] {
        assert!(secret.len() > 5 && !shown.contains(secret), "{secret}: {shown}");
    }
    // Neither the record of the mock nor its `Debug` shows them.
    let recorded = format!("{:?} {mock:?}", mock.requests());
    for secret in [value, &signature] {
        assert!(!recorded.contains(secret), "{secret}: {recorded}");
    }
}
