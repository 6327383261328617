//! Programs that write the same few entities and values, with a fault in a third of the requests.

use std::sync::Arc;
use std::time::Duration;

use azure_table_client::{IfMatch, Outcome, Stored};
use azure_table_patterns::Error;
use azure_table_patterns::indexed::Indexed;
use azure_table_tests::chaos::{self, Report, Round};
use fastrand::Rng;
use tokio::time::{sleep, timeout};

use super::users::{User, differences};
use super::watch::{GROUPS, VALUES, Watch, key, number, slot, watched};

const TASKS: u64 = 6;
const STEPS: usize = 30;
const DROPPED: &str = "dropped";

struct Program {
    users: Indexed<User>,
    watch: Arc<Watch>,
    chance: Rng,
    next_stamp: i64,
    report: Report,
    /// The stamps of the writes that were reported as not applied.
    unapplied: Vec<i64>,
}

/// A write of an entity in a version that the program has read; without one, an insert.
enum Write {
    Insert,
    Replace(Stored<User>),
    Merge(Stored<User>),
}

impl Program {
    fn new(round: &Round, watch: &Arc<Watch>, task: u64) -> Self {
        let transport = watched(round.transport(), watch);
        let client = round.client_with(task, |it| it.transport(transport));
        let mut chance = round.chance(task);
        // Every grace time is safe; a short one cancels the attempts of living programs.
        let grace = Duration::from_secs([0, 0, 1, 10][chance.usize(..4)]);
        Self {
            users: Indexed::new(&client).unwrap().grace(grace),
            watch: watch.clone(),
            chance,
            next_stamp: i64::try_from(task).unwrap() * 1_000_000,
            report: Report::default(),
            unapplied: Vec::new(),
        }
    }

    async fn run(mut self) -> (Report, Vec<i64>) {
        for _ in 0..STEPS {
            sleep(Duration::from_millis(self.chance.u64(..2_000))).await;
            self.report.operations += 1;
            match self.chance.u8(..20) {
                0..4 => self.write(Write::Insert).await,
                4..9 => {
                    let former = self.read().await;
                    self.write(former.map_or(Write::Insert, Write::Replace)).await;
                }
                9..11 => {
                    let former = self.read().await;
                    self.write(former.map_or(Write::Insert, Write::Merge)).await;
                }
                11..14 => self.delete().await,
                14 => drop(self.users.sweep().await),
                _ => self.look_up().await,
            }
        }
        (self.report, self.unapplied)
    }

    /// A user with a new stamp and random values.
    fn user(&mut self, number: usize) -> User {
        let (group, id) = key(number);
        let mut value = || VALUES.get(self.chance.usize(..3)).map(|value| (*value).to_owned());
        let (email, city, nick, team) = (value(), value(), value(), value());
        self.next_stamp += 1;
        let user = User::new(group, id);
        User { email, city, nick, team, stamp: self.next_stamp, ..user }
    }

    async fn read(&mut self) -> Option<Stored<User>> {
        let stored = self.users.get(key(self.chance.usize(..6))).await.ok().flatten();
        if stored.is_some() && self.chance.bool() {
            // The version may be old when it is used.
            sleep(Duration::from_millis(self.chance.u64(..5_000))).await;
        }
        stored
    }

    /// The time after which the program stops in the middle of a call.
    fn limit(&mut self) -> Duration {
        let stops = self.chance.u8(..8) == 0;
        Duration::from_millis(if stops { self.chance.u64(..40_000) } else { 1 << 40 })
    }

    async fn write(&mut self, write: Write) {
        let mut user = match &write {
            Write::Insert => {
                let number = self.chance.usize(..6);
                self.user(number)
            }
            Write::Replace(former) | Write::Merge(former) => self.user(number(former)),
        };
        if let Write::Replace(former) = &write
            && self.chance.bool()
        {
            // Only one value changes.
            user = User { email: user.email, stamp: user.stamp, ..former.entity.clone() };
        }
        let (limit, any_version) = (self.limit(), self.chance.u8(..4) == 0);
        let condition = |former: &Stored<User>| {
            if any_version { IfMatch::Any } else { IfMatch::from(&former.etag) }
        };
        let call = async {
            match &write {
                Write::Insert => self.users.insert(&user).await,
                Write::Replace(former) => self.users.replace(&user, condition(former)).await,
                Write::Merge(former) => self.users.merge(&user, condition(former)).await,
            }
        };
        let Ok(result) = timeout(limit, call).await else {
            self.report.count(DROPPED);
            return;
        };
        let was_applied = self.watch.was_seen(user.stamp);
        let Err(error) = result else {
            self.report.count("applied");
            self.report.check(was_applied, || format!("reported as applied: {user:?}"));
            return;
        };
        self.report.count(name(&error));
        if error.outcome() != Outcome::NotApplied {
            return;
        }
        let has_marker = match &write {
            Write::Insert => true,
            // The values of the version that was replaced are not known here.
            _ if any_version => false,
            Write::Replace(former) => former.values() != user.values(),
            Write::Merge(former) => {
                let mut pairs = former.values().into_iter().zip(user.values());
                pairs.any(|(old, new)| new.is_some() && new != old)
            }
        };
        if has_marker {
            self.unapplied.push(user.stamp);
        } else if was_applied {
            // A proxy delivered the request twice. The client cannot detect it, and this write may have no marker.
            self.report.count("undetectable");
        }
    }

    async fn delete(&mut self) {
        let Some(former) = self.read().await else { return };
        let key = key(number(&former));
        let limit = self.limit();
        let Ok(result) = timeout(limit, self.users.delete(key, &former.etag)).await else {
            self.report.count(DROPPED);
            return;
        };
        match result {
            Ok(()) => {
                self.report.count("applied");
                let is_gone = self.watch.is_gone(former.stamp);
                self.report.check(is_gone, || format!("reported as deleted: {:?}", former.entity));
            }
            Err(error) => self.report.count(name(&error)),
        }
    }

    async fn look_up(&mut self) {
        let value = VALUES[self.chance.usize(..VALUES.len())];
        let group = GROUPS[self.chance.usize(..2)];
        let index = self.chance.usize(..4);
        let since = self.watch.sample();
        let found = match index {
            0 => self.users.by(|u| u.email, value).one().await.map(|it| it.into_iter().collect()),
            1 => self.users.by(|u| u.city, value).all().await,
            2 => self.users.by(|u| u.nick, value).partition(group).all().await,
            _ => self.users.by(|u| u.team, value).partition(group).all().await,
        };
        let Ok(found) = found else {
            self.report.count("failed lookup");
            return;
        };
        self.report.count("lookup");
        for user in &found {
            let has_value = user.values()[index] == Some(value);
            self.report.check(has_value, || format!("by {index} = {value}: {:?}", user.entity));
        }
        let found: Vec<_> = found.iter().map(|user| number(user)).collect();
        let wrong = self.watch.check_lookup(since, slot(index, value, group), &found);
        self.report.violations.extend(wrong);
    }
}

fn name(error: &Error) -> &'static str {
    match error {
        Error::ValueTaken { .. } => "value taken",
        Error::Conflict { .. } => "changed",
        Error::Contended { .. } => "contended",
        Error::Failed { outcome: Outcome::NotApplied, .. } => "cancelled",
        Error::Failed { .. } => "unconfirmed",
        _ if error.outcome() == Outcome::Unknown => "unknown",
        _ => "failed",
    }
}

async fn round(round: &mut Round) -> Report {
    let client = round.mock().client();
    let users = Indexed::<User>::new(&client).unwrap().grace(Duration::from_secs(1));
    users.create().await.unwrap();
    let watch = Watch::new(round.mock());
    round.start_faults();
    let programs = (1..=TASKS).map(|task| Program::new(round, &watch, task).run());
    let (mut report, mut unapplied) = (Report::default(), Vec::new());
    for (of_program, stamps) in round.run_programs(programs).await {
        report.add(of_program);
        unapplied.extend(stamps);
    }
    let swept = users.sweep().await.unwrap();
    *report.counts.entry("swept").or_default() +=
        usize::try_from(swept.unfinished + swept.removed).unwrap();
    report.violations.extend(differences(round.mock()));
    for stamp in unapplied {
        report.check(!watch.was_seen(stamp), || format!("reported as not applied: {stamp}"));
    }
    report.violations.extend(watch.violations());
    for (index, value) in (0..4).flat_map(|index| VALUES.map(|value| (index, value))) {
        for group in GROUPS {
            let found = match index {
                0 => users.by(|u| u.email, value).all().await,
                1 => users.by(|u| u.city, value).all().await,
                2 => users.by(|u| u.nick, value).partition(group).all().await,
                _ => users.by(|u| u.team, value).partition(group).all().await,
            };
            let found: Vec<_> = found.unwrap().iter().map(|user| number(user)).collect();
            let since = watch.sample();
            let wrong = watch.check_lookup(since, slot(index, value, group), &found);
            report.violations.extend(wrong);
        }
    }
    report
}

#[tokio::test(start_paused = true)]
async fn indexes_agree_with_their_entities() {
    chaos::run("indexes", 120, round).await;
}
