//! What was chosen for a batch, in one report.

use crate::builder::Place;
use crate::memory::{self, Need};
use crate::sizing::Chosen;
use crate::{Batch, BatchBuilder, Precision, Welds};
use kiloworld_layout::consts::{cone, integrator, solver};
use kiloworld_layout::{Field, Model, Opt};

/// What a batch runs: step, solver, rows, capacities, place. `Display` is for people.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Routes {
    /// worlds
    pub nworld: usize,
    /// where it runs, in words
    pub backend: String,
    /// `f32` or `f64`
    pub precision: &'static str,
    /// on the CPU worlds that a register holds, on the GPU invocations that work on a world
    pub lanes: usize,
    /// bytes that a world takes, with its history and its own fields of the model
    pub bytes_per_world: u64,
    /// Bytes that do not depend on the number of worlds, at most: copies of the model, and on the CPU work arrays of all threads,
    /// of which slots that no world ever uses take none.
    pub bytes_shared: u64,
    /// bytes that there are; nothing where that is not known
    pub bytes_available: Option<u64>,
    /// time step [s]
    pub timestep: f64,
    /// true where the time step differs from world to world
    pub timestep_per_world: bool,
    /// steps of a control period: see [`Batch::run`]
    pub control_period: usize,
    /// how states are integrated
    pub integrator: &'static str,
    /// how constraint forces are found
    pub solver: &'static str,
    /// the most iterations of a step
    pub iterations: i32,
    /// how many the model's file allows
    pub model_iterations: i32,
    /// friction iterations after the solver
    pub noslip_iterations: i32,
    /// `pyramidal` or `elliptic`
    pub cone: &'static str,
    /// ratio of friction to normal impedance
    pub impratio: f64,
    /// the rule for welds and connects
    pub welds: WeldRoutes,
    /// contacts that a world can hold
    pub nconmax: usize,
    /// constraint rows that a world can hold
    pub njmax: usize,
    /// how these two were chosen
    pub capacities: Chosen,
    /// model fields that differ from world to world
    pub per_world: Vec<&'static str>,
}

/// Equalities by where their softness comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct WeldRoutes {
    /// the rule asked for
    pub rule: Welds,
    /// welds and connects under the stiff rule
    pub stiff: usize,
    /// equalities whose file says how soft they are
    pub file: usize,
    /// equalities with MuJoCo's defaults
    pub mujoco: usize,
}

fn integrator_name(opt: &Opt) -> &'static str {
    match opt.integrator {
        integrator::RK4 => "RK4",
        integrator::IMPLICIT => "implicit",
        integrator::IMPLICITFAST => "implicitfast",
        _ => "Euler, damping implicit",
    }
}

impl Routes {
    pub(crate) fn new(
        m: &Model<f64>,
        place: &Place,
        lanes: u32,
        need: Need,
        welds: WeldRoutes,
        capacities: Chosen,
        asked: &BatchBuilder<'_>,
    ) -> Self {
        let precision = if matches!(place, Place::Cpu(Precision::F64, _)) { "f64" } else { "f32" };
        let (backend, bytes_available) = match place {
            Place::Gpu(gpu) => {
                let info = gpu.info();
                let name = format!("gpu f32, {} ({}, {})", info.name, info.backend, info.driver);
                // the memory of a device that is made of this machine's cores is the machine's
                (name, if info.is_cpu { memory::available() } else { None })
            }
            Place::Cpu(..) => {
                let side_by_side = if lanes > 1 { format!(", {lanes} lanes") } else { String::new() };
                let name = format!("cpu {precision}{side_by_side}, {} threads", rayon::current_num_threads());
                (name, memory::available())
            }
        };
        Self {
            nworld: asked.nworld,
            backend,
            precision,
            lanes: lanes as usize,
            bytes_per_world: need.per_world,
            bytes_shared: need.shared,
            bytes_available,
            timestep: m.opt_timestep[0],
            timestep_per_world: asked.per_world.contains(&Field::opt_timestep),
            control_period: asked.control_period,
            integrator: integrator_name(&m.opt),
            solver: if m.opt.solver == solver::PGS { "PGS" } else { "Newton" },
            iterations: m.opt.iterations,
            model_iterations: asked.model_iterations(),
            noslip_iterations: m.opt.noslip_iterations,
            cone: if m.opt.cone == cone::ELLIPTIC { "elliptic" } else { "pyramidal" },
            impratio: m.opt_impratio[0],
            welds,
            nconmax: m.size.nconmax,
            njmax: m.size.njmax,
            capacities,
            per_world: asked.per_world.iter().map(|f| f.name()).collect(),
        }
    }

    /// What the worlds take of memory, in words.
    pub fn memory(&self) -> String {
        let need = Need { per_world: self.bytes_per_world, shared: self.bytes_shared };
        let bytes = |n: u64| memory::bytes(u128::from(n));
        let all = memory::bytes(need.of(self.nworld));
        let short = match self.bytes_available {
            Some(there) if need.of(self.nworld) > u128::from(there) => {
                format!("; {} are available: at most {} worlds fit", bytes(there), need.worlds_in(there))
            }
            _ => String::new(),
        };
        format!(
            "{} bytes a world, up to {} besides, {all} in all{short}",
            self.bytes_per_world,
            bytes(self.bytes_shared)
        )
    }

    /// What a world can hold, in words.
    pub fn room(&self) -> String {
        format!("room for {} contacts and {} rows: {}", self.nconmax, self.njmax, self.capacities)
    }
}

impl Batch {
    /// What was chosen for this batch.
    pub fn routes(&self) -> Routes {
        self.routes.clone()
    }
}

impl core::fmt::Display for Routes {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        writeln!(f, "backend     {}, {} worlds", self.backend, self.nworld)?;
        writeln!(f, "memory      {}", self.memory())?;
        let own = if self.timestep_per_world { ", each world its own" } else { "" };
        let h = 1e3 * self.timestep;
        write!(f, "step        {h} ms{own}, {}", self.integrator)?;
        writeln!(f, "; control period {} steps", self.control_period)?;
        write!(f, "solver      {}, up to {} iterations", self.solver, self.iterations)?;
        if self.model_iterations != self.iterations {
            write!(f, " (the model: {})", self.model_iterations)?;
        }
        match self.noslip_iterations {
            0 => writeln!(f)?,
            n => writeln!(f, ", then {n} of noslip")?,
        }
        writeln!(f, "contacts    {} cone, impratio {}; room for {} a world", self.cone, self.impratio, self.nconmax)?;
        writeln!(f, "rows        room for {} a world", self.njmax)?;
        writeln!(f, "capacities  {}", self.capacities)?;
        let w = &self.welds;
        let rule = match w.rule {
            Welds::Stiff => "stiff",
            Welds::Mujoco => "mujoco",
        };
        write!(
            f,
            "equalities  welds = {rule}: {} under the stiff rule, {} from the file, {} with MuJoCo's defaults",
            w.stiff, w.file, w.mujoco
        )?;
        if !self.per_world.is_empty() {
            write!(f, "\nper world   {}", self.per_world.join(", "))?;
        }
        Ok(())
    }
}
