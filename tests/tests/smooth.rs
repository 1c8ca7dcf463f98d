//! Smooth stages against MuJoCo: each stage from MuJoCo's own inputs, and one step from MuJoCo's acceleration.

use kiloworld_cpu::run;
use kiloworld_layout::{Call, Data, Field, Model, Slice, Stage};
use kiloworld_tests::golden::{Golden, rel_err};
use std::path::{Path, PathBuf};

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
            if let Some(kiloworld_layout::SliceMut::F(v)) = d.get_mut(field) {
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

fn check_stages(path: &Path) {
    let golden = Golden::read(path);
    let m = golden.model();
    let mut failures = Vec::new();
    for k in 0..golden.nstate() {
        for (stage, field, error) in stage_errors(&golden, &m, k) {
            if !(error < STAGE_TOL) {
                failures.push(format!("{} state {k}: {stage} {} off by {error:.1e}", path.display(), field.name()));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// One step from MuJoCo's converged `qacc` (single-step integrators).
fn check_integrate(path: &Path) {
    let golden = Golden::read(path);
    let m = golden.model();
    for k in 0..golden.nstate() {
        let mut d = golden.world(&m, k);
        for &(stage, fields) in STAGES {
            run(Call::from(stage), &m, &mut d);
            fields.iter().for_each(|&field| golden.load(&m, &mut d, field, k));
        }
        golden.load(&m, &mut d, Field::qacc, k);
        run(Call::from(Stage::Integrate), &m, &mut d);
        assert_eq!(d.status[0], 0);
        for (field, key) in [(Field::qpos, "qpos"), (Field::qvel, "qvel"), (Field::act, "act")] {
            let error = rel_err(&values(&d, field), golden.get(&format!("out/next_{key}")).row(k));
            assert!(error < STAGE_TOL, "{} state {k}: {key} off by {error:.1e}", path.display());
        }
    }
}

#[test]
fn dev() {
    for dir in ["/work/tmp/gold", "/work/tmp/gold_smooth"] {
        for e in std::fs::read_dir(dir).unwrap() {
            let p: PathBuf = e.unwrap().path();
            if p.extension().is_some_and(|x| x == "npz") {
                println!("{}", p.display());
                if let Err(e) = std::panic::catch_unwind(|| check_stages(&p)) {
                    let s = e.downcast_ref::<String>().cloned().unwrap_or_default();
                    println!("{}", s.lines().take(12).collect::<Vec<_>>().join("\n"));
                }
                if let Err(e) = std::panic::catch_unwind(|| check_integrate(&p)) {
                    let s = e.downcast_ref::<String>().cloned().unwrap_or_default();
                    println!("{}", s.lines().take(12).collect::<Vec<_>>().join("\n"));
                }
            }
        }
    }
}
