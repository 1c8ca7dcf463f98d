//! `cargo xtask tidy`: what the compiler does not check.

use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Which crate may depend on which of the workspace's crates.
const ARROWS: &[(&str, &[&str])] = &[
    ("kiloworld-layout", &[]),
    ("kiloworld-mjcf", &[]),
    ("kiloworld-cpu", &["kiloworld-layout"]),
    ("kiloworld-gpu", &["kiloworld-layout"]),
    ("kiloworld-model", &["kiloworld-layout", "kiloworld-mjcf", "kiloworld-cpu"]),
    ("kiloworld-sim", &["kiloworld-layout", "kiloworld-model", "kiloworld-cpu", "kiloworld-gpu"]),
    ("kiloworld-laws", &["kiloworld-layout", "kiloworld-gpu", "kiloworld-model", "kiloworld-sim"]),
];

/// Most lines of a file, by ending.
const MAX_LINES: [(&str, usize); 2] = [("rs", 800), ("wgsl", 400)];

/// Files that may be longer, with the reason.
const LONGER: &[(&str, &str)] =
    &[("shaders/pgs.wgsl", "a twin of one file in Rust, where 64-bit products and slices of arrays are at hand")];

/// What may stand at the root.
const ROOT: &[&str] = &[
    ".cargo",
    ".ci",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "STYLE.md",
    "benches",
    "crates",
    "models",
    "rustfmt.toml",
    "shaders",
    "tests",
    "xtask",
];

pub(crate) fn run() -> Result<()> {
    let mut faults = Vec::new();
    let files = files()?;
    root(&files, &mut faults);
    for file in &files {
        purpose_and_size(file, &mut faults)?;
    }
    arrows(&mut faults)?;
    listed(&files, "models", "xml", "models/README.md", &mut faults)?;
    listed(&files, "shaders", "wgsl", "crates/gpu/src/shaders.rs", &mut faults)?;
    documents(&mut faults)?;
    for fault in &faults {
        eprintln!("tidy: {fault}");
    }
    if !faults.is_empty() {
        bail!("{} fault(s)", faults.len());
    }
    println!("tidy: {} files, no fault", files.len());
    Ok(())
}

/// Every file that git tracks or would track, relative to the root.
fn files() -> Result<Vec<PathBuf>> {
    let out = Command::new("git")
        .current_dir(crate::root())
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .output()
        .context("tidy asks git for the files")?;
    let listed = String::from_utf8(out.stdout)?;
    Ok(listed.lines().map(PathBuf::from).filter(|p| crate::root().join(p).exists()).collect())
}

/// Nothing stands at the root that is not in its list.
fn root(files: &[PathBuf], faults: &mut Vec<String>) {
    let tops: BTreeSet<_> = files.iter().filter_map(|f| f.components().next()?.as_os_str().to_str()).collect();
    for top in tops {
        if !ROOT.contains(&top) {
            faults.push(format!(
                "{top}: not in the list of what stands at the root; move it, or list it in xtask/src/tidy.rs"
            ));
        }
    }
}

fn purpose_and_size(file: &Path, faults: &mut Vec<String>) -> Result<()> {
    let ending = file.extension().and_then(|e| e.to_str()).unwrap_or_default();
    let Some(&(_, max)) = MAX_LINES.iter().find(|m| m.0 == ending) else { return Ok(()) };
    let text = std::fs::read_to_string(crate::root().join(file))?;
    let name = file.display().to_string();
    let mark = if ending == "rs" { "//! " } else { "// " };
    if !text.starts_with(mark) {
        faults.push(format!("{name}: the first line must say the file's purpose after `{mark}`"));
    }
    let lines = text.lines().count();
    if lines > max && !LONGER.iter().any(|l| l.0 == name) {
        faults.push(format!("{name}: {lines} lines, more than {max}; split it, or list it in LONGER with the reason"));
    }
    Ok(())
}

/// The crates' arrows point one way.
fn arrows(faults: &mut Vec<String>) -> Result<()> {
    let out = Command::new(env!("CARGO"))
        .current_dir(crate::root())
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .output()?;
    let metadata: serde_json::Value = serde_json::from_slice(&out.stdout).context("cargo metadata")?;
    let empty = Vec::new();
    for package in metadata["packages"].as_array().unwrap_or(&empty) {
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, allowed)) = ARROWS.iter().find(|a| a.0 == name) else { continue };
        for dep in package["dependencies"].as_array().unwrap_or(&empty) {
            let (dep_name, dev) = (dep["name"].as_str().unwrap_or_default(), dep["kind"] == "dev");
            if dep_name.starts_with("kiloworld-") && !dev && !allowed.contains(&dep_name) {
                faults.push(format!("{name} depends on {dep_name}: only {allowed:?} may be under it"));
            }
            if dep_name == "wgpu" && name != "kiloworld-gpu" {
                faults.push(format!("{name} depends on wgpu: only kiloworld-gpu may name its types"));
            }
        }
    }
    Ok(())
}

/// Each file of a folder is named in a list.
fn listed(files: &[PathBuf], dir: &str, ending: &str, list: &str, faults: &mut Vec<String>) -> Result<()> {
    let text = std::fs::read_to_string(crate::root().join(list)).with_context(|| list.to_owned())?;
    for file in
        files.iter().filter(|f| f.parent() == Some(Path::new(dir)) && f.extension().is_some_and(|e| e == ending))
    {
        let stem = file.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
        if !text.contains(stem) {
            faults.push(format!("{}: not listed in {list}", file.display()));
        }
    }
    Ok(())
}

/// ARCHITECTURE.md and STYLE.md are short, and every link of the documents leads somewhere.
fn documents(faults: &mut Vec<String>) -> Result<()> {
    for (name, max) in [
        ("README.md", 400),
        ("ARCHITECTURE.md", 150),
        ("STYLE.md", 100),
        ("CHANGELOG.md", 400),
        ("shaders/README.md", 60),
        ("models/README.md", 80),
    ] {
        let text = std::fs::read_to_string(crate::root().join(name)).with_context(|| name.to_owned())?;
        if text.lines().count() > max {
            faults.push(format!("{name}: {} lines, more than {max}", text.lines().count()));
        }
        let dir = Path::new(name).parent().unwrap_or(Path::new(""));
        let links: BTreeSet<&str> = text.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
        for link in links.into_iter().filter(|l| !l.starts_with("http") && !l.starts_with('#')) {
            let target = link.split('#').next().unwrap_or(link);
            if !crate::root().join(dir).join(target).exists() {
                faults.push(format!("{name}: the link to {link} leads nowhere"));
            }
        }
    }
    Ok(())
}
