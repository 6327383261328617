//! Responses to the request for a key, hostile ones included.

use proptest::prelude::*;

use super::*;
use crate::RetryPolicy;
use crate::transport::HttpResponse;
use crate::wire::headers;
use crate::wire::xml_tree::Element;

const VALUE: &str = "c2VjcmV0LXZhbHVlLW9mLWEta2V5";

/// The response of a service, with the parts of a key in place of others.
fn response(changes: &[(&str, &str)]) -> String {
    let mut parts = vec![
        ("SignedOid", "0b1f8a3c-5d2e-4f6a-9b7c-8d9e0f1a2b3c"),
        ("SignedTid", "11111111-2222-3333-4444-555555555555"),
        ("SignedStart", "2026-11-20T00:00:00Z"),
        ("SignedExpiry", "2026-11-26T00:00:00Z"),
        ("SignedService", "t"),
        ("SignedVersion", "2025-07-05"),
        ("Value", VALUE),
    ];
    for (name, text) in changes {
        parts.retain(|(known, _)| known != name);
        parts.push((name, text));
    }
    let parts: Vec<_> =
        parts.iter().map(|(name, text)| format!("<{name}>{text}</{name}>")).collect();
    let declaration = "\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?>";
    format!("{declaration}<UserDelegationKey>{}</UserDelegationKey>", parts.concat())
}

async fn answered(status: u16, body: &[u8]) -> Result<UserDelegationKey, Error> {
    let mock = with_tokens();
    let id = (headers::X_MS_REQUEST_ID.clone(), http::HeaderValue::from_static("id"));
    let canned = HttpResponse {
        status: http::StatusCode::from_u16(status).unwrap(),
        headers: [id].into_iter().collect(),
        body: body.to_vec().into(),
    };
    let tokens = BearerTokens::new(Issuer::of(DAY));
    let service = builder(&mock, tokens)
        .transport(Recording::always(canned))
        .retry(RetryPolicy::none())
        .build()
        .unwrap();
    let request = UserDelegationKeyRequest::until(now(&mock) + DAY);
    service.user_delegation_key(&request).await
}

#[tokio::test(start_paused = true)]
async fn the_response_is_read_and_hostile_responses_are_errors() {
    let key = answered(200, response(&[]).as_bytes()).await.unwrap();
    assert_eq!(key.tenant_id(), "11111111-2222-3333-4444-555555555555");
    assert_eq!(key.expires_at().trimmed().to_string(), "2026-11-26T00:00:00Z");
    assert!(!format!("{key:?}").contains(VALUE));
    // Times with a fraction are kept as the service wrote them, since they are signed.
    let fraction = response(&[("SignedStart", "2026-11-20T00:00:00.0000000Z"), ("Other", "x")]);
    let key = answered(200, fraction.as_bytes()).await.unwrap();
    assert_eq!(key.fields()[2], ("skt", Some("2026-11-20T00:00:00.0000000Z")));

    // The service decides about the text, which is signed.
    let key = answered(200, response(&[("SignedService", "bt")]).as_bytes()).await.unwrap();
    assert_eq!(key.fields()[4], ("sks", Some("bt")));

    let long = "a".repeat(65);
    for changes in [
        &[("SignedOid", "")][..],
        &[("SignedOid", "a&#10;b")],
        &[("SignedOid", &long)],
        &[("SignedOid", "é")],
        &[("SignedTid", "<x/>")],
        &[("SignedStart", "now")],
        &[("SignedStart", "2026-11-27")],
        &[("SignedExpiry", "2026-11-20T00:00:00Z")],
        &[("SignedExpiry", "never")],
        &[("SignedService", "")],
        &[("SignedVersion", "1")],
        &[("SignedDelegatedUserTid", "a b")],
        &[("Value", "")],
        &[("Value", "secret!")],
        &[("Value", "c2VjcmV0LXZhbHVl c2VjcmV0")],
    ] {
        let error = answered(200, response(changes).as_bytes()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnexpectedReply, "{changes:?}");
        assert!(error.to_string().contains("not a user delegation key"), "{error}");
        for secret in [VALUE, "secret!", "c2VjcmV0"] {
            assert!(!chain(&error).contains(secret), "{error}");
        }
    }
    let json = r#"{"odata.error":{"code":"AuthorizationFailure","message":{"value":"no"}}}"#;
    for (status, body) in [
        (200, String::new()),
        (200, "<UserDelegationKey/>".to_owned()),
        (200, response(&[]).replace("UserDelegationKey", "Other")),
        (200, format!("<!DOCTYPE a>{}", response(&[]).trim_start_matches('\u{feff}'))),
        (200, format!("{}{}", "<a>".repeat(100_000), VALUE)),
        (201, response(&[])),
        (403, json.to_owned()),
    ] {
        let error = answered(status, body.as_bytes()).await.unwrap_err();
        assert!(!chain(&error).contains(VALUE), "{error}");
        assert!(
            error.to_string().starts_with("GetUserDelegationKey on devstoreaccount1"),
            "{error}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_response_panics(at in any::<proptest::sample::Index>(), text in "[ -~\n\u{0}é]{0,6}") {
        let mut body = response(&[]);
        let places: Vec<_> = body.char_indices().map(|(at, _)| at).collect();
        let place = places[at.index(places.len())];
        body.insert_str(place, &text);
        let key = Element::read(body.as_bytes()).and_then(|root| UserDelegationKey::read(root, "me"));
        if let Ok(key) = key {
            let shown = format!("{key:?}");
            prop_assert!(!shown.contains(VALUE));
            let lines = key.fields().iter().filter_map(|(_, text)| *text).collect::<String>();
            prop_assert!(!lines.contains('\n'));
        }
    }
}
