//! The in-process mock.

use azure_table_client::mock::MockTableService;
use azure_table_conformance::client::{Target, run};
use azure_table_conformance::{for_each_behavior, tests};

#[tokio::main(flavor = "current_thread")]
async fn check(behavior: &str) {
    let mock = MockTableService::new();
    let target = Target::new(mock.connection_string());
    run(behavior, &target.transport(mock.transport()).clock(mock.clock())).await;
}

for_each_behavior!(tests);
