#![no_main]

#[path = "../src/evidence.rs"]
mod evidence;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| evidence::evidence_bundle(bytes));
