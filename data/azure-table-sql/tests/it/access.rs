//! Keys and shared access signatures.

use std::time::{Duration, SystemTime};

use azure_table_client::auth::{
    AccountPermissions, AccountSas, ResourceTypes, SasProtocol, SasToken, SharedKey,
    TablePermissions, TableSas,
};

use crate::support::{Emulator, Run, run};

fn expiry() -> SystemTime {
    SystemTime::now() + Duration::from_mins(10)
}

fn run_with(emulator: &Emulator, token: &SasToken, arguments: &[&str]) -> Run {
    let variables = [
        ("AZURE_STORAGE_SERVICE_ENDPOINT", emulator.endpoint()),
        ("AZURE_STORAGE_SAS_TOKEN", token.as_query()),
    ];
    run(arguments, &variables)
}

#[tokio::test]
async fn a_signature_of_a_table_permits_queries_of_it() {
    let emulator = Emulator::with_blogs().await;
    let token = TableSas::new("Blogs")
        .permissions(TablePermissions::READ)
        .expires_at(expiry())
        .protocol(SasProtocol::HttpsAndHttp)
        .sign(&SharedKey::development())
        .unwrap();
    let rows = ["-o", "csv", "--mixed", "rest", "SELECT count(*) AS n FROM blogs"];
    assert_eq!(run_with(&emulator, &token, &rows).done(), "n\n4\n");
    let tables = run_with(&emulator, &token, &["SHOW TABLES"]);
    assert_eq!(tables.code, 0, "{}", tables.stderr);
    assert!(tables.stdout.contains("| Blogs"), "{}", tables.stdout);
    let note = "the tables cannot be listed: only Blogs, which the signature names, is shown";
    assert!(tables.stderr.contains(note), "{}", tables.stderr);
    // Declared columns do not depend on the case either.
    let declared = ["-o", "csv", "--columns", "OTHER=A:Edm.String", "--columns"];
    let twice = [&declared[..], &["other=A:Edm.String", "SELECT 1"]].concat();
    assert!(run_with(&emulator, &token, &twice).failed(2).contains("declared twice"));
    run_with(&emulator, &token, &["SELECT * FROM Other"]).failed(8);
}

#[tokio::test]
async fn a_signature_without_the_list_of_tables_permits_queries() {
    let emulator = Emulator::with_blogs().await;
    let token = AccountSas::new(AccountPermissions::READ, ResourceTypes::ENTITY)
        .expires_at(expiry())
        .protocol(SasProtocol::HttpsAndHttp)
        .sign(&SharedKey::development())
        .unwrap();
    let rows = ["-o", "csv", "--mixed", "rest", "SELECT count(*) AS n FROM Blogs"];
    assert_eq!(run_with(&emulator, &token, &rows).done(), "n\n4\n");
    let tables = run_with(&emulator, &token, &["SHOW TABLES"]);
    assert!(tables.stderr.contains("cannot be listed: no tables are shown"), "{}", tables.stderr);
    run_with(&emulator, &token, &["SELECT * FROM Unknown"]).failed(6);
}

#[tokio::test]
async fn options_name_the_account() {
    let emulator = Emulator::with_blogs().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("connection");
    std::fs::write(&file, emulator.connection_string()).unwrap();
    let source = format!("file:{}", file.display());
    let count = ["-o", "csv", "--mixed", "rest", "SELECT count(*) AS n FROM Blogs"];
    let from_file = [&["--connection-from", &source, "--dialect", "storage"], &count[..]].concat();
    assert_eq!(run(&from_file, &[]).done(), "n\n4\n");
    assert!(run(&["--dialect", "other", "SELECT 1"], &[]).failed(2).contains("cosmos"));
    assert!(run(&["--entra", "SELECT 1"], &[]).failed(2).contains("--endpoint URL"));
    if cfg!(not(feature = "entra")) {
        let entra = ["--entra", "--endpoint", "https://a.table.core.windows.net", "SELECT 1"];
        assert!(run(&entra, &[]).failed(2).contains("without the feature entra"));
    }
}

#[tokio::test]
async fn no_output_contains_the_key_and_a_wrong_one_is_refused() {
    let emulator = Emulator::with_blogs().await;
    let wrong = emulator.connection_string().replace("AccountKey=E", "AccountKey=F");
    for sql in [
        "SELECT * FROM Blogs",
        "SELECT * FROM Unknown",
        "EXPLAIN VERBOSE SELECT * FROM Blogs",
        "SHOW TABLES",
        "SELECT * FROM information_schema.columns",
    ] {
        for text in [&emulator.connection_string(), &wrong] {
            let variables = [("AZURE_STORAGE_CONNECTION_STRING", &**text)];
            let run = run(&["--mixed", "rest", sql], &variables);
            let key = &text[text.find("AccountKey=").unwrap() + 11..][..40];
            assert!(!run.stdout.contains(key) && !run.stderr.contains(key), "{}", run.stderr);
            assert_eq!(run.code == 8, text == &wrong, "{sql}: {}", run.stderr);
        }
    }
    // A damaged signature is refused too.
    let token =
        SasToken::new("sv=2019-02-02&tn=Blogs&sp=r&se=2099-01-01T00:00:00Z&sig=AAAA").unwrap();
    run_with(&emulator, &token, &["SHOW TABLES"]).failed(8);
}
