//! The state that everything of one client shares: its pipeline, and the settings above the pipeline.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use crate::filter::{Filter, KeyOrder};
use crate::operation::query::ScanPolicy;
use crate::operation::{Proof, Target};
use crate::pipeline::Pipeline;

/// The shared state of a client. It dereferences to its pipeline.
#[derive(Debug)]
pub(crate) struct ClientCore {
    pipeline: Pipeline,
    pub(crate) settings: Settings,
}

/// The settings of queries and of the outcomes of writes. The pipeline does not read them.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) scans: ScanPolicy,
    pub(crate) limits: QueryLimits,
    /// The limit on the comparisons of a filter, instead of the one of the dialect.
    pub(crate) max_comparisons: Option<usize>,
    /// The accepted proof of the outcomes of writes.
    pub(crate) proof: Proof,
    /// The column that holds the id of the last write.
    pub(crate) write_id: Option<Arc<str>>,
}

/// The limits of a query over all its pages.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct QueryLimits {
    pub(crate) deadline: Option<Duration>,
    pub(crate) max_rows: Option<u64>,
}

impl QueryLimits {
    /// Returns the limits of a query, which may leave a limit to its client.
    pub(crate) fn or(self, client: Self) -> Self {
        Self {
            deadline: self.deadline.or(client.deadline),
            max_rows: self.max_rows.or(client.max_rows),
        }
    }
}

impl ClientCore {
    pub(crate) const fn new(pipeline: Pipeline, settings: Settings) -> Self {
        Self { pipeline, settings }
    }

    /// Whether a filter has no more comparisons than one request can have.
    pub(crate) fn allows_comparisons(&self, filter: &Filter) -> bool {
        let most = self.settings.max_comparisons.or(self.protocol.dialect().max_comparisons());
        most.is_none_or(|most| filter.comparisons() <= most)
    }

    /// Returns the order in which the service compares keys.
    pub(crate) const fn key_order(&self) -> KeyOrder {
        KeyOrder::of(self.pipeline.protocol.dialect())
    }

    /// Returns a table as a target of writes.
    pub(crate) fn target(&self, table: &Arc<str>) -> Target {
        Target {
            table: Arc::clone(table),
            base: self.endpoint.shared_base(),
            protocol: self.protocol,
            write_id: self.settings.write_id.clone(),
            clock: Arc::clone(&self.clock),
        }
    }
}

impl Deref for ClientCore {
    type Target = Pipeline;

    fn deref(&self) -> &Pipeline {
        &self.pipeline
    }
}
