//! The mock behind a loopback port, by each transport.

use azure_table_client::mock::MockTableServer;
use azure_table_conformance::client::run;
use azure_table_tests::SocketTransport;

#[tokio::main(flavor = "current_thread")]
async fn check_by(socket: SocketTransport, behavior: &str) {
    let server = MockTableServer::start().await;
    run(behavior, &crate::over_http(server.connection_string(), socket)).await;
}

mod by_reqwest {
    use azure_table_conformance::{for_each_behavior, tests};

    fn check(behavior: &str) {
        super::check_by(super::SocketTransport::Reqwest, behavior);
    }

    for_each_behavior!(tests);
}

mod by_hyper {
    use azure_table_conformance::{for_each_behavior, tests};

    fn check(behavior: &str) {
        super::check_by(super::SocketTransport::Hyper, behavior);
    }

    for_each_behavior!(tests);
}
