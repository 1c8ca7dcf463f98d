//! Worlds that cannot go on: what each policy does with them, the log, and the history of their last states.

use crate::batch::bits;
use kiloworld_layout::Field;
use kiloworld_layout::consts::status;
use kiloworld_model::Model;
use kiloworld_sim::{Backend, Batch, Error, Policy, rng};
use kiloworld_tests::on::{On, backends, model};

const POISONED: usize = 4;
const FLAT: usize = 7;

/// A pile of boxes in each world. Only in `FLAT` they touch, which is more than the contacts that there is room for; in the
/// others they are far above each other.
fn piles(b: &mut Batch, n: usize) {
    let mut qpos = b.get(Field::qpos).expect("qpos");
    let nq = qpos.len() / n;
    for (w, row) in qpos.chunks_mut(nq).enumerate().filter(|(w, _)| *w != FLAT) {
        row.iter_mut().enumerate().filter(|(i, _)| i % 7 == 2).for_each(|(i, x)| *x += 5.0 + w as f64 + 3.0 * i as f64);
    }
    b.set(Field::qpos, &qpos).expect("set");
}

/// Poisons one world by a force that is not finite.
fn poison(b: &mut Batch) {
    let mut force = vec![0.0; b.model().size.nv];
    force[1] = f64::NAN;
    b.set_rows(Field::qfrc_applied, &[POISONED], &force).expect("set");
}

/// A reset wipes out what a world says of itself, not the log.
#[test]
fn a_failed_world_that_is_reset_stays_in_the_log() {
    let model = model("box_stack.xml");
    for on in backends() {
        let mut b = on.builder(&model, 18).build().expect("a batch");
        poison(&mut b);
        b.step(1).expect("steps");
        b.reset(Some(&[0, POISONED]), None).expect("reset");
        b.step(1).expect("steps");
        let log = b.failures().expect("the log");
        assert_eq!(
            log.iter().map(|f| (f.world, f.reason)).collect::<Vec<_>>(),
            [(POISONED, status::BAD_CTRL)],
            "{on:?}"
        );
        assert!(b.status().expect("status").iter().all(|&s| s & status::FROZEN == 0), "{on:?}");
    }
}

#[test]
fn each_policy_handles_the_worlds_that_fail_and_no_other() {
    let model = model("box_stack.xml");
    let n = 18;
    for on in backends() {
        let run = |policy: Policy, fail: bool| {
            let mut b = on.builder(&model, n).nconmax(2).on_failure(policy).build().expect("a batch");
            piles(&mut b, n);
            if !fail {
                // the same worlds without what makes two of them fail
                let qpos = b.forward(&[0], &[Field::qpos]).expect("qpos").remove(0);
                b.set_rows(Field::qpos, &[FLAT], &qpos).expect("set");
            }
            b.step(4).expect("steps");
            if fail {
                poison(&mut b);
            }
            let result = b.step(6);
            let status = b.status().expect("status");
            let time = b.get(Field::time).expect("time");
            (result, bits(&mut b), b.failures().expect("the log"), status, time)
        };
        let others = |worlds: &[Vec<u64>]| -> Vec<Vec<u64>> {
            worlds.iter().enumerate().filter(|(w, _)| ![POISONED, FLAT].contains(w)).map(|(_, b)| b.clone()).collect()
        };
        let calm = run(Policy::Freeze, false);
        assert!(calm.2.is_empty() && calm.0.is_ok(), "{on:?}: {:?}", calm.2);

        let (result, world, log, status, _) = run(Policy::Freeze, true);
        assert!(result.is_ok(), "{on:?}");
        assert_eq!(others(&world), others(&calm.1), "{on:?}: frozen beside them");
        assert_eq!(log.iter().map(|f| f.world).collect::<Vec<_>>(), [POISONED, FLAT], "{on:?}: {log:?}");
        assert_eq!([log[0].reason, log[1].reason], [status::BAD_CTRL, status::CONTACT_OVERFLOW], "{on:?}");
        assert_eq!((log[0].step, log[1].step), (4, 0), "{on:?}: {log:?}");
        assert!(log[0].words.ends_with("is not finite (qfrc_applied)"), "{on:?}: {log:?}");
        assert!(log[1].ncon_need > 2 && log[1].words.contains("nconmax is 2"), "{on:?}: {log:?}");
        assert!((log[0].time - 4.0 * model.layout.opt_timestep[0]).abs() < 1e-6, "{on:?}: {log:?}");
        assert_eq!(status.iter().filter(|&&s| s & status::FROZEN != 0).count(), 2, "{on:?}");

        let (result, world, log, status, time) = run(Policy::Reset, true);
        assert!(result.is_ok(), "{on:?}");
        assert_eq!(others(&world), others(&calm.1), "{on:?}: put back beside them");
        assert!(status.iter().all(|&s| s & status::FROZEN == 0), "{on:?}: {status:?}");
        assert_eq!(time[POISONED], 0.0, "{on:?}: back at its start");
        // the pile is too much in either call
        assert_eq!(log.iter().map(|f| f.world).collect::<Vec<_>>(), [FLAT, POISONED, FLAT], "{on:?}: {log:?}");

        let b = on.builder(&model, n).nconmax(2).on_failure(Policy::Error).build().expect("a batch");
        let mut b = b;
        piles(&mut b, n);
        let error = b.step(10).expect_err("a world failed");
        assert!(matches!(&error, Error::Failed(f) if f.len() == 1 && f[0].world == FLAT), "{on:?}: {error}");
        let text = error.to_string();
        assert!(
            text.starts_with("1 world failed: world 7 at 0.000000 s, step 0: ")
                && text.contains("; to go on, give nconmax"),
            "{text}"
        );
        let time = b.get(Field::time).expect("time");
        assert!(
            (time[0] - 10.0 * model.layout.opt_timestep[0]).abs() < 1e-6,
            "{on:?}: the call finishes for the others"
        );
        assert!(b.step(1).is_err(), "{on:?}: as long as it is frozen");
        let qpos = b.forward(&[0], &[Field::qpos]).expect("qpos").remove(0);
        b.reset(Some(&[FLAT]), None).expect("reset");
        b.set_rows(Field::qpos, &[FLAT], &qpos).expect("set");
        b.step(1).unwrap_or_else(|e| panic!("{on:?}: {e}"));
    }
}

/// A world is put back to the keyframe that it was started from.
#[test]
fn put_back_to_its_keyframe() {
    let model = model("humanoid.xml");
    let nq = model.layout.size.nq;
    for on in backends() {
        let mut b = on.builder(&model, 3).on_failure(Policy::Reset).build().expect("a batch");
        b.reset(Some(&[1]), Some(1)).expect("reset");
        let start = b.get(Field::qpos).expect("qpos");
        b.step_with(5, &|w, k, ctrl| {
            if k == 2 && w > 0 {
                ctrl[3] = f64::NAN;
            }
        })
        .expect("steps");
        let now = b.get(Field::qpos).expect("qpos");
        assert_eq!(now[nq..], start[nq..], "{on:?}");
        assert_ne!(now[..nq], start[..nq], "{on:?}");
        assert_ne!(start[nq..2 * nq], start[2 * nq..], "the keyframe is another pose");
        assert_eq!(b.failures().expect("the log").len(), 2, "{on:?}");
        b.clear_failures().expect("cleared");
        assert!(b.failures().expect("the log").is_empty(), "{on:?}");
    }
}

/// The history holds what each of the last steps began with, its controls too; a frozen world's ends with the step that failed.
/// Keeping one changes no bit of the worlds.
#[test]
fn the_history_is_what_the_steps_began_with() {
    let model = model("quadruped.xml");
    let (n, depth, steps) = (19, 4, 11);
    for on in backends() {
        let mut b = on.builder(&model, n).history(depth).build().expect("a batch");
        let mut plain = on.builder(&model, n).build().expect("a batch");
        let ranges = b.ctrl_ranges();
        let control = |w: usize, k: usize, ctrl: &mut [f64]| {
            for (i, (c, (lo, hi))) in ctrl.iter_mut().zip(&ranges).enumerate() {
                *c = lo + (hi - lo) * rng::uniform(5, w, k, i);
            }
            if w == 3 && k == 6 {
                ctrl[2] = f64::INFINITY;
            }
        };
        let mut seen = Vec::new();
        for k in 0..steps {
            let state = b.get(Field::qpos).expect("qpos");
            b.step_with(1, &|w, _, ctrl| control(w, k, ctrl)).expect("a step");
            let ctrl = b.get(Field::ctrl).expect("ctrl");
            seen.push((state, ctrl));
        }
        plain.step_with(steps, &control).expect("steps");
        assert_eq!(bits(&mut b), bits(&mut plain), "{on:?}");
        let (nq, nu) = (model.layout.size.nq, model.layout.size.nu);
        for w in [0, 3, 18] {
            let history = b.history(w).expect("kept");
            let last = if w == 3 { 6 } else { steps - 1 };
            assert_eq!(history.len(), depth, "{on:?}");
            for (i, record) in history.iter().enumerate() {
                let k = last + 1 + i - depth;
                assert_eq!(record.get(Field::qpos), &seen[k].0[w * nq..(w + 1) * nq], "{on:?}: world {w}, step {k}");
                assert_eq!(record.get(Field::ctrl), &seen[k].1[w * nu..(w + 1) * nu], "{on:?}: world {w}, step {k}");
            }
        }
        // a world that is put back goes on with it, and a call of many steps is recorded like many calls
        b.reset(Some(&[3]), None).expect("reset");
        b.step_with(2, &|w, k, ctrl| control(w, k, ctrl)).expect("steps");
        let times: Vec<f64> = b.history(3).expect("kept").iter().map(kiloworld_sim::Record::time).collect();
        let h = model.layout.opt_timestep[0];
        let expected = [5.0 * h, 6.0 * h, 0.0, h];
        assert!(times.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{on:?}: {times:?}");
        assert!(plain.history(0).expect("none").is_empty(), "{on:?}");
    }
}

/// A look at worlds that would overflow, at all of them or at one, freezes none: the step does, and is in the history.
#[test]
fn a_look_freezes_nothing() {
    let model = model("box_stack.xml");
    for on in backends() {
        let mut b = on.builder(&model, 3).nconmax(2).history(3).build().expect("a batch");
        b.get(Field::qacc).expect("of all");
        b.forward(&[1], &[Field::qacc]).expect("of one");
        assert_eq!(b.status().expect("status"), [0; 3], "{on:?}");
        assert_eq!(b.get(Field::ncon_need).expect("kept"), [0.0; 3], "{on:?}");
        b.step(5).expect("steps");
        assert!(b.status().expect("status").iter().all(|&s| s & status::CONTACT_OVERFLOW != 0), "{on:?}");
        assert_eq!(b.history(1).expect("kept").len(), 1, "{on:?}");
    }
}

/// The count of steps knows what the log has forgotten.
#[test]
fn steps_of_worlds_that_were_put_back_count() {
    let xml = r#"<mujoco><option timestep="0.001"/><worldbody><geom type="plane" size="1 1 1"/>
        <body pos="0 0 0.10001"><joint type="slide" axis="0 0 1"/><geom size="0.1"/></body></worldbody></mujoco>"#;
    let model = Model::from_str(xml).expect("compiles");
    let n = 2048;
    let on = On(Backend::Cpu, kiloworld_sim::Precision::F64, None);
    let mut b = on.builder(&model, n).nconmax(0).on_failure(Policy::Reset).build().expect("a batch");
    // how long a fall takes
    let mut alone = on.builder(&model, 1).nconmax(0).build().expect("a batch");
    alone.step(50).expect("steps");
    let fall = alone.failures().expect("the log")[0].step;
    assert!((1..10).contains(&fall), "{fall}");
    let falls = 40;
    for call in 0..falls * (fall + 1) {
        b.step(1).expect("a step");
        let (whole, rest) = ((call + 1) / (fall + 1), (call + 1) % (fall + 1));
        if call % 37 == 0 || call + 1 == falls * (fall + 1) {
            assert_eq!(b.world_steps().expect("a count"), (n * (whole * fall + rest)) as u64, "after {call}");
        }
    }
    assert_eq!(b.failures().expect("the log").len(), 65_536, "{} worlds were put back", falls * n);
    // nor does a reset by hand take any away
    let before = b.world_steps().expect("a count");
    b.step(1).expect("a step");
    b.reset(Some(&[3, 5]), None).expect("reset");
    assert_eq!(b.world_steps().expect("a count"), before + n as u64);
}
