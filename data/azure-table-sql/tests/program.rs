//! The program, run against the emulator.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use azure_table_client::DynamicEntity;
use datafusion::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use support::{Emulator, run};

/// Two partitions: four rows with a rating, one of them a text.
async fn filled() -> Emulator {
    let emulator = Emulator::start();
    let table = emulator.client().table_named::<DynamicEntity>("Blogs");
    table.create().await.unwrap();
    let id: uuid::Uuid = "c9da6455-213d-42c9-9a79-3e9149a57833".parse().unwrap();
    for (channel, post, rating) in [("Channel9", "1", 3), ("Channel9", "2", 5), ("PDC", "1", 4)] {
        let row = DynamicEntity::new(channel, post).with("Rating", rating);
        table.insert(&row.with("Id", id)).await.unwrap();
    }
    let row = DynamicEntity::new("PDC", "2").with("Rating", "good\u{1b}[2J").with("Big", 7_i64);
    table.insert(&row).await.unwrap();
    emulator
}

#[tokio::test]
async fn queries_print_tables() {
    let emulator = filled().await;
    let run = emulator.run(&[
        "SELECT PartitionKey, count(*) AS posts FROM Blogs GROUP BY PartitionKey ORDER BY PartitionKey",
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let expected = "\
+--------------+-------+
| PartitionKey | posts |
+--------------+-------+
| Channel9     | 2     |
| PDC          | 2     |
+--------------+-------+
2 rows
";
    assert_eq!(run.stdout, expected);

    // A mixed column is in `rest`; control characters do not reach the terminal.
    let run =
        emulator.run(&["SELECT rest FROM Blogs WHERE rest IS NOT NULL AND PartitionKey = 'PDC'"]);
    assert!(run.stdout.contains(r#"{"Rating":{"String":"good"#), "{}", run.stdout);
    assert!(!run.stdout.contains('\u{1b}'));

    let run = emulator.run(&["SHOW TABLES", "SELECT 1 AS one"]);
    assert!(run.stdout.contains("| azure"), "{}", run.stdout);
    assert!(run.stdout.contains("| Blogs"), "{}", run.stdout);
    assert!(run.stdout.ends_with("| one |\n+-----+\n| 1   |\n+-----+\n1 row\n"), "{}", run.stdout);
}

#[tokio::test]
async fn results_are_written_in_four_formats() {
    let emulator = filled().await;
    let declared = ["--columns", "Blogs=Rating:Edm.Int32,Id:Edm.Guid", "--output"];
    let sql = "SELECT RowKey, Rating, Id FROM Blogs WHERE Rating >= 4 ORDER BY RowKey DESC";
    let run = emulator.run(&[&declared[..], &["csv", sql]].concat());
    let id = "c9da6455-213d-42c9-9a79-3e9149a57833";
    assert_eq!(run.stdout, format!("RowKey,Rating,Id\n2,5,{id}\n1,4,{id}\n"), "{}", run.stderr);
    let run = emulator
        .run(&[&declared[..], &["csv", "SELECT RowKey FROM Blogs WHERE RowKey = 'x'"]].concat());
    assert_eq!(run.stdout, "RowKey\n");
    let run = emulator.run(&[&declared[..], &["jsonl", sql]].concat());
    let expected = format!(r#"{{"RowKey":"2","Rating":5,"Id":"{id}"}}"#);
    assert_eq!(run.stdout.lines().next(), Some(&*expected));

    let file = std::env::temp_dir().join(format!("azure-table-sql-{}.parquet", std::process::id()));
    let run = emulator.run(&["SELECT * FROM Blogs", "--to", file.to_str().unwrap()]);
    assert_eq!((run.code, &*run.stdout), (0, ""), "{}", run.stderr);
    let reader =
        ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(&file).unwrap()).unwrap();
    let rows: usize = reader.build().unwrap().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 4);
    std::fs::remove_file(&file).unwrap();
}

#[tokio::test]
async fn the_plan_shows_the_filter() {
    let emulator = filled().await;
    let run = emulator.run(&[
        "EXPLAIN FORMAT INDENT SELECT RowKey FROM Blogs WHERE PartitionKey = 'PDC' LIMIT 1",
    ]);
    let scan = "AzureTableScan: table=Blogs, columns=[RowKey], filter=[PartitionKey eq 'PDC'], partitions=1, limit=1";
    assert!(run.stdout.contains(scan), "{}", run.stdout);
}

#[tokio::test]
async fn failures_have_exit_codes() {
    let emulator = filled().await;
    for (arguments, code, message) in [
        (&["SELECT * FROM Unknown"][..], 1, "Unknown"),
        (&["SELEC"], 1, "SELEC"),
        (&["DROP TABLE Blogs"], 1, "DDL not supported"),
        (&["INSERT INTO Blogs (PartitionKey) VALUES ('a')"], 1, "DML not supported"),
        (&["SELECT 1", "--to", "x.unknown"], 2, "unknown format"),
        (&["SELECT 1", "SELECT 2", "--to", "x.csv"], 2, "one query"),
        (&["SELECT 1", "--columns", "Blogs"], 2, "no table"),
        (&[], 2, "required"),
    ] {
        let run = emulator.run(arguments);
        assert_eq!(run.code, code, "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(message), "{arguments:?}: {}", run.stderr);
    }
    let run = run(&["SELECT 1"], &[]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("set AZURE_STORAGE_CONNECTION_STRING"), "{}", run.stderr);
}

#[tokio::test]
async fn no_output_contains_the_key() {
    let emulator = filled().await;
    let wrong = emulator.connection_string().replace("AccountKey=E", "AccountKey=F");
    for sql in
        ["SELECT * FROM Blogs", "SELECT * FROM Unknown", "EXPLAIN VERBOSE SELECT * FROM Blogs"]
    {
        for text in [&emulator.connection_string(), &wrong] {
            let run = run(&[sql], &[("AZURE_STORAGE_CONNECTION_STRING", text)]);
            let key = &text[text.find("AccountKey=").unwrap() + 11..][..40];
            assert!(!run.stdout.contains(key) && !run.stderr.contains(key), "{}", run.stderr);
            assert_eq!(run.code == 8, text == &wrong, "{}", run.stderr);
        }
    }
}
