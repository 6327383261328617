//! Rust identifiers for the names of columns, tables and kinds.

use std::collections::HashSet;

/// The words that cannot be identifiers, in any edition.
const KEYWORDS: [&str; 53] = [
    "Self", "_", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue",
    "crate", "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if",
    "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub",
    "ref", "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// The identifiers of one scope, none of which occurs twice, not even in another case.
#[derive(Debug)]
pub struct Identifiers(HashSet<String>);

impl Identifiers {
    /// Begins with identifiers that are in use.
    pub fn new(used: &[&str]) -> Self {
        Self(used.iter().map(|name| name.to_lowercase()).collect())
    }

    /// Returns the identifier, or with a number if it is in use.
    pub fn add(&mut self, wanted: &str, separator: &str) -> String {
        // The compiler complains about two underscores.
        let separator = if wanted.ends_with('_') { "" } else { separator };
        let numbered = (2_u64..).map(|number| format!("{wanted}{separator}{number}"));
        let mut all = std::iter::once(wanted.to_owned()).chain(numbered);
        all.find(|name| self.0.insert(name.to_lowercase())).unwrap_or_default()
    }
}

/// Returns the identifier of a field: `rating_as_string` for `RatingAsString`.
pub fn field(column: &str) -> String {
    let mut snake = String::new();
    let chars: Vec<char> = column.chars().collect();
    for (at, c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| chars[before]);
        let is_begin = c.is_uppercase()
            && before.is_some_and(|before| {
                let begins_word = chars.get(at + 1).is_some_and(|next| next.is_lowercase());
                before.is_lowercase() || before.is_numeric() || before.is_uppercase() && begins_word
            });
        if is_begin {
            snake.push('_');
        }
        snake.extend(c.to_lowercase().filter(|c| *c == '_' || is_letter_or_digit(*c)));
    }
    if !snake.starts_with(|c: char| c == '_' || c.is_alphabetic())
        || snake.chars().all(|c| c == '_')
    {
        snake = format!("column_{}", snake.trim_start_matches('_'));
        snake.truncate(snake.trim_end_matches('_').len());
    }
    unreserved(snake, "_")
}

/// Returns the identifier of a type or of a variant: `OrderCreated` for `order.created`, and `prefix` before one that would
/// not begin with a letter.
pub fn pascal(name: &str, prefix: &str) -> String {
    let words = name.split(|c| !is_letter_or_digit(c)).map(capitalized);
    let words: String = words
        .map(|word| word.chars().filter(|c| is_letter_or_digit(*c)).collect::<String>())
        .collect();
    let pascal =
        if words.starts_with(char::is_alphabetic) { words } else { format!("{prefix}{words}") };
    unreserved(pascal, prefix)
}

/// ASCII and the Latin letters that have one form in Unicode: the compiler takes two forms of a letter for the same.
fn is_letter_or_digit(c: char) -> bool {
    c.is_ascii_alphanumeric() || ('\u{c0}'..='\u{17f}').contains(&c) && c.is_alphabetic()
}

fn unreserved(ident: String, suffix: &str) -> String {
    if KEYWORDS.contains(&&*ident) { format!("{ident}{suffix}") } else { ident }
}

/// Writes the first letter as a capital.
pub(super) fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn columns_become_fields_in_snake_case() {
        for (column, expected) in [
            ("Text", "text"),
            ("RatingAsString", "rating_as_string"),
            ("HTTPStatus", "http_status"),
            ("ID", "id"),
            ("total_views", "total_views"),
            ("Line2", "line2"),
            ("v2Name", "v2_name"),
            ("_id", "_id"),
            ("Type", "type_"),
            ("self", "self_"),
            ("gen", "gen_"),
            ("Größe", "größe"),
            ("日本", "column"),
            ("日本2", "column_2"),
            ("__", "column"),
        ] {
            assert_eq!(field(column), expected);
        }
    }

    #[test]
    fn kinds_become_types_in_pascal_case() {
        for (name, expected) in [
            ("photo", "Photo"),
            ("order.created v2", "OrderCreatedV2"),
            ("Self", "SelfKind"),
            ("1", "Kind1"),
            ("注文", "Kind"),
            ("-", "Kind"),
        ] {
            assert_eq!(pascal(name, "Kind"), expected);
        }
    }

    #[test]
    fn identifiers_are_unique_in_any_case() {
        let mut used = Identifiers::new(&["etag"]);
        let names = ["etag", "text", "text", "Text", "text_2", "type_", "type_"]
            .map(|name| used.add(name, "_"));
        assert_eq!(names, ["etag_2", "text", "text_2", "Text_3", "text_2_2", "type_", "type_2"]);
    }

    #[test]
    fn keywords_are_no_identifiers_for_the_parser_too() {
        for word in KEYWORDS {
            // It permits `gen`, which is a keyword since the edition 2024.
            assert!(word == "gen" || syn::parse_str::<syn::Ident>(word).is_err(), "{word}");
        }
    }

    proptest! {
        #[test]
        fn each_name_has_an_identifier(name in any::<String>()) {
            for ident in [field(&name), pascal(&name, "Kind")] {
                prop_assert!(syn::parse_str::<syn::Ident>(&ident).is_ok(), "{name:?} becomes {ident:?}");
            }
        }
    }
}
