//! Reading and validation of new settings.

use super::{CorsRule, HeaderNames, Logging, Metrics, ServiceProperties, has_cors};
use crate::failure::Failure;
use crate::wire::ServiceVersion;
use crate::wire::xml_tree::Element;
use crate::xml;

const MAX_RULES: usize = 5;
/// The maximum total number of characters in all rules.
const MAX_RULES_CHARS: usize = 2048;
/// The largest number of origins of a rule, and of literal header names.
const MAX_LITERALS: usize = 64;
/// The largest number of header prefixes of a rule.
const MAX_PREFIXES: usize = 2;
/// The longest origin or header.
const MAX_CHARS: usize = 256;
const MAX_DAYS: u16 = 365;
const METHODS: [&str; 10] =
    ["DELETE", "GET", "HEAD", "MERGE", "POST", "OPTIONS", "PUT", "PATCH", "CONNECT", "TRACE"];

type Result<T> = std::result::Result<T, Failure>;

impl ServiceProperties {
    /// Applies the settings in `<StorageServiceProperties>` and keeps the others. An error changes nothing.
    pub(crate) fn update(&mut self, body: &[u8], version: Option<ServiceVersion>) -> Result<()> {
        let mut new = self.clone();
        let root = Element::read(body)?;
        xml::children(&root, "StorageServiceProperties")?;
        if has_cors(version) {
            let names = ["Logging", "HourMetrics", "MinuteMetrics", "Cors"];
            let [logging, hour, minute, cors] = xml::fields(&root, names)?;
            set(&mut new.logging, logging, read_logging)?;
            set(&mut new.hour_metrics, hour, read_metrics)?;
            set(&mut new.minute_metrics, minute, read_metrics)?;
            set(&mut new.cors, cors, rules)?;
        } else {
            let [logging, metrics] = xml::fields(&root, ["Logging", "Metrics"])?;
            new.logging = read_logging(required(logging)?)?;
            new.hour_metrics = read_metrics(required(metrics)?)?;
        }
        *self = new;
        Ok(())
    }
}

fn set<T>(
    setting: &mut T,
    element: Option<&Element>,
    read: impl FnOnce(&Element) -> Result<T>,
) -> Result<()> {
    if let Some(element) = element {
        *setting = read(element)?;
    }
    Ok(())
}

fn required(element: Option<&Element>) -> Result<&Element> {
    element.ok_or_else(Failure::invalid_xml)
}

/// Reads `true` or `false` like .NET, which ignores case and white space.
fn flag(element: Option<&Element>) -> Result<bool> {
    let text = xml::leaf(required(element)?)?.trim();
    match () {
        () if text.eq_ignore_ascii_case("true") => Ok(true),
        () if text.eq_ignore_ascii_case("false") => Ok(false),
        () => Err(Failure::invalid_xml()),
    }
}

/// Checks the version of the settings, which is always 1.
fn check_version(element: Option<&Element>) -> Result<()> {
    let text = xml::leaf(required(element)?)?.trim();
    let is_first = text.parse::<f64>().is_ok_and(|version| version.to_bits() == 1f64.to_bits());
    is_first.then_some(()).ok_or_else(Failure::invalid_xml)
}

fn read_logging(element: &Element) -> Result<Logging> {
    let names = ["Version", "Read", "Write", "Delete", "RetentionPolicy"];
    let [version, read, write, delete, retention] = xml::fields(element, names)?;
    check_version(version)?;
    let (read, write, delete) = (flag(read)?, flag(write)?, flag(delete)?);
    Ok(Logging { read, write, delete, retention_days: read_retention(required(retention)?)? })
}

fn read_metrics(element: &Element) -> Result<Metrics> {
    let names = ["Version", "Enabled", "IncludeAPIs", "RetentionPolicy"];
    let [version, enabled, include_apis, retention] = xml::fields(element, names)?;
    check_version(version)?;
    let enabled = flag(enabled)?;
    // `IncludeAPIs` is present exactly if the metrics are enabled.
    if enabled != include_apis.is_some() {
        return Err(Failure::invalid_xml());
    }
    let include_apis = enabled && flag(include_apis)?;
    Ok(Metrics { enabled, include_apis, retention_days: read_retention(required(retention)?)? })
}

fn read_retention(element: &Element) -> Result<Option<u16>> {
    let [enabled, days] = xml::fields(element, ["Enabled", "Days"])?;
    if flag(enabled)? != days.is_some() {
        return Err(Failure::invalid_xml());
    }
    let Some(days) = days else {
        return Ok(None);
    };
    match xml::leaf(days)?.trim().parse() {
        Ok(days @ 1..=MAX_DAYS) => Ok(Some(days)),
        _ => Err(Failure::invalid_xml()),
    }
}

/// Reads the rules of `<Cors>`. An empty element deletes the existing rules.
fn rules(cors: &Element) -> Result<Vec<CorsRule>> {
    let elements = xml::children(cors, "Cors")?;
    if elements.len() > MAX_RULES {
        return Err(Failure::invalid_xml());
    }
    let mut chars = 0;
    let rules = elements.iter().map(|element| rule(element, &mut chars)).collect();
    if chars > MAX_RULES_CHARS {
        return Err(Failure::invalid_xml());
    }
    rules
}

fn rule(element: &Element, chars: &mut usize) -> Result<CorsRule> {
    xml::children(element, "CorsRule")?;
    let names =
        ["AllowedMethods", "AllowedOrigins", "AllowedHeaders", "ExposedHeaders", "MaxAgeInSeconds"];
    let fields = xml::fields(element, names)?;
    let mut texts = [""; 5];
    for (text, field) in texts.iter_mut().zip(fields) {
        *text = xml::leaf(required(field)?)?;
        *chars += text.chars().count();
    }
    let [methods, origins, allowed, exposed, max_age] = texts;
    Ok(CorsRule {
        methods: read_methods(methods)?,
        origins: read_origins(origins)?,
        allowed_headers: HeaderNames::read(allowed)?,
        exposed_headers: HeaderNames::read(exposed)?,
        max_age: max_age.trim().parse().map_err(|_| Failure::invalid_xml_value())?,
    })
}

fn read_methods(text: &str) -> Result<Vec<String>> {
    let methods = text.split(',').map(str::trim);
    let known = |method: &str| METHODS.contains(&method).then(|| method.to_owned());
    methods.map(|method| known(method).ok_or_else(Failure::invalid_xml_value)).collect()
}

/// Splits a list at commas. No entry may be empty or too long.
fn list(text: &str) -> Result<Vec<&str>> {
    let entries: Vec<_> = text.split(',').map(str::trim).collect();
    let fits = |entry: &&str| !entry.is_empty() && entry.chars().count() <= MAX_CHARS;
    entries.iter().all(fits).then_some(entries).ok_or_else(Failure::invalid_xml_value)
}

fn read_origins(text: &str) -> Result<Vec<String>> {
    let origins = list(text)?;
    if origins.len() > MAX_LITERALS || origins.len() > 1 && origins.contains(&"*") {
        return Err(Failure::invalid_xml_value());
    }
    Ok(origins.into_iter().map(str::to_owned).collect())
}

impl HeaderNames {
    fn read(text: &str) -> Result<Self> {
        let mut names = Self::default();
        if text.is_empty() {
            return Ok(names);
        }
        for name in list(text)? {
            match name.split_once('*') {
                None => names.literal.push(name.to_owned()),
                Some((prefix, "")) => names.prefixes.push(prefix.to_owned()),
                Some(_) => return Err(Failure::invalid_xml_value()),
            }
        }
        if names.literal.len() > MAX_LITERALS || names.prefixes.len() > MAX_PREFIXES {
            return Err(Failure::invalid_xml_value());
        }
        Ok(names)
    }
}
