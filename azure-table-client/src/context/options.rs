use super::conflict::ConflictResolver;
use crate::client::setters::setters;
use crate::pipeline::CallOptions;
use crate::query::CONCURRENCY;

/// The options of a save. By default each change is a request of its own, in the order of the changes, and
/// the first failure ends the save.
#[must_use = "options have no effect until a save receives them"]
#[derive(Debug, Clone)]
pub struct SaveOptions {
    pub(super) mode: Mode,
    pub(super) continue_on_error: bool,
    pub(super) replace_on_update: bool,
    pub(super) missing_is_deleted: bool,
    pub(super) concurrency: usize,
    pub(super) call: CallOptions,
    pub(super) resolver: ConflictResolver,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Each,
    Atomic,
    PerPartition,
}

impl Default for SaveOptions {
    fn default() -> Self {
        Self::each()
    }
}

impl SaveOptions {
    /// One request for each change, in order; the first failure ends the save.
    pub fn each() -> Self {
        Self {
            mode: Mode::Each,
            continue_on_error: false,
            replace_on_update: false,
            missing_is_deleted: false,
            concurrency: CONCURRENCY,
            call: CallOptions::default(),
            resolver: ConflictResolver::abort(),
        }
    }

    /// All changes in one entity group transaction, which are all applied or not at all. They must be of one
    /// table and one partition, at most 100 and at most 4 MiB, or nothing is sent.
    pub fn atomic() -> Self {
        Self { mode: Mode::Atomic, ..Self::each() }
    }

    /// As few entity group transactions as possible, each of one table and one partition.
    pub fn per_partition() -> Self {
        Self { mode: Mode::PerPartition, ..Self::each() }
    }

    /// Continues with the other changes after one has failed.
    pub fn continue_on_error(mut self) -> Self {
        self.continue_on_error = true;
        self
    }

    /// Replaces each entity that was passed to `update` since the last save, also if no property differs. The row
    /// then has the properties that the struct writes: columns without a field are removed, except those in an
    /// `extra` field.
    ///
    /// An entity that a projection read is refused, because the replace would lose the other columns. Without this
    /// option, a save merges the properties that differ; if a field became `None`, it replaces the row and keeps
    /// the columns without a field.
    ///
    /// A program that no longer has a property (section 8.4.2 of the paper) reads the rows as its new struct and passes each
    /// to `update`. A save without this option would send nothing, because no value differs:
    ///
    /// ```
    /// use azure_table_client::context::{SaveOptions, TableContext};
    /// use azure_table_client::mock::MockTableService;
    /// use azure_table_client::{DynamicEntity, TableEntity};
    ///
    /// #[derive(Debug, TableEntity)]
    /// #[table(name = "Blogs", rename_all = "PascalCase")]
    /// struct BlogV2 {
    ///     #[table(partition_key)]
    ///     channel: String,
    ///     #[table(row_key)]
    ///     id: u32,
    ///     text: String,
    ///     // Retired: rating: i32
    /// }
    ///
    /// #[tokio::main(flavor = "current_thread")]
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let mock = MockTableService::new();
    ///     let old = DynamicEntity::new("Channel9", "0000000001").with("Text", "Hello").with("Rating", 3);
    ///     mock.seed("Blogs", [&old])?;
    ///
    ///     let service = mock.client();
    ///     let mut ctx = TableContext::new(&service);
    ///     for blog in ctx.load(service.table::<BlogV2>().query()).await? {
    ///         ctx.update(&blog)?;
    ///     }
    ///     ctx.save_changes_with(SaveOptions::per_partition().replace_on_update()).await?;
    ///
    ///     let row = mock.row("Blogs", "Channel9", "0000000001").unwrap();
    ///     assert_eq!(row.value("Rating"), None);
    ///     Ok(())
    /// }
    /// ```
    pub fn replace_on_update(mut self) -> Self {
        self.replace_on_update = true;
        self
    }

    /// Counts the deletion of a missing entity as success, in a save that sends [each](Self::each) change as a
    /// request. A transaction with such a change fails as a whole.
    pub fn missing_is_deleted(mut self) -> Self {
        self.missing_is_deleted = true;
        self
    }

    /// Sets the maximum number of transactions in flight in a save [by partitions](Self::per_partition); the
    /// default is 8, the minimum 1.
    pub fn concurrency(mut self, transactions: usize) -> Self {
        self.concurrency = if transactions == 0 { 1 } else { transactions };
        self
    }

    /// Resolves conflicts with other writers, and sends the changes again;
    /// [`ConflictResolver::abort`] by default.
    pub fn on_conflict(mut self, resolver: ConflictResolver) -> Self {
        self.resolver = resolver;
        self
    }

    setters! { call: deadline "each request", retry, proof }
}
