//! The stages of a step on the GPU: an adapter's device, shaders linked and compiled for a model, worlds in slices of
//! buffers, recordings of dispatches, fields up and down.
//!
//! This crate knows no files and no CPU stages: it sees the arrays of `kiloworld-layout` and the texts in `shaders/`.
//! No wgpu type shows outside.

mod aside;
mod batch;
mod buffers;
mod count;
mod device;
mod error;
mod fields;
mod history;
pub mod link;
mod pipelines;
mod readback;
mod record;
mod selftest;
mod shaders;
mod stage;
mod timing;
mod tuning;

pub use batch::{BatchOptions, GpuBatch};
pub use count::Counts;
pub use device::{ADAPTER_VARIABLE, AdapterInfo, Gpu, GpuOptions, TuningChange, adapters};
pub use error::GpuError;
pub use kiloworld_layout::wgsl::Tuning;
pub use selftest::SelfTest;
pub use shaders::{SHADERS, SHADERS_VARIABLE, Shaders};
pub use stage::{Kernel, kernels};
pub use timing::Timings;
