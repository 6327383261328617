//! The position of a query between two of its pages.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::Dialect;
use crate::entity::EntityKey;
use crate::error::Error;
use crate::operation::cursor::PageToken;
use crate::operation::cursor::Position;

/// The start of the next page of a query, for a later run of the same query, possibly in another process.
///
/// A continuation can be stored as text (`Display` and `FromStr`), which needs no escaping in a URL, or with serde. It is
/// bound to the table, the filter and the projection: for another query it is an error of kind
/// [`InvalidInput`](crate::ErrorKind::InvalidInput). The page size and [`take`] may differ. It holds the
/// service's continuation tokens, which are not secret and name the keys of the next row.
///
/// Source: [Query timeout and pagination][paging].
///
/// [`take`]: crate::client::Query::take
/// [paging]: https://learn.microsoft.com/rest/api/storageservices/query-timeout-and-pagination
#[doc(alias("TableContinuationToken", "x-ms-continuation", "NextRowKey", "cursor", "paginate"))]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Continuation {
    query: QueryId,
    progress: ReadPosition,
}

/// The position of a query in its sources. All rows of a source come before the rows of the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReadPosition {
    /// The index of the source.
    pub(super) source: usize,
    /// The last row that was returned, if the rows of several requests are merged.
    pub(super) after: Option<EntityKey>,
    /// The positions of the requests of the source: one, unless their rows are merged.
    pub(super) positions: Vec<Position>,
}

/// The hash of the query that a continuation belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QueryId([u8; 8]);

impl QueryId {
    /// Hashes a query that is split into requests with these filters.
    pub(super) fn of<'f>(
        dialect: Dialect,
        table: &str,
        filters: impl Iterator<Item = &'f str>,
        select: &[String],
    ) -> Self {
        let mut hash = Sha256::new();
        hash.update(dialect.table_identity(table));
        for filter in filters {
            hash.update([0]);
            hash.update(filter);
        }
        for property in select {
            hash.update([0, 0]);
            hash.update(property);
        }
        let hash = hash.finalize();
        let mut id = [0; 8];
        id.copy_from_slice(&hash[..8]);
        Self(id)
    }

    /// Returns the continuation at this position.
    pub(super) const fn continuation(self, progress: ReadPosition) -> Continuation {
        Continuation { query: self, progress }
    }
}

impl Continuation {
    /// Returns the position; an error if the continuation belongs to another query. `requests` is the number of
    /// requests of a source.
    pub(super) fn of_query(
        self,
        query: QueryId,
        requests: impl FnOnce(usize) -> Option<usize>,
    ) -> Result<ReadPosition, Error> {
        let Self { query: own, progress } = self;
        if own == query && requests(progress.source) == Some(progress.positions.len()) {
            return Ok(progress);
        }
        Err(Error::invalid_input(
            "the continuation belongs to another query: table, filter and projection must be the same",
        ))
    }
}

/// The number of the text form.
const FORM: &str = "2";

/// Writes `2.<query>.<source>.<after>.<position>…`. Keys are in base64, and `~` separates two of them.
impl fmt::Display for Continuation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ReadPosition { source, after, positions } = &self.progress;
        let query = URL_SAFE_NO_PAD.encode(self.query.0);
        let after = after.as_ref().map(|key| keys(&key.partition_key, Some(&key.row_key)));
        write!(f, "{FORM}.{query}.{source}.{}", after.unwrap_or_default())?;
        for position in positions {
            match position {
                Position::Start => f.write_str(".~")?,
                Position::End => f.write_str(".")?,
                Position::At(token) => {
                    write!(f, ".{}", keys(&token.partition_key, token.row_key.as_deref()))?;
                }
            }
        }
        Ok(())
    }
}

fn keys(partition_key: &str, row_key: Option<&str>) -> String {
    let row_key = row_key.map(|key| format!("~{}", URL_SAFE_NO_PAD.encode(key)));
    URL_SAFE_NO_PAD.encode(partition_key) + &row_key.unwrap_or_default()
}

impl FromStr for Continuation {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        parse(text).ok_or_else(|| match text.split_once('.') {
            Some((form, _)) if form != FORM && form.parse::<u8>().is_ok() => {
                Error::invalid_input(format!(
                    "the continuation has text form {form}, which this version of the client does not read \
                     (it reads form {FORM}): run the query from its start"
                ))
            }
            _ => Error::invalid_input("the text is not a continuation"),
        })
    }
}

fn parse(text: &str) -> Option<Continuation> {
    let mut parts = text.split('.');
    if parts.next()? != FORM {
        return None;
    }
    let query = URL_SAFE_NO_PAD.decode(parts.next()?).ok()?.try_into().ok()?;
    let source = parts.next()?.parse().ok()?;
    let after = match parts.next()? {
        "" => None,
        text => {
            let (partition_key, row_key) = parse_keys(text)?;
            Some(EntityKey { partition_key, row_key: row_key? })
        }
    };
    let positions = parts.map(position).collect::<Option<Vec<_>>>()?;
    let progress = ReadPosition { source, after, positions };
    (!progress.positions.is_empty()).then_some(Continuation { query: QueryId(query), progress })
}

fn position(text: &str) -> Option<Position> {
    match text {
        "" => Some(Position::End),
        "~" => Some(Position::Start),
        text => {
            let (partition_key, row_key) = parse_keys(text)?;
            let token = PageToken { partition_key, row_key };
            (!token.partition_key.is_empty()).then_some(Position::At(token))
        }
    }
}

fn parse_keys(text: &str) -> Option<(String, Option<String>)> {
    let key = |text: &str| String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok();
    match text.split_once('~') {
        Some((partition_key, row_key)) => Some((key(partition_key)?, Some(key(row_key)?))),
        None => Some((key(text)?, None)),
    }
}

serde_as_text!(Continuation);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn id(table: &str, filters: &[&str], select: &[&str]) -> QueryId {
        let select: Vec<String> = select.iter().map(|name| (*name).to_owned()).collect();
        QueryId::of(Dialect::AzureStorage, table, filters.iter().copied(), &select)
    }

    fn at(partition_key: &str) -> ReadPosition {
        let token = PageToken { partition_key: partition_key.to_owned(), row_key: None };
        ReadPosition { source: 7, after: None, positions: vec![Position::At(token)] }
    }

    #[test]
    fn a_continuation_is_bound_to_its_query() {
        let of = id("Blogs", &["A eq 1"], &["A", "B"]);
        let continuation = of.continuation(at("p"));
        let position = |query, requests: fn(usize) -> Option<usize>| {
            continuation.clone().of_query(query, requests)
        };
        let one = |source| (source == 7).then_some(1);
        assert_eq!(position(of, one).unwrap(), at("p"));
        assert!(position(id("blogs", &["A eq 1"], &["A", "B"]), one).is_ok());
        assert!(position(of, |_| Some(2)).is_err() && position(of, |_| None).is_err());
        for other in [
            id("Blogs2", &["A eq 1"], &["A", "B"]),
            id("Blogs", &["A eq 2"], &["A", "B"]),
            id("Blogs", &["A eq 1"], &["A"]),
            id("Blogs", &["A eq 1"], &["AB"]),
            id("Blogs", &["A eq 1", "A", "B"], &[]),
            id("Blogs", &[], &[]),
        ] {
            assert!(position(other, one).is_err());
        }
    }

    #[test]
    fn a_text_that_is_not_a_continuation_is_refused() {
        let of = id("T", &[], &[]);
        let good = of.continuation(at("1!4!cGs-"));
        let text = good.to_string();
        assert_eq!(text.parse::<Continuation>().unwrap(), good);
        for bad in [
            "",
            "2",
            "2.",
            "2.AAAAAAAAAAA",
            "2.AAAAAAAAAAA.0",
            "2.AAAAAAAAAAA.0.",
            "2.AAAAAAAAAAA.0.x.",
            "2.AAAAAAAAAAA.0..~x",
            "2.AAAAAAAAAAA.x..~",
            "2.AAAAAAAAAAA.-1..~",
            "1.AAAAAAAAAAA.0..~",
            &text[1..],
            &format!("{text}.!"),
            &format!("{text}~~"),
        ] {
            assert!(bad.parse::<Continuation>().is_err(), "{bad}");
        }
        let old = "1.AAAAAAAAAAA.0..~".parse::<Continuation>().unwrap_err();
        assert_eq!(
            old.to_string(),
            "the continuation has text form 1, which this version of the client does not read (it reads form 2): \
             run the query from its start"
        );
    }

    fn positions() -> impl Strategy<Value = Vec<Position>> {
        let token = ("\\PC{1,20}", proptest::option::of("\\PC{0,20}"));
        let at = token.prop_map(|(partition_key, row_key)| {
            Position::At(PageToken { partition_key, row_key })
        });
        let one = prop_oneof![Just(Position::Start), Just(Position::End), at];
        proptest::collection::vec(one, 1..4)
    }

    proptest! {
        #[test]
        fn text_and_json_round_trip(
            positions in positions(),
            after in proptest::option::of(("\\PC{0,20}", "\\PC{0,20}")),
            source: usize,
        ) {
            let after = after.map(EntityKey::from);
            let continuation = id("T", &[], &[]).continuation(ReadPosition { source, after, positions });
            let text = continuation.to_string();
            prop_assert_eq!(&text.parse::<Continuation>().unwrap(), &continuation);
            let json = serde_json::to_string(&continuation).unwrap();
            prop_assert_eq!(serde_json::from_str::<Continuation>(&json).unwrap(), continuation);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            let _ = text.parse::<Continuation>();
        }
    }
}
