//! Properties that are copies of keys.

use proc_macro2::{Literal, TokenStream};
use quote::quote_spanned;
use syn::spanned::Spanned as _;

use crate::model::{Field, Property};

impl Property<'_> {
    /// Compares the property with what the key holds, before the field is written.
    pub(super) fn check_held(&self) -> TokenStream {
        let Self { field: Field { ident, ty }, name, codec, .. } = self;
        let (span, stored) = match codec {
            None => (ty.span(), quote_spanned!(ty.span()=> __table::stored::<#ty>)),
            Some(codec) => {
                let module = codec.module();
                let stored = quote_spanned! {module.span()=>
                    |__value: &#ty| __table::stored_of(#module::encode(__value))
                };
                (module.span(), stored)
            }
        };
        quote_spanned!(span=> __table::check_held::<#ty>(__writer, #name, &self.#ident, #stored)?;)
    }

    /// Compares the property with the key that the field was read from.
    pub(super) fn check_copy(&self, index: usize) -> TokenStream {
        let Field { ident, ty } = self.field;
        let index = Literal::usize_unsuffixed(index);
        match &self.codec {
            None => quote_spanned! {ty.span()=>
                __table::check_copy::<#ty>(__row, #index, &__entity.#ident)?;
            },
            Some(codec) => {
                let module = codec.module();
                quote_spanned! {module.span()=>
                    let __encoded: __table::Result<_, __table::ConvertError> =
                        #module::encode(&__entity.#ident);
                    __table::check_encoded_copy(__row, #index, __encoded)?;
                }
            }
        }
    }
}
