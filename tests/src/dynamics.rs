//! The differential test of motion: a random model on every backend, compared with MuJoCo and with each other.
//!
//! `tests/golden/random_dynamics.py` makes the models and MuJoCo's motion. What is compared is the acceleration at given states, then
//! the state after each of one to three steps.

use crate::golden::Golden;
use kiloworld_gpu::Gpu;
use kiloworld_layout::Field;
use kiloworld_layout::consts::{cone, solver, status};
use kiloworld_model::Model;
use kiloworld_sim::{Backend, Batch, Precision, Welds, lanes, rng};
use std::path::Path;

/// Inputs of a state.
const STATE: [Field; 11] = [
    Field::time,
    Field::qpos,
    Field::qvel,
    Field::act,
    Field::ctrl,
    Field::qfrc_applied,
    Field::xfrc_applied,
    Field::mocap_pos,
    Field::mocap_quat,
    Field::eq_active,
    Field::qacc_warmstart,
];
/// What the model's keyframe gives.
const KEY: [Field; 7] =
    [Field::time, Field::qpos, Field::qvel, Field::act, Field::ctrl, Field::mocap_pos, Field::mocap_quat];
/// A world that needed more room than it has.
const OVERFLOW: i32 = status::CONTACT_OVERFLOW | status::ROW_OVERFLOW;
/// What a step writes.
const AFTER: [Field; 3] = [Field::qpos, Field::qvel, Field::act];
/// Worlds of a batch in lanes: more than two registers hold, and no multiple of any width.
const WORLDS: usize = 37;
/// f64 against MuJoCo, relative to the accelerations that take part: both stop within 1e-10 of the minimum, and contacts as stiff as
/// those of the models carry the rounding of a distance to some 1e-9.
const MUJOCO: f64 = 1e-6;
/// Where MuJoCo's own answer depends on its solver, or on rounding, by more than this, it is none.
const DOUBT: f64 = 1e-8;
/// f32 against f64, relative to the same: the solver's residual is some 1e-5 of the forces.
const SINGLE: f64 = 5e-4;
/// The same where forces are found by sweeps, which end where a sweep changes them by less than a rounding, farther from the minimum.
const SWEPT: f64 = 5e-3;
/// How many times farther than what f64 makes of inputs off by a few roundings of f32: the model is rounded too, and every stage.
const SPREAD: f64 = 30.0;

/// The motion of some worlds.
#[derive(Clone, Debug)]
pub struct Motion {
    /// acceleration at the start, a row a world
    pub qacc: Vec<f64>,
    /// the fields of [`AFTER`] after each step
    pub after: Vec<[Vec<f64>; 3]>,
    /// status at the end
    pub status: Vec<i32>,
    /// status, counts and needs of the last step
    pub kept: [Vec<f64>; 5],
    /// contacts with rows at the start, of worlds that are alone: one of which nothing comes may be found or not
    pub active: Vec<f64>,
    /// rows there
    pub nefc: Vec<f64>,
    /// regularizers of the rows there
    pub regularizers: Vec<Vec<f64>>,
}

/// What became of a model.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// why it is not simulated
    pub refused: Option<String>,
    /// states compared with MuJoCo
    pub compared: usize,
    /// states of which MuJoCo's answer is in doubt, or is a complaint
    pub doubtful: usize,
    /// states that are not compared with MuJoCo, since sweeps over elliptic contacts go another way
    pub uncompared: usize,
    /// worlds that needed more room than a batch takes by itself
    pub overflowed: usize,
    /// states whose stiff rows f32 limits
    pub limited: usize,
    /// states of the model with contacts
    pub touching: usize,
    /// largest difference to MuJoCo, relative to [`MUJOCO`]'s unit
    pub worst: f64,
    /// largest difference of f32 to f64 in units of what is allowed
    pub worst_single: f64,
    /// seconds that it took
    pub seconds: f64,
    /// what differs
    pub faults: Vec<String>,
}

/// Where a motion is computed.
#[derive(Clone, Copy, Debug)]
pub struct On<'g> {
    /// the scalar
    pub precision: Precision,
    /// worlds a register; the batch's own choice where not given
    pub lanes: Option<u32>,
    /// the device, instead of the CPU
    pub gpu: Option<&'g Gpu>,
}

/// Moves `nworld` worlds by the golden's steps; world `w` starts from state `w` modulo the number of states, changed by `change`.
///
/// # Panics
/// Where the batch refuses what it is asked for.
pub fn moved(
    model: &Model,
    golden: &Golden,
    on: On<'_>,
    nworld: usize,
    change: &dyn Fn(Field, usize, &mut [f64]),
) -> Motion {
    let mut builder = Batch::builder(model).nworld(nworld).welds(Welds::Mujoco).precision(on.precision);
    builder = match on.gpu {
        Some(gpu) => builder.backend(Backend::Gpu).gpu(gpu.clone()),
        None => builder.backend(Backend::Cpu),
    };
    if let Some(n) = on.lanes {
        builder = builder.lanes(n);
    }
    let mut batch = builder.build().unwrap_or_else(|e| panic!("{e}"));
    for field in STATE {
        let given = golden.get(&format!("state/{}", field.name()));
        let mut values = Vec::new();
        for w in 0..nworld {
            let mut row = given.row(w % golden.nstate()).to_vec();
            change(field, w, &mut row);
            values.extend(row);
        }
        batch.set(field, &values).unwrap_or_else(|e| panic!("{}: {e}", field.name()));
    }
    let all: Vec<usize> = (0..nworld).collect();
    let read = |batch: &mut Batch, fields: &[Field]| batch.forward(&all, fields).unwrap_or_else(|e| panic!("{e}"));
    let qacc = read(&mut batch, &[Field::qacc]).remove(0);
    let (mut active, mut nefc, mut regularizers) = (Vec::new(), Vec::new(), Vec::new());
    if nworld == golden.nstate() {
        for w in 0..nworld {
            let world = batch.world(w).unwrap_or_else(|e| panic!("{e}"));
            let ncon = world.ncon[0] as usize;
            active.push(world.contact_efc_address[..ncon].iter().filter(|&&a| a >= 0).count() as f64);
            nefc.push(f64::from(world.nefc[0]));
            regularizers.push(world.efc_R[..world.nefc[0] as usize].to_vec());
        }
    }
    let mut after = Vec::new();
    for _ in 0..steps(golden) {
        batch.step(1).unwrap_or_else(|e| panic!("{e}"));
        let mut rows = read(&mut batch, &AFTER).into_iter();
        after.push(std::array::from_fn(|_| rows.next().unwrap_or_default()));
    }
    let kept = [Field::status, Field::ncon, Field::nefc, Field::ncon_need, Field::nefc_need]
        .map(|f| batch.get(f).unwrap_or_else(|e| panic!("{e}")));
    Motion { qacc, after, status: batch.status().unwrap_or_else(|e| panic!("{e}")), kept, active, nefc, regularizers }
}

/// Steps of a golden.
fn steps(golden: &Golden) -> usize {
    golden.get("out/doubt").shape[1] - 1
}

/// Row `w` of a field of some worlds.
fn row(values: &[f64], w: usize, nworld: usize) -> &[f64] {
    let n = values.len() / nworld;
    &values[w * n..(w + 1) * n]
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |a, x| a.max(x.abs()))
}

fn apart(a: &[f64], b: &[f64]) -> f64 {
    let off = |(x, y): (&f64, &f64)| if x.is_finite() { (x - y).abs() } else { f64::INFINITY };
    a.iter().zip(b).map(off).fold(0.0, f64::max)
}

/// The unit in which differences of a field are measured: of the acceleration all that takes part in it, of a velocity what that does
/// in a step too.
fn unit(field: Field, values: &[f64], scale: f64, h: f64) -> f64 {
    match field {
        Field::qacc => scale,
        Field::qvel => largest(values).max(1.0).max(h * scale),
        _ => largest(values).max(1.0).max(h * h * scale),
    }
}

/// Every number of a state's motion with the one that it is held against: which field, after which step, and its unit.
fn pairs<'a>(
    a: &'a Motion,
    b: &'a Motion,
    k: (usize, usize),
    golden: &Golden,
    h: f64,
) -> Vec<(usize, Field, f64, f64)> {
    let (na, nb) = (a.status.len(), b.status.len());
    let state = k.1 % golden.nstate();
    let scale = golden.get("out/scale").data[state];
    let mut out = Vec::new();
    let mut note = |step: usize, field: Field, a: &[f64], b: &[f64], scale: f64| {
        out.push((step, field, apart(a, b), unit(field, b, scale, h)));
    };
    note(0, Field::qacc, row(&a.qacc, k.0, na), row(&b.qacc, k.1, nb), scale);
    let hardest = golden.get("out/hardest").data[state];
    for (i, (a, b)) in a.after.iter().zip(&b.after).enumerate() {
        for (f, field) in AFTER.into_iter().enumerate() {
            note(i + 1, field, row(&a[f], k.0, na), row(&b[f], k.1, nb), hardest);
        }
    }
    out
}

/// MuJoCo's motion.
pub fn mujocos(golden: &Golden) -> Motion {
    let get = |key: &str| golden.get(key).data.clone();
    let after = (0..steps(golden)).map(|i| AFTER.map(|f| get(&format!("out/{i}/{}", f.name())))).collect();
    let status = vec![0; golden.nstate()];
    Motion {
        qacc: get("out/qacc"),
        after,
        status,
        kept: Default::default(),
        active: get("out/active"),
        nefc: get("out/nefc"),
        regularizers: Vec::new(),
    }
}

/// Up to which step MuJoCo's answer is one: 0 the acceleration only, `None` nothing.
fn decided(golden: &Golden, k: usize) -> Option<usize> {
    golden.get("out/doubt").row(k).iter().take_while(|d| **d < DOUBT).count().checked_sub(1)
}

/// Holds a motion in f64 against MuJoCo's.
pub fn against_mujoco(found: &Motion, golden: &Golden, h: f64, outcome: &mut Outcome) {
    let theirs = mujocos(golden);
    for k in 0..golden.nstate() {
        let Some(last) = decided(golden, k) else {
            outcome.doubtful += 1;
            continue;
        };
        if found.status[k] & OVERFLOW != 0 {
            outcome.overflowed += 1;
            continue;
        }
        outcome.compared += 1;
        outcome.touching += usize::from(theirs.active[k] > 0.0);
        let counts = [("contacts", &found.active, &theirs.active), ("rows", &found.nefc, &theirs.nefc)];
        for (what, ours, theirs) in counts {
            if ours[k] != theirs[k] {
                outcome.faults.push(format!("state {k}: {} {what}, MuJoCo has {}", ours[k], theirs[k]));
            }
        }
        for (step, field, off, unit) in pairs(found, &theirs, (k, k), golden, h) {
            if step <= last {
                outcome.worst = outcome.worst.max(off / unit);
                if off > MUJOCO * unit {
                    let text = format!("state {k}, step {step}: {} is off by {off:.1e} of {unit:.1e}", field.name());
                    outcome.faults.push(text);
                }
            }
        }
        if found.status[k] & status::FROZEN != 0 {
            outcome.faults.push(format!("state {k}: frozen, status {:#x}", found.status[k]));
        }
    }
}

/// Holds worlds in lanes against those that were alone: every bit.
pub fn same_bits(wide: &Motion, alone: &Motion, what: &str, faults: &mut Vec<String>) {
    let (nwide, nalone) = (wide.status.len(), alone.status.len());
    for w in 0..nwide {
        let k = w % nalone;
        let bits = |m: &Motion, w: usize, n: usize| -> Vec<u64> {
            let fields = [&m.qacc].into_iter().chain(m.after.iter().flatten()).chain(&m.kept);
            fields.flat_map(|v| row(v, w, n)).map(|x| x.to_bits()).collect()
        };
        if bits(wide, w, nwide) != bits(alone, k, nalone) {
            faults.push(format!("{what}: world {w} has other bits than state {k} alone, status {:#x}", wide.status[w]));
            return;
        }
    }
}

/// Holds a motion in f32 against the one in f64, and against how far f64 goes from inputs that are off by some roundings of f32.
pub fn single(
    found: &Motion,
    double: &Motion,
    near: &Motion,
    golden: &Golden,
    h: f64,
    what: &str,
    swept: bool,
    outcome: &mut Outcome,
) {
    let n = golden.nstate();
    for k in 0..n {
        let (Some(last), true) = (decided(golden, k), found.status[k] & OVERFLOW == 0) else { continue };
        // f32 limits rows that only a tiny regularizer holds (see `limit_stiffness`): where rows conflict they weigh otherwise
        let limited = |(a, b): (&f64, &f64)| *a > 2.0 * b;
        if found.regularizers[k].iter().zip(&double.regularizers[k]).any(limited) {
            outcome.limited += 1;
            continue;
        }
        let mut spread = vec![0.0_f64; 1 + AFTER.len() * steps(golden)];
        for w in (k..near.status.len()).step_by(n) {
            let off = pairs(near, double, (w, k), golden, h);
            spread.iter_mut().zip(off).for_each(|(s, (.., off, unit))| *s = s.max(off / unit));
        }
        for ((step, field, off, unit), spread) in pairs(found, double, (k, k), golden, h).into_iter().zip(spread) {
            if step <= last {
                let allowed = if swept { SWEPT } else { SINGLE } + SPREAD * spread;
                outcome.worst_single = outcome.worst_single.max(off / unit / allowed);
                if off > allowed * unit {
                    let name = field.name();
                    let text = format!(
                        "{what}, state {k}, step {step}: {name} is off by {off:.1e} of {unit:.1e}, allowed {allowed:.1e}"
                    );
                    outcome.faults.push(text);
                }
            }
        }
    }
}

/// Leaves states as they are.
pub fn as_given(_: Field, _: usize, _: &mut [f64]) {}

/// Moves numbers by up to two roundings of f32.
fn rounded(field: Field, w: usize, row: &mut [f64]) {
    if matches!(field, Field::qpos | Field::qvel | Field::act | Field::ctrl) {
        for (i, x) in row.iter_mut().enumerate() {
            let draw = |k: usize| 2.0 * rng::uniform(field as u64, w, k, i) - 1.0;
            *x += 2.0 * f64::from(f32::EPSILON) * (*x * draw(0) + 0.1 * draw(1));
        }
    }
}

/// A model by everything that it is compared with; on the device too, where there is one.
pub fn check(xml: &Path, gpu: Option<&Gpu>) -> Outcome {
    let golden = Golden::read(&xml.with_extension("npz"));
    let mut outcome = Outcome::default();
    let model = match Model::from_path(xml) {
        Ok(model) => model,
        Err(e) => {
            outcome.faults.push(format!("MuJoCo takes this model: {e}"));
            return outcome;
        }
    };
    if let Err(e) = model.check_supported() {
        outcome.refused = Some(e.to_string());
        return outcome;
    }
    let (n, h) = (golden.nstate(), model.layout.opt_timestep[0]);
    let opt = &model.layout.opt;
    let swept = opt.solver == solver::PGS || opt.noslip_iterations > 0;
    keyframe(&model, &golden, &mut outcome.faults);
    let cpu = |precision, lanes| On { precision, lanes: Some(lanes), gpu: None };
    let double = moved(&model, &golden, cpu(Precision::F64, 1), n, &as_given);
    // sweeps over elliptic contacts: PGS here needs more of them, and noslip ends elsewhere where a tangent block is singular
    if !swept || opt.cone != cone::ELLIPTIC {
        against_mujoco(&double, &golden, h, &mut outcome);
    } else {
        outcome.uncompared = n;
    }
    let seed = xml.file_stem().and_then(|s| s.to_str()?.parse::<usize>().ok()).unwrap_or(0);
    // every width in its turn
    let width = |precision| {
        let wide: Vec<u32> = lanes(precision).into_iter().filter(|&n| n > 1).collect();
        wide.get(seed % wide.len().max(1)).copied().unwrap_or(1)
    };
    let wide = moved(&model, &golden, cpu(Precision::F64, width(Precision::F64)), WORLDS, &as_given);
    same_bits(&wide, &double, "f64 in lanes", &mut outcome.faults);
    let near = moved(&model, &golden, cpu(Precision::F64, width(Precision::F64)), 4 * n, &rounded);
    let float = moved(&model, &golden, cpu(Precision::F32, 1), n, &as_given);
    single(&float, &double, &near, &golden, h, "f32", swept, &mut outcome);
    let wide = moved(&model, &golden, cpu(Precision::F32, width(Precision::F32)), WORLDS, &as_given);
    same_bits(&wide, &float, "f32 in lanes", &mut outcome.faults);
    if let Some(gpu) = gpu {
        let on = On { precision: Precision::F32, lanes: None, gpu: Some(gpu) };
        single(&moved(&model, &golden, on, n, &as_given), &double, &near, &golden, h, "GPU", swept, &mut outcome);
    }
    outcome
}

/// State 0 is the model's keyframe.
fn keyframe(model: &Model, golden: &Golden, faults: &mut Vec<String>) {
    let mut batch = Batch::builder(model).backend(Backend::Cpu).precision(Precision::F64).build().expect("a batch");
    batch.reset(None, Some(0)).expect("a keyframe");
    for field in KEY {
        let (ours, theirs) =
            (batch.get(field).expect("a field"), golden.get(&format!("state/{}", field.name())).row(0));
        if apart(&ours, theirs) > 1e-12 {
            faults.push(format!("keyframe: {} is {ours:?}, MuJoCo's {theirs:?}", field.name()));
        }
    }
}
