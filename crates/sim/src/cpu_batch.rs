//! A batch on the CPU: a row a world between steps, one set of work arrays a thread.

use crate::row::{RowLayout, two_float_coordinates};
use kiloworld_cpu::Scalar;
use kiloworld_layout::{Call, Data, Field, Model, Slice, SliceMut, Stage, consts::status};
use rayon::prelude::*;
use std::time::Instant;

/// What sets a world's controls before a step: (world, step of this call, controls).
pub(crate) type Control<'a> = &'a (dyn Fn(usize, usize, &mut [f64]) + Sync);

pub(crate) struct CpuBatch<T: Scalar> {
    model: Model<T>,
    rows: RowLayout,
    reals: Vec<T>,
    ints: Vec<i32>,
    /// model fields that differ from world to world: (nworld, n)
    overrides: Vec<(Field, Vec<T>)>,
    two_float: Vec<bool>,
}

/// Work arrays of a thread.
struct Scratch<T> {
    /// the thread's own model where worlds differ in it
    model: Option<Model<T>>,
    d: Data<T>,
    ctrl: Vec<f64>,
}

impl<T: Scalar> CpuBatch<T> {
    pub(crate) fn new(m: &Model<f64>, nworld: usize) -> Self {
        let rows = RowLayout::new(&m.size);
        Self {
            model: m.cast(T::r),
            reals: vec![T::r(0.0); nworld * rows.nreal],
            ints: vec![0; nworld * rows.nint],
            overrides: Vec::new(),
            two_float: two_float_coordinates(m),
            rows,
        }
    }

    /// Bytes that a world keeps between steps.
    pub(crate) fn bytes_per_world(&self) -> usize {
        self.rows.nreal * size_of::<T>() + self.rows.nint * size_of::<i32>()
    }

    /// Bytes of work arrays a thread.
    pub(crate) fn bytes_per_thread(&self) -> usize {
        let len = |f: &&kiloworld_layout::FieldInfo| f.len(&self.model.size) * size_of::<T>();
        Field::TABLE.iter().filter(|f| !f.is_model()).map(|f| len(&f)).sum()
    }

    fn scratch(&self) -> Scratch<T> {
        Scratch {
            model: (!self.overrides.is_empty()).then(|| self.model.clone()),
            d: Data::new(&self.model.size, &T::r(0.0)),
            ctrl: vec![0.0; self.model.size.nu],
        }
    }

    fn load(&self, s: &mut Scratch<T>, w: usize, reals: &[T], ints: &[i32]) {
        self.rows.load(reals, ints, &mut s.d);
        if let Some(m) = &mut s.model {
            for (field, values) in &self.overrides {
                if let Some(SliceMut::F(v)) = m.get_mut(*field) {
                    let n = v.len();
                    v.copy_from_slice(&values[w * n..(w + 1) * n]);
                }
            }
        }
    }

    /// Runs `n` steps of every world; `each` sees a world after each of its steps.
    pub(crate) fn step(
        &mut self,
        calls: &[Call],
        n: usize,
        control: Option<Control<'_>>,
        each: Option<&(dyn Fn(usize, usize, &Data<T>) + Sync)>,
    ) {
        let mut reals = std::mem::take(&mut self.reals);
        let mut ints = std::mem::take(&mut self.ints);
        let this = &*self;
        let (nreal, nint) = (this.rows.nreal.max(1), this.rows.nint.max(1));
        reals.par_chunks_mut(nreal).zip(ints.par_chunks_mut(nint)).enumerate().for_each_init(
            || this.scratch(),
            |s, (w, (reals, ints))| {
                this.load(s, w, reals, ints);
                for k in 0..n {
                    if let Some(control) = control {
                        control(w, k, &mut s.ctrl);
                        s.d.ctrl.iter_mut().zip(&s.ctrl).for_each(|(a, &b)| *a = T::r(b));
                    }
                    // a frozen world stays as it is
                    if s.d.status[0] & status::FROZEN == 0 {
                        let m = s.model.as_ref().unwrap_or(&this.model);
                        for &call in calls {
                            kiloworld_cpu::run(call, m, &mut s.d);
                        }
                    }
                    if let Some(each) = each {
                        each(w, k, &s.d);
                    }
                }
                this.rows.store(&s.d, reals, ints);
            },
        );
        self.reals = reals;
        self.ints = ints;
    }

    /// Runs a forward pass of the given worlds on work arrays and hands each to `each`; the kept state stays as it is.
    pub(crate) fn forward(&self, calls: &[Call], ids: &[usize], each: &(dyn Fn(usize, &Data<T>) + Sync)) {
        let (nreal, nint) = (self.rows.nreal, self.rows.nint);
        ids.par_iter().enumerate().for_each_init(
            || self.scratch(),
            |s, (k, &w)| {
                self.load(s, w, &self.reals[w * nreal..(w + 1) * nreal], &self.ints[w * nint..(w + 1) * nint]);
                let m = s.model.as_ref().unwrap_or(&self.model);
                for &call in calls {
                    kiloworld_cpu::run(call, m, &mut s.d);
                }
                each(k, &s.d);
            },
        );
    }

    /// Seconds a world-step that each stage takes: a few worlds stepped on this thread, stage by stage timed.
    pub(crate) fn profile(&self, calls: &[Call], n: usize, control: Control<'_>) -> Vec<(Stage, f64)> {
        const WORLDS: usize = 64;
        let nworld = (self.reals.len() / self.rows.nreal.max(1)).min(WORLDS);
        let mut s = self.scratch();
        let mut times: Vec<(Stage, f64)> = Vec::new();
        for w in 0..nworld {
            let (reals, ints) = (w * self.rows.nreal, w * self.rows.nint);
            self.load(&mut s, w, &self.reals[reals..reals + self.rows.nreal], &self.ints[ints..ints + self.rows.nint]);
            let m = s.model.as_ref().unwrap_or(&self.model);
            for k in 0..n {
                control(w, k, &mut s.ctrl);
                s.d.ctrl.iter_mut().zip(&s.ctrl).for_each(|(a, &b)| *a = T::r(b));
                for &call in calls {
                    let clock = Instant::now();
                    kiloworld_cpu::run(call, m, &mut s.d);
                    let seconds = clock.elapsed().as_secs_f64() / (nworld * n) as f64;
                    match times.iter_mut().find(|t| t.0 == call.stage) {
                        Some(t) => t.1 += seconds,
                        None => times.push((call.stage, seconds)),
                    }
                }
            }
        }
        times
    }

    /// True where the field is kept between steps.
    pub(crate) fn keeps(&self, field: Field) -> bool {
        self.rows.real(field).or(self.rows.int(field)).is_some()
    }

    /// A kept field of one world.
    pub(crate) fn get(&self, field: Field, w: usize, out: &mut [f64]) {
        if let Some((at, len)) = self.rows.real(field) {
            let row = &self.reals[w * self.rows.nreal..];
            out.iter_mut().zip(&row[at..at + len]).for_each(|(o, x)| *o = x.to_f64());
            if field == Field::qpos
                && let Some((lo, _)) = self.rows.real(Field::qpos_lo)
            {
                out.iter_mut().zip(&row[lo..lo + len]).for_each(|(o, x)| *o += x.to_f64());
            }
        } else if let Some((at, len)) = self.rows.int(field) {
            let row = &self.ints[w * self.rows.nint..];
            out.iter_mut().zip(&row[at..at + len]).for_each(|(o, &x)| *o = f64::from(x));
        }
    }

    /// Sets a kept field of one world.
    pub(crate) fn set(&mut self, field: Field, w: usize, values: &[f64]) {
        if let Some((at, len)) = self.rows.real(field) {
            let row = &mut self.reals[w * self.rows.nreal..];
            row[at..at + len].iter_mut().zip(values).for_each(|(a, &b)| *a = T::r(b));
            if field == Field::qpos
                && let Some((lo, _)) = self.rows.real(Field::qpos_lo)
            {
                for i in 0..len {
                    let rest = values[i] - row[at + i].to_f64();
                    row[lo + i] = T::r(if self.two_float[i] { rest } else { 0.0 });
                }
            }
        } else if let Some((at, len)) = self.rows.int(field) {
            let row = &mut self.ints[w * self.rows.nint..];
            #[allow(clippy::cast_possible_truncation, reason = "flags and counts, given as f64 like every field")]
            row[at..at + len].iter_mut().zip(values).for_each(|(a, &b)| *a = b as i32);
        }
    }

    /// Sets a field of the model, for all worlds or (nworld, n).
    pub(crate) fn set_model(&mut self, field: Field, per_world: bool, values: &[f64]) {
        let values: Vec<T> = values.iter().map(|&x| T::r(x)).collect();
        self.overrides.retain(|o| o.0 != field);
        if per_world {
            self.overrides.push((field, values));
        } else if let Some(SliceMut::F(v)) = self.model.get_mut(field) {
            *v = values;
        }
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
