//! The in-process mock.

use azure_table_client::Dialect;
use azure_table_client::mock::MockTableService;
use azure_table_client::transport::HttpRequest;
use azure_table_conformance::client::{Protocol, Target, run};
use azure_table_conformance::{for_each_behavior, tests};
use azure_table_tests::scripted::{Scripted, Step, response};

/// The mock behind a proxy that refuses the verbs that the protocol does not have.
pub(crate) fn target(mock: &MockTableService, protocol: Protocol) -> Target {
    let supported = Scripted::new(mock.transport(), move |request| {
        if supports(protocol, request) { Step::pass() } else { response(405, &[], "").into() }
    });
    let target = Target::new(mock.connection_string()).protocol(protocol);
    target.transport(supported).clock(mock.clock())
}

/// Whether the service, and a proxy before it, support the verbs of a request.
fn supports(protocol: Protocol, request: &HttpRequest) -> bool {
    let has_merge = || request.body.windows(6).any(|bytes| bytes == b"MERGE ");
    let is_plain = matches!(request.method.as_str(), "GET" | "POST");
    let is_cosmos = protocol.dialect == Dialect::CosmosDb;
    (is_plain || !protocol.post_tunneling)
        && (!is_cosmos || request.method.as_str() != "MERGE" && !has_merge())
}

#[tokio::main(flavor = "current_thread")]
async fn check(behavior: &str) {
    run(behavior, &target(&MockTableService::new(), Protocol::DEFAULT)).await;
}

for_each_behavior!(tests);
