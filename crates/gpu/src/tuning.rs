//! How the work of a model is spread on a device.

use crate::buffers::ARGUMENTS;
use crate::device::{Gpu, TuningChange};
use kiloworld_layout::Model;
use kiloworld_layout::wgsl::Tuning;

/// Turns of loops that a dispatch of Newton steps may make by the estimate, of the 65,535 that llvmpipe allows.
const TURNS: usize = 40_000;
/// Turns of the line search that a Newton step makes in the mean, and more.
const LINE_SEARCH: usize = 10;

impl Gpu {
    /// How work is spread for a model.
    ///
    /// CPU-type adapters: a world for each of their registers of 8 lanes; on llvmpipe that is up to twice as fast as 8 worlds in
    /// one (where branches differ, both sides run), and starts as soon. As many Newton steps a dispatch as its loops surely allow:
    /// llvmpipe bounds them, and a dispatch with nothing to do takes it 25 µs a group (measured on 2 cores; a step of a humanoid
    /// 400 µs). Kernels are not fused, they compile in less time.
    ///
    /// GPUs: neighbouring invocations should read neighbouring words, and a world's are neighbours, so several lanes a world;
    /// as many as the loops over dofs can keep busy, up to the 32 that step together on most devices; groups of 64, so that
    /// no kernel of a small model leaves half of a wave of 64 idle. No GPU has confirmed this: `bench --sweep` on it decides.
    pub fn tuning<T>(&self, m: &Model<T>) -> Tuning {
        self.tuned(m, TuningChange::default())
    }

    /// The same with what a user changes of it. Lanes without worlds a group: as [`Tuning::with_lanes`] says.
    pub fn tuned<T>(&self, m: &Model<T>, change: TuningChange) -> Tuning {
        let mut tuning = self.lanes(m.size.nv);
        if let Some(lanes) = change.lanes {
            tuning = tuning.with_lanes(lanes);
        }
        tuning.worlds_per_group = change.worlds_per_group.unwrap_or(tuning.worlds_per_group);
        let steps = if self.info().is_cpu { newton_steps(m, tuning.lanes) } else { u32::MAX };
        tuning.newton_steps = change.newton_steps.unwrap_or(steps);
        tuning.fused = change.fused.unwrap_or(tuning.fused);
        tuning
    }

    /// The tuning of a model of `nv` dofs but for its Newton steps.
    fn lanes(&self, nv: usize) -> Tuning {
        let info = self.info();
        let (workgroup_words, newton_steps) = (info.workgroup_bytes / 4, 1);
        if info.is_cpu {
            return Tuning { lanes: 8, worlds_per_group: 1, workgroup_words, newton_steps, fused: false };
        }
        let lanes = match nv {
            0..=4 => 4,
            5..=12 => 8,
            13..=24 => 16,
            _ => 32,
        };
        Tuning { lanes, worlds_per_group: 64 / lanes, workgroup_words, newton_steps, fused: true }
    }
}

/// The least Newton steps a dispatch that a model's iterations allow: a dispatch for each block of parameters.
pub(crate) fn least_newton_steps<T>(m: &Model<T>) -> u32 {
    u32::try_from(m.opt.iterations).unwrap_or(0).div_ceil(ARGUMENTS).max(1)
}

/// Newton steps of worlds with all rows that a dispatch surely runs to their end where loops are bounded.
fn newton_steps<T>(m: &Model<T>, lanes: u32) -> u32 {
    u32::try_from(TURNS / turns(m, lanes.max(1) as usize)).unwrap_or(u32::MAX).max(1)
}

/// Turns of loops that an invocation makes in a Newton step of a world that has all rows, loops of constant length included.
fn turns<T>(m: &Model<T>, lanes: usize) -> usize {
    let (nv, rows, contacts) = (m.size.nv, m.size.njmax, m.size.nconmax);
    let blocks = nv.div_ceil(4);
    let tiles = blocks * (blocks + 1) / 2;
    let share = |n: usize| n.div_ceil(lanes);
    // a contact's rows are gone through some ten times, six at a time
    let cones = 60 * share(contacts);
    let hessian = share(nv) * (blocks + nv) + share(rows) + cones + share(tiles) * rows.div_ceil(2);
    let factor: usize = (0..blocks).map(|k| 30 + share(k) + share(k * (k + 1) / 2)).sum();
    let solve = 2 * blocks * (2 + share(blocks));
    let products = 2 * share(nv) * nv + share(rows) * (blocks + 4) + share(blocks) * rows;
    let search = LINE_SEARCH.min(usize::try_from(m.opt.ls_iterations).unwrap_or(0)) * (share(rows) + cones + lanes);
    hessian + factor + solve + products + search + cones + 8 * lanes
}
