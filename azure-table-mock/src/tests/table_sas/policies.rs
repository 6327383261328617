//! Stored access policies, address restrictions and the signatures of the client.

use std::net::IpAddr;

use super::*;
use crate::service::LOCAL;

#[test]
fn a_stored_policy_adds_missing_fields() {
    let service = filled();
    let set = |fields: &str| {
        let body = format!(
            "<SignedIdentifiers><SignedIdentifier><Id>p</Id><AccessPolicy>{fields}</AccessPolicy>\
             </SignedIdentifier></SignedIdentifiers>"
        );
        assert_eq!(send_signed(&service, "PUT", "/Blogs?comp=acl", &body).status, 204);
    };
    let base = [("sv", "2019-02-02"), ("tn", "blogs"), ("si", "p")];
    let get = |more: &[(&str, &str)]| {
        let query = signed(&[&base, more].concat());
        code(&send_with(&service, "GET", "/Blogs()", &query, ""))
    };
    let failed = (403, "AuthenticationFailed".to_owned());
    let fine = (200, String::new());
    assert_eq!(get(&[("sp", "r"), ("se", EXPIRY)]), failed, "the policy does not exist yet");
    let (all, expiry) = (
        "<Start>2017-11-10</Start><Expiry>2017-11-11</Expiry><Permission>r</Permission>",
        ("se", EXPIRY),
    );
    for (policy, fields, expected) in [
        (all, &[][..], &fine),
        (all, &[("sp", "r")], &failed),
        (all, &[expiry], &failed),
        (all, &[("st", "2017-11-10")], &failed),
        ("<Expiry>2017-11-11</Expiry>", &[("sp", "r")], &fine),
        ("<Expiry>2017-11-11</Expiry>", &[("sp", "r"), ("st", "2017-11-10")], &fine),
        ("<Expiry>2017-11-11</Expiry>", &[], &failed),
        ("<Permission>r</Permission>", &[expiry], &fine),
        ("<Permission>r</Permission>", &[], &failed),
        ("", &[("sp", "r"), expiry], &fine),
        ("<Expiry>2017-11-10</Expiry>", &[("sp", "r")], &failed),
        ("<Start>2017-11-11</Start>", &[("sp", "r"), expiry], &failed),
    ] {
        set(policy);
        assert_eq!(&get(fields), expected, "{policy} {fields:?}");
    }
    set("<Permission>a</Permission>");
    assert_eq!(get(&[expiry]).1, "AuthorizationPermissionMismatch");
    // Without its policy the signature is invalid.
    set(all);
    assert_eq!(get(&[]), fine);
    assert_eq!(send_signed(&service, "PUT", "/Blogs?comp=acl", "").status, 204);
    assert_eq!(get(&[]), failed);
}

#[tokio::test]
async fn a_signature_may_be_restricted_to_addresses_and_https() {
    let service = filled();
    let ask = async |address: IpAddr, scheme: &str, fields: &[(&str, &str)]| {
        let request = HttpRequest {
            headers: [(http::header::ACCEPT, http::HeaderValue::from_static("*/*"))]
                .into_iter()
                .collect(),
            ..HttpRequest::new(
                Method::GET,
                format!("{scheme}://127.0.0.1/devstoreaccount1/Blogs()?{}", sas("r", fields))
                    .parse()
                    .unwrap(),
            )
        };
        let response = service.transport_from(address).send(request).await.unwrap();
        (code(&response), text(&response).to_owned())
    };
    let range = [("sip", "168.1.5.60-168.1.5.70")];
    let inside = "168.1.5.70".parse().unwrap();
    assert_eq!(ask(inside, "http", &range).await.0.0, 200);
    assert_eq!(ask(LOCAL, "http", &[("sip", "127.0.0.1")]).await.0.0, 200);
    for outside in ["168.1.5.71".parse().unwrap(), LOCAL, Ipv6Addr::LOCALHOST.into()] {
        let (found, body) = ask(outside, "http", &range).await;
        assert_eq!(found, (403, "AuthorizationSourceIPMismatch".into()));
        assert!(body.contains(&format!("using this source IP {outside}.")), "{body}");
    }
    for (scheme, protocol, expected) in [
        ("http", "https", (403, "AuthorizationProtocolMismatch")),
        ("https", "https", (200, "")),
        ("http", "https,http", (200, "")),
        ("http", "http,https", (200, "")),
    ] {
        let (found, _) = ask(LOCAL, scheme, &[("spr", protocol)]).await;
        assert_eq!(found, (expected.0, expected.1.to_owned()), "{scheme} {protocol}");
    }
}

#[test]
fn a_loose_service_ignores_signatures() {
    let service = loose();
    assert_eq!(send(&service, "GET", "/Blogs()?sv=x&sig=x", &[], "").status, 200);
}
