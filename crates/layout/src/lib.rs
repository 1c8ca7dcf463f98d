//! The one field table: every array of a model and of a world, declared once.
//!
//! A row of [`fields`] gives a field's name (MuJoCo's where MuJoCo has it), the buffer it lives in on the device, its
//! shape, element kind, unit, the stage that computes it and what it means. From that table come the host structs
//! [`Model`] and [`Data`], sizes and offsets of the device buffers, and the text of the WGSL module `layout`.
//!
//! ```text
//! host    Model<T>   one Vec a field, shared by all worlds          Data<T>   one Vec a field, one world
//! device  topo i32 | model f32 (shared)    vary f32 (per world)     state f32 | work f32 | contact f32 | efc f32 | status i32
//! users   (nworld, n) row-major arrays of the state fields
//! ```

mod fields;
mod offsets;
pub mod pack;
mod rules;
mod sizes;
mod stages;
pub mod wgsl;

pub use fields::{Buffer, Data, Field, FieldInfo, Kind, Model, Slice, SliceMut};
pub use offsets::{Binding, Layout, LayoutError, Limits, Slot};
pub use rules::{RULES, Rule};
pub use sizes::{Dim, Opt, SizeName, Sizes, triangle};
pub use stages::{Call, Stage};

/// MuJoCo's constants that files and kernels refer to, by MuJoCo's names without the `mj` prefix.
pub mod consts;
