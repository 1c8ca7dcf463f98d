//! `cargo xtask test`: everything a test run needs, then the tests, then what they left out.

use crate::{golden, setup};
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs all tests; `args` go to `cargo test`. Tests that lack something say what they leave out, and the run ends with the list. With
/// `--then-corpus DIR` first in `args`, those tests run once more with the models in DIR, and may leave nothing out.
pub(crate) fn run(mut args: Vec<OsString>) -> Result<()> {
    let mut later = None;
    if args.first().is_some_and(|a| a == "--then-corpus") {
        if args.len() < 2 {
            bail!("--then-corpus needs a folder of models");
        }
        later = Some(PathBuf::from(args.remove(1)));
        args.remove(0);
    }
    setup::vulkan()?;
    let strict = std::env::var_os("CI").is_some();
    let corpus = setup::corpus().or_else(|| {
        let fetched = setup::fetch_corpus();
        fetched.inspect_err(|e| println!("xtask: NO MODELS OF OTHER PEOPLE: {e:#}")).ok()
    });
    goldens(corpus.as_deref(), strict)?;
    if strict {
        golden::run(true)?;
    }
    let list = crate::root().join("target/left-out.txt");
    if list.exists() {
        std::fs::remove_file(&list)?;
    }
    let mut total = cargo_test(&args, |command| {
        command.env("KILOWORLD_LEFT_OUT", &list);
        if let Some(dir) = &corpus {
            command.env("KILOWORLD_CORPUS", dir);
        }
    })?;
    let mut left = left_out(&list)?;
    if let Some(dir) = later.filter(|dir| !left.is_empty() && dir.join("index.json").exists()) {
        let tests: BTreeSet<&String> = left.iter().map(|(test, _)| test).collect();
        println!(
            "\nxtask: {} tests left something out; they run again with the models in the given folder",
            tests.len()
        );
        goldens(Some(&dir), strict)?;
        let mut again: Vec<OsString> = vec!["--".into(), "--exact".into()];
        // a test on the main thread does not know its name: all of them then
        if tests.iter().all(|t| *t != "main") {
            again.extend(tests.iter().map(OsString::from));
        }
        let second = cargo_test(&again, |command| {
            command.env("KILOWORLD_COMPLETE", "1").env("KILOWORLD_CORPUS", &dir);
        })?;
        if second.passed + second.failed < tests.len() {
            bail!("{} tests were to run again, and {} did", tests.len(), second.passed + second.failed);
        }
        total.failed += second.failed;
        total.success &= second.success;
        left.clear();
    }
    for (test, why) in &left {
        println!("LEFT OUT: {test}: {why}");
    }
    let skipped = left.iter().map(|(test, _)| test).collect::<BTreeSet<_>>().len();
    println!("\n{} passed, {} failed, {skipped} skipped", total.passed, total.failed);
    if !total.success {
        bail!("tests failed");
    }
    if strict && skipped > 0 {
        bail!("{skipped} tests left something out, and under CI none may");
    }
    Ok(())
}

/// Makes what tests compare with: of the models of a corpus, of the project's own, of random ones.
fn goldens(corpus: Option<&Path>, strict: bool) -> Result<()> {
    let make = |what: &str, made: Result<()>| match made {
        Err(error) if !strict => {
            println!("xtask: NO {what}: {error:#}");
            Ok(())
        }
        made => made,
    };
    if let Some(dir) = corpus {
        make("GOLDENS OF THE CORPUS", golden::corpus(dir))?;
        make("COMPILED FIELDS OF THE CORPUS", golden::compiled(dir))?;
    }
    make("GOLDENS OF MODELS", golden::own())?;
    make("RANDOM MODELS", golden::random())?;
    make("RANDOM MODELS THAT MOVE", golden::dynamics())?;
    make("MODELS AT THEIR EDGES", golden::edges())
}

/// Results of a run of `cargo test`.
struct Total {
    passed: usize,
    failed: usize,
    success: bool,
}

/// Runs `cargo test` and adds up its summary lines.
fn cargo_test(args: &[OsString], with: impl FnOnce(&mut Command)) -> Result<Total> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(crate::root()).args(["test", "--workspace", "--no-fail-fast"]).args(args);
    command.env("KILOWORLD_GOLDEN", crate::root().join("target/golden"));
    if std::env::var_os("CI").is_some() {
        command.env("KILOWORLD_REQUIRE_ADAPTER", "1");
    }
    with(&mut command);
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("cannot start {command:?}"))?;
    let mut total = Total { passed: 0, failed: 0, success: true };
    for line in BufReader::new(child.stdout.take().context("the tests' output")?).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        if let Some(counts) = line.strip_prefix("test result: ") {
            let number = |word: &str| {
                let before = counts.split(word).next()?;
                before.split_whitespace().last()?.parse::<usize>().ok()
            };
            total.passed += number(" passed").unwrap_or(0);
            total.failed += number(" failed").unwrap_or(0);
        }
    }
    total.success = child.wait()?.success();
    Ok(total)
}

/// What tests left out: the test's name and what it lacked, once each.
fn left_out(list: &Path) -> Result<BTreeSet<(String, String)>> {
    if !list.exists() {
        return Ok(BTreeSet::new());
    }
    let text = std::fs::read_to_string(list)?;
    let pair = |line: &str| line.split_once('\t').map(|(test, why)| (test.to_owned(), why.to_owned()));
    Ok(text.lines().filter_map(pair).collect())
}

/// The differential test of motion over `count` random models from the seed `first` on. They stay in `target/fuzz/dynamics`, with the
/// report of those that differ.
pub(crate) fn dynamics(count: u64, first: u64) -> Result<()> {
    setup::vulkan()?;
    let dir = crate::root().join("target/fuzz/dynamics");
    println!("xtask: making {count} random models from seed {first} on in {}", dir.display());
    golden::random_dynamics(first, count, &dir)?;
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(crate::root()).env("KILOWORLD_DYNAMICS", &dir);
    command.args(["test", "-p", "kiloworld-tests", "--test", "main", "--"]);
    setup::run(command.args(["dynamics::random_models_move_as_in_mujoco", "--exact", "--nocapture"]))
}

/// The endurance tests in full.
pub(crate) fn endurance(world_steps: usize) -> Result<()> {
    setup::vulkan()?;
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(crate::root()).env("KILOWORLD_ENDURANCE", world_steps.to_string());
    command.args(["test", "--release", "--workspace", "--test", "main", "--", "endurance::", "--nocapture"]);
    setup::run(&mut command)
}
