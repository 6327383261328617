//! The settings of logging and metrics, which the client and the mock share.

use super::xml_tree::XmlWriter;

/// The requests that are logged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Logging {
    /// Whether reads are logged.
    pub read: bool,
    /// Whether writes are logged.
    pub write: bool,
    /// Whether deletions are logged.
    pub delete: bool,
    /// The number of days that logs are kept, 1 to 365; `None` keeps them forever.
    pub retention_days: Option<u16>,
}

/// The metrics that are collected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Whether metrics are collected.
    pub enabled: bool,
    /// Whether metrics are also collected for each operation.
    pub include_apis: bool,
    /// The number of days that metrics are kept, 1 to 365; `None` keeps them forever.
    pub retention_days: Option<u16>,
}

impl Logging {
    pub fn write(self, document: &mut XmlWriter) {
        document.leaf("Version", "1.0");
        document.leaf("Read", flag(self.read));
        document.leaf("Write", flag(self.write));
        document.leaf("Delete", flag(self.delete));
        write_retention(document, self.retention_days);
    }
}

impl Metrics {
    pub fn write(self, document: &mut XmlWriter) {
        document.leaf("Version", "1.0");
        document.leaf("Enabled", flag(self.enabled));
        // The service requires this element for enabled metrics, and refuses it otherwise.
        if self.enabled {
            document.leaf("IncludeAPIs", flag(self.include_apis));
        }
        write_retention(document, self.retention_days);
    }
}

fn write_retention(document: &mut XmlWriter, days: Option<u16>) {
    document.element("RetentionPolicy", |document| {
        document.leaf("Enabled", flag(days.is_some()));
        if let Some(days) = days {
            document.leaf("Days", &days.to_string());
        }
    });
}

const fn flag(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}
