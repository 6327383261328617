//! The eight Edm types that the table service stores, without loss.
//!
//! [`EdmValue`] owns a value and remembers its type; [`EdmCow`] is the same value borrowed from
//! an entity or from a reply. [`ToEdm`] and [`FromEdm`] connect them with Rust types.
//!
//! Source: [Understanding the Table service data model][model].
//!
//! [model]: https://learn.microsoft.com/rest/api/storageservices/understanding-the-table-service-data-model

#[doc(inline)]
pub use azure_table_protocol::edm::{
    ConvertError, DateTimeError, EdmCow, EdmDateTime, EdmType, EdmValue, FromEdm, ToEdm,
};
#[doc(hidden)]
pub use azure_table_protocol::edm::{DateTimeValue, OrderedEdm, TextEdm};
