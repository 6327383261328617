//! Imports that are stopped, crash or meet an outage, each resumed by another run.

use std::path::PathBuf;

use azure_table_client::mock::MockTableService;

use super::*;

const ROWS: u32 = 6000;
const TABLE: &str = "ExampleReadings";

struct Stage {
    mock: MockTableService,
    csv: PathBuf,
}

impl Stage {
    async fn new(name: &str) -> Self {
        let mock = MockTableService::new();
        mock.client().create_table(TABLE).await.unwrap();
        let directory = std::env::temp_dir().join(azure_table_examples::unique(name));
        fs::create_dir_all(&directory).unwrap();
        let csv = directory.join("readings.csv");
        write_csv(&csv, ROWS).unwrap();
        Self { mock, csv }
    }

    /// The import of a process that has just started.
    fn import(&self) -> Import {
        Import::new(&self.mock.client(), &self.csv)
    }

    /// Imports the rest of the file, and checks that all valid rows are in the table.
    async fn resume(&self) -> Ended {
        let import = self.import();
        assert!(import.checkpoint().exists());
        let bar = ProgressBar::hidden();
        let ended = import.run(&bar, std::future::pending()).await.unwrap();
        assert!(ended.is_complete && !import.checkpoint().exists());
        assert_eq!(bar.position(), u64::from(ROWS) - 1, "an unreadable line is not a row");
        assert_eq!(self.mock.row_count(TABLE), Some(ROWS as usize - 2));
        ended
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.csv.parent().unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn an_import_that_is_stopped_continues_after_the_imported_rows() {
    let stage = Stage::new("stopped").await;
    stage.mock.faults().add(Fault::throttle(50).on(Operation::Transaction));
    let bar = ProgressBar::hidden();
    let stop = async {
        while bar.position() < 4000 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let first = stage.import().run(&bar, stop).await.unwrap();
    assert!(!first.is_complete && first.refused.is_none());
    assert!(first.progress.throttled > 0, "{}", first.progress);

    let last = stage.resume().await;
    assert!(last.progress.skipped >= 4000, "{}", last.progress);
    assert_eq!(last.progress.skipped, first.progress.applied + first.progress.failed);
    let refused = fs::read_to_string(last.refused.unwrap()).unwrap();
    let lines: Vec<&str> = refused.lines().collect();
    assert_eq!((lines.len(), lines[0]), (3, "device,id,celsius,line,reason"));
    assert!(lines[1].starts_with("device-34,1234,warm,1236,"), "{refused}");
    assert!(lines[2].starts_with("a/b,4711,20.1,4713,"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn the_refused_rows_can_be_corrected_and_imported() {
    let stage = Stage::new("corrected").await;
    stage.import().run(&ProgressBar::hidden(), std::future::pending()).await.unwrap();
    let refused = stage.import().refused();
    let text = fs::read_to_string(&refused).unwrap();
    fs::write(&refused, text.replace("warm", "21.5").replace("a/b", "a-b")).unwrap();
    let import = Import::new(&stage.mock.client(), refused);
    let ended = import.run(&ProgressBar::hidden(), std::future::pending()).await.unwrap();
    assert!(ended.is_complete && ended.refused.is_none());
    assert_eq!(stage.mock.row_count(TABLE), Some(ROWS as usize));
}

#[tokio::test(start_paused = true)]
async fn a_crash_loses_a_second() {
    let stage = Stage::new("crash").await;
    let slow = Fault::delay_request(Duration::from_millis(400)).on(Operation::Transaction);
    stage.mock.faults().add(slow);
    let (import, bar) = (stage.import(), ProgressBar::hidden());
    let applied = || stage.mock.row_count(TABLE).unwrap() as u64;
    let crash = async {
        tokio::time::sleep(Duration::from_millis(2900)).await;
        let before = applied();
        tokio::time::sleep(Duration::from_secs(1)).await;
        before
    };
    let before = tokio::select! {
        _ = import.run(&bar, std::future::pending()) => panic!("the import ended before the crash"),
        before = crash => before,
    };
    let skipped = before..applied();
    let last = stage.resume().await.progress;
    assert!(skipped.contains(&last.skipped), "{skipped:?}: {last}");
}

#[tokio::test(start_paused = true)]
async fn an_outage_ends_the_import_with_a_checkpoint() {
    let stage = Stage::new("outage").await;
    let outage = Fault::error(403, "AuthorizationFailure").on(Operation::Transaction).skip(10);
    stage.mock.faults().add(outage);
    let error = stage.import().run(&ProgressBar::hidden(), std::future::pending()).await;
    assert!(error.unwrap_err().to_string().contains("AuthorizationFailure"));
    stage.mock.faults().clear();
    assert!(stage.resume().await.progress.skipped > 0);
}

#[tokio::test(start_paused = true)]
async fn rows_without_an_outcome_are_left_to_the_next_run() {
    let stage = Stage::new("unresolved").await;
    // One partition cannot be written, for longer than the run waits.
    stage.mock.faults().add(Fault::busy().partition("device-07"));
    let ended = stage.import().run(&ProgressBar::hidden(), std::future::pending()).await.unwrap();
    assert!(!ended.is_complete && ended.refused.is_none());
    assert_eq!(ended.progress.applied, u64::from(ROWS) - 2 - 120, "{}", ended.progress);
    stage.mock.faults().clear();
    stage.resume().await;
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_of_another_file_or_table_is_refused() {
    let stage = Stage::new("changed").await;
    let bar = ProgressBar::hidden();
    stage.import().run(&bar, async {}).await.unwrap();
    let refusal = async |import: Import| {
        import.run(&bar, std::future::pending()).await.unwrap_err().to_string()
    };

    // The table of the same name of another account.
    let other = "AccountName=account;AccountKey=a2V5;EndpointSuffix=core.windows.net";
    let other = TableServiceClient::builder_from_connection_string(other).unwrap();
    let other = other.transport(stage.mock.transport()).build().unwrap();
    let refused = refusal(Import::new(&other, &stage.csv)).await;
    assert!(refused.contains("the import began in the table ExampleReadings"), "{refused}");

    // The size is the same.
    let text = fs::read_to_string(&stage.csv).unwrap();
    fs::write(&stage.csv, text.replacen("20.1", "21.1", 1)).unwrap();
    let refused = refusal(stage.import()).await;
    assert!(refused.contains("the CSV has changed"), "{refused}");
}
