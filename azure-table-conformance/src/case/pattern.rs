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

    /// Whether the whole text matches. Binds the names without values if so.
    pub(crate) fn matches(&self, text: &str, values: &mut Values<'_>) -> bool {
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

/// Matches pieces. A piece of any text takes as little as possible.
fn matches(pieces: &[Piece], text: &str, bound: &mut Vec<(String, String)>) -> bool {
    let Some((first, rest)) = pieces.split_first() else { return text.is_empty() };
    if let Piece::Text(expected) = first {
        return text.strip_prefix(expected.as_str()).is_some_and(|text| matches(rest, text, bound));
    }
    let mut ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let end = match rest.first() {
        None => Some(text.len()),
        // The last text can only be at the end.
        Some(Piece::Text(last)) if rest.len() == 1 => {
            text.ends_with(last.as_str()).then(|| text.len() - last.len())
        }
        Some(_) => ends.find(|end| matches(rest, &text[*end..], &mut Vec::new())),
    };
    let Some(end) = end else { return false };
    if let Piece::Bind(name) = first {
        bound.push((name.clone(), text[..end].to_owned()));
    }
    matches(rest, &text[end..], bound)
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
            ("*", "", true),
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
