#![no_main]

#[path = "../src/language.rs"]
mod language;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| language::mas2j_parser(bytes));
