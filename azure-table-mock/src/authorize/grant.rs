//! The access of a request.
//!
//! Source: [Create an account SAS][account], "Account SAS permissions by operation", and
//! [Shared access signature error codes][codes].
//!
//! [account]: https://learn.microsoft.com/rest/api/storageservices/create-account-sas
//! [codes]: https://learn.microsoft.com/rest/api/storageservices/sas-error-codes

use super::token::TokenIdentity;
use crate::failure::Failure;
use crate::key::ordinal;
use crate::wire::Location;
use crate::wire::{Operation, Permissions};

/// The location and the access of an authenticated request.
#[derive(Debug)]
pub(crate) struct Grant {
    pub(crate) location: Location,
    /// The location refuses writes.
    pub(super) is_read_only: bool,
    pub(super) access: Access,
}

#[derive(Debug)]
pub(super) enum Access {
    Full,
    /// The access of a token: full, because the mock has no roles.
    Identity(TokenIdentity),
    /// The access of a shared access signature for a table.
    Table(TableAccess),
    /// The access of a shared access signature for the account.
    Account(AccountAccess),
}

#[derive(Debug)]
pub(super) struct TableAccess {
    pub(super) table: String,
    pub(super) permissions: String,
    pub(super) keys: GrantedKeys,
    /// A denial reports its reason. Before version 2015-04-05 it reports that the resource does not exist.
    pub(super) reports_reason: bool,
}

#[derive(Debug)]
pub(super) struct AccountAccess {
    pub(super) resource_types: String,
    pub(super) permissions: String,
}

/// A range of keys. Each end is inclusive, with a PartitionKey and an optional RowKey.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct GrantedKeys {
    pub(super) first: Option<(String, Option<String>)>,
    pub(super) last: Option<(String, Option<String>)>,
}

static EVERY_KEY: GrantedKeys = GrantedKeys { first: None, last: None };

impl Grant {
    /// Checks that the operation is allowed on this table.
    pub(crate) fn allows(&self, operation: Operation, table: Option<&str>) -> Result<(), Failure> {
        if self.is_read_only && operation.is_write() && operation != Operation::Transaction {
            return Err(Failure::write_at_secondary());
        }
        match &self.access {
            Access::Full | Access::Identity(_) => Ok(()),
            Access::Table(access) => {
                access.allows(operation, table).map_err(|failure| access.denial(failure))
            }
            Access::Account(access) => access.allows(operation),
        }
    }

    /// Checks that an entity with these keys may be written.
    pub(crate) fn covers(&self, keys: (&str, &str)) -> Result<(), Failure> {
        match &self.access {
            Access::Table(access) if !access.keys.contains(keys) => {
                Err(access.denial(Failure::authorization_failure()))
            }
            _ => Ok(()),
        }
    }

    /// Returns the identity of the token that authorized the request.
    pub(crate) fn identity(&self) -> Option<&TokenIdentity> {
        match &self.access {
            Access::Identity(identity) => Some(identity),
            _ => None,
        }
    }

    /// Returns the keys of the entities that can be read.
    pub(crate) fn keys(&self) -> &GrantedKeys {
        match &self.access {
            Access::Table(access) => &access.keys,
            _ => &EVERY_KEY,
        }
    }
}

/// Checks that the permissions of a signature allow the operation.
fn check_permissions(operation: Operation, permissions: &str) -> Result<(), Failure> {
    let Permissions::AnyOf(sets) = operation.permissions() else {
        return Err(Failure::authorization_failure());
    };
    let has_all = |set: &&str| set.chars().all(|letter| permissions.contains(letter));
    if sets.iter().any(has_all) { Ok(()) } else { Err(Failure::permission_mismatch()) }
}

impl TableAccess {
    fn allows(&self, operation: Operation, table: Option<&str>) -> Result<(), Failure> {
        let is_granted = operation.is_on_entities()
            && table.is_some_and(|table| table.eq_ignore_ascii_case(&self.table));
        if !is_granted {
            return Err(Failure::authorization_failure());
        }
        check_permissions(operation, &self.permissions)
    }

    fn denial(&self, failure: Failure) -> Failure {
        if self.reports_reason { failure } else { Failure::resource_not_found() }
    }
}

impl AccountAccess {
    fn allows(&self, operation: Operation) -> Result<(), Failure> {
        let resource_type = operation.resource_type().ok_or_else(Failure::authorization_failure)?;
        if !self.resource_types.contains(resource_type) {
            return Err(Failure::resource_type_mismatch());
        }
        check_permissions(operation, &self.permissions)
    }
}

impl GrantedKeys {
    /// Returns the first key of the range.
    pub(crate) fn start(&self) -> (&str, &str) {
        let (partition, row) = self.first.as_ref().map_or(("", None), |(p, r)| (p, r.as_deref()));
        (partition, row.unwrap_or_default())
    }

    /// Returns `true` if these and all later keys are out of range.
    pub(crate) fn is_past(&self, (partition, row): (&str, &str)) -> bool {
        self.last.as_ref().is_some_and(|(last_partition, last_row)| {
            let order = ordinal(partition, last_partition);
            order.is_gt()
                || order.is_eq() && last_row.as_ref().is_some_and(|last| ordinal(row, last).is_gt())
        })
    }

    pub(crate) fn contains(&self, keys: (&str, &str)) -> bool {
        let (partition, row) = self.start();
        let order = ordinal(keys.0, partition).then_with(|| ordinal(keys.1, row));
        order.is_ge() && !self.is_past(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_ranges_include_both_ends() {
        let bound = |partition: &str, row: Option<&str>| {
            Some((partition.to_owned(), row.map(str::to_owned)))
        };
        let range = |first, last| GrantedKeys { first, last };
        let all = GrantedKeys::default();
        let partitions = range(bound("b", None), bound("c", None));
        let rows = range(bound("b", Some("2")), bound("c", Some("2")));
        let one = range(bound("b", Some("2")), bound("b", Some("2")));
        for (keys, expected) in [
            (("", ""), [true, false, false, false]),
            (("a", "9"), [true, false, false, false]),
            (("b", ""), [true, true, false, false]),
            (("b", "1"), [true, true, false, false]),
            (("b", "2"), [true, true, true, true]),
            (("b", "3"), [true, true, true, false]),
            (("bb", "1"), [true, true, true, false]),
            (("c", "2"), [true, true, true, false]),
            (("c", "3"), [true, true, false, false]),
            (("d", ""), [true, false, false, false]),
        ] {
            let found = [&all, &partitions, &rows, &one].map(|range| range.contains(keys));
            assert_eq!(found, expected, "{keys:?}");
        }
        assert_eq!(rows.start(), ("b", "2"));
        // U+1F600 is two surrogates, which are less than U+E000.
        let high = range(bound("\u{e000}", None), None);
        assert!(!high.contains(("\u{1f600}", "")));
    }
}
