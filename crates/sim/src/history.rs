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

/// The last states of the worlds of a group on the CPU: a ring a world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ring<T> {
    /// (lane, depth, numbers of a record)
    records: Vec<T>,
    /// records ever taken, a lane
    taken: Vec<usize>,
}

impl<T: Clone> Ring<T> {
    pub(crate) fn new(lanes: usize, depth: usize, len: usize, zero: T) -> Self {
        Self { records: vec![zero; lanes * depth * len], taken: vec![0; lanes] }
    }

    /// The place of a lane's next record of `len` numbers; nothing where no history is kept.
    pub(crate) fn next(&mut self, lane: usize, len: usize) -> Option<&mut [T]> {
        let depth = self.depth(len);
        let at = (lane * depth + *self.taken.get(lane)? % depth) * len;
        self.taken[lane] += 1;
        self.records.get_mut(at..at + len)
    }

    /// A lane's records, the oldest first.
    pub(crate) fn records(&self, lane: usize, len: usize) -> impl Iterator<Item = &[T]> {
        let depth = self.depth(len);
        let taken = self.taken.get(lane).copied().unwrap_or(0);
        (taken.saturating_sub(depth)..taken).map(move |k| &self.records[(lane * depth + k % depth) * len..][..len])
    }

    fn depth(&self, len: usize) -> usize {
        self.records.len() / (self.taken.len() * len).max(1)
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
