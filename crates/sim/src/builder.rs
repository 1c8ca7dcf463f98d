//! How a batch is asked for.

use crate::batch::{Batch, Inner};
use crate::cpu_worlds::{cpu_need, cpu_worlds, width};
use crate::gpu_batch::{GpuWorlds, gpu_need};
use crate::memory::Need;
use crate::quarantine::{Policy, Quarantine};
use crate::sizing::Chosen;
use crate::welds::StiffRows;
use crate::{Error, HealthLimits, Routes, Welds, sizing};
use kiloworld_gpu::{Gpu, GpuOptions, TuningChange};
use kiloworld_layout::consts::solver;
use kiloworld_layout::{Buffer, Field, Kind};
use kiloworld_model::{Model, rows_always, rows_per_contact};

/// Where a batch runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// a GPU where there is one that is not a software device, else the CPU
    #[default]
    Auto,
    /// the CPU
    Cpu,
    /// the GPU, software devices included; an error where there is none
    Gpu,
}

/// The scalar of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// f32 on either backend: on the CPU too it is the fastest, a register holding twice the worlds, and every law holds on
    /// it (`kiloworld laws --backend cpu-f32-lanes`)
    #[default]
    Auto,
    /// single precision with two-float positions
    F32,
    /// double precision, as MuJoCo; the CPU only
    F64,
}

/// Rows are numbered in i32, a group of worlds side by side.
const MOST_ROWS: usize = 1 << 26;

/// Builds a [`Batch`].
#[derive(Clone)]
pub struct BatchBuilder<'m> {
    model: &'m Model,
    pub(crate) nworld: usize,
    backend: Backend,
    precision: Precision,
    nconmax: Option<usize>,
    njmax: Option<usize>,
    pub(crate) per_world: Vec<Field>,
    tuning: TuningChange,
    gpu: Option<Gpu>,
    iterations: Option<usize>,
    welds: Welds,
    timestep: Option<f64>,
    pub(crate) control_period: usize,
    pub(crate) policy: Policy,
    pub(crate) history: usize,
    health: Option<HealthLimits>,
}

impl<'m> BatchBuilder<'m> {
    pub(crate) fn new(model: &'m Model) -> Self {
        Self {
            model,
            nworld: 1,
            backend: Backend::Auto,
            precision: Precision::Auto,
            nconmax: None,
            njmax: None,
            per_world: Vec::new(),
            tuning: TuningChange::default(),
            gpu: None,
            iterations: None,
            welds: Welds::default(),
            timestep: None,
            control_period: 1,
            policy: Policy::default(),
            history: 0,
            health: Some(HealthLimits::default()),
        }
    }

    /// Number of worlds (1).
    pub fn nworld(mut self, n: usize) -> Self {
        self.nworld = n;
        self
    }

    /// Where it runs ([`Backend::Auto`]).
    pub fn backend(mut self, backend: Backend) -> Self {
        self.backend = backend;
        self
    }

    /// The scalar ([`Precision::Auto`]).
    pub fn precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// Contacts that a world can hold; chosen from the model where not given.
    pub fn nconmax(mut self, n: usize) -> Self {
        self.nconmax = Some(n);
        self
    }

    /// Constraint rows that a world can hold; chosen from the model where not given.
    pub fn njmax(mut self, n: usize) -> Self {
        self.njmax = Some(n);
        self
    }

    /// Lets a real field of the model differ from world to world (domain randomization): see [`Batch::set`].
    pub fn per_world(mut self, field: Field) -> Self {
        if !self.per_world.contains(&field) {
            self.per_world.push(field);
        }
        self
    }

    /// On the GPU invocations that work on a world together, a power of two up to 64; on the CPU worlds that a register
    /// holds, 1: no lanes. Chosen from adapter and model, from processor and number of worlds, where not given; no result
    /// depends on it on the CPU.
    pub fn lanes(mut self, lanes: u32) -> Self {
        self.tuning.lanes = Some(lanes);
        self
    }

    /// How the work is spread on the GPU, where it is to differ from what adapter and model suggest.
    pub fn tuning(mut self, change: TuningChange) -> Self {
        self.tuning = change;
        self
    }

    /// The device to use; opened where not given.
    pub fn gpu(mut self, gpu: Gpu) -> Self {
        self.gpu = Some(gpu);
        self
    }

    /// The most solver iterations of a step, instead of the model's; on the GPU the model's number of Newton steps is taken up to
    /// [`GPU_ITERATIONS`]. A world that needs more is reported: see [`Batch::health`].
    pub fn iterations(mut self, n: usize) -> Self {
        self.iterations = Some(n);
        self
    }

    /// What becomes of welds and connects whose file sets neither `solref` nor `solimp` ([`Welds::Stiff`]).
    pub fn welds(mut self, welds: Welds) -> Self {
        self.welds = welds;
        self
    }

    /// The time step [s] instead of the model's; stiff welds follow it. Where it differs from world to world
    /// (`per_world(Field::opt_timestep)`), they follow each world's.
    pub fn timestep(mut self, h: f64) -> Self {
        self.timestep = Some(h);
        self
    }

    /// Steps of a control period (1): how long [`Batch::run`] holds a control.
    pub fn control_period(mut self, steps: usize) -> Self {
        self.control_period = steps;
        self
    }

    /// What the checks of [`Batch::health`] allow.
    pub fn health(mut self, limits: HealthLimits) -> Self {
        self.health = Some(limits);
        self
    }

    /// Leaves out the checks that worlds which move are looked at with; a world that cannot go on is frozen and reported still.
    pub fn without_health(mut self) -> Self {
        self.health = None;
        self
    }

    /// Makes the batch, every world reset.
    pub fn build(self) -> Result<Batch, Error> {
        let (nworld, tuning) = (self.nworld, self.tuning);
        let (name, policy, health, history) = (self.model, self.policy, self.health.is_some(), self.history);
        let plan = self.plan()?;
        let (m, need) = (&plan.m, plan.need);
        let mut inner = match &plan.place {
            Place::Gpu(gpu) => {
                // a real device does not tell what it has; it refuses
                if gpu.info().is_cpu {
                    need.check(nworld)?;
                }
                Inner::Gpu(Box::new(GpuWorlds::new(gpu, m, nworld, tuning, &plan.per_world)?))
            }
            &Place::Cpu(precision, lanes) => {
                need.check(nworld)?;
                let worlds = cpu_worlds(m, nworld, precision, lanes)?;
                Inner::Cpu(worlds.ok_or(Error::Refused { nworld, need: need.of(nworld) })?)
            }
        };
        match &mut inner {
            Inner::Cpu(c) => c.remember(history),
            Inner::Gpu(g) => g.remember(history)?,
        }
        let mut batch = Batch::new(plan, inner, Quarantine::new(name, policy))?;
        if !health {
            batch.skip_health();
        }
        Ok(batch)
    }

    /// The solver iterations that the model's file allows.
    pub(crate) fn model_iterations(&self) -> i32 {
        self.model.layout.opt.iterations
    }

    /// What would be chosen for the batch. Nothing is allocated for its worlds.
    pub fn routes(self) -> Result<Routes, Error> {
        Ok(self.plan()?.routes)
    }

    /// Decides everything: what is run, where, with room for what.
    fn plan(mut self) -> Result<Plan, Error> {
        if self.nworld == 0 {
            return Err(Error::NoWorlds);
        }
        if self.control_period == 0 {
            return Err(Error::ControlPeriod);
        }
        self.model.check_supported()?;
        for &field in &self.per_world {
            let info = field.info();
            if info.buffer != Buffer::Model || info.kind != Kind::F {
                return Err(Error::NotPerWorld(info.name));
            }
        }
        let open = || self.gpu.clone().map_or_else(|| Gpu::new(&GpuOptions::default()), Ok);
        let gpu = match self.backend {
            Backend::Gpu => Some(open()?),
            Backend::Auto if self.precision != Precision::F64 => open().ok().filter(|gpu| !gpu.info().is_cpu),
            _ => None,
        };
        let mut m = self.model.layout.clone();
        if let Some(n) = self.iterations {
            m.opt.iterations = i32::try_from(n).unwrap_or(i32::MAX);
        }
        if let Some(h) = self.timestep {
            m.opt_timestep[0] = positive(h)?;
        }
        let stiff = StiffRows::apply(&mut m, self.welds);
        if !stiff.ids().is_empty()
            && self.per_world.contains(&Field::opt_timestep)
            && !self.per_world.contains(&Field::eq_solref)
        {
            self.per_world.push(Field::eq_solref);
        }
        if let Some(limits) = self.health {
            m.health_limit = limits.to_array().to_vec();
        }
        let chosen = self.capacities(&mut m)?;
        let place = match (gpu, self.precision) {
            (Some(_), Precision::F64) => return Err(Error::GpuPrecision),
            (Some(gpu), _) => {
                // a sweep of PGS does far less than a Newton step: the model's number stands
                if self.iterations.is_none() && m.opt.solver != solver::PGS {
                    m.opt.iterations = m.opt.iterations.min(GPU_ITERATIONS);
                }
                Place::Gpu(gpu)
            }
            (None, precision) => Place::Cpu(precision, width(self.nworld, precision, self.tuning.lanes)),
        };
        let need = match &place {
            Place::Gpu(_) => gpu_need(&m, &self.per_world, self.history)?,
            &Place::Cpu(precision, lanes) => {
                cpu_need(&m, self.nworld, precision, lanes, &self.per_world, self.history)?
            }
        };
        let lanes = match &place {
            Place::Gpu(gpu) => gpu.tuned(&m, self.tuning).lanes,
            Place::Cpu(_, lanes) => *lanes,
        };
        let routes = Routes::new(&m, &place, lanes, need, stiff.counts, chosen, &self);
        Ok(Plan { m, place, need, stiff, per_world: self.per_world, routes })
    }

    /// Fills in `nconmax` and `njmax`.
    fn capacities(&self, m: &mut kiloworld_layout::Model<f64>) -> Result<Chosen, Error> {
        let (always, each) = (rows_always(m), rows_per_contact(m));
        let mut chosen = Chosen::Given;
        if let Some(n) = self.nconmax {
            let rows = n.checked_mul(each).and_then(|r| r.checked_add(always));
            if n > MOST_ROWS || rows.is_none_or(|r| r > MOST_ROWS) {
                return Err(Error::TooManyRows { name: "nconmax", value: n, most: MOST_ROWS });
            }
            sizing::set_capacities(m, n, None);
        } else {
            let choice = sizing::choose(m);
            chosen = choice.chosen;
            sizing::set_capacities(m, choice.room.ncon, Some(choice.room.nefc));
        }
        if let Some(n) = self.njmax {
            if n > MOST_ROWS {
                return Err(Error::TooManyRows { name: "njmax", value: n, most: MOST_ROWS });
            }
            if n < always {
                let why = "equality, friction loss and limit rows of the model";
                return Err(Error::Capacity { name: "njmax", value: n, need: always, why });
            }
            sizing::set_capacities(m, m.size.nconmax, Some(n));
        }
        Ok(chosen)
    }
}

/// Where the worlds of a batch are stepped.
pub(crate) enum Place {
    /// on a device
    Gpu(Gpu),
    /// on the CPU, so many worlds in a register
    Cpu(Precision, u32),
}

/// What was decided for a batch.
pub(crate) struct Plan {
    pub m: kiloworld_layout::Model<f64>,
    pub place: Place,
    pub need: Need,
    pub stiff: StiffRows,
    pub per_world: Vec<Field>,
    pub routes: Routes,
}

/// A time step that is one.
pub(crate) fn positive(h: f64) -> Result<f64, Error> {
    if h > 0.0 && h.is_finite() { Ok(h) } else { Err(Error::Timestep(h)) }
}

/// The most Newton steps on the GPU where the model allows more and the batch asks for no number. With warm start 2 to 4 are
/// needed; few worlds need more than 20. On a real device converged worlds cost nothing, and a world that never converges keeps a
/// dispatch from ending for so long; software devices pay for the dispatches that these steps are spread over.
pub const GPU_ITERATIONS: i32 = 200;
