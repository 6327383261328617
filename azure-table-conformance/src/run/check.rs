//! The comparison of a response with an expected one.

use serde_json::Value;

use super::{brief, json, xml};
use crate::case::{Expected, ExpectedBody, Pattern, Values};
use crate::wire::{self, Response};

/// The expected part of a response, and the received one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The header, the member or the part that differs; nothing for the status and the code.
    pub(super) place: String,
    pub(super) expected: String,
    pub(super) got: String,
}

impl Found {
    fn new(place: &str, expected: impl Into<String>, got: impl Into<String>) -> Self {
        Self { place: place.to_owned(), expected: expected.into(), got: got.into() }
    }
}

/// Compares a response. Names without values in the expected response are bound.
pub(super) fn check(
    expected: &Expected,
    response: &Response,
    values: &mut Values<'_>,
) -> Result<(), Found> {
    if response.status != expected.status {
        return Err(Found::new("", expected.to_string(), brief(response)));
    }
    if let Some(code) = &expected.code
        && error_code(&response.body).as_deref() != Some(code)
    {
        return Err(Found::new("", expected.to_string(), brief(response)));
    }
    for (name, pattern) in &expected.headers {
        header(name, pattern.as_ref(), &response.all(name), values)?;
    }
    body(&expected.body, response, values)?;
    if expected.parts.is_empty() { Ok(()) } else { parts(expected, response, values) }
}

fn header(
    name: &str,
    pattern: Option<&Pattern>,
    found: &[&str],
    values: &mut Values<'_>,
) -> Result<(), Found> {
    // The service spells media types with and without spaces between their parameters.
    let normal = |text: &str| match name {
        "content-type" => text.replace("; ", ";"),
        _ => text.to_owned(),
    };
    let is_match = match (pattern, found) {
        (None, []) => true,
        (Some(pattern), [found]) => {
            Pattern::new(&normal(pattern.text())).matches(&normal(found), values)
        }
        _ => false,
    };
    if is_match {
        return Ok(());
    }
    let wanted = pattern.map(|pattern| values.shown(pattern.text()));
    let got = if found.is_empty() { "(absent)".to_owned() } else { found.join(" and ") };
    let wanted = wanted.as_deref().unwrap_or("(absent)");
    Err(Found::new(name, format!("{name}: {wanted}"), format!("{name}: {got}")))
}

fn body(
    expected: &ExpectedBody,
    response: &Response,
    values: &mut Values<'_>,
) -> Result<(), Found> {
    match expected {
        ExpectedBody::Any => Ok(()),
        // HTTP drops a body after 204, so that the header alone shows it.
        ExpectedBody::Empty if has_length(response) => {
            let length = response.header("content-length").unwrap_or_default();
            Err(Found::new("body", "no body", format!("content-length: {length}")))
        }
        ExpectedBody::Empty if response.body.is_empty() => Ok(()),
        ExpectedBody::Empty => Err(Found::new("body", "no body", brief(response))),
        ExpectedBody::Json { value, is_exact } => {
            let text = response.body.trim_start_matches('\u{feff}');
            let found: Value = serde_json::from_str(text)
                .map_err(|_| Found::new("body", "a body of JSON", brief(response)))?;
            json::compare("$", value, &found, *is_exact, values).map_err(|(expected, got)| {
                let place = expected.split(' ').next().unwrap_or_default().to_owned();
                Found { place, expected, got }
            })
        }
        ExpectedBody::Lines(lines) => {
            let found = xml::normal(&response.body);
            for line in lines {
                let in_xml = Pattern::new(&xml::normal(line.text()));
                if !line.is_in(&response.body, values) && !in_xml.is_in(&found, values) {
                    return Err(Found::new("body", values.shown(line.text()), brief(response)));
                }
            }
            Ok(())
        }
    }
}

fn has_length(response: &Response) -> bool {
    response.status == 204 && response.header("content-length").is_some_and(|it| it != "0")
}

fn parts(expected: &Expected, response: &Response, values: &mut Values<'_>) -> Result<(), Found> {
    let Some(found) = wire::parts(response) else {
        return Err(Found::new("body", "a multipart body", brief(response)));
    };
    for (index, (part, found)) in expected.parts.iter().zip(&found).enumerate() {
        let at = |text| format!("part {index}: {text}");
        let place = |text: String| format!("part {index} {text}").trim_end().to_owned();
        check(part, &found.response, values).map_err(|it| Found {
            place: place(it.place),
            expected: at(it.expected),
            got: at(it.got),
        })?;
        if found.is_in_changeset != expected.has_changeset {
            let nesting = |is_in| if is_in { "in a changeset" } else { "in no changeset" };
            let [wanted, got] = [expected.has_changeset, found.is_in_changeset]
                .map(|is_in| at(nesting(is_in).to_owned()));
            return Err(Found { place: place("changeset".to_owned()), expected: wanted, got });
        }
    }
    if expected.parts.len() != found.len() {
        let statuses: Vec<_> = found.iter().map(|it| it.response.status.to_string()).collect();
        let got = format!("{} parts: {}", found.len(), statuses.join(" "));
        return Err(Found::new("parts", format!("{} parts", expected.parts.len()), got));
    }
    Ok(())
}

/// The status, and the code of an error.
pub(super) fn answer(response: &Response) -> String {
    let code = error_code(&response.body).unwrap_or_default();
    format!("{} {code}", response.status).trim_end().to_owned()
}

/// The code of an error in JSON or XML.
fn error_code(body: &str) -> Option<String> {
    let body = body.trim_start_matches('\u{feff}').trim();
    if body.starts_with('{') {
        let body: Value = serde_json::from_str(body).ok()?;
        return Some(body["odata.error"]["code"].as_str()?.to_owned());
    }
    let tags = ["<code>", "<m:code>", "<Code>"];
    let start = tags.iter().find_map(|tag| Some(body.find(tag)? + tag.len()))?;
    body[start..].split('<').next().map(str::to_owned)
}
