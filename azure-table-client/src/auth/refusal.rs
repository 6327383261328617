//! Advice on refused credentials.

use std::time::{Duration, SystemTime};

use super::{Credential, SasToken, read_time};
use crate::edm::EdmDateTime;
use crate::error::ErrorCode;
use crate::wire::{Operation, Permissions};

/// A request that is dated further from the service's clock is refused.
const MAX_SKEW: Duration = Duration::from_secs(15 * 60);

/// A refused request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RefusedRequest<'a> {
    pub(crate) code: &'a ErrorCode,
    pub(crate) operation: Operation,
    /// The table, if it is about one.
    pub(crate) resource: &'a str,
    pub(crate) is_https: bool,
    /// The service's clock, if the response has a date.
    pub(crate) service_time: Option<SystemTime>,
    /// This machine's clock.
    pub(crate) machine_time: SystemTime,
}

/// Returns one sentence of advice; it shows fields of a signature, but never the signature itself.
pub(crate) fn hint(credential: &Credential, refused: &RefusedRequest<'_>) -> Option<String> {
    match credential {
        Credential::SharedKey(_) | Credential::SharedKeyLite(_) => advise_on_key(refused),
        Credential::Sas(token) => advise_on_signature(token, refused),
        // Advice on tokens is in `pipeline/attempts/bearer.rs`.
        _ => None,
    }
}

fn advise_on_key(refused: &RefusedRequest<'_>) -> Option<String> {
    if *refused.code == ErrorCode::AuthorizationFailure {
        return Some(
            "The network rules of the account may not let this machine in: add its address or its \
             network there."
                .to_owned(),
        );
    }
    if *refused.code != ErrorCode::AuthenticationFailed {
        return None;
    }
    Some(match clocks_apart(refused) {
        Some((by, side)) => format!(
            "This machine's clock is {} min {side} the service's, and a request dated by the \
             service's clock was refused as well: check the account's key, and set the clock.",
            by.as_secs() / 60
        ),
        None => "Check that the account's name and key belong together, and that the key was not \
                 regenerated since."
            .to_owned(),
    })
}

/// Returns the distance of the clocks, if the service does not allow it.
fn clocks_apart(refused: &RefusedRequest<'_>) -> Option<(Duration, &'static str)> {
    let service = refused.service_time?;
    let (by, side) = match refused.machine_time.duration_since(service) {
        Ok(ahead) => (ahead, "ahead of"),
        Err(behind) => (behind.duration(), "behind"),
    };
    (by > MAX_SKEW).then_some((by, side))
}

fn advise_on_signature(token: &SasToken, refused: &RefusedRequest<'_>) -> Option<String> {
    match refused.code {
        ErrorCode::AuthenticationFailed => Some(not_authentic(token, refused)),
        ErrorCode::AuthorizationPermissionMismatch => Some(not_permitted(token, refused.operation)),
        ErrorCode::AuthorizationProtocolMismatch => by_https_only(token, refused),
        ErrorCode::AuthorizationSourceIpMismatch => token
            .field("sip")
            .map(|from| format!("The shared access signature can be used from {from:?} only.")),
        ErrorCode::AuthorizationResourceTypeMismatch => {
            let (covered, needed) = (token.field("srt")?, refused.operation.resource_type()?);
            Some(format!(
                "The shared access signature covers the resource types {covered:?}, and {} needs \
                 {needed:?}.",
                refused.operation
            ))
        }
        ErrorCode::AuthorizationServiceMismatch => token.field("ss").map(|services| {
            format!(
                "The shared access signature is for the services {services:?}, and tables need \
                 \"t\"."
            )
        }),
        ErrorCode::AuthorizationFailure => out_of_reach(token, refused),
        _ => None,
    }
}

/// The service does not report the reason; its clock and the fields reveal it.
fn not_authentic(token: &SasToken, refused: &RefusedRequest<'_>) -> String {
    let time = |name| token.field(name).and_then(|text| read_time(&text));
    let now = refused.service_time.and_then(|now| EdmDateTime::from_system_time(now).ok());
    if let (Some(expiry), Some(now)) = (time("se"), now)
        && expiry <= now
    {
        return format!(
            "The shared access signature expired at {}; get a new one.",
            expiry.trimmed()
        );
    }
    if let (Some(start), Some(now)) = (time("st"), now)
        && now < start
    {
        return format!(
            "The shared access signature is not valid before {}, and the service's clock shows \
             {}: wait, or get one that starts earlier.",
            start.trimmed(),
            now.trimmed()
        );
    }
    if let (Some(expiry), Some(now)) = (time("ske"), now)
        && expiry <= now
    {
        return format!(
            "The user delegation key of the shared access signature expired at {}; get a new \
             signature.",
            expiry.trimmed()
        );
    }
    if let Some(sentence) = by_https_only(token, refused) {
        return sentence;
    }
    if token.field("sduoid").is_some() {
        return "The shared access signature is bound to a user, whose token must be in the same \
                request; this client sends one credential only."
            .to_owned();
    }
    if token.field("skoid").is_some() {
        return "The shared access signature was changed after it was signed, or its user \
                delegation key was revoked: get a new one."
            .to_owned();
    }
    match token.field("si") {
        Some(policy) => format!(
            "The table's stored access policy {policy:?} may have expired, be deleted, or have \
             a field that the shared access signature has too; or the account's key was regenerated."
        ),
        None => "The shared access signature was changed after it was signed, or the account's \
                 key was regenerated: get a new one."
            .to_owned(),
    }
}

fn by_https_only(token: &SasToken, refused: &RefusedRequest<'_>) -> Option<String> {
    let is_https_only = token.field("spr").is_some_and(|protocols| protocols == "https");
    (is_https_only && !refused.is_https).then(|| {
        "The shared access signature can be used by https only, and the endpoint is http."
            .to_owned()
    })
}

fn not_permitted(token: &SasToken, operation: Operation) -> String {
    let is_of_account = token.field("srt").is_some();
    let permitted = match (token.field("sp"), token.field("si")) {
        (Some(letters), _) => format!("The shared access signature permits {letters:?}"),
        (None, Some(policy)) => format!(
            "The permissions of the shared access signature are in the table's stored access policy \
             {policy:?}"
        ),
        (None, None) => "The shared access signature permits nothing".to_owned(),
    };
    match operation.permissions() {
        Permissions::AnyOf(sets) if is_of_account || operation.is_on_entities() => {
            format!("{permitted}, and {operation} needs {}.", describe_permissions(sets))
        }
        _ => format!("{permitted}."),
    }
}

/// Returns the reason why a signature does not cover a table or a key.
fn out_of_reach(token: &SasToken, refused: &RefusedRequest<'_>) -> Option<String> {
    let Some(table) = token.field("tn") else {
        return Some(format!("{} needs the account's key.", refused.operation));
    };
    if !refused.operation.is_on_entities() {
        return Some(format!(
            "The shared access signature is for the entities of the table {table:?}, and {} needs \
             one for the account, or its key.",
            refused.operation
        ));
    }
    if !table.eq_ignore_ascii_case(refused.resource) {
        return Some(format!("The shared access signature is for the table {table:?} only."));
    }
    let is_ranged = token.field("spk").or_else(|| token.field("epk")).is_some();
    is_ranged.then(|| {
        "The shared access signature covers a range of keys only: check that these keys are in it."
            .to_owned()
    })
}

/// `"a" and "u"` for a set of two letters, `"c" or "w"` for two sets of one.
fn describe_permissions(sets: &[&str]) -> String {
    let one = |set: &&str| {
        let letters: Vec<_> = set.chars().map(|letter| format!("\"{letter}\"")).collect();
        letters.join(" and ")
    };
    sets.iter().map(one).collect::<Vec<_>>().join(" or ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::SharedKey;

    /// 2017-11-10T12:00:00Z.
    fn noon() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(419_532 * 3600)
    }

    fn hint_of(token: &str, code: &'static str, operation: Operation) -> Option<String> {
        let credential = SasToken::new(&format!("{token}&sig=c2VjcmV0")).unwrap().into();
        let refused = RefusedRequest {
            code: &ErrorCode::from(code.to_owned()),
            operation,
            resource: "Blogs",
            is_https: false,
            service_time: Some(noon()),
            machine_time: noon(),
        };
        let hint = hint(&credential, &refused);
        assert!(!hint.as_ref().is_some_and(|hint| hint.contains("c2VjcmV0")), "{hint:?}");
        hint
    }

    #[test]
    fn a_refused_signature_says_what_is_the_matter_with_it() {
        let failed = "AuthenticationFailed";
        let denied = "AuthorizationPermissionMismatch";
        let get = Operation::Get;
        for (token, code, operation, expected) in [
            ("se=2017-11-10T12:00:00Z", failed, get, "expired at 2017-11-10T12:00:00Z"),
            ("se=2017-11-10", failed, get, "expired at 2017-11-10T00:00:00Z"),
            ("se=2017-11-10T11%3A59Z", failed, get, "expired at 2017-11-10T11:59:00Z"),
            ("st=2017-11-11&se=2017-11-12", failed, get, "not valid before 2017-11-11T00:00:00Z"),
            ("se=2017-11-11&spr=https", failed, get, "https only"),
            ("se=2017-11-11&si=readers", failed, get, "stored access policy \"readers\""),
            ("se=2017-11-11", failed, get, "changed after it was signed"),
            (
                "se=2017-11-11&ske=2017-11-10",
                failed,
                get,
                "key of the shared access signature expired",
            ),
            ("se=2017-11-11&ske=2017-11-11&skoid=a", failed, get, "key was revoked"),
            ("se=2017-11-11&skoid=a&sduoid=b", failed, get, "bound to a user"),
            ("sp=au", denied, get, "permits \"au\", and Get needs \"r\"."),
            ("sp=r", denied, Operation::InsertOrMerge, "needs \"a\" and \"u\"."),
            ("sp=r&srt=c", denied, Operation::CreateTable, "needs \"c\" or \"w\"."),
            ("sp=r", denied, Operation::Transaction, "permits \"r\"."),
            ("si=p", denied, Operation::Delete, "policy \"p\", and Delete needs \"d\"."),
            ("spr=https", "AuthorizationProtocolMismatch", get, "the endpoint is http."),
            ("sip=1.2.3.4", "AuthorizationSourceIPMismatch", get, "from \"1.2.3.4\" only."),
            ("srt=c", "AuthorizationResourceTypeMismatch", get, "\"c\", and Get needs \"o\"."),
            ("ss=b", "AuthorizationServiceMismatch", get, "services \"b\""),
            ("tn=Other", "AuthorizationFailure", get, "for the table \"Other\" only."),
            ("tn=blogs", "AuthorizationFailure", Operation::ListTables, "one for the account"),
            ("tn=blogs&spk=b", "AuthorizationFailure", get, "check that these keys are in it."),
            ("srt=sco", "AuthorizationFailure", Operation::SetTableAcl, "needs the account's key."),
        ] {
            let hint = hint_of(token, code, operation).unwrap();
            assert!(hint.contains(expected), "{token} {code}: {hint}");
        }
        assert_eq!(hint_of("tn=blogs", "AuthorizationFailure", get), None);
        assert_eq!(hint_of("sp=r", "ServerBusy", get), None);
        assert_eq!(hint_of("sp=r", "AuthorizationSourceIPMismatch", get), None);
    }

    #[test]
    fn a_key_that_is_good_and_refused_points_to_the_network() {
        let code = ErrorCode::AuthorizationFailure;
        let refused = RefusedRequest {
            code: &code,
            operation: Operation::Get,
            resource: "Blogs",
            is_https: true,
            service_time: None,
            machine_time: noon(),
        };
        let hint = hint(&SharedKey::development().into(), &refused).unwrap();
        assert!(hint.starts_with("The network rules of the account"), "{hint}");
    }

    #[test]
    fn a_refused_key_says_how_far_the_clocks_are_apart() {
        let credential = SharedKey::development().into();
        let of = |machine_time, service_time| {
            let refused = RefusedRequest {
                code: &ErrorCode::AuthenticationFailed,
                operation: Operation::Get,
                resource: "Blogs",
                is_https: true,
                service_time,
                machine_time,
            };
            hint(&credential, &refused).unwrap()
        };
        let minutes = |minutes: u64| Duration::from_secs(minutes * 60);
        assert!(of(noon() + minutes(16), Some(noon())).contains("16 min ahead of the service's"));
        assert!(of(noon() - minutes(90), Some(noon())).contains("90 min behind the service's"));
        for (machine, service) in [(noon() + minutes(15), Some(noon())), (noon(), None)] {
            assert!(of(machine, service).contains("key was not regenerated"));
        }
    }
}
