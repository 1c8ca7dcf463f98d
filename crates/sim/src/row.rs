//! What a CPU batch keeps of a world from step to step: one row of reals, one of integers.

use kiloworld_cpu::Scalar;
use kiloworld_layout::{Buffer, Data, Field, Sizes, Slice, SliceMut, consts::jnt};

/// The integers that persist: what the user switches and what a step reports.
pub(crate) const COUNTERS: [Field; 11] = [
    Field::eq_active,
    Field::ncon,
    Field::ncon_need,
    Field::ne,
    Field::nf,
    Field::nl,
    Field::nefc,
    Field::nefc_need,
    Field::solver_niter,
    Field::noslip_niter,
    Field::status,
];

/// Places of the kept fields in a world's rows.
#[derive(Clone, Debug)]
pub(crate) struct RowLayout {
    reals: Vec<(Field, usize, usize)>,
    ints: Vec<(Field, usize, usize)>,
    pub(crate) nreal: usize,
    pub(crate) nint: usize,
}

impl RowLayout {
    pub(crate) fn new(size: &Sizes) -> Self {
        let place = |fields: &mut dyn Iterator<Item = Field>| {
            let mut at = 0;
            let places = fields
                .map(|f| {
                    let len = f.info().len(size);
                    at += len;
                    (f, at - len, len)
                })
                .collect::<Vec<_>>();
            (places, at)
        };
        let (reals, nreal) = place(&mut Field::TABLE.iter().filter(|f| f.buffer == Buffer::State).map(|f| f.field));
        let (ints, nint) = place(&mut COUNTERS.into_iter());
        Self { reals, ints, nreal, nint }
    }

    /// Place and length of a kept field of reals.
    pub(crate) fn real(&self, field: Field) -> Option<(usize, usize)> {
        self.reals.iter().find(|r| r.0 == field).map(|r| (r.1, r.2))
    }

    /// Place and length of a kept field of integers.
    pub(crate) fn int(&self, field: Field) -> Option<(usize, usize)> {
        self.ints.iter().find(|r| r.0 == field).map(|r| (r.1, r.2))
    }

    /// Rows into the world that stages work on.
    pub(crate) fn load<T: Scalar>(&self, reals: &[T], ints: &[i32], d: &mut Data<T>) {
        for &(f, at, len) in &self.reals {
            if let Some(SliceMut::F(v)) = d.get_mut(f) {
                v.copy_from_slice(&reals[at..at + len]);
            }
        }
        for &(f, at, len) in &self.ints {
            if let Some(SliceMut::I(v)) = d.get_mut(f) {
                v.copy_from_slice(&ints[at..at + len]);
            }
        }
    }

    /// And back.
    pub(crate) fn store<T: Scalar>(&self, d: &Data<T>, reals: &mut [T], ints: &mut [i32]) {
        for &(f, at, len) in &self.reals {
            if let Some(Slice::F(v)) = d.get(f) {
                reals[at..at + len].copy_from_slice(v);
            }
        }
        for &(f, at, len) in &self.ints {
            if let Some(Slice::I(v)) = d.get(f) {
                ints[at..at + len].copy_from_slice(v);
            }
        }
    }
}

/// Coordinates that carry a low part: positions of free joints and slides.
pub(crate) fn two_float_coordinates(m: &kiloworld_layout::Model<f64>) -> Vec<bool> {
    let mut two_float = vec![false; m.size.nq];
    for j in 0..m.size.njnt {
        let adr = m.jnt_qposadr[j] as usize;
        let n = match m.jnt_type[j] {
            jnt::FREE => 3,
            jnt::SLIDE => 1,
            _ => 0,
        };
        two_float[adr..adr + n].fill(true);
    }
    two_float
}
