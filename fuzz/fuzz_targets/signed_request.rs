#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| azure_table_tests::fuzz::signed_request(data));
