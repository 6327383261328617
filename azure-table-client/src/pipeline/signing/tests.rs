//! Credentials that are replaced, and clocks that are off.

use std::time::UNIX_EPOCH;

use super::*;
use crate::auth::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY, SasToken, SharedKey};

#[test]
fn one_credential_without_a_key_is_remembered() {
    let key = || SharedKey::new(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY).unwrap();
    let accepted = AcceptedCredentials { keys: true, tokens: true, delegated: true };
    let current = CurrentCredential::new(key().into(), "", accepted).unwrap();
    current.replace(Credential::SharedKeyLite(key())).unwrap();
    assert!(current.had_keys_only());
    // An attempt that was signed with it may still arrive.
    current.replace(Credential::Anonymous).unwrap();
    current.replace(key().into()).unwrap();
    assert!(!current.had_keys_only());
}

#[test]
fn cosmos_accepts_no_signature_with_a_user_delegation_key() {
    let sas = |text: &str| Credential::from(SasToken::new(text).unwrap());
    let cosmos = AcceptedCredentials { keys: true, tokens: true, delegated: false };
    let current = CurrentCredential::new(sas("sp=r&sig=c2Vj"), "", cosmos).unwrap();
    let error = current.replace(sas("sp=r&skoid=me&sig=c2Vj")).unwrap_err();
    assert!(error.to_string().contains("Cosmos DB refuses"), "{error}");
    assert!(!format!("{error} {error:?}").contains("c2Vj"), "{error}");
    let storage = AcceptedCredentials { delegated: true, ..cosmos };
    assert!(CurrentCredential::new(sas("sp=r&skoid=me&sig=c2Vj"), "", storage).is_ok());
}

#[test]
fn a_clock_that_is_off_is_noticed_once() {
    let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
    for off in [400_u64, 86_400] {
        for (service, machine) in
            [(1_000_000_000, 1_000_000_000 + off), (1_000_000_000 + off, 1_000_000_000)]
        {
            let mut headers = HeaderMap::new();
            let date = httpdate::fmt_http_date(at(service));
            headers.insert(header::DATE, date.parse().unwrap());
            let skew = Skew::default();
            assert!(skew.learn(&headers, at(machine), at(machine)));
            assert_eq!(skew.of(at(machine)), at(service));
            assert!(skew.learn(&headers, at(machine), at(machine)), "dated before it was known");
            assert!(!skew.learn(&headers, at(service), at(machine)), "dated right");
        }
    }
    let mut headers = HeaderMap::new();
    let skew = Skew::default();
    assert!(!skew.learn(&headers, at(1_000), at(1_000)));
    headers.insert(header::DATE, "now".parse().unwrap());
    assert!(!skew.learn(&headers, at(1_000), at(1_000)));
    headers.insert(header::DATE, httpdate::fmt_http_date(at(1_100)).parse().unwrap());
    assert!(!skew.learn(&headers, at(1_000), at(1_000)), "a small skew is ignored");
    assert_eq!(Skew(AtomicI64::new(i64::MAX)).of(at(5)), at(5), "no time is that late");
}
