//! Checks the strings to sign and the signatures that others publish: all files of the folder `vectors`.
//!
//! | file | content |
//! |---|---|
//! | `shared_key.json` | strings to sign of `SharedKey`, and canonicalized resources |
//! | `shared_key_lite.json` | strings to sign of `SharedKeyLite`, with their signatures |
//! | `table_sas.json` | strings to sign of signatures for a table, with their signatures |
//! | `account_sas.json` | strings and signatures of accounts |
//! | `user_delegation.json` | strings to sign of signatures for a table with a user delegation key, with their signatures |
//!
//! Each vector names its source:
//!
//! - `rest`: the REST reference, [Authorize with Shared Key][key], [Create a service SAS][service] and [Create an account
//!   SAS][account]. It publishes the strings, and not the keys of its example signatures. These vectors have no signature,
//!   or one that OpenSSL computed for the public key of the development account (`computed`).
//! - `computed`: the vectors of `user_delegation.json`, for which no one publishes signatures yet. The strings have the
//!   order that `sdk/tables/azure-data-tables/.github/skills/azure-data-tables/SKILL.md` of Azure/azure-sdk-for-python
//!   states, and Python's `hmac` module signed them.
//! - `js`: the tests of the official JavaScript client, `sdk/tables/data-tables/test/internal` of Azure/azure-sdk-for-js
//!   (`sharedKeyCredential.spec.ts`, `generateSas.spec.ts`, `fakeTestSecrets.ts`). The keys here are the base64 of the bytes
//!   that Node.js decodes from its keys.
//! - `net`: the tests of the official .NET client, `sdk/tables/Azure.Data.Tables/tests/` of Azure/azure-sdk-for-net
//!   (`TableSharedKeyPipelinePolicyTests.cs`).
//! - `doctrine`: the tests of doctrine/KeyValueStore (`SharedKeyLiteTest.php`), a client for tables. The key is the base64 of
//!   the bytes that PHP decodes from its key.
//!
//! [key]: https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
//! [service]: https://learn.microsoft.com/rest/api/storageservices/create-service-sas
//! [account]: https://learn.microsoft.com/rest/api/storageservices/create-account-sas

use serde_json::Value;

use super::sas_signature::{for_account, for_table};
use super::{
    AccountPermissions, AccountSas, ResourceTypes, SasProtocol, SharedKey, TablePermissions,
    TableSas, canonicalized_resource, string_to_sign, string_to_sign_lite,
};
use crate::edm::EdmDateTime;

fn vectors(json: &str) -> Vec<Value> {
    let vectors: Vec<Value> = serde_json::from_str(json).unwrap();
    assert!(!vectors.is_empty());
    vectors
}

/// A text that every vector of its file has.
fn text<'v>(vector: &'v Value, name: &str) -> &'v str {
    vector[name].as_str().unwrap_or_else(|| panic!("{name} in {vector}"))
}

/// A field of a signature, which may be left out.
fn field<'v>(vector: &'v Value, name: &str) -> &'v str {
    vector["fields"][name].as_str().unwrap_or_default()
}

fn key(vector: &Value, account: &str) -> SharedKey {
    SharedKey::new(account, text(vector, "key")).unwrap()
}

#[test]
fn shared_key() {
    let file: Value = serde_json::from_str(include_str!("vectors/shared_key.json")).unwrap();
    for vector in file["resources"].as_array().unwrap() {
        let of = |name| text(vector, name);
        let resource = canonicalized_resource(of("account"), of("path"), of("query"));
        assert_eq!(resource, of("resource"));
    }
    for vector in file["strings"].as_array().unwrap() {
        let of = |name| text(vector, name);
        let resource = canonicalized_resource(of("account"), of("path"), of("query"));
        let string = string_to_sign(
            of("method"),
            of("content_md5"),
            of("content_type"),
            of("date"),
            &resource,
        );
        assert_eq!(string, of("string"));
        assert_eq!(key(vector, of("account")).sign(&string), of("signature"));
    }
}

#[test]
fn shared_key_lite() {
    for vector in vectors(include_str!("vectors/shared_key_lite.json")) {
        let of = |name| text(&vector, name);
        let resource = canonicalized_resource(of("account"), of("path"), "");
        let string = string_to_sign_lite(of("date"), &resource);
        assert_eq!(string, of("string"));
        assert_eq!(key(&vector, of("account")).sign(&string), of("signature"));
    }
}

#[test]
fn table_signatures() {
    for vector in vectors(include_str!("vectors/table_sas.json")) {
        let of = |name: &str| field(&vector, name);
        let string = for_table(of("account"), &of);
        assert_eq!(string, text(&vector, "string"));
        assert_eq!(key(&vector, of("account")).sign(&string), text(&vector, "signature"));
    }
}

#[test]
fn account_signatures() {
    for vector in vectors(include_str!("vectors/account_sas.json")) {
        let of = |name: &str| field(&vector, name);
        let string = for_account(of("account"), &of);
        assert_eq!(string, text(&vector, "string"));
        assert_eq!(key(&vector, of("account")).sign(&string), text(&vector, "signature"));
    }
}

#[test]
fn user_delegation_signatures() {
    for vector in vectors(include_str!("vectors/user_delegation.json")) {
        let of = |name: &str| field(&vector, name);
        let string = super::sas_signature::for_user_delegation(of("account"), &of);
        assert_eq!(string, text(&vector, "string"));
        assert_eq!(key(&vector, of("account")).sign(&string), text(&vector, "signature"));
    }
}

#[test]
fn builders_make_the_user_delegation_signatures_of_the_vectors() {
    use super::UserDelegationKey;
    use crate::wire::xml_tree::Element;

    for vector in vectors(include_str!("vectors/user_delegation.json")) {
        let of = |name: &str| field(&vector, name);
        let parts = [
            ("SignedOid", of("skoid")),
            ("SignedTid", of("sktid")),
            ("SignedStart", of("skt")),
            ("SignedExpiry", of("ske")),
            ("SignedService", of("sks")),
            ("SignedVersion", of("skv")),
            ("SignedDelegatedUserTid", of("skdutid")),
            ("Value", text(&vector, "key")),
        ];
        let present = parts.iter().filter(|(_, text)| !text.is_empty());
        let parts: Vec<_> =
            present.map(|(name, text)| format!("<{name}>{text}</{name}>")).collect();
        let response = format!("<UserDelegationKey>{}</UserDelegationKey>", parts.concat());
        let root = Element::read(response.as_bytes()).unwrap();
        let key = UserDelegationKey::read(root, of("account")).unwrap();
        let sas = table_sas(&vector);
        let sas = if of("sduoid").is_empty() { sas } else { sas.delegated_user(of("sduoid")) };
        let token = sas.sign_delegated(&key).unwrap();
        assert_eq!(token.field("sig").unwrap(), text(&vector, "signature"), "{vector}");
        for (name, expected) in vector["fields"].as_object().unwrap() {
            if name != "account" {
                assert_eq!(token.field(name).as_deref(), expected.as_str(), "{name}");
            }
        }
        assert_eq!(token.field("si"), None);
    }
}

fn time(text: &str) -> EdmDateTime {
    text.parse().unwrap()
}

fn permissions(letters: &str) -> TablePermissions {
    let mut permissions = TablePermissions::default();
    for (letter, permission) in [
        ('r', TablePermissions::READ),
        ('a', TablePermissions::ADD),
        ('u', TablePermissions::UPDATE),
        ('d', TablePermissions::DELETE),
    ] {
        if letters.contains(letter) {
            permissions |= permission;
        }
    }
    permissions
}

/// A signature for a table with the fields of a vector.
fn table_sas(vector: &Value) -> TableSas {
    let of = |name| field(vector, name);
    let set = |sas: TableSas, name, setter: fn(TableSas, String) -> TableSas| {
        if of(name).is_empty() { sas } else { setter(sas, of(name).to_owned()) }
    };
    let sas = TableSas::new(of("tn")).version(of("sv")).permissions(permissions(of("sp")));
    let sas = set(sas, "st", |sas, text| sas.starts_at(time(&text)));
    let sas = set(sas, "se", |sas, text| sas.expires_at(time(&text)));
    let sas = set(sas, "si", TableSas::policy);
    let sas = set(sas, "sip", |sas, text| {
        let (first, last) = text.split_once('-').unwrap();
        sas.addresses(first.parse().unwrap()..=last.parse().unwrap())
    });
    let sas = set(sas, "spr", |sas, text| {
        assert_eq!(text, "https");
        sas.protocol(SasProtocol::Https)
    });
    let sas = set(sas, "spk", TableSas::start_partition_key);
    let sas = set(sas, "srk", TableSas::start_row_key);
    let sas = set(sas, "epk", TableSas::end_partition_key);
    set(sas, "erk", TableSas::end_row_key)
}

#[test]
fn builders_make_the_signatures_of_the_vectors() {
    for vector in vectors(include_str!("vectors/table_sas.json")) {
        let token = table_sas(&vector).sign(&key(&vector, field(&vector, "account"))).unwrap();
        assert_eq!(token.field("sig").unwrap(), text(&vector, "signature"), "{vector}");
        assert_eq!(token.field("sv").unwrap(), field(&vector, "sv"));
    }
    let vector = &vectors(include_str!("vectors/account_sas.json"))[0];
    let token =
        AccountSas::new(AccountPermissions::LIST | AccountPermissions::READ, ResourceTypes::ALL)
            .expires_at(time(field(vector, "se")))
            .sign(&key(vector, field(vector, "account")))
            .unwrap();
    assert_eq!(token.field("sig").unwrap(), text(vector, "signature"));
    assert_eq!(token.field("sp").unwrap(), "rl");
}
