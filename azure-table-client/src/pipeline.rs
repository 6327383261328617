//! Attempts: each is dated and signed anew, sent, and judged.

pub(crate) mod transport;
