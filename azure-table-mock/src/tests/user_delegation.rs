//! User delegation keys, and signatures with them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::*;
use crate::wire::xml_tree::Element;

const KEY: &str = "/?restype=service&comp=userdelegationkey";
const VERSION: (&str, &str) = ("x-ms-version", "2025-07-05");
const START: &str = "2017-11-10T11:00:00Z";
const KEY_EXPIRY: &str = "2017-11-17T11:00:00Z";
const OWNER: &str = "0b1f8a3c-5d2e-4f6a-9b7c-8d9e0f1a2b3c";
const TENANT: &str = "11111111-2222-3333-4444-555555555555";

/// A token of this user, without a signature.
fn token(object_id: &str, tenant_id: &str) -> String {
    let claims = format!(r#"{{"oid":"{object_id}","tid":"{tenant_id}"}}"#);
    format!("Bearer head.{}.", URL_SAFE_NO_PAD.encode(claims))
}

fn with_tokens() -> TableService {
    let builder = TableService::builder().clock(Arc::new(Standing));
    let service = builder.tokens(|token| token.starts_with("head.")).build();
    let now = service.core().clock.now();
    service.core().store.write().create("Blogs", now).unwrap();
    let table = service.core().store.read().table("Blogs").is_some();
    assert!(table);
    service
}

fn info(start: &str, expiry: &str) -> String {
    format!("<KeyInfo><Start>{start}</Start><Expiry>{expiry}</Expiry></KeyInfo>")
}

fn requested(service: &TableService, authorization: &str, body: &str) -> HttpResponse {
    send(service, "POST", KEY, &[VERSION, ("authorization", authorization)], body)
}

/// The parts of an issued key, as the fields of its signatures, and its value.
fn issued(service: &TableService, body: &str) -> (Vec<(&'static str, String)>, String) {
    let response = requested(service, &token(OWNER, TENANT), body);
    assert_eq!(response.status, 200, "{}", text(&response));
    assert_eq!(header(&response, "content-type"), Some("application/xml"));
    let root = Element::read(&response.body).unwrap();
    assert_eq!(root.name, "UserDelegationKey");
    let mut fields = vec![("sv", "2025-07-05".to_owned()), ("tn", "Blogs".to_owned())];
    for (name, part) in [
        ("skoid", "SignedOid"),
        ("sktid", "SignedTid"),
        ("skt", "SignedStart"),
        ("ske", "SignedExpiry"),
        ("sks", "SignedService"),
        ("skv", "SignedVersion"),
        ("skdutid", "SignedDelegatedUserTid"),
    ] {
        if let Some(element) = root.child(part) {
            fields.push((name, element.text.clone()));
        }
    }
    (fields, root.child("Value").unwrap().text.clone())
}

/// The order of the string to sign, as `SKILL.md` of azure-data-tables states it. `resource` is the table.
const SIGNED: [&str; 19] = [
    "sp", "st", "se", "resource", "skoid", "sktid", "skt", "ske", "sks", "skv", "skdutid",
    "sduoid", "sip", "spr", "sv", "spk", "srk", "epk", "erk",
];

/// Returns the query of a signature, and the fields.
fn signed(fields: &[(&str, String)], value: &str) -> String {
    let of =
        |name: &str| fields.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text);
    let table = format!("/table/devstoreaccount1/{}", of("tn").to_ascii_lowercase());
    let lines = SIGNED.map(|name| if name == "resource" { &*table } else { of(name) });
    let signature = SharedKey::new("x", value).unwrap().sign(&lines.join("\n"));
    let fields = fields.iter().map(|(name, text)| (*name, &**text)).chain([("sig", &*signature)]);
    fields.map(|(name, text)| format!("{name}={}", encoded(text))).collect::<Vec<_>>().join("&")
}

fn with(
    fields: &[(&'static str, String)],
    more: &[(&'static str, &str)],
) -> Vec<(&'static str, String)> {
    let is_replaced = |name: &str| more.iter().any(|(other, _)| *other == name);
    let kept = fields.iter().filter(|(name, _)| !is_replaced(name)).cloned();
    let more = more.iter().filter(|(_, text)| !text.is_empty());
    kept.chain(more.map(|(name, text)| (*name, (*text).to_owned()))).collect()
}

/// A signature that reads partition `b` until [`EXPIRY`].
const TERMS: [(&str, &str); 4] = [("sp", "r"), ("se", EXPIRY), ("spk", "b"), ("epk", "b")];

fn status(service: &TableService, query: &str) -> u16 {
    send(service, "GET", &format!("/Blogs()?{query}"), &[VERSION], "").status.as_u16()
}

#[test]
fn a_key_is_issued_to_a_token_and_signs() {
    let service = with_tokens();
    let (fields, value) = issued(&service, &info(START, KEY_EXPIRY));
    let of = |name: &str| &fields.iter().find(|(known, _)| *known == name).unwrap().1;
    assert_eq!((&**of("skoid"), &**of("sktid")), (OWNER, TENANT));
    assert_eq!((&**of("skt"), &**of("ske")), (START, KEY_EXPIRY));
    assert_eq!((&**of("sks"), &**of("skv")), ("t", "2025-07-05"));
    let good = with(&fields, &TERMS);
    assert_eq!(status(&service, &signed(&good, &value)), 200);
    // The version of the request is independent of the version of the signature.
    let query = signed(&good, &value);
    for version in ["2019-02-02", "2020-12-06", "2026-04-06"] {
        let headers = [("x-ms-version", version)];
        assert_eq!(send(&service, "GET", &format!("/Blogs()?{query}"), &headers, "").status, 200);
    }
    // A rotation of the account's keys does not end the key.
    service.set_keys(&["bmV3"]).unwrap();
    assert_eq!(status(&service, &query), 200);
    assert_eq!(status(&with_tokens(), &query), 200, "the same account with the same first key");
}

#[test]
fn a_key_needs_a_token() {
    let service = with_tokens();
    let body = info(START, KEY_EXPIRY);
    let refused =
        |headers: &[(&'static str, &str)]| code(&send(&service, "POST", KEY, headers, &body));
    assert_eq!(refused(&[VERSION, ("authorization", "Bearer bad")]).0, 401);
    assert_eq!(refused(&[VERSION]), (401, "NoAuthenticationInformation".into()));
    let failed = (403, "AuthenticationFailed".to_owned());
    let text = auth::string_to_sign(
        "POST",
        "",
        "",
        DATE,
        "/devstoreaccount1/devstoreaccount1/?comp=userdelegationkey",
    );
    let key = format!("SharedKey devstoreaccount1:{}", SharedKey::development().sign(&text));
    assert_eq!(refused(&[VERSION, ("authorization", &key), ("x-ms-date", DATE)]), failed);
    let (fields, value) = issued(&service, &body);
    let query = signed(&with(&fields, &TERMS), &value);
    let response = send(&service, "POST", &format!("{KEY}&{query}"), &[VERSION], &body);
    assert_eq!(code(&response), (403, "AuthorizationFailure".into()));
    let open = TableService::builder().loose(true).clock(Arc::new(Standing)).build();
    assert_eq!(code(&send(&open, "POST", KEY, &[VERSION], &body)), failed);
    assert_eq!(requested(&open, "Bearer any", &body).status, 200);
}

#[test]
fn requests_for_a_key_are_checked() {
    let service = with_tokens();
    let sent = |body: &str| code(&requested(&service, &token(OWNER, TENANT), body));
    let value = (400, "InvalidXmlNodeValue".to_owned());
    let document = (400, "InvalidXmlDocument".to_owned());
    for (start, expiry) in [
        (START, "2017-11-17T11:00:01Z"),
        ("2017-11-11T12:00:00Z", "2017-11-17T12:00:01Z"),
        (START, START),
        (KEY_EXPIRY, START),
        (START, ""),
        ("", KEY_EXPIRY),
        ("today", KEY_EXPIRY),
        (START, "2017-11-17T10:00:00.5Z"),
        (START, "99999-01-01"),
    ] {
        assert_eq!(sent(&info(start, expiry)), value, "{start} {expiry}");
    }
    for body in [
        "",
        "<KeyInfo>",
        "<KeyInfo/>",
        "<Other/>",
        "<KeyInfo><Expiry>2017-11-11</Expiry><Expiry>2017-11-11</Expiry></KeyInfo>",
        "<KeyInfo><Expiry>2017-11-11</Expiry><Other/></KeyInfo>",
        "<KeyInfo><Expiry><x>2017-11-11</x></Expiry></KeyInfo>",
    ] {
        assert_eq!(sent(body), document, "{body}");
    }
    let tenant = format!(
        "<KeyInfo><Expiry>2017-11-11</Expiry><DelegatedUserTid>{}</DelegatedUserTid></KeyInfo>",
        "x\ny"
    );
    assert_eq!(sent(&tenant), value);
    assert_eq!(sent(&format!("{}{}", info(START, KEY_EXPIRY), " ".repeat(5000))).0, 413);
    // A day, minutes, and no start.
    for (body, start, expiry) in [
        (info("2017-11-10", "2017-11-11"), "2017-11-10T00:00:00Z", "2017-11-11T00:00:00Z"),
        (
            info("2017-11-10T13:00Z", "2017-11-10T12:30-01:00"),
            "2017-11-10T13:00:00Z",
            "2017-11-10T13:30:00Z",
        ),
        (
            "<KeyInfo><Expiry>2017-11-11</Expiry></KeyInfo>".to_owned(),
            "2017-11-10T12:00:00Z",
            "2017-11-11T00:00:00Z",
        ),
    ] {
        let (fields, _) = issued(&service, &body);
        assert!(fields.contains(&("skt", start.to_owned())), "{fields:?}");
        assert!(fields.contains(&("ske", expiry.to_owned())), "{fields:?}");
    }
    let token = token(OWNER, TENANT);
    let old = [("x-ms-version", "2020-12-06"), ("authorization", &*token)];
    let response = send(&service, "POST", KEY, &old, &info(START, KEY_EXPIRY));
    assert_eq!(code(&response), (400, "InvalidQueryParameterValue".into()));
    let headers = [VERSION, ("authorization", &*token)];
    let response = send(&service, "GET", KEY, &headers, "");
    assert_eq!(code(&response), (405, "UnsupportedHttpVerb".into()));
}

#[test]
fn signatures_that_the_rules_exclude_are_refused() {
    let service = with_tokens();
    let (fields, value) = issued(&service, &info(START, "2017-11-10T12:30:00Z"));
    let refused = |more: &[(&'static str, &str)]| {
        let terms = with(&with(&fields, &TERMS), more);
        status(&service, &signed(&terms, &value))
    };
    // The key expires first.
    assert_eq!(refused(&[]), 200);
    let clock = |time: &str| {
        let arrived = EdmDateTime::to_chrono(time.parse().unwrap());
        service.faults().freeze_clock(arrived.into());
        refused(&[])
    };
    assert_eq!(clock("2017-11-10T12:29:59Z"), 200);
    assert_eq!(clock("2017-11-10T12:30:00Z"), 403);
    assert_eq!(clock("2017-11-10T11:00:00Z"), 200);
    assert_eq!(clock("2017-11-10T10:59:59Z"), 403);
    clock("2017-11-10T12:00:00Z");
    for more in [
        &[("si", "policy")][..],
        &[("sv", "2025-05-05")],
        &[("sv", "2019-02-02")],
        &[("skv", "2020-02-10")],
        &[("sks", "b")],
        &[("sp", "")],
        &[("sp", "dr")],
        &[("se", "")],
        &[("se", "2017-11-10T12:00:00Z")],
        &[("st", "2017-11-10T12:00:01Z")],
        &[("skoid", "")],
        &[("sktid", "")],
        &[("skt", "")],
        &[("ske", "")],
        &[("ske", "2017-11-10T13:00:00Z")],
        &[("tn", "")],
        &[("spk", ""), ("srk", "x")],
    ] {
        assert_eq!(refused(more), 403, "{more:?}");
    }
    for name in ["skoid", "sktid", "skt", "ske", "sks", "skv", "skdutid", "sduoid", "sig", "tn"] {
        let query = signed(&with(&fields, &TERMS), &value);
        assert_eq!(status(&service, &query), 200);
        assert_eq!(status(&service, &format!("{query}&{name}=a&{name}=a")), 403, "{name} twice");
    }
    assert_eq!(refused(&[("sip", "10.0.0.1")]), 403);
    assert_eq!(refused(&[("spr", "https")]), 403);
    assert_eq!(refused(&[("tn", "blogs")]), 200, "the signature has the name in lower case");
    // The account's key and another account's user delegation key.
    assert_eq!(status(&service, &signed(&with(&fields, &TERMS), auth::DEVELOPMENT_KEY)), 403);
    let other = TableService::builder().account("other", "bmV3").unwrap();
    let other = other.clock(Arc::new(Standing)).tokens(|_| true).build();
    let response = other.respond(&HttpRequest {
        headers: [("x-ms-version", "2025-07-05"), ("authorization", &*token(OWNER, TENANT))]
            .map(|(name, value)| {
                (name.parse::<http::HeaderName>().unwrap(), value.parse().unwrap())
            })
            .into_iter()
            .collect(),
        body: info(START, KEY_EXPIRY).into(),
        ..HttpRequest::new(Method::POST, format!("http://127.0.0.1:1/other{KEY}").parse().unwrap())
    });
    let root = Element::read(&response.body).unwrap();
    let foreign = &root.child("Value").unwrap().text;
    let mine = issued(&service, &info(START, KEY_EXPIRY)).0;
    assert_eq!(status(&service, &signed(&with(&mine, &TERMS), foreign)), 403);
}

#[test]
fn a_bound_signature_needs_a_token_of_its_user() {
    let (user, other) =
        ("aaaaaaaa-0000-0000-0000-000000000000", "bbbbbbbb-0000-0000-0000-000000000000");
    let service = with_tokens();
    let (fields, value) = issued(&service, &info(START, KEY_EXPIRY));
    let query = signed(&with(&with(&fields, &TERMS), &[("sduoid", user)]), &value);
    let with_token = |query: &str, token: &str| {
        let headers = [VERSION, ("authorization", token)];
        send(&service, "GET", &format!("/Blogs()?{query}"), &headers, "").status.as_u16()
    };
    assert_eq!(status(&service, &query), 403);
    assert_eq!(with_token(&query, &token(user, TENANT)), 200);
    assert_eq!(with_token(&query, &token(user, other)), 403);
    assert_eq!(with_token(&query, &token(other, TENANT)), 403);
    assert_eq!(with_token(&query, "Bearer bad"), 401);
    assert_eq!(with_token(&format!("{query}&sduoid={other}"), &token(user, TENANT)), 403);
    assert_eq!(with_token(&format!("{query}&SE=2030-01-01"), &token(user, TENANT)), 403);
    // The token adds nothing to the signature.
    let bound = with(&with(&fields, &TERMS), &[("sduoid", user), ("tn", "Others")]);
    assert_eq!(with_token(&signed(&bound, &value), &token(user, TENANT)), 403);
    assert_eq!(with_token(&query.replace("sduoid", "x"), &token(user, TENANT)), 400);

    let body = info(START, KEY_EXPIRY)
        .replace("</KeyInfo>", &format!("<DelegatedUserTid>{other}</DelegatedUserTid></KeyInfo>"));
    let (fields, value) = issued(&service, &body);
    assert!(fields.contains(&("skdutid", other.to_owned())));
    let query = signed(&with(&with(&fields, &TERMS), &[("sduoid", user)]), &value);
    assert_eq!(with_token(&query, &token(user, other)), 200);
    assert_eq!(with_token(&query, &token(user, TENANT)), 403);
    let without = with(&with(&fields, &TERMS), &[("skdutid", "")]);
    assert_eq!(status(&service, &signed(&without, &value)), 403, "the key has the tenant");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_altered_field_is_never_accepted(
        name in proptest::sample::select(vec![
            "sv", "tn", "sp", "st", "se", "sip", "spr", "spk", "srk", "epk", "erk", "si", "skoid", "sktid", "skt",
            "ske", "sks", "skv", "skdutid", "sduoid", "sig", "ss", "srt",
        ]),
        other in prop_oneof![
            proptest::sample::select(vec![
                "", "r", "raud", "t", "b", "z", "Others", "https", "https,http", "127.0.0.1", "2017-11-10",
                "2017-11-10T11:00Z", "2017-11-18T11:00:00Z", "2025-07-05", "2026-04-06", "2019-02-02", OWNER, TENANT,
            ]).prop_map(str::to_owned),
            "[ -~\n]{0,40}",
        ],
    ) {
        let service = with_tokens();
        let (fields, value) = issued(&service, &info(START, KEY_EXPIRY));
        let terms = with(&with(&fields, &TERMS), &[("st", START), ("srk", "1"), ("erk", "3")]);
        let query = signed(&terms, &value);
        prop_assert_eq!(status(&service, &query), 200);
        let original = terms.iter().find(|(known, _)| *known == name).map_or("", |(_, text)| text);
        let is_same = if name == "tn" { original.eq_ignore_ascii_case(&other) } else { original == other };
        let pair = format!("{name}={}", encoded(&other));
        let kept = query.split('&').filter(|part| !part.starts_with(&format!("{name}=")));
        let altered = kept.chain([&*pair]).collect::<Vec<_>>().join("&");
        // The text to sign does not distinguish an empty field from a missing one.
        let is_added_empty = original.is_empty() && other.is_empty();
        if name != "sig" && (is_same || is_added_empty) {
            return Ok(());
        }
        let response = send(&service, "GET", &format!("/Blogs()?{altered}"), &[VERSION], "");
        prop_assert!(response.status.as_u16() == 403, "{} {}: {}", name, other, response.status);
    }
}

#[test]
fn cosmos_db_refuses_the_signatures() {
    let issuer = with_tokens();
    let (fields, value) = issued(&issuer, &info(START, KEY_EXPIRY));
    let query = signed(&with(&fields, &TERMS), &value);
    let builder = TableService::builder().clock(Arc::new(Standing));
    let cosmos = builder.dialect(Dialect::CosmosDb).tokens(|_| true).build();
    let now = cosmos.core().clock.now();
    cosmos.core().store.write().create("Blogs", now).unwrap();
    assert_eq!(status(&issuer, &query), 200);
    assert_eq!(status(&cosmos, &query), 403);
    let bound = signed(&with(&fields, &[TERMS[0], TERMS[1], ("sduoid", OWNER)]), &value);
    let user = token(OWNER, TENANT);
    let path = format!("/Blogs()?{bound}");
    for (service, expected) in [(&issuer, 200), (&cosmos, 403)] {
        let response = send(service, "GET", &path, &[VERSION, ("authorization", &user)], "");
        assert_eq!(response.status, expected, "{}", text(&response));
    }
}
