//! Fuzz target: the text of a model, with files beside it.
#![no_main]

mod limit;
#[path = "../../src/fuzz.rs"]
mod target;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|bytes: &[u8]| target::run("xml", bytes));

/// Values that are often wrong, or right in another place.
const VALUES: [&str; 40] = [
    "", "0", "1", "-1", "2", "3", "0.5", "1e-300", "1e300", "-1e300", "1e10", "1e-10", "4", "100", "1000", "100000",
    "2147483647", "-2147483648", "nan", "inf", "0 0", "1 1", "-1 1", "0 1", "0 0 0", "1 0 0", "0 0 1", "1 1 1", "0 0 0 0",
    "1 0 0 0", "1 2 3 4", "1 2 3 4 5 6", "true", "false", "auto", "world", "a", "main", "mesh", "free",
];

// half of the changes are bytes, half are values, attributes and elements put elsewhere
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed % 2 == 0 {
        return fuzzer_mutate(data, size, max_size);
    }
    let changed = String::from_utf8_lossy(&data[..size]).into_owned();
    match structured(changed, &mut Lcg(u64::from(seed))) {
        Some(text) if text.len() <= max_size.min(data.len()) => {
            data[..text.len()].copy_from_slice(text.as_bytes());
            text.len()
        }
        _ => fuzzer_mutate(data, size, max_size),
    }
});

/// Pseudo-random numbers.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

fn structured(mut text: String, random: &mut Lcg) -> Option<String> {
    for _ in 0..=random.below(3) {
        let quotes: Vec<usize> = text.match_indices('"').map(|(i, _)| i).collect();
        let (pairs, _) = quotes.as_chunks::<2>();
        let tags: Vec<usize> = text.match_indices('<').map(|(i, _)| i).collect();
        if pairs.is_empty() || tags.is_empty() {
            return None;
        }
        let [from, to] = pairs[random.below(pairs.len())];
        let [other, end] = pairs[random.below(pairs.len())];
        // an attribute with its name begins after a space
        let attribute = |[from, to]: [usize; 2]| text[..from].rfind(' ').map(|start| start..to + 1);
        let tag = |k: usize| tags[k]..text[tags[k]..].find('>').map_or(text.len(), |n| tags[k] + n + 1);
        match random.below(6) {
            0 => text.replace_range(from + 1..to, VALUES[random.below(VALUES.len())]),
            1 => text.replace_range(from + 1..to, &text[other + 1..end].to_owned()),
            2 => text.replace_range(attribute([from, to])?, ""),
            3 => text.insert_str(attribute([from, to])?.start, &text[attribute([other, end])?].to_owned()),
            4 => text.replace_range(tag(random.below(tags.len())), ""),
            _ => {
                let copy = text[tag(random.below(tags.len()))].to_owned();
                text.insert_str(tag(random.below(tags.len())).end, &copy);
            }
        }
    }
    Some(text)
}
