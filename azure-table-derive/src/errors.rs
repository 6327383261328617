use std::fmt::Display;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::Token;
use syn::parse::ParseStream;

/// Collects mistakes, so that the user sees all of them at once.
///
/// Panics when it is dropped before the mistakes were read, so that no mistake is lost.
#[derive(Debug, Default)]
pub(crate) struct Errors {
    found: Option<syn::Error>,
    checked: bool,
}

impl Errors {
    /// Reports a mistake; the compiler underlines `tokens`.
    pub(crate) fn report(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.push(syn::Error::new_spanned(tokens, message));
    }

    /// Returns the value of `result`; reports its error at `tokens`.
    pub(crate) fn unless_ok<T, E>(
        &mut self,
        result: Result<T, E>,
        tokens: impl ToTokens,
        message: impl Display,
    ) -> Option<T> {
        if result.is_err() {
            self.report(tokens, message);
        }
        result.ok()
    }

    pub(crate) fn push(&mut self, error: syn::Error) {
        match &mut self.found {
            Some(found) => found.combine(error),
            None => self.found = Some(error),
        }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.found.is_none()
    }

    /// All mistakes, if there are any.
    pub(crate) fn check(mut self) -> syn::Result<()> {
        self.checked = true;
        self.found.take().map_or(Ok(()), Err)
    }

    /// All mistakes, `last` among them.
    pub(crate) fn with(mut self, last: syn::Error) -> syn::Error {
        self.push(last.clone());
        self.check().err().unwrap_or(last)
    }
}

impl Drop for Errors {
    fn drop(&mut self) {
        assert!(self.checked || std::thread::panicking(), "errors were collected and not checked");
    }
}

/// Takes the tokens up to the next comma, so that reading goes on there after a mistake.
pub(crate) fn take_rest(input: ParseStream<'_>) -> syn::Result<TokenStream> {
    let mut rest = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<TokenTree>()?.to_tokens(&mut rest);
    }
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use proc_macro2::{Ident, Span};

    use super::*;

    #[test]
    fn all_are_kept_in_order() {
        let mut errors = Errors::default();
        let ident = Ident::new("field", Span::call_site());
        errors.report(&ident, "first");
        errors.report(&ident, "second");
        let all = errors.with(syn::Error::new_spanned(&ident, "third"));
        let texts: Vec<String> = all.into_iter().map(|error| error.to_string()).collect();
        assert_eq!(texts, ["first", "second", "third"]);
        assert!(Errors::default().check().is_ok());
    }

    #[test]
    #[should_panic(expected = "not checked")]
    fn none_gets_lost() {
        drop(Errors::default());
    }
}
