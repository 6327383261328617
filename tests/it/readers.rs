//! The reader of JSON gives the same results and errors as `serde_json`.

use azure_table_tests::fuzz::{generated, readers};
use azure_table_tests::sized;

/// The binary `readers` compares them on 10 million bodies.
#[test]
fn the_reader_of_json_agrees_with_serde_json_on_generated_bodies() {
    for seed in 0..sized(4_000, 20_000) {
        readers(&generated(seed));
    }
}
