use proc_macro2::Ident;
use syn::ext::IdentExt as _;
use syn::parse::ParseStream;
use syn::{LitStr, Token};

use crate::errors::{Errors, take_rest};
use crate::typo;

/// `index(by = "field", unique, in_partition)`
#[derive(Clone, Default)]
pub(crate) struct IndexOptions {
    /// The name of the field; `None` if it is missing, which was reported.
    pub(crate) by: Option<LitStr>,
    pub(crate) unique: bool,
    pub(crate) in_partition: bool,
}

const OPTIONS: [&str; 3] = ["by", "unique", "in_partition"];

impl IndexOptions {
    /// Reads the options in the parentheses after `index`.
    pub(super) fn read(
        index: &Ident,
        input: ParseStream<'_>,
        errors: &mut Errors,
    ) -> syn::Result<Self> {
        let mut options = Self::default();
        let mut is_by_written = false;
        while !input.is_empty() {
            let name = input.call(Ident::parse_any)?;
            let is_new = match &*name.to_string() {
                "by" => {
                    let field = input.parse::<Option<Token![=]>>()?.and_then(|_| field(input));
                    if field.is_none() {
                        errors.report(&name, "`by` takes a field: write `by = \"field\"`");
                    }
                    options.by = options.by.or(field);
                    !std::mem::replace(&mut is_by_written, true)
                }
                "unique" => !std::mem::replace(&mut options.unique, true),
                "in_partition" => !std::mem::replace(&mut options.in_partition, true),
                written => {
                    let known = OPTIONS.into_iter();
                    errors.report(&name, typo::unknown("option of an index", written, known));
                    take_rest(input)?;
                    true
                }
            };
            if !is_new {
                errors.report(&name, format!("`{name}` occurs twice: remove one"));
            }
            if !input.is_empty() && !input.peek(Token![,]) {
                errors.push(input.error("a comma is missing before this"));
                take_rest(input)?;
            }
            input.parse::<Option<Token![,]>>()?;
        }
        if !is_by_written {
            errors
                .report(index, "the field of the index is missing: write `index(by = \"field\")`");
        }
        Ok(options)
    }
}

/// Reads the name of a field, in quotes or without.
fn field(input: ParseStream<'_>) -> Option<LitStr> {
    if let Ok(text) = input.parse() {
        return Some(text);
    }
    let ident = input.call(Ident::parse_any).ok()?;
    Some(LitStr::new(&ident.unraw().to_string(), ident.span()))
}
