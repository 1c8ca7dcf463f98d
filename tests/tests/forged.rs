//! Dumps that somebody forged: each is refused with a reason or replayed, and none breaks the program or takes its time.

use kiloworld_gpu::TuningChange;
use kiloworld_laws::Law;
use kiloworld_layout::{Field, Sizes, SliceMut};
use kiloworld_sim::{Backend, Batch, Dump, Precision, npz};
use kiloworld_tests::corpus::{corpus, corpus_models, root};
use kiloworld_tests::forge::{REALS, VARIANTS, base, forge, fuzz, integers, replayed, run, start};
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

/// Geoms of any size and place, none of them too far to be looked at: narrow phases find what they find.
#[test]
fn geoms_may_be_of_any_size() {
    let mut seen = Seen::default();
    let sound = base(0);
    for g in 0..sound.model.size.ngeom {
        for x in REALS.into_iter().chain([1e15, 1e20, 1e160]) {
            for axis in 0..4 {
                let mut dump = sound.clone();
                dump.model.geom_rbound.fill(1e308);
                let size = &mut dump.model.geom_size[3 * g..3 * g + 3];
                if axis == 3 {
                    size.fill(x);
                } else {
                    size[axis] = x;
                }
                seen.look(&format!("geom_size[{g}], axis {axis}: {x}"), &dump);
                dump.model.geom_pos[3 * g + axis % 3] = x;
                seen.look(&format!("geom_pos[{g}], axis {axis}: {x}"), &dump);
            }
        }
    }
    assert!(seen.faults.is_empty(), "{:#?}", seen.faults);
    assert!(seen.replayed > 300, "{} refused, {} replayed", seen.refused, seen.replayed);
}

/// A polynomial between tendons whose slope is beyond f32: its row has no more entries than there is room for, and the worlds beside
/// it are as without it.
#[test]
fn a_slope_that_is_not_finite_hurts_no_neighbour() {
    let body =
        |k: usize| format!("<body pos=\"{k} 0 0\"><joint name=\"j{k}\" type=\"slide\"/><geom size=\".1\"/></body>");
    let bodies: String = (0..8).map(body).collect();
    let model = kiloworld_model::Model::from_str(&format!(
        "<mujoco><option gravity=\"0 0 1\"/><worldbody>{bodies}</worldbody><tendon><fixed name=\"a\"><joint joint=\"j0\" coef=\"1\"/></fixed>\
         <fixed name=\"b\"><joint joint=\"j1\" coef=\"1\"/></fixed></tendon>\
         <equality><tendon tendon1=\"a\" tendon2=\"b\" polycoef=\"0 1 0 0 1e10\"/></equality></mujoco>"
    ))
    .unwrap_or_else(|e| panic!("{e}"));
    for precision in [Precision::F32, Precision::F64] {
        for lanes in kiloworld_sim::lanes(precision) {
            let build = || {
                let b =
                    Batch::builder(&model).nworld(17).backend(Backend::Cpu).precision(precision).nconmax(0).njmax(1);
                b.tuning(TuningChange { lanes: Some(lanes), ..TuningChange::default() }).build().expect("a batch")
            };
            let (mut calm, mut wild) = (build(), build());
            let mut qpos = vec![0.0; 8];
            qpos[1] = 1e10;
            wild.set_rows(Field::qpos, &[5], &qpos).expect("set");
            for b in [&mut calm, &mut wild] {
                b.step(3).expect("steps");
            }
            let (a, b) = (calm.get(Field::qpos).expect("qpos"), wild.get(Field::qpos).expect("qpos"));
            assert!((0..8 * 17).all(|i| i / 8 == 5 || a[i] == b[i]), "{precision:?}, {lanes}: a neighbour differs");
            assert!(a[2] != 0.0 && b.iter().all(|x| x.is_finite()), "it moves");
        }
    }
}

/// Start states: every field, of every length, with every kind of number.
#[test]
fn every_number_of_a_start_state_may_be_anything() {
    let model = base(0).model;
    let mut seen = Seen::default();
    for info in Field::TABLE {
        let n = info.len(&model.size);
        for len in [n, n + 1] {
            for x in REALS {
                let mut values = vec![0.5; len];
                values.first_mut().into_iter().for_each(|first| *first = x);
                let array = npz::Array { shape: vec![len], values: npz::Values::F64(values) };
                let arrays = [(info.name.to_owned(), array)].into_iter().collect();
                match catch_unwind(AssertUnwindSafe(|| start(&arrays))) {
                    Ok(Ok(())) => seen.replayed += 1,
                    Ok(Err(_)) => seen.refused += 1,
                    Err(_) => seen.faults.push(format!("{}, {len} numbers, first {x}", info.name)),
                }
                if model.get(info.field).is_some() {
                    break;
                }
            }
        }
    }
    assert!(seen.faults.is_empty(), "{:#?}", seen.faults);
    assert!(seen.refused > 300 && seen.replayed > 30, "{} refused, {} taken", seen.refused, seen.replayed);
}

/// Bytes of real files changed at random: the readers say what is wrong, or take them.
#[test]
fn bytes_of_files_may_be_anything() {
    let dump = base(0).to_bytes().expect("bytes");
    let law = std::fs::read(root().join("tests/laws/damper.toml")).expect("a law");
    let mut state = 3_u64;
    let mut random = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    assert_eq!(fuzz("law", &law), Ok(()), "control");
    let (mut refused, mut taken, mut faults) = (0, 0, Vec::new());
    for k in 0..1500 {
        let (target, sound) = [("dump", &dump), ("state", &dump), ("law", &law)][k % 3];
        let mut bytes = sound.clone();
        for _ in 0..1 + random(3) {
            match random(4) {
                0 => bytes.truncate(random(bytes.len().max(2))),
                1 => {
                    let (at, n) = (random(bytes.len().max(1)), 1 + random(40));
                    let piece = bytes.iter().skip(random(bytes.len().max(1))).take(n).copied().collect::<Vec<u8>>();
                    bytes.splice(at.min(bytes.len())..at.min(bytes.len()), piece);
                }
                2 => {
                    let at = random(bytes.len().max(1));
                    bytes.iter_mut().skip(at).take(4).for_each(|b| *b = 0xff);
                }
                _ => {
                    let (at, bit) = (random(bytes.len().max(1)), random(8));
                    bytes.iter_mut().skip(at).take(1).for_each(|b| *b ^= 1 << bit);
                }
            }
        }
        match catch_unwind(|| fuzz(target, &bytes)) {
            Ok(Ok(())) => taken += 1,
            Ok(Err(_)) => refused += 1,
            Err(_) => faults.push((target, k)),
        }
    }
    assert!(faults.is_empty(), "{faults:?}");
    assert!(refused > 1000 && taken > 20, "{refused} refused, {taken} taken");
}

/// A law whose variables stand for each other ends with an error, and so does one that asks for too many.
#[test]
fn variables_of_a_law_that_never_end_are_found() {
    let law = std::fs::read_to_string(root().join("tests/laws/damper.toml")).expect("a law");
    let with = |vars: &str| {
        let (head, rest) = law.split_once("[vars]\n").expect("a law with variables");
        let text = format!("{head}[vars]\n{vars}\n{rest}")
            .replace("[measure]", "[set]\n\"dof_damping[0]\" = \"zz0\"\n[measure]");
        let law = Law::parse("forged", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        law.run(kiloworld_laws::Backend::CpuF64).error.unwrap_or_default()
    };
    assert!(with("zz0 = \"zz0\"").contains("stands for itself"), "{}", with("zz0 = \"zz0\""));
    let doubling: String = (0..30).map(|k| format!("zz{k} = \"zz{} + zz{}\"\n", k + 1, k + 1)).collect();
    assert!(with(&(doubling + "zz30 = 1")).contains("too many others"));
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
