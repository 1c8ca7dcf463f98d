//! A batch on the CPU: groups of worlds, a world in each lane of the number that the stages run on, a row a group between
//! steps, and work arrays that threads take in turn.
//!
//! A lane without a world that moves (past the last world, or frozen) holds a copy of a live world of its group: it costs
//! nothing that the live one does not, and nothing of it is kept.

use crate::cpu_worlds::{Bytes, Control, CpuWorlds};
use crate::history::{Record, Ring};
use crate::row::{RowLayout, two_float_coordinates};
use kiloworld_cpu::{Compiled, Ints, Real, Scalar, World};
use kiloworld_layout::{Call, Data, Field, Kind, Model, Sizes, Slice, SliceMut, Stage, consts::status};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

pub(crate) struct CpuBatch<T: Compiled> {
    nworld: usize,
    /// capacities are slots that the lanes share
    model: Model<T>,
    /// for worlds looked at by themselves
    one: Model<T::One>,
    rows: RowLayout,
    reals: Vec<T>,
    ints: Vec<T::Int>,
    /// model fields that differ from world to world, group by group
    overrides: Vec<(Field, Vec<T>)>,
    /// the last states of each group's worlds
    rings: Vec<Ring<T::One>>,
    two_float: Vec<bool>,
    scratch: Pool<Scratch<T>>,
    scratch_one: Pool<Scratch<T::One>>,
}

/// What is kept of a group's worlds.
struct Rows<'a, T: Real> {
    reals: &'a mut [T],
    ints: &'a mut [T::Int],
    ring: &'a mut Ring<T::One>,
}

/// Work arrays of a thread.
struct Scratch<T: Real> {
    /// the thread's own model where worlds differ in it
    model: Option<Model<T>>,
    d: World<T>,
    ctrl: Vec<f64>,
}

impl<T: Real> Scratch<T> {
    fn new(m: &Model<T>, own_model: bool, d: World<T>) -> Self {
        Self { model: own_model.then(|| m.clone()), d, ctrl: vec![0.0; m.size.nu] }
    }

    /// Has the controls of the world in lane `l` set.
    fn control(&mut self, l: usize, control: impl FnOnce(&mut [f64])) {
        self.ctrl.iter_mut().zip(&self.d.ctrl).for_each(|(a, x)| *a = x.lane(l).to_f64());
        control(&mut self.ctrl);
        self.d.ctrl.iter_mut().zip(&self.ctrl).for_each(|(x, &a)| x.set_lane(l, Real::r(a)));
    }
}

/// Things that threads take and give back, so that they are made once.
struct Pool<S>(Mutex<Vec<S>>);

impl<S> Pool<S> {
    fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    fn with<R>(&self, make: impl FnOnce() -> S, work: impl FnOnce(&mut S) -> R) -> R {
        let free = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = free().pop();
        let mut s = taken.unwrap_or_else(make);
        let result = work(&mut s);
        free().push(s);
        result
    }
}

/// What no stage on the CPU reads: only who looks at a world has it.
pub(crate) const UNREAD: &[Field] = &[Field::efc_J, Field::solver_weight, Field::solver_H];

/// Lanes, a bit each.
type Lanes = u32;

fn lanes(set: Lanes) -> impl Iterator<Item = usize> {
    (0..Lanes::BITS as usize).filter(move |l| set >> l & 1 != 0)
}

/// Pieces of work a thread: more even out what differs, fewer keep a thread with its groups.
const CHUNKS_PER_THREAD: usize = 8;

impl<T: Compiled> CpuBatch<T> {
    const ALL: Lanes = Lanes::MAX >> (Lanes::BITS - T::LANES as u32);

    /// Nothing where the system has not the memory.
    pub(crate) fn new(m: &Model<f64>, nworld: usize) -> Option<Self> {
        let rows = RowLayout::new(&m.size);
        let ngroup = nworld.div_ceil(T::LANES);
        let mut model = m.cast(T::r);
        if T::LANES > 1 {
            (model.opt.world_ncon, model.opt.world_nefc) = (m.size.nconmax, m.size.njmax);
            model.size = slots(m, T::LANES);
        }
        Some(Self {
            nworld,
            model,
            one: m.cast(<T::One as Real>::r),
            reals: filled(ngroup.checked_mul(rows.nreal)?, T::zero())?,
            ints: filled(ngroup.checked_mul(rows.nint)?, T::Int::splat(0))?,
            overrides: Vec::new(),
            rings: vec![Ring::default(); ngroup],
            two_float: two_float_coordinates(m),
            rows,
            scratch: Pool::new(),
            scratch_one: Pool::new(),
        })
    }

    /// What worlds of a model take, some of its fields a world. Nothing is allocated.
    pub(crate) fn bytes(m: &Model<f64>, per_world: &[Field]) -> Bytes {
        let rows = RowLayout::new(&m.size);
        let own = size_of::<T>() * per_world.iter().map(|f| f.info().len(&m.size)).sum::<usize>();
        let model = bytes_of_model::<T>(&m.size);
        let kept = rows.nreal * size_of::<T>() + rows.nint * size_of::<T::Int>();
        let bytes = |n: usize| n as u64;
        Bytes {
            world: bytes((kept + own).div_ceil(T::LANES)),
            record: bytes(rows.nrecord() * size_of::<T::One>()),
            thread: bytes(bytes_of_work::<T>(&slots(m, T::LANES)) + if per_world.is_empty() { 0 } else { model }),
            models: bytes(model + bytes_of_model::<T::One>(&m.size) + bytes_of_model::<f64>(&m.size)),
        }
    }

    fn ngroup(&self) -> usize {
        self.nworld.div_ceil(T::LANES)
    }

    fn new_scratch(&self) -> Scratch<T> {
        Scratch::new(&self.model, !self.overrides.is_empty(), kiloworld_cpu::world(&self.model.size, UNREAD))
    }

    fn new_scratch_one(&self) -> Scratch<T::One> {
        Scratch::new(&self.one, !self.overrides.is_empty(), Data::new(&self.one.size, &Real::zero()))
    }

    /// The rows of a group.
    fn group(&self, g: usize) -> (&[T], &[T::Int]) {
        let (nreal, nint) = (self.rows.nreal, self.rows.nint);
        (&self.reals[g * nreal..(g + 1) * nreal], &self.ints[g * nint..(g + 1) * nint])
    }

    /// Runs `work` on every group of a range and its rows, in pieces over the threads.
    fn for_each_group(&mut self, groups: Range<usize>, work: impl Fn(&Self, usize, Rows<'_, T>) + Sync) {
        let chunk = groups.len().div_ceil(CHUNKS_PER_THREAD * rayon::current_num_threads());
        let (nreal, nint) = (self.rows.nreal, self.rows.nint);
        let (mut reals, mut ints) = (std::mem::take(&mut self.reals), std::mem::take(&mut self.ints));
        let mut rings = std::mem::take(&mut self.rings);
        let this = &*self;
        let some = |(c, ((reals, ints), rings)): (usize, ((&mut [T], &mut [T::Int]), &mut [Ring<T::One>]))| {
            let rows = reals.chunks_mut(nreal).zip(ints.chunks_mut(nint)).zip(rings);
            for (g, ((reals, ints), ring)) in rows.enumerate() {
                work(this, groups.start + c * chunk + g, Rows { reals, ints, ring });
            }
        };
        let of_reals = &mut reals[groups.start * nreal..groups.end * nreal];
        let of_ints = &mut ints[groups.start * nint..groups.end * nint];
        let of_rings = &mut rings[groups.clone()];
        if groups.len() == 1 {
            // no thread is woken for it
            some((0, ((of_reals, of_ints), of_rings)));
        } else {
            let rows = of_reals.par_chunks_mut(chunk * nreal).zip(of_ints.par_chunks_mut(chunk * nint));
            rows.zip(of_rings.par_chunks_mut(chunk)).enumerate().for_each(some);
        }
        (self.reals, self.ints, self.rings) = (reals, ints, rings);
    }

    /// The lanes of a group with a world that moves.
    fn live(&self, g: usize, ints: &[T::Int]) -> Lanes {
        let worlds = (self.nworld - g * T::LANES).min(T::LANES);
        let at = self.rows.int(Field::status).map_or(0, |place| place.0);
        moving::<T>(&ints[at]) & (Self::ALL >> (T::LANES - worlds))
    }

    /// Takes a group into the work arrays.
    fn load(&self, s: &mut Scratch<T>, g: usize, live: Lanes, reals: &[T], ints: &[T::Int]) {
        self.rows.load(reals, ints, &mut s.d);
        if let Some(m) = &mut s.model {
            for (field, values) in &self.overrides {
                if let Some(SliceMut::F(v)) = m.get_mut(*field) {
                    let n = v.len();
                    v.copy_from_slice(&values[g * n..(g + 1) * n]);
                }
            }
        }
        self.fill(s, live);
    }

    /// Puts copies of a live world into the lanes that have none.
    fn fill(&self, s: &mut Scratch<T>, live: Lanes) {
        let from = live.trailing_zeros() as usize;
        for to in lanes(Self::ALL & !live) {
            self.rows.copy_lane(from, to, &mut s.d);
            if let Some(m) = &mut s.model {
                for (field, _) in &self.overrides {
                    if let Some(SliceMut::F(v)) = m.get_mut(*field) {
                        v.iter_mut().for_each(|x| x.set_lane(to, x.lane(from)));
                    }
                }
            }
        }
    }

    /// Has the controls of the live worlds of a group set.
    fn control(&self, s: &mut Scratch<T>, g: usize, live: Lanes, k: usize, control: Control<'_>) {
        for l in lanes(live) {
            s.control(l, |ctrl| control(g * T::LANES + l, k, ctrl));
        }
        let from = live.trailing_zeros() as usize;
        for to in lanes(Self::ALL & !live) {
            s.d.ctrl.iter_mut().for_each(|x| x.set_lane(to, x.lane(from)));
        }
    }

    /// Runs `n` steps of a group.
    fn step_group(
        &self,
        s: &mut Scratch<T>,
        (g, Rows { reals, ints, ring }): (usize, Rows<'_, T>),
        calls: &[Call],
        n: usize,
        control: Option<Control<'_>>,
    ) {
        let mut live = self.live(g, ints);
        if live == 0 {
            return;
        }
        self.load(s, g, live, reals, ints);
        for k in 0..n {
            if let Some(control) = control {
                self.control(s, g, live, k, control);
            }
            for l in lanes(live) {
                self.record(l, &s.d, ring.next(l, self.rows.nrecord()));
            }
            let m = s.model.as_ref().unwrap_or(&self.model);
            for &call in calls {
                kiloworld_cpu::run(call, m, &mut s.d);
            }
            let frozen = live & !moving::<T>(&s.d.status[0]);
            if frozen != 0 {
                lanes(frozen).for_each(|l| self.rows.store_lane(l, &s.d, reals, ints));
                live &= !frozen;
                if live == 0 {
                    return;
                }
                self.fill(s, live);
            }
        }
        if live == Self::ALL {
            self.rows.store(&s.d, reals, ints);
        } else {
            lanes(live).for_each(|l| self.rows.store_lane(l, &s.d, reals, ints));
        }
    }

    /// Records the world of lane `l` where a history is kept.
    fn record<S: Real<One = T::One>>(&self, l: usize, d: &World<S>, place: Option<&mut [T::One]>) {
        if let Some(place) = place {
            self.rows.record(l, d, place);
        }
    }

    /// Takes one world into work arrays of its own.
    fn load_one(&self, s: &mut Scratch<T::One>, w: usize, reals: &[T], ints: &[T::Int]) {
        let (g, l) = (w / T::LANES, w % T::LANES);
        self.rows.take_lane(l, reals, ints, &mut s.d);
        if let Some(m) = &mut s.model {
            for (field, values) in &self.overrides {
                if let Some(SliceMut::F(v)) = m.get_mut(*field) {
                    let n = v.len();
                    v.iter_mut().zip(&values[g * n..(g + 1) * n]).for_each(|(to, x)| *to = x.lane(l));
                }
            }
        }
    }

    /// Runs a step of every world of some groups by itself, with the same bits as in lanes; `each` sees it afterwards, the worlds in
    /// no order.
    fn step_alone(
        &mut self,
        groups: Range<usize>,
        calls: &[Call],
        control: Option<Control<'_>>,
        each: &(dyn Fn(usize, &Data<T::One>) + Sync),
    ) {
        self.for_each_group(groups, |this, g, Rows { reals, ints, ring }| {
            this.scratch_one.with(
                || this.new_scratch_one(),
                |s| {
                    for w in (g * T::LANES..this.nworld).take(T::LANES) {
                        let live = this.live(g, ints) >> (w % T::LANES) & 1 != 0;
                        if !live {
                            // nothing of another world is to be seen in it
                            s.d = Data::new(&this.one.size, &Real::zero());
                        }
                        this.load_one(s, w, reals, ints);
                        if live {
                            if let Some(control) = control {
                                s.control(0, |ctrl| control(w, 0, ctrl));
                            }
                            this.record(0, &s.d, ring.next(w % T::LANES, this.rows.nrecord()));
                            let m = s.model.as_ref().unwrap_or(&this.one);
                            for &call in calls {
                                kiloworld_cpu::run(call, m, &mut s.d);
                            }
                        }
                        each(w, &s.d);
                        this.rows.give_lane(w % T::LANES, &s.d, reals, ints);
                    }
                },
            );
        });
    }

    /// Runs a forward pass of one world by itself and shows it.
    fn look<R>(&self, calls: &[Call], w: usize, show: impl FnOnce(&Data<T::One>) -> R) -> R {
        self.scratch_one.with(
            || self.new_scratch_one(),
            |s| {
                let (reals, ints) = self.group(w / T::LANES);
                self.load_one(s, w, reals, ints);
                let m = s.model.as_ref().unwrap_or(&self.one);
                for &call in calls {
                    kiloworld_cpu::run(call, m, &mut s.d);
                }
                show(&s.d)
            },
        )
    }
}

impl<T: Compiled> CpuWorlds for CpuBatch<T> {
    fn keeps(&self, field: Field) -> bool {
        self.rows.real(field).or(self.rows.int(field)).is_some()
    }

    fn get(&self, field: Field, w: usize, out: &mut [f64]) {
        let ((reals, ints), l) = (self.group(w / T::LANES), w % T::LANES);
        if let Some((at, len)) = self.rows.real(field) {
            out.iter_mut().zip(&reals[at..at + len]).for_each(|(o, x)| *o = x.lane(l).to_f64());
            if field == Field::qpos
                && let Some((lo, _)) = self.rows.real(Field::qpos_lo)
            {
                out.iter_mut().zip(&reals[lo..lo + len]).for_each(|(o, x)| *o += x.lane(l).to_f64());
            }
        } else if let Some((at, len)) = self.rows.int(field) {
            out.iter_mut().zip(&ints[at..at + len]).for_each(|(o, x)| *o = f64::from(x.get(l)));
        }
    }

    fn set(&mut self, field: Field, w: usize, values: &[f64]) {
        let (g, l) = (w / T::LANES, w % T::LANES);
        if let Some((at, len)) = self.rows.real(field) {
            let row = &mut self.reals[g * self.rows.nreal..];
            row[at..at + len].iter_mut().zip(values).for_each(|(x, &v)| x.set_lane(l, Real::r(v)));
            if field == Field::qpos
                && let Some((lo, _)) = self.rows.real(Field::qpos_lo)
            {
                for i in 0..len {
                    let rest = if self.two_float[i] { values[i] - row[at + i].lane(l).to_f64() } else { 0.0 };
                    row[lo + i].set_lane(l, Real::r(rest));
                }
            }
        } else if let Some((at, len)) = self.rows.int(field) {
            let row = &mut self.ints[g * self.rows.nint..];
            #[allow(clippy::cast_possible_truncation, reason = "flags and counts, given as f64 like every field")]
            row[at..at + len].iter_mut().zip(values).for_each(|(x, &v)| x.set(l, v as i32));
        }
    }

    fn set_model(&mut self, field: Field, ids: &[usize], values: &[f64]) {
        let Some(Slice::F(common)) = self.model.get(field) else { return };
        let n = common.len();
        if n == 0 {
            return;
        }
        let at = match self.overrides.iter().position(|o| o.0 == field) {
            Some(at) => at,
            None => {
                let groups = common.repeat(self.ngroup());
                self.overrides.push((field, groups));
                // those without a model of their own
                (self.scratch, self.scratch_one) = (Pool::new(), Pool::new());
                self.overrides.len() - 1
            }
        };
        let groups = &mut self.overrides[at].1;
        for (&w, row) in ids.iter().zip(values.chunks(n)) {
            let group = &mut groups[w / T::LANES * n..][..n];
            group.iter_mut().zip(row).for_each(|(x, &v)| x.set_lane(w % T::LANES, Real::r(v)));
        }
    }

    fn model_row(&self, field: Field, w: usize) -> Vec<f64> {
        let (g, l) = (w / T::LANES, w % T::LANES);
        let own = self.overrides.iter().find(|o| o.0 == field).map(|o| &o.1[..]);
        match (own, self.model.get(field)) {
            (Some(v), _) => {
                v.chunks(v.len() / self.ngroup()).nth(g).into_iter().flatten().map(|x| x.lane(l).to_f64()).collect()
            }
            (None, Some(Slice::F(v))) => v.iter().map(|x| x.lane(l).to_f64()).collect(),
            (None, Some(Slice::I(v))) => v.iter().map(|&x| f64::from(x)).collect(),
            (None, None) => Vec::new(),
        }
    }

    fn remember(&mut self, depth: usize) {
        self.rings = vec![Ring::new(T::LANES, depth); self.ngroup()];
    }

    fn history(&self, w: usize) -> Vec<Record> {
        let records = self.rings[w / T::LANES].records(w % T::LANES, self.rows.nrecord());
        records
            .map(|r| {
                let numbers: Vec<f64> = r.iter().map(|x| x.to_f64()).collect();
                Record { fields: self.rows.fields_of(&numbers) }
            })
            .collect()
    }

    fn step(&mut self, calls: &[Call], n: usize, control: Option<Control<'_>>) {
        self.for_each_group(0..self.ngroup(), |this, g, rows| {
            let make = || this.new_scratch();
            this.scratch.with(make, |s| this.step_group(s, (g, rows), calls, n, control));
        });
    }

    fn trace(&mut self, calls: &[Call], control: Option<Control<'_>>, each: &mut dyn FnMut(usize, &Data<f64>)) {
        let ngroup = self.ngroup();
        // threads finish in any order: so many groups at once, so that few worlds wait to be shown
        let block = rayon::current_num_threads();
        for first in (0..ngroup).step_by(block) {
            let groups = first..(first + block).min(ngroup);
            let stepped = Mutex::new(BTreeMap::new());
            self.step_alone(groups, calls, control, &|w, d| {
                let d = to_f64(d);
                stepped.lock().unwrap_or_else(PoisonError::into_inner).insert(w, d);
            });
            let stepped = stepped.into_inner().unwrap_or_else(PoisonError::into_inner);
            stepped.iter().for_each(|(&w, d)| each(w, d));
        }
    }

    fn forward(&self, calls: &[Call], ids: &[usize], fields: &[Field]) -> Vec<Vec<f64>> {
        let lens: Vec<usize> = fields.iter().map(|f| f.info().len(&self.one.size)).collect();
        let computed = fields.iter().any(|&f| !self.keeps(f) && !f.info().is_model());
        let read = |w: usize, d: Option<&Data<T::One>>| -> Vec<Vec<f64>> {
            let row = |(&f, &n): (&Field, &usize)| match d {
                _ if f.info().is_model() => self.model_row(f, w),
                Some(d) if !self.keeps(f) => row_f64(d, f),
                _ => {
                    let mut out = vec![0.0; n];
                    self.get(f, w, &mut out);
                    out
                }
            };
            fields.iter().zip(&lens).map(row).collect()
        };
        let look = |&w: &usize| if computed { self.look(calls, w, |d| read(w, Some(d))) } else { read(w, None) };
        let mut out: Vec<Vec<f64>> = lens.iter().map(|n| Vec::with_capacity(n * ids.len())).collect();
        // some at a time: rows of their own take more memory than the worlds
        for ids in ids.chunks(1024) {
            let rows: Vec<Vec<Vec<f64>>> = if computed && ids.len() > 1 {
                ids.par_iter().map(look).collect()
            } else {
                ids.iter().map(look).collect()
            };
            for world in rows {
                out.iter_mut().zip(world).for_each(|(all, row)| all.extend(row));
            }
        }
        out
    }

    fn world(&self, calls: &[Call], w: usize) -> Data<f64> {
        self.look(calls, w, to_f64)
    }

    fn profile(&self, calls: &[Call], n: usize, control: Control<'_>) -> Vec<(Stage, f64)> {
        const WORLDS: usize = 64;
        let mut s = self.new_scratch();
        let mut times: Vec<(Stage, f64)> = Vec::new();
        let mut worlds = 0;
        for g in 0..self.ngroup() {
            let (reals, ints) = self.group(g);
            let live = self.live(g, ints);
            if live == 0 || n == 0 {
                continue;
            }
            worlds += live.count_ones() as usize;
            self.load(&mut s, g, live, reals, ints);
            let mut seconds = vec![Vec::with_capacity(n); calls.len()];
            for k in 0..n {
                self.control(&mut s, g, live, k, control);
                let m = s.model.as_ref().unwrap_or(&self.model);
                for (&call, seconds) in calls.iter().zip(&mut seconds) {
                    let clock = Instant::now();
                    kiloworld_cpu::run(call, m, &mut s.d);
                    seconds.push(clock.elapsed().as_secs_f64());
                }
            }
            for (call, mut seconds) in calls.iter().zip(seconds) {
                // the median: what else the machine does is no part of a stage
                seconds.sort_by(f64::total_cmp);
                let median = seconds[n / 2];
                match times.iter_mut().find(|t| t.0 == call.stage) {
                    Some(t) => t.1 += median,
                    None => times.push((call.stage, median)),
                }
            }
            if worlds >= WORLDS {
                break;
            }
        }
        times.iter_mut().for_each(|t| t.1 /= worlds as f64);
        times
    }
}

/// So many values; nothing where the system has not the memory.
fn filled<V: Clone>(n: usize, value: V) -> Option<Vec<V>> {
    let mut values = Vec::new();
    values.try_reserve_exact(n).ok()?;
    values.resize(n, value);
    Some(values)
}

/// Bytes of a model's arrays.
fn bytes_of_model<T>(size: &Sizes) -> usize {
    let bytes = |kind: Kind| if kind == Kind::F { size_of::<T>() } else { size_of::<i32>() };
    Field::TABLE.iter().filter(|f| f.is_model()).map(|f| f.len(size) * bytes(f.kind)).sum()
}

/// Bytes of a thread's work arrays, at most: those of contacts and rows grow.
fn bytes_of_work<T: Real>(size: &Sizes) -> usize {
    let none = World::<T>::default();
    let bytes = |f: Field| match f.info().kind {
        Kind::F => size_of::<T>(),
        Kind::I if none.ints(f).is_some() => size_of::<T::Int>(),
        Kind::I => size_of::<i32>(),
    };
    let read = Field::TABLE.iter().filter(|f| !f.is_model() && !UNREAD.contains(&f.field));
    read.map(|f| f.len(size) * bytes(f.field)).sum()
}

/// The lanes whose status is not that of a frozen world.
fn moving<T: Real>(word: &T::Int) -> Lanes {
    (0..T::LANES).filter(|&l| word.get(l) & status::FROZEN == 0).fold(0, |set, l| set | 1 << l)
}

/// The sizes of worlds that share slots: room for the contacts and rows of every lane, or for all that there can be. No worlds
/// need more together: a slot of contacts or rows in use is one that some world has, of one world there are at most `nconmax` and
/// `njmax`, and [`kiloworld_model::slots`] are all that their pairs, limits and equalities can ask for.
fn slots(m: &Model<f64>, lanes: usize) -> Sizes {
    let mut size = m.size.clone();
    if lanes > 1 {
        let (ncon, nefc) = kiloworld_model::slots(m);
        size.nconmax = ncon.min(lanes * m.size.nconmax);
        size.njmax = nefc.min(lanes * m.size.njmax);
        if m.size.njdual > 0 {
            size.njdual = size.njmax;
        }
    }
    size
}

fn row_f64<T: Scalar>(d: &Data<T>, field: Field) -> Vec<f64> {
    match d.get(field) {
        Some(Slice::F(v)) => v.iter().map(|x| x.to_f64()).collect(),
        Some(Slice::I(v)) => v.iter().map(|&x| f64::from(x)).collect(),
        None => Vec::new(),
    }
}

/// A world in f64, low parts of the coordinates added in.
pub(crate) fn to_f64<T: Scalar>(d: &Data<T>) -> Data<f64> {
    let mut out = Data::default();
    for info in Field::TABLE.iter().filter(|f| !f.is_model()) {
        match (d.get(info.field), out.get_mut(info.field)) {
            (Some(Slice::I(a)), Some(SliceMut::I(b))) => *b = a.to_vec(),
            (Some(Slice::F(a)), Some(SliceMut::F(b))) => *b = a.iter().map(|x| x.to_f64()).collect(),
            _ => unreachable!("the table gives a field one kind"),
        }
    }
    out.qpos.iter_mut().zip(&mut out.qpos_lo).for_each(|(hi, lo)| *hi += std::mem::take(lo));
    out
}
