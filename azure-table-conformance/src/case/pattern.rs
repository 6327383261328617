//! Patterns of texts: `*` stands for any text, and `{name}` for the value of that name. A name without a value binds the text
//! in its place.

use super::Values;

/// A text with `*` and names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern(String);

/// A piece of a pattern.
#[derive(Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Any,
    Bind(String),
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The pattern as it is written.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Whether the whole text matches. Binds the names without values if so. A `*` alone is a text that is not empty.
    pub(crate) fn matches(&self, text: &str, values: &mut Values<'_>) -> bool {
        if self.0 == "*" {
            return !text.is_empty();
        }
        let pieces = self.pieces(values);
        let mut bound = Vec::new();
        let is_match = matches(&pieces, text, &mut bound);
        if is_match {
            for (name, value) in bound {
                values.bind(&name, value);
            }
        }
        is_match
    }

    /// Whether a part of the text matches.
    pub(crate) fn is_in(&self, text: &str, values: &mut Values<'_>) -> bool {
        Self(format!("*{}*", self.0)).matches(text, values)
    }

    fn pieces(&self, values: &Values<'_>) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut rest = self.0.as_str();
        while let Some(at) = rest.find(['*', '{']) {
            let (before, after) = rest.split_at(at);
            push_text(&mut pieces, before);
            rest = &after[1..];
            if after.starts_with('*') {
                pieces.push(Piece::Any);
            } else if let Some((name, after)) = super::fill::name(rest) {
                match values.get(name) {
                    Some(value) => push_text(&mut pieces, &value),
                    None => pieces.push(Piece::Bind(name.to_owned())),
                }
                rest = after;
            } else {
                push_text(&mut pieces, "{");
            }
        }
        push_text(&mut pieces, rest);
        pieces
    }
}

fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        Some(Piece::Text(last)) => last.push_str(text),
        _ if text.is_empty() => {}
        _ => pieces.push(Piece::Text(text.to_owned())),
    }
}

/// Matches pieces. A piece of any text takes as little as possible, so each text is sought once.
fn matches(pieces: &[Piece], text: &str, bound: &mut Vec<(String, String)>) -> bool {
    let (mut rest, mut open) = (text, None);
    for (index, piece) in pieces.iter().enumerate() {
        let Piece::Text(expected) = piece else {
            // Of two pieces of any text in a row, the first one is empty.
            bind(open.replace(piece), "", bound);
            continue;
        };
        let is_last = index + 1 == pieces.len();
        let at = match open {
            None => rest.starts_with(expected.as_str()).then_some(0),
            Some(_) if is_last => {
                rest.ends_with(expected.as_str()).then(|| rest.len() - expected.len())
            }
            Some(_) => rest.find(expected.as_str()),
        };
        let Some(at) = at else { return false };
        bind(open.take(), &rest[..at], bound);
        rest = &rest[at + expected.len()..];
    }
    let has_end = open.is_some() || rest.is_empty();
    bind(open, rest, bound);
    has_end
}

fn bind(piece: Option<&Piece>, text: &str, bound: &mut Vec<(String, String)>) {
    if let Some(Piece::Bind(name)) = piece {
        bound.push((name.clone(), text.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::wire::Server;

    fn server() -> Server {
        Server::new("http://h/one", "one", "a2V5").unwrap()
    }

    #[test]
    fn stars_match_any_text() {
        let server = server();
        let mut values = Values::new(&server, "t");
        for (pattern, text, expected) in [
            ("", "", true),
            ("a", "b", false),
            ("*", "", false),
            ("*", "a", true),
            ("a*", "a", true),
            ("W/\"*\"", "W/\"1\"", true),
            ("W/\"*\"", "W/\"1", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c", false),
            ("*aa", "aaa", true),
            ("{account}*", "one/x", true),
            ("{\"a\":1}", "{\"a\":1}", true),
        ] {
            assert_eq!(
                Pattern::new(pattern).matches(text, &mut values),
                expected,
                "{pattern} {text}"
            );
        }
        let (pattern, text) = ("*a".repeat(60) + "*c*d", "a".repeat(2000));
        assert!(!Pattern::new(&pattern).matches(&text, &mut values));
        assert!(Pattern::new("b*d").is_in("abcde", &mut values));
        assert!(!Pattern::new("d*b").is_in("abcde", &mut values));
    }

    #[test]
    fn names_bind_once() {
        let server = server();
        let mut values = Values::new(&server, "t");
        assert!(!Pattern::new("[{x}]{y}!").matches("[1]2", &mut values));
        assert_eq!(values.get("x"), None);
        assert!(Pattern::new("[{x}]{y}").matches("[1]2", &mut values));
        assert_eq!((values.get("x"), values.get("y")), (Some("1".into()), Some("2".into())));
        assert!(Pattern::new("{x}{y}").matches("12", &mut values));
        assert!(!Pattern::new("{x}").matches("2", &mut values));
    }
}
