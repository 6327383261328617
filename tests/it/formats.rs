//! The suite in each format, in the version of the paper, in the dialect of Cosmos DB and through a
//! proxy that supports two verbs. Tests that one of them cannot pass are left out by name.

use azure_table_client::mock::MockTableService;
use azure_table_tests::{Spoken, Target, conformance, for_each_conformance_test, left_out};

/// A mock, and the dialect of its clients.
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
    cosmos: Spoken::COSMOS;
    tunnelled: Spoken::TUNNELLED;
}

macro_rules! names {
    ($($area:ident { $($name:ident),* $(,)? })*) => {
        [$($(concat!(stringify!($area), "::", stringify!($name)),)*)*]
    };
}

#[test]
fn tests_left_out_exist_and_are_listed_once() {
    let tests = for_each_conformance_test!(names);
    let all = [Spoken::FIRST, Spoken::LAST_ATOM, Spoken::NO_METADATA, Spoken::COSMOS];
    for spoken in all {
        let names: Vec<_> = left_out::lists(spoken).flat_map(|(_, names)| names).collect();
        for (at, name) in names.iter().enumerate() {
            assert!(tests.contains(name), "{name}");
            assert!(!names[..at].contains(name), "{name} twice");
        }
    }
    assert!(left_out::lists(Spoken::USUAL).next().is_none());
    assert!(left_out::lists(Spoken::FULL_METADATA).next().is_none());
    assert!(left_out::lists(Spoken::TUNNELLED).next().is_none());
}
