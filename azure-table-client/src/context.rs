//! The unit of work: entities that were read, added, changed and deleted, and one save for all of it.
//!
//! [`TableContext`] is what the paper's `DataServiceContext` is. It tracks entities by their keys; the
//! user holds plain structs. It belongs to one task and is short-lived. See the
//! [guide](crate::guide::units_of_work).

mod conflict;
mod find;
mod hooks;
mod options;
mod plan;
mod query;
mod report;
mod resolve;
mod resolve_conflicts;
mod save;
mod table;
mod tracker;

use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::client::{TableClient, TableServiceClient};
use crate::entity::{DynamicEntity, NamedTable, TableEntity};
use crate::error::Error;
use crate::etag::IfMatch;
use crate::pipeline::Pipeline;
use crate::wire::Operation;

pub use conflict::{Conflict, ConflictResolver, Resolution};
pub use options::SaveOptions;
pub use plan::{PlannedRequest, SavePlan};
pub use query::{ContextQuery, Cursor};
pub use report::{SaveError, SaveOutcome, SaveReport, SaveResult};
pub use table::{ContextTable, Entry};
pub use tracker::{EntityState, MergeOption};

use hooks::Hooks;
use tracker::Tracker;

/// A unit of work on the tables of a service.
///
/// What is read through the context, added or attached is tracked by table and key. `update` takes the
/// values of a struct; [`save_changes`](Self::save_changes) sends what differs from what the service
/// holds: one changed property is a MERGE with that property, under the ETag that was read. An
/// [`etag`](crate::TableEntity) field of a struct plays no part here: the version that the context read
/// counts.
///
/// ```
/// use azure_table_client::context::TableContext;
/// use azure_table_client::TableEntity;
/// # use azure_table_client::mock::MockTableService;
///
/// #[derive(Debug, TableEntity)]
/// #[table(name = "Blogs", rename_all = "PascalCase")]
/// struct Blog {
///     #[table(partition_key)]
///     channel: String,
///     #[table(row_key)]
///     id: u32,
///     text: String,
///     rating: i32,
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), azure_table_client::Error> {
/// # let service = MockTableService::new().client();
/// # service.table::<Blog>().create().await?;
/// let mut ctx = TableContext::new(&service);
/// ctx.add(&Blog { channel: "Channel9".into(), id: 1, text: "Hello".into(), rating: 3 })?;
/// ctx.save_changes().await?;
///
/// let mut best = ctx.query::<Blog>().filter(|b| b.rating.ge(3)).await?;
/// best[0].text = "Hi there".into();
/// ctx.update(&best[0])?;
/// assert_eq!(ctx.entries()[0].changed(), ["Text"]);
/// let report = ctx.save_changes().await?;
/// assert_eq!(report.to_string(), "1 applied, 0 failed, 0 not attempted, 0 unknown");
/// # Ok(())
/// # }
/// ```
///
/// # Dropping a save
/// A save that is dropped before its end keeps what was confirmed. Changes that were sent and not answered
/// are in the state [`Unknown`](EntityState::Unknown): the context keeps their attempts, up to 8 for an
/// entity, until one is proved or cannot be applied any more. The next save sends them again, and never takes
/// the work of an earlier attempt for a conflict. [`last_report`](Self::last_report) returns the outcomes that
/// were known when the save was dropped.
pub struct TableContext {
    pipeline: Arc<Pipeline>,
    tracker: Tracker,
    merge_option: MergeOption,
    last_report: SaveReport,
    hooks: Hooks,
}

impl TableContext {
    /// A context that tracks nothing yet.
    pub fn new(service: &TableServiceClient) -> Self {
        Self {
            pipeline: Arc::clone(service.pipeline()),
            tracker: Tracker::new(
                service.pipeline().protocol.dialect(),
                service.pipeline().write_id.clone(),
            ),
            merge_option: MergeOption::default(),
            last_report: SaveReport::default(),
            hooks: Hooks::default(),
        }
    }

    /// What queries do about entities that are tracked already; [`MergeOption::AppendOnly`] by default.
    #[must_use]
    pub fn merge_option(mut self, option: MergeOption) -> Self {
        self.merge_option = option;
        self
    }

    /// The table that `T` names.
    pub fn table<T: NamedTable>(&mut self) -> ContextTable<'_, T> {
        self.table_named(T::TABLE_NAME)
    }

    /// A table by name.
    pub fn table_named<T: TableEntity>(&mut self, name: &str) -> ContextTable<'_, T> {
        ContextTable { context: self, table: Arc::from(name), entity: PhantomData }
    }

    /// The table of a client, such as a field of a [`TableSet`](crate::client::TableSet).
    pub fn table_of<T: TableEntity>(&mut self, client: &TableClient<T>) -> ContextTable<'_, T> {
        self.table_named(client.name())
    }

    /// Inserts the entity with the next save; see [`ContextTable::add`].
    ///
    /// # Errors
    /// As there.
    pub fn add<T: NamedTable>(&mut self, entity: &T) -> Result<(), Error> {
        self.table::<T>().add(entity)
    }

    /// Tracks an entity that was not read; see [`ContextTable::attach`].
    ///
    /// # Errors
    /// As there.
    pub fn attach<T: NamedTable>(
        &mut self,
        entity: &T,
        condition: impl Into<IfMatch>,
    ) -> Result<(), Error> {
        self.table::<T>().attach(entity, condition)
    }

    /// Takes the entity's values; see [`ContextTable::update`].
    ///
    /// # Errors
    /// As there.
    pub fn update<T: NamedTable>(&mut self, entity: &T) -> Result<(), Error> {
        self.table::<T>().update(entity)
    }

    /// Deletes the entity with the next save; see [`ContextTable::delete`].
    ///
    /// # Errors
    /// As there.
    pub fn delete<T: NamedTable>(&mut self, entity: &T) -> Result<(), Error> {
        self.table::<T>().delete(entity)
    }

    /// Forgets the entity; see [`ContextTable::detach`].
    ///
    /// # Errors
    /// As there.
    pub fn detach<T: NamedTable>(&mut self, entity: &T) -> Result<bool, Error> {
        self.table::<T>().detach(entity)
    }

    /// Undoes the local changes of an entity; see [`ContextTable::reset`].
    ///
    /// # Errors
    /// As there.
    pub fn reset<T: NamedTable>(&mut self, entity: &T) -> Result<(), Error> {
        self.table::<T>().reset(entity)
    }

    /// What is known of an entity; `None` if it is not tracked.
    ///
    /// # Errors
    /// It has no key.
    pub fn entry<T: NamedTable>(&self, entity: &T) -> Result<Option<Entry<'_>>, Error> {
        let key = entity.entity_key()?;
        Ok(self.tracker.find(T::TABLE_NAME, &key).map(Entry))
    }

    /// A query of the table that `T` names, whose entities are tracked.
    pub fn query<T: NamedTable>(&mut self) -> ContextQuery<'_, T> {
        self.table::<T>().query()
    }

    /// All tracked entities, in the order of their changes.
    pub fn entries(&self) -> Vec<Entry<'_>> {
        self.tracker.in_order().into_iter().map(|(_, tracked)| Entry(tracked)).collect()
    }

    /// Whether there is something to save.
    pub fn has_changes(&self) -> bool {
        self.tracker.has_changes()
    }

    /// Forgets all entities.
    pub fn clear(&mut self) {
        self.tracker.forget_where(|_| true);
    }

    /// Forgets the entities for which this holds, and returns how many there were.
    pub fn detach_where(&mut self, is_gone: impl Fn(&Entry<'_>) -> bool) -> usize {
        self.tracker.forget_where(|tracked| is_gone(&Entry(tracked)))
    }

    /// The requests that a save would send now, with their bytes. The hook for writing is called as in a
    /// save.
    ///
    /// # Errors
    /// What would be refused before anything is sent.
    #[expect(clippy::needless_pass_by_value, reason = "as save_changes_with takes them")]
    pub fn plan(&mut self, options: SaveOptions) -> Result<SavePlan, Error> {
        let hook = self.hooks.writing.as_deref_mut();
        let candidates = plan::candidates(&self.tracker, &options, hook, 0, &HashSet::new())?;
        let groups = plan::groups(&self.tracker, &candidates, &options, &self.pipeline)?;
        Ok(SavePlan::of(&groups))
    }

    /// Sends the changes, each as a request of its own, in the order in which they were made. Nothing is
    /// sent if nothing was changed.
    ///
    /// # Errors
    /// The first change that fails ends the save; the error says what became of each. What failed stays
    /// pending, and is tried again by the next save unless it is detached.
    ///
    /// REST: as the calls of [`TableClient`] with the same effect. Retries:
    /// [guarded](crate::guide::errors#which-calls-are-tried-again). A change whose outcome is not known
    /// stays pending: the next save sends it again as it was, and reads the row if it is refused.
    pub async fn save_changes(&mut self) -> Result<SaveReport, SaveError> {
        self.save_changes_with(SaveOptions::default()).await
    }

    /// Sends the changes in another way.
    ///
    /// # Errors
    /// As [`save_changes`](Self::save_changes); what cannot be sent in this way, such as changes of
    /// several partitions in an atomic save, is an error before anything is sent. A conflict that the
    /// [resolver](SaveOptions::on_conflict) has resolved is not an error.
    pub async fn save_changes_with(
        &mut self,
        options: SaveOptions,
    ) -> Result<SaveReport, SaveError> {
        self.save_and_resolve(options).await
    }

    /// What the last save came to, also if it was dropped on its way.
    pub const fn last_report(&self) -> &SaveReport {
        &self.last_report
    }

    /// Calls `hook` with what is about to be written of an entity: in a merge, what was changed. It may
    /// change that, and what it adds is sent each time and not tracked.
    pub fn on_writing(&mut self, hook: impl FnMut(&mut DynamicEntity) + Send + 'static) {
        self.hooks.writing = Some(Box::new(hook));
    }

    /// Calls `hook` with each entity that a query has read, before it is tracked; it may change it. What
    /// it removes, a later replace removes in the service.
    pub fn on_reading(&mut self, hook: impl FnMut(&mut DynamicEntity) + Send + 'static) {
        self.hooks.reading = Some(Box::new(hook));
    }

    /// Calls `hook` before each request of a save, with what it does and the table.
    pub fn on_request(&mut self, hook: impl FnMut(Operation, &str) + Send + 'static) {
        self.hooks.request = Some(Box::new(hook));
    }

    /// Calls `hook` with the status of each answer to a save, and the service's id of the request.
    pub fn on_reply(&mut self, hook: impl FnMut(u16, Option<&str>) + Send + 'static) {
        self.hooks.reply = Some(Box::new(hook));
    }
}

impl fmt::Debug for TableContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableContext").field("entries", &self.entries()).finish_non_exhaustive()
    }
}
