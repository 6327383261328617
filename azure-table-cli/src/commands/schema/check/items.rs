//! The structs and enums of a Rust file that have a derive of the client.
//!
//! Only these are parsed: the parser of the expressions in functions would recurse as deep as they are nested, and an
//! overflow of the stack ends the program without a message.

use std::str::FromStr as _;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::DeriveInput;

/// The derives whose items are parsed.
const DERIVES: [&str; 4] = ["TableEntity", "TableEnum", "TableValue", "PropertyGroup"];
/// The most levels of nested groups and angle brackets in an item.
const MAX_DEPTH: usize = 32;
/// The most tokens without a comma or a semicolon in a group: prefixes such as `&` nest types without a group.
const MAX_RUN: usize = 256;
/// The most levels of modules.
const MAX_MODULES: usize = 32;

/// Returns the items of a file and of its modules.
pub(super) fn read(text: &str) -> Result<Vec<DeriveInput>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let tokens = TokenStream::from_str(text).map_err(|error| problem(error.span(), &error))?;
    let mut items = Vec::new();
    let mut modules = vec![(tokens, 0)];
    while let Some((tokens, level)) = modules.pop() {
        for item in split(tokens) {
            if let Some(TokenTree::Group(body)) = item.last().filter(|_| has_word(&item, "mod"))
                && level < MAX_MODULES
            {
                modules.push((body.stream(), level + 1));
            } else if is_derived(&item) {
                items.push(parse(item)?);
            }
        }
    }
    Ok(items)
}

fn parse(item: Vec<TokenTree>) -> Result<DeriveInput, String> {
    let span = item.first().map_or_else(proc_macro2::Span::call_site, TokenTree::span);
    let tokens: TokenStream = item.into_iter().collect();
    if is_too_deep(tokens.clone()) {
        return Err(problem(span, &"a struct or enum is nested too deeply for --check"));
    }
    syn::parse2(tokens).map_err(|error| problem(error.span(), &error))
}

/// The message with its line.
pub(super) fn problem(span: proc_macro2::Span, message: &impl ToString) -> String {
    format!("line {}: {}", span.start().line, message.to_string())
}

/// Splits the tokens of a file or a module into items, which end with a semicolon or braces. Attributes of the module
/// itself are left out.
fn split(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let mut items = vec![Vec::new()];
    for token in tokens {
        let is_end = match &token {
            TokenTree::Punct(punct) => punct.as_char() == ';',
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            _ => false,
        };
        let is_attribute =
            matches!(&token, TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket);
        if let Some(item) = items.last_mut() {
            item.push(token);
            if is_attribute && item.len() == 3 && is_punct(&item[0], '#') && is_punct(&item[1], '!')
            {
                item.clear();
            }
        }
        if is_end {
            items.push(Vec::new());
        }
    }
    items
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

fn has_word(item: &[TokenTree], word: &str) -> bool {
    item.iter().any(|token| matches!(token, TokenTree::Ident(ident) if ident == word))
}

/// Whether an attribute of the item derives one of [`DERIVES`].
fn is_derived(item: &[TokenTree]) -> bool {
    let attributes = item.windows(2).filter(|pair| is_punct(&pair[0], '#'));
    let mut groups = attributes.filter_map(|pair| match &pair[1] {
        TokenTree::Group(group) => Some(group.stream().into_iter().collect::<Vec<_>>()),
        _ => None,
    });
    groups.any(|attribute| match &attribute[..] {
        [TokenTree::Ident(name), TokenTree::Group(list)] if name == "derive" => {
            let list: Vec<_> = list.stream().into_iter().collect();
            DERIVES.iter().any(|derive| has_word(&list, derive))
        }
        _ => false,
    })
}

fn is_too_deep(tokens: TokenStream) -> bool {
    let mut groups = vec![(tokens, 0)];
    while let Some((tokens, outer)) = groups.pop() {
        let (mut angles, mut run, mut is_attribute) = (0_usize, 0_usize, false);
        for token in tokens {
            // A field may have any number of attributes, such as lines of documentation.
            run = if is_attribute { 0 } else { run + 1 };
            is_attribute = is_punct(&token, '#');
            match &token {
                TokenTree::Punct(punct) => match punct.as_char() {
                    '<' => angles += 1,
                    '>' => angles = angles.saturating_sub(1),
                    ',' | ';' => run = 0,
                    _ => {}
                },
                TokenTree::Group(group) => groups.push((group.stream(), outer + angles + 1)),
                _ => {}
            }
            if outer + angles > MAX_DEPTH || run > MAX_RUN {
                return true;
            }
        }
    }
    false
}
