//! User delegation keys, which sign shared access signatures for an identity of Microsoft Entra ID.

use std::time::{Duration, SystemTime};

use zeroize::Zeroizing;

use super::delegation::{MAX_LIFETIME, is_part};
use super::sas_terms::{Time, whole_second};
use super::shared_key::is_account_name;
use super::{SasError, SharedKey, read_time};
use crate::edm::EdmDateTime;
use crate::wire::ServiceVersion;
use crate::wire::xml_tree::{Element, InvalidXml, XmlWriter};

/// The default start of a key is earlier than now by this time, because clocks differ.
const HEAD_START: Duration = Duration::from_secs(15 * 60);

/// A key that signs shared access signatures for tables in the name of an identity of Microsoft Entra ID. It is valid
/// for at most 7 days. The account's key is not needed.
///
/// A client with a token requests it, and
/// [`TableSas::sign_delegated`](super::TableSas::sign_delegated) signs with it. The key can sign any number of
/// signatures. A signature expires no later than its key, and its holder can do at most what the identity may do.
///
/// `Debug` does not show the key's value, and the value is overwritten when the key is dropped.
///
/// # Compared with the account's key
///
/// | | with the account's key | with a user delegation key |
/// |---|---|---|
/// | permissions, times, key ranges, addresses, protocol | yes | yes |
/// | stored access policy | yes | no: `SasError::PolicyWithUserDelegation` |
/// | expiry | any | at most the key's: `SasError::ExpiresAfterKey` |
/// | lifetime of the key | until it is regenerated | at most 7 days: `SasError::KeyLifetime` |
/// | bound to a user (`delegated_user`) | no: `SasError::UserWithoutUserDelegation` | yes: the fields are signed |
/// | tables of the account: create, delete, list, policies | by an account's signature, except policies | no |
/// | Cosmos DB | tables, without ranges of keys | no: an error before anything is sent |
/// | version of the signature | 2019-02-02 by default | 2025-07-05 by default, or later |
///
/// Keep the expiry a few minutes below 7 days: the service counts by its own clock, and refuses more with 400
/// `InvalidXmlNodeValue`. The request for a key is sent with version 2025-07-05; all other requests keep their version, also
/// those with such a signature.
///
/// A signature that is bound to a user (`sduoid`, and `skdutid` for a user of another tenant) is only accepted together with a
/// token of that user. The client signs these fields. It sends one credential with a request, so it cannot use such a signature
/// itself.
///
/// The mock and `azure-table-emulator --oauth basic` issue keys to tokens and check these signatures, including the expiry of
/// the key and the user. The owner of a key is in the claims `oid` and `tid` of its token. A key of the mock is derived from
/// the first key of the account, so it outlives `set_keys` and a restart with the same key.
///
/// # Sources
///
/// **Not tried on a live account.** No client of Microsoft had released this for tables when it was written (November 2026), so
/// it follows documents only:
///
/// | fact | source |
/// |---|---|
/// | request, response, 7 days, `Bearer` only | [Get User Delegation Key][get]; the stored versions of the page describe blobs only |
/// | tables, by REST, roles | [announcement of the preview, January 2026][announced]. [azure-sdk-for-net#62606][net] of September 2026 links the same page under a title that announces general availability |
/// | order of the string to sign, version 2025-07-05, whole seconds, not on Cosmos DB | [`SKILL.md`][skill] of the official Python client's main branch, which no release contains |
/// | state of the .NET client | [azure-sdk-for-net#62606][net] |
/// | 400 `InvalidXmlNodeValue` for more than 7 days from now | [django-storages#1525][seven], for blobs |
/// | `DelegatedUserTid`, `SignedDelegatedUserTid` | the `KeyInfo` and `UserDelegationKey` of the official blob clients, version 2025-07-05 |
/// | a bound signature needs a token of its user | reports of the preview for blobs; nothing found for tables |
///
/// The sources disagree in one point: the page limits both times to 7 days from now, others limit the time between them. The client
/// limits the time from the start, or from now without one, to the expiry. The mock checks both.
///
/// [get]: https://learn.microsoft.com/rest/api/storageservices/get-user-delegation-key
/// [announced]: https://techcommunity.microsoft.com/t5/azure-storage-blog/announcing-public-preview-of-user-delegation-sas-for-azure/ba-p/4485693
/// [net]: https://github.com/Azure/azure-sdk-for-net/issues/62606
/// [seven]: https://github.com/jschneier/django-storages/issues/1525
/// [skill]: https://github.com/Azure/azure-sdk-for-python/blob/main/sdk/tables/azure-data-tables/.github/skills/azure-data-tables/SKILL.md
#[doc(alias("GetUserDelegationKey", "get_user_delegation_key"))]
#[derive(Clone)]
pub struct UserDelegationKey {
    /// The account, and the value of the key.
    shared: SharedKey,
    object_id: String,
    tenant_id: String,
    // As the service wrote them: signatures contain the same text.
    start: String,
    expiry: String,
    expires_at: EdmDateTime,
    service: String,
    version: String,
    user_tenant: Option<String>,
}

impl UserDelegationKey {
    /// The account whose tables the key can give access to.
    pub fn account(&self) -> &str {
        self.shared.account()
    }

    /// The object id of the identity that requested the key.
    pub fn object_id(&self) -> &str {
        &self.object_id
    }

    /// The tenant of that identity.
    pub fn tenant_id(&self) -> &str {
        &self.tenant_id
    }

    /// The time from which the key is not valid any more, nor are its signatures.
    pub fn expires_at(&self) -> EdmDateTime {
        self.expires_at
    }

    /// The tenant of the users to whom its signatures can be [bound](super::TableSas::delegated_user), if it was
    /// requested with one.
    pub fn delegated_tenant(&self) -> Option<&str> {
        self.user_tenant.as_deref()
    }

    pub(super) fn shared(&self) -> &SharedKey {
        &self.shared
    }

    /// Checks that a signature expires with the key or before it.
    pub(super) fn check_expiry(&self, expiry: Option<Time>) -> Result<(), SasError> {
        match whole_second(expiry)? {
            Some(expiry) if expiry > self.expires_at => {
                Err(SasError::ExpiresAfterKey { expiry, key_expiry: self.expires_at })
            }
            _ => Ok(()),
        }
    }
}

#[doc(hidden)]
impl UserDelegationKey {
    /// Reads the response of the service.
    pub fn read(mut root: Element, account: &str) -> Result<Self, InvalidXml> {
        let value = root.children.iter_mut().find(|child| child.name == "Value");
        let value = value.map(|value| Zeroizing::new(std::mem::take(&mut value.text)));
        if root.name != "UserDelegationKey" {
            return Err(InvalidXml);
        }
        let part = |name: &str| root.child(name).map_or(Err(InvalidXml), part);
        let (start, expiry) = (part("SignedStart")?, part("SignedExpiry")?);
        let (starts_at, expires_at) = (read_time(&start), read_time(&expiry));
        let expires_at = expires_at.filter(|end| starts_at < Some(*end)).ok_or(InvalidXml)?;
        let version = part("SignedVersion")?;
        if starts_at.is_none() || ServiceVersion::of_date(&version).is_none() {
            return Err(InvalidXml);
        }
        let value = value.ok_or(InvalidXml)?;
        Ok(Self {
            // The error of the decoder is not passed on, and it does not show the value.
            shared: SharedKey::new(account, &value).map_err(|_| InvalidXml)?,
            object_id: part("SignedOid")?,
            tenant_id: part("SignedTid")?,
            start,
            expiry,
            expires_at,
            service: part("SignedService")?,
            version,
            user_tenant: root.child("SignedDelegatedUserTid").map(self::part).transpose()?,
        })
    }

    /// The fields of its signatures, which repeat everything but the value.
    pub fn fields(&self) -> [(&'static str, Option<&str>); 7] {
        [
            ("skoid", Some(&self.object_id)),
            ("sktid", Some(&self.tenant_id)),
            ("skt", Some(&self.start)),
            ("ske", Some(&self.expiry)),
            ("sks", Some(&self.service)),
            ("skv", Some(&self.version)),
            ("skdutid", self.user_tenant.as_deref()),
        ]
    }
}

opaque_debug!(UserDelegationKey, |it|
    account: it.account(),
    object_id: it.object_id,
    tenant_id: it.tenant_id,
    start: it.start,
    expiry: it.expiry,
    delegated_tenant: it.user_tenant,
);

/// Returns an id, a time, a version or a service.
fn part(element: &Element) -> Result<String, InvalidXml> {
    let text = element.text.trim();
    let is_leaf = element.children.is_empty();
    if is_leaf && is_part(text) { Ok(text.to_owned()) } else { Err(InvalidXml) }
}

/// The terms of a [`UserDelegationKey`] that a client requests.
#[derive(Debug, Clone)]
#[must_use = "TableServiceClient::user_delegation_key sends it"]
pub struct UserDelegationKeyRequest {
    expiry: Time,
    start: Option<Time>,
    user_tenant: Option<String>,
    account: Option<String>,
}

impl UserDelegationKeyRequest {
    /// Requests a key that expires at this time, a `SystemTime` or an [`EdmDateTime`], at most 7 days from now.
    /// Fractions of seconds are dropped.
    ///
    /// The service's clock decides about the 7 days, so a few minutes less are safer.
    pub fn until(expiry: impl TryInto<EdmDateTime>) -> Self {
        Self { expiry: expiry.try_into().ok(), start: None, user_tenant: None, account: None }
    }

    /// Sets the time from which the key is valid, at most 7 days before its expiry. The default is 15 minutes ago, or
    /// 7 days before the expiry if that is later. The margin allows for clock differences. Fractions of seconds are
    /// dropped.
    pub fn starts_at(mut self, time: impl TryInto<EdmDateTime>) -> Self {
        self.start = Some(time.try_into().ok());
        self
    }

    /// Sets the tenant of the users to whom signatures are [bound](super::TableSas::delegated_user), if it is not the
    /// tenant of the account (`DelegatedUserTid`). All signatures of the key then have the field `skdutid`.
    pub fn delegated_tenant(mut self, tenant_id: impl Into<String>) -> Self {
        self.user_tenant = Some(tenant_id.into());
        self
    }

    /// Sets the account, for endpoints that do not name it, such as custom domains.
    pub fn account(mut self, name: impl Into<String>) -> Self {
        self.account = Some(name.into());
        self
    }

    /// Returns the request as the service accepts it.
    ///
    /// # Errors
    /// The key would be valid for more than 7 days, or end before it starts, its account is unknown, or its tenant is
    /// not an id.
    #[doc(hidden)]
    pub fn checked(&self, now: SystemTime, of_endpoint: Option<&str>) -> Result<KeyInfo, SasError> {
        let account = self.account.as_deref().or(of_endpoint);
        let account = account.filter(|name| !name.is_empty() && is_account_name(name));
        let account = account.ok_or(SasError::NoAccount)?;
        let second = |time| whole_second(Some(time))?.ok_or(SasError::TimeOutOfRange);
        if self.user_tenant.as_deref().is_some_and(|tenant| !is_part(tenant)) {
            return Err(SasError::DelegatedId { of: "tenant" });
        }
        let expiry = second(self.expiry)?;
        let of_program = whole_second(self.start)?;
        let now = second(EdmDateTime::from_system_time(now).ok())?;
        let start = of_program.unwrap_or(now);
        let earliest = expiry.before(MAX_LIFETIME);
        if expiry <= start || start < earliest {
            return Err(SasError::KeyLifetime { start, expiry });
        }
        let start = of_program.unwrap_or_else(|| now.before(HEAD_START).max(earliest));
        Ok(KeyInfo {
            account: account.to_owned(),
            start,
            expiry,
            user_tenant: self.user_tenant.clone(),
        })
    }
}

/// The checked terms of a key.
#[derive(Debug)]
#[doc(hidden)]
pub struct KeyInfo {
    pub account: String,
    start: EdmDateTime,
    expiry: EdmDateTime,
    user_tenant: Option<String>,
}

impl KeyInfo {
    /// The body of the request.
    pub fn write(&self) -> Vec<u8> {
        let mut document = XmlWriter::new();
        document.element("KeyInfo", |document| {
            document.leaf("Start", &self.start.trimmed().to_string());
            document.leaf("Expiry", &self.expiry.trimmed().to_string());
            if let Some(tenant) = &self.user_tenant {
                document.leaf("DelegatedUserTid", tenant);
            }
        });
        document.into_bytes()
    }
}
