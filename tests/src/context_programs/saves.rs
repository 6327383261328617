//! The saves of a program.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use azure_table_client::DynamicEntity;
use azure_table_client::context::{ConflictResolver, Resolution, SaveOptions};
use tokio::time::timeout;

use super::Kind;
use super::edits::Edits;
use super::reports::{Outcome, Saved, falsify, results};
use super::rows::columns_of;
use super::run::Runner;
use super::steps::{Mode, Resolver, Save};

/// The longest time of a save.
const LONGEST_SAVE: Duration = Duration::from_secs(12 * 3600);
/// The most requests of a save: for three rows with three retries, some rounds of conflicts and two readings for each doubt.
const MOST_REQUESTS: usize = 200;

/// A future that is dropped after some polls.
struct Limited<F> {
    future: Pin<Box<F>>,
    polls: Option<usize>,
}

impl<F: Future> Future for Limited<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.polls == Some(0) {
            return Poll::Ready(None);
        }
        if let Poll::Ready(output) = self.future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        if let Some(polls) = &mut self.polls {
            *polls -= 1;
            if *polls == 0 {
                return Poll::Ready(None);
            }
        }
        Poll::Pending
    }
}

impl Mode {
    /// The options of a save in this way.
    pub(super) fn options(self) -> SaveOptions {
        match self {
            Self::Each => SaveOptions::each(),
            Self::Atomic => SaveOptions::atomic(),
            Self::PerPartition => SaveOptions::per_partition(),
        }
    }
}

/// The conflicts that a resolver has decided.
type Decided = Arc<Mutex<Vec<(usize, Resolution)>>>;

impl Runner {
    pub(super) async fn save(&mut self, save: &Save) {
        let number = self.saves.len();
        self.network.begin(Some(number), &save.faults, &save.during);
        // These resolvers are not called back: they have seen each row that the save reads.
        let is_silent = matches!(save.resolver, Resolver::ClientWins | Resolver::ServerWins);
        self.network.log().shows_reads = is_silent;
        let conflicts = Decided::default();
        let resolver = self.resolver(save.resolver, &conflicts);
        let options = save.mode.options().on_conflict(resolver);
        let options = if save.continues { options.continue_on_error() } else { options };
        let options = if save.replaces { options.replace_on_update() } else { options };
        let options = if save.missing_is_deleted { options.missing_is_deleted() } else { options };
        let saved = {
            let future = Box::pin(self.ctx.save_changes_with(options));
            timeout(LONGEST_SAVE, Limited { future, polls: save.polls }).await
        };
        let (report, is_dropped) = match saved {
            Ok(Some(saved)) => (saved.unwrap_or_else(|error| error.report), false),
            Ok(None) => (self.ctx.last_report().clone(), true),
            Err(_) => {
                self.violate(Kind::Endless, "the save does not end");
                (self.ctx.last_report().clone(), true)
            }
        };
        let end = self.network.now();
        let states = self.states();
        let conflicts = std::mem::take(&mut *conflicts.lock().unwrap());
        let mut results = results(&report);
        if let Some(lie) = self.lie {
            falsify(&mut results, lie);
        }
        for result in &results {
            self.edits[result.row].is_doubtful |= result.outcome == Outcome::Unknown;
            if let Outcome::NotApplied { name: "discarded", .. } = result.outcome {
                self.edits[result.row].forget();
            }
        }
        for (row, resolution) in &conflicts {
            match resolution {
                Resolution::TakeServer | Resolution::Save(_) => self.edits[*row].forget(),
                _ => self.edits[*row].preserve(),
            }
        }
        let mut log = self.network.log();
        if is_silent {
            // A dropped save may not report what it has discarded.
            let decide =
                if save.resolver == Resolver::ServerWins { Edits::forget } else { Edits::preserve };
            self.edits.iter_mut().for_each(decide);
        }
        let (requests, is_disturbed) = (log.requests, log.is_disturbed.clone());
        log.save = None;
        drop(log);
        if requests > MOST_REQUESTS {
            self.violate(Kind::Endless, &format!("{requests} requests of one save"));
        }
        self.saves.push(Saved {
            step: self.step,
            save: save.clone(),
            results,
            end,
            is_dropped,
            requests,
            states,
            conflicts: conflicts.into_iter().map(|it| it.0).collect(),
            released: std::mem::take(&mut self.released),
            is_disturbed,
        });
    }

    fn resolver(&self, resolver: Resolver, conflicts: &Decided) -> ConflictResolver {
        let (network, conflicts) = (Arc::clone(&self.network), Arc::clone(conflicts));
        match resolver {
            Resolver::None => return ConflictResolver::abort(),
            Resolver::ClientWins => return ConflictResolver::client_wins(),
            Resolver::ServerWins => return ConflictResolver::server_wins(),
            _ => {}
        }
        ConflictResolver::merge(move |conflict| {
            let key = conflict.key();
            let row = key.row_key.parse::<usize>().unwrap();
            if let Some(server) = conflict.server() {
                network.log().rows.show(row, &columns_of(server));
            }
            let resolution = match resolver {
                Resolver::Take => Resolution::TakeServer,
                Resolver::Save(value) => {
                    let server = conflict.server().cloned();
                    let mut entity = server.unwrap_or_else(|| {
                        DynamicEntity::new(key.partition_key.clone(), key.row_key.clone())
                    });
                    entity.set("A", value);
                    network.log().rows.pass(row, "A", value);
                    Resolution::Save(entity)
                }
                Resolver::Abort => Resolution::Abort,
                _ => Resolution::KeepLocal,
            };
            conflicts.lock().unwrap().push((row, resolution.clone()));
            resolution
        })
    }
}
