//! The stored access policies of a table.
//!
//! Source: [Set Table ACL][set] and [Define a stored access policy][policy]. The form of the
//! response comes from recordings.
//!
//! [set]: https://learn.microsoft.com/rest/api/storageservices/set-table-acl
//! [policy]: https://learn.microsoft.com/rest/api/storageservices/define-stored-access-policy

use crate::auth::read_time;
use crate::edm::EdmDateTime;
use crate::failure::Failure;
use crate::wire::xml_tree::{Element, XmlWriter};
use crate::xml;

/// The largest number of policies of a table.
const MAX_POLICIES: usize = 5;
/// The longest identifier, in UTF-16 code units.
const MAX_ID_UNITS: usize = 64;
/// The permissions for a table in the required order.
pub(super) const TABLE_PERMISSIONS: &str = "raud";

/// The stored access policies of a table, in the order of the request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Policies(Vec<AccessPolicy>);

/// A stored access policy. A signature that names it must have all fields that the policy does not have.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AccessPolicy {
    id: String,
    pub(super) start: Option<EdmDateTime>,
    pub(super) expiry: Option<EdmDateTime>,
    pub(super) permissions: Option<String>,
}

impl Policies {
    /// Reads `<SignedIdentifiers>`. An empty body has no policies.
    pub(super) fn read(body: &[u8]) -> Result<Self, Failure> {
        if body.is_empty() {
            return Ok(Self::default());
        }
        let root = Element::read(body)?;
        let identifiers = xml::children(&root, "SignedIdentifiers")?;
        let mut policies: Vec<AccessPolicy> = Vec::with_capacity(MAX_POLICIES);
        for identifier in identifiers {
            let policy = AccessPolicy::read(identifier)?;
            let is_known = policies.iter().any(|other| other.id == policy.id);
            if is_known || policies.len() == MAX_POLICIES {
                return Err(Failure::invalid_xml());
            }
            policies.push(policy);
        }
        Ok(Self(policies))
    }

    pub(super) fn write(&self) -> Vec<u8> {
        xml::document("SignedIdentifiers", |document| {
            for policy in &self.0 {
                document.element("SignedIdentifier", |document| policy.write(document));
            }
        })
    }

    pub(super) fn find(&self, id: &str) -> Option<&AccessPolicy> {
        self.0.iter().find(|policy| policy.id == id)
    }
}

impl AccessPolicy {
    fn read(identifier: &Element) -> Result<Self, Failure> {
        xml::children(identifier, "SignedIdentifier")?;
        let [id, policy] = xml::fields(identifier, ["Id", "AccessPolicy"])?;
        let id = xml::leaf(id.ok_or_else(Failure::invalid_xml)?)?;
        if id.is_empty() || id.encode_utf16().count() > MAX_ID_UNITS {
            return Err(Failure::invalid_xml());
        }
        let fields = policy.map(|policy| xml::fields(policy, ["Start", "Expiry", "Permission"]));
        let [start, expiry, permission] = fields.transpose()?.unwrap_or_default();
        let permissions = text(permission)?;
        if permissions.is_some_and(|letters| !are_ordered(letters, TABLE_PERMISSIONS)) {
            return Err(Failure::invalid_xml());
        }
        let permissions = permissions.map(str::to_owned);
        Ok(Self { id: id.to_owned(), start: time(start)?, expiry: time(expiry)?, permissions })
    }

    fn write(&self, document: &mut XmlWriter) {
        document.leaf("Id", &self.id);
        if self.start.is_none() && self.expiry.is_none() && self.permissions.is_none() {
            return;
        }
        document.element("AccessPolicy", |document| {
            for (name, time) in [("Start", self.start), ("Expiry", self.expiry)] {
                if let Some(time) = time {
                    document.leaf(name, &time.to_string());
                }
            }
            if let Some(permissions) = &self.permissions {
                document.leaf("Permission", permissions);
            }
        });
    }
}

/// The text of a field. An empty field counts as missing.
fn text(field: Option<&Element>) -> Result<Option<&str>, Failure> {
    Ok(field.map(xml::leaf).transpose()?.filter(|text| !text.is_empty()))
}

fn time(field: Option<&Element>) -> Result<Option<EdmDateTime>, Failure> {
    let time = |text| read_time(text).ok_or_else(Failure::invalid_xml);
    text(field)?.map(time).transpose()
}

/// Returns `true` if these are letters of `order`, each at most once and in that order.
pub(super) fn are_ordered(letters: &str, order: &str) -> bool {
    let mut order = order.chars();
    letters.chars().all(|letter| order.any(|next| next == letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(identifiers: &str) -> Option<Policies> {
        let text =
            format!("<?xml version='1.0'?>\n<SignedIdentifiers>{identifiers}</SignedIdentifiers>");
        Policies::read(text.as_bytes()).ok()
    }

    fn written(identifiers: &str) -> Option<String> {
        let text = String::from_utf8(read(identifiers)?.write()).unwrap();
        let text = text.strip_prefix("\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?>").unwrap();
        Some(text.to_owned())
    }

    fn one(inner: &str) -> String {
        format!("<SignedIdentifier>{inner}</SignedIdentifier>")
    }

    fn ids(count: usize) -> String {
        (0..count).map(|n| one(&format!("<Id>{n}</Id>"))).collect()
    }

    #[test]
    fn policies_are_written_in_the_form_of_the_service() {
        assert_eq!(Policies::read(b"").unwrap(), Policies::default());
        assert_eq!(written("").unwrap(), "<SignedIdentifiers />");
        let only_id = one("<Id>a</Id>");
        for (sent, received) in [
            (only_id.clone(), only_id.clone()),
            (one("<Id>a</Id><AccessPolicy />"), only_id.clone()),
            (one("<Id>a</Id><AccessPolicy></AccessPolicy>"), only_id.clone()),
            (
                one("<AccessPolicy><Start/><Permission></Permission></AccessPolicy><Id>a</Id>"),
                only_id,
            ),
            (
                one("<Id>&lt;a&gt;</Id><AccessPolicy><Expiry>2011-10-12</Expiry></AccessPolicy>"),
                one(
                    "<Id>&lt;a&gt;</Id><AccessPolicy><Expiry>2011-10-12T00:00:00.0000000Z</Expiry></AccessPolicy>",
                ),
            ),
            (
                one(
                    "<Id>a</Id><AccessPolicy><Permission>raud</Permission><Start>2011-10-12T01:02Z</Start></AccessPolicy>",
                ),
                one(
                    "<Id>a</Id><AccessPolicy><Start>2011-10-12T01:02:00.0000000Z</Start><Permission>raud</Permission></AccessPolicy>",
                ),
            ),
        ] {
            let expected = format!("<SignedIdentifiers>{received}</SignedIdentifiers>");
            assert_eq!(written(&sent).as_ref(), Some(&expected), "{sent}");
            assert_eq!(written(&received), Some(expected));
        }
        assert_eq!(read(&ids(5)).unwrap().find("4").unwrap().permissions, None);
    }

    #[test]
    fn malformed_policies_are_refused() {
        let policy =
            |fields: &str| one(&format!("<Id>a</Id><AccessPolicy>{fields}</AccessPolicy>"));
        let long = |units: usize| one(&format!("<Id>{}</Id>", "x".repeat(units)));
        assert!(read(&long(64)).is_some());
        for bad in [
            ids(6),
            long(65),
            one(&format!("<Id>{}</Id>", "\u{1f600}".repeat(33))),
            one("<Id></Id>"),
            one(""),
            one("<Id>a</Id><Id>b</Id>"),
            one("<Id>a</Id><Other/>"),
            one("<Id>a</Id>") + &one("<Id>a</Id>"),
            "<Other/>".into(),
            "text".into(),
            policy("<Start>today</Start>"),
            policy("<Start>2011-10-12T01Z</Start>"),
            policy("<Start>2011-10-11</Start><Start>2011-10-11</Start>"),
            policy("<Permission>ar</Permission>"),
            policy("<Permission>rr</Permission>"),
            policy("<Permission>rw</Permission>"),
            policy("<Permission><r/></Permission>"),
            policy("<Other>1</Other>"),
        ] {
            assert_eq!(read(&bad), None, "{bad}");
        }
        for bad in ["<SignedIdentifier/>", "<SignedIdentifiers>", " ", "<SignedIdentifiers/>x"] {
            assert_eq!(Policies::read(bad.as_bytes()), Err(Failure::invalid_xml()), "{bad}");
        }
    }

    #[test]
    fn times_have_several_forms() {
        for (text, expected) in [
            ("2011-10-11", Some("2011-10-11T00:00:00.0000000Z")),
            ("2011-10-11T22:08Z", Some("2011-10-11T22:08:00.0000000Z")),
            ("2011-10-11T22:08:09Z", Some("2011-10-11T22:08:09.0000000Z")),
            ("2011-10-11T22:08:09.1234567Z", Some("2011-10-11T22:08:09.1234567Z")),
            ("2011-10-11T22:08+01:00", Some("2011-10-11T21:08:00.0000000Z")),
            ("2011-10-11T22:08", None),
            ("2011-13-11", None),
            ("", None),
            ("ééééé", None),
            ("2011-10-11T22:é", None),
        ] {
            assert_eq!(read_time(text).map(|time| time.to_string()).as_deref(), expected, "{text}");
        }
    }
}
