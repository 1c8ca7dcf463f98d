//! The `kiloworld` binary: batched MuJoCo worlds from the command line.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program prints")]
#![allow(clippy::cast_possible_truncation, reason = "rates and counts for people")]

mod args;
mod arrays;
mod bench;
mod common;
mod diagnostics;
mod doctor;
mod events;
mod health;
mod inspect;
mod laws;
mod replay;
mod rollout;
mod routes;
mod size;
mod sweep;
mod trace;

use args::{Cli, Command};
use clap::Parser;
use common::Outcome;
use std::process::ExitCode;

/// 0: as it should; 1: an error; 2: usage (clap's); 3: ran to the end, but worlds failed or a law does not hold.
fn main() -> ExitCode {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("warn,wgpu=error,naga=error"))
        .format_timestamp(None)
        .init();
    let cli = Cli::parse();
    let result = match &cli.command {
        Command::Rollout(args) => rollout::run(args, cli.json),
        Command::Bench(args) => bench::run(args, cli.json),
        Command::Health(args) => health::run(args, cli.json),
        Command::Laws(args) => laws::run(args, cli.json),
        Command::Inspect(args) => inspect::run(args, cli.json),
        Command::Routes(args) => routes::run(args, cli.json),
        Command::Trace(args) => trace::run(args, cli.json),
        Command::Size(args) => size::run(args, cli.json),
        Command::Replay(args) => replay::run(args, cli.json),
        Command::Doctor => doctor::run(cli.json),
    };
    match result {
        Ok(Outcome::Ok) => ExitCode::SUCCESS,
        Ok(Outcome::Failed) => ExitCode::from(3),
        Err(error) => {
            diagnostics::report(&error, cli.json);
            ExitCode::FAILURE
        }
    }
}
