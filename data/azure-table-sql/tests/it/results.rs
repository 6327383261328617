//! Results on standard output.

use crate::support::Emulator;

#[tokio::test]
async fn queries_print_tables() {
    let emulator = Emulator::with_blogs().await;
    let sql = "SELECT PartitionKey, count(*) AS posts FROM Blogs GROUP BY PartitionKey ORDER BY PartitionKey";
    let run = emulator.run(&["--mixed", "rest", sql]);
    let expected = "\
+--------------+-------+
| PartitionKey | posts |
+--------------+-------+
| Channel9     | 2     |
| PDC          | 2     |
+--------------+-------+
2 rows
";
    assert_eq!(run.done(), expected);

    // A mixed column is in `rest`; control characters do not reach the terminal.
    let sql = "SELECT rest FROM Blogs WHERE rest IS NOT NULL AND PartitionKey = 'PDC'";
    let shown = emulator.run(&["--mixed", "rest", sql]).done();
    assert!(shown.contains(r#"{"Rating":{"String":"good"#), "{shown}");
    assert!(!shown.contains('\u{1b}'));

    let shown = emulator.run(&["SHOW TABLES", "SELECT 1 AS one"]).done();
    assert!(shown.contains("| azure"), "{shown}");
    assert!(shown.contains("| Blogs"), "{shown}");
    assert!(shown.ends_with("| one |\n+-----+\n| 1   |\n+-----+\n1 row\n"), "{shown}");
}

#[tokio::test]
async fn results_are_csv_and_json() {
    let emulator = Emulator::with_blogs().await;
    let declared = ["--columns", "Blogs=Rating:Edm.Int32,Id:Edm.Guid", "--output"];
    let sql = "SELECT RowKey, Rating, Id FROM Blogs WHERE RowKey < '2' OR PartitionKey < 'D' ORDER BY Rating DESC";
    let run = |format, sql| emulator.run(&[&declared[..], &[format, sql]].concat()).done();
    let id = "c9da6455-213d-42c9-9a79-3e9149a57833";
    assert_eq!(run("csv", sql), format!("RowKey,Rating,Id\n2,5,{id}\n1,4,{id}\n1,3,{id}\n"));
    assert_eq!(run("csv", "SELECT RowKey FROM Blogs WHERE RowKey = 'x'"), "RowKey\n");
    let expected = format!(r#"{{"RowKey":"2","Rating":5,"Id":"{id}"}}"#);
    assert_eq!(run("jsonl", sql).lines().next(), Some(&*expected));
}

#[test]
fn doubles_that_are_not_numbers_are_the_texts_of_the_service() {
    let emulator = Emulator::start();
    let sql = "SELECT 'NaN'::double AS a, 'inf'::double AS b, '-inf'::double AS c, 1.5::double AS d, NULL::double AS e";
    let run = |format| emulator.run(&["--output", format, sql]).done();
    let expected = "{\"a\":\"NaN\",\"b\":\"Infinity\",\"c\":\"-Infinity\",\"d\":1.5}\n";
    assert_eq!(run("jsonl"), expected);
    assert_eq!(run("csv"), "a,b,c,d,e\nNaN,Infinity,-Infinity,1.5,\n");
    let table = run("table");
    assert!(table.contains("| NaN | Infinity | -Infinity | 1.5 |   |\n"), "{table}");
    // In a column with numbers, and in a list.
    let sql = "SELECT v FROM (VALUES (1.5::double), ('NaN'::double), (-0.0)) AS t (v)";
    let shown = emulator.run(&["--output", "jsonl", sql, "SELECT ['inf'::double, 2.0] AS l"]);
    let expected = "{\"v\":1.5}\n{\"v\":\"NaN\"}\n{\"v\":-0.0}\n{\"l\":[\"Infinity\",2.0]}\n";
    assert_eq!(shown.done(), expected);
}

/// `data/README.md` states it.
#[test]
fn csv_has_an_empty_field_for_null_and_for_an_empty_text() {
    let emulator = Emulator::start();
    let sql = "SELECT '' AS a, NULL AS b, 'x' AS c";
    assert_eq!(emulator.run(&["-o", "csv", sql]).done(), "a,b,c\n,,x\n");
    assert_eq!(emulator.run(&["-o", "jsonl", sql]).done(), "{\"a\":\"\",\"c\":\"x\"}\n");
}

#[test]
fn a_statement_without_a_result_prints_nothing() {
    let emulator = Emulator::start();
    let set = "SET datafusion.execution.batch_size = 10";
    assert_eq!(emulator.run(&[set]).done(), "");
    let one = "+-----+\n| one |\n+-----+\n| 1   |\n+-----+\n1 row\n";
    assert_eq!(emulator.run(&[set, "SELECT 1 AS one"]).done(), one);
    let error = emulator.run(&[set, "--to", "never.csv"]).failed(2);
    assert!(error.contains("the statement has none"), "{error}");
}

#[tokio::test]
async fn the_plan_has_a_line_for_each_operator() {
    let emulator = Emulator::with_blogs().await;
    let explain = |sql| emulator.run(&["--mixed", "rest", sql]).done();
    let shown = explain(
        "EXPLAIN FORMAT INDENT SELECT RowKey FROM Blogs WHERE PartitionKey = 'PDC' LIMIT 1",
    );
    let scan = "\n|               |   AzureTableScan: table=Blogs, columns=[RowKey], filter=[PartitionKey eq 'PDC'], partitions=1, limit=1 ";
    assert!(shown.contains(scan), "{shown}");
    let input = "\n|               |     DataSourceExec: partitions=1, partition_sizes=[1] ";
    assert!(shown.contains(input), "{shown}");
    for sql in ["EXPLAIN SELECT * FROM Blogs", "EXPLAIN ANALYZE SELECT * FROM Blogs"] {
        let shown = explain(sql);
        assert!(shown.lines().count() > 5, "{shown}");
        assert!(!shown.contains("\\n"), "{shown}");
    }
}
