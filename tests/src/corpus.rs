//! Where tests find models: the project's own, and other people's, which are not in the repository.

use crate::left_out::left_out;
use std::path::{Path, PathBuf};

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The models of the corpus, which other people wrote.
pub const MODELS: [&str; 24] = [
    "aero_hand_cube",
    "aloha",
    "ant",
    "balloons",
    "cartpole",
    "dog",
    "fetch_pick_place",
    "franka_arrange_boxes",
    "fruitfly",
    "g1",
    "go1_rough_terrain",
    "go2",
    "half_cheetah",
    "humanoid",
    "jaco",
    "myoarm_bionic",
    "openarm_balance",
    "panda",
    "quadruped",
    "robot_arm",
    "safety_car",
    "sawyer_pick_place",
    "shadow_hand_block",
    "three_humanoids",
];

/// The folder of other people's models: `KILOWORLD_CORPUS`, else `../shared/corpus` beside the repository, else what `cargo xtask
/// test` has fetched. A test that asks for it leaves out what is not there.
pub fn corpus() -> Option<PathBuf> {
    let places = match std::env::var_os("KILOWORLD_CORPUS") {
        Some(given) => vec![PathBuf::from(given)],
        None => vec![root().join("../shared/corpus"), root().join("target/corpus")],
    };
    let Some(dir) = places.into_iter().find(|dir| dir.join("index.json").is_file()) else {
        left_out("other people's models (set KILOWORLD_CORPUS, or run `cargo xtask test` with a network)");
        return None;
    };
    let there = corpus_models(&dir);
    let missing: Vec<_> = MODELS.into_iter().filter(|name| !there.iter().any(|(n, _)| n == name)).collect();
    if !missing.is_empty() {
        left_out(&format!("models that no package has: {}", missing.join(", ")));
    }
    Some(dir)
}

/// The models that a corpus has: name and main file.
pub fn corpus_models(dir: &Path) -> Vec<(String, PathBuf)> {
    let file = dir.join("index.json");
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let index: std::collections::BTreeMap<String, String> = serde_json::from_str(&text).expect("names and files");
    index.into_iter().map(|(name, main)| (name.clone(), dir.join(name).join(main))).collect()
}

/// The golden of a corpus model: see [`made_golden`].
pub fn corpus_golden(name: &str) -> Option<PathBuf> {
    made_golden(&format!("{name}.npz"))
}

/// A file that `cargo xtask test` makes in `KILOWORLD_GOLDEN`, else `target/golden`; without it a test leaves
/// out what it is for.
pub fn made_golden(name: &str) -> Option<PathBuf> {
    let dir = std::env::var_os("KILOWORLD_GOLDEN").map_or_else(|| root().join("target/golden"), PathBuf::from);
    let file = dir.join(name);
    if file.exists() {
        return Some(file);
    }
    left_out(&format!("no target/golden/{name}: `cargo xtask test` makes it"));
    None
}

/// The golden of one of the project's own models that is too many to commit, made by `cargo xtask test`.
pub fn own_golden(name: &str) -> Option<PathBuf> {
    corpus_golden(&format!("own/{name}"))
}
