//! The models that tests run over.

use crate::golden::Golden;
use kiloworld_layout::Model;

/// Models of the project, the hardest first.
pub const OWN: [&str; 4] = ["mix", "mix_pyr", "constraint_rows", "smooth_rk4"];

/// Models of the corpus: other people's, with goldens where they could be made.
pub const CORPUS: [&str; 4] = ["humanoid", "ant", "half_cheetah", "cartpole"];

/// Names of the models that are here; says aloud which are not.
#[expect(clippy::print_stderr, reason = "a skip must be seen")]
pub fn names() -> Vec<&'static str> {
    let missing: Vec<_> = CORPUS.into_iter().filter(|n| Golden::path(n).is_none()).collect();
    if !missing.is_empty() {
        eprintln!("SKIPPED: no goldens of {}: run `cargo xtask test` with the corpus", missing.join(", "));
    }
    OWN.into_iter().chain(CORPUS).filter(|n| !missing.contains(n)).collect()
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
