//! Splits a text into tokens.

use crate::limits::{begins_name, continues_name};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'a> {
    Open,
    Close,
    /// A name, a keyword, or the prefix of a literal.
    Word(&'a str),
    Number(&'a str),
    /// The text between quotes, in which quotes are doubled.
    Quoted(&'a str),
    /// A quote that is not closed.
    Unclosed,
    /// A character that starts no token.
    Unknown,
    End,
}

/// Reads the tokens of a text, each with its first byte.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    #[doc(hidden)]
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// Returns the end of the last token.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn next(&mut self) -> (usize, Token<'a>) {
        let rest = self.text[self.at..].trim_start();
        let start = self.text.len() - rest.len();
        let (token, length) = match rest.chars().next() {
            None => (Token::End, 0),
            Some('(') => (Token::Open, 1),
            Some(')') => (Token::Close, 1),
            Some('\'') => match quoted_length(rest) {
                Some(length) => (Token::Quoted(&rest[1..length - 1]), length),
                None => (Token::Unclosed, rest.len()),
            },
            Some('-' | '+' | '0'..='9') => {
                let length = number_length(rest);
                (Token::Number(&rest[..length]), length)
            }
            Some(c) if begins_name(c) => {
                let length = rest.find(|c| !continues_name(c)).unwrap_or(rest.len());
                (Token::Word(&rest[..length]), length)
            }
            Some(c) => (Token::Unknown, c.len_utf8()),
        };
        self.at = start + length;
        (start, token)
    }

    /// Whether a quote follows without a space, as in `datetime'…'` and `guid'…'`.
    pub(super) fn quote_follows(&self) -> bool {
        self.text[self.at..].starts_with('\'')
    }
}

/// Whether a property with this name is valid in a filter.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(begins_name)
        && text.chars().all(continues_name)
        && !matches!(text, "and" | "or" | "not" | "true" | "false")
}

/// The length of `'…'` with both quotes.
fn quoted_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    loop {
        at += bytes.get(at..)?.iter().position(|byte| *byte == b'\'')?;
        if bytes.get(at + 1) != Some(&b'\'') {
            return Some(at + 1);
        }
        at += 2;
    }
}

fn number_length(text: &str) -> usize {
    let mut previous = ' ';
    text.char_indices()
        .find(|&(at, c)| {
            let sign = matches!(c, '-' | '+') && (at == 0 || matches!(previous, 'e' | 'E'));
            previous = c;
            !(sign || c == '.' || c.is_ascii_alphanumeric())
        })
        .map_or(text.len(), |(at, _)| at)
}
