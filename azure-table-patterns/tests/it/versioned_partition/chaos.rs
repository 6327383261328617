//! Writers and readers under faults. Each write stores a digest of all rows in the header row, which a torn read does not
//! match.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table_tests::chaos::{self, Report, Round};
use fastrand::Rng;

use super::*;

const TASKS: u64 = 6;
const STEPS: usize = 14;
const MEMBERS: usize = 24;

#[derive(Debug, Default)]
struct History {
    /// The digest of the rows at each version, as the first read of it showed them.
    versions: BTreeMap<u64, i64>,
    /// The largest version that a read or a write has reported.
    reached: u64,
    report: Report,
}

type Shared = Arc<Mutex<History>>;

/// A digest that does not depend on the order of the rows.
fn digest(rows: &[Member]) -> i64 {
    let of_row = |row: &Member| {
        let name = row.name.bytes().fold(7_i64, |sum, byte| sum.wrapping_mul(31) + i64::from(byte));
        (name ^ row.state.wrapping_mul(0x9e37_79b9)).wrapping_mul(name | 1)
    };
    rows.iter().map(of_row).fold(0, i64::wrapping_add)
}

struct Program {
    partition: Members,
    chance: Rng,
    shared: Shared,
}

impl Program {
    async fn run(mut self) {
        for _ in 0..STEPS {
            tokio::time::sleep(Duration::from_millis(self.chance.u64(..300))).await;
            let Some(view) = self.read().await else { continue };
            if self.chance.u8(..3) > 0 {
                self.write(view).await;
            }
        }
    }

    async fn read(&mut self) -> Option<View<Header, Member>> {
        let floor = self.shared.lock().unwrap().reached;
        let size = self.chance.u32(3..9);
        let view = self.partition.read_with(|query| query.page_size(size)).await;
        let mut history = self.shared.lock().unwrap();
        history.report.operations += 1;
        let view = match view {
            Ok(view) => view,
            Err(error) => {
                history.report.count(match error {
                    Error::Contended { .. } => "contended",
                    _ => "failed reads",
                });
                return None;
            }
        };
        history.report.count("reads");
        let (version, found) = (view.header.version, digest(&view.rows));
        let is_whole = found == view.header.digest;
        history.report.check(is_whole, || format!("a torn read of version {version}"));
        let first = *history.versions.entry(version).or_insert(found);
        history.report.check(first == found, || format!("two states of version {version}"));
        history.report.check(version >= floor, || format!("version {version} after {floor}"));
        history.reached = version.max(history.reached);
        is_whole.then_some(view)
    }

    /// Changes some rows, and drops the call at times.
    async fn write(&mut self, view: View<Header, Member>) {
        // A slow program writes late.
        let pause = self.chance.u64(..50) * u64::from(self.chance.u8(..4) == 0) * 100;
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let mut rows = view.rows.clone();
        let mut header = next(&view);
        let mut chosen: Vec<_> = (0..MEMBERS).collect();
        self.chance.shuffle(&mut chosen);
        chosen.truncate(self.chance.usize(1..8));
        let changes: Vec<_> = chosen.into_iter().map(|n| (n, self.chance.i64(..1000))).collect();
        for (n, state) in &changes {
            let name = format!("{n:02x}m{n}");
            match rows.iter().position(|row| row.name == name) {
                Some(at) if state % 3 == 0 => drop(rows.remove(at)),
                Some(at) => rows[at].state = *state,
                None => rows.push(member(name, *state)),
            }
        }
        header.digest = digest(&rows);
        let mut write = self.partition.transaction(&header).unwrap();
        for (n, _) in changes {
            let name = format!("{n:02x}m{n}");
            let old = view.rows.iter().find(|row| row.name == name);
            let new = rows.iter().find(|row| row.name == name);
            write = match (old, new) {
                (None, Some(new)) => write.insert(new),
                (Some(old), Some(new)) => write.replace(new, old.etag.clone().unwrap()),
                (Some(old), None) => write.delete((PARTITION, &*name), old.etag.clone().unwrap()),
                (None, None) => write,
            };
        }
        let limit = Duration::from_millis(if self.chance.u8(..4) == 0 { 2 } else { 200_000 });
        let result = tokio::time::timeout(limit, write.into_future()).await;
        let mut history = self.shared.lock().unwrap();
        history.report.operations += 1;
        history.report.count(match &result {
            Ok(Ok(_)) => "written",
            Ok(Err(error)) if error.outcome() == Outcome::NotApplied => "not written",
            _ => "unknown writes",
        });
        if matches!(result, Ok(Ok(_))) {
            history.reached = header.version.max(history.reached);
        }
    }
}

async fn round(round: &mut Round) -> Report {
    table(round.mock()).await;
    round.start_faults();
    let shared = Shared::default();
    let programs = (0..TASKS).map(|task| Program {
        partition: members(&round.client(task).table_named(TABLE)),
        chance: round.chance(task),
        shared: Arc::clone(&shared),
    });
    round.run_programs(programs.map(Program::run)).await;
    // The rows as they are stored.
    let stored = round.mock().rows(TABLE).unwrap();
    let (headers, rows): (Vec<_>, Vec<_>) =
        stored.iter().partition(|row| row.key().row_key == HEADER);
    let rows: Vec<Member> = rows.into_iter().map(|row| row.to_entity().unwrap()).collect();
    let header: Header = headers[0].to_entity().unwrap();
    let mut history = std::mem::take(&mut *shared.lock().unwrap());
    history.report.check(digest(&rows) == header.digest, || "the stored rows differ".to_owned());
    let reached = history.reached;
    history.report.check(header.version >= reached, || format!("{} < {reached}", header.version));
    history.report
}

#[tokio::test(start_paused = true)]
async fn no_read_is_torn() {
    chaos::run("versioned_partition", 250, round).await;
}
