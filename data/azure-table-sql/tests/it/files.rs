//! Results in files, and outputs that cannot be written.

use std::fs::{self, File};
use std::path::PathBuf;
#[cfg(unix)]
use std::process::Command;
use std::process::Stdio;
#[cfg(unix)]
use std::thread;

use azure_table_client::DynamicEntity;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use datafusion::parquet::basic::Compression;
use datafusion::parquet::file::metadata::RowGroupMetaData;

use crate::support::Emulator;
#[cfg(unix)]
use crate::support::Run;

/// A folder that is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("azure-table-sql-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn a_parquet_file_has_the_rows_and_is_compressed() {
    let emulator = Emulator::with_blogs().await;
    let folder = Folder::new("parquet");
    let file = folder.file("blogs.parquet");
    let run = emulator.run(&["SELECT * FROM Blogs", "--mixed", "rest", "--to", &file]);
    assert_eq!(run.done(), "");
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&file).unwrap()).unwrap();
    let group = reader.metadata().row_group(0);
    assert!(group.columns().iter().all(|column| column.compression() == Compression::SNAPPY));
    let rows: usize = reader.build().unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 4);
    assert_eq!(folder.names(), ["blogs.parquet"]);
}

/// One row group is in memory: 540,000 rows of 16 random numbers are 66 MiB.
#[test]
fn a_parquet_file_has_row_groups_of_64_mib() {
    let emulator = Emulator::start();
    let folder = Folder::new("groups");
    let file = folder.file("numbers.parquet");
    let columns: Vec<_> = (0..16).map(|at| format!("random() AS n{at}")).collect();
    let sql = format!("SELECT {} FROM range(0, 540000)", columns.join(", "));
    emulator.run(&[&sql, "--to", &file]).done();
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&file).unwrap()).unwrap();
    let groups = reader.metadata().row_groups();
    assert_eq!(groups.len(), 2);
    assert!(groups.iter().all(|group| group.compressed_size() <= 65 << 20));
    assert_eq!(groups.iter().map(RowGroupMetaData::num_rows).sum::<i64>(), 540_000);
}

#[test]
fn a_file_is_replaced_only_if_it_is_confirmed() {
    let emulator = Emulator::start();
    let folder = Folder::new("replace");
    let file = folder.file("one.csv");
    fs::write(&file, "kept").unwrap();
    let error = emulator.run(&["SELECT 1 AS one", "--to", &file]).failed(2);
    assert!(error.contains(&format!("not confirmed: replace the file {file}?")), "{error}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
    emulator.run(&["SELECT 1 AS one", "--to", &file, "--yes"]).done();
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\n1\n");
    assert_eq!(folder.names(), ["one.csv"]);
}

/// A file that another program left, such as an unfinished export, is not a part of this run.
#[test]
fn no_other_file_is_touched() {
    let emulator = Emulator::start();
    let folder = Folder::new("others");
    let part = folder.file("one.csv.part");
    fs::write(&part, "kept").unwrap();
    emulator.run(&["SELECT 1 AS one", "--to", &folder.file("one.csv")]).done();
    assert_eq!(fs::read_to_string(&part).unwrap(), "kept");
    let mut names = folder.names();
    names.sort();
    assert_eq!(names, ["one.csv", "one.csv.part"]);
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_and_other_kinds_of_files_are_refused() {
    let emulator = Emulator::start();
    let folder = Folder::new("kinds");
    let (file, link) = (folder.file("one.csv"), folder.file("link.csv"));
    fs::write(&file, "old").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    emulator.run(&["SELECT 1 AS one", "--to", &link, "--yes"]).done();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&file).unwrap(), "one\n1\n");
    for other in [folder.file(""), "/dev/null".to_owned()] {
        let run = emulator.run(&["SELECT 1", "--to", &other, "--yes", "--output", "csv"]);
        let error = run.failed(2);
        assert!(error.contains("is not a regular file"), "{error}");
    }
}

#[tokio::test]
async fn a_failed_query_leaves_no_file() {
    let emulator = Emulator::start();
    let table = emulator.table("Late").await;
    table.insert(&DynamicEntity::new("p", "1").with("Rating", 1)).await.unwrap();
    table.insert(&DynamicEntity::new("p", "2").with("Rating", "good")).await.unwrap();
    let folder = Folder::new("failed");
    for name in ["late.csv", "late.jsonl", "late.parquet"] {
        let file = folder.file(name);
        let run = emulator.run(&["SELECT Rating FROM Late", "--sample", "1", "--to", &file]);
        assert!(run.failed(1).contains("does not fit the schema"));
        assert_eq!(folder.names(), [""; 0]);
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_query_leaves_no_file() {
    let emulator = Emulator::start();
    let folder = Folder::new("interrupted");
    for (signal, name) in [("INT", "long.csv"), ("TERM", "long.parquet")] {
        let sql = "SELECT value FROM range(0, 100000000)";
        let mut program = emulator.begin(&[sql, "--to", &folder.file(name)]);
        while folder.names().is_empty() {
            assert_eq!(program.try_wait().unwrap(), None);
            thread::yield_now();
        }
        let kill = Command::new("kill").args(["-s", signal, &program.id().to_string()]).status();
        assert!(kill.unwrap().success());
        assert_eq!(Run::of(program).failed(130), "azure-table-sql: interrupted\n");
        assert_eq!(folder.names(), [""; 0]);
    }
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let emulator = Emulator::start();
    for format in ["table", "csv", "jsonl", "parquet"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let arguments = ["--output", format, "SELECT value FROM range(0, 20000)"];
        let run = emulator.run_into(&arguments, Stdio::from(writer));
        assert_eq!((run.code, &*run.stderr), (0, ""), "{format}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let emulator = Emulator::start();
    for format in ["table", "csv", "jsonl", "parquet"] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let run = emulator.run_into(&["--output", format, "SELECT 1 AS one"], Stdio::from(full));
        let error = run.failed(1);
        assert!(error.contains("cannot write to standard output: No space left"), "{error}");
    }
}
