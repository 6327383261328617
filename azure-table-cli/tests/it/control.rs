//! The control API of the emulator, by plain HTTP.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::support::Emulator;

impl Emulator {
    /// Adds faults.
    pub(crate) fn add_faults(&self, plan: &str) {
        self.control("POST", "/-/faults", plan);
    }

    /// Removes all faults, and returns the number of requests that each has struck.
    pub(crate) fn end_faults(&self) -> u64 {
        let plan: serde_json::Value =
            serde_json::from_str(&self.control("GET", "/-/faults", "")).unwrap();
        self.control("DELETE", "/-/faults", "");
        struck(&plan)
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

/// Adds all members `struck`.
fn struck(value: &serde_json::Value) -> u64 {
    match value {
        serde_json::Value::Array(items) => items.iter().map(struck).sum(),
        serde_json::Value::Object(members) => {
            let own = members.get("struck").and_then(serde_json::Value::as_u64);
            own.unwrap_or_default() + members.values().map(struck).sum::<u64>()
        }
        _ => 0,
    }
}
