//! Options of the simulation, and the ones that are refused.

use super::Compiler;
use kiloworld_layout::Opt;
use kiloworld_layout::consts::{HEALTH_LIMITS, cone, disable, enable, integrator, jac, solver};
use kiloworld_mjcf::spec::{Cone, Flags, Integrator, Jacobian, Solver};

/// Fills the options.
pub(crate) fn options(c: &mut Compiler<'_>) {
    let o = &c.spec.option;
    c.m.opt = Opt {
        integrator: match o.integrator {
            Integrator::Euler => integrator::EULER,
            Integrator::Rk4 => integrator::RK4,
            Integrator::Implicit => integrator::IMPLICIT,
            Integrator::ImplicitFast => integrator::IMPLICITFAST,
            Integrator::Discrete => DISCRETE,
        },
        cone: if o.cone == Cone::Elliptic { cone::ELLIPTIC } else { cone::PYRAMIDAL },
        jacobian: match o.jacobian {
            Jacobian::Dense => jac::DENSE,
            Jacobian::Sparse => jac::SPARSE,
            Jacobian::Auto => jac::AUTO,
        },
        solver: match o.solver {
            Solver::Pgs => solver::PGS,
            Solver::Cg => solver::CG,
            Solver::Newton => solver::NEWTON,
        },
        iterations: o.iterations,
        ls_iterations: o.ls_iterations,
        noslip_iterations: o.noslip_iterations,
        ccd_iterations: o.ccd_iterations,
        disableflags: disabled(&o.flags),
        enableflags: enabled(&o.flags),
        disableactuator: o.actuatorgroupdisable.cast_signed(),
        world_ncon: usize::MAX,
        world_nefc: usize::MAX,
    };
    let m = &mut c.m;
    m.opt_timestep = vec![o.timestep];
    m.opt_impratio = vec![o.impratio];
    m.opt_gravity = o.gravity.to_vec();
    m.opt_tolerance = vec![o.tolerance];
    m.opt_ls_tolerance = vec![o.ls_tolerance];
    m.opt_noslip_tolerance = vec![o.noslip_tolerance];
    m.opt_ccd_tolerance = vec![o.ccd_tolerance];
    m.opt_density = vec![o.density];
    m.opt_viscosity = vec![o.viscosity];
    m.opt_wind = o.wind.to_vec();
    m.opt_magnetic = o.magnetic.to_vec();
    m.opt_o_margin = vec![o.o_margin];
    m.opt_o_solref = o.o_solref.to_vec();
    m.opt_o_solimp = o.o_solimp.to_vec();
    m.opt_o_friction = o.o_friction.to_vec();
    m.health_limit = HEALTH_LIMITS.to_vec();
    if o.flags.ipc && o.integrator != Integrator::Discrete {
        c.error(o.at.attr("ipc"), "the flag `ipc` needs integrator=\"discrete\"", "leave the flag out");
    }
    for (name, value) in [("timestep", o.timestep), ("impratio", o.impratio)] {
        if value <= 0.0 {
            c.error(o.at.attr(name), format!("`{name}` must be positive, it is {value}"), "write a positive number");
        }
    }
    for (name, value) in
        [("iterations", o.iterations), ("ls_iterations", o.ls_iterations), ("noslip_iterations", o.noslip_iterations)]
    {
        if value < 0 {
            c.error(o.at.attr(name), format!("`{name}` cannot be negative"), "write 0 or more");
        }
    }
}

/// `mjtIntegrator` of "discrete".
const DISCRETE: i32 = 4;
/// `mjtEnableBit` of flags that are refused.
const IPC: i32 = 64;
const SPECULATIVE: i32 = 128;

fn disabled(f: &Flags) -> i32 {
    [
        (f.constraint, disable::CONSTRAINT),
        (f.equality, disable::EQUALITY),
        (f.frictionloss, disable::FRICTIONLOSS),
        (f.limit, disable::LIMIT),
        (f.contact, disable::CONTACT),
        (f.spring, disable::SPRING),
        (f.damper, disable::DAMPER),
        (f.gravity, disable::GRAVITY),
        (f.clampctrl, disable::CLAMPCTRL),
        (f.warmstart, disable::WARMSTART),
        (f.filterparent, disable::FILTERPARENT),
        (f.actuation, disable::ACTUATION),
        (f.refsafe, disable::REFSAFE),
        (f.sensor, disable::SENSOR),
        (f.midphase, disable::MIDPHASE),
        (f.eulerdamp, disable::EULERDAMP),
        (f.autoreset, disable::AUTORESET),
        (f.nativeccd, disable::NATIVECCD),
        (f.island, disable::ISLAND),
        (f.multiccd, disable::MULTICCD),
    ]
    .into_iter()
    .filter(|&(on, _)| !on)
    .fold(0, |bits, (_, bit)| bits | bit)
}

fn enabled(f: &Flags) -> i32 {
    [
        (f.override_, enable::OVERRIDE),
        (f.energy, enable::ENERGY),
        (f.fwdinv, enable::FWDINV),
        (f.invdiscrete, enable::INVDISCRETE),
        (f.sleep, enable::SLEEP),
        (f.diagexact, enable::DIAGEXACT),
        (f.ipc, IPC),
        (f.speculative, SPECULATIVE),
    ]
    .into_iter()
    .filter(|&(on, _)| on)
    .fold(0, |bits, (_, bit)| bits | bit)
}
