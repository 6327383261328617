//! The suite on the mock behind a loopback port.

use super::TRANSPORT;
use azure_table_client::mock::MockTableServer;
use azure_table_tests::{Server, Target, conformance, for_each_conformance_test};

macro_rules! run {
    ($($area:ident { $($name:ident),* $(,)? })*) => {$(
        mod $area {
            $(
                #[tokio::test]
                async fn $name() {
                    let server = super::MockTableServer::start().await;
                    let target = super::Target::over_http(
                        super::Server::MockServer,
                        server.connection_string(),
                        super::TRANSPORT,
                    );
                    super::conformance::$area::$name(&target).await;
                }
            )*
        }
    )*};
}

for_each_conformance_test!(run);
