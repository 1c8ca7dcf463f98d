//! What tests need and a fresh machine may lack.

use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version that goldens come from.
const MUJOCO: &str = "mujoco==4.0.0";

/// Runs a command and fails with its words where it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}

/// Makes sure that there is a Vulkan driver on Linux: lavapipe, Mesa's software device, where there is no other.
pub(crate) fn vulkan() -> Result<()> {
    if !cfg!(target_os = "linux") {
        return Ok(());
    }
    let has_driver = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"]
        .iter()
        .filter_map(|dir| std::fs::read_dir(dir).ok())
        .any(|mut entries| entries.next().is_some());
    let has_loader =
        ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"]
            .iter()
            .any(|dir| Path::new(dir).join("libvulkan.so.1").exists());
    if has_driver && has_loader {
        return Ok(());
    }
    println!("xtask: no Vulkan device; installing lavapipe (mesa-vulkan-drivers)");
    let root = std::env::var("USER").is_ok_and(|u| u == "root") || Path::new("/root").read_dir().is_ok();
    let apt = |args: &[&str]| {
        let mut command = if root { Command::new("apt-get") } else { Command::new("sudo") };
        if !root {
            command.arg("apt-get");
        }
        run(command.args(args).env("DEBIAN_FRONTEND", "noninteractive"))
    };
    apt(&["update", "-q"])
        .and_then(|()| apt(&["install", "-y", "-q", "mesa-vulkan-drivers", "libvulkan1"]))
        .context("could not install lavapipe; install a Vulkan driver by hand (Debian: mesa-vulkan-drivers, Fedora: mesa-vulkan-drivers, Arch: vulkan-swrast)")
}

/// A Python with MuJoCo, in `target/mujoco`.
pub(crate) fn python() -> Result<PathBuf> {
    let dir = crate::root().join("target/mujoco");
    let bin = dir.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let works = |bin: &Path| {
        Command::new(bin)
            .args(["-c", "import mujoco, numpy; assert mujoco.__version__ == '4.0.0'"])
            .output()
            .is_ok_and(|o| o.status.success())
    };
    if !works(&bin) {
        println!("xtask: installing {MUJOCO} into target/mujoco");
        run(Command::new("python3").args(["-m", "venv"]).arg(&dir))
            .context("a Python 3 with venv is needed for the goldens")?;
        run(Command::new(&bin).args(["-m", "pip", "install", "-q", "--disable-pip-version-check", MUJOCO, "numpy"]))?;
    }
    Ok(bin)
}

/// The folder of other people's models that some tests read, where there is one: `KILOWORLD_CORPUS`, one beside the repository, or
/// what was fetched before.
pub(crate) fn corpus() -> Option<PathBuf> {
    let places = match std::env::var_os("KILOWORLD_CORPUS") {
        Some(given) => vec![PathBuf::from(given)],
        None => vec![crate::root().join("../shared/corpus"), crate::root().join(FETCHED)],
    };
    places.into_iter().find(|dir| dir.join("index.json").exists())
}

/// Where fetched models are.
const FETCHED: &str = "target/corpus";

/// Fetches other people's models from the packages that publish them.
pub(crate) fn fetch_corpus() -> Result<PathBuf> {
    let dir = crate::root().join(FETCHED);
    println!("xtask: fetching other people's models from PyPI into {FETCHED} (150 MB)");
    run(Command::new(python()?).arg(crate::root().join("tests/golden/fetch_corpus.py")).arg(&dir))?;
    Ok(dir)
}
