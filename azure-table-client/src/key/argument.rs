//! The arguments of the constructors `T::key(…)`, `T::partition(…)` and `T::row_prefix(…)`.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

use super::{Descending, KeyError, KeyPart, TickKey};

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

        #[diagnostic::do_not_recommend]
        impl BoundArgument<$type> for &str {
            fn bound_text(&self) -> Result<Cow<'_, str>, KeyError> {
                Ok(Cow::Borrowed(self))
            }
        }

        #[diagnostic::do_not_recommend]
        impl BoundArgument<$type> for &&str {
            fn bound_text(&self) -> Result<Cow<'_, str>, KeyError> {
                Ok(Cow::Borrowed(self))
            }
        }
    )*};
}

text!(String, Cow<'static, str>, Box<str>, Arc<str>);

#[diagnostic::do_not_recommend]
impl KeyArgument<super::Escaped> for &str {
    fn key_text(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(super::escape(self))
    }
}

#[diagnostic::do_not_recommend]
impl BoundArgument<super::Escaped> for &str {
    fn bound_text(&self) -> Result<Cow<'_, str>, KeyError> {
        Ok(super::escape(self))
    }
}

/// A value that bounds the part of a key of type `T` in stored order: a `T`, a reference to one, or `&str` for text.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot bound a key field of type `{T}`",
    label = "not a `{T}`",
    note = "give a value of the field's type; a `Descending` field is bounded by `Descending(x)`, in stored order"
)]
#[doc(hidden)]
pub trait BoundArgument<T> {
    /// Returns the key's text.
    fn bound_text(&self) -> Result<Cow<'_, str>, KeyError>;
}

#[diagnostic::do_not_recommend]
impl<T: KeyPart> BoundArgument<T> for T {
    fn bound_text(&self) -> Result<Cow<'_, str>, KeyError> {
        self.to_key()
    }
}

#[diagnostic::do_not_recommend]
impl<T: KeyPart> BoundArgument<T> for &T {
    fn bound_text(&self) -> Result<Cow<'_, str>, KeyError> {
        self.to_key()
    }
}

/// A part that a key format stores in reverse order, such as `{year:inv4}`.
#[doc(hidden)]
#[derive(Debug)]
pub struct Inverse<T>(PhantomData<T>);

#[diagnostic::do_not_recommend]
impl<T, A: KeyArgument<T>> KeyArgument<Inverse<T>> for A {
    fn key_text(&self) -> Result<Cow<'_, str>, KeyError> {
        self.key_text()
    }
}

#[diagnostic::do_not_recommend]
impl<T, A: KeyArgument<T>> BoundArgument<Inverse<T>> for Descending<A> {
    fn bound_text(&self) -> Result<Cow<'_, str>, KeyError> {
        self.0.key_text()
    }
}

/// A part of type `T` with `#[table(on_inexact = "error")]`.
#[doc(hidden)]
#[derive(Debug)]
pub struct ExactTime<T>(PhantomData<T>);

#[diagnostic::do_not_recommend]
impl<T, A: KeyArgument<T> + TickKey> KeyArgument<ExactTime<T>> for A {
    fn key_text(&self) -> Result<Cow<'_, str>, KeyError> {
        self.check_ticks("the time")?;
        KeyArgument::<T>::key_text(self)
    }
}

#[diagnostic::do_not_recommend]
impl<T, A: BoundArgument<T> + TickKey> BoundArgument<ExactTime<T>> for A {
    fn bound_text(&self) -> Result<Cow<'_, str>, KeyError> {
        self.check_ticks("the time")?;
        BoundArgument::<T>::bound_text(self)
    }
}

/// A part whose greater values come first.
#[doc(hidden)]
pub trait Reversed {}

impl<T> Reversed for Descending<T> {}
impl<T> Reversed for Inverse<T> {}
impl<T: Reversed> Reversed for ExactTime<T> {}
