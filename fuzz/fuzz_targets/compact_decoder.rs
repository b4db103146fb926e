#![no_main]

#[path = "../src/compact.rs"]
mod compact;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| compact::compact_decoder(bytes));
