//! Produces each cell of the tables in the guide about reports of writes.

mod stage;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use azure_table_client::bulk::{Bulk, BulkOperation, BulkReport, Checkpoint};
use azure_table_client::client::WriteOutcome;
use azure_table_client::context::{SaveOptions, SaveReport, TableContext};
use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{
    Confirmation, DynamicEntity, ETag, EntityKey, Error, ErrorKind, Outcome, Proof, TableClient,
    TableServiceClient,
};
use azure_table_tests::sized;
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use self::stage::Stage;

const GUIDE: &str = include_str!("../../azure-table-client/docs/guide/outcomes.md");

/// Marks a report in the tables that is not true.
const FALSE: &str = "(false)";

const WRITE_ID: Uuid = Uuid::from_u128(17);
/// The deadline of a write, and the give-up timeout of a bulk run.
const DEADLINE: Duration = Duration::from_secs(5);
/// The time for one attempt.
const TRY_TIMEOUT: Duration = Duration::from_secs(10);
/// The delay of a late request or response.
const DELAY: Duration = Duration::from_secs(30);
/// After this time nothing is in flight any more.
const QUIET: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Insert,
    Update,
    Delete,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Situation {
    ResponseLost,
    Proxy503,
    RefusalLost,
    /// The deadline passes after the write was applied.
    DeadlineAfter,
    /// The deadline passes before the write is applied, if it ever is.
    DeadlineBefore,
    Drop,
    RepeatedDelivery,
    /// The next step after an applied write that was dropped or whose deadline passed.
    NextApplied,
    /// The same, where the request never arrived.
    NextLost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Api {
    Call,
    Transaction,
    Context,
    Bulk,
}

/// A column of the tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Settings {
    write_id: bool,
    proof: Proof,
}

type Cell = (Kind, Situation, Api, Settings);

const KINDS: [(&str, Kind); 3] = [
    ("# Inserts", Kind::Insert),
    ("# Updates under an ETag", Kind::Update),
    ("# Deletes under an ETag", Kind::Delete),
];

const SITUATIONS: [(&str, Situation); 9] = [
    ("response lost", Situation::ResponseLost),
    ("proxy 503", Situation::Proxy503),
    ("refusal lost", Situation::RefusalLost),
    ("deadline, applied", Situation::DeadlineAfter),
    ("deadline, not yet applied", Situation::DeadlineBefore),
    ("drop", Situation::Drop),
    ("repeated delivery", Situation::RepeatedDelivery),
    ("next step, applied", Situation::NextApplied),
    ("next step, never arrived", Situation::NextLost),
];

const APIS: [(&str, Api); 4] = [
    ("call", Api::Call),
    ("transaction", Api::Transaction),
    ("context", Api::Context),
    ("bulk", Api::Bulk),
];

const COLUMNS: [(&str, Settings); 6] = [
    ("`Response`", Settings { write_id: false, proof: Proof::Response }),
    ("`WriteId`", Settings { write_id: false, proof: Proof::WriteId }),
    ("`MatchingState`", Settings { write_id: false, proof: Proof::MatchingState }),
    ("`Response`, ids", Settings { write_id: true, proof: Proof::Response }),
    ("`WriteId`, ids", Settings { write_id: true, proof: Proof::WriteId }),
    ("`MatchingState`, ids", Settings { write_id: true, proof: Proof::MatchingState }),
];

/// The end of a write without a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Deadline,
    Drop,
}

/// One way to produce a cell. All ways to produce the same cell lead to the same report.
#[derive(Debug, Clone)]
struct Way {
    fault: Fault,
    end: Option<End>,
    /// The text that another program writes into the rows first, so that the write is refused.
    other: Option<&'static str>,
    /// Whether the next step follows, and its report counts.
    is_followed: bool,
    /// Whether two rows are written, by one request.
    is_pair: bool,
    /// Whether the proof is set for the client, instead of for the write.
    for_client: bool,
}

impl Way {
    /// All ways to produce a cell. Without `AZURE_TABLE_TESTS_FULL`, every third one, beginning with another one by turns.
    fn of(situation: Situation, api: Api, turn: usize) -> Vec<Self> {
        let (all, step) = (Self::all(situation, api), sized(3, 1));
        let first = turn % step.min(all.len());
        all.into_iter().skip(first).step_by(step).collect()
    }

    fn all(situation: Situation, api: Api) -> Vec<Self> {
        use End::{Deadline, Drop};
        let (late_response, late_request) =
            (Fault::delay_reply(DELAY), Fault::delay_request(DELAY));
        let faults = match situation {
            Situation::ResponseLost | Situation::RefusalLost => vec![(Fault::lose_reply(), None)],
            Situation::Proxy503 => {
                let page = Fault::proxy_page(503).after_commit();
                vec![(page.clone(), None), (page.without_body(), None)]
            }
            Situation::DeadlineAfter => vec![(late_response, Some(Deadline))],
            Situation::DeadlineBefore => {
                vec![(late_request, Some(Deadline)), (Fault::hang(), Some(Deadline))]
            }
            Situation::Drop => [late_response, late_request, Fault::hang()]
                .map(|fault| (fault, Some(Drop)))
                .to_vec(),
            Situation::RepeatedDelivery => vec![(Fault::deliver_twice(), None)],
            Situation::NextApplied => vec![
                (late_request.clone(), Some(Deadline)),
                (late_request, Some(Drop)),
                (late_response, Some(Drop)),
            ],
            Situation::NextLost => {
                vec![(Fault::hang(), Some(Deadline)), (Fault::hang(), Some(Drop))]
            }
        };
        let other = (situation == Situation::RefusalLost).then_some("other");
        let is_followed = matches!(situation, Situation::NextApplied | Situation::NextLost);
        let pairs: &[bool] = match api {
            Api::Call => &[false],
            Api::Transaction => &[true],
            Api::Context | Api::Bulk => &[false, true],
        };
        let mut ways = Vec::new();
        for (fault, end) in faults {
            for &is_pair in pairs {
                for for_client in [false, true] {
                    let fault = fault.clone().on_writes().times(1);
                    ways.push(Self { fault, end, other, is_followed, is_pair, for_client });
                }
            }
        }
        ways
    }
}

const fn row_keys(way: &Way) -> &'static [&'static str] {
    if way.is_pair { &["a", "b"] } else { &["a"] }
}

fn of_success(confirmation: Confirmation) -> String {
    format!("`{confirmation:?}`")
}

fn of_error(error: &Error) -> String {
    match (error.outcome(), error.state_matches()) {
        (Outcome::NotApplied, false) => "not applied",
        (Outcome::Unknown, false) => "unknown",
        (Outcome::Unknown, true) => "unknown, matches",
        other => panic!("{other:?}: {error}"),
    }
    .to_owned()
}

fn of_save(report: &SaveReport) -> String {
    let reports = report.results.iter().map(|result| match &result.outcome {
        WriteOutcome::Applied { confirmation, .. } => of_success(*confirmation),
        // A transaction names the row that was refused, and the others were rolled back.
        WriteOutcome::NotAttempted(_) => "not applied".to_owned(),
        WriteOutcome::Failed(error) | WriteOutcome::Unknown(error) => of_error(error),
        other => panic!("{other:?}"),
    });
    the_same(reports.collect())
}

fn of_run(report: &BulkReport, rows: usize) -> String {
    let reports = report.results.iter().map(|result| match &result.outcome {
        WriteOutcome::Applied { confirmation, .. } => of_success(*confirmation),
        WriteOutcome::Failed(error) | WriteOutcome::Unknown(error) => of_error(error),
        other => panic!("{other:?}"),
    });
    let reports: Vec<_> = reports.collect();
    if reports.is_empty() {
        assert_eq!((report.progress.read, report.progress.held()), (rows as u64, rows as u64));
        return "not resolved".to_owned();
    }
    assert_eq!(reports.len(), rows);
    the_same(reports)
}

/// All rows of one request have the same report.
fn the_same(mut reports: Vec<String>) -> String {
    reports.dedup();
    assert_eq!(reports.len(), 1, "{reports:?}");
    reports.remove(0)
}

/// Produces a cell in one way. A false report is marked, so that it shows in the table.
async fn observe((kind, _, api, settings): Cell, way: Way) -> String {
    let stage = Stage::new(kind, settings, way).await;
    let report = stage.report(api).await;
    let was_applied = stage.is_applied();
    sleep(QUIET).await;
    let is_applied = stage.is_applied();
    let is_false = match &*report {
        "not applied" => is_applied,
        "nothing" | "not resolved" | "unknown" => false,
        // A success, or a state that matches.
        _ => !was_applied,
    };
    if is_false { format!("{report} {FALSE}") } else { report }
}

/// The cells of the guide's tables, and the report in each of them.
fn documented() -> BTreeMap<Cell, String> {
    let mut cells = BTreeMap::new();
    let mut insert = |cell: Cell, report: &str| {
        let earlier = cells.insert(cell, report.to_owned());
        assert_eq!(earlier, None, "{cell:?} is in the tables twice");
    };
    for line in table("# Every write", &["report"]) {
        for (situation, api) in places(&line) {
            for (_, kind) in KINDS {
                for (_, settings) in COLUMNS {
                    insert((kind, situation, api, settings), line[2]);
                }
            }
        }
    }
    for (heading, kind) in KINDS {
        for line in table(heading, &COLUMNS.map(|(name, _)| name)) {
            for (situation, api) in places(&line) {
                for ((_, settings), report) in COLUMNS.iter().zip(&line[2..]) {
                    insert((kind, situation, api, *settings), report);
                }
            }
        }
    }
    cells
}

/// The lines of the table below a heading, whose columns after the situation and the API are these.
fn table(heading: &str, columns: &[&str]) -> Vec<Vec<&'static str>> {
    let section = GUIDE.split_once(&format!("{heading}\n")).expect(heading).1;
    let section = section.split("\n# ").next().unwrap();
    let mut lines = section.lines().filter_map(cells_of_line);
    let header = lines.next().expect("a table");
    assert_eq!(header[..2], ["situation", "API"], "{heading}");
    assert_eq!(header[2..], *columns, "{heading}");
    assert!(lines.next().unwrap().iter().all(|cell| *cell == "---"), "{heading}");
    let lines: Vec<_> = lines.collect();
    assert!(lines.iter().all(|line| line.len() == header.len()), "{lines:?}");
    lines
}

/// The situations and APIs that a line is about.
fn places(line: &[&str]) -> Vec<(Situation, Api)> {
    let situations = line[0].split("; ").map(|name| known(&SITUATIONS, name));
    situations
        .flat_map(|situation| line[1].split(", ").map(move |name| (situation, known(&APIS, name))))
        .collect()
}

fn known<T: Copy>(names: &[(&str, T)], name: &str) -> T {
    names.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("{name:?}")).1
}

fn cells_of_line(line: &str) -> Option<Vec<&str>> {
    let line = line.strip_prefix('|')?.strip_suffix('|')?;
    Some(line.split('|').map(str::trim).collect())
}

#[tokio::test(start_paused = true)]
async fn the_guide_states_the_report_of_each_write() {
    let mut produced = BTreeMap::new();
    for (row, (_, kind)) in KINDS.into_iter().enumerate() {
        for (_, situation) in SITUATIONS {
            for (_, api) in APIS {
                for (column, (_, settings)) in COLUMNS.into_iter().enumerate() {
                    let cell = (kind, situation, api, settings);
                    let mut reports = BTreeSet::new();
                    for way in Way::of(situation, api, row + column) {
                        reports.insert(observe(cell, way).await);
                    }
                    let reports: Vec<_> = reports.into_iter().collect();
                    produced.insert(cell, reports.join(" or "));
                }
            }
        }
    }
    let documented = documented();
    let differs = |(cell, report): &(&Cell, &String)| documented.get(cell) != Some(report);
    let wrong = produced.iter().filter(differs);
    let wrong: Vec<_> = wrong
        .map(|(cell, report)| format!("{cell:?}: {report}; guide: {:?}", documented.get(cell)))
        .collect();
    assert!(wrong.is_empty(), "{} cells differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(documented.len(), produced.len(), "no run produces the others");
    // The client cannot detect a repeated delivery by an id that the write does not leave.
    for ((kind, situation, _, settings), report) in produced {
        let is_read = settings.write_id && kind != Kind::Delete && settings.proof > Proof::Response;
        let is_undetectable = situation == Situation::RepeatedDelivery && !is_read;
        assert_eq!(report.ends_with(FALSE), is_undetectable, "{kind:?} {situation:?}: {report}");
    }
}
