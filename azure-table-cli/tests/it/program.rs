//! Arguments, help, secrets and the emulator.

use azure_table_client::DynamicEntity;

use crate::support::{Emulator, Folder, Run, command, run};

#[test]
fn help_lists_the_commands_and_the_exit_codes() {
    let help = run(&["help"]).done();
    assert!(help.contains("whoami") && help.contains("130 interrupted"), "{help}");
    assert!(
        help.contains("azure-table serve") && help.contains("azure-table --emulator"),
        "{help}"
    );
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
fn a_bare_key_is_not_repeated() {
    for arguments in [
        &["tables", "--connection-from", "c2VjcmV0"][..],
        &["tables", "--connection-from=c2VjcmV0"],
        &["tables", "--connection-from", "env:c2VjcmV0=="],
        &["copy", "A", "B", "--from", "c2VjcmV0"],
        &["diff", "A", "B", "--to", "c2VjcmV0"],
    ] {
        let error = run(arguments).failed(2);
        assert!(!error.contains("c2VjcmV0"), "{error}");
        let option =
            arguments.iter().rev().find_map(|text| text.split('=').next()?.strip_prefix("--"));
        assert!(error.contains(option.unwrap()) && error.contains("env:NAME"), "{error}");
    }
}

#[test]
fn an_address_with_a_secret_is_not_repeated() {
    let with = |name: &str, value: &str, arguments: &[&str]| {
        Run::of(&command(arguments).env(name, value).output().unwrap()).failed(2)
    };
    let address = "https://a.table.core.windows.net/?sv=2019-02-02&sig=c2VjcmV0";
    for (name, value) in [
        ("AZURE_STORAGE_SERVICE_ENDPOINT", address),
        ("AZURE_STORAGE_SERVICE_ENDPOINT", "https://user:c2VjcmV0@a.table.core.windows.net"),
        ("AZURE_STORAGE_ACCOUNT", "c2VjcmV0/=="),
    ] {
        let error = with(name, value, &["tables"]);
        assert!(!error.to_ascii_lowercase().contains("c2vjcmv0"), "{error}");
    }
    let endpoint = "https://user:c2VjcmV0@a.table.core.windows.net";
    for more in [&[][..], &["--entra"]] {
        let error = run(&[&["tables", "--endpoint", endpoint], more].concat()).failed(2);
        assert!(!error.to_ascii_lowercase().contains("c2vjcmv0"), "{error}");
    }
    let error = run(&["tables", "--endpoint", "https://a.table.core.windows.net/"]).failed(2);
    assert!(error.contains("no credential for https://a.table.core.windows.net: "), "{error}");
}

#[test]
fn options_of_the_program_have_their_own_heading() {
    let help = run(&["tables", "--help"]).done();
    let connection = help.split("Connection:").nth(1).unwrap();
    assert!(!connection.contains("--quiet") && !connection.contains("--yes"), "{help}");
    assert!(connection.contains("--connection-from"), "{help}");
}

#[test]
fn messages_name_options_of_the_program() {
    let error = run(&["tables", "--connection-from", "env:NOT_SET"]).failed(2);
    assert!(error.contains("NOT_SET"), "{error}");
    let mut plain = command(&["tables"]);
    plain.env(
        "AZURE_STORAGE_CONNECTION_STRING",
        "AccountName=a;AccountKey=c2VjcmV0;TableEndpoint=http://tables.example.com",
    );
    let error = Run::of(&plain.output().unwrap()).failed(2);
    assert!(error.contains("--allow-http") && !error.contains("allow_http"), "{error}");
    let emulator = Emulator::start();
    let error = emulator
        .run_with_input(&["put", "Blogs", "--json", "-"], b"{\"PartitionKey\":\"p\"}")
        .failed(2);
    assert!(error.contains("RowKey") && !error.contains("Option"), "{error}");
    let error = emulator.run(&["query", "Blogs", "--filter", "A eq \u{1b} 1"]).failed(2);
    let reason = error.rsplit(": ").next().unwrap().trim();
    assert_eq!(error.matches(reason).count(), 1, "{error}");
}

#[test]
fn the_man_page_begins_with_how_to_start_an_emulator() {
    let folder = Folder::new();
    run(&["man", &folder.file("man1")]).done();
    let page = std::fs::read_to_string(folder.path().join("man1/azure-table.1")).unwrap();
    let section = page.split(".SH ").nth(2).unwrap();
    let commands = ".nf\n  azure\\-table serve\n  azure\\-table \\-\\-emulator create Blogs\n.fi\n";
    assert!(section.starts_with("\"FIRST STEPS\"\n") && section.contains(commands), "{page}");
    let page = std::fs::read_to_string(folder.path().join("man1/azure-table-put.1")).unwrap();
    assert!(!page.contains("FIRST STEPS"), "{page}");
}

#[test]
fn the_man_page_keeps_the_table_of_exit_codes() {
    let folder = Folder::new();
    run(&["man", &folder.file("man1")]).done();
    let page = std::fs::read_to_string(folder.path().join("man1/azure-table.1")).unwrap();
    assert!(page.contains(".SH \"EXIT STATUS\"") && !page.contains("EXTRA"), "{page}");
    let notes = page.split("EXIT STATUS").nth(1).unwrap();
    let table = notes.split(".nf").nth(1).unwrap().split(".fi").next().unwrap();
    assert!(table.contains("0 done    ") && table.contains("130 interrupted"), "{page}");
    let page = std::fs::read_to_string(folder.path().join("man1/azure-table-put.1")).unwrap();
    assert!(page.contains(".SH EXAMPLES") && page.contains("azure\\-table put Blogs"), "{page}");
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

#[tokio::test]
async fn the_emulator_receives_options_that_the_program_has_too() {
    let mut serve = command(&["serve", "--dialect", "cosmos"]);
    serve.env("AZURE_TABLE_EMULATOR_PORT", "0").env("PORT", "0");
    let emulator = Emulator::spawn(serve);
    emulator.table("Blogs").await;
    // Cosmos DB refuses an empty key.
    let put = emulator.client().table_named("Blogs").insert(&DynamicEntity::new("p", "")).await;
    assert!(put.is_err());
    // The emulator has none of these options, and its error is not one of clap.
    for option in ["--endpoint", "--entra", "-q", "--yes"] {
        let error = run(&["serve", option, "--port", "none"]).failed(2);
        assert!(error.starts_with("azure-table-emulator: ") && error.contains(option), "{error}");
    }
    for option in [&["--dialect", "cosmos"][..], &["--emulator"]] {
        let error = run(&[option, &["serve", "--port", "0", "--help"]].concat()).failed(2);
        assert!(error.contains("after the word serve"), "{error}");
    }
    // These words are not the command.
    run(&["--endpoint", "serve", "tables"]).failed(2);
    let serve = run(&["get", "serve", "--dialect", "none"]).failed(2);
    assert!(serve.contains("--dialect"), "{serve}");
}

#[test]
fn the_help_of_the_emulator_shows_a_fault_that_works() {
    let help = run(&["serve", "--help"]).done();
    assert!(help.contains("/-/faults \\\n"), "{help}");
    let plan = help.split("-d '").nth(1).unwrap().split('\'').next().unwrap();
    let emulator = Emulator::start();
    emulator.run(&["create", "Blogs", "-q"]).done();
    emulator.add_faults(plan);
    emulator.run(&["put", "Blogs", "p", "r", "A=x", "--insert"]).done();
    assert_eq!(emulator.end_faults(), 2);
}

#[test]
fn an_option_of_two_accounts_leads_to_that_of_one() {
    let error = run(&["import", "rows.jsonl", "Blogs", "--to", "file:a"]).failed(2);
    assert!(error.contains("'--connection-from'") && !error.contains("-- --to"), "{error}");
}

#[test]
fn errors_lead_to_the_option_for_all_tables() {
    assert!(run(&["count"]).failed(2).contains("count [OPTIONS] --all-tables"));
    for table in [&[][..], &["Blogs"]] {
        let error = run(&[&["import", "."], table].concat()).failed(2);
        assert!(error.contains("--all-tables"), "{error}");
    }
}

#[test]
fn the_first_lines_of_help_say_that_rows_are_replaced() {
    for command in ["import", "copy"] {
        let short = run(&[command, "-h"]).done();
        let first = short.lines().next().unwrap();
        assert!(first.contains("existing rows are replaced"), "{first}");
        let long = run(&[command, "--help"]).done();
        let second = long.lines().nth(2).unwrap();
        assert!(second.contains("are replaced without a question"), "{second}");
    }
}

#[test]
fn help_states_what_the_questions_and_files_of_a_command_are() {
    for (command, text) in [
        ("tables", "replace files and lists of earlier runs without a question"),
        ("import", "PartitionKey,RowKey,Text@String,Rating@Int32"),
        ("import", "With --mode insert, replace and merge, a missing checkpoint is an error"),
        ("delete", "After an interruption, repeat the command with another file"),
    ] {
        let help = run(&[command, "--help"]).done();
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains(text), "{command}: {help}");
    }
}
