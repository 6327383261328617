//! The log of a service with a random seed: all requests and responses as text.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Mutex;

use http::{HeaderMap, header};

use crate::edm::EdmDateTime;
use crate::lock::lock;
use crate::recorder::target;
use crate::request::RawRequest;
use crate::transport::{HttpResponse, TransportError};

/// The newest entries.
#[derive(Debug)]
pub(super) struct ExchangeLog {
    max_entries: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    requests: u64,
    entries: VecDeque<String>,
}

impl ExchangeLog {
    pub(super) fn new(max_entries: usize) -> Self {
        Self { max_entries, state: Mutex::default() }
    }

    /// Adds a request, and the faults that strike it. Returns its number.
    pub(super) fn add_request(
        &self,
        time: EdmDateTime,
        request: &RawRequest<'_>,
        headers: &HeaderMap,
        faults: &[String],
    ) -> u64 {
        let mut state = lock(&self.state);
        state.requests += 1;
        let number = state.requests;
        let mut entry = format!("#{number} {time} {} {}", request.method, target(request));
        for fault in faults {
            let _ = write!(entry, " {fault}");
        }
        self.add(&mut state, entry, headers, request.body);
        number
    }

    /// Adds the result of a request.
    pub(super) fn add_result(
        &self,
        time: EdmDateTime,
        number: u64,
        result: &Result<HttpResponse, TransportError>,
    ) {
        let head = format!("#{number} {time}");
        let state = &mut lock(&self.state);
        match result {
            Ok(HttpResponse { status, headers, body }) => {
                self.add(state, format!("{head} {status}"), headers, body);
            }
            Err(error) => {
                self.add(state, format!("{head} no response: {error}"), &HeaderMap::new(), b"");
            }
        }
    }

    fn add(&self, state: &mut State, mut entry: String, headers: &HeaderMap, body: &[u8]) {
        entry.push('\n');
        for (name, value) in headers {
            let value = if *name == header::AUTHORIZATION { b"..." } else { value.as_bytes() };
            let value = String::from_utf8_lossy(value).replace(char::is_control, "\u{fffd}");
            let _ = writeln!(entry, "    {name}: {value}");
        }
        for line in String::from_utf8_lossy(body).lines() {
            let _ = writeln!(entry, "    {}", line.replace(char::is_control, "\u{fffd}"));
        }
        if state.entries.len() == self.max_entries {
            state.entries.pop_front();
        }
        if self.max_entries > 0 {
            state.entries.push_back(entry);
        }
    }

    pub(super) fn text(&self) -> String {
        lock(&self.state).entries.iter().map(String::as_str).collect()
    }
}
