//! The `kiloworld` binary: batched MuJoCo worlds from the command line.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program prints")]
#![allow(clippy::cast_possible_truncation, reason = "rates and counts for people")]

#[macro_use]
mod out;

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
use std::io::Write;
use std::process::ExitCode;

/// 0: as it should; 1: an error; 2: usage (clap's); 3: worlds failed, whatever the policy for them, or a law does not hold.
fn main() -> ExitCode {
    quiet_driver();
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("warn,wgpu=error,naga=error"))
        .format(|out, r| writeln!(out, "[{} {}] {}", r.level(), r.target(), out::safe(&r.args().to_string())))
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
            let failed = matches!(error.downcast_ref(), Some(kiloworld_sim::Error::Failed(_)));
            if failed { ExitCode::from(3) } else { ExitCode::FAILURE }
        }
    }
}

/// Keeps a line of libwayland from the terminal of those who have no desktop: Mesa's layer that chooses among devices asks it for a
/// display, and it says of an environment without `XDG_RUNTIME_DIR` that it is invalid, a line a device. Where there is no folder
/// there is no display; a folder that cannot be has none either. Everything else that drivers say is still said.
#[allow(unsafe_code, reason = "nothing else sets a variable of this process before the driver reads it")]
fn quiet_driver() {
    const VARIABLE: &str = "XDG_RUNTIME_DIR";
    let set = std::env::var_os(VARIABLE).is_some_and(|dir| std::path::Path::new(&dir).is_absolute());
    if cfg!(target_os = "linux") && !set {
        // SAFETY: no other thread runs yet that could read or write the environment
        unsafe { std::env::set_var(VARIABLE, "/nonexistent") };
    }
}
