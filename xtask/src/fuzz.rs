//! `cargo xtask fuzz`: random inputs for the readers of models, dumps, states and laws, by cargo-fuzz on a nightly compiler.

use crate::setup;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// What is fuzzed.
const TARGETS: [&str; 9] = ["xml", "stl", "obj", "msh", "png", "hfield", "dump", "state", "law"];

/// Fuzzes one target, or one after another, for some seconds each. What is found stays in `target/fuzz`.
pub(crate) fn run(target: Option<&str>, seconds: u64) -> Result<()> {
    let targets = match target {
        None => TARGETS.to_vec(),
        Some(t) if TARGETS.contains(&t) => vec![t],
        Some(t) => bail!("no fuzz target {t}; there are: {}", TARGETS.join(", ")),
    };
    let (root, out) = (crate::root(), crate::root().join("target/fuzz"));
    let dictionary = out.join("xml.dict");
    for target in targets {
        let (inputs, found) = (out.join("corpus").join(target), out.join("found").join(target));
        for dir in [&inputs, &found] {
            std::fs::create_dir_all(dir)?;
        }
        let mut command = Command::new("cargo");
        // no sanitizer: there is no unsafe code to catch, and the limit of memory is the allocator's
        command.args(["+nightly", "fuzz", "run", "--sanitizer", "none", "--fuzz-dir"]).arg(root.join("tests/fuzz"));
        command.arg("--target-dir").arg(&out).arg(target).arg(&inputs);
        command.arg(root.join("tests/fuzz/corpus").join(target));
        if target == "law" {
            command.arg(root.join("tests/laws"));
        }
        if target == "xml" {
            command.args(["tests/mjcf/ok", "tests/mjcf/err", "models"].map(|dir| root.join(dir)));
        }
        if target == "dump" {
            command.arg(root.join("tests/faults/dumps"));
        }
        command.arg("--").arg(format!("-max_total_time={seconds}")).args(["-timeout=10", "-rss_limit_mb=1024"]);
        // whole dumps are among the inputs
        command.arg(if matches!(target, "dump" | "state") { "-max_len=90000" } else { "-max_len=9000" });
        command.arg(format!("-artifact_prefix={}/", found.display()));
        if target == "xml" {
            write_dictionary(&dictionary)?;
            command.arg(format!("-dict={}", dictionary.display()));
        }
        setup::run(&mut command).with_context(|| {
            format!(
                "{target}: an input is in {} (or: cargo install cargo-fuzz, rustup install nightly)",
                found.display()
            )
        })?;
    }
    Ok(())
}

/// Every element, attribute and keyword of MJCF, for the fuzzer to put in.
fn write_dictionary(path: &Path) -> Result<()> {
    let schema = std::fs::read_to_string(crate::root().join("crates/mjcf/src/schema.txt"))?;
    let mut words = BTreeSet::new();
    for line in schema.lines() {
        let mut parts = line.split_whitespace();
        let Some(tag) = parts.next() else { continue };
        words.extend([format!("<{tag} "), format!("</{tag}>")]);
        for attr in parts.skip(1) {
            let (name, kind) = attr.split_once(':').unwrap_or((attr, ""));
            words.insert(format!(" {name}=\\\""));
            words.extend(kind.split('|').filter(|_| kind.contains('|')).map(str::to_owned));
        }
    }
    let mut text = String::new();
    for word in words {
        writeln!(text, "\"{word}\"")?;
    }
    Ok(std::fs::write(path, text)?)
}
