//! The log of a service with a random seed: its requests and responses as text.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::sync::Mutex;

use http::{HeaderMap, StatusCode, header};

use crate::edm::EdmDateTime;
use crate::lock::lock;
use crate::recorder::whole_target;
use crate::request::ParsedRequest;
use crate::transport::{HttpResponse, TransportError};
use crate::wire::Operation;

/// The bytes of the newest entries that are kept.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// The newest entries.
#[derive(Debug)]
pub(super) struct ExchangeLog {
    is_kept: bool,
    state: Mutex<LoggedExchanges>,
}

#[derive(Debug, Default)]
struct LoggedExchanges {
    requests: u64,
    entries: VecDeque<String>,
    bytes: usize,
    /// How often each fault has struck.
    faults: BTreeMap<String, usize>,
}

impl ExchangeLog {
    /// Creates a log. One that is not kept stays empty.
    pub(super) fn new(is_kept: bool) -> Self {
        Self { is_kept, state: Mutex::default() }
    }

    /// Adds a request with the faults that strike it. Returns its number.
    pub(super) fn add_request(
        &self,
        time: EdmDateTime,
        request: &ParsedRequest<'_>,
        headers: &HeaderMap,
        faults: &[String],
    ) -> u64 {
        let mut state = lock(&self.state);
        state.requests += 1;
        let number = state.requests;
        if self.is_kept {
            let raw = &request.raw;
            let mut entry = format!("#{number} {time} {} {}", raw.method, whole_target(raw));
            for fault in faults {
                let _ = write!(entry, " {fault}");
                *state.faults.entry(fault.clone()).or_default() += 1;
            }
            state.add(entry, headers, raw.body);
        }
        number
    }

    /// Adds that the service handled a request that met a fault, possibly late or twice.
    pub(super) fn add_handled(&self, time: EdmDateTime, number: u64, status: StatusCode) {
        if self.is_kept {
            let entry = format!("#{number} {time} handled: {status}");
            lock(&self.state).add(entry, &HeaderMap::new(), b"");
        }
    }

    /// Adds the result of a request.
    pub(super) fn add_result(
        &self,
        time: EdmDateTime,
        number: u64,
        operation: Operation,
        result: &Result<HttpResponse, TransportError>,
    ) {
        if !self.is_kept {
            return;
        }
        let head = format!("#{number} {time}");
        let mut state = lock(&self.state);
        match result {
            Ok(HttpResponse { status, headers, body }) => {
                let has_key = operation == Operation::GetUserDelegationKey;
                let body = if has_key { b"..." } else { &body[..] };
                state.add(format!("{head} {status}"), headers, body);
            }
            Err(error) => {
                state.add(format!("{head} no response: {error}"), &HeaderMap::new(), b"");
            }
        }
    }

    /// The faults that struck, and the entries.
    pub(super) fn text(&self) -> String {
        let state = lock(&self.state);
        let faults = state.faults.iter().map(|(fault, struck)| format!("{struck} times {fault}\n"));
        faults.chain(state.entries.iter().cloned()).collect()
    }
}

impl LoggedExchanges {
    fn add(&mut self, mut entry: String, headers: &HeaderMap, body: &[u8]) {
        entry.push('\n');
        for (name, value) in headers {
            let value = String::from_utf8_lossy(value.as_bytes());
            push_line(&mut entry, &format!("{name}: {value}"));
        }
        for line in String::from_utf8_lossy(body).lines() {
            push_line(&mut entry, line);
        }
        self.bytes += entry.len();
        self.entries.push_back(entry);
        while self.bytes > MAX_BYTES
            && let Some(oldest) = self.entries.pop_front()
        {
            self.bytes -= oldest.len();
        }
    }
}

/// Adds a line of a header or a body, of which the parts of a batch have headers too. It shows no control character and no
/// signature.
fn push_line(entry: &mut String, line: &str) {
    let name = header::AUTHORIZATION.as_str();
    let is_secret = line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    let line = if is_secret { "authorization: ...".to_owned() } else { without_signature(line) };
    let _ = writeln!(entry, "    {}", line.replace(char::is_control, "\u{fffd}"));
}

/// The line without the values of `sig`.
fn without_signature(line: &str) -> String {
    let mut parts = line.split("sig=");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(['&', ' ', '"']).unwrap_or(part.len());
        text.push_str("sig=...");
        text.push_str(&part[end..]);
    }
    text
}
