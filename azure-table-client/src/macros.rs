//! Implementations that several types have.

/// Declares a trait that no type implements, for a method that callers expect: a call does not compile, and the compiler
/// shows these texts.
macro_rules! unsupported {
    ($trait:ident: $message:literal, $label:literal, $($note:literal),*) => {
        #[diagnostic::on_unimplemented(message = $message, label = $label, $(note = $note),*)]
        #[doc(hidden)]
        pub trait $trait {
            /// Returns the result of the call, which does not compile.
            fn unsupported<R>() -> R;
        }
    };
}
