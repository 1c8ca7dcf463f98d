//! `cargo xtask test`: everything a test run needs, then the tests.

use crate::{golden, setup};
use anyhow::Result;
use std::ffi::OsString;
use std::process::Command;

pub(crate) fn run(args: Vec<OsString>) -> Result<()> {
    setup::vulkan()?;
    let strict = std::env::var_os("CI").is_some();
    let makers: [(&str, fn() -> Result<()>); 5] = [
        ("GOLDENS OF THE CORPUS", golden::corpus),
        ("COMPILED FIELDS OF THE CORPUS", golden::compiled),
        ("GOLDENS OF MODELS", golden::own),
        ("RANDOM MODELS", golden::random),
        ("MODELS AT THEIR EDGES", golden::edges),
    ];
    for (what, make) in makers {
        if let Err(error) = make() {
            if strict {
                return Err(error);
            }
            println!("xtask: NO {what}: {error:#}");
        }
    }
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(crate::root()).args(["test", "--workspace", "--no-fail-fast"]).args(args);
    command.env("KILOWORLD_GOLDEN", crate::root().join("target/golden"));
    if strict {
        // a skipped check must not look green
        command.env("KILOWORLD_REQUIRE_ADAPTER", "1");
        golden::run(true)?;
    }
    setup::run(&mut command)
}

/// The endurance tests in full.
pub(crate) fn endurance(world_steps: usize) -> Result<()> {
    setup::vulkan()?;
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(crate::root()).env("KILOWORLD_ENDURANCE", world_steps.to_string());
    command.args(["test", "--release", "--workspace", "--test", "main", "--", "endurance::", "--nocapture"]);
    setup::run(&mut command)
}
