//! The accounts. Each has its own service. The first segment of a path names it, or the host does.

use std::error::Error;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::SystemTime;

use azure_table_client::clock::SystemClock;
use azure_table_client::mock::{MockTableService, MockTableServiceBuilder};
use azure_table_mock::DiskStatus;

use crate::folder::create_private;
use crate::log::Log;
use crate::oauth;
use crate::options::{Account, Options, parse_list};

/// The number of requests of an account that the page and the control API show.
const KEPT_REQUESTS: usize = 1_000;
/// The number of bytes of request bodies of an account that the page shows.
const KEPT_PAYLOAD_BYTES: usize = 1024 * 1024;

/// The accounts in the order of the options. There is at least one.
#[derive(Debug)]
pub(crate) struct Accounts {
    current: RwLock<Arc<[Arc<Served>]>>,
    /// Accounts that were removed, with their tables. An account that is added again has its old tables.
    removed: Mutex<Vec<Arc<Served>>>,
    options: Arc<Options>,
    log: Option<Arc<Log>>,
}

/// The state of the disk for all accounts.
#[derive(Debug)]
pub(crate) struct Disk {
    pub(crate) commits: u64,
    /// A line for each account whose changes cannot be written now.
    pub(crate) failures: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) name: String,
    pub(crate) service: MockTableService,
    is_open: AtomicBool,
}

impl Served {
    /// Returns `true` if no secret protects the account: it accepts requests without a signature or tokens
    /// that every client can write, or its key is public.
    pub(crate) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }
}

impl Accounts {
    pub(crate) fn open(options: &Arc<Options>) -> Result<Self, String> {
        if let Some(folder) = &options.data {
            create_private(folder).map_err(|error| {
                format!("the folder {} cannot be created: {error}", folder.display())
            })?;
        }
        let accounts = Self {
            current: RwLock::new(Arc::new([])),
            removed: Mutex::default(),
            options: Arc::clone(options),
            log: Log::open(options)?.map(Arc::new),
        };
        accounts.replace(&options.accounts)?;
        Ok(accounts)
    }

    /// Returns the accounts. They may change later.
    pub(crate) fn all(&self) -> Arc<[Arc<Served>]> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Arc<Served>> {
        let all = self.all();
        (0..all.len()).map(move |at| Arc::clone(&all[at]))
    }

    pub(crate) fn named(&self, name: &str) -> Option<Arc<Served>> {
        self.iter().find(|account| account.name == name)
    }

    /// The state of the disk, if the tables are kept in files.
    pub(crate) fn disk(&self) -> Option<Disk> {
        let all = self.all();
        let states: Vec<_> =
            all.iter().filter_map(|one| Some((&one.name, one.service.disk()?))).collect();
        let failure = |(name, state): &(&String, DiskStatus)| {
            let failure = state.failure.as_ref()?;
            Some(format!("the changes of {name} cannot be written: {failure}"))
        };
        (!states.is_empty()).then(|| Disk {
            commits: states.iter().map(|(_, state)| state.commits).sum(),
            failures: states.iter().filter_map(failure).collect(),
        })
    }

    /// Returns the account that the host or the path names. The first account refuses
    /// requests without an account.
    pub(crate) fn of(&self, host: &str, path: &str) -> Arc<Served> {
        let all = self.all();
        let named = |name: &str| {
            let name = name.strip_suffix("-secondary").unwrap_or(name);
            all.iter().find(|account| account.name == name)
        };
        let label = first_label(host).filter(|_| self.options.account_in_host);
        let of_host = label.and_then(|label| named(&label.to_ascii_lowercase()));
        let segment = path.strip_prefix('/').unwrap_or(path).split('/').next().unwrap_or_default();
        Arc::clone(of_host.or_else(|| named(segment)).unwrap_or(&all[0]))
    }

    /// Reads the file of the accounts. On an error, the accounts remain as they were.
    pub(crate) fn read_again(&self, file: &Path, text: &str) -> Result<(), String> {
        let accounts = parse_list(text, &file.display().to_string());
        self.replace(&accounts.map_err(|error| error.to_string())?)
    }

    /// Serves these accounts with their keys. The tables of known accounts remain.
    fn replace(&self, accounts: &[Account]) -> Result<(), String> {
        let mut removed = self.removed.lock().unwrap_or_else(PoisonError::into_inner);
        let all = self.all();
        let known = |name: &str| {
            all.iter().chain(removed.iter()).find(|known| known.name == *name).cloned()
        };
        let served = accounts.iter().map(|account| match known(&account.name) {
            Some(known) => Ok(known),
            None => self.serve(account).map(Arc::new),
        });
        let served: Arc<[_]> = served.collect::<Result<_, String>>()?;
        if served.is_empty() {
            return Err("no account is set".into());
        }
        for (account, served) in accounts.iter().zip(served.iter()) {
            let keys: Vec<_> = account.keys.iter().map(String::as_str).collect();
            let failed = |error| format!("the account {}: {error}", account.name);
            served.service.set_keys(&keys).map_err(failed)?;
            let is_open = self.options.loose || self.options.oauth || account.has_public_key();
            served.is_open.store(is_open, Ordering::Relaxed);
        }
        let is_served = |one: &Arc<Served>| served.iter().any(|other| other.name == one.name);
        removed.extend(all.iter().cloned());
        removed.retain(|one| !is_served(one));
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = served;
        Ok(())
    }

    fn serve(&self, account: &Account) -> Result<Served, String> {
        let Account { name, keys } = account;
        let key = keys.first().map(String::as_str).unwrap_or_default();
        let builder = MockTableService::builder()
            .account(name, key)
            .map_err(|error| format!("the account {name}: {error}"))?;
        let builder = self.configure(builder, name);
        let service = match &self.options.data {
            Some(folder) => {
                let file = folder.join(format!("{name}.tables"));
                builder.open(file).map_err(|error| error_chain(&error))?
            }
            None => builder.build(),
        };
        Ok(Served { name: name.clone(), service, is_open: AtomicBool::new(true) })
    }

    /// Applies the settings of all accounts. Requests are kept for the page.
    fn configure(&self, builder: MockTableServiceBuilder, name: &str) -> MockTableServiceBuilder {
        let options = &self.options;
        let mut builder = builder
            .clock(Arc::new(SystemClock))
            .dialect(options.dialect)
            .loose(options.loose)
            .account_in_host(options.account_in_host)
            .exact_types(options.exact_types)
            .kept_requests(KEPT_REQUESTS)
            .kept_payload_bytes(KEPT_PAYLOAD_BYTES);
        if options.oauth {
            let name = name.to_owned();
            let dialect = options.dialect;
            builder = builder
                .tokens(move |token| oauth::is_valid(token, dialect, &name, SystemTime::now()));
        }
        match self.log.clone() {
            Some(log) => builder.observer(move |request| log.write(request)),
            None => builder,
        }
    }
}

/// The first label of a host name with several labels. `None` for an address.
fn first_label(host: &str) -> Option<&str> {
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let (first, _) = name.split_once('.')?;
    name.parse::<Ipv4Addr>().is_err().then_some(first)
}

/// Joins an error and its sources in one line.
fn error_chain(error: &dyn Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", error_chain(source)),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use azure_table_client::DynamicEntity;

    use super::*;
    use crate::options::Command;

    fn accounts(arguments: &[&str]) -> Accounts {
        let parsed = Command::parse(arguments.iter().map(Into::into), |_| None);
        let Ok(Command::Run(options)) = parsed else { panic!("{parsed:?}") };
        Accounts::open(&Arc::from(options)).unwrap()
    }

    const TWO: [&str; 8] =
        ["--account", "one", "--account-key", "b25l", "--account", "two", "--account-key", "dHdv"];

    /// The name of the account whose service receives a request.
    fn receiver(accounts: &Accounts, host: &str, path: &str) -> String {
        let text = accounts.of(host, path).service.connection_string();
        text.rsplit('/').next().unwrap().to_owned()
    }

    #[test]
    fn the_first_path_segment_names_the_account() {
        let accounts = accounts(&TWO);
        for (path, expected) in [
            ("/one/Tables", "one"),
            ("/two", "two"),
            ("/two-secondary/Blogs()", "two"),
            ("/two-secondaryx/Blogs()", "one"),
            ("/twofold", "one"),
            ("//two", "one"),
            ("", "one"),
            ("*", "one"),
        ] {
            assert_eq!(receiver(&accounts, "127.0.0.1:10002", path), expected, "{path}");
        }
    }

    #[test]
    fn the_host_may_name_the_account() {
        let of_both = accounts(&TWO);
        let of_path = accounts(&[&TWO[..], &["--disableProductStyleUrl"]].concat());
        for (host, expected) in [
            ("two.localhost", "two"),
            ("TWO.localhost:1", "two"),
            ("two-secondary.127.0.0.1.nip.io:10002", "two"),
            ("two", "one"),
            ("three.localhost", "one"),
            ("localhost:1", "one"),
        ] {
            assert_eq!(receiver(&of_both, host, "/one"), expected, "{host}");
            assert_eq!(receiver(&of_path, host, "/one"), "one", "{host}");
        }
    }

    #[test]
    fn accounts_can_be_replaced_and_keep_their_tables() {
        let accounts = accounts(&TWO);
        accounts.named("two").unwrap().service.seed::<DynamicEntity>("Blogs", []).unwrap();
        let names = || accounts.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
        let file = Path::new("accounts");
        accounts.read_again(file, "three:dGhyZWU=").unwrap();
        assert_eq!(names(), ["three"]);
        let error = accounts.read_again(file, "no list").unwrap_err();
        assert!(error.starts_with("accounts must be a list"), "{error}");
        assert_eq!(names(), ["three"], "on an error nothing changes");
        accounts.read_again(file, "two:bmV3:b2xk;three:dGhyZWU=").unwrap();
        assert_eq!(names(), ["two", "three"]);
        let two = accounts.named("two").unwrap();
        assert_eq!(two.service.table_names(), ["Blogs"]);
        assert!(two.service.connection_string().contains("bmV3"));
    }
}
