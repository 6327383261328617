//! Coming from another client: what is the same, what is not, and what each of its calls is called
//! here.
//!
//! | you come from | read |
//! |---|---|
//! | the Rust crate `azure_data_tables` 0.21 | [`azure_data_tables`] |
//! | Azure.Data.Tables (.NET) | [`azure_data_tables_dotnet`] |
//! | `DataServiceContext` and `TableServiceContext` (.NET, until 2013) | [`data_service_context`] |
//! | azure-data-tables (Python) | [`azure_data_tables_python`] |
//!
//! The tables themselves need no migration: the service is the same. What other programs wrote is
//! read as it is, with its Edm types; each page says which types its client writes, and which attribute
//! reads them where the type of a field is another.
//!
//! These modules hold pages of documentation and nothing else.

#[doc = include_str!("../docs/migration/azure_data_tables.md")]
pub mod azure_data_tables {}

#[doc = include_str!("../docs/migration/dotnet.md")]
pub mod azure_data_tables_dotnet {}

#[doc = include_str!("../docs/migration/data_service_context.md")]
pub mod data_service_context {}

#[doc = include_str!("../docs/migration/python.md")]
pub mod azure_data_tables_python {}
