#![no_main]

#[path = "../src/python.rs"]
mod python;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| python::python_frames(bytes));
