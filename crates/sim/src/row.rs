//! What a CPU batch keeps of its worlds from step to step: a row of reals and one of integers, a world in each lane.

use crate::history::Record;
use kiloworld_cpu::{Ints, Real, World};
use kiloworld_layout::{Buffer, Field, Sizes, consts::jnt};

/// The integers that persist: what the user switches and what a step reports.
pub(crate) const COUNTERS: [Field; 15] = [
    Field::eq_active,
    Field::health_id,
    Field::health_count,
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
    Field::bad_fields,
    Field::nstep,
];

/// Places of the kept fields in a group's rows.
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

    /// Numbers of a record of a world's state: the kept reals, then `eq_active`.
    pub(crate) fn nrecord(&self) -> usize {
        self.nreal + self.int(Field::eq_active).map_or(0, |place| place.1)
    }

    /// Writes the world of lane `l` into a record.
    pub(crate) fn record<T: Real>(&self, l: usize, d: &World<T>, record: &mut [T::One]) {
        for &(f, at, len) in &self.reals {
            if let Some(v) = d.reals(f) {
                record[at..at + len].iter_mut().zip(v).for_each(|(to, x)| *to = x.lane(l));
            }
        }
        let active = record[self.nreal..].iter_mut().zip(&d.eq_active);
        active.for_each(|(to, on)| *to = Real::r(f64::from(on.get(l))));
    }

    /// The fields of a record, low parts of the coordinates added in.
    pub(crate) fn fields_of(&self, record: &[f64]) -> Vec<(Field, Vec<f64>)> {
        let reals = |field: Field| self.real(field).map_or(&[][..], |(at, len)| &record[at..at + len]);
        let values = |field: Field| match field {
            Field::qpos => reals(field).iter().zip(reals(Field::qpos_lo)).map(|(hi, lo)| hi + lo).collect(),
            Field::eq_active => record[self.nreal..].to_vec(),
            _ => reals(field).to_vec(),
        };
        Record::list().map(|f| (f, values(f))).collect()
    }

    /// Rows into the worlds that stages work on: a copy, since a row has its worlds in the lanes already.
    pub(crate) fn load<T: Real>(&self, reals: &[T], ints: &[T::Int], d: &mut World<T>) {
        for &(f, at, len) in &self.reals {
            if let Some(v) = d.reals_mut(f) {
                v.copy_from_slice(&reals[at..at + len]);
            }
        }
        for &(f, at, len) in &self.ints {
            if let Some(v) = d.ints_mut(f) {
                v.copy_from_slice(&ints[at..at + len]);
            }
        }
    }

    /// And back.
    pub(crate) fn store<T: Real>(&self, d: &World<T>, reals: &mut [T], ints: &mut [T::Int]) {
        for &(f, at, len) in &self.reals {
            if let Some(v) = d.reals(f) {
                reals[at..at + len].copy_from_slice(v);
            }
        }
        for &(f, at, len) in &self.ints {
            if let Some(v) = d.ints(f) {
                ints[at..at + len].copy_from_slice(v);
            }
        }
    }

    /// And back, of lane `l` alone.
    pub(crate) fn store_lane<T: Real>(&self, l: usize, d: &World<T>, reals: &mut [T], ints: &mut [T::Int]) {
        for &(f, at, len) in &self.reals {
            if let Some(v) = d.reals(f) {
                reals[at..at + len].iter_mut().zip(v).for_each(|(to, x)| to.set_lane(l, x.lane(l)));
            }
        }
        for &(f, at, len) in &self.ints {
            if let Some(v) = d.ints(f) {
                ints[at..at + len].iter_mut().zip(v).for_each(|(to, x)| to.set(l, x.get(l)));
            }
        }
    }

    /// Makes the world of lane `to` a copy of that of lane `from`, in everything that persists.
    pub(crate) fn copy_lane<T: Real>(&self, from: usize, to: usize, d: &mut World<T>) {
        for &(f, ..) in &self.reals {
            d.reals_mut(f).into_iter().flatten().for_each(|x| x.set_lane(to, x.lane(from)));
        }
        for &(f, ..) in &self.ints {
            d.ints_mut(f).into_iter().flatten().for_each(|x| x.set(to, x.get(from)));
        }
    }

    /// Lane `l` of rows into a world by itself.
    pub(crate) fn take_lane<T: Real>(&self, l: usize, reals: &[T], ints: &[T::Int], d: &mut World<T::One>) {
        for &(f, at, len) in &self.reals {
            if let Some(v) = d.reals_mut(f) {
                v.iter_mut().zip(&reals[at..at + len]).for_each(|(to, x)| *to = x.lane(l));
            }
        }
        for &(f, at, len) in &self.ints {
            if let Some(v) = d.ints_mut(f) {
                v.iter_mut().zip(&ints[at..at + len]).for_each(|(to, x)| *to = x.get(l));
            }
        }
    }

    /// And back.
    pub(crate) fn give_lane<T: Real>(&self, l: usize, d: &World<T::One>, reals: &mut [T], ints: &mut [T::Int]) {
        for &(f, at, len) in &self.reals {
            if let Some(v) = d.reals(f) {
                reals[at..at + len].iter_mut().zip(v).for_each(|(to, &x)| to.set_lane(l, x));
            }
        }
        for &(f, at, len) in &self.ints {
            if let Some(v) = d.ints(f) {
                ints[at..at + len].iter_mut().zip(v).for_each(|(to, &x)| to.set(l, x));
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
