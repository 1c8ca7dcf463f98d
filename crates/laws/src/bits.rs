//! The batch laws: a world's bits depend on nothing but the world.

use crate::Error;
use crate::expr::Expr;
use crate::file::{Bits, LawFile, Texts, What};
use crate::run::{Make, Outcome, start};
use crate::world::World;
use kiloworld_layout::{Buffer, Field, Stage, consts::status};
use kiloworld_sim::{Batch, rng};
use std::collections::BTreeMap;

/// Worlds that are compared with themselves alone.
const NAMES: usize = 5;
/// The worlds that are disturbed: reset, given a force that is not a number, given more contacts than have room.
const RESET: usize = 1;
const POISONED: usize = 3;
const CROWDED: usize = 5;
/// The largest random velocity that a world starts with on top of the law's.
const SPEED: f64 = 0.5;

/// What persists of a world, and what its last step counted.
fn kept() -> impl Iterator<Item = Field> {
    // what was found in a world has no part in its motion
    let state = Field::TABLE.iter().filter(|f| f.buffer == Buffer::State && f.stage != Stage::Health);
    state.map(|f| f.field).filter(|&f| f != Field::qpos_lo).chain([
        Field::eq_active,
        Field::ncon,
        Field::nefc,
        Field::solver_niter,
        Field::status,
    ])
}

/// What a user saves of a world to go on from there.
fn saved() -> impl Iterator<Item = Field> {
    kept().filter(|&f| f.info().buffer == Buffer::State || f == Field::eq_active)
}

/// The protocol's batches of one world of the law file.
struct Rig<'a> {
    law: &'a LawFile,
    bits: &'a Bits,
    world: &'a World,
    make: Make<'a>,
}

/// A number of the law file's own world, 0 where it has none.
fn var(world: &World, name: &str) -> f64 {
    match world.vars.get(name) {
        Some(Expr::Number(x)) => *x,
        _ => 0.0,
    }
}

/// Measures the law: the number of worlds that differ, and of those that are frozen, as the variables `different` and `frozen`.
pub(crate) fn measure(law: &LawFile, bits: &Bits, worlds: Vec<World>, make: Make<'_>) -> Result<Vec<Outcome>, Error> {
    let mut out = Vec::new();
    for mut world in worlds {
        let rig = Rig { law, bits, world: &world, make };
        let (different, frozen) = rig.run()?;
        world.vars.insert("different".to_owned(), Expr::Number(different as f64));
        world.vars.insert("frozen".to_owned(), Expr::Number(frozen as f64));
        let batch = make(&law.model, &world.option, 1, &[], bits.nconmax)?;
        let value = |e: &Expr| world.eval(batch.model(), e).map_err(Error::Law);
        let special = &law.case[world.case].expected;
        out.push(Outcome {
            case: world.case,
            control: world.control,
            measured: law.check.iter().map(|c| value(&c.signal.0)).collect::<Result<_, _>>()?,
            expected: law
                .check
                .iter()
                .map(|c| value(&special.get(&c.name).unwrap_or(&c.expected).0))
                .collect::<Result<_, _>>()?,
        });
    }
    Ok(out)
}

impl Rig<'_> {
    /// A batch whose world `i` is the one called `who[i]`: its own start velocity, later its own controls.
    fn batch(&self, who: &[usize]) -> Result<Batch, Error> {
        let mut batch = (self.make)(&self.law.model, &self.world.option, who.len(), &[], self.bits.nconmax)?;
        if let Some(key) = self.law.key {
            batch.reset(None, Some(key))?;
        }
        let lists: Vec<Vec<BTreeMap<String, Texts>>> = vec![self.world.start.clone(); who.len()];
        start(&mut batch, &[], &lists, |_| &self.world.vars)?;
        let mut qvel = batch.get(Field::qvel)?;
        let nv = qvel.len() / who.len();
        for (qvel, &w) in qvel.chunks_mut(nv).zip(who) {
            qvel.iter_mut().enumerate().for_each(|(i, x)| *x += SPEED * (2.0 * rng::uniform(7, w, 0, i) - 1.0));
        }
        batch.set(Field::qvel, &qvel)?;
        Ok(batch)
    }

    /// Steps `n` times from step `at`, each world with the controls of its name.
    fn step(&self, batch: &mut Batch, who: &[usize], at: usize, n: usize) -> Result<(), Error> {
        let ranges = batch.ctrl_ranges();
        batch.step_with(n, &|w, k, ctrl| {
            for (i, (c, (lo, hi))) in ctrl.iter_mut().zip(&ranges).enumerate() {
                *c = lo + (hi - lo) * rng::uniform(3, who[w], at + k, i);
            }
        })?;
        Ok(())
    }

    /// What the control asks for: the first velocity of world `w` greater by so many units of its last place.
    fn nudge(&self, batch: &mut Batch, w: usize) -> Result<(), Error> {
        let ulps = var(self.world, "nudge");
        if ulps > 0.0 {
            let single = batch.routes().precision == "f32";
            let mut qvel = batch.get(Field::qvel)?;
            let at = w * qvel.len() / batch.nworld();
            let up = |x: f64| if single { f64::from((x as f32).next_up()) } else { x.next_up() };
            (0..ulps as usize).for_each(|_| qvel[at] = up(qvel[at]));
            batch.set(Field::qvel, &qvel)?;
        }
        Ok(())
    }

    /// Worlds that differ and worlds that are frozen.
    fn run(&self) -> Result<(usize, usize), Error> {
        let most = self.bits.sizes.iter().copied().max().unwrap_or(1);
        match self.bits.what {
            What::Alone => Ok((self.alone()?, 0)),
            What::Twice => Ok((self.twice(most)?, 0)),
            What::Neighbours => self.neighbours(most.max(CROWDED + 1)),
            What::Restored => Ok((self.restored(most)?, 0)),
        }
    }

    /// Sizes that are tried: a device made of CPU cores takes long over many, and a control is as good on few.
    fn sizes(&self, batch: &Batch) -> Vec<usize> {
        let few = batch.on_software_device() || self.world.control.is_some();
        self.bits.sizes.iter().copied().filter(|&n| !few || n <= self.bits.few).collect()
    }

    /// B1: worlds by themselves against the same ones at other places of batches.
    fn alone(&self) -> Result<usize, Error> {
        let mut alone = Vec::new();
        let mut sizes = Vec::new();
        for w in 0..NAMES {
            let mut batch = self.batch(&[w])?;
            sizes = self.sizes(&batch);
            self.nudge(&mut batch, 0)?;
            self.step(&mut batch, &[w], 0, self.bits.steps)?;
            alone.push(bits(&mut batch)?.remove(0));
        }
        let mut different = 0;
        for n in sizes {
            // the worlds of interest stand at the end, in reverse
            let who: Vec<usize> = (0..n).rev().collect();
            let mut batch = self.batch(&who)?;
            self.step(&mut batch, &who, 0, self.bits.steps)?;
            let now = bits(&mut batch)?;
            different += (0..n.min(NAMES)).filter(|&w| now[n - 1 - w] != alone[w]).count();
        }
        Ok(different)
    }

    /// B2: the same run twice.
    fn twice(&self, most: usize) -> Result<usize, Error> {
        let n = self.sizes(&self.batch(&[0])?).into_iter().max().unwrap_or(most);
        let who: Vec<usize> = (0..n).collect();
        let mut ends = Vec::new();
        for second in [false, true] {
            let mut batch = self.batch(&who)?;
            if second {
                self.nudge(&mut batch, n / 2)?;
            }
            self.step(&mut batch, &who, 0, self.bits.steps)?;
            ends.push(bits(&mut batch)?);
        }
        Ok(count(&ends[0], &ends[1], |_| true))
    }

    /// B3: worlds beside those that are reset, poisoned and crowded, against the same ones undisturbed.
    fn neighbours(&self, n: usize) -> Result<(usize, usize), Error> {
        let who: Vec<usize> = (0..n).collect();
        let (mut calm, mut hurt) = (self.batch(&who)?, self.batch(&who)?);
        let steps = self.bits.steps;
        self.step(&mut calm, &who, 0, steps)?;
        self.step(&mut hurt, &who, 0, steps)?;
        if var(self.world, "calm") == 0.0 {
            hurt.reset(Some(&[RESET]), None)?;
            let mut force = vec![0.0; hurt.model().size.nv];
            force[0] = f64::NAN;
            hurt.set_rows(Field::qfrc_applied, &[POISONED], &force)?;
            if let Some(key) = self.bits.crowd {
                hurt.reset(Some(&[CROWDED]), Some(key))?;
            }
        }
        self.step(&mut calm, &who, steps, steps)?;
        self.step(&mut hurt, &who, steps, steps)?;
        let frozen = hurt.status()?.iter().filter(|&&s| s & status::FROZEN != 0).count();
        let all = var(self.world, "all") != 0.0;
        let compared = |w: usize| all || ![RESET, POISONED, CROWDED].contains(&w);
        Ok((count(&bits(&mut calm)?, &bits(&mut hurt)?, compared), frozen))
    }

    /// B4: saved, restored into another batch and stepped on, against never stopped.
    fn restored(&self, n: usize) -> Result<usize, Error> {
        let who: Vec<usize> = (0..n).collect();
        let steps = self.bits.steps;
        let mut through = self.batch(&who)?;
        self.step(&mut through, &who, 0, steps)?;
        let forget = var(self.world, "forget") != 0.0;
        let mut other = self.batch(&who)?;
        for field in saved().filter(|&f| !(forget && f == Field::qacc_warmstart)) {
            let values = through.get(field)?;
            other.set(field, &values)?;
        }
        self.nudge(&mut other, n / 2)?;
        self.step(&mut through, &who, steps, steps)?;
        self.step(&mut other, &who, steps, steps)?;
        Ok(count(&bits(&mut through)?, &bits(&mut other)?, |_| true))
    }
}

/// Everything that worlds keep, as bits.
fn bits(batch: &mut Batch) -> Result<Vec<Vec<u64>>, Error> {
    let n = batch.nworld();
    let mut worlds = vec![Vec::new(); n];
    for field in kept() {
        let values = batch.get(field)?;
        let len = values.len() / n;
        if len > 0 {
            worlds.iter_mut().zip(values.chunks(len)).for_each(|(w, row)| w.extend(row.iter().map(|x| x.to_bits())));
        }
    }
    Ok(worlds)
}

/// Worlds among those compared that differ.
fn count(a: &[Vec<u64>], b: &[Vec<u64>], compared: impl Fn(usize) -> bool) -> usize {
    (0..a.len()).filter(|&w| compared(w) && a[w] != b[w]).count()
}
