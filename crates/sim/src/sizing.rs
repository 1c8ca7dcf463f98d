//! How many contacts and rows a world needs, and what worlds take of memory: the high-water marks of a roll-out on the CPU.

use crate::batch::finite_range;
use crate::cpu_batch::UNREAD;
use crate::cpu_worlds::{cpu_need, width};
use crate::gpu_batch::gpu_need;
use crate::{Batch, Error, Field, Precision, rng, step};
use kiloworld_cpu::World;
use kiloworld_layout::consts::{geom, jnt, status};
use kiloworld_layout::{Layout, Limits, Model, SliceMut, Stage};
use kiloworld_model::{contacts_at_most, rows_always, rows_per_contact};
use rayon::prelude::*;
use std::f64::consts::PI;

/// The most contacts and rows that any world of a probe had at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct HighWater {
    /// contacts
    pub ncon: usize,
    /// constraint rows
    pub nefc: usize,
}

impl HighWater {
    /// The more of each.
    fn max(self, other: Self) -> Self {
        Self { ncon: self.ncon.max(other.ncon), nefc: self.nefc.max(other.nefc) }
    }
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
    /// bytes that do not depend on the number of worlds: the model; on a CPU its copies, and at most so much for work arrays of all
    /// threads
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
        let Probe { worlds, steps, seed } = probe;
        let how = Drive { worlds, steps, seed, scattered: true, work: f64::INFINITY };
        let mut room = bound.ncon.min(ROOM);
        let Met { seen, failed, .. } = loop {
            let met = drive(&m, room, &how);
            if met.seen.ncon <= room {
                break met;
            }
            // worlds stopped where they had no room: once more with what the first that did would have needed
            room = bound.ncon.min(met.seen.ncon.max(2 * room));
        };
        let more = |n: usize, extra: usize| (n + n / 2 + extra).next_multiple_of(4);
        let nconmax = if seen.ncon == 0 && bound.ncon == 0 { 0 } else { more(seen.ncon, 4).min(bound.ncon) };
        let always = rows_always(&m);
        let njmax = more(seen.nefc, 8).max(always).min(always + nconmax * rows_per_contact(&m));
        set_capacities(&mut m, nconmax, Some(njmax));
        Ok(Self { probe, seen, failed, bound, nconmax, njmax, memory: memory(&m)? })
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

/// Contacts that worlds which are driven can hold at first.
const ROOM: usize = 512;

/// Bytes of a batch with the capacities of `m`, large enough to fill the registers of every thread.
fn memory(m: &Model<f64>) -> Result<[Memory; 3], Error> {
    const MANY: usize = 1 << 20;
    let cpu = |place, precision| -> Result<Memory, Error> {
        let need = cpu_need(m, MANY, precision, width(MANY, precision, None), &[], 0)?;
        Ok(Memory { place, bytes_per_world: need.per_world, bytes_shared: need.shared })
    };
    let gpu = gpu_need(m, &[], 0)?;
    let gpu = Memory { place: "gpu f32", bytes_per_world: gpu.per_world, bytes_shared: gpu.shared };
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
        batch.reset(Some(&[w]), if w % 2 == 1 { None } else { start_key(&m, w / 2) })?;
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

/// The start that is number `i` of those that a model has: the reference pose, then the keyframes, and again.
fn start_key(m: &Model<f64>, i: usize) -> Option<usize> {
    (i % (m.size.nkey + 1)).checked_sub(1)
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
            kind if limited => {
                let (lo, hi) = finite_range(range[0], range[1], if kind == jnt::SLIDE { near } else { PI });
                q[at] = lo + (hi - lo) * draw(at);
            }
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

/// How worlds are driven.
struct Drive {
    worlds: usize,
    steps: usize,
    seed: u64,
    /// every second world starts from a random pose
    scattered: bool,
    /// operations, about, after which a world is stopped
    work: f64,
}

/// What worlds that were driven met.
struct Met {
    seen: HighWater,
    /// steps that they made, all together
    steps: usize,
    /// all made all of theirs, or were frozen before
    whole: bool,
    /// worlds that were frozen for anything but a want of room
    failed: usize,
}

impl Met {
    const NOTHING: Self = Self { seen: HighWater { ncon: 0, nefc: 0 }, steps: 0, whole: true, failed: 0 };

    fn and(self, other: Self) -> Self {
        Self {
            seen: self.seen.max(other.seen),
            steps: self.steps + other.steps,
            whole: self.whole && other.whole,
            failed: self.failed + other.failed,
        }
    }
}

/// Drives worlds by random controls, each by itself, with room for `room` contacts. A world that would have needed more is stopped,
/// and counts with what it would have needed.
fn drive(m: &Model<f64>, room: usize, how: &Drive) -> Met {
    let mut m = m.clone();
    set_capacities(&mut m, room, None);
    let (control, calls) = (wander(&m, how.seed), step::step(&m.opt));
    let solved = calls.iter().filter(|c| c.stage == Stage::Solver).count() as f64;
    let one = |d: &mut World<f64>, w: usize| -> Met {
        let random = how.scattered && w % 2 == 1;
        start(&m, if random { None } else { start_key(&m, if how.scattered { w / 2 } else { w }) }, d);
        if random {
            d.qpos.copy_from_slice(&random_pose(&m, how.seed, w));
        }
        let (mut met, mut left) = (Met::NOTHING, how.work);
        while met.steps < how.steps && left > 0.0 && d.status[0] & status::FROZEN == 0 {
            control(w, met.steps, &mut d.ctrl);
            calls.iter().for_each(|&call| kiloworld_cpu::run(call, &m, d));
            left -= work(&m, d) * solved;
            met.steps += 1;
            // of a state that is no longer one nothing is learnt
            if d.status[0] & status::FROZEN & !(status::CONTACT_OVERFLOW | status::ROW_OVERFLOW) == 0 {
                met.seen = HighWater { ncon: count(d.ncon_need[0]), nefc: count(d.nefc_need[0]) };
            } else {
                met.failed = 1;
            }
        }
        met.whole = met.steps == how.steps || d.status[0] & status::FROZEN != 0;
        met
    };
    let worlds = (0..how.worlds).into_par_iter();
    worlds.map_init(|| kiloworld_cpu::world::<f64>(&m.size, UNREAD), one).reduce(|| Met::NOTHING, Met::and)
}

/// Puts a world at the reference pose or a keyframe.
fn start(m: &Model<f64>, key: Option<usize>, d: &mut World<f64>) {
    d.qpos_lo.fill(0.0);
    crate::batch::reset_world(m, key, |field, values| match d.get_mut(field) {
        Some(SliceMut::F(to)) => to.copy_from_slice(values),
        Some(SliceMut::I(to)) => to.iter_mut().zip(values).for_each(|(to, &x)| *to = x as i32),
        None => {}
    });
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

/// Contacts up to which the static bound is taken as the capacity; above it a probe decides.
const STATIC_CONTACTS: usize = 32;

/// Capacities that are chosen for a model.
pub(crate) struct Choice {
    pub room: HighWater,
    pub chosen: Chosen,
}

/// Chooses what worlds can hold: all that the model can need where that is little, else as much again as a probe sees.
pub(crate) fn choose(m: &Model<f64>) -> Choice {
    let (always, bound, each) = (rows_always(m), contacts_at_most(m), rows_per_contact(m));
    if bound <= STATIC_CONTACTS {
        return Choice { room: HighWater { ncon: bound, nefc: always + bound * each }, chosen: Chosen::Bound };
    }
    let starts = m.size.nkey + 1;
    // a step from each start counts what it needs, without room for any: the first thing that must fit
    let how = Drive { worlds: starts, steps: 1, seed: 0, scattered: false, work: f64::INFINITY };
    let first = drive(m, 0, &how).seen;
    // no two worlds are alike: without controls there is one from each start
    let worlds = if m.size.nu > 0 { WORLDS } else { starts.min(WORLDS) };
    let how = Drive { worlds, steps: STEPS, work: WORK / worlds as f64, ..how };
    // with room for twice what the starts have: a world that needs more stops, and says how much
    let Met { seen, steps, whole, .. } = drive(m, bound.min(ROOM.max(2 * first.ncon)), &how);
    let seen = seen.max(first);
    let mut high = seen;
    if !whole {
        // nobody has seen them settle
        high = high.max(heap(m));
    }
    // as much again, for what the probe did not meet: thousands of worlds meet more than sixteen
    Choice { room: room_for(m, high), chosen: Chosen::Probe { worlds, steps, whole, seen } }
}

/// Room for twice what was seen, within what the model can need.
fn room_for(m: &Model<f64>, seen: HighWater) -> HighWater {
    let ncon = contacts_at_most(m).min((2 * seen.ncon + 8).next_multiple_of(4));
    let most = rows_always(m) + ncon * rows_per_contact(m);
    HighWater { ncon, nefc: most.min((2 * seen.nefc + 16).next_multiple_of(4)) }
}

impl Batch {
    /// What to give as `nconmax` and `njmax` where worlds froze for want of them: room for twice what the first that froze would have
    /// needed, and no less than a probe asks for, or than bodies that come to lie in a heap have. Nothing where no world did.
    pub fn advice(&mut self) -> Result<Option<HighWater>, Error> {
        let lacked = status::CONTACT_OVERFLOW | status::ROW_OVERFLOW;
        let failures = self.failures()?.into_iter().filter(|f| f.reason & lacked != 0);
        let need = failures.map(|f| HighWater { ncon: f.ncon_need, nefc: f.nefc_need }).reduce(HighWater::max);
        let Some(need) = need else { return Ok(None) };
        let m = &self.m;
        let had = match self.capacities() {
            Chosen::Given => choose(m).room,
            _ => HighWater { ncon: m.size.nconmax, nefc: m.size.njmax },
        };
        Ok(Some(had.max(room_for(m, need.max(heap(m))))))
    }
}

/// About how many operations a step was: pairs, rows, and the factor of a Hessian that is as dense as rows to a dof make it.
fn work(m: &Model<f64>, d: &World<f64>) -> f64 {
    let [nv, nefc, wide] = [m.size.nv, count(d.nefc[0]), m.size.njrow].map(|n| n as f64);
    let band = nv.min(wide * (1.0 + nefc / nv.max(1.0)));
    let newton = nefc * wide * wide + nv * band * band;
    30.0 * m.size.ncoll as f64 + 200.0 * nv + newton * (1.0 + f64::from(d.solver_niter[0]))
}

/// What bodies in a heap have, by the look of their geoms: a ball is held by six others, a capsule and a box by a few at each end or
/// edge; a contact is shared by two.
fn heap(m: &Model<f64>) -> HighWater {
    let moves = |g: &usize| m.body_weldid[m.geom_bodyid[*g] as usize] != 0;
    let mut collides = vec![false; m.size.ngeom];
    m.coll_geom1.iter().chain(&m.coll_geom2).for_each(|&g| collides[g as usize] = true);
    let share = |g: usize| match m.geom_type[g] {
        geom::SPHERE => 3,
        geom::CAPSULE => 6,
        _ => 16,
    };
    let shares: usize = (0..m.size.ngeom).filter(|g| moves(g) && collides[*g]).map(share).sum();
    let ncon = shares.div_ceil(2).min(contacts_at_most(m));
    HighWater { ncon, nefc: rows_always(m) + ncon * rows_per_contact(m) }
}

fn count(n: i32) -> usize {
    usize::try_from(n).unwrap_or(0)
}
