//! Carries out what a save decides: the only asynchronous part of a save.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt as _};

use super::TableContext;
use super::doubt::{Doubt, Evidence, Finding, Identity, RequestId};
use super::machine::{Action, Event, Save, Stage};
use super::options::{Mode, SaveOptions};
use super::plan::Writing;
use super::report::{SaveError, SaveReport, may_still_be_applied};
use crate::ETag;
use crate::client::TableClient;
use crate::client_core::ClientCore;
use crate::edm::EdmDateTime;
use crate::entity::{DynamicEntity, EntityKey, Readable};
use crate::error::{Error, ErrorCode, OpenWrite, Outcome};
use crate::operation::{Confirmation, Proof, Request};
use crate::outcome::{self, Doubtful, Found, Judged, Unconfirmed, Verdict};
use crate::wire::Operation;

/// What an action has led to. The hooks of the context have not seen it yet.
enum Done {
    /// The status of the response and the service's id of the request, if there is a response.
    Answered(RequestId, Option<(u16, Option<String>)>, Finding),
    RowRead(Identity, Result<Option<Readable>, Error>),
    VersionsRead(Identity, HashMap<EntityKey, Found>),
    Waited(Identity),
}

type Work<'w> = Pin<Box<dyn Future<Output = Done> + Send + 'w>>;

pub(super) async fn save(
    context: &mut TableContext,
    options: SaveOptions,
) -> Result<SaveReport, SaveError> {
    let core = Arc::clone(&context.core);
    let (mut save, mut actions) = Save::begin(options.clone(), &mut context.stage());
    let mut work = FuturesUnordered::new();
    loop {
        for action in actions {
            work.push(context.start(&core, action, &options));
        }
        let Some(done) = work.next().await else { break };
        let event = context.receive(done);
        actions = save.step(&mut context.stage(), event);
    }
    save.finish(&mut context.stage())
}

impl TableContext {
    pub(super) fn stage(&mut self) -> Stage<'_> {
        let has_reading = self.hooks.reading.is_some();
        let hook = self.hooks.writing.as_deref_mut();
        Stage {
            core: &self.core,
            tracker: &mut self.tracker,
            report: &mut self.last_report,
            writing: Writing { hook, has_reading },
        }
    }

    fn start<'w>(
        &mut self,
        core: &'w Arc<ClientCore>,
        action: Action,
        options: &'w SaveOptions,
    ) -> Work<'w> {
        match action {
            Action::Send(id, earlier) => {
                let doubt = self.tracker.doubts.get(&id).cloned();
                if let (Some(hook), Some(doubt)) = (&mut self.hooks.request, &doubt) {
                    hook(doubt.request.operation, &doubt.request.resource);
                }
                Box::pin(send(core, id, doubt, earlier, options))
            }
            Action::ReadRows(id) => {
                let doubt = self.tracker.doubts.get(&id).cloned();
                Box::pin(read_rows(core, id, doubt, options))
            }
            Action::ReadRow(id) => {
                let tracked = self.tracker.get(&id);
                let place = tracked.map(|it| (it.table().to_string(), it.key().clone()));
                Box::pin(async move {
                    let Some((table, key)) = place else { return Done::RowRead(id, Ok(None)) };
                    let client = TableClient::<DynamicEntity>::new(Arc::clone(core), table);
                    let row = client.get_row(&key, options.call.clone()).await;
                    Done::RowRead(id, row)
                })
            }
            Action::ReadVersions(id, request) => Box::pin(async move {
                let keys: Vec<_> = request.writes.iter().map(|write| &write.key).collect();
                let rows = outcome::read_back(core, &request.resource, &keys, &options.call).await;
                Done::VersionsRead(id, rows.unwrap_or_default())
            }),
            Action::Wait(id, wait) => Box::pin(async move {
                core.clock.sleep(wait).await;
                Done::Waited(id)
            }),
        }
    }

    /// Calls the hooks.
    fn receive(&mut self, done: Done) -> Event {
        match done {
            Done::Answered(request, response, mut finding) => {
                if let (Some(hook), Some((status, id))) = (&mut self.hooks.reply, response) {
                    hook(status, id.as_deref());
                }
                if let Finding::Applied { rows, .. } = &mut finding {
                    self.call_reading_hook(rows);
                }
                Event::Answered(request, finding)
            }
            Done::RowRead(id, row) => {
                let row = row.and_then(|row| row.map(|row| self.server_row(row, None)).transpose());
                Event::RowRead(id, Box::new(row))
            }
            Done::VersionsRead(id, mut rows) => {
                self.call_reading_hook(&mut rows);
                Event::VersionsRead(id, rows)
            }
            Done::Waited(id) => Event::Waited(id),
        }
    }

    /// Calls the hook for reading with rows that are compared with tracked entities.
    fn call_reading_hook(&mut self, rows: &mut HashMap<EntityKey, Found>) {
        let Some(hook) = &mut self.hooks.reading else { return };
        for (key, row) in rows {
            let mut entity = outcome::MapEntity::new(key, &row.properties).to_dynamic();
            hook(&mut entity);
            row.properties = entity.into_parts().1.into_iter().collect();
        }
    }
}

/// Sends a request. If the response does not confirm it, reads its rows.
async fn send(
    core: &ClientCore,
    id: RequestId,
    doubt: Option<Doubt>,
    earlier: Option<OpenWrite>,
    options: &SaveOptions,
) -> Done {
    let Some(Doubt { request, members, since, .. }) = doubt else { return gone(id) };
    let trace = core.trace(request.operation, request.resource.clone()).batch(members.len());
    let reply = trace.within(core.send(&request, &options.call, &trace)).await;
    let response = reply.as_ref().ok();
    let response = response.map(|it| (it.status.as_u16(), it.request_id().map(str::to_owned)));
    let done = |finding| Done::Answered(id, response, finding);
    let last = match Unconfirmed::of(reply, &request, earlier) {
        Ok(committed) => {
            trace.finish(Ok(()));
            let etags = committed.operations.into_iter().map(|result| result.etag).collect();
            return done(applied(etags, HashMap::new(), Confirmation::Response));
        }
        Err(last) => last,
    };
    // A transaction of an earlier save is repeated as it was, and has deleted nothing if it is refused.
    let is_missing = options.missing_is_deleted
        && options.mode == Mode::Each
        && request.operation == Operation::Delete
        && last.error().code() == Some(&ErrorCode::ResourceNotFound);
    if is_missing || last.error().outcome() == Outcome::Applied {
        trace.finish(Ok(()));
        return done(applied(Vec::new(), HashMap::new(), Confirmation::Response));
    }
    let finding = trace.within(examine(core, &request, last, since, options)).await;
    match &finding {
        Finding::Applied { .. } => {
            trace.resolved();
            trace.finish(Ok(()));
        }
        Finding::NotApplied(error) | Finding::Unknown { error, .. } => trace.finish(Err(error)),
    }
    done(finding)
}

/// Examines the rows of a request that was not confirmed, unless the response refuses each attempt.
async fn examine(
    core: &ClientCore,
    request: &Request,
    last: Unconfirmed,
    since: Option<EdmDateTime>,
    options: &SaveOptions,
) -> Finding {
    let open = last.open();
    let since = last.since(core, open.and_then(|open| open.first_sent)).or(since);
    let is_read = outcome::accepted(core, &options.call) != Proof::Response;
    if !last.is_doubtful(request) || (open.is_none() && !is_read) {
        return Finding::NotApplied(last.into_error());
    }
    let write = Doubtful { request, open, since };
    let judged = if is_read {
        outcome::open(core, write, last.may_be_down(request), &options.call).await.ok()
    } else {
        None
    };
    let open = open.unwrap_or_default();
    finding(judged, last.into_error(), open, since)
}

/// Reads the rows of a request of an earlier save.
async fn read_rows(
    core: &ClientCore,
    id: RequestId,
    doubt: Option<Doubt>,
    options: &SaveOptions,
) -> Done {
    let Some(Doubt { request, open, since, .. }) = doubt else { return gone(id) };
    let write = Doubtful { request: &request, open: Some(open), since };
    let finding = match outcome::open(core, write, true, &options.call).await {
        Ok(judged) => finding(Some(judged), may_still_be_applied(), open, since),
        Err(error) => finding(None, error, open, since),
    };
    Done::Answered(id, None, finding)
}

pub(super) fn finding(
    judged: Option<Judged>,
    error: Error,
    open: OpenWrite,
    since: Option<EdmDateTime>,
) -> Finding {
    let Some(Judged { verdict, is_expired, rows }) = judged else {
        return Finding::Unknown { error: outcome::unknown(error), open, since, evidence: None };
    };
    match verdict {
        Verdict::Applied(confirmation) => applied(Vec::new(), rows, confirmation),
        Verdict::NotApplied => Finding::NotApplied(outcome::not_applied(error)),
        Verdict::Unknown { matching_state } => {
            let error = outcome::unknown(error).with_matching_state(matching_state);
            let evidence = Some(Evidence { rows, is_expired });
            Finding::Unknown { error, open, since, evidence }
        }
    }
}

const fn applied(
    etags: Vec<Option<ETag>>,
    rows: HashMap<EntityKey, Found>,
    confirmation: Confirmation,
) -> Finding {
    Finding::Applied { confirmation, etags, rows }
}

/// The request is no doubt any more.
fn gone(id: RequestId) -> Done {
    let (error, open) = (may_still_be_applied(), OpenWrite::default());
    Done::Answered(id, None, Finding::Unknown { error, open, since: None, evidence: None })
}
