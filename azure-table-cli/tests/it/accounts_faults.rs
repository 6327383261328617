//! Backups of accounts that are killed, that meet faults, or whose tables disappear: nothing is lost, and `--resume`
//! continues.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use azure_table_client::{DynamicEntity, TableClient};

use crate::accounts::{assert_same, fill_account};
use crate::file_kills::{KILLS_MS, run_with_kills};
use crate::files::fill;
use crate::support::{Emulator, Folder, Run, listed, run};

pub(crate) const SLOW: &str = r#"{"fault":"delay_reply","milliseconds":40}"#;

/// Waits until a file of a running command has this text.
pub(crate) async fn wait_for(child: &mut Child, file: &Path, text: &str) {
    while !fs::read_to_string(file).is_ok_and(|content| content.contains(text)) {
        assert!(child.try_wait().unwrap().is_none(), "it ended before {text}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

fn with_resume<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [arguments, &["--resume"]].concat()
}

#[tokio::test]
async fn a_killed_backup_and_a_killed_import_resume_without_a_lost_row() {
    let (a, b, folder) = (Emulator::start(), Emulator::start(), Folder::new());
    fill_account(&a).await;
    let backup = folder.file("backup");
    let faults = r#"{"seed":3,"faults":[
        {"fault":"lose_reply","probability":0.03},
        {"fault":"page_of","rows":150},
        {"fault":"delay_reply","milliseconds":10}
    ]}"#;
    a.add_faults(faults);
    let export = ["export", "--all-tables", &backup, "--resume", "--save-every", "10ms"];
    let (stopped, end) = run_with_kills(KILLS_MS, || a.command(&export)).await;
    end.done();
    assert!(stopped >= 4, "{stopped} runs were stopped");
    run(&["verify", &backup]).done();
    assert_eq!(fs::read_dir(&backup).unwrap().count(), 31, "only tables and the manifest");

    b.add_faults(faults);
    let import = ["import", &backup, "--all-tables", "--resume", "--save-every", "10ms"];
    let (stopped, end) = run_with_kills(KILLS_MS, || b.command(&import)).await;
    end.done();
    assert!(stopped >= 4, "{stopped} runs were stopped");
    b.end_faults();
    a.end_faults();
    assert_same(&a, &b, &[]);
    assert_eq!(fs::read_dir(&backup).unwrap().count(), 31, "no checkpoint is left");
}

#[tokio::test]
async fn an_unfinished_backup_belongs_to_its_arguments_and_is_not_imported() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 300).await;
    fill(&emulator, "Logs", 30).await;
    let backup = folder.file("backup");
    // The credential expires after the first pages.
    emulator.add_faults(
        r#"{"faults":[
            {"fault":"proxy_page","status":403,"on":"Query","skip":2},
            {"fault":"page_of","rows":100}
        ]}"#,
    );
    let export = ["export", "--all-tables", &backup];
    let error = emulator.run(&export).failed(8);
    let last = error.lines().last().unwrap();
    assert!(last.starts_with("azure-table: table Blogs: "), "{error}");
    assert!(last.ends_with("0 of 2 tables are complete: add --resume to continue"), "{error}");
    emulator.end_faults();
    let unfinished = run(&["verify", &backup]);
    assert!(
        unfinished.out.starts_with("the backup is unfinished, 2 tables left"),
        "{unfinished:?}"
    );
    assert_eq!(
        unfinished.failed(3).lines().last(),
        Some(&*format!("azure-table: {backup} is unfinished"))
    );
    let error = emulator.run(&["import", &backup, "--all-tables", "--replace"]).failed(3);
    assert!(error.contains("the backup is unfinished"), "{error}");
    fs::write(folder.file("backup/more.jsonl"), "").unwrap();
    let damaged = run(&["verify", &backup]).failed(3);
    assert!(damaged.ends_with("is unfinished and damaged: 1 problem\n"), "{damaged}");
    fs::remove_file(folder.file("backup/more.jsonl")).unwrap();
    let error = emulator.run(&export).failed(2);
    assert!(error.contains("add --resume"), "{error}");
    for other in [["--filter", "Yes"], ["--exclude", "Logs"], ["--format", "csv"]] {
        let error = emulator.run(&[&with_resume(&export)[..], &other].concat()).failed(2);
        assert!(error.contains("belongs to another run"), "{error}");
    }
    // The tables are those of the beginning.
    fill(&emulator, "Added", 1).await;
    let end = emulator.run(&with_resume(&export));
    assert!(end.err.contains("continues after 200 rows"), "{end:?}");
    assert!(end.err.contains("2 tables exported, 330 rows"), "{end:?}");
    end.done();
    run(&["verify", &backup]).done();
}

#[cfg(unix)]
#[tokio::test]
async fn a_backup_on_a_full_disk_continues() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 100).await;
    fill(&emulator, "Large", 3000).await;
    let backup = folder.file("backup");
    let export = ["export", "--all-tables", &backup];
    let error = crate::full_disk::run_limited(&emulator, 300, &export).failed(1);
    assert!(error.contains("table Large: cannot write"), "{error}");
    assert!(error.contains("1 of 2 tables are complete"), "{error}");
    let end = emulator.run(&with_resume(&export));
    assert!(end.err.contains("continues after") && !end.err.contains("export Blogs"), "{end:?}");
    end.done();
    run(&["verify", &backup]).done();
    let single = folder.file("large.jsonl");
    emulator.run(&["export", "Large", &single]).done();
    let large = fs::read(folder.path().join("backup").join("Large.jsonl")).unwrap();
    assert!(large == fs::read(&single).unwrap());
}

#[tokio::test]
async fn a_table_that_is_deleted_during_the_export_is_reported() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    for table in ["Blogs", "Deleted", "Last"] {
        fill(&emulator, table, 10).await;
    }
    let backup = folder.file("backup");
    emulator.add_faults(SLOW);
    let mut child = emulator.command(&["export", "--all-tables", &backup]).spawn().unwrap();
    wait_for(&mut child, &folder.path().join("backup").join("manifest.json"), "Deleted").await;
    emulator.client().delete_table("Deleted").await.unwrap();
    let error = Run::of(&child.wait_with_output().unwrap()).failed(4);
    assert!(error.contains("2 tables exported, 20 rows; deleted during the export: Deleted"));
    run(&["verify", &backup]).done();
    let list = emulator.run(&["import", &backup, "--all-tables", "--dry-run"]).done();
    assert!(list.lines().count() == 2 && !list.contains("Deleted"), "{list}");
}

#[tokio::test]
async fn a_manifest_is_not_written_for_each_table() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    for n in 0..6 {
        fill(&emulator, &format!("Table{n}"), n).await;
    }
    let backup = folder.file("backup");
    let manifest = || fs::read_to_string(folder.file("backup/manifest.json")).unwrap();
    let export = ["export", "--all-tables", &backup, "--save-every", "1h"];
    emulator.add_faults(SLOW);
    let mut child = emulator.command(&export).spawn().unwrap();
    wait_for(&mut child, &folder.path().join("backup").join("Table3.jsonl"), "Number").await;
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!manifest().contains("complete"), "{}", manifest());
    assert!(run(&["verify", &backup]).failed(3).contains("backup is unfinished\n"));
    // A failure saves it, so that only the table that failed is exported again.
    let refused = r#"{"fault":"error","status":403,"code":"AuthorizationFailure","on":"Query","table":"Table4"}"#;
    emulator.add_faults(refused);
    emulator.run(&with_resume(&export)).failed(8);
    assert_eq!(manifest().matches("\"complete\"").count(), 4, "{}", manifest());
    emulator.end_faults();
    let end = emulator.run(&with_resume(&export));
    assert!(!end.err.contains("export Table3") && end.err.contains("export Table4"), "{end:?}");
    end.done();
    run(&["verify", &backup]).done();
}

/// A backup of three tables, and an empty account.
struct Backup {
    source: Emulator,
    target: Emulator,
    folder: Folder,
    path: String,
}

impl Backup {
    async fn new() -> Self {
        let (source, target, folder) = (Emulator::start(), Emulator::start(), Folder::new());
        for (table, rows) in [("Blogs", 100), ("Large", 2000), ("Zoo", 5)] {
            fill(&source, table, rows).await;
        }
        let path = folder.file("backup");
        source.run(&["export", "--all-tables", &path]).done();
        Self { source, target, folder, path }
    }

    fn import(&self) -> Command {
        self.target.command(&["import", &self.path, "--all-tables", "--save-every", "10ms"])
    }

    /// Resumes the import, and compares the accounts.
    fn finish(&self) -> Run {
        self.target.end_faults();
        let end = Run::of(&self.import().arg("--resume").output().unwrap());
        assert_eq!(end.code, Some(0), "{end:?}");
        assert_same(&self.source, &self.target, &[]);
        run(&["verify", &self.path]).done();
        end
    }

    fn table(&self, name: &str) -> TableClient<DynamicEntity> {
        self.target.client().table_named(name)
    }
}

#[tokio::test]
async fn a_credential_that_expires_during_an_import_stops_it() {
    let backup = Backup::new().await;
    backup.target.add_faults(r#"{"fault":"error","status":403,"code":"AuthenticationFailed","on":"Transaction","skip":12}"#);
    let error = Run::of(&backup.import().output().unwrap()).failed(8);
    let last = error.lines().last().unwrap();
    assert!(last.starts_with("azure-table: table Large: "), "{error}");
    assert!(last.contains("1 of 3 tables are complete: add --resume to continue"), "{error}");
    let end = backup.finish();
    assert!(end.err.contains("continues after") && !end.err.contains("import Blogs"), "{end:?}");
}

#[tokio::test]
async fn unknown_outcomes_are_listed() {
    let backup = Backup::new().await;
    // A proxy may have forwarded the requests.
    backup.target.add_faults(r#"{"fault":"proxy_page","status":403,"on":"Transaction","skip":12}"#);
    let error = Run::of(&backup.import().output().unwrap()).failed(5);
    assert!(
        error.contains("table Large: ") && error.contains("Large.jsonl.failed.jsonl"),
        "{error}"
    );
    let list = backup.folder.path().join("backup").join("Large.jsonl.failed.jsonl");
    let unknown = format!(" {} unknown (", listed(list).len());
    let error = error.replace(',', "");
    assert!(error.contains(&unknown), "{unknown}: {error}");
    // The files of an import are not part of the backup.
    run(&["verify", &backup.path]).done();
    backup.finish();
}

#[tokio::test]
async fn a_target_that_disappears_is_imported_again() {
    let backup = Backup::new().await;
    backup.target.add_faults(SLOW);
    let mut child = backup.import().arg("--concurrency").arg("1").spawn().unwrap();
    let checkpoint = backup.folder.path().join("backup").join("import.checkpoint");
    wait_for(&mut child, &checkpoint, r#""Large": "begun""#).await;
    while backup.table("Large").query().take(1).await.map_or(true, |rows| rows.is_empty()) {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    backup.target.client().delete_table("Large").await.unwrap();
    let error = Run::of(&child.wait_with_output().unwrap()).failed(6);
    assert!(error.contains("table Large: ") && error.contains("add --resume"), "{error}");
    // So does a table that was complete.
    backup.target.client().delete_table("Blogs").await.unwrap();
    let end = backup.finish();
    assert!(end.err.contains("no table Large any more: it begins again"), "{end:?}");
}

#[tokio::test]
async fn a_file_that_changes_during_an_import_is_not_imported() {
    let backup = Backup::new().await;
    backup.target.add_faults(SLOW);
    let mut child = backup.import().arg("--concurrency").arg("1").spawn().unwrap();
    let folder = backup.folder.path().join("backup");
    wait_for(&mut child, &folder.join("import.checkpoint"), r#""Large": "begun""#).await;
    let zoo = fs::read(folder.join("Zoo.jsonl")).unwrap();
    fs::write(folder.join("Zoo.jsonl"), [&zoo[..], &zoo].concat()).unwrap();
    let error = Run::of(&child.wait_with_output().unwrap()).failed(3);
    assert!(
        error.contains("table Zoo: ") && error.contains("this run sent none of its rows"),
        "{error}"
    );
    assert!(!backup.table("Zoo").table_exists().await.unwrap());
    fs::write(folder.join("Zoo.jsonl"), zoo).unwrap();
    backup.finish();
}

/// The check of a file and its import are two readings.
#[tokio::test]
async fn a_file_that_changes_after_its_check_is_imported_again() {
    let backup = Backup::new().await;
    let slow = r#"{"fault":"delay_reply","on":"CreateTable","times":1,"milliseconds":1000}"#;
    backup.target.add_faults(slow);
    let mut child = backup.import().spawn().unwrap();
    while backup.target.requests_by_operation()["CreateTable"] != 1 {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it created a table");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let file = backup.folder.path().join("backup").join("Blogs.jsonl");
    let rows = fs::read_to_string(&file).unwrap();
    fs::write(&file, rows.replace("true", "false")).unwrap();
    let error = Run::of(&child.wait_with_output().unwrap()).failed(3);
    assert!(error.contains("table Blogs: ") && error.contains("was changed during"), "{error}");
    let wrong = backup.table("Blogs").query().filter_text("Yes eq true").await.unwrap();
    assert!(wrong.is_empty(), "the changed rows were imported");
    let resumed = Run::of(&backup.import().arg("--resume").output().unwrap());
    assert!(resumed.failed(3).contains("Blogs.jsonl: it has "));
    fs::write(&file, rows).unwrap();
    backup.finish();
}

#[tokio::test]
async fn refused_rows_do_not_stop_an_import() {
    let (source, folder) = (Emulator::start(), Folder::new());
    let table = fill(&source, "Blogs", 3).await;
    table.insert(&DynamicEntity::new("p", "")).await.unwrap();
    fill(&source, "Logs", 3).await;
    let path = folder.file("backup");
    source.run(&["export", "--all-tables", &path]).done();
    let cosmos = Emulator::start_with(&["--dialect", "cosmos"]);
    let import = ["import", &path, "--all-tables", "--dialect", "cosmos"];
    let error = cosmos.run(&import).failed(4);
    assert!(error.contains("table Blogs: 3 rows imported, 1 refused ("), "{error}");
    assert!(error.contains("2 tables imported; only in part: Blogs"), "{error}");
    assert_eq!(cosmos.run(&["count", "Logs", "--dialect", "cosmos"]).done(), "3\n");
    // The list is not lost.
    let error = cosmos.run(&[&import[..], &["--replace"]].concat()).failed(2);
    assert!(error.contains("Blogs.jsonl.failed.jsonl, a list of an earlier run"), "{error}");
}

/// The checkpoint of a table counts the rows that another run has sent, perhaps to a table that is gone.
#[tokio::test]
async fn the_checkpoint_of_another_run_is_not_used() {
    let backup = Backup::new().await;
    backup.target.add_faults(SLOW);
    let mut import = backup.import().arg("--concurrency").arg("1").spawn().unwrap();
    let checkpoint = Path::new(&backup.path).join("Large.jsonl.checkpoint");
    wait_for(&mut import, &checkpoint, "{").await;
    let begin = fs::read_to_string(&checkpoint).unwrap();
    while fs::read_to_string(&checkpoint).is_ok_and(|text| text == begin) {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    import.kill().unwrap();
    import.wait().unwrap();
    backup.target.end_faults();
    for table in ["Blogs", "Large"] {
        backup.target.run(&["drop", table, "--yes"]).done();
    }
    fs::remove_file(Path::new(&backup.path).join("import.checkpoint")).unwrap();
    assert!(checkpoint.exists());
    let end = Run::of(&backup.import().output().unwrap());
    assert_eq!(end.code, Some(0), "{end:?}");
    assert!(end.err.contains("Large.jsonl.checkpoint of another run is not used"), "{end:?}");
    assert_same(&backup.source, &backup.target, &[]);
}
