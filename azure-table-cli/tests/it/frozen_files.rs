//! The files that `docs/files.md` describes: written by hand from the page, they are read; later forms are refused.

use std::fs;

use azure_table_client::DynamicEntity;
use azure_table_client::edm::EdmValue;
use serde_json::Value;

use crate::files::fill;
use crate::pair::{Pair, insert, row};
use crate::support::{Emulator, Folder, listed};

/// The first code block of a language on the page.
fn documented(language: &str) -> &'static str {
    let page = include_str!("../../docs/files.md");
    let block = page.split(format!("```{language}\n").as_str()).nth(1).unwrap();
    block.split("```").next().unwrap()
}

fn rating(row: &DynamicEntity) -> (&str, Option<&EdmValue>) {
    (&row.key().row_key, row.value("Rating"))
}

#[tokio::test]
async fn a_list_is_imported_like_a_file() {
    for (options, rows, left) in [
        (&[][..], &["1", "3"][..], "leaves 2 lines of the list (--include-changed takes"),
        (&["--include-changed"], &["1", "2", "3"], "leaves 1 line of the list\n"),
    ] {
        let (emulator, folder) = (Emulator::start(), Folder::new());
        let table = emulator.table("Blogs").await;
        let list = folder.file("blogs.jsonl.failed.jsonl");
        fs::write(&list, documented("jsonl")).unwrap();
        let end = emulator.run(&[&["import", &list, "Blogs"], options].concat());
        assert!(end.err.contains(left), "{end:?}");
        assert!(end.err.contains(&format!("{} rows imported\n", rows.len())), "{end:?}");
        end.done();
        let found = table.query().await.unwrap();
        let found: Vec<_> = found.iter().map(rating).collect();
        let ratings = rows.iter().map(|key| EdmValue::Int32(key.parse::<i32>().unwrap() + 2));
        let ratings: Vec<_> = ratings.collect();
        let expected: Vec<_> = rows.iter().copied().zip(ratings.iter().map(Some)).collect();
        assert_eq!(found, expected);
    }
}

#[tokio::test]
async fn a_list_from_standard_input_is_imported_too() {
    let emulator = Emulator::start();
    emulator.table("Blogs").await;
    let import = ["import", "-", "Blogs", "--dry-run", "-q"];
    let shown = emulator.run_with_input(&import, documented("jsonl").as_bytes()).done();
    assert!(shown.starts_with("2 rows in 1 partition for Blogs"), "{shown}");
}

#[tokio::test]
async fn the_list_of_an_import_is_imported_after_a_correction() {
    let (emulator, folder) = (Emulator::start_with(&["--dialect", "cosmos"]), Folder::new());
    let table = emulator.table("Blogs").await;
    let file = folder.file("rows.jsonl");
    let lines = [row("a", "1"), row("a", "2").with("etag", "x")].map(|row| row.to_json().unwrap());
    fs::write(&file, lines.join("\n")).unwrap();
    let import = |file: &str| emulator.run(&["import", file, "Blogs", "--dialect", "cosmos"]);
    let error = import(&file).failed(4);
    assert!(error.contains("1 row imported, 1 refused ("), "{error}");
    let list = folder.file("rows.jsonl.failed.jsonl");
    assert_eq!(listed(&list).len(), 1);
    let text = fs::read_to_string(&list).unwrap();
    fs::write(&list, text.replace("\"etag\":", "\"Version\":")).unwrap();
    import(&list).done();
    assert_eq!(table.query().count().await.unwrap(), 2);
    // The list is the input now, and no run writes to its input.
    let options = ["import", &list, "Blogs", "--failed", &list];
    assert!(emulator.run(&options).failed(2).contains("the same file"));
}

#[tokio::test]
async fn lists_of_other_commands_and_of_later_programs_are_refused() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    emulator.table("Blogs").await;
    let list = folder.file("Blogs.failed.jsonl");
    for (from, to, part) in [
        ("\"import\"", "\"delete\"", "is a list of `delete`: repeat that command for its rows"),
        ("\"import\"", "\"sync\"", "is a list of `sync`: repeat that command"),
        (
            "\"format\":1,\"program\":\"0.1.0\"",
            "\"format\":2,\"program\":\"0.2.0\"",
            "has the format 2, written by azure-table 0.2.0; this is azure-table ",
        ),
    ] {
        fs::write(&list, documented("jsonl").replacen(from, to, 1)).unwrap();
        let before = emulator.requests();
        let error = emulator.run(&["import", &list, "Blogs"]).failed(2);
        assert!(error.contains(part), "{error}");
        assert_eq!(emulator.requests(), before);
    }
    // A damaged line is an error with its number.
    let text = documented("jsonl").replacen("\"outcome\":\"refused\",", "", 1);
    fs::write(&list, text).unwrap();
    let error = emulator.run(&["import", &list, "Blogs"]).failed(3);
    assert!(error.contains("Blogs.failed.jsonl:2: missing field `outcome`"), "{error}");
}

#[tokio::test]
async fn a_copy_resumes_from_a_checkpoint_written_by_hand() {
    let pair = Pair::new();
    let rows = ["2009-03-01", "2009-04-14", "2009-05-02"].map(|key| row("Channel9", key));
    insert(&pair.source.table("Blogs").await, &rows).await;
    let copy = pair.target.table("Blogs").await;
    let checkpoint = pair.path("Blogs-Blogs.checkpoint");
    let text = documented("json")
        .replace("https://old.table.core.windows.net/Blogs", &place(&pair.source))
        .replace("https://new.table.core.windows.net/Blogs", &place(&pair.target))
        .replace("413", "0");
    let resume = ["copy", "Blogs", "Blogs", "--resume"];
    for (text, part) in [
        (
            text.replace("\"format\": 1", "\"format\": 2"),
            "has the format 2, written by azure-table",
        ),
        (text.replace("upsert-replace", "insert"), "its mode is \"insert\""),
        (
            text.replace("\"command\": \"copy\"", "\"command\": \"import\""),
            "its command is \"import\"",
        ),
        (text.replace("\"from\": \"http", "\"from\": \"https"), "its source is "),
        ("{}".to_owned(), "is not a checkpoint"),
    ] {
        fs::write(&checkpoint, text).unwrap();
        let error = pair.run(&resume).failed(2);
        assert!(error.contains(part), "{part}: {error}");
    }
    fs::write(&checkpoint, &text).unwrap();
    let end = pair.run(&resume);
    assert!(end.err.contains("continues after 812,402 rows"), "{end:?}");
    // The row that was not resolved and the one behind the position: two more.
    assert!(end.err.contains("812,402 rows copied"), "{end:?}");
    assert_eq!(end.code, Some(4), "the checkpoint counts refused rows");
    let found = copy.query().await.unwrap();
    let found: Vec<_> = found.iter().map(|row| row.key().row_key.clone()).collect();
    assert_eq!(found, ["2009-03-01", "2009-05-02"]);
    assert!(!checkpoint.exists());
}

fn place(emulator: &Emulator) -> String {
    format!("{}/devstoreaccount1/Blogs", emulator.origin)
}

/// The members of the checkpoints that the commands write are those of the page.
#[tokio::test]
async fn checkpoints_have_the_members_of_the_page() {
    let pair = Pair::new();
    fill(&pair.source, "Blogs", 300).await;
    let members = |text: &str| -> Vec<String> {
        let value: Value = serde_json::from_str(text).unwrap();
        value.as_object().unwrap().keys().cloned().collect()
    };
    let expected = members(documented("json"));
    let file = pair.folder.file("rows.jsonl");
    pair.source.run(&["export", "Blogs", &file, "-q"]).done();
    let fault = r#"{"fault":"error","status":403,"code":"AuthenticationFailed","on":"Transaction","skip":1}"#;
    pair.target.add_faults(fault);
    pair.copy(&["--create", "--concurrency", "1"]).failed(8);
    pair.target.end_faults();
    pair.source.add_faults(fault);
    pair.source.run(&["import", &file, "Again", "--create", "--concurrency", "1"]).failed(8);
    pair.source.end_faults();
    for checkpoint in ["Blogs-Copy.checkpoint", "rows.jsonl.checkpoint"] {
        let text = fs::read_to_string(pair.path(checkpoint)).unwrap();
        assert_eq!(members(&text), expected, "{text}");
        assert!(!text.contains("AccountKey") && !text.contains("sig="), "{text}");
    }
}
