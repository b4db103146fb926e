#![no_main]

#[path = "../src/mtp.rs"]
mod mtp;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mtp::mtp_post(bytes));
