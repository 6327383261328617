//! The settings of the service: logging, metrics and CORS rules.
//!
//! Source: [Set Table Service Properties][set]. The elements are in the order of the
//! service's responses, and the defaults are those of a new account.
//!
//! [set]: https://learn.microsoft.com/rest/api/storageservices/set-table-service-properties

mod read;

use crate::wire::ServiceVersion;
use crate::wire::service_properties::{Logging, Metrics};
use crate::wire::xml_tree::XmlWriter;
use crate::xml;

/// The first version with hour and minute metrics and with CORS rules.
const HAS_CORS: ServiceVersion = ServiceVersion::V2013_08_15;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServiceProperties {
    logging: Logging,
    hour_metrics: Metrics,
    minute_metrics: Metrics,
    pub(super) cors: Vec<CorsRule>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CorsRule {
    pub(super) methods: Vec<String>,
    /// A single `*` allows every origin.
    pub(super) origins: Vec<String>,
    pub(super) allowed_headers: HeaderNames,
    pub(super) exposed_headers: HeaderNames,
    pub(super) max_age: u32,
}

/// Header names, which are literal names or prefixes that end with `*`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct HeaderNames {
    pub(super) literal: Vec<String>,
    /// Without the `*`. An empty prefix matches every name.
    pub(super) prefixes: Vec<String>,
}

/// Returns `true` if this version has hour and minute metrics and CORS rules.
fn has_cors(version: Option<ServiceVersion>) -> bool {
    version.is_none_or(|version| version >= HAS_CORS)
}

impl Default for ServiceProperties {
    fn default() -> Self {
        let hour_metrics = Metrics { enabled: true, include_apis: true, retention_days: Some(7) };
        Self {
            logging: Logging::default(),
            hour_metrics,
            minute_metrics: Metrics::default(),
            cors: Vec::new(),
        }
    }
}

impl ServiceProperties {
    pub(super) fn write(&self, version: Option<ServiceVersion>) -> Vec<u8> {
        xml::document("StorageServiceProperties", |document| {
            document.element("Logging", |document| self.logging.write(document));
            if !has_cors(version) {
                document.element("Metrics", |document| self.hour_metrics.write(document));
                return;
            }
            document.element("HourMetrics", |document| self.hour_metrics.write(document));
            document.element("MinuteMetrics", |document| self.minute_metrics.write(document));
            document.element("Cors", |document| {
                for rule in &self.cors {
                    document.element("CorsRule", |document| rule.write(document));
                }
            });
        })
    }
}

impl CorsRule {
    fn write(&self, document: &mut XmlWriter) {
        document.leaf("AllowedMethods", &self.methods.join(","));
        document.leaf("AllowedOrigins", &self.origins.join(","));
        document.leaf("AllowedHeaders", &self.allowed_headers.text());
        document.leaf("ExposedHeaders", &self.exposed_headers.text());
        document.leaf("MaxAgeInSeconds", &self.max_age.to_string());
    }
}

impl HeaderNames {
    fn text(&self) -> String {
        let prefixes = self.prefixes.iter().map(|prefix| format!("{prefix}*"));
        self.literal.iter().cloned().chain(prefixes).collect::<Vec<_>>().join(",")
    }

    /// Returns `true` if a literal name or a prefix matches. Case is ignored.
    pub(super) fn contain(&self, name: &str) -> bool {
        self.literal.iter().any(|literal| literal.eq_ignore_ascii_case(name)) || self.begin(name)
    }

    /// Returns `true` if a prefix matches. Case is ignored.
    pub(super) fn begin(&self, name: &str) -> bool {
        self.prefixes.iter().any(|prefix| {
            name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
        })
    }
}

#[cfg(test)]
mod tests;
