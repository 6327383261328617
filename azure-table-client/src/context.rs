//! The unit of work: entities that were read, added, changed and deleted, and one save for all changes.
//!
//! [`TableContext`] corresponds to the `DataServiceContext` of the paper. It tracks entities by their keys;
//! the program holds plain structs. A context belongs to one task and is short-lived. See the
//! [guide](crate::guide::units_of_work).

mod change;
mod conflict;
mod doubt;
mod drive;
mod entity;
#[cfg(test)]
mod explore_tests;
mod load;
mod machine;
mod merge;
mod options;
mod plan;
mod report;
mod table;
mod tracker;

use std::marker::PhantomData;
use std::sync::Arc;

use crate::client::{TableClient, TableServiceClient};
use crate::client_core::ClientCore;
use crate::entity::{DynamicEntity, NamedTable, TableEntity};
use crate::error::Error;
use crate::wire::Operation;
use azure_table_protocol::IntoIfMatch;

pub use change::EntityState;
pub use conflict::{Conflict, ConflictResolver, Resolution};
pub use load::{Cursor, Load};
pub use merge::MergeOption;
pub use options::SaveOptions;
pub use plan::PlannedRequest;
pub use report::{SaveError, SaveReport};
pub use table::{ContextTable, Entry};

use tracker::Tracker;

/// A unit of work on the tables of a service.
///
/// The context tracks entities that it reads, adds or attaches, by table and key. `update` copies the values of a
/// struct; [`save_changes`](Self::save_changes) sends the differences from the service's values: one changed
/// property is a MERGE with that property, conditional on the ETag that was read. The context ignores an
/// [`etag`](crate::TableEntity) field of a struct and uses the version that it read.
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
/// let good = service.table::<Blog>().query().filter(|b| b.rating.ge(3));
/// let mut best = ctx.load(good).await?;
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
/// A save that is dropped before its end keeps the confirmed changes. Changes that were sent without a response
/// are in the state [`Unknown`](EntityState::Unknown). The next save settles them before it sends anything else for their
/// entities: it reads their rows, and sends the same request again if the rows prove nothing. Until then, the entity cannot be
/// added again or reset. [`last_report`](Self::last_report) returns the outcomes that were known when the save was dropped.
///
/// # Lost responses with the proof `Response`
/// With [`Proof::Response`](crate::Proof::Response), a change without a response is reported as unknown, and sent again
/// with the next save. If the service refuses it then, it stays unknown, until a save with another proof reads the row,
/// or the program detaches the entity. An ETag that a response lacks is not read.
#[doc(alias("DataServiceContext", "TableServiceContext", "DbContext", "unit_of_work"))]
pub struct TableContext {
    core: Arc<ClientCore>,
    tracker: Tracker,
    merge_option: MergeOption,
    last_report: SaveReport,
    hooks: Hooks,
}

impl TableContext {
    /// Creates a context without tracked entities.
    pub fn new(service: &TableServiceClient) -> Self {
        Self {
            core: Arc::clone(service.core()),
            tracker: Tracker::new(
                service.core().protocol.dialect(),
                service.core().settings.write_id.clone(),
            ),
            merge_option: MergeOption::default(),
            last_report: SaveReport::default(),
            hooks: Hooks::default(),
        }
    }

    /// Sets how queries merge rows of tracked entities; the default is [`MergeOption::AppendOnly`].
    #[must_use]
    pub fn merge_option(mut self, option: MergeOption) -> Self {
        self.merge_option = option;
        self
    }

    /// Returns the table that `T` names.
    pub fn table<T: NamedTable>(&mut self) -> ContextTable<'_, T> {
        self.table_named(T::TABLE_NAME)
    }

    /// Returns a table by name.
    pub fn table_named<T: TableEntity>(&mut self, name: &str) -> ContextTable<'_, T> {
        ContextTable { context: self, table: Arc::from(name), entity: PhantomData }
    }

    /// Returns the table with the name of this one, such as a field of a [`TableSet`](crate::client::TableSet). The
    /// context reads and writes it through its own client, also if `client` has another account.
    pub fn table_of<T: TableEntity>(&mut self, client: &TableClient<T>) -> ContextTable<'_, T> {
        self.table_named(client.name())
    }

    /// Inserts the entity with the next save; see [`ContextTable::add`].
    ///
    /// # Errors
    /// The same errors as that method.
    pub fn add<T: NamedTable>(&mut self, entity: &T) -> Result<(), Error> {
        self.table::<T>().add(entity)
    }

    /// Tracks an entity that was not read; see [`ContextTable::attach`].
    ///
    /// # Errors
    /// The same errors as that method.
    pub fn attach<T: NamedTable>(
        &mut self,
        entity: &T,
        etag: impl IntoIfMatch,
    ) -> Result<(), Error> {
        self.table::<T>().attach(entity, etag)
    }

    /// Updates the tracked values; see [`ContextTable::update`].
    ///
    /// # Errors
    /// The same errors as that method.
    pub fn update<T: NamedTable>(&mut self, entity: &T) -> Result<(), Error> {
        self.table::<T>().update(entity)
    }

    /// Deletes the entity with the next save; see [`ContextTable::delete`].
    ///
    /// # Errors
    /// The same errors as that method.
    pub fn delete<T: NamedTable>(&mut self, entity: &T) -> Result<(), Error> {
        self.table::<T>().delete(entity)
    }

    /// Forgets the entity; see [`ContextTable::detach`].
    ///
    /// # Errors
    /// The same errors as that method.
    pub fn detach<T: NamedTable>(&mut self, entity: &T) -> Result<bool, Error> {
        self.table::<T>().detach(entity)
    }

    /// Undoes the local changes of an entity; see [`ContextTable::reset`].
    ///
    /// # Errors
    /// The same errors as that method.
    pub fn reset<T: NamedTable>(&mut self, entity: &T) -> Result<(), Error> {
        self.table::<T>().reset(entity)
    }

    /// Returns the tracked entity; `None` if it is not tracked.
    ///
    /// # Errors
    /// The entity has no valid key.
    pub fn entry<T: NamedTable>(&self, entity: &T) -> Result<Option<Entry<'_>>, Error> {
        let key = entity.entity_key()?;
        Ok(self.tracker.find(T::TABLE_NAME, &key).map(Entry))
    }

    /// Returns the client of the context, which creates the queries to [`load`](Self::load).
    pub fn service(&self) -> TableServiceClient {
        TableServiceClient::of(Arc::clone(&self.core))
    }

    /// Returns all tracked entities, in the order of their changes.
    pub fn entries(&self) -> Vec<Entry<'_>> {
        self.tracker.in_order().into_iter().map(|(_, tracked)| Entry(tracked)).collect()
    }

    /// Whether the next save has changes to send.
    pub fn has_changes(&self) -> bool {
        self.tracker.has_changes()
    }

    /// Forgets all entities.
    pub fn clear(&mut self) {
        self.tracker.forget_where(|_| true);
    }

    /// Forgets the entities for which `is_gone` returns `true`, and returns their number.
    pub fn detach_where(&mut self, is_gone: impl Fn(&Entry<'_>) -> bool) -> usize {
        self.tracker.forget_where(|tracked| is_gone(&Entry(tracked)))
    }

    /// Returns the requests that a save would send now, with their sizes. The hook for writing is called like in a
    /// save. Entities in the state [`Unknown`](EntityState::Unknown) are left out, since their rows are read first.
    ///
    /// # Errors
    /// The errors of a save before it sends anything.
    #[expect(clippy::needless_pass_by_value, reason = "like save_changes_with")]
    pub fn plan(&mut self, options: SaveOptions) -> Result<Vec<PlannedRequest>, Error> {
        let mut stage = self.stage();
        let candidates = plan::candidates(stage.tracker, stage.core, &options, &mut stage.writing)?;
        let groups = plan::groups(&candidates, &options, &self.core)?;
        Ok(groups.iter().map(PlannedRequest::of).collect())
    }

    /// Sends the changes, each as a request of its own, in their order. Sends nothing if there are no changes.
    ///
    /// # Errors
    /// The first change that fails ends the save; the error has the outcome of each change. A failed change stays
    /// pending, and the next save sends it again unless the entity is detached.
    ///
    /// REST: like the calls of [`TableClient`] with the same effect. Retries:
    /// [guarded](crate::guide::errors#retry-classes). A change whose outcome is unknown
    /// stays pending: the next save reads its row, and repeats its request if the row proves nothing.
    #[doc(alias("SaveChanges", "commit", "flush"))]
    pub async fn save_changes(&mut self) -> Result<SaveReport, SaveError> {
        self.save_changes_with(SaveOptions::default()).await
    }

    /// Sends the changes with these options.
    ///
    /// # Errors
    /// Like [`save_changes`](Self::save_changes). Changes that the options do not allow, such as changes of
    /// several partitions in an atomic save, are an error before anything is sent. A conflict that the
    /// [resolver](SaveOptions::on_conflict) has resolved is not an error.
    pub async fn save_changes_with(
        &mut self,
        options: SaveOptions,
    ) -> Result<SaveReport, SaveError> {
        drive::save(self, options).await
    }

    /// The report of the last save, also if the save was dropped.
    ///
    /// ```
    /// use azure_table_client::DynamicEntity;
    /// use azure_table_client::context::TableContext;
    /// use azure_table_client::mock::{Fault, MockTableService};
    /// use std::time::Duration;
    ///
    /// use tokio::time::timeout;
    ///
    /// #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let mock = MockTableService::new();
    ///     mock.seed::<DynamicEntity>("Blogs", [])?;
    ///     mock.faults().add(Fault::delay_reply(Duration::from_secs(30)).times(1));
    ///
    ///     let mut ctx = TableContext::new(&mock.client());
    ///     ctx.table_named("Blogs").add(&DynamicEntity::new("Channel9", "1"))?;
    ///     assert!(timeout(Duration::from_secs(5), ctx.save_changes()).await.is_err());
    ///     assert_eq!(ctx.last_report().unknown().count(), 1);
    ///
    ///     let report = ctx.save_changes().await?; // finds that the change was applied
    ///     assert_eq!(report.applied(), 1);
    ///     assert_eq!(mock.row_count("Blogs"), Some(1));
    ///     Ok(())
    /// }
    /// ```
    pub const fn last_report(&self) -> &SaveReport {
        &self.last_report
    }

    /// Calls `hook` with the properties of an entity before they are sent; in a merge, with the changed ones. The hook
    /// may change them. The entity then has the values that were sent; but with a hook for
    /// [reading](Self::on_reading), which may undo what this hook does, it keeps the values of the program.
    pub fn on_writing(&mut self, hook: impl FnMut(&mut DynamicEntity) + Send + 'static) {
        self.hooks.writing = Some(Box::new(hook));
    }

    /// Calls `hook` with each entity that a query has read, before it is tracked. The hook may change it. A later
    /// replace removes the properties that the hook removed.
    pub fn on_reading(&mut self, hook: impl FnMut(&mut DynamicEntity) + Send + 'static) {
        self.hooks.reading = Some(Box::new(hook));
    }

    /// Calls `hook` before each request of a save, with the operation and the table.
    pub fn on_request(&mut self, hook: impl FnMut(Operation, &str) + Send + 'static) {
        self.hooks.request = Some(Box::new(hook));
    }

    /// Calls `hook` with the status of each response to a save, and the service's id of the request.
    pub fn on_reply(&mut self, hook: impl FnMut(u16, Option<&str>) + Send + 'static) {
        self.hooks.reply = Some(Box::new(hook));
    }
}

/// Receives an entity, and may change it.
type EntityHook = dyn FnMut(&mut DynamicEntity) + Send;
/// Receives the operation of a request, and its table.
type RequestHook = dyn FnMut(Operation, &str) + Send;
/// Receives the status of a response, and the service's id of the request.
type ReplyHook = dyn FnMut(u16, Option<&str>) + Send;

/// The hooks of a program.
#[derive(Default)]
struct Hooks {
    writing: Option<Box<EntityHook>>,
    reading: Option<Box<EntityHook>>,
    request: Option<Box<RequestHook>>,
    reply: Option<Box<ReplyHook>>,
}

opaque_debug!(TableContext, |it| entries: it.entries());
