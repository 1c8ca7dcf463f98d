//! How many contacts and rows a world needs, and what worlds take of memory: the high-water marks of a roll-out on the CPU.

use crate::cpu_batch::{CpuBatch, UNREAD};
use crate::cpu_worlds::{Control, CpuWorlds, cpu_need};
use crate::{Batch, Error, Field, Precision, rng, step};
use kiloworld_cpu::World;
use kiloworld_layout::consts::{geom, jnt, status};
use kiloworld_layout::{Layout, Limits, Model, SliceMut, Stage};
use kiloworld_model::{rows_always, rows_per_contact};
use rayon::prelude::*;
use std::f64::consts::PI;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most contacts and rows that any world of a probe had at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct HighWater {
    /// contacts
    pub ncon: usize,
    /// constraint rows
    pub nefc: usize,
}

/// How worlds are rolled out to see what they need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Probe {
    /// worlds: the even ones start from the reference pose and the keyframes, the odd ones from random poses
    pub worlds: usize,
    /// steps of each, long enough for a body to fall on the ground and settle there
    pub steps: usize,
    /// seed of poses and controls
    pub seed: u64,
}

impl Default for Probe {
    fn default() -> Self {
        Self { worlds: 64, steps: 500, seed: 0 }
    }
}

/// What a roll-out says about capacities and memory.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Sizing {
    /// how the worlds were rolled out
    pub probe: Probe,
    /// the most that a world had at once
    pub seen: HighWater,
    /// worlds that were frozen before the end, for the state was no longer finite: what they would have met is not known
    pub failed: usize,
    /// what a world can need at most, all pairs touching at once
    pub bound: HighWater,
    /// contacts that a world should be able to hold: half as much again as was seen, within the bound
    pub nconmax: usize,
    /// constraint rows that a world should be able to hold
    pub njmax: usize,
    /// memory with these capacities: on the CPU in f64, on the CPU in f32, on a GPU
    pub memory: [Memory; 3],
}

/// What a batch takes of memory.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Memory {
    /// "cpu f64", "cpu f32" or "gpu f32"
    pub place: &'static str,
    /// bytes that one more world takes
    pub bytes_per_world: u64,
    /// bytes that do not depend on the number of worlds: the model on a GPU; work arrays of all threads on a CPU
    pub bytes_shared: u64,
}

impl Memory {
    /// The largest batch that fits so many bytes.
    pub fn worlds_in(&self, bytes: u64) -> u64 {
        bytes.saturating_sub(self.bytes_shared) / self.bytes_per_world.max(1)
    }
}

impl Sizing {
    /// Rolls worlds out and measures.
    ///
    /// # Errors
    /// The model needs what is not built, or no world was asked for.
    pub fn of(model: &kiloworld_model::Model, probe: Probe) -> Result<Self, Error> {
        if probe.worlds == 0 {
            return Err(Error::NoWorlds);
        }
        model.check_supported()?;
        let mut m = model.layout.clone();
        let bound = HighWater { ncon: m.size.nconmax, nefc: m.size.njmax };
        let mut room = bound.ncon.min(FIRST);
        let (seen, failed) = loop {
            let marks = roll(&m, room, probe);
            if marks.seen.ncon <= room {
                break (marks.seen, marks.failed);
            }
            // worlds stopped where they had no room: once more with what the first that did would have needed
            room = bound.ncon.min(marks.seen.ncon.max(2 * room));
        };
        let more = |n: usize, extra: usize| (n + n / 2 + extra).next_multiple_of(4);
        let nconmax = if seen.ncon == 0 && bound.ncon == 0 { 0 } else { more(seen.ncon, 4).min(bound.ncon) };
        let always = rows_always(&m);
        let njmax = more(seen.nefc, 8).max(always).min(always + nconmax * rows_per_contact(&m));
        set_capacities(&mut m, nconmax, Some(njmax));
        Ok(Self { probe, seen, failed, bound, nconmax, njmax, memory: memory(&m, probe.worlds)? })
    }

    /// The largest batch that a GPU with these limits can hold in one slice; larger ones are split, and only memory ends them.
    ///
    /// # Errors
    /// Not even one world fits.
    pub fn worlds_per_slice(&self, model: &kiloworld_model::Model, limits: Limits) -> Result<usize, Error> {
        let mut m = model.layout.clone();
        set_capacities(&mut m, self.nconmax, Some(self.njmax));
        let layout = Layout::new(&m.size, &std::collections::BTreeSet::new()).map_err(kiloworld_gpu::GpuError::from)?;
        Ok(layout.worlds_per_slice(limits).map_err(kiloworld_gpu::GpuError::from)?)
    }
}

/// Contacts that worlds can hold in the first try.
const FIRST: usize = 512;

/// Bytes of a batch with the capacities of `m`, large enough to fill registers.
fn memory(m: &Model<f64>, worlds: usize) -> Result<[Memory; 3], Error> {
    let cpu = |place, precision| -> Result<Memory, Error> {
        let need = cpu_need(m, worlds.max(1), precision, None, 0)?;
        Ok(Memory { place, bytes_per_world: need.per_world, bytes_shared: need.shared })
    };
    let layout = Layout::new(&m.size, &std::collections::BTreeSet::new()).map_err(kiloworld_gpu::GpuError::from)?;
    let (bytes_per_world, bytes_shared) = (layout.bytes_per_world(), layout.bytes_shared());
    let gpu = Memory { place: "gpu f32", bytes_per_world, bytes_shared };
    Ok([cpu("cpu f64", Precision::F64)?, cpu("cpu f32", Precision::F32)?, gpu])
}

/// Puts the worlds of a batch where those of a probe start: the even ones at the reference pose or a keyframe, the odd ones
/// at random poses.
///
/// # Errors
/// The device fails.
pub fn scatter(batch: &mut Batch, seed: u64) -> Result<(), Error> {
    let m = batch.model().clone();
    for w in 0..batch.nworld() {
        batch.reset(Some(&[w]), start_key(&m, w))?;
        if w % 2 == 1 {
            batch.set_rows(Field::qpos, &[w], &random_pose(&m, seed, w))?;
        }
    }
    Ok(())
}

/// The controls of a probe: uniform in their ranges, held for ten steps.
pub fn wander(m: &Model<f64>, seed: u64) -> impl Fn(usize, usize, &mut [f64]) + Sync + use<> {
    let ranges = crate::batch::ctrl_ranges(m);
    move |w, k, ctrl| {
        for (i, (c, (lo, hi))) in ctrl.iter_mut().zip(&ranges).enumerate() {
            *c = lo + (hi - lo) * rng::uniform(seed, w, k / 10, i);
        }
    }
}

/// The keyframe that a world of a probe starts from.
fn start_key(m: &Model<f64>, w: usize) -> Option<usize> {
    if w % 2 == 1 { None } else { (w / 2).checked_rem(m.size.nkey + 1).and_then(|k| k.checked_sub(1)) }
}

/// A pose that worlds of a probe start from: joints anywhere in their ranges, or within half a turn or a quarter of the model's
/// extent of the reference; free bodies so near it, turned any way.
pub fn random_pose(m: &Model<f64>, seed: u64, w: usize) -> Vec<f64> {
    let mut q = m.qpos0.clone();
    let near = 0.25 * m.stat_extent.first().copied().unwrap_or(1.0);
    let draw = |i: usize| rng::uniform(seed ^ POSES, w, 0, i);
    let around = |i: usize, reach: f64| reach * (2.0 * draw(i) - 1.0);
    for j in 0..m.size.njnt {
        let at = usize::try_from(m.jnt_qposadr[j]).unwrap_or(0);
        let range = &m.jnt_range[2 * j..2 * j + 2];
        let limited = m.jnt_limited[j] != 0;
        match m.jnt_type[j] {
            jnt::FREE => {
                for k in 0..3 {
                    q[at + k] += around(at + k, near);
                }
                turned(&mut q[at + 3..at + 7], PI, [3, 4, 5].map(|k| draw(at + k)));
            }
            jnt::BALL => {
                let most = if limited { range[1].min(PI) } else { PI };
                turned(&mut q[at..at + 4], most, [0, 1, 2].map(|k| draw(at + k)));
            }
            _ if limited => q[at] = range[0] + (range[1] - range[0]) * draw(at),
            jnt::SLIDE => q[at] += around(at, near),
            _ => q[at] += around(at, PI),
        }
    }
    q
}

/// Keeps the numbers of poses apart from those of controls.
const POSES: u64 = 0x706f_7365;

/// A rotation by up to `most` about an axis of any direction, from three numbers in [0, 1).
fn turned(q: &mut [f64], most: f64, [height, around, angle]: [f64; 3]) {
    let z = 2.0 * height - 1.0;
    let (r, turn) = ((1.0 - z * z).max(0.0).sqrt(), 2.0 * PI * around);
    let (sin, cos) = (0.5 * most * angle).sin_cos();
    q.copy_from_slice(&[cos, sin * r * turn.cos(), sin * r * turn.sin(), sin * z]);
}

/// Sets what a world can hold: so many contacts, and so many rows (those that the contacts can need where not given).
pub(crate) fn set_capacities(m: &mut Model<f64>, nconmax: usize, njmax: Option<usize>) {
    m.size.nconmax = nconmax;
    m.size.njmax = njmax.unwrap_or_else(|| rows_always(m) + nconmax * rows_per_contact(m));
    // the dual solvers' matrix is there only where they run
    if m.size.njdual > 0 {
        m.size.njdual = m.size.njmax;
    }
}

/// What a roll-out met.
struct Marks {
    seen: HighWater,
    failed: usize,
}

/// Rolls out the worlds of a probe that can hold so many contacts. A world that would have needed more is stopped, and counts
/// with what it would have needed.
fn roll(m: &Model<f64>, nconmax: usize, probe: Probe) -> Marks {
    let mut m = m.clone();
    set_capacities(&mut m, nconmax, None);
    let mut batch = CpuBatch::<f64>::new(&m, probe.worlds);
    for w in 0..probe.worlds {
        crate::batch::reset_world(&m, start_key(&m, w), |f, v| batch.set(f, w, v));
        if w % 2 == 1 {
            batch.set(Field::qpos, w, &random_pose(&m, probe.seed, w));
        }
    }
    watch(&m, batch, probe.steps, &wander(&m, probe.seed))
}

/// Steps a batch and keeps the high-water marks.
fn watch(m: &Model<f64>, mut batch: CpuBatch<f64>, steps: usize, control: Control<'_>) -> Marks {
    let (ncon, nefc, failed) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    batch.step_each(&step::step(&m.opt), steps, Some(control), &|_, k, d| {
        let bad = status::FROZEN & !(status::CONTACT_OVERFLOW | status::ROW_OVERFLOW);
        if d.status[0] & bad == 0 {
            ncon.fetch_max(count(d.ncon_need[0]), Ordering::Relaxed);
            nefc.fetch_max(count(d.nefc_need[0]), Ordering::Relaxed);
        } else if k + 1 == steps {
            failed.fetch_add(1, Ordering::Relaxed);
        }
    });
    Marks { seen: HighWater { ncon: ncon.into_inner(), nefc: nefc.into_inner() }, failed: failed.into_inner() }
}

/// How a batch came to its capacities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Chosen {
    /// they were given
    Given,
    /// room for all that the model can ever need
    Bound,
    /// from a roll-out on the CPU
    Probe {
        /// worlds rolled out
        worlds: usize,
        /// steps that they made, all together
        steps: usize,
        /// false: they were stopped before their last step, for the work had come to its bound
        whole: bool,
        /// the most that a world had at once
        seen: HighWater,
    },
}

impl core::fmt::Display for Chosen {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Given => write!(f, "as given"),
            Self::Bound => write!(f, "all that the model can need"),
            Self::Probe { worlds, steps, whole, seen } => {
                let cut = if *whole { "" } else { ", cut short" };
                let HighWater { ncon, nefc } = seen;
                write!(
                    f,
                    "a probe saw {ncon} contacts and {nefc} rows ({worlds} worlds, {steps} steps{cut}); `kiloworld size` looks longer"
                )
            }
        }
    }
}

/// Worlds, and steps of each, of the probe that a builder makes where no capacities are given.
const WORLDS: usize = 16;
const STEPS: usize = 400;
/// Operations after which a probe stops, about a second of one core: counted, not timed, so that it sees the same everywhere.
const WORK: f64 = 2e9;

/// What a probe for a builder says.
pub(crate) struct Probed {
    pub seen: HighWater,
    pub chosen: Chosen,
}

/// What worlds need at their starts: the most of the reference pose and every keyframe. Contacts and rows are counted without
/// room for any.
pub(crate) fn starts(m: &Model<f64>) -> HighWater {
    let mut m = m.clone();
    set_capacities(&mut m, 0, Some(0));
    let mut most = HighWater { ncon: 0, nefc: 0 };
    let mut d = World::<f64>::filled_but(&m.size, 0.0, 0, UNREAD);
    for key in [None].into_iter().chain((0..m.size.nkey).map(Some)) {
        start(&m, key, &mut d);
        let position = [Stage::Kinematics, Stage::ComPos, Stage::Transmission, Stage::Collision, Stage::Constraint];
        position.into_iter().for_each(|stage| kiloworld_cpu::run(stage.into(), &m, &mut d));
        most.ncon = most.ncon.max(count(d.ncon_need[0]));
        most.nefc = most.nefc.max(count(d.nefc_need[0]));
    }
    most
}

/// Puts a world at the reference pose or a keyframe.
fn start(m: &Model<f64>, key: Option<usize>, d: &mut World<f64>) {
    crate::batch::reset_world(m, key, |field, values| match d.get_mut(field) {
        Some(SliceMut::F(to)) => to.copy_from_slice(values),
        Some(SliceMut::I(to)) => to.iter_mut().zip(values).for_each(|(to, &x)| *to = x as i32),
        None => {}
    });
}

/// Rolls worlds out under random controls, with room for `room` contacts; the starts count too. No two are alike: without controls
/// there is one from each start.
pub(crate) fn probe(m: &Model<f64>, room: usize, starts: HighWater) -> Probed {
    let mut m = m.clone();
    set_capacities(&mut m, room, None);
    let keys = m.size.nkey + 1;
    let worlds = if m.size.nu > 0 { WORLDS } else { keys.min(WORLDS) };
    let control = wander(&m, 0);
    let calls = step::step(&m.opt);
    let one = |w: usize| -> (HighWater, usize, bool) {
        let mut d = World::<f64>::filled_but(&m.size, 0.0, 0, UNREAD);
        start(&m, (w % keys).checked_sub(1), &mut d);
        let mut left = WORK / worlds as f64;
        let mut k = 0;
        while k < STEPS && left > 0.0 && d.status[0] & status::FROZEN == 0 {
            control(w, k, &mut d.ctrl);
            calls.iter().for_each(|&call| kiloworld_cpu::run(call, &m, &mut d));
            left -= work(&m, &d) * calls.iter().filter(|c| c.stage == Stage::Solver).count() as f64;
            k += 1;
        }
        let whole = k == STEPS || d.status[0] & status::FROZEN != 0;
        (HighWater { ncon: count(d.ncon_need[0]), nefc: count(d.nefc_need[0]) }, k, whole)
    };
    let ran: Vec<_> = (0..worlds).into_par_iter().map(one).collect();
    let most = |of: fn(&HighWater) -> usize| ran.iter().map(|r| of(&r.0)).chain([of(&starts)]).max().unwrap_or(0);
    let seen = HighWater { ncon: most(|h| h.ncon), nefc: most(|h| h.nefc) };
    let (steps, whole) = (ran.iter().map(|r| r.1).sum(), ran.iter().all(|r| r.2));
    Probed { seen, chosen: Chosen::Probe { worlds, steps, whole, seen } }
}

/// About how many operations a step was: pairs, rows, and the factor of a Hessian that is as dense as rows to a dof make it.
fn work(m: &Model<f64>, d: &World<f64>) -> f64 {
    let [nv, nefc, wide] = [m.size.nv, count(d.nefc[0]), m.size.njrow].map(|n| n as f64);
    let band = nv.min(wide * (1.0 + nefc / nv.max(1.0)));
    let newton = nefc * wide * wide + nv * band * band;
    30.0 * m.size.ncoll as f64 + 200.0 * nv + newton * (1.0 + f64::from(d.solver_niter[0]))
}

/// Contacts that a body which lies in a heap has a share of, by the look of its geoms: a ball is held by six others, a capsule and
/// a box by a few at each end or edge.
pub(crate) fn heaped(m: &Model<f64>) -> usize {
    let moves = |g: &usize| m.body_weldid[m.geom_bodyid[*g] as usize] != 0;
    let mut collides = vec![false; m.size.ngeom];
    m.coll_geom1.iter().chain(&m.coll_geom2).for_each(|&g| collides[g as usize] = true);
    let share = |g: usize| match m.geom_type[g] {
        geom::SPHERE => 3,
        geom::CAPSULE => 6,
        _ => 16,
    };
    (0..m.size.ngeom).filter(|g| moves(g) && collides[*g]).map(share).sum()
}

fn count(n: i32) -> usize {
    usize::try_from(n).unwrap_or(0)
}
