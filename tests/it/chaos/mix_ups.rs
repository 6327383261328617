//! A proxy that mixes up responses, and whose server echoes no id: a read receives the rows of another read, and a write the
//! success of another operation. Only responses are chosen that the request itself can tell from its own.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use azure_table_client::transport::{HttpRequest, HttpResponse};
use fastrand::Rng;

/// The share of the requests on entities whose response is replaced, if there is another one.
const SHARE: f64 = 0.02;
/// The same of transactions, which are few.
const SHARE_OF_TRANSACTIONS: f64 = 0.1;
/// The number of responses to choose from.
const KEPT: usize = 64;

/// The names of the faults.
pub(super) const NAMES: [&str; 3] = [
    "swap_reply of a read without id",
    "foreign success of a write",
    "foreign success of a transaction",
];

/// The responses of a round that others may receive.
#[derive(Debug, Default)]
pub(super) struct MixUps {
    state: Mutex<Option<State>>,
    struck: [AtomicUsize; NAMES.len()],
}

#[derive(Debug)]
struct State {
    chance: Rng,
    kept: Vec<Kept>,
}

#[derive(Debug, Clone)]
struct Kept {
    sort: Sort,
    response: HttpResponse,
}

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Sort {
    /// The row at this path.
    Point(String),
    /// Rows of this partition.
    List(String),
    /// The insert of a row with these keys in its body.
    Insert(String),
    Update,
    Delete,
    Transaction(Operations),
}

/// The operations of a transaction, as far as its results show them.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Operations {
    /// Whether each operation leaves a row, whose ETag is in its result.
    leave: Vec<bool>,
    /// The keys of the first row. The result of an insert names them.
    first: [Option<String>; 2],
    begins_with_insert: bool,
}

impl MixUps {
    pub(super) fn start(&self, seed: u64) {
        let chance = Rng::with_seed(seed.rotate_left(17));
        *self.state.lock().unwrap() = Some(State { chance, kept: Vec::new() });
    }

    pub(super) fn end(&self) {
        *self.state.lock().unwrap() = None;
    }

    /// How often each fault has struck.
    pub(super) fn struck(&self) -> [usize; NAMES.len()] {
        self.struck.each_ref().map(|struck| struck.load(Ordering::Relaxed))
    }

    /// Returns the response that a request receives instead of its own, with the name of the fault.
    pub(super) fn replace(
        &self,
        request: &HttpRequest,
        response: &HttpResponse,
    ) -> Option<(&'static str, HttpResponse)> {
        let mut state = self.state.lock().unwrap();
        let State { chance, kept } = state.as_mut()?;
        let sort = Sort::of(request)?;
        let share =
            if matches!(sort, Sort::Transaction(_)) { SHARE_OF_TRANSACTIONS } else { SHARE };
        let is_mixed_up = chance.f64() < share;
        let others: Vec<_> = kept.iter().filter(|other| sort.differs(&other.sort)).collect();
        let other = if is_mixed_up { chance.choice(&others) } else { None };
        let other = other.map(|other| other.response.clone());
        // Another fault may have replaced the response: then it does not echo the id of this request.
        let id = "x-ms-client-request-id";
        if sort.is_success(response) && response.headers.get(id) == request.headers.get(id) {
            if kept.len() == KEPT {
                kept.remove(0);
            }
            let mut response = response.clone();
            response.headers.remove(id);
            kept.push(Kept { sort: sort.clone(), response });
        }
        let at = match sort {
            Sort::Point(_) | Sort::List(_) => 0,
            Sort::Insert(_) | Sort::Update | Sort::Delete => 1,
            Sort::Transaction(_) => 2,
        };
        let other = other?;
        self.struck[at].fetch_add(1, Ordering::Relaxed);
        Some((NAMES[at], other))
    }
}

impl Sort {
    fn of(request: &HttpRequest) -> Option<Self> {
        let (path, query) = (request.uri.path(), request.uri.query().unwrap_or_default());
        if path.contains("/Tables") || query.contains("comp=") {
            return None;
        }
        if path.ends_with("/$batch") {
            return Some(Self::Transaction(Operations::of(&String::from_utf8_lossy(
                &request.body,
            ))));
        }
        Some(match request.method.as_str() {
            "GET" if path.ends_with("()") => {
                let (_, rest) = query.split_once("PartitionKey%20eq%20%27")?;
                // A filter with alternatives may ask for several partitions.
                let others = rest.contains("PartitionKey") || query.contains("$select");
                Self::List(rest.split_once("%27").filter(|_| !others)?.0.to_owned())
            }
            "GET" if query.contains("$select") => return None,
            "GET" => Self::Point(path.to_owned()),
            "POST" => Self::Insert(String::from_utf8_lossy(&request.body).into_owned()),
            "DELETE" => Self::Delete,
            _ => Self::Update,
        })
    }

    /// Whether the response is one that other requests may receive.
    fn is_success(&self, response: &HttpResponse) -> bool {
        let has_rows = || String::from_utf8_lossy(&response.body).contains("\"RowKey\"");
        match self {
            Self::Point(_) | Self::List(_) => response.status == 200 && has_rows(),
            Self::Insert(_) | Self::Update | Self::Delete => response.status == 204,
            // A refused transaction has one result, with the status of an error.
            Self::Transaction(_) => {
                let body = String::from_utf8_lossy(&response.body);
                response.status == 202
                    && !body.contains("HTTP/1.1 4")
                    && !body.contains("HTTP/1.1 5")
            }
        }
    }

    /// Whether a request of this sort can tell the success of the other one from its own.
    fn differs(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Point(a), Self::Point(b)) | (Self::List(a), Self::List(b)) => a != b,
            (Self::Point(_) | Self::List(_), _) | (_, Self::Point(_) | Self::List(_)) => false,
            (Self::Insert(a), Self::Insert(b)) => keys(a) != keys(b),
            (Self::Transaction(a), Self::Transaction(b)) => {
                a.leave != b.leave || (b.begins_with_insert && a.first != b.first)
            }
            (a, b) => a != b,
        }
    }
}

impl Operations {
    /// Reads the body of a transaction, whose operations begin like `POST http://host/Rows HTTP/1.1`.
    fn of(body: &str) -> Self {
        let starts = |line: &&str| line.ends_with(" HTTP/1.1");
        let operations = body.lines().filter(starts);
        let first = operations.clone().next().unwrap_or_default();
        let begins_with_insert = first.starts_with("POST");
        let row = body.lines().find(|line| line.starts_with('{')).unwrap_or_default();
        let quoted = |name: &str| {
            let (_, rest) = first.split_once(&format!("{name}='"))?;
            rest.split_once('\'').map(|(key, _)| key.to_owned())
        };
        let first =
            if begins_with_insert { keys(row) } else { ["PartitionKey", "RowKey"].map(quoted) };
        let leave = operations.map(|line| !line.starts_with("DELETE")).collect();
        Self { leave, first, begins_with_insert }
    }
}

/// The keys in the body of an insert.
fn keys(body: &str) -> [Option<String>; 2] {
    let row: serde_json::Value = serde_json::from_str(body).unwrap_or_default();
    ["PartitionKey", "RowKey"].map(|key| row[key].as_str().map(str::to_owned))
}
