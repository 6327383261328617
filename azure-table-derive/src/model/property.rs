//! Fields that are stored, and by which rules.

use std::collections::HashMap;

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, format_ident};
use syn::ext::IdentExt as _;
use syn::{ExprPath, GenericArgument, LitStr, PathArguments, Type};

use super::Field;
use crate::attr::{Accept, Codec, DefaultValue, FieldAttrs, Item, Policy, Reading, Role};
use crate::errors::Errors;
use crate::name;
use crate::rename::RenameRule;

/// The maximum number of properties of an entity, besides its keys and its Timestamp.
const PROPERTIES: usize = 252;

/// A field that is one property.
pub(crate) struct Property<'a> {
    pub(crate) field: Field<'a>,
    pub(crate) name: String,
    pub(crate) aliases: Vec<String>,
    pub(crate) default: Option<DefaultValue>,
    pub(crate) skip_if: Option<ExprPath>,
    pub(crate) codec: Option<Codec>,
    pub(crate) read_only: bool,
    pub(crate) reading: Reading,
    /// The field is read from a key, and the property is compared with it.
    pub(crate) is_copy: bool,
    /// The name of the column, if it is not that of the field.
    pub(crate) column: Option<Ident>,
}

/// A field that is stored as several properties, after the fields that are one property.
pub(crate) struct Block<'a> {
    pub(crate) field: Field<'a>,
    pub(crate) kind: BlockKind,
    /// The value if the row has no property of the field.
    pub(crate) default: Option<DefaultValue>,
    pub(crate) accept: Option<Accept>,
}

pub(crate) enum BlockKind {
    Flatten { prefix: String },
    Series { prefix: String, digits: usize },
    Split { name: String },
}

impl Property<'_> {
    /// Whether `Default::default()` of its type is what some policy takes.
    pub(crate) fn uses_default_of_type(&self, shared: &Reading) -> bool {
        let takes_default = |policy: &(Policy, LitStr)| policy.0 != Policy::Error;
        let own = self.reading.policies().any(takes_default);
        match self.default {
            Some(DefaultValue::Trait) => true,
            Some(DefaultValue::Function(_)) => false,
            None => {
                self.inner_of_option().is_none() && (own || shared.policies().any(takes_default))
            }
        }
    }

    /// The type within an `Option`, if it is written as one.
    pub(crate) fn inner_of_option(&self) -> Option<&Type> {
        inner_of_option(self.field.ty)
    }
}

pub(crate) fn inner_of_option(ty: &Type) -> Option<&Type> {
    let path = match ty {
        Type::Path(path) => path,
        // A type that was passed to a macro is inside an invisible group.
        Type::Group(group) => return inner_of_option(&group.elem),
        Type::Paren(paren) => return inner_of_option(&paren.elem),
        _ => return None,
    };
    let last = path.path.segments.last()?;
    match &last.arguments {
        PathArguments::AngleBracketed(arguments) if last.ident == "Option" => {
            match arguments.args.first()? {
                GenericArgument::Type(inner) => Some(inner),
                _ => None,
            }
        }
        _ => None,
    }
}

fn refuse_nested_option(field: Field<'_>, errors: &mut Errors) {
    if inner_of_option(field.ty).and_then(inner_of_option).is_some() {
        errors.report(
            field.ty,
            "an Option in an Option is read as one of them, since a row has a property or not: write one Option; \
             for three cases, write an enum with #[derive(TableEnum)]",
        );
    }
}

/// The properties so far.
pub(super) struct Properties<'a> {
    rename_all: RenameRule,
    pub(super) list: Vec<Property<'a>>,
    pub(super) blocks: Vec<Block<'a>>,
    fields_by_name: HashMap<String, &'a Ident>,
}

impl<'a> Properties<'a> {
    pub(super) fn of(rename_all: RenameRule) -> Self {
        Self { rename_all, list: Vec::new(), blocks: Vec::new(), fields_by_name: HashMap::new() }
    }

    /// Returns the name of the stored property, and the tokens that declare it.
    fn name(&self, field: Field<'a>, rename: Option<LitStr>) -> (String, TokenStream) {
        match rename {
            Some(rename) => (rename.value(), rename.into_token_stream()),
            None => {
                // A raw identifier is stored without its `r#`.
                let name = self.rename_all.apply(&field.ident.unraw().to_string());
                (name, field.ident.to_token_stream())
            }
        }
    }

    /// Takes a name for a field, unless it cannot be one or another field has it.
    fn claim(&mut self, name: &str, field: Field<'a>, at: &TokenStream, errors: &mut Errors) {
        let ident = field.ident;
        if let Err(message) = name::check_property(name) {
            errors.report(at, message);
        } else if let Some(first) = self.fields_by_name.insert(name.to_owned(), ident) {
            let message = if first == ident {
                format!("`{ident}` has the name `{name}` already: remove one")
            } else {
                format!(
                    "`{first}` and `{ident}` are both stored as `{name}`: \
                     give one of them another name with #[table(rename = \"…\")]"
                )
            };
            errors.report(at, message);
        }
    }

    /// Adds a field that is part of a key, and a property too. A key of one field has the column of the field's name.
    pub(super) fn add_copy(
        &mut self,
        field: Field<'a>,
        attrs: FieldAttrs,
        is_whole_key: bool,
        errors: &mut Errors,
    ) {
        let (name, named_at) = self.name(field, attrs.rename);
        self.claim(&name, field, &named_at, errors);
        let column = is_whole_key.then(|| format_ident!("{}_property", field.ident.unraw()));
        self.list.push(Property {
            field,
            name,
            aliases: Vec::new(),
            default: None,
            skip_if: None,
            codec: attrs.codec,
            read_only: false,
            reading: Reading::default(),
            is_copy: true,
            column,
        });
    }

    pub(super) fn add(&mut self, field: Field<'a>, attrs: FieldAttrs, errors: &mut Errors) {
        refuse_nested_option(field, errors);
        let (name, named_at) = self.name(field, attrs.rename);
        self.claim(&name, field, &named_at, errors);
        for alias in &attrs.aliases {
            self.claim(&alias.value(), field, &alias.to_token_stream(), errors);
        }
        let property = Property {
            field,
            name,
            aliases: attrs.aliases.iter().map(LitStr::value).collect(),
            default: attrs.default,
            skip_if: attrs.skip_if,
            codec: attrs.codec,
            read_only: attrs.read_only,
            reading: attrs.reading,
            is_copy: false,
            column: None,
        };
        let is_option = property.inner_of_option().is_some();
        if let Some(function) = &property.skip_if {
            if property.default.is_none() && !is_option && property.reading.missing.is_none() {
                errors.report(
                    function,
                    "a property that is left out is missing when it is read: \
                     give the field a `default` as well, or make it an Option",
                );
            }
            if property.read_only {
                errors
                    .report(function, "a `read_only` property is never written: remove `skip_if`");
            }
        }
        for (policy, text) in property.reading.policies() {
            if *policy == Policy::None && !is_option {
                errors.report(
                    text,
                    "`none` needs a field that is an Option: make it one, or write `default`",
                );
            }
        }
        self.list.push(property);
    }

    pub(super) fn add_block(
        &mut self,
        field: Field<'a>,
        attrs: FieldAttrs,
        role: &Role,
        item: &Item,
        errors: &mut Errors,
    ) {
        refuse_nested_option(field, errors);
        let (default, accept) = (attrs.default, attrs.reading.accept);
        let kind = match role {
            Role::Flatten => {
                let prefix = item.text().map(LitStr::value).unwrap_or_default();
                if !prefix.is_empty()
                    && let Err(message) = name::check_property(&prefix)
                {
                    errors.report(item, message);
                }
                BlockKind::Flatten { prefix }
            }
            Role::Series => {
                let (name, named_at) = self.name(field, attrs.rename.clone());
                let (prefix, digits, at) = match item.text() {
                    None => (name, 2, named_at),
                    Some(template) => {
                        if let Some(rename) = &attrs.rename {
                            errors.report(
                                rename,
                                "the names are written in `series` already: remove `rename`",
                            );
                        }
                        let Some((prefix, digits)) = series(&template.value()) else {
                            errors.report(template, "write the name with the place of the number at its end, such as `Cpu{:02}` or `Cpu{}`");
                            return;
                        };
                        (prefix, digits, template.to_token_stream())
                    }
                };
                if let Err(message) = name::check_property(&prefix) {
                    errors.report(at, message);
                }
                BlockKind::Series { prefix, digits }
            }
            _ => {
                let (name, named_at) = self.name(field, attrs.rename);
                self.claim(&name, field, &named_at, errors);
                BlockKind::Split { name }
            }
        };
        self.blocks.push(Block { field, kind, default, accept });
    }

    pub(super) fn check(&self, errors: &mut Errors) {
        if let Some(excess) = self.list.get(PROPERTIES) {
            let message = format!(
                "an entity has at most {PROPERTIES} properties and this one would have {}: \
                 mark the fields to leave out with #[table(skip)]",
                self.list.len()
            );
            errors.report(excess.field.ident, message);
        }
    }
}

/// `Cpu{:02}` as prefix and number of digits.
fn series(template: &str) -> Option<(String, usize)> {
    let (prefix, place) = template.strip_suffix('}')?.split_once('{')?;
    let digits = match place.strip_prefix(":0") {
        Some(digits) => digits.parse().ok().filter(|digits| (1..=9).contains(digits))?,
        None if place.is_empty() => 1,
        None => return None,
    };
    Some((prefix.to_owned(), digits))
}
