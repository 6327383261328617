//! The attributes `#[table(...)]` of an item, a field or a variant.

use proc_macro2::Span;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, ExprLit, Lit, Meta, Token};

use super::items::problem;

/// The words in `#[table(...)]` that are not read yet.
#[derive(Debug)]
pub(super) struct Attributes(Vec<Word>);

#[derive(Debug)]
struct Word {
    name: String,
    /// The text of `name = "text"`.
    text: Option<String>,
    /// Whether the word has neither a text nor nothing: `row_key(a, b)`.
    is_list: bool,
    span: Span,
}

impl Attributes {
    pub(super) fn read(attributes: &[Attribute]) -> Result<Self, String> {
        let mut words = Vec::new();
        for attribute in attributes {
            if attribute.path().is_ident("cfg_attr") {
                return Err(problem(attribute.span(), &"cfg_attr is not supported by --check"));
            }
            if !attribute.path().is_ident("table") {
                continue;
            }
            let list = attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
            let list = list.map_err(|error| problem(error.span(), &error))?;
            words.extend(list.iter().map(Word::of));
        }
        Ok(Self(words))
    }

    /// Whether the attributes have this word alone or with a text.
    pub(super) fn has(&mut self, name: &str) -> bool {
        self.take(name).is_some()
    }

    /// The text of `name = "text"`.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        self.take(name)?.text
    }

    /// The texts of a word that can be repeated.
    pub(super) fn texts(&mut self, name: &str) -> Vec<String> {
        std::iter::from_fn(|| self.take(name)).filter_map(|word| word.text).collect()
    }

    /// Removes words without an effect on the rows that are read.
    pub(super) fn ignore(&mut self, names: &[&str]) {
        self.0.retain(|word| !names.contains(&&*word.name));
    }

    /// Refuses the words that were not read.
    pub(super) fn finish(self) -> Result<(), String> {
        match self.0.first() {
            None => Ok(()),
            Some(word) => {
                let message = format!("the attribute `{}` is not supported by --check", word.name);
                Err(problem(word.span, &message))
            }
        }
    }

    fn take(&mut self, name: &str) -> Option<Word> {
        let at = self.0.iter().position(|word| word.name == name && !word.is_list)?;
        Some(self.0.remove(at))
    }
}

impl Word {
    fn of(meta: &Meta) -> Self {
        let path = meta.path();
        let name =
            path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        let text = match meta {
            Meta::NameValue(pair) => match &pair.value {
                Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
                _ => None,
            },
            _ => None,
        };
        let is_list = text.is_none() && !matches!(meta, Meta::Path(_)) || name == "index";
        Self { name, text, is_list, span: path.span() }
    }
}
