//! The two readers of JSON give the same results and errors.

use azure_table_tests::fuzz::{generated, readers};
use azure_table_tests::sized;

/// The binary `readers` compares them on 10 million bodies.
#[test]
fn both_readers_of_json_agree_on_generated_bodies() {
    for seed in 0..sized(4_000, 20_000) {
        readers(&generated(seed));
    }
}
