#![no_main]

#[path = "../src/xmpp.rs"]
mod xmpp;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| xmpp::xmpp_stream(bytes));
