//! A dumped world again, step by step, on the f64 reference: how far its states are from the recorded ones, and where it breaks.

use crate::dump::{About, Dump, is_flag};
use crate::{Record, quarantine, step};
use kiloworld_layout::consts::{MAXVAL, jnt, status};
use kiloworld_layout::{Buffer, Call, Data, Dim, Field, Model, Slice, SliceMut, Stage};
use kiloworld_model::Kind;
use serde::Serialize;

/// What a replay found.
#[derive(Clone, Debug, Serialize)]
pub struct Replay {
    /// what is said of the world
    pub about: About,
    /// one entry a recorded step
    pub steps: Vec<ReplayStep>,
    /// where f64 broke when it ran by itself from the first recorded state, with the recorded controls; `None`: it did not
    pub breaks: Option<Break>,
    /// where f64 broke in the one step from the last recorded state; `None`: it did not
    pub breaks_last: Option<Break>,
}

/// A recorded step.
#[derive(Clone, Debug, Serialize)]
pub struct ReplayStep {
    /// number of the record
    pub step: usize,
    /// simulation time at its start [s]
    pub time: f64,
    /// the state at its start, or the time, does not follow from the step before: somebody set it
    pub set: bool,
    /// state after the step, from the recorded state at its start, against the next record; `None`: there is none to compare with
    pub error: Option<Difference>,
    /// the same of f64 running by itself
    pub drift: Option<Difference>,
    /// bits of the status after the step from the recorded state
    pub status: i32,
}

/// The largest difference between two states.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// absolute
    pub size: f64,
    /// field: qpos, qvel or act
    pub field: &'static str,
    /// position in it
    pub index: usize,
    /// whose number it is
    pub element: String,
}

/// Where a world breaks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Break {
    /// number of the record that the step starts from
    pub step: usize,
    /// simulation time at its start [s]
    pub time: f64,
    /// bits of the status
    pub status: i32,
    /// the same in words
    pub words: String,
    /// the stage that wrote the first number that is not finite, or the largest one where all are; empty for an overflow
    pub stage: &'static str,
    /// the field that it wrote
    pub field: &'static str,
    /// position in it
    pub index: usize,
    /// the number, as text since it may not be one
    pub value: String,
    /// whose number it is
    pub element: String,
}

/// What is given to a step besides its state.
fn is_input(field: Field) -> bool {
    field.info().stage == Stage::Load
}

struct Runner<'a> {
    about: &'a About,
    m: &'a Model<f64>,
    calls: Vec<Call>,
}

impl Dump {
    /// Runs the recorded steps again in f64, one world by itself.
    pub fn replay(&self) -> Replay {
        let run = Runner { about: &self.about, m: &self.model, calls: step::step(&self.model.opt) };
        let h = self.model.opt_timestep.first().copied().unwrap_or(0.0);
        let follows = |a: &Record, b: &Record| (b.time() - a.time() - h).abs() < 0.25 * h;
        let fresh = || Data::new(&self.model.size, &0.0);
        let (mut own, mut alive) = (fresh(), false);
        let (mut steps, mut breaks, mut breaks_last) = (Vec::new(), None, None);
        for (k, record) in self.history.iter().enumerate() {
            let set = k > 0 && !follows(&self.history[k - 1], record);
            if k == 0 || set || !alive {
                own = fresh();
                load(record, &mut own, |_| true);
            } else {
                load(record, &mut own, is_input);
            }
            let next = self.history.get(k + 1).unwrap_or(&self.last);
            let next = follows(record, next).then_some(next);
            let mut one = fresh();
            load(record, &mut one, |_| true);
            let broke = run.step(&mut one, k);
            let own_broke = run.step(&mut own, k);
            alive = own_broke.is_none();
            let compare = |d: &Data<f64>| next.map(|r| run.difference(d, r));
            steps.push(ReplayStep {
                step: k,
                time: record.time(),
                set,
                error: compare(&one),
                drift: if alive { compare(&own) } else { None },
                status: one.status[0],
            });
            breaks = breaks.or(own_broke);
            if k + 1 == self.history.len() {
                breaks_last = broke;
            }
        }
        Replay { about: self.about.clone(), steps, breaks, breaks_last }
    }
}

/// Writes the fields of a record that are asked for into a world.
fn load(record: &Record, d: &mut Data<f64>, wanted: impl Fn(Field) -> bool) {
    for (field, values) in record.fields.iter().filter(|f| wanted(f.0)) {
        match d.get_mut(*field) {
            #[allow(clippy::cast_possible_truncation, reason = "a flag")]
            Some(SliceMut::I(to)) if is_flag(*field) => {
                to.iter_mut().zip(values).for_each(|(to, &x)| *to = x as i32);
            }
            Some(SliceMut::F(to)) => to.iter_mut().zip(values).for_each(|(to, &x)| *to = x),
            _ => {}
        }
    }
}

impl Runner<'_> {
    /// One step; where it broke.
    fn step(&self, d: &mut Data<f64>, k: usize) -> Option<Break> {
        let before = self.kept(d);
        for &call in &self.calls {
            kiloworld_cpu::run(call, self.m, d);
        }
        if d.status[0] & status::FROZEN == 0 {
            return None;
        }
        Some(self.explain(before, d, k))
    }

    /// What a step begins with; work arrays are not copied, they may be large.
    fn kept(&self, d: &Data<f64>) -> Data<f64> {
        let mut out = Data::new(&self.m.size, &0.0);
        for info in Field::TABLE.iter().filter(|f| matches!(f.buffer, Buffer::State | Buffer::Status)) {
            match (d.get(info.field), out.get_mut(info.field)) {
                (Some(Slice::F(from)), Some(SliceMut::F(to))) => to.copy_from_slice(from),
                (Some(Slice::I(from)), Some(SliceMut::I(to))) => to.copy_from_slice(from),
                _ => {}
            }
        }
        out
    }

    /// Runs a step that breaks again, looking at what each stage writes.
    fn explain(&self, mut d: Data<f64>, after: &Data<f64>, k: usize) -> Break {
        let bits = after.status[0] & status::FROZEN;
        let count = |n: &[i32]| n.first().map_or(0, |&n| usize::try_from(n).unwrap_or(0));
        let need = [count(&after.ncon_need), count(&after.nefc_need)];
        let bad = after.bad_fields.first().copied().unwrap_or(0);
        let words = quarantine::words(bits, bad, need, [self.m.size.nconmax, self.m.size.njmax]);
        let time = d.time[0];
        let mut found = None;
        if bits & (status::CONTACT_OVERFLOW | status::ROW_OVERFLOW) == 0 {
            let inputs = [Field::ctrl, Field::qfrc_applied, Field::xfrc_applied, Field::qpos, Field::qvel, Field::act];
            found = inputs.into_iter().find_map(|f| not_finite(&d, f));
            let mut largest: Option<(f64, Field, usize)> = None;
            for &call in &self.calls {
                if found.is_some() {
                    break;
                }
                kiloworld_cpu::run(call, self.m, &mut d);
                found = Field::written_by(call.stage).find_map(|f| not_finite(&d, f));
                if call.stage == Stage::Solver {
                    let far = d.qacc.iter().enumerate().filter(|x| x.1.abs() > MAXVAL);
                    largest =
                        far.map(|(i, x)| (x.abs(), Field::qacc, i)).max_by(|a, b| a.0.total_cmp(&b.0)).or(largest);
                }
            }
            // finite all along, but beyond what is sane: the acceleration tells whose it is
            found = found.or(largest.map(|(_, f, i)| (f, i)));
        }
        let (stage, field, index, value, element) = match found {
            Some((f, i)) => {
                let value = d.reals(f).and_then(|v| v.get(i)).map_or_else(String::new, f64::to_string);
                (f.info().stage.name(), f.name(), i, value, self.element(&d, f, i))
            }
            None => ("", "", 0, String::new(), String::new()),
        };
        Break { step: k, time, status: bits, words, stage, field, index, value, element }
    }

    /// The largest difference of a world's state from a record.
    fn difference(&self, d: &Data<f64>, record: &Record) -> Difference {
        let mut out = Difference { size: 0.0, field: "qpos", index: 0, element: String::new() };
        let mut at = Field::qpos;
        for field in [Field::qpos, Field::qvel, Field::act] {
            let Some(now) = d.reals(field) else { continue };
            for (i, (a, b)) in now.iter().zip(record.get(field)).enumerate() {
                if (a - b).abs() > out.size {
                    (out.size, out.field, out.index, at) = ((a - b).abs(), field.name(), i, field);
                }
            }
        }
        out.element = self.element(d, at, out.index);
        out
    }

    /// Whose number `i` of a field is.
    fn element(&self, d: &Data<f64>, field: Field, i: usize) -> String {
        let (m, about, info) = (self.m, self.about, field.info());
        let row = i / info.cols(&m.size).max(1);
        let id = |v: &[i32], i: usize| v.get(i).and_then(|&n| usize::try_from(n).ok());
        let joint = |j: usize| {
            let body = id(&m.jnt_bodyid, j).map(|b| about.element(Kind::Body, b));
            format!("{} of {}", about.element(Kind::Joint, j), body.unwrap_or_default())
        };
        let Dim::Size(size) = info.shape[0] else { return String::new() };
        let name = kiloworld_layout::Sizes::NAMES.iter().find(|n| n.1 == size).map_or("", |n| n.0);
        match name {
            "nq" => {
                let width = |j: usize| match m.jnt_type[j] {
                    jnt::FREE => 7,
                    jnt::BALL => 4,
                    _ => 1,
                };
                let has = |&j: &usize| id(&m.jnt_qposadr, j).is_some_and(|a| (a..a + width(j)).contains(&row));
                (0..m.size.njnt).find(has).map(joint).unwrap_or_default()
            }
            "nv" | "nvpad" => id(&m.dof_jntid, row).map(joint).unwrap_or_default(),
            "nbody" => about.element(Kind::Body, row),
            "njnt" => joint(row),
            "ngeom" => about.element(Kind::Geom, row),
            "nsite" => about.element(Kind::Site, row),
            "ntendon" => about.element(Kind::Tendon, row),
            "nu" => about.element(Kind::Actuator, row),
            "neq" => about.element(Kind::Equality, row),
            "na" => {
                let first = |&a: &usize| id(&m.actuator_actadr, a) == Some(row);
                (0..m.size.nu).find(first).map(|a| about.element(Kind::Actuator, a)).unwrap_or_default()
            }
            "nconmax" => self.contact(d, row),
            "njmax" => match (d.efc_type.get(row), id(&d.efc_id, row)) {
                (Some(0), Some(e)) => format!("row {row}, {}", about.element(Kind::Equality, e)),
                (Some(5..), Some(c)) => format!("row {row}, {}", self.contact(d, c)),
                _ => format!("row {row}"),
            },
            _ => format!("{name} {row}"),
        }
    }

    fn contact(&self, d: &Data<f64>, c: usize) -> String {
        let geom = |k: usize| d.contact_geom.get(2 * c + k).and_then(|&g| usize::try_from(g).ok());
        match (geom(0), geom(1)) {
            (Some(a), Some(b)) => {
                format!(
                    "contact {c} of {} and {}",
                    self.about.element(Kind::Geom, a),
                    self.about.element(Kind::Geom, b)
                )
            }
            _ => format!("contact {c}"),
        }
    }
}

/// The first number of a field that is not finite.
fn not_finite(d: &Data<f64>, field: Field) -> Option<(Field, usize)> {
    match d.get(field) {
        Some(Slice::F(v)) => v.iter().position(|x| !x.is_finite()).map(|i| (field, i)),
        _ => None,
    }
}
