//! Fuzz target: a mesh in an STL file.
#![no_main]

mod limit;
#[path = "../../src/fuzz.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| target::run("stl", bytes));
