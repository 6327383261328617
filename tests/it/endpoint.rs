//! The suite on the endpoint of `AZURE_STORAGE_CONNECTION_STRING`; run it with `--ignored`.
//!
//! `AZURE_TABLE_TESTS_SERVER=azurite` leaves out, by name, what Azurite is known to get wrong.

use azure_table_tests::{Server, Target, conformance, for_each_conformance_test};

fn target() -> Target {
    let connection_string = std::env::var("AZURE_STORAGE_CONNECTION_STRING")
        .expect("AZURE_STORAGE_CONNECTION_STRING names the endpoint to test");
    let server = match std::env::var("AZURE_TABLE_TESTS_SERVER").as_deref() {
        Ok("azurite") => Server::Azurite,
        _ => Server::Other,
    };
    Target::over_http(server, connection_string)
}

macro_rules! run {
    ($($area:ident { $($name:ident),* $(,)? })*) => {$(
        mod $area {
            $(
                #[tokio::test]
                #[ignore = "needs AZURE_STORAGE_CONNECTION_STRING"]
                async fn $name() {
                    super::conformance::$area::$name(&super::target()).await;
                }
            )*
        }
    )*};
}

for_each_conformance_test!(run);
