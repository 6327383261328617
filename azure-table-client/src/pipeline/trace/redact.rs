//! The URL of a request for telemetry, without secrets and data.

use std::fmt;

use crate::operation::Request;

/// The absolute URL of a request without keys, literals and signatures. Their values are `REDACTED`, as in
/// OpenTelemetry's conventions.
pub(super) struct RedactedUrl<'r> {
    pub(super) base: &'r str,
    pub(super) request: &'r Request,
}

/// The values of these parameters contain no data.
const SHOWN: [&str; 5] = ["$select", "$top", "$format", "comp", "restype"];

impl fmt::Display for RedactedUrl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.base)?;
        match self.request.path.split_once("(PartitionKey=") {
            Some((table, _)) => write!(f, "{table}(PartitionKey='REDACTED',RowKey='REDACTED')")?,
            None => f.write_str(&self.request.path)?,
        }
        let mut separator = '?';
        for pair in self.request.query.as_str().split('&').filter(|pair| !pair.is_empty()) {
            let name = pair.split('=').next().unwrap_or_default();
            if SHOWN.contains(&name) {
                write!(f, "{separator}{pair}")?;
            } else {
                write!(f, "{separator}{name}=REDACTED")?;
            }
            separator = '&';
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::EntityKey;
    use crate::filter::QueryFilter;
    use crate::operation::page_token::PageToken;
    use crate::operation::query::{self, QuerySpec};
    use crate::operation::table;
    use crate::wire::Protocol;

    fn shown(request: &Request) -> String {
        RedactedUrl { base: "https://me.table.core.windows.net", request }.to_string()
    }

    #[test]
    fn keys_filters_and_continuations_are_not_shown() {
        let key = EntityKey::new("secret part", "secret row");
        let point = query::point(Protocol::default(), "Blogs", &key, &["Title".into()]).unwrap();
        assert_eq!(
            shown(&point),
            "https://me.table.core.windows.net/Blogs(PartitionKey='REDACTED',RowKey='REDACTED')\
             ?$select=Title"
        );
        let filter = QueryFilter::parse("Title eq 'secret'").unwrap().into();
        let spec = QuerySpec { filter: Some(&filter), select: &[] };
        let query = query::query(Protocol::default(), "Blogs", spec, Some(7), None).unwrap();
        assert_eq!(
            shown(&query),
            "https://me.table.core.windows.net/Blogs()?$filter=REDACTED&$top=7"
        );
        let next = PageToken { partition_key: "secret".to_owned(), row_key: None };
        let list = table::list(None, None, Some(&next)).unwrap();
        assert_eq!(shown(&list), "https://me.table.core.windows.net/Tables?NextTableName=REDACTED");
        let one = table::get(Protocol::default(), "Blogs").unwrap();
        assert_eq!(shown(&one), "https://me.table.core.windows.net/Tables('Blogs')");
    }
}
