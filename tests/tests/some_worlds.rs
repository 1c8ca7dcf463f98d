//! What is done to some worlds of a batch is done to them alone: resets, rows, forward passes; and what a list may not hold.

use crate::batch::{batch, bits, run};
use kiloworld_layout::Field;
use kiloworld_sim::{Backend, Batch, Error};
use kiloworld_tests::adapter;
use kiloworld_tests::on::{backends, model};

const COMPUTED: [Field; 5] = [Field::xpos, Field::qacc, Field::qfrc_bias, Field::ncon, Field::qfrc_constraint];

/// A list and a mask reset the same worlds to the same state, a keyframe where one is named, and no other.
#[test]
fn resets_by_list_and_by_mask_are_one() {
    let model = model("humanoid.xml");
    let (n, nq) = (21, model.layout.size.nq);
    let who: Vec<usize> = (0..n).collect();
    for on in backends() {
        let run = |reset: &dyn Fn(&mut Batch)| {
            let mut b = batch(&model, on, &who);
            run(&mut b, &who, 0, 4);
            reset(&mut b);
            (b.get(Field::qpos).expect("qpos"), bits(&mut b))
        };
        let untouched = run(&|_| ());
        // not in order: a list is not a mask
        let list = run(&|b| b.reset(Some(&[17, 2, 9]), Some(1)).expect("reset"));
        let mask: Vec<bool> = (0..n).map(|w| [2, 9, 17].contains(&w)).collect();
        assert_eq!(run(&|b| b.reset_masked(&mask, Some(1)).expect("reset")), list, "{on:?}");
        for (w, &put_back) in mask.iter().enumerate() {
            let row = &list.0[w * nq..(w + 1) * nq];
            if put_back {
                let key = &model.layout.key_qpos[nq..2 * nq];
                let off = row.iter().zip(key).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(off < 1e-7, "{on:?}: world {w} is {off} from the keyframe");
            } else {
                assert_eq!(list.1[w], untouched.1[w], "{on:?}: world {w}");
            }
        }
        assert_eq!(run(&|b| b.reset_masked(&vec![false; n], None).expect("reset")), untouched, "{on:?}");
    }
}

#[test]
fn lists_with_faults_are_refused() {
    let model = model("humanoid.xml");
    let mut b = Batch::builder(&model).nworld(4).backend(Backend::Cpu).build().expect("a batch");
    let refused = |r: Result<(), Error>| r.expect_err("a fault").to_string();
    let nv = model.layout.size.nv;
    insta::assert_snapshot!(refused(b.reset(Some(&[1, 3, 1]), None)), @"world 1 is named more than once: name each world once");
    insta::assert_snapshot!(refused(b.reset_masked(&[true; 3], None)), @"the mask has 3 entries, expected one a world: 4");
    insta::assert_snapshot!(refused(b.reset(Some(&[0, 4]), None)), @"world 4 is out of range: the batch has 4 worlds");
    let rows = vec![0.0; 2 * nv];
    insta::assert_snapshot!(refused(b.set_rows(Field::qvel, &[2, 2], &rows)), @"world 2 is named more than once: name each world once");
    insta::assert_snapshot!(refused(b.forward(&[3, 0, 3], &[Field::xpos]).map(drop)), @"world 3 is named more than once: name each world once");
    insta::assert_snapshot!(refused(b.forward(&[9], &[Field::xpos]).map(drop)), @"world 9 is out of range: the batch has 4 worlds");
}

/// A forward pass of some worlds gives what one of all gives, in the order asked for, and leaves every world as it was; on the
/// GPU also what was computed in worlds that were not asked for.
#[test]
fn forward_of_some_worlds_is_theirs_alone() {
    let model = model("box_stack.xml");
    let who: Vec<usize> = (0..150).collect();
    for on in backends() {
        let mut b = batch(&model, on, &who);
        run(&mut b, &who, 0, 6);
        let before = bits(&mut b);
        // more than one piece of copies, and one world
        for ids in [(0..150).rev().step_by(2).collect::<Vec<_>>(), vec![77], vec![149, 0, 1, 2, 3]] {
            let some = b.forward(&ids, &COMPUTED).expect("fields");
            assert_eq!(bits(&mut b), before, "{on:?}: a look changes nothing that is kept");
            let mut twin = batch(&model, on, &who);
            run(&mut twin, &who, 0, 6);
            let all = twin.forward(&who, &COMPUTED).expect("fields");
            for (f, (some, all)) in COMPUTED.iter().zip(some.iter().zip(&all)) {
                // what a pass counts is kept, and of the last step
                if *f == Field::ncon {
                    continue;
                }
                let n = all.len() / who.len();
                for (row, &w) in some.chunks(n).zip(&ids) {
                    let same = row.iter().zip(&all[w * n..]).all(|(a, b)| a.to_bits() == b.to_bits());
                    assert!(same, "{on:?}: {f:?} of world {w}");
                }
            }
        }
        b.get(Field::xpos).expect("of all worlds");
        assert_eq!(bits(&mut b), before, "{on:?}: a look at all changes nothing either");
        let world = b.world(5).expect("a world");
        let xpos = b.forward(&[5], &[Field::xpos]).expect("xpos").remove(0);
        assert_eq!(world.xpos, xpos, "{on:?}");
        assert_eq!(bits(&mut b), before, "{on:?}");
    }
}

/// What the device computed of the worlds that are not asked for stays in its memory as it is.
#[test]
fn what_others_computed_stays() {
    use kiloworld_gpu::{BatchOptions, GpuBatch};
    let Some(gpu) = adapter::gpu() else { return };
    let model = model("box_stack.xml");
    let (forward, step) =
        (kiloworld_sim::step::forward(&model.layout.opt), kiloworld_sim::step::step(&model.layout.opt));
    let mut b = GpuBatch::new(&gpu, &model.layout, 20, BatchOptions::default()).expect("a batch");
    b.submit(&step, 2).expect("runs");
    let before = b.read_worlds().expect("read");
    let xpos = b.aside(&forward, &[3, 11], &[Field::xpos]).expect("runs").remove(0);
    assert_eq!(b.read_worlds().expect("read"), before);
    // control: the pass did compute something else than what the step had left
    let now: Vec<f32> = xpos.into_iter().map(f32::from_bits).collect();
    assert_ne!(now[..before[3].xpos.len()], before[3].xpos[..]);
    b.submit(&forward, 1).expect("runs");
    assert_ne!(b.read_worlds().expect("read"), before);
}

/// A field of the model that is set for some worlds is theirs; the others keep the model's.
#[test]
fn rows_of_a_model_field_reach_their_worlds() {
    let model = model("free_body.xml");
    let (nbody, nv, n) = (model.layout.size.nbody, model.layout.size.nv, 19);
    for on in backends() {
        let mut b = on.builder(&model, n).per_world(Field::body_mass).build().expect("a batch");
        let push = |b: &mut Batch| {
            b.reset(None, None).expect("reset");
            let mut force = vec![0.0; n * 6 * nbody];
            force.chunks_mut(6 * nbody).for_each(|world| world[6 + 1] = 1.0);
            b.set(Field::xfrc_applied, &force).expect("set");
            b.step(1).expect("a step");
            let qvel = b.get(Field::qvel).expect("qvel");
            qvel.chunks(nv).map(|row| row[1]).collect::<Vec<f64>>()
        };
        let common = push(&mut b);
        let heavy: Vec<f64> = model.layout.body_mass.iter().map(|m| 2.0 * m).collect();
        b.set_rows(Field::body_mass, &[12, 4], &heavy.repeat(2)).expect("set");
        let after = push(&mut b);
        for w in 0..n {
            let ratio = common[w] / after[w];
            let expected = if w == 4 || w == 12 { 2.0 } else { 1.0 };
            assert!((ratio - expected).abs() < 1e-5, "{on:?}: world {w}: {ratio}");
        }
        let mass = b.get(Field::body_mass).expect("per world");
        assert_eq!(mass[4 * nbody + 1], 2.0 * mass[nbody + 1], "{on:?}");
        let some = b.forward(&[4, 3], &[Field::body_mass]).expect("per world").remove(0);
        assert_eq!(some[1], 2.0 * some[nbody + 1], "{on:?}");
    }
}
