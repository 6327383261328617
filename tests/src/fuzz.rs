//! The functions that fuzz targets call with their input; a panic is a finding. The targets in
//! `fuzz/` and the replay of their seeds in the ordinary tests call the same functions.

mod atom;
mod canned;
mod entities;
mod generated;
mod oracle;
mod readers;
mod replies;
mod requests;
mod signatures;
mod texts;

pub use atom::atom;
pub use generated::generated;
pub use readers::readers;
pub use replies::{error_body, json_page, reply};
pub use requests::{mock_request, multipart};
pub use signatures::{Checked, check as check_signed_request, signed_request};
pub use texts::{checkpoint, connection_string, continuation, filter_text};

/// A target: its name, which is also the directory of its seeds, and its function.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("atom", atom),
    ("checkpoint", checkpoint),
    ("connection_string", connection_string),
    ("continuation", continuation),
    ("error_body", error_body),
    ("filter_text", filter_text),
    ("json_page", json_page),
    ("mock_request", mock_request),
    ("multipart", multipart),
    ("reply", reply),
    ("signed_request", signed_request),
];
