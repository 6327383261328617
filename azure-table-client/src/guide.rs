//! Guides: what there is to know beside the single items.
//!
//! | | |
//! |---|---|
//! | [`questions`] | "how do I …": short answers, and where the long ones are |
//! | [`entities`] | entities and keys: types, order, limits, what is not there |
//! | [`partitions`] | designing partitions: what scales, what is atomic, what a query costs |
//! | [`queries`] | queries and their cost: plans, conditions, projections, pages |
//! | [`units_of_work`] | the context: tracking, ways to save, conflicts, saves that broke off |
//! | [`concurrency`] | several writers of one entity |
//! | [`batches`] | transactions and bulk runs |
//! | [`errors`] | errors and retries: what is tried again, and what is known of the outcome |
//! | [`outcomes`] | what is reported of a write that got no usable response |
#![cfg_attr(feature = "mock", doc = "| [`testing`] | testing: the service in memory, and faults |")]
#![cfg_attr(not(feature = "mock"), doc = "| `testing` | with the feature `mock` |")]
//! | [`telemetry`] | spans, counters and hooks |
//! | [`security`] | credentials, signatures, rotation, what is never shown |
//! | [`protocol_versions`] | old versions of the service, and formats |
//! | [`Dialect`](crate::Dialect) | Cosmos DB, emulators and proxies |
//!
//! New to tables? Begin with [`entities`], [`queries`] and [`concurrency`], and read [`partitions`] before you
//! settle on keys. Coming from another client: [`migration`](crate::migration). Something does not work:
//! [`troubleshooting`](crate::troubleshooting). Programs that run as they are stand in the repository's
//! folder `examples`; each guide names those that belong to it.

pub mod questions {
    #![doc = include_str!("../docs/guide/questions.md")]
}

pub mod entities {
    #![doc = include_str!("../docs/guide/entities.md")]
}

pub mod partitions {
    #![doc = include_str!("../docs/guide/partitions.md")]
}

pub mod queries {
    #![doc = include_str!("../docs/guide/queries.md")]
}

pub mod units_of_work {
    #![doc = include_str!("../docs/guide/units_of_work.md")]
}

pub mod concurrency {
    #![doc = include_str!("../docs/guide/concurrency.md")]
}

pub mod batches {
    #![doc = include_str!("../docs/guide/batches.md")]
}

pub mod errors {
    #![doc = include_str!("../docs/guide/errors.md")]
}

pub mod outcomes {
    #![doc = include_str!("../docs/guide/outcomes.md")]
}

#[cfg(feature = "mock")]
pub mod testing {
    #![doc = include_str!("../docs/guide/testing.md")]
}

pub mod telemetry {
    #![doc = include_str!("../docs/guide/telemetry.md")]
}

pub mod security {
    #![doc = include_str!("../docs/guide/security.md")]
}

pub mod protocol_versions {
    #![doc = include_str!("../docs/guide/protocol_versions.md")]
}
