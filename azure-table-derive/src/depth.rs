//! The nesting of the input. syn and rustc's passes over the generated code recurse into types, and an overflow of the
//! stack ends the compiler without a message.

use proc_macro2::{Span, TokenStream, TokenTree};

/// The most levels of nested types, groups and references in the input of a derive.
const MAX_DEPTH: usize = 64;
/// The most levels of parentheses and prefixes in an expression of `filter!`, which may have 100 levels of `!(…)`.
const MAX_EXPRESSION_DEPTH: usize = 256;

/// Checks the input of a derive before it is parsed.
pub(crate) fn check_item(input: &TokenStream) -> syn::Result<()> {
    check(input, MAX_DEPTH, true)
}

/// Checks an expression, in which `<` is a comparison.
pub(crate) fn check_expression(input: &TokenStream) -> syn::Result<()> {
    check(input, MAX_EXPRESSION_DEPTH, false)
}

/// The tokens of a group that are left, and the nesting at this point.
struct Level {
    tokens: proc_macro2::token_stream::IntoIter,
    /// The number of `<` without their `>`.
    angles: usize,
    /// The prefixes of the current type or operand: `&`, `*`, `!`, `-`, `->` and `|` of a closure. A type or an
    /// operand may follow each.
    prefixes: usize,
    /// Whether the last token is the first half of `->` or `=>`.
    is_arrow: bool,
}

impl Level {
    fn of(tokens: TokenStream) -> Self {
        Self { tokens: tokens.into_iter(), angles: 0, prefixes: 0, is_arrow: false }
    }

    fn count_in_type(&mut self, punct: char) {
        let is_arrow = std::mem::replace(&mut self.is_arrow, matches!(punct, '-' | '='));
        match punct {
            '<' => self.angles += 1,
            // The `-` of `->` is already counted.
            '>' if is_arrow => {}
            '>' => self.angles = self.angles.saturating_sub(1),
            '&' | '*' | '!' | '-' | '|' => self.prefixes += 1,
            ',' | ';' => self.prefixes = 0,
            _ => {}
        }
    }

    const fn depth(&self) -> usize {
        self.angles + self.prefixes
    }
}

/// Walks through the tokens without recursion.
fn check(input: &TokenStream, most: usize, counts_types: bool) -> syn::Result<()> {
    let mut levels = vec![Level::of(input.clone())];
    // The depth of the groups that contain the last level.
    let mut outer = 0;
    while let Some(level) = levels.last_mut() {
        let Some(token) = level.tokens.next() else {
            levels.pop();
            if let Some(level) = levels.last_mut() {
                outer -= 1 + level.depth();
                if !counts_types {
                    // The group is the operand of its prefixes.
                    level.prefixes = 0;
                }
            }
            continue;
        };
        let span = token.span();
        match token {
            TokenTree::Group(group) => {
                level.is_arrow = false;
                outer += 1 + level.depth();
                levels.push(Level::of(group.stream()));
            }
            TokenTree::Punct(punct) if counts_types => level.count_in_type(punct.as_char()),
            _ if counts_types => level.is_arrow = false,
            // Operators between operands are short runs.
            TokenTree::Punct(_) => level.prefixes += 1,
            _ => level.prefixes = 0,
        }
        if outer + levels.last().map_or(0, Level::depth) > most {
            return Err(too_deep(span, most));
        }
    }
    Ok(())
}

fn too_deep(span: Span, most: usize) -> syn::Error {
    syn::Error::new(span, format!("nested too deep: at most {most} levels are allowed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_accepted(text: &str) -> bool {
        check_item(&text.parse().unwrap()).is_ok()
    }

    fn field(ty: &str) -> String {
        format!("#[derive(X)] struct Row {{ #[table(partition_key)] a: String, b: {ty}, c: u32 }}")
    }

    #[test]
    fn deep_types_of_every_form_are_refused() {
        for (open, close) in [
            ("Option<", ">"),
            ("Vec<Box<", ">>"),
            ("(", ",)"),
            ("[", "; 1]"),
            ("&", ""),
            ("&'static ", ""),
            ("*const ", ""),
            ("fn() -> ", ""),
            ("fn(", ")"),
            ("Box<dyn Fn() -> ", ">"),
            ("<", " as A>::B"),
        ] {
            let nested = |levels| field(&(open.repeat(levels) + "u8" + &close.repeat(levels)));
            assert!(is_accepted(&nested(8)), "{open}");
            for levels in [64, 1000, 100_000] {
                assert!(!is_accepted(&nested(levels)), "{open} {levels}");
            }
        }
        for prefix in ["- ", "-", "!", "& ", "*", "|| "] {
            let length = |levels| field(&format!("[u8; {}1]", prefix.repeat(levels)));
            assert!(is_accepted(&length(8)), "{prefix}");
            for levels in [65, 3000, 100_000] {
                assert!(!is_accepted(&length(levels)), "{prefix} {levels}");
            }
        }
    }

    #[test]
    fn long_items_are_accepted() {
        let fields = (0..1000).map(|at| format!("f{at}: Option<Vec<&'static [u8; {at}]>>,"));
        assert!(is_accepted(&format!("struct Row {{ {} }}", fields.collect::<String>())));
        let pairs = "HashMap<&str, fn(&u8) -> Vec<u8>>, ".repeat(500);
        assert!(is_accepted(&field(&format!("({pairs})"))));
        let bounds = "T: Fn(&u8) -> u8, ".repeat(500);
        assert!(is_accepted(&format!("struct Row<T> where {bounds} {{ a: T }}")));
    }

    #[test]
    fn comparisons_of_an_expression_are_not_nested() {
        let list = vec!["a < b & !(c >= 5)"; 1000].join(" | ");
        assert!(check_expression(&list.parse().unwrap()).is_ok());
        let operators = vec!["-a - -b && !!(c) || !d"; 1000].join(" && ");
        assert!(check_expression(&operators.parse().unwrap()).is_ok());
        for (open, close) in
            [("(", ")"), ("!(", ")"), ("!", ""), ("- ", ""), ("& ", ""), ("*", ""), ("|| ", "")]
        {
            for before in ["", "b.v == "] {
                let nested = |levels| {
                    let text = before.to_owned()
                        + &open.repeat(levels)
                        + "(b.v == 1)"
                        + &close.repeat(levels);
                    check_expression(&text.parse().unwrap())
                };
                assert!(nested(100).is_ok(), "{before}{open}");
                for levels in [300, 3000, 100_000] {
                    assert!(nested(levels).is_err(), "{before}{open} {levels}");
                }
            }
        }
    }
}
