//! The state of a page of rows, which is in its URL: the query, the position, the columns and the order.

use url::form_urlencoded;

use super::fields::Fields;

/// The largest total length of the earlier positions in a URL.
const BACK_BYTES: usize = 8 * 1024;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct View {
    /// The OData filter.
    pub(super) filter: String,
    /// The lowest PartitionKey.
    pub(super) from: String,
    /// The continuation of the page; empty for the first page.
    pub(super) at: String,
    /// The continuations of the pages before.
    pub(super) back: Vec<String>,
    /// The selected columns; none if all are shown.
    pub(super) columns: Vec<String>,
    /// The column by which the page is sorted; empty for the order of the keys.
    pub(super) sort: String,
    pub(super) is_descending: bool,
}

impl View {
    pub(super) fn of(fields: &Fields) -> Self {
        let (sort, is_descending) = match fields.get("sort").strip_prefix('-') {
            Some(sort) => (sort, true),
            None => (fields.get("sort"), false),
        };
        Self {
            filter: fields.get("filter").trim().to_owned(),
            from: fields.get("from").to_owned(),
            at: fields.get("at").to_owned(),
            back: fields.all("back").map(str::to_owned).collect(),
            columns: fields.all("column").map(str::to_owned).collect(),
            sort: sort.to_owned(),
            is_descending,
        }
    }

    /// The order as a field: `Name` or `-Name`.
    pub(super) fn order(&self) -> String {
        let sign = if self.is_descending { "-" } else { "" };
        format!("{sign}{}", self.sort)
    }

    /// Returns the query of a link with its `?`, or nothing for the plain page.
    pub(super) fn query(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (name, value) in [("filter", &self.filter), ("from", &self.from), ("at", &self.at)] {
            if !value.is_empty() {
                query.append_pair(name, value);
            }
        }
        query.extend_pairs(self.back.iter().map(|back| ("back", back)));
        query.extend_pairs(self.columns.iter().map(|column| ("column", column)));
        if !self.sort.is_empty() {
            query.append_pair("sort", &self.order());
        }
        let query = query.finish();
        if query.is_empty() { query } else { format!("?{query}") }
    }

    /// The next page, from a continuation on.
    pub(super) fn next(&self, at: String) -> Self {
        let mut next = self.clone();
        next.back.push(std::mem::replace(&mut next.at, at));
        while next.back.iter().map(String::len).sum::<usize>() > BACK_BYTES {
            next.back.remove(0);
        }
        next
    }

    /// The page before, if this is not the first one.
    pub(super) fn previous(&self) -> Option<Self> {
        let mut previous = self.clone();
        previous.at = previous.back.pop()?;
        Some(previous)
    }

    pub(super) fn first(&self) -> Self {
        Self { at: String::new(), back: Vec::new(), ..self.clone() }
    }

    /// The page in the order of a column: ascending, then descending, then by keys.
    pub(super) fn sorted_by(&self, column: &str) -> Self {
        let (sort, is_descending) = match (self.sort == column, self.is_descending) {
            (false, _) => (column, false),
            (true, false) => (column, true),
            (true, true) => ("", false),
        };
        Self { sort: sort.to_owned(), is_descending, ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(view: &View) -> View {
        View::of(&Fields::parse(view.query().trim_start_matches('?').as_bytes()))
    }

    #[test]
    fn a_view_round_trips_and_goes_back() {
        let first = View {
            filter: "A eq 'x&y'".into(),
            from: "é".into(),
            columns: vec!["A".into(), "B".into()],
            sort: "A".into(),
            is_descending: true,
            ..View::default()
        };
        let third = first.next("2".into()).next("3".into());
        assert_eq!((&*third.at, third.back.len()), ("3", 2));
        assert_eq!(read(&third), third);
        let second = third.previous().unwrap();
        assert_eq!(second, first.next("2".into()));
        assert_eq!(second.previous(), Some(first.clone()));
        assert_eq!(first.previous(), None);
        assert_eq!((third.first(), View::default().query()), (first, String::new()));
        let mut far = View::default();
        for _ in 0..1000 {
            far = far.next("x".repeat(100));
        }
        assert!(far.query().len() < 10_000 && far.previous().is_some());
    }

    #[test]
    fn a_column_sorts_in_both_directions() {
        let keys = View::default();
        let up = keys.sorted_by("A");
        let down = up.sorted_by("A");
        assert_eq!([up.order(), down.order(), down.sorted_by("A").order()], ["A", "-A", ""]);
        assert_eq!(down.sorted_by("B").order(), "B");
    }
}
