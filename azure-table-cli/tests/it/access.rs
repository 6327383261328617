//! Connections, `sas`, `whoami` and `sql`.

use azure_table_client::auth::DEVELOPMENT_KEY;

use crate::support::{Emulator, Folder, Run, command, run};

#[test]
fn an_account_comes_from_a_file_or_variables() {
    let emulator = Emulator::start();
    emulator.run(&["create", "Blogs"]).done();
    let folder = Folder::new();
    std::fs::write(folder.path().join("account"), format!("{}\n", emulator.connection_string()))
        .unwrap();
    let source = format!("file:{}", folder.file("account"));
    assert_eq!(run(&["tables", "--connection-from", &source]).done(), "Blogs\n");
    run(&["tables", "--connection-from", "env:NOT_SET"]).failed(2);
    run(&["tables", "--connection-from", "file:not-there"]).failed(1);

    let endpoint = format!("{}/devstoreaccount1", emulator.origin);
    let with = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = command(arguments);
        Run::of(&command.envs(variables.iter().copied()).output().unwrap())
    };
    let key =
        [("AZURE_STORAGE_ACCOUNT", "devstoreaccount1"), ("AZURE_STORAGE_KEY", DEVELOPMENT_KEY)];
    assert_eq!(with(&key, &["tables", "--endpoint", &endpoint]).done(), "Blogs\n");
    let error = with(&[("AZURE_STORAGE_KEY", "x")], &["tables", "--endpoint", &endpoint]).failed(2);
    assert!(error.contains("AZURE_STORAGE_ACCOUNT"), "{error}");
    let named = [("MINE", emulator.connection_string())];
    let named = named.each_ref().map(|(name, text)| (*name, text.as_str()));
    assert_eq!(with(&named, &["tables", "--connection-from", "env:MINE"]).done(), "Blogs\n");
    let wrong = [("AZURE_STORAGE_ACCOUNT", "devstoreaccount1"), ("AZURE_STORAGE_KEY", "d3Jvbmc=")];
    let error = with(&wrong, &["tables", "--endpoint", &endpoint]).failed(8);
    assert!(error.contains("AuthenticationFailed") && !error.contains("d3Jvbmc="), "{error}");
}

#[test]
fn signatures_permit_what_they_state() {
    let emulator = Emulator::start();
    emulator.run(&["create", "Blogs"]).done();
    emulator.run(&["put", "Blogs", "a", "1"]).done();
    emulator.run(&["put", "Blogs", "b", "1"]).done();
    let sas = [
        "sas",
        "--table",
        "Blogs",
        "--permissions",
        "r",
        "--expires",
        "1h",
        "--http",
        "--partition-key",
        "a",
    ];
    let token = emulator.run(&sas).done();
    let endpoint = format!("{}/devstoreaccount1", emulator.origin);
    let signed = |token: &str, arguments: &[&str]| {
        let mut command = command(arguments);
        command.args(["--endpoint", &endpoint]).env("AZURE_STORAGE_SAS_TOKEN", token.trim());
        Run::of(&command.output().unwrap())
    };
    let rows =
        signed(&token, &["query", "Blogs", "-o", "raw", "--filter", "PartitionKey eq 'a'"]).done();
    assert_eq!(rows, "a\t1\n");
    // The service does not find a row outside of the range.
    signed(&token, &["get", "Blogs", "b", "1"]).failed(6);
    signed(&token, &["put", "Blogs", "a", "2"]).failed(8);

    let shown = signed(&token, &["whoami"]).done();
    let secret = token.split("sig=").nth(1).unwrap().trim();
    assert!(!shown.contains(secret) && !shown.contains("sig="), "{shown}");
    for part in [
        "permissions         r (read rows)",
        "first PartitionKey  a",
        "list tables         refused",
        "read rows           permitted",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let url = emulator
        .run(&[
            "sas",
            "-p",
            "l",
            "--resource-types",
            "c",
            "--expires",
            "2099-01-01T00:00:00Z",
            "--http",
            "--url",
        ])
        .done();
    assert!(url.starts_with(&format!("{endpoint}/?sv=")) && url.contains("sp=l"), "{url}");
    let mut tables = command(&["tables", "--connection-from", "env:URL"]);
    assert_eq!(Run::of(&tables.env("URL", &url).output().unwrap()).done(), "Blogs\n");
    // A signature for HTTPS does not work at an address of HTTP.
    let table = ["sas", "--table", "Blogs", "-p", "r", "--expires", "1h"];
    let error = emulator.run(&[&table[..], &["--url"]].concat()).failed(2);
    assert!(error.contains("plain HTTP") && error.contains("add --http"), "{error}");
    let noted = emulator.run(&table);
    assert!(noted.err.contains("plain HTTP") && noted.err.contains("add --http"), "{noted:?}");
    assert!(noted.done().contains("spr=https&"));
    for arguments in [
        &["sas", "--permissions", "x", "--expires", "1h"][..],
        &["sas", "--table", "Blogs", "--permissions", "w", "--expires", "1h"],
        &["sas", "--table", "Blogs", "--permissions", "r"],
        &[
            "sas",
            "--table",
            "Blogs",
            "--permissions",
            "r",
            "--expires",
            "1h",
            "--starts",
            "2090-01-01T00:00:00Z",
        ],
    ] {
        emulator.run(arguments).failed(2);
    }
    // A signature cannot sign.
    signed(&token, &["sas", "-p", "r", "--expires", "1h"]).failed(2);
}

#[test]
fn whoami_shows_the_key_and_never_writes() {
    let emulator = Emulator::start();
    let shown = emulator.run(&["whoami", "--table", "None"]).done();
    assert!(shown.contains("key of the account devstoreaccount1"), "{shown}");
    assert!(!shown.contains(DEVELOPMENT_KEY), "{shown}");
    assert!(shown.contains("read rows        not known"), "{shown}");
    assert!(shown.contains("whoami never writes"), "{shown}");
    let expected = serde_json::json!({
        "GetServiceProperties": 1,
        "GetTableAcl": 1,
        "ListTables": 1,
        "Query": 1,
    });
    assert_eq!(emulator.requests_by_operation(), expected);
    // No program listens at this port.
    let mut offline = command(&["whoami"]);
    let text =
        format!("AccountName=a;AccountKey={DEVELOPMENT_KEY};TableEndpoint=http://127.0.0.1:1/a");
    let offline = Run::of(&offline.env("AZURE_STORAGE_CONNECTION_STRING", text).output().unwrap());
    assert!(offline.out.contains("list tables      not known"), "{offline:?}");
    offline.failed(1);
}

#[cfg(unix)]
#[test]
fn sql_becomes_the_program_with_the_connection_in_its_environment() {
    use std::process::Stdio;

    // The program is a shell, which prints what it receives.
    const SCRIPT: &str = "echo \"$$ $AZURE_STORAGE_CONNECTION_STRING $*\"; exit 6";

    let folder = Folder::new();
    let run = |path: &str, arguments: &[&str]| {
        let mut sql = command(arguments);
        sql.env("PATH", path).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = sql.spawn().unwrap();
        (child.id(), Run::of(&child.wait_with_output().unwrap()))
    };
    let sql = ["--emulator", "sql", "-c", SCRIPT, "sh"];
    let error = run("", &sql).1.failed(1);
    assert!(error.contains("cargo install --path data/azure-table-sql"), "{error}");
    std::os::unix::fs::symlink("/bin/sh", folder.path().join("azure-table-sql")).unwrap();
    let path = folder.path().to_str().unwrap();
    // Everything after `sql` is for the program.
    for arguments in [&["--help", "SELECT 1"][..], &["--dialect", "cosmos", "--emulator", "-q"]] {
        let (id, end) = run(path, &[&sql, arguments].concat());
        let out = format!("{id} UseDevelopmentStorage=true {}\n", arguments.join(" "));
        assert_eq!((end.code, end.out, end.err), (Some(6), out, String::new()));
    }
}

#[cfg(unix)]
#[test]
fn sql_passes_on_the_options_of_the_connection() {
    // The program prints its arguments.
    let folder = Folder::new();
    std::os::unix::fs::symlink("/bin/echo", folder.path().join("azure-table-sql")).unwrap();
    let run = |arguments: &[&str]| {
        let mut sql = command(&[arguments, &["sql", "SELECT 1"]].concat());
        Run::of(&sql.env("PATH", folder.path()).output().unwrap())
    };
    let cosmos = run(&["--emulator", "--dialect", "cosmos", "--allow-http"]).done();
    assert_eq!(cosmos, "--dialect=cosmos --allow-http SELECT 1\n");
    let account = "https://a.table.core.windows.net";
    let signed_in = format!("--connection-from=entra:{account} SELECT 1\n");
    assert_eq!(run(&["--entra", "--endpoint", account]).done(), signed_in);
    assert_eq!(run(&["--connection-from", &format!("entra:{account}")]).done(), signed_in);
    assert_eq!(run(&[]).done(), "SELECT 1\n");
    assert!(run(&["--entra"]).failed(2).contains("pass --account NAME or --endpoint URL"));
}

#[test]
fn the_help_of_sql_states_where_options_go() {
    let help = Run::of(&command(&["help", "sql"]).output().unwrap()).done();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.contains("Options after the word sql go to azure-table-sql"), "{help}");
}

#[test]
fn policies_are_set_shown_and_removed() {
    let emulator = Emulator::start();
    emulator.run(&["create", "Blogs"]).done();
    let policies = |arguments: &[&str]| emulator.run(&[&["policies"], arguments].concat());
    policies(&["set", "Blogs", "readers", "--permissions", "r", "--expires", "30d"]).done();
    let writers = ["--permissions", "uar", "--starts", "2026-01-01T00:00:00Z"];
    policies(
        &[&["set", "Blogs", "writers", "--expires", "2031-01-01T00:00:00Z"], &writers[..]].concat(),
    )
    .done();
    // Without options it leaves all to the signatures.
    policies(&["set", "Blogs", "readers"]).done();
    let expected = "\
Id       Permissions  Start                         Expiry
readers
writers  rau          2026-01-01T00:00:00.0000000Z  2031-01-01T00:00:00.0000000Z
";
    assert_eq!(policies(&["get", "Blogs"]).done(), expected);
    policies(&["remove", "Blogs", "readers"]).done();
    let line = r#"{"Expiry":"2031-01-01T00:00:00.0000000Z","Id":"writers","Permissions":"rau","Start":"2026-01-01T00:00:00.0000000Z"}"#;
    assert_eq!(policies(&["get", "Blogs", "--output", "jsonl"]).done(), format!("{line}\n"));

    assert!(policies(&["remove", "Blogs", "readers"]).failed(6).contains("no policy \"readers\""));
    assert!(policies(&["set", "Blogs", "x", "--permissions", "rx"]).failed(2).contains("'x'"));
    assert!(policies(&["set", "Blogs", &"x".repeat(65)]).failed(2).contains("64"));
    for id in ["2", "3", "4", "5"] {
        policies(&["set", "Blogs", id]).done();
    }
    assert!(policies(&["set", "Blogs", "6"]).failed(2).contains('5'));
    policies(&["get", "None"]).failed(6);
}

#[test]
fn policies_and_signatures_without_all_terms_are_noted() {
    let emulator = Emulator::start();
    emulator.run(&["create", "Blogs"]).done();
    for (options, needed) in [
        (&[][..], Some("needs --permissions and --expires")),
        (&["--permissions", "r"], Some("needs --expires")),
        (&["--expires", "1d"], Some("needs --permissions")),
        (&["--permissions", "r", "--expires", "1d"], None),
    ] {
        let set = ["policies", "set", "Blogs", "readers"];
        let noted = emulator.run(&[&set[..], options].concat());
        let expected = needed.map(|needed| format!("{needed}\n"));
        assert!(noted.err.ends_with(expected.as_deref().unwrap_or_default()), "{noted:?}");
        assert_eq!((noted.err.is_empty(), noted.code), (needed.is_none(), Some(0)), "{noted:?}");
        assert_eq!(emulator.run(&[&set[..], options, &["-q"]].concat()).err, "");
    }
    let sign = |policy: &str, options: &[&str]| {
        let sas = ["sas", "--table", "Blogs", "--http", "--policy", policy];
        emulator.run(&[&sas[..], options].concat())
    };
    let known = sign("readers", &[]);
    assert!(known.err.is_empty() && known.done().contains("si=readers"));
    let unknown = sign("writers", &[]);
    assert!(unknown.err.contains("the table Blogs has no policy \"writers\""), "{unknown:?}");
    assert!(unknown.done().contains("si=writers"));
    let requests = emulator.requests();
    assert_eq!(sign("writers", &["-q"]).err, "");
    assert_eq!(emulator.requests(), requests);
    // Without a connection, the signature is printed all the same.
    let mut offline = command(&["sas", "--table", "Blogs", "--policy", "writers"]);
    let endpoint = "http://127.0.0.1:1/a";
    let text = format!("AccountName=a;AccountKey={DEVELOPMENT_KEY};TableEndpoint={endpoint}");
    offline.arg("--http").env("AZURE_STORAGE_CONNECTION_STRING", text);
    let offline = Run::of(&offline.output().unwrap());
    assert!(offline.err.is_empty() && offline.done().contains("si=writers"));
}
