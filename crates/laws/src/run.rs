//! The protocols: worlds of a law are grouped by the options of the file, each group is one batch, and every case and
//! control is a world of it.

use crate::Error;
use crate::expr::{Expr, Names};
use crate::file::{Change, LawFile, Measure, Sweep, Texts, applies};
use crate::totals;
use crate::world::{Key, Values, View, World, apply};
use kiloworld_layout::{Buffer, Field, Slice};
use kiloworld_sim::{Batch, stiff_solref};
use std::collections::{BTreeMap, BTreeSet};

/// Makes a batch: model file, options of the file, number of worlds, fields that differ from world to world, contacts.
pub(crate) type Make<'a> =
    &'a dyn Fn(&str, &BTreeMap<String, String>, usize, &[Field], Option<usize>) -> Result<Batch, Error>;

/// What a world measured: the values of the law's checks, and the expected values of its case.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) case: usize,
    pub(crate) control: Option<usize>,
    pub(crate) measured: Vec<f64>,
    pub(crate) expected: Vec<f64>,
}

/// Measures every case, plain and under every control that is tried on it.
pub(crate) fn measure(law: &LawFile, fields: &BTreeSet<Field>, make: Make<'_>) -> Result<Vec<Outcome>, Error> {
    let mut groups: BTreeMap<BTreeMap<String, String>, Vec<World>> = BTreeMap::new();
    let plain = Change::default();
    let controls = law.control.iter().enumerate().map(|(i, c)| (Some(i), c.change(), c.cases.as_ref()));
    for (control, change, cases) in [(None, plain, None)].into_iter().chain(controls) {
        for (i, case) in law.case.iter().enumerate() {
            if applies(cases, &case.name) {
                for &part in parts(&law.measure) {
                    let w = World::new(i, control, part, &[law.change(), case.change(), change]);
                    groups.entry(w.option.clone()).or_default().push(w);
                }
            }
        }
    }
    let mut out = Vec::new();
    for (option, worlds) in groups {
        if let Measure::Bits(bits) = &law.measure {
            out.extend(crate::bits::measure(law, bits, worlds, make)?);
            continue;
        }
        out.extend(Run::new(law, worlds, &option, fields, make)?.measure()?);
    }
    out.sort_by_key(|o| (o.control, o.case));
    if let Measure::Same { .. } = law.measure {
        let first = out.first().map(|o| o.measured.clone()).unwrap_or_default();
        for o in &mut out {
            o.measured.iter_mut().zip(&first).for_each(|(x, f)| *x -= f);
        }
    }
    Ok(out)
}

/// The model fields that a law lets differ from world to world.
pub(crate) fn fields(law: &LawFile) -> Result<BTreeSet<Field>, String> {
    let mut changes = vec![law.change()];
    changes.extend(law.case.iter().map(crate::file::Case::change));
    changes.extend(law.control.iter().map(crate::file::Control::change));
    let mut fields = BTreeSet::new();
    for key in changes.iter().flat_map(|c| c.set.keys()) {
        fields.insert(Key::parse(key)?.field);
    }
    if parts(&law.measure).len() > 1 {
        fields.insert(Field::opt_timestep);
    }
    // a field of the host has no use on a device
    fields.retain(|f| f.info().buffer != Buffer::Host);
    Ok(fields)
}

/// What the step of a world is divided by, one world a part.
fn parts(measure: &Measure) -> &'static [usize] {
    match measure {
        Measure::Order { .. } => &[1, 2, 4],
        _ => &[1],
    }
}

/// One batch of a law.
pub(crate) struct Run<'a> {
    pub(crate) law: &'a LawFile,
    pub(crate) worlds: Vec<World>,
    pub(crate) batch: Batch,
    /// model fields of each world that differ from world to world
    pub(crate) set: Vec<Values>,
    /// what the checks read
    pub(crate) reads: Vec<Field>,
}

impl<'a> Run<'a> {
    fn new(
        law: &'a LawFile,
        worlds: Vec<World>,
        option: &BTreeMap<String, String>,
        fields: &BTreeSet<Field>,
        make: Make<'_>,
    ) -> Result<Self, Error> {
        let bad = |e: String| Error::Law(e);
        let fields: Vec<Field> = fields.iter().copied().collect();
        let mut batch = make(&law.model, option, worlds.len(), &fields, None)?;
        let model = batch.model().clone();
        let mut set = vec![Values::new(); worlds.len()];
        for (values, w) in set.iter_mut().zip(&worlds) {
            for &f in &fields {
                if let Some(Slice::F(v)) = model.get(f) {
                    values.insert(f, v.to_vec());
                }
            }
            // the time step first: stiff welds follow it
            let (step, rest): (Vec<_>, Vec<_>) = w.set.iter().map(split_timestep).unzip();
            for list in &step {
                apply(&model, values, &w.vars, list).map_err(bad)?;
            }
            if let Some(h) = values.get_mut(&Field::opt_timestep) {
                h[0] /= w.part as f64;
                let solref = stiff_solref(h[0]);
                if let Some(all) = values.get_mut(&Field::eq_solref) {
                    batch.stiff_rows().iter().for_each(|&e| all[2 * e..2 * e + 2].copy_from_slice(&solref));
                }
            }
            for list in &rest {
                apply(&model, values, &w.vars, list).map_err(bad)?;
            }
        }
        for &f in &fields {
            let all: Vec<f64> = set.iter().flat_map(|v| v[&f].iter().copied()).collect();
            batch.set(f, &all)?;
        }
        let names = |run: &mut BTreeSet<String>| {
            for c in &law.check {
                c.signal.0.names(run);
                c.expected.0.names(run);
            }
            if let Measure::Drift(drift) = &law.measure {
                drift.parts.iter().for_each(|p| p.0.names(run));
            }
            law.case.iter().flat_map(|c| c.expected.values()).for_each(|e| e.0.names(run));
            worlds.iter().flat_map(|w| w.vars.values()).for_each(|e| e.names(run));
        };
        let mut wanted = BTreeSet::new();
        names(&mut wanted);
        let reads = reads(&wanted);
        let mut run = Self { law, worlds, batch, set, reads };
        if let Some(key) = law.key {
            run.batch.reset(None, Some(key))?;
        }
        let lists = |w: &World| w.start.clone();
        run.start(lists)?;
        Ok(run)
    }

    /// Applies lists of state fields to every world.
    fn start(&mut self, lists: impl Fn(&World) -> Vec<BTreeMap<String, Texts>>) -> Result<(), Error> {
        let lists: Vec<_> = self.worlds.iter().map(lists).collect();
        start(&mut self.batch, &self.set, &lists, |w| &self.worlds[w].vars)
    }

    /// Reads fields of every world, with the world's own model fields.
    pub(crate) fn read(&mut self, fields: &[Field]) -> Result<Vec<Values>, Error> {
        let ids: Vec<usize> = (0..self.worlds.len()).collect();
        let read = self.batch.forward(&ids, fields)?;
        let mut out = self.set.clone();
        for (&f, all) in fields.iter().zip(&read) {
            let n = all.len() / ids.len();
            for (w, values) in out.iter_mut().enumerate() {
                values.insert(f, all[w * n..(w + 1) * n].to_vec());
            }
        }
        for values in &mut out {
            // both parts of a two-float position
            if let (Some(lo), Some(x)) = (values.get(&Field::xpos_lo).cloned(), values.get_mut(&Field::xpos)) {
                x.iter_mut().zip(lo).for_each(|(x, lo)| *x += lo);
            }
        }
        Ok(out)
    }

    pub(crate) fn eval(&self, w: usize, values: &Values, e: &Expr) -> Result<f64, Error> {
        let view = View::new(self.batch.model(), values, &self.worlds[w].vars, None);
        e.eval(&view as &dyn Names).map_err(Error::Law)
    }

    /// The checks' signals in every world, with the values they were taken from.
    pub(crate) fn sample(&mut self) -> Result<(Vec<Vec<f64>>, Vec<Values>), Error> {
        let reads = self.reads.clone();
        let values = self.read(&reads)?;
        let mut out = Vec::new();
        for (w, v) in values.iter().enumerate() {
            out.push(self.law.check.iter().map(|c| self.eval(w, v, &c.signal.0)).collect::<Result<Vec<_>, _>>()?);
        }
        Ok((out, values))
    }

    /// Runs the protocol.
    fn measure(mut self) -> Result<Vec<Outcome>, Error> {
        let law = self.law;
        let measured = match &law.measure {
            Measure::Final { steps } | Measure::Same { steps } => {
                self.batch.step(*steps)?;
                self.sample()?.0
            }
            Measure::Change { settle, steps } => self.change(*settle, *steps, false)?,
            Measure::Rate { settle, steps } => self.change(*settle, *steps, true)?,
            Measure::Conserved { samples, every } => {
                let first = self.sample()?.0;
                let mut worst: Vec<Vec<f64>> = first.iter().map(|f| vec![0.0; f.len()]).collect();
                for _ in 0..*samples {
                    self.batch.step(*every)?;
                    for ((now, first), worst) in self.sample()?.0.iter().zip(&first).zip(&mut worst) {
                        for ((x, a), most) in now.iter().zip(first).zip(worst) {
                            // a NaN must not be lost
                            *most = if (x - a).abs() <= *most { *most } else { (x - a).abs() };
                        }
                    }
                }
                worst
            }
            Measure::Period { first, count, window } => self.period(*first, *count, *window)?,
            Measure::Order { steps } => self.order(*steps)?,
            Measure::Sweep(sweep) => self.sweep(sweep)?,
            Measure::Drift(drift) => self.drift(drift)?,
            Measure::Ramp(ramp) => self.ramp(ramp)?,
            Measure::Bits(_) => Vec::new(),
        };
        let reads = self.reads.clone();
        let values = self.read(&reads)?;
        let mut out = Vec::new();
        for (w, measured) in measured.into_iter().enumerate() {
            let world = &self.worlds[w];
            if world.part > 1 {
                continue;
            }
            let special = &law.case[world.case].expected;
            let expected = law
                .check
                .iter()
                .map(|c| self.eval(w, &values[w], &special.get(&c.name).unwrap_or(&c.expected).0))
                .collect::<Result<Vec<_>, _>>()?;
            out.push(Outcome { case: world.case, control: world.control, measured, expected });
        }
        Ok(out)
    }

    fn change(&mut self, settle: usize, steps: usize, rate: bool) -> Result<Vec<Vec<f64>>, Error> {
        self.batch.step(settle)?;
        let (first, t0) = (self.sample()?.0, self.batch.get(Field::time)?);
        self.batch.step(steps)?;
        let (mut last, t1) = (self.sample()?.0, self.batch.get(Field::time)?);
        for (w, (last, first)) in last.iter_mut().zip(&first).enumerate() {
            for ((x, a), check) in last.iter_mut().zip(first).zip(&self.law.check) {
                if check.kind.is_none() {
                    *x = (*x - a) / if rate { t1[w] - t0[w] } else { 1.0 };
                }
            }
        }
        Ok(last)
    }

    /// Only the first check is a period.
    fn period(&mut self, first: f64, count: f64, window: usize) -> Result<Vec<Vec<f64>>, Error> {
        let check = &self.law.check[0];
        let h = self.batch.model().opt_timestep[0];
        let reads = self.reads.clone();
        let values = self.read(&reads)?;
        // the steps at which a world is looked at
        let mut looks: Vec<[usize; 2]> = Vec::new();
        for (w, v) in values.iter().enumerate() {
            let expected = self.eval(w, v, &check.expected.0)?;
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a number of steps")]
            let at = |periods: f64| ((periods * expected / h).round() as usize).saturating_sub(window);
            looks.push([at(first), at(first + count)]);
        }
        let n = looks.len();
        let (mut times, mut before) = (vec![[f64::NAN; 2]; n], vec![f64::NAN; n]);
        let end = looks.iter().map(|l| l[1] + 2 * window).max().unwrap_or(0);
        let mut k = 0;
        while k <= end {
            let inside = |at: usize| (at..=at + 2 * window).contains(&k);
            if looks.iter().flatten().any(|&at| inside(at)) {
                let values = self.read(&reads)?;
                for w in 0..n {
                    let x = self.eval(w, &values[w], &check.signal.0)?;
                    for (time, &at) in times[w].iter_mut().zip(&looks[w]) {
                        if inside(at) && k > at && before[w] < 0.0 && x >= 0.0 {
                            *time = (k as f64 - x / (x - before[w])) * h;
                        }
                    }
                    before[w] = x;
                }
                self.batch.step(1)?;
                k += 1;
            } else {
                let next = looks.iter().flatten().copied().filter(|&at| at > k).min().unwrap_or(end + 1);
                self.batch.step(next - k)?;
                k = next;
            }
        }
        Ok(times.iter().map(|t| vec![(t[1] - t[0]) / count]).collect())
    }

    fn order(&mut self, steps: usize) -> Result<Vec<Vec<f64>>, Error> {
        // worlds with a part of the step take as many times the steps for the same time
        let mut ends: Vec<Vec<f64>> = vec![Vec::new(); self.worlds.len()];
        let mut done = 0;
        for &part in parts(&self.law.measure) {
            self.batch.step(part * steps - done)?;
            done = part * steps;
            let now = self.sample()?.0;
            for ((end, w), now) in ends.iter_mut().zip(&self.worlds).zip(now) {
                if w.part == part {
                    *end = now;
                }
            }
        }
        let mut out = Vec::new();
        for w in &self.worlds {
            let end = |part: usize| {
                let same = |o: &&World| (o.case, o.control, o.part) == (w.case, w.control, part);
                self.worlds.iter().position(|o| same(&o)).map(|i| &ends[i])
            };
            let order = match (end(1), end(2), end(4)) {
                (Some(a), Some(b), Some(c)) => {
                    (0..a.len()).map(|i| ((a[i] - b[i]) / (b[i] - c[i])).abs().log2()).collect()
                }
                _ => Vec::new(),
            };
            out.push(order);
        }
        Ok(out)
    }

    fn sweep(&mut self, sweep: &Sweep) -> Result<Vec<Vec<f64>>, Error> {
        let Sweep { var, from, by, hold, most, until, place, r#move } = sweep;
        let n = self.worlds.len();
        let mut x = Vec::new();
        for w in 0..n {
            x.push(self.eval(w, &self.set[w], &from.0)?);
        }
        let mut wanted = BTreeSet::new();
        until.signal.0.names(&mut wanted);
        let wanted = reads(&wanted);
        let mut found = vec![f64::NAN; n];
        for k in 0..=*most {
            for (w, x) in self.worlds.iter_mut().zip(&x) {
                w.vars.insert(var.clone(), Expr::Number(*x));
            }
            let list = if k == 0 { place } else { r#move };
            self.start(|_| vec![list.clone()])?;
            if k > 0 {
                self.batch.step(*hold)?;
                let values = self.read(&wanted)?;
                for w in 0..n {
                    let above = self.eval(w, &values[w], &until.above.0)?;
                    if found[w].is_nan() && self.eval(w, &values[w], &until.signal.0)? > above {
                        found[w] = x[w];
                    }
                }
                if found.iter().all(|f| !f.is_nan()) {
                    break;
                }
            }
            x.iter_mut().for_each(|x| *x += by);
        }
        let mut out = Vec::new();
        for (w, x) in found.iter().enumerate() {
            self.worlds[w].vars.insert(var.clone(), Expr::Number(*x));
            let signals = self.law.check.iter().map(|c| self.eval(w, &self.set[w], &c.signal.0));
            out.push(signals.collect::<Result<Vec<_>, _>>()?);
        }
        Ok(out)
    }
}

/// Applies lists of state fields, those of `lists[w]` to world `w` with its own model fields `set[w]`.
pub(crate) fn start<'v>(
    batch: &mut Batch,
    set: &[Values],
    lists: &[Vec<BTreeMap<String, Texts>>],
    vars: impl Fn(usize) -> &'v BTreeMap<String, Expr>,
) -> Result<(), Error> {
    let mut fields = BTreeSet::new();
    for key in lists.iter().flatten().flat_map(BTreeMap::keys) {
        fields.insert(Key::parse(key).map_err(Error::Law)?.field);
    }
    for f in fields {
        let mut all = batch.get(f)?;
        let n = all.len() / lists.len();
        for (w, lists) in lists.iter().enumerate() {
            let mut values = set.get(w).cloned().unwrap_or_default();
            values.insert(f, all[w * n..(w + 1) * n].to_vec());
            for list in lists {
                let of = |key: &str| Key::parse(key).is_ok_and(|k| k.field == f);
                let list = list.iter().filter(|(k, _)| of(k)).map(|(k, v)| (k.clone(), v.clone())).collect();
                apply(batch.model(), &mut values, vars(w), &list).map_err(Error::Law)?;
            }
            all[w * n..(w + 1) * n].copy_from_slice(&values[&f]);
        }
        batch.set(f, &all)?;
    }
    Ok(())
}

/// What is set to the time step, and the rest.
fn split_timestep(list: &BTreeMap<String, Texts>) -> (BTreeMap<String, Texts>, BTreeMap<String, Texts>) {
    let clock = |key: &str| Key::parse(key).is_ok_and(|k| k.field == Field::opt_timestep);
    list.iter().map(|(k, v)| (k.clone(), v.clone())).partition(|(k, _)| clock(k))
}

/// The fields of a world that names refer to.
fn reads(names: &BTreeSet<String>) -> Vec<Field> {
    let mut out = BTreeSet::new();
    for name in names {
        match name.as_str() {
            "energy" | "momentum" | "spin" => out.extend(totals::NEEDS),
            "normal_force" => out.extend([
                Field::ncon,
                Field::contact_geom,
                Field::contact_dim,
                Field::contact_efc_address,
                Field::efc_force,
            ]),
            _ => out.extend(Field::from_name(name)),
        }
    }
    if out.contains(&Field::xpos) {
        out.insert(Field::xpos_lo);
    }
    out.into_iter().filter(|f| !f.info().is_model()).collect()
}

/// What a law file refers to that is not there: checks and cases named by controls, and checks that no control covers.
pub(crate) fn lint(law: &LawFile) -> Vec<String> {
    let mut out = Vec::new();
    let known = |list: Option<&Vec<String>>, names: &[&str], what: &str, out: &mut Vec<String>| {
        for name in list.into_iter().flatten().filter(|n| !names.contains(&n.as_str())) {
            out.push(format!("no {what} `{name}`"));
        }
    };
    let mut changes = vec![law.change()];
    changes.extend(law.case.iter().map(crate::file::Case::change));
    changes.extend(law.control.iter().map(crate::file::Control::change));
    if changes.iter().any(|c| c.vars.contains_key("x")) {
        out.push("`x` stands for the present value of what is set: no variable can have that name".to_owned());
    }
    let cases: Vec<&str> = law.case.iter().map(|c| c.name.as_str()).collect();
    let checks: Vec<&str> = law.check.iter().map(|c| c.name.as_str()).collect();
    law.check.iter().for_each(|c| known(c.cases.as_ref(), &cases, "case", &mut out));
    for c in &law.control {
        known(c.cases.as_ref(), &cases, "case", &mut out);
        known(c.fails.as_ref(), &checks, "check", &mut out);
    }
    for case in &law.case {
        for name in case.expected.keys().filter(|n| !checks.contains(&n.as_str())) {
            out.push(format!("no check `{name}`"));
        }
        for check in law.check.iter().filter(|c| applies(c.cases.as_ref(), &case.name)) {
            let covers = |c: &crate::file::Control| {
                applies(c.cases.as_ref(), &case.name) && applies(c.fails.as_ref(), &check.name)
            };
            if !law.control.iter().any(covers) {
                out.push(format!("no control covers `{}` of case `{}`", check.name, case.name));
            }
        }
    }
    out
}
