#![no_main]

#[path = "../src/chaos.rs"]
mod chaos;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| chaos::chaos_plan(bytes));
