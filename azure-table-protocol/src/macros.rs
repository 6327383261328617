//! Implementations that several types have, for the crates of this workspace.

/// Implements `Debug` for a type. The output has the named values and ends with `..`.
#[doc(hidden)]
#[macro_export]
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

/// Implements serde's traits for a type that is stored as its text, by `Display` and `FromStr`.
#[doc(hidden)]
#[macro_export]
macro_rules! serde_as_text {
    ($name:ident) => {
        impl ::serde::ser::Serialize for $name {
            fn serialize<S: ::serde::ser::Serializer>(
                &self,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> ::serde::de::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::de::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(::serde::de::Error::custom)
            }
        }
    };
}
