//! The reader of files of cases.

use std::iter::Peekable;
use std::str::Lines;

use super::{Case, Expected, ExpectedBody, ParseError, Pattern, Step};
use crate::wire::Dialect;

/// Reads the cases of an area.
pub(crate) fn parse(area: &str, text: &str) -> Result<Vec<Case>, ParseError> {
    let mut reader = Reader { lines: text.lines().peekable(), number: 0 };
    let cases = reader.cases(area);
    let at = |reason| ParseError { place: format!("{area}.http:{}", reader.number), reason };
    cases.map_err(at)
}

struct Reader<'t> {
    lines: Peekable<Lines<'t>>,
    /// The number of lines that were read.
    number: usize,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Option<&'t str> {
        self.number += 1;
        self.lines.next()
    }

    fn next_if(&mut self, is_it: impl FnOnce(&str) -> bool) -> Option<&'t str> {
        let line = self.lines.next_if(|line| is_it(line))?;
        self.number += 1;
        Some(line)
    }

    fn skip_blank(&mut self) {
        while self.next_if(|line| line.trim().is_empty()).is_some() {}
    }

    fn cases(&mut self, area: &str) -> Result<Vec<Case>, String> {
        let mut cases = Vec::new();
        while self.next_if(|line| line.starts_with("# ") || line.is_empty()).is_some() {}
        while let Some(line) = self.next() {
            let heading = line.strip_prefix("### ").ok_or("a case begins with ###")?;
            let (name, title) = heading.split_once(": ").ok_or("a heading is ### name: title")?;
            cases.push(self.case(format!("{area}/{name}"), title)?);
        }
        Ok(cases)
    }

    fn case(&mut self, name: String, title: &str) -> Result<Case, String> {
        let mut case = Case {
            name,
            title: title.to_owned(),
            sources: Vec::new(),
            is_settled: true,
            dialects: vec![Dialect::Storage],
            restores_properties: false,
            is_delayed: false,
            has_bare_lines: false,
            rows: Vec::new(),
            steps: Vec::new(),
        };
        while let Some(line) = self.next_if(|line| !line.is_empty() && !is_request(line)) {
            let (name, value) = line.split_once(": ").ok_or("a field is name: value")?;
            match (name, value) {
                ("source", _) => case.sources.push(value.to_owned()),
                ("row", _) => case.rows.push(value.to_owned()),
                ("status", "not settled") => case.is_settled = false,
                ("restores", "service properties") => case.restores_properties = true,
                ("delay", "30 s") => case.is_delayed = true,
                ("line-ends", "LF") => case.has_bare_lines = true,
                ("dialect", "cosmos") => case.dialects = vec![Dialect::Cosmos],
                ("dialect", "both") => case.dialects = vec![Dialect::Storage, Dialect::Cosmos],
                _ => return Err(format!("unknown field or value: {line}")),
            }
        }
        self.skip_blank();
        while let Some(line) = self.next_if(is_request) {
            case.steps.push(self.step(line)?);
        }
        check(&case)?;
        Ok(case)
    }

    fn step(&mut self, line: &str) -> Result<Step, String> {
        let (method, target) = line.split_once(' ').ok_or("a request is METHOD target")?;
        let mut headers = Vec::new();
        while let Some(line) = self.next_if(|line| !line.is_empty() && !is_expected(line)) {
            headers.push(header(line)?);
        }
        self.next_if(str::is_empty);
        let body = self.text(is_expected);
        let mut expected = Vec::new();
        while let Some(line) = self.next_if(is_expected) {
            let has_changeset = body.contains("\nContent-Type: multipart/mixed");
            expected.push(Expected { has_changeset, ..self.expected(line)? });
        }
        if expected.is_empty() {
            return Err(format!("no => follows {line}"));
        }
        Ok(Step { method: method.to_owned(), target: target.to_owned(), headers, body, expected })
    }

    fn expected(&mut self, line: &str) -> Result<Expected, String> {
        let line = line.strip_prefix("or ").unwrap_or(line);
        let mut expected = self.response(line.strip_prefix("=> ").ok_or("=> is missing")?)?;
        while let Some(line) = self.next_if(|line| line.starts_with("-> ")) {
            expected.parts.push(self.response(&line[3..])?);
        }
        Ok(expected)
    }

    /// Reads a response behind its arrow.
    fn response(&mut self, line: &str) -> Result<Expected, String> {
        let (status, code) = line.split_once(' ').map_or((line, None), |(a, b)| (a, Some(b)));
        let status = status.parse().map_err(|_| format!("no status: {line}"))?;
        let mut headers = Vec::new();
        while let Some(line) = self.next_if(|line| !line.is_empty() && !ends_response(line)) {
            let (name, pattern) = header(line)?;
            headers.push((name.to_lowercase(), pattern.as_deref().map(Pattern::new)));
        }
        self.skip_blank();
        let body = expected_body(&self.text(ends_response))?;
        let code = code.map(str::to_owned);
        Ok(Expected { status, code, headers, body, parts: Vec::new(), has_changeset: false })
    }

    /// Reads lines until one that ends them, without blank lines at their end.
    fn text(&mut self, ends: impl Fn(&str) -> bool) -> String {
        let mut text = String::new();
        while let Some(line) = self.next_if(|line| !ends(line)) {
            text.push_str(line);
            text.push('\n');
        }
        text.trim_end_matches('\n').to_owned()
    }
}

fn is_request(line: &str) -> bool {
    line.split_once(" /").is_some_and(|(method, _)| {
        !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase())
    })
}

fn is_expected(line: &str) -> bool {
    line.starts_with("=> ") || line.starts_with("or => ")
}

fn ends_response(line: &str) -> bool {
    is_request(line) || is_expected(line) || line.starts_with("-> ") || line.starts_with("### ")
}

/// Reads `Name: value`, or `-Name` for a header that is absent.
fn header(line: &str) -> Result<(String, Option<String>), String> {
    if let Some(name) = line.strip_prefix('-') {
        return Ok((name.to_owned(), None));
    }
    let (name, value) = line.split_once(':').ok_or_else(|| format!("not a header: {line}"))?;
    Ok((name.to_owned(), Some(value.trim().to_owned())))
}

fn expected_body(text: &str) -> Result<ExpectedBody, String> {
    let (text, is_exact) = match text.strip_prefix("exactly\n") {
        Some(text) => (text, true),
        None => (text, false),
    };
    Ok(match text {
        "" => ExpectedBody::Any,
        "(empty)" => ExpectedBody::Empty,
        _ if text.starts_with('{') => {
            let value = serde_json::from_str(text).map_err(|error| format!("JSON: {error}"))?;
            ExpectedBody::Json { value, is_exact }
        }
        _ if is_exact => return Err("only JSON is compared exactly".to_owned()),
        _ => ExpectedBody::Lines(text.lines().map(Pattern::new).collect()),
    })
}

/// Checks what every case must have.
fn check(case: &Case) -> Result<(), String> {
    if case.sources.is_empty() {
        return Err(format!("{}: no source", case.name));
    }
    let Some((last, others)) = case.steps.split_last() else {
        return Err(format!("{}: no request", case.name));
    };
    // Only the last response of a rule that is not settled has several expectations.
    let has_one = |step: &Step| step.expected.len() == 1;
    if !others.iter().all(has_one) || has_one(last) != case.is_settled {
        return Err(format!(
            "{}: \"or =>\" is for the last response of rules not settled",
            case.name
        ));
    }
    Ok(())
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
