//! Protocols that look at every step: a control's ramp, and how far items drift.

use crate::Error;
use crate::expr::Expr;
use crate::file::{Drift, Ramp};
use crate::run::Run;

/// The greater size of two, a NaN before all.
fn most(worst: f64, x: f64) -> f64 {
    if x.abs() <= worst { worst } else { x.abs() }
}

impl Run<'_> {
    /// The largest size of each signal over the steps of a ramp.
    pub(crate) fn ramp(&mut self, ramp: &Ramp) -> Result<Vec<Vec<f64>>, Error> {
        let n = self.worlds.len();
        let mut ramps = Vec::new();
        for w in 0..n {
            let period = self.eval(w, &self.set[w], &ramp.period.0)?;
            let target = self.eval(w, &self.set[w], &ramp.target.0)?;
            let whole = self.batch.ramp(&[ramp.actuator], &[target], ramp.seconds)?;
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of steps")]
            ramps.push(whole.with_period(period as usize)?);
        }
        let steps = ramps.iter().map(kiloworld_sim::Ramp::steps).max().unwrap_or(0);
        let mut worst = vec![vec![0.0; self.law.check.len()]; n];
        for k in 0..steps {
            self.batch.step_with(1, &|w, _, ctrl| ramps[w].ctrl(w, k, ctrl))?;
            // a world whose ramp is over waits for the others
            let going = ramps.iter().map(|r| k < r.steps());
            for ((now, worst), _) in self.sample()?.0.iter().zip(&mut worst).zip(going).filter(|(_, going)| *going) {
                now.iter().zip(worst).for_each(|(&x, worst)| *worst = most(*worst, x));
            }
        }
        Ok(worst)
    }

    /// The largest displacement of any item, for every check.
    pub(crate) fn drift(&mut self, drift: &Drift) -> Result<Vec<Vec<f64>>, Error> {
        self.batch.step(drift.settle)?;
        let first = self.places(drift)?;
        let mut worst = vec![0.0; self.worlds.len()];
        for _ in 0..drift.samples {
            self.batch.step(drift.every)?;
            for ((now, first), worst) in self.places(drift)?.iter().zip(&first).zip(&mut worst) {
                for (a, b) in now.iter().zip(first) {
                    let moved = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
                    *worst = most(*worst, moved);
                }
            }
        }
        let mut out = Vec::new();
        for (w, worst) in worst.into_iter().enumerate() {
            self.worlds[w].vars.insert("drift".to_owned(), Expr::Number(worst));
            let signals = self.law.check.iter().map(|c| self.eval(w, &self.set[w], &c.signal.0));
            out.push(signals.collect::<Result<Vec<_>, _>>()?);
        }
        Ok(out)
    }

    /// Where every item of every world is.
    fn places(&mut self, drift: &Drift) -> Result<Vec<Vec<Vec<f64>>>, Error> {
        let reads = self.reads.clone();
        let values = self.read(&reads)?;
        let mut out = Vec::new();
        for (w, values) in values.iter().enumerate() {
            let mut items = Vec::new();
            for i in drift.items[0]..=drift.items[1] {
                self.worlds[w].vars.insert("i".to_owned(), Expr::Number(i as f64));
                items.push(drift.parts.iter().map(|p| self.eval(w, values, &p.0)).collect::<Result<Vec<_>, _>>()?);
            }
            out.push(items);
        }
        Ok(out)
    }
}
