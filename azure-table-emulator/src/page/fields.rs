//! The fields of a query or of a form.

use url::form_urlencoded;

/// The fields in their order. A name may occur several times.
#[derive(Debug, Default)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads `name=value&…`, which is also the body of a form.
    pub(super) fn parse(text: &[u8]) -> Self {
        Self(form_urlencoded::parse(text).into_owned().collect())
    }

    /// Returns the first value of a field. A missing field is empty.
    pub(super) fn get(&self, name: &str) -> &str {
        self.all(name).next().unwrap_or_default()
    }

    /// Returns all values of a field.
    pub(super) fn all<'f>(&'f self, name: &str) -> impl Iterator<Item = &'f str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| &**value)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    /// Returns the PartitionKey and the RowKey.
    pub(super) fn keys(&self) -> (&str, &str) {
        (self.get("PartitionKey"), self.get("RowKey"))
    }
}

/// `?PartitionKey=…&RowKey=…`
pub(super) fn query_of((partition_key, row_key): (&str, &str)) -> String {
    let mut query = form_urlencoded::Serializer::for_suffix(String::from("?"), 1);
    query.append_pair("PartitionKey", partition_key).append_pair("RowKey", row_key);
    query.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_a_link_round_trip() {
        let pair = ("a b&c=d", "é%'\"<>+");
        let query = query_of(pair);
        let fields = Fields::parse(&query.as_bytes()[1..]);
        assert_eq!(fields.keys(), pair);
        assert_eq!(Fields::parse(b"RowKey=x").keys(), ("", "x"));
    }
}
