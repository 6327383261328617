use std::fs;
use std::path::Path;

use azure_table_client::auth::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};
use azure_table_mock::TableService;

use super::*;

/// Parses with variables, whose prefix `AZURE_TABLE_EMULATOR_` is left out. A `-` hides the prefix.
fn parse(arguments: &[&str], variables: &[(&str, &str)]) -> Result<Command, String> {
    let arguments = arguments.iter().map(OsString::from);
    let variable = |name: &str| {
        let short = name.strip_prefix("AZURE_TABLE_EMULATOR_").unwrap_or(name);
        variables.iter().find(|(known, _)| *known == short).map(|(_, value)| value.into())
    };
    Command::parse(arguments, variable).map_err(|error| error.to_string())
}

fn options(arguments: &[&str], variables: &[(&str, &str)]) -> Options {
    match parse(arguments, variables).unwrap() {
        Command::Run(options) => *options,
        other => panic!("{other:?}"),
    }
}

fn accounts(options: &Options) -> Vec<(&str, String)> {
    options.accounts.iter().map(|account| (&*account.name, account.keys.join(" "))).collect()
}

fn own(accounts: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    accounts.iter().map(|(name, key)| (*name, (*key).to_owned())).collect()
}

/// Writes a file into the folder of the tests' files.
fn file(name: &str, content: &str) -> String {
    let path = std::env::temp_dir().join(format!("atm-options-{}-{name}", std::process::id()));
    fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn the_arguments_of_azurite_for_other_services_are_accepted() {
    let parse =
        |arguments: &[&str]| match Command::parse(arguments.iter().map(Into::into), |_| None) {
            Ok(Command::Run(options)) => Ok((options.port, options.names_other_services)),
            other => Err(format!("{other:?}")),
        };
    // The arguments of Testcontainers and Aspire.
    let given = "azurite --blobHost 0.0.0.0 --queueHost 0.0.0.0 --tableHost 0.0.0.0 --blobPort 10000 --queuePort 10001 \
                 --tablePort 7 --extentMemoryLimit 50 --blobKeepAliveTimeout 5 --skipApiVersionCheck";
    assert_eq!(parse(&given.split_whitespace().collect::<Vec<_>>()), Ok((7, true)));
    assert_eq!(parse(&["azurite-table", "--tablePort", "7"]), Ok((7, false)));
    for bad in [&["--blobPort"][..], &["--blobSize", "1"], &["azure"], &["--queue", "1"]] {
        assert!(parse(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn the_default_is_the_development_account_on_loopback() {
    let options = options(&[], &[("HOST", ""), ("LOG", "0"), ("DATA", "")]);
    assert_eq!((&*options.host, options.port), ("127.0.0.1", 10002));
    assert_eq!(accounts(&options), own(&[(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY)]));
    assert_eq!(
        (&options.data, options.log, options.loose, options.page),
        (&None, None, false, true)
    );
    assert_eq!((options.tls, options.oauth, options.account_in_host), (None, false, true));
    assert_eq!((options.max_connections, options.keep_alive), (1_000, None));
    assert_eq!((options.control_token, options.read_only), (None, false));
    assert!(!options.exact_types);
}

#[test]
fn the_dialect_is_that_of_azure_storage_or_of_cosmos_db() {
    assert_eq!(options(&[], &[]).dialect, Dialect::AzureStorage);
    assert_eq!(options(&["--dialect", "cosmos"], &[]).dialect, Dialect::CosmosDb);
    assert_eq!(options(&[], &[("DIALECT", "cosmos")]).dialect, Dialect::CosmosDb);
    assert_eq!(
        options(&["--dialect=storage"], &[("DIALECT", "cosmos")]).dialect,
        Dialect::AzureStorage
    );
    let error = parse(&["--dialect", "Cosmos"], &[]).unwrap_err();
    assert_eq!(error, "--dialect must be storage or cosmos");
}

#[test]
fn an_argument_overrides_its_variable() {
    let variables =
        [("HOST", "::1"), ("PORT", "1"), ("DATA", "a"), ("LOG", "1"), ("ACCOUNT_KEY", "QQ==")];
    let of_variables = options(&[], &variables);
    assert_eq!((&*of_variables.host, of_variables.port), ("::1", 1));
    assert_eq!(of_variables.data, Some("a".into()));
    assert_eq!(of_variables.log, Some(LogFormat::Text));
    assert_eq!(accounts(&of_variables), own(&[(DEVELOPMENT_ACCOUNT, "QQ==")]));

    let arguments =
        "--host 0.0.0.0 --port=0 --data b --loose --no-page --account one --account-key Qg==";
    let both = options(&arguments.split(' ').collect::<Vec<_>>(), &variables);
    assert_eq!((&*both.host, both.port, both.loose, both.page), ("0.0.0.0", 0, true, false));
    assert_eq!(accounts(&both), own(&[("one", "Qg==")]));
    assert_eq!(both.data, Some("b".into()));
}

#[test]
fn options_of_page_control_and_limits_are_read() {
    let token = file("token", "t0ken\n");
    let arguments = [
        "--allow-host",
        "tables",
        "--allow-host",
        "db",
        "--seed",
        "a",
        "--seed",
        "b",
        "--faults",
        "f",
        "--read-only",
        "--exact-types",
        "--max-connections",
        "7",
        "--control-token-file",
        &token,
        "--log",
        "json",
    ];
    let given = options(&arguments, &[]);
    let variables = [
        ("ALLOW_HOST", "tables, db"),
        ("SEED", "a"),
        ("FAULTS", "f"),
        ("READ_ONLY", "true"),
        ("EXACT_TYPES", "1"),
        ("MAX_CONNECTIONS", "7"),
        ("CONTROL_TOKEN", "t0ken"),
        ("LOG", "json"),
    ];
    let of_variables = options(&[], &variables);
    assert_eq!(given.seed, [Path::new("a"), Path::new("b")]);
    assert_eq!(of_variables.seed, [Path::new("a")]);
    for options in [given, of_variables] {
        assert_eq!(options.allow_hosts, ["tables", "db"]);
        assert_eq!(options.faults, Some("f".into()));
        assert_eq!((options.read_only, options.max_connections), (true, 7));
        assert!(options.exact_types);
        assert_eq!(options.control_token.as_deref(), Some("t0ken"));
        assert_eq!(options.log, Some(LogFormat::Json));
    }
}

#[test]
fn the_format_of_the_log_is_optional() {
    let log = |arguments: &[&str]| options(arguments, &[]).log;
    assert_eq!(log(&["--log"]), Some(LogFormat::Text));
    assert_eq!(log(&["--log", "--loose"]), Some(LogFormat::Text));
    assert_eq!(log(&["--log", "json", "--loose"]), Some(LogFormat::Json));
    assert_eq!(log(&["--log=json"]), Some(LogFormat::Json));
    assert_eq!(log(&["--log", "--silent"]), None);
}

#[test]
fn accounts_and_keys_are_pairs() {
    // Some editors on Windows write a byte order mark.
    let key_file = file("keys", "\u{feff}Qg==\nQw==\n");
    let two =
        ["--account", "one", "--account-key", "QQ==", "--account", "two", "--key-file", &key_file];
    let expected = own(&[("one", "QQ=="), ("two", "Qg== Qw==")]);
    assert_eq!(accounts(&options(&two, &[])), expected);
    let list = "one:QQ==; two:Qg==:Qw==;";
    assert_eq!(accounts(&options(&[], &[("ACCOUNTS", list)])), expected);
    assert_eq!(accounts(&options(&[], &[("AZURITE_ACCOUNTS", list)])), expected);
    let of_file = options(&["--accounts-file", &file("accounts", &list.replace(';', "\n"))], &[]);
    assert_eq!(accounts(&of_file), expected);
    assert!(of_file.accounts_file.is_some());

    let one = own(&[(DEVELOPMENT_ACCOUNT, "QQ==")]);
    assert_eq!(accounts(&options(&["--account-key", "QQ=="], &[])), one);
    let both = [("ACCOUNT_KEY", "QQ=="), ("AZURITE_ACCOUNTS", list)];
    assert_eq!(accounts(&options(&[], &both)), one, "the program's own variables come first");
    let named = options(&["--account", DEVELOPMENT_ACCOUNT], &[]);
    assert_eq!(accounts(&named), own(&[(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY)]));
}

#[test]
fn the_options_of_azurite_table_have_its_meaning() {
    let arguments = "--tableHost 0.0.0.0 --tablePort 7 --tableKeepAliveTimeout 5 -l dir -s -L -d log.txt \
         --skipApiVersionCheck --disableProductStyleUrl --disableTelemetry --cert c.pem --key k.pem \
         --oauth basic";
    let given = options(&arguments.split_whitespace().collect::<Vec<_>>(), &[]);
    assert_eq!((&*given.host, given.port, given.loose), ("0.0.0.0", 7, true));
    assert_eq!(given.keep_alive, Some(Duration::from_secs(5)));
    assert_eq!((given.data, given.log), (Some("dir".into()), None));
    assert_eq!(given.log_file, Some("log.txt".into()));
    assert_eq!((given.account_in_host, given.oauth), (false, true));
    let pem = Tls::Pem { certificates: "c.pem".into(), key: "k.pem".into() };
    assert_eq!(given.tls, Some(pem));

    let long = "--location dir --silent --loose --debug log.txt --cert c.pfx --pwd secret";
    let given = options(&long.split_whitespace().collect::<Vec<_>>(), &[]);
    assert_eq!((given.data, given.loose), (Some("dir".into()), true));
    let pfx = Tls::Pfx { file: "c.pfx".into(), password: "secret".into() };
    assert!(!format!("{pfx:?}").contains("secret"));
    assert_eq!(given.tls.as_ref(), Some(&pfx));
    let secret = file("pwd", " se cret \r\n");
    let of_file = options(&["--cert", "c.pfx", "--pwd-file", &secret], &[]).tls;
    let of_variable = options(&[], &[("CERT", "c.pfx"), ("PWD_FILE", &secret)]).tls;
    let pfx = Tls::Pfx { file: "c.pfx".into(), password: " se cret ".into() };
    assert_eq!((of_file.as_ref(), of_variable.as_ref()), (Some(&pfx), Some(&pfx)));
    assert_eq!(options(&["--inMemoryPersistence"], &[]).data, None);
    assert_eq!(options(&["--tableKeepAliveTimeout", "0"], &[]).keep_alive, None);
}

#[test]
fn the_self_signed_certificate_is_in_a_folder() {
    let folder = |arguments: &[&str]| options(arguments, &[]).tls;
    let of = |folder: &str| Some(Tls::SelfSigned { folder: folder.into() });
    assert_eq!(folder(&["--self-signed=certs"]), of("certs"));
    assert_eq!(folder(&["--self-signed", "--data", "d"]), of("d"));
    assert_eq!(folder(&["--self-signed=certs", "--data", "d"]), of("certs"));
    assert_eq!(options(&[], &[("SELF_SIGNED", "certs")]).tls, of("certs"));
    assert_eq!(options(&[], &[("SELF_SIGNED", "1"), ("DATA", "d")]).tls, of("d"));
}

#[test]
fn help_and_version_override_all_other_options() {
    assert_eq!(parse(&["--help"], &[("PORT", "x")]), Ok(Command::Help));
    assert_eq!(parse(&["--log", "-V", "--nothing"], &[]), Ok(Command::Version));
}

/// Each name in the parser's tables is in the help.
#[test]
fn help_names_every_option() {
    let texts = include_str!("arguments.rs").split('"');
    let names = texts.filter(|text| text.starts_with("--") && !text.contains([' ', '{']));
    for name in names {
        assert!(HELP.contains(name), "{name}");
    }
    assert!(HELP.lines().all(|line| line.len() <= 104), "lines fit a terminal");
}

/// The mock accepts each fault with the members in its line, and knows no other one.
#[test]
fn help_has_a_line_for_each_fault() {
    let service = TableService::new();
    let error = service.faults().add_json(r#"{"fault":"none"}"#).unwrap_err().to_string();
    let names = error.split("it is ").nth(1).unwrap().replace(" or ", ", ");
    let section = HELP.split("the members that each needs:\n").nth(1).unwrap();
    let lines = section.lines().take_while(|line| !line.contains("Optional"));
    let mut listed = Vec::new();
    for line in lines {
        let (fault, _) = line.trim_start().split_once("  ").unwrap();
        let mut words = fault.split(' ');
        let name = words.next().unwrap();
        let mut plan = serde_json::json!({ "fault": name });
        for member in words {
            plan[member] = if member == "code" { "Odd".into() } else { 500.into() };
        }
        service.faults().add_json(&plan.to_string()).unwrap();
        listed.push(name);
    }
    assert_eq!(listed, names.split(", ").map(str::trim).collect::<Vec<_>>());
}

#[test]
fn an_error_is_one_line_without_a_key() {
    for (arguments, variables, expected) in [
        (&["--prot", "1"][..], &[][..], "unknown option --prot; see --help"),
        (&["-x"], &[], "unknown option -x; see --help"),
        (&["secret"], &[], "an argument is neither an option nor its value; see --help"),
        (&["--log=secret"], &[], "--log must be text or json"),
        (&["--loose=secret"], &[], "an argument is neither an option nor its value; see --help"),
        (&["--port"], &[], "--port needs a value"),
        (&["--port", "65536"], &[], "--port is a number from 0 to 65535"),
        (&[], &[("PORT", "x")], "AZURE_TABLE_EMULATOR_PORT is a number from 0 to 65535"),
        (&[], &[("LOG", "yes")], "AZURE_TABLE_EMULATOR_LOG must be text or json"),
        (&[], &[("LOOSE", "yes")], "AZURE_TABLE_EMULATOR_LOOSE must be 1, true, 0 or false"),
        (&["--max-connections", "0"], &[], "--max-connections is a number of at least 1"),
        (
            &["--account", "one", "--account-key", "se cret"],
            &[],
            "a key of the account one is not valid base64",
        ),
        (&["--account", "one"], &[], "an account has no key: each needs its own"),
        (
            &["--account-key", "a", "--account-key", "secret"],
            &[],
            "a key has no account: each needs its own",
        ),
        (
            &["--account", "-", "--account-key", "secret"],
            &[],
            "the name of an account must have 3 to 24 lower-case letters and digits",
        ),
        (
            &[],
            &[("ACCOUNTS", "secret")],
            "AZURE_TABLE_EMULATOR_ACCOUNTS must be a list of name:key or name:key:key2, separated by semicolons",
        ),
        (
            &[],
            &[("AZURITE_ACCOUNTS", "secret")],
            "AZURITE_ACCOUNTS must be a list of name:key or name:key:key2, separated by semicolons",
        ),
        (&[], &[("ACCOUNTS", "one:QQ==;one:QQ==")], "the account one is set twice"),
        (&[], &[("ACCOUNTS", "one:QQ==:QQ==:QQ==")], "the account one has more than 2 keys"),
        (&[], &[("ACCOUNTS", ";")], "no account is set"),
        (
            &[],
            &[("ACCOUNTS", "one:QQ=="), ("ACCOUNT_KEY", "secret")],
            "AZURE_TABLE_EMULATOR_ACCOUNTS excludes the variables of one account: \
             AZURE_TABLE_EMULATOR_ACCOUNT, …_ACCOUNT_KEY and …_KEY_FILE",
        ),
        (&["--data", ""], &[], "--data needs a path: the value is empty"),
        (
            &["-l", "a", "--inMemoryPersistence"],
            &[],
            "--inMemoryPersistence and a folder for the data exclude each other",
        ),
        (
            &["--key", "secret"],
            &[],
            "--key is the file of the TLS key and needs --cert; an account's key is --account-key",
        ),
        (&["--cert", "a"], &[], "--cert needs --key FILE (PEM) or --pwd PASSWORD (PFX)"),
        (
            &["--cert", "a", "--pwd", "secret", "--pwd-file", "b"],
            &[],
            "--pwd and --pwd-file exclude each other",
        ),
        (&["--oauth", "basic"], &[], "--oauth needs HTTPS: add --cert or --self-signed"),
        (&["--oauth", "secret"], &[], "--oauth must be basic"),
        (
            &["--self-signed"],
            &[],
            "--self-signed needs a folder: add --self-signed=DIR or --data DIR",
        ),
        (&["--control-token", ""], &[], "--control-token needs a token: the value is empty"),
    ] {
        assert_eq!(parse(arguments, variables), Err(expected.to_owned()), "{arguments:?}");
    }
    let missing = fs::read("/no/file").unwrap_err();
    let expected = format!("/no/file cannot be read: {missing}");
    assert_eq!(parse(&["--key-file", "/no/file"], &[]), Err(expected));
    let account = Account { name: "one".into(), keys: vec!["secret".into()] };
    assert!(!format!("{account:?}").contains("secret"));
}
