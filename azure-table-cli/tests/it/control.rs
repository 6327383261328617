//! The control API of the emulator, by plain HTTP.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::support::Emulator;

impl Emulator {
    /// Adds faults.
    pub(crate) fn add_faults(&self, plan: &str) {
        self.control("POST", "/-/faults", plan);
    }

    /// Removes all faults, and returns the number of requests that failed because of one.
    pub(crate) fn end_faults(&self) -> u64 {
        let plan = self.control("GET", "/-/faults", "");
        self.control("DELETE", "/-/faults", "");
        struck(&serde_json::from_str(&plan).unwrap())
    }

    /// Returns the number of requests so far.
    pub(crate) fn requests(&self) -> u64 {
        self.journal()["total"].as_u64().unwrap()
    }

    /// Returns the number of requests so far for each operation.
    pub(crate) fn requests_by_operation(&self) -> serde_json::Value {
        self.journal()["counts"].clone()
    }

    fn journal(&self) -> serde_json::Value {
        serde_json::from_str(&self.control("GET", "/-/requests?limit=1", "")).unwrap()
    }

    fn control(&self, method: &str, path: &str, body: &str) -> String {
        let address = self.origin.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 20"), "{response}");
        body.to_owned()
    }
}

/// Adds the members `struck` of all faults, except delays and short pages, which are not failures.
fn struck(value: &serde_json::Value) -> u64 {
    match value {
        serde_json::Value::Array(items) => items.iter().map(struck).sum(),
        serde_json::Value::Object(fault) => match fault.get("fault").and_then(|name| name.as_str())
        {
            Some("delay_reply" | "split_page") => 0,
            Some(_) => fault["struck"].as_u64().unwrap(),
            None => fault.values().map(struck).sum(),
        },
        _ => 0,
    }
}
