//! Attaching at run time: what a hand takes where it is, it carries; what it lets go falls.

use kiloworld_layout::Field;
use kiloworld_model::Model;
use kiloworld_sim::{Backend, Batch, Precision};
use kiloworld_tests::on::{On, backends};

/// A hand on a lift and a turntable; a box that floats beside it until gravity is felt; rows that are as stiff as the step allows.
const SCENE: &str = r#"<mujoco>
  <option timestep="0.0005" integrator="implicitfast"/>
  <default><equality solref="-1440000 -2400" solimp="0.999 0.999 0.001 0.5 2"/></default>
  <worldbody>
    <body name="hand" pos="0 0 1">
      <joint name="lift" type="slide" axis="0 0 1" damping="20"/>
      <joint name="turn" axis="0 0 1" damping="5" armature="2"/>
      <geom size="0.05 0.05 0.02" type="box" mass="2"/>
      <site name="palm" pos="0 0 -0.02"/>
      <body name="finger" pos="0.04 0 -0.05"><geom size="0.01" mass="0.05"/></body>
    </body>
    <body name="thing" pos="0.3 0.1 0.9">
      <freejoint name="thing"/>
      <geom size="0.03 0.02 0.01" type="box" mass="0.4" contype="0" conaffinity="0"/>
      <site name="handle"/>
    </body>
  </worldbody>
  <equality>
    <weld name="grasp" body1="hand" body2="thing" active="false"/>
    <connect name="hook" body1="finger" body2="thing" anchor="0.01 0 0" active="false"/>
    <weld name="fingers" body1="hand" body2="finger" active="false"/>
    <weld name="sites" site1="palm" site2="handle" active="false"/>
    <joint name="coupled" joint1="lift" joint2="turn" active="false"/>
  </equality>
  <actuator>
    <position name="lift" joint="lift" kp="3000" kv="150"/>
    <position name="turn" joint="turn" kp="200" kv="40"/>
  </actuator>
</mujoco>"#;

fn scene() -> Model {
    Model::from_str(SCENE).unwrap_or_else(|e| panic!("{e}"))
}

fn build(model: &Model, on: On, n: usize) -> Batch {
    on.builder(model, n).attachable().build().expect("a batch")
}

/// Each world's thing stands elsewhere, turned.
fn scatter(b: &mut Batch, n: usize) {
    let mut qpos = b.get(Field::qpos).expect("qpos");
    let nq = qpos.len() / n;
    for (w, row) in qpos.chunks_mut(nq).enumerate() {
        let a = 0.3 + 0.17 * w as f64;
        row[2] += 0.05 * a.sin();
        row[3] += 0.02 * w as f64;
        row[5..9].copy_from_slice(&[a.cos(), 0.6 * a.sin(), 0.0, 0.8 * a.sin()]);
    }
    b.set(Field::qpos, &qpos).expect("set");
}

/// Up and round, a smooth start.
fn carry(b: &mut Batch, from: usize, n: usize) {
    b.step_with(n, &|_, k, ctrl| {
        let t = 0.0005 * (from + k) as f64;
        let s = (t / 0.16).min(1.0);
        let s = s * s * (3.0 - 2.0 * s);
        ctrl.copy_from_slice(&[0.05 * s, 0.2 * s]);
    })
    .expect("steps");
}

/// Largest residual of the rows that are on, as the batch computes it, of one world.
fn residual(b: &mut Batch, w: usize) -> f64 {
    let d = b.world(w).expect("a world");
    let n = usize::try_from(d.ne[0]).expect("a count");
    assert!(n > 0, "no row is on");
    d.efc_pos[..n].iter().map(|x| x.abs()).fold(0.0, f64::max)
}

const GRASP: usize = 0;
const HOOK: usize = 1;

/// A thing that is taken keeps its place in the hand through a lift and a turn, world by world; released it falls; worlds that do
/// not take it are not touched; a second run has the same bits.
#[test]
fn what_is_taken_is_carried_and_what_is_let_go_falls() {
    let model = scene();
    let n = 5;
    let takers = [0, 2, 3];
    for on in backends() {
        let run = || {
            let mut b = build(&model, on, n);
            scatter(&mut b, n);
            b.capture(GRASP, &takers).expect("captured");
            let at_once = residual(&mut b, 2);
            carry(&mut b, 0, 360);
            let worst = takers.iter().map(|&w| residual(&mut b, w)).fold(0.0, f64::max);
            let v = b.forward(&[0, 2, 3, 1], &[Field::qpos]).expect("qpos").remove(0);
            b.activate(GRASP, &takers, false).expect("released");
            let before = b.get(Field::qpos).expect("qpos");
            carry(&mut b, 360, 200);
            let after = b.get(Field::qpos).expect("qpos");
            (at_once, worst, v, before, after)
        };
        let (at_once, worst, carried, before, after) = run();
        let nq = model.layout.size.nq;
        // f32 rounds the pose that is kept: 0.4 m to 3e-8 m, turned and moved by arms of as much
        let (zero, held) = if on.1 == Precision::F64 { (1e-15, 1e-6) } else { (3e-7, 2e-6) };
        assert!(at_once < zero, "{on:?}: {at_once:e} where it was taken");
        assert!(worst < held, "{on:?}: {worst:e} while it is carried");
        for (k, w) in takers.iter().enumerate() {
            // up with the hand, which lifts by 0.05 m
            let rise = carried[k * nq + 4] - 0.9;
            let lift = carried[k * nq];
            assert!(lift > 0.02 && (rise - lift).abs() < 1e-3, "{on:?}: world {w} rises {rise}, the hand {lift}");
            let fall = before[w * nq + 4] - after[w * nq + 4];
            assert!((0.025..0.06).contains(&fall), "{on:?}: world {w} falls {fall} m in 0.1 s");
        }
        // control: without the capture it has fallen all the while, half g t²
        let fallen = 0.9 - carried[3 * nq + 4];
        assert!((fallen - 0.5 * 9.81 * 0.18 * 0.18).abs() < 1e-2, "{on:?}: {fallen}");
        let again = run();
        let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&again.4), bits(&after), "{on:?}");
    }
}

/// A connect takes the second anchor from where the first is now.
#[test]
fn a_connect_is_captured_where_its_anchor_is() {
    let model = scene();
    for on in backends() {
        let mut b = build(&model, on, 3);
        scatter(&mut b, 3);
        b.activate(HOOK, &[1], true).expect("on");
        assert!(residual(&mut b, 1) > 0.05, "{on:?}: the model's pose is another");
        b.capture(HOOK, &[1, 2]).expect("captured");
        let at_once = residual(&mut b, 1);
        assert!(at_once < if on.1 == Precision::F64 { 1e-15 } else { 3e-7 }, "{on:?}: {at_once:e}");
        assert_eq!(b.get(Field::eq_active).expect("flags")[..5], [0.0; 5], "{on:?}: world 0 was not asked for");
        let data = b.get(Field::eq_data).expect("per world");
        assert_eq!(data[..60], model.layout.eq_data.iter().map(|&x| rounded(x, on)).collect::<Vec<_>>()[..], "{on:?}");
        assert_ne!(data[60 + 12 + 3..60 + 12 + 6], data[12 + 3..12 + 6], "{on:?}");
        // a reset lets go of what was taken, however often
        b.capture(HOOK, &[1]).expect("captured");
        b.reset(Some(&[1]), None).expect("reset");
        let after = b.get(Field::eq_data).expect("per world");
        assert_eq!(after[60..120], data[..60], "{on:?}");
        assert_eq!(after[120..], data[120..], "{on:?}: world 2 still holds");
    }
}

#[allow(clippy::cast_possible_truncation, reason = "rounding is what is wanted")]
fn rounded(x: f64, on: On) -> f64 {
    if on.1 == Precision::F64 { x } else { f64::from(x as f32) }
}

/// The pose that is kept is computed in f64 from the coordinates: the same on every backend, to its own rounding.
#[test]
fn every_backend_captures_the_same_pose() {
    let model = scene();
    let captured = |on: On| {
        let mut b = build(&model, on, 2);
        // numbers that f32 has, so that all start alike
        b.set(Field::qpos, &[0.25, 0.5, 0.375, 0.125, 0.75, 0.5, 0.5, -0.5, 0.5].repeat(2)).expect("set");
        b.capture(GRASP, &[1]).expect("captured");
        b.forward(&[1], &[Field::eq_data]).expect("per world").remove(0)
    };
    let all: Vec<(On, Vec<f64>)> = backends().into_iter().map(|on| (on, captured(on))).collect();
    for (on, data) in &all {
        let expected: Vec<f64> = all[0].1.iter().map(|&x| rounded(x, *on)).collect();
        assert_eq!(data, &expected, "{on:?}");
    }
}

#[test]
fn what_cannot_be_captured_is_refused() {
    let model = scene();
    let mut b = build(&model, On(Backend::Cpu, Precision::F64, None), 2);
    let mut refused = |e: usize, worlds: &[usize]| b.capture(e, worlds).expect_err("refused").to_string();
    insta::assert_snapshot!(refused(2, &[0]), @"equality constraint 2 (`fingers`) cannot capture a pose: it is between bodies that cannot move against each other; name two bodies with a joint between them");
    insta::assert_snapshot!(refused(3, &[0]), @"equality constraint 3 (`sites`) cannot capture a pose: it is defined by sites, whose places are the model's; define it by body1 and body2");
    insta::assert_snapshot!(refused(4, &[0]), @"equality constraint 4 (`coupled`) cannot capture a pose: it ties joints or tendons, which have no pose; capture a weld or a connect");
    insta::assert_snapshot!(refused(5, &[0]), @"equality constraint 5 is out of range: the model has 5");
    insta::assert_snapshot!(refused(0, &[0, 0]), @"world 0 is named more than once: name each world once");
    insta::assert_snapshot!(refused(0, &[2]), @"world 2 is out of range: the batch has 2 worlds");
    let mut plain = Batch::builder(&model).backend(Backend::Cpu).build().expect("a batch");
    insta::assert_snapshot!(plain.capture(0, &[0]).expect_err("refused"), @"equality constraint 0 (`grasp`) cannot capture a pose: it has one pose for all worlds; make the batch with `attachable()`");
}
