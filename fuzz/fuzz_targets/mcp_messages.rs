#![no_main]

#[path = "../src/mcp.rs"]
mod mcp;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| mcp::mcp_messages(bytes));
