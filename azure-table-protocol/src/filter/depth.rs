//! The limit on nesting in a filter.

use super::{Filter, FilterError, FilterErrorKind, MAX_DEPTH};

impl Filter {
    /// Checks that the displayed filter is not nested too deeply to be parsed.
    #[doc(hidden)]
    pub fn check_depth(self) -> Result<Self, FilterError> {
        match self.or_too_deep() {
            Self::TooDeep => {
                Err(FilterError::without_text(FilterErrorKind::TooDeep, String::new()))
            }
            filter => Ok(filter),
        }
    }

    /// Replaces a filter that is nested too deeply, so that no recursion over a filter exhausts the stack.
    pub(super) fn or_too_deep(self) -> Self {
        if self.exceeds(MAX_DEPTH) { Self::TooDeep } else { self }
    }

    /// Returns whether the displayed filter has more than `levels` nested parentheses.
    fn exceeds(&self, levels: usize) -> bool {
        let inner = |inner: &Self, is_nested: bool| match levels.checked_sub(is_nested.into()) {
            Some(levels) => inner.exceeds(levels),
            None => true,
        };
        match self {
            Self::Compare { .. } | Self::IsTrue(_) | Self::Constant(_) => false,
            Self::And(filters) | Self::Or(filters) => {
                filters.iter().any(|filter| inner(filter, self.encloses(filter)))
            }
            Self::Not(filter) => inner(filter, true),
            Self::TooDeep => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::super::Plan;
    use super::*;
    use crate::filter::CompareOp;

    /// Runs `test` on a stack of 512 KiB.
    fn on_a_small_stack(test: fn()) {
        thread::Builder::new().stack_size(512 * 1024).spawn(test).unwrap().join().unwrap();
    }

    fn one() -> Filter {
        Filter::compare("A", CompareOp::Eq, 1).unwrap()
    }

    /// Adds a level by each operator in turn.
    fn nested(levels: usize) -> Filter {
        (0..levels).fold(one(), |filter, level| match level % 3 {
            0 => filter | one(),
            1 => filter & one(),
            _ => !filter,
        })
    }

    #[test]
    fn a_deep_tree_does_not_exhaust_the_stack() {
        on_a_small_stack(|| {
            let deep = nested(100_000);
            assert_eq!(deep, Filter::TooDeep);
            assert_eq!((deep.comparisons(), deep.clone()), (0, deep.clone()));
            assert!(Filter::parse(&deep.to_string()).is_err());
            assert_eq!(one() & deep.clone(), deep);
            assert_eq!(deep.clone() | one(), deep);
            assert_eq!(!deep.clone(), deep);
            let error = deep.check_depth().unwrap_err();
            assert_eq!(error.kind(), FilterErrorKind::TooDeep);
        });
    }

    #[test]
    fn the_deepest_tree_does_not_exhaust_the_stack() {
        on_a_small_stack(|| {
            let mut levels = 0;
            while nested(levels + 1) != Filter::TooDeep {
                levels += 1;
            }
            assert!(levels >= MAX_DEPTH, "{levels}");
            let deepest = nested(levels);
            let text = deepest.to_string();
            assert_eq!(Filter::parse(&text).as_ref(), Ok(&deepest));
            assert_eq!(deepest.clone(), deepest);
            assert!(format!("{deepest:?}").len() > text.len());
            assert!(deepest.comparisons() > 1);
            assert_eq!(Plan::of(Some(&deepest)), Plan::default());
            assert!(deepest.check_depth().is_ok());
        });
    }

    #[test]
    fn a_long_list_in_a_list_is_built_quickly() {
        let list = (0..20_000).fold(one(), |list, _| list | (one() & one()));
        assert_eq!(list.comparisons(), 40_001);
        let deeper = (0..50).fold(list, |deep, level| match level % 2 {
            0 => deep & one(),
            _ => deep | one(),
        });
        assert_eq!(deeper.comparisons(), 40_051);
    }
}
