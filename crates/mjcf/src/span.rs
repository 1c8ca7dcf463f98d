//! Positions in the files of a model: byte ranges, the table of files, lines and columns.

/// A range of bytes in one of the files of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// index into [`Sources::files`]
    pub file: u32,
    /// first byte
    pub start: u32,
    /// one past the last byte
    pub end: u32,
}

/// One file of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// the name to show: a path as it was given, or the name given with a text
    pub name: String,
    /// the whole text
    pub text: String,
}

/// Line and column of a position, both counted from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineCol {
    /// line, from 1
    pub line: usize,
    /// column in characters, from 1
    pub column: usize,
}

/// The files that a model was read from; the main file is the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// in the order in which they were opened
    pub files: Vec<Source>,
}

impl Sources {
    /// Adds a file and returns its index.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> u32 {
        self.files.push(Source { name: name.into(), text: text.into() });
        u32::try_from(self.files.len() - 1).unwrap_or(u32::MAX)
    }

    /// The name of the file that a span lies in; empty if there is no such file.
    pub fn name(&self, span: Span) -> &str {
        self.files.get(span.file as usize).map_or("", |f| f.name.as_str())
    }

    /// The text of a span; empty if the span does not fit its file.
    pub fn text(&self, span: Span) -> &str {
        let text = self.files.get(span.file as usize).map_or("", |f| f.text.as_str());
        text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// Line and column of the first byte of a span.
    pub fn line_col(&self, span: Span) -> LineCol {
        let text = self.files.get(span.file as usize).map_or("", |f| f.text.as_str());
        let mut end = (span.start as usize).min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &text[..end];
        let line = before.bytes().filter(|&b| b == b'\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or("").chars().filter(|&c| c != '\u{feff}').count() + 1;
        LineCol { line, column }
    }
}

/// Where an element and each of its attributes was written. Attributes that came from a default class point there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct At {
    /// the element's start tag
    pub span: Span,
    /// attribute names with the span of their values
    pub attrs: Vec<(&'static str, Span)>,
}

impl At {
    /// The span of an attribute's value, or that of the element where the attribute was not written.
    pub fn attr(&self, name: &str) -> Span {
        self.attrs.iter().find(|(n, _)| *n == name).map_or(self.span, |(_, s)| *s)
    }

    /// Whether the attribute was written, here or in a default class that applies.
    pub fn has(&self, name: &str) -> bool {
        self.attrs.iter().any(|(n, _)| *n == name)
    }

    /// Notes where an attribute was written; a later note replaces an earlier one.
    pub(crate) fn set(&mut self, name: &'static str, span: Span) {
        match self.attrs.iter_mut().find(|(n, _)| *n == name) {
            Some(slot) => slot.1 = span,
            None => self.attrs.push((name, span)),
        }
    }
}
