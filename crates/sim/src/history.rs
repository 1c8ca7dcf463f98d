//! The last states of each world, recorded at the start of its steps.

use crate::batch::{Batch, Inner};
use crate::{BatchBuilder, Error};
use kiloworld_layout::{Buffer, Field};

/// What a step of a world began with: its state, controls and applied forces, and which equalities were active.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// fields and their values, (n)
    pub fields: Vec<(Field, Vec<f64>)>,
}

impl Record {
    /// The fields of a record, in their order: the state, coordinates with their low parts added in, then `eq_active`.
    pub(crate) fn list() -> impl Iterator<Item = Field> {
        let state = Field::TABLE.iter().filter(|f| f.buffer == Buffer::State && f.field != Field::qpos_lo);
        state.map(|f| f.field).chain([Field::eq_active])
    }

    /// The values of a field; empty where it was not recorded.
    pub fn get(&self, field: Field) -> &[f64] {
        self.fields.iter().find(|f| f.0 == field).map_or(&[], |f| &f.1)
    }

    /// Simulation time [s].
    pub fn time(&self) -> f64 {
        self.get(Field::time).first().copied().unwrap_or(0.0)
    }
}

/// The last states of the worlds of a group on the CPU: a ring a world, which grows as states are recorded.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ring<T> {
    /// states that are kept
    depth: usize,
    /// (lane, recorded states, numbers of a record); none where no history is kept
    records: Vec<Vec<T>>,
    /// records ever taken, a lane
    taken: Vec<usize>,
}

impl<T: Clone + Default> Ring<T> {
    pub(crate) fn new(lanes: usize, depth: usize) -> Self {
        let lanes = if depth > 0 { lanes } else { 0 };
        Self { depth, records: vec![Vec::new(); lanes], taken: vec![0; lanes] }
    }

    /// The place of a lane's next record of `len` numbers; nothing where no history is kept.
    pub(crate) fn next(&mut self, lane: usize, len: usize) -> Option<&mut [T]> {
        let (records, taken) = (self.records.get_mut(lane)?, self.taken.get_mut(lane)?);
        let at = *taken % self.depth * len;
        *taken += 1;
        if records.len() == at {
            if records.capacity() == at {
                // twice as many as there are, and never more than there will be
                records.reserve_exact(at.max(len).min(self.depth * len - at));
            }
            records.resize(at + len, T::default());
        }
        records.get_mut(at..at + len)
    }

    /// A lane's records, the oldest first.
    pub(crate) fn records(&self, lane: usize, len: usize) -> impl Iterator<Item = &[T]> {
        let taken = self.taken.get(lane).copied().unwrap_or(0);
        (taken.saturating_sub(self.depth)..taken).map(move |k| &self.records[lane][k % self.depth * len..][..len])
    }
}

impl BatchBuilder<'_> {
    /// Keeps the last `k` states of every world, recorded at the start of each step, controls included (0: none). A frozen
    /// world's last record is what the step that failed began with: see [`Batch::dump`]. Costs the memory of `k` states a world
    /// and a copy of the state a step.
    pub fn history(mut self, k: usize) -> Self {
        self.history = k;
        self
    }
}

impl Batch {
    /// The states that the last steps of a world began with, the oldest first.
    pub fn history(&self, world: usize) -> Result<Vec<Record>, Error> {
        if world >= self.nworld {
            return Err(Error::World { id: world, nworld: self.nworld });
        }
        match &self.inner {
            Inner::Cpu(c) => Ok(c.history(world)),
            Inner::Gpu(g) => g.history(world),
        }
    }
}
