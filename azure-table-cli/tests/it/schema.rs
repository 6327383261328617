//! `schema`.

use std::fs;

use azure_table_client::bulk::BulkOperation;
use azure_table_client::edm::EdmValue;
use azure_table_client::{DynamicEntity, TableEntity};
use azure_table_patterns::schema::Snapshot;
use serde_json::{Value, json};

use crate::support::{Emulator, Folder, Run, interrupt};

async fn filled(rows: impl IntoIterator<Item = DynamicEntity>) -> Emulator {
    let emulator = Emulator::start();
    let table = emulator.table("Blogs").await;
    for row in rows {
        table.insert(&row).await.unwrap();
    }
    emulator
}

fn row(n: i32) -> DynamicEntity {
    let row =
        DynamicEntity::new("p", format!("{n:04}")).with("Text", "a\u{1b}[31m\n").with("Rating", n);
    if n == 3 { row.with("Rating", "three").with("Größe", 1.5) } else { row }
}

#[tokio::test]
async fn columns_have_types_shares_and_examples() {
    let emulator = filled((0..10).map(row)).await;
    emulator.add_faults(r#"{"fault":"split_page"}"#);
    let out = emulator.run(&["schema", "Blogs", "--sample", "all"]).done();
    let expected = concat!(
        "10 rows\n",
        "Column        Type                                  Rows   Examples\n",
        "------------  ------------------------------------  -----  ----------------------\n",
        "PartitionKey  Edm.String                            100 %  \"p\"\n",
        "RowKey        Edm.String                            100 %  \"0000\", \"0001\", \"0002\"\n",
        "Text          Edm.String                            100 %  \"a\\u{1b}[31m\\n\"\n",
        "Rating        mixed: Edm.Int32 (9), Edm.String (1)  100 %  0, 1, 2\n",
        "Größe         Edm.Double                            10 %   1.5\n",
    );
    assert_eq!(out, expected);

    let end = emulator.run(&["schema", "Blogs", "--sample", "3", "--output", "jsonl", "-q"]);
    let lines: Vec<Value> =
        end.done().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let rating = json!({"column": "Rating", "types": {"Edm.Int32": 3}, "rows": 3, "of": 3, "examples": ["0", "1", "2"]});
    assert_eq!((lines.len(), &lines[3]), (4, &rating));
}

#[tokio::test]
async fn kinds_have_their_own_columns() {
    let kind = |n: usize| {
        let row = DynamicEntity::new("p", format!("{n:04}")).with("Kind", ["Post", "Photo"][n % 2]);
        row.with(["Text", "Uri"][n % 2], "a")
    };
    let other = DynamicEntity::new("p", "x").with("Kind", 3);
    let emulator = filled((0..6).map(kind)).await;
    let out = emulator.run(&["schema", "Blogs"]).done();
    assert!(
        out.contains("\n\n3 rows with Kind \"Photo\"\n")
            && out.contains("\n\n3 rows with Kind \"Post\"\n"),
        "{out}"
    );
    emulator.client().table_named("Blogs").insert(&other).await.unwrap();
    assert!(!emulator.run(&["schema", "Blogs"]).done().contains("with Kind"));
    let out = emulator.run(&["schema", "Blogs", "--kind", "Kind"]).done();
    assert!(out.contains("\n\n1 row without a kind in Kind\n"), "{out}");
    let structs = emulator.run(&["schema", "Blogs", "--kind", "Kind", "--rust"]).done();
    assert!(
        structs.contains("    Photo(PhotoRow),\n    Post(PostRow),\n    #[table(other)]"),
        "{structs}"
    );
    let error = emulator.run(&["schema", "Blogs", "--kind", "Text"]).done();
    assert!(error.contains("3 rows with Text \"a\""), "{error}");
    emulator.run(&["schema", "Blogs", "--kind", "Missing"]).failed(2);
}

#[tokio::test]
async fn a_table_without_rows_and_wrong_arguments_are_errors() {
    let emulator = filled([]).await;
    for form in [&[][..], &["--rust"]] {
        let end = emulator.run(&[&["schema", "Blogs"], form].concat());
        assert_eq!(end.out, "");
        assert!(end.failed(6).contains("azure-table: table Blogs has no rows"));
    }
    emulator.run(&["schema", "Nothing"]).failed(6);
    for wrong in [
        &["--sample", "0"][..],
        &["--sample", "some"],
        &["--kind", "a b"],
        &["--rust", "--output", "jsonl"],
        &["--rust", "--check", "a.txt"],
    ] {
        emulator.run(&[&["schema", "Blogs"], wrong].concat()).failed(2);
    }
}

#[derive(TableEntity)]
#[table(rename_all = "PascalCase")]
struct Blog {
    #[table(partition_key)]
    channel: String,
    #[table(row_key)]
    id: String,
    rating: i32,
    text: String,
}

#[tokio::test]
async fn rows_that_a_struct_cannot_read_are_listed() {
    let mut rows: Vec<_> = (0..5).map(row).collect();
    rows[4].remove("Text");
    let emulator = filled(rows).await;
    let folder = Folder::new();
    let file = folder.file("blog.txt");
    fs::write(&file, Snapshot::of::<Blog>().to_string()).unwrap();
    let end = emulator.run(&["schema", "Blogs", "--check", &file]);
    let expected = concat!(
        "(\"p\", \"0003\"): Rating: expected Edm.Int32 (i32), found Edm.String \"three\"\n",
        "(\"p\", \"0004\"): Text: expected Edm.String (text), found nothing\n",
    );
    assert_eq!(end.out, expected);
    assert!(end.failed(3).contains("azure-table: 2 of 5 rows cannot be read"));
    let end = emulator.run(&["schema", "Blogs", "--check", &file, "--sample", "3"]);
    assert_eq!(end.out, "");
    let expected = "all readable: 3 rows; the rows after this sample were not read\n";
    assert!(end.err.contains(expected), "{}", end.err);
    end.done();
    let end = emulator.run(&["schema", "Blogs", "--check", &file, "--output", "jsonl", "-q"]);
    let problem: Value = serde_json::from_str(end.out.lines().next().unwrap()).unwrap();
    assert_eq!(
        problem,
        json!({
            "PartitionKey": "p", "RowKey": "0003", "column": "Rating",
            "expected": "Edm.Int32 (i32)", "found": "Edm.String \"three\"",
        })
    );
    end.failed(3);
}

#[tokio::test]
async fn a_check_reads_all_rows_and_structs_state_their_sample() {
    let emulator = filled([]).await;
    let rows = (0..1001).map(|n| {
        let row = DynamicEntity::new("p", format!("{n:04}")).with("Text", "a");
        if n == 1000 { row.with("Rating", "three") } else { row.with("Rating", n) }
    });
    let table = emulator.client().table_named::<DynamicEntity>("Blogs");
    table.bulk().run(rows.map(BulkOperation::Insert)).await.unwrap();
    let folder = Folder::new();
    let file = folder.file("blog.txt");
    fs::write(&file, Snapshot::of::<Blog>().to_string()).unwrap();
    let error = emulator.run(&["schema", "Blogs", "--check", &file, "-q"]).failed(3);
    assert!(error.contains("1 of 1,001 rows cannot be read"), "{error}");
    for (sample, head) in [
        (&[][..], "the first 1,000 rows of the table Blogs (--sample all reads every row)"),
        (&["--sample", "all"], "all 1,001 rows of the table Blogs"),
    ] {
        let code = emulator.run(&[&["schema", "Blogs", "--rust"], sample].concat()).done();
        assert!(code.starts_with(&format!("// The columns of {head}, printed")), "{code}");
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_checked_is_an_error_before_a_request() {
    let emulator = filled((0..3).map(row)).await;
    let folder = Folder::new();
    let requests = emulator.requests();
    let file = folder.file("a.txt");
    fs::write(&file, "hello").unwrap();
    let error = emulator.run(&["schema", "Blogs", "--check", &file]).failed(2);
    assert!(error.contains("a.txt: not a snapshot of the schema guard: line 1: "), "{error}");
    emulator.run(&["schema", "Blogs", "--check", &folder.file("missing.rs")]).failed(1);
    assert_eq!(emulator.requests(), requests);
}

#[tokio::test]
async fn ctrl_c_prints_the_rows_so_far() {
    let emulator = filled((0..60).map(row)).await;
    emulator.add_faults(
        r#"{"faults":[{"fault":"page_of","rows":10},{"fault":"delay_reply","milliseconds":300}]}"#,
    );
    let before = emulator.requests();
    let child = emulator.command(&["schema", "Blogs", "--sample", "all"]).spawn().unwrap();
    // The first page has arrived when the second one is requested.
    while emulator.requests() < before + 2 {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    interrupt(&child);
    let end = Run::of(&child.wait_with_output().unwrap());
    assert!(end.out.contains("\nText "), "{end:?}");
    assert!(!end.out.starts_with("60 rows"), "{end:?}");
    assert!(end.failed(130).contains("azure-table: interrupted after "));
}

#[tokio::test]
async fn examples_of_all_types_are_short() {
    let row =
        DynamicEntity::new("p", "r").with("Text", "x".repeat(30_000)).with("Data", vec![7; 60_000]);
    let row = row.with("Id", EdmValue::Guid(uuid::Uuid::nil())).with("Nan", f64::NAN);
    let emulator = filled([row]).await;
    let out = emulator.run(&["schema", "Blogs"]).done();
    assert!(out.lines().all(|line| line.chars().count() < 80), "{out}");
}
