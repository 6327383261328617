//! `export` and `import`: formats, options, refused rows and damaged files.

use std::fs;
use std::path::Path;

use azure_table_client::bulk::BulkOperation;
use azure_table_client::edm::{EdmDateTime, EdmValue};
use azure_table_client::{DynamicEntity, TableClient};

#[cfg(unix)]
use crate::support::Run;
use crate::support::{Emulator, Folder, listed};

/// A row with every type, whose values are easily lost. Some properties are missing in some rows, and one has two types.
pub(crate) fn row(n: u32) -> DynamicEntity {
    let doubles = [5.0, 0.1 + 0.2, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, f64::MAX];
    let texts = ["", "\\", "a,\"b\"\r\n", "=1+1", " \u{1f600} ", "\u{1}", "null"];
    let at = n as usize % doubles.len();
    // Properties have the order in which the service returns them.
    let mut row = DynamicEntity::new(format!("it's {}", n % 5), format!("{n:06}\u{e9}\u{1f600}"));
    row.set("Data", n.to_be_bytes()[..n as usize % 5].to_vec())
        .set("Id", EdmValue::Guid(uuid::Uuid::from_u128(u128::from(n) << 64 | 7)))
        .set("Large", if n.is_multiple_of(2) { i64::MIN } else { i64::MAX - i64::from(n) });
    if n.is_multiple_of(3) {
        row.set("Mixed", 7);
    } else if n % 3 == 1 {
        row.set("Mixed", texts[at]);
    }
    row.set("Number", i32::MAX - n.cast_signed())
        .set("Posted", EdmDateTime::from_ticks(633_752_640_000_000_000 + i64::from(n)).unwrap())
        .set("Ratio", doubles[at])
        .set("Text", texts[at])
        .set("Yes", n.is_multiple_of(2));
    row
}

/// Creates a table with these rows.
pub(crate) async fn fill(
    emulator: &Emulator,
    table: &str,
    rows: u32,
) -> TableClient<DynamicEntity> {
    let table = emulator.table(table).await;
    table.bulk().run((0..rows).map(row).map(BulkOperation::InsertOrReplace)).await.unwrap();
    table
}

fn text(path: &str) -> String {
    fs::read_to_string(path).unwrap()
}

/// The names of the files in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string();
    let mut names: Vec<_> = entries.map(|entry| name(entry).unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn rows_survive_each_format() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 2500).await;
    let lines = folder.file("rows.jsonl");
    emulator.run(&["export", "Blogs", &lines]).done();
    let expected = text(&lines);
    assert_eq!(expected.lines().count(), 2500);
    for (name, options) in [
        ("rows.jsonl", &[][..]),
        ("rows.csv", &[]),
        ("rows.parquet", &["--mixed", "rest", "--datetimes", "ticks"]),
    ] {
        let (file, table) = (folder.file(&format!("2-{name}")), format!("Copy{}", name.len()));
        emulator.run(&[&["export", "Blogs", &file], options].concat()).done();
        emulator.run(&["import", &file, &table, "--create"]).done();
        let copy = folder.file(&format!("{name}.copy.jsonl"));
        emulator.run(&["export", &table, &copy]).done();
        assert_eq!(text(&copy), expected, "{name}");
    }
    // No unfinished file and no checkpoint is left.
    assert!(
        names(folder.path())
            .iter()
            .all(|name| !name.contains("part") || name.ends_with(".parquet"))
    );
    assert_eq!(names(folder.path()).len(), 7, "{:?}", names(folder.path()));
}

#[tokio::test]
async fn standard_streams_and_parallel_reads_have_the_same_rows() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 1500).await;
    let expected = emulator.run(&["export", "Blogs"]).done();
    assert_eq!(emulator.run(&["export", "Blogs", "-", "--parallel", "8"]).done(), expected);
    let file = folder.file("parallel.jsonl");
    emulator.run(&["export", "Blogs", &file, "--parallel", "3"]).done();
    assert_eq!(text(&file), expected);
    let input = expected.as_bytes();
    emulator.run_with_input(&["import", "-", "Copy", "--create"], input).done();
    assert_eq!(emulator.run(&["export", "Copy"]).done(), expected);
    // CSV needs all columns first, unless they are declared.
    let csv = emulator.run(&["export", "Blogs", "-", "--format", "csv"]).done();
    emulator
        .run_with_input(&["import", "-", "Copy2", "--create", "--format", "csv"], csv.as_bytes())
        .done();
    assert_eq!(emulator.run(&["export", "Copy2"]).done(), expected);
    let columns = "Number@Edm.Int32,Yes@Edm.Boolean";
    let declared =
        ["export", "Blogs", "-", "--format", "csv", "--select", "Number,Yes", "--columns", columns];
    let csv = emulator.run(&declared).done();
    assert!(
        csv.starts_with("PartitionKey,RowKey,Number@Edm.Int32,Yes@Edm.Boolean\nit's 0,"),
        "{csv}"
    );
    let missing =
        emulator.run(&["export", "Blogs", "-", "--format", "csv", "--columns", columns]).failed(1);
    assert!(missing.contains("no column is \"Data@Edm.Binary\""), "{missing}");
    emulator.run(&["export", "Blogs", "-", "--columns", columns]).failed(2);
}

#[tokio::test]
async fn filters_selections_and_system_properties() {
    let emulator = Emulator::start();
    fill(&emulator, "Blogs", 20).await;
    let filter = [
        "export",
        "Blogs",
        "-",
        "--filter",
        "PartitionKey eq 'it''s 1' and Yes",
        "--select",
        "Number",
    ];
    let lines = emulator.run(&filter).done();
    let expected = "{\"PartitionKey\":\"it's 1\",\"RowKey\":\"000006\u{e9}\u{1f600}\",\"Number\":2147483641}\n";
    assert!(lines.starts_with(expected) && lines.lines().count() == 2, "{lines}");
    let system = emulator.run(&["export", "Blogs", "--system"]).done();
    assert!(
        system.starts_with("{\"odata.etag\":\"W/") && system.contains("\"Timestamp\":\""),
        "{system}"
    );
    // They are ignored: the copy has its own.
    emulator.run_with_input(&["import", "-", "Copy", "--create"], system.as_bytes()).done();
    assert_eq!(emulator.run(&["export", "Copy"]).done(), emulator.run(&["export", "Blogs"]).done());
    let error = emulator.run(&["export", "Blogs", "--filter", "Number eq"]).failed(2);
    assert!(error.contains("filter"), "{error}");
    emulator.run(&["export", "Missing"]).failed(6);
}

#[tokio::test]
async fn an_existing_file_is_replaced_only_with_consent() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 3).await;
    let file = folder.file("rows.jsonl");
    fs::write(&file, "precious").unwrap();
    let error = emulator.run(&["export", "Blogs", &file]).failed(2);
    assert!(error.contains("--yes"), "{error}");
    assert_eq!(text(&file), "precious");
    emulator.run(&["export", "Blogs", &file, "--yes"]).done();
    assert_eq!(text(&file).lines().count(), 3);
    let error = emulator.run(&["export", "Blogs", &folder.file("rows.txt")]).failed(2);
    assert!(error.contains("--format"), "{error}");
}

#[tokio::test]
async fn a_failed_conversion_can_be_repeated_with_other_options() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 30).await;
    let file = folder.file("rows.parquet");
    let error = emulator.run(&["export", "Blogs", &file]).failed(1);
    assert!(error.contains("\"Mixed\"") && error.contains("--mixed rest writes"), "{error}");
    // No option declares a type.
    assert!(!error.contains("declare"), "{error}");
    let error = emulator.run(&["export", "Blogs", &file, "--columns", "A@Int32"]).failed(2);
    assert!(error.contains("--select"), "{error}");
    // The rows are not read again.
    emulator.client().table_named::<DynamicEntity>("Blogs").delete_table().await.unwrap();
    emulator.run(&["export", "Blogs", &file, "--resume", "--mixed", "rest"]).done();
    assert_eq!(names(folder.path()), ["rows.parquet"]);
    emulator.run(&["import", &file, "Copy", "--create"]).done();
    let copy = emulator.client().table_named::<DynamicEntity>("Copy").query().await.unwrap();
    assert_eq!(copy.len(), 30);
}

#[tokio::test]
async fn a_damaged_file_is_refused_before_anything_is_sent() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    let table = emulator.table("Blogs").await;
    let file = folder.file("rows.jsonl");
    let good = row(1).to_json().unwrap();
    fs::write(&file, format!("{good}\n{good}\n{{\"PartitionKey\":\"p\"\n")).unwrap();
    let error = emulator.run(&["import", &file, "Blogs"]).failed(3);
    assert!(error.contains(&format!("{file}:3: ")), "{error}");
    assert_eq!(table.query().await.unwrap().len(), 0);
    // Standard input cannot be read twice: the rows before the damage are applied.
    let error =
        emulator.run_with_input(&["import", "-", "Blogs"], &fs::read(&file).unwrap()).failed(3);
    assert!(
        error.contains("standard input:3: ") && error.contains("; 2 rows imported; "),
        "{error}"
    );
    assert_eq!(table.query().await.unwrap().len(), 1);
    // A comparison has this exit code for differences.
    emulator.run(&["diff", "Blogs", &file]).failed(1);
    let parquet = folder.file("rows.parquet");
    fs::write(&parquet, "PAR1").unwrap();
    emulator.run(&["import", &parquet, "Blogs"]).failed(3);
    emulator.run(&["import", &folder.file("none.jsonl"), "Blogs"]).failed(1);
    fs::write(&file, format!("{good}\n")).unwrap();
    emulator.run(&["import", &file, "Missing"]).failed(6);
    emulator.run(&["import", &file, "Blogs"]).done();
}

#[tokio::test]
async fn refused_rows_are_listed_with_their_reasons() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    let table = fill(&emulator, "Blogs", 3).await;
    let file = folder.file("rows.jsonl");
    let mut lines: Vec<_> = (0..6).map(|n| row(n).to_json().unwrap()).collect();
    lines.push(DynamicEntity::new("p/q", "r").with("A", 1).to_json().unwrap());
    fs::write(&file, lines.join("\n")).unwrap();
    let error = emulator.run(&["import", &file, "Blogs", "--mode", "insert"]).failed(4);
    assert!(error.contains("4 refused ("), "{error}");
    assert_eq!(table.query().await.unwrap().len(), 6);
    let refused = listed(folder.file("rows.jsonl.failed.jsonl"));
    let lines_of: Vec<serde_json::Value> =
        lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let index = |line: &serde_json::Value| lines_of.iter().position(|row| *row == line["row"]);
    let mut indices: Vec<_> = refused.iter().map(|line| index(line).unwrap()).collect();
    indices.sort_unstable();
    assert_eq!(indices, [0, 1, 2, 6]);
    for line in &refused {
        let index = index(line).unwrap();
        for key in ["PartitionKey", "RowKey"] {
            assert_eq!(line[key], lines_of[index][key]);
        }
        let (code, outcome) = match index {
            6 => (None, "refused"),
            _ => (Some("EntityAlreadyExists"), "changed"),
        };
        assert_eq!((line["code"].as_str(), &line["outcome"]), (code, &outcome.into()), "{line}");
        assert!(!line["reason"].as_str().unwrap().is_empty());
    }
    // Every row has an outcome: nothing is left to resume, and a later run begins a new list.
    assert!(!names(folder.path()).contains(&"rows.jsonl.checkpoint".to_owned()));
    fs::write(&file, lines[..6].join("\n")).unwrap();
    emulator.run(&["import", &file, "Blogs", "--mode", "merge", "--yes"]).done();
    assert_eq!(names(folder.path()), ["rows.jsonl"]);
    fs::write(&file, row(9).to_json().unwrap()).unwrap();
    emulator.run(&["import", &file, "Blogs", "--mode", "replace"]).failed(4);
}

#[tokio::test]
async fn cosmos_db_refuses_some_rows_and_none_is_lost_silently() {
    let (emulator, folder) = (Emulator::start_with(&["--dialect", "cosmos"]), Folder::new());
    let table = emulator.table("Blogs").await;
    let file = folder.file("rows.jsonl");
    let rows = [
        row(1),
        DynamicEntity::new("", "r").with("A", 1),
        DynamicEntity::new("p", ""),
        DynamicEntity::new("p", "r").with("ID", 1),
        DynamicEntity::new("p", "r2").with("etag", "x"),
        row(2),
    ];
    let lines: Vec<_> = rows.iter().map(|row| row.to_json().unwrap()).collect();
    fs::write(&file, lines.join("\n")).unwrap();
    let error = emulator.run(&["import", &file, "Blogs", "--dialect", "cosmos"]).failed(4);
    assert!(error.contains("4 refused ("), "{error}");
    assert_eq!(listed(folder.file("rows.jsonl.failed.jsonl")).len(), 4);
    assert_eq!(table.query().await.unwrap().len(), 2);
    assert_eq!(emulator.run(&["export", "Blogs", "--dialect", "cosmos"]).done().lines().count(), 2);
}

/// The first code block of a language in `docs/formats.md`.
fn documented(language: &str) -> &'static str {
    let document = include_str!("../../docs/formats.md");
    let block = document.split(format!("```{language}\n").as_str()).nth(1).unwrap();
    block.split("```").next().unwrap()
}

#[tokio::test]
async fn the_documented_examples_are_imported() {
    let emulator = Emulator::start();
    let import = ["import", "-", "Blogs", "--create"];
    emulator.run_with_input(&import, documented("json").as_bytes()).done();
    assert_eq!(emulator.run(&["export", "Blogs"]).done(), documented("json"));
    let csv = [&import[..], &["--format", "csv"]].concat();
    emulator.run_with_input(&csv, documented("text").as_bytes()).done();
    let export = emulator.run(&["export", "Blogs", "-", "--format", "csv"]).done();
    assert_eq!(export, documented("text"));
}

#[cfg(unix)]
#[tokio::test]
async fn exports_have_the_mode_of_the_umask_and_saved_rows_are_private() {
    use std::os::unix::fs::PermissionsExt as _;

    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", 3).await;
    let program = env!("CARGO_BIN_EXE_azure-table");
    for (umask, expected) in [("022", 0o644), ("077", 0o600)] {
        let mode = |file: &str, command: &str| {
            let script = format!("umask {umask}; exec {program} {command}");
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", &script]).current_dir(folder.path());
            shell.env("AZURE_STORAGE_CONNECTION_STRING", emulator.connection_string());
            Run::of(&shell.output().unwrap()).done();
            fs::metadata(folder.file(file)).unwrap().permissions().mode() & 0o777
        };
        for name in ["rows.jsonl", "rows.csv"] {
            let name = format!("{umask}-{name}");
            assert_eq!(mode(&name, &format!("export Blogs {name}")), expected, "{umask}");
        }
        let saved = format!("{umask}-saved.jsonl");
        let update = "update Blogs --filter \"Number ge 0\" --set A=x --yes --max-rows 9 --save";
        assert_eq!(mode(&saved, &format!("{update} {saved}")), 0o600, "{umask}");
    }
}
