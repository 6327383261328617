//! Guides, one page for each topic.
//!
//! | page | about |
//! |---|---|
//! | [`tutorial`] | from an empty folder to a tested service, in ten minutes |
//! | [`entities`] | entities and keys: types, order, limits, missing properties |
//! | [`partitions`] | designing partitions: scaling, atomicity, the cost of queries |
//! | [`queries`] | queries and their cost: plans, conditions, projections, pages |
//! | [`units_of_work`] | the context: tracking, saves, conflicts, interrupted saves |
//! | [`concurrency`] | several writers of one entity |
//! | [`batches`] | transactions and bulk runs |
//! | [`errors`] | errors and retries: the failures that are retried, and the outcome of a failed write |
#![cfg_attr(
    feature = "mock",
    doc = "| [`testing`] | the in-memory mock of the service, and faults |"
)]
#![cfg_attr(not(feature = "mock"), doc = "| `testing` | requires the feature `mock` |")]
#![cfg_attr(
    feature = "explore",
    doc = "| [`exploring`] | tests with many random seeds that can be repeated |"
)]
#![cfg_attr(not(feature = "explore"), doc = "| `exploring` | requires the feature `explore` |")]
//! | [`outcomes`] | lost responses, timeouts and repeated deliveries: the proof of a write, the next step, and the report of each kind of write |
//! | [`telemetry`] | spans, counters and hooks |
//! | [`security`] | credentials, signatures, key rotation, redaction |
//! | [`ServiceVersion`] | old versions of the service, and [formats](crate::PayloadFormat) |
//! | [`Dialect`] | Cosmos DB, emulators and proxies |
//! | [`troubleshooting`] | error messages, their causes and remedies |
//! | [`migration`] | moving from another client |
//! | [`questions`] | the index: "how do I …", with the call or attribute to use |
//!
//! `examples/README.md` in the repository lists whole programs.
//!
//! These modules exist in the documentation only.

/// Modules whose documentation is a page of the folder `docs`. The names in its text are those of the whole crate.
macro_rules! pages {
    ($($(#[$attribute:meta])* $name:ident: $page:literal;)*) => {$(
        $(#[$attribute])*
        pub mod $name {
            #![doc = azure_table_derive::page!($page)]

            #[allow(unused_imports)]
            use $crate::guide::*;
        }
    )*};
}

#[allow(unused_imports)]
pub(crate) use self::migration::*;
#[cfg(feature = "mock")]
#[allow(unused_imports)]
pub(crate) use super::mock::*;
#[allow(unused_imports)]
pub(crate) use super::{
    auth::*, bulk::*, client::*, context::*, edm::*, entity::*, filter::*, telemetry::*, *,
};

pages! {
    // Its programs are parts of two files, which `.ci/tutorial` compiles and runs.
    #[cfg(not(doctest))]
    tutorial: "docs/tutorial.md";
    entities: "docs/guide/entities.md";
    partitions: "docs/guide/partitions.md";
    queries: "docs/guide/queries.md";
    units_of_work: "docs/guide/units_of_work.md";
    concurrency: "docs/guide/concurrency.md";
    batches: "docs/guide/batches.md";
    errors: "docs/guide/errors.md";
    outcomes: "docs/guide/outcomes.md";
    #[cfg(feature = "mock")]
    testing: "docs/guide/testing.md";
    #[cfg(feature = "explore")]
    exploring: "docs/guide/exploring.md";
    telemetry: "docs/guide/telemetry.md";
    security: "docs/guide/security.md";
    troubleshooting: "docs/troubleshooting.md";
    questions: "docs/guide/questions.md";
}

/// Moving from another client: its types and calls, and their counterparts in this crate.
///
/// | client | page |
/// |---|---|
/// | the Rust crate `azure_data_tables` 0.21 | [`azure_data_tables`] |
/// | Azure.Data.Tables (.NET), azure-data-tables (Python) | [`official_clients`] |
/// | `DataServiceContext` and `TableServiceContext` (.NET, until 2013) | [`data_service_context`] |
///
/// Tables need no migration, since the service is the same. Each page states which Edm types the other client
/// writes, and which attribute reads them into a field of another type.
pub mod migration {
    pages! {
        azure_data_tables: "docs/migration/azure_data_tables.md";
        official_clients: "docs/migration/official_clients.md";
        data_service_context: "docs/migration/data_service_context.md";
    }
}
