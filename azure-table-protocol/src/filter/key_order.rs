//! The order of keys.

use super::CompareOp;
use crate::dialect::Dialect;

/// The order in which a service compares keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub enum KeyOrder {
    /// The order of UTF-16 code units.
    Utf16,
    /// An order that is not documented.
    Unknown,
}

impl KeyOrder {
    /// The order of a service.
    pub const fn of(dialect: Dialect) -> Self {
        if dialect.has_key_order() { Self::Utf16 } else { Self::Unknown }
    }

    /// Whether the client can compare keys with this text as the service does.
    pub(super) fn decides(self, op: CompareOp, text: &str) -> bool {
        // In any order, the empty key is the first.
        self == Self::Utf16 || matches!(op, CompareOp::Eq | CompareOp::Ne) || text.is_empty()
    }
}
