#![no_main]

#[path = "../src/bundles.rs"]
mod bundles;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bundles::code_bundle(bytes));
