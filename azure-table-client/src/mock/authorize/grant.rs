//! What a request may do.
//!
//! Source: [Create an account SAS][account], "Account SAS permissions by operation", and
//! [Shared access signature error codes][codes].
//!
//! [account]: https://learn.microsoft.com/rest/api/storageservices/create-account-sas
//! [codes]: https://learn.microsoft.com/rest/api/storageservices/sas-error-codes

use super::super::failure::Failure;
use super::super::place::Place;
use crate::entity::ordinal;
use crate::wire::{Operation, Permissions};

/// What a request may do.
#[derive(Debug)]
pub(in crate::mock) struct Grant {
    pub(in crate::mock) place: Place,
    pub(super) scope: Scope,
}

/// What whoever sent the request may do.
#[derive(Debug)]
pub(super) enum Scope {
    Everything,
    /// By a shared access signature for a table.
    Table(TableScope),
    /// By a shared access signature for the account.
    Account(AccountScope),
}

#[derive(Debug)]
pub(super) struct TableScope {
    pub(super) table: String,
    pub(super) permissions: String,
    pub(super) keys: KeyRange,
    /// Whether a refusal says what it is: before version 2015-04-05, what is out of reach is not there.
    pub(super) is_found_out: bool,
}

#[derive(Debug)]
pub(super) struct AccountScope {
    pub(super) resource_types: String,
    pub(super) permissions: String,
}

/// The keys that a request can reach: a PartitionKey and perhaps a RowKey at each end, both included.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::mock) struct KeyRange {
    pub(super) first: Option<(String, Option<String>)>,
    pub(super) last: Option<(String, Option<String>)>,
}

static EVERY_KEY: KeyRange = KeyRange { first: None, last: None };

impl Grant {
    /// Whether the operation may be done, to this table if it is about one.
    pub(in crate::mock) fn allows(
        &self,
        operation: Operation,
        table: Option<&str>,
    ) -> Result<(), Failure> {
        if self.place == Place::Secondary
            && operation.is_write()
            && !is_checked_elsewhere(operation)
        {
            return Err(Failure::write_at_secondary());
        }
        match &self.scope {
            Scope::Everything => Ok(()),
            Scope::Table(scope) => {
                scope.allows(operation, table).map_err(|failure| scope.refusal(failure))
            }
            Scope::Account(scope) => scope.allows(operation),
        }
    }

    /// Whether an entity with these keys may be written.
    pub(in crate::mock) fn covers(&self, keys: (&str, &str)) -> Result<(), Failure> {
        match &self.scope {
            Scope::Table(scope) if !scope.keys.contains(keys) => {
                Err(scope.refusal(Failure::authorization_failure()))
            }
            _ => Ok(()),
        }
    }

    /// The keys whose entities can be read.
    pub(in crate::mock) fn keys(&self) -> &KeyRange {
        match &self.scope {
            Scope::Table(scope) => &scope.keys,
            _ => &EVERY_KEY,
        }
    }
}

/// Whether the operation itself needs no grant: the members of a transaction are checked one by one, and
/// an unknown request is refused for what it is.
const fn is_checked_elsewhere(operation: Operation) -> bool {
    matches!(operation, Operation::Transaction | Operation::Other)
}

/// Checks the permissions of a signature.
fn check_permissions(operation: Operation, permissions: &str) -> Result<(), Failure> {
    let Permissions::AnyOf(sets) = operation.permissions() else {
        return Err(Failure::authorization_failure());
    };
    let has_all = |set: &&str| set.chars().all(|letter| permissions.contains(letter));
    if sets.iter().any(has_all) { Ok(()) } else { Err(Failure::permission_mismatch()) }
}

impl TableScope {
    fn allows(&self, operation: Operation, table: Option<&str>) -> Result<(), Failure> {
        if is_checked_elsewhere(operation) {
            return Ok(());
        }
        let is_in_reach = operation.is_on_entities()
            && table.is_some_and(|table| table.eq_ignore_ascii_case(&self.table));
        if !is_in_reach {
            return Err(Failure::authorization_failure());
        }
        check_permissions(operation, &self.permissions)
    }

    fn refusal(&self, failure: Failure) -> Failure {
        if self.is_found_out { failure } else { Failure::resource_not_found() }
    }
}

impl AccountScope {
    fn allows(&self, operation: Operation) -> Result<(), Failure> {
        if is_checked_elsewhere(operation) {
            return Ok(());
        }
        let resource_type = operation.resource_type().ok_or_else(Failure::authorization_failure)?;
        if !self.resource_types.contains(resource_type) {
            return Err(Failure::resource_type_mismatch());
        }
        check_permissions(operation, &self.permissions)
    }
}

impl KeyRange {
    /// The first keys in it.
    pub(in crate::mock) fn start(&self) -> (&str, &str) {
        let (partition, row) = self.first.as_ref().map_or(("", None), |(p, r)| (p, r.as_deref()));
        (partition, row.unwrap_or_default())
    }

    /// Whether these keys and all behind them are out of it.
    pub(in crate::mock) fn is_past(&self, (partition, row): (&str, &str)) -> bool {
        self.last.as_ref().is_some_and(|(last_partition, last_row)| {
            let order = ordinal(partition, last_partition);
            order.is_gt()
                || order.is_eq() && last_row.as_ref().is_some_and(|last| ordinal(row, last).is_gt())
        })
    }

    pub(in crate::mock) fn contains(&self, keys: (&str, &str)) -> bool {
        let (partition, row) = self.start();
        let order = ordinal(keys.0, partition).then_with(|| ordinal(keys.1, row));
        order.is_ge() && !self.is_past(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_keys() {
        let bound = |partition: &str, row: Option<&str>| {
            Some((partition.to_owned(), row.map(str::to_owned)))
        };
        let range = |first, last| KeyRange { first, last };
        let all = KeyRange::default();
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
        // U+1F600 is two surrogates, which come before U+E000.
        let high = range(bound("\u{e000}", None), None);
        assert!(!high.contains(("\u{1f600}", "")));
    }
}
