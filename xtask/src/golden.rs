//! `cargo xtask golden`: the goldens of the project's own models, made or checked with MuJoCo.

use crate::setup;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Models with a committed golden of this extension: `npz` for every stage, `json` for compiled fields only.
fn models(extension: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(crate::root().join("tests/golden"))? {
        let golden = entry?.path();
        let Some(stem) = golden.file_stem().filter(|_| golden.extension().is_some_and(|e| e == extension)) else {
            continue;
        };
        let name = PathBuf::from(stem).with_extension("xml");
        let places = ["models", "tests/mjcf/ok"].map(|dir| crate::root().join(dir).join(&name));
        files.extend(places.into_iter().find(|p| p.exists()));
    }
    files.sort();
    Ok(files)
}

pub(crate) fn run(check: bool) -> Result<()> {
    let python = setup::python()?;
    let dir = crate::root().join("tests/golden");
    // fewer states and steps than of the models in `models/`, because these files are committed
    for (extension, options) in [("npz", &["--states", "10", "--steps", "100"][..]), ("json", &["--fields"])] {
        let mut command = Command::new(&python);
        command.arg(dir.join("make.py")).args(options);
        if check {
            command.arg("--check");
        }
        setup::run(command.arg(&dir).args(models(extension)?))?;
    }
    let errors = crate::root().join("tests/mjcf/errors.txt");
    setup::run(Command::new(&python).arg(dir.join("errors.py")).args(check.then_some("--check")).arg(errors))?;
    let objs = dir.join("obj.json");
    setup::run(Command::new(&python).arg(dir.join("make_obj.py")).args(check.then_some("--check")).arg(objs))?;
    if check {
        return Ok(());
    }
    let swept = ["solver_elliptic", "solver_pyramid", "mix", "mix_pyr"]
        .map(|n| crate::root().join("tests/mjcf/ok").join(n).with_extension("xml"));
    setup::run(Command::new(&python).arg(dir.join("make_solver.py")).arg(&dir).args(swept))
}

/// Random models with MuJoCo's compiled fields, in `target/golden/random`.
pub(crate) fn random() -> Result<()> {
    let out = crate::root().join("target/golden/random");
    let script = crate::root().join("tests/golden/random_models.py");
    let stamp = out.join("made-by.py");
    if std::fs::read(&stamp).ok() == std::fs::read(&script).ok() {
        return Ok(());
    }
    println!("xtask: making random models in target/golden/random");
    setup::run(Command::new(setup::python()?).arg(&script).args(["0", RANDOM]).arg(&out))?;
    std::fs::copy(script, stamp)?;
    Ok(())
}

/// Number of random models, of which MuJoCo takes two thirds.
const RANDOM: &str = "600";

/// Random models of all that is simulated with MuJoCo's motion, in `target/golden/dynamics`.
pub(crate) fn dynamics() -> Result<()> {
    let out = crate::root().join("target/golden/dynamics");
    let dir = crate::root().join("tests/golden");
    let source = [std::fs::read(dir.join(DYNAMICS))?, std::fs::read(dir.join("random_models.py"))?].concat();
    let stamp = out.join("made-by");
    if std::fs::read(&stamp).ok() == Some(source.clone()) {
        return Ok(());
    }
    println!("xtask: making random models that move in target/golden/dynamics");
    random_dynamics(0, 200, &out)?;
    std::fs::write(stamp, source)?;
    Ok(())
}

/// Makes `count` random models with MuJoCo's motion, from the seed `first` on, in an empty folder.
pub(crate) fn random_dynamics(first: u64, count: u64, out: &Path) -> Result<()> {
    if out.exists() {
        std::fs::remove_dir_all(out)?;
    }
    let mut command = Command::new(setup::python()?);
    command.arg(crate::root().join("tests/golden").join(DYNAMICS));
    setup::run(command.args([first.to_string(), count.to_string()]).arg(out))
}

/// The script that makes them.
const DYNAMICS: &str = "random_dynamics.py";

/// Small models with attributes at their edges, and MuJoCo's answers, in `target/golden/edges.txt`.
pub(crate) fn edges() -> Result<()> {
    let (script, schema) =
        (crate::root().join("tests/golden/edge_models.py"), crate::root().join("crates/mjcf/src/schema.txt"));
    let (out, stamp) =
        (crate::root().join("target/golden/edges.txt"), crate::root().join("target/golden/edges-made-by"));
    let source = [std::fs::read(&script)?, std::fs::read(&schema)?].concat();
    if std::fs::read(&stamp).ok() == Some(source.clone()) {
        return Ok(());
    }
    println!("xtask: making models at their edges in target/golden/edges.txt");
    std::fs::create_dir_all(crate::root().join("target/golden"))?;
    setup::run(Command::new(setup::python()?).arg(&script).arg(&schema).arg(&out))?;
    std::fs::write(stamp, source)?;
    Ok(())
}

/// Goldens of corpus models, which are not the project's to commit: made in `target/golden`.
pub(crate) fn corpus(corpus: &Path) -> Result<()> {
    let names = ["humanoid", "ant", "half_cheetah", "cartpole"];
    let files = names.map(|n| corpus.join(n).join(n).with_extension("xml"));
    let files: Vec<PathBuf> = files.into_iter().filter(|f| f.exists()).collect();
    make(files.clone(), "target/golden")?;
    stopped(files, "target/golden")
}

/// Compiled fields of every model of a corpus, made in `target/golden/compiled`.
pub(crate) fn compiled(corpus: &Path) -> Result<()> {
    let out = crate::root().join("target/golden/compiled");
    let dir = crate::root().join("tests/golden");
    let script = dir.join("make_compiled.py");
    let stamp = out.join("made-by.py");
    let source =
        [std::fs::read(&script)?, std::fs::read(dir.join("make.py"))?, std::fs::read(corpus.join("index.json"))?]
            .concat();
    if std::fs::read(&stamp).ok() == Some(source.clone()) {
        return Ok(());
    }
    println!("xtask: compiling the corpus with MuJoCo into target/golden/compiled");
    setup::run(Command::new(setup::python()?).arg(&script).arg(corpus).arg(&out))?;
    std::fs::write(stamp, source)?;
    Ok(())
}

/// The model without a golden: its boxes lie flush on each other, an exact tie in which MuJoCo's number of contacts is chance, and
/// a converged answer for its 200 rows takes minutes. The law `weld_pallet` compares how it drifts.
const WITHOUT: &str = "pallet";

/// Goldens of the models in `models/`, too large together to commit: made in `target/golden/own`.
pub(crate) fn own() -> Result<()> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(crate::root().join("models"))? {
        files.push(entry?.path());
    }
    files.retain(|f| f.extension().is_some_and(|e| e == "xml"));
    files.retain(|f| f.file_stem().is_some_and(|stem| stem != WITHOUT));
    files.sort();
    make(files, "target/golden/own")
}

/// Makes the goldens of solvers stopped early that are missing, or older than the golden of their model or the script.
fn stopped(mut models: Vec<PathBuf>, out: &str) -> Result<()> {
    let out = crate::root().join(out);
    let script = crate::root().join("tests/golden/make_solver.py");
    let time = |file: &Path| file.metadata().and_then(|m| m.modified()).ok();
    models.retain(|model| {
        let name = model.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let made = time(&out.join(format!("sweeps_{name}.npz")));
        made.is_none() || made < time(&out.join(name).with_extension("npz")) || made < time(&script)
    });
    if models.is_empty() {
        return Ok(());
    }
    println!("xtask: making {} goldens of solvers stopped early in {}", models.len(), out.display());
    setup::run(Command::new(setup::python()?).arg(&script).arg(&out).args(models))
}

/// Makes the goldens of `models` that are missing, or older than their model or the script.
fn make(mut models: Vec<PathBuf>, out: &str) -> Result<()> {
    let out = crate::root().join(out);
    let script = crate::root().join("tests/golden/make.py");
    let time = |file: &Path| file.metadata().and_then(|m| m.modified()).ok();
    models.retain(|model| {
        let golden = time(&out.join(model.file_stem().unwrap_or_default()).with_extension("npz"));
        golden.is_none() || golden < time(model) || golden < time(&script)
    });
    if models.is_empty() {
        return Ok(());
    }
    println!("xtask: making {} goldens in {}", models.len(), out.display());
    setup::run(Command::new(setup::python()?).arg(&script).arg(&out).args(models))
}
