//! The mock in each format, in the version of the paper, in the dialect of Cosmos DB and through a
//! proxy that supports two verbs. Tests that one of them cannot pass are left out by name.

use azure_table_client::Dialect;
use azure_table_client::mock::MockTableService;

use crate::behaviors::{self, BEHAVIORS, for_each_behavior, ignored_tests};
use crate::left_out;
use crate::target::{Spoken, Target};

/// A mock of Azure Storage, and the dialect of its clients.
fn target(spoken: Spoken) -> Target {
    Target::mock(&MockTableService::new()).speaking(spoken)
}

/// A mock of Cosmos DB and its clients.
fn cosmos() -> Target {
    let mock = MockTableService::builder().dialect(Dialect::CosmosDb).build();
    Target::mock(&mock).speaking(Spoken::COSMOS).serving(Dialect::CosmosDb)
}

macro_rules! suite {
    ($($format:ident: $target:expr;)*) => {$(
        mod $format {
            #[allow(unused_imports, reason = "each target needs some of them")]
            use super::{Spoken, behaviors, cosmos, for_each_behavior, ignored_tests, target as speaking};

            fn check(behavior: &str) {
                behaviors::check(behavior, async { $target });
            }

            for_each_behavior!(ignored_tests);
        }
    )*};
}

suite! {
    atom_2009_04_14: speaking(Spoken::FIRST);
    atom_2015_07_08: speaking(Spoken::LAST_ATOM);
    no_metadata: speaking(Spoken::NO_METADATA);
    full_metadata: speaking(Spoken::FULL_METADATA);
    cosmos: speaking(Spoken::COSMOS);
    cosmos_mock: cosmos();
    tunnelled: speaking(Spoken::TUNNELLED);
}

#[test]
fn tests_left_out_exist_and_are_listed_once() {
    let all = [Spoken::FIRST, Spoken::LAST_ATOM, Spoken::NO_METADATA, Spoken::COSMOS];
    let lists = all.map(|spoken| left_out::lists(spoken).collect::<Vec<_>>());
    let of_cosmos = left_out::lists(Spoken::COSMOS).chain(left_out::COSMOS).collect();
    for list in lists.into_iter().chain([of_cosmos]) {
        let names: Vec<_> = list.into_iter().flat_map(|(_, names)| names).collect();
        for (at, name) in names.iter().enumerate() {
            assert!(BEHAVIORS.iter().any(|(behavior, _)| behavior == *name), "{name}");
            assert!(!names[..at].contains(name), "{name} twice");
        }
    }
    assert!(left_out::lists(Spoken::USUAL).next().is_none());
    assert!(left_out::lists(Spoken::FULL_METADATA).next().is_none());
    assert!(left_out::lists(Spoken::TUNNELLED).next().is_none());
}
