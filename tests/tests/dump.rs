//! A world in a file: what is written comes back, f64 runs it again, and files that are not dumps are refused.

use kiloworld_layout::Field;
use kiloworld_layout::consts::status;
use kiloworld_model::Model;
use kiloworld_sim::{Backend, Batch, Dump, Precision, rng};
use kiloworld_tests::on::{On, backends, model};
use std::path::PathBuf;

/// A file of this process's own.
fn file(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("kiloworld-dump-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    dir.join(name)
}

const POISONED: usize = 2;
const BLOWN: usize = 5;
const STEPS: usize = 12;

/// Humanoids of masses of their own under random controls: one gets a control that is not a number, one a push that no state
/// survives.
fn failed(model: &Model, on: On) -> Batch {
    let n = 7;
    let mut b = on.builder(model, n).history(6).per_world(Field::body_mass).build().expect("a batch");
    let nbody = model.layout.size.nbody;
    let mass: Vec<f64> =
        (0..n * nbody).map(|i| model.layout.body_mass[i % nbody] * (1.0 + 0.125 * (i / nbody) as f64)).collect();
    b.set(Field::body_mass, &mass).expect("set");
    let ranges = b.ctrl_ranges();
    let control = |w: usize, k: usize, ctrl: &mut [f64]| {
        for (i, (c, (lo, hi))) in ctrl.iter_mut().zip(&ranges).enumerate() {
            *c = lo + (hi - lo) * rng::uniform(11, w, k, i);
        }
        if w == POISONED && k == 9 {
            ctrl[4] = f64::NAN;
        }
    };
    b.step_with(8, &control).expect("steps");
    let mut push = vec![0.0; model.layout.size.nv];
    push[7] = 1e30;
    b.set_rows(Field::qfrc_applied, &[BLOWN], &push).expect("set");
    b.step_with(STEPS - 8, &|w, k, ctrl| control(w, 8 + k, ctrl)).expect("steps");
    b
}

#[test]
fn a_dumped_world_breaks_again_where_it_broke() {
    let model = model("humanoid.xml");
    for on in backends() {
        let mut b = failed(&model, on);
        let f64s = on.1 == Precision::F64;
        for (w, reason, stage, field, element) in
            [(POISONED, status::BAD_CTRL, "load", "ctrl", "actuator 4 ("), (BLOWN, 0, "solver", "qacc", "joint ")]
        {
            let path =
                file(&format!("{w}-{}.npz", b.backend_name().split(',').next().unwrap_or_default().replace(' ', "-")));
            b.dump(w, &path).expect("written");
            let dump = Dump::read(&path).expect("read");
            assert_eq!(dump.about.world, w);
            let bits = b.status().expect("status")[w] & status::FROZEN;
            assert!(dump.about.reason == bits && (reason == 0 || reason == bits), "{on:?}: {:?}", dump.about.reason);
            let mass = b.forward(&[w], &[Field::body_mass]).expect("per world").remove(0);
            assert_eq!(dump.model.body_mass, mass, "{on:?}: the world's own masses");
            assert_ne!(mass[1], model.layout.body_mass[1], "or it says nothing");
            assert_eq!(dump.model.jnt_range, b.model().jnt_range, "the rest is the model's");
            assert_eq!(dump.model.size, b.model().size);
            assert_eq!(dump.model.opt, b.model().opt);
            assert_eq!(dump.history.len(), 6, "{on:?}");

            let replay = dump.replay();
            assert_eq!(replay.steps.len(), 6);
            for s in &replay.steps[..5] {
                let error = s.error.as_ref().expect("there is a next record").size;
                assert!(if f64s { error == 0.0 } else { error < 0.05 }, "{on:?}: {s:?}");
                let drift = s.drift.as_ref().expect("f64 runs as far").size;
                assert!(if f64s { drift == 0.0 } else { drift < 0.5 }, "{on:?}: {s:?}");
                assert!(f64s || error > 0.0, "{on:?}: f32 differs: {s:?}");
            }
            assert!(replay.steps[5].error.is_none(), "what failed left no state: {:?}", replay.steps[5]);
            for breaks in [replay.breaks, replay.breaks_last] {
                let breaks = breaks.expect("f64 breaks too");
                assert_eq!((breaks.step, breaks.stage, breaks.field), (5, stage, field), "{on:?}: {breaks:?}");
                assert!(breaks.element.starts_with(element), "{on:?}: {breaks:?}");
            }
        }
        // a world that moves is dumped as it is, and f64 does not break
        let path = file("well.npz");
        b.dump(0, &path).expect("written");
        let dump = Dump::read(&path).expect("read");
        assert_eq!((dump.about.reason, &dump.about.words[..]), (0, "it has not failed"));
        let replay = dump.replay();
        assert!(replay.breaks.is_none() && replay.breaks_last.is_none(), "{on:?}: {:?}", replay.breaks);
        let last = replay.steps[5].error.as_ref().expect("against the present state");
        assert!(if f64s { last.size == 0.0 } else { last.size < 0.05 }, "{on:?}: {last:?}");
    }
}

/// Too many contacts: the replay says how many there are, without a history too.
#[test]
fn an_overflow_is_replayed() {
    let model = model("box_stack.xml");
    for on in backends() {
        let mut b = on.builder(&model, 2).nconmax(3).build().expect("a batch");
        b.step(3).expect("steps");
        let path = file("overflow.npz");
        b.dump(1, &path).expect("written");
        let replay = Dump::read(&path).expect("read").replay();
        assert_eq!(replay.steps.len(), 1, "the last good state");
        let breaks = replay.breaks.expect("f64 overflows too");
        assert_eq!(breaks.status & status::CONTACT_OVERFLOW, status::CONTACT_OVERFLOW, "{on:?}: {breaks:?}");
        assert!(breaks.words.contains("nconmax is 3"), "{on:?}: {breaks:?}");
        assert_eq!(replay.about.words, breaks.words, "{on:?}: as many as in the batch");
    }
}

/// The same world is the same file.
#[test]
fn a_dump_is_reproducible() {
    let model = model("humanoid.xml");
    let mut b = failed(&model, On(Backend::Cpu, Precision::F64, None));
    let (one, two) = (file("one.npz"), file("two.npz"));
    b.dump(POISONED, &one).expect("written");
    b.dump(POISONED, &two).expect("written");
    assert_eq!(std::fs::read(one).expect("read"), std::fs::read(two).expect("read"));
}

#[test]
fn files_that_are_no_sound_dumps_are_refused() {
    let model = model("incline.xml");
    let mut b = Batch::builder(&model).nworld(2).backend(Backend::Cpu).build().expect("a batch");
    b.step(1).expect("a step");
    let path = file("sound.npz");
    b.dump(0, &path).expect("written");
    let sound = std::fs::read(&path).expect("read");
    let bad = file("bad.npz");
    let refused = |bytes: &[u8]| {
        std::fs::write(&bad, bytes).expect("written");
        let text = Dump::read(&bad).expect_err("refused").to_string();
        text.replace(&bad.display().to_string(), "FILE")
    };
    let original = Dump::read(&path).expect("control");

    insta::assert_snapshot!(refused(b"<mujoco/>"), @"FILE is not a dump of a world (it is no npz archive); `kiloworld rollout --dump-failed` and `Batch::dump` write them");
    insta::assert_snapshot!(refused(b""), @"FILE is not a dump of a world (it is no npz archive); `kiloworld rollout --dump-failed` and `Batch::dump` write them");
    let cut = refused(&sound[..sound.len() / 2]);
    assert!(
        cut.starts_with("FILE is damaged: its list of contents cannot be read") && cut.contains("cut short"),
        "{cut}"
    );
    // every byte matters: of what is stored, of names, of the list of contents
    let mut hit = 0;
    for at in (100..sound.len()).step_by(sound.len() / 60) {
        let mut bytes = sound.clone();
        bytes[at] ^= 0x40;
        std::fs::write(&bad, &bytes).expect("written");
        match Dump::read(&bad) {
            Err(e) => {
                hit += 1;
                let text = e.to_string();
                assert!(text.contains("damaged") || text.contains("dump of"), "byte {at}: {text}");
            }
            // times, attributes and the like say nothing of the world
            Ok(dump) => {
                assert_eq!(
                    (&dump.model, &dump.history, &dump.about),
                    (&original.model, &original.history, &original.about)
                );
            }
        }
    }
    // the model is small: half of the file are headers that say twice what the list of contents says
    assert!(hit > 30, "{hit} of about 60");

    let mut dump = Dump::read(&path).expect("sound");
    dump.about.version = 7;
    dump.write(&bad).expect("written");
    let other = Dump::read(&bad).expect_err("another version").to_string();
    assert!(other.contains("is a dump of version 7") && other.contains("reads version 1"), "{other}");
    let mut dump = Dump::read(&path).expect("sound");
    dump.about.size.remove("nq");
    dump.write(&bad).expect("written");
    let other = Dump::read(&bad).expect_err("another table").to_string();
    assert!(other.contains("whose models differ: size nq is missing"), "{other}");
    let mut dump = Dump::read(&path).expect("sound");
    dump.model.body_mass.pop();
    dump.write(&bad).expect("written");
    let other = Dump::read(&bad).expect_err("lengths").to_string();
    assert!(other.contains("damaged: body_mass has"), "{other}");
    let mut dump = Dump::read(&path).expect("sound");
    dump.about.size.insert("njmax".to_owned(), 1 << 50);
    dump.write(&bad).expect("written");
    let other = Dump::read(&bad).expect_err("room").to_string();
    assert!(other.contains("damaged: its sizes ask for room"), "{other}");
    // ids that lead nowhere, and a way up that never ends
    for change in [
        (|m| m.geom_bodyid[1] = 99) as fn(&mut kiloworld_layout::Model<f64>),
        |m| m.body_parentid[1] = 1,
        |m| m.jnt_qposadr[0] = i32::MAX,
        |m| m.body_jntnum[1] = -3,
    ] {
        let mut dump = Dump::read(&path).expect("sound");
        change(&mut dump.model);
        dump.write(&bad).expect("written");
        let other = Dump::read(&bad).expect_err("ids").to_string();
        assert!(other.contains("damaged") && other.contains("leads nowhere"), "{other}");
    }
    let gone = Dump::read(file("not-there.npz")).expect_err("gone").to_string();
    assert!(gone.contains("not-there.npz: "), "{gone}");
    assert!(b.dump(9, &bad).expect_err("no world").to_string().contains("world 9 is out of range"));
    let nowhere = b.dump(0, file("no/such/folder.npz")).expect_err("no folder").to_string();
    assert!(nowhere.contains("folder.npz"), "{nowhere}");
}
