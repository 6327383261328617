//! The progress of a request through its pages. A server that leads in a circle is detected in constant memory.

use std::borrow::Cow;
use std::cmp::Ordering;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::continuation::Position;
use super::query::PageToken;
use crate::dialect::Dialect;
use crate::entity::ordinal;

/// The continuation token of a list of tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TableToken(pub(crate) String);

/// A continuation token of the service.
pub(crate) trait Token: Clone + PartialEq {
    /// Compares the keys in two tokens of Azure Storage; `None` if a token has another form.
    fn compare(&self, other: &Self) -> Option<Ordering>;
}

impl Token for PageToken {
    fn compare(&self, other: &Self) -> Option<Ordering> {
        let row_key = |token: &Self| decoded(token.row_key.as_deref().unwrap_or_default());
        let partitions = ordinal(&decoded(&self.partition_key)?, &decoded(&other.partition_key)?);
        let rows = ordinal(&row_key(self)?, &row_key(other)?);
        Some(partitions.then(rows))
    }
}

impl Token for TableToken {
    fn compare(&self, other: &Self) -> Option<Ordering> {
        // The service writes the names in lower case, emulators as they were created.
        let name = |token: &Self| decoded(&token.0).map(|name| name.to_lowercase());
        Some(ordinal(&name(self)?, &name(other)?))
    }
}

/// Returns the key in a part of a token: `1!<length>!<base64>`, in which `-`, `_` and `*` replace `=`, `/` and `+`. An
/// empty part is the empty key.
fn decoded(part: &str) -> Option<Cow<'static, str>> {
    if part.is_empty() {
        return Some(Cow::Borrowed(""));
    }
    let (length, text) = part.strip_prefix("1!")?.split_once('!')?;
    if length.parse() != Ok(text.len()) {
        return None;
    }
    let text = text.replace('-', "=").replace('_', "/").replace('*', "+");
    String::from_utf8(STANDARD.decode(text).ok()?).ok().map(Cow::Owned)
}

/// The position of a request between two of its pages.
///
/// Circles are found by Brent's algorithm: one earlier token is kept, and replaced after 1, 2, 4, … tokens. A circle
/// returns to the kept token once it has been kept for the length of the circle.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<T> {
    /// The token of the next page; `None` for the first page.
    token: Option<T>,
    is_over: bool,
    /// An earlier token.
    kept: Option<T>,
    /// The number of tokens for which `kept` stays.
    period: u64,
    /// The number of tokens since `kept` was replaced.
    age: u64,
}

impl<T: Token> Cursor<T> {
    /// The first page.
    pub(crate) const fn start() -> Self {
        Self { token: None, is_over: false, kept: None, period: 1, age: 0 }
    }

    /// The token of the next page, unless that is the first.
    pub(crate) const fn token(&self) -> Option<&T> {
        self.token.as_ref()
    }

    pub(crate) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns the reason why the token of the page after the next one cannot be followed.
    pub(crate) fn problem(&self, next: &T, dialect: Dialect) -> Option<&'static str> {
        let token = self.token.as_ref()?;
        if next == token || self.kept.as_ref() == Some(next) {
            return Some("repeats an earlier one, so the pages would never end");
        }
        let advances = !dialect.has_key_order() || next.compare(token).is_none_or(Ordering::is_gt);
        (!advances).then_some("does not advance: its keys come before those of the last one")
    }

    /// Moves to the next page; `None` is the end.
    pub(crate) fn advance(&mut self, next: Option<T>) {
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

impl Cursor<PageToken> {
    pub(crate) fn position(&self) -> Position {
        match &self.token {
            _ if self.is_over => Position::End,
            Some(token) => Position::At(token.clone()),
            None => Position::Start,
        }
    }
}

impl From<Position> for Cursor<PageToken> {
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

    /// A token in the form of Azure Storage.
    fn encoded(key: &str) -> String {
        let text = STANDARD.encode(key).replace('=', "-").replace('/', "_").replace('+', "*");
        format!("1!{}!{text}", text.len())
    }

    /// Follows the tokens, and returns how many were accepted before the first problem.
    fn followed(dialect: Dialect, tokens: impl Iterator<Item = PageToken>) -> usize {
        let mut cursor = Cursor::start();
        let mut count = 0;
        for next in tokens {
            if cursor.problem(&next, dialect).is_some() {
                return count;
            }
            cursor.advance(Some(next));
            count += 1;
        }
        count
    }

    #[test]
    fn a_circle_of_any_length_is_found_soon() {
        for (tail, length) in [(0, 1), (0, 2), (3, 2), (1, 7), (100, 1000), (5000, 3)] {
            let circle = (0..tail).chain((tail..tail + length).cycle());
            let tokens = circle.map(|number: usize| token(&format!("opaque {number}"), None));
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
        let tokens = (0..10_000).map(|number| token(&encoded(&number.to_string()), None));
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
                    token(&encoded(partition), row.map(encoded).as_deref())
                };
                let cursor = Cursor::from(Position::At(of(earlier)));
                // An absent RowKey is the empty one.
                let is_allowed = to > at && (at, to) != (4, 5);
                let problem = cursor.problem(&of(later), Dialect::AzureStorage);
                assert_eq!(problem.is_none(), is_allowed, "{earlier:?}, {later:?}: {problem:?}");
            }
        }
    }

    #[test]
    fn recorded_tokens_are_read() {
        for (part, key) in [
            ("1!16!cGs4MDEwMTZlOA--", "pk801016e8"),
            ("1!40!cGFydGl0aW9uMS3DtC0gLSctIi0lMjAtJTI3LXBr", "partition1-ô- -'-\"-%20-%27-pk"),
            ("1!32!enp6YTIBMDFkODRmNmM0NDJjMmE5ZA--", "zzza2\u{1}01d84f6c442c2a9d"),
            ("", ""),
        ] {
            assert_eq!(decoded(part).as_deref(), Some(key));
        }
        for other in ["NA", "cGs-", "1!3!cGs-", "2!4!cGs-", "1!4!c$s-", "{\"token\":\"x\"}"] {
            assert_eq!(decoded(other), None, "{other}");
        }
        let tables = |name: &str| TableToken(encoded(name));
        let first = tables("listtabletestnode1\u{1}01d817ada76c12a6");
        assert!(
            tables("listtabletestnode10\u{1}01d817ada7dbdb08").compare(&first).unwrap().is_gt()
        );
        assert!(tables("Blogs").compare(&tables("authors")).unwrap().is_gt());
    }
}
