//! Bitwise laws of batches on the GPU: a world knows nothing of the others.

use kiloworld_gpu::{BatchOptions, GpuBatch, Tuning};
use kiloworld_layout::{Data, Field, Model};
use kiloworld_tests::compare::first_difference;
use kiloworld_tests::golden::Golden;
use kiloworld_tests::stage::tuning;
use kiloworld_tests::{adapter, models};

const STEPS: usize = 3;

struct Rig {
    m: Model<f64>,
    states: Vec<Data<f32>>,
}

impl Rig {
    /// `None`, said by the adapter, where there is no device.
    fn new(name: &str) -> Option<Self> {
        adapter::gpu()?;
        let golden = Golden::named(name);
        let mut m = models::of(&golden);
        m.opt.iterations = 4;
        let states = (0..golden.nstate()).map(|k| golden.world(&m, k).split(&m)).collect();
        Some(Self { m, states })
    }

    fn batch(&self, tuning: Tuning, states: &[usize], per_slice: Option<usize>) -> GpuBatch {
        let gpu = adapter::gpu().expect("asked before");
        let options = BatchOptions { tuning: Some(tuning), worlds_per_slice: per_slice, ..BatchOptions::default() };
        let mut batch = GpuBatch::new(&gpu, &self.m, states.len(), options).expect("fits");
        let worlds: Vec<_> = states.iter().map(|&k| self.states[k].clone()).collect();
        batch.write_worlds(&worlds).expect("written");
        batch
    }

    fn step(&self, batch: &mut GpuBatch, n: usize) {
        batch.submit(&kiloworld_sim::step::step(&self.m.opt), n).expect("runs");
    }

    fn run(&self, tuning: Tuning, states: &[usize], per_slice: Option<usize>) -> Vec<Data<f32>> {
        let mut batch = self.batch(tuning, states, per_slice);
        self.step(&mut batch, STEPS);
        batch.read_worlds().expect("read")
    }

    /// Bits of what persists.
    fn same(&self, what: &str, a: &Data<f32>, b: &Data<f32>) {
        let look = |f: Field| {
            let kept = f.info().buffer == kiloworld_layout::Buffer::State
                || matches!(f, Field::status | Field::ncon | Field::nefc | Field::qfrc_constraint | Field::xpos);
            kept.then(|| f.info().len(&self.m.size))
        };
        if let Some(d) = first_difference(a, b, look) {
            panic!("{what}: {d}");
        }
    }
}

#[test]
fn a_world_alone_is_the_world_in_a_batch() {
    for (name, lanes) in [("mix", 1), ("mix", 8), ("mix_pyr", 1)] {
        let Some(rig) = Rig::new(name) else { return };
        let n = rig.states.len();
        let alone: Vec<_> = (0..3).map(|k| rig.run(tuning(lanes), &[k], None).remove(0)).collect();
        for size in [7, 64, 1024] {
            let states: Vec<_> = (0..size).map(|w| (w * 3 + 1) % n).collect();
            let worlds = rig.run(tuning(lanes), &states, None);
            for (w, &k) in states.iter().enumerate().filter(|(_, k)| **k < 3) {
                rig.same(&format!("{name}, {lanes} lanes, state {k} at {w} of {size}"), &alone[k], &worlds[w]);
            }
        }
    }
}

#[test]
fn twice_the_same() {
    let Some(rig) = Rig::new("mix") else { return };
    let states: Vec<_> = (0..10).collect();
    for (w, (a, b)) in rig.run(tuning(8), &states, None).iter().zip(rig.run(tuning(8), &states, None)).enumerate() {
        rig.same(&format!("world {w}"), a, &b);
    }
}

#[test]
fn slices_do_not_show() {
    let Some(rig) = Rig::new("constraint_rows") else { return };
    let states: Vec<_> = (0..40).map(|w| w % 8).collect();
    let (whole, sliced) = (rig.run(tuning(1), &states, None), rig.run(tuning(1), &states, Some(24)));
    for (w, (a, b)) in whole.iter().zip(&sliced).enumerate() {
        rig.same(&format!("world {w}"), a, b);
    }
}

#[test]
fn a_broken_world_leaves_the_others_alone() {
    let Some(rig) = Rig::new("mix") else { return };
    let states: Vec<_> = (0..10).chain(0..6).collect();
    let whole = rig.run(tuning(1), &states, None);
    let mut batch = rig.batch(tuning(1), &states, None);
    let bad = [0, 5, 11];
    batch.upload_rows(Field::qpos, &bad, &vec![f32::NAN; bad.len() * rig.m.size.nq]).expect("written");
    rig.step(&mut batch, STEPS);
    let worlds = batch.read_worlds().expect("read");
    for (w, (a, b)) in whole.iter().zip(&worlds).enumerate() {
        if bad.contains(&w) {
            assert_ne!(b.status[0], 0, "world {w} is flagged");
        } else {
            rig.same(&format!("world {w} beside broken ones"), a, b);
        }
    }
}

#[test]
fn saved_and_restored_is_never_stopped() {
    let Some(rig) = Rig::new("mix") else { return };
    let states: Vec<_> = (0..8).collect();
    let mut batch = rig.batch(tuning(1), &states, None);
    rig.step(&mut batch, STEPS);
    let saved = batch.read_worlds().expect("read");
    rig.step(&mut batch, STEPS);
    let straight = batch.read_worlds().expect("read");
    let mut other = rig.batch(tuning(1), &states, None);
    // only what persists from step to step
    let mut restored = vec![Data::new(&rig.m.size, &0.0_f32); states.len()];
    for (to, from) in restored.iter_mut().zip(&saved) {
        to.clone_from(from);
        for v in [&mut to.xpos, &mut to.qacc, &mut to.efc_J, &mut to.contact_pos, &mut to.qLD, &mut to.qfrc_bias] {
            v.fill(f32::NAN);
        }
    }
    other.write_worlds(&restored).expect("written");
    rig.step(&mut other, STEPS);
    for (w, (a, b)) in straight.iter().zip(other.read_worlds().expect("read")).enumerate() {
        rig.same(&format!("world {w}"), a, &b);
    }
}
