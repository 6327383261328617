//! `Debug` of types that show only some of their fields.

/// Implements `Debug` for a type. The output has the named values and ends with `..`.
macro_rules! opaque_debug {
    ($(<$($parameter:ident),+>)? $name:ident $(<$($argument:tt),+>)?, |$this:ident| $($field:ident: $value:expr),+ $(,)?) => {
        impl $(<$($parameter),+>)? std::fmt::Debug for $name $(<$($argument),+>)? {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let $this = self;
                f.debug_struct(stringify!($name))$(.field(stringify!($field), &$value))+.finish_non_exhaustive()
            }
        }
    };
}
