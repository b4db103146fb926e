#![no_main]

#[path = "../src/cluster.rs"]
mod cluster;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| cluster::cluster_keys(bytes));
