//! The features of each protocol version: the version of the service, and the version of OData.
//!
//! Sources: [Versioning for Azure Storage][versions], [Payload format for Table service
//! operations][format], [Setting the OData data service version headers][odata], [Setting the Prefer
//! header][prefer]; [Query Entities][query] for `$select`. A request without a version uses the version
//! before the first dated one (section 4.1 of the first link).
//!
//! [versions]: https://learn.microsoft.com/rest/api/storageservices/versioning-for-the-azure-storage-services
//! [format]: https://learn.microsoft.com/rest/api/storageservices/payload-format-for-table-service-operations
//! [odata]: https://learn.microsoft.com/rest/api/storageservices/setting-the-odata-data-service-version-headers
//! [prefer]: https://learn.microsoft.com/rest/api/storageservices/setting-the-prefer-header-to-manage-response-echo-on-insert-operations
//! [query]: https://learn.microsoft.com/rest/api/storageservices/query-entities

use http::{HeaderName, header};

use super::{Preference, RawRequest, RequestBody};
use crate::failure::Failure;
use crate::wire::headers::{DATA_SERVICE_VERSION, MAX_DATA_SERVICE_VERSION};
use crate::wire::{Metadata, Operation, PayloadFormat, ServiceVersion};

/// A date after all versions.
const NEWEST: &str = "9999-12-31";

/// The protocol versions of a request.
#[derive(Debug)]
pub(crate) struct RequestProtocol {
    /// `None` is the version before the first dated one.
    service: Option<ServiceVersion>,
    /// The version of OData: 1, 2 or 3.
    odata: u8,
    /// Whether a request without a version or a format uses the newest one.
    loose: bool,
}

/// Whether a version of the service has an operation that is not in all versions.
pub(crate) fn is_in_version(operation: Operation, version: Option<ServiceVersion>) -> bool {
    version >= Some(operation.since())
}

impl RequestProtocol {
    /// The versions of a request. A loose service uses the newest version if the request has no version.
    ///
    /// # Errors
    /// The version is malformed, or `DataServiceVersion` is newer than the service version supports.
    pub(crate) fn of(request: &RawRequest<'_>, loose: bool) -> Result<Self, Failure> {
        let service = request.version()?;
        let service = service.or_else(|| ServiceVersion::of_date(NEWEST).filter(|_| loose));
        let highest = service.map_or(1, ServiceVersion::odata);
        let exact = odata_version(request, &DATA_SERVICE_VERSION);
        if exact.is_some_and(|version| version > highest) {
            return Err(Failure::invalid_input());
        }
        let named = odata_version(request, &MAX_DATA_SERVICE_VERSION).or(exact);
        Ok(Self { service, odata: named.unwrap_or(highest).min(highest), loose })
    }

    fn has_json(&self) -> bool {
        self.service.is_some_and(ServiceVersion::has_json) && self.odata >= 3
    }

    fn has_atom(&self) -> bool {
        self.service.is_none_or(ServiceVersion::has_atom)
    }

    pub(crate) fn has_select(&self) -> bool {
        self.odata >= 2
    }

    /// PATCH is the verb of OData 3.0 for MERGE.
    pub(crate) fn has_patch(&self) -> bool {
        self.odata >= 3
    }

    /// Whether the version of the request has an operation that is not in all versions.
    pub(crate) fn has(&self, operation: Operation) -> bool {
        is_in_version(operation, self.service)
    }

    /// The OData version of the response.
    pub(crate) fn odata(&self) -> u8 {
        self.odata
    }

    pub(crate) fn preference(&self, request: &RawRequest<'_>) -> Preference {
        if self.odata < 3 {
            return Preference::None;
        }
        request.preference()
    }

    /// The format of the response. `$format` overrides `Accept`.
    pub(crate) fn format(&self, request: &RawRequest<'_>) -> Result<PayloadFormat, Failure> {
        let option = request.option("$format").filter(|_| self.odata >= 3);
        let accept = option.as_deref().or_else(|| request.header(&header::ACCEPT));
        // Most clients accept exactly one of these.
        let usual = Metadata::ALL.into_iter().find(|level| accept == Some(level.media_type()));
        if let Some(level) = usual.filter(|_| self.has_json()) {
            return Ok(PayloadFormat::Json(level));
        }
        let media_types = accept.unwrap_or_default().split(',').map(str::trim);
        let mut accepted = media_types.filter(|entry| !entry.is_empty()).peekable();
        if accepted.peek().is_some() {
            let known = accepted.find_map(|media_type| self.of_media_type(media_type));
            return known.unwrap_or_else(|| Err(Failure::media_type_not_supported()));
        }
        match self.loose {
            _ if self.has_atom() => Ok(PayloadFormat::Atom),
            true => Ok(PayloadFormat::Json(Metadata::Minimal)),
            false => Err(Failure::atom_not_supported()),
        }
    }

    /// The format of a media type. Returns `None` if the service does not know the media type.
    fn of_media_type(&self, media_type: &str) -> Option<Result<PayloadFormat, Failure>> {
        let kind = media_type.split(';').next().unwrap_or_default().trim();
        let is = |name: &str| kind.eq_ignore_ascii_case(name);
        let level =
            if is("json") { Some(Metadata::Minimal) } else { Metadata::of_media_type(media_type) };
        if let Some(level) = level {
            return Some(match () {
                () if !self.has_json() => Err(Failure::json_not_supported()),
                () if is_verbose(media_type) => Err(Failure::json_verbose_not_supported()),
                () => Ok(PayloadFormat::Json(level)),
            });
        }
        let is_any = is("*/*") || is("application/*");
        let is_atom = is("application/atom+xml") || is("atom");
        // Some clients list XML next to Atom, for error responses only.
        let is_xml = is("application/xml");
        match self.has_atom() {
            true => (is_any || is_atom || is_xml).then_some(Ok(PayloadFormat::Atom)),
            false if is_any => Some(Ok(PayloadFormat::Json(Metadata::Minimal))),
            false => is_atom.then(|| Err(Failure::atom_not_supported())),
        }
    }

    /// The body of a request. Without a media type it has the preferred format of the version.
    pub(crate) fn body<'a>(&self, request: &RawRequest<'a>) -> Result<RequestBody<'a>, Failure> {
        let (json, atom) = (RequestBody::Json(request.body), RequestBody::Atom(request.body));
        let kind = request.content_type()?;
        let is = |name: &str| kind.eq_ignore_ascii_case(name);
        match (self.has_json(), self.has_atom()) {
            (true, _) if kind.is_empty() || is("application/json") => Ok(json),
            (false, _) if is("application/json") => Err(Failure::json_not_supported()),
            (_, true) if is("application/atom+xml") => Ok(atom),
            (_, false) if is("application/atom+xml") => Err(Failure::atom_not_supported()),
            _ if kind.is_empty() => Ok(atom),
            // A web page can send text and forms to another origin without a preflight request.
            _ => Err(Failure::media_type_not_supported()),
        }
    }
}

/// Whether a media type requests the JSON of OData 2.0.
fn is_verbose(media_type: &str) -> bool {
    const VERBOSE: &[u8] = b"odata=verbose";
    media_type.as_bytes().windows(VERBOSE.len()).any(|part| part.eq_ignore_ascii_case(VERBOSE))
}

/// `3.0;NetFx`
fn odata_version(request: &RawRequest<'_>, name: &HeaderName) -> Option<u8> {
    let (major, _) = request.header(name)?.trim().split_once('.')?;
    major.parse().ok()
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, Method};

    use super::*;
    use crate::request::{Headers, Origin};
    use crate::room::Room;

    const OLD: &str = "2009-04-14";
    const UPSERTS: &str = "2011-08-18";
    const BOTH: &str = "2013-08-15";
    const LAST_ATOM: &str = "2015-07-08";
    const NO_ATOM: &str = "2015-12-11";
    const MINIMAL: PayloadFormat = PayloadFormat::Json(Metadata::Minimal);

    /// Calls `read` with a request that has this query and these headers.
    fn with_request<T>(
        query: &str,
        headers: &[(&'static str, &str)],
        loose: bool,
        read: impl FnOnce(&RequestProtocol, &RawRequest<'_>) -> Result<T, Failure>,
    ) -> Result<T, &'static str> {
        let map: HeaderMap = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
            .collect();
        let request = RawRequest {
            method: Method::GET,
            origin: Origin { scheme: "http", authority: "" },
            path: "/",
            query,
            headers: Headers::Request(&map),
            body: b"",
            sender: std::net::Ipv4Addr::LOCALHOST.into(),
            room: Room::UNLIMITED,
        };
        let protocol = RequestProtocol::of(&request, loose);
        protocol.and_then(|protocol| read(&protocol, &request)).map_err(Failure::known_code)
    }

    fn format(
        query: &str,
        headers: &[(&'static str, &str)],
        loose: bool,
    ) -> Result<PayloadFormat, &'static str> {
        #[expect(
            clippy::redundant_closure_for_method_calls,
            reason = "the method has one lifetime only"
        )]
        with_request(query, headers, loose, |protocol, request| protocol.format(request))
    }

    #[test]
    fn formats_by_version_and_accept() {
        const ATOM: Result<PayloadFormat, &str> = Ok(PayloadFormat::Atom);
        const NO_JSON: Result<PayloadFormat, &str> = Err("JsonFormatNotSupported");
        const GONE: Result<PayloadFormat, &str> = Err("AtomFormatNotSupported");
        const UNKNOWN: Result<PayloadFormat, &str> = Err("MediaTypeNotSupported");
        const JSON: Result<PayloadFormat, &str> = Ok(MINIMAL);
        let full = Ok(PayloadFormat::Json(Metadata::Full));
        for (accept, by_version) in [
            // 2009-04-14, 2011-08-18, 2013-08-15, 2015-07-08, 2015-12-11
            ("", [ATOM, ATOM, ATOM, ATOM, GONE]),
            ("application/atom+xml,application/xml", [ATOM, ATOM, ATOM, ATOM, GONE]),
            ("application/atom+xml;type=feed", [ATOM, ATOM, ATOM, ATOM, GONE]),
            ("application/xml", [ATOM, ATOM, ATOM, ATOM, UNKNOWN]),
            ("text/html,application/xml;q=0.9,*/*;q=0.8", [ATOM, ATOM, ATOM, ATOM, JSON]),
            ("*/*", [ATOM, ATOM, ATOM, ATOM, JSON]),
            ("application/json", [NO_JSON, NO_JSON, JSON, JSON, JSON]),
            ("application/json;odata=fullmetadata", [NO_JSON, NO_JSON, full, full, full]),
            ("application/json, application/atom+xml", [NO_JSON, NO_JSON, JSON, JSON, JSON]),
            ("text/html, application/json", [NO_JSON, NO_JSON, JSON, JSON, JSON]),
            ("text/html", [UNKNOWN; 5]),
        ] {
            for (version, expected) in
                [OLD, UPSERTS, BOTH, LAST_ATOM, NO_ATOM].into_iter().zip(by_version)
            {
                let headers = [("x-ms-version", version), ("accept", accept)];
                let headers = if accept.is_empty() { &headers[..1] } else { &headers[..] };
                let format = format("", headers, false);
                assert_eq!(format, expected, "{version} {accept}");
            }
        }
        let verbose = [("x-ms-version", BOTH), ("accept", "application/json;odata=verbose")];
        let verbose = format("", &verbose, false);
        assert_eq!(verbose, Err("JsonVerboseFormatNotSupported"));
    }

    #[test]
    fn a_format_in_the_query_comes_before_the_header() {
        let json = ("accept", "application/json");
        let atom = ("accept", "application/atom+xml");
        let v2 = ("maxdataserviceversion", "2.0;NetFx");
        for (query, headers, expected) in [
            (
                "$format=application/json;odata=nometadata",
                &[("x-ms-version", BOTH), atom][..],
                Ok(PayloadFormat::Json(Metadata::None)),
            ),
            ("$format=json", &[("x-ms-version", BOTH)], Ok(MINIMAL)),
            ("$format=atom", &[("x-ms-version", BOTH), json], Ok(PayloadFormat::Atom)),
            ("$format=atom", &[("x-ms-version", NO_ATOM), json], Err("AtomFormatNotSupported")),
            // Only OData 3.0 knows it.
            ("$format=json", &[("x-ms-version", BOTH), v2, atom], Ok(PayloadFormat::Atom)),
            ("$format=json", &[("x-ms-version", UPSERTS)], Ok(PayloadFormat::Atom)),
        ] {
            assert_eq!(format(query, headers, false), expected, "{query} {headers:?}");
        }
    }

    #[test]
    fn defaults_depend_on_the_version() {
        let json = ("accept", "application/json");
        assert_eq!(format("", &[], false), Ok(PayloadFormat::Atom));
        assert_eq!(format("", &[json], false), Err("JsonFormatNotSupported"));
        assert_eq!(format("sv=2019-02-02", &[json], false), Ok(MINIMAL));
        assert_eq!(format("", &[], true), Ok(MINIMAL));
        assert_eq!(format("", &[("x-ms-version", NO_ATOM)], true), Ok(MINIMAL));
        assert_eq!(format("", &[("x-ms-version", OLD)], true), Ok(PayloadFormat::Atom));
        for version in ["now", "", "2009-4-14", "20090414--"] {
            let headers = [("x-ms-version", version)];
            assert_eq!(format("", &headers, true), Err("InvalidHeaderValue"));
        }
    }

    #[test]
    fn odata_versions_depend_on_the_service_version() {
        for (headers, expected) in [
            (&[("x-ms-version", OLD)][..], Ok(1)),
            (&[("x-ms-version", UPSERTS)], Ok(2)),
            (&[("x-ms-version", BOTH)], Ok(3)),
            (&[("x-ms-version", BOTH), ("dataserviceversion", "1.0;NetFx")], Ok(1)),
            (
                &[
                    ("x-ms-version", BOTH),
                    ("dataserviceversion", "1.0;NetFx"),
                    ("maxdataserviceversion", "2.0;NetFx"),
                ],
                Ok(2),
            ),
            (&[("x-ms-version", OLD), ("maxdataserviceversion", "3.0;NetFx")], Ok(1)),
            (&[("x-ms-version", BOTH), ("maxdataserviceversion", "unknown")], Ok(3)),
            (&[("x-ms-version", OLD), ("dataserviceversion", "2.0;NetFx")], Err("InvalidInput")),
        ] {
            let odata = with_request("", headers, false, |protocol, _| Ok(protocol.odata()));
            assert_eq!(odata, expected, "{headers:?}");
        }
    }

    #[test]
    fn features_depend_on_the_version() {
        let old_odata = ("maxdataserviceversion", "1.0;NetFx");
        for (headers, expected) in [
            (&[][..], [false, false, false, false]),
            (&[("x-ms-version", OLD)], [true, false, false, false]),
            (&[("x-ms-version", UPSERTS)], [true, true, true, false]),
            (&[("x-ms-version", BOTH)], [true, true, true, true]),
            (&[("x-ms-version", NO_ATOM)], [true, true, true, true]),
            (&[("x-ms-version", BOTH), old_odata], [true, true, false, false]),
        ] {
            let has = with_request("", headers, false, |protocol, _| {
                Ok([
                    protocol.has(Operation::Transaction),
                    protocol.has(Operation::InsertOrMerge),
                    protocol.has_select(),
                    protocol.has_patch(),
                ])
            });
            assert_eq!(has, Ok(expected), "{headers:?}");
            let prefer = [headers, &[("prefer", "return-no-content")]].concat();
            let preference = with_request("", &prefer, false, |protocol, request| {
                Ok(protocol.preference(request))
            });
            let expected = if expected[3] { Preference::ReturnNoContent } else { Preference::None };
            assert_eq!(preference, Ok(expected), "{headers:?}");
        }
    }

    #[test]
    fn body_formats_depend_on_version_and_media_type() {
        let kind = |version: &str, media_type: &str| {
            let headers = [("x-ms-version", version), ("content-type", media_type)];
            let headers = if media_type.is_empty() { &headers[..1] } else { &headers[..] };
            with_request("", headers, false, |protocol, request| {
                Ok(matches!(protocol.body(request)?, RequestBody::Atom(_)))
            })
        };
        for (media_type, by_version) in [
            ("application/atom+xml", [Ok(true), Ok(true), Err("AtomFormatNotSupported")]),
            (
                "application/atom+xml;type=entry",
                [Ok(true), Ok(true), Err("AtomFormatNotSupported")],
            ),
            ("application/json", [Err("JsonFormatNotSupported"), Ok(false), Ok(false)]),
            (
                "application/json; charset=utf-8",
                [Err("JsonFormatNotSupported"), Ok(false), Ok(false)],
            ),
            ("", [Ok(true), Ok(false), Ok(false)]),
            ("text/plain", [Err("MediaTypeNotSupported"); 3]),
            ("text/plain; charset=application/json", [Err("MediaTypeNotSupported"); 3]),
            ("application/x-www-form-urlencoded", [Err("MediaTypeNotSupported"); 3]),
            ("multipart/form-data; boundary=b", [Err("MediaTypeNotSupported"); 3]),
            ("application/json+x", [Err("MediaTypeNotSupported"); 3]),
            ("é", [Err("MediaTypeNotSupported"); 3]),
        ] {
            for (version, expected) in [UPSERTS, BOTH, NO_ATOM].into_iter().zip(by_version) {
                assert_eq!(kind(version, media_type), expected, "{version} {media_type}");
            }
        }
    }
}
