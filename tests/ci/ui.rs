//! Compiler errors of misused macros and types, word for word, and code that must compile.
//!
//! A file holds many cases, one module each, because a crate takes a second to check. Its cases fail in the same phase
//! of the compiler: an error in an earlier phase hides the errors of a later one. After a change, run
//! `TRYBUILD=overwrite cargo test -p azure-table-ci --test ui` and read the difference of the `.stderr` files.

#[test]
fn misuse_is_explained_and_valid_code_compiles() {
    let cases = trybuild::TestCases::new();
    for phase in ["ui/macros/*.rs", "ui/types/*.rs", "ui/*.rs"] {
        cases.compile_fail(phase);
    }
    cases.pass("ui/pass/*.rs");
}
