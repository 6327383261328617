//! Queries over the entities of a table, one page at a time.
//!
//! Sources: [Query Entities](https://learn.microsoft.com/rest/api/storageservices/query-entities),
//! [Query timeout and pagination](https://learn.microsoft.com/rest/api/storageservices/query-timeout-and-pagination).
//!
//! Only the query itself knows the type of its rows. What stands between the reading of a response and the return of its
//! rows, [`ReadValues`] and [`RowValues`], is compiled once instead of once for each type.

use std::any::Any;
use std::sync::Arc;
use std::time::SystemTime;
use std::vec;

use http::Method;

use super::cursor::{CompareTokens, PageCursor, PageToken};
use super::{Asked, Location, Reply, Request, entity};
use crate::Dialect;
use crate::entity::{Columns, EntityKey, ReadRow, Row, RowConsumer};
use crate::error::Error;
use crate::filter::{KeyOrder, QueryFilter};
use crate::limits::KEY_UTF16_UNITS;
use crate::wire::{Operation, Protocol, encoding, headers};

/// The policy on queries that scan a whole table. Their cost grows with the table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScanPolicy {
    /// Send them.
    #[default]
    Allow,
    /// Send them, with a `tracing` event of level WARN that names the table and the reason.
    Warn,
    /// Return an error of kind [`InvalidInput`](crate::ErrorKind::InvalidInput), unless the query is
    /// marked with [`allow_scan`](crate::client::Query::allow_scan).
    ///
    /// Of the ranges that contain every PartitionKey, only `ge ''` and `gt ''` are recognized: a query with
    /// `PartitionKey ge ' '` is sent, although no key of the table may come before it.
    Refuse,
}

/// The rows and columns of a query.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QuerySpec<'q> {
    pub(crate) filter: Option<&'q Arc<QueryFilter>>,
    pub(crate) select: &'q [String],
}

/// The page that one request returns.
pub(crate) struct Rows {
    pub(crate) values: Box<dyn RowValues>,
    /// The keys of the rows, if they were requested.
    pub(crate) keys: Vec<EntityKey>,
    /// The start of the next page.
    pub(crate) next: Option<PageToken>,
    pub(crate) request_id: Option<String>,
    pub(crate) attempts: u32,
    pub(crate) location: Location,
    /// The service's clock in the response.
    pub(crate) date: Option<SystemTime>,
}

/// What is read of the rows of a page.
pub(crate) struct RowReads<'r> {
    pub(crate) reader: &'r dyn ReadValues,
    /// Whether the keys of the rows are read too.
    pub(crate) has_keys: bool,
}

impl RowReads<'_> {
    /// Reads a page, or the only row of a response.
    fn read(
        &self,
        reply: &Reply,
        request: &Request,
        is_page: bool,
    ) -> Result<(Box<dyn RowValues>, Vec<EntityKey>), Error> {
        let (format, form) = reply.format(request)?;
        let mut keys = Vec::new();
        let values = self.reader.read(&mut |consume| {
            let row = Row::with(self.reader.columns(), self.reader.keeps_others(), form);
            let mut consume = |row: &mut Row<'_>| {
                if self.has_keys {
                    keys.push(row.entity_key().ok_or_else(|| row.missing("RowKey"))?);
                }
                consume(row)
            };
            reply.read_rows(request, format, row, is_page, &mut consume)
        })?;
        Ok((values, keys))
    }
}

/// Reads rows of one type.
pub(crate) trait ReadValues: Send + Sync {
    fn columns(&self) -> Columns;

    fn keeps_others(&self) -> bool;

    /// Returns the rows that `read` passes on.
    fn read(
        &self,
        read: &mut dyn FnMut(&mut RowConsumer<'_>) -> Result<(), Error>,
    ) -> Result<Box<dyn RowValues>, Error>;
}

/// Rows of one type.
pub(crate) trait RowValues: Send {
    fn len(&self) -> usize;

    fn drop_first(&mut self);

    /// Moves the first `count` rows to the end of `to`, a `Vec` of their type.
    fn move_to(&mut self, to: &mut AnyVec, count: usize);
}

/// A `Vec` of rows.
pub(crate) type AnyVec = dyn Any + Send;

impl<T: Send + 'static> ReadValues for Arc<dyn ReadRow<T>> {
    fn columns(&self) -> Columns {
        (**self).columns()
    }

    fn keeps_others(&self) -> bool {
        (**self).keeps_others()
    }

    fn read(
        &self,
        read: &mut dyn FnMut(&mut RowConsumer<'_>) -> Result<(), Error>,
    ) -> Result<Box<dyn RowValues>, Error> {
        let mut values = Vec::new();
        read(&mut |row| {
            values.push(self.read_row(row)?);
            Ok(())
        })?;
        Ok(Box::new(values.into_iter()))
    }
}

impl<T: Send + 'static> RowValues for vec::IntoIter<T> {
    fn len(&self) -> usize {
        ExactSizeIterator::len(self)
    }

    fn drop_first(&mut self) {
        self.next();
    }

    fn move_to(&mut self, to: &mut AnyVec, count: usize) {
        let to = to.downcast_mut::<Vec<T>>();
        debug_assert!(
            to.is_some(),
            "the program receives the rows in the type in which they were read"
        );
        match to {
            // The page itself becomes the list.
            Some(to) if to.is_empty() && count >= ExactSizeIterator::len(self) => {
                *to = std::mem::take(self).collect();
            }
            Some(to) => to.extend(self.take(count)),
            None => {}
        }
    }
}

/// The bytes of a filter in a URL that are sent with one request; a longer list is split into several
/// requests. RFC 9110 recommends that URLs of 8,000 bytes are supported everywhere.
const FILTER_BYTES: usize = 6_000;

/// Whether one request can carry this filter.
pub(crate) fn fits_in_url(filter: &str) -> bool {
    encoding::encoded_len(filter) <= FILTER_BYTES
}

/// Whether the row with these keys is read by its path instead of by this filter. The documentation permits
/// keys of up to 512 UTF-16 units in a path. Longer keys are safe in a filter, if the filter fits in a URL.
pub(crate) fn is_read_by_path(key: &EntityKey, filter: &str) -> bool {
    let units = |key: &str| key.encode_utf16().count();
    units(&key.partition_key).max(units(&key.row_key)) <= KEY_UTF16_UNITS / 2
        || !fits_in_url(filter)
}

/// The longest URL that is sent, in bytes. The service runs on Http.sys, which by default accepts 16 KiB of
/// request line and headers.
pub(super) const URL_BYTES: usize = 15 * 1024;

/// Whether a request with this filter can be sent, although it may be longer than recommended.
pub(crate) fn can_be_sent(filter: &str) -> bool {
    encoding::encoded_len(filter) <= URL_BYTES
}

pub(crate) fn query(
    protocol: Protocol,
    table: &str,
    spec: QuerySpec<'_>,
    top: Option<u32>,
    token: Option<&PageToken>,
) -> Result<Request, Error> {
    protocol.dialect().check_table_name(table)?;
    let mut request =
        Request::new(Operation::Query, table, Method::GET, encoding::query_path(table));
    request.asked = Asked::All;
    if let Some(filter) = spec.filter {
        request.query.push("$filter", filter.text());
        request.asked = Asked::Matching(Arc::clone(filter), KeyOrder::of(protocol.dialect()));
    }
    select(protocol, &mut request, spec.select);
    if let Some(top) = top {
        request.query.push("$top", &top.to_string());
    }
    let bytes = request.path.len() + 1 + request.query.as_str().len();
    if bytes > URL_BYTES {
        let filter = spec.filter.map_or(0, |filter| encoding::encoded_len(filter.text()));
        return Err(Error::invalid_input(format!(
            "the URL of the query is too long ({bytes} bytes, {filter} of them for the filter; at most \
             {URL_BYTES}): only a list of alternatives, such as `is_in`, is split into several requests"
        )));
    }
    if let Some(next) = token {
        request.query.push("NextPartitionKey", &next.partition_key);
        if let Some(row_key) = &next.row_key {
            request.query.push("NextRowKey", row_key);
        }
        check_token(&request, next)?;
        request.starts_at = next.row().filter(|_| protocol.dialect().has_key_order());
    }
    Ok(request)
}

/// The bytes of a request that are sent without an answer about its length. A URL has at most 65,534 bytes, those of the
/// endpoint included.
const SENDABLE_BYTES: usize = 64_000;

/// Checks that a continuation token, which any server may have sent, fits in the URL of a request.
pub(super) fn check_token(request: &Request, token: &PageToken) -> Result<(), Error> {
    let bytes = request.path.len() + 1 + request.query.as_str().len();
    if bytes <= SENDABLE_BYTES {
        return Ok(());
    }
    let token = token.partition_key.len() + token.row_key.as_ref().map_or(0, String::len);
    Err(Error::unexpected_reply(format!(
        "the continuation token has {token} bytes: the URL of the next page would have {bytes} bytes, of at most \
         {SENDABLE_BYTES}"
    )))
}

/// The request for the row with this key.
pub(crate) fn point(
    protocol: Protocol,
    table: &str,
    key: &EntityKey,
    properties: &[String],
) -> Result<Request, Error> {
    let mut request = entity::get(protocol, table, key)?;
    select(protocol, &mut request, properties);
    Ok(request)
}

fn select(protocol: Protocol, request: &mut Request, properties: &[String]) {
    if !properties.is_empty() && protocol.has_select() {
        request.query.push("$select", &properties.join(","));
        request.selects = true;
    }
}

/// Reads a page of entities or of tables. `cursor` is the position of its request.
pub(crate) fn rows(
    reply: Reply,
    request: &Request,
    rows: &RowReads<'_>,
    cursor: &PageCursor,
    dialect: Dialect,
) -> Result<Rows, Error> {
    let reply = reply.ok(request)?;
    let (values, keys) = rows.read(&reply, request, true)?;
    let (next, compare): (_, CompareTokens) = match request.operation {
        Operation::ListTables => (table_token(&reply, request)?, PageToken::compare_tables),
        _ => (token(&reply, request)?, PageToken::compare),
    };
    if let Some(problem) = next.as_ref().and_then(|next| cursor.problem(next, dialect, compare)) {
        return Err(reply.endless(problem, request));
    }
    Ok(Rows {
        values,
        keys,
        next,
        request_id: reply.request_id().map(str::to_owned),
        attempts: reply.attempts,
        location: reply.location,
        date: reply.date(),
    })
}

/// Reads the row of a point query; no rows if it does not exist.
pub(crate) fn point_rows(
    reply: Reply,
    request: &Request,
    rows: &RowReads<'_>,
) -> Result<Rows, Error> {
    let request_id = reply.request_id().map(str::to_owned);
    let (attempts, location, date) = (reply.attempts, reply.location, reply.date());
    let found = reply
        .if_exists(request, |reply, request| rows.read(&reply.ok(request)?, request, false))?;
    let (values, keys) = match found {
        Some(found) => found,
        None => (rows.reader.read(&mut |_| Ok(()))?, Vec::new()),
    };
    Ok(Rows { values, keys, next: None, request_id, attempts, location, date })
}

fn table_token(reply: &Reply, request: &Request) -> Result<Option<PageToken>, Error> {
    match reply.token(&headers::NEXT_TABLE_NAME, request)? {
        Some("") => Err(reply.bad_token(&headers::NEXT_TABLE_NAME, request)),
        name => Ok(name.map(|name| PageToken { partition_key: name.to_owned(), row_key: None })),
    }
}

fn token(reply: &Reply, request: &Request) -> Result<Option<PageToken>, Error> {
    let partition_key = reply.token(&headers::NEXT_PARTITION_KEY, request)?;
    let row_key = reply.token(&headers::NEXT_ROW_KEY, request)?.filter(|token| !token.is_empty());
    match (partition_key, row_key) {
        (None, None) => Ok(None),
        (None | Some(""), _) => Err(reply.bad_token(&headers::NEXT_PARTITION_KEY, request)),
        (Some(partition_key), row_key) => Ok(Some(PageToken {
            partition_key: partition_key.to_owned(),
            row_key: row_key.map(str::to_owned),
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_encoded_and_its_token_may_lack_a_row_key() {
        let select = ["A".to_owned(), "RowKey".to_owned()];
        let filter = Arc::new(QueryFilter::parse("A eq 'x&y'").unwrap());
        let spec = QuerySpec { filter: Some(&filter), select: &select };
        let next = PageToken { partition_key: "1!8!cGs-".into(), row_key: None };
        let request = query(Protocol::default(), "Blogs", spec, Some(5), Some(&next)).unwrap();
        assert_eq!(request.path, "/Blogs()");
        assert_eq!(
            request.query.as_str(),
            "$filter=A%20eq%20%27x%26y%27&$select=A%2CRowKey&$top=5&NextPartitionKey=1%218%21cGs-"
        );
    }

    #[test]
    fn a_filter_too_long_for_a_url_is_an_error() {
        let filter = Arc::new(QueryFilter::parse(&"A".repeat(URL_BYTES)).unwrap());
        let spec = QuerySpec { filter: Some(&filter), select: &[] };
        let error = query(Protocol::default(), "Blogs", spec, None, None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the URL of the query is too long (15377 bytes, 15360 of them for the filter; at most \
             15360): only a list of alternatives, such as `is_in`, is split into several requests"
        );
    }
}
