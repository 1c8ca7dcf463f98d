//! What can go wrong on the way to the GPU and back.

use crate::link::LinkError;
use kiloworld_layout::LayoutError;

/// An error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GpuError {
    /// no adapter, or none of the wanted name
    #[error("no GPU adapter{}; found: {found}", if wanted.is_empty() { String::new() } else { format!(" whose name has `{wanted}`") })]
    NoAdapter {
        /// part of the wanted name
        wanted: String,
        /// names of the adapters that are there
        found: String,
    },
    /// the adapter cannot run kernels of this kind at all
    #[error("adapter `{adapter}` offers {have} {what}, {need} are needed")]
    Unfit {
        /// its name
        adapter: String,
        /// the limit
        what: &'static str,
        /// offered
        have: u64,
        /// needed
        need: u64,
    },
    /// the driver refused a device
    #[error("no device on adapter `{adapter}`: {message}")]
    Device {
        /// its name
        adapter: String,
        /// the driver's words
        message: String,
    },
    /// the model does not fit
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// shader files do not link
    #[error(transparent)]
    Link(#[from] LinkError),
    /// a shader does not compile
    #[error("{file}:{line}: {message}")]
    Shader {
        /// shader file
        file: String,
        /// line in it
        line: usize,
        /// the compiler's words
        message: String,
    },
    /// the device has not the memory
    #[error("{what}: the device does not give the memory ({message})")]
    Memory {
        /// what it was for
        what: String,
        /// wgpu's words
        message: String,
    },
    /// wgpu or the driver refused an operation
    #[error("{what}: {message}")]
    Wgpu {
        /// what was done
        what: String,
        /// wgpu's words
        message: String,
    },
    /// an array of the wrong length
    #[error("`{field}` wants {need} values, got {got}")]
    Length {
        /// the field
        field: &'static str,
        /// expected
        need: usize,
        /// given
        got: usize,
    },
    /// a field that this operation cannot reach
    #[error("`{field}` {why}")]
    Field {
        /// the field
        field: &'static str,
        /// why
        why: &'static str,
    },
    /// a setting that makes no sense
    #[error("{0}")]
    Setting(String),
}
