//! The eight Edm types that the table service stores, without loss.
//!
//! [`EdmValue`] owns a value and remembers its type; [`EdmCow`] is the same value borrowed from
//! an entity or from a reply. [`ToEdm`] and [`FromEdm`] connect them with Rust types.
//!
//! Source: [Understanding the Table service data model][model].
//!
//! [model]: https://learn.microsoft.com/rest/api/storageservices/understanding-the-table-service-data-model

mod convert;
mod datetime;
mod duration;
mod form;
mod order;
mod serde;
mod time;
mod transparent;
mod value;

pub use convert::{ConvertError, FromEdm, ToEdm};
pub use datetime::{DateTimeError, EdmDateTime};
pub use form::{ValueChoice, ValueForm};
#[doc(hidden)]
pub use order::{OrderedEdm, TextEdm};
#[doc(hidden)]
pub use time::DateTimeValue;
pub use transparent::TableValue;
pub use value::{EdmCow, EdmType, EdmValue};
