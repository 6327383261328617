//! Response bodies with one or a page of entities or tables, in the accepted format.

mod atom;
mod cosmos;
mod json;

use http::HeaderValue;

use crate::core::ServiceClock;
use crate::dialect::ServiceDialect;
use crate::failure::Failure;
use crate::request::Origin;
use crate::select::Select;
use crate::store::StoredEntity;
use crate::wire::{Metadata, PayloadFormat, encoding};

/// An entity or a table in a body.
#[derive(Clone, Copy)]
pub(super) enum PayloadItem<'r> {
    /// The PartitionKey and the row.
    Entity(&'r str, &'r StoredEntity),
    /// The name of a table.
    Table(&'r str),
}

/// A writer of bodies with the entities of a table, or with tables.
pub(super) struct Payload<'a> {
    pub(super) dialect: ServiceDialect,
    pub(super) writer: PayloadWriter,
    pub(super) base_url: &'a BaseUrl<'a>,
    /// The name of the table, or `Tables`.
    pub(super) set: &'a str,
    pub(super) select: Option<&'a Select>,
    /// The clock for Atom's `<updated>`.
    pub(super) clock: &'a ServiceClock,
}

/// The form of a body.
#[derive(Clone, Copy)]
pub(super) enum PayloadWriter {
    Json(Metadata),
    CosmosJson(Metadata),
    Atom,
}

impl PayloadWriter {
    pub(super) fn new(dialect: ServiceDialect, format: PayloadFormat) -> Self {
        match format {
            PayloadFormat::Json(level) if dialect.is_cosmos() => Self::CosmosJson(level),
            PayloadFormat::Json(level) => Self::Json(level),
            PayloadFormat::Atom => Self::Atom,
        }
    }
}

/// The media type of a response in this format.
pub(super) fn media_type(format: PayloadFormat) -> HeaderValue {
    // `const`: the check of the text at run time would cost more than the rest.
    match format {
        PayloadFormat::Json(Metadata::None) => {
            const {
                HeaderValue::from_static(
                    "application/json;odata=nometadata;streaming=true;charset=utf-8",
                )
            }
        }
        PayloadFormat::Json(Metadata::Minimal) => {
            const {
                HeaderValue::from_static(
                    "application/json;odata=minimalmetadata;streaming=true;charset=utf-8",
                )
            }
        }
        PayloadFormat::Json(Metadata::Full) => {
            const {
                HeaderValue::from_static(
                    "application/json;odata=fullmetadata;streaming=true;charset=utf-8",
                )
            }
        }
        PayloadFormat::Atom => {
            const { HeaderValue::from_static("application/atom+xml;charset=utf-8") }
        }
    }
}

/// The body of a failure, and its media type: XML if the accepted format is Atom or unknown. The front end does
/// not state the level of JSON (recorded in `test_new_invalid_key`).
pub(super) fn failure_body(
    format: Option<PayloadFormat>,
    failure: &Failure,
    message: &str,
) -> (HeaderValue, Vec<u8>) {
    match format {
        Some(PayloadFormat::Json(_)) if failure.stage.is_before_tables() => {
            (HeaderValue::from_static("application/json"), json::failure(failure, message))
        }
        Some(format @ PayloadFormat::Json(_)) => {
            (media_type(format), json::failure(failure, message))
        }
        Some(PayloadFormat::Atom) | None => {
            (HeaderValue::from_static("application/xml"), atom::failure(failure, message))
        }
    }
}

/// The base of the URLs in a response.
pub(super) struct BaseUrl<'a> {
    /// `http://host:port`
    pub(super) origin: Origin<'a>,
    pub(super) account: &'a str,
    /// The suffix of the account's name at the secondary location.
    pub(super) suffix: &'static str,
    /// The host names the account, so the path does not.
    pub(super) account_in_host: bool,
}

impl BaseUrl<'_> {
    /// The path of an entity below the account. Unlike in a request, a quote in a key is doubled but not
    /// percent-encoded (recorded in `test_operations_on_entity_with_partition_key_having_single_quote`).
    pub(super) fn entity_path(table: &str, partition_key: &str, row_key: &str) -> String {
        let path = encoding::entity_path(table, partition_key, row_key);
        if path.contains("%27") { path.replace("%27", "'") } else { path }
    }

    /// The path of a table below the account.
    pub(super) fn table_path(table: &str) -> String {
        encoding::table_resource(table)
    }

    /// The URL of a path below the account.
    pub(super) fn absolute(&self, path: &str) -> String {
        let Origin { scheme, authority } = self.origin;
        if self.account_in_host {
            return [scheme, "://", authority, path].concat();
        }
        [scheme, "://", authority, "/", self.account, self.suffix, path].concat()
    }
}

impl Payload<'_> {
    /// Returns a body with one item.
    pub(super) fn one(&self, item: PayloadItem<'_>) -> Vec<u8> {
        let mut body = Vec::with_capacity(1024);
        match self.writer {
            PayloadWriter::Json(level) => self.json_one(&mut body, level, item),
            PayloadWriter::CosmosJson(level) => self.cosmos_one(&mut body, level, item),
            PayloadWriter::Atom => self.atom_one(&mut body, item),
        }
        body
    }

    /// Begins a page.
    pub(super) fn open_page(&self, body: &mut Vec<u8>) {
        match self.writer {
            PayloadWriter::Json(level) => self.json_open_page(body, level),
            PayloadWriter::CosmosJson(_) => cosmos::open_page(body),
            PayloadWriter::Atom => self.atom_open_page(body),
        }
    }

    /// Adds an item to a page.
    pub(super) fn push(&self, body: &mut Vec<u8>, item: PayloadItem<'_>, is_first: bool) {
        match self.writer {
            PayloadWriter::Json(level) => self.json_push(body, level, item, is_first),
            PayloadWriter::CosmosJson(level) => self.cosmos_push(body, level, item, is_first),
            PayloadWriter::Atom => self.atom_push(body, item),
        }
    }

    /// Ends a page.
    pub(super) fn close_page(&self, body: &mut Vec<u8>, is_empty: bool) {
        match self.writer {
            PayloadWriter::Json(_) => body.extend_from_slice(b"]}"),
            PayloadWriter::CosmosJson(level) => self.cosmos_close_page(body, level),
            PayloadWriter::Atom => atom::close_page(body, is_empty),
        }
    }

    /// The type of the items: `account.Blogs`.
    fn type_name(&self) -> String {
        format!("{}.{}", self.base_url.account, self.set)
    }

    pub(super) fn url(&self, item: PayloadItem<'_>) -> String {
        self.base_url.absolute(&self.path(item))
    }

    /// The path of an item below the account, with its leading slash.
    fn path(&self, item: PayloadItem<'_>) -> String {
        match item {
            PayloadItem::Entity(partition_key, row) => {
                BaseUrl::entity_path(self.set, partition_key, row.row_key())
            }
            PayloadItem::Table(name) => BaseUrl::table_path(name),
        }
    }
}
