//! The settings of an account's table service.
//!
//! Sources: [Get Table Service Properties][get], [Set Table Service Properties][set].
//!
//! [get]: https://learn.microsoft.com/rest/api/storageservices/get-table-service-properties
//! [set]: https://learn.microsoft.com/rest/api/storageservices/set-table-service-properties

use std::time::Duration;

use http::Method;

use super::{Reply, Request, Success};
use crate::error::Error;
use crate::wire::Operation;
pub use crate::wire::service_properties::{Logging, Metrics};
use crate::wire::xml_tree::{Element, InvalidXml, XmlWriter};

const MAX_RULES: usize = 5;
const MAX_DAYS: u16 = 365;
const ROOT: &str = "StorageServiceProperties";

/// The settings of an account's table service: logging, metrics, and the web pages that may send requests.
/// Settings that are `None` keep their value when the others are set.
///
/// ```
/// use azure_table_client::client::{CorsRule, ServiceProperties};
///
/// # use azure_table_client::mock::MockTableService;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), azure_table_client::Error> {
/// # let service = MockTableService::new().client();
/// let rule = CorsRule {
///     allowed_origins: vec!["https://example.org".to_owned()],
///     allowed_methods: vec!["GET".to_owned()],
///     ..CorsRule::default()
/// };
/// service
///     .set_properties(&ServiceProperties { cors: Some(vec![rule]), ..ServiceProperties::default() })
///     .await?;
/// let properties = service.properties().await?;
/// assert_eq!(properties.cors.unwrap()[0].allowed_methods, ["GET"]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServiceProperties {
    /// The requests that are logged.
    pub logging: Option<Logging>,
    /// The metrics by the hour.
    pub hour_metrics: Option<Metrics>,
    /// The metrics by the minute.
    pub minute_metrics: Option<Metrics>,
    /// The web pages that may send requests: at most 5 rules, the first match applies.
    pub cors: Option<Vec<CorsRule>>,
}

/// A set of web pages that may send requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CorsRule {
    /// Origins such as `https://example.org`; `*` matches every origin.
    pub allowed_origins: Vec<String>,
    /// HTTP methods such as `GET`.
    pub allowed_methods: Vec<String>,
    /// Headers that a request may have; `x-ms-meta-*` matches all headers with this prefix.
    pub allowed_headers: Vec<String>,
    /// Headers of a response that a page may read.
    pub exposed_headers: Vec<String>,
    /// The time for which a browser caches the permission, in whole seconds.
    pub max_age: Duration,
}

fn request(operation: Operation, method: Method) -> Request {
    Request::of_service(operation, method, "properties")
}

pub(crate) fn get() -> Request {
    request(Operation::GetServiceProperties, Method::GET)
}

pub(crate) fn set(properties: &ServiceProperties) -> Result<Request, Error> {
    check(properties)?;
    let request = request(Operation::SetServiceProperties, Method::PUT).xml(write(properties));
    Ok(Request { success: Success::Accepted, ..request })
}

pub(crate) fn properties(reply: Reply, request: &Request) -> Result<ServiceProperties, Error> {
    reply.read_xml(request, "service properties", read)
}

/// Checks the limits of the service.
fn check(properties: &ServiceProperties) -> Result<(), Error> {
    let retentions = [
        properties.logging.and_then(|logging| logging.retention_days),
        properties.hour_metrics.and_then(|metrics| metrics.retention_days),
        properties.minute_metrics.and_then(|metrics| metrics.retention_days),
    ];
    if let Some(days) = retentions.into_iter().flatten().find(|days| !(1..=MAX_DAYS).contains(days))
    {
        return Err(Error::invalid_input(format!(
            "the retention is {days} days; 1 to {MAX_DAYS} are allowed"
        )));
    }
    let rules = properties.cors.as_deref().unwrap_or_default();
    if rules.len() > MAX_RULES {
        return Err(Error::invalid_input(format!(
            "too many CORS rules ({}, at most {MAX_RULES})",
            rules.len()
        )));
    }
    rules.iter().try_for_each(check_rule)
}

fn check_rule(rule: &CorsRule) -> Result<(), Error> {
    if rule.allowed_origins.is_empty() || rule.allowed_methods.is_empty() {
        return Err(Error::invalid_input("a CORS rule requires an origin and a method"));
    }
    let lists = [
        &rule.allowed_origins,
        &rule.allowed_methods,
        &rule.allowed_headers,
        &rule.exposed_headers,
    ];
    match lists.into_iter().flatten().find(|text| text.is_empty() || text.contains(',')) {
        Some(text) => Err(Error::invalid_input(format!(
            "{text:?} in a CORS rule is not valid: values must not be empty or contain a comma"
        ))),
        None => Ok(()),
    }
}

fn write(properties: &ServiceProperties) -> Vec<u8> {
    let mut document = XmlWriter::new();
    document.element(ROOT, |document| {
        if let Some(logging) = properties.logging {
            document.element("Logging", |document| logging.write(document));
        }
        for (name, metrics) in
            [("HourMetrics", properties.hour_metrics), ("MinuteMetrics", properties.minute_metrics)]
        {
            if let Some(metrics) = metrics {
                document.element(name, |document| metrics.write(document));
            }
        }
        if let Some(rules) = &properties.cors {
            document.element("Cors", |document| {
                for rule in rules {
                    document.element("CorsRule", |document| write_rule(document, rule));
                }
            });
        }
    });
    document.into_bytes()
}

fn write_rule(document: &mut XmlWriter, rule: &CorsRule) {
    document.leaf("AllowedOrigins", &rule.allowed_origins.join(","));
    document.leaf("AllowedMethods", &rule.allowed_methods.join(","));
    document.leaf("MaxAgeInSeconds", &rule.max_age.as_secs().to_string());
    document.leaf("ExposedHeaders", &rule.exposed_headers.join(","));
    document.leaf("AllowedHeaders", &rule.allowed_headers.join(","));
}

fn read(root: &Element) -> Result<ServiceProperties, InvalidXml> {
    if root.name != ROOT {
        return Err(InvalidXml);
    }
    let rules = |cors: &Element| cors.children.iter().map(read_rule).collect();
    Ok(ServiceProperties {
        logging: root.child("Logging").map(read_logging).transpose()?,
        // Versions before 2013-08-15 have only hour metrics, under this name.
        hour_metrics: root
            .child("HourMetrics")
            .or_else(|| root.child("Metrics"))
            .map(read_metrics)
            .transpose()?,
        minute_metrics: root.child("MinuteMetrics").map(read_metrics).transpose()?,
        cors: root.child("Cors").map(rules).transpose()?,
    })
}

fn read_logging(logging: &Element) -> Result<Logging, InvalidXml> {
    Ok(Logging {
        read: read_flag(logging, "Read")?,
        write: read_flag(logging, "Write")?,
        delete: read_flag(logging, "Delete")?,
        retention_days: read_retention(logging)?,
    })
}

fn read_metrics(metrics: &Element) -> Result<Metrics, InvalidXml> {
    Ok(Metrics {
        enabled: read_flag(metrics, "Enabled")?,
        include_apis: metrics.child("IncludeAPIs").is_some() && read_flag(metrics, "IncludeAPIs")?,
        retention_days: read_retention(metrics)?,
    })
}

fn read_retention(parent: &Element) -> Result<Option<u16>, InvalidXml> {
    let Some(retention) = parent.child("RetentionPolicy") else {
        return Ok(None);
    };
    if !read_flag(retention, "Enabled")? {
        return Ok(None);
    }
    let days = retention.child("Days").ok_or(InvalidXml)?;
    days.text.trim().parse().map(Some).map_err(|_| InvalidXml)
}

fn read_rule(rule: &Element) -> Result<CorsRule, InvalidXml> {
    let list = |name: &str| {
        let text = rule.child(name).map_or("", |list| list.text.trim());
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts.map(str::to_owned).collect()
    };
    let seconds = rule.child("MaxAgeInSeconds").ok_or(InvalidXml)?;
    Ok(CorsRule {
        allowed_origins: list("AllowedOrigins"),
        allowed_methods: list("AllowedMethods"),
        allowed_headers: list("AllowedHeaders"),
        exposed_headers: list("ExposedHeaders"),
        max_age: Duration::from_secs(seconds.text.trim().parse().map_err(|_| InvalidXml)?),
    })
}

fn read_flag(parent: &Element, name: &str) -> Result<bool, InvalidXml> {
    match parent.child(name).map(|flag| flag.text.trim()) {
        Some("true") => Ok(true),
        Some("false") => Ok(false),
        _ => Err(InvalidXml),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule() -> CorsRule {
        CorsRule {
            allowed_origins: vec!["https://a.example".into(), "https://b.example".into()],
            allowed_methods: vec!["GET".into(), "PUT".into()],
            allowed_headers: vec!["x-ms-*".into()],
            exposed_headers: Vec::new(),
            max_age: Duration::from_secs(5 * 60),
        }
    }

    #[test]
    fn properties_are_read_back_unchanged() {
        let metrics = Metrics { enabled: true, include_apis: true, retention_days: Some(365) };
        for properties in [
            ServiceProperties::default(),
            ServiceProperties { cors: Some(vec![]), ..ServiceProperties::default() },
            ServiceProperties {
                logging: Some(Logging {
                    read: true,
                    retention_days: Some(1),
                    ..Logging::default()
                }),
                hour_metrics: Some(metrics),
                minute_metrics: Some(Metrics::default()),
                cors: Some(vec![rule(), rule()]),
            },
        ] {
            let request = set(&properties).unwrap();
            assert_eq!(read(&Element::read(&request.body).unwrap()), Ok(properties));
        }
    }

    #[test]
    fn properties_beyond_the_limits_are_not_sent() {
        let with = |rule: CorsRule| ServiceProperties {
            cors: Some(vec![rule]),
            ..ServiceProperties::default()
        };
        let days = |days| Some(Logging { retention_days: Some(days), ..Logging::default() });
        for (properties, text) in [
            (
                ServiceProperties { cors: Some(vec![rule(); 6]), ..ServiceProperties::default() },
                "too many CORS rules (6, at most 5)",
            ),
            (ServiceProperties { logging: days(0), ..ServiceProperties::default() }, "is 0 days"),
            (
                ServiceProperties { logging: days(366), ..ServiceProperties::default() },
                "is 366 days",
            ),
            (with(CorsRule { allowed_origins: vec![], ..rule() }), "requires an origin"),
            (with(CorsRule { allowed_headers: vec!["a,b".into()], ..rule() }), "\"a,b\""),
        ] {
            let error = set(&properties).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }

    #[test]
    fn the_response_of_an_old_version_is_read() {
        let text = "<StorageServiceProperties><Logging><Version>1.0</Version><Read>true</Read>\
            <Write>false</Write><Delete>true</Delete><RetentionPolicy><Enabled>true</Enabled>\
            <Days>7</Days></RetentionPolicy></Logging><Metrics><Version>1.0</Version>\
            <Enabled>false</Enabled><RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>\
            </Metrics><DefaultServiceVersion>2011-08-18</DefaultServiceVersion>\
            </StorageServiceProperties>";
        let read = read(&Element::read(text.as_bytes()).unwrap()).unwrap();
        let logging = Logging { read: true, write: false, delete: true, retention_days: Some(7) };
        assert_eq!((read.logging, read.hour_metrics), (Some(logging), Some(Metrics::default())));
        assert_eq!((read.minute_metrics, read.cors), (None, None));
    }
}
