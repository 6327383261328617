//! The keys: one field each, or put together of several.

use std::collections::HashSet;

use proc_macro2::{Ident, Span};
use quote::ToTokens as _;
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;

use super::Field;
use crate::attr::{Item, KeyAttr};
use crate::errors::Errors;
use crate::key_format::{self, KeyForm, Piece};
use crate::typo;

/// The parts that a prefix can be made of.
const PARTS: usize = 6;

/// One of the two keys.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum KeyName {
    Partition,
    Row,
}

/// A key of the entity.
pub(crate) struct Key<'a> {
    pub(crate) name: KeyName,
    pub(crate) pieces: Vec<KeyPiece<'a>>,
    /// One field whose text is the key.
    pub(crate) is_single: bool,
    /// The span of the attribute or the field.
    pub(crate) span: Span,
}

pub(crate) enum KeyPiece<'a> {
    Literal(String),
    Part(Field<'a>, KeyForm),
}

impl<'a> Key<'a> {
    /// Whether the field is a part of the key.
    pub(crate) fn has(&self, field: &Field<'_>) -> bool {
        self.parts().any(|part| part.ident == field.ident)
    }

    pub(crate) fn parts(&self) -> impl Iterator<Item = &Field<'a>> + Clone {
        self.pieces.iter().filter_map(|piece| match piece {
            KeyPiece::Part(field, _) => Some(field),
            KeyPiece::Literal(_) => None,
        })
    }
}

/// The attributes of one key, on the struct and on fields.
pub(super) struct KeySource<'a> {
    name: KeyName,
    on_field: Option<Field<'a>>,
    on_struct: Option<&'a KeyAttr>,
}

impl<'a> KeySource<'a> {
    pub(super) fn new(name: KeyName, on_struct: Option<&'a KeyAttr>) -> Self {
        Self { name, on_field: None, on_struct }
    }

    /// Adds a field with the attribute of the key.
    pub(super) fn set(&mut self, field: Field<'a>, item: &Item, errors: &mut Errors) {
        if let Some(first) = &self.on_field {
            errors.report(
                item,
                format!(
                    "`{item}` is on `{}` already: remove one; a key of two fields is written on the struct, \
                     as #[table({item}({}, {}))]",
                    first.ident, first.ident, field.ident
                ),
            );
        } else if self.on_struct.is_some() {
            errors.report(item, format!("`{item}` is on the struct already: remove one of them"));
        } else {
            self.on_field = Some(field);
        }
    }

    pub(super) fn is_missing(&self) -> bool {
        self.on_field.is_none() && self.on_struct.is_none()
    }

    /// Returns the names of the fields that form the key.
    pub(super) fn named_fields(&self) -> Vec<String> {
        match self.on_struct {
            None => Vec::new(),
            Some(KeyAttr::Fields(_, fields)) => {
                fields.iter().map(|field| field.unraw().to_string()).collect()
            }
            Some(KeyAttr::Format(format)) => key_format::parse(&format.value())
                .unwrap_or_default()
                .into_iter()
                .filter_map(|piece| match piece {
                    Piece::Field { name, .. } => Some(name),
                    Piece::Literal(_) => None,
                })
                .collect(),
        }
    }

    /// The key; `fields` are all of the struct.
    pub(super) fn resolve(self, fields: &[Field<'a>], errors: &mut Errors) -> Option<Key<'a>> {
        let mut used = HashSet::new();
        let Some(on_struct) = self.on_struct else {
            let field = self.on_field?;
            let pieces = vec![KeyPiece::Part(field, KeyForm::Plain)];
            return Some(Key {
                name: self.name,
                pieces,
                is_single: true,
                span: field.ident.span(),
            });
        };
        let mut find = |name: &str, at: Span, errors: &mut Errors| {
            let known = Ident::new("key", at);
            let Some(field) = fields.iter().find(|field| field.ident.unraw() == name) else {
                let names: Vec<String> =
                    fields.iter().map(|field| field.ident.unraw().to_string()).collect();
                let names = names.iter().map(String::as_str);
                errors.report(known, typo::unknown("field", name, names));
                return None;
            };
            if !used.insert(name.to_owned()) {
                errors.report(known, format!("`{name}` is in this key already: write it once"));
                return None;
            }
            Some(*field)
        };
        let mut pieces = Vec::new();
        match on_struct {
            KeyAttr::Fields(item, names) => {
                if names.is_empty() {
                    errors.report(
                        item,
                        format!("`{item}` has no fields: name those that make up the key"),
                    );
                }
                for name in names {
                    if !pieces.is_empty() {
                        pieces.push(KeyPiece::Literal("!".to_owned()));
                    }
                    let field = find(&name.unraw().to_string(), name.span(), errors)?;
                    pieces.push(KeyPiece::Part(field, KeyForm::Escaped));
                }
            }
            KeyAttr::Format(format) => {
                let parsed = match key_format::parse(&format.value()) {
                    Ok(parsed) => parsed,
                    Err(message) => {
                        errors.report(format, message);
                        return None;
                    }
                };
                if let [Piece::Literal(text)] = &parsed[..]
                    && fields.iter().any(|field| field.ident.unraw() == text)
                {
                    errors.report(
                        format,
                        format!("this is the same key for every entity: write `{{{text}}}` for the field `{text}`"),
                    );
                }
                for piece in parsed {
                    pieces.push(match piece {
                        Piece::Literal(text) => KeyPiece::Literal(text),
                        Piece::Field { name, form } => {
                            KeyPiece::Part(find(&name, format.span(), errors)?, form)
                        }
                    });
                }
            }
        }
        let at = match on_struct {
            KeyAttr::Fields(item, _) => item.to_token_stream(),
            KeyAttr::Format(format) => format.to_token_stream(),
        };
        let key = Key { name: self.name, pieces, is_single: false, span: at.span() };
        if key.parts().count() > PARTS {
            errors.report(at, format!("a key has at most {PARTS} parts"));
        }
        Some(key)
    }
}
