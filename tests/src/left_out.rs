//! Checks that a test leaves out for want of something: said aloud, kept in a list, and a failure where all must run.

use std::io::Write;

/// The file that a line is added to for every check left out: the test's name, a tab, what it lacked. `cargo xtask test` sets it and
/// prints the list at its end.
pub const LIST_VARIABLE: &str = "KILOWORLD_LEFT_OUT";
/// The variable that makes leaving something out a failure, where it is 1.
pub const COMPLETE_VARIABLE: &str = "KILOWORLD_COMPLETE";

/// Says that the calling test leaves something out, and why.
///
/// # Panics
/// Where [`COMPLETE_VARIABLE`] is 1.
#[expect(clippy::print_stderr, reason = "what is left out must be seen")]
pub fn left_out(why: &str) {
    assert!(std::env::var(COMPLETE_VARIABLE).as_deref() != Ok("1"), "left out: {why}");
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("main");
    eprintln!("LEFT OUT: {test}: {why}");
    if let Some(file) = std::env::var_os(LIST_VARIABLE) {
        let line = format!("{test}\t{}\n", why.replace(['\n', '\t'], " "));
        let mut list = std::fs::OpenOptions::new().create(true).append(true).open(&file).expect("a list to add to");
        list.write_all(line.as_bytes()).expect("a line in the list");
    }
}
