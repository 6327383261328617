//! Carries out a program on a context, and records what the program learns.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use azure_table_client::context::{EntityState, TableContext};
use azure_table_client::mock::MockTableService;
use azure_table_client::{DynamicEntity, IfMatch, Proof, RetryPolicy};
use tokio::time::sleep;

use super::edits::Edits;
use super::faults::Fault;
use super::network::{Network, Wire};
use super::oracle::{self, Run};
use super::reports::Saved;
use super::requests::{HOOK, plain};
use super::rows::{TABLE, columns_of};
use super::steps::{Hooks, Program, Save};
use super::trace::trace;
use super::{Kind, Lie};
use crate::chaos::MachineClock;

/// After this time no copy of a request is under way: the latest one arrives 28 minutes after it was sent.
const SETTLING: Duration = Duration::from_secs(45 * 60);

/// A program that runs.
pub(super) struct Runner {
    pub(super) network: Arc<Network>,
    pub(super) ctx: TableContext,
    /// The entities as the program holds them.
    pub(super) held: Vec<Option<DynamicEntity>>,
    pub(super) edits: Vec<Edits>,
    pub(super) saves: Vec<Saved>,
    pub(super) released: Vec<usize>,
    /// The fault of the next step.
    pub(super) fault: Option<Fault>,
    pub(super) step: usize,
    /// Falsifies the reports.
    pub(super) lie: Option<Lie>,
}

/// What a hook does to an entity.
fn change(entity: &mut DynamicEntity, change: fn(i32) -> i32) {
    if let Some(Ok(value)) = entity.get::<i32>("C") {
        entity.set("C", change(value));
    }
}

/// Runs a program and judges it.
pub(super) fn run(program: &Program, lie: Option<Lie>) -> (Vec<(Kind, String)>, oracle::Figures) {
    match carry_out(program, lie) {
        Ok(run) => oracle::judge(&run),
        Err(panic) => (vec![(Kind::Panic, panic)], oracle::Figures::default()),
    }
}

/// Runs a program and returns what happened.
pub(super) fn traced(program: &Program) -> String {
    carry_out(program, None).map(|run| trace(&run)).unwrap_or_default()
}

fn carry_out(program: &Program, lie: Option<Lie>) -> Result<Run, String> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build().unwrap();
    let run = std::panic::AssertUnwindSafe(|| runtime.block_on(Runner::run(program, lie)));
    std::panic::catch_unwind(run).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        text.unwrap_or_default()
    })
}

impl Runner {
    async fn run(program: &Program, lie: Option<Lie>) -> Run {
        let settings = &program.settings;
        let mock = MockTableService::builder().random_seed(program.seed).kept_requests(0).build();
        let rows = program.start.len();
        let partition = |row| if settings.has_second_partition && row == 2 { "q" } else { "p" };
        let partitions = (0..rows).map(partition).collect();
        let network = Arc::new(Network::new(&mock, partitions, program.seed));
        network.prepare(&program.start).await;
        let clock = MachineClock::new(mock.clock(), 1.0);
        clock.skew(settings.ahead);
        let builder = mock
            .client_builder()
            .transport(Arc::new(Wire(Arc::clone(&network))))
            .clock(Arc::new(clock))
            .retry(RetryPolicy::fixed(settings.retries, Duration::from_millis(100)))
            .try_timeout(Duration::from_secs(30))
            .deadline(Duration::from_secs(2 * 60))
            .proof(settings.proof);
        let builder = if settings.has_ids { builder.write_id_column("WriteId") } else { builder };
        let mut ctx = TableContext::new(&builder.build().unwrap());
        if settings.hooks != Hooks::None {
            ctx.on_writing(|entity| change(entity, |value| plain(value) + HOOK));
        }
        if settings.hooks == Hooks::WritingAndReading {
            ctx.on_reading(|entity| change(entity, plain));
        }
        let mut runner = Self {
            network,
            ctx,
            held: vec![None; rows],
            edits: vec![Edits::default(); rows],
            saves: vec![],
            released: vec![],
            fault: None,
            step: 0,
            lie,
        };
        for step in &program.steps {
            let fault = runner.fault.take().map(|fault| (0, fault));
            runner.network.begin(None, fault.as_slice(), &[]);
            runner.take(step).await;
            runner.observe();
            runner.step += 1;
        }
        // All copies arrive, and the program saves until nothing is in doubt.
        for _ in 0..3 {
            sleep(SETTLING).await;
            runner.network.begin(None, &[], &[]);
            runner.save(&Save::last()).await;
            runner.observe();
        }
        sleep(SETTLING).await;
        Run {
            network: runner.network,
            saves: runner.saves,
            has_ids: settings.has_ids,
            reads_back: settings.proof != Proof::Response,
        }
    }

    pub(super) fn entity(&self, row: usize) -> DynamicEntity {
        let (partition_key, row_key) = self.network.key(row);
        DynamicEntity::new(partition_key, row_key)
    }

    pub(super) fn with<'v>(
        &self,
        row: usize,
        values: impl IntoIterator<Item = (&'v &'static str, &'v i32)>,
    ) -> DynamicEntity {
        let mut entity = self.entity(row);
        let mut log = self.network.log();
        for (name, value) in values {
            entity.set(*name, *value);
            log.rows.pass(row, name, *value);
        }
        entity
    }

    pub(super) fn state(&mut self, row: usize) -> Option<EntityState> {
        let (partition_key, row_key) = self.network.key(row);
        let table = self.ctx.table_named::<DynamicEntity>(TABLE);
        table.entry((partition_key, row_key)).map(|entry| entry.state())
    }

    /// The ETag that the next write is conditional on.
    pub(super) fn etag(&mut self, row: usize) -> Option<String> {
        let key = self.network.key(row);
        match self.ctx.table_named::<DynamicEntity>(TABLE).entry(key)?.condition()? {
            IfMatch::Tag(tag) => Some(tag.to_string()),
            IfMatch::Any => None,
        }
    }

    pub(super) fn states(&mut self) -> Vec<Option<EntityState>> {
        (0..self.network.rows()).map(|row| self.state(row)).collect()
    }

    /// The tracked entity, if the context returns it without a request.
    pub(super) fn tracked(&mut self, row: usize) -> Option<DynamicEntity> {
        let key = self.network.key(row);
        self.network.log().is_offline = true;
        let mut table = self.ctx.table_named::<DynamicEntity>(TABLE);
        let found = {
            let mut find = Box::pin(table.find(key));
            match find.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop())) {
                Poll::Ready(found) => found.ok().flatten(),
                Poll::Pending => None,
            }
        };
        self.network.log().is_offline = false;
        found
    }

    pub(super) fn violate(&self, kind: Kind, text: &str) {
        self.network.log().violations.push((kind, format!("step {}: {text}", self.step)));
    }

    /// Compares what the context tracks with the rows.
    fn observe(&mut self) {
        for row in 0..self.network.rows() {
            let state = self.state(row);
            let key = self.network.key(row);
            let etag = self.etag(row);
            let table = self.ctx.table_named::<DynamicEntity>(TABLE);
            let changed = table.entry(key).map(|entry| entry.changed()).unwrap_or_default();
            let changed: Vec<_> = changed.into_iter().map(str::to_owned).collect();
            let is_known = matches!(state, Some(EntityState::Unchanged | EntityState::Modified));
            let tracked = self.tracked(row).map(|entity| columns_of(&entity));
            if let (Some(etag), Some(tracked)) = (&etag, &tracked)
                && is_known
                && !self.edits[row].is_partly_known
            {
                self.compare(row, etag, &changed, tracked);
            }
            let lost = {
                let log = self.network.log();
                let base = etag.as_deref().and_then(|etag| log.rows.version(row, etag));
                let since = |index| log.rows.since(row, index);
                self.edits[row].lost(state, since, base, tracked.as_ref())
            };
            if let Some(lost) = &lost {
                let is = state.map_or("forgotten".to_owned(), |state| state.to_string());
                self.violate(Kind::LostEdit, &format!("row {row} is {is}, and {lost}"));
            }
            if lost.is_some() || matches!(state, None | Some(EntityState::Unchanged)) {
                self.edits[row].forget();
            }
        }
    }

    /// The known columns of an entity's base are those of the row at its ETag (context-machine.md, property 5).
    fn compare(&self, row: usize, etag: &str, changed: &[String], tracked: &BTreeMap<String, i32>) {
        let version = self.network.log().rows.version(row, etag).cloned();
        let Some(stored) = version.and_then(|version| version.columns) else { return };
        let plain = |value: Option<&i32>| value.map(|value| plain(*value));
        let names: BTreeSet<_> = tracked.keys().chain(stored.keys()).collect();
        for name in names {
            let (tracked, stored) = (tracked.get(name), stored.get(name));
            if !changed.contains(name) && plain(tracked) != plain(stored) {
                let text = format!("row {row} is tracked with {name}={tracked:?}");
                let text = format!("{text} at the version with {stored:?}");
                self.violate(Kind::WrongBase, &text);
            }
        }
    }
}
