//! The permissions and the times of signatures and access policies.

use std::time::SystemTime;

use azure_table_client::auth::TablePermissions;
use azure_table_client::edm::EdmDateTime;

use crate::args::Moment;
use crate::failure::{Failure, Result};

/// Returns the permissions for a table with these letters.
pub(crate) fn table_permissions(letters: &str) -> Result<TablePermissions> {
    set(
        "permissions",
        letters,
        &[
            ('r', TablePermissions::READ),
            ('a', TablePermissions::ADD),
            ('u', TablePermissions::UPDATE),
            ('d', TablePermissions::DELETE),
        ],
    )
}

/// Returns the set of these letters.
pub(crate) fn set<T: Default + std::ops::BitOrAssign + Copy>(
    what: &str,
    letters: &str,
    known: &[(char, T)],
) -> Result<T> {
    let mut all = T::default();
    for letter in letters.chars() {
        let Some((_, one)) = known.iter().find(|(name, _)| *name == letter) else {
            let known: String = known.iter().map(|(name, _)| *name).collect();
            return Err(Failure::usage(format!(
                "the {what} have the unknown letter {letter:?} (known: {known})"
            )));
        };
        all |= *one;
    }
    Ok(all)
}

/// The time that an option states.
pub(crate) fn end(moment: Moment) -> Result<EdmDateTime> {
    match moment {
        Moment::At(time) => Ok(time),
        Moment::In(lifetime) => {
            let time = SystemTime::now().checked_add(lifetime);
            let time = time.and_then(|time| EdmDateTime::from_system_time(time).ok());
            time.ok_or_else(|| Failure::usage("the lifetime ends after the year 9999"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_letters_are_refused() {
        let known = [('r', TablePermissions::READ), ('a', TablePermissions::ADD)];
        assert_eq!(set("permissions", "ar", &known).unwrap().to_string(), "ra");
        let failure = set("permissions", "rx", &known).unwrap_err();
        assert!(failure.message().contains("'x' (known: ra)"), "{failure:?}");
    }
}
