//! The limit on nesting in a filter.

use super::{Filter, FilterError, FilterErrorKind};

/// The limit on nesting, which keeps a text from exhausting the stack.
pub(super) const MAX_DEPTH: usize = 100;

/// States [`MAX_DEPTH`].
pub(super) const LEVELS: &str = "at most 100 levels of parentheses and not";

impl Filter {
    /// Checks that the displayed filter is not nested too deeply to be parsed.
    pub(super) fn check_depth(&self) -> Result<(), FilterError> {
        if self.exceeds(MAX_DEPTH) {
            return Err(FilterError::without_text(FilterErrorKind::TooDeep, String::new()));
        }
        Ok(())
    }

    /// Returns whether the displayed filter has more than `levels` nested parentheses.
    fn exceeds(&self, levels: usize) -> bool {
        let inner = |inner: &Self, is_nested: bool| match levels.checked_sub(is_nested.into()) {
            Some(levels) => inner.exceeds(levels),
            None => true,
        };
        match self {
            Self::Compare { .. } | Self::IsTrue(_) => false,
            Self::And(filters) | Self::Or(filters) => {
                filters.iter().any(|filter| inner(filter, self.encloses(filter)))
            }
            Self::Not(filter) => inner(filter, true),
        }
    }
}
