//! Silos that join, suspect each other, die and come back, under faults. The checker compares all reads of the table.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table_patterns::Error;
use azure_table_tests::chaos::{self, Report, Round};
use fastrand::Rng;

use super::table::Membership;
use super::*;

const SILOS: u16 = 6;
const STEPS: usize = 16;
/// The suspicions that declare a silo dead.
const VOTES: usize = 2;

/// The columns that are under the version of the table, for each silo.
type Content = BTreeMap<String, (Status, Option<String>, Option<String>)>;

#[derive(Debug, Default)]
struct History {
    /// The membership at each version, as the first read of it showed it.
    versions: BTreeMap<u32, Content>,
    reached: u32,
    report: Report,
}

/// A silo: a program with an identity of its own until it is declared dead.
struct Program {
    membership: MembershipTable,
    port: u16,
    generation: i32,
    chance: Rng,
    shared: Arc<Mutex<History>>,
}

impl Program {
    fn me(&self) -> Silo {
        Silo::joining(CLUSTER, "10.0.0.1", self.port, self.generation, now())
    }

    async fn run(mut self) {
        for _ in 0..STEPS {
            tokio::time::sleep(Duration::from_millis(self.chance.u64(..500))).await;
            let Some(all) = self.read().await else { continue };
            let me = self.me();
            match all.silo(&me.row).map(|silo| silo.status) {
                None => self.write(&all, me, true).await,
                Some(Status::Dead) => self.generation += 1,
                Some(Status::Joining) => {
                    let mut active = all.silo(&me.row).unwrap().clone();
                    active.status = Status::Active;
                    self.write(&all, active, false).await;
                }
                Some(_) => self.work(&all).await,
            }
        }
    }

    async fn work(&mut self, all: &Membership) {
        let me = self.me();
        match self.chance.u8(..6) {
            0 => drop(self.membership.update_i_am_alive(&me, now()).await),
            1 => {
                let cleanup = self.membership.cleanup_defunct(now() + TimeDelta::hours(1));
                drop(tokio::time::timeout(Duration::from_secs(30), cleanup).await);
            }
            _ => {
                let is_other = |silo: &&Silo| silo.row != me.row && silo.status != Status::Dead;
                let others: Vec<_> = all.silos.iter().filter(is_other).collect();
                let Some(other) = self.chance.choice(others) else { return };
                let mut other = other.clone();
                other.suspect(&me, now());
                if other.suspecting().len() >= VOTES {
                    other.status = Status::Dead;
                }
                return self.write(all, other, false).await;
            }
        }
        self.shared.lock().unwrap().report.operations += 1;
    }

    async fn write(&mut self, all: &Membership, silo: Silo, is_new: bool) {
        // A slow silo writes late, often after a change of another one.
        let pause = self.chance.u64(..8000) * u64::from(self.chance.u8(..3) == 0);
        tokio::time::sleep(Duration::from_millis(pause)).await;
        let write = async {
            if is_new {
                self.membership.insert_row(&silo, &all.version).await
            } else {
                self.membership.update_row(&silo, &all.version).await
            }
        };
        let limit = if self.chance.u8(..4) == 0 { 2 } else { 200_000 };
        let result = tokio::time::timeout(Duration::from_millis(limit), write).await;
        let mut history = self.shared.lock().unwrap();
        history.report.operations += 1;
        history.report.count(match result {
            Ok(Ok(true)) => "changed",
            Ok(Ok(false)) => "refused",
            _ => "failed or dropped",
        });
        if let Ok(Ok(true)) = result {
            history.reached = history.reached.max(all.version.membership_version + 1);
        }
    }

    async fn read(&mut self) -> Option<Membership> {
        let floor = self.shared.lock().unwrap().reached;
        let read = if self.chance.u8(..8) == 0 {
            self.membership.read_row(&self.me().row).await.map(|_| None)
        } else {
            self.membership.read_all().await.map(Some)
        };
        let mut history = self.shared.lock().unwrap();
        history.report.operations += 1;
        let all = match read {
            Ok(all) => all?,
            Err(Error::Contended { .. }) => {
                history.report.count("contended");
                return None;
            }
            Err(_) => return None,
        };
        history.report.count("reads of all");
        let version = all.version.membership_version;
        history.report.check(version >= floor, || format!("version {version} after {floor}"));
        history.reached = version.max(history.reached);
        let content = content(&all.silos);
        let first = history.versions.entry(version).or_insert_with(|| content.clone()).clone();
        history.report.check(first == content, || {
            format!("a torn read of version {version}: {content:?} and {first:?}")
        });
        Some(all)
    }
}

fn content(silos: &[Silo]) -> Content {
    let content = silos.iter().map(|silo| {
        let suspicions = (silo.suspecting_silos.clone(), silo.suspecting_times.clone());
        (silo.row.clone(), (silo.status, suspicions.0, suspicions.1))
    });
    content.collect()
}

/// One version changes one silo, or deletes dead ones; a dead silo stays dead.
fn check_step(from: &Content, to: &Content, report: &mut Report) {
    let what = || format!("{from:?} to {to:?}");
    let deleted: Vec<_> = from.iter().filter(|(row, _)| !to.contains_key(*row)).collect();
    let changed = to.iter().filter(|(row, silo)| from.get(*row) != Some(silo)).count();
    let is_cleanup = deleted.iter().all(|(_, silo)| silo.0 == Status::Dead);
    report.check(is_cleanup, || format!("a silo vanished: {}", what()));
    // A suspicion that a silo repeats changes the version alone.
    let most = usize::from(deleted.is_empty());
    report.check(changed <= most, || format!("more than one change: {}", what()));
    for (row, old) in from {
        let is_later = to.get(row).is_none_or(|new| new.0 >= old.0);
        report.check(is_later, || format!("{row} came back: {}", what()));
    }
}

async fn round(round: &mut Round) -> Report {
    prepare(round.mock()).await;
    round.start_faults();
    let shared = Arc::<Mutex<History>>::default();
    let programs = (0..SILOS).map(|port| {
        let task = u64::from(port);
        let table = round.client(task).table_named::<Silo>(TABLE);
        Program {
            membership: MembershipTable::new(&table, CLUSTER).unwrap(),
            port,
            generation: 1,
            chance: round.chance(task),
            shared: Arc::clone(&shared),
        }
    });
    round.run_programs(programs.map(Program::run)).await;
    let table = round.mock().client().table_named::<Silo>(TABLE);
    let last = MembershipTable::new(&table, CLUSTER).unwrap().read_all().await.unwrap();
    let mut history = std::mem::take(&mut *shared.lock().unwrap());
    let mut report = std::mem::take(&mut history.report);
    history.versions.insert(last.version.membership_version, content(&last.silos));
    let versions: Vec<_> = history.versions.iter().collect();
    for pair in versions.windows(2) {
        if pair[0].0 + 1 == *pair[1].0 {
            check_step(pair[0].1, pair[1].1, &mut report);
            report.count("steps of one version");
        }
    }
    report
}

#[tokio::test(start_paused = true)]
async fn no_read_of_the_table_is_torn() {
    chaos::run("orleans_membership", 250, round).await;
}
