//! The mock in each format, in the version of the paper, in the dialect of Cosmos DB and through a
//! proxy that supports two verbs. Tests that one of them cannot pass are left out by name.

use azure_table_client::Dialect;
use azure_table_client::mock::MockTableService;
use azure_table_client::transport::HttpRequest;
use azure_table_conformance::client::{BEHAVIORS, Protocol, Target};
use azure_table_tests::scripted::{Scripted, Step, response};

/// The mock behind a proxy that refuses the verbs that the protocol does not have.
fn target(mock: &MockTableService, protocol: Protocol) -> Target {
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

/// A mock of Azure Storage, whose clients have this protocol.
fn storage(protocol: Protocol) -> Target {
    target(&MockTableService::new(), protocol)
}

/// A mock of Cosmos DB and its clients.
fn cosmos_db() -> Target {
    let service = MockTableService::builder().dialect(Dialect::CosmosDb).build();
    target(&service, Protocol::COSMOS).serves(Dialect::CosmosDb)
}

macro_rules! suite {
    ($($format:ident: $target:expr;)*) => {$(
        mod $format {
            use azure_table_conformance::client::run;
            use azure_table_conformance::{for_each_behavior, tests};

            #[allow(unused_imports, reason = "each target needs some of them")]
            use super::{Protocol, cosmos_db, storage};

            #[tokio::main(flavor = "current_thread")]
            async fn check(behavior: &str) {
                run(behavior, &$target).await;
            }

            for_each_behavior!(tests);
        }
    )*};
}

suite! {
    atom_2009_04_14: storage(Protocol::FIRST);
    atom_2015_07_08: storage(Protocol::LAST_ATOM);
    no_metadata: storage(Protocol::NO_METADATA);
    full_metadata: storage(Protocol::FULL_METADATA);
    cosmos: storage(Protocol::COSMOS);
    cosmos_mock: cosmos_db();
    tunnelled: storage(Protocol::TUNNELLED);
}

#[test]
fn tests_left_out_exist_and_are_listed_once() {
    let some = [Protocol::FIRST, Protocol::LAST_ATOM, Protocol::NO_METADATA, Protocol::COSMOS];
    for target in some.map(storage).into_iter().chain([cosmos_db()]) {
        let names: Vec<_> = target.left_out().flat_map(|(_, names)| names).collect();
        for (at, name) in names.iter().enumerate() {
            assert!(BEHAVIORS.iter().any(|behavior| behavior.name == **name), "{name}");
            assert!(!names[..at].contains(name), "{name} twice");
        }
    }
    for protocol in [Protocol::DEFAULT, Protocol::FULL_METADATA, Protocol::TUNNELLED] {
        assert!(storage(protocol).left_out().next().is_none());
    }
}
