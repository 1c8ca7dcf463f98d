//! The models that tests run over.

use crate::golden::Golden;
use kiloworld_layout::Model;

/// Names of the golden models.
pub const NAMES: [&str; 6] = ["ant", "cartpole", "half_cheetah", "humanoid", "mix", "mix_pyr"];

/// A golden's model with kiloworld's own tables.
pub fn named(name: &str) -> Model<f64> {
    of(&Golden::named(name))
}

/// The model of a golden with kiloworld's own tables.
pub fn of(golden: &Golden) -> Model<f64> {
    let mut m = golden.model();
    let (ncon, nefc) = (m.size.nconmax, m.size.njmax);
    kiloworld_model::derived::fill(&mut m);
    (m.size.nconmax, m.size.njmax) = (ncon, nefc);
    m
}

/// All of them.
pub fn all() -> Vec<(&'static str, Model<f64>)> {
    NAMES.into_iter().map(|name| (name, named(name))).collect()
}
