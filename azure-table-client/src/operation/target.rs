use std::sync::Arc;

use crate::clock::SharedClock;
use crate::wire::Protocol;

/// The table that entities are written to, and the form of the requests.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) table: Arc<str>,
    /// The address of the service, without a trailing slash.
    pub(crate) base: Arc<str>,
    pub(crate) protocol: Protocol,
    /// The column with the ids of writes.
    pub(crate) write_id: Option<Arc<str>>,
    /// The source of ids.
    pub(crate) clock: SharedClock,
}

#[cfg(test)]
impl Target {
    /// A table of the emulator.
    pub(crate) fn of_test(protocol: Protocol) -> Self {
        let base = "http://127.0.0.1:10002/devstoreaccount1".into();
        let clock = Arc::new(crate::clock::SystemClock);
        Self { table: "Blogs".into(), base, protocol, write_id: None, clock }
    }
}
