//! The names that `rename_all` of the derive gives to fields and variants.

/// A rule of `rename_all`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum RenameRule {
    #[default]
    Unchanged,
    Pascal,
    Camel,
    Snake,
    Screaming,
    Lower,
    Upper,
}

impl RenameRule {
    /// Returns the rule of this spelling.
    pub(super) fn from_spelling(text: &str) -> Option<Self> {
        Some(match text {
            "PascalCase" => Self::Pascal,
            "camelCase" => Self::Camel,
            "snake_case" => Self::Snake,
            "SCREAMING_SNAKE_CASE" => Self::Screaming,
            "lowercase" => Self::Lower,
            "UPPERCASE" => Self::Upper,
            _ => return None,
        })
    }

    /// Returns the property of a field, which is in snake case.
    pub(super) fn of_field(self, field: &str) -> String {
        match self {
            Self::Unchanged | Self::Snake | Self::Lower => field.to_owned(),
            Self::Pascal => field.split('_').map(capitalized).collect(),
            Self::Camel => uncapitalized(&Self::Pascal.of_field(field)),
            Self::Screaming | Self::Upper => field.to_uppercase(),
        }
    }

    /// Returns the text of a variant, which is in Pascal case.
    pub(super) fn of_variant(self, variant: &str) -> String {
        match self {
            Self::Unchanged | Self::Pascal => variant.to_owned(),
            Self::Camel => uncapitalized(variant),
            Self::Snake => {
                let mut snake = String::new();
                for c in variant.chars() {
                    if c.is_uppercase() && !snake.is_empty() {
                        snake.push('_');
                    }
                    snake.extend(c.to_lowercase());
                }
                snake
            }
            Self::Screaming => Self::Snake.of_variant(variant).to_uppercase(),
            Self::Lower => variant.to_lowercase(),
            Self::Upper => variant.to_uppercase(),
        }
    }
}

pub(super) fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect()
}

fn uncapitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().into_iter().flat_map(char::to_lowercase).chain(chars).collect()
}
