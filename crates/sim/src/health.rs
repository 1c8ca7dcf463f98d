//! What is wrong with the worlds of a batch: verdicts, and what each check has found since reset.

use crate::{Batch, Error};
use kiloworld_layout::consts::{HEALTH_LIMITS, bad, eq, health as check, obj, status};
use kiloworld_layout::{Field, Model};
use kiloworld_model::{Kind, Names};
use std::fmt;

/// How much a check allows; see [`kiloworld_layout::consts::health`].
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct HealthLimits {
    /// distance between the two points of a connect or weld [m]
    pub position: f64,
    /// angle between the two frames of a weld [rad]
    pub angle: f64,
    /// penetration beyond what the contact's load and the speed of impact explain [m]
    pub penetration: f64,
    /// energy from nowhere within about a second, relative to the kinetic energy that is explained
    pub energy: f64,
    /// what the solver leaves of its residual force, relative to the forces
    pub residual: f64,
}

impl Default for HealthLimits {
    fn default() -> Self {
        Self::from_slice(&HEALTH_LIMITS)
    }
}

impl HealthLimits {
    fn from_slice(limits: &[f64]) -> Self {
        let [position, angle, penetration, energy, residual] = [0, 1, 2, 3, 4].map(|k| limits[k]);
        Self { position, angle, penetration, energy, residual }
    }

    pub(crate) fn to_array(self) -> [f64; check::COUNT as usize] {
        [self.position, self.angle, self.penetration, self.energy, self.residual]
    }
}

/// How a world is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Verdict {
    /// nothing was found
    Ok,
    /// it moves, and something was beyond its limit
    Degraded,
    /// it is frozen at its last good state
    Failed,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ok => "OK",
            Self::Degraded => "DEGRADED",
            Self::Failed => "FAILED",
        })
    }
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Flag {
    /// more contacts than the world can hold
    ContactOverflow,
    /// more constraint rows than the world can hold
    RowOverflow,
    /// a number that is not finite would have been written
    Nonfinite,
    /// a number beyond MuJoCo's limit of 10¹⁰ would have been written
    Diverged,
    /// a control or an applied force was not finite
    BadCtrl,
    /// the device stopped loops before their end
    LoopLimit,
    /// a connect or weld is further apart than its limit
    JointFail,
    /// a contact is deeper than its load and its impact explain
    DeepPenetration,
    /// energy came from nowhere
    EnergyGrowth,
    /// the solver stopped at its iteration limit with forces left over
    NotConverged,
}

impl Flag {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::ContactOverflow => "CONTACT_OVERFLOW",
            Self::RowOverflow => "ROW_OVERFLOW",
            Self::Nonfinite => "NONFINITE",
            Self::Diverged => "DIVERGED",
            Self::BadCtrl => "BAD_CTRL",
            Self::LoopLimit => "LOOP_LIMIT",
            Self::JointFail => "JOINT_FAIL",
            Self::DeepPenetration => "DEEP_PENETRATION",
            Self::EnergyGrowth => "ENERGY_GROWTH",
            Self::NotConverged => "NOT_CONVERGED",
        }
    }

    /// What to do about it.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::ContactOverflow => "give worlds more room: --nconmax, BatchBuilder::nconmax",
            Self::RowOverflow => "give worlds more room: --njmax, BatchBuilder::njmax",
            Self::Nonfinite | Self::Diverged => {
                "smaller steps, softer gains, or look for bodies that start inside each other"
            }
            Self::BadCtrl => "look at what computes the controls",
            Self::LoopLimit => "share a world among more lanes (--lanes 8 --worlds-per-group 1), or another device",
            Self::JointFail => {
                "stiff welds, smaller steps, the anchor at the body; or make one body a child of the other"
            }
            Self::DeepPenetration => "smaller steps, or stiffer contacts (solref, solimp)",
            Self::EnergyGrowth => {
                "smaller steps, implicitfast or RK4; look for bodies that start inside each other, rows that start violated"
            }
            Self::NotConverged => "more solver iterations",
        }
    }
}

/// One thing found in one world.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Finding {
    /// the world
    pub world: usize,
    /// what is wrong
    pub flag: Flag,
    /// of what: an equality constraint, two geoms, the arrays at fault; empty: of the world as a whole
    pub object: String,
    /// how much: the largest since reset, or what would have been needed
    pub size: f64,
    /// how much is allowed, or there is
    pub limit: f64,
    /// unit of both
    pub unit: &'static str,
    /// simulation time of the largest, or of the last good state [s]
    pub time: f64,
    /// steps beyond the limit since reset; of a frozen world the step that failed, counted from 0
    pub step: usize,
}

impl Finding {
    /// How bad that is.
    pub fn verdict(&self) -> Verdict {
        if self.flag < Flag::JointFail { Verdict::Failed } else { Verdict::Degraded }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<8} {:<16} world {}", self.verdict(), self.flag.name(), self.world)?;
        if !self.object.is_empty() {
            write!(f, ", {}", kiloworld_model::shown(&self.object))?;
        }
        match self.flag {
            Flag::ContactOverflow | Flag::RowOverflow => {
                write!(f, ": {} {} needed, room for {}", self.size, self.unit, self.limit)?;
            }
            Flag::Nonfinite | Flag::Diverged | Flag::BadCtrl | Flag::LoopLimit => {}
            _ => write!(f, ": {}, limit {}", scaled(self.size, self.unit), scaled(self.limit, self.unit))?,
        }
        match self.verdict() {
            Verdict::Failed => write!(f, ", step {} (last good state at {:.4} s)", self.step, self.time),
            _ => write!(f, ", at {:.4} s, {} steps beyond", self.time, self.step),
        }
    }
}

/// A length or an angle in thousandths, anything else as it is.
fn scaled(x: f64, unit: &str) -> String {
    match unit {
        "m" => format!("{:.4} mm", 1e3 * x),
        "rad" => format!("{:.4} mrad", 1e3 * x),
        _ => format!("{x:.3}"),
    }
}

/// How the worlds of a batch are.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Health {
    /// the worst of all worlds
    pub verdict: Verdict,
    /// worlds
    pub nworld: usize,
    /// worlds in which nothing was found
    pub ok: usize,
    /// worlds that move, with something beyond its limit
    pub degraded: usize,
    /// frozen worlds
    pub failed: usize,
    /// what the limits were
    pub limits: HealthLimits,
    /// everything found, world by world
    pub findings: Vec<Finding>,
}

impl Health {
    /// The findings of a flag.
    pub fn of(&self, flag: Flag) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |f| f.flag == flag)
    }

    /// The verdict on one world.
    pub fn world(&self, w: usize) -> Verdict {
        self.findings.iter().filter(|f| f.world == w).map(Finding::verdict).max().unwrap_or(Verdict::Ok)
    }

    /// The worst finding of each flag, with the number of worlds that have it.
    pub fn summary(&self) -> Vec<(&Finding, usize)> {
        let mut flags: Vec<Flag> = self.findings.iter().map(|f| f.flag).collect();
        flags.sort_unstable();
        flags.dedup();
        let one = |flag: Flag| {
            let worse = |a: &Finding, b: &Finding| b.size / b.limit > a.size / a.limit;
            let worst = self.of(flag).reduce(|a, b| if worse(a, b) { b } else { a })?;
            // findings go world by world, and a world can have both errors of a weld
            let mut worlds: Vec<usize> = self.of(flag).map(|f| f.world).collect();
            worlds.dedup();
            Some((worst, worlds.len()))
        };
        flags.into_iter().filter_map(one).collect()
    }
}

/// A verdict, then the worst finding of each kind with its remedy.
impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "health: {}", self.verdict)?;
        write!(f, " ({} worlds: {} ok, {} degraded, {} failed)", self.nworld, self.ok, self.degraded, self.failed)?;
        for (worst, worlds) in self.summary() {
            write!(f, "\n  {worst}")?;
            if worlds > 1 {
                write!(f, "; {worlds} worlds")?;
            }
            write!(f, "\n           help: {}", worst.flag.remedy())?;
        }
        Ok(())
    }
}

/// What the stage `health` and the integrator keep of a world, to be asked for in this order.
const FIELDS: [Field; 10] = [
    Field::status,
    Field::bad_fields,
    Field::nstep,
    Field::time,
    Field::ncon_need,
    Field::nefc_need,
    Field::health_size,
    Field::health_time,
    Field::health_id,
    Field::health_count,
];

impl Batch {
    /// How the worlds are, and what was found in them since their last reset. A look costs a few words a world.
    pub fn health(&mut self) -> Result<Health, Error> {
        let ids: Vec<usize> = (0..self.nworld()).collect();
        let values = self.forward(&ids, &FIELDS)?;
        let m = self.model();
        let mut findings = Vec::new();
        let (mut degraded, mut failed) = (0, 0);
        for world in ids {
            let row = |k: usize| {
                let n = values[k].len() / self.nworld();
                &values[k][world * n..(world + 1) * n]
            };
            let first = findings.len();
            frozen(m, world, &row, &mut findings);
            checks(m, self.names(), world, &row, &mut findings);
            match findings[first..].iter().map(Finding::verdict).max() {
                Some(Verdict::Failed) => failed += 1,
                Some(Verdict::Degraded) => degraded += 1,
                Some(Verdict::Ok) | None => {}
            }
        }
        Ok(Health {
            verdict: findings.iter().map(Finding::verdict).max().unwrap_or(Verdict::Ok),
            nworld: self.nworld(),
            ok: self.nworld() - degraded - failed,
            degraded,
            failed,
            limits: HealthLimits::from_slice(&m.health_limit),
            findings,
        })
    }
}

/// An integer that was read as f64 like every field.
#[allow(clippy::cast_possible_truncation, reason = "flags, counts and ids")]
fn int(x: f64) -> i32 {
    x as i32
}

fn count(x: f64) -> usize {
    usize::try_from(int(x)).unwrap_or(0)
}

/// Why a world is frozen.
fn frozen<'a>(m: &Model<f64>, world: usize, row: &dyn Fn(usize) -> &'a [f64], findings: &mut Vec<Finding>) {
    let [bits, fields, nstep, time, ncon, nefc] = [0, 1, 2, 3, 4, 5].map(|k| row(k)[0]);
    let mut add = |flag: Flag, object: String, size: f64, limit: usize, unit: &'static str| {
        findings.push(Finding { world, flag, object, size, limit: limit as f64, unit, time, step: count(nstep) });
    };
    if int(bits) & status::CONTACT_OVERFLOW != 0 {
        add(Flag::ContactOverflow, String::new(), ncon, m.size.nconmax, "contacts");
    }
    if int(bits) & status::ROW_OVERFLOW != 0 {
        add(Flag::RowOverflow, String::new(), nefc, m.size.njmax, "rows");
    }
    let arrays = bad_arrays(int(fields));
    for (bit, flag) in
        [(status::NONFINITE, Flag::Nonfinite), (status::DIVERGED, Flag::Diverged), (status::BAD_CTRL, Flag::BadCtrl)]
    {
        if int(bits) & bit != 0 {
            add(flag, arrays.join(", "), 0.0, 0, "");
        }
    }
    if int(bits) & status::LOOP_LIMIT != 0 {
        add(Flag::LoopLimit, String::new(), 0.0, 0, "");
    }
}

/// The names of the arrays that bits of [`bad`] stand for.
pub fn bad_arrays(bits: i32) -> Vec<&'static str> {
    let names = [
        (bad::QPOS, "qpos"),
        (bad::QVEL, "qvel"),
        (bad::QACC, "qacc"),
        (bad::ACT, "act"),
        (bad::CTRL, "ctrl"),
        (bad::QFRC_APPLIED, "qfrc_applied"),
        (bad::XFRC_APPLIED, "xfrc_applied"),
    ];
    names.into_iter().filter(|&(bit, _)| bits & bit != 0).map(|(_, name)| name).collect()
}

/// What the checks found in a world.
fn checks<'a>(
    m: &Model<f64>,
    names: &Names,
    world: usize,
    row: &dyn Fn(usize) -> &'a [f64],
    findings: &mut Vec<Finding>,
) {
    let [size, time, id, steps] = [6, 7, 8, 9].map(row);
    let of = |kind: Kind, id: f64| {
        let named = usize::try_from(int(id)).ok().and_then(|i| names.of(kind).name(i));
        named.map_or_else(|| format!("{} {}", kind.word(), int(id)), |n| format!("{} {n}", kind.word()))
    };
    for k in 0..check::COUNT as usize {
        if count(steps[k]) == 0 {
            continue;
        }
        let (flag, unit) = match k as i32 {
            check::POSITION => (Flag::JointFail, "m"),
            check::ANGLE => (Flag::JointFail, "rad"),
            check::PENETRATION => (Flag::DeepPenetration, "m"),
            check::ENERGY => (Flag::EnergyGrowth, ""),
            _ => (Flag::NotConverged, ""),
        };
        let object = match flag {
            Flag::JointFail => equality_label(m, names, count(id[2 * k])),
            Flag::DeepPenetration => format!("{}, {}", of(Kind::Geom, id[2 * k]), of(Kind::Geom, id[2 * k + 1])),
            _ => String::new(),
        };
        let limit = m.health_limit[k];
        findings.push(Finding {
            world,
            flag,
            object,
            size: size[k],
            limit,
            unit,
            time: time[k],
            step: count(steps[k]),
        });
    }
}

/// An equality constraint in words: its name, or its kind and what it ties.
pub fn equality_label(m: &Model<f64>, names: &Names, e: usize) -> String {
    if let Some(name) = names.of(Kind::Equality).name(e) {
        return name.to_owned();
    }
    let kind = match m.eq_type[e] {
        eq::CONNECT => "connect",
        eq::WELD => "weld",
        eq::JOINT => "joint equality",
        _ => "tendon equality",
    };
    let objects = match (m.eq_type[e], m.eq_objtype[e]) {
        (eq::JOINT, _) => Kind::Joint,
        (eq::TENDON, _) => Kind::Tendon,
        (_, obj::SITE) => Kind::Site,
        _ => Kind::Body,
    };
    let label = |id: i32| match usize::try_from(id) {
        Err(_) => None,
        Ok(0) if objects == Kind::Body => Some("world".to_owned()),
        Ok(id) => Some(names.of(objects).name(id).map_or_else(|| format!("{} {id}", objects.word()), str::to_owned)),
    };
    let ends: Vec<String> = [m.eq_obj1id[e], m.eq_obj2id[e]].into_iter().filter_map(label).collect();
    format!("{kind} {e} ({})", ends.join(" – "))
}
