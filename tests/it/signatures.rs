//! Requests that are changed after they were signed.

use azure_table_tests::fuzz::{Checked, check_signed_request};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_request_is_refused(data in proptest::collection::vec(any::<u8>(), 1..40)) {
        check_signed_request(&data);
    }
}

#[test]
fn most_changes_are_covered_by_the_signature() {
    let mut random = fastrand::Rng::with_seed(1);
    let mut refused = 0;
    for _ in 0..1000 {
        let data: Vec<u8> = (0..random.usize(1..40)).map(|_| random.u8(..)).collect();
        refused += usize::from(check_signed_request(&data) == Checked::Refused);
    }
    assert!(refused > 500, "{refused}");
}
