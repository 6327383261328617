//! The attributes `#[table(...)]` of an item, a field or a variant.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Attribute, Expr, ExprLit, Lit, Meta, Token};

use super::items::problem;

/// The words in `#[table(...)]` that are not read yet.
#[derive(Debug)]
pub(super) struct Attributes(Vec<Word>);

/// A key in an attribute of a struct.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) fields: Vec<String>,
    /// The text of a key without fields.
    pub(super) constant: Option<String>,
}

/// A word in `#[table(...)]`.
#[derive(Debug)]
pub(super) struct Word {
    name: String,
    /// The text of `name = "text"`.
    pub(super) text: Option<String>,
    /// The names in `row_key(a, b)`.
    list: Option<Vec<String>>,
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

    /// Removes a word, and returns whether the attributes had it.
    pub(super) fn has(&mut self, name: &str) -> bool {
        self.take(name).is_some()
    }

    /// Whether the attributes have this word.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|word| word.name == name)
    }

    /// The fields of a key, `row_key(a, b)` or `row_key = "{a}_{b}"`, or its constant text.
    pub(super) fn key(&mut self, name: &str) -> Option<Key> {
        let word = self.take(name)?;
        let Some(format) = word.text else {
            return Some(Key { fields: word.list.unwrap_or_default(), constant: None });
        };
        // Two braces are the character itself.
        let places = format.replace("{{", "");
        let names = places.split('{').skip(1).filter_map(|part| part.split(['}', ':']).next());
        let fields: Vec<_> = names.map(str::to_owned).collect();
        let constant = || format.replace("{{", "{").replace("}}", "}");
        Some(Key { constant: fields.is_empty().then(constant), fields })
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

    /// Removes a word.
    pub(super) fn take(&mut self, name: &str) -> Option<Word> {
        let at = self.0.iter().position(|word| word.name == name)?;
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
        let list = match meta {
            Meta::List(list) => Some(names_of(list.tokens.clone())),
            _ => None,
        };
        Self { name, text, list, span: path.span() }
    }
}

/// The names in a list.
fn names_of(list: TokenStream) -> Vec<String> {
    let names = list.into_iter().filter_map(|token| match token {
        TokenTree::Ident(ident) => Some(ident.unraw().to_string()),
        _ => None,
    });
    names.collect()
}
