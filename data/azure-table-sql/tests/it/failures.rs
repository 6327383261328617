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

/// An address with a signature in the wrong variable is refused and not shown.
#[test]
fn errors_do_not_show_an_address() {
    let address = "https://a.table.core.windows.net/?sv=2019-02-02&sig=SECRET";
    for (name, value) in
        [("AZURE_STORAGE_ACCOUNT", "a"), ("AZURE_STORAGE_SAS_TOKEN", "sv=2019-02-02&sig=AAAA")]
    {
        let variables = [("AZURE_STORAGE_SERVICE_ENDPOINT", address), (name, value)];
        let error = run(&["SELECT 1"], &variables).failed(2);
        assert!(!error.contains("SECRET"), "{error}");
    }
    let error = run(&["SELECT 1"], &[("AZURE_STORAGE_ACCOUNT", address)]).failed(2);
    assert!(!error.contains("SECRET"), "{error}");
}
