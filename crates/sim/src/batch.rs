//! A batch: the same calls on either backend.

use crate::attach::Captured;
use crate::builder::Plan;
use crate::cpu_worlds::{Control, CpuWorlds};
use crate::gpu_batch::GpuWorlds;
use crate::quarantine::Quarantine;
use crate::row::COUNTERS;
use crate::sizing::Chosen;
use crate::welds::StiffRows;
use crate::{BatchBuilder, DeviceNumbers, Error, Report, Routes, step};
use kiloworld_layout::consts::status;
use kiloworld_layout::{Buffer, Call, Data, Field, Model, Stage};
use kiloworld_model::Names;

pub(crate) enum Inner {
    Cpu(Box<dyn CpuWorlds>),
    Gpu(Box<GpuWorlds>),
}

/// Many worlds of one model. Arrays are `(nworld, n)`, row-major, f64 whatever the backend computes in.
pub struct Batch {
    pub(crate) m: Model<f64>,
    pub(crate) nworld: usize,
    pub(crate) inner: Inner,
    pub(crate) per_world: Vec<Field>,
    pub(crate) quarantine: Quarantine,
    pub(crate) captured: Captured,
    forward: Vec<Call>,
    step: Vec<Call>,
    stiff: StiffRows,
    pub(crate) routes: Routes,
    /// steps of worlds that were reset since
    steps_before: u64,
}

impl Batch {
    /// Starts a batch of `model`.
    pub fn builder(model: &kiloworld_model::Model) -> BatchBuilder<'_> {
        BatchBuilder::new(model)
    }

    pub(crate) fn new(plan: Plan, inner: Inner, quarantine: Quarantine) -> Result<Self, Error> {
        let Plan { m, stiff, per_world, routes, .. } = plan;
        let (forward, step) = (step::forward(&m.opt), step::step(&m.opt));
        let mut batch = Self {
            m,
            nworld: routes.nworld,
            inner,
            per_world,
            quarantine,
            captured: Captured::default(),
            forward,
            step,
            stiff,
            routes,
            steps_before: 0,
        };
        batch.reset(None, None)?;
        Ok(batch)
    }

    /// Leaves out the stage `health`.
    pub(crate) fn skip_health(&mut self) {
        self.step.retain(|c| c.stage != Stage::Health);
    }

    /// Number of worlds.
    pub fn nworld(&self) -> usize {
        self.nworld
    }

    /// The compiled model as the batch runs it: capacities and options filled in.
    pub fn model(&self) -> &Model<f64> {
        &self.m
    }

    /// The solver iterations that the model's file allows; `model().opt.iterations` are the batch's.
    pub fn model_iterations(&self) -> i32 {
        self.routes.model_iterations
    }

    /// How `nconmax` and `njmax` were chosen.
    pub fn capacities(&self) -> Chosen {
        self.routes.capacities
    }

    /// Names of the model's elements.
    pub fn names(&self) -> &Names {
        &self.quarantine.names
    }

    /// Where it runs, in words.
    pub fn backend_name(&self) -> String {
        self.routes.backend.clone()
    }

    /// Steps of a control period.
    pub fn control_period(&self) -> usize {
        self.routes.control_period
    }

    /// True on a GPU that is made of CPU cores.
    pub fn on_software_device(&self) -> bool {
        matches!(&self.inner, Inner::Gpu(g) if g.is_software())
    }

    pub(crate) fn ids(&self, ids: Option<&[usize]>) -> Result<Vec<usize>, Error> {
        match ids {
            None => Ok((0..self.nworld).collect()),
            Some(ids) => {
                if let Some(&id) = ids.iter().find(|&&id| id >= self.nworld) {
                    return Err(Error::World { id, nworld: self.nworld });
                }
                // lists of all worlds, the common ones, are in order
                if !ids.is_sorted_by(|a, b| a < b) {
                    let mut seen = std::collections::HashSet::with_capacity(ids.len());
                    if let Some(&id) = ids.iter().find(|id| !seen.insert(**id)) {
                        return Err(Error::RepeatedWorld { id });
                    }
                }
                Ok(ids.to_vec())
            }
        }
    }

    /// The ids of the worlds that a mask marks, one entry a world.
    pub fn marked(&self, mask: &[bool]) -> Result<Vec<usize>, Error> {
        if mask.len() != self.nworld {
            return Err(Error::Mask { got: mask.len(), nworld: self.nworld });
        }
        Ok(mask.iter().enumerate().filter(|(_, on)| **on).map(|(w, _)| w).collect())
    }

    /// Puts worlds (all, or those of `ids`) back to the reference pose or to a keyframe, their status cleared.
    pub fn reset(&mut self, ids: Option<&[usize]>, keyframe: Option<usize>) -> Result<(), Error> {
        let ids = self.ids(ids)?;
        if let Some(id) = keyframe
            && id >= self.m.size.nkey
        {
            return Err(Error::Keyframe { id, nkey: self.m.size.nkey });
        }
        self.enter_failures()?;
        self.steps_before += self.steps_of(&ids)?;
        let m = &self.m;
        let mut fields: Vec<(Field, Vec<f64>)> = Vec::new();
        reset_world(m, keyframe, |f, v| fields.push((f, v.to_vec())));
        fields.into_iter().try_for_each(|(field, row)| self.put(field, &ids, &row))?;
        self.quarantine.started(&ids, keyframe);
        self.uncapture(&ids)
    }

    /// Gives some worlds the same row.
    fn put(&mut self, field: Field, ids: &[usize], row: &[f64]) -> Result<(), Error> {
        match &mut self.inner {
            Inner::Cpu(c) => ids.iter().for_each(|&w| c.set(field, w, row)),
            Inner::Gpu(g) => g.set_rows(field, ids, &row.repeat(ids.len()))?,
        }
        Ok(())
    }

    /// The same of the worlds that a mask marks, one entry a world.
    pub fn reset_masked(&mut self, mask: &[bool], keyframe: Option<usize>) -> Result<(), Error> {
        let ids = self.marked(mask)?;
        self.reset(Some(&ids), keyframe)
    }

    /// Runs `n` steps of every world.
    pub fn step(&mut self, n: usize) -> Result<(), Error> {
        self.advance(n, None)?;
        self.settle()
    }

    /// Runs `n` steps, `control(world, step, ctrl)` setting a world's controls before each of them: `ctrl` holds the present ones,
    /// and what is left alone stays. Worlds that are frozen are not asked about.
    pub fn step_with(&mut self, n: usize, control: Control<'_>) -> Result<(), Error> {
        self.advance(n, Some(control))?;
        self.settle()
    }

    fn advance(&mut self, n: usize, control: Option<Control<'_>>) -> Result<(), Error> {
        let (nworld, nu) = (self.nworld, self.m.size.nu);
        match (&mut self.inner, control) {
            (Inner::Cpu(c), control) => c.step(&self.step, n, control),
            (Inner::Gpu(g), None) => g.step(&self.step, n)?,
            (Inner::Gpu(g), Some(control)) => {
                let all: Vec<usize> = (0..nworld).collect();
                let mut ctrl = g.forward(&self.forward, &all, &[Field::ctrl])?.remove(0);
                for k in 0..n {
                    // a world may freeze in any step, and is not asked from then on
                    let status = g.forward(&self.forward, &all, &[Field::status])?.remove(0);
                    #[allow(clippy::cast_possible_truncation, reason = "bits of an i32")]
                    for w in all.iter().copied().filter(|&w| status[w] as i32 & status::FROZEN == 0) {
                        control(w, k, &mut ctrl[w * nu..(w + 1) * nu]);
                    }
                    g.set(Field::ctrl, &ctrl)?;
                    // the next step is shown what the device holds
                    #[allow(clippy::cast_possible_truncation, reason = "rounding is what is wanted")]
                    ctrl.iter_mut().for_each(|x| *x = f64::from(*x as f32));
                    g.step(&self.step, 1)?;
                }
            }
        }
        Ok(())
    }

    /// Runs `n` steps and shows every world to `each` after each of its steps, as f64, with everything that the step
    /// computed: `each(world, step, data)`, one world after the other, in their order.
    pub fn trace(
        &mut self,
        n: usize,
        control: Option<Control<'_>>,
        each: &mut dyn FnMut(usize, usize, &Data<f64>),
    ) -> Result<(), Error> {
        for k in 0..n {
            let nudge = control.map(|c| move |w: usize, _: usize, ctrl: &mut [f64]| c(w, k, ctrl));
            let control: Option<Control<'_>> = nudge.as_ref().map(|f| f as Control<'_>);
            if let Inner::Cpu(c) = &mut self.inner {
                c.trace(&self.step, control, &mut |w, d| each(w, k, d));
                continue;
            }
            self.advance(1, control)?;
            if let Inner::Gpu(g) = &self.inner {
                for w in 0..self.nworld {
                    each(w, k, &g.world(w)?);
                }
            }
        }
        self.settle()
    }

    /// A field of every world: `(nworld, n)`. Kept fields (state, counts of the last step) as they are; computed fields
    /// belong to the present state: a forward pass computes them.
    pub fn get(&mut self, field: Field) -> Result<Vec<f64>, Error> {
        let ids: Vec<usize> = (0..self.nworld).collect();
        Ok(self.forward(&ids, &[field])?.remove(0))
    }

    /// Runs a forward pass of the given worlds and returns the fields asked for, each `(ids.len(), n)`. What is kept of the worlds
    /// stays as it is, and nothing at all is computed or changed of others.
    pub fn forward(&mut self, ids: &[usize], fields: &[Field]) -> Result<Vec<Vec<f64>>, Error> {
        let ids = self.ids(Some(ids))?;
        for &field in fields {
            if field.info().is_model() && !self.per_world.contains(&field) {
                return Err(Error::WrongField {
                    field: field.name(),
                    what: "a field of the model",
                    remedy: "read it from `model()`, or make it per world in the builder",
                });
            }
        }
        match &mut self.inner {
            Inner::Cpu(c) => Ok(c.forward(&self.forward, &ids, fields)),
            Inner::Gpu(g) => g.forward(&self.forward, &ids, fields),
        }
    }

    /// Sets a field of every world: `(nworld, n)`; a field of the state, or one made per world in the builder.
    pub fn set(&mut self, field: Field, values: &[f64]) -> Result<(), Error> {
        let ids: Vec<usize> = (0..self.nworld).collect();
        self.set_rows(field, &ids, values)
    }

    /// Sets a field that was made per world. Stiff welds follow a new time step; those of a world whose `eq_solref` is set are the
    /// user's from then on.
    fn set_model(&mut self, field: Field, ids: &[usize], values: &[f64]) -> Result<(), Error> {
        match field {
            Field::opt_timestep => values.iter().try_for_each(|&h| crate::builder::positive(h).map(drop))?,
            Field::eq_solref => self.stiff.release(ids),
            Field::eq_data => drop(self.captured.forget(ids)),
            _ => {}
        }
        self.put_model(field, ids, values)?;
        if field == Field::opt_timestep {
            let (worlds, solref) = self.stiff.follow(&self.m, ids, values);
            if !worlds.is_empty() {
                self.put_model(Field::eq_solref, &worlds, &solref)?;
            }
        }
        Ok(())
    }

    pub(crate) fn put_model(&mut self, field: Field, ids: &[usize], values: &[f64]) -> Result<(), Error> {
        match &mut self.inner {
            Inner::Cpu(c) => c.set_model(field, ids, values),
            Inner::Gpu(g) => g.set_rows(field, ids, values)?,
        }
        Ok(())
    }

    /// Equalities under the stiff rule: see [`crate::stiff_solref`].
    pub fn stiff_rows(&self) -> &[usize] {
        self.stiff.ids()
    }

    /// Sets a field of some worlds: `(ids.len(), n)`.
    pub fn set_rows(&mut self, field: Field, ids: &[usize], values: &[f64]) -> Result<(), Error> {
        let ids = self.ids(Some(ids))?;
        let info = field.info();
        let len = info.len(&self.m.size);
        if values.len() != ids.len() * len {
            return Err(Error::Length { field: info.name, got: values.len(), nworld: ids.len(), len });
        }
        if self.per_world.contains(&field) {
            finite(field, &ids, len, values)?;
            return self.set_model(field, &ids, values);
        }
        let settable = info.buffer == Buffer::State && info.stage != Stage::Health || field == Field::eq_active;
        if info.is_model() {
            return Err(Error::WrongField {
                field: info.name,
                what: "a field of the model",
                remedy: "make it per world in the builder, or change the model before the batch is made",
            });
        }
        if !settable {
            return Err(Error::computed(field));
        }
        // a bad control freezes its world when it is stepped and is reported there; anything else is refused here
        if !matches!(field, Field::ctrl | Field::qfrc_applied | Field::xfrc_applied) {
            finite(field, &ids, len, values)?;
        }
        match &mut self.inner {
            Inner::Cpu(c) if len > 0 => values.chunks(len).zip(&ids).for_each(|(row, &w)| c.set(field, w, row)),
            Inner::Cpu(_) => {}
            Inner::Gpu(g) => g.set_rows(field, &ids, values)?,
        }
        if matches!(field, Field::qpos | Field::qvel) {
            // energy that the user gives is not from nowhere
            self.put(Field::health_memory, &ids, &vec![0.0; Field::health_memory.info().len(&self.m.size)])?;
        }
        Ok(())
    }

    /// One world after a forward pass, with everything that it computed.
    pub fn world(&mut self, w: usize) -> Result<Data<f64>, Error> {
        self.ids(Some(&[w]))?;
        match &mut self.inner {
            Inner::Cpu(c) => Ok(c.world(&self.forward, w)),
            Inner::Gpu(g) => g.world_after(&self.forward, w),
        }
    }

    /// Status bits of every world: see [`kiloworld_layout::consts::status`].
    pub fn status(&mut self) -> Result<Vec<i32>, Error> {
        #[allow(clippy::cast_possible_truncation, reason = "bits of an i32")]
        Ok(self.get(Field::status)?.into_iter().map(|x| x as i32).collect())
    }

    /// Steps that the worlds have finished since the batch was made, all together: a frozen world makes none, and those of worlds that
    /// were reset count.
    pub fn world_steps(&mut self) -> Result<u64, Error> {
        let all: Vec<usize> = (0..self.nworld).collect();
        Ok(self.steps_before + self.steps_of(&all)?)
    }

    /// Steps of some worlds since their last reset.
    fn steps_of(&mut self, ids: &[usize]) -> Result<u64, Error> {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts")]
        Ok(self.forward(ids, &[Field::nstep])?.remove(0).into_iter().map(|n| n as u64).sum())
    }

    /// Counts over all worlds.
    pub fn report(&mut self) -> Result<Report, Error> {
        let fields = [Field::status, Field::ncon, Field::ncon_need, Field::nefc, Field::nefc_need, Field::solver_niter];
        let ids: Vec<usize> = (0..self.nworld).collect();
        let v = self.forward(&ids, &fields)?;
        let mut report = Report { nconmax: self.m.size.nconmax, njmax: self.m.size.njmax, ..Report::default() };
        for w in &ids {
            let [bits, ncon, ncon_need, nefc, nefc_need, niter] = [0, 1, 2, 3, 4, 5].map(|k| v[k][*w]);
            #[allow(clippy::cast_possible_truncation, reason = "bits of an i32")]
            report.add(bits as i32, ncon, ncon_need, nefc, nefc_need, niter);
        }
        Ok(report)
    }

    /// The limits of each control, ±1 where it has none.
    pub fn ctrl_ranges(&self) -> Vec<(f64, f64)> {
        ctrl_ranges(&self.m)
    }

    /// Seconds of each stage in a step of the whole batch, over `n` steps: on the GPU by the device's clock, on the CPU
    /// measured on one thread with copies of a few worlds and scaled to the batch and the threads, so shares more than sums.
    /// Empty where the device cannot tell. The GPU's worlds are stepped on.
    pub fn profile(&mut self, n: usize, control: Control<'_>) -> Result<Vec<(Stage, f64)>, Error> {
        match &mut self.inner {
            Inner::Cpu(c) => {
                let scale = self.nworld as f64 / rayon::current_num_threads() as f64;
                let times = c.profile(&self.step, n, control).into_iter();
                Ok(times.map(|(stage, seconds)| (stage, seconds * scale)).collect())
            }
            Inner::Gpu(g) => g.profile(&self.step, n),
        }
    }

    /// What the device will be asked for a step: see [`DeviceNumbers`]; nothing on the CPU. What depends on the worlds' state is
    /// counted for `worlds` of them, by running their kernels on the host.
    pub fn device_numbers(&self, worlds: usize) -> Result<Option<DeviceNumbers>, Error> {
        match &self.inner {
            Inner::Gpu(g) => g.numbers(&self.step, worlds).map(Some),
            Inner::Cpu(_) => Ok(None),
        }
    }
}

/// See [`Batch::ctrl_ranges`].
pub(crate) fn ctrl_ranges(m: &Model<f64>) -> Vec<(f64, f64)> {
    (0..m.size.nu)
        .map(|i| match m.actuator_ctrllimited[i] {
            0 => (-1.0, 1.0),
            _ => finite_range(m.actuator_ctrlrange[2 * i], m.actuator_ctrlrange[2 * i + 1], 1.0),
        })
        .collect()
}

/// A range with an end at `near` (or as far beyond the other end) in place of an infinite one, to draw numbers from.
pub(crate) fn finite_range(lo: f64, hi: f64, near: f64) -> (f64, f64) {
    match (lo.is_finite(), hi.is_finite()) {
        (true, true) => (lo, hi),
        (true, false) => (lo, near.max(lo + near)),
        (false, true) => ((-near).min(hi - near), hi),
        (false, false) => (-near, near),
    }
}

/// Hands every kept field of a fresh world to `set`.
pub(crate) fn reset_world(m: &Model<f64>, keyframe: Option<usize>, mut set: impl FnMut(Field, &[f64])) {
    let s = &m.size;
    let zeros = vec![0.0; s.nv.max(s.nu).max(s.na)];
    let key = |values: &[f64], n: usize| keyframe.map(|k| values[k * n..(k + 1) * n].to_vec());
    let mocap = |values: &[f64], n: usize| -> Vec<f64> {
        let mut out = vec![0.0; s.nmocap * n];
        for b in 0..s.nbody {
            if let Ok(id) = usize::try_from(m.body_mocapid[b]) {
                out[id * n..(id + 1) * n].copy_from_slice(&values[b * n..(b + 1) * n]);
            }
        }
        out
    };
    set(Field::time, &[keyframe.map_or(0.0, |k| m.key_time[k])]);
    set(Field::qpos, &key(&m.key_qpos, s.nq).unwrap_or_else(|| m.qpos0.clone()));
    set(Field::qvel, &key(&m.key_qvel, s.nv).unwrap_or_else(|| zeros[..s.nv].to_vec()));
    set(Field::act, &key(&m.key_act, s.na).unwrap_or_else(|| zeros[..s.na].to_vec()));
    set(Field::ctrl, &key(&m.key_ctrl, s.nu).unwrap_or_else(|| zeros[..s.nu].to_vec()));
    set(Field::mocap_pos, &key(&m.key_mpos, 3 * s.nmocap).unwrap_or_else(|| mocap(&m.body_pos, 3)));
    set(Field::mocap_quat, &key(&m.key_mquat, 4 * s.nmocap).unwrap_or_else(|| mocap(&m.body_quat, 4)));
    set(Field::eq_active, &m.eq_active0.iter().map(|&x| f64::from(x)).collect::<Vec<_>>());
    let forgotten = [
        Field::qacc_warmstart,
        Field::qfrc_applied,
        Field::xfrc_applied,
        Field::health_size,
        Field::health_time,
        Field::health_memory,
    ];
    for field in forgotten.into_iter().chain(COUNTERS).filter(|&f| f != Field::eq_active) {
        set(field, &vec![0.0; field.info().len(s)]);
    }
}

fn finite(field: Field, ids: &[usize], len: usize, values: &[f64]) -> Result<(), Error> {
    match values.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(at) => {
            Err(Error::NonFinite { field: field.name(), world: ids[at / len], index: at % len, value: values[at] })
        }
    }
}
