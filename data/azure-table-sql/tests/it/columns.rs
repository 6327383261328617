//! The columns of tables: inferred and declared.

use azure_table_client::DynamicEntity;

use crate::support::Emulator;

/// A table whose third row has another type, and whose fourth has another property.
async fn emulator() -> Emulator {
    let emulator = Emulator::start();
    let table = emulator.table("Late").await;
    let row = |key| DynamicEntity::new("p", key);
    for row in [
        row("1").with("Rating", 1),
        row("2").with("Rating", 2),
        row("3").with("Rating", 3_i64),
        row("4").with("Rating", 4).with("Text", "late"),
    ] {
        table.insert(&row).await.unwrap();
    }
    emulator
}

#[tokio::test]
async fn a_value_of_another_type_than_the_sample_is_an_error() {
    let emulator = emulator().await;
    let error = emulator.run(&["--sample", "2", "SELECT sum(Rating) FROM Late"]).failed(1);
    for part in [
        r#"row ("p", "3") does not fit the schema"#,
        r#""Rating" is Edm.Int64, and its column Edm.Int32"#,
        "--mixed rest",
        "--sample all",
    ] {
        assert!(error.contains(part), "{error}");
    }
    // Other columns can be read.
    let count = emulator.run(&["-o", "csv", "--sample", "2", "SELECT count(*) AS n FROM Late"]);
    assert_eq!(count.done(), "n\n4\n");
    // The whole table has one more property.
    let error =
        emulator.run(&["--sample", "2", "SELECT * FROM Late WHERE RowKey <> '3'"]).failed(1);
    assert!(error.contains(r#"row ("p", "4") does not fit the schema: "Text" has no column"#));
}

#[tokio::test]
async fn mixed_values_go_to_the_rest_column_on_request() {
    let emulator = emulator().await;
    let rest = |sample: &[&str], sql| {
        emulator.run(&[&["-o", "csv", "--mixed", "rest"], sample, &[sql]].concat()).done()
    };
    let sum = "SELECT sum(Rating) AS sum, count(rest) AS rest FROM Late";
    assert_eq!(rest(&["--sample", "2"], sum), "sum,rest\n7,2\n");
    let sql = "SELECT count(Text) AS texts, count(rest) AS rest FROM Late";
    assert_eq!(rest(&["--sample", "all"], sql), "texts,rest\n1,4\n");
}

#[tokio::test]
async fn all_rows_are_the_sample_on_request() {
    let emulator = emulator().await;
    let error = emulator.run(&["--sample", "all", "SELECT sum(Rating) FROM Late"]).failed(1);
    assert!(error.contains("columns of Late: mixed column: the property \"Rating\""), "{error}");
    assert!(error.contains(r#"Edm.Int64 in row ("p", "3")"#), "{error}");
    assert!(error.contains("(--mixed rest)"), "{error}");
    // The list of tables needs no columns.
    assert!(emulator.run(&["--sample", "all", "SHOW TABLES"]).done().contains("| Late"));
    for bad in ["0", "none"] {
        let error = emulator.run(&["--sample", bad, "SELECT 1"]).failed(2);
        assert!(error.contains("a number from 1, or all"), "{error}");
    }
}

#[tokio::test]
async fn a_time_outside_the_range_names_the_option() {
    let emulator = Emulator::start();
    let table = emulator.table("Times").await;
    let never: azure_table_client::edm::EdmDateTime = "9999-12-31T00:00:00Z".parse().unwrap();
    table.insert(&DynamicEntity::new("p", "1").with("Due", never)).await.unwrap();
    let error = emulator.run(&["SELECT Due FROM Times"]).failed(1);
    assert!(error.contains("(--datetimes micros or ticks)"), "{error}");
    let shown =
        emulator.run(&["--datetimes", "micros", "-o", "csv", "SELECT Due FROM Times"]).done();
    assert_eq!(shown, "Due\n9999-12-31T00:00:00Z\n");
}

#[tokio::test]
async fn declared_columns_are_those_of_the_table_in_any_case() {
    let emulator = emulator().await;
    let declare =
        |columns: &str, sql: &str| emulator.run(&["-o", "csv", "--columns", columns, sql]);
    for (declared, named) in [("Late", "Late"), ("late", "LATE"), ("LATE", "Late")] {
        let sql = format!("SELECT count(Other) AS n FROM {named}");
        let shown = declare(&format!("{declared}=Other:Edm.String"), &sql).done();
        assert_eq!(shown, "n\n0\n", "{declared} {named}");
    }
    let error = declare("Lat=Other:Edm.String", "SELECT 1").failed(6);
    assert!(error.contains("--columns Lat: the account does not have this table"), "{error}");
    let error = declare("Late=A:Edm.String,A:Edm.Int32", "SELECT 1").failed(2);
    assert!(error.contains("--columns Late: invalid schema: two columns are called"), "{error}");
    let twice = ["--columns", "Late=A:Edm.String", "--columns", "late=B:Edm.String", "SELECT 1"];
    let error = emulator.run(&twice).failed(2);
    assert!(error.contains("--columns late: the columns of this table are declared twice"));
}
