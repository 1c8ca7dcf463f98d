//! Every public call of a batch, on every backend: widths of one precision give the same bits, precisions and the GPU the same
//! numbers.

use kiloworld_layout::Field;
use kiloworld_model::Model;
use kiloworld_sim::{Backend, Batch, Policy, Precision, Verdict, lanes};
use kiloworld_tests::on::{On, backends};

const MODEL: &str = r#"<mujoco model="calls"><option timestep="0.005" OPTION/><worldbody>
  <geom type="plane" size="5 5 1"/>
  <body name="ball" pos="0 0 0.1"><freejoint/><geom size="0.1" mass="1"/></body>
  <body name="a" pos="1 0 1"><joint name="a" type="slide" axis="1 0 0"/><geom size="0.1" mass="1"/></body>
  <body name="b" pos="1 1 1"><joint name="b" type="slide" axis="1 0 0" range="-1 1"/><geom size="0.1" mass="1"/></body>
  </worldbody>
  <equality><weld name="grasp" body1="a" body2="b" active="false"/></equality>
  <actuator><motor name="ma" joint="a" ctrlrange="-2 2"/><position name="mb" joint="b" kp="20" kv="2"/></actuator>
  <keyframe><key name="k" time="1" qpos="0 0 0.3 1 0 0 0 0.2 0.1" ctrl="1 0.5"/></keyframe></mujoco>"#;

const WORLDS: usize = 5;

/// What was seen, by the call that gave it.
type Seen = Vec<(String, Vec<f64>)>;

/// What is looked at after each call.
const KEPT: [Field; 7] =
    [Field::time, Field::qpos, Field::qvel, Field::ctrl, Field::eq_active, Field::nstep, Field::status];

fn state(b: &mut Batch, what: &str, seen: &mut Seen) {
    for field in KEPT {
        seen.push((format!("{} after {what}", field.name()), b.get(field).expect("kept")));
    }
}

/// Drives every call in one fixed order.
fn drive(b: &mut Batch, gpu: bool) -> Seen {
    let mut seen = Seen::new();
    let all: Vec<usize> = (0..WORLDS).collect();
    let size = b.model().size.clone();
    let sizes =
        [b.nworld(), size.nq, size.nv, size.nu, size.nconmax, size.njmax, b.control_period(), b.stiff_rows().len()];
    seen.push(("sizes".into(), sizes.map(|n| n as f64).to_vec()));
    seen.push(("model_iterations".into(), vec![f64::from(b.model_iterations())]));
    seen.push(("ctrl_ranges".into(), b.ctrl_ranges().iter().flat_map(|r| [r.0, r.1]).collect()));
    assert_eq!(b.names().of(kiloworld_model::Kind::Actuator).name(1), Some("mb"));
    assert!(!b.capacities().to_string().is_empty() && b.routes().bytes_per_world > 0);
    assert!(b.backend_name().starts_with(if gpu { "gpu" } else { "cpu" }));
    assert_eq!(b.routes().backend.starts_with("gpu"), gpu);
    assert!(gpu || !b.on_software_device());
    assert_eq!(b.device_numbers(1).expect("numbers").is_some(), gpu);

    seen.push(("get of computed".into(), b.get(Field::xpos).expect("computed")));
    // zeros are not what a world has
    b.reset(None, Some(0)).expect("reset");
    state(b, "reset to a keyframe", &mut seen);
    b.step(2).expect("steps");
    state(b, "step", &mut seen);
    b.step_with(3, &|w, k, ctrl| ctrl[1] += 0.01 * (1 + w + k) as f64).expect("steps");
    state(b, "step_with that leaves a control alone", &mut seen);
    b.trace(2, None, &mut |w, k, d| seen.push((format!("trace, world {w}, step {k}"), d.qpos.clone()))).expect("steps");
    let nudge = |w: usize, k: usize, ctrl: &mut [f64]| ctrl[0] -= 0.1 * (w + k) as f64;
    b.trace(2, Some(&nudge), &mut |w, k, d| seen.push((format!("nudged trace, world {w}, step {k}"), d.ctrl.clone())))
        .expect("steps");
    state(b, "trace", &mut seen);
    let ramp = b.ramp(&[1], &[0.4], 0.03).expect("a ramp");
    b.step_with(ramp.steps(), &|w, k, ctrl| ramp.ctrl(w, k, ctrl)).expect("steps");
    state(b, "ramp", &mut seen);
    b.run(&[1], &[-0.1], 0.03).expect("steps");
    state(b, "run", &mut seen);

    b.set(Field::qvel, &(0..WORLDS * size.nv).map(|i| 0.01 * i as f64).collect::<Vec<_>>()).expect("set");
    b.set_rows(Field::ctrl, &[3, 1], &[0.1, 0.2, 0.3, 0.4]).expect("set");
    let nbody = size.nbody;
    let mass: Vec<f64> = (0..2 * nbody).map(|i| 1.0 + 0.25 * i as f64).collect();
    b.set_rows(Field::body_mass, &[4, 0], &mass).expect("per world");
    seen.push(("get of the model".into(), b.get(Field::body_mass).expect("per world")));
    b.step(2).expect("steps");
    state(b, "set and set_rows", &mut seen);

    b.activate(0, &[1, 2], true).expect("on");
    b.capture(0, &[2, 3]).expect("held");
    seen.push(("eq_data".into(), b.get(Field::eq_data).expect("per world")));
    b.step(2).expect("steps");
    state(b, "activate and capture", &mut seen);
    b.activate(0, &[1], false).expect("off");

    let fields = [Field::xpos, Field::qacc, Field::ncon, Field::qfrc_actuator, Field::ctrl];
    for (field, values) in fields.iter().zip(b.forward(&[4, 1], &fields).expect("a pass")) {
        seen.push((format!("forward of {}", field.name()), values));
    }
    let d = b.world(2).expect("a world");
    seen.push(("world".into(), [&d.qpos[..], &d.qacc, &d.xpos, &d.ctrl].concat()));
    state(b, "looking", &mut seen);

    b.reset(Some(&[1]), None).expect("reset");
    let mask = [true, false, false, true, false];
    assert_eq!(b.marked(&mask).expect("a mask"), [0, 3]);
    b.reset_masked(&mask, Some(0)).expect("reset");
    state(b, "resets", &mut seen);

    // world 4 freezes in the second step; it is not asked about in the next call
    b.step_with(3, &|w, k, ctrl| ctrl[0] = if w == 4 && k == 1 { f64::NAN } else { ctrl[0] + 0.1 }).expect("steps");
    let moving = [0, 1, 2, 3];
    b.step_with(1, &|w, _, ctrl| assert!(ctrl[0].is_finite() && moving.contains(&w), "world {w} is frozen"))
        .expect("a step");
    for (field, values) in KEPT.iter().zip(b.forward(&moving, &KEPT).expect("kept")) {
        seen.push((format!("{} of those that move", field.name()), values));
    }
    seen.push(("status".into(), b.status().expect("status").into_iter().map(f64::from).collect()));
    let r = b.report().expect("report");
    seen.push(("report".into(), [r.nworld, r.ok, r.bad_ctrl, r.ncon_max, r.nefc_max].map(|n| n as f64).to_vec()));
    let failures = b.failures().expect("log");
    seen.push(("failures".into(), failures.iter().flat_map(|f| [f.world as f64, f.step as f64, f.time]).collect()));
    let h = b.health().expect("health");
    assert_eq!(h.verdict, Verdict::Failed);
    seen.push(("health".into(), [h.nworld, h.ok, h.failed].map(|n| n as f64).to_vec()));
    seen.push(("world_steps".into(), vec![b.world_steps().expect("a count") as f64]));
    assert_eq!(b.advice().expect("none"), None);
    let history = b.history(4).expect("kept");
    seen.push(("history".into(), history.iter().flat_map(|r| [r.time(), r.get(Field::qpos)[0]]).collect()));
    let dump = b.dumped(4).expect("a dump");
    seen.push(("dump".into(), [dump.last.get(Field::qpos), dump.last.get(Field::qvel)].concat()));
    let path = std::env::temp_dir().join(format!("kiloworld-calls-{}.npz", std::process::id()));
    b.dump(4, &path).expect("written");
    let read = kiloworld_sim::Dump::read(&path).expect("read");
    std::fs::remove_file(&path).expect("it is there");
    assert_eq!(read.last.get(Field::qpos), dump.last.get(Field::qpos));
    b.clear_failures().expect("emptied");
    assert!(b.failures().expect("log").is_empty());
    b.reset(Some(&all), None).expect("reset");
    state(b, "the last reset", &mut seen);
    // steps the worlds of a GPU
    b.profile(1, &|_, _, _| ()).expect("times");
    seen
}

#[test]
fn every_call_does_the_same_everywhere() {
    everywhere("");
}

#[test]
fn every_call_does_the_same_everywhere_with_pgs() {
    everywhere(r#"solver="PGS""#);
}

#[test]
fn every_call_does_the_same_everywhere_with_noslip() {
    everywhere(r#"noslip_iterations="3" cone="elliptic""#);
}

fn everywhere(option: &str) {
    let model = Model::from_str(&MODEL.replace("OPTION", option)).expect("reads");
    let run = |backend: Backend, precision: Precision, lanes: Option<u32>| {
        let builder = On(backend, precision, lanes).builder(&model, WORLDS).control_period(2);
        let builder = builder.per_world(Field::body_mass).attachable().history(3).on_failure(Policy::Freeze);
        drive(&mut builder.build().expect("a batch"), backend == Backend::Gpu)
    };
    let reference = run(Backend::Cpu, Precision::F64, Some(1));
    let mut singles = vec![("cpu f32", run(Backend::Cpu, Precision::F32, Some(1)))];
    for (precision, alone) in [(Precision::F64, &reference), (Precision::F32, &singles[0].1)] {
        for width in lanes(precision).into_iter().filter(|&n| n > 1) {
            for (got, want) in run(Backend::Cpu, precision, Some(width)).iter().zip(alone) {
                assert_eq!(got, want, "{precision:?} x {width}");
            }
        }
    }
    if backends().iter().any(|on| on.0 == Backend::Gpu) {
        singles.push(("gpu", run(Backend::Gpu, Precision::F32, None)));
    }
    for (who, seen) in singles {
        assert_eq!(seen.len(), reference.len());
        for ((what, got), (_, want)) in seen.iter().zip(&reference) {
            assert_eq!(got.len(), want.len(), "{who}: {what}");
            for (i, (got, want)) in got.iter().zip(want).enumerate() {
                // single precision, 6e-8 a number, over some thirty steps; accelerations are its positions over 25e-6 s²,
                // here of bodies that touch nothing or rest
                let far = (got - want).abs() / want.abs().max(1.0);
                assert!(far < 1e-3, "{who}: {what}, number {i}: {got}, in f64 {want}");
            }
        }
    }
}

/// The list above is whole: what is public and not driven is found here.
#[test]
fn no_call_is_left_out() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/sim/src");
    let driven = include_str!("every_call.rs");
    let mut calls = Vec::new();
    for file in std::fs::read_dir(folder).expect("the crate") {
        let text = std::fs::read_to_string(file.expect("an entry").path()).expect("a source");
        for block in text.split("\nimpl Batch {\n").skip(1) {
            let body = block.split("\n}\n").next().unwrap_or(block);
            let names =
                body.lines().filter_map(|l| l.strip_prefix("    pub fn ")).filter_map(|l| l.split(['(', '<']).next());
            calls.extend(names.map(str::to_owned));
        }
    }
    assert!(calls.len() > 30, "{calls:?}");
    let missing: Vec<&String> =
        calls.iter().filter(|c| *c != "builder" && !driven.contains(&format!(".{c}("))).collect();
    assert!(missing.is_empty(), "not driven: {missing:?}");
}
