//! Capacities that are recommended hold on other roll-outs of the same kind, and half of them do not.

use kiloworld_model::Model;
use kiloworld_sim::sizing::{scatter, wander};
use kiloworld_sim::{Backend, Batch, Precision, Probe, Report, Sizing};
use kiloworld_tests::corpus::root;

const PROBE: Probe = Probe { worlds: 24, steps: 200, seed: 1 };

fn model(name: &str) -> Model {
    Model::from_path(root().join(format!("models/{name}.xml"))).unwrap_or_else(|e| panic!("{e}"))
}

/// A roll-out of the same kind with another seed.
fn rolled(model: &Model, nconmax: usize, njmax: usize) -> Report {
    let builder = Batch::builder(model).nworld(PROBE.worlds).backend(Backend::Cpu).precision(Precision::F64);
    let mut batch = builder.nconmax(nconmax).njmax(njmax).build().unwrap_or_else(|e| panic!("{e}"));
    scatter(&mut batch, 2).unwrap_or_else(|e| panic!("{e}"));
    let control = wander(batch.model(), 2);
    batch.step_with(PROBE.steps, &control).unwrap_or_else(|e| panic!("{e}"));
    batch.report().unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn recommended_capacities_hold_and_half_of_them_do_not() {
    for name in ["humanoid", "box_stack", "quadruped"] {
        let model = model(name);
        let sizing = Sizing::of(&model, PROBE).unwrap_or_else(|e| panic!("{e}"));
        assert!(sizing.nconmax >= sizing.seen.ncon && sizing.njmax >= sizing.seen.nefc, "{name}: {sizing:?}");
        assert!(sizing.seen.ncon > 0 && sizing.seen.nefc >= sizing.seen.ncon, "{name}: {sizing:?}");
        assert_eq!(sizing, Sizing::of(&model, PROBE).unwrap_or_else(|e| panic!("{e}")), "{name}: deterministic");
        let report = rolled(&model, sizing.nconmax, sizing.njmax);
        assert_eq!((report.contact_overflow, report.row_overflow), (0, 0), "{name}: {report:?} {sizing:?}");
        // control: half of either is not enough for what was seen
        let few = rolled(&model, sizing.nconmax / 2, sizing.njmax);
        assert!(few.contact_overflow > 0, "{name}: {few:?} {sizing:?}");
        let always = kiloworld_model::rows_always(&model.layout);
        let few = rolled(&model, sizing.nconmax, (sizing.njmax / 2).max(always));
        assert!(few.row_overflow > 0, "{name}: {few:?} {sizing:?}");
    }
}

#[test]
fn a_probe_that_cannot_hold_the_contacts_of_a_world_is_made_larger() {
    // 900 balls on a plane
    let row: String = (0..900)
        .map(|i| {
            format!(
                r#"<body pos="{} {} .099"><joint type="slide" axis="0 0 1"/><geom size=".1" contype="0"/></body>"#,
                i % 30,
                i / 30
            )
        })
        .collect();
    let xml = format!(r#"<mujoco><worldbody><geom type="plane" size="50 50 1"/>{row}</worldbody></mujoco>"#);
    let model = Model::from_str(&xml).unwrap_or_else(|e| panic!("{e}"));
    let sizing = Sizing::of(&model, Probe { worlds: 1, steps: 1, seed: 0 }).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((sizing.seen.ncon, sizing.nconmax), (900, 900));
}

#[test]
fn memory_grows_with_capacities() {
    let sizing =
        Sizing::of(&model("humanoid"), Probe { worlds: 2, steps: 2, seed: 0 }).unwrap_or_else(|e| panic!("{e}"));
    let [double, single, gpu] = &sizing.memory;
    assert!(single.bytes_per_world < double.bytes_per_world && single.bytes_per_world < gpu.bytes_per_world);
    assert_eq!(gpu.worlds_in(gpu.bytes_shared + 7 * gpu.bytes_per_world), 7);
    assert_eq!(gpu.worlds_in(0), 0);
    let none = Sizing::of(&model("humanoid"), Probe { worlds: 0, steps: 2, seed: 0 });
    assert!(none.is_err());
}

/// Poses lie in the ranges of joints, quaternions have unit length, and every world has its own.
#[test]
fn random_poses_are_poses() {
    let xml = r#"<mujoco><worldbody>
      <body><freejoint/><geom size=".1"/></body>
      <body pos="1 0 0"><joint type="ball" range="0 40"/><geom size=".1" pos=".2 0 0"/></body>
      <body pos="2 0 0"><joint range="-10 30"/><geom size=".1" pos=".2 0 0"/></body></worldbody></mujoco>"#;
    let m = Model::from_str(xml).unwrap_or_else(|e| panic!("{e}")).layout;
    let pose = |w| kiloworld_sim::sizing::random_pose(&m, 3, w);
    assert_ne!(pose(1), pose(3));
    let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
    for w in 0..500 {
        let q = pose(w);
        for quat in [&q[3..7], &q[7..11]] {
            assert!((quat.iter().map(|x| x * x).sum::<f64>() - 1.0).abs() < 1e-12);
        }
        assert!(q[7] >= 20_f64.to_radians().cos() - 1e-12, "{q:?}");
        (least, most) = (least.min(q[11]), most.max(q[11]));
    }
    assert!(
        least >= -10_f64.to_radians()
            && least < -9_f64.to_radians()
            && most <= 30_f64.to_radians()
            && most > 29_f64.to_radians()
    );
}
