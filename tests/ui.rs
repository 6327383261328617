//! What the derive refuses, word for word, and what it must take.
//!
//! The expected words are in `ui/*.stderr`. After a change of them run
//! `TRYBUILD=overwrite cargo test -p azure-table-tests --test ui` and read the difference.

#[test]
fn derive() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("ui/*.rs");
    cases.pass("ui/pass/*.rs");
}
