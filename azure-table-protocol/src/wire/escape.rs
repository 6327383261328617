//! Control characters in the text of a server, which could forge lines of a log or send commands to a terminal.

use std::fmt;

/// Returns whether a character ends a line, controls a terminal or changes the direction of text.
fn is_control(c: char) -> bool {
    let is_separator = matches!(c, '\u{2028}' | '\u{2029}');
    let is_direction = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || is_separator || is_direction
}

/// Returns the text with its control characters escaped. Text from a server passes here once, where it is read.
pub fn escaped(text: String) -> String {
    if !text.contains(is_control) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    // Writing to a String cannot fail.
    let _ = fmt::Write::write_str(&mut Escaping(&mut out), &text);
    out
}

/// A writer that escapes control characters.
pub struct Escaping<'w>(pub &'w mut dyn fmt::Write);

impl fmt::Write for Escaping<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((at, control)) = rest.char_indices().find(|(_, c)| is_control(*c)) {
            self.0.write_str(&rest[..at])?;
            write!(self.0, "{}", control.escape_default())?;
            rest = &rest[at + control.len_utf8()..];
        }
        self.0.write_str(rest)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    #[test]
    fn control_characters_are_escaped_and_other_text_is_kept() {
        let text = "a\r\n\u{1b}[31m\u{202e}\u{85}b\t\u{61c}\u{200e}\u{200f}\u{2069}\"é😀\\\"";
        let safe = r#"a\r\n\u{1b}[31m\u{202e}\u{85}b\t\u{61c}\u{200e}\u{200f}\u{2069}"é😀\""#;
        let mut out = String::new();
        write!(Escaping(&mut out), "{text}").unwrap();
        assert_eq!(out, safe);
        assert_eq!(escaped(text.to_owned()), safe);
        assert_eq!(escaped(safe.to_owned()), safe, "escaping again changes nothing");
    }
}
