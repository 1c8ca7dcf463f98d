//! Where tests find models: the project's own, and other people's, which are not in the repository.

#![expect(clippy::print_stdout, reason = "a skipped test must say so")]

use std::path::{Path, PathBuf};

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The folder of other people's models: `KILOWORLD_CORPUS`, else `../shared/corpus` beside the repository. Without one a
/// test that needs it says that it is skipped; under CI it fails.
pub fn corpus() -> Option<PathBuf> {
    let dir = std::env::var_os("KILOWORLD_CORPUS").map_or_else(|| root().join("../shared/corpus"), PathBuf::from);
    if dir.is_dir() {
        return Some(dir);
    }
    let message = format!("no corpus in {}: set KILOWORLD_CORPUS", dir.display());
    assert!(std::env::var_os("CI").is_none_or(|v| v.is_empty() || v == "false"), "{message}");
    println!("SKIPPED: {message}");
    None
}

/// The models of a corpus: name and main file.
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

/// A file that `cargo xtask test` makes in `KILOWORLD_GOLDEN`, else `target/golden`; without it a test is skipped as without a
/// corpus.
pub fn made_golden(name: &str) -> Option<PathBuf> {
    let dir = std::env::var_os("KILOWORLD_GOLDEN").map_or_else(|| root().join("target/golden"), PathBuf::from);
    let file = dir.join(name);
    if file.exists() {
        return Some(file);
    }
    let message = format!("no {}: `cargo xtask test` makes it", file.display());
    assert!(std::env::var_os("CI").is_none_or(|v| v.is_empty() || v == "false"), "{message}");
    println!("SKIPPED: {message}");
    None
}

/// The golden of one of the project's own models that is too many to commit, made by `cargo xtask test`.
pub fn own_golden(name: &str) -> Option<PathBuf> {
    corpus_golden(&format!("own/{name}"))
}
