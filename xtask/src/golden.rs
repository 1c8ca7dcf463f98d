//! `cargo xtask golden`: the goldens of the project's own models, made or checked with MuJoCo.

use crate::setup;
use anyhow::Result;
use std::path::PathBuf;
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
    for (extension, option) in [("npz", None), ("json", Some("--fields"))] {
        let mut command = Command::new(&python);
        command.arg(dir.join("make.py")).args(option);
        if check {
            command.arg("--check");
        }
        setup::run(command.arg(&dir).args(models(extension)?))?;
    }
    Ok(())
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
const RANDOM: &str = "150";

/// Goldens of corpus models, which are not the project's to commit: made in `target/golden` where the corpus and MuJoCo
/// can be had.
pub(crate) fn corpus() -> Result<()> {
    let Some(corpus) = setup::corpus() else {
        println!(
            "xtask: NO CORPUS (set KILOWORLD_CORPUS): tests on other people's models will say that they are skipped"
        );
        return Ok(());
    };
    let out = crate::root().join("target/golden");
    let script = crate::root().join("tests/golden/make.py");
    let stamp = out.join("made-by.py");
    let models = ["humanoid/humanoid.xml", "ant/ant.xml", "half_cheetah/half_cheetah.xml", "cartpole/cartpole.xml"];
    if std::fs::read(&stamp).ok() == std::fs::read(&script).ok() {
        return Ok(());
    }
    println!("xtask: making goldens of the corpus in target/golden");
    setup::run(Command::new(setup::python()?).arg(&script).arg(&out).args(models.map(|m| corpus.join(m))))?;
    std::fs::copy(script, stamp)?;
    Ok(())
}
