//! Several programs that hold a lease in turn, on machines whose clocks run fast or slow, with late, lost and repeated
//! requests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{DynamicEntity, Operation, TableClient};
use azure_table_patterns::Error;
use azure_table_patterns::lease::{Guard, Lease, merge_fenced};
use azure_table_tests::chaos::{self, Report, Round};
use fastrand::Rng;
use tokio::time::{Instant, sleep, timeout};

use super::history::{History, Known};
use super::{DEVICES, LEASES};

const PROGRAMS: u64 = 5;
const TURNS: usize = 12;
const JOBS: usize = 4;

/// One program, and its part of the round.
struct Program {
    mock: MockTableService,
    table: TableClient<DynamicEntity>,
    devices: TableClient<DynamicEntity>,
    history: Arc<Mutex<History>>,
    chance: Rng,
    /// Its lease, and those of the jobs.
    leases: Vec<Lease>,
    name: String,
    /// One moment, in virtual time and by the clock of the machine.
    start: (Instant, std::time::Instant),
    calls: usize,
}

fn job(at: usize) -> String {
    format!("job{at}")
}

impl Program {
    fn new(round: &Round, task: u64, history: &Arc<Mutex<History>>) -> Self {
        let (client, mut chance) = (round.client(task), round.chance(task));
        let table = client.table_named::<DynamicEntity>(LEASES);
        let devices = client.table_named(DEVICES);
        let ttl = Duration::from_secs(chance.u64(6..30));
        let lease =
            Lease::new(&table, ("p", "lease0"), ttl).unwrap().holder(format!("program {task}"));
        let jobs = (0..JOBS).map(|at| Lease::new(&table, ("p", job(at)), ttl).unwrap().existing());
        let leases = std::iter::once(lease).chain(jobs).collect();
        let (mock, history) = (round.mock().clone(), Arc::clone(history));
        let start = (Instant::now(), table.clock().instant());
        let name = task.to_string();
        Self { mock, table, devices, history, chance, leases, name, start, calls: 0 }
    }

    fn record<T>(&self, record: impl FnOnce(&mut History) -> T) -> T {
        let mut history = self.history.lock().unwrap();
        history.look_at_device(&self.mock);
        record(&mut history)
    }

    /// A name that no other call has.
    fn id(&mut self, kind: &str) -> String {
        self.calls += 1;
        self.record(|history| history.report.operations += 1);
        format!("{kind}_{}_{}", self.name, self.calls)
    }

    fn probe(&self, number: usize, guard: &Guard) -> bool {
        let remaining = guard.remaining();
        // In virtual time, which differs from that of the machine.
        let (start, instant) = self.start;
        let passed = self.table.clock().instant() - instant;
        let rate = if passed.is_zero() { 1.0 } else { passed.div_duration_f64(start.elapsed()) };
        self.record(|history| history.probe(number, remaining.div_f64(rate)));
        guard.is_valid()
    }

    /// Sometimes drops a call in the middle.
    async fn call<T>(&mut self, call: impl Future<Output = T>) -> Option<T> {
        match self.chance.u8(..8) {
            0 => timeout(Duration::from_millis(self.chance.u64(..5_000)), call).await.ok(),
            _ => Some(call.await),
        }
    }

    async fn run(mut self) {
        for _ in 0..TURNS {
            sleep(Duration::from_millis(self.chance.u64(..6_000))).await;
            let lease = if self.chance.u8(..4) == 0 { self.chance.usize(1..=JOBS) } else { 0 };
            if let Some(guard) = self.acquire(lease).await {
                let number = self.record(|history| history.acquired(lease, guard.token()));
                self.probe(number, &guard);
                self.hold(guard, number, lease).await;
            }
        }
    }

    async fn acquire(&mut self, at: usize) -> Option<Guard> {
        self.id("");
        let waits = self.chance.bool();
        let limit = Duration::from_secs(self.chance.u64(..90));
        // The call borrows the lease, and `call` the program.
        let other = Lease::new(&self.table, ("p", ""), Duration::from_secs(1)).unwrap();
        let mut lease = std::mem::replace(&mut self.leases[at], other);
        let acquired = self
            .call(async {
                if waits { lease.acquire(limit).await } else { lease.acquire_now().await }
            })
            .await;
        self.leases[at] = lease;
        self.record(|history| match &acquired {
            Some(Ok(Some(_))) => history.report.count("acquired"),
            Some(Ok(None)) => history.report.count("held by another"),
            Some(Err(_)) => history.report.count("not acquired: error"),
            None => history.report.count("not acquired: dropped"),
        });
        acquired?.ok()?
    }

    /// Works with a guard, and ends with a release or without one.
    async fn hold(&mut self, guard: Guard, number: usize, lease: usize) {
        if self.chance.bool() {
            tokio::spawn(guard.renewal());
        }
        for _ in 0..self.chance.u8(1..6) {
            self.probe(number, &guard);
            let result = match self.chance.u8(..14) {
                0..=3 => self.commit(&guard, lease).await,
                4..=5 if lease == 0 => self.update(&guard).await,
                4..=7 => {
                    self.id("");
                    self.call(guard.renew()).await
                }
                8..=9 if lease == 0 => self.write_to_device(&guard).await,
                8..=10 => self.work(&guard, number, lease).await,
                11 => {
                    // A program that is paused.
                    sleep(Duration::from_secs(self.chance.u64(..60))).await;
                    None
                }
                _ => {
                    self.wait(&guard, number).await;
                    None
                }
            };
            self.probe(number, &guard);
            if let Some(Err(Error::Lost { .. })) = result {
                self.record(|history| history.report.count("lost"));
                break;
            }
        }
        self.probe(number, &guard);
        self.record(|history| history.ended(number));
        match self.chance.u8(..4) {
            0 => drop(guard),
            1 if lease > 0 => self.finish(guard, lease).await,
            _ => {
                self.id("");
                let released = self.call(guard.release()).await;
                self.record(|history| match released {
                    Some(Ok(())) => history.report.count("released"),
                    _ => history.report.count("not released"),
                });
            }
        }
    }

    async fn commit(&mut self, guard: &Guard, lease: usize) -> Option<Result<(), Error>> {
        let id = self.id(&format!("event{lease}"));
        let event = DynamicEntity::new("p", &*id).with("By", guard.token());
        let log = DynamicEntity::new("p", "log").with("Last", &*id);
        let result = self.call(guard.commit(|tx| tx.insert(&event).insert_or_merge(&log))).await;
        self.record(|history| history.committed(id, Known::of(result.as_ref())));
        result
    }

    async fn update(&mut self, guard: &Guard) -> Option<Result<(), Error>> {
        let id = self.id("Update");
        let columns = DynamicEntity::new("p", "lease0").with(&*id, true);
        let result = self.call(guard.update(&columns)).await;
        self.record(|history| history.updated(id, Known::of(result.as_ref())));
        result
    }

    async fn write_to_device(&mut self, guard: &Guard) -> Option<Result<(), Error>> {
        let state = DynamicEntity::new("p", "device").with("State", self.id("state"));
        let (devices, token) = (self.devices.clone(), guard.token());
        let written = self.call(merge_fenced(&devices, &state, token)).await;
        written.map(|result| result.map(drop))
    }

    /// Work that records each moment at which it runs, and commits while the guard is renewed.
    async fn work(
        &mut self,
        guard: &Guard,
        number: usize,
        lease: usize,
    ) -> Option<Result<(), Error>> {
        let id = self.id(&format!("event{lease}"));
        let event = DynamicEntity::new("p", &*id).with("By", guard.token());
        let history = Arc::clone(&self.history);
        let steps = self.chance.usize(..60);
        let mut committed = None;
        let work = async {
            for step in 0..steps {
                history.lock().unwrap().runs(number);
                sleep(Duration::from_millis(700)).await;
                if step == steps / 2 {
                    committed = Some(guard.commit(|tx| tx.insert(&event)).await);
                }
            }
        };
        let held = self.call(guard.hold(work)).await;
        self.record(|history| history.committed(id, Known::of(committed.as_ref())));
        held
    }

    /// Waits until shortly before the guard becomes invalid.
    async fn wait(&mut self, guard: &Guard, number: usize) {
        for _ in 0..self.chance.u8(1..4) {
            if self.probe(number, guard) {
                let rest = guard.remaining().saturating_sub(Duration::from_millis(2));
                let part = if self.chance.bool() { 1.0 } else { self.chance.f64() };
                self.table.clock().sleep(rest.mul_f64(part)).await;
            }
        }
        self.probe(number, guard);
    }

    async fn finish(&mut self, guard: Guard, lease: usize) {
        let (id, job) = (self.id("finish"), job(lease - 1));
        let result = DynamicEntity::new("p", format!("done {job}")).with("Id", &*id);
        let finished = self.call(guard.delete(|tx| tx.insert(&result))).await;
        self.record(|history| history.finished(job, id, Known::of(finished.as_ref())));
    }
}

async fn hold_in_turn(round: &mut Round) -> Report {
    let service = round.mock().client();
    let table = service.table_named::<DynamicEntity>(LEASES);
    table.create().await.unwrap();
    service.table_named::<DynamicEntity>(DEVICES).create().await.unwrap();
    for at in 0..JOBS {
        table.insert(&DynamicEntity::new("p", job(at)).with("Text", "import")).await.unwrap();
    }
    round.start_faults();
    // Responses that arrive after another program has acquired the lease.
    for seconds in [20, 35] {
        let slow = Fault::delay_reply(Duration::from_secs(seconds)).probability(0.03);
        round.mock().faults().add(slow.on(Operation::Transaction).on(Operation::Merge));
    }
    let history = Arc::default();
    let programs = (0..PROGRAMS).map(|task| Program::new(round, task, &history));
    round.run_programs(programs.map(Program::run)).await;
    // Once the faults end, the lease can be acquired, and nothing that it did not write is gone.
    let mut lease = Lease::new(&table, ("p", "lease0"), Duration::from_secs(10)).unwrap();
    let guard = lease.acquire(Duration::from_secs(45)).await.unwrap();
    let mut history = std::mem::take(&mut *history.lock().unwrap());
    history.report.check(guard.is_some(), || "the lease cannot be acquired".to_owned());
    if let Some(guard) = guard {
        history.acquired(0, guard.token());
    }
    history.check(round.mock())
}

#[tokio::test(start_paused = true)]
async fn one_holder_at_a_time() {
    chaos::run("lease", 250, hold_in_turn).await;
}
