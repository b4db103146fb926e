#![no_main]

#[path = "../src/enrolment.rs"]
mod enrolment;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| enrolment::enrolment(bytes));
