//! Laws B1 to B4: a world's bits depend on nothing but the world. And what a batch refuses.

use kiloworld_layout::Field;
use kiloworld_layout::consts::status;
use kiloworld_model::Model;
use kiloworld_sim::{Backend, Batch, BatchBuilder, Precision, rng};
use kiloworld_tests::adapter;
use kiloworld_tests::on::{On, backends, model};

const CPU64: On = On(Backend::Cpu, Precision::F64, None);
const CPU32: On = On(Backend::Cpu, Precision::F32, None);
const GPU: On = On(Backend::Gpu, Precision::F32, None);

/// What a world is restored from.
const STATE: [Field; 11] = [
    Field::time,
    Field::qpos,
    Field::qvel,
    Field::act,
    Field::qacc_warmstart,
    Field::ctrl,
    Field::qfrc_applied,
    Field::xfrc_applied,
    Field::mocap_pos,
    Field::mocap_quat,
    Field::eq_active,
];

/// A batch whose world `i` is the world called `who[i]`: its own start velocity, later its own controls.
pub(crate) fn batch(model: &Model, on: On, who: &[usize]) -> Batch {
    let mut batch = on.batch(model, who.len());
    let nv = model.layout.size.nv;
    let qvel: Vec<f64> = who.iter().flat_map(|&w| (0..nv).map(move |i| rng::uniform(7, w, 0, i) - 0.5)).collect();
    batch.set(Field::qvel, &qvel).expect("set");
    batch
}

/// Steps `n` times from step `at`, each world with the controls of its name.
pub(crate) fn run(batch: &mut Batch, who: &[usize], at: usize, n: usize) {
    let ranges = batch.ctrl_ranges();
    let control = |w: usize, k: usize, ctrl: &mut [f64]| {
        for (i, (c, (lo, hi))) in ctrl.iter_mut().zip(&ranges).enumerate() {
            *c = lo + (hi - lo) * rng::uniform(3, who[w], at + k, i);
        }
    };
    batch.step_with(n, &control).expect("steps");
}

/// Everything that a world keeps, as bits.
pub(crate) fn bits(batch: &mut Batch) -> Vec<Vec<u64>> {
    let n = batch.nworld();
    let mut worlds = vec![Vec::new(); n];
    for field in STATE.into_iter().chain([Field::ncon, Field::nefc, Field::solver_niter, Field::status]) {
        let values = batch.get(field).expect("kept");
        if values.is_empty() {
            continue;
        }
        for (world, row) in worlds.iter_mut().zip(values.chunks(values.len() / n)) {
            world.extend(row.iter().map(|x| x.to_bits()));
        }
    }
    worlds
}

/// B1 and B2: the worlds called 0 … 4 in batches of every size, at other places, and on a second run.
fn alone_equals_in_a_batch(name: &str, on: On, sizes: &[usize], steps: usize) {
    let model = model(name);
    let names: Vec<usize> = (0..5).collect();
    let alone: Vec<Vec<u64>> = names
        .iter()
        .map(|&w| {
            let mut b = batch(&model, on, &[w]);
            run(&mut b, &[w], 0, steps);
            bits(&mut b).remove(0)
        })
        .collect();
    assert_ne!(alone[0], alone[1], "worlds must differ for the law to say anything");
    for &n in sizes {
        // the names of interest stand at the end, in reverse
        let who: Vec<usize> = (0..n).rev().collect();
        let mut first = batch(&model, on, &who);
        run(&mut first, &who, 0, steps);
        let first = bits(&mut first);
        for (i, w) in who.iter().enumerate().filter(|(_, w)| **w < names.len()) {
            assert_eq!(first[i], alone[*w], "{name}: world {w} at {i} of {n}");
        }
        let mut second = batch(&model, on, &who);
        run(&mut second, &who, 0, steps);
        assert_eq!(bits(&mut second), first, "{name}: two runs of {n} worlds");
    }
}

/// B3: resetting, poisoning and overflowing some worlds leaves the others' bits alone.
fn worlds_cannot_hurt_each_other(name: &str, on: On, n: usize) {
    let model = model(name);
    let who: Vec<usize> = (0..n).collect();
    let (nu, nv) = (model.layout.size.nu, model.layout.size.nv);
    let mut calm = batch(&model, on, &who);
    let mut hurt = batch(&model, on, &who);
    run(&mut calm, &who, 0, 20);
    run(&mut hurt, &who, 0, 20);
    let (reset, poisoned, blown) = (1, 3, 5);
    hurt.reset(Some(&[reset]), None).expect("reset");
    let mut force = vec![0.0; nv];
    force[0] = f64::NAN;
    hurt.set_rows(Field::qfrc_applied, &[poisoned], &force).expect("set");
    force[0] = 1e30;
    hurt.set_rows(Field::qfrc_applied, &[blown], &force).expect("set");
    run(&mut calm, &who, 20, 20);
    run(&mut hurt, &who, 20, 20);
    let (calm, after) = (bits(&mut calm), bits(&mut hurt));
    for w in (0..n).filter(|w| ![reset, poisoned, blown].contains(w)) {
        assert_eq!(after[w], calm[w], "{name}: world {w}");
    }
    let status = hurt.status().expect("status");
    assert_eq!(status[poisoned] & status::FROZEN, status::BAD_CTRL, "{name}: {status:?}");
    assert_ne!(status[blown] & status::FROZEN, 0, "{name}: {status:?}");
    let qpos = hurt.get(Field::qpos).expect("qpos");
    assert!(qpos.iter().all(|x| x.is_finite()), "{name}: a frozen world keeps a finite state");
    // control: a finite push must change the world's bits, else the comparison above says nothing
    assert_ne!(after[reset], calm[reset], "{name}");
    assert!(nu > 0 || nv > 0);
}

/// B4: save, restore into another batch, continue = never stopped.
fn restored_equals_never_stopped(name: &str, on: On) {
    let model = model(name);
    let who = [0, 1, 2, 3];
    let mut through = batch(&model, on, &who);
    run(&mut through, &who, 0, 30);
    let saved: Vec<(Field, Vec<f64>)> = STATE.iter().map(|&f| (f, through.get(f).expect("kept"))).collect();
    run(&mut through, &who, 30, 30);
    let mut restored = batch(&model, on, &who);
    for (field, values) in &saved {
        restored.set(*field, values).expect("set");
    }
    run(&mut restored, &who, 30, 30);
    assert_eq!(bits(&mut restored), bits(&mut through), "{name}");
}

#[test]
fn b1_b2_on_the_cpu() {
    alone_equals_in_a_batch("humanoid.xml", CPU64, &[7, 64, 1024], 40);
    alone_equals_in_a_batch("box_stack.xml", CPU32, &[7, 64, 4096], 20);
    alone_equals_in_a_batch("quadruped.xml", CPU32, &[7, 1024], 40);
}

#[test]
fn b1_b2_on_the_gpu() {
    if adapter::gpu().is_none() {
        return;
    }
    alone_equals_in_a_batch("humanoid.xml", GPU, &[7, 64], 10);
    alone_equals_in_a_batch("incline.xml", GPU, &[1024, 4096], 10);
}

#[test]
fn b3_on_the_cpu() {
    for on in [CPU64, CPU32] {
        worlds_cannot_hurt_each_other("humanoid.xml", on, 9);
        worlds_cannot_hurt_each_other("box_stack.xml", on, 9);
    }
}

#[test]
fn b3_on_the_gpu() {
    if adapter::gpu().is_some() {
        worlds_cannot_hurt_each_other("humanoid.xml", GPU, 9);
    }
}

#[test]
fn b4_on_the_cpu() {
    for on in [CPU64, CPU32] {
        restored_equals_never_stopped("humanoid.xml", on);
        restored_equals_never_stopped("gripper_pinch.xml", on);
    }
}

#[test]
fn b4_on_the_gpu() {
    if adapter::gpu().is_some() {
        restored_equals_never_stopped("humanoid.xml", GPU);
    }
}

/// An overflowing world is frozen where it was, flagged, and says what it needs; its neighbour goes on.
#[test]
fn overflow_freezes_and_says_what_is_needed() {
    let model = model("box_stack.xml");
    for on in backends() {
        let build =
            |nworld: usize, nconmax: usize| on.builder(&model, nworld).nconmax(nconmax).build().expect("a batch");
        let mut b = build(2, 2);
        // world 1 is lifted out of touch
        let nq = model.layout.size.nq;
        let mut qpos = b.get(Field::qpos).expect("qpos");
        for (i, x) in qpos[nq..].iter_mut().enumerate() {
            *x += if i % 7 == 2 { 5.0 + i as f64 } else { 0.0 };
        }
        b.set(Field::qpos, &qpos).expect("set");
        let before = b.get(Field::qpos).expect("qpos");
        b.step(5).expect("steps");
        let report = b.report().expect("report");
        assert_eq!((report.ok, report.contact_overflow), (1, 1), "{report:?}");
        assert!(report.ncon_max > 2, "{report:?}");
        let after = b.get(Field::qpos).expect("qpos");
        assert_eq!(after[..nq], before[..nq], "frozen at its last good state");
        assert_ne!(after[nq..], before[nq..], "the neighbour falls");
        if on.0 == Backend::Gpu {
            // another capacity is another set of kernels: the CPU has shown it
            continue;
        }
        let mut enough = build(1, report.ncon_max);
        enough.step(1).expect("a step");
        assert!(enough.report().expect("report").all_ok(), "the size that it asked for is enough");
    }
}

#[test]
fn what_a_batch_refuses_names_place_and_remedy() {
    let model = model("weld_pull.xml");
    let build = |f: &dyn Fn(BatchBuilder<'_>) -> Result<Batch, kiloworld_sim::Error>| {
        f(Batch::builder(&model).backend(Backend::Cpu)).err().map(|e| e.to_string()).unwrap_or_default()
    };
    insta::assert_snapshot!(build(&|b| b.nworld(0).build()), @"a batch needs at least one world");
    insta::assert_snapshot!(build(&|b| b.per_world(Field::geom_type).build()), @"geom_type cannot be set per world: it is an integer or decides sizes");
    let small = build(&|b| b.njmax(2).build());
    assert!(small.contains("njmax = 2 is too small") && small.contains("always needed"), "{small}");

    let mut b = Batch::builder(&model).nworld(3).backend(Backend::Cpu).build().expect("a batch");
    let mut refused = |f: &dyn Fn(&mut Batch) -> Result<(), kiloworld_sim::Error>| {
        f(&mut b).err().map(|e| e.to_string()).unwrap_or_default()
    };
    let nv = model.layout.size.nv;
    let nan = |len: usize| {
        let mut v = vec![0.0; len];
        v[len - 1] = f64::NAN;
        v
    };
    assert!(refused(&|b| b.set(Field::qvel, &nan(3 * nv))).contains("qvel of world 2 holds NaN"));
    assert!(refused(&|b| b.set(Field::qvel, &[0.0])).contains("qvel has 1 numbers, expected 3 worlds"));
    insta::assert_snapshot!(refused(&|b| b.set(Field::xpos, &vec![0.0; 3 * 3 * model.layout.size.nbody])), @"xpos cannot be set: it is computed by the stage `kinematics`");
    assert!(
        refused(&|b| b.set(Field::body_mass, &vec![1.0; 3 * model.layout.size.nbody]))
            .contains("make it per world in the builder")
    );
    insta::assert_snapshot!(refused(&|b| b.reset(Some(&[3]), None)), @"world 3 is out of range: the batch has 3 worlds");
    insta::assert_snapshot!(refused(&|b| b.reset(None, Some(9))), @"keyframe 9 is out of range: the model has 0 keyframes");
}

/// A field made per world gives each world its own value: a body of twice the mass gains half the speed.
#[test]
fn masses_can_differ_from_world_to_world() {
    let model = model("free_body.xml");
    let (nbody, nv) = (model.layout.size.nbody, model.layout.size.nv);
    for on in backends() {
        let mut b = on.builder(&model, 2).per_world(Field::body_mass).build().expect("a batch");
        let mut mass = model.layout.body_mass.repeat(2);
        mass[nbody + 1] *= 2.0;
        b.set(Field::body_mass, &mass).expect("set");
        let mut force = vec![0.0; 2 * 6 * nbody];
        for world in force.chunks_mut(6 * nbody) {
            world[6 + 1] = 1.0;
        }
        b.set(Field::xfrc_applied, &force).expect("set");
        b.step(1).expect("a step");
        let qvel = b.get(Field::qvel).expect("qvel");
        let ratio = qvel[1] / qvel[nv + 1];
        assert!((ratio - 2.0).abs() < 1e-5, "{ratio}");
    }
}
