#![no_main]

#[path = "../src/a2a.rs"]
mod a2a;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| a2a::a2a_requests(bytes));
