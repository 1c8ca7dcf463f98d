//! MJCF text to a typed specification, with the position of everything that can be wrong.

pub mod error;
pub mod span;
pub mod spec;

pub use error::{Error, ErrorKind, Errors, Warning};
pub use span::{At, LineCol, Source, Sources, Span};
pub use spec::Spec;
