use std::fmt;

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt as _;
use syn::parse::ParseStream;
use syn::{Attribute, Lit, LitStr, Meta, Token};

use crate::errors::Errors;
use crate::typo;

/// What a `#[table(...)]` stands on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Struct,
    Field,
}

/// A word that can stand in `#[table(...)]`.
struct Key {
    name: &'static str,
    value: Value,
    place: Place,
    /// What to do about it in the other place.
    elsewhere: &'static str,
}

#[derive(Clone, Copy)]
enum Value {
    Never,
    Always,
    Optional,
}

#[rustfmt::skip]
const KEYS: [Key; 10] = {
    use Place::{Field, Struct};
    use Value::{Always, Never, Optional};
    const fn key(name: &'static str, value: Value, place: Place, elsewhere: &'static str) -> Key {
        Key { name, value, place, elsewhere }
    }
    [
        key("name", Always, Struct, "names the table: move it to the struct, or write `rename` to name a property"),
        key("rename_all", Always, Struct, "is for all fields: move it to the struct, or write `rename` to name a property"),
        key("crate", Always, Struct, "is for the whole struct: move it there"),
        key("partition_key", Never, Field, "marks a field: move it to the one that holds the key"),
        key("row_key", Never, Field, "marks a field: move it to the one that holds the key"),
        key("timestamp", Never, Field, "marks a field: move it to the one that receives the Timestamp"),
        key("etag", Never, Field, "marks a field: move it to the one that receives the ETag"),
        key("skip", Never, Field, "marks a field: move it to the one that is not stored"),
        key("rename", Always, Field, "names a property: move it to the field, or write `name` to name the table"),
        key("default", Optional, Field, "is for a field: move it to the one that a row may lack"),
    ]
};

impl Key {
    /// The key that `ident` is.
    ///
    /// A misspelled one counts as what it was meant to be, so that the mistake is not reported
    /// again as something missing.
    fn of(ident: &Ident, place: Place, errors: &mut Errors) -> Option<&'static Self> {
        let written = ident.to_string();
        if let Some(key) = Self::find(&written) {
            if key.place != place {
                errors.report(ident, format!("`{written}` {}", key.elsewhere));
                return None;
            }
            return Some(key);
        }
        let known = KEYS.iter().filter(|key| key.place == place).map(|key| key.name);
        errors.report(ident, typo::unknown("attribute", &written, known.clone()));
        typo::correct(&written, known).and_then(Self::find)
    }

    fn find(name: &str) -> Option<&'static Self> {
        KEYS.iter().find(|key| key.name == name)
    }

    /// How it is written.
    fn usage(&self) -> String {
        match self.value {
            Value::Never => format!("`{}` alone", self.name),
            Value::Always => format!("`{} = \"…\"`", self.name),
            Value::Optional => format!("`{0}` or `{0} = \"…\"`", self.name),
        }
    }

    /// Reads what follows `ident`, and refuses a value that is missing, or that should be.
    fn value(
        &self,
        ident: &Ident,
        input: ParseStream<'_>,
        errors: &mut Errors,
    ) -> syn::Result<Option<LitStr>> {
        let is_bare = input.is_empty() || input.peek(Token![,]);
        if is_bare && !matches!(self.value, Value::Always) {
            return Ok(None);
        }
        if input.parse::<Option<Token![=]>>()?.is_some()
            && !matches!(self.value, Value::Never)
            && let Ok(text) = input.parse()
        {
            return Ok(Some(text));
        }
        let problem = match self.value {
            Value::Never => "takes no value",
            Value::Always | Value::Optional => "takes text in quotes",
        };
        let rest = take_rest(input)?;
        errors.report(
            quote!(#ident #rest),
            format!("`{}` {problem}: write {}", self.name, self.usage()),
        );
        Ok(None)
    }
}

/// A key, and its value if it has one.
pub(crate) struct Item {
    key: &'static Key,
    ident: Ident,
    pub(crate) value: Option<LitStr>,
}

impl Item {
    pub(crate) fn name(&self) -> &'static str {
        self.key.name
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key.name)
    }
}

/// For the span only.
impl ToTokens for Item {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.ident.to_tokens(tokens);
        self.value.to_tokens(tokens);
    }
}

/// The items of all `#[table(...)]` in one place, each key at most once.
pub(super) struct Items(Vec<Item>);

impl Items {
    pub(super) fn read(attrs: &[Attribute], place: Place, errors: &mut Errors) -> Self {
        let mut items = Self(Vec::new());
        for attr in attrs.iter().filter(|attr| attr.path().is_ident("table")) {
            let Meta::List(list) = &attr.meta else {
                errors.report(&attr.meta, "parentheses are missing: write #[table(…)]");
                continue;
            };
            let parsed = list.parse_args_with(|input: ParseStream<'_>| {
                while !input.is_empty() {
                    if let Err(error) = items.read_one(input, place, errors) {
                        errors.push(error);
                    }
                    take_rest(input)?;
                    input.parse::<Option<Token![,]>>()?;
                }
                Ok(())
            });
            if let Err(error) = parsed {
                errors.push(error);
            }
        }
        items
    }

    /// Reads one item; of a faulty one, something may be left.
    fn read_one(
        &mut self,
        input: ParseStream<'_>,
        place: Place,
        errors: &mut Errors,
    ) -> syn::Result<()> {
        if input.peek(Lit) {
            let literal: Lit = input.parse()?;
            let key = if place == Place::Struct { "name" } else { "rename" };
            let message = format!("`{key}` is missing: write `{key} = {}`", quote!(#literal));
            return Err(syn::Error::new_spanned(literal, message));
        }
        let ident = input.call(Ident::parse_any)?;
        let Some(key) = Key::of(&ident, place, errors) else {
            return Ok(());
        };
        let value = key.value(&ident, input, errors)?;
        if !input.is_empty() && !input.peek(Token![,]) {
            errors.push(input.error("a comma is missing before this"));
        }
        let item = Item { key, ident, value };
        if self.0.iter().any(|known| known.name() == item.name()) {
            errors.report(&item, format!("`{item}` is there twice: remove one"));
        } else {
            self.0.push(item);
        }
        Ok(())
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Item> {
        let at = self.0.iter().position(|item| item.name() == name)?;
        Some(self.0.remove(at))
    }

    pub(super) fn text(&mut self, name: &str) -> Option<LitStr> {
        self.take(name)?.value
    }
}

/// What is left of an item.
fn take_rest(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut rest = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<TokenTree>()?.to_tokens(&mut rest);
    }
    Ok(rest)
}
