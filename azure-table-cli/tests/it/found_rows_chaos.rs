//! `update` and `delete --filter` while requests fail: repeated until they are done, they write the rows of the filter only.

use std::fs;

use azure_table_client::edm::EdmValue;

use crate::files::{fill, row};
use crate::found_rows::run_in;
use crate::support::{Emulator, Folder};

const ROWS: u32 = 600;
/// The rows of a transaction whose response is lost are read back one by one, without failures.
const FAULTS: &str = r#"{"seed":7,"faults":[
    {"fault":"lose_request","on":"Transaction","probability":0.1},
    {"fault":"lose_reply","on":"Transaction","probability":0.3},
    {"fault":"truncate_reply","on":"Query","probability":0.2},
    {"fault":"page_of","rows":50}
]}"#;

/// Repeats a command until it is done. Returns the number of runs.
fn repeat(folder: &Folder, emulator: &Emulator, arguments: &[&str]) -> u32 {
    for runs in 1..=20 {
        let run = run_in(folder, emulator, arguments);
        if run.code == Some(0) {
            return runs;
        }
        assert!(matches!(run.code, Some(1 | 4 | 5)), "{run:?}");
    }
    panic!("{arguments:?} is never done");
}

#[tokio::test]
async fn repeated_commands_write_the_rows_of_the_filter_only() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    fill(&emulator, "Blogs", ROWS).await;
    emulator.add_faults(FAULTS);
    let (all, concurrency) = (["--yes", "--max-rows=300"], "--concurrency=3");
    let update = ["update", "Blogs", "--filter", "Yes eq true", "--set", "New=x", "--unset", "Id"];
    let updates = repeat(&folder, &emulator, &[&update[..], &[concurrency], &all].concat());
    let delete = ["delete", "Blogs", "--filter", "Yes eq false", concurrency];
    let deletes = repeat(&folder, &emulator, &[&delete[..], &all].concat());
    let failures = emulator.end_faults();
    println!("{failures} failures, {updates} runs of update, {deletes} of delete");
    assert!(failures > 2);
    let expected =
        (0..ROWS).map(row).filter(|row| row.value("Yes") == Some(&EdmValue::Boolean(true)));
    let expected = expected.map(|mut row| {
        row.set("New", "x").remove("Id");
        row.to_json().unwrap() + "\n"
    });
    let file = folder.file("expected.jsonl");
    fs::write(&file, expected.collect::<String>()).unwrap();
    emulator.run(&["diff", "Blogs", &file]).done();
}
