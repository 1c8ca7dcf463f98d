//! Smooth stages against MuJoCo: each stage from MuJoCo's own inputs, and one step from MuJoCo's acceleration.

use kiloworld_cpu::run;
use kiloworld_layout::consts::{integrator, status};
use kiloworld_layout::{Call, Data, Field, Model, Slice, SliceMut, Stage};
use kiloworld_tests::golden::{Golden, rel_err};

/// Relative to the largest magnitude of the array: f64 with sums in another order than MuJoCo's.
const STAGE_TOL: f64 = 1e-9;

/// The stages with the fields that MuJoCo also has.
const STAGES: &[(Stage, &[Field])] = &[
    (
        Stage::Kinematics,
        &[
            Field::xpos,
            Field::xquat,
            Field::xmat,
            Field::xipos,
            Field::ximat,
            Field::xanchor,
            Field::xaxis,
            Field::geom_xpos,
            Field::geom_xmat,
            Field::site_xpos,
            Field::site_xmat,
        ],
    ),
    (Stage::ComPos, &[Field::subtree_com, Field::cinert, Field::cdof]),
    (Stage::Transmission, &[Field::ten_length, Field::ten_J, Field::actuator_length, Field::actuator_moment]),
    (Stage::Inertia, &[Field::crb, Field::M, Field::qLD, Field::qLDiagInv]),
    (Stage::Velocity, &[Field::cvel, Field::cdof_dot, Field::ten_velocity, Field::actuator_velocity]),
    (Stage::Passive, &[Field::qfrc_spring, Field::qfrc_damper, Field::qfrc_gravcomp, Field::qfrc_passive]),
    (Stage::Bias, &[Field::qfrc_bias]),
    (Stage::Actuation, &[Field::act_dot, Field::actuator_force, Field::qfrc_actuator]),
    (Stage::Acceleration, &[Field::qfrc_smooth, Field::qacc_smooth]),
];

fn values(d: &Data<f64>, field: Field) -> Vec<f64> {
    match d.get(field) {
        Some(Slice::F(v)) => v.to_vec(),
        _ => panic!("{} is not a real field of a world", field.name()),
    }
}

/// Every stage of state `k` in order, each from MuJoCo's inputs; the outputs are poisoned before.
fn stage_errors(golden: &Golden, m: &Model<f64>, k: usize) -> Vec<(Stage, Field, f64)> {
    let mut errors = Vec::new();
    let mut d = golden.world(m, k);
    for &(stage, fields) in STAGES {
        for field in Field::written_by(stage) {
            if let Some(SliceMut::F(v)) = d.get_mut(field) {
                v.fill(f64::NAN);
            }
        }
        run(Call::from(stage), m, &mut d);
        for &field in fields {
            let ours = values(&d, field);
            golden.load(m, &mut d, field, k);
            errors.push((stage, field, rel_err(&ours, &values(&d, field))));
        }
    }
    errors
}

/// Models of the repository with every smooth feature, one an integrator.
const FEATURES: [&str; 3] = ["smooth_fast", "smooth_rk4", "smooth_euler"];

fn check_stages(name: &str) {
    let golden = Golden::named(name);
    let m = golden.model();
    let mut failures = Vec::new();
    for k in 0..golden.nstate() {
        for (stage, field, error) in stage_errors(&golden, &m, k) {
            if error.is_nan() || error >= STAGE_TOL {
                failures.push(format!("{name} state {k}: {stage} {} off by {error:.1e}", field.name()));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// A world at state `k` with all that MuJoCo's forward pass leaves, `qacc` included.
fn forward_by_mujoco(golden: &Golden, m: &Model<f64>, k: usize) -> Data<f64> {
    let mut d = golden.world(m, k);
    for &(stage, fields) in STAGES {
        run(Call::from(stage), m, &mut d);
        fields.iter().for_each(|&field| golden.load(m, &mut d, field, k));
    }
    golden.load(m, &mut d, Field::qacc, k);
    d
}

fn check_state(name: &str, golden: &Golden, d: &Data<f64>, k: usize) {
    assert_eq!(d.status[0], 0);
    for (field, key) in [(Field::qpos, "qpos"), (Field::qvel, "qvel"), (Field::act, "act")] {
        let error = rel_err(&values(d, field), golden.get(&format!("out/next_{key}")).row(k));
        assert!(error < STAGE_TOL, "{name} state {k}: {key} off by {error:.1e}");
    }
}

/// One step from MuJoCo's converged `qacc`: single-step integrators.
fn check_integrate(name: &str) {
    let golden = Golden::named(name);
    let m = golden.model();
    for k in 0..golden.nstate() {
        let mut d = forward_by_mujoco(&golden, &m, k);
        run(Call::from(Stage::Integrate), &m, &mut d);
        check_state(name, &golden, &d, k);
        assert_eq!(d.time[0], m.opt_timestep[0]);
        assert_eq!(d.qacc_warmstart, golden.get("out/qacc").row(k));
    }
}

/// A forward pass of a world without constraints.
fn forward_free(m: &Model<f64>, d: &mut Data<f64>) {
    for &(stage, _) in STAGES {
        run(Call::from(stage), m, d);
    }
    d.qacc.copy_from_slice(&d.qacc_smooth);
}

#[test]
fn stages_match_mujoco() {
    FEATURES.into_iter().for_each(check_stages);
}

#[test]
fn euler_and_implicitfast_match_mujoco() {
    check_integrate("smooth_fast");
    check_integrate("smooth_euler");
}

#[test]
fn runge_kutta_matches_mujoco() {
    let golden = Golden::named("smooth_rk4");
    let m = golden.model();
    assert!(golden.get("out/nefc").data.iter().all(|&n| n == 0.0), "the model has no constraints");
    for k in 0..golden.nstate() {
        let mut d = golden.world(&m, k);
        for sub in 0..4 {
            forward_free(&m, &mut d);
            run(Call { stage: Stage::Integrate, sub }, &m, &mut d);
        }
        check_state("smooth_rk4", &golden, &d, k);
        assert_eq!(d.time[0], m.opt_timestep[0]);
    }
}

/// The state that must not change.
fn state(d: &Data<f64>) -> Vec<f64> {
    [&d.qpos, &d.qpos_lo, &d.qvel, &d.act, &d.qacc_warmstart, &d.time].into_iter().flatten().copied().collect()
}

#[test]
fn a_bad_world_stays_at_its_last_good_state() {
    type Spoil = fn(&mut Data<f64>);
    let spoils: [(Spoil, i32); 5] = [
        (|d| d.ctrl[1] = f64::NAN, status::BAD_CTRL),
        (|d| d.qfrc_applied[2] = f64::INFINITY, status::BAD_CTRL),
        (|d| d.xfrc_applied[8] = f64::NAN, status::BAD_CTRL),
        (|d| d.qacc[3] = f64::NAN, status::NONFINITE),
        (|d| d.qacc[0] = 1e11, status::DIVERGED),
    ];
    for name in FEATURES {
        let golden = Golden::named(name);
        let m = golden.model();
        for (spoil, flag) in spoils {
            let mut d = golden.world(&m, 1);
            let before = state(&d);
            let subs = if m.opt.integrator == integrator::RK4 { 4 } else { 1 };
            // the second step starts from a world that is frozen already
            for _ in 0..2 {
                for sub in 0..subs {
                    forward_free(&m, &mut d);
                    spoil(&mut d);
                    run(Call { stage: Stage::Integrate, sub }, &m, &mut d);
                }
                assert_eq!(d.status[0], flag, "{name}");
                assert_eq!(state(&d), before, "{name}");
            }
        }
    }
}

#[test]
fn a_world_frozen_between_substages_goes_back() {
    let golden = Golden::named("smooth_rk4");
    let m = golden.model();
    let mut d = golden.world(&m, 1);
    let before = state(&d);
    for sub in 0..4 {
        forward_free(&m, &mut d);
        if sub == 2 {
            assert_ne!(state(&d), before);
            d.status[0] |= status::ROW_OVERFLOW;
        }
        run(Call { stage: Stage::Integrate, sub }, &m, &mut d);
    }
    assert_eq!(state(&d), before);
}
