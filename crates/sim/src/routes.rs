//! What was chosen for a batch, in one report.

use crate::Welds;
use crate::batch::Batch;
use crate::sizing::Chosen;
use kiloworld_layout::consts::{cone, integrator, solver};
use kiloworld_layout::{Field, Opt};

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
    /// bytes that a world takes
    pub bytes_per_world: usize,
    /// bytes of work arrays shared by the worlds
    pub bytes_shared: usize,
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

impl Batch {
    /// What was chosen for this batch.
    pub fn routes(&self) -> Routes {
        let m = self.model();
        let (bytes_per_world, bytes_shared) = self.memory();
        let (precision, lanes) = self.number();
        Routes {
            nworld: self.nworld(),
            backend: self.backend_name(),
            precision,
            lanes,
            bytes_per_world,
            bytes_shared,
            timestep: m.opt_timestep[0],
            timestep_per_world: self.per_world().contains(&Field::opt_timestep),
            control_period: self.control_period(),
            integrator: integrator_name(&m.opt),
            solver: if m.opt.solver == solver::PGS { "PGS" } else { "Newton" },
            iterations: m.opt.iterations,
            model_iterations: self.model_iterations(),
            noslip_iterations: m.opt.noslip_iterations,
            cone: if m.opt.cone == cone::ELLIPTIC { "elliptic" } else { "pyramidal" },
            impratio: m.opt_impratio[0],
            welds: self.welds(),
            nconmax: m.size.nconmax,
            njmax: m.size.njmax,
            capacities: self.capacities(),
            per_world: self.per_world().iter().map(|f| f.name()).collect(),
        }
    }
}

impl core::fmt::Display for Routes {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        writeln!(f, "backend     {}, {} worlds", self.backend, self.nworld)?;
        let total = (self.bytes_per_world * self.nworld + self.bytes_shared) as f64 / 1e6;
        writeln!(f, "memory      {} bytes a world, {total:.1} MB in all", self.bytes_per_world)?;
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
