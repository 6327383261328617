//! Conflicts of a save with other writers, and how a program wants them resolved. No I/O.

use std::fmt;
use std::sync::{Arc, Mutex};

use crate::entity::{DynamicEntity, EntityKey};
use crate::error::{Error, ErrorCode, Outcome};
use crate::lock::lock;
use crate::wire::Operation;

/// A change of a save that the service refused because of another writer: an insert whose row exists
/// already (409), an update or a delete whose row has another version (412) or is gone (404).
///
/// A change with an unknown outcome is not a conflict.
#[derive(Debug)]
pub struct Conflict<'c> {
    pub(super) table: &'c str,
    pub(super) key: &'c EntityKey,
    pub(super) operation: Operation,
    pub(super) error: &'c Error,
    pub(super) round: u32,
    pub(super) server: Option<&'c DynamicEntity>,
    pub(super) original: Option<DynamicEntity>,
    pub(super) local: Option<DynamicEntity>,
}

impl Conflict<'_> {
    /// The table.
    pub const fn table(&self) -> &str {
        self.table
    }

    /// The key of the entity.
    pub const fn key(&self) -> &EntityKey {
        self.key
    }

    /// The operation that the service refused.
    pub const fn operation(&self) -> Operation {
        self.operation
    }

    /// The service's refusal.
    pub const fn error(&self) -> &Error {
        self.error
    }

    /// Counts the conflicts of this change in this save, from 1.
    pub const fn round(&self) -> u32 {
        self.round
    }

    /// The row as the service has it now, read at the primary; `None` if it is gone.
    pub const fn server(&self) -> Option<&DynamicEntity> {
        self.server
    }

    /// The row as the context had read or written it before the local change, as far as its query
    /// selected it; `None` for an entity that was added or attached.
    pub const fn original(&self) -> Option<&DynamicEntity> {
        self.original.as_ref()
    }

    /// The entity with its local changes; `None` if the local change is a delete.
    pub const fn local(&self) -> Option<&DynamicEntity> {
        self.local.as_ref()
    }
}

/// A decision about one [`Conflict`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Resolution {
    /// Sends the local change again, on top of the server's row: properties that were not changed locally
    /// keep the server's values. A row that is gone is inserted again.
    KeepLocal,
    /// Keeps the server's row and discards the local change. The save continues without it.
    TakeServer,
    /// Writes this entity, and removes properties that it lacks. The local change may also have been a
    /// delete. A row that is gone is inserted again. The entity must have the key of the conflict.
    Save(DynamicEntity),
    /// Leaves the change failed and pending, as without a resolver.
    Abort,
}

/// Decides the conflicts of a save; see [`SaveOptions::on_conflict`](super::SaveOptions::on_conflict).
///
/// For each conflict the context reads the row at the primary, resolves, and sends the change again
/// under the row's version. One change is resolved at most [3 times](Self::rounds). A change whose outcome
/// was unknown during the save, or when it began, is never resolved.
///
/// | resolver | the local change |
/// |---|---|
/// | [`abort`](Self::abort), the default | fails and stays pending |
/// | [`client_wins`](Self::client_wins) | is sent again, on top of the server's row; an update whose row was deleted inserts it again |
/// | [`server_wins`](Self::server_wins) | is discarded, which the report shows |
/// | [`merge`](Self::merge) | is decided by the closure, which receives the server's row, the row that was read, and the local values |
///
/// In a transaction, a discarded change is left out and the other changes are sent again.
#[derive(Clone)]
pub struct ConflictResolver {
    pub(super) strategy: Strategy,
    pub(super) rounds: u32,
}

type Merge = dyn FnMut(&Conflict<'_>) -> Resolution + Send;

#[derive(Clone)]
pub(super) enum Strategy {
    Abort,
    ClientWins,
    ServerWins,
    Merge(Arc<Mutex<Merge>>),
}

/// The conflicts of one change that are resolved at most.
const ROUNDS: u32 = 3;

impl ConflictResolver {
    const fn new(strategy: Strategy) -> Self {
        Self { strategy, rounds: ROUNDS }
    }

    /// Resolves no conflict: the change fails and stays pending.
    pub const fn abort() -> Self {
        Self::new(Strategy::Abort)
    }

    /// Resolves each conflict with [`Resolution::KeepLocal`].
    pub const fn client_wins() -> Self {
        Self::new(Strategy::ClientWins)
    }

    /// Resolves each conflict with [`Resolution::TakeServer`].
    ///
    /// ```
    /// use azure_table_client::DynamicEntity;
    /// use azure_table_client::context::{ConflictResolver, SaveOptions, TableContext};
    /// use azure_table_client::mock::MockTableService;
    ///
    /// #[tokio::main(flavor = "current_thread")]
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let service = MockTableService::new().client();
    ///     let stock = service.table_named::<DynamicEntity>("Stock");
    ///     stock.create().await?;
    ///     let chair = |left: i32| {
    ///         let mut chair = DynamicEntity::new("Oslo", "chair");
    ///         chair.set("Left", left);
    ///         chair
    ///     };
    ///     stock.insert(&chair(3)).await?;
    ///
    ///     let mut ctx = TableContext::new(&service);
    ///     ctx.table_of(&stock).find(("Oslo", "chair")).await?;
    ///     ctx.table_of(&stock).update(&chair(2))?;
    ///     stock.insert_or_replace(&chair(7)).await?; // another program
    ///
    ///     let options = SaveOptions::each().on_conflict(ConflictResolver::server_wins());
    ///     let report = ctx.save_changes_with(options).await?;
    ///     assert_eq!(report.discarded().count(), 1);
    ///     assert_eq!(stock.get(("Oslo", "chair")).await?.get::<i32>("Left").transpose()?, Some(7));
    ///     Ok(())
    /// }
    /// ```
    pub const fn server_wins() -> Self {
        Self::new(Strategy::ServerWins)
    }

    /// Resolves each conflict as the closure decides. Clones of the resolver share the closure.
    ///
    /// ```
    /// use azure_table_client::TableEntity;
    /// use azure_table_client::context::{ConflictResolver, Resolution, SaveOptions, TableContext};
    /// use azure_table_client::mock::MockTableService;
    ///
    /// #[derive(Debug, Clone, TableEntity)]
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
    /// #[tokio::main(flavor = "current_thread")]
    /// async fn main() -> Result<(), Box<dyn std::error::Error>> {
    ///     let mock = MockTableService::new();
    ///     let service = mock.client();
    ///     mock.seed(
    ///         "Blogs",
    ///         &[Blog { channel: "Channel9".into(), id: 1, text: "Hello".into(), rating: 3 }],
    ///     )?;
    ///     let key = Blog::key("Channel9", 1)?;
    ///     let mut ctx = TableContext::new(&service);
    ///     let mut blog = ctx.find::<Blog>(&key).await?.unwrap();
    ///     blog.text = "Hi there".into();
    ///     blog.rating += 1;
    ///     ctx.update(&blog)?;
    ///
    ///     // Meanwhile another program rates it.
    ///     service.table::<Blog>().update_with(&key, |b| b.rating += 10).await?;
    ///
    ///     // Both ratings count.
    ///     let resolver = ConflictResolver::merge(|conflict| {
    ///         let rating = |row: &azure_table_client::DynamicEntity| row.get::<i32>("Rating")?.ok();
    ///         let (Some(server), Some(original), Some(local)) =
    ///             (conflict.server(), conflict.original(), conflict.local())
    ///         else {
    ///             return Resolution::Abort;
    ///         };
    ///         let (Some(theirs), Some(before), Some(ours)) =
    ///             (rating(server), rating(original), rating(local))
    ///         else {
    ///             return Resolution::Abort;
    ///         };
    ///         let mut merged = local.clone();
    ///         merged.set("Rating", theirs + ours - before);
    ///         Resolution::Save(merged)
    ///     });
    ///     let report = ctx.save_changes_with(SaveOptions::each().on_conflict(resolver)).await?;
    ///     assert_eq!(report.applied(), 1);
    ///     let stored = service.table::<Blog>().get(&key).await?;
    ///     assert_eq!((stored.text.as_str(), stored.rating), ("Hi there", 14));
    ///     Ok(())
    /// }
    /// ```
    pub fn merge(decide: impl FnMut(&Conflict<'_>) -> Resolution + Send + 'static) -> Self {
        Self::new(Strategy::Merge(Arc::new(Mutex::new(decide))))
    }

    /// Sets the maximum number of conflicts of one change that are resolved; the default is 3. After the last
    /// one the change fails; [`Error::rounds`] is the number of its conflicts that were resolved.
    #[must_use]
    pub const fn rounds(mut self, rounds: u32) -> Self {
        self.rounds = rounds;
        self
    }

    pub(super) const fn is_abort(&self) -> bool {
        matches!(self.strategy, Strategy::Abort)
    }

    pub(super) fn decide(&self, conflict: &Conflict<'_>) -> Resolution {
        match &self.strategy {
            Strategy::Abort => Resolution::Abort,
            Strategy::ClientWins => Resolution::KeepLocal,
            Strategy::ServerWins => Resolution::TakeServer,
            Strategy::Merge(decide) => {
                let mut decide = lock(decide);
                decide(conflict)
            }
        }
    }
}

impl fmt::Debug for ConflictResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let strategy = match self.strategy {
            Strategy::Abort => "abort",
            Strategy::ClientWins => "client_wins",
            Strategy::ServerWins => "server_wins",
            Strategy::Merge(_) => "merge",
        };
        f.debug_struct("ConflictResolver")
            .field("strategy", &format_args!("{strategy}"))
            .field("rounds", &self.rounds)
            .finish()
    }
}

/// Whether the service refused this operation because of another writer.
pub(super) fn is_conflict(operation: Operation, error: &Error) -> bool {
    if error.outcome() != Outcome::NotApplied {
        return false;
    }
    match operation {
        Operation::Insert => {
            error.is_conflict() && error.code() == Some(&ErrorCode::EntityAlreadyExists)
        }
        Operation::Merge | Operation::Replace | Operation::Delete => {
            error.is_precondition_failed()
                || (error.is_not_found() && error.code().is_some_and(ErrorCode::is_missing_entity))
        }
        _ => false,
    }
}
