//! `compiler/lengthrange`: the lengths that actuators can reach, found by pulling them both ways (documentation: modeling,
//! "Length range"). The stages of `kiloworld-cpu` do the pulling; tendons in space are done here.

use super::{Compiler, moment, setconst, wrap};
use kiloworld_cpu::{inertia, run};
use kiloworld_layout::consts::{MINVAL, disable, eq, integrator, solver, trn};
use kiloworld_layout::{Call, Data, Model, Sizes, Stage};
use kiloworld_mjcf::spec::{LengthRange, LengthRangeMode};
use rayon::prelude::*;

/// `mjtGain` and `mjtBias` of muscles.
const MUSCLE: i32 = 2;
/// `mjtGain` and `mjtBias` of what the user computes.
const USER: (i32, i32) = (6, 5);

/// What acts while an actuator is pulled: constraints alone, whatever the file switches off.
const FLAGS: i32 = disable::FRICTIONLOSS
    | disable::CONTACT
    | disable::SPRING
    | disable::DAMPER
    | disable::GRAVITY
    | disable::ACTUATION;

/// Fills the ranges of the actuators that need one.
pub(crate) fn ranges(c: &mut Compiler<'_>) {
    let options = c.spec.compiler.lengthrange;
    let mut wanted = Vec::new();
    for a in 0..c.m.size.nu {
        if !applies(&c.m, a, options.mode) {
            continue;
        }
        let range = &c.m.actuator_lengthrange[2 * a..2 * a + 2];
        if options.useexisting && range[0] < range[1] {
            continue;
        }
        match limit(&c.m, a).filter(|_| options.uselimit) {
            Some(limit) => c.m.actuator_lengthrange[2 * a..2 * a + 2].copy_from_slice(&limit),
            None => wanted.push(a),
        }
    }
    if wanted.is_empty() {
        return;
    }
    let bare = bare(&c.m, &options);
    let steps = options.inttotal / bare.opt_timestep[0];
    if steps.is_nan() || steps > MAX_STEPS {
        let text = format!("the lengths of actuators take {steps:.0} steps to find, more than {MAX_STEPS}");
        c.error(c.spec.compiler.at.span, text, "lower inttotal or raise timestep in compiler/lengthrange");
        return;
    }
    let work = 2.0 * wanted.len() as f64 * steps * (1e3 + (c.m.size.nv as f64).powi(2));
    if work > MAX_WORK {
        let text = format!("the lengths of {} actuators are too many to find in {} dofs", wanted.len(), c.m.size.nv);
        let remedy =
            "write lengthrange=\"SHORTEST LONGEST\" at the actuators, or lower inttotal in compiler/lengthrange";
        c.error(c.spec.compiler.at.span, text, remedy);
        return;
    }
    let pulled: Vec<[Reached; 2]> = wanted
        .par_iter()
        .map(|&a| {
            let one = One::of(&bare, &c.m, a);
            let (low, high) = rayon::join(|| one.pull(&options, -1.0), || one.pull(&options, 1.0));
            [low, high]
        })
        .collect();
    for (a, [low, high]) in wanted.into_iter().zip(pulled) {
        let range = [low.low, high.high];
        c.m.actuator_lengthrange[2 * a..2 * a + 2].copy_from_slice(&range);
        explain(c, a, range, [low, high]);
    }
}

/// Reports a range that is none, or that was not reached.
fn explain(c: &mut Compiler<'_>, a: usize, range: [f64; 2], reached: [Reached; 2]) {
    let at = c.spec.actuators[a].at.span;
    let tolerance = c.spec.compiler.lengthrange.tolrange;
    let whole = range[1] - range[0];
    let settled = |r: &Reached| (r.high - r.low) / whole <= tolerance;
    if whole.is_nan() || whole <= 0.0 {
        let text = format!("the length of the actuator cannot change: it goes from {} to {}", range[0], range[1]);
        c.error(at, text, "write lengthrange=\"SHORTEST LONGEST\", or set compiler/lengthrange mode=\"none\"");
    } else if let Some(r) = reached.into_iter().find(|r| !settled(r)) {
        let text = format!(
            "the length of the actuator does not settle: it still goes from {} to {} when it is pulled",
            r.low, r.high
        );
        let remedy = "limit the joints that it moves, write lengthrange=\"SHORTEST LONGEST\", or raise inttotal in \
                      compiler/lengthrange";
        c.error(at, text, remedy);
    }
}

/// Whether the mode is for this actuator.
fn applies(m: &Model<f64>, a: usize, mode: LengthRangeMode) -> bool {
    let (gain, bias) = (m.actuator_gaintype[a], m.actuator_biastype[a]);
    let muscle = gain == MUSCLE || bias == MUSCLE;
    match mode {
        LengthRangeMode::None => false,
        LengthRangeMode::Muscle => muscle,
        LengthRangeMode::MuscleUser => muscle || gain == USER.0 || bias == USER.1,
        LengthRangeMode::All => true,
    }
}

/// The limit of the joint or tendon that an actuator acts on; as in MuJoCo the gear plays no part.
fn limit(m: &Model<f64>, a: usize) -> Option<[f64; 2]> {
    let id = usize::try_from(m.actuator_trnid[2 * a]).ok()?;
    let (limited, range) = match m.actuator_trntype[a] {
        trn::JOINT | trn::JOINTINPARENT => (m.jnt_limited[id], &m.jnt_range[2 * id..2 * id + 2]),
        trn::TENDON => (m.tendon_limited[id], &m.tendon_range[2 * id..2 * id + 2]),
        _ => return None,
    };
    (limited != 0).then_some([range[0], range[1]])
}

/// The model without actuators, contacts, meshes and passive forces.
fn bare(m: &Model<f64>, options: &LengthRange) -> Model<f64> {
    let mut bare = m.clone();
    for field in [&mut bare.mesh_vert, &mut bare.hfield_data] {
        *field = Vec::new();
    }
    for field in [&mut bare.mesh_face, &mut bare.mesh_graph] {
        *field = Vec::new();
    }
    bare.opt.disableflags = FLAGS;
    if bare.opt.integrator != integrator::IMPLICITFAST {
        bare.opt.integrator = integrator::EULER;
    }
    // the last digits of a limit's depth are worth an iteration
    bare.opt_tolerance = vec![m.opt_tolerance[0].min(TOLERANCE)];
    if options.timestep > 0.0 {
        bare.opt_timestep = vec![options.timestep];
    }
    setconst::armatures(&mut bare);
    for t in (0..m.size.ntendon).filter(|&t| moment::is_spatial(m, t)) {
        bare.tendon_num[t] = 0;
    }
    let rows = super::rows_always(&bare);
    let dual = bare.opt.solver == solver::PGS || bare.opt.noslip_iterations > 0;
    let (nu, na, ncoll) = (0, 0, 0);
    let njdual = if dual { rows } else { 0 };
    bare.size = Sizes { nu, na, ncoll, nconmax: 0, njmax: rows, njdual, ..bare.size };
    bare
}

/// The lengths of the last part of a pull.
#[derive(Clone, Copy, Debug)]
struct Reached {
    low: f64,
    high: f64,
}

/// The model with one actuator.
struct One<'a> {
    m: Model<f64>,
    whole: &'a Model<f64>,
    actuator: usize,
    /// tendons in space that have a part in it
    spatial: Vec<usize>,
}

impl<'a> One<'a> {
    fn of(bare: &Model<f64>, whole: &'a Model<f64>, a: usize) -> Self {
        let mut m = bare.clone();
        if moment::is_known(whole, a) {
            m.size.nu = 1;
            m.actuator_trntype = vec![whole.actuator_trntype[a]];
            m.actuator_trnid = whole.actuator_trnid[2 * a..2 * a + 2].to_vec();
            m.actuator_gear = whole.actuator_gear[6 * a..6 * a + 6].to_vec();
        }
        let mut used = whole.tendon_limited.iter().map(|&l| l != 0).collect::<Vec<_>>();
        let ids = whole.eq_type.iter().zip(whole.eq_obj1id.iter().zip(&whole.eq_obj2id));
        for (_, (&first, &second)) in ids.filter(|(kind, _)| **kind == eq::TENDON) {
            [first, second].into_iter().filter_map(|t| usize::try_from(t).ok()).for_each(|t| used[t] = true);
        }
        if let (trn::TENDON, Ok(t)) = (whole.actuator_trntype[a], usize::try_from(whole.actuator_trnid[2 * a])) {
            used[t] = true;
        }
        let spatial = (0..whole.size.ntendon)
            .filter(|&t| moment::is_spatial(whole, t) && (used[t] || m.tendon_armature[t] != 0.0))
            .collect();
        Self { m, whole, actuator: a, spatial }
    }

    /// Pulls the actuator from the reference pose: a force that would give the joints a certain acceleration, in a motion that
    /// loses its velocity by and by.
    fn pull(&self, options: &LengthRange, side: f64) -> Reached {
        let m = &self.m;
        let step = m.opt_timestep[0];
        let decay = (-step / options.timeconst.max(SHORTEST)).exp();
        let mut d = setconst::reference(m, &m.size);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        let mut time = 0.0;
        while time < options.inttotal && d.status[0] == 0 {
            d.qvel.iter_mut().for_each(|v| *v *= decay);
            let (length, arms) = self.position(&mut d);
            let mut accelerations = arms.clone();
            inertia::solve_m(m, &d.qLD, &d.qLDiagInv, &mut accelerations);
            let mut force = side * options.accel / norm(&accelerations).max(MINVAL);
            let size = force.abs() * norm(&arms);
            if options.maxforce > 0.0 && size > options.maxforce {
                force *= options.maxforce / size;
            }
            d.qfrc_applied.iter_mut().zip(&arms).for_each(|(f, arm)| *f = force * arm);
            REST.into_iter().for_each(|stage| run(Call::from(stage), m, &mut d));
            time += step;
            if time > options.inttotal - options.interval {
                (low, high) = (low.min(length), high.max(length));
            }
        }
        // a world that went bad settles nowhere
        if d.status[0] != 0 {
            (low, high) = (f64::NAN, f64::NAN);
        } else if low > high {
            (low, high) = (0.0, 0.0);
        }
        Reached { low, high }
    }

    /// The stages of the position; the length of the actuator and its moment arms.
    fn position(&self, d: &mut Data<f64>) -> (f64, Vec<f64>) {
        let (m, nv) = (&self.m, self.m.size.nv);
        [Stage::Kinematics, Stage::ComPos, Stage::Transmission].into_iter().for_each(|s| run(Call::from(s), m, d));
        for &t in &self.spatial {
            let mut row = vec![0.0; nv];
            d.ten_length[t] = wrap::spatial(self.whole, d, t, &mut row);
            d.ten_J[t * nv..(t + 1) * nv].copy_from_slice(&row);
        }
        run(Call::from(Stage::Inertia), m, d);
        if m.tendon_armature.iter().any(|&x| x != 0.0) {
            setconst::add_tendon_inertia(m, d);
        }
        if m.size.nu == 1 {
            return (d.actuator_length[0], d.actuator_moment.clone());
        }
        let mut arms = vec![0.0; nv];
        (moment::actuator(self.whole, d, self.actuator, &mut arms), arms)
    }
}

/// What follows in a step when the force is known; nothing else acts.
const REST: [Stage; 9] = [
    Stage::Constraint,
    Stage::Velocity,
    Stage::Passive,
    Stage::Bias,
    Stage::Reference,
    Stage::Acceleration,
    Stage::Solver,
    Stage::Noslip,
    Stage::Integrate,
];

/// The solver's tolerance, where the file has none that is less.
const TOLERANCE: f64 = 1e-12;
/// No time constant of the decay is shorter \[s\].
const SHORTEST: f64 = 0.01;
/// Steps of a pull: the default is 1,000, and a compiler must end.
const MAX_STEPS: f64 = 100_000.0;
/// Steps of all pulls times what one costs: a matrix over the dofs, and a thousand for the rest. It is a minute or two; a whole
/// body with 300 muscles and 85 dofs needs half of it.
const MAX_WORK: f64 = 1e10;

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}
