//! The stored access policies of a table.
//!
//! Sources: [Get Table ACL][get], [Set Table ACL][set].
//!
//! [get]: https://learn.microsoft.com/rest/api/storageservices/get-table-acl
//! [set]: https://learn.microsoft.com/rest/api/storageservices/set-table-acl

use http::Method;

use super::{Reply, Request, Success};
use crate::auth::{TablePermissions, read_time};
use crate::edm::EdmDateTime;
use crate::error::Error;
use crate::limits::check_table_name;
use crate::wire::Operation;
use crate::wire::xml_tree::{Element, InvalidXml, XmlWriter};

const MAX_POLICIES: usize = 5;
/// The longest identifier, in UTF-16 code units.
const MAX_ID_UNITS: usize = 64;
const ROOT: &str = "SignedIdentifiers";

/// The times and permissions of the shared access signatures that name the policy. Changing or deleting the
/// policy changes or revokes them. A signature specifies the fields that its policy leaves open.
///
/// ```
/// use azure_table_client::DynamicEntity;
/// use azure_table_client::auth::{TablePermissions, TableSas};
/// use azure_table_client::client::StoredAccessPolicy;
///
/// # use azure_table_client::mock::MockTableService;
/// # use std::time::Duration;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), azure_table_client::Error> {
/// # let mock = MockTableService::new();
/// # let service = mock.client();
/// let blogs = service.table_named::<DynamicEntity>("Blogs");
/// blogs.create().await?;
/// let readers = StoredAccessPolicy {
///     permissions: Some(TablePermissions::READ),
///     expiry: "2031-01-01T00:00:00Z".parse().ok(),
///     ..StoredAccessPolicy::new("readers")
/// };
/// blogs.set_access_policies(&[readers]).await?;
/// let token = service.sign_table_sas(&TableSas::new("Blogs").policy("readers"))?;
/// // Later: the token permits nothing any more.
/// blogs.set_access_policies(&[]).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAccessPolicy {
    /// The identifier that signatures name, at most 64 UTF-16 code units.
    pub id: String,
    /// The time from which the signatures are valid.
    pub start: Option<EdmDateTime>,
    /// The time until which the signatures are valid.
    pub expiry: Option<EdmDateTime>,
    /// The permissions of the signatures.
    pub permissions: Option<TablePermissions>,
}

impl StoredAccessPolicy {
    /// Creates a policy that leaves all fields open.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), start: None, expiry: None, permissions: None }
    }
}

fn request(operation: Operation, method: Method, table: &str) -> Result<Request, Error> {
    check_table_name(table)?;
    let mut request = Request::new(operation, table, method, format!("/{table}"));
    request.query.push("comp", "acl");
    Ok(request)
}

pub(crate) fn get(table: &str) -> Result<Request, Error> {
    request(Operation::GetTableAcl, Method::GET, table)
}

pub(crate) fn set(table: &str, policies: &[StoredAccessPolicy]) -> Result<Request, Error> {
    check(policies)?;
    let request = request(Operation::SetTableAcl, Method::PUT, table)?.xml(write(policies));
    Ok(Request { success: Success::Done, ..request })
}

pub(crate) fn policies(reply: Reply, request: &Request) -> Result<Vec<StoredAccessPolicy>, Error> {
    reply.read_xml(request, "stored access policies", read)
}

/// Checks the limits of the service.
fn check(policies: &[StoredAccessPolicy]) -> Result<(), Error> {
    if policies.len() > MAX_POLICIES {
        return Err(Error::invalid_input(format!(
            "too many stored access policies ({}, at most {MAX_POLICIES})",
            policies.len()
        )));
    }
    for (index, policy) in policies.iter().enumerate() {
        let units = policy.id.encode_utf16().count();
        if !(1..=MAX_ID_UNITS).contains(&units) {
            return Err(Error::invalid_input(format!(
                "the identifier of stored access policy {index} has {units} UTF-16 code units; \
                 1 to {MAX_ID_UNITS} are allowed"
            )));
        }
        if policies[..index].iter().any(|other| other.id == policy.id) {
            return Err(Error::invalid_input(format!(
                "two stored access policies have the identifier {:?}",
                policy.id
            )));
        }
    }
    Ok(())
}

fn write(policies: &[StoredAccessPolicy]) -> Vec<u8> {
    let mut document = XmlWriter::new();
    document.element(ROOT, |document| {
        for policy in policies {
            document.element("SignedIdentifier", |document| {
                document.leaf("Id", &policy.id);
                document.element("AccessPolicy", |document| write_policy(document, policy));
            });
        }
    });
    document.into_bytes()
}

fn write_policy(document: &mut XmlWriter, policy: &StoredAccessPolicy) {
    for (name, time) in [("Start", policy.start), ("Expiry", policy.expiry)] {
        if let Some(time) = time {
            document.leaf(name, &time.to_string());
        }
    }
    if let Some(permissions) = policy.permissions {
        document.leaf("Permission", &permissions.to_string());
    }
}

fn read(root: &Element) -> Result<Vec<StoredAccessPolicy>, InvalidXml> {
    if root.name != ROOT {
        return Err(InvalidXml);
    }
    root.children.iter().map(read_policy).collect()
}

fn read_policy(identifier: &Element) -> Result<StoredAccessPolicy, InvalidXml> {
    let id = identifier.child("Id").ok_or(InvalidXml)?;
    let field = |name: &str| {
        let text = identifier.child("AccessPolicy")?.child(name)?.text.trim();
        (!text.is_empty()).then_some(text)
    };
    let time = |name| field(name).map(|text| read_time(text).ok_or(InvalidXml)).transpose();
    let permissions = field("Permission")
        .map(|letters| TablePermissions::from_letters(letters).ok_or(InvalidXml));
    Ok(StoredAccessPolicy {
        id: id.text.clone(),
        start: time("Start")?,
        expiry: time("Expiry")?,
        permissions: permissions.transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(id: &str) -> StoredAccessPolicy {
        StoredAccessPolicy {
            start: Some("2026-01-01T00:00:00.0000001Z".parse().unwrap()),
            permissions: Some(TablePermissions::READ | TablePermissions::DELETE),
            ..StoredAccessPolicy::new(id)
        }
    }

    #[test]
    fn policies_are_read_back_unchanged() {
        for policies in [
            vec![],
            vec![StoredAccessPolicy::new("all open")],
            vec![policy("a <b> & c"), policy("\u{1f600}"), policy("3"), policy("4"), policy("5")],
        ] {
            let request = set("Blogs", &policies).unwrap();
            assert_eq!(read(&Element::read(&request.body).unwrap()), Ok(policies));
        }
    }

    #[test]
    fn policies_beyond_the_limits_are_not_sent() {
        let ids = |ids: &[&str]| ids.iter().map(|id| policy(id)).collect::<Vec<_>>();
        for (policies, text) in [
            (
                ids(&["1", "2", "3", "4", "5", "6"]),
                "too many stored access policies (6, at most 5)",
            ),
            (ids(&["1", "1"]), "have the identifier \"1\""),
            (ids(&["1", ""]), "policy 1 has 0 UTF-16"),
            (ids(&[&"x".repeat(65)]), "has 65 UTF-16"),
        ] {
            let error = set("Blogs", &policies).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
        assert!(set("Blogs", &ids(&[&"x".repeat(64)])).is_ok());
        assert!(get("a/b").is_err());
    }

    #[test]
    fn a_document_that_is_not_a_list_of_policies_is_invalid() {
        for text in [
            "<Other/>",
            "<SignedIdentifiers><SignedIdentifier/></SignedIdentifiers>",
            "<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Start>today</Start>\
             </AccessPolicy></SignedIdentifier></SignedIdentifiers>",
            "<SignedIdentifiers><SignedIdentifier><Id>a</Id><AccessPolicy><Permission>x</Permission>\
             </AccessPolicy></SignedIdentifier></SignedIdentifiers>",
        ] {
            assert_eq!(read(&Element::read(text.as_bytes()).unwrap()), Err(InvalidXml), "{text}");
        }
    }
}
