//! Explores the context completely: breadth first over the states of the real [`Tracker`] and [`Save`], with a service of one
//! or two rows and a network that applies each request now, later, twice or never, or loses its response.
//!
//! Each step counts towards the depth: a call of the program, a step of the network, a write of another program, the
//! expiry of requests, and the drop of a save. `AZURE_TABLE_EXPLORE=1,8` explores one entity to depth 8.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use http::StatusCode;

use super::change::{Add, Change, EntityState};
use super::conflict::ConflictResolver;
use super::doubt::{Candidate, Doubt, Finding, Identity, RequestId};
use super::drive::finding;
use super::entity::{Base, InDoubt, Intent, Known, Values};
use super::machine::{Action, Event, Save, Stage, refused_by_row};
use super::merge::{MergeOption, ServerRow};
use super::options::SaveOptions;
use super::plan::Writing;
use super::report::{SaveReport, may_still_be_applied};
use super::tracker::Tracker;
use crate::edm::EdmValue;
use crate::entity::{DynamicEntity, EntityKey};
use crate::error::{Error, OpenWrite};
use crate::mock::MockTableService;
use crate::operation::{Confirmation, Proof, WriteOutcome};
use crate::outcome::{Doubtful, Found, MapEntity, Properties, judged};
use crate::{ETag, IfMatch, TableServiceClient};

const COLUMNS: [&str; 2] = ["A", "B"];
/// The value that another program writes.
const THEIRS: i32 = 7;
/// More actions than any save of two entities takes.
const MOST_ACTIONS: usize = 40;

#[derive(Debug, Clone)]
struct Row {
    version: usize,
    columns: Properties,
}

/// A request that was sent.
#[derive(Debug, Clone)]
struct Sent {
    id: RequestId,
    doubt: Arc<Doubt>,
    applied: u32,
    /// Whether a copy is on its way.
    is_late: bool,
    is_expired: bool,
    /// The entities for which a report, or the program, has ended it.
    resolved: HashSet<Identity>,
}

/// What the checker knows of one row beside its present state.
#[derive(Debug, Clone, Default, Hash)]
struct History {
    /// The columns with a value of another program that the program was not shown.
    unseen: [bool; 2],
    /// The values that the program has set last, and wants to be in the row.
    wanted: [Option<i32>; 2],
    /// The values that each column has had.
    had: [u16; 2],
}

#[derive(Clone)]
struct World {
    tracker: Tracker,
    report: SaveReport,
    save: Option<Save>,
    actions: Vec<Action>,
    count: usize,
    rows: Vec<Option<Row>>,
    versions: Vec<Properties>,
    histories: Vec<History>,
    sent: Vec<Sent>,
    trace: Option<Arc<Trace>>,
}

struct Trace {
    step: String,
    before: Option<Arc<Trace>>,
}

impl Trace {
    fn text(&self) -> String {
        let before = self.before.as_ref().map(|before| before.text()).unwrap_or_default();
        format!("{before}\n  {}", self.step)
    }
}

/// Takes the name of a step, and what it does; `false` if it cannot be done.
type Steps<'s> = dyn FnMut(String, &dyn Fn(&mut World, &mut Vec<String>) -> bool) + 's;

struct Explorer {
    service: TableServiceClient,
    table: Arc<str>,
    rows: usize,
    has_ids: bool,
}

fn key(at: usize) -> EntityKey {
    EntityKey::new("p", at.to_string())
}

fn at(key: &EntityKey) -> usize {
    key.row_key.parse().unwrap()
}

fn number(value: &EdmValue) -> i32 {
    if let EdmValue::Int32(value) = value { *value } else { 0 }
}

impl World {
    fn found(&self, at: usize) -> Option<Found> {
        let Row { version, columns } = self.rows[at].as_ref()?;
        let etag = ETag::from(&format!("t{version}"));
        Some(Found { etag, timestamp: None, properties: columns.clone() })
    }

    fn all_found(&self, doubt: &Doubt) -> HashMap<EntityKey, Found> {
        let keys = doubt.members.iter().map(|member| &member.key);
        keys.filter_map(|key| Some((key.clone(), self.found(at(key))?))).collect()
    }

    /// Sets a row; each version has its own number.
    fn put(&mut self, at: usize, columns: Option<Properties>) {
        self.rows[at] = columns.map(|columns| {
            self.versions.push(columns.clone());
            Row { version: self.versions.len() - 1, columns }
        });
        if let Some(Row { columns, .. }) = &self.rows[at] {
            for (column, name) in COLUMNS.iter().enumerate() {
                let value = columns.get(*name).map_or(0, number);
                self.histories[at].had[column] |= 1 << value;
            }
        }
    }

    /// The service applies a request as a whole, or refuses it.
    fn apply(
        &mut self,
        doubt: &Doubt,
        problems: &mut Vec<String>,
    ) -> Result<Vec<Option<ETag>>, Error> {
        for (index, member) in doubt.members.iter().enumerate() {
            let row = self.rows[at(&member.key)].as_ref();
            let refused = match (&member.wire, &member.condition, row) {
                (Change::Add(Add::Insert, _), _, Some(_)) => {
                    Some((StatusCode::CONFLICT, "EntityAlreadyExists"))
                }
                (Change::Add(..), ..) => None,
                (_, _, None) => Some((StatusCode::NOT_FOUND, "ResourceNotFound")),
                (_, Some(IfMatch::Tag(tag)), Some(row))
                    if tag.as_str() != format!("t{}", row.version) =>
                {
                    Some((StatusCode::PRECONDITION_FAILED, "UpdateConditionNotSatisfied"))
                }
                _ => None,
            };
            if let Some((status, code)) = refused {
                let error = refused_by_row(status, code, String::new());
                let index = (doubt.members.len() > 1).then_some(index);
                return Err(error.at_index(index));
            }
        }
        let mut etags = Vec::new();
        for member in &doubt.members {
            let at = at(&member.key);
            let before = self.rows[at].take().map(|row| row.columns).unwrap_or_default();
            let after = member.wire.properties().map(|written| {
                let mut after =
                    if member.wire.is_merge() { before.clone() } else { Properties::new() };
                after.extend(written.iter().map(|(name, value)| (name.clone(), value.clone())));
                if let Some(id) = member.write_id {
                    after.insert("Id".to_owned(), EdmValue::Guid(id));
                }
                after
            });
            let is_conditional = matches!(member.condition, Some(IfMatch::Tag(_)));
            for (column, name) in COLUMNS.iter().enumerate() {
                let is_kept = before.get(*name) == after.as_ref().and_then(|it| it.get(*name));
                let unseen = &mut self.histories[at].unseen[column];
                if !is_kept && is_conditional && *unseen {
                    problems
                        .push(format!("{:?} overwrites {name}, which was not seen", member.wire));
                }
                *unseen &= is_kept;
            }
            self.put(at, after);
            etags.push(self.found(at).map(|row| row.etag));
        }
        Ok(etags)
    }

    fn index(&self, request: RequestId) -> usize {
        self.sent.iter().position(|sent| sent.id == request).unwrap()
    }

    /// Compares the report of a save that has ended or was dropped with what was applied.
    fn check_report(&mut self, explorer: &Explorer, problems: &mut Vec<String>) {
        for row in 0..explorer.rows {
            let (key, id) = (key(row), explorer.id(&self.tracker, row));
            let results = self.report.results.iter().filter(|it| it.key.as_ref() == Some(&key));
            let mut outcomes: Vec<_> = results.map(|it| it.outcome.clone()).collect();
            // Only a request that was applied has a response or an id.
            let is_compared = |it: &WriteOutcome| {
                matches!(it, WriteOutcome::Applied { confirmation: Confirmation::Comparison, .. })
            };
            outcomes.sort_by_key(is_compared);
            let doubt = self.tracker.get(&id).and_then(|it| it.doubt.request);
            let is_about = |sent: &Sent| {
                sent.doubt.members.iter().any(|it| it.id == id) && !sent.resolved.contains(&id)
            };
            for outcome in &outcomes {
                let WriteOutcome::Applied { confirmation, .. } = outcome else { continue };
                let open = || self.sent.iter().enumerate().filter(|(_, sent)| is_about(sent));
                let applied = open().find(|(_, sent)| sent.applied > 0);
                let any = open().next().filter(|_| *confirmation == Confirmation::Comparison);
                match applied.or(any).map(|(at, _)| at) {
                    Some(at) => self.sent[at].resolved.extend([id.clone()]),
                    None => problems.push(format!("row {row}: falsely applied ({confirmation:?})")),
                }
            }
            let is_unknown = outcomes.iter().any(|it| matches!(it, WriteOutcome::Unknown(_)));
            for sent in self.sent.iter_mut().filter(|sent| is_about(sent)) {
                if doubt == Some(sent.id) {
                    if !is_unknown {
                        problems.push(format!("row {row}: a doubt is in no report"));
                    }
                    continue;
                }
                if !is_unknown && sent.applied > 0 {
                    problems
                        .push(format!("row {row}: applied, and no result says so: {outcomes:?}"));
                }
                if !is_unknown && sent.is_late {
                    problems.push(format!("row {row}: may be applied later: {outcomes:?}"));
                }
                sent.resolved.insert(id.clone());
            }
        }
    }

    /// Checks what must hold at any time.
    fn check(&self, explorer: &Explorer, problems: &mut Vec<String>) {
        if self.count > MOST_ACTIONS {
            problems.push("the save does not end".to_owned());
        }
        for row in 0..explorer.rows {
            let Some(tracked) = self.tracker.get(&explorer.id(&self.tracker, row)) else {
                continue;
            };
            if let Base::Read { values, known, version: Some(IfMatch::Tag(tag)) } = &tracked.base {
                let version: usize = tag.as_str()[1..].parse().unwrap();
                let stored = &self.versions[version];
                for name in COLUMNS {
                    let is_known = match known {
                        Known::All => true,
                        Known::Selected(names) => names.contains(name),
                        Known::Written => values.contains_key(name),
                    };
                    if is_known && values.get(name) != stored.get(name) {
                        problems.push(format!("row {row}: {name} is not that of the ETag"));
                    }
                }
            }
            if tracked.state() == EntityState::Unchanged {
                for (column, wanted) in self.histories[row].wanted.iter().enumerate() {
                    if wanted.is_some_and(|it| self.histories[row].had[column] & (1 << it) == 0) {
                        problems
                            .push(format!("row {row}: the edit of {} is lost", COLUMNS[column]));
                    }
                }
            }
        }
    }
}

impl Explorer {
    fn new(rows: usize, has_ids: bool) -> Self {
        let mock = MockTableService::new();
        let builder = mock.client_builder();
        let builder = if has_ids { builder.write_id_column("Id") } else { builder };
        Self { service: builder.build().unwrap(), table: Arc::from("Rows"), rows, has_ids }
    }

    fn id(&self, tracker: &Tracker, row: usize) -> Identity {
        tracker.identity(&self.table, &key(row))
    }

    fn start(&self) -> World {
        let core = self.service.core();
        let mut world = World {
            tracker: Tracker::new(core.protocol.dialect(), core.settings.write_id.clone()),
            report: SaveReport::default(),
            save: None,
            actions: Vec::new(),
            count: 0,
            rows: vec![None; self.rows],
            versions: Vec::new(),
            histories: vec![History::default(); self.rows],
            sent: Vec::new(),
            trace: None,
        };
        world.put(
            0,
            Some([("A".to_owned(), EdmValue::from(3)), ("B".to_owned(), EdmValue::from(3))].into()),
        );
        world
    }

    fn with_stage<T>(
        &self,
        world: &mut World,
        work: impl FnOnce(&mut Option<Save>, &mut Stage<'_>) -> T,
    ) -> T {
        let writing = Writing { hook: None, has_reading: false };
        let (tracker, report) = (&mut world.tracker, &mut world.report);
        let mut stage = Stage { core: self.service.core(), tracker, report, writing };
        work(&mut world.save, &mut stage)
    }

    /// Returns the states after each possible step, and the problems of each.
    fn next(&self, world: &World) -> Vec<(World, Vec<String>)> {
        let mut all = Vec::new();
        let mut step = |name: String, work: &dyn Fn(&mut World, &mut Vec<String>) -> bool| {
            let (mut next, mut problems) = (world.clone(), Vec::new());
            next.trace = Some(Arc::new(Trace { step: name, before: world.trace.clone() }));
            if work(&mut next, &mut problems) {
                next.check(self, &mut problems);
                all.push((next, problems));
            }
        };
        for row in 0..self.rows {
            step(format!("another program writes A of row {row}"), &|world, _| {
                let mut columns =
                    world.rows[row].as_ref().map(|it| it.columns.clone()).unwrap_or_default();
                let is_new = columns.insert("A".to_owned(), EdmValue::from(THEIRS))
                    != Some(EdmValue::from(THEIRS));
                world.put(row, Some(columns));
                world.histories[row].unseen[0] |= is_new;
                true
            });
            step(format!("another program deletes row {row}"), &|world, _| {
                world.histories[row].unseen = [false; 2];
                world.rows[row].take().is_some()
            });
        }
        step("the requests expire".to_owned(), &|world, _| {
            let idle = world.actions.iter().all(|it| !matches!(it, Action::Send(..)));
            let mut open = world.sent.iter_mut().filter(|sent| !sent.is_expired);
            idle && open.by_ref().map(|it| (it.is_late, it.is_expired) = (false, true)).count() > 0
        });
        for index in 0..world.sent.len() {
            step(format!("a copy of request {index} arrives"), &|world, problems| {
                if !std::mem::take(&mut world.sent[index].is_late) {
                    return false;
                }
                let doubt = Arc::clone(&world.sent[index].doubt);
                world.sent[index].applied += u32::from(world.apply(&doubt, problems).is_ok());
                true
            });
        }
        if world.save.is_some() {
            step("the save is dropped".to_owned(), &|world, problems| {
                for action in std::mem::take(&mut world.actions) {
                    if let Action::Send(request, _) = action {
                        Self::record(world, request);
                    }
                }
                world.save = None;
                world.check_report(self, problems);
                true
            });
            for (index, action) in world.actions.iter().enumerate() {
                self.answers(index, action, &mut step);
            }
            return all;
        }
        self.calls(&mut step);
        all
    }

    /// Records a request that was sent. A copy is on its way.
    fn record(world: &mut World, request: RequestId) -> usize {
        if !world.sent.iter().any(|sent| sent.id == request) {
            let doubt = Arc::new(world.tracker.doubts[&request].clone());
            let resolved = HashSet::new();
            let sent = Sent {
                id: request,
                doubt,
                applied: 0,
                is_late: false,
                is_expired: false,
                resolved,
            };
            world.sent.push(sent);
        }
        let index = world.index(request);
        (world.sent[index].is_late, world.sent[index].is_expired) = (true, false);
        index
    }

    /// The steps of the network.
    fn answers(&self, index: usize, action: &Action, step: &mut Steps<'_>) {
        match action {
            Action::Send(request, earlier) => {
                for (name, arrives, has_response, has_etag, is_read) in [
                    ("is answered", true, true, true, true),
                    ("is answered without ETags", true, true, false, true),
                    ("loses its response", true, false, true, true),
                    ("loses its response, and the rows cannot be read", true, false, true, false),
                    ("is late", false, false, true, true),
                    ("is late, and the rows cannot be read", false, false, true, false),
                ] {
                    step(format!("request {} {name}", request.0), &|world, problems| {
                        world.actions.remove(index);
                        let at = Self::record(world, *request);
                        let doubt = Arc::clone(&world.sent[at].doubt);
                        world.sent[at].is_late = !has_response;
                        let reply = arrives.then(|| world.apply(&doubt, problems));
                        world.sent[at].applied += u32::from(matches!(reply, Some(Ok(_))));
                        let is_open = !has_response || earlier.is_some();
                        let finding = match reply.filter(|_| has_response) {
                            Some(Ok(etags)) => {
                                let etags = etags.into_iter().map(|etag| etag.filter(|_| has_etag));
                                let confirmation = Confirmation::Response;
                                Finding::Applied {
                                    confirmation,
                                    etags: etags.collect(),
                                    rows: HashMap::new(),
                                }
                            }
                            Some(Err(error)) if !is_open => Finding::NotApplied(error),
                            Some(Err(error)) => {
                                let is_fenced = error.is_precondition_failed();
                                self.examine(world, at, is_fenced, Some(error), is_read)
                            }
                            None => self.examine(world, at, false, None, is_read),
                        };
                        self.step(world, Event::Answered(*request, finding), problems)
                    });
                }
            }
            Action::ReadRows(request) => {
                for is_read in [true, false] {
                    step(
                        format!("rows of request {} are read: {is_read}", request.0),
                        &|world, problems| {
                            world.actions.remove(index);
                            let Some(at) = world.sent.iter().position(|sent| sent.id == *request)
                            else {
                                return false;
                            };
                            let finding = self.examine(world, at, false, None, is_read);
                            self.step(world, Event::Answered(*request, finding), problems)
                        },
                    );
                }
            }
            Action::ReadRow(id) => step("a row is read".to_owned(), &|world, problems| {
                world.actions.remove(index);
                let key = world.tracker.get(id).unwrap().key().clone();
                let row = world.found(at(&key)).map(|found| {
                    let entity = MapEntity::new(&key, &found.properties).to_dynamic();
                    (entity, ServerRow { key: key.clone(), found, known: Known::All })
                });
                if world.save.as_ref().unwrap().has_resolver() {
                    world.histories[at(&key)].unseen = [false; 2];
                }
                self.step(world, Event::RowRead(id.clone(), Box::new(Ok(row))), problems)
            }),
            Action::ReadVersions(id, request) => {
                step("ETags are read".to_owned(), &|world, problems| {
                    world.actions.remove(index);
                    let keys = request.writes.iter().map(|write| &write.key);
                    let rows =
                        keys.filter_map(|key| Some((key.clone(), world.found(at(key))?))).collect();
                    self.step(world, Event::VersionsRead(id.clone(), rows), problems)
                });
            }
            Action::Wait(id, _) => step("the save waits".to_owned(), &|world, problems| {
                world.actions.remove(index);
                self.step(world, Event::Waited(id.clone()), problems)
            }),
        }
    }

    fn examine(
        &self,
        world: &World,
        at: usize,
        is_fenced: bool,
        error: Option<Error>,
        is_read: bool,
    ) -> Finding {
        let sent = &world.sent[at];
        let open = OpenWrite { is_fenced, ..sent.doubt.open };
        let write = Doubtful { request: &sent.doubt.request, open: Some(open), since: None };
        let rows = world.all_found(&sent.doubt);
        let proof = Proof::MatchingState;
        let judged =
            is_read.then(|| judged(self.service.core(), write, proof, sent.is_expired, rows));
        finding(judged, error.unwrap_or_else(may_still_be_applied), open, None)
    }

    fn step(&self, world: &mut World, event: Event, problems: &mut Vec<String>) -> bool {
        let actions =
            self.with_stage(world, |save, stage| save.as_mut().unwrap().step(stage, event));
        self.acted(world, actions, problems)
    }

    fn acted(&self, world: &mut World, actions: Vec<Action>, problems: &mut Vec<String>) -> bool {
        world.count += actions.len();
        world.actions.extend(actions);
        if world.actions.is_empty() {
            self.with_stage(world, |save, stage| drop(save.take().unwrap().finish(stage)));
            world.check_report(self, problems);
        }
        true
    }

    /// The calls of the program.
    fn calls(&self, step: &mut Steps<'_>) {
        for row in 0..self.rows {
            for (name, add) in [
                ("add", Add::Insert),
                ("add_or_merge", Add::InsertOrMerge),
                ("add_or_replace", Add::InsertOrReplace),
            ] {
                step(format!("{name} {row}"), &|world, _| {
                    let entity = DynamicEntity::new("p", row.to_string()).with("A", 1);
                    let values = Values::of(&entity, &world.tracker, &self.table).unwrap();
                    world.histories[row].wanted = [Some(1), None];
                    world.tracker.add(&self.table, values, add).is_ok()
                });
            }
            for (column, value) in [(0, 1), (0, 3), (1, 2)] {
                step(format!("update {row}: {} = {value}", COLUMNS[column]), &|world, _| {
                    let id = self.id(&world.tracker, row);
                    let Some(tracked) = world.tracker.get(&id) else { return false };
                    let mut entity = tracked.current().to_dynamic();
                    entity.set(COLUMNS[column], value);
                    let values = Values::of(&entity, &world.tracker, &self.table).unwrap();
                    // A value that the entity has already, or that is on its way, is no edit.
                    let is_new =
                        tracked.current().to_dynamic().get(COLUMNS[column]) != Some(Ok(value));
                    let now =
                        world.rows[row].as_ref().and_then(|it| it.columns.get(COLUMNS[column]));
                    let now = now.map_or(0, number);
                    let is_sure = tracked.doubt == InDoubt::default();
                    let doubt = tracked.doubt.request.and_then(|it| world.tracker.doubts.get(&it));
                    let mut members = doubt.into_iter().flat_map(|it| &it.members);
                    // The request in doubt carries the same edit, and removes it once it is applied (rule 1).
                    let is_carried = members.any(|it| {
                        let written = it.change.properties().filter(|_| it.id == id);
                        written.and_then(|it| it.get(COLUMNS[column])).map(number) == Some(value)
                    });
                    let is_known = tracked.base.has(COLUMNS[column], Some(&EdmValue::from(value)));
                    let history = &mut world.histories[row];
                    if is_sure && is_known {
                        history.wanted[column] = None;
                    } else if is_new {
                        history.wanted[column] = Some(value);
                        history.had[column] = 1 << now | u16::from(is_carried) << value;
                    }
                    world.tracker.update(&self.table, values).is_ok()
                });
            }
            step(format!("attach {row}"), &|world, _| {
                let Some(found) = world.found(row) else { return false };
                let entity = DynamicEntity::new("p", row.to_string()).with("A", 1);
                let values = Values::of(&entity, &world.tracker, &self.table).unwrap();
                world.histories[row].unseen = [false; 2];
                world.tracker.attach(&self.table, values, IfMatch::Tag(found.etag)).is_ok()
            });
            step(format!("delete {row}"), &|world, _| {
                world.histories[row].wanted = [None; 2];
                world.tracker.delete(&self.table, &key(row)).is_ok()
            });
            step(format!("detach {row}"), &|world, _| {
                world.histories[row].wanted = [None; 2];
                let id = self.id(&world.tracker, row);
                world.sent.iter_mut().for_each(|sent| sent.resolved.extend([id.clone()]));
                world.tracker.detach(&self.table, &key(row))
            });
            step(format!("reset {row}"), &|world, _| {
                world.histories[row].wanted = [None; 2];
                world.tracker.reset(&self.table, &key(row)).is_ok()
            });
            self.loads(row, step);
        }
        self.saves(step);
    }

    fn loads(&self, row: usize, step: &mut Steps<'_>) {
        for (option, columns) in [
            (MergeOption::AppendOnly, None),
            (MergeOption::AppendOnly, Some("A")),
            (MergeOption::OverwriteChanges, None),
            (MergeOption::PreserveChanges, None),
        ] {
            step(format!("load {row}, {option:?}, {columns:?}"), &|world, _| {
                let Some(mut found) = world.found(row) else { return false };
                let id = self.id(&world.tracker, row);
                let tracked = world.tracker.get(&id);
                let is_in_doubt = tracked.is_some_and(|it| it.doubt.request.is_some());
                let is_shown =
                    tracked.is_none() || (!is_in_doubt && option != MergeOption::AppendOnly);
                if is_shown {
                    world.histories[row].unseen[0] = false;
                    world.histories[row].unseen[1] &= columns.is_some();
                }
                if !is_in_doubt && option == MergeOption::OverwriteChanges {
                    world.histories[row].wanted = [None; 2];
                }
                let mut known = Known::All;
                if let Some(column) = columns {
                    found.properties.retain(|name, _| name == column);
                    known = Known::Selected([column.to_owned()].into());
                }
                world.tracker.merge_row(
                    &self.table,
                    ServerRow { key: key(row), found, known },
                    option,
                );
                true
            });
        }
    }

    fn saves(&self, step: &mut Steps<'_>) {
        let mut modes = vec![
            ("each", SaveOptions::each().continue_on_error()),
            ("replace", SaveOptions::each().replace_on_update()),
            (
                "client wins",
                SaveOptions::each().on_conflict(ConflictResolver::client_wins().rounds(1)),
            ),
            (
                "server wins",
                SaveOptions::each().on_conflict(ConflictResolver::server_wins().rounds(1)),
            ),
        ];
        if self.rows > 1 {
            modes.push(("atomic", SaveOptions::atomic()));
        }
        for (name, options) in modes {
            step(format!("save: {name}"), &|world, problems| {
                if !world.tracker.has_changes() && name != "replace" {
                    return false;
                }
                if name == "server wins" {
                    world.histories.iter_mut().for_each(|it| it.wanted = [None; 2]);
                }
                world.count = 0;
                let options = options.clone();
                let actions = self.with_stage(world, |save, stage| {
                    let (begun, actions) = Save::begin(options, stage);
                    *save = Some(begun);
                    actions
                });
                self.acted(world, actions, problems)
            });
        }
    }
}

/// Writes a state with names in the order of their appearance, so that states which differ in these only are equal.
#[derive(Default)]
struct Digest {
    text: String,
    names: BTreeMap<String, usize>,
}

impl Digest {
    fn name(&mut self, name: &str) {
        let next = self.names.len();
        let at = *self.names.entry(name.to_owned()).or_insert(next);
        write!(self.text, "#{at} ").unwrap();
    }

    fn properties(&mut self, properties: &Properties) {
        for (name, value) in properties {
            match value {
                EdmValue::Guid(id) => self.name(&id.to_string()),
                value => write!(self.text, "{name}{} ", number(value)).unwrap(),
            }
        }
        self.text.push(';');
    }

    fn condition(&mut self, condition: Option<&IfMatch>) {
        match condition {
            Some(IfMatch::Tag(tag)) => self.name(tag.as_str()),
            Some(IfMatch::Any) => self.text.push('*'),
            None => self.text.push('-'),
        }
    }

    fn candidate(&mut self, it: &Candidate) {
        write!(self.text, "[{} {:?} ", it.key.row_key, it.change.operation()).unwrap();
        for change in [&it.change, &it.wire] {
            change.properties().into_iter().for_each(|values| self.properties(values));
        }
        self.condition(it.condition.as_ref());
        if let Some(id) = it.write_id {
            self.name(&id.to_string());
        }
        write!(self.text, "{} {}]", it.result, it.is_released).unwrap();
    }

    fn of(world: &World, explorer: &Explorer) -> u64 {
        let mut all = Self::default();
        for row in &world.rows {
            match row {
                Some(row) => {
                    all.name(&format!("t{}", row.version));
                    all.properties(&row.columns);
                }
                None => all.text.push('-'),
            }
        }
        for sent in &world.sent {
            all.name(&format!("r{}", sent.id.0));
            let is_open = sent.is_late || world.tracker.doubts.contains_key(&sent.id);
            write!(
                all.text,
                "{is_open}{}{}{} ",
                sent.is_late,
                sent.is_expired,
                sent.applied.min(2)
            )
            .unwrap();
            for member in &sent.doubt.members {
                write!(all.text, "{}", sent.resolved.contains(&member.id)).unwrap();
                if is_open {
                    all.candidate(member);
                }
            }
        }
        all.entities(world);
        all.save(world);
        let mut hasher = DefaultHasher::new();
        (all.text, &world.histories, explorer.has_ids).hash(&mut hasher);
        hasher.finish()
    }

    fn entities(&mut self, world: &World) {
        let all = self;
        for (_, tracked) in world.tracker.in_order() {
            write!(
                all.text,
                "{}{:?}{}",
                tracked.key().row_key,
                tracked.state(),
                tracked.doubt.ended_unknown
            )
            .unwrap();
            all.name(&format!("r{:?}", tracked.doubt.request));
            match &tracked.base {
                Base::New => all.text.push('n'),
                Base::Unread { condition, values } => {
                    all.condition(Some(condition));
                    all.properties(values);
                }
                Base::Read { values, known, version } => {
                    write!(all.text, "{known:?}").unwrap();
                    all.properties(values);
                    all.condition(version.as_ref());
                }
            }
            let edits = match &tracked.intent {
                Intent::Edit(edits) | Intent::Delete(edits) => edits,
                Intent::Add(add, edits) => {
                    write!(all.text, "{add:?}").unwrap();
                    edits
                }
                Intent::Replace(values) => {
                    all.properties(values);
                    continue;
                }
            };
            for (name, value) in &edits.values {
                if let Some(EdmValue::Guid(id)) = value {
                    all.name(&id.to_string());
                } else {
                    write!(all.text, "{name}{:?} ", value.as_ref().map(number)).unwrap();
                }
            }
            if let Some(update) = &edits.update {
                all.properties(&update.written);
            }
            write!(all.text, "{:?}", tracked.first_known).unwrap();
        }
        for (request, doubt) in &world.tracker.doubts {
            all.name(&format!("r{}", request.0));
            write!(all.text, "f{}", doubt.open.is_fenced).unwrap();
            doubt.members.iter().for_each(|member| all.candidate(member));
        }
    }

    fn save(&mut self, world: &World) {
        let all = self;
        write!(all.text, "{} {}", world.tracker.proved.len(), world.tracker.unsettled.len())
            .unwrap();
        if let Some(save) = &world.save {
            save.digest(&mut |candidate| all.candidate(candidate));
            write!(all.text, "{}", save.place()).unwrap();
            for result in &world.report.results {
                let outcome = match &result.outcome {
                    WriteOutcome::Applied { confirmation, .. } => format!("{confirmation:?}"),
                    WriteOutcome::Failed(_) => "f".into(),
                    WriteOutcome::Unknown(_) => "u".into(),
                    WriteOutcome::NotAttempted(_) => "n".into(),
                    WriteOutcome::Discarded(_) => "d".into(),
                };
                write!(all.text, "{} {outcome}", result.key.as_ref().unwrap().row_key).unwrap();
            }
            for action in &world.actions {
                let text = match action {
                    Action::Send(id, earlier) => format!("s{}{}", id.0, earlier.is_some()),
                    Action::ReadRows(id) => format!("r{}", id.0),
                    Action::ReadRow(_) => "o".into(),
                    Action::ReadVersions(..) => "v".into(),
                    Action::Wait(..) => "w".into(),
                };
                all.name(&text);
            }
        }
    }
}

/// Where the exploration begins: with nothing, and with a request in doubt of which the context knows a part of the row.
const STARTS: [&[&str]; 3] = [
    &[],
    &[
        "load 0, AppendOnly, Some(\"A\")",
        "update 0: A = 1",
        "save: each",
        "request 1 loses its response, and the rows cannot be read",
    ],
    &["attach 0", "update 0: A = 1", "save: each", "request 1 is answered without ETags"],
];

/// Explores all states up to a depth after these steps. Returns their number.
fn explore(rows: usize, has_ids: bool, depth: usize, steps: &[&str]) -> usize {
    let explorer = Explorer::new(rows, has_ids);
    let mut start = explorer.start();
    for step in steps {
        let is_step = |it: &(World, _)| it.0.trace.as_ref().is_some_and(|it| it.step == *step);
        start = explorer.next(&start).into_iter().find(is_step).expect(step).0;
    }
    let mut seen = HashSet::from([Digest::of(&start, &explorer)]);
    let mut states = vec![start];
    for at in 0..depth {
        let mut next = Vec::new();
        for world in &states {
            for (after, problems) in explorer.next(world) {
                assert!(problems.is_empty(), "{problems:?}{}", after.trace.unwrap().text());
                if seen.insert(Digest::of(&after, &explorer)) && at + 1 < depth {
                    next.push(after);
                }
            }
        }
        states = next;
        let depth = at + 1 + steps.len();
        println!("{rows} rows, ids: {has_ids}, depth {depth}: {} states", seen.len());
    }
    seen.len()
}

#[test]
fn no_state_breaks_a_promise() {
    let setting = std::env::var("AZURE_TABLE_EXPLORE").unwrap_or_default();
    let setting: Vec<usize> = setting.split(',').filter_map(|it| it.parse().ok()).collect();
    let depths = match setting[..] {
        [rows, depth] => vec![(rows, depth)],
        _ => vec![(1, 5), (2, 4)],
    };
    for (rows, depth) in depths {
        for (has_ids, steps) in [false, true].into_iter().flat_map(|it| STARTS.map(|at| (it, at))) {
            let start = std::time::Instant::now();
            let count = explore(rows, has_ids, depth - usize::from(!steps.is_empty()), steps);
            println!("{count} states in {:?}", start.elapsed());
            assert!(count > 100);
        }
    }
}
