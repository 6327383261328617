//! Arguments, help, secrets and the emulator.

use crate::support::{Emulator, Folder, run};

#[test]
fn help_lists_the_commands_and_the_exit_codes() {
    let help = run(&["help"]).done();
    assert!(help.contains("whoami") && help.contains("130 interrupted"), "{help}");
    let help = run(&["query", "--help"]).done();
    assert!(help.contains("Example: azure-table query"), "{help}");
}

#[test]
fn invalid_arguments_exit_with_2() {
    run(&["unknown"]).failed(2);
    run(&["tables", "--connection-from", "x"]).failed(2);
    let error = run(&["tables"]).failed(2);
    assert!(error.contains("AZURE_STORAGE_CONNECTION_STRING"), "{error}");
}

#[test]
fn a_secret_in_an_argument_is_refused_and_not_repeated() {
    for argument in ["AccountName=a;AccountKey=c2VjcmV0", "https://a/?sig=c2VjcmV0"] {
        let error = run(&["tables", "--connection-from", argument]).failed(2);
        assert!(!error.contains("c2VjcmV0"), "{error}");
    }
}

#[test]
fn man_pages_and_completions_cover_each_command() {
    let folder = Folder::new();
    run(&["man", &folder.file("man1")]).done();
    for command in ["export", "diff", "whoami"] {
        let page = std::fs::read_to_string(
            folder.path().join("man1").join(format!("azure-table-{command}.1")),
        )
        .unwrap();
        assert!(page.contains(".SH NAME") && page.contains("Example"), "{page}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = run(&["completions", shell]).done();
        assert!(script.contains("whoami") && script.contains("connection-from"), "{shell}");
    }
}

#[tokio::test]
async fn the_emulator_runs_in_the_program() {
    let emulator = Emulator::start();
    emulator.table("Blogs").await;
    assert!(emulator.client().table_exists("Blogs").await.unwrap());
}
