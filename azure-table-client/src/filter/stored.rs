//! The stored values of columns, and the values to compare them with.

use std::borrow::Cow;
use std::sync::Arc;

use crate::edm::{ConvertError, DateTimeValue, EdmCow, EdmValue, OrderedEdm, ToEdm};
use crate::entity::codec::{
    AsI32, AsI64, AsPadded, AsString, Exact, Integral, Padded, Textual, exact,
};

/// The default codec, which stores values as the Edm type of their Rust type.
#[derive(Debug, Clone, Copy)]
pub struct AsIs;

/// A codec for values of type `T`. Filters compare with the stored values.
pub trait ColumnCodec<T> {
    /// Returns the stored value; `None` if the property is omitted.
    ///
    /// # Errors
    /// The value has no stored form.
    fn encode(value: &T) -> Result<Option<EdmValue>, ConvertError>;

    /// Returns the other texts that are read as this value.
    fn aliases(_: &T) -> Vec<Cow<'static, str>> {
        Vec::new()
    }
}

/// Returns the stored value, for generated codecs.
///
/// # Errors
/// The service cannot store the value.
#[doc(hidden)]
pub fn stored<R: ToEdm>(value: &R) -> Result<Option<EdmValue>, ConvertError> {
    Ok(value.to_edm()?.map(EdmCow::into_value))
}

impl<T: ToEdm> ColumnCodec<T> for AsIs {
    fn encode(value: &T) -> Result<Option<EdmValue>, ConvertError> {
        stored(value)
    }

    fn aliases(value: &T) -> Vec<Cow<'static, str>> {
        value.aliases()
    }
}

impl<T: Textual> ColumnCodec<T> for AsString {
    fn encode(value: &T) -> Result<Option<EdmValue>, ConvertError> {
        stored(&value.to_text()?)
    }
}

impl<T: Padded> ColumnCodec<T> for AsPadded {
    fn encode(value: &T) -> Result<Option<EdmValue>, ConvertError> {
        stored(&value.to_padded()?)
    }
}

impl<T: Integral<i32>> ColumnCodec<T> for AsI32 {
    fn encode(value: &T) -> Result<Option<EdmValue>, ConvertError> {
        stored(&value.to_integer()?)
    }
}

impl<T: Integral<i64>> ColumnCodec<T> for AsI64 {
    fn encode(value: &T) -> Result<Option<EdmValue>, ConvertError> {
        stored(&value.to_integer()?)
    }
}

impl<T: DateTimeValue> ColumnCodec<T> for Exact {
    fn encode(value: &T) -> Result<Option<EdmValue>, ConvertError> {
        stored(&exact::encode(value)?)
    }
}

/// A codec whose stored values have the same order as the values.
#[diagnostic::on_unimplemented(
    message = "a property of type `{T}` has no order in the service",
    label = "no `<`, `<=`, `>`, `>=` or `between` in the service",
    note = "compare by `eq`, `ne` or `is_in`; a column of type `bool` is a condition by itself",
    note = "numbers, date-times and text have an order, and so has what `as_padded`, `as_i32` and `as_i64` store"
)]
#[doc(hidden)]
pub trait OrderedCodec<T>: ColumnCodec<T> {}

#[diagnostic::do_not_recommend]
impl<T: OrderedEdm> OrderedCodec<T> for AsIs {}
#[diagnostic::do_not_recommend]
impl<T: Padded> OrderedCodec<T> for AsPadded {}
#[diagnostic::do_not_recommend]
impl<T: Integral<i32>> OrderedCodec<T> for AsI32 {}
#[diagnostic::do_not_recommend]
impl<T: Integral<i64>> OrderedCodec<T> for AsI64 {}
#[diagnostic::do_not_recommend]
impl<T: DateTimeValue> OrderedCodec<T> for Exact {}

/// A value to compare a column of type `T` with: a `T`, a reference to one, or `&str` for text.
#[diagnostic::on_unimplemented(
    message = "a property of type `{T}` cannot be compared with `{Self}`",
    label = "not a `{T}`",
    note = "compare with a value of the field's type, without `Some`, or a reference to one: text `\"abc\"`, an integer `3`, an f64 `3.0`",
    note = "`None` is not a value to compare with: the service cannot find rows without a property; the compiler's message for `is_none()` states what to do instead",
    note = "a field with #[table(as_json)] cannot be compared: store the value that a filter needs in a property of its own"
)]
pub trait Literal<T, C> {
    /// Returns the stored value; `None` if the property is omitted.
    ///
    /// # Errors
    /// The value has no stored form.
    fn literal(&self) -> Result<Option<EdmValue>, ConvertError>;

    /// Returns the other texts that are read as this value.
    fn aliases(&self) -> Vec<Cow<'static, str>> {
        Vec::new()
    }
}

#[diagnostic::do_not_recommend]
impl<T, C: ColumnCodec<T>> Literal<T, C> for T {
    fn literal(&self) -> Result<Option<EdmValue>, ConvertError> {
        C::encode(self)
    }

    fn aliases(&self) -> Vec<Cow<'static, str>> {
        C::aliases(self)
    }
}

#[diagnostic::do_not_recommend]
impl<T, C: ColumnCodec<T>> Literal<T, C> for &T {
    fn literal(&self) -> Result<Option<EdmValue>, ConvertError> {
        C::encode(self)
    }

    fn aliases(&self) -> Vec<Cow<'static, str>> {
        C::aliases(self)
    }
}

#[diagnostic::do_not_recommend]
impl<T: ToEdm> Literal<Option<T>, AsIs> for T {
    fn literal(&self) -> Result<Option<EdmValue>, ConvertError> {
        stored(self)
    }

    fn aliases(&self) -> Vec<Cow<'static, str>> {
        ToEdm::aliases(self)
    }
}

macro_rules! text_literals {
    ($($type:ty),*) => {$(
        #[diagnostic::do_not_recommend]
        impl Literal<$type, AsIs> for &str {
            fn literal(&self) -> Result<Option<EdmValue>, ConvertError> {
                Ok(Some(EdmValue::String((*self).to_owned())))
            }
        }
    )*};
}

text_literals!(String, Cow<'static, str>, Box<str>, Arc<str>);
