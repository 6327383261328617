//! The endpoint of `AZURE_STORAGE_CONNECTION_STRING`.
//!
//! `AZURE_TABLE_TESTS_FORMAT` is `nometadata`, `fullmetadata` or `atom` for a format other than the
//! default; tests that it cannot pass are left out by name. `AZURE_TABLE_TESTS_SERVER=azurite`
//! leaves out, by name, the tests that Azurite is known to fail. `AZURE_TABLE_TESTS_TRANSPORT=hyper` sends through
//! `HyperTransport`.

use azure_table_conformance::client::{Protocol, Server, Target, run};
use azure_table_conformance::{for_each_behavior, tests};
use azure_table_tests::SocketTransport;

fn target() -> Target {
    let connection_string = std::env::var("AZURE_STORAGE_CONNECTION_STRING")
        .expect("AZURE_STORAGE_CONNECTION_STRING names the endpoint to test");
    let server = match std::env::var("AZURE_TABLE_TESTS_SERVER").as_deref() {
        Ok("azurite") => Server::Azurite,
        _ => Server::Other,
    };
    let protocol = match std::env::var("AZURE_TABLE_TESTS_FORMAT").as_deref() {
        Ok("nometadata") => Protocol::NO_METADATA,
        Ok("fullmetadata") => Protocol::FULL_METADATA,
        Ok("atom") => Protocol::LAST_ATOM,
        Ok("tunnelled") => Protocol::TUNNELLED,
        Ok(other) => panic!("AZURE_TABLE_TESTS_FORMAT is {other}"),
        Err(_) => Protocol::DEFAULT,
    };
    let socket = match std::env::var("AZURE_TABLE_TESTS_TRANSPORT").as_deref() {
        Ok("hyper") => SocketTransport::Hyper,
        Ok(other) => panic!("AZURE_TABLE_TESTS_TRANSPORT is {other}"),
        Err(_) => SocketTransport::Reqwest,
    };
    crate::over_http(connection_string, socket).server(server).protocol(protocol)
}

#[tokio::main(flavor = "current_thread")]
async fn check(behavior: &str) {
    run(behavior, &target()).await;
}

for_each_behavior!(tests);
