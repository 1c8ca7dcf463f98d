//! Endurance: among worlds that are poisoned, overflow and are reset, every other world has the bits of an undisturbed run.
//!
//! `cargo xtask endurance` runs it in full; here it is scaled: see [`world_steps`], and on few models on a GPU.

use crate::batch::bits;
use kiloworld_layout::Field;
use kiloworld_layout::consts::status;
use kiloworld_model::{Model, rows_always};
use kiloworld_sim::{Backend, Batch, Precision, rng};
use kiloworld_tests::on::On;
use kiloworld_tests::{adapter, corpus};
use std::collections::BTreeSet;

/// World-steps of one backend over all models, where the full run is asked for.
fn full() -> Option<usize> {
    std::env::var("KILOWORLD_ENDURANCE")
        .ok()
        .map(|n| n.parse().expect("KILOWORLD_ENDURANCE is a number of world-steps"))
}

/// As `full`, else a fiftieth of the whole.
fn world_steps() -> usize {
    full().unwrap_or(20_000)
}

/// Steps of a call; resets lie between calls.
const CALL: usize = 10;
/// Worlds of a batch: of 200, one in a hundred is two.
const WORLDS: usize = 200;

/// Number of the worlds that start eight times as fast as the others, into more contacts and limits: see [`Rig::some`].
const THROWN: usize = 3;

/// Who is disturbed, and how.
struct Plan {
    /// a control, or a force where the model has none, is not a number
    poisoned: Vec<usize>,
    /// these need more contacts or rows than the others; capacities are cut below that
    crowded: Vec<usize>,
    nconmax: usize,
    njmax: usize,
    /// one in fifty is reset after each call: these, and some that nothing else happens to
    resets: Vec<usize>,
}

struct Rig {
    model: Model,
    on: On,
    n: usize,
    calls: usize,
}

impl Rig {
    fn batch(&self, room: Option<(usize, usize)>) -> Batch {
        let mut builder = self.on.builder(&self.model, self.n);
        if let Some((nconmax, njmax)) = room {
            builder = builder.nconmax(nconmax).njmax(njmax);
        }
        let mut b = builder.build().expect("a batch");
        if self.model.layout.size.nkey > 0 {
            b.reset(None, Some(0)).expect("reset");
        }
        let nv = self.model.layout.size.nv;
        let thrown = self.some(THROWN);
        let hard = |w: usize| if thrown.contains(&w) { 8.0 } else { 1.0 };
        let speed = |i: usize| hard(i / nv) * (2.0 * rng::uniform(17, i / nv, 0, i % nv) - 1.0);
        let qvel: Vec<f64> = (0..self.n * nv).map(speed).collect();
        b.set(Field::qvel, &qvel).expect("set");
        b
    }

    /// A call, with controls of each world's own; some of them not numbers.
    fn call(&self, b: &mut Batch, call: usize, poisoned: &[usize]) {
        let ranges = b.ctrl_ranges();
        let poisoned: BTreeSet<usize> = poisoned.iter().copied().collect();
        let control = |w: usize, k: usize, ctrl: &mut [f64]| {
            for (i, (c, (lo, hi))) in ctrl.iter_mut().zip(&ranges).enumerate() {
                *c = lo + (hi - lo) * rng::uniform(23, w, call * CALL + k, i);
            }
            if poisoned.contains(&w) && rng::uniform(29, w, call, k) < 0.3 && !ctrl.is_empty() {
                let at = (rng::uniform(31, w, call, k) * ctrl.len() as f64) as usize;
                ctrl[at] = f64::NAN;
            }
        };
        if ranges.is_empty() {
            let nv = self.model.layout.size.nv;
            for &w in &poisoned {
                let mut force = vec![0.0; nv];
                force[w % nv] = f64::NAN;
                b.set_rows(Field::qfrc_applied, &[w], &force).expect("set");
            }
        }
        b.step_with(CALL, &control).expect("steps");
    }

    /// The bits of every world after each call, the most contacts and rows of each, undisturbed: with room for all of them.
    fn calm(&self) -> (Vec<Vec<Vec<u64>>>, Vec<[f64; 2]>) {
        let mut room = None;
        loop {
            let mut b = self.batch(room);
            let after: Vec<_> = (0..self.calls)
                .map(|call| {
                    self.call(&mut b, call, &[]);
                    bits(&mut b)
                })
                .collect();
            let need = |b: &mut Batch, f: Field| b.get(f).expect("kept");
            let (ncon, nefc) = (need(&mut b, Field::ncon_need), need(&mut b, Field::nefc_need));
            let most = |v: &[f64]| v.iter().fold(0.0_f64, |a, &x| a.max(x)) as usize;
            let size = &b.model().size;
            if most(&ncon) <= size.nconmax && most(&nefc) <= size.njmax {
                return (after, ncon.into_iter().zip(nefc).map(|(c, r)| [c, r]).collect());
            }
            room = Some(((most(&ncon) * 3 / 2).max(size.nconmax), (most(&nefc) * 3 / 2).max(size.njmax)));
        }
    }

    /// One world in a hundred, others for each `k`.
    fn some(&self, k: usize) -> Vec<usize> {
        let few = (self.n / 100).max(1);
        (0..few).map(|i| (self.n * (2 * i + 1) / (2 * few) + 7 * k) % self.n).collect()
    }

    /// One world in a hundred poisoned; room for what all need but those that were thrown, or, where these need no more than the
    /// rest, but the neediest one in a hundred.
    fn plan(&self, needs: &[[f64; 2]]) -> Plan {
        let poisoned = self.some(0);
        let thrown = self.some(THROWN);
        let least = [1, rows_always(&self.model.layout).max(1)];
        let need = |k: usize, w: usize| (needs[w][k] as usize).max(least[k]);
        let rest = |k: usize| (0..self.n).filter(|w| !thrown.contains(w)).map(|w| need(k, w)).max().unwrap_or(least[k]);
        let over = |room: [usize; 2]| (0..self.n).filter(|&w| need(0, w) > room[0] || need(1, w) > room[1]).collect();
        let mut room = [rest(0), rest(1)];
        let mut crowded: Vec<usize> = over(room);
        if crowded.is_empty() {
            let neediest = |k: usize| {
                let mut all: Vec<usize> = (0..self.n).map(|w| need(k, w)).collect();
                all.sort_unstable();
                all[self.n - 1 - (self.n / 100).max(1)]
            };
            room = [neediest(0), neediest(1)];
            crowded = over(room);
        }
        let mut resets = [&poisoned[..], &crowded, &thrown, &self.some(1)].concat();
        resets.sort_unstable();
        resets.dedup();
        Plan { poisoned, crowded, nconmax: room[0], njmax: room[1], resets }
    }

    /// Runs the plan; returns the worlds among the others that differ from the calm run, after which call, and how many worlds were
    /// found frozen. `nudge`: a world that gets one ulp before a call, for the control.
    fn disturbed(
        &self,
        calm: &[Vec<Vec<u64>>],
        plan: &Plan,
        nudge: Option<(usize, usize)>,
    ) -> (BTreeSet<usize>, usize) {
        let mut b = self.batch(Some((plan.nconmax, plan.njmax)));
        let touched: BTreeSet<usize> = plan.poisoned.iter().chain(&plan.crowded).chain(&plan.resets).copied().collect();
        let (mut differ, mut frozen) = (BTreeSet::new(), 0);
        for (call, calm) in calm.iter().enumerate() {
            if let Some((w, at)) = nudge
                && at == call
            {
                let qvel = b.forward(&[w], &[Field::qvel]).expect("kept").remove(0);
                let ulp =
                    |x: f64| if self.on.1 == Precision::F64 { x.next_up() } else { f64::from((x as f32).next_up()) };
                let qvel: Vec<f64> = qvel.into_iter().map(ulp).collect();
                b.set_rows(Field::qvel, &[w], &qvel).expect("set");
            }
            self.call(&mut b, call, &plan.poisoned);
            for (w, (now, calm)) in bits(&mut b).iter().zip(calm).enumerate() {
                if now != calm && !touched.contains(&w) {
                    differ.insert(w);
                }
            }
            frozen += b.status().expect("status").iter().filter(|&&s| s & status::FROZEN != 0).count();
            // two in a hundred, drawn anew each time
            let per_call = (self.n / 50).max(1).min(plan.resets.len());
            let first = (rng::uniform(37, call, 0, 0) * plan.resets.len() as f64) as usize;
            let who: BTreeSet<usize> = (0..per_call).map(|i| plan.resets[(first + i) % plan.resets.len()]).collect();
            let mask: Vec<bool> = (0..self.n).map(|w| who.contains(&w)).collect();
            b.reset_masked(&mask, None).expect("reset");
        }
        (differ, frozen)
    }
}

fn rig(model: Model, on: On, n: usize, world_steps: usize) -> Rig {
    Rig { model, on, n, calls: (world_steps / (n * CALL)).max(2) }
}

/// All models of the project.
fn models() -> Vec<(String, Model)> {
    let dir = corpus::root().join("models");
    let mut files: Vec<_> = std::fs::read_dir(dir).expect("the folder").map(|f| f.expect("a file").path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "xml"));
    files.sort();
    let load = |f: std::path::PathBuf| {
        let name = f.file_stem().and_then(|s| s.to_str()).unwrap_or_default().to_owned();
        (name, Model::from_path(&f).unwrap_or_else(|e| panic!("{e}")))
    };
    files.into_iter().map(load).filter(|(_, m)| m.unsupported.is_empty()).collect()
}

/// Runs the models; says what happened in each.
#[expect(clippy::print_stdout, reason = "the full run is read by people")]
fn endure(models: Vec<(String, Model)>, on: On, n: usize, world_steps: usize) {
    let each = world_steps / models.len();
    let (mut total, mut frozen, mut crowded) = (0, 0, 0);
    for (name, model) in models {
        let rig = rig(model, on, n, each);
        let (calm, needs) = rig.calm();
        let plan = rig.plan(&needs);
        let (differ, stopped) = rig.disturbed(&calm, &plan, None);
        let others = rig.n - plan.resets.iter().collect::<BTreeSet<_>>().len();
        println!(
            "{name} on {on:?}: {} worlds x {} steps, {others} others; {} poisoned, {} overflow at {} contacts, {} rows; frozen after a call: {stopped}",
            rig.n,
            rig.calls * CALL,
            plan.poisoned.len(),
            plan.crowded.len(),
            plan.nconmax,
            plan.njmax
        );
        assert!(differ.is_empty(), "{name} on {on:?}: worlds {differ:?} were hurt by others");
        assert!(stopped > 0, "{name} on {on:?}: nothing was disturbed");
        assert!(others * 10 >= rig.n * 8, "{name}: {others} of {} are others", rig.n);
        (total, frozen, crowded) = (total + rig.n * rig.calls * CALL, frozen + stopped, crowded + plan.crowded.len());
    }
    println!("{on:?}: {total} world-steps, {crowded} worlds overflowed, {frozen} found frozen");
    assert!(crowded > 0, "{on:?}: no world overflowed");
}

const CPU64: On = On(Backend::Cpu, Precision::F64, None);
const CPU32: On = On(Backend::Cpu, Precision::F32, None);

#[test]
fn all_models_on_the_cpu_in_f64() {
    endure(models(), CPU64, WORLDS, world_steps());
}

#[test]
fn all_models_on_the_cpu_in_f32_lanes() {
    endure(models(), CPU32, WORLDS, world_steps());
}

/// Few models where not all is asked for: on a software device a world-step costs a hundred times more.
#[test]
fn models_on_the_gpu() {
    if adapter::gpu().is_none() {
        return;
    }
    let wanted = |name: &str| full().is_some() || ["incline", "box_stack"].contains(&name);
    let models = models().into_iter().filter(|(name, _)| wanted(name)).collect();
    endure(models, On(Backend::Gpu, Precision::F32, None), WORLDS, (world_steps() / 5).max(8_000));
}

/// Control: one ulp in one other world is found, in that world alone.
#[test]
fn one_ulp_in_another_world_is_found() {
    for on in [CPU64, CPU32] {
        let (_, model) = models().into_iter().find(|m| m.0 == "quadruped").expect("it is there");
        let rig = rig(model, on, WORLDS, 4 * CALL * WORLDS);
        let (calm, needs) = rig.calm();
        let plan = rig.plan(&needs);
        let other = (0..rig.n).find(|w| !plan.resets.contains(w) && *w > rig.n / 2).expect("most are");
        assert_eq!(rig.disturbed(&calm, &plan, Some((other, 2))).0, BTreeSet::from([other]), "{on:?}");
    }
}
