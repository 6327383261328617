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
//! | [`outcomes`] | the reports of each kind of write after a lost response, a timeout, or a repeated delivery |
//! | [`telemetry`] | spans, counters and hooks |
//! | [`security`] | credentials, signatures, key rotation, redaction |
//! | [`protocol_versions`] | old versions of the service, and formats |
//! | [`Dialect`](crate::Dialect) | Cosmos DB, emulators and proxies |
//! | [`troubleshooting`] | error messages, their causes and remedies |
//! | [`migration`] | moving from another client |
//! | [`questions`] | the index: "how do I …", with the call or attribute to use |
//!
//! The `examples` folder of the repository has programs for each guide.
//!
//! These modules exist in the documentation only.

pub mod tutorial {
    #![doc = include_str!("../docs/links.md")]
    #![doc = include_str!("../docs/tutorial.md")]
}

pub mod entities {
    #![doc = include_str!("../docs/links.md")]
    #![doc = include_str!("../docs/guide/entities.md")]
}

pub mod partitions {
    #![doc = include_str!("../docs/links.md")]
    #![doc = include_str!("../docs/pictures.md")]
    #![doc = include_str!("../docs/guide/partitions.md")]
}

pub mod queries {
    #![doc = include_str!("../docs/links.md")]
    #![doc = include_str!("../docs/guide/queries.md")]
}

pub mod units_of_work {
    #![doc = include_str!("../docs/links.md")]
    #![doc = include_str!("../docs/pictures.md")]
    #![doc = include_str!("../docs/guide/units_of_work.md")]
}

pub mod concurrency {
    #![doc = include_str!("../docs/links.md")]
    #![doc = include_str!("../docs/guide/concurrency.md")]
}

pub mod batches {
    #![doc = include_str!("../docs/links.md")]
    #![doc = include_str!("../docs/guide/batches.md")]
}

pub mod errors {
    #![doc = include_str!("../docs/links.md")]
    #![doc = include_str!("../docs/guide/errors.md")]
}

pub mod outcomes {
    #![doc = include_str!("../docs/links.md")]
    #![doc = include_str!("../docs/pictures.md")]
    #![doc = include_str!("../docs/guide/outcomes.md")]
}

#[cfg(feature = "mock")]
pub mod testing {
    #![doc = include_str!("../docs/links.md")]
    #![doc = include_str!("../docs/guide/testing.md")]
}

pub mod telemetry {
    #![doc = include_str!("../docs/links.md")]
    #![doc = include_str!("../docs/guide/telemetry.md")]
}

pub mod security {
    #![doc = include_str!("../docs/links.md")]
    #![doc = include_str!("../docs/guide/security.md")]
}

pub mod protocol_versions {
    #![doc = include_str!("../docs/links.md")]
    #![doc = include_str!("../docs/guide/protocol_versions.md")]
}

pub mod troubleshooting {
    #![doc = include_str!("../docs/links.md")]
    #![doc = include_str!("../docs/troubleshooting.md")]
}

/// Moving from another client: its types and calls, and their counterparts in this crate.
///
/// | client | page |
/// |---|---|
/// | the Rust crate `azure_data_tables` 0.21 | [`azure_data_tables`](migration::azure_data_tables) |
/// | Azure.Data.Tables (.NET), azure-data-tables (Python) | [`official_clients`](migration::official_clients) |
/// | `DataServiceContext` and `TableServiceContext` (.NET, until 2013) | [`data_service_context`](migration::data_service_context) |
///
/// Tables need no migration, since the service is the same. Each page states which Edm types the other client
/// writes, and which attribute reads them into a field of another type.
pub mod migration {
    pub mod azure_data_tables {
        #![doc = include_str!("../docs/links.md")]
        #![doc = include_str!("../docs/migration/azure_data_tables.md")]
    }
    pub mod official_clients {
        #![doc = include_str!("../docs/links.md")]
        #![doc = include_str!("../docs/migration/official_clients.md")]
    }
    pub mod data_service_context {
        #![doc = include_str!("../docs/links.md")]
        #![doc = include_str!("../docs/migration/data_service_context.md")]
    }
}

pub mod questions {
    #![doc = include_str!("../docs/links.md")]
    #![doc = include_str!("../docs/guide/questions.md")]
}
