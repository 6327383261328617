//! Reads a part by comparing it with an earlier one. The parts of a batch differ in a few values only, such as ETags, so
//! that their other lines are compared, and not read again.

use super::head::{Head, KnownHeader, line_feed, split_line};
use super::message::Message;

/// A part with more headers is not compared: its names would be compared with each other in quadratic time.
const MAX_LINES: usize = 64;

/// A message of a body of parts, by its lines.
#[derive(Debug, Clone)]
pub(super) struct Template<'a> {
    /// The headers of the part, and the empty line after them.
    part_head: &'a [u8],
    start: &'a str,
    /// The first line of the message, with its end.
    start_line: &'a [u8],
    lines: Vec<Line<'a>>,
}

/// A header of a message.
#[derive(Debug, Clone)]
struct Line<'a> {
    /// With its end.
    text: &'a [u8],
    /// With the colon.
    name: &'a [u8],
    known: Option<KnownHeader>,
}

impl<'a> Template<'a> {
    /// Returns the template of this part, whose message begins after `part_head`. `None` if its lines cannot be compared
    /// one by one.
    pub(super) fn new(part_head: &'a [u8], text: &'a [u8], message: &Message<'a>) -> Option<Self> {
        let (_, rest) = split_line(text);
        let start_line = &text[..text.len() - rest.len()];
        let mut lines: Vec<Line<'a>> = Vec::new();
        let mut left = message.head.lines();
        while !left.is_empty() {
            let (text, rest) = left.split_at(line_feed(left)? + 1);
            let colon = text.iter().position(|byte| *byte == b':')?;
            let name = &text[..=colon];
            // A line that begins like a boundary may be one with another value.
            if lines.len() == MAX_LINES
                || name.starts_with(b"-")
                || lines.iter().any(|line| line.name == name)
            {
                return None;
            }
            lines.push(Line { text, name, known: KnownHeader::of(text[..colon].trim_ascii()) });
            left = rest;
        }
        Some(Self { part_head, start: message.start, start_line, lines })
    }

    /// Reads a part that has the same headers, apart from their values. Returns its message without the body, and the text
    /// after the head of the message; `None` if the part differs in more.
    pub(super) fn read(&self, text: &'a [u8]) -> Option<(Message<'a>, &'a [u8])> {
        let mut rest = text.strip_prefix(self.part_head)?;
        let start = match rest.strip_prefix(self.start_line) {
            Some(after) => {
                rest = after;
                self.start
            }
            None => {
                let (line, after) = split_line(rest);
                rest = after;
                // Blanks before it are skipped elsewhere, and a boundary ends the part.
                line.first().filter(|byte| **byte != b'-' && !byte.is_ascii_whitespace())?;
                std::str::from_utf8(line).ok()?
            }
        };
        let (mut head, lines) = (Head::default(), rest);
        for line in &self.lines {
            let end = if rest.starts_with(line.text) {
                line.text.len()
            } else {
                line_feed(rest.starts_with(line.name).then_some(rest)?)? + 1
            };
            if let Some(known) = line.known {
                head.keep(known, &rest[line.name.len()..end]).ok()?;
            }
            rest = &rest[end..];
        }
        head.set_lines(&lines[..lines.len() - rest.len()]);
        Some((Message { start, head, body: &[] }, rest.strip_prefix(b"\r\n")?))
    }
}
