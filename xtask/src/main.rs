//! The project's chores: `cargo xtask test | tidy | golden | fuzz | endurance`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program prints")]

mod fuzz;
mod golden;
mod setup;
mod test;
mod tidy;

use anyhow::{Result, bail};
use lexopt::prelude::*;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
cargo xtask test [--then-corpus DIR] [ARGS]
                            fetch what the tests need (a Vulkan device, MuJoCo, other people's models), then run all tests and
                            list what they left out; those run again with the models in DIR; ARGS go to `cargo test`
cargo xtask tidy            check what the compiler does not: purpose lines, crate arrows, file sizes, links, lists
cargo xtask endurance [N]   N world-steps (1,000,000) on each of CPU f64 and f32, over all models, among worlds that are poisoned,
                            overflow and are reset; a fifth of it on the GPU
cargo xtask golden          make the goldens in tests/golden again with MuJoCo
cargo xtask golden --check  compare the committed goldens with MuJoCo's answers of today
cargo xtask fuzz [TARGET] [SECONDS]
                            random inputs for the readers of models, dumps, states and laws: each target for 600 seconds
cargo xtask fuzz dynamics [N] [SEED]
                            the differential test of motion over N random models (5000) from SEED (1000000) on: f64 against
                            MuJoCo, f32, lanes and the GPU against f64; they stay in target/fuzz/dynamics";

fn main() -> ExitCode {
    match command() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn command() -> Result<()> {
    let mut parser = lexopt::Parser::from_env();
    match parser.next()? {
        Some(Value(command)) if command == "test" => test::run(parser.raw_args()?.collect()),
        Some(Value(command)) if command == "tidy" => tidy::run(),
        Some(Value(command)) if command == "endurance" => {
            let steps = match parser.next()? {
                Some(Value(n)) => n.parse()?,
                Some(arg) => return Err(arg.unexpected().into()),
                None => 1_000_000,
            };
            test::endurance(steps)
        }
        Some(Value(command)) if command == "golden" => {
            let mut check = false;
            while let Some(arg) = parser.next()? {
                match arg {
                    Long("check") => check = true,
                    _ => return Err(arg.unexpected().into()),
                }
            }
            golden::run(check)
        }
        Some(Value(command)) if command == "fuzz" => {
            let words: Vec<String> = parser.raw_args()?.map(|w| w.to_string_lossy().into_owned()).collect();
            if words.first().is_some_and(|w| w == "dynamics") {
                let number = |i: usize, default| words.get(i).map_or(Ok(default), |w| w.parse());
                return test::dynamics(number(1, 5000)?, number(2, 1_000_000)?);
            }
            let seconds = words.iter().find_map(|w| w.parse().ok()).unwrap_or(600);
            fuzz::run(words.iter().find(|w| w.parse::<u64>().is_err()).map(String::as_str), seconds)
        }
        Some(Long("help") | Short('h')) => {
            println!("{HELP}");
            Ok(())
        }
        _ => bail!("usage:\n{HELP}"),
    }
}

/// The repository's root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or_else(|| Path::new(".")).to_owned()
}
