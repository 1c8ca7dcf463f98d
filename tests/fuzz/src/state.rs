//! Fuzz target: the arrays of a start state, and steps from it.
#![no_main]

#[path = "../../src/forge.rs"]
mod forge;
mod limit;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = forge::fuzz("state", bytes);
});
