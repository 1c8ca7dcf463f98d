//! What can be wrong with a file, where, and what to do about it.

use crate::span::{Sources, Span};

/// What is wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ErrorKind {
    /// the file could not be read
    #[error("cannot read the file: {0}")]
    Io(String),
    /// the text is not XML
    #[error("not well-formed XML: {0}")]
    Xml(String),
    /// the outermost element is not `mujoco`
    #[error("the outermost element is <{0}>, not <mujoco>")]
    WrongRoot(String),
    /// no such element here
    #[error("unknown element <{element}> in <{parent}>")]
    UnknownElement {
        /// the element
        element: String,
        /// the element around it
        parent: String,
    },
    /// no such attribute
    #[error("unknown attribute `{attribute}` of <{element}>")]
    UnknownAttribute {
        /// the attribute
        attribute: String,
        /// its element
        element: String,
    },
    /// an attribute that an element has twice
    #[error("a second `{attribute}` of <{element}>; the first is in line {line}, column {column}")]
    RepeatedAttribute {
        /// the attribute
        attribute: String,
        /// its element
        element: String,
        /// line of the first one, from 1
        line: usize,
        /// column of the first one in characters, from 1
        column: usize,
    },
    /// a required attribute is missing
    #[error("<{element}> needs the attribute `{attribute}`")]
    MissingAttribute {
        /// the attribute
        attribute: String,
        /// its element
        element: String,
    },
    /// not one of the words allowed
    #[error("`{value}` is not a value of `{attribute}`")]
    UnknownKeyword {
        /// the value
        value: String,
        /// the attribute
        attribute: String,
    },
    /// not a number, or not finite
    #[error("`{value}` in `{attribute}` is not a finite number")]
    BadNumber {
        /// the value
        value: String,
        /// the attribute
        attribute: String,
    },
    /// not a whole number in range
    #[error("`{value}` in `{attribute}` is not a whole number that fits 32 bits")]
    BadInteger {
        /// the value
        value: String,
        /// the attribute
        attribute: String,
    },
    /// too many or too few numbers
    #[error("numbers in `{attribute}`: {found}, it takes {expected}")]
    WrongCount {
        /// the attribute
        attribute: String,
        /// how many there are
        found: usize,
        /// how many it takes, in words
        expected: String,
    },
    /// a value that is a number but makes no sense
    #[error("{0}")]
    BadValue(String),
    /// two attributes that exclude each other
    #[error("`{first}` and `{second}` of <{element}> exclude each other")]
    Conflict {
        /// one
        first: String,
        /// the other
        second: String,
        /// their element
        element: String,
    },
    /// a name used twice within one kind
    #[error("the name `{name}` is used by two elements of the kind {kind}")]
    Duplicate {
        /// the name
        name: String,
        /// the kind
        kind: String,
    },
    /// an element that may be there once only
    #[error("a second <{element}> in <{parent}>")]
    Repeated {
        /// the element
        element: String,
        /// the element around it
        parent: String,
    },
    /// a name that nothing has
    #[error("there is no {kind} named `{name}`")]
    Dangling {
        /// the name
        name: String,
        /// the kind
        kind: String,
    },
    /// an element in a place where it makes no sense
    #[error("{0}")]
    Misplaced(String),
    /// a file included twice or by itself
    #[error("the file `{0}` is included more than once")]
    IncludedTwice(String),
    /// nested too deeply
    #[error("elements are nested more than {0} deep")]
    TooDeep(usize),
    /// a setting that this program refuses
    #[error("unsupported: {0}")]
    Unsupported(String),
}

/// One thing wrong, with its place.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub struct Error {
    /// what is wrong
    pub kind: ErrorKind,
    /// where
    pub span: Span,
    /// the name of the file
    pub file: String,
    /// line, from 1
    pub line: usize,
    /// column in characters, from 1
    pub column: usize,
    /// the text at fault, shortened to one line
    pub text: String,
    /// what to do about it
    pub remedy: Option<String>,
}

/// Something that is accepted but probably not meant.
pub type Warning = Error;

impl Error {
    /// An error at a span, its place looked up.
    pub fn new(sources: &Sources, span: Span, kind: ErrorKind, remedy: Option<String>) -> Self {
        let place = sources.line_col(span);
        let text = sources.text(span);
        let mut line = text.lines().next().unwrap_or("").to_owned();
        if line.chars().count() > MAX_TEXT {
            line = line.chars().take(MAX_TEXT).collect::<String>() + "…";
        }
        Self {
            kind,
            span,
            file: sources.name(span).to_owned(),
            line: place.line,
            column: place.column,
            text: line,
            remedy,
        }
    }
}

/// The longest piece of a file that a message repeats.
const MAX_TEXT: usize = 80;

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.kind)?;
        if !self.text.is_empty() {
            write!(f, "\n  found: {}", self.text)?;
        }
        match &self.remedy {
            Some(remedy) => write!(f, "\n  help: {remedy}"),
            None => Ok(()),
        }
    }
}

/// Everything wrong with a model, in the order of the files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Errors {
    /// at least one
    pub errors: Vec<Error>,
    /// the files, for showing the lines at fault
    pub sources: Sources,
}

impl std::fmt::Display for Errors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, e) in self.errors.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            write!(f, "{e}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Errors {}
