//! `tables`, `create`, `drop`, `get`, `put`, `merge`, `delete` and `query`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::thread;

use azure_table_client::DynamicEntity;
use azure_table_client::edm::EdmValue;

use crate::support::{Emulator, Folder, Run, command};

#[test]
fn tables_are_created_listed_and_dropped() {
    let emulator = Emulator::start();
    for name in ["Blogs", "LogsA", "logsB"] {
        emulator.run(&["create", name]).done();
    }
    emulator.run(&["create", "Blogs"]).failed(7);
    let note = emulator.run(&["create", "Blogs", "--if-not-exists"]);
    assert!(note.err.contains("exists already"), "{note:?}");
    note.done();
    assert_eq!(emulator.run(&["tables", "--prefix", "logs"]).done(), "LogsA\nlogsB\n");
    let json = emulator.run(&["tables", "-o", "json"]).done();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["TableName"], "Blogs");
    assert_eq!(emulator.run(&["tables", "--prefix", "x", "-o", "json"]).done(), "[\n]\n");

    let error = emulator.run(&["drop", "Blogs"]).failed(2);
    assert!(error.contains("--yes"), "{error}");
    emulator.run(&["drop", "Blogs", "--yes"]).done();
    emulator.run(&["drop", "Blogs", "--yes"]).failed(6);
    emulator.run(&["drop", "Blogs", "--yes", "--if-exists"]).done();
    assert_eq!(emulator.run(&["tables"]).done(), "LogsA\nlogsB\n");
}

#[tokio::test]
async fn a_row_keeps_its_types_through_put_and_get() {
    let emulator = Emulator::start();
    let table = emulator.table("Blogs").await;
    let etag = emulator
        .run(&[
            "put",
            "Blogs",
            "p",
            "",
            "Text=a=b",
            "Empty=",
            "Views:Int64=9223372036854775807",
            "Ratio:Edm.Double=NaN",
            "Zero:Edm.Double=-0.0",
            "Read:Edm.Boolean=true",
            "Data:Edm.Binary=AAE=",
            "Due:Edm.DateTime=2026-01-01T00:00:00.1234567Z",
            "Id:Edm.Guid=00000000-0000-0000-0000-000000000007",
        ])
        .done();
    let row = table.get(("p", "")).await.unwrap();
    assert_eq!(etag.trim(), row.etag.as_str());
    assert_eq!(row.value("Views"), Some(&EdmValue::Int64(i64::MAX)));
    assert_eq!(row.value("Zero"), Some(&EdmValue::Double(-0.0)));
    assert_eq!(row.value("Empty"), Some(&EdmValue::String(String::new())));
    assert_eq!(row.properties().count(), 9);

    let line = emulator.run(&["get", "Blogs", "p", "", "-o", "jsonl"]).done();
    let copy = DynamicEntity::from_json(&line).unwrap();
    assert!(copy.properties().eq(row.properties()), "{line}");
    let copied = emulator.run_with_input(
        &["put", "Blogs", "--json", "-"],
        line.replace("\"p\"", "\"q\"").as_bytes(),
    );
    copied.done();
    assert!(table.get(("q", "")).await.unwrap().properties().eq(row.properties()));
    let text = emulator.run(&["get", "Blogs", "p", "", "--select", "Views"]).done();
    assert!(text.ends_with("Views         Edm.Int64     9223372036854775807\n"), "{text}");
}

#[test]
fn conditions_are_kept() {
    let emulator = Emulator::start();
    emulator.run(&["create", "Blogs"]).done();
    emulator.run(&["get", "Blogs", "p", "r"]).failed(6);
    emulator.run(&["merge", "Blogs", "p", "r", "A=1", "--if-match", "*"]).failed(6);
    let first = emulator.run(&["put", "Blogs", "p", "r", "A=1", "B=1", "--insert"]).done();
    emulator.run(&["put", "Blogs", "p", "r", "A=1", "--insert"]).failed(7);
    emulator.run(&["merge", "Blogs", "p", "r", "B=2", "--if-match", first.trim()]).done();
    emulator.run(&["put", "Blogs", "p", "r", "--if-match", first.trim()]).failed(7);
    assert_eq!(emulator.run(&["get", "Blogs", "p", "r", "-o", "raw"]).done(), "p\tr\t1\t2\n");
    emulator.run(&["delete", "Blogs", "p", "r"]).failed(2);
    emulator.run(&["delete", "Blogs", "p", "r", "--if-match", first.trim(), "--yes"]).failed(7);
    emulator.run(&["delete", "Blogs", "p", "r", "--yes"]).done();
    emulator.run(&["delete", "Blogs", "p", "r", "--yes"]).failed(6);
    emulator.run(&["delete", "Blogs", "p", "r", "--yes", "--if-exists"]).done();
}

#[test]
fn invalid_rows_are_refused_before_a_request() {
    let emulator = Emulator::start();
    // There is no table: a request would exit with 6.
    for arguments in [
        &["put", "Blogs", "p", "r", "A"][..],
        &["put", "Blogs", "p", "r", "A=1", "A=2"],
        &["put", "Blogs", "p", "r", "A:Edm.Int32=x"],
        &["put", "Blogs", "p"],
        &["put", "Blogs", "p/", "r"],
        &["put", "Blogs", "--json", "-"],
        &["query", "Blogs", "--filter", "A eq"],
        &["query", "_", "--top", "1"],
    ] {
        emulator.run_with_input(arguments, b"{}").failed(2);
    }
    emulator.run(&["put", "Blogs", "p", "r", "A=1"]).failed(6);
    let folder = Folder::new();
    let error = emulator.run(&["put", "Blogs", "--json", &folder.file("none.json")]).failed(1);
    assert!(error.contains("cannot read"), "{error}");
}

async fn filled(emulator: &Emulator, rows: i32) {
    let table = emulator.client().table_named::<DynamicEntity>("Blogs");
    table.create_if_not_exists().await.unwrap();
    let rows = (0..rows).map(|n| {
        let mut row = DynamicEntity::new("p", format!("{n:05}"));
        row.set("N", n).set("Text", format!("line {n}\n\u{1b}[31m"));
        if n >= 1_500 {
            row.set("Late", true);
        }
        azure_table_client::bulk::BulkOperation::InsertOrReplace(row)
    });
    table.bulk().run(rows).await.unwrap();
}

#[tokio::test]
async fn a_query_prints_each_format() {
    let emulator = Emulator::start();
    filled(&emulator, 3).await;
    let query = |more: &[&str]| {
        let filter = ["query", "Blogs", "--filter", "PartitionKey eq 'p' and N ge 1"];
        emulator.run(&[&filter, more].concat()).done()
    };
    let table = query(&[]);
    let expected = [
        "PartitionKey  RowKey  N  Text",
        "------------  ------  -  ------------------",
        "p             00001   1  line 1\\n\\u{1b}[31m",
        "p             00002   2  line 2\\n\\u{1b}[31m",
    ];
    assert_eq!(table.lines().collect::<Vec<_>>(), expected);
    let array: serde_json::Value = serde_json::from_str(&query(&["-o", "json"])).unwrap();
    assert_eq!(array.as_array().unwrap().len(), 2);
    let lines = query(&["-o", "jsonl", "--top", "1"]);
    assert_eq!(DynamicEntity::from_json(&lines).unwrap().value("N"), Some(&EdmValue::Int32(1)));
    let csv = query(&["-o", "csv", "--select", "N"]);
    assert_eq!(csv, "PartitionKey,RowKey,N@Edm.Int32\np,00001,1\np,00002,2\n");
    assert_eq!(query(&["-o", "raw", "--select", "N,RowKey"]), "1\t00001\n2\t00002\n");
    let system = query(&["-o", "jsonl", "--system", "--top", "1"]);
    assert!(system.contains("\"odata.etag\"") && system.contains("\"Timestamp\""), "{system}");
    let none = emulator.run(&["query", "Blogs", "--filter", "PartitionKey eq 'x'"]);
    assert_eq!(none.done(), "");
}

#[tokio::test]
async fn a_filter_without_rows_is_noted_with_the_likely_reasons() {
    let (emulator, folder) = (Emulator::start(), Folder::new());
    filled(&emulator, 3).await;
    emulator.table("Empty").await;
    let run = |arguments: &[&str]| {
        let mut command = emulator.command(arguments);
        Run::of(&command.current_dir(folder.path()).output().unwrap())
    };
    let wrong = ["--filter", "n ge 1"];
    let update = ["update", "Blogs", "--set", "A=x", "--yes", "--max-rows", "9"];
    for command in [
        &["query", "Blogs"][..],
        &["count", "Blogs"],
        &["count", "--all-tables"],
        &["delete", "Blogs", "--dry-run"],
        &["delete", "Blogs", "--yes", "--max-rows", "9"],
        &update,
    ] {
        let noted = run(&[command, &wrong].concat());
        let notes =
            noted.err.matches("no row matches the filter: names are case-sensitive").count();
        assert_eq!((notes, noted.code), (1, Some(0)), "{command:?}: {noted:?}");
        assert!(noted.err.contains("100L for Int64"), "{noted:?}");
        let quiet = run(&[command, &wrong, &["-q"]].concat());
        assert_eq!((&*quiet.err, quiet.code), ("", Some(0)), "{command:?}");
        let found = run(&[command, &["--filter", "N ge 1"]].concat());
        assert!(found.code == Some(0) && !found.err.contains("no row matches"), "{found:?}");
        filled(&emulator, 3).await;
    }
    let noted = run(&["query", "Blogs", "--select", "n,N,RowKey"]);
    assert!(noted.err.contains("no printed row has a value of n: names are"), "{noted:?}");
    let none = run(&["query", "Empty", "--select", "n"]);
    assert_eq!((&*none.err, none.code), ("", Some(0)));
    let none = run(&["query", "Blogs", "--top", "0", "--filter", "N ge 1"]);
    assert_eq!((&*none.err, none.code), ("", Some(0)));
    for command in [["query", "Empty"], ["count", "Empty"]] {
        let empty = run(&command);
        assert!(empty.code == Some(0) && !empty.err.contains("no row matches"), "{empty:?}");
    }
}

#[tokio::test]
async fn later_columns_are_never_lost_silently() {
    let emulator = Emulator::start();
    filled(&emulator, 1_501).await;
    let table = emulator.run(&["query", "Blogs"]);
    assert!(
        table.err.contains("more properties, which the table does not show (Late)"),
        "{}",
        table.err
    );
    assert_eq!(table.done().lines().count(), 1_503);
    let error = emulator.run(&["query", "Blogs", "-o", "csv"]).failed(1);
    assert!(error.contains("Late@Edm.Boolean") && error.contains("azure-table export"), "{error}");
    assert_eq!(emulator.run(&["query", "Blogs", "-o", "jsonl"]).done().lines().count(), 1_501);
}

#[tokio::test]
async fn a_closed_output_ends_a_query_quietly() {
    let emulator = Emulator::start();
    filled(&emulator, 1_500).await;
    let mut child = emulator.command(&["query", "Blogs", "-o", "jsonl"]).spawn().unwrap();
    let mut line = String::new();
    // Drops the output after one line.
    BufReader::with_capacity(64, child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn a_plan_sends_nothing() {
    let emulator = Emulator::start();
    let plan = emulator.run(&["query", "None", "--dry-run", "--filter", "RowKey eq '1'"]).done();
    assert!(plan.starts_with("table scan: "), "{plan}");
    let request = format!("\nGET {}/devstoreaccount1/None()?", emulator.origin);
    assert!(plan.contains(&request) && plan.contains("$filter=RowKey%20eq%20%271%27"), "{plan}");
    let plan = emulator
        .run(&["query", "None", "--dry-run", "--filter", "PartitionKey eq 'a' and RowKey eq '1'"])
        .done();
    let request = "/devstoreaccount1/None(PartitionKey='a',RowKey='1')\n";
    assert!(plan.starts_with("point") && plan.ends_with(request), "{plan}");
    let filter = "PartitionKey eq 'a' or PartitionKey eq 'b'";
    let plan = ["query", "None", "--dry-run", "--filter", filter, "--select", "N", "--top", "7"];
    let mut signed = emulator.command(&plan);
    signed.env_remove("AZURE_STORAGE_CONNECTION_STRING");
    signed.env("AZURE_STORAGE_SERVICE_ENDPOINT", format!("{}/devstoreaccount1", emulator.origin));
    signed.env("AZURE_STORAGE_SAS_TOKEN", "sv=2019-02-02&sp=r&sig=c2VjcmV0");
    let plan = Run::of(&signed.output().unwrap()).done();
    assert!(plan.starts_with("2 partitions: ") && plan.lines().count() == 3, "{plan}");
    for part in
        ["PartitionKey%20eq%20%27a%27", "PartitionKey%20eq%20%27b%27", "$top=7", "$select=N%2C"]
    {
        assert!(plan.contains(part), "{part}: {plan}");
    }
    assert!(!plan.contains("sig"), "{plan}");
    assert_eq!(emulator.requests(), 0);
}

#[tokio::test]
async fn json_that_would_change_silently_is_refused() {
    let emulator = Emulator::start();
    emulator.table("Blogs").await;
    for (members, part) in [
        (r#""N":9223372036854775809"#, "\"N\" is an integer beyond Edm.Int64"),
        (r#""M@odata.type":"Edm.Int64""#, "\"M\" has a type and no value"),
    ] {
        let row = format!("{{\n\"PartitionKey\":\"a\",\"RowKey\":\"9\",\n{members}}}\n");
        for command in ["put", "merge"] {
            let run = emulator.run_with_input(&[command, "Blogs", "--json", "-"], row.as_bytes());
            let error = run.failed(2);
            assert!(error.contains("the row of - is invalid: "), "{error}");
            assert!(error.contains(part), "{error}");
        }
    }
    assert_eq!(emulator.run(&["count", "Blogs"]).done(), "0\n");
}

#[tokio::test]
async fn json_has_no_control_characters() {
    let emulator = Emulator::start();
    let table = emulator.table("Blogs").await;
    let text = "\u{9b}31m\u{7f}\u{a0}\u{e9}";
    table.insert(&DynamicEntity::new("p", "r").with("Text", text)).await.unwrap();
    for format in ["json", "jsonl"] {
        let out = emulator.run(&["query", "Blogs", "-o", format]).done();
        assert!(out.contains(r#""Text":"\u009b31m\u007f"#), "{out}");
        let row = out.trim_matches(['[', ']', '\n']);
        assert_eq!(
            DynamicEntity::from_json(row).unwrap().value("Text").unwrap(),
            &EdmValue::from(text)
        );
    }
}

#[test]
fn names_of_tables_cannot_control_a_terminal() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}/a", listener.local_addr().unwrap());
    let server = thread::spawn(move || {
        for _ in 0..5 {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = BufReader::new(stream.try_clone().unwrap()).lines();
            while !head.next().unwrap().unwrap().is_empty() {}
            let body = "{\"value\":[{\"TableName\":\"x\\u001b[31m\u{9b}\"}]}";
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
            write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        }
    });
    for format in ["raw", "table", "csv", "json", "jsonl"] {
        let mut tables = command(&["tables", "-o", format]);
        let text = format!("TableEndpoint={endpoint};AccountName=a;AccountKey=c2VjcmV0");
        let tables = tables.env("AZURE_STORAGE_CONNECTION_STRING", text).output().unwrap();
        let out = Run::of(&tables).done();
        assert!(out.contains('x') && !out.contains(['\u{1b}', '\u{9b}']), "{out:?}");
    }
    server.join().unwrap();
}

#[tokio::test]
async fn texts_that_look_like_other_types_are_noted() {
    let emulator = Emulator::start();
    emulator.table("Blogs").await;
    for (command, argument, advice) in [
        ("put", "Rating=5", "Rating:Edm.Int32=5"),
        ("merge", "Views=-3000000000", "Views:Edm.Int64=-3000000000"),
        ("put", "Ratio=0.5", "Ratio:Edm.Double=0.5"),
        ("put", "Yes=true", "Yes:Edm.Boolean=true"),
        ("merge", "Due=2027-01-31", "Due:Edm.DateTime=2027-01-31T00:00:00Z"),
    ] {
        let run = emulator.run(&[command, "Blogs", "p", "r", argument]);
        assert!(run.err.contains("as text") && run.err.contains(advice), "{argument}: {run:?}");
        run.done();
        let quiet = emulator.run(&[command, "Blogs", "p", "r", argument, "--quiet"]);
        assert_eq!(quiet.err, "", "{argument}");
    }
    // The type is stated, or a number would lose the zero.
    let texts = ["A:Edm.String=5", "A:String=true", "Zip=01067", "Text=Hello", "Empty="];
    for argument in texts {
        let run = emulator.run(&["put", "Blogs", "p", "r", argument]);
        assert_eq!((run.err.as_str(), run.code), ("", Some(0)), "{argument}");
    }
}
