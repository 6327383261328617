//! The report of a run as Markdown.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};

use super::account::{Account, Kind};
use super::part::Part;
use super::plan::Section;
use super::redaction::Redaction;
use crate::report::is_unsafe;

/// The folder for reports that are committed.
const FOLDER: &str = "docs/live";

/// The results of a run.
#[derive(Debug)]
pub(super) struct Report {
    kind: Kind,
    started: DateTime<Utc>,
    pub(super) parts: Vec<(Section, Part)>,
    /// The tables and settings that could not be removed or restored.
    pub(super) left: Vec<String>,
    /// Whether the user named the sections: one that is skipped is a failure then.
    is_named: bool,
}

impl Report {
    pub(super) fn new(account: &Account, is_named: bool) -> Self {
        let kind = account.kind();
        Self { kind, started: Utc::now(), parts: Vec::new(), left: Vec::new(), is_named }
    }

    pub(super) fn is_passed(&self) -> bool {
        let is_complete = !self.is_named || self.skipped() == 0;
        let has_failures = self.parts.iter().any(|(_, part)| !part.failures.is_empty());
        self.left.is_empty() && is_complete && !has_failures
    }

    fn skipped(&self) -> usize {
        self.parts.iter().filter(|(_, part)| part.skipped.is_some()).count()
    }

    /// The run in a few words.
    pub(super) fn result(&self) -> String {
        let result = if self.is_passed() { "passed" } else { "failed" };
        match self.skipped() {
            0 => result.to_owned(),
            1 => format!("{result}, 1 section skipped"),
            some => format!("{result}, {some} sections skipped"),
        }
    }

    /// The file of the report, without its extension, unless the user names one.
    pub(super) fn default_stem(&self) -> PathBuf {
        let name = format!("{}-{}", self.started.format("%Y-%m-%d"), self.kind.file_name());
        let folder = Path::new(FOLDER);
        if folder.is_dir() { folder.join(name) } else { name.into() }
    }

    /// The report without secrets and names. They are removed before a text is shortened.
    pub(super) fn to_markdown(&self, account: &Account, redaction: &Redaction) -> String {
        redaction.apply(&self.markdown(account, redaction))
    }

    fn markdown(&self, account: &Account, redaction: &Redaction) -> String {
        let mut text = self.heading(account);
        text.push_str(
            "\n| section | result | passed | failed | left out | requests | seconds |\n\
             |---|---|--:|--:|--:|--:|--:|\n",
        );
        for (section, part) in &self.parts {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {:.1} |",
                section.name(),
                cell(&redaction.apply(&part.result())),
                part.passed,
                part.failures.len(),
                part.left_out.len(),
                part.requests,
                part.elapsed.as_secs_f64()
            );
        }
        for (section, part) in &self.parts {
            text.push_str(&details(*section, &part.redacted(redaction)));
        }
        if !self.left.is_empty() {
            text.push_str("\n## Not removed\n\n");
            self.left.iter().for_each(|name| item(&mut text, "- ", &redaction.apply(name)));
        }
        text
    }

    fn heading(&self, account: &Account) -> String {
        let result = self.result();
        let server = account.transport.server.get().map_or("not named", String::as_str);
        format!(
            "# Live run: {}\n\n- Date: {}\n- Result: {result}\n- Program: azure-table-conformance {}\n\
             - Server: {}\n- Account: {}\n- Dialect: {}\n",
            self.kind.title(),
            self.started.format("%Y-%m-%d %H:%M UTC"),
            env!("CARGO_PKG_VERSION"),
            plain(server),
            account.server.endpoint(),
            if account.is_cosmos() { "Cosmos DB" } else { "Storage" },
        )
    }
}

fn details(section: Section, part: &Part) -> String {
    let lists: [(&str, &[(String, String)]); 2] = [
        ("Open points, and the responses of this server", &part.settled),
        ("Left out", &part.left_out),
    ];
    let is_empty = lists.iter().all(|(_, list)| list.is_empty());
    if is_empty && part.figures.is_empty() && part.failures.is_empty() {
        return String::new();
    }
    let mut text = format!("\n## {}\n", section.name());
    if !part.figures.is_empty() {
        text.push('\n');
        part.figures.iter().for_each(|figure| {
            let _ = writeln!(text, "- {}", plain(figure));
        });
    }
    if !part.failures.is_empty() {
        text.push_str("\n### Failed\n\n");
    }
    for failure in &part.failures {
        let _ = writeln!(text, "- `{}`", code(&failure.name));
        for (name, value) in &failure.details {
            item(&mut text, &format!("  - {name}: "), value);
        }
    }
    for (heading, list) in lists {
        if !list.is_empty() {
            let _ = write!(text, "\n### {heading}\n\n");
        }
        for (name, value) in list {
            item(&mut text, &format!("- {}: ", plain(name)), value);
        }
    }
    text
}

/// Adds a text of the server as an item of a list.
fn item(text: &mut String, begin: &str, value: &str) {
    let _ = writeln!(text, "{begin}`{}`", code(value));
}

/// The longest text of a server that is shown.
const LONGEST: usize = 600;

/// A text as code in Markdown: without line breaks, control characters and backquotes.
fn code(text: &str) -> String {
    plain(text).replace('`', "'")
}

fn cell(text: &str) -> String {
    plain(text).replace('|', "\\|")
}

fn plain(text: &str) -> String {
    let text: String = text.chars().map(|it| if is_unsafe(it) { ' ' } else { it }).collect();
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
