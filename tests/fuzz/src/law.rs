//! Fuzz target: the file of a law.
#![no_main]

#[path = "../../src/forge.rs"]
mod forge;
mod limit;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = forge::fuzz("law", bytes);
});
