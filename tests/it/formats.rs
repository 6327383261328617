//! The suite in each format, and in the version of the paper. What a format cannot pass is left out by
//! name.

use azure_table_client::mock::MockTableService;
use azure_table_tests::{Spoken, Target, conformance, for_each_conformance_test};

/// A mock, to which this is spoken.
fn target(spoken: Spoken) -> Target {
    Target::mock(&MockTableService::new()).speaking(spoken)
}

macro_rules! run {
    ($($area:ident { $($name:ident),* $(,)? })*) => {$(
        mod $area {
            $(
                #[tokio::test]
                async fn $name() {
                    let target = super::target();
                    if !target.leaves_out(concat!(stringify!($area), "::", stringify!($name))) {
                        crate::formats::conformance::$area::$name(&target).await;
                    }
                }
            )*
        }
    )*};
}

macro_rules! suite {
    ($($format:ident: $spoken:expr;)*) => {$(
        mod $format {
            use super::{Spoken, Target, for_each_conformance_test};

            fn target() -> Target {
                super::target($spoken)
            }

            for_each_conformance_test!(run);
        }
    )*};
}

suite! {
    atom_2009_04_14: Spoken::FIRST;
    atom_2015_07_08: Spoken::LAST_ATOM;
    no_metadata: Spoken::NO_METADATA;
    full_metadata: Spoken::FULL_METADATA;
}
