//! Batches of worlds: one model, thousands of worlds, stepped on the GPU or on the CPU.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use kiloworld_sim::{Batch, Field};
//! let model = kiloworld_model::Model::from_path("models/humanoid.xml")?;
//! let mut batch = Batch::builder(&model).nworld(4096).build()?;
//! batch.step(100)?;
//! let qpos = batch.get(Field::qpos)?; // (nworld, nq), row-major
//! assert_eq!(qpos.len(), 4096 * model.layout.size.nq);
//! # Ok(())
//! # }
//! ```

mod attach;
mod batch;
mod builder;
mod cpu_batch;
mod cpu_worlds;
mod dump;
mod equality;
mod error;
mod gpu_batch;
mod health;
mod history;
pub mod memory;
pub mod npz;
mod quarantine;
mod replay;
mod report;
pub mod rng;
mod routes;
mod row;
pub mod sizing;
mod sound;
pub mod step;
mod targets;
mod welds;
mod whole;

pub use batch::Batch;
pub use builder::{Backend, BatchBuilder, GPU_ITERATIONS, Precision};
pub use cpu_worlds::lanes;
pub use dump::{About, Dump, DumpError};
pub use equality::{EqualityInfo, equalities};
pub use error::Error;
pub use health::{Finding, Flag, Health, HealthLimits, Verdict, bad_arrays, equality_label};
pub use history::Record;
pub use kiloworld_layout::{Call, Data, Field, Stage};
pub use quarantine::{Failure, Policy};
pub use replay::{Break, Difference, Replay, ReplayStep};
pub use report::{DeviceNumbers, Report};
pub use routes::{Routes, WeldRoutes};
pub use sizing::{Chosen, HighWater, Probe, Sizing};
pub use targets::Ramp;
pub use welds::{RowRule, STIFF_SOLIMP, Welds, rule, stiff_solref};
pub use whole::WholeFile;
