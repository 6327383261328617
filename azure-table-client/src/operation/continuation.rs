//! Where the next page of a query begins.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};
use sha2::{Digest, Sha256};

use super::query::QuerySpec;
use crate::error::Error;

/// Where the next page of a query begins, for a later run of the same query, also in another process:
/// it can be stored as text (`Display` and `FromStr`) or with serde.
///
/// It is bound to the table, the filter and the projection: for another query it is an error of kind
/// [`InvalidInput`](crate::ErrorKind::InvalidInput). The page size and [`take`] may differ. What is
/// in it is the service's own, and no secret; it names the keys of the next row.
///
/// Source: [Query timeout and pagination][paging].
///
/// [`take`]: crate::client::Query::take
/// [paging]: https://learn.microsoft.com/rest/api/storageservices/query-timeout-and-pagination
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Continuation {
    query: QueryId,
    pub(super) next_partition_key: String,
    /// The service may leave it out.
    pub(super) next_row_key: Option<String>,
}

/// What a continuation is bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct QueryId([u8; 8]);

impl QueryId {
    fn of(table: &str, spec: &QuerySpec) -> Self {
        let mut hash = Sha256::new();
        // Tables ignore case.
        hash.update(table.to_ascii_lowercase());
        hash.update([0]);
        hash.update(spec.filter.as_deref().unwrap_or_default());
        for property in &spec.select {
            hash.update([0]);
            hash.update(property);
        }
        let hash = hash.finalize();
        let mut id = [0; 8];
        id.copy_from_slice(&hash[..8]);
        Self(id)
    }
}

impl Continuation {
    pub(super) fn new(
        table: &str,
        spec: &QuerySpec,
        next_partition_key: String,
        next_row_key: Option<String>,
    ) -> Self {
        Self { query: QueryId::of(table, spec), next_partition_key, next_row_key }
    }

    /// Refuses a continuation of another query.
    pub(crate) fn check(&self, table: &str, spec: &QuerySpec) -> Result<(), Error> {
        if self.query == QueryId::of(table, spec) {
            return Ok(());
        }
        Err(Error::invalid_input(
            "the continuation is that of another query: table, filter and projection must be the same",
        ))
    }
}

const VERSION: &str = "1";

impl fmt::Display for Continuation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        write!(
            f,
            "{VERSION}.{}.{}",
            part(&self.query.0),
            part(self.next_partition_key.as_bytes())
        )?;
        match &self.next_row_key {
            Some(row_key) => write!(f, ".{}", part(row_key.as_bytes())),
            None => Ok(()),
        }
    }
}

impl FromStr for Continuation {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        parse(text).ok_or_else(|| Error::invalid_input("the text is not a continuation"))
    }
}

fn parse(text: &str) -> Option<Continuation> {
    let mut parts = text.split('.');
    let mut part = || parts.next().map(|part| URL_SAFE_NO_PAD.decode(part));
    if text.split('.').next()? != VERSION {
        return None;
    }
    let _version = part();
    let query = part()?.ok()?.try_into().ok()?;
    let next_partition_key = String::from_utf8(part()?.ok()?).ok()?;
    let next_row_key = match part() {
        Some(row_key) => Some(String::from_utf8(row_key.ok()?).ok()?),
        None => None,
    };
    let is_whole = part().is_none() && !next_partition_key.is_empty();
    is_whole.then_some(Continuation { query: QueryId(query), next_partition_key, next_row_key })
}

impl Serialize for Continuation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Continuation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spec(filter: &str, select: &[&str]) -> QuerySpec {
        let select = select.iter().map(|name| (*name).to_owned()).collect();
        QuerySpec { filter: Some(filter.to_owned()), select }
    }

    #[test]
    fn bound_to_its_query() {
        let of = spec("A eq 1", &["A", "B"]);
        let continuation = Continuation::new("Blogs", &of, "p".into(), None);
        assert!(continuation.check("Blogs", &of).is_ok());
        assert!(continuation.check("blogs", &of).is_ok());
        for (table, other) in [
            ("Blogs2", of.clone()),
            ("Blogs", spec("A eq 2", &["A", "B"])),
            ("Blogs", spec("A eq 1", &["A"])),
            ("Blogs", spec("A eq 1", &["AB"])),
            ("Blogs", QuerySpec::default()),
        ] {
            assert!(continuation.check(table, &other).is_err());
        }
    }

    #[test]
    fn what_is_no_continuation_is_refused() {
        let good = Continuation::new("Blogs", &QuerySpec::default(), "1!4!cGs-".into(), None);
        let text = good.to_string();
        assert_eq!(text.parse::<Continuation>().unwrap(), good);
        for bad in [
            "",
            "1",
            "1.",
            "2.x.y",
            &text[1..],
            &format!("{text}.!"),
            &format!("{text}.x.x"),
            "1.AAAAAAAAAAA.",
        ] {
            assert!(bad.parse::<Continuation>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn text_and_json_round_trip(partition in "\\PC{1,20}", row in proptest::option::of("\\PC{0,20}")) {
            let continuation = Continuation::new("T", &QuerySpec::default(), partition, row);
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
