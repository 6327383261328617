//! Types whose stored values the service can put in order, for typed filters.

use std::borrow::Cow;
use std::sync::Arc;

use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};

use super::{EdmDateTime, TableValue, ToEdm};

/// A type whose Edm values have the same order as its values.
#[doc(hidden)]
pub trait OrderedEdm: ToEdm {}

macro_rules! ordered {
    ($($type:ty),*) => {$(impl OrderedEdm for $type {})*};
}

ordered!(
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    f32,
    f64,
    EdmDateTime,
    DateTime<Utc>,
    NaiveDate,
    NaiveDateTime,
    String,
    Cow<'static, str>,
    Box<str>,
    Arc<str>
);

impl<T: OrderedEdm> OrderedEdm for Option<T> {}

#[diagnostic::do_not_recommend]
impl<T: TableValue<Inner: OrderedEdm>> OrderedEdm for T {}

/// A type that is text.
#[diagnostic::on_unimplemented(
    message = "a property of type `{Self}` is not text, and has no beginning",
    label = "`starts_with` is for text",
    note = "compare numbers and date-times by `eq(3)`, `ge(30)`, `lt(40)` or `between(30, 39)`, inclusive"
)]
#[doc(hidden)]
pub trait TextEdm: ToEdm {}

impl TextEdm for String {}
impl TextEdm for Cow<'static, str> {}
impl TextEdm for Box<str> {}
impl TextEdm for Arc<str> {}
impl<T: TextEdm> TextEdm for Option<T> {}

#[diagnostic::do_not_recommend]
impl<T: TableValue<Inner: TextEdm>> TextEdm for T {}
