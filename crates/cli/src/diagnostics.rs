//! Errors for people and machines.

use crate::out::one_line;
use codespan_reporting::diagnostic::{Diagnostic, Label};
use codespan_reporting::files::SimpleFiles;
use codespan_reporting::term::{
    self,
    termcolor::{BufferWriter, ColorChoice},
};
use kiloworld_mjcf::Errors;
use kiloworld_model::acts;
use serde_json::json;
use std::io::IsTerminal;

/// Prints an error: errors of a file with the lines they point to, others with their causes.
pub(crate) fn report(error: &anyhow::Error, json: bool) {
    let errors = error.chain().find_map(|e| match e.downcast_ref::<kiloworld_sim::Error>() {
        Some(kiloworld_sim::Error::Unsupported(errors)) => Some(errors),
        _ => e.downcast_ref::<Errors>(),
    });
    match errors {
        Some(errors) if json => println!("{}", json!({ "errors": located(errors) })),
        Some(errors) => mjcf(errors),
        None if json => println!("{}", json!({ "errors": [{ "message": format!("{error:#}") }] })),
        None => eprintln!("error: {error:#}"),
    }
}

/// Errors of a file as JSON values.
fn located(errors: &Errors) -> Vec<serde_json::Value> {
    errors
        .errors
        .iter()
        .map(|e| {
            json!({
                "file": e.file, "line": e.line, "column": e.column, "text": e.text,
                "message": e.kind.to_string(), "remedy": e.remedy,
            })
        })
        .collect()
}

/// Errors of a file, each with its line.
fn mjcf(errors: &Errors) {
    let mut files = SimpleFiles::new();
    // in the place of what acts on a terminal stands what shows, as wide in bytes as that, so that positions stay
    for file in &errors.sources.files {
        files.add(one_line(&file.name).into_owned(), visible(&file.text));
    }
    let config = term::Config::default();
    let color = if std::io::stderr().is_terminal() { ColorChoice::Auto } else { ColorChoice::Never };
    let writer = BufferWriter::stderr(color);
    for e in &errors.errors {
        // the whole line is shown: one of a file without line breaks is no help, and takes its time
        let text = errors.sources.files.get(e.span.file as usize).map_or("", |f| f.text.as_str());
        if text.lines().nth(e.line.saturating_sub(1)).is_some_and(|line| line.len() > LONG_LINE) {
            eprintln!("error: {}", one_line(&e.to_string()));
            continue;
        }
        let label = Label::primary(e.span.file as usize, e.span.start as usize..e.span.end as usize);
        let message = one_line(&e.kind.to_string()).into_owned();
        let mut diagnostic = Diagnostic::error().with_message(message).with_labels(vec![label]);
        if let Some(remedy) = &e.remedy {
            diagnostic = diagnostic.with_notes(vec![format!("help: {}", one_line(remedy))]);
        }
        let mut buffer = writer.buffer();
        if term::emit_to_write_style(&mut buffer, &config, &files, &diagnostic).is_err() {
            eprintln!("error: {e:?}");
        } else if writer.print(&buffer).is_err() {
            // there is nobody to tell
            return;
        }
    }
}

/// No line of a file that is longer is shown \[bytes\].
const LONG_LINE: usize = 2000;

/// A text of the same length whose characters all show, but for line ends and tabs.
fn visible(text: &str) -> String {
    let bad = |c: char| acts(c) && !matches!(c, '\n' | '\r' | '\t');
    text.chars().map(|c| if bad(c) { ["?", "·", "�"][c.len_utf8() - 1].to_owned() } else { c.to_string() }).collect()
}
