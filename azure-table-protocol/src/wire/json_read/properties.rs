//! The properties of one object, without a row.

use super::member::ANNOTATION;
use super::tokens::{Tokens, unquoted};
use crate::entity::RawProperty;

/// Passes each member of a flat object without white space to `take`, in order, together with the type annotation that
/// is next to it. The name may be any text, and may be repeated. Returns `None` if the object is unusual or `take` does;
/// [`read_row`](super::read_row) reads such objects.
pub fn read_properties<'de>(
    body: &'de [u8],
    mut take: impl FnMut(&'de str, RawProperty<'de>) -> Option<()>,
) -> Option<()> {
    let mut tokens = Tokens::new(std::str::from_utf8(body).ok()?)?;
    tokens.skip('{')?;
    loop {
        let mut name = unquoted(tokens.name()?);
        let mut property = RawProperty::default();
        let typed = name.strip_suffix(ANNOTATION);
        if let Some(typed) = typed {
            property.annotation = tokens.annotation()?;
            tokens.skip(',')?;
            name = unquoted(tokens.name()?);
            (name == typed).then_some(())?;
        }
        property.value = tokens.value()?;
        let mut has_next = tokens.has_next('}')?;
        if typed.is_none() && has_next && tokens.skip_annotation_of(name).is_some() {
            property.annotation = tokens.annotation()?;
            has_next = tokens.has_next('}')?;
        }
        take(name, property)?;
        if !has_next {
            return tokens.is_empty().then_some(());
        }
    }
}
