//! Writes whose connections are cut at a random moment. Each outcome that the client reports is compared with the rows.

mod cut;
mod write;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use azure_table_client::{Confirmation, DynamicEntity, Error, Outcome, RetryPolicy, TableClient};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::account::{Account, chain};
use super::part::Part;

use self::cut::Cutting;
use self::write::{Rows, Write};

/// The writes at the same time.
const AT_ONCE: usize = 16;
/// The wait before the rows are read. A cut request that the service applies later is not noticed.
const SETTLING: Duration = Duration::from_secs(2);
/// The inserts that measure the latency.
const MEASURED: u32 = 10;
const CLIENTS: usize = 4;
/// The most unknown outcomes of writes with retries and ids, in percent. The emulator gives 12 to 13.
const MOST_UNKNOWN: usize = 25;
/// The writes with retries and ids of which the share has a meaning.
const FEWEST_JUDGED: usize = 100;
/// The false outcomes that are listed.
const LISTED: usize = 20;

pub(super) async fn run(account: &Account, writes: usize) -> Part {
    let mut part = Part::default();
    match compare(account, writes, &mut part).await {
        Ok(()) => {}
        Err(error) => {
            part.check("the writes are prepared and read back", Err(chain(&error)));
        }
    }
    part
}

async fn compare(account: &Account, count: usize, part: &mut Part) -> Result<(), Error> {
    let table = account.service()?.table_named(account.table_name("lost"));
    table.create().await?;
    let latency = latency(&table).await?;
    let prepared = stream::iter((0..count).map(|number| Write::prepare(number, &table)));
    let writes: Vec<Write> = prepared.buffer_unordered(AT_ONCE).try_collect().await?;
    let cutting = Arc::new(Cutting::new(Arc::clone(&account.transport), 2 * latency));
    let clients = clients(account, &cutting, table.name())?;
    let clients = &clients;
    let sent = writes.iter().map(|write| async move {
        let client = &clients[write.client(clients.len())];
        let (result, cuts) = cut::counted(write.send(client)).await;
        Sent { write, claim: Claim::of(&result), cuts }
    });
    let sent: Vec<_> = stream::iter(sent).buffer_unordered(AT_ONCE).collect().await;
    tokio::time::sleep(SETTLING).await;
    let rows = read(&table).await?;
    judge(part, &sent, &rows);
    judge_cuts(part, &sent, &rows, &cutting);
    part.figures.push(format!(
        "{} of {} exchanges were cut, after at most {:.1} ms",
        cutting.cuts(),
        cutting.exchanges(),
        2.0 * latency.as_secs_f64() * 1000.0
    ));
    Ok(())
}

/// The time of an insert, measured one after another: the time of many at once is that of the queue.
async fn latency(table: &TableClient<DynamicEntity>) -> Result<Duration, Error> {
    let begin = Instant::now();
    for row in 0..MEASURED {
        table.insert(&DynamicEntity::new("latency", row.to_string())).await?;
    }
    Ok(begin.elapsed() / MEASURED)
}

/// The table by four clients: without and with retries, without and with ids of writes.
fn clients(
    account: &Account,
    cutting: &Arc<Cutting>,
    table: &str,
) -> Result<Vec<TableClient<DynamicEntity>>, Error> {
    let retries = RetryPolicy::exponential(4, Duration::from_millis(20), Duration::from_secs(1));
    let mut clients = Vec::new();
    for policy in [RetryPolicy::none(), retries] {
        for has_ids in [false, true] {
            let cutting = Arc::<Cutting>::clone(cutting);
            let builder = account.builder()?.transport(cutting).retry(policy.clone());
            let builder = builder.retry_budget(None);
            let builder = if has_ids { builder.write_id_column("WriteId") } else { builder };
            clients.push(builder.build()?.table_named(table));
        }
    }
    Ok(clients)
}

/// The outcome that the client reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Claim {
    Confirmed,
    AppliedByWriteId,
    AppliedByComparison,
    AppliedWithError,
    NotApplied,
    Unknown,
}

impl Claim {
    fn of(result: &Result<Confirmation, Error>) -> Self {
        match result {
            Ok(Confirmation::WriteId) => Self::AppliedByWriteId,
            Ok(Confirmation::Comparison) => Self::AppliedByComparison,
            Ok(_) => Self::Confirmed,
            Err(error) => match error.outcome() {
                Outcome::Applied => Self::AppliedWithError,
                Outcome::NotApplied => Self::NotApplied,
                Outcome::Unknown => Self::Unknown,
            },
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Confirmed => "applied by the response",
            Self::AppliedByWriteId => "applied by the id of the write",
            Self::AppliedByComparison => "applied by comparison",
            Self::AppliedWithError => "applied, with an error",
            Self::NotApplied => "not applied",
            Self::Unknown => "unknown",
        }
    }

    /// Whether the claim permits what the rows show; `None` is a part of a write.
    fn permits(self, was_applied: Option<bool>) -> bool {
        match (self, was_applied) {
            (_, None) => false,
            (Self::Unknown, Some(_)) => true,
            (Self::NotApplied, Some(was_applied)) => !was_applied,
            (_, Some(was_applied)) => was_applied,
        }
    }
}

async fn read(table: &TableClient<DynamicEntity>) -> Result<Rows, Error> {
    let rows = table.query().await?;
    let rows = rows.into_iter().map(|row| {
        let value = row.get::<i32>("Value").and_then(Result::ok);
        let key = row.key();
        ((key.partition_key.clone(), key.row_key.clone()), value)
    });
    Ok(rows.collect::<HashMap<_, _>>())
}

/// A write that was sent.
struct Sent<'w> {
    write: &'w Write,
    claim: Claim,
    /// The exchanges of the write that were cut.
    cuts: u32,
}

impl Sent<'_> {
    /// Without a cut, the response decides.
    fn is_expected(&self) -> bool {
        let expected = if self.write.is_refused() { Claim::NotApplied } else { Claim::Confirmed };
        self.cuts > 0 || self.claim == expected
    }
}

/// Checks that the section tested something: enough cuts, before and after writes were applied.
fn judge_cuts(part: &mut Part, sent: &[Sent<'_>], rows: &Rows, cutting: &Cutting) {
    let was_cut_and_applied =
        |it: &&Sent<'_>| it.cuts > 0 && it.write.was_applied(rows) == Some(true);
    let applied = sent.iter().filter(was_cut_and_applied).count();
    let (cuts, exchanges) = (cutting.cuts(), cutting.exchanges());
    let enough =
        if cuts * 10 >= exchanges { Ok(()) } else { Err(format!("{cuts} of {exchanges}")) };
    part.check("at least a tenth of the exchanges is cut", enough);
    let some = if applied > 0 { Ok(()) } else { Err("none".to_owned()) };
    part.check("a write with a cut exchange is applied", some);
    let best: Vec<_> = sent.iter().filter(|it| it.write.has_retries_and_ids(CLIENTS)).collect();
    let unknown = best.iter().filter(|it| it.claim == Claim::Unknown).count();
    let figure = format!("{unknown} of {} writes with retries and ids are unknown", best.len());
    if best.len() >= FEWEST_JUDGED {
        let is_rare = unknown * 100 <= best.len() * MOST_UNKNOWN;
        let rare = if is_rare { Ok(()) } else { Err(figure.clone()) };
        part.check("outcomes of writes with retries and ids are rarely unknown", rare);
    }
    part.figures.push(format!("{figure}; {applied} writes with a cut exchange were applied"));
}

/// Compares the claims with the rows.
fn judge(part: &mut Part, sent: &[Sent<'_>], rows: &Rows) {
    let mut counts: BTreeMap<Claim, usize> = BTreeMap::new();
    let (mut wrong, mut unknown_but_applied) = (Vec::new(), 0);
    for it in sent {
        let Sent { write, claim, .. } = it;
        *counts.entry(*claim).or_default() += 1;
        let was_applied = write.was_applied(rows);
        if !it.is_expected() {
            wrong.push(format!("{write}: reported as {} without a cut", claim.title()));
        } else if !claim.permits(was_applied) {
            wrong.push(format!("{write}: reported as {}, {}", claim.title(), shown(was_applied)));
        }
        unknown_but_applied += usize::from(*claim == Claim::Unknown && was_applied == Some(true));
    }
    part.passed += sent.len() - wrong.len();
    let more = wrong.len().saturating_sub(LISTED);
    for text in wrong.into_iter().take(LISTED) {
        part.check("a reported outcome", Err(text));
    }
    if more > 0 {
        part.check("further outcomes", Err(format!("{more} are false as well")));
    }
    let counts: Vec<_> =
        counts.iter().map(|(claim, count)| format!("{count} {}", claim.title())).collect();
    let unknown = format!("{unknown_but_applied} of the unknown ones were applied");
    part.figures.push(format!("{} writes: {}; {unknown}", sent.len(), counts.join(", ")));
}

fn shown(was_applied: Option<bool>) -> &'static str {
    match was_applied {
        None => "a part of it is in the table",
        Some(true) => "the rows show that it was applied",
        Some(false) => "the rows show that it was not applied",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_false_claim_fails() {
        use Claim::{AppliedByComparison, NotApplied, Unknown};
        for (claim, was_applied, is_permitted) in [
            (AppliedByComparison, Some(true), true),
            (AppliedByComparison, Some(false), false),
            (NotApplied, Some(false), true),
            (NotApplied, Some(true), false),
            (Unknown, Some(true), true),
            (Unknown, Some(false), true),
            (Unknown, None, false),
        ] {
            assert_eq!(claim.permits(was_applied), is_permitted, "{claim:?} {was_applied:?}");
        }
    }

    #[test]
    fn false_claims_are_counted_and_listed() {
        let write = Write::of_test(0);
        let rows = Rows::from([(write.key("1"), Some(0))]);
        let mut part = Part::default();
        let sent = [(Claim::NotApplied, 1), (Claim::Unknown, 1), (Claim::Unknown, 0)];
        let sent = sent.map(|(claim, cuts)| Sent { write: &write, claim, cuts });
        judge(&mut part, &sent, &rows);
        assert_eq!((part.passed, part.failures.len()), (1, 2));
        assert!(part.figures[0].contains("2 of the unknown ones were applied"), "{part:?}");
    }
}
