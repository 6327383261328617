//! Recordings of the service, made by the test suites of the official clients. `tests/recordings/README.md` lists the sets.
//!
//! Each set is a file `NAME.jsonl`. Each of its lines is the JSON of a [`Recording`]. The conversion changed this: the
//! account is `fakeacct` in all hosts, `.table.cosmos.azure.com` became `.table.core.windows.net`, and the texts of shared
//! access signatures were replaced. Headers without an effect on the comparison were removed: the date, the server, the user
//! agent, client request IDs, and headers about the connection, the browser and CORS. The recorders had removed keys and
//! tokens.
//!
//! # The complete sets
//!
//! The source folders are in the history of public repositories. Newer recordings are in Azure/azure-sdk-assets. Convert the
//! files to this format, and run with the absolute path of their folder:
//!
//! ```sh
//! AZURE_TABLE_TESTS_RECORDINGS=FOLDER cargo test --no-default-features --test it -- recordings:: --show-output
//! ```
//!
//! Of the complete sets, the mock repeats 454 of 492 recordings of Azure Storage, and 31 more with their state. Of Cosmos DB,
//! it repeats 192 of 212, and 18 more with their state.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use azure_table_client::transport::HttpResponse;
use http::{HeaderName, HeaderValue};
use serde::Deserialize;

/// The sets in the repository.
const IN_REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/recordings");

/// The exchanges of one test.
#[derive(Debug, Deserialize)]
pub struct Recording {
    /// The name of the test.
    pub name: String,
    /// The exchanges in their order.
    pub exchanges: Vec<Exchange>,
}

/// A request and its response.
#[derive(Debug, Clone, Deserialize)]
pub struct Exchange {
    /// The verb.
    pub method: String,
    /// The path below the account, percent-encoded.
    pub path: String,
    /// The query without the question mark, percent-encoded.
    pub query: String,
    /// Whether the request goes to the secondary location.
    pub secondary: bool,
    /// The headers of the request.
    pub headers: Vec<(String, String)>,
    /// The body of the request.
    pub body: Option<String>,
    /// The response.
    pub response: Response,
}

/// A response, recorded or not, or a part of a response to a batch.
#[derive(Debug, Clone, Deserialize)]
pub struct Response {
    /// The status.
    pub status: u16,
    /// The headers, by their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: String,
}

impl Response {
    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

impl From<HttpResponse> for Response {
    fn from(response: HttpResponse) -> Self {
        let header = |(name, value): (&HeaderName, &HeaderValue)| {
            (name.to_string(), value.to_str().expect("a text").to_owned())
        };
        Self {
            status: response.status.as_u16(),
            headers: response.headers.iter().map(header).collect(),
            body: String::from_utf8(response.body.to_vec()).expect("a text"),
        }
    }
}

/// Returns the folder of the complete sets, if `AZURE_TABLE_TESTS_RECORDINGS` names it. The repository has only a part
/// of them.
pub fn complete() -> Option<PathBuf> {
    std::env::var_os("AZURE_TABLE_TESTS_RECORDINGS").map(PathBuf::from)
}

/// Returns the recordings of each set, by its name. Complete sets replace those in the repository.
pub fn sets() -> BTreeMap<String, Vec<Recording>> {
    let folders = [Some(IN_REPOSITORY.into()), complete()];
    folders.into_iter().flatten().flat_map(|folder| sets_in(&folder)).collect()
}

fn sets_in(folder: &Path) -> impl Iterator<Item = (String, Vec<Recording>)> + use<> {
    let files = std::fs::read_dir(folder).expect("the folder of recordings");
    let paths = files.map(|file| file.expect("a file").path());
    let sets = paths.filter(|path| path.extension().is_some_and(|it| it == "jsonl"));
    let name = |path: &Path| path.file_stem().expect("a name").display().to_string();
    sets.map(move |path| (name(&path), read(&path)))
}

/// Returns the recordings of a set in the repository.
pub fn in_repository(set: &str) -> Vec<Recording> {
    read(&Path::new(IN_REPOSITORY).join(set).with_extension("jsonl"))
}

fn read(path: &Path) -> Vec<Recording> {
    let text = std::fs::read_to_string(path).expect("a set");
    text.lines().map(|line| serde_json::from_str(line).expect("a recording")).collect()
}
