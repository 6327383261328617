//! What a request asks: its parts, and the resource that its path names.

use std::borrow::Cow;
use std::net::IpAddr;
use std::num::IntErrorKind;

use http::{HeaderMap, HeaderName, Method, header};
use percent_encoding::percent_decode_str;
use url::form_urlencoded;

use super::failure::Failure;
use super::store::Condition;
use crate::transport::HttpRequest;
use crate::wire::ServiceVersion;
use crate::wire::headers::X_MS_VERSION;

/// A request as it arrived.
#[derive(Debug)]
pub(super) struct Incoming<'a> {
    pub(super) method: &'a Method,
    /// `http://host:port`
    pub(super) origin: &'a str,
    /// Percent-encoded, as sent.
    pub(super) path: &'a str,
    pub(super) query: &'a str,
    pub(super) headers: &'a HeaderMap,
    pub(super) body: &'a [u8],
    /// Who sent it.
    pub(super) from: IpAddr,
}

/// `http://host:port` and what follows it.
pub(super) fn split_origin(url: &str) -> (&str, &str) {
    let host = url.find("://").map_or(0, |at| at + 3);
    let path = url[host..].find(['/', '?']).map_or(url.len(), |at| host + at);
    url.split_at(path)
}

/// What a path names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Resource {
    Service,
    Tables,
    Table(String),
    Entities(String),
    Entity(Target),
    Batch,
}

/// One entity.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) table: String,
    pub(super) partition_key: String,
    pub(super) row_key: String,
}

/// What the client wants back after a POST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Preference {
    None,
    ReturnContent,
    ReturnNoContent,
}

impl<'a> Incoming<'a> {
    /// How long its path and query are.
    pub(super) const fn url_bytes(&self) -> usize {
        self.path.len() + self.query.len()
    }

    /// A request that a host in this process got from this address.
    pub(super) fn in_process(request: &'a HttpRequest, from: IpAddr) -> Self {
        let (origin, rest) = split_origin(&request.url);
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        Self {
            method: &request.method,
            origin,
            path,
            query,
            headers: &request.headers,
            body: &request.body,
            from,
        }
    }

    pub(super) fn header(&self, name: &HeaderName) -> Option<&'a str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// An option of the query, decoded; names are compared without case.
    pub(super) fn option(&self, name: &str) -> Option<Cow<'a, str>> {
        // Only what may be it is decoded: this is asked often, and filters are long.
        let may_be = |pair: &&str| {
            let key = pair.split('=').next().unwrap_or_default();
            key.len() == name.len() || key.contains('%')
        };
        self.query.split('&').filter(may_be).find_map(|pair| {
            let (key, value) = form_urlencoded::parse(pair.as_bytes()).next()?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    /// The part of a resource that is asked for: its policies, the service's properties.
    pub(super) fn comp(&self) -> Option<Cow<'a, str>> {
        self.option("comp")
    }

    /// The verb; a POST may carry another one in `X-HTTP-Method`.
    pub(super) fn verb(&self) -> Result<&'a str, Failure> {
        let mut tunnelled = self.headers.get_all("x-http-method").iter();
        match (tunnelled.next(), tunnelled.next()) {
            (None, _) => Ok(self.method.as_str()),
            (Some(_), Some(_)) => Err(Failure::x_method_count()),
            (Some(_), None) if *self.method != Method::POST => Err(Failure::x_method_not_post()),
            (Some(verb), None) => match verb.to_str() {
                Ok(verb @ ("PUT" | "MERGE" | "PATCH" | "DELETE")) => Ok(verb),
                _ => Err(Failure::x_method_value()),
            },
        }
    }

    /// The service version asked for, a date; that of a shared access signature, if it is not said.
    pub(super) fn version(&self) -> Result<Option<ServiceVersion>, Failure> {
        let Some(value) = self.headers.get(&X_MS_VERSION) else {
            return Ok(self.option("sv").and_then(|date| ServiceVersion::of_date(&date)));
        };
        let version = value.to_str().ok().and_then(ServiceVersion::of_date);
        version.map(Some).ok_or_else(Failure::invalid_header)
    }

    /// Checks `timeout`, the seconds that the service may take. Versions before 2016-05-31 do not
    /// look at it, and the time itself never matters: nothing takes longer.
    pub(super) fn check_timeout(&self) -> Result<(), Failure> {
        let Some(text) = self.option("timeout").filter(|text| !text.is_empty()) else {
            return Ok(());
        };
        if self.version()?.is_some_and(|version| version.as_str() < "2016-05-31") {
            return Ok(());
        }
        match text.trim().parse::<i32>().map_err(|error| *error.kind()) {
            Ok(1..) => Ok(()),
            Err(IntErrorKind::PosOverflow | IntErrorKind::NegOverflow) => {
                Err(Failure::out_of_range_query_value())
            }
            _ => Err(Failure::invalid_query_value()),
        }
    }

    /// `If-Match`, if it is one tag or `*`.
    pub(super) fn condition(&self) -> Result<Condition<'a>, Failure> {
        let mut values = self.headers.get_all(header::IF_MATCH).iter();
        let (value, more) = (values.next(), values.next());
        let Some(value) = value else {
            return Ok(Condition::None);
        };
        let text = value.to_str().unwrap_or_default().trim();
        let tag = text.strip_prefix("W/").unwrap_or(text).as_bytes();
        match (text, tag, more) {
            ("*", _, None) => Ok(Condition::Exists),
            (_, [b'"', tag @ .., b'"'], None) if !tag.contains(&b'"') => Ok(Condition::ETag(text)),
            _ => Err(Failure::invalid_etag(text)),
        }
    }

    /// `Prefer`, for versions that have it.
    pub(super) fn preference(&self) -> Preference {
        let prefer = self.headers.get("prefer").and_then(|value| value.to_str().ok());
        match prefer.map(str::trim) {
            Some("return-content") => Preference::ReturnContent,
            Some("return-no-content") => Preference::ReturnNoContent,
            _ => Preference::None,
        }
    }
}

impl Resource {
    /// Reads a path below the account: `/Tables`, `/Blogs()`, `/Blogs(PartitionKey='…',RowKey='…')`.
    pub(super) fn parse(path: &str) -> Result<Self, Failure> {
        let path = percent_decode_str(path).decode_utf8().map_err(|_| Failure::invalid_input())?;
        let path = path.trim_matches('/');
        let (name, arguments) = match path.split_once('(') {
            Some((name, rest)) => {
                let arguments = rest.strip_suffix(')').ok_or_else(Failure::invalid_input)?;
                (name, arguments.trim())
            }
            None => (path, ""),
        };
        match (name, arguments) {
            ("", "") => Ok(Self::Service),
            ("$batch", "") => Ok(Self::Batch),
            _ if name.eq_ignore_ascii_case("tables") => match arguments {
                "" => Ok(Self::Tables),
                quoted => {
                    Ok(Self::Table(table_argument(quoted).ok_or_else(Failure::invalid_input)?))
                }
            },
            (_, "") => Ok(Self::Entities(name.to_owned())),
            _ => {
                let (partition_key, row_key) =
                    key_arguments(arguments).ok_or_else(Failure::invalid_input)?;
                Ok(Self::Entity(Target { table: name.to_owned(), partition_key, row_key }))
            }
        }
    }

    /// The table it is about, for the record.
    pub(super) fn table(&self) -> Option<&str> {
        match self {
            Self::Table(table) | Self::Entities(table) | Self::Entity(Target { table, .. }) => {
                Some(table)
            }
            Self::Service | Self::Tables | Self::Batch => None,
        }
    }
}

/// `'Blogs'` or `TableName='Blogs'`.
fn table_argument(arguments: &str) -> Option<String> {
    let quoted = arguments.strip_prefix("TableName=").unwrap_or(arguments);
    let (name, rest) = quoted_text(quoted)?;
    rest.is_empty().then_some(name)
}

/// `PartitionKey='…',RowKey='…'`, in either order, quotes doubled.
fn key_arguments(arguments: &str) -> Option<(String, String)> {
    let (mut partition_key, mut row_key) = (None, None);
    let mut rest = arguments;
    loop {
        let (name, value) = rest.split_once('=')?;
        let place = match name.trim() {
            "PartitionKey" => &mut partition_key,
            "RowKey" => &mut row_key,
            _ => return None,
        };
        let (text, after) = quoted_text(value.trim_start())?;
        if place.replace(text).is_some() {
            return None;
        }
        rest = after.trim_start();
        match rest.strip_prefix(',') {
            Some(next) => rest = next.trim_start(),
            None if rest.is_empty() => return Some((partition_key?, row_key?)),
            None => return None,
        }
    }
}

/// The text of a literal `'it''s'` at the beginning, and what follows it.
fn quoted_text(text: &str) -> Option<(String, &str)> {
    let mut rest = text.strip_prefix('\'')?;
    let mut value = String::new();
    loop {
        let (part, after) = rest.split_once('\'')?;
        value.push_str(part);
        match after.strip_prefix('\'') {
            Some(next) => {
                value.push('\'');
                rest = next;
            }
            None => return Some((value, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entity(partition_key: &str, row_key: &str) -> Resource {
        Resource::Entity(Target {
            table: "T".into(),
            partition_key: partition_key.into(),
            row_key: row_key.into(),
        })
    }

    #[test]
    fn paths() {
        for (path, expected) in [
            ("", Resource::Service),
            ("/", Resource::Service),
            ("/$batch", Resource::Batch),
            ("/Tables", Resource::Tables),
            ("/tables()", Resource::Tables),
            ("/Tables('T')", Resource::Table("T".into())),
            ("/Tables(TableName='T')", Resource::Table("T".into())),
            ("/T", Resource::Entities("T".into())),
            ("/T()", Resource::Entities("T".into())),
            ("/T(PartitionKey='p',RowKey='r')", entity("p", "r")),
            ("/T(RowKey='r',%20PartitionKey='')", entity("", "r")),
            ("/T(PartitionKey='it%27%27s',RowKey='%28a%2C%29%2Fé')", entity("it's", "(a,)/é")),
            ("/T(PartitionKey='%2527',RowKey='a+b')", entity("%27", "a+b")),
        ] {
            assert_eq!(Resource::parse(path).unwrap(), expected, "{path}");
        }
    }

    #[test]
    fn what_names_nothing() {
        for path in [
            "/T(",
            "/T(PartitionKey='p')",
            "/T(PartitionKey='p',RowKey='r'x)",
            "/T(x='y')",
            "/T(PartitionKey='p',PartitionKey='p')",
            "/T(PartitionKey='p,RowKey='r')",
            "/%ff",
            "/Tables(x)",
            "/T(PartitionKey=p,RowKey=r)",
        ] {
            assert!(Resource::parse(path).is_err(), "{path}");
        }
    }
}
