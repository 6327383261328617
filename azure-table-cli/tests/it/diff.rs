//! `diff`: tables and files, in any order.

use std::fs;

use azure_table_client::DynamicEntity;
use serde_json::{Value, json};

use crate::support::{Emulator, Folder, Run};

pub(crate) fn row(n: i32) -> DynamicEntity {
    // Supplementary characters come before U+FFFF in the order of the service.
    let partition = ["a", "b", "\u{1f600}", "\u{ffff}"][n.unsigned_abs() as usize % 4];
    DynamicEntity::new(partition, format!("{n:03}")).with("N", n).with("Zero", -0.0)
}

async fn filled() -> Emulator {
    let emulator = Emulator::start();
    let table = emulator.table("Blogs").await;
    for n in 0..40 {
        table.insert(&row(n)).await.unwrap();
    }
    emulator
}

fn lines(rows: impl Iterator<Item = i32>) -> String {
    rows.map(|n| row(n).to_json().unwrap() + "\n").collect()
}

#[tokio::test]
async fn a_file_in_any_order_is_compared_with_a_table() {
    let emulator = filled().await;
    let folder = Folder::new();
    let exported = folder.file("exported.jsonl");
    emulator.run(&["export", "Blogs", &exported]).done();
    let text = fs::read_to_string(&exported).unwrap();
    let mut reversed: Vec<_> = text.lines().rev().collect();
    // A file whose first rows are in order is not taken for a sorted one.
    let almost =
        [&text.lines().skip(1).collect::<Vec<_>>()[..], &[text.lines().next().unwrap()]].concat();
    for (name, text) in
        [("sorted", text.clone()), ("reversed", reversed.join("\n")), ("almost", almost.join("\n"))]
    {
        let file = folder.file(&format!("{name}.jsonl"));
        fs::write(&file, text).unwrap();
        for sides in [["Blogs", &file], [&file, "Blogs"]] {
            let end = emulator.run(&["diff", sides[0], sides[1]]);
            assert!(end.err.contains("no differences: 40 rows in A, 40 in B"), "{end:?}");
            assert_eq!(end.done(), "");
        }
        let end = emulator.run_with_input(&["diff", "Blogs", "-"], &fs::read(&file).unwrap());
        assert_eq!(end.done(), "");
    }
    for name in ["exported.csv", "exported.parquet"] {
        let file = folder.file(name);
        emulator.run(&["export", "Blogs", &file]).done();
        assert_eq!(emulator.run(&["diff", "Blogs", &file, "--parallel", "4"]).done(), "");
    }

    // A duplicate row is neither equal nor different. The differences before it are printed.
    reversed.pop();
    let first = serde_json::from_str::<Value>(text.lines().next().unwrap()).unwrap();
    reversed.push(reversed[7]);
    let mut sorted: Vec<_> = text.lines().skip(1).collect();
    sorted.insert(32, sorted[31]);
    for rows in [reversed, sorted] {
        let file = folder.file("twice.jsonl");
        fs::write(&file, rows.join("\n")).unwrap();
        let end = emulator.run(&["diff", "Blogs", &file]);
        let only = format!("only in A: (\"a\", {})\n", first["RowKey"]);
        assert_eq!(end.out, only);
        let error = end.failed(1);
        assert!(error.contains("twice.jsonl cannot be compared: it has a row twice"), "{error}");
    }
}

#[tokio::test]
async fn each_difference_is_a_line() {
    let emulator = filled().await;
    let folder = Folder::new();
    let file = folder.file("rows.jsonl");
    let mut changed = row(5).with("N", 5_i64).with("Zero", 0.0);
    changed.set("New", "x\n");
    fs::write(&file, lines((0..41).filter(|n| ![5, 7].contains(n))) + &changed.to_json().unwrap())
        .unwrap();
    let end = emulator.run(&["diff", "Blogs", &file]);
    let expected = concat!(
        "only in B: (\"a\", \"040\")\n",
        "different: (\"b\", \"005\"): N is Edm.Int32 5 in A, Edm.Int64 5 in B; ",
        "New is missing in A, Edm.String \"x\\n\" in B; Zero is Edm.Double -0.0 in A, Edm.Double 0.0 in B\n",
        "only in A: (\"\u{ffff}\", \"007\")\n",
    );
    assert_eq!(end.out.replace("\\u{ffff}", "\u{ffff}"), expected);
    let error = end.failed(3);
    assert!(
        error.contains(
            "3 differences: 1 row only in A, 1 only in B, 1 different; 40 rows in A, 40 in B"
        ),
        "{error}"
    );

    let end = emulator.run(&["diff", "Blogs", &file, "--output", "jsonl", "--quiet"]);
    let differences: Vec<Value> =
        end.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        differences[0],
        json!({"difference": "only in B", "PartitionKey": "a", "RowKey": "040"})
    );
    assert_eq!(differences[1]["properties"]["N"]["b"], json!({"type": "Edm.Int64", "value": "5"}));
    end.failed(3);
}

#[tokio::test]
async fn a_damaged_or_missing_file_is_not_a_difference() {
    let emulator = filled().await;
    let folder = Folder::new();
    let file = folder.file("rows.jsonl");
    emulator.run(&["diff", "Blogs", &file]).failed(1);
    fs::write(&file, lines(0..3) + "{\"PartitionKey\":").unwrap();
    let end = emulator.run(&["diff", "Blogs", &file]);
    assert_eq!(end.out, "");
    assert!(end.failed(1).contains("rows.jsonl"));
    emulator.run(&["diff", &file, &file]).failed(2);
    emulator.run(&["diff", "Blogs", "Nothing"]).failed(6);
}

#[tokio::test]
async fn a_table_is_not_compared_with_itself() {
    let emulator = filled().await;
    let mut other = emulator.command(&["diff", "Blogs", "Blogs", "--from", "env:OTHER"]);
    other.env("OTHER", emulator.connection_string());
    for end in [
        emulator.run(&["diff", "Blogs", "bLOGS"]),
        emulator.run(&["diff", "Blogs", "table:Blogs", "--filter", "N gt 1"]),
        Run::of(&other.output().unwrap()),
    ] {
        assert_eq!(end.out, "");
        let error = end.failed(2);
        assert!(error.contains("A and B are the same table"), "{error}");
    }
    let cosmos = Emulator::start_with(&["--dialect", "cosmos"]);
    for name in ["Blogs", "BLOGS"] {
        cosmos.table(name).await;
    }
    cosmos.run(&["diff", "Blogs", "BLOGS", "--dialect", "cosmos"]).done();
}

#[tokio::test]
async fn tables_of_both_services_are_compared() {
    let storage = filled().await;
    let cosmos = Emulator::start_with(&["--dialect", "cosmos"]);
    let copy = cosmos.table("Blogs").await;
    for n in (0..40).rev().filter(|n| *n != 11) {
        copy.insert(&row(n)).await.unwrap();
    }
    let mut command = storage.command(&[
        "diff",
        "Blogs",
        "Blogs",
        "--to",
        "env:COSMOS",
        "--to-dialect",
        "cosmos",
    ]);
    command.env("COSMOS", cosmos.connection_string());
    let output = command.output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    assert_eq!((out.lines().count(), output.status.code()), (1, Some(3)), "{out}");
    assert!(out.starts_with("only in A: (") && out.ends_with("\"011\")\n"), "{out}");
}
