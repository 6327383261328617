//! The continuation tokens of the service, and the progress of a request through its pages. A cycle of continuation tokens is detected in constant memory.

use std::cmp::Ordering;

use crate::Dialect;
use crate::entity::{EntityKey, ordinal};
use crate::wire::page_token;

/// The continuation token that the service returns with a page. For a list of tables, the PartitionKey is the name of a
/// table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageToken {
    pub(crate) partition_key: String,
    /// The service may omit it.
    pub(crate) row_key: Option<String>,
}

impl PageToken {
    /// Returns the keys of the row at which the page of a token of Azure Storage begins; `None` if it has another form.
    pub(crate) fn row(&self) -> Option<EntityKey> {
        let row_key = decoded(self.row_key.as_deref().unwrap_or_default())?;
        Some(EntityKey::new(decoded(&self.partition_key)?, row_key))
    }

    /// Compares the keys in two tokens of Azure Storage; `None` if a token has another form.
    pub(crate) fn compare(&self, other: &Self) -> Option<Ordering> {
        let row_key = |token: &Self| decoded(token.row_key.as_deref().unwrap_or_default());
        let partitions = ordinal(&decoded(&self.partition_key)?, &decoded(&other.partition_key)?);
        let rows = ordinal(&row_key(self)?, &row_key(other)?);
        Some(partitions.then(rows))
    }

    /// Compares the names of tables in two tokens of Azure Storage; `None` if a token has another form.
    pub(crate) fn compare_tables(&self, other: &Self) -> Option<Ordering> {
        // The service writes the names in lower case, emulators as they were created.
        let name = |token: &Self| decoded(&token.partition_key).map(|name| name.to_lowercase());
        Some(ordinal(&name(self)?, &name(other)?))
    }
}

/// Returns the key in a part of a token. An empty part is the empty key.
fn decoded(part: &str) -> Option<String> {
    if part.is_empty() { Some(String::new()) } else { page_token::decode(part) }
}

/// Compares two tokens of Azure Storage; `None` if a token has another form.
pub(crate) type CompareTokens = fn(&PageToken, &PageToken) -> Option<Ordering>;

/// The position of a request between two of its pages, with the means to find cycles.
///
/// Cycles are found by Brent's algorithm: one earlier token is kept, and replaced after 1, 2, 4, … tokens. A cycle
/// returns to the kept token once it has been kept for the length of the cycle.
#[derive(Debug, Clone)]
pub(crate) struct PageCursor {
    /// The token of the next page; `None` for the first page.
    token: Option<PageToken>,
    is_over: bool,
    /// An earlier token.
    kept: Option<PageToken>,
    /// The number of tokens for which `kept` stays.
    period: u64,
    /// The number of tokens since `kept` was replaced.
    age: u64,
}

impl PageCursor {
    /// The first page.
    pub(crate) const fn start() -> Self {
        Self { token: None, is_over: false, kept: None, period: 1, age: 0 }
    }

    /// The token of the next page, unless that is the first.
    pub(crate) const fn token(&self) -> Option<&PageToken> {
        self.token.as_ref()
    }

    pub(crate) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns why `next`, the token in the current page, must not be followed. `compare` is the order of the tokens.
    pub(crate) fn problem(
        &self,
        next: &PageToken,
        dialect: Dialect,
        compare: CompareTokens,
    ) -> Option<&'static str> {
        let token = self.token.as_ref()?;
        if next == token || self.kept.as_ref() == Some(next) {
            return Some("repeats an earlier one, so the pages would never end");
        }
        let advances = !dialect.has_key_order() || compare(next, token).is_none_or(Ordering::is_gt);
        (!advances)
            .then_some("does not advance: its keys do not come after those of the last token")
    }

    /// Moves to the next page; `None` is the end.
    pub(crate) fn advance(&mut self, next: Option<PageToken>) {
        let Some(next) = next else {
            *self = Self { is_over: true, ..Self::start() };
            return;
        };
        if self.age == self.period {
            self.period = self.period.saturating_mul(2);
            self.age = 0;
        }
        if self.age == 0 {
            self.kept = Some(next.clone());
        }
        self.age += 1;
        self.token = Some(next);
    }
}

/// The position of a request between two of its pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Position {
    Start,
    At(PageToken),
    End,
}

impl PageCursor {
    pub(crate) fn position(&self) -> Position {
        match &self.token {
            _ if self.is_over => Position::End,
            Some(token) => Position::At(token.clone()),
            None => Position::Start,
        }
    }
}

impl From<Position> for PageCursor {
    fn from(position: Position) -> Self {
        let mut cursor = Self::start();
        match position {
            Position::Start => {}
            Position::At(token) => cursor.advance(Some(token)),
            Position::End => cursor.advance(None),
        }
        cursor
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(partition_key: &str, row_key: Option<&str>) -> PageToken {
        PageToken { partition_key: partition_key.to_owned(), row_key: row_key.map(str::to_owned) }
    }

    /// Follows the tokens, and returns how many were accepted before the first problem.
    fn followed(dialect: Dialect, tokens: impl Iterator<Item = PageToken>) -> usize {
        let mut cursor = PageCursor::start();
        let mut count = 0;
        for next in tokens {
            if cursor.problem(&next, dialect, PageToken::compare).is_some() {
                return count;
            }
            cursor.advance(Some(next));
            count += 1;
        }
        count
    }

    #[test]
    fn a_cycle_of_any_length_is_found_soon() {
        for (tail, length) in [(0, 1), (0, 2), (3, 2), (1, 7), (100, 1000), (5000, 3)] {
            let numbers = (0..tail).chain((tail..tail + length).cycle());
            let tokens = numbers.map(|number: usize| token(&format!("opaque {number}"), None));
            for dialect in [Dialect::AzureStorage, Dialect::CosmosDb] {
                let accepted = followed(dialect, tokens.clone());
                assert!(accepted <= 4 * (tail + length), "{tail} + {length}: {accepted}");
            }
        }
    }

    #[test]
    fn tokens_that_differ_are_followed() {
        let tokens = (0..10_000).map(|number| token(&format!("opaque {number}"), Some("NA")));
        assert_eq!(followed(Dialect::CosmosDb, tokens), 10_000);
        // The keys of Cosmos DB have no order, regardless of the form of its tokens.
        let tokens =
            (0..10_000).map(|number| token(&page_token::encode(&number.to_string()), None));
        assert_eq!(followed(Dialect::CosmosDb, tokens), 10_000);
    }

    #[test]
    fn the_keys_of_azure_storage_advance_in_the_order_of_utf_16() {
        let keys = [
            ("a", None),
            ("a", Some("1")),
            ("a", Some("10")),
            ("a", Some("2")),
            ("b", None),
            ("b", Some("")),
            ("b\u{1f600}", Some("x")),
            ("b\u{ffee}", Some("")),
        ];
        for (at, earlier) in keys.iter().enumerate() {
            for (to, later) in keys.iter().enumerate() {
                let of = |(partition, row): &(&str, Option<&str>)| {
                    token(&page_token::encode(partition), row.map(page_token::encode).as_deref())
                };
                let cursor = PageCursor::from(Position::At(of(earlier)));
                // An absent RowKey is the empty one.
                let is_allowed = to > at && (at, to) != (4, 5);
                let problem = cursor.problem(&of(later), Dialect::AzureStorage, PageToken::compare);
                assert_eq!(problem.is_none(), is_allowed, "{earlier:?}, {later:?}: {problem:?}");
            }
        }
    }

    #[test]
    fn names_of_tables_are_compared_without_case() {
        let token =
            |name: &str| PageToken { partition_key: page_token::encode(name), row_key: None };
        let compare = |a, b| token(a).compare_tables(&token(b)).unwrap();
        let (first, tenth) =
            ("listtabletestnode1\u{1}01d817ada76c12a6", "listtabletestnode10\u{1}01d817ada7dbdb08");
        assert!(compare(tenth, first).is_gt());
        assert!(compare("Blogs", "authors").is_gt());
    }
}
