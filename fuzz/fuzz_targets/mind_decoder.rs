#![no_main]

#[path = "../src/minds.rs"]
mod minds;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| minds::mind_decoder(bytes));
