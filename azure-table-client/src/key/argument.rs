//! The arguments of the constructors `T::key(…)`, `T::partition(…)` and `T::row_prefix(…)`.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Descending, KeyError, KeyLayout, KeyPart, KeyRange};

/// A value that can be given for a key field of type `T`: a `T`, a reference to one, `&str` for
/// text, and the value itself for a [`Descending`] one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be given for a key field of type `{T}`",
    label = "not a `{T}`",
    note = "give a value of the field's type or a reference to one"
)]
pub trait KeyArgument<T> {
    /// The key's text.
    ///
    /// # Errors
    /// The value has no text form.
    fn key_text(&self) -> Result<Cow<'_, str>, KeyError>;
}

#[diagnostic::do_not_recommend]
impl<T: KeyPart> KeyArgument<T> for T {
    fn key_text(&self) -> Result<Cow<'_, str>, KeyError> {
        self.to_key()
    }
}

#[diagnostic::do_not_recommend]
impl<T: KeyPart> KeyArgument<T> for &T {
    fn key_text(&self) -> Result<Cow<'_, str>, KeyError> {
        self.to_key()
    }
}

#[diagnostic::do_not_recommend]
impl<T: Copy> KeyArgument<Descending<T>> for T
where
    Descending<T>: KeyPart,
{
    fn key_text(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Owned(Descending(*self).to_key()?.into_owned()))
    }
}

#[diagnostic::do_not_recommend]
impl<T: Copy> KeyArgument<Descending<T>> for &T
where
    Descending<T>: KeyPart,
{
    fn key_text(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(Cow::Owned(Descending(**self).to_key()?.into_owned()))
    }
}

macro_rules! text {
    ($($type:ty),*) => {$(
        #[diagnostic::do_not_recommend]
        impl KeyArgument<$type> for &str {
            fn key_text(&self) -> Result<Cow<'_, str>, KeyError> {
                Ok(Cow::Borrowed(self))
            }
        }

        #[diagnostic::do_not_recommend]
        impl KeyArgument<$type> for &&str {
            fn key_text(&self) -> Result<Cow<'_, str>, KeyError> {
                Ok(Cow::Borrowed(self))
            }
        }
    )*};
}

text!(String, Cow<'static, str>, Box<str>, Arc<str>);

#[diagnostic::do_not_recommend]
impl KeyArgument<super::Escaped> for &str {
    fn key_text(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(super::escape::escape(self))
    }
}

/// The beginning of a key whose parts are the tuple `P`: a text with which the first part begins,
/// or a tuple of whole leading parts, `(a,)` or `(a, b)` and so on.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the beginning of a key of the parts `{P}`",
    label = "not the leading parts",
    note = "give a text with which the first part begins, or a tuple of whole leading parts, such as `(a,)` or `(a, b)`"
)]
#[doc(hidden)]
pub trait KeyParts<P> {
    /// Returns the keys with this beginning.
    fn range(&self, layout: KeyLayout) -> Result<KeyRange, KeyError>;
}

macro_rules! leading_parts {
    (@each ($($part:ident)*) [$($done:tt)*]) => {};
    (@each ($($part:ident)*) [$($done:tt)*] $next:tt $($rest:tt)*) => {
        leading_parts!(@tuple ($($part)*) $($done)* $next);
        leading_parts!(@each ($($part)*) [$($done)* $next] $($rest)*);
    };
    (@tuple ($($part:ident)*) $([$given:ident $own:ident $at:tt])*) => {
        #[diagnostic::do_not_recommend]
        impl<$($part,)* $($given: KeyArgument<$own>),*> KeyParts<($($part,)*)> for ($($given,)*) {
            fn range(&self, layout: KeyLayout) -> Result<KeyRange, KeyError> {
                layout.range(&[$(self.$at.key_text()?),*], None)
            }
        }
    };
    (@text ($($part:ident)*) $text:ty) => {
        #[diagnostic::do_not_recommend]
        impl<$($part),*> KeyParts<($($part,)*)> for $text {
            fn range(&self, layout: KeyLayout) -> Result<KeyRange, KeyError> {
                layout.range(&[], Some(self))
            }
        }
    };
    ($([$given:ident $part:ident $at:tt])*) => {
        leading_parts!(@text ($($part)*) &str);
        leading_parts!(@text ($($part)*) &String);
        leading_parts!(@text ($($part)*) String);
        leading_parts!(@each ($($part)*) [] $([$given $part $at])*);
    };
}

leading_parts!([A P1 0]);
leading_parts!([A P1 0] [B P2 1]);
leading_parts!([A P1 0] [B P2 1] [C P3 2]);
leading_parts!([A P1 0] [B P2 1] [C P3 2] [D P4 3]);
leading_parts!([A P1 0] [B P2 1] [C P3 2] [D P4 3] [E P5 4]);
leading_parts!([A P1 0] [B P2 1] [C P3 2] [D P4 3] [E P5 4] [F P6 5]);

/// The argument for a whole key with the parts `P`: one value for a single part, otherwise a tuple of values.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be given for a key of the parts `{P}`",
    label = "not of these types",
    note = "give a value of the type of the only part, or a tuple with one for each part, or references to such"
)]
#[doc(hidden)]
pub trait WholeKey<P> {
    /// Returns the key.
    fn key(&self, layout: KeyLayout) -> Result<String, KeyError>;
}

#[diagnostic::do_not_recommend]
impl<P, A: KeyArgument<P>> WholeKey<(P,)> for A {
    fn key(&self, layout: KeyLayout) -> Result<String, KeyError> {
        layout.write(&[self.key_text()?])
    }
}

macro_rules! whole_key {
    ($([$given:ident $part:ident $at:tt])*) => {
        #[diagnostic::do_not_recommend]
        impl<$($part,)* $($given: KeyArgument<$part>),*> WholeKey<($($part,)*)> for ($($given,)*) {
            fn key(&self, layout: KeyLayout) -> Result<String, KeyError> {
                layout.write(&[$(self.$at.key_text()?),*])
            }
        }
    };
}

whole_key!([A P1 0] [B P2 1]);
whole_key!([A P1 0] [B P2 1] [C P3 2]);
whole_key!([A P1 0] [B P2 1] [C P3 2] [D P4 3]);
whole_key!([A P1 0] [B P2 1] [C P3 2] [D P4 3] [E P5 4]);
whole_key!([A P1 0] [B P2 1] [C P3 2] [D P4 3] [E P5 4] [F P6 5]);
