//! From text to tokens.

use super::parse::{FilterError, FilterErrorKind};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Token<'a> {
    Open,
    Close,
    Comma,
    /// A name, a keyword, or the prefix of a literal.
    Word(&'a str),
    Number(&'a str),
    /// The text between quotes, doubled quotes still doubled.
    Quoted(&'a str),
    End,
}

/// Gives the tokens of a text one by one, each with the byte where it begins.
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    pub(super) fn next(&mut self) -> Result<(usize, Token<'a>), FilterError> {
        let rest = self.text[self.at..].trim_start();
        let start = self.text.len() - rest.len();
        let Some(first) = rest.chars().next() else {
            self.at = start;
            return Ok((start, Token::End));
        };
        let (token, length) = match first {
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            ',' => (Token::Comma, 1),
            '\'' => {
                let length = quoted_length(rest).ok_or_else(|| {
                    FilterError::new(self.text, start, FilterErrorKind::UnclosedQuote)
                })?;
                (Token::Quoted(&rest[1..length - 1]), length)
            }
            '-' | '+' | '0'..='9' => {
                let length = number_length(rest);
                (Token::Number(&rest[..length]), length)
            }
            c if c == '_' || c.is_alphabetic() => {
                let length =
                    rest.find(|c: char| !(c == '_' || c.is_alphanumeric())).unwrap_or(rest.len());
                (Token::Word(&rest[..length]), length)
            }
            _ => {
                let kind = FilterErrorKind::Unexpected;
                return Err(FilterError::new(self.text, start, kind));
            }
        };
        self.at = start + length;
        Ok((start, token))
    }

    /// Whether a quote follows without a space, as behind `datetime` and `guid`.
    pub(super) fn quote_follows(&self) -> bool {
        self.text[self.at..].starts_with('\'')
    }
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
