//! Fuzz target: a height field in MuJoCo's own format.
#![no_main]

mod limit;
#[path = "../../src/fuzz.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| target::run("hfield", bytes));
