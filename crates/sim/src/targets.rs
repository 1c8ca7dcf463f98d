//! Targets: controls that run from where they are to where they shall be, a new value each control period.

use crate::Error;
use crate::batch::Batch;
use kiloworld_layout::Field;

/// Controls on a straight line in time, held for a control period each: a policy, or the controller of a robot, gives no more. A
/// stiff position servo kicks its link at each new value; the shorter the period, the smaller the kick.
#[derive(Clone, Debug)]
pub struct Ramp {
    actuators: Vec<usize>,
    /// (nworld, actuators)
    start: Vec<f64>,
    end: Vec<f64>,
    /// steps of a control period
    period: usize,
    /// control periods of the ramp
    periods: usize,
}

impl Ramp {
    /// Steps of the whole ramp.
    pub fn steps(&self) -> usize {
        self.period * self.periods
    }

    /// The same ramp, in the same number of steps, with another control period [steps].
    ///
    /// # Errors
    /// A period of no step.
    pub fn with_period(mut self, steps: usize) -> Result<Self, Error> {
        if steps == 0 {
            return Err(Error::ControlPeriod);
        }
        let all = self.steps();
        (self.period, self.periods) = (steps, all.div_ceil(steps));
        Ok(self)
    }

    /// Sets the controls of world `w` for step `k` of the ramp, those of no target left alone; after its end they stay.
    pub fn ctrl(&self, w: usize, k: usize, ctrl: &mut [f64]) {
        let n = self.actuators.len();
        let at = (k / self.period + 1).min(self.periods);
        let part = at as f64 / self.periods as f64;
        for (i, &a) in self.actuators.iter().enumerate() {
            let (from, to) = (self.start[w * n + i], self.end[w * n + i]);
            // the end exactly
            ctrl[a] = if at == self.periods { to } else { from + (to - from) * part };
        }
    }
}

impl Batch {
    /// A ramp of the controls of `actuators` from where they are now to `targets` in `seconds`, a whole number of control
    /// periods: one target an actuator for all worlds, or `(nworld, actuators)`. A world with a time step of its own takes as
    /// many steps as the others.
    pub fn ramp(&mut self, actuators: &[usize], targets: &[f64], seconds: f64) -> Result<Ramp, Error> {
        let (n, nu, nworld) = (actuators.len(), self.model().size.nu, self.nworld());
        for (i, &id) in actuators.iter().enumerate() {
            if id >= nu {
                return Err(Error::Actuator { id, nu });
            }
            if actuators[..i].contains(&id) {
                return Err(Error::RepeatedActuator(id));
            }
        }
        let end = if targets.len() == n { targets.repeat(nworld) } else { targets.to_vec() };
        if end.len() != n * nworld {
            return Err(Error::Targets { got: targets.len(), actuators: n, nworld });
        }
        if let Some(at) = end.iter().position(|x| !x.is_finite()) {
            let (world, index) = (at / n, actuators[at % n]);
            return Err(Error::NonFinite { field: "target", world, index, value: end[at] });
        }
        if !(seconds > 0.0 && seconds.is_finite()) {
            return Err(Error::RampTime(seconds));
        }
        let period = self.control_period();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of periods")]
        let periods = (seconds / (period as f64 * self.model().opt_timestep[0])).round().max(1.0) as usize;
        let ctrl = self.get(Field::ctrl)?;
        let start = (0..nworld).flat_map(|w| actuators.iter().map(move |&a| (w, a))).map(|(w, a)| ctrl[w * nu + a]);
        Ok(Ramp { actuators: actuators.to_vec(), start: start.collect(), end, period, periods })
    }

    /// Runs until the controls of `actuators` have come to `targets`: see [`Batch::ramp`]. Position servos follow them.
    pub fn run(&mut self, actuators: &[usize], targets: &[f64], seconds: f64) -> Result<(), Error> {
        let ramp = self.ramp(actuators, targets, seconds)?;
        let nu = self.model().size.nu;
        let mut ctrl = self.get(Field::ctrl)?;
        for p in 0..ramp.periods {
            ctrl.chunks_mut(nu.max(1)).enumerate().for_each(|(w, ctrl)| ramp.ctrl(w, p * ramp.period, ctrl));
            self.set(Field::ctrl, &ctrl)?;
            self.step(ramp.period)?;
        }
        Ok(())
    }
}
