#![no_main]

#[path = "../src/encodings.rs"]
mod encodings;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| encodings::acl_string(bytes));
