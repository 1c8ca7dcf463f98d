//! Targets: what a ramp gives an actuator, and what it refuses.

use kiloworld_layout::Field;
use kiloworld_model::Model;
use kiloworld_sim::{Backend, Batch, Precision};
use kiloworld_tests::adapter;

const ARM: &str = r#"<mujoco><option timestep="0.002"/>
  <worldbody>
    <body><joint name="a"/><geom size="0.1" pos="0.3 0 0" mass="1"/>
      <body pos="0.5 0 0"><joint name="b" axis="0 1 0"/><geom size="0.1" pos="0.2 0 0" mass="1"/></body></body>
  </worldbody>
  <actuator><position name="a" joint="a" kp="50" kv="2"/><position name="b" joint="b" kp="50" kv="2"/></actuator></mujoco>"#;

fn batch(backend: Backend, period: usize) -> Option<Batch> {
    let model = Model::from_str(ARM).expect("reads");
    let mut builder = Batch::builder(&model).nworld(3).backend(backend).control_period(period);
    if backend == Backend::Gpu {
        builder = builder.gpu(adapter::gpu()?);
    }
    let mut batch = builder.build().expect("a batch");
    batch.set(Field::ctrl, &[0.1, 0.5, 0.2, 0.5, 0.3, 0.5]).expect("set");
    Some(batch)
}

#[test]
fn a_ramp_is_a_stair_of_control_periods() {
    let mut batch = batch(Backend::Cpu, 4).expect("the CPU is there");
    // a control is kept in single precision
    let rounding = 1e-7;
    // 7.6 periods of 8 ms are 8; the second actuator has no target
    let ramp = batch.ramp(&[0], &[0.9], 0.061).expect("a ramp");
    assert_eq!(ramp.steps(), 32);
    let at = |w: usize, k: usize| {
        let mut ctrl = [f64::NAN; 2];
        ramp.ctrl(w, k, &mut ctrl);
        assert!(ctrl[1].is_nan());
        ctrl[0]
    };
    for (w, from) in [0.1, 0.2, 0.3].into_iter().enumerate() {
        for k in 0..32 {
            let stair = from + (0.9 - from) * (k / 4 + 1) as f64 / 8.0;
            assert!((at(w, k) - stair).abs() < rounding, "world {w}, step {k}");
        }
        assert!(at(w, 31).to_bits() == 0.9_f64.to_bits() && at(w, 1000).to_bits() == 0.9_f64.to_bits());
    }
    let finer = ramp.clone().with_period(1).expect("a period");
    assert_eq!(finer.steps(), 32);
    assert!(ramp.with_period(0).is_err());
}

#[test]
fn a_run_is_its_ramp_step_by_step() {
    for backend in [Backend::Cpu, Backend::Gpu] {
        let (Some(mut run), Some(mut by_hand)) = (batch(backend, 5), batch(backend, 5)) else { continue };
        let targets = [0.4, -0.2, 0.5, -0.3, 0.6, -0.4];
        let ramp = by_hand.ramp(&[1, 0], &targets, 0.1).expect("a ramp");
        run.run(&[1, 0], &targets, 0.1).expect("runs");
        by_hand.step_with(ramp.steps(), &|w, k, ctrl| ramp.ctrl(w, k, ctrl)).expect("steps");
        for field in [Field::qpos, Field::qvel, Field::ctrl, Field::time] {
            assert_eq!(run.get(field).expect("kept"), by_hand.get(field).expect("kept"), "{field:?}");
        }
        let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-7);
        assert!(close(&run.get(Field::ctrl).expect("kept"), &[-0.2, 0.4, -0.3, 0.5, -0.4, 0.6]));
        // the servo gets there
        run.step(2000).expect("steps");
        assert!((run.get(Field::qpos).expect("kept")[1] - 0.4).abs() < 0.2);
    }
}

#[test]
fn what_is_no_target_is_refused() {
    let model = Model::from_str(ARM).expect("reads");
    let mut b =
        Batch::builder(&model).nworld(3).backend(Backend::Cpu).precision(Precision::F64).build().expect("a batch");
    let mut refused = |actuators: &[usize], targets: &[f64], seconds: f64| {
        b.run(actuators, targets, seconds).expect_err("refused").to_string()
    };
    assert!(refused(&[2], &[0.0], 1.0).contains("the model has 2 actuators"));
    assert!(refused(&[1, 1], &[0.0, 0.0], 1.0).contains("two targets"));
    assert!(refused(&[0, 1], &[0.0; 3], 1.0).contains("3 worlds × 2 = 6"));
    assert!(refused(&[0], &[0.0, f64::NAN, 0.0], 1.0).contains("world 1"));
    assert!(refused(&[0], &[0.0], 0.0).contains("positive"));
    assert!(Batch::builder(&model).backend(Backend::Cpu).control_period(0).build().is_err());
}
