//! The permissions of a shared access signature, as letters in the order that the service requires.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

macro_rules! letters {
    ($(#[$doc:meta])* $name:ident: $bits:ty { $($(#[$of:meta])* $constant:ident = $bit:literal, $letter:literal;)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name($bits);

        impl $name {
            $($(#[$of])* pub const $constant: Self = Self(1 << $bit);)*
            /// All permissions.
            pub const ALL: Self = Self($((1 << $bit) |)* 0);

            /// Returns whether the set is empty.
            pub const fn is_empty(self) -> bool {
                self.0 == 0
            }

            /// Whether this set contains all of `other`.
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }
        }

        impl BitOr for $name {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl BitOrAssign for $name {
            fn bitor_assign(&mut self, other: Self) {
                self.0 |= other.0;
            }
        }

        /// The letters, in the service's order.
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                for (held, letter) in [$((Self::$constant, $letter)),*] {
                    if self.contains(held) {
                        f.write_str(letter)?;
                    }
                }
                Ok(())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }
    };
}

letters! {
    /// The permissions of a signature for a table, combined with `|`. An upsert needs [`ADD`](Self::ADD) and
    /// [`UPDATE`](Self::UPDATE).
    ///
    /// ```
    /// use azure_table_client::auth::TablePermissions;
    ///
    /// let permissions = TablePermissions::UPDATE | TablePermissions::READ;
    /// assert_eq!(permissions.to_string(), "ru");
    /// ```
    TablePermissions: u8 {
        /// Reading and querying entities (`r`).
        READ = 0, "r";
        /// Inserting entities (`a`).
        ADD = 1, "a";
        /// Merging into entities and replacing them (`u`).
        UPDATE = 2, "u";
        /// Deleting entities (`d`).
        DELETE = 3, "d";
    }
}

impl TablePermissions {
    /// Parses letters; `None` if one of them is unknown.
    #[doc(hidden)]
    pub fn from_letters(letters: &str) -> Option<Self> {
        letters.chars().try_fold(Self::default(), |all, letter| {
            let one = match letter {
                'r' => Self::READ,
                'a' => Self::ADD,
                'u' => Self::UPDATE,
                'd' => Self::DELETE,
                _ => return None,
            };
            Some(all | one)
        })
    }
}

letters! {
    /// The permissions of a signature for an account on its tables, combined with `|`.
    AccountPermissions: u8 {
        /// Reading entities, and the settings and statistics of the service (`r`).
        READ = 0, "r";
        /// Creating tables, and setting the settings of the service (`w`).
        WRITE = 1, "w";
        /// Deleting tables and entities (`d`).
        DELETE = 2, "d";
        /// Listing tables (`l`).
        LIST = 3, "l";
        /// Inserting entities (`a`).
        ADD = 4, "a";
        /// Creating tables (`c`).
        CREATE = 5, "c";
        /// Merging into entities and replacing them (`u`).
        UPDATE = 6, "u";
    }
}

letters! {
    /// The resources that a signature for an account covers, combined with `|`.
    ResourceTypes: u8 {
        /// The service itself: settings and statistics (`s`).
        SERVICE = 0, "s";
        /// Tables: creating, deleting and listing them (`c`, container).
        TABLE = 1, "c";
        /// Entities (`o`, object).
        ENTITY = 2, "o";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_come_in_the_order_of_the_service_whatever_the_order_of_the_program() {
        let mut table = TablePermissions::DELETE | TablePermissions::READ;
        assert_eq!(table.to_string(), "rd");
        table |= TablePermissions::ADD;
        assert_eq!(format!("{table} {table:?}"), "rad TablePermissions(rad)");
        assert!(table.contains(TablePermissions::READ));
        assert!(!table.contains(TablePermissions::UPDATE | TablePermissions::READ));
        assert_eq!(TablePermissions::ALL.to_string(), "raud");
        assert_eq!(AccountPermissions::ALL.to_string(), "rwdlacu");
        assert_eq!(ResourceTypes::ALL.to_string(), "sco");
        assert!(TablePermissions::default().is_empty());
    }
}
