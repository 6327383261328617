//! Keys, ranges of keys and bounds of ranges from the values of their parts.

use super::argument::{BoundArgument, KeyArgument, Reversed};
use super::{KeyError, KeyLayout, KeyRange, LeadingKeys};

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

/// Marks a key that is given as the value of its only part.
#[doc(hidden)]
#[derive(Debug)]
pub struct OnlyPart;

/// Marks a key that is given as a tuple of its parts.
#[doc(hidden)]
#[derive(Debug)]
pub struct Parts;

/// The argument for a whole key with the parts `P`: a tuple of values, or the value of the only part. `F` marks which.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be given for a key of the parts `{P}`",
    label = "not of these types",
    note = "give a value of the type of the only part, or a tuple with one for each part, or references to such"
)]
#[doc(hidden)]
pub trait WholeKey<P, F> {
    /// Returns the key.
    fn key(&self, layout: KeyLayout) -> Result<String, KeyError>;
}

#[diagnostic::do_not_recommend]
impl<P, A: KeyArgument<P>> WholeKey<(P,), OnlyPart> for A {
    fn key(&self, layout: KeyLayout) -> Result<String, KeyError> {
        layout.write(&[self.key_text()?])
    }
}

macro_rules! whole_key {
    ($([$given:ident $part:ident $at:tt])*) => {
        #[diagnostic::do_not_recommend]
        impl<$($part,)* $($given: KeyArgument<$part>),*> WholeKey<($($part,)*), Parts>
            for ($($given,)*)
        {
            fn key(&self, layout: KeyLayout) -> Result<String, KeyError> {
                layout.write(&[$(self.$at.key_text()?),*])
            }
        }
    };
}

whole_key!([A P1 0]);
whole_key!([A P1 0] [B P2 1]);
whole_key!([A P1 0] [B P2 1] [C P3 2]);
whole_key!([A P1 0] [B P2 1] [C P3 2] [D P4 3]);
whole_key!([A P1 0] [B P2 1] [C P3 2] [D P4 3] [E P5 4]);
whole_key!([A P1 0] [B P2 1] [C P3 2] [D P4 3] [E P5 4] [F P6 5]);

/// The bound of a range of keys with the parts `P`: a tuple of leading parts, or the value of the only part. A part in
/// reverse order is given as `Descending(x)`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot bound keys of the parts `{P}` in stored order",
    label = "not a bound in stored order",
    note = "for a `Descending` part, or one with `inv`, compare by value with `newer_than(x)`, `newer_or_equal(x)`, `older_than(x)` or `older_or_equal(x)`; or write `Descending(x)`, in stored order: newer values come first",
    note = "otherwise, give a value of the only part's type, or a tuple of leading parts, such as `(a,)` or `(a, b)`"
)]
#[doc(hidden)]
pub trait KeyBound<P, F> {
    /// Returns the keys that begin with these parts.
    fn leading(&self, layout: KeyLayout) -> Result<LeadingKeys, KeyError>;
}

#[diagnostic::do_not_recommend]
impl<P, A: BoundArgument<P>> KeyBound<(P,), OnlyPart> for A {
    fn leading(&self, layout: KeyLayout) -> Result<LeadingKeys, KeyError> {
        layout.leading(&[self.bound_text()?])
    }
}

/// The value of the first part of keys with the parts `P`, which is stored in reverse order: the value of the only
/// part, or a tuple of one value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a value of the first of the parts `{P}`, or that part is not `Descending`",
    label = "not a value of a descending part",
    note = "give a value `x` for a key of one part, or `(x,)` for a key of several parts; other keys have `gt`, `ge`, `lt` and `le`"
)]
#[doc(hidden)]
pub trait ReversedPart<P, F> {
    /// Returns the keys that begin with this part.
    fn leading(&self, layout: KeyLayout) -> Result<LeadingKeys, KeyError>;
}

#[diagnostic::do_not_recommend]
impl<P: Reversed, A: KeyArgument<P>> ReversedPart<(P,), OnlyPart> for A {
    fn leading(&self, layout: KeyLayout) -> Result<LeadingKeys, KeyError> {
        layout.leading(&[self.key_text()?])
    }
}

macro_rules! bounds {
    (@each ($($part:ident)*) [$($done:tt)*]) => {};
    (@each ($($part:ident)*) [$($done:tt)*] $next:tt $($rest:tt)*) => {
        bounds!(@tuple ($($part)*) $($done)* $next);
        bounds!(@each ($($part)*) [$($done)* $next] $($rest)*);
    };
    (@tuple ($($part:ident)*) $([$given:ident $own:ident $at:tt])*) => {
        #[diagnostic::do_not_recommend]
        impl<$($part,)* $($given: BoundArgument<$own>),*> KeyBound<($($part,)*), Parts>
            for ($($given,)*)
        {
            fn leading(&self, layout: KeyLayout) -> Result<LeadingKeys, KeyError> {
                layout.leading(&[$(self.$at.bound_text()?),*])
            }
        }
    };
    ($first:ident $($part:ident)*; $($given:tt)*) => {
        bounds!(@each ($first $($part)*) [] $($given)*);

        #[diagnostic::do_not_recommend]
        impl<$first: Reversed, $($part,)* A: KeyArgument<$first>>
            ReversedPart<($first, $($part,)*), Parts> for (A,)
        {
            fn leading(&self, layout: KeyLayout) -> Result<LeadingKeys, KeyError> {
                layout.leading(&[self.0.key_text()?])
            }
        }
    };
}

bounds!(P1; [A P1 0]);
bounds!(P1 P2; [A P1 0] [B P2 1]);
bounds!(P1 P2 P3; [A P1 0] [B P2 1] [C P3 2]);
bounds!(P1 P2 P3 P4; [A P1 0] [B P2 1] [C P3 2] [D P4 3]);
bounds!(P1 P2 P3 P4 P5; [A P1 0] [B P2 1] [C P3 2] [D P4 3] [E P5 4]);
bounds!(P1 P2 P3 P4 P5 P6; [A P1 0] [B P2 1] [C P3 2] [D P4 3] [E P5 4] [F P6 5]);
