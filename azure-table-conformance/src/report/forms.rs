//! The forms of a report.

use std::fmt::Write as _;

use super::{CaseResult, Outcome, Report};

const HEADINGS: [&str; 6] = ["area", "cases", "passed", "differs", "not supported", "not settled"];

impl Report {
    /// The counts by area as a table of text.
    pub fn to_table(&self) -> String {
        let mut text = String::new();
        for cells in std::iter::once(HEADINGS.map(str::to_owned)).chain(self.rows()) {
            let [area, numbers @ ..] = cells;
            let _ = write!(text, "{area:<14}");
            for (number, heading) in numbers.iter().zip(&HEADINGS[1..]) {
                let width = heading.len() + 2;
                let _ = write!(text, "{number:>width$}");
            }
            text.push('\n');
        }
        text
    }

    /// The report as Markdown.
    pub fn to_markdown(&self) -> String {
        let mut text = format!(
            "# Conformance\n\n{} ({}), {}\n\n| {} |\n|---|--:|--:|--:|--:|--:|\n",
            self.endpoint,
            self.dialect,
            self.started,
            HEADINGS.join(" | ")
        );
        for row in self.rows() {
            let _ = writeln!(text, "| {} |", row.join(" | "));
        }
        for (outcome, heading) in [
            ("differs", "Differs"),
            ("not supported", "Not supported"),
            ("not settled", "Not settled"),
        ] {
            let results = self.results.iter().filter(|result| result.outcome.label() == outcome);
            let items: Vec<_> = results.map(item).collect();
            if !items.is_empty() {
                let _ = write!(text, "\n## {heading}\n\n{}", items.concat());
            }
        }
        text
    }

    /// The report as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    fn rows(&self) -> impl Iterator<Item = [String; 6]> {
        self.counts().into_iter().map(|it| {
            let numbers = [it.cases, it.passed, it.differs, it.not_supported, it.not_settled];
            let [cases, passed, differs, not_supported, not_settled] =
                numbers.map(|number| number.to_string());
            [it.area, cases, passed, differs, not_supported, not_settled]
        })
    }
}

/// A result as an item of a list in Markdown.
fn item(result: &CaseResult) -> String {
    let mut text =
        format!("- `{}`: {} ({})\n", result.name, result.title, result.sources.join(", "));
    let mut line = |name: &str, value: &str| {
        // A line break would end the item.
        let value = printable(value).replace('`', "'");
        let _ = writeln!(text, "  - {name}: `{value}`");
    };
    match &result.outcome {
        Outcome::Passed => {}
        Outcome::Differs(difference) => {
            line("request", &difference.request);
            line("expected", &difference.expected);
            line("got", &difference.got);
        }
        Outcome::NotSupported { got } => line("got", got),
        Outcome::NotSettled { response } => line("response", response),
    }
    text
}

/// A text of a server without the characters that a terminal may obey.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|it| if is_unsafe(it) { ' ' } else { it }).collect()
}

/// Whether a terminal may obey a character: a control character, or one that changes the direction of the text around it.
pub fn is_unsafe(it: char) -> bool {
    it.is_control() || matches!(it, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::super::Difference;
    use super::*;

    fn report() -> Report {
        let result = |name: &str, outcome| CaseResult {
            name: name.to_owned(),
            title: "The rule".to_owned(),
            sources: vec!["a page".to_owned()],
            outcome,
        };
        let difference = Difference {
            request: "GET /{table}".to_owned(),
            expected: "200".to_owned(),
            got: "400\u{1b}[31m\n`".to_owned(),
            answer: Some("400 Bad\tCode".to_owned()),
        };
        Report {
            endpoint: "http://h/one".to_owned(),
            dialect: "storage",
            started: "2026-11-27".to_owned(),
            results: vec![
                result("a/one", Outcome::Passed),
                result("a/two", Outcome::Differs(difference)),
                result("b/one", Outcome::NotSupported { got: "501".to_owned() }),
                result("b/two", Outcome::NotSettled { response: "200".to_owned() }),
                result("recorded/set/one", Outcome::Passed),
            ],
        }
    }

    #[test]
    fn a_table_has_the_counts_of_each_area() {
        let table = report().to_table();
        let rows: Vec<Vec<_>> =
            table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[1], ["a", "2", "1", "1", "0", "0"]);
        assert_eq!(rows[2], ["b", "2", "0", "0", "1", "1"]);
        assert_eq!(rows[3], ["all", "4", "1", "1", "1", "1"]);
        assert_eq!(rows[4], ["recorded", "1", "1", "0", "0", "0"]);
    }

    #[test]
    fn markdown_lists_what_did_not_pass_without_control_characters() {
        let text = report().to_markdown();
        assert!(text.contains("| all | 4 | 1 | 1 | 1 | 1 |"), "{text}");
        assert!(
            text.contains("- `a/two`: The rule (a page)\n  - request: `GET /{table}`\n"),
            "{text}"
        );
        assert!(text.contains("  - got: `400 [31m '`\n"), "{text}");
        assert!(text.contains("## Not supported") && text.contains("## Not settled"), "{text}");
        assert!(!text.contains("a/one"), "{text}");
    }

    #[test]
    fn a_list_has_each_outcome_that_another_run_may_change() {
        let list = report().to_list();
        let lines: Vec<_> = list.lines().collect();
        let two = "a/two\tdiffers\tGET /{table} => 400 Bad Code";
        assert_eq!(lines, [two, "b/one\tnot supported\t501", "b/two\tnot settled\t200"]);
        assert_eq!(report().compare(&list), Vec::<String>::new());
        let others = list.lines().skip(1).collect::<Vec<_>>().join("\n");
        let line = "a/two: differs: GET /{table} => 400 Bad Code; not in the list";
        assert_eq!(report().compare(&others), [line]);
        for (line, change) in [
            ("b/two\tnot settled\t404", "b/two: not settled: 200; in the list: not settled: 404"),
            ("a/two\tdiffers\tGET /{table} => 404", "a/two: differs: GET"),
            ("b/one\tdiffers\tx", "b/one: not supported: 501; in the list: differs: x"),
            ("a/one\tdiffers\tx", "a/one: passed; in the list: differs: x"),
            ("no/such\tdiffers\tx", "no/such: not a case; in the list"),
        ] {
            // The last line with a name counts.
            let changes = report().compare(&format!("{list}{line}\n"));
            assert!(matches!(&changes[..], [it] if it.starts_with(change)), "{changes:?}");
        }
    }

    #[test]
    fn a_case_that_was_not_run_may_be_in_the_list() {
        let list = report().to_list() + "inserts/return-no-content\tdiffers\tx\n";
        assert_eq!(report().compare(&list), Vec::<String>::new());
    }

    #[test]
    fn json_has_every_result() {
        let value: serde_json::Value = serde_json::from_str(&report().to_json()).unwrap();
        assert_eq!(value["results"].as_array().unwrap().len(), 5);
        assert_eq!(value["results"][1]["outcome"], "differs");
        assert_eq!(value["results"][1]["expected"], "200");
    }
}
