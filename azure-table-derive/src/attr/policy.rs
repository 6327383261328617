use proc_macro2::TokenStream;
use quote::quote;
use syn::LitStr;

use super::item::Items;
use crate::errors::Errors;
use crate::typo;

/// The policy for a property that is missing, null or mistyped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    Error,
    Default,
    None,
    Collect,
}

const POLICIES: [(&str, Policy); 4] = [
    ("error", Policy::Error),
    ("default", Policy::Default),
    ("none", Policy::None),
    ("collect", Policy::Collect),
];

/// The types that are read besides the field's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accept {
    Exact,
    Widened,
    Lenient,
}

const ACCEPTED: [(&str, Accept); 3] =
    [("exact", Accept::Exact), ("widened", Accept::Widened), ("lenient", Accept::Lenient)];

/// The policies that are written in one place.
#[derive(Default)]
pub(crate) struct Reading {
    pub(crate) missing: Option<(Policy, LitStr)>,
    pub(crate) null: Option<(Policy, LitStr)>,
    pub(crate) mistyped: Option<(Policy, LitStr)>,
    pub(crate) accept: Option<Accept>,
}

impl Reading {
    pub(super) fn take(items: &mut Items, errors: &mut Errors) -> Self {
        let mut policy = |name| {
            let text = items.text(name)?;
            Some((word(&POLICIES, "policy", &text, errors)?, text))
        };
        let (missing, null, mistyped) =
            (policy("on_missing"), policy("on_null"), policy("on_mistyped"));
        let accept = items.text("accept");
        let accept = accept.and_then(|text| word(&ACCEPTED, "choice", &text, errors));
        Self { missing, null, mistyped, accept }
    }

    /// All policies that are written.
    pub(crate) fn policies(&self) -> impl Iterator<Item = &(Policy, LitStr)> {
        [&self.missing, &self.null, &self.mistyped].into_iter().flatten()
    }
}

fn word<T: Copy>(
    known: &[(&'static str, T)],
    what: &str,
    text: &LitStr,
    errors: &mut Errors,
) -> Option<T> {
    let written = text.value();
    let found = known.iter().find(|(name, _)| *name == written).map(|(_, value)| *value);
    if found.is_none() {
        let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
        errors.report(text, typo::unknown(what, &written, names.into_iter()));
    }
    found
}

impl Accept {
    pub(crate) fn tokens(self) -> TokenStream {
        match self {
            Self::Exact => quote!(__table::Accept::Exact),
            Self::Widened => quote!(__table::Accept::Widened),
            Self::Lenient => quote!(__table::Accept::Lenient),
        }
    }
}
