/// The conversion of field names to property names and of variant names to values, like serde's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum RenameRule {
    #[default]
    Unchanged,
    Pascal,
    Camel,
    Snake,
    Screaming,
    Lower,
    Upper,
}

/// The spellings of `rename_all`.
const RULES: [(&str, RenameRule); 6] = [
    ("PascalCase", RenameRule::Pascal),
    ("camelCase", RenameRule::Camel),
    ("snake_case", RenameRule::Snake),
    ("SCREAMING_SNAKE_CASE", RenameRule::Screaming),
    ("lowercase", RenameRule::Lower),
    ("UPPERCASE", RenameRule::Upper),
];

impl RenameRule {
    pub(crate) fn from_spelling(text: &str) -> Option<Self> {
        RULES.iter().find(|(spelling, _)| *spelling == text).map(|(_, rule)| *rule)
    }

    pub(crate) fn spellings() -> impl Iterator<Item = &'static str> + Clone {
        RULES.iter().map(|(spelling, _)| *spelling)
    }

    /// A field is in snake case already.
    pub(crate) fn apply(self, field: &str) -> String {
        match self {
            Self::Unchanged | Self::Snake | Self::Lower => field.to_owned(),
            Self::Pascal => field.split('_').map(capitalized).collect(),
            Self::Camel => uncapitalized(&Self::Pascal.apply(field)),
            Self::Screaming | Self::Upper => field.to_uppercase(),
        }
    }

    /// A variant is in Pascal case already.
    pub(crate) fn apply_to_variant(self, variant: &str) -> String {
        match self {
            Self::Unchanged | Self::Pascal => variant.to_owned(),
            Self::Camel => uncapitalized(variant),
            Self::Snake => {
                let mut snake = String::with_capacity(variant.len() + 4);
                for c in variant.chars() {
                    if c.is_uppercase() && !snake.is_empty() {
                        snake.push('_');
                    }
                    snake.extend(c.to_lowercase());
                }
                snake
            }
            Self::Screaming => Self::Snake.apply_to_variant(variant).to_uppercase(),
            Self::Lower => variant.to_lowercase(),
            Self::Upper => variant.to_uppercase(),
        }
    }
}

fn capitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect()
}

fn uncapitalized(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().into_iter().flat_map(char::to_lowercase).chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_variants() {
        let names = |variant| -> Vec<String> {
            RenameRule::spellings()
                .filter_map(RenameRule::from_spelling)
                .map(|rule| rule.apply_to_variant(variant))
                .collect()
        };
        // Pascal, camel, snake, screaming, lower, upper
        assert_eq!(
            names("InReview"),
            ["InReview", "inReview", "in_review", "IN_REVIEW", "inreview", "INREVIEW"]
        );
        assert_eq!(RenameRule::default().apply_to_variant("As_it_Is"), "As_it_Is");
    }

    #[test]
    fn names_of_fields() {
        let names = |field| -> Vec<String> {
            RenameRule::spellings()
                .filter_map(RenameRule::from_spelling)
                .map(|rule| rule.apply(field))
                .collect()
        };
        // Pascal, camel, snake, screaming, lower, upper
        assert_eq!(names("text"), ["Text", "text", "text", "TEXT", "text", "TEXT"]);
        assert_eq!(names("is_hot"), ["IsHot", "isHot", "is_hot", "IS_HOT", "is_hot", "IS_HOT"]);
        assert_eq!(names("line_2"), ["Line2", "line2", "line_2", "LINE_2", "line_2", "LINE_2"]);
        assert_eq!(names("_id"), ["Id", "id", "_id", "_ID", "_id", "_ID"]);
        assert_eq!(names("ärger"), ["Ärger", "ärger", "ärger", "ÄRGER", "ärger", "ÄRGER"]);
        assert_eq!(RenameRule::default().apply("As_it_Is"), "As_it_Is");
    }

    #[test]
    fn kebab_case_is_no_rule() {
        assert_eq!(RenameRule::from_spelling("kebab-case"), None);
    }
}
