//! Dumps that somebody forged: each is refused with a reason or replayed, and none breaks the program or takes its time.

use kiloworld_layout::{Field, Sizes, SliceMut};
use kiloworld_sim::{Backend, Batch, Dump};
use kiloworld_tests::corpus::{corpus, corpus_models, root};
use kiloworld_tests::forge::{REALS, VARIANTS, base, forge, integers, replayed, run};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// A replay of a few steps takes milliseconds; a debug build on a busy machine some more.
const LONGEST: Duration = Duration::from_secs(20);

/// Counts of what became of forged dumps.
#[derive(Default)]
struct Seen {
    refused: usize,
    replayed: usize,
    faults: Vec<String>,
}

impl Seen {
    fn look(&mut self, what: &str, dump: &Dump) {
        let start = Instant::now();
        match catch_unwind(AssertUnwindSafe(|| replayed(dump))) {
            Ok(Ok(())) => self.replayed += 1,
            Ok(Err(_)) => self.refused += 1,
            Err(_) => self.faults.push(format!("{what}: a panic")),
        }
        if start.elapsed() > LONGEST {
            self.faults.push(format!("{what}: {:?}", start.elapsed()));
        }
    }
}

/// Some places in an array: the ends and two between.
fn places(n: usize) -> Vec<usize> {
    let mut at = vec![0, n / 3, 2 * n / 3, n.saturating_sub(1)];
    at.dedup();
    at.retain(|&i| i < n);
    at
}

#[test]
fn every_integer_of_a_dump_may_lie() {
    let mut seen = Seen::default();
    for variant in 0..VARIANTS {
        let sound = base(variant);
        assert_eq!(replayed(&sound), Ok(()), "control");
        for info in Field::TABLE.iter().filter(|f| f.is_model()) {
            let mut dump = sound.clone();
            let n = info.rows(&sound.model.size) as i32;
            let Some(SliceMut::I(v)) = dump.model.get_mut(info.field) else { continue };
            let whole = v.clone();
            for at in places(whole.len()) {
                for x in integers(whole[at], n).into_iter().filter(|&x| x != whole[at]) {
                    if let Some(SliceMut::I(v)) = dump.model.get_mut(info.field) {
                        v.clone_from(&whole);
                        v[at] = x;
                    }
                    seen.look(&format!("{variant}: {}[{at}] = {x}", info.name), &dump);
                }
            }
        }
    }
    assert!(seen.faults.is_empty(), "{:#?}", seen.faults);
    assert!(seen.refused > 2000 && seen.replayed > 300, "{} refused, {} replayed", seen.refused, seen.replayed);
}

#[test]
fn every_real_of_a_dump_may_be_anything() {
    let mut seen = Seen::default();
    let sound = [0, 1].map(base);
    for (variant, sound) in sound.iter().enumerate() {
        for info in Field::TABLE.iter().filter(|f| f.is_model()) {
            let mut dump = sound.clone();
            let Some(SliceMut::F(v)) = dump.model.get_mut(info.field) else { continue };
            let whole = v.clone();
            for at in places(whole.len()).into_iter().step_by(2) {
                for x in REALS {
                    if let Some(SliceMut::F(v)) = dump.model.get_mut(info.field) {
                        v.clone_from(&whole);
                        v[at] = x;
                    }
                    seen.look(&format!("{variant}: {}[{at}] = {x}", info.name), &dump);
                }
            }
        }
        for (k, (field, values)) in sound.last.fields.iter().enumerate() {
            for at in places(values.len()) {
                for x in REALS {
                    let mut dump = sound.clone();
                    dump.history[0].fields[k].1[at] = x;
                    seen.look(&format!("{variant}: history, {}[{at}] = {x}", field.name()), &dump);
                    dump.history.clear();
                    dump.last.fields[k].1[at] = x;
                    seen.look(&format!("{variant}: last, {}[{at}] = {x}", field.name()), &dump);
                }
            }
        }
    }
    assert!(seen.faults.is_empty(), "{:#?}", seen.faults);
    assert!(seen.replayed > 1000, "{} refused, {} replayed", seen.refused, seen.replayed);
}

#[test]
fn every_size_option_and_length_of_a_dump_may_lie() {
    let mut seen = Seen::default();
    let sound = base(1);
    for &(name, id) in Sizes::NAMES {
        let n = sound.model.size.get(id);
        for x in [0, 1, n + 1, n.wrapping_sub(1), 2 * n, 1 << 20, 1 << 31, 1 << 62, usize::MAX] {
            let mut dump = sound.clone();
            dump.about.size.insert(name.to_owned(), x);
            seen.look(&format!("size {name} = {x}"), &dump);
        }
    }
    for name in sound.about.opt.keys() {
        for x in integers(sound.about.opt[name], 5) {
            let mut dump = sound.clone();
            dump.about.opt.insert(name.clone(), x);
            seen.look(&format!("option {name} = {x}"), &dump);
        }
    }
    for info in Field::TABLE.iter().filter(|f| f.is_model()) {
        for cut in [0, 1] {
            let mut dump = sound.clone();
            match dump.model.get_mut(info.field) {
                Some(SliceMut::I(v)) => v.truncate(cut * v.len().saturating_sub(1)),
                Some(SliceMut::F(v)) => v.truncate(cut * v.len().saturating_sub(1)),
                None => {}
            }
            seen.look(&format!("{} cut, {cut}", info.name), &dump);
        }
    }
    for (k, (field, _)) in sound.last.fields.iter().enumerate() {
        for change in [(|v| v.clear()) as fn(&mut Vec<f64>), |v| v.push(0.0)] {
            let mut dump = sound.clone();
            dump.history.iter_mut().for_each(|r| change(&mut r.fields[k].1));
            seen.look(&format!("history, length of {}", field.name()), &dump);
        }
    }
    assert!(seen.faults.is_empty(), "{:#?}", seen.faults);
    assert!(seen.refused > 300 && seen.replayed > 30, "{} refused, {} replayed", seen.refused, seen.replayed);
}

/// Several at once, as the fuzzer makes them.
#[test]
fn several_numbers_may_lie_at_once() {
    let mut seen = Seen::default();
    let sound = base(2);
    let mut state = 1_u64;
    let mut bytes = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32).to_le_bytes()[..4].to_vec()
    };
    for k in 0..2000 {
        let mut dump = sound.clone();
        let changes: Vec<u8> = (0..1 + k % 4).flat_map(|_| bytes()).collect();
        forge(&mut dump, &changes);
        seen.look(&format!("changes {changes:?}"), &dump);
    }
    assert!(seen.faults.is_empty(), "{:#?}", seen.faults);
    assert!(seen.refused > 200 && seen.replayed > 200, "{} refused, {} replayed", seen.refused, seen.replayed);
}

/// What trials from outside found.
#[test]
fn dumps_that_once_broke_the_replay_are_refused() {
    let dir = root().join("tests/faults/dumps");
    let mut count = 0;
    for entry in std::fs::read_dir(&dir).expect("a folder") {
        let path = entry.expect("an entry").path();
        let bytes = std::fs::read(&path).expect("readable");
        assert!(run(&bytes).is_err(), "{}", path.display());
        count += 1;
    }
    assert!(count >= 6, "{count}");
}

/// Nothing that a batch makes is taken for a forgery.
#[test]
fn the_dumps_of_all_models_are_sound() {
    let own = std::fs::read_dir(root().join("models")).expect("a folder").map(|e| e.expect("an entry").path());
    let mut models: Vec<_> = own.filter(|p| p.extension().is_some_and(|e| e == "xml")).collect();
    assert!(models.len() > 10);
    models.extend(corpus().iter().flat_map(|dir| corpus_models(dir)).map(|(_, path)| path));
    let mut dumped = 0;
    for path in models {
        let model = kiloworld_model::Model::from_path(&path).unwrap_or_else(|e| panic!("{e}"));
        if model.check_supported().is_err() {
            continue;
        }
        let builder = Batch::builder(&model).nworld(1).backend(Backend::Cpu).nconmax(8).njmax(600).attachable();
        let Ok(mut batch) = builder.build() else { continue };
        let bytes = batch.dumped(0).expect("a dump").to_bytes().expect("bytes");
        Dump::from_bytes("FILE".to_owned(), &bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        dumped += 1;
    }
    assert!(dumped > 10, "{dumped}");
}
