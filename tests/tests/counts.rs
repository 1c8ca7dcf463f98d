//! What a step asks of the device: counts that are right, and ways to spread the work that change nothing but the time.

use kiloworld_gpu::{BatchOptions, Counts, GpuBatch, Kernel, Shaders, Tuning, kernels};
use kiloworld_layout::{Data, Field, Model, Sizes, Stage};
use kiloworld_sim::step::step;
use kiloworld_tests::compare::first_difference;
use kiloworld_tests::golden::Golden;
use kiloworld_tests::stage::tuning;
use kiloworld_tests::{adapter, models};

/// A model at the states of its golden, four solver iterations a step; `None`, said by the adapter, without a device.
fn rig(name: &str, tuning: Tuning) -> Option<(Model<f64>, GpuBatch)> {
    let gpu = adapter::gpu()?;
    let golden = Golden::named(name);
    let mut m = models::of(&golden);
    m.opt.iterations = 4;
    let states: Vec<_> = (0..golden.nstate().min(6)).map(|k| golden.world(&m, k).split(&m)).collect();
    let options = BatchOptions { tuning: Some(tuning), ..BatchOptions::default() };
    let mut batch = GpuBatch::new(&gpu, &m, states.len(), options).expect("fits");
    batch.write_worlds(&states).expect("written");
    Some((m, batch))
}

/// Counts of one stage whose kernel is `body`, in a model of 5 dofs.
fn counts_of(body: &str, imports: &str, lanes: u32) -> Option<Counts> {
    let gpu = adapter::gpu()?;
    let size = Sizes { nq: 5, nv: 5, nvpad: 8, nlevel1: 1, ..Sizes::default() };
    let m: Model<f64> = Model { size, qpos0: vec![0.0; 5], dof_damping: vec![1.0; 5], ..Model::default() };
    let mut shaders = Shaders::load().expect("readable");
    let text = format!(
        "// a test\nimport package::layout::{{LANES, NV, WORLDS_PER_GROUP, lane_of, world_of, {imports}}};\nimport \
         package::math::{{sync}};\n\n@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)\nfn main(@builtin(workgroup_id) \
         group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {{\n    let w = world_of(group, local);\n    let \
         lane = lane_of(local);\n    {body}\n}}\n"
    );
    shaders.insert("kinematics", text);
    let options = BatchOptions { tuning: Some(tuning(lanes)), shaders: Some(shaders), ..BatchOptions::default() };
    let batch = GpuBatch::new(&gpu, &m, 3, options).expect("fits");
    Some(batch.count(&[Stage::Kinematics.into()], &[0, 2], None).expect("counted"))
}

#[test]
fn loads_stores_operations_and_barriers_are_counted() {
    // each of 5 elements: loaded, stored, loaded again from what was stored
    let body =
        "for (var i = lane; i < NV; i += LANES) { st_qvel(w, i, 2.0 * ld_qvel(w, i) + ld_dof_damping(w, i)); } sync();
        for (var i = lane; i < NV; i += LANES) { st_qacc(w, i, sqrt(max(ld_qvel(w, NV - 1u - i), 1.0))); } sync();";
    let names = "ld_dof_damping, ld_qvel, st_qacc, st_qvel";
    for (lanes, barriers) in [(1, 0.0), (4, 2.0)] {
        let Some(counts) = counts_of(body, names, lanes) else { return };
        let word = |n: f64| 4.0 * 5.0 * n;
        assert_eq!(counts.bytes_read, word(1.0), "qvel from memory once, then from what was stored: {counts:?}");
        assert_eq!(counts.bytes_written, word(2.0), "qvel and qacc: {counts:?}");
        assert_eq!(counts.bytes_shared, word(1.0), "dof_damping: {counts:?}");
        assert_eq!(counts.bytes_accessed, word(5.0), "{counts:?}");
        assert_eq!(counts.flops, 5.0 * 3.0, "a product, a sum, a root: {counts:?}");
        assert_eq!(counts.barriers, barriers, "{counts:?}");
        assert_eq!(counts.loop_turns, if lanes == 1 { 10 } else { 4 }, "{counts:?}");
    }
    let Some(one) = counts_of("st_qvel(w, 0u, 1.0);", "st_qvel", 1) else { return };
    assert_eq!(
        (one.bytes_read, one.bytes_written),
        (0.0, 4.0),
        "a field that a kernel stores is counted, and no other"
    );
}

/// The counter runs what the device runs: a step on the host ends where the device's does.
#[test]
fn what_is_counted_is_what_the_device_does() {
    for (name, lanes) in [("mix", 1), ("mix", 8), ("smooth_rk4", 1), ("mix_pyr", 1)] {
        let Some((m, mut batch)) = rig(name, tuning(lanes)) else { return };
        let calls = step(&m.opt);
        let mut counted = Vec::new();
        let counts = batch.count(&calls, &[0, 3], Some(&mut counted)).expect("counted");
        assert!(counts.flops > 0.0 && (counts.barriers > 0.0 || lanes == 1), "{counts:?}");
        assert!(counts.bytes_accessed >= counts.bytes_read + counts.bytes_written, "{counts:?}");
        batch.submit(&calls, 1).expect("runs");
        for (&w, host) in [0, 3].iter().zip(&counted) {
            let device = batch.read_world(w).expect("read");
            let place = format!("{name}, {lanes} lanes, world {w}");
            assert_eq!(
                (host.ncon[0], host.nefc[0], host.status[0], host.solver_niter[0]),
                (device.ncon[0], device.nefc[0], device.status[0], device.solver_niter[0]),
                "{place}"
            );
            for (what, a, b) in [("qpos", &host.qpos, &device.qpos), ("qvel", &host.qvel, &device.qvel)] {
                let size = b.iter().fold(1.0_f32, |s, x| s.max(x.abs()));
                let error = a.iter().zip(b).fold(0.0_f32, |e, (x, y)| e.max((x - y).abs()));
                // exponentials and powers are rounded otherwise, and the solver stops at another last bit
                assert!(error <= 2e-4 * size, "{place}: {what} differs by {error:e} of {size}");
            }
        }
    }
}

/// Every bit that persists.
fn same(m: &Model<f64>, what: &str, a: &[Data<f32>], b: &[Data<f32>]) {
    for (w, (a, b)) in a.iter().zip(b).enumerate() {
        let look = |f: Field| {
            let kept = f.info().buffer == kiloworld_layout::Buffer::State
                || matches!(f, Field::status | Field::ncon | Field::nefc | Field::qfrc_constraint | Field::xpos);
            kept.then(|| f.info().len(&m.size))
        };
        if let Some(d) = first_difference(a, b, look) {
            panic!("{what}, world {w}: {d}");
        }
    }
}

#[test]
fn fused_kernels_and_newton_steps_change_no_bit() {
    for (name, lanes) in [("mix", 1), ("mix", 8), ("smooth_rk4", 1)] {
        let run = |fused: bool, newton_steps: u32| {
            let (m, mut batch) = rig(name, Tuning { fused, newton_steps, ..tuning(lanes) })?;
            let dispatches = batch.dispatch_count(&step(&m.opt)).expect("counts");
            batch.submit(&step(&m.opt), 3).expect("runs");
            Some((m, dispatches, batch.read_worlds().expect("read")))
        };
        let Some((m, apart, expected)) = run(false, 1) else { return };
        // 3 of 4 iterations, then 1; all four
        for (fused, newton_steps) in [(true, 1), (false, 3), (true, u32::MAX)] {
            let Some((_, together, worlds)) = run(fused, newton_steps) else { return };
            assert!(together < apart, "{together} dispatches for {apart}");
            same(&m, &format!("{name}, {lanes} lanes, fused {fused}, {newton_steps} Newton steps"), &expected, &worlds);
        }
    }
}

#[test]
fn without_equalities_their_kernel_is_left_out_and_not_missed() {
    let has = |list: &[Kernel]| list.iter().any(|k| k.file == "constraint_equality");
    assert!(has(&kernels(Stage::Constraint, &models::named("mix"), Tuning::default())), "mix has equalities");
    let name = "smooth_rk4";
    let m = models::named(name);
    assert!(m.size.neq == 0 && !has(&kernels(Stage::Constraint, &m, Tuning::default())), "{name} has none");
    let Some((m, mut batch)) = rig(name, tuning(1)) else { return };
    batch.submit(&step(&m.opt), 1).expect("runs");
    batch.run_stage(Stage::Constraint.into()).expect("runs");
    let before = batch.read_worlds().expect("read");
    batch.run_kernel("constraint_equality", "main", 0).expect("runs");
    let look = |f: Field| Some(f.info().len(&m.size));
    for (a, b) in before.iter().zip(&batch.read_worlds().expect("read")) {
        assert_eq!(first_difference(a, b, look), None);
    }
}
