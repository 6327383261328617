//! Queries over the entities of a table, one page at a time.
//!
//! Sources: [Query Entities](https://learn.microsoft.com/rest/api/storageservices/query-entities),
//! [Query timeout and pagination](https://learn.microsoft.com/rest/api/storageservices/query-timeout-and-pagination).

use http::{Method, StatusCode};

use super::continuation::Continuation;
use super::{Reply, Request};
use crate::entity::TableEntity;
use crate::error::Error;
use crate::limits::check_table_name;
use crate::wire::{Operation, encoding, headers, json_read};

/// One page of a query: possibly empty, also where more pages follow.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Page<T> {
    /// The entities in order of PartitionKey and RowKey.
    pub entities: Vec<T>,
    /// Where the next page begins; `None` on the last one.
    pub continuation: Option<Continuation>,
    /// The service's id of the request.
    pub request_id: Option<String>,
}

/// What to do about queries that look at a whole table, which cost the more the larger it grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScanPolicy {
    /// Send them.
    #[default]
    Allow,
    /// Send them, with a `tracing` event of level WARN that names the table and says why.
    Warn,
    /// An error of kind [`InvalidInput`](crate::ErrorKind::InvalidInput), unless the query has
    /// [`allow_scan`](crate::client::Query::allow_scan).
    Refuse,
}

/// What is asked for, beside the page.
#[derive(Debug, Clone, Default)]
pub(crate) struct QuerySpec {
    pub(crate) filter: Option<String>,
    pub(crate) select: Vec<String>,
}

pub(crate) fn query(
    table: &str,
    spec: &QuerySpec,
    top: Option<u32>,
    continuation: Option<&Continuation>,
) -> Result<Request, Error> {
    check_table_name(table)?;
    let mut request =
        Request::new(Operation::Query, table, Method::GET, encoding::query_path(table));
    if let Some(filter) = &spec.filter {
        request.query.push("$filter", filter);
    }
    if !spec.select.is_empty() {
        request.query.push("$select", &spec.select.join(","));
    }
    if let Some(top) = top {
        request.query.push("$top", &top.to_string());
    }
    if let Some(next) = continuation {
        request.query.push("NextPartitionKey", &next.next_partition_key);
        if let Some(row_key) = &next.next_row_key {
            request.query.push("NextRowKey", row_key);
        }
    }
    Ok(request)
}

pub(crate) fn page<T: TableEntity>(
    reply: Reply,
    request: &Request,
    spec: &QuerySpec,
) -> Result<Page<T>, Error> {
    if reply.status != StatusCode::OK {
        return Err(reply.into_error(request));
    }
    let (body, typed) = reply.json(request)?;
    let entities =
        json_read::read_page(body, typed).map_err(|error| reply.read_error(error, request))?;
    let continuation = continuation(&reply, request, spec)?;
    Ok(Page { entities, continuation, request_id: reply.request_id().map(str::to_owned) })
}

fn continuation(
    reply: &Reply,
    request: &Request,
    spec: &QuerySpec,
) -> Result<Option<Continuation>, Error> {
    let partition_key = reply.token(&headers::NEXT_PARTITION_KEY, request)?;
    let row_key = reply.token(&headers::NEXT_ROW_KEY, request)?.filter(|token| !token.is_empty());
    match (partition_key, row_key) {
        (None, None) => Ok(None),
        (None | Some(""), _) => Err(reply.bad_token(&headers::NEXT_PARTITION_KEY, request)),
        (Some(partition_key), row_key) => Ok(Some(Continuation::new(
            &request.resource,
            spec,
            partition_key.to_owned(),
            row_key.map(str::to_owned),
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_encoded_and_tokens_may_lack_a_row_key() {
        let spec = QuerySpec {
            filter: Some("A eq 'x&y'".into()),
            select: vec!["A".into(), "RowKey".into()],
        };
        let next = Continuation::new("Blogs", &spec, "1!8!cGs-".into(), None);
        let request = query("Blogs", &spec, Some(5), Some(&next)).unwrap();
        assert_eq!(request.path, "/Blogs()");
        assert_eq!(
            request.query.as_str(),
            "$filter=A%20eq%20%27x%26y%27&$select=A%2CRowKey&$top=5&NextPartitionKey=1%218%21cGs-"
        );
    }
}
