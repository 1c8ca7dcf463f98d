//! How many contacts and rows a world needs: the high-water mark of a short run on the CPU.

use crate::cpu_batch::CpuBatch;
use crate::cpu_worlds::CpuWorlds;
use crate::{rng, step};
use kiloworld_layout::Model;
use kiloworld_layout::consts::status;
use kiloworld_model::{rows_always, rows_per_contact};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most contacts and rows that any world of a probe had at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct HighWater {
    /// contacts
    pub ncon: usize,
    /// constraint rows
    pub nefc: usize,
}

/// Worlds and steps of the probe: a mix of the reference pose and the keyframes under random control, long enough for a
/// body to fall on the ground and settle there.
const WORLDS: usize = 16;
const STEPS: usize = 400;

/// Sets what a world can hold: so many contacts, and so many rows (those that the contacts can need where not given).
pub(crate) fn set_capacities(m: &mut Model<f64>, nconmax: usize, njmax: Option<usize>) {
    m.size.nconmax = nconmax;
    m.size.njmax = njmax.unwrap_or_else(|| rows_always(m) + nconmax * rows_per_contact(m));
    // the dual solvers' matrix is there only where they run
    if m.size.njdual > 0 {
        m.size.njdual = m.size.njmax;
    }
}

/// Runs a few worlds with random controls and capacities that cannot be passed (up to `limit` contacts), and returns the
/// largest counts.
pub fn probe(m: &Model<f64>, limit: usize) -> HighWater {
    let mut m = m.clone();
    set_capacities(&mut m, limit, None);
    let mut batch = CpuBatch::<f64>::new(&m, WORLDS);
    for w in 0..WORLDS {
        crate::batch::reset_world(&m, w.checked_rem(m.size.nkey + 1).and_then(|k| k.checked_sub(1)), |f, v| {
            batch.set(f, w, v);
        });
    }
    let ranges = crate::batch::ctrl_ranges(&m);
    let control = |w: usize, k: usize, ctrl: &mut [f64]| {
        for (i, (c, (lo, hi))) in ctrl.iter_mut().zip(&ranges).enumerate() {
            *c = lo + (hi - lo) * rng::uniform(0, w, k / 10, i);
        }
    };
    let (ncon, nefc) = (AtomicUsize::new(0), AtomicUsize::new(0));
    batch.step_each(&step::step(&m.opt), STEPS, Some(&control), &|_, _, d| {
        if d.status[0] & status::FROZEN == 0 {
            ncon.fetch_max(count(d.ncon_need[0]), Ordering::Relaxed);
            nefc.fetch_max(count(d.nefc_need[0]), Ordering::Relaxed);
        }
    });
    HighWater { ncon: ncon.into_inner(), nefc: nefc.into_inner() }
}

fn count(n: i32) -> usize {
    usize::try_from(n).unwrap_or(0)
}
