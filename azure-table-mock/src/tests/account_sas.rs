use super::*;
use crate::auth::sas_signature::for_account;

fn signed(fields: &[(&str, &str)]) -> String {
    sas_query(fields, &for_account("devstoreaccount1", &|name| field(fields, name)))
}

fn sas(resource_types: &str, permissions: &str) -> String {
    signed(&[
        ("sv", "2019-02-02"),
        ("ss", "bt"),
        ("srt", resource_types),
        ("sp", permissions),
        ("se", EXPIRY),
    ])
}

const PROPERTIES: &str = "/?restype=service&comp=properties";

#[test]
fn each_operation_needs_its_resource_type_and_permissions() {
    let entity = "/Blogs(PartitionKey='p',RowKey='r')";
    let keys = r#"{"PartitionKey":"p","RowKey":"new"}"#;
    for (method, path, body, kind, enough, too_little) in [
        ("GET", "/Tables", "", 'c', &["l"][..], &["rwdacup"][..]),
        ("GET", "/Tables('Blogs')", "", 'c', &["l"], &["rwdacup"]),
        ("POST", "/Tables", r#"{"TableName":"More"}"#, 'c', &["c", "w"], &["rdlaup"]),
        ("DELETE", "/Tables('Blogs')", "", 'c', &["d"], &["rwlacup"]),
        ("GET", "/Blogs()", "", 'o', &["r"], &["wdlacup"]),
        ("GET", entity, "", 'o', &["r"], &["wdlacup"]),
        ("POST", "/Blogs", keys, 'o', &["a"], &["rwdlcup"]),
        ("PUT", entity, "{}", 'o', &["au"], &["rwdlcup", "rwdlacp"]),
        ("MERGE", entity, "{}", 'o', &["au"], &["rwdlcup", "rwdlacp"]),
        ("DELETE", entity, "", 'o', &["d"], &["rwlacup"]),
        ("GET", PROPERTIES, "", 's', &["r"], &["wdlacup"]),
        ("PUT", PROPERTIES, "<StorageServiceProperties />", 's', &["w"], &["rdlacup"]),
    ] {
        let ask = |types: &str, permissions: &str| {
            let service = strict();
            send_signed(&service, "PUT", entity, "{}");
            code(&send_with(&service, method, path, &sas(types, permissions), body))
        };
        for permissions in enough {
            for types in [&*kind.to_string(), "sco"] {
                let (status, _) = ask(types, permissions);
                assert!((200..300).contains(&status), "{method} {path} {permissions} {status}");
            }
        }
        for permissions in too_little {
            let mismatch = (403, "AuthorizationPermissionMismatch".to_owned());
            assert_eq!(ask("sco", permissions), mismatch, "{method} {path} {permissions}");
        }
        let others: String = "sco".chars().filter(|letter| *letter != kind).collect();
        let mismatch = (403, "AuthorizationResourceTypeMismatch".to_owned());
        assert_eq!(ask(&others, "rwdlacup"), mismatch, "{method} {path}");
    }
}

#[test]
fn only_the_account_key_allows_access_policies() {
    let service = strict();
    for method in ["GET", "PUT"] {
        let response = send_with(&service, method, "/Blogs?comp=acl", &sas("sco", "rwdlacup"), "");
        assert_eq!(code(&response), (403, "AuthorizationFailure".into()));
    }
}

#[test]
fn invalid_signatures_are_refused_without_a_reason() {
    let service = strict();
    let base = [("sv", "2020-12-06"), ("ss", "t"), ("srt", "c"), ("sp", "l"), ("se", EXPIRY)];
    let ask = |query: &str| code(&send_with(&service, "GET", "/Tables", query, ""));
    assert_eq!(ask(&signed(&base)).0, 200);
    let with = |name: &'static str, value: &'static str| {
        let others = base.iter().filter(|(known, _)| *known != name).copied();
        signed(&others.chain([(name, value)]).collect::<Vec<_>>())
    };
    for fine in [
        with("sv", "2015-04-05"),
        with("sp", "lr"),
        with("sp", "rwdlacupiytfx"),
        with("ss", "bqtf"),
        with("st", "2017-11-10T12:00:00Z"),
        with("sip", "127.0.0.0-127.0.0.9"),
        with("spr", "https,http"),
        with("ses", "scope"),
    ] {
        assert_eq!(ask(&fine).0, 200, "{fine}");
    }
    for bad in [
        with("sv", "2015-02-21"),
        with("sv", ""),
        with("ss", ""),
        with("ss", "tt"),
        with("ss", "x"),
        with("srt", "cx"),
        with("srt", "cc"),
        with("sp", ""),
        with("sp", "ll"),
        with("sp", "lz"),
        with("se", ""),
        with("se", "2017-11-10"),
        with("st", "2017-11-10T12:00:01Z"),
        signed(&base[..4]),
        signed(&base[..3]),
        signed(&base).replace("sp=l", "sp=ld"),
        signed(&base).replace("srt=c", "srt=sco"),
        with("ses", "scope").replace("ses=scope", "ses=other"),
        with("ses", "scope").replace("2020%2D12%2D06", "2020%2D10%2D02"),
        signed(&base[1..]),
    ] {
        assert_eq!(ask(&bad), (403, "AuthenticationFailed".into()), "{bad}");
    }
    for (query, expected) in [
        (with("ss", "bqf"), "AuthorizationServiceMismatch"),
        (with("sip", "127.0.0.2"), "AuthorizationSourceIPMismatch"),
        (with("spr", "https"), "AuthorizationProtocolMismatch"),
    ] {
        assert_eq!(ask(&query), (403, expected.to_owned()));
    }
    // Encryption scopes need a version that supports them.
    let early = [("sv", "2019-02-02"), ("ses", "scope")];
    assert_eq!(ask(&signed(&[&early[..], &base[1..]].concat())).1, "AuthenticationFailed");
}
