//! The endpoint of `AZURE_STORAGE_CONNECTION_STRING`; run it with `--ignored`.
//!
//! `AZURE_TABLE_TESTS_FORMAT` is `nometadata`, `fullmetadata` or `atom` for a format other than the
//! default; tests that it cannot pass are left out by name. `AZURE_TABLE_TESTS_SERVER=azurite`
//! leaves out, by name, the tests that Azurite is known to fail. `AZURE_TABLE_TESTS_TRANSPORT=hyper` sends through
//! `HyperTransport`.

use azure_table_tests::SocketTransport;

use crate::behaviors::{self, for_each_behavior, ignored_tests};
use crate::target::{Server, Spoken, Target};

fn target() -> Target {
    let connection_string = std::env::var("AZURE_STORAGE_CONNECTION_STRING")
        .expect("AZURE_STORAGE_CONNECTION_STRING names the endpoint to test");
    let server = match std::env::var("AZURE_TABLE_TESTS_SERVER").as_deref() {
        Ok("azurite") => Server::Azurite,
        _ => Server::Other,
    };
    let spoken = match std::env::var("AZURE_TABLE_TESTS_FORMAT").as_deref() {
        Ok("nometadata") => Spoken::NO_METADATA,
        Ok("fullmetadata") => Spoken::FULL_METADATA,
        Ok("atom") => Spoken::LAST_ATOM,
        Ok("tunnelled") => Spoken::TUNNELLED,
        Ok(other) => panic!("AZURE_TABLE_TESTS_FORMAT is {other}"),
        Err(_) => Spoken::USUAL,
    };
    let socket = match std::env::var("AZURE_TABLE_TESTS_TRANSPORT").as_deref() {
        Ok("hyper") => SocketTransport::Hyper,
        Ok(other) => panic!("AZURE_TABLE_TESTS_TRANSPORT is {other}"),
        Err(_) => SocketTransport::Reqwest,
    };
    Target::over_http(server, connection_string, socket).speaking(spoken)
}

fn check(behavior: &str) {
    behaviors::check(behavior, async { target() });
}

for_each_behavior!(ignored_tests);
