//! The accounts. Each has its own service, and the first segment of a path names it.

use std::error::Error;
use std::fs;
use std::io::{self, Write as _};
use std::sync::Arc;

use azure_table_client::clock::SystemClock;
use azure_table_client::mock::{MockTableService, MockTableServiceBuilder, RecordedRequest};

use crate::options::{Account, Options};

/// The number of requests of an account that the page shows.
const KEPT_REQUESTS: usize = 200;

/// The accounts in the order of the options. There is at least one.
#[derive(Debug)]
pub(crate) struct Accounts {
    first: Served,
    others: Vec<Served>,
}

#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) name: String,
    pub(crate) service: MockTableService,
}

impl Accounts {
    pub(crate) fn open(options: &Options) -> Result<Self, String> {
        if let Some(folder) = &options.data {
            fs::create_dir_all(folder).map_err(|error| {
                format!("the folder {} cannot be created: {error}", folder.display())
            })?;
        }
        let mut all = options.accounts.iter().map(|account| Served::open(account, options));
        let first = all.next().ok_or("no account is set")??;
        Ok(Self { first, others: all.collect::<Result<_, _>>()? })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Served> {
        std::iter::once(&self.first).chain(&self.others)
    }

    pub(crate) fn named(&self, name: &str) -> Option<&Served> {
        self.iter().find(|account| account.name == name)
    }

    /// Returns the service of the account in a path. The first account refuses paths without an account.
    pub(crate) fn of_path(&self, path: &str) -> &MockTableService {
        let segment = path.strip_prefix('/').unwrap_or(path).split('/').next().unwrap_or_default();
        let name = segment.strip_suffix("-secondary").unwrap_or(segment);
        &self.named(name).unwrap_or(&self.first).service
    }
}

impl Served {
    fn open(account: &Account, options: &Options) -> Result<Self, String> {
        let builder = MockTableService::builder()
            .account(&account.name, &account.keys[0])
            .map_err(|error| format!("the account {}: {error}", account.name))?;
        let mut builder = configure(builder, options);
        if let Some(folder) = &options.data {
            let file = folder.join(format!("{}.redb", account.name));
            builder = builder.data(file).map_err(|error| error_chain(&error))?;
        }
        Ok(Self { name: account.name.clone(), service: builder.build() })
    }
}

/// Joins an error and its sources in one line.
fn error_chain(error: &dyn Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", error_chain(source)),
        None => error.to_string(),
    }
}

/// Applies the settings of all accounts. No request bodies are kept, since the page does not show them.
fn configure(builder: MockTableServiceBuilder, options: &Options) -> MockTableServiceBuilder {
    let kept = if options.page { KEPT_REQUESTS } else { 0 };
    let builder = builder
        .clock(Arc::new(SystemClock))
        .loose(options.loose)
        .kept_requests(kept)
        .kept_payload_bytes(0);
    if options.log.is_some() { builder.observer(log) } else { builder }
}

/// Logs a request: `GET /devstoreaccount1/Blogs()?$top=5 200 table scan 123us`.
fn log(request: &RecordedRequest) {
    let plan = request.plan.map_or_else(|| "-".to_owned(), |plan| plan.to_string());
    let RecordedRequest { method, url, status, took, .. } = request;
    // One write keeps the line whole.
    let line = format!("{method} {url} {status} {plan} {}us\n", took.as_micros());
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Command;

    #[test]
    fn the_first_path_segment_names_the_account() {
        let arguments = [
            "--account",
            "one",
            "--account-key",
            "b25l",
            "--account",
            "two",
            "--account-key",
            "dHdv",
        ];
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
