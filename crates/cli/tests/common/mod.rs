//! What tests of the binary share.
#![allow(dead_code, reason = "each file of tests takes what it needs")]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kiloworld"));
    command.current_dir(root()).args(args);
    command
}

pub(crate) fn kiloworld(args: &[&str]) -> Output {
    command(args).output().expect("starts")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn json(out: &Output) -> Value {
    serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {}{}", text(&out.stdout), text(&out.stderr)))
}

/// A file in a folder of this test's own.
pub(crate) fn file(name: &str, content: &[u8]) -> String {
    let dir = std::env::temp_dir().join(format!("kiloworld-cli-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    let path = dir.join(name);
    std::fs::write(&path, content).expect("written");
    path.display().to_string()
}

/// The path of a file that is not there, in the same folder.
pub(crate) fn no_file(name: &str) -> String {
    let path = file(name, b"");
    std::fs::remove_file(&path).expect("it was there");
    path
}
