#![no_main]

#[path = "../src/durable.rs"]
mod durable;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| durable::journal_frame(bytes));
