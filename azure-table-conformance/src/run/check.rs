//! The comparison of a response with an expected one.

use serde_json::Value;

use super::{brief, json};
use crate::case::{Expected, ExpectedBody, Values};
use crate::wire::{self, Response};

/// The expected part of a response, and the received one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) expected: String,
    pub(super) got: String,
}

impl Found {
    fn new(expected: impl Into<String>, got: impl Into<String>) -> Self {
        Self { expected: expected.into(), got: got.into() }
    }
}

/// Compares a response. Names without values in the expected response are bound.
pub(super) fn check(
    expected: &Expected,
    response: &Response,
    values: &mut Values<'_>,
) -> Result<(), Found> {
    if response.status != expected.status {
        return Err(Found::new(expected.to_string(), brief(response)));
    }
    if let Some(code) = &expected.code
        && error_code(&response.body).as_deref() != Some(code)
    {
        return Err(Found::new(expected.to_string(), brief(response)));
    }
    for (name, pattern) in &expected.headers {
        let found = response.header(name);
        match (pattern, found) {
            (None, None) => {}
            (Some(pattern), Some(found)) if pattern.matches(found, values) => {}
            _ => {
                let wanted = pattern.as_ref().map(|pattern| values.shown(pattern.text()));
                return Err(Found::new(
                    format!("{name}: {}", wanted.as_deref().unwrap_or("(absent)")),
                    format!("{name}: {}", found.unwrap_or("(absent)")),
                ));
            }
        }
    }
    body(&expected.body, response, values)?;
    if expected.parts.is_empty() { Ok(()) } else { parts(&expected.parts, response, values) }
}

fn body(
    expected: &ExpectedBody,
    response: &Response,
    values: &mut Values<'_>,
) -> Result<(), Found> {
    match expected {
        ExpectedBody::Any => Ok(()),
        ExpectedBody::Empty if response.body.is_empty() => Ok(()),
        ExpectedBody::Empty => Err(Found::new("no body", brief(response))),
        ExpectedBody::Json { value, is_exact } => {
            let text = response.body.trim_start_matches('\u{feff}');
            let found: Value = serde_json::from_str(text)
                .map_err(|_| Found::new("a body of JSON", brief(response)))?;
            json::compare("$", value, &found, *is_exact, values)
                .map_err(|(expected, got)| Found::new(expected, got))
        }
        ExpectedBody::Lines(lines) => {
            let found = without_spaces(&response.body);
            for line in lines {
                if !line.is_in(&response.body, values) && !line.is_in(&found, values) {
                    return Err(Found::new(values.shown(line.text()), brief(response)));
                }
            }
            Ok(())
        }
    }
}

/// XML without spaces between and at the end of its tags.
fn without_spaces(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace(" />", "/>");
    let lines = text.lines().map(str::trim);
    lines.collect::<Vec<_>>().join("\n").replace(">\n<", "><")
}

fn parts(expected: &[Expected], response: &Response, values: &mut Values<'_>) -> Result<(), Found> {
    let Some(found) = wire::parts(response) else {
        return Err(Found::new("a multipart body", brief(response)));
    };
    for (index, (expected, found)) in expected.iter().zip(&found).enumerate() {
        check(expected, found, values).map_err(|difference| {
            let part = |text| format!("part {index}: {text}");
            Found { expected: part(difference.expected), got: part(difference.got) }
        })?;
    }
    if expected.len() != found.len() {
        let statuses: Vec<_> = found.iter().map(|part| part.status.to_string()).collect();
        let got = format!("{} parts: {}", found.len(), statuses.join(" "));
        return Err(Found::new(format!("{} parts", expected.len()), got));
    }
    Ok(())
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
