//! Welds and connects whose file leaves their softness open: the stiff rule.
//!
//! MuJoCo's default row is a spring of 0.02 s: 2.3 mm per kN on a pair of 9 kg. Under the stiff rule such a row is as stiff as the
//! step allows, k = 0.36/h², with impedance 0.999, some thousand times stiffer and as cheap. What a file writes stands.

use crate::{Error, WeldRoutes};
use kiloworld_layout::Model;
use kiloworld_layout::consts::eq;
use kiloworld_model::{SOLIMP, SOLREF};
use std::collections::BTreeSet;

/// What becomes of weld and connect rows of a file that sets neither `solref` nor `solimp`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Welds {
    /// as stiff as the time step allows: see [`stiff_solref`]
    #[default]
    Stiff,
    /// MuJoCo's default, 0.02 s and 0.9 to 0.95
    Mujoco,
}

impl core::str::FromStr for Welds {
    type Err = Error;
    fn from_str(text: &str) -> Result<Self, Error> {
        match text {
            "stiff" => Ok(Self::Stiff),
            "mujoco" => Ok(Self::Mujoco),
            _ => Err(Error::Welds(text.to_owned())),
        }
    }
}

/// Where the softness of an equality's rows comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RowRule {
    /// the stiff rule
    Stiff,
    /// the model file
    File,
    /// MuJoCo's default
    Mujoco,
}

/// `solimp` of a row under the stiff rule.
pub const STIFF_SOLIMP: [f64; 5] = [0.999, 0.999, 0.001, 0.5, 2.0];

/// `solref` of a row under the stiff rule at a time step `h` [s]: stiffness 1/τ² and damping 2/τ for τ = 5h/3, critically damped.
/// The direct, negative form: MuJoCo raises a time constant to 2h.
pub fn stiff_solref(h: f64) -> [f64; 2] {
    let tau = 5.0 * h / 3.0;
    [-1.0 / (tau * tau), -2.0 / tau]
}

/// The rule of equality `e` of a model as compiled. Rows of joints and tendons are MuJoCo's or the file's.
pub fn rule(m: &Model<f64>, e: usize, welds: Welds) -> RowRule {
    // what is written out as the defaults counts as not written
    if m.eq_solref[2 * e..2 * e + 2] != SOLREF || m.eq_solimp[5 * e..5 * e + 5] != SOLIMP {
        return RowRule::File;
    }
    match (welds, m.eq_type[e]) {
        (Welds::Stiff, eq::WELD | eq::CONNECT) => RowRule::Stiff,
        _ => RowRule::Mujoco,
    }
}

/// The equalities of a batch that are under the stiff rule.
#[derive(Clone, Debug, Default)]
pub(crate) struct StiffRows {
    rows: Vec<usize>,
    /// worlds whose rows are the user's
    released: BTreeSet<usize>,
    /// counts of all equalities
    pub(crate) counts: WeldRoutes,
}

impl StiffRows {
    /// Finds them in a model as compiled, and gives them their softness at its time step.
    pub(crate) fn apply(m: &mut Model<f64>, welds: Welds) -> Self {
        let file = &m.clone();
        let rows: Vec<usize> = (0..m.size.neq).filter(|&e| rule(m, e, welds) == RowRule::Stiff).collect();
        for &e in &rows {
            m.eq_solimp[5 * e..5 * e + 5].copy_from_slice(&STIFF_SOLIMP);
        }
        let count = |of: RowRule| (0..m.size.neq).filter(|&e| rule(file, e, welds) == of).count();
        let counts =
            WeldRoutes { rule: welds, stiff: rows.len(), file: count(RowRule::File), mujoco: count(RowRule::Mujoco) };
        let stiff = Self { rows, released: BTreeSet::new(), counts };
        let h = m.opt_timestep[0];
        stiff.solref(h, &mut m.eq_solref);
        stiff
    }

    /// Writes their `solref` at a time step `h` into one world's array.
    pub(crate) fn solref(&self, h: f64, solref: &mut [f64]) {
        for &e in &self.rows {
            solref[2 * e..2 * e + 2].copy_from_slice(&stiff_solref(h));
        }
    }

    /// Ids of the equalities.
    pub(crate) fn ids(&self) -> &[usize] {
        &self.rows
    }

    /// Leaves the rows of worlds to whoever has set them.
    pub(crate) fn release(&mut self, worlds: &[usize]) {
        self.released.extend(worlds);
    }

    /// The worlds of `ids` whose rows follow their new time steps, and their `solref`, (worlds, 2 neq).
    pub(crate) fn follow(&self, m: &Model<f64>, ids: &[usize], steps: &[f64]) -> (Vec<usize>, Vec<f64>) {
        let (mut worlds, mut all) = (Vec::new(), Vec::new());
        for (&w, &h) in ids.iter().zip(steps).filter(|(w, _)| !self.rows.is_empty() && !self.released.contains(w)) {
            let mut solref = m.eq_solref.clone();
            self.solref(h, &mut solref);
            worlds.push(w);
            all.extend(solref);
        }
        (worlds, all)
    }
}
