//! The models that tests run over.

use crate::golden::Golden;
use kiloworld_layout::Model;

/// Models of the project, the hardest first.
pub const OWN: [&str; 4] = ["mix", "mix_pyr", "constraint_rows", "smooth_rk4"];

/// Models whose goldens `cargo xtask test` makes: one of the project's own that is too large to commit, and other people's.
pub const MADE: [&str; 4] = ["own/humanoid", "ant", "half_cheetah", "cartpole"];

/// Names of the models that are here; says aloud which are not.
pub fn names() -> Vec<&'static str> {
    let missing: Vec<_> = MADE.into_iter().filter(|n| Golden::path(n).is_none()).collect();
    if !missing.is_empty() {
        crate::left_out::left_out(&format!("no goldens of {}", missing.join(", ")));
    }
    OWN.into_iter().chain(MADE).filter(|n| !missing.contains(n)).collect()
}

/// A golden's model with kiloworld's own tables.
pub fn named(name: &str) -> Model<f64> {
    of(&Golden::named(name))
}

/// The model of a golden with kiloworld's own tables.
pub fn of(golden: &Golden) -> Model<f64> {
    let mut m = golden.model();
    let (ncon, nefc) = (m.size.nconmax, m.size.njmax);
    kiloworld_model::derived::fill(&mut m).expect("few pairs");
    (m.size.nconmax, m.size.njmax) = (ncon, nefc);
    // as the golden's rows are loaded
    m.size.njrow = m.size.nv;
    m
}

/// All of them.
pub fn all() -> Vec<(&'static str, Model<f64>)> {
    names().into_iter().map(|name| (name, named(name))).collect()
}
