//! The attributes `#[table(...)]`.

mod container;
mod field;
mod index;
mod item;
mod policy;
mod variant;

pub(crate) use container::{ContainerAttrs, Discriminator, KeyAttr};
pub(crate) use field::{Codec, DefaultValue, FieldAttrs, ProjectedAttrs, Role, TableAttrs};
pub(crate) use index::IndexOptions;
pub(crate) use item::{Item, Place};
pub(crate) use policy::{Accept, Policy, Reading};
pub(crate) use variant::{VariantAttrs, held_type};
