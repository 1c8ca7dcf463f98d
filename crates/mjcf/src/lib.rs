//! MJCF text to a typed specification, with the position of everything that can be wrong.

mod attach;
mod dom;
pub mod error;
mod files;
mod include;
mod read;
mod refer;
mod schema;
pub mod span;
pub mod spec;

pub use error::{Error, ErrorKind, Errors, Warning};
pub use files::{Files, Load, NoFiles, Reach, read_file};
pub use read::{read_path, read_path_with, read_reader, read_str, read_with};
pub use span::{At, LineCol, Source, Sources, Span};
pub use spec::Spec;
