//! Which kernels make up a stage.

use kiloworld_layout::consts::{disable, integrator, solver};
use kiloworld_layout::wgsl::Tuning;
use kiloworld_layout::{Call, Model, Stage};

/// A kernel of a stage: an entry point of a shader file and how often it is dispatched in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kernel {
    /// stem of the file
    pub file: &'static str,
    /// entry point
    pub entry: &'static str,
    /// dispatches in a row; `dispatch_arg()` counts them from 0
    pub repeat: u32,
}

impl Kernel {
    const fn once(file: &'static str) -> Self {
        Self { file, entry: "main", repeat: 1 }
    }
}

/// Rows of J M⁻¹; DUAL_PARTS of `dual.wgsl` is the number of its dispatches.
const DUAL_INIT: Kernel = Kernel { file: "dual", entry: "main_dual_init", repeat: 8 };
/// What follows from the forces.
const DUAL_FINISH: Kernel = Kernel { file: "dual", entry: "main_dual_finish", repeat: 1 };

/// The kernels of a call, in order. A call's `sub` is `dispatch_arg()` of kernels that run once.
pub fn kernels<T>(stage: Stage, m: &Model<T>, tuning: Tuning) -> Vec<Kernel> {
    let opt = &m.opt;
    let times = |n: i32| u32::try_from(n).unwrap_or(0);
    match stage {
        Stage::Load => Vec::new(),
        Stage::ComPos => vec![Kernel { entry: "main_com_pos", ..Kernel::once("kinematics") }],
        Stage::Constraint if m.size.neq == 0 => vec![Kernel::once("constraint"), Kernel::once("constraint_contact")],
        Stage::Constraint => {
            vec![Kernel::once("constraint"), Kernel::once("constraint_equality"), Kernel::once("constraint_contact")]
        }
        Stage::Solver if opt.solver == solver::PGS => vec![
            DUAL_INIT,
            Kernel { entry: "main_pgs_start", ..Kernel::once("pgs") },
            Kernel { entry: "main_pgs_sweep", repeat: times(opt.iterations), ..Kernel::once("pgs") },
            DUAL_FINISH,
        ],
        Stage::Solver => {
            let repeat = times(opt.iterations).div_ceil(tuning.newton_steps.max(1));
            vec![Kernel::once("solver_init"), Kernel { repeat, ..Kernel::once("solver_iter") }]
        }
        Stage::Noslip if opt.noslip_iterations <= 0 => Vec::new(),
        Stage::Noslip => vec![
            DUAL_INIT,
            Kernel { entry: "main_noslip_start", ..Kernel::once("noslip") },
            Kernel { entry: "main_noslip_sweep", repeat: times(opt.noslip_iterations), ..Kernel::once("noslip") },
            DUAL_FINISH,
        ],
        Stage::Integrate if opt.integrator == integrator::RK4 => vec![Kernel::once("rk4"), Kernel::once("integrate")],
        Stage::Integrate
            if opt.integrator == integrator::IMPLICITFAST
                || opt.disableflags & (disable::EULERDAMP | disable::DAMPER) == 0 =>
        {
            vec![Kernel::once("implicit"), Kernel::once("integrate")]
        }
        stage => vec![Kernel::once(stage.name())],
    }
}

/// Kernels that do the work of several in a row, worlds being independent: the file that does it, and the (file, entry point)
/// of each that it stands for. Longer ones cost more to compile than a dispatch is worth on a software device.
const FUSED: [(&str, &[(&str, &str)]); 6] = [
    (
        "fused_position",
        &[("kinematics", "main"), ("kinematics", "main_com_pos"), ("transmission", "main"), ("inertia", "main")],
    ),
    ("fused_rows", &[("constraint_equality", "main"), ("constraint_contact", "main")]),
    ("fused_velocity", &[("velocity", "main"), ("passive", "main"), ("bias", "main")]),
    ("fused_force", &[("reference", "main"), ("actuation", "main"), ("acceleration", "main")]),
    ("fused_health", &[("health", "main"), ("implicit", "main"), ("integrate", "main")]),
    ("fused_integrate", &[("implicit", "main"), ("integrate", "main")]),
];

/// The fused kernel that these kernels begin with, and how many of them it stands for.
pub(crate) fn fused(kernels: impl Iterator<Item = Kernel> + Clone) -> Option<(Kernel, usize)> {
    FUSED.iter().find_map(|&(file, parts)| {
        let mut next = kernels.clone();
        let begins = parts.iter().all(|&(file, entry)| next.next() == Some(Kernel { file, entry, repeat: 1 }));
        begins.then(|| (Kernel::once(file), parts.len()))
    })
}

/// `dispatch_arg()` of repetition `k` of a kernel.
pub(crate) fn argument(call: Call, kernel: Kernel, k: u32) -> u32 {
    if kernel.repeat == 1 { call.sub } else { k }
}
