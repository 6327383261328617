//! Exit codes and messages.

use crate::support::{Emulator, run};

#[tokio::test]
async fn failures_have_exit_codes() {
    let emulator = Emulator::with_blogs().await;
    for (arguments, code, message) in [
        (&["SELECT * FROM Unknown"][..], 6, "Unknown"),
        (&["SELEC"], 2, "SELEC"),
        (&["SELECT Unknown FROM range(0, 1)"], 2, "Unknown"),
        (&["DROP TABLE Blogs"], 2, "DDL not supported"),
        (
            &["INSERT INTO Blogs (PartitionKey) VALUES ('a')", "--mixed", "rest"],
            2,
            "DML not supported",
        ),
        (&["SELECT 1 / 0"], 1, "Divide by zero"),
        (&["SELECT 1", "--to", "x.unknown"], 2, "unknown format"),
        (&["SELECT 1", "SELECT 2", "--to", "x.csv"], 2, "one query"),
        (&["SELECT 1", "--columns", "Blogs"], 2, "no table"),
        (&[], 2, "required"),
    ] {
        let error = emulator.run(arguments).failed(code);
        assert!(error.contains(message), "{arguments:?}: {error}");
    }
    let error = run(&["SELECT 1"], &[]).failed(2);
    assert!(error.contains("set AZURE_STORAGE_CONNECTION_STRING"), "{error}");
    for (name, value) in [
        ("AZURE_STORAGE_CONNECTION_STRING", "AccountName=a"),
        ("AZURE_STORAGE_CONNECTION_STRING", "AccountName=a;AccountKey=***"),
        ("AZURE_STORAGE_KEY", "***"),
        ("AZURE_STORAGE_SAS_TOKEN", "sv=2019-02-02"),
    ] {
        run(&["SELECT 1"], &[(name, value), ("AZURE_STORAGE_ACCOUNT", "a")]).failed(2);
    }
}
