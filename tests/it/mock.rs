//! The suite on the in-process mock.

use azure_table_client::mock::MockTableService;
use azure_table_tests::{Target, conformance, for_each_conformance_test};

macro_rules! run {
    ($($area:ident { $($name:ident),* $(,)? })*) => {$(
        mod $area {
            $(
                #[tokio::test]
                async fn $name() {
                    let mock = super::MockTableService::new();
                    super::conformance::$area::$name(&super::Target::mock(&mock)).await;
                }
            )*
        }
    )*};
}

for_each_conformance_test!(run);
