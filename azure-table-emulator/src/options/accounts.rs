//! The accounts and their keys.

use std::fmt;
use std::path::PathBuf;

use azure_table_client::auth::{DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY, SharedKey};

use super::arguments::{Given, KeySource};
use super::environment::{self, Environment, full_name};
use super::{OptionsError, error};

/// Azurite's variable, a list like that of `AZURE_TABLE_EMULATOR_ACCOUNTS`.
const AZURITE_ACCOUNTS: &str = "AZURITE_ACCOUNTS";
/// An account has one or two keys, so that one can be replaced while clients use the other.
const MAX_KEYS: usize = 2;

/// An account and its keys. The keys are hidden in `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) name: String,
    /// One or two keys in base64.
    pub(crate) keys: Vec<String>,
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Account {
    /// Returns `true` if a key is the one of the development account, which everybody knows.
    pub(crate) fn has_public_key(&self) -> bool {
        self.keys.iter().any(|key| key == DEVELOPMENT_KEY)
    }

    /// `KEY` or `KEY:KEY2`
    fn new(name: &str, keys: &str) -> Self {
        let keys = keys.split(':').map(|key| key.trim().to_owned()).collect();
        Self { name: name.trim().into(), keys }
    }
}

/// Returns the accounts and the file that lists them. Arguments override variables, and the default is the
/// development account.
pub(super) fn of(
    given: &mut Given,
    environment: &Environment<'_>,
) -> Result<(Vec<Account>, Option<PathBuf>), OptionsError> {
    let has_pairs = !given.names.is_empty() || !given.keys.is_empty();
    let file = match given.take_path("accounts-file") {
        Some(_) if has_pairs => {
            return error("--accounts-file excludes --account, --account-key and --key-file");
        }
        None if has_pairs => None,
        file => file.or_else(|| environment.path("accounts-file")),
    };
    if let Some(file) = file {
        let accounts = parse_list(&environment::read(&file)?, &file.display().to_string())?;
        return Ok((accounts, Some(file)));
    }
    let accounts = if has_pairs {
        let (names, keys) = (std::mem::take(&mut given.names), std::mem::take(&mut given.keys));
        check(pairs(names, keys)?)?
    } else {
        of_variables(environment)?
    };
    Ok((accounts, None))
}

/// Parses `name:key[:key2]`, separated by semicolons or lines.
pub(crate) fn parse_list(list: &str, source: &str) -> Result<Vec<Account>, OptionsError> {
    let entries = list.split([';', '\n']).map(str::trim);
    let accounts = entries.filter(|entry| !entry.is_empty()).map(|entry| {
        let Some((name, keys)) = entry.split_once(':') else {
            return error(format!(
                "{source} must be a list of name:key or name:key:key2, separated by semicolons"
            ));
        };
        Ok(Account::new(name, keys))
    });
    check(accounts.collect::<Result<_, _>>()?)
}

fn of_variables(environment: &Environment<'_>) -> Result<Vec<Account>, OptionsError> {
    let name = environment.text("account")?;
    let key = environment.text("account-key")?.map(KeySource::Text);
    let key_file = environment.path("key-file").map(KeySource::File);
    let is_one = name.is_some() || key.is_some() || key_file.is_some();
    if let Some(list) = environment.text("accounts")? {
        if is_one {
            return error(
                "AZURE_TABLE_EMULATOR_ACCOUNTS excludes the variables of one account: \
                 AZURE_TABLE_EMULATOR_ACCOUNT, …_ACCOUNT_KEY and …_KEY_FILE",
            );
        }
        return parse_list(&list, &full_name("accounts"));
    }
    if let (false, Some(list)) = (is_one, environment.named(AZURITE_ACCOUNTS)?) {
        return parse_list(&list, AZURITE_ACCOUNTS);
    }
    check(pairs(name.into_iter().collect(), key.into_iter().chain(key_file).collect())?)
}

/// Pairs names and keys in their order. The development account supplies a single missing name or key.
fn pairs(mut names: Vec<String>, mut keys: Vec<KeySource>) -> Result<Vec<Account>, OptionsError> {
    if names.is_empty() && keys.len() <= 1 {
        names.push(DEVELOPMENT_ACCOUNT.into());
    }
    if keys.is_empty() && names.len() == 1 && names[0] == DEVELOPMENT_ACCOUNT {
        keys.push(KeySource::Text(DEVELOPMENT_KEY.into()));
    }
    match (names.len(), keys.len()) {
        (names, keys) if names > keys => error("an account has no key: each needs its own"),
        (names, keys) if names < keys => error("a key has no account: each needs its own"),
        _ => {
            names.iter().zip(keys).map(|(name, key)| Ok(Account::new(name, &key.read()?))).collect()
        }
    }
}

impl KeySource {
    /// `KEY` or `KEY:KEY2`. A file may have the second key in its second line.
    fn read(self) -> Result<String, OptionsError> {
        match self {
            Self::Text(text) => Ok(text),
            Self::File(file) => {
                Ok(environment::read(&file)?.split_whitespace().collect::<Vec<_>>().join(":"))
            }
        }
    }
}

/// Checks the names by the service's rules, so that each is one path segment, and the keys.
fn check(accounts: Vec<Account>) -> Result<Vec<Account>, OptionsError> {
    if accounts.is_empty() {
        return error("no account is set");
    }
    for (at, Account { name, keys }) in accounts.iter().enumerate() {
        let is_name = (3..=24).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        if !is_name {
            return error("the name of an account must have 3 to 24 lower-case letters and digits");
        }
        if accounts[..at].iter().any(|other| other.name == *name) {
            return error(format!("the account {name} is set twice"));
        }
        if keys.len() > MAX_KEYS {
            return error(format!("the account {name} has more than {MAX_KEYS} keys"));
        }
        if keys.iter().any(|key| SharedKey::new(name, key).is_err()) {
            return error(format!("a key of the account {name} is not valid base64"));
        }
    }
    Ok(accounts)
}
