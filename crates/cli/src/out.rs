//! What goes to the terminal and into files: nothing in a name can steer the terminal, a reader that has seen enough ends the program
//! quietly, and files of others are not overwritten.

use anyhow::{Context, Result, bail};
use kiloworld_model::{acts, escaped, shown};
use kiloworld_sim::WholeFile;
use std::borrow::Cow;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// The exit code of a program whose reader went away, as shells see it (128 + SIGPIPE).
const READER_GONE: i32 = 141;

/// A line to standard output, in place of the standard library's, which panics where nobody reads.
macro_rules! println {
    () => { $crate::out::line(format_args!("")) };
    ($($arg:tt)*) => { $crate::out::line(format_args!($($arg)*)) };
}

/// A line to standard error.
macro_rules! eprintln {
    ($($arg:tt)*) => { $crate::out::error_line(format_args!($($arg)*)) };
}

/// Writes a line to standard output.
pub(crate) fn line(text: std::fmt::Arguments<'_>) {
    let text = text.to_string();
    let mut out = io::stdout().lock();
    if let Err(e) = out.write_all(safe(&text).as_bytes()).and_then(|()| out.write_all(b"\n")) {
        if e.kind() != ErrorKind::BrokenPipe {
            error_line(format_args!("error: cannot write to standard output: {e}"));
            std::process::exit(1);
        }
        std::process::exit(READER_GONE);
    }
}

/// Writes a line to standard error; where that cannot be done there is nobody to tell.
pub(crate) fn error_line(text: std::fmt::Arguments<'_>) {
    let text = text.to_string();
    let mut out = io::stderr().lock();
    let _ = out.write_all(safe(&text).as_bytes()).and_then(|()| out.write_all(b"\n"));
}

/// A text whose characters all show, but for line ends and tabs; JSON keeps its meaning.
pub(crate) fn safe(text: &str) -> Cow<'_, str> {
    escaped(text, |c| acts(c) && c != '\n' && c != '\t')
}

/// A text with names in it on one line, however long.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    escaped(text, acts)
}

/// Names, by commas.
pub(crate) fn names<'n>(all: impl Iterator<Item = &'n str>) -> String {
    all.map(|n| shown(n).into_owned()).collect::<Vec<_>>().join(", ")
}

/// A file that is to be written: its format is known, and its place is free or may be taken.
#[derive(Debug)]
pub(crate) struct Out {
    path: PathBuf,
    pub(crate) format: &'static str,
}

impl Out {
    /// Its format is its ending, one of those that are known.
    pub(crate) fn new(path: &Path, known: &[&'static str], force: bool) -> Result<Self> {
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        let Some(format) = known.iter().find(|e| **e == ending) else {
            bail!("{}: the ending decides the format; there are .{}", path.display(), known.join(", ."));
        };
        if !force && path.symlink_metadata().is_ok() {
            bail!("{} is there already: give another name, or --force to replace it", path.display());
        }
        Ok(Self { path: path.to_owned(), format })
    }

    /// Writes it, whole or not at all.
    pub(crate) fn write(self, content: impl FnOnce(&mut WholeFile) -> Result<()>) -> Result<()> {
        let write = || -> Result<()> {
            let mut file = WholeFile::create(&self.path)?;
            content(&mut file)?;
            Ok(file.finish()?)
        };
        write().with_context(|| format!("cannot write {}", self.path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_acts_is_escaped_and_json_keeps_its_meaning() {
        assert_eq!(safe("plain ünï ✓\n\ttext"), "plain ünï ✓\n\ttext");
        assert_eq!(safe("\u{1b}[31m\u{9b}x\r\u{202e}\u{7f}"), "\\u001b[31m\\u009bx\\u000d\\u202e\\u007f");
        let value = serde_json::json!({ "name": "a\u{1b}\u{9b}\u{202e}\u{7f}\n\u{2066}\"z" });
        let text = value.to_string();
        let back: serde_json::Value = serde_json::from_str(&safe(&text)).expect("JSON");
        assert_eq!(back, value);
    }

    #[test]
    fn endings_that_nobody_knows_are_refused() {
        assert_eq!(Out::new(Path::new("no/b.npz"), &["npz", "json"], false).expect("known").format, "npz");
        for path in ["b", "b.npy", ".npz", "b.npz.gz"] {
            let text = Out::new(Path::new(path), &["npz", "json"], false).expect_err(path).to_string();
            assert!(text.contains("there are .npz, .json"), "{text}");
        }
    }
}
