//! The accounts: each has a service of its own, and is found by the first segment of a path.

use std::error::Error;
use std::fs;
use std::io::{self, Write as _};
use std::sync::Arc;

use azure_table_client::clock::SystemClock;
use azure_table_client::mock::{MockTableService, MockTableServiceBuilder, RecordedRequest};

use crate::options::{Account, Options};

/// Requests of an account that the page shows.
const KEPT_REQUESTS: usize = 200;

/// The accounts in the order in which they were named; there is one at least.
#[derive(Debug)]
pub(crate) struct Accounts {
    first: Served,
    others: Vec<Served>,
}

/// An account that is served.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) name: String,
    pub(crate) service: MockTableService,
}

impl Accounts {
    pub(crate) fn open(options: &Options) -> Result<Self, String> {
        if let Some(folder) = &options.data {
            fs::create_dir_all(folder).map_err(|error| {
                format!("the folder {} cannot be made: {error}", folder.display())
            })?;
        }
        let mut all = options.accounts.iter().map(|account| Served::open(account, options));
        let first = all.next().ok_or("there is no account")??;
        Ok(Self { first, others: all.collect::<Result<_, _>>()? })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Served> {
        std::iter::once(&self.first).chain(&self.others)
    }

    pub(crate) fn named(&self, name: &str) -> Option<&Served> {
        self.iter().find(|account| account.name == name)
    }

    /// The service that a path asks, at its primary or its secondary. A path of no account is
    /// refused by the first one.
    pub(crate) fn of_path(&self, path: &str) -> &MockTableService {
        let segment = path.strip_prefix('/').unwrap_or(path).split('/').next().unwrap_or_default();
        let name = segment.strip_suffix("-secondary").unwrap_or(segment);
        &self.named(name).unwrap_or(&self.first).service
    }
}

impl Served {
    fn open(account: &Account, options: &Options) -> Result<Self, String> {
        let builder = MockTableService::builder()
            .account(&account.name, &account.key)
            .map_err(|error| format!("the account {}: {error}", account.name))?;
        let mut builder = set_up(builder, options);
        if let Some(folder) = &options.data {
            let file = folder.join(format!("{}.redb", account.name));
            builder = builder.data(file).map_err(|error| told(&error))?;
        }
        Ok(Self { name: account.name.clone(), service: builder.build() })
    }
}

/// An error and what it came from, in one line.
fn told(error: &dyn Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", told(source)),
        None => error.to_string(),
    }
}

/// What all accounts have: little is kept of each request, since only the page shows it.
fn set_up(builder: MockTableServiceBuilder, options: &Options) -> MockTableServiceBuilder {
    let kept = if options.page { KEPT_REQUESTS } else { 0 };
    let builder = builder
        .clock(Arc::new(SystemClock))
        .loose(options.loose)
        .kept_requests(kept)
        .kept_payload_bytes(0);
    if options.log { builder.observer(log) } else { builder }
}

/// A line for a request: `GET /devstoreaccount1/Blogs()?$top=5 200 table scan 123us`.
fn log(request: &RecordedRequest, target: &str) {
    let plan = request.plan.map_or_else(|| "-".to_owned(), |plan| plan.to_string());
    let RecordedRequest { method, status, took, .. } = request;
    // In one write, so that lines stay whole.
    let line = format!("{method} {target} {status} {plan} {}us\n", took.as_micros());
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Command;

    #[test]
    fn a_path_finds_its_account_by_its_first_segment() {
        let arguments = ["--account", "one", "--key", "b25l", "--account", "two", "--key", "dHdv"];
        let parsed = Command::parse(arguments.map(Into::into), |_| None);
        let Ok(Command::Run(options)) = parsed else { panic!("{parsed:?}") };
        let accounts = Accounts::open(&options).unwrap();
        let uri = |path| {
            let service = accounts.of_path(path).connection_string();
            service.rsplit('/').next().unwrap().to_owned()
        };
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
            assert_eq!(uri(path), expected, "{path}");
        }
    }
}
