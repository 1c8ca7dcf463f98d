//! Laws B1 to B4 where the CPU steps a world in each lane of a register: a lane has the bits of a world by itself.

use crate::batch::{batch, bits, run};
use kiloworld_layout::Field;
use kiloworld_layout::consts::status;
use kiloworld_model::Model;
use kiloworld_sim::{Backend, Batch, Precision, lanes};
use kiloworld_tests::on::{On, model};

/// A model of the project, or of the loader's tests, or one of these with another integrator.
fn named(name: &str) -> Model {
    let text = |path: &str| std::fs::read_to_string(kiloworld_tests::corpus::root().join(path)).expect("the file");
    let load = |text: &str| Model::from_str(text).unwrap_or_else(|e| panic!("{name}: {e}"));
    match name {
        "mix" => load(&text("tests/mjcf/ok/mix.xml")),
        "mix_pyr" => load(&text("tests/mjcf/ok/mix_pyr.xml")),
        "quadruped_rk4" => {
            let text = text("models/quadruped.xml");
            load(&text.replace("</mujoco>", "<option integrator=\"RK4\"/></mujoco>"))
        }
        "solver_pgs" => {
            let text = text("models/incline.xml");
            load(&text.replace("</mujoco>", "<option solver=\"PGS\" noslip_iterations=\"2\"/></mujoco>"))
        }
        _ => model(&format!("{name}.xml")),
    }
}

/// Every width of both precisions that this processor has, the world by itself left out.
fn widths() -> Vec<(Precision, u32)> {
    let of = |p: Precision| lanes(p).into_iter().filter(|&n| n > 1).map(move |n| (p, n));
    of(Precision::F64).chain(of(Precision::F32)).collect()
}

fn on(precision: Precision, lanes: u32) -> On {
    On(Backend::Cpu, precision, Some(lanes))
}

/// The bits of worlds in lanes are those of the same worlds each by itself.
fn lanes_equal_scalars(name: &str, sizes: &[usize], steps: usize) {
    let model = named(name);
    let most = sizes.iter().copied().max().unwrap_or(1);
    for precision in [Precision::F64, Precision::F32] {
        let all: Vec<usize> = (0..most).collect();
        let mut alone = batch(&model, on(precision, 1), &all);
        run(&mut alone, &all, 0, steps);
        let alone = bits(&mut alone);
        for (_, width) in widths().into_iter().filter(|w| w.0 == precision) {
            for &n in sizes {
                // in another order than by themselves
                let who: Vec<usize> = (0..n).rev().collect();
                let mut b = batch(&model, on(precision, width), &who);
                run(&mut b, &who, 0, steps);
                for (i, got) in bits(&mut b).iter().enumerate() {
                    assert_eq!(got, &alone[who[i]], "{name}, {precision:?} × {width}: world {i} of {n}");
                }
            }
        }
    }
}

#[test]
fn humanoid() {
    lanes_equal_scalars("humanoid", &[1, 7, 64], 60);
}

#[test]
fn mix() {
    lanes_equal_scalars("mix", &[1, 7, 64], 50);
    lanes_equal_scalars("mix_pyr", &[7], 50);
}

#[test]
fn incline() {
    lanes_equal_scalars("incline", &[1, 7, 64, 1000], 50);
    lanes_equal_scalars("solver_pgs", &[7], 50);
}

#[test]
fn runge_kutta() {
    lanes_equal_scalars("quadruped_rk4", &[1, 7, 64], 50);
}

#[test]
fn boxes() {
    lanes_equal_scalars("box_stack", &[7, 64], 50);
}

/// One world is reset between calls, one gets a control that is not a number in the middle of a call, one is thrown so hard
/// that its state cannot be kept: the others keep their bits, and the frozen ones their last good state.
#[test]
fn a_frozen_lane_leaves_the_others_alone() {
    let model = named("humanoid");
    let who: Vec<usize> = (0..19).collect();
    let (reset, poisoned, blown) = (1, 3, 6);
    for (precision, width) in widths() {
        let on = on(precision, width);
        let mut calm = batch(&model, on, &who);
        let mut hurt = batch(&model, on, &who);
        run(&mut calm, &who, 0, 10);
        run(&mut hurt, &who, 0, 10);
        hurt.reset(Some(&[reset]), None).expect("reset");
        let mut force = vec![0.0; model.layout.size.nv];
        force[0] = 1e30;
        hurt.set_rows(Field::qfrc_applied, &[blown], &force).expect("set");
        let before = hurt.get(Field::qpos).expect("qpos");
        let ranges = hurt.ctrl_ranges();
        let control = |bad: bool| {
            let ranges = &ranges;
            move |w: usize, k: usize, ctrl: &mut [f64]| {
                for (i, (c, (lo, hi))) in ctrl.iter_mut().zip(ranges).enumerate() {
                    *c = lo + (hi - lo) * kiloworld_sim::rng::uniform(3, w, k, i);
                }
                if bad && w == poisoned && k == 4 {
                    ctrl[2] = f64::NAN;
                }
            }
        };
        calm.step_with(4, &control(false)).expect("steps");
        let good = calm.get(Field::qpos).expect("qpos");
        calm.step_with(6, &|w, k, ctrl| control(false)(w, k + 4, ctrl)).expect("steps");
        hurt.step_with(10, &control(true)).expect("steps");
        let bad = hurt.status().expect("status");
        assert_eq!(bad[poisoned] & status::FROZEN, status::BAD_CTRL, "{on:?}: {bad:?}");
        assert_ne!(bad[blown] & status::FROZEN, 0, "{on:?}: {bad:?}");
        let nq = model.layout.size.nq;
        let after = hurt.get(Field::qpos).expect("qpos");
        let row = |v: &[f64], w: usize| v[w * nq..(w + 1) * nq].to_vec();
        assert_eq!(row(&after, poisoned), row(&good, poisoned), "{on:?}: frozen where its last good step left it");
        assert_eq!(row(&after, blown), row(&before, blown), "{on:?}: frozen at the first step");
        // what is not a number stays in the controls of its world alone
        let stepped = |b: &mut Batch| bits(b);
        let (calm_bits, hurt_bits) = (stepped(&mut calm), stepped(&mut hurt));
        for w in who.iter().copied().filter(|w| ![reset, poisoned, blown].contains(w)) {
            assert_eq!(hurt_bits[w], calm_bits[w], "{on:?}: world {w}");
        }
        assert_ne!(hurt_bits[reset], calm_bits[reset], "{on:?}: a world that was reset differs");
        // and it moves again once it is put back
        hurt.reset(Some(&[poisoned, blown]), None).expect("reset");
        hurt.step(1).expect("a step");
        assert!(hurt.report().expect("report").all_ok(), "{on:?}");
    }
}

/// A world whose contacts or rows have no slot freezes by itself, with the bits and the needs that it has alone.
#[test]
fn an_overflow_stays_in_its_lane() {
    let model = named("box_stack");
    let nq = model.layout.size.nq;
    for (precision, width) in widths() {
        let build = |lanes: u32, nconmax: Option<usize>, njmax: Option<usize>| {
            let mut builder = Batch::builder(&model).nworld(11).backend(Backend::Cpu).precision(precision).lanes(lanes);
            builder = nconmax.into_iter().fold(builder, |b, n| b.nconmax(n));
            builder = njmax.into_iter().fold(builder, |b, n| b.njmax(n));
            let mut b = builder.build().expect("a batch");
            let mut qpos = b.get(Field::qpos).expect("qpos");
            for (w, row) in qpos.chunks_mut(nq).enumerate() {
                // all but worlds 2 and 9 are lifted out of touch
                let lift = |i: usize| if w % 7 == 2 { 0.0 } else { 5.0 + 3.0 * i as f64 };
                row.iter_mut().enumerate().filter(|(i, _)| i % 7 == 2).for_each(|(i, x)| *x += lift(i));
            }
            b.set(Field::qpos, &qpos).expect("set");
            b.step(8).expect("steps");
            (b.report().expect("report"), bits(&mut b))
        };
        for (nconmax, njmax) in [(Some(2), None), (None, Some(7))] {
            let (alone, lanes) = (build(1, nconmax, njmax), build(width, nconmax, njmax));
            assert_eq!(alone.0.ok, 9, "{:?}", alone.0);
            assert_eq!(lanes, alone, "{precision:?} × {width}, {nconmax:?} {njmax:?}");
        }
    }
}

/// Fields of the model that differ from world to world differ from lane to lane.
#[test]
fn a_model_of_its_own_in_each_lane() {
    let model = named("humanoid");
    let (n, nbody) = (13, model.layout.size.nbody);
    let mut results = Vec::new();
    for precision in [Precision::F64, Precision::F32] {
        for width in lanes(precision) {
            let builder = Batch::builder(&model).nworld(n).backend(Backend::Cpu).precision(precision).lanes(width);
            let builder = builder.per_world(Field::body_mass).per_world(Field::geom_friction);
            let mut b = builder.build().expect("a batch");
            let mass = (0..n * nbody).map(|i| model.layout.body_mass[i % nbody] * (1.0 + 0.1 * (i / nbody) as f64));
            b.set(Field::body_mass, &mass.collect::<Vec<_>>()).expect("set");
            let friction = &model.layout.geom_friction;
            let friction =
                (0..n * friction.len()).map(|i| friction[i % friction.len()] * (i / friction.len() + 1) as f64);
            b.set(Field::geom_friction, &friction.collect::<Vec<_>>()).expect("set");
            b.step(40).expect("steps");
            results.push((precision, width, bits(&mut b)));
        }
    }
    for (precision, width, got) in &results {
        let alone = results.iter().find(|r| r.0 == *precision && r.1 == 1).expect("always there");
        assert_eq!(got, &alone.2, "{precision:?} × {width}");
        assert_ne!(got[0], got[1], "worlds differ");
    }
}

/// What is looked at, and what a trace steps, is what the lanes have.
#[test]
fn a_trace_is_what_the_lanes_do() {
    let model = named("mix");
    let who: Vec<usize> = (0..6).collect();
    for (precision, width) in widths() {
        let (mut a, mut b) = (batch(&model, on(precision, width), &who), batch(&model, on(precision, width), &who));
        a.step(9).expect("steps");
        let mut seen = 0;
        b.trace(9, None, &mut |_, _, _| seen += 1).expect("steps");
        assert_eq!(seen, 9 * who.len());
        assert_eq!(bits(&mut a), bits(&mut b), "{precision:?} × {width}");
    }
}

#[test]
fn a_width_that_is_not_there_is_refused() {
    let model = named("incline");
    let error =
        Batch::builder(&model).nworld(64).backend(Backend::Cpu).precision(Precision::F64).lanes(3).build().err();
    let error = error.expect("no register holds three").to_string();
    assert!(error.contains("does not hold 3 worlds") && error.ends_with('1'), "{error}");
}
