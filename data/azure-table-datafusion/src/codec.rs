//! Plans for other processes.

mod logical;
mod message;
mod physical;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use datafusion_proto::logical_plan::{DefaultLogicalExtensionCodec, LogicalExtensionCodec};
use datafusion_proto::physical_plan::{DefaultPhysicalExtensionCodec, PhysicalExtensionCodec};

use crate::Connections;

/// Writes and reads the tables and the scans of this crate in plans for other processes, such as those of Ballista. All other
/// parts of a plan are left to another codec.
///
/// A plan contains the [name](crate::AzureTable::connection) of the connection, the table, its schema and the filters. Each
/// process resolves the name by its own [`Connections`], so that no credential is sent.
///
/// The client, the scheduler and every executor of Ballista use this codec: `with_ballista_logical_extension_codec` and
/// `with_ballista_physical_extension_codec` of the client's session, `override_logical_codec` and `override_physical_codec` of
/// the others. The scheduler needs the connection too: it finds the ranges of keys.
#[derive(Debug, Clone)]
pub struct AzureTableCodec {
    connections: Arc<dyn Connections>,
    logical: Arc<dyn LogicalExtensionCodec>,
    physical: Arc<dyn PhysicalExtensionCodec>,
}

impl AzureTableCodec {
    /// Returns a codec that resolves connections in this process, for plans of DataFusion itself.
    pub fn new(connections: Arc<dyn Connections>) -> Self {
        Self {
            connections,
            logical: Arc::new(DefaultLogicalExtensionCodec {}),
            physical: Arc::new(DefaultPhysicalExtensionCodec {}),
        }
    }

    /// Sets the codec of other extensions of logical plans, for example that of Ballista.
    #[must_use]
    pub fn with_logical(mut self, codec: Arc<dyn LogicalExtensionCodec>) -> Self {
        self.logical = codec;
        self
    }

    /// Sets the codec of other extensions of physical plans, for example that of Ballista.
    #[must_use]
    pub fn with_physical(mut self, codec: Arc<dyn PhysicalExtensionCodec>) -> Self {
        self.physical = codec;
        self
    }
}
