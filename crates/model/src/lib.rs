//! A specification compiled to a model with MuJoCo's fields.
//!
//! ```no_run
//! let model = kiloworld_model::Model::from_path("models/humanoid.xml")?;
//! println!("{} bodies, {} dofs", model.layout.size.nbody, model.layout.size.nv);
//! # Ok::<(), kiloworld_mjcf::Errors>(())
//! ```
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "ids and counts fit i32 and are kept there as MuJoCo keeps them"
)]

mod compile;
pub mod derived;
mod hfield;
mod mesh;
mod model;
mod names;

pub use compile::{capture, contacts_at_most, rows_always, rows_per_contact, slots};
pub use kiloworld_mjcf::spec::{SOLIMP, SOLREF};
pub use kiloworld_mjcf::{Error, Errors, Files, Load, Reach, read_file};
pub use model::{Model, SetConstError};
pub use names::{Kind, NameTable, Names, acts, escaped, shown};
