#![no_main]

#[path = "../src/links.rs"]
mod links;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| links::link_frames(bytes));
