//! The filter of a query.

use super::{Filter, FilterError};

/// A filter and the text that is sent for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueryFilter {
    tree: Filter,
    text: String,
}

impl QueryFilter {
    /// Keeps the text of the caller.
    pub(crate) fn parse(text: &str) -> Result<Self, FilterError> {
        Ok(Self { tree: Filter::parse(text)?, text: text.to_owned() })
    }

    /// Displays `tree` as text. Fails if it is nested too deeply for the text to be parsed.
    pub(crate) fn checked(tree: Filter) -> Result<Self, FilterError> {
        tree.check_depth().map(Self::from)
    }

    /// Adds a filter to those of a query: all must match. The first error is kept.
    pub(crate) fn add(
        earlier: Result<Option<Self>, FilterError>,
        other: Result<Self, FilterError>,
    ) -> Result<Option<Self>, FilterError> {
        match (earlier?, other?) {
            (None, only) => Ok(Some(only)),
            (Some(earlier), other) => Self::checked(earlier.tree & other.tree).map(Some),
        }
    }

    pub(crate) const fn tree(&self) -> &Filter {
        &self.tree
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

impl From<Filter> for QueryFilter {
    fn from(tree: Filter) -> Self {
        Self { text: tree.to_string(), tree }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CompareOp, FilterErrorKind};
    use super::*;

    #[test]
    fn the_text_of_the_caller_is_kept_and_a_tree_is_displayed() {
        let parsed = QueryFilter::parse("( 3 le A )").unwrap();
        assert_eq!(parsed.text(), "( 3 le A )");
        let built = QueryFilter::checked(parsed.tree().clone()).unwrap();
        assert_eq!((built.tree(), built.text()), (parsed.tree(), "A ge 3"));
    }

    #[test]
    fn filters_are_combined_as_trees() {
        let add = |filters: &[&str]| {
            let mut texts = filters.iter().map(|text| QueryFilter::parse(text));
            texts.try_fold(None, |all, filter| QueryFilter::add(Ok(all), filter))
        };
        let text = |filters: &[&str]| add(filters).unwrap().unwrap().text;
        assert_eq!(text(&["( 3 le A )"]), "( 3 le A )", "the caller's text");
        assert_eq!(text(&["A eq 1", "B eq 1 or C eq 1"]), "A eq 1 and (B eq 1 or C eq 1)");
        assert_eq!(
            text(&["A eq 1 or B eq 1", "C eq 1 and D"]),
            "(A eq 1 or B eq 1) and C eq 1 and D"
        );
        assert_eq!(text(&["A", "not B", "C"]), "A and not (B) and C");
        // No text can close a parenthesis of another one.
        assert!(add(&["A eq 1", "B eq 1) or (C eq 1"]).is_err());
        let (first, later) = (QueryFilter::parse("A eq"), QueryFilter::parse("B ="));
        let error = first.clone().unwrap_err();
        assert_eq!(QueryFilter::add(first.map(Some), later), Err(error));
    }

    #[test]
    fn a_tree_that_is_nested_too_deeply_is_refused() {
        let one = || Filter::compare("A", CompareOp::Eq, 1).unwrap();
        let nested = |levels| {
            (0..levels)
                .fold(one(), |filter, n| if n % 2 == 0 { filter | one() } else { filter & one() })
        };
        let allowed = QueryFilter::checked(nested(200)).unwrap();
        assert_eq!(nested(204), Filter::TooDeep);
        assert_eq!(Filter::parse(allowed.text()).unwrap(), *allowed.tree());
        let error = QueryFilter::checked(nested(100_000)).unwrap_err();
        assert_eq!(error.kind(), FilterErrorKind::TooDeep);
        assert_eq!(
            error.to_string(),
            "nested too deeply: expected at most 100 levels of parentheses and not"
        );
    }
}
