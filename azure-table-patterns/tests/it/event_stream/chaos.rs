//! Several appenders under faults. The checker reads the stored rows itself, and compares them with all reports.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table_tests::chaos::{self, Report, Round};
use fastrand::Rng;

use super::*;

const STREAMS: [&str; 2] = ["a", "b"];
const TASKS: u64 = 6;
const STEPS: usize = 14;

/// An event that names its append and its position in it.
type Mark = (u64, usize);

/// An event with its version and the id of its append.
type Place = (u64, Uuid, Mark);

/// An append that several tasks may call.
#[derive(Debug, Clone)]
struct Command {
    stream: &'static str,
    expected: Expected,
    number: u64,
    count: usize,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
enum Reported {
    Applied(u64, u64),
    /// Proved: no call of this append was or will be applied.
    Conflict,
    NotApplied,
    Unknown,
}

/// The observations of all tasks of a round.
#[derive(Debug, Default)]
struct History {
    commands: u64,
    /// Appends that some task may call again.
    open: Vec<Command>,
    reports: BTreeMap<u64, (Command, Vec<Reported>)>,
    /// For each read: the stream, the version after which it began, and the events.
    reads: Vec<(&'static str, u64, Vec<Place>)>,
    /// For each load: the stream, the version and the digest of the state.
    loads: Vec<(&'static str, u64, u64)>,
    /// The largest version that an append reported, and the version of the last snapshot row.
    reached: BTreeMap<&'static str, u64>,
    snapshots: BTreeMap<&'static str, i64>,
    report: Report,
}

type Shared = Arc<Mutex<History>>;

fn digest(state: u64, mark: Mark) -> u64 {
    (state ^ (mark.0 << 8 | mark.1 as u64)).wrapping_mul(0x0100_0000_01b3).rotate_left(7)
}

/// The state that snapshots hold: the digest of all events.
#[derive(Debug, Default, Clone, Copy, Serialize, Deserialize)]
struct State(u64);

/// A task of a round.
struct Program {
    mock: MockTableService,
    table: TableClient<DynamicEntity>,
    chance: Rng,
    shared: Shared,
}

impl Program {
    async fn run(mut self) {
        let mut streams = STREAMS.map(|name| EventStream::<Mark>::new(&self.table, name).unwrap());
        for _ in 0..STEPS {
            let pause = Duration::from_millis(self.chance.u64(..400));
            tokio::time::sleep(pause).await;
            let at = self.chance.usize(..STREAMS.len());
            if self.chance.u8(..8) == 0 {
                streams[at] = EventStream::new(&self.table, STREAMS[at]).unwrap();
            }
            match self.chance.u8(..10) {
                0 => self.read(STREAMS[at], &streams[at]).await,
                1 | 2 => self.snapshot(STREAMS[at], &streams[at]).await,
                _ => self.append(&mut streams).await,
            }
            self.watch_snapshots();
        }
    }

    async fn append(&mut self, streams: &mut [EventStream<Mark>; 2]) {
        let command = self.command();
        let at = STREAMS.iter().position(|name| *name == command.stream).unwrap();
        let marks: Vec<_> = (0..command.count).map(|index| (command.number, index)).collect();
        let append = streams[at].append(command.expected, id(command.number.into()), &marks);
        let result = if self.chance.u8(..5) == 0 {
            tokio::time::timeout(Duration::from_millis(self.chance.u64(..3000)), append).await.ok()
        } else {
            Some(append.await)
        };
        let mut history = self.shared.lock().unwrap();
        history.report.operations += 1;
        let reported = match result {
            Some(Ok(versions)) => Reported::Applied(*versions.start(), *versions.end()),
            Some(Err(Error::WrongVersion { .. })) => Reported::Conflict,
            Some(Err(error)) if error.outcome() == Outcome::NotApplied => Reported::NotApplied,
            Some(Err(error @ Error::InvalidRow { .. })) => {
                history.report.violations.push(format!("{command:?}: {error}"));
                Reported::Unknown
            }
            Some(Err(_)) | None => Reported::Unknown,
        };
        history.report.count(match &reported {
            Reported::Applied(..) => "applied",
            Reported::Conflict => "conflict",
            Reported::NotApplied => "not applied",
            Reported::Unknown => "unknown",
        });
        if let Reported::Applied(_, last) = reported {
            let reached = history.reached.entry(command.stream).or_default();
            *reached = last.max(*reached);
        } else if reported == Reported::Unknown || self.chance.bool() {
            history.open.push(command.clone());
        }
        let reports = history.reports.entry(command.number);
        reports.or_insert_with(|| (command, Vec::new())).1.push(reported);
    }

    /// A new append, or one that another task has called or is calling.
    fn command(&mut self) -> Command {
        let mut history = self.shared.lock().unwrap();
        if !history.open.is_empty() && self.chance.u8(..5) < 2 {
            let at = self.chance.usize(..history.open.len());
            return history.open.swap_remove(at);
        }
        history.commands += 1;
        let stream = STREAMS[self.chance.usize(..STREAMS.len())];
        let known = history.reached.get(stream).copied().unwrap_or_default();
        let expected = match self.chance.u8(..4) {
            0 | 1 => Expected::Version(known),
            2 => Expected::AtLeast(known),
            _ => Expected::AtLeast(known.saturating_sub(self.chance.u64(..20))),
        };
        let number = history.commands;
        let command = Command { stream, expected, number, count: self.chance.usize(1..4) };
        if self.chance.u8(..4) == 0 {
            history.open.push(command.clone());
        }
        command
    }

    async fn read(&mut self, name: &'static str, stream: &EventStream<Mark>) {
        let floor = self.shared.lock().unwrap().reached.get(name).copied().unwrap_or_default();
        let after = self.chance.u64(..=floor);
        let read: Result<Vec<_>, _> = stream.read(after).try_collect().await;
        let mut history = self.shared.lock().unwrap();
        history.report.operations += 1;
        match read {
            Ok(events) => {
                let last = after + events.len() as u64;
                history.report.check(last >= floor, || {
                    format!("{name}: a read ends at {last}, before {floor}")
                });
                let events =
                    events.into_iter().map(|event| (event.version, event.append, event.data));
                history.reads.push((name, after, events.collect()));
            }
            Err(error) => {
                let is_request = matches!(error, Error::Client { .. });
                history.report.check(is_request, || format!("{name}: {error}"));
            }
        }
    }

    async fn snapshot(&mut self, name: &'static str, stream: &EventStream<Mark>) {
        let apply = |state: &mut State, event: Event<Mark>| state.0 = digest(state.0, event.data);
        let loaded = stream.load::<State>(apply).await;
        let is_saved = match &loaded {
            Ok(loaded) if self.chance.bool() => {
                // A slow program stores its state late.
                tokio::time::sleep(Duration::from_secs(self.chance.u64(..20))).await;
                let saving = stream.save_snapshot(loaded);
                let limit = Duration::from_millis(self.chance.u64(..20_000));
                Some(tokio::time::timeout(limit, saving).await)
            }
            _ => None,
        };
        let mut history = self.shared.lock().unwrap();
        history.report.operations += 1 + usize::from(is_saved.is_some());
        match loaded {
            Ok(Loaded { state, version, .. }) => history.loads.push((name, version, state.0)),
            Err(error) => {
                let is_request = matches!(error, Error::Client { .. });
                history.report.check(is_request, || format!("{name}: {error}"));
            }
        }
    }

    /// The snapshot rows of both streams, which never go back.
    fn watch_snapshots(&self) {
        let mut history = self.shared.lock().unwrap();
        for name in STREAMS {
            let row = self.mock.row(TABLE, name, "snapshot");
            let version = row.map_or(0, |row| row.get::<i64>("Version").unwrap().unwrap());
            let last = history.snapshots.insert(name, version).unwrap_or_default();
            history
                .report
                .check(version >= last, || format!("{name}: snapshot {version} after {last}"));
        }
    }
}

/// The events of a stream as they are stored, and whether each row is in its place.
fn stored(mock: &MockTableService, stream: &str, report: &mut Report) -> Vec<(Uuid, Mark)> {
    let rows = mock.rows(TABLE).unwrap();
    let rows = rows.iter().filter(|row| row.key().partition_key == stream);
    let mut events = Vec::new();
    let mut head = 0;
    for row in rows {
        match &*row.key().row_key {
            "head" => head = row.get::<i64>("Version").unwrap().unwrap(),
            "snapshot" => {}
            key => {
                let version = events.len() + 1;
                report.check(key == format!("{version:019}"), || {
                    format!("{stream}: {key} at {version}")
                });
                let mark = row.get::<String>("Event").unwrap().unwrap();
                let append = row.get::<Uuid>("Append").unwrap().unwrap();
                events.push((append, serde_json::from_str(&mark).unwrap()));
            }
        }
    }
    report.check(usize::try_from(head) == Ok(events.len()), || {
        format!("{stream}: head {head}, {} events", events.len())
    });
    events
}

/// Compares the reports about an append with the stored events.
fn check_append(
    command: &Command,
    reports: &[Reported],
    events: &[(Uuid, Mark)],
    report: &mut Report,
) {
    let positions = (1_u64..).zip(events).filter(|(_, event)| event.0 == id(command.number.into()));
    let found: Vec<_> = positions.map(|(version, event)| (version, event.1.1)).collect();
    let what = || format!("{command:?} {reports:?} {found:?}");
    let is_proved_absent = reports.contains(&Reported::Conflict);
    let is_absent = reports.iter().all(|it| *it == Reported::NotApplied);
    report.check(!(is_proved_absent || is_absent) || found.is_empty(), || {
        format!("not absent: {}", what())
    });
    let applied = reports.iter().filter_map(|it| match it {
        Reported::Applied(first, last) => Some((*first, *last)),
        _ => None,
    });
    for (first, last) in applied {
        let at = found.first().map(|it| it.0).zip(found.last().map(|it| it.0));
        report.check(at == Some((first, last)), || format!("not at its versions: {}", what()));
    }
    let Some((first, _)) = found.first() else { return };
    let expected: Vec<_> = (*first..).zip(0..command.count).collect();
    report.check(found == expected, || format!("not once and whole: {}", what()));
    let is_in_place = match command.expected {
        Expected::Version(version) => *first == version + 1,
        Expected::AtLeast(version) => *first > version,
    };
    report.check(is_in_place, || format!("in another place: {}", what()));
}

async fn round(round: &mut Round) -> Report {
    table(round.mock()).await;
    round.start_faults();
    let shared = Shared::default();
    let programs = (0..TASKS).map(|task| Program {
        mock: round.mock().clone(),
        table: round.client(task).table_named(TABLE),
        chance: round.chance(task),
        shared: Arc::clone(&shared),
    });
    round.run_programs(programs.map(Program::run)).await;
    let mut history = std::mem::take(&mut *shared.lock().unwrap());
    let mut report = std::mem::take(&mut history.report);
    for name in STREAMS {
        let events = stored(round.mock(), name, &mut report);
        for (command, reports) in history.reports.values().filter(|it| it.0.stream == name) {
            check_append(command, reports, &events, &mut report);
        }
        for (_, after, read) in history.reads.iter().filter(|it| it.0 == name) {
            let order =
                (1..).zip(&events).map(|(version, (append, mark))| (version, *append, *mark));
            let expected: Vec<_> =
                order.skip(usize::try_from(*after).unwrap()).take(read.len()).collect();
            report.check(*read == expected, || {
                format!("{name}: {read:?} is not a prefix after {after}")
            });
        }
        for (_, version, state) in history.loads.iter().filter(|it| it.0 == name) {
            let prefix = events.get(..usize::try_from(*version).unwrap());
            let expected =
                prefix.map(|prefix| prefix.iter().fold(0, |state, it| digest(state, it.1)));
            report
                .check(expected == Some(*state), || format!("{name}: another state at {version}"));
        }
    }
    report
}

#[tokio::test(start_paused = true)]
async fn the_stream_agrees_with_all_reports() {
    chaos::run("event_stream", 250, round).await;
}
