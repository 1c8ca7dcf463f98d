//! The whole f64 pipeline against MuJoCo: our compiler's model, every stage in order from a state, and 500 steps.

#![expect(clippy::print_stdout, reason = "tables for whoever asks with --nocapture")]

use kiloworld_cpu::run;
use kiloworld_layout::{Data, Field, Model, Slice, Stage};
use kiloworld_sim::step;
use kiloworld_tests::corpus;
use kiloworld_tests::golden::{Golden, rel_err};
use std::path::{Path, PathBuf};

/// Smooth stages, relative to the largest magnitude of the array: sums in another order than MuJoCo's.
const SMOOTH_TOL: f64 = 1e-9;
/// The solver's minimum is unique; both sides stop within this of it.
const SOLVER_TOL: f64 = 1e-6;
/// 500 steps carry rounding on; more only where motion is chaotic.
const TRAJECTORY_TOL: f64 = 1e-6;

/// Trajectories that are not compared, with the reason.
const CHAOTIC: &[(&str, &str)] = &[
    ("gripper_pinch", "a constant random torque spins the light capsule up until MuJoCo resets the run itself"),
    (
        "servo_tool",
        "with MuJoCo's default row, which is compared here, the tool breaks away until MuJoCo resets the run itself",
    ),
];

/// The model without a golden: see `xtask/src/golden.rs`.
const WITHOUT: &str = "pallet";

/// Fields of smooth stages that MuJoCo has too.
fn smooth_fields() -> impl Iterator<Item = Field> {
    const OURS_ONLY: [&str; 3] = ["xpos_lo", "cacc", "cfrc_int"];
    const SKIP: [Stage; 8] = [
        Stage::Load,
        Stage::Collision,
        Stage::Constraint,
        Stage::Reference,
        Stage::Solver,
        Stage::Noslip,
        Stage::Health,
        Stage::Integrate,
    ];
    Field::TABLE
        .iter()
        .filter(|f| !f.is_model() && !SKIP.contains(&f.stage) && !OURS_ONLY.contains(&f.name))
        .map(|f| f.field)
}

/// Models of the project and of the corpus that have a golden: name, file, golden.
fn cases() -> Vec<(String, PathBuf, Golden)> {
    let mut out = Vec::new();
    let mut add = |name: String, xml: PathBuf, golden: Option<PathBuf>| match golden {
        Some(path) => out.push((name, xml, Golden::read(&path))),
        None => kiloworld_tests::left_out::left_out(&format!("{name} has no golden")),
    };
    for dir in ["models", "tests/mjcf/ok"] {
        let entries = std::fs::read_dir(corpus::root().join(dir)).expect("a folder of models");
        let mut files: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
        files.retain(|p| p.extension().is_some_and(|e| e == "xml"));
        files.sort();
        for xml in files {
            let stem = xml.file_stem().expect("a stem").to_string_lossy().into_owned();
            // files with goldens of compiled fields only are compared elsewhere
            if stem.starts_with("model_") || stem == WITHOUT {
                continue;
            }
            let committed = corpus::root().join("tests/golden").join(format!("{stem}.npz"));
            let golden = if committed.is_file() { Some(committed) } else { corpus::own_golden(&stem) };
            add(stem, xml, golden);
        }
    }
    if let Some(folder) = corpus::corpus() {
        for name in ["humanoid", "ant", "half_cheetah", "cartpole"] {
            let xml = folder.join(name).join(format!("{name}.xml"));
            if !xml.is_file() {
                // said by the corpus
                continue;
            }
            add(format!("corpus {name}"), xml, corpus::corpus_golden(name));
        }
    }
    out
}

/// Our compiler's model with the golden's solver settings and room for its contacts and rows.
fn compiled(xml: &Path, golden: &Golden) -> Model<f64> {
    let mut m = kiloworld_model::Model::from_path(xml).unwrap_or_else(|e| panic!("{e}")).layout;
    m.opt.iterations = 1000;
    m.opt.ls_iterations = 200;
    m.opt_tolerance[0] = 0.0;
    m.opt_ls_tolerance[0] = 1e-12;
    let most = |key: &str| golden.get(key).data.iter().fold(0.0_f64, |a, &b| a.max(b)) as usize;
    m.size.nconmax = most("out/ncon") + 24;
    m.size.njmax = most("out/nefc") + 96;
    if m.size.njdual > 0 {
        m.size.njdual = m.size.njmax;
    }
    m
}

fn reals(d: &Data<f64>, field: Field) -> &[f64] {
    match d.get(field) {
        Some(Slice::F(v)) => v,
        _ => panic!("{} is not a real field of a world", field.name()),
    }
}

/// What differs at state `k`, and the worst of each kind so far: smooth stages, contacts, solver.
fn errors_at(golden: &Golden, m: &Model<f64>, k: usize, faults: &mut Vec<String>, worst: &mut [f64; 3]) {
    let mut d = golden.world(m, k);
    let mut theirs = golden.world(m, k);
    for call in step::forward(&m.opt) {
        run(call, m, &mut d);
    }
    let mut check = |what: &str, kind: usize, error: f64, tolerance: f64| {
        worst[kind] = worst[kind].max(error);
        if error.is_nan() || error > tolerance {
            faults.push(format!("state {k}: {what} differs by {error:.1e}"));
        }
    };
    for field in smooth_fields().filter(|f| f.info().len(&m.size) > 0) {
        if golden.arrays.contains_key(&format!("out/{}", field.name())) {
            golden.load(m, &mut theirs, field, k);
            check(field.name(), 0, rel_err(reals(&d, field), reals(&theirs, field)), SMOOTH_TOL);
        }
    }
    let (ncon, nefc) = (golden.get("out/ncon").data[k], golden.get("out/nefc").data[k]);
    if f64::from(d.ncon[0]) != ncon || f64::from(d.nefc[0]) != nefc {
        check(&format!("ncon {} for {ncon}, nefc {} for {nefc}", d.ncon[0], d.nefc[0]), 1, f64::INFINITY, 0.0);
        return;
    }
    for field in CONTACT.map(|c| c.0).into_iter().chain([Field::contact_geom, Field::contact_efc_address]) {
        golden.load(m, &mut theirs, field, k);
    }
    let order = matched(&d, &theirs, ncon as usize);
    for (field, cols) in CONTACT {
        let ours = &reals(&d, field)[..order.len() * cols];
        let same: Vec<f64> =
            order.iter().flat_map(|&o| &reals(&theirs, field)[o * cols..(o + 1) * cols]).copied().collect();
        check(field.name(), 1, rel_err(ours, &same), SMOOTH_TOL);
    }
    golden.load(m, &mut theirs, Field::qacc, k);
    check("qacc", 2, rel_err(&d.qacc, &theirs.qacc), SOLVER_TOL);
    golden.load(m, &mut theirs, Field::efc_force, k);
    let n = nefc as usize;
    let mut same = theirs.efc_force[..n].to_vec();
    for (c, &o) in order.iter().enumerate() {
        if let (Ok(to), Ok(from)) =
            (usize::try_from(d.contact_efc_address[c]), usize::try_from(theirs.contact_efc_address[o]))
        {
            let rows = (to..n).take_while(|&r| d.efc_id[r] == d.efc_id[to] && d.efc_type[r] == d.efc_type[to]).count();
            same[to..to + rows].copy_from_slice(&theirs.efc_force[from..from + rows]);
        }
    }
    check("efc_force", 2, rel_err(&d.efc_force[..n], &same), SOLVER_TOL);
}

/// Fields of contacts that are compared, with their columns.
const CONTACT: [(Field, usize); 3] = [(Field::contact_dist, 1), (Field::contact_pos, 3), (Field::contact_frame, 9)];

/// For each of our contacts the contact of MuJoCo's that it is: the same place in the list, except where corners of the
/// same two geoms tie and come in another order.
fn matched(d: &Data<f64>, theirs: &Data<f64>, ncon: usize) -> Vec<usize> {
    let mut free: Vec<usize> = (0..ncon).collect();
    let distance = |c: usize, o: usize| {
        let geoms = d.contact_geom[2 * c..2 * c + 2] == theirs.contact_geom[2 * o..2 * o + 2];
        let gap: f64 = (0..3).map(|i| (d.contact_pos[3 * c + i] - theirs.contact_pos[3 * o + i]).powi(2)).sum();
        if geoms { gap } else { f64::INFINITY }
    };
    (0..ncon)
        .map(|c| {
            let best = (0..free.len()).min_by(|&a, &b| distance(c, free[a]).total_cmp(&distance(c, free[b])));
            free.remove(best.expect("as many contacts on either side"))
        })
        .collect()
}

#[test]
fn every_stage_in_order_agrees_with_mujoco_from_twenty_states() {
    assert!(smooth_fields().count() > 30);
    let mut faults = Vec::new();
    println!("{:<24} {:>9} {:>9} {:>9}", "model", "smooth", "contacts", "solver");
    for (name, xml, golden) in cases() {
        let m = compiled(&xml, &golden);
        let (mut of_model, mut worst) = (Vec::new(), [0.0; 3]);
        for k in 0..golden.nstate() {
            errors_at(&golden, &m, k, &mut of_model, &mut worst);
        }
        println!("{name:<24} {:>9.1e} {:>9.1e} {:>9.1e}", worst[0], worst[1], worst[2]);
        faults.extend(of_model.iter().map(|f| format!("{name}, {f}")));
    }
    assert!(faults.is_empty(), "{} differences:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn five_hundred_steps_follow_mujoco() {
    let mut faults = Vec::new();
    for (name, xml, golden) in cases() {
        let m = compiled(&xml, &golden);
        let mut d = golden.world(&m, golden.nstate() / 2);
        let calls = step::step(&m.opt);
        let theirs = golden.get("traj/qpos");
        let mut worst = 0.0_f64;
        for k in 0..theirs.shape[0] {
            for &call in &calls {
                run(call, &m, &mut d);
            }
            for (ours, theirs) in d.qpos.iter().zip(theirs.row(k)) {
                let error = (ours - theirs).abs();
                worst = worst.max(if error.is_nan() { f64::INFINITY } else { error });
            }
        }
        println!("{name:<24} {worst:>9.1e}");
        match CHAOTIC.iter().find(|c| c.0 == name) {
            Some((_, why)) => println!("  not compared: {why}"),
            None if worst > TRAJECTORY_TOL => faults.push(format!("{name}: {worst:.1e}")),
            None => {}
        }
    }
    assert!(faults.is_empty(), "trajectories leave MuJoCo's: {}", faults.join(", "));
}
