//! Batches that the service refuses because of one row, under lost responses: the share of rows whose outcome stays
//! unknown.

use azure_table_client::EntityKey;
use azure_table_client::client::WriteResult;
use azure_table_client::mock::Fault;

use super::*;

const WRITE_ID: &str = "WriteId";

/// A write of each row of a batch, one of which the service refuses.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// The row exists.
    Insert,
    /// The row has another version.
    Merge,
    Replace,
    /// The row is gone.
    Delete,
}

/// A quarter of the requests meets a fault, and more than half of these lose a response.
fn add_faults(mock: &MockTableService, seed: u64) {
    mock.faults().seed(seed);
    for (fault, probability) in [
        (Fault::lose_reply(), 0.08),
        (Fault::lose_request(), 0.05),
        (Fault::proxy_page(503).after_commit(), 0.04),
        (Fault::timed_out().after_commit(), 0.03),
        (Fault::internal_error(), 0.03),
        (Fault::refuse_connection(), 0.02),
    ] {
        mock.faults().add(fault.probability(probability));
    }
}

#[derive(Debug, Default)]
struct Counts {
    rows: u64,
    unknown: u64,
}

impl Counts {
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    fn percent(&self) -> f64 {
        100.0 * self.unknown as f64 / self.rows as f64
    }
}

/// Writes batches of this number of rows, and checks each report that states an outcome.
async fn write_batches(kind: Kind, rows: u32, write_id: bool, seed: u64) -> Counts {
    let batches = sized(3, 40);
    let mock = MockTableService::with_random_seed(seed);
    let service = mock.client_builder();
    let service = if write_id { service.write_id_column(WRITE_ID) } else { service };
    let table = service.build().unwrap().table_named::<DynamicEntity>("Blogs");
    table.create().await.unwrap();
    let mut operations = Vec::new();
    for n in 0..batches * rows {
        let is_refused = n % rows == (n / rows) % rows;
        let (mut old, mut new) = (row(n / rows, n), row(n / rows, n));
        old.set("By", "another program");
        new.set("By", "the run");
        let mut tag = IfMatch::Any;
        if is_refused || !matches!(kind, Kind::Insert) {
            tag = table.insert(&old).await.unwrap().etag.into();
        }
        let key = old.key().clone();
        match kind {
            Kind::Merge | Kind::Replace if is_refused => {
                table.replace(&old, IfMatch::Any).await.unwrap();
            }
            Kind::Delete if is_refused => {
                table.delete(key.clone(), IfMatch::Any).await.unwrap();
            }
            _ => {}
        }
        operations.push(match kind {
            Kind::Insert => BulkOperation::Insert(new),
            Kind::Merge => BulkOperation::Merge(new, tag),
            Kind::Replace => BulkOperation::Replace(new, tag),
            Kind::Delete => BulkOperation::Delete(key, tag),
        });
    }
    let before = stored(&mock);
    add_faults(&mock, seed);
    let run = table.bulk().keep_results().run(operations).await;
    let report = run.unwrap_err().into_report();
    mock.faults().clear();
    let after = stored(&mock);
    assert_eq!(report.results.len() as u64, report.progress.read);
    for WriteResult { key, outcome, .. } in &report.results {
        let key = key.as_ref().unwrap();
        let (old, new) = (before.get(key), after.get(key));
        match outcome {
            WriteOutcome::Applied { .. } => match kind {
                Kind::Delete => assert_eq!(new, None, "{key}: {outcome:?}"),
                _ => assert_eq!(new.map(|by| &**by), Some("the run"), "{key}: {outcome:?}"),
            },
            WriteOutcome::Failed(_) => assert_eq!(new, old, "{key}: {outcome:?}"),
            WriteOutcome::Unknown(_) => {}
            other => panic!("{key}: {other:?}"),
        }
    }
    Counts { rows: report.progress.read, unknown: report.progress.unknown }
}

/// The program that wrote each row.
fn stored(mock: &MockTableService) -> HashMap<EntityKey, String> {
    let by = |row: &DynamicEntity| row.get::<String>("By").unwrap().unwrap();
    mock.rows("Blogs").unwrap().iter().map(|row| (row.key().clone(), by(row))).collect()
}

/// One refused row in a batch leaves few of the others unknown: they are sent again, and read back one by one if they
/// are refused too.
#[tokio::test(start_paused = true)]
async fn a_lost_refusal_leaves_few_rows_unknown() {
    let mut too_many = Vec::new();
    for (kind, with_id, without_id) in [
        (Kind::Insert, 3.0, 8.0),
        (Kind::Merge, 3.0, 100.0),
        (Kind::Replace, 3.0, 100.0),
        (Kind::Delete, 3.0, 8.0),
    ] {
        for rows in [20, 100] {
            for (write_id, most) in [(true, with_id), (false, without_id)] {
                let mut all = Counts::default();
                for seed in 0..sized(1, 3) {
                    let Counts { rows, unknown } = write_batches(kind, rows, write_id, seed).await;
                    all.rows += rows;
                    all.unknown += unknown;
                }
                let percent = all.percent();
                let share = format!("{kind:?}, {rows} rows, write id {write_id}: {percent:.2} %");
                println!("{share} unknown");
                if percent > most {
                    too_many.push(share);
                }
            }
        }
    }
    assert!(too_many.is_empty(), "{too_many:?}");
}
