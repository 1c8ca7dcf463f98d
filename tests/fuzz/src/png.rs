//! Fuzz target: a height field in a PNG image.
#![no_main]

mod limit;
#[path = "../../src/fuzz.rs"]
mod target;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|bytes: &[u8]| target::run("png", bytes));

// a changed chunk gets the checksum that it needs to be looked into
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let size = fuzzer_mutate(data, size, max_size);
    if seed % 16 != 0 {
        checksums(&mut data[..size]);
    }
    size
});

fn checksums(image: &mut [u8]) {
    let mut at = 8;
    while let Some(length) = image.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_be_bytes) {
        let end = at + 8 + length as usize;
        if end + 4 > image.len() {
            return;
        }
        let sum = crc32fast::hash(&image[at + 4..end]);
        image[end..end + 4].copy_from_slice(&sum.to_be_bytes());
        at = end + 4;
    }
}
