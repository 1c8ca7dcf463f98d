//! What `Batch::health` finds, and that it finds nothing where nothing is wrong.

use kiloworld_model::Model;
use kiloworld_sim::{Backend, Batch, BatchBuilder, Field, Flag, Health, Precision, Verdict, Welds};
use kiloworld_tests::{adapter, corpus};

/// A builder a backend: f64, f32 in lanes, and the GPU where there is one.
fn backends(model: &Model) -> Vec<(&'static str, BatchBuilder<'_>)> {
    let cpu = || Batch::builder(model).backend(Backend::Cpu);
    let mut all = vec![("f64", cpu().precision(Precision::F64)), ("f32", cpu().precision(Precision::F32))];
    if let Some(gpu) = adapter::gpu() {
        all.push(("gpu", Batch::builder(model).backend(Backend::Gpu).gpu(gpu)));
    }
    all
}

fn model(xml: &str) -> Model {
    Model::from_str(xml).expect("compiles")
}

/// The flags that some world has.
fn flags(health: &Health) -> Vec<Flag> {
    health.summary().iter().map(|(f, _)| f.flag).collect()
}

const WELD: &str = r#"<mujoco>
  <option timestep="0.00125" gravity="0 0 0"/>
  <worldbody>
    <body name="a" pos="0 0 0.5"><joint type="slide" axis="0 0 1"/><geom type="box" pos="0.02 0 0" size=".05 .05 .05" mass="5" contype="0" conaffinity="0"/></body>
    <body name="b" pos="0.2 0 0.5"><freejoint/><geom type="box" size=".05 .05 .05" mass="20" contype="0" conaffinity="0"/></body>
  </worldbody>
  <equality><weld body1="a" body2="b"/></equality>
</mujoco>"#;

/// The pull test at 3 kN: 7.0 mm with MuJoCo's row, 1.5 µm with the stiff one. A world that is not pulled is well.
#[test]
fn a_weld_that_gives_way_is_named() {
    let m = model(WELD);
    for (backend, builder) in backends(&m) {
        for (welds, verdict) in [(Welds::Mujoco, Verdict::Degraded), (Welds::Stiff, Verdict::Ok)] {
            let mut batch = builder.clone().nworld(2).welds(welds).build().expect("built");
            let mut pull = vec![0.0; 6 * 3];
            pull[6 * 2 + 1] = 3000.0;
            batch.set_rows(Field::xfrc_applied, &[1], &pull).expect("set");
            batch.step(1600).expect("stepped");
            let health = batch.health().expect("read");
            assert_eq!((health.world(0), health.world(1)), (Verdict::Ok, verdict), "{backend} {welds:?}: {health}");
            if verdict == Verdict::Degraded {
                let worst = health.of(Flag::JointFail).find(|f| f.unit == "m").expect("found");
                assert!((worst.size - 7.0e-3).abs() < 0.3e-3, "{backend}: {worst}");
                assert_eq!((worst.world, worst.limit, worst.object.as_str()), (1, 1e-3, "weld 0 (a – b)"));
                assert!(worst.step > 1000 && worst.time > 0.0, "{worst}");
                // it stays known when the pull has gone and the weld is back
                batch.set(Field::xfrc_applied, &[0.0; 36]).expect("set");
                batch.step(400).expect("stepped");
                assert_eq!(batch.health().expect("read").verdict, Verdict::Degraded);
                batch.reset(Some(&[1]), None).expect("reset");
                assert_eq!(batch.health().expect("read").verdict, Verdict::Ok);
            }
        }
    }
}

const HANG: &str = r#"<mujoco>
  <option timestep="0.00125"/>
  <worldbody>
    <body name="carrier" pos="0 0 2"><joint type="slide" axis="1 0 0" damping="1"/><geom type="sphere" size=".01" pos="0.001 0 0" mass="0.001" contype="0" conaffinity="0"/></body>
    <body name="load" pos="0 0 1.5"><freejoint/><geom type="box" size=".25 .25 .25" mass="1000" contype="0" conaffinity="0"/></body>
  </worldbody>
  <equality><weld name="hook" body1="carrier" body2="load" anchor="0 0 .5"/></equality>
</mujoco>"#;

/// A ton on a gram is beyond any weld row: 26.14 mm at the first swing with the stiff one (MuJoCo 4.0.0 with the same numbers in
/// the file: 26.141), a fall of 0.3046 m in these 0.25 s with MuJoCo's.
#[test]
fn a_ton_on_a_gram_is_named() {
    let m = model(HANG);
    for (backend, builder) in backends(&m) {
        for (welds, sag) in [(Welds::Stiff, 26.14e-3), (Welds::Mujoco, 0.3046)] {
            let mut batch = builder.clone().welds(welds).build().expect("built");
            batch.step(200).expect("stepped");
            let health = batch.health().expect("read");
            let worst = health.of(Flag::JointFail).find(|f| f.unit == "m").expect("found");
            assert_eq!((health.verdict, worst.object.as_str()), (Verdict::Degraded, "hook"), "{backend}: {health}");
            assert!((worst.size - sag).abs() < 0.01 * sag, "{backend}, {welds:?}: {worst}");
        }
    }
}

/// A limit is the user's: below the stretch of the stiff row it trips.
#[test]
fn limits_can_be_set() {
    let m = model(WELD);
    for (backend, builder) in backends(&m) {
        let limits = kiloworld_sim::HealthLimits { position: 1e-6, ..kiloworld_sim::HealthLimits::default() };
        let mut batch = builder.health(limits).build().expect("built");
        let mut pull = vec![0.0; 6 * 3];
        pull[6 * 2 + 1] = 3000.0;
        batch.set(Field::xfrc_applied, &pull).expect("set");
        batch.step(400).expect("stepped");
        assert_eq!(flags(&batch.health().expect("read")), [Flag::JointFail], "{backend}");
    }
}

/// Worlds that make llvmpipe stop loops are frozen and say so; with more lanes they go on.
#[test]
fn loops_that_the_device_stops_are_named() {
    let Some(gpu) = adapter::gpu() else { return };
    if gpu.selftest().expect("runs").loop_limit().is_none() {
        return;
    }
    let m = Model::from_path(corpus::root().join("models/pallet.xml")).expect("compiles");
    for (lanes, expected) in [(1, vec![Flag::LoopLimit]), (8, vec![])] {
        let builder = Batch::builder(&m).backend(Backend::Gpu).gpu(gpu.clone());
        let mut batch = builder.lanes(lanes).build().expect("built");
        batch.step(2).expect("stepped");
        let health = batch.health().expect("read");
        assert_eq!(flags(&health), expected, "{lanes} lanes: {health}");
        let report = batch.report().expect("read");
        assert_eq!((report.ok, report.loop_limit), (usize::from(lanes > 1), usize::from(lanes == 1)));
        let said: String = batch.failures().expect("read").iter().map(ToString::to_string).collect();
        assert_eq!(said.contains("stopped loops"), lanes == 1, "{said}");
    }
}

const BALL: &str = r#"<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="ball" pos="0 0 1"><freejoint/><geom name="skin" type="sphere" size="0.05" mass="1"/></body>
  </worldbody>
</mujoco>"#;

/// A drop from a metre goes 30 mm deep, as solref says; lying 30 mm deep without having been hit is something else, and what
/// throws the ball out again is energy from nowhere.
#[test]
fn depth_is_measured_against_what_explains_it() {
    let m = model(BALL);
    for (backend, builder) in backends(&m) {
        let mut batch = builder.nworld(2).build().expect("built");
        let mut qpos = batch.get(Field::qpos).expect("read");
        qpos[7 + 2] = 0.02;
        batch.set(Field::qpos, &qpos).expect("set");
        batch.step(1000).expect("stepped");
        let health = batch.health().expect("read");
        assert_eq!(health.world(0), Verdict::Ok, "{backend}: {health}");
        let deep = health.of(Flag::DeepPenetration).next().unwrap_or_else(|| panic!("{backend}: {health}"));
        assert_eq!((deep.world, deep.object.as_str()), (1, "geom floor, geom skin"));
        assert!(deep.size > 0.02 && deep.size <= 0.0301, "{backend}: {deep}");
    }
}

/// A bouncing ball and a swinging pendulum keep their energy; a spring so stiff that the step cannot follow it makes some.
#[test]
fn energy_from_nowhere_is_seen() {
    let bouncing = BALL.replace("<geom name=\"skin\"", "<geom name=\"skin\" solref=\"-20000 -20\" priority=\"1\"");
    let swinging = r#"<mujoco><option timestep="0.002"/><worldbody><body><joint type="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 1 0 0" size=".02" mass="1"/>
      <body pos="1 0 0"><joint type="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 1 0 0" size=".02" mass="1"/></body></body></worldbody></mujoco>"#;
    // ω h = 3 where 2 is stable
    let growing = r#"<mujoco><option timestep="0.002"><flag eulerdamp="disable"/></option><worldbody><body><joint type="slide" axis="1 0 0" stiffness="1e6" damping="900"/>
      <geom type="sphere" size=".05" mass="1"/></body></worldbody></mujoco>"#;
    for (name, xml, seen) in
        [("bouncing", bouncing.as_str(), false), ("swinging", swinging, false), ("growing", growing, true)]
    {
        let m = model(xml);
        for (backend, builder) in backends(&m) {
            let mut batch = builder.build().expect("built");
            if seen {
                batch.set(Field::qvel, &[1e-3]).expect("set");
            }
            batch.step(1000).expect("stepped");
            let health = batch.health().expect("read");
            assert_eq!(flags(&health).contains(&Flag::EnergyGrowth), seen, "{name}, {backend}: {health}");
        }
    }
}

/// Where the last step's solution is taken for this step's, forces are left over; with the model's own iterations none are.
#[test]
fn a_solver_cut_short_is_seen() {
    let m = Model::from_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../models/humanoid.xml")).expect("compiles");
    for (backend, builder) in backends(&m) {
        for (iterations, seen) in [(None, false), (Some(0), true)] {
            let builder = builder.clone().nworld(4);
            let builder = match iterations {
                Some(n) => builder.iterations(n),
                None => builder,
            };
            let mut batch = builder.build().expect("built");
            batch.step(300).expect("stepped");
            let health = batch.health().expect("read");
            assert_eq!(flags(&health).contains(&Flag::NotConverged), seen, "{backend}, {iterations:?}: {health}");
        }
    }
}

/// What freezes a world is a failure with its arrays, its step and the size that was needed.
#[test]
fn frozen_worlds_have_failed() {
    let m = model(&BALL.replace("</worldbody>", "<body pos=\"0 0 3\"><joint name=\"j\" type=\"slide\"/><geom size=\".1\"/></body></worldbody><actuator><motor joint=\"j\"/></actuator>"));
    for (backend, builder) in backends(&m) {
        let mut batch = builder.nworld(4).nconmax(1).build().expect("built");
        let mut qpos = batch.get(Field::qpos).expect("read");
        // on the floor and in each other
        qpos[8 + 2] = 0.04;
        qpos[8 + 7] = -2.9;
        batch.set(Field::qpos, &qpos).expect("set");
        batch.step(3).expect("stepped");
        batch.set_rows(Field::ctrl, &[2], &[f64::NAN]).expect("set");
        batch.set_rows(Field::qvel, &[3], &[0.0, 0.0, 9e9, 0.0, 0.0, 0.0, 0.0]).expect("set");
        batch.set_rows(Field::qfrc_applied, &[3], &[0.0, 0.0, 1e13, 0.0, 0.0, 0.0, 0.0]).expect("set");
        batch.step(3).expect("stepped");
        let health = batch.health().expect("read");
        assert_eq!(health.verdict, Verdict::Failed, "{backend}: {health}");
        assert_eq!((health.ok, health.failed), (1, 3), "{backend}: {health}");
        let of =
            |w: usize| health.findings.iter().find(|f| f.world == w && f.verdict() == Verdict::Failed).expect("found");
        assert_eq!((of(1).flag, of(1).limit), (Flag::ContactOverflow, 1.0), "{backend}");
        assert!(of(1).size >= 2.0, "{backend}: {}", of(1));
        assert_eq!((of(2).flag, of(2).object.as_str(), of(2).step), (Flag::BadCtrl, "ctrl", 3), "{backend}");
        assert_eq!((of(3).flag, of(3).step), (Flag::Diverged, 3), "{backend}");
        assert!(of(3).object.contains("qvel"), "{backend}: {}", of(3));
    }
}

/// What health computes is not the user's to set, and it can be left out without a difference to the motion.
#[test]
fn health_does_not_touch_the_motion() {
    let m = Model::from_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../models/hopper.xml")).expect("compiles");
    for (backend, builder) in backends(&m) {
        let run = |builder: BatchBuilder<'_>| {
            let mut batch = builder.nworld(3).build().expect("built");
            batch.step(60).expect("stepped");
            (batch.get(Field::qpos).expect("read"), batch.get(Field::health_size).expect("read"))
        };
        let (with, without) = (run(builder.clone()), run(builder.clone().without_health()));
        assert_eq!(with.0, without.0, "{backend}");
        assert_ne!(with.1, without.1, "{backend}: the checks ran");
        let mut batch = builder.build().expect("built");
        assert!(batch.set(Field::health_size, &[0.0; 5]).is_err(), "{backend}");
    }
}
