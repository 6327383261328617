use super::*;

fn parse(arguments: &[&str], variables: &[(&str, &str)]) -> Result<Command, String> {
    let arguments = arguments.iter().map(OsString::from);
    let variable = |name: &str| {
        let short = name.strip_prefix("AZURE_TABLE_MOCK_")?;
        variables.iter().find(|(known, _)| *known == short).map(|(_, value)| value.into())
    };
    Command::parse(arguments, variable).map_err(|error| error.to_string())
}

fn options(arguments: &[&str], variables: &[(&str, &str)]) -> Options {
    match parse(arguments, variables).unwrap() {
        Command::Run(options) => options,
        other => panic!("{other:?}"),
    }
}

fn accounts(options: &Options) -> Vec<(&str, &str)> {
    options.accounts.iter().map(|account| (&*account.name, &*account.key)).collect()
}

#[test]
fn the_default_is_the_development_account_on_loopback() {
    let options = options(&[], &[("HOST", ""), ("LOG", "0")]);
    assert_eq!((&*options.host, options.port), ("127.0.0.1", 10002));
    assert_eq!(accounts(&options), [(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY)]);
    assert_eq!(
        (options.data, options.log, options.loose, options.page),
        (None, false, false, true)
    );
}

#[test]
fn an_argument_overrides_its_variable() {
    let variables = [("HOST", "::1"), ("PORT", "1"), ("DATA", "a"), ("LOG", "1"), ("KEY", "QQ==")];
    let of_variables = options(&[], &variables);
    assert_eq!((&*of_variables.host, of_variables.port), ("::1", 1));
    assert_eq!((of_variables.data, of_variables.log), (Some("a".into()), true));
    let dev = DEVELOPMENT_ACCOUNT;
    assert_eq!(of_variables.accounts, [Account { name: dev.into(), key: "QQ==".into() }]);

    let arguments = "--host 0.0.0.0 --port=0 --data b --loose --no-page --account one --key Qg==";
    let both = options(&arguments.split(' ').collect::<Vec<_>>(), &variables);
    assert_eq!((&*both.host, both.port, both.loose, both.page), ("0.0.0.0", 0, true, false));
    assert_eq!((accounts(&both), both.data.is_some()), (vec![("one", "Qg==")], true));
}

#[test]
fn accounts_and_keys_are_pairs() {
    let two = ["--account", "one", "--key", "QQ==", "--account", "two", "--key", "Qg=="];
    let expected = [("one", "QQ=="), ("two", "Qg==")];
    assert_eq!(accounts(&options(&two, &[])), expected);
    assert_eq!(accounts(&options(&[], &[("ACCOUNTS", "one:QQ==; two:Qg==;")])), expected);
    assert_eq!(accounts(&options(&["--key", "QQ=="], &[])), [(DEVELOPMENT_ACCOUNT, "QQ==")]);
    let named = options(&["--account", DEVELOPMENT_ACCOUNT], &[]);
    assert_eq!(accounts(&named), [(DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY)]);
}

#[test]
fn help_and_version_override_all_other_options() {
    assert_eq!(parse(&["--help"], &[("PORT", "x")]), Ok(Command::Help));
    assert_eq!(parse(&["--log", "-V", "--nothing"], &[]), Ok(Command::Version));
}

#[test]
fn an_error_is_one_line_without_a_key() {
    for (arguments, variables, expected) in [
        (&["--prot", "1"][..], &[][..], "unknown option --prot; see --help"),
        (&["-x"], &[], "unknown option -x; see --help"),
        (&["secret"], &[], "an argument is neither an option nor its value; see --help"),
        (&["--log=secret"], &[], "an argument is neither an option nor its value; see --help"),
        (
            &["--log=secret", "--loose"],
            &[],
            "an argument is neither an option nor its value; see --help",
        ),
        (&["--port"], &[], "--port needs a value"),
        (&["--port", "65536"], &[], "--port is a number from 0 to 65535"),
        (&[], &[("PORT", "x")], "AZURE_TABLE_MOCK_PORT is a number from 0 to 65535"),
        (&[], &[("LOG", "yes")], "AZURE_TABLE_MOCK_LOG must be 1, true, 0 or false"),
        (
            &["--account", "one", "--key", "se cret"],
            &[],
            "the key of the account one is not valid base64",
        ),
        (&["--account", "one"], &[], "an account has no key: each needs its own"),
        (&["--key", "a", "--key", "secret"], &[], "a key has no account: each needs its own"),
        (
            &["--account", "-", "--key", "secret"],
            &[],
            "the name of an account must have 3 to 24 lower-case letters and digits",
        ),
        (
            &[],
            &[("ACCOUNTS", "secret")],
            "AZURE_TABLE_MOCK_ACCOUNTS must be a list of name:key, separated by semicolons",
        ),
        (&[], &[("ACCOUNTS", "one:QQ==;one:QQ==")], "the account one is set twice"),
        (&[], &[("ACCOUNTS", ";")], "no account is set"),
        (
            &[],
            &[("ACCOUNTS", "one:QQ=="), ("KEY", "secret")],
            "AZURE_TABLE_MOCK_ACCOUNTS excludes AZURE_TABLE_MOCK_ACCOUNT and …_KEY",
        ),
    ] {
        assert_eq!(parse(arguments, variables), Err(expected.to_owned()), "{arguments:?}");
    }
    let account = Account { name: "one".into(), key: "secret".into() };
    assert!(!format!("{account:?}").contains("secret"));
}
