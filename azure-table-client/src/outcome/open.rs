//! Writes without a confirmation: their rows are read back, and each write is judged by what the rows hold.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use tracing::debug;

use super::evidence::{Found, SentWrite};
use super::read_back::{read_back, reading};
use super::rules::{Evidence, Judgment, Verdict, judge};
use crate::client_core::ClientCore;
use crate::edm::EdmDateTime;
use crate::entity::EntityKey;
use crate::error::Error;
use crate::operation::{Proof, Request};
use crate::pipeline::{CallOptions, error_type};

/// The time in which the service accepts an attempt that was signed with a key, with a margin: its date may be 15
/// minutes old, and was at most 15 minutes ahead of the service's clock; the service then works on it for at
/// most 30 seconds.
const SIGNED_LIFETIME: Duration = Duration::from_secs(2 * 15 * 60 + 30 + 60);

/// A request that was sent and was not confirmed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenWrite<'r> {
    pub(crate) request: &'r Request,
    /// Whether any attempt is open. A closed one counts as applied if its write id is found: a proxy may have
    /// delivered it twice.
    pub(crate) is_open: bool,
    /// Whether the service refused an attempt because an ETag was gone.
    pub(crate) is_fenced: bool,
    /// The time of the last open attempt, if it is known.
    pub(crate) sent: Option<Instant>,
    /// A time, by the service's clock, before the first attempt.
    pub(crate) since: Option<EdmDateTime>,
}

/// The judgment of each request, and the rows that the primary holds now.
pub(crate) struct Judged {
    pub(crate) judgments: Vec<Judgment>,
    pub(crate) rows: HashMap<EntityKey, Found>,
}

/// Whether the service would refuse an attempt that was sent at `sent` and arrived only now.
pub(crate) fn is_expired(core: &ClientCore, sent: Instant) -> bool {
    // A shared access signature or a token may be valid for longer than that.
    core.credential.had_keys_only() && core.clock.since(sent) > SIGNED_LIFETIME
}

/// Returns the proof that the program accepts: the setting of the call, or of the client.
pub(crate) fn accepted(core: &ClientCore, options: &CallOptions) -> Proof {
    options.proof.unwrap_or(core.settings.proof)
}

/// Reads the rows of writes in one partition, and judges each write. If the service `may_be_down`, the read is not
/// retried. If only responses count, no row is read, and all verdicts are unknown.
///
/// # Errors
/// The rows cannot be read.
pub(crate) async fn open(
    core: &ClientCore,
    writes: &[OpenWrite<'_>],
    may_be_down: bool,
    options: &CallOptions,
) -> Result<Judged, Error> {
    let proof = accepted(core, options);
    if proof == Proof::Response {
        let judgments = writes.iter().map(|write| not_compared(write.request)).collect();
        return Ok(Judged { judgments, rows: HashMap::new() });
    }
    // An attempt that expires while the rows are read may be applied after its row was read.
    let is_expired = |write: &OpenWrite<'_>| write.sent.is_some_and(|at| is_expired(core, at));
    let expired: Vec<_> = writes.iter().map(is_expired).collect();
    let mut keys: Vec<_> =
        writes.iter().flat_map(|it| &it.request.writes).map(|it| &it.key).collect();
    keys.sort_unstable_by(|a, b| a.row_key.cmp(&b.row_key));
    keys.dedup();
    let table = writes.first().map_or("", |write| &write.request.resource);
    let options = reading(options, may_be_down);
    let rows = read_back(core, table, &keys, &options).await.inspect_err(|error| {
        let (code, request_id) = (error_type(error), error.request_id());
        debug!(code, request_id, "cannot read back whether a write was applied");
    })?;
    let judgment = |(write, is_expired)| judgment(core, write, is_expired, &rows, proof);
    let judgments = writes.iter().zip(expired).map(judgment).collect();
    Ok(Judged { judgments, rows })
}

/// The judgment of a request whose rows are not compared with its writes.
fn not_compared(request: &Request) -> Judgment {
    let verdict = Verdict::Unknown { matching_state: None };
    Judgment { verdict, left: vec![false; request.writes.len()] }
}

fn judgment(
    core: &ClientCore,
    write: &OpenWrite<'_>,
    is_expired: bool,
    rows: &HashMap<EntityKey, Found>,
    proof: Proof,
) -> Judgment {
    let OpenWrite { request, is_open, is_fenced, since, .. } = *write;
    let Some(writes) = SentWrite::all_of(request, core.protocol.format()) else {
        return not_compared(request);
    };
    let write_id = core.settings.write_id.as_deref();
    let writes = &writes;
    let evidence = Evidence { writes, rows, write_id, since, is_open, is_fenced, is_expired };
    let judgment = judge(evidence, proof);
    debug!(verdict = ?judgment.verdict, "read back whether a write was applied");
    judgment
}

/// Reads the rows that are still in the state that a request left, in the order of its operations. Returns none if only
/// responses count, since another program may have written a row in that state.
pub(crate) async fn rows_left(
    core: &ClientCore,
    request: &Request,
    options: &CallOptions,
) -> Vec<Option<Found>> {
    if accepted(core, options) == Proof::Response {
        return Vec::new();
    }
    let writes = SentWrite::all_of(request, core.protocol.format()).unwrap_or_default();
    let keys: Vec<_> = writes.iter().map(SentWrite::key).collect();
    let mut rows = read_back(core, &request.resource, &keys, options).await.unwrap_or_default();
    writes
        .iter()
        .map(|write| rows.remove(write.key()).filter(|row| write.is_left_in(row)))
        .collect()
}
