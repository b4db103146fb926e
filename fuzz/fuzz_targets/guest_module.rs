#![no_main]

#[path = "../src/guest.rs"]
mod guest;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| guest::guest_module(bytes));
