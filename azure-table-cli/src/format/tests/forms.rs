//! The fixed forms of files, and errors of damaged ones.

use super::*;

fn message(folder: &tempfile::TempDir, content: &[u8], format: Format) -> String {
    let path = folder.path().join("rows");
    fs::write(&path, content).unwrap();
    let error = match rows(&path, format) {
        Err(error) => error,
        Ok(mut rows) => rows.find_map(Result::err).unwrap(),
    };
    let message = error.message().to_owned();
    let start = format!("{}:", path.display());
    message.strip_prefix(&start).unwrap_or_else(|| panic!("{message}")).to_owned()
}

#[test]
fn a_damaged_line_is_an_error_with_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let good = "{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}\n";
    for (content, start) in [
        (format!("{good}{{\n"), "2: this is not the JSON of an entity"),
        (format!("{good}\n{good}{good}x"), "5: this is not the JSON"),
        ("{\"PartitionKey\":\"p\"}".to_owned(), "1: "),
        (format!("{good}[]"), "2: this is not the JSON"),
    ] {
        let message = message(&folder, content.as_bytes(), Format::JsonLines);
        assert!(message.starts_with(start), "{message}");
    }
    let not_utf8 = message(&folder, b"{\"PartitionKey\":\"\xff\"}", Format::JsonLines);
    assert_eq!(not_utf8, "1: the line is not UTF-8");
}

#[test]
fn a_mark_a_blank_line_and_a_missing_last_line_break_are_accepted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.jsonl");
    let good = "{\"PartitionKey\":\"p\",\"RowKey\":\"r\"}";
    fs::write(&path, format!("\u{feff}{good}\r\n\r\n{good}\n \n{good}")).unwrap();
    assert_eq!(read(&path, Format::JsonLines).len(), 3);
    fs::write(&path, "\u{feff}").unwrap();
    assert_eq!(read(&path, Format::JsonLines).len(), 0);
}

#[test]
fn damaged_csv_is_an_error_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let header = "PartitionKey,RowKey,A@Edm.Int32,A@Edm.String,T@Edm.DateTime\n";
    for (content, part) in [
        (String::new(), "1: the file has no header"),
        ("PartitionKey,A@Edm.Int32\n".to_owned(), "1: the header has no column RowKey"),
        ("PartitionKey,RowKey,A\n".to_owned(), "1: column \"A\" has no type, as in \"A@String\""),
        (
            "PartitionKey,RowKey,A@Edm.Byte\n".to_owned(),
            "1: column \"A@Edm.Byte\": the type \"Edm.Byte\" is unknown",
        ),
        ("PartitionKey,RowKey,RowKey\n".to_owned(), "1: the header has column \"RowKey\" twice"),
        (format!("{header}p,r,1,,\np,r,1\n"), "3: the record has 3 fields, and the header has 5"),
        (
            format!("{header}p,\"r\n\",x,,\n"),
            "2: column \"A\": \"x\" is not a value of type Edm.Int32",
        ),
        (format!("{header}p,r,3000000000,,\n"), "2: column \"A\""),
        (format!("{header}p,r,1,one,\n"), "2: property \"A\" has two values"),
        (format!("{header}p,r,,,14/04/2009\n"), "2: column \"T\""),
        (format!("{header}p,\"r,,,\n"), "2: a quote in this record is not closed"),
    ] {
        let message = message(&folder, content.as_bytes(), Format::Csv);
        assert!(message.starts_with(part), "{message}");
    }
}

#[test]
fn csv_has_a_fixed_form() {
    let folder = tempfile::tempdir().unwrap();
    let rows = [
        DynamicEntity::new("", "r,1").with("A", "").with("B", vec![1_u8, 2]).with("N", -0.0),
        DynamicEntity::new("p", "\\").with("A", 7).with("B", Vec::<u8>::new()),
    ];
    let (path, out) = file(&folder, "rows.csv");
    let writer = csv::Writer::new(out, &columns(&rows), true).unwrap();
    write(Box::new(writer), &rows, &path);
    let expected = "PartitionKey,RowKey,Timestamp,ETag,A@Edm.Int32,A@Edm.String,B@Edm.Binary,N@Edm.Double\n\
         \\,\"r,1\",,,,\\,AQI=,-0.0\n\
         p,\\\\,,,7,,\\,\n";
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    // A quoted empty field is the empty text, and the escape of a program that drops quotes is accepted as well.
    fs::write(&path, "PartitionKey,RowKey,A@Edm.String,B@Edm.Int32\n\"\",r,\"\",\"\"\n,r,,\n")
        .unwrap();
    let rows = read(&path, Format::Csv);
    assert_eq!(rows[0], DynamicEntity::new("", "r").with("A", ""));
    assert_eq!(rows[1], DynamicEntity::new("", "r"));
}

#[test]
fn a_property_without_a_column_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (_, out) = file(&folder, "rows.csv");
    let columns: Columns = "A@Edm.Int32".parse().unwrap();
    let mut writer = csv::Writer::new(out, &columns, false).unwrap();
    writer.write(&DynamicEntity::new("p", "r").with("A", 1)).unwrap();
    let error = writer.write(&DynamicEntity::new("p", "r").with("A", 1_i64)).unwrap_err();
    assert!(error.message().contains("\"A@Edm.Int64\""), "{error:?}");
    assert!("A".parse::<Columns>().is_err() && "@Edm.Int32".parse::<Columns>().is_err());
}

#[test]
fn system_properties_are_written_on_request_and_read_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let row = DynamicEntity::from_json(
        r#"{"odata.etag":"W/\"1\"","PartitionKey":"p","RowKey":"r","Timestamp":"2026-01-01T00:00:00Z","A":1}"#,
    )
    .unwrap();
    let (path, out) = file(&folder, "rows.jsonl");
    write(Box::new(jsonl::Writer::new(out, true)), std::slice::from_ref(&row), &path);
    assert_eq!(read(&path, Format::JsonLines), std::slice::from_ref(&row));
    let (path, out) = file(&folder, "rows.csv");
    let columns = columns(std::slice::from_ref(&row));
    write(
        Box::new(csv::Writer::new(out, &columns, true).unwrap()),
        std::slice::from_ref(&row),
        &path,
    );
    assert!(
        fs::read_to_string(&path).unwrap().contains("2026-01-01T00:00:00.0000000Z,\"W/\"\"1\"\"\"")
    );
    assert_eq!(read(&path, Format::Csv), [DynamicEntity::new("p", "r").with("A", 1)]);
}

#[test]
fn a_name_gives_the_format() {
    for (name, format) in [
        ("rows.jsonl", Format::JsonLines),
        ("ROWS.NDJSON", Format::JsonLines),
        ("a.b/rows.csv", Format::Csv),
        ("rows.parquet", Format::Parquet),
        ("-", Format::JsonLines),
    ] {
        assert_eq!(Format::of(Path::new(name), None).unwrap(), format);
    }
    let error = Format::of(Path::new("rows.json"), None).unwrap_err();
    assert!(error.message().contains("--format"), "{error:?}");
    assert_eq!(Format::of(Path::new("x"), Some(Format::Csv)).unwrap(), Format::Csv);
}

/// The rows of a writer of another program, which drops the quotes of empty fields and may quote all others.
#[test]
fn csv_survives_the_csv_module_of_python() {
    let program = "import csv, sys\n\
        with open(sys.argv[1], newline='', encoding='utf-8') as read:\n\
        \trows = list(csv.reader(read))\n\
        with open(sys.argv[2], 'w', newline='', encoding='utf-8') as out:\n\
        \tcsv.writer(out).writerows(rows)\n";
    let folder = tempfile::tempdir().unwrap();
    let mut rows: Vec<_> = (0..)
        .zip(TEXTS)
        .map(|(n, text)| DynamicEntity::new(text, n.to_string()).with("A", text).with("B", n))
        .collect();
    rows.push(DynamicEntity::new("", "").with("A", f64::NAN).with("C", Vec::<u8>::new()));
    let (path, out) = file(&folder, "rows.csv");
    write(Box::new(csv::Writer::new(out, &columns(&rows), false).unwrap()), &rows, &path);
    let copy = folder.path().join("copy.csv");
    let mut python = std::process::Command::new("python3");
    let run = match python.args(["-c", program]).arg(&path).arg(&copy).output() {
        Ok(run) => run,
        Err(error) => return eprintln!("skipped: python3 does not start: {error}"),
    };
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    assert_eq!(sorted(&read(&copy, Format::Csv)), sorted(&rows));
}

#[test]
fn parquet_errors_name_the_option_that_helps() {
    let folder = tempfile::tempdir().unwrap();
    let options = |datetimes, mixed| parquet::Options { datetimes, mixed, system: false };
    let mut columns = parquet::Inference::new(options(Datetimes::Nanos, Mixed::Error));
    let row = DynamicEntity::new("p", "r").with("T", EdmDateTime::MAX);
    columns.add(&row);
    let mut writer = columns.writer(file(&folder, "a").1).unwrap();
    let error = writer.write(&row).unwrap_err();
    assert!(error.message().ends_with("(--datetimes micros or ticks)"), "{error:?}");
    columns.add(&DynamicEntity::new("p", "r").with("T", 1));
    let error = columns.writer(file(&folder, "b").1).err().unwrap();
    assert!(error.message().contains("; --mixed rest writes "), "{error:?}");
}

#[test]
fn values_without_an_annotation_have_the_type_that_json_shows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows");
    let line = r#"{"PartitionKey":"p","RowKey":"r","A":"x","B":true,"C":7,"D":3000000000,"E":1.5,"F":null}"#;
    fs::write(&path, line).unwrap();
    let row = DynamicEntity::new("p", "r").with("A", "x").with("B", true).with("C", 7);
    assert_eq!(read(&path, Format::JsonLines), [row.with("D", 3_000_000_000_i64).with("E", 1.5)]);
}

#[test]
fn a_property_that_a_line_has_twice_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let line = r#"{"PartitionKey":"p","RowKey":"r","A":1,"A":2}"#;
    let message = message(&folder, line.as_bytes(), Format::JsonLines);
    assert!(message.starts_with("1: "), "{message}");
}
