//! The features and formats of the versions of the service. A client checks versions by these rules only.
//!
//! Sources: [Payload format for Table service operations][format], [Setting the OData data service
//! version headers][odata], [Setting the Prefer header][prefer], [Query Entities][query] for `$select`,
//! [Insert Or Merge Entity][upsert], [Get Table ACL][acl], [Get Table Service Stats][stats].
//!
//! [format]: https://learn.microsoft.com/rest/api/storageservices/payload-format-for-table-service-operations
//! [odata]: https://learn.microsoft.com/rest/api/storageservices/setting-the-odata-data-service-version-headers
//! [prefer]: https://learn.microsoft.com/rest/api/storageservices/setting-the-prefer-header-to-manage-response-echo-on-insert-operations
//! [query]: https://learn.microsoft.com/rest/api/storageservices/query-entities
//! [upsert]: https://learn.microsoft.com/rest/api/storageservices/insert-or-merge-entity
//! [acl]: https://learn.microsoft.com/rest/api/storageservices/get-table-acl
//! [stats]: https://learn.microsoft.com/rest/api/storageservices/get-table-service-stats

use std::fmt;

use http::{HeaderValue, Method};

use super::{Document, Metadata, Operation, PayloadFormat, ServiceVersion, headers};
use crate::dialect::Dialect;

/// The version and the format of a client or a call. The version determines the valid formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Protocol {
    version: ServiceVersion,
    format: PayloadFormat,
    dialect: Dialect,
    /// Whether verbs other than GET and POST are sent as a POST that names them.
    tunnels: bool,
}

/// A feature that a version lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsupported {
    Format(ServiceVersion, PayloadFormat),
    Operation(ServiceVersion, Operation, ServiceVersion),
    /// In this dialect.
    OperationOf(Dialect, Operation),
    AtomOf(Dialect),
    VersionOf(Dialect, ServiceVersion),
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(version, format) => write!(
                f,
                "service version {version} has no {}: JSON requires version {} or later, and Atom \
                 a version before {}",
                format.name(),
                ServiceVersion::V2013_08_15,
                ServiceVersion::V2015_12_11
            ),
            Self::Operation(version, operation, since) => {
                write!(
                    f,
                    "service version {version} has no {operation}, which requires {since} or later"
                )
            }
            Self::OperationOf(dialect, operation) => {
                write!(f, "{} has no {operation}", dialect.name())
            }
            Self::AtomOf(dialect) => write!(f, "{} has no Atom: use JSON", dialect.name()),
            Self::VersionOf(dialect, version) => write!(
                f,
                "{} has no service version {version}: use {} or later, which has JSON",
                dialect.name(),
                ServiceVersion::V2013_08_15
            ),
        }
    }
}

impl std::error::Error for Unsupported {}

impl Protocol {
    /// Creates the protocol of a version with a format; by default JSON if the version has it, otherwise Atom.
    pub fn new(
        version: ServiceVersion,
        format: Option<PayloadFormat>,
    ) -> Result<Self, Unsupported> {
        let usual = if version.has_json() { PayloadFormat::default() } else { PayloadFormat::Atom };
        Self { version, format: usual, ..Self::default() }.with(format)
    }

    /// The same protocol for this service.
    pub fn to(self, dialect: Dialect) -> Result<Self, Unsupported> {
        if dialect == Dialect::CosmosDb && !self.version.has_json() {
            return Err(Unsupported::VersionOf(dialect, self.version));
        }
        Self { dialect, ..self }.with(None)
    }

    /// The same protocol, with the verbs in a header.
    #[must_use]
    pub const fn tunnelling(self, tunnels: bool) -> Self {
        Self { tunnels, ..self }
    }

    pub const fn dialect(self) -> Dialect {
        self.dialect
    }

    /// Returns whether a request with this verb is sent as a POST that names it in `X-HTTP-Method`.
    pub fn tunnels(self, method: &Method) -> bool {
        let is_plain = *method == Method::GET || *method == Method::POST;
        self.tunnels && !is_plain || self.tunnels_in_batch(method)
    }

    /// Returns the same for an operation of a transaction, which no proxy sees.
    pub fn tunnels_in_batch(self, method: &Method) -> bool {
        self.dialect == Dialect::CosmosDb && method.as_str() == "MERGE"
    }

    /// Returns the same version with another format, if one is given.
    pub fn with(self, format: Option<PayloadFormat>) -> Result<Self, Unsupported> {
        let format = format.unwrap_or(self.format);
        let goes_together = match format {
            PayloadFormat::Json(_) => self.version.has_json(),
            PayloadFormat::Atom => self.version.has_atom(),
        };
        if format == PayloadFormat::Atom && self.dialect == Dialect::CosmosDb {
            return Err(Unsupported::AtomOf(self.dialect));
        }
        if goes_together {
            return Ok(Self { format, ..self });
        }
        Err(Unsupported::Format(self.version, format))
    }

    /// The same protocol, with types in the response.
    #[must_use]
    pub fn typed(self) -> Self {
        let format = match self.format {
            PayloadFormat::Json(Metadata::None) => PayloadFormat::Json(Metadata::Minimal),
            format => format,
        };
        Self { format, ..self }
    }

    pub const fn format(self) -> PayloadFormat {
        self.format
    }

    /// Refuses an operation that requires a later version, or that the service does not have.
    pub fn check(self, operation: Operation) -> Result<(), Unsupported> {
        if self.dialect == Dialect::CosmosDb && operation.document() == Document::Xml {
            return Err(Unsupported::OperationOf(self.dialect, operation));
        }
        let since = operation.since();
        if operation.own_version().unwrap_or(self.version) >= since {
            return Ok(());
        }
        Err(Unsupported::Operation(self.version, operation, since))
    }

    /// Returns whether a query can select properties. Otherwise whole rows are transferred.
    pub fn has_select(self) -> bool {
        self.version.odata() >= 2
    }

    /// Returns whether an insert can request a response without the entity.
    pub fn has_preferences(self) -> bool {
        self.version.odata() >= 3
    }

    /// `DataServiceVersion` and `MaxDataServiceVersion`.
    pub fn odata_headers(self) -> [&'static HeaderValue; 2] {
        match self.version.odata() {
            1 => [&headers::ODATA_1, &headers::ODATA_1],
            2 => [&headers::ODATA_2, &headers::ODATA_2],
            _ => [&headers::DATA_SERVICE_VERSION_3, &headers::MAX_DATA_SERVICE_VERSION_3],
        }
    }

    /// `x-ms-version`
    pub fn version_header(self) -> HeaderValue {
        self.version.header()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ATOM: PayloadFormat = PayloadFormat::Atom;
    const JSON: PayloadFormat = PayloadFormat::Json(Metadata::Minimal);

    #[test]
    fn formats_go_with_versions() {
        for (version, usual, atom, json) in [
            (ServiceVersion::V2009_04_14, ATOM, true, false),
            (ServiceVersion::V2012_02_12, ATOM, true, false),
            (ServiceVersion::V2013_08_15, JSON, true, true),
            (ServiceVersion::V2015_07_08, JSON, true, true),
            (ServiceVersion::V2015_12_11, JSON, false, true),
            (ServiceVersion::V2019_02_02, JSON, false, true),
        ] {
            let of = |format| Protocol::new(version, format);
            assert_eq!(of(None).unwrap().format(), usual, "{version}");
            assert_eq!(of(Some(ATOM)).is_ok(), atom, "{version}");
            assert_eq!(of(Some(JSON)).is_ok(), json, "{version}");
            assert_eq!(of(None).unwrap().version_header(), version.as_str());
        }
        let error = Protocol::new(ServiceVersion::V2015_12_11, Some(ATOM)).unwrap_err().to_string();
        for part in ["2015-12-11 has no Atom", "JSON requires version 2013-08-15 or later"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn what_each_version_has() {
        for (version, upserts, select, acl, prefer, odata) in [
            (ServiceVersion::V2009_04_14, false, false, false, false, "1.0;NetFx"),
            (ServiceVersion::V2011_08_18, true, true, false, false, "2.0;NetFx"),
            (ServiceVersion::V2012_02_12, true, true, true, false, "2.0;NetFx"),
            (ServiceVersion::V2013_08_15, true, true, true, true, "3.0;NetFx"),
            (ServiceVersion::V2019_02_02, true, true, true, true, "3.0;NetFx"),
        ] {
            let protocol = Protocol::new(version, None).unwrap();
            assert_eq!(protocol.check(Operation::InsertOrMerge).is_ok(), upserts, "{version}");
            assert_eq!(protocol.check(Operation::InsertOrReplace).is_ok(), upserts, "{version}");
            assert_eq!(protocol.check(Operation::SetTableAcl).is_ok(), acl, "{version}");
            assert_eq!(protocol.check(Operation::GetStats).is_ok(), prefer, "{version}");
            assert!(protocol.check(Operation::Merge).is_ok(), "{version}");
            // This request has a version of its own.
            assert!(protocol.check(Operation::GetUserDelegationKey).is_ok(), "{version}");
            assert_eq!(protocol.has_select(), select, "{version}");
            assert_eq!(protocol.has_preferences(), prefer, "{version}");
            assert_eq!(protocol.odata_headers()[1], odata, "{version}");
        }
    }
}
