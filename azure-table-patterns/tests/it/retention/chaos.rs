//! Writers, sweepers and maintainers whose clocks are off by hours: no row is lost before its time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use azure_table_client::mock::{Fault, MockTableService};
use azure_table_client::{DynamicEntity, Operation, Outcome, TableServiceClient};
use azure_table_patterns::retention::{Expiring, Period, PeriodTables};
use azure_table_tests::chaos::{self, Report, Round};
use chrono::{DateTime, TimeDelta, Utc};
use fastrand::Rng;
use tokio::time::{sleep, timeout};

use super::{DAY, HOUR};

const TASKS: u64 = 6;
/// The clocks of the harness are off by at most five hours.
const MARGIN: Duration = Duration::from_secs(10 * 3600);
const TABLE: &str = "Rows";

/// The table and the key of a row, and the time until which it must exist.
type Promises = Arc<Mutex<BTreeMap<(String, String), DateTime<Utc>>>>;

fn now(clock: std::time::SystemTime) -> DateTime<Utc> {
    clock.into()
}

/// Checks that the rows that were promised by now exist. Forgets those whose time is over.
fn check(mock: &MockTableService, promises: &Promises, report: &mut Report) {
    let now = now(mock.now());
    promises.lock().unwrap().retain(|(table, row_key), until| {
        let is_promised = now < *until;
        let exists = mock.row(table, "p", row_key).is_some();
        report.check(exists || !is_promised, || {
            format!("row {row_key} of {table} is lost before {until}")
        });
        is_promised && exists
    });
}

/// A task that keeps rows which expire.
struct Keeper {
    mock: MockTableService,
    client: TableServiceClient,
    rows: Expiring<DynamicEntity>,
    promises: Promises,
    task: u64,
    report: Report,
}

fn expiring(client: &TableServiceClient) -> Expiring<DynamicEntity> {
    let table = client.table_named::<DynamicEntity>(TABLE);
    Expiring::new(&table, "ExpiresAt").unwrap().margin(MARGIN)
}

fn row(row_key: &str, until: DateTime<Utc>) -> DynamicEntity {
    DynamicEntity::new("p", row_key).with("ExpiresAt", until)
}

impl Keeper {
    async fn work(mut self, mut chance: Rng, steps: usize) -> Report {
        for step in 0..steps {
            let own = format!("{}-{step}", self.task);
            let others = self.any_row(&mut chance);
            match chance.u8(..10) {
                0..4 => self.insert(&own, &mut chance).await,
                4..7 => self.extend(&others, &mut chance).await,
                7 => self.read(&others).await,
                _ => {
                    // Some sweeps are dropped. A row is extended while the deletions are in flight.
                    let limit =
                        Duration::from_secs(if chance.bool() { 900 } else { chance.u64(..60) });
                    let rows = self.rows.clone();
                    let extension = async {
                        sleep(Duration::from_millis(chance.u64(..20_000))).await;
                        let found = self.any_row(&mut chance);
                        self.extend(&found, &mut chance).await;
                    };
                    let sweep = timeout(limit, rows.sweep());
                    let (swept, ()) = tokio::join!(sweep, extension);
                    if swept.is_ok_and(|swept| swept.is_ok_and(|swept| swept.removed > 0)) {
                        self.report.count("sweeps that removed rows");
                    }
                }
            }
            check(&self.mock, &self.promises, &mut self.report);
            self.report.operations += 1;
            // Bursts, and hours in which rows expire.
            let pause =
                if chance.u8(..8) == 0 { chance.u64(..3 * 3_600_000) } else { chance.u64(..2_000) };
            sleep(Duration::from_millis(pause)).await;
        }
        self.report
    }

    /// Any row, or one of those that expire first, which a sweep may have found.
    fn any_row(&self, chance: &mut Rng) -> String {
        let mut rows = self.mock.rows(TABLE).unwrap();
        if chance.u8(..4) > 0 {
            rows.sort_by_key(|row| row.get::<DateTime<Utc>>("ExpiresAt").unwrap().unwrap());
            rows.truncate(4);
        }
        let row = rows.get(chance.usize(..rows.len().max(1)));
        row.map(|row| row.key().row_key.clone()).unwrap_or_default()
    }

    /// An expiry time. Half of these times are old enough for a sweep by any clock.
    fn expiry(&self, chance: &mut Rng) -> DateTime<Utc> {
        let minutes = if chance.bool() { -16 * 60..-15 * 60 } else { -16 * 60..6 * 60 };
        now(self.mock.now()) + TimeDelta::minutes(chance.i64(minutes))
    }

    fn promise(&self, row_key: &str, until: DateTime<Utc>) {
        let mut promises = self.promises.lock().unwrap();
        let known = promises.entry((TABLE.to_owned(), row_key.to_owned())).or_insert(until);
        *known = until.max(*known);
    }

    async fn insert(&mut self, row_key: &str, chance: &mut Rng) {
        let until = self.expiry(chance);
        let table = self.client.table_named(TABLE);
        if table.insert(&row(row_key, until)).await.is_ok() {
            self.promise(row_key, until);
        }
    }

    /// Extends a row, also one that has expired and was not removed yet.
    async fn extend(&mut self, row_key: &str, chance: &mut Rng) {
        let table = self.client.table_named::<DynamicEntity>(TABLE);
        let Ok(Some(read)) = table.get_if_exists(("p", row_key)).await else { return };
        // An extension never shortens the time, so that the earlier promise holds for each outcome.
        let earlier: DateTime<Utc> = read.get("ExpiresAt").unwrap().unwrap();
        let longer = now(self.mock.now()) + TimeDelta::minutes(chance.i64(30..6 * 60));
        let until = longer.max(earlier);
        let extended = table.replace(&row(row_key, until), &read.etag).await;
        match extended.map_err(|error| error.outcome()) {
            Ok(_) => {
                let margin = TimeDelta::from_std(MARGIN).unwrap();
                let is_found = earlier + margin < now(self.mock.now());
                self.report.count(if is_found { "extended before a sweep" } else { "extended" });
                self.promise(row_key, until);
            }
            Err(Outcome::NotApplied) => self.report.count("not extended"),
            Err(_) => self.report.count("unknown"),
        }
    }

    async fn read(&mut self, row_key: &str) {
        let earliest = now(self.client.clock().now());
        if let Ok(Some(row)) = self.rows.get(("p", row_key)).await {
            let until: DateTime<Utc> = row.get("ExpiresAt").unwrap().unwrap();
            self.report.check(until > earliest, || format!("{row_key} was returned after {until}"));
            self.report.count("reads");
        }
        if let Ok(rows) = self.rows.query().unwrap().partition("p").await {
            let is_expired = |row: &DynamicEntity| {
                row.get::<DateTime<Utc>>("ExpiresAt").is_none_or(|until| until.unwrap() <= earliest)
            };
            let expired = rows.iter().filter(|row| is_expired(row)).count();
            self.report.check(expired == 0, || format!("{expired} expired rows were returned"));
        }
    }
}

async fn expiring_rows(round: &mut Round) -> Report {
    round.mock().client().create_table(TABLE).await.unwrap();
    let promises = Promises::default();
    round.start_faults();
    // Rows are extended between the query and the deletions of a sweep.
    let delay = Fault::delay_request(Duration::from_secs(20));
    let delay = delay.on(Operation::Transaction).on(Operation::Delete);
    round.mock().faults().add(delay.probability(0.5));
    let tasks = (0..TASKS).map(|task| {
        let (mock, client) = (round.mock().clone(), round.client(task));
        let (rows, promises) = (expiring(&client), Arc::clone(&promises));
        let keeper = Keeper { mock, client, rows, promises, task, report: Report::default() };
        keeper.work(round.chance(task), 40)
    });
    let mut report = Report::default();
    round.run_programs(tasks).await.into_iter().for_each(|it| report.add(it));
    check(round.mock(), &promises, &mut report);
    sleep(2 * DAY).await;
    drop(expiring(&round.mock().client()).sweep().await);
    let left = round.mock().row_count(TABLE).unwrap();
    report.check(left == 0, || format!("{left} expired rows are left"));
    report
}

#[tokio::test(start_paused = true)]
async fn rows_are_removed_after_their_expiry_only() {
    chaos::run("retention, rows", 100, expiring_rows).await;
}

fn tables(client: &TableServiceClient) -> PeriodTables<DynamicEntity> {
    PeriodTables::new(client, "Logs", Period::Day, HOUR).unwrap().margin(MARGIN).unwrap()
}

/// Writes rows with the time of the own clock, and maintains the tables.
async fn log(
    mock: MockTableService,
    client: TableServiceClient,
    promises: Promises,
    task: u64,
    mut chance: Rng,
) -> Report {
    let (logs, mut report) = (tables(&client), Report::default());
    for step in 0..30 {
        if chance.u8(..4) == 0 {
            let limit = Duration::from_secs(if chance.bool() { 900 } else { chance.u64(..60) });
            if let Ok(Ok(changes)) = timeout(limit, logs.maintain()).await {
                report.count("calls of maintain");
                report
                    .counts
                    .entry("dropped")
                    .and_modify(|it| *it += changes.dropped.len())
                    .or_default();
            }
        } else {
            let time = now(client.clock().now());
            let (table, row_key) = (logs.table(time).unwrap(), format!("{task}-{step}"));
            if table.insert(&DynamicEntity::new("p", &*row_key)).await.is_ok() {
                report.count("rows");
                let key = (table.name().to_owned(), row_key);
                promises.lock().unwrap().insert(key, time + HOUR);
            }
        }
        check(&mock, &promises, &mut report);
        report.operations += 1;
        sleep(Duration::from_secs(chance.u64(..3 * 3600))).await;
    }
    report
}

async fn period_tables(round: &mut Round) -> Report {
    let mock = round.mock().clone();
    mock.client().create_table("Logs2001").await.unwrap();
    tables(&mock.client()).maintain().await.unwrap();
    let promises = Promises::default();
    round.start_faults();
    for operation in [Operation::CreateTable, Operation::DeleteTable, Operation::ListTables] {
        for (fault, probability) in [
            (Fault::lose_reply(), 0.1),
            (Fault::lose_request(), 0.1),
            (Fault::busy(), 0.1),
            (Fault::delay_request(Duration::from_secs(45)), 0.05),
        ] {
            mock.faults().add(fault.on(operation).probability(probability));
        }
    }
    let tasks = (0..TASKS).map(|task| {
        let (client, promises) = (round.client(task), Arc::clone(&promises));
        log(mock.clone(), client, promises, task, round.chance(task))
    });
    let mut report = Report::default();
    round.run_programs(tasks).await.into_iter().for_each(|it| report.add(it));
    check(&mock, &promises, &mut report);
    sleep(10 * DAY).await;
    let logs = tables(&mock.client());
    report.check(logs.maintain().await.is_ok(), || "the last call of maintain failed".to_owned());
    // Yesterday (if the margin reaches it), today, tomorrow and the day after, and the table of another program.
    let names = mock.table_names();
    report
        .check(names.len() <= 5 && names.contains(&"Logs2001".to_owned()), || format!("{names:?}"));
    report
}

#[tokio::test(start_paused = true)]
async fn tables_are_dropped_after_their_time_only() {
    chaos::run("retention, tables", 200, period_tables).await;
}
