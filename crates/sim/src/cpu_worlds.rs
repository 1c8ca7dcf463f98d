//! What a batch asks of its worlds on the CPU, whatever number they are stepped in, and how that number is chosen.

use crate::cpu_batch::CpuBatch;
use crate::history::Record;
use crate::memory::Need;
use crate::{Error, Precision};
use kiloworld_cpu::{Compiled, WithNumber, widths, with_lanes};
use kiloworld_layout::{Call, Data, Field, Model, Stage};

/// What sets a world's controls before a step: (world, step of this call, controls).
pub(crate) type Control<'a> = &'a (dyn Fn(usize, usize, &mut [f64]) + Sync);

/// The worlds of a batch on the CPU.
pub(crate) trait CpuWorlds: Send + Sync {
    /// True where the field is kept between steps.
    fn keeps(&self, field: Field) -> bool;
    /// A kept field of one world.
    fn get(&self, field: Field, w: usize, out: &mut [f64]);
    /// Sets a kept field of one world.
    fn set(&mut self, field: Field, w: usize, values: &[f64]);
    /// Sets a field of the model of some worlds, (ids.len(), n); the others keep theirs.
    fn set_model(&mut self, field: Field, ids: &[usize], values: &[f64]);
    /// A field of one world's model.
    fn model_row(&self, field: Field, w: usize) -> Vec<f64>;
    /// Keeps the last `depth` states of every world from now on.
    fn remember(&mut self, depth: usize);
    /// The states that the last steps of a world began with, the oldest first.
    fn history(&self, w: usize) -> Vec<Record>;
    /// Runs `n` steps of every world that is not frozen.
    fn step(&mut self, calls: &[Call], n: usize, control: Option<Control<'_>>);
    /// Runs a step of every world by itself and shows them, one after the other, in their order.
    fn trace(&mut self, calls: &[Call], control: Option<Control<'_>>, each: &mut dyn FnMut(usize, &Data<f64>));
    /// Runs a forward pass of the given worlds on work arrays and returns fields, (ids.len(), n) each; the worlds stay as
    /// they are.
    fn forward(&self, calls: &[Call], ids: &[usize], fields: &[Field]) -> Vec<Vec<f64>>;
    /// One world after a forward pass.
    fn world(&self, calls: &[Call], w: usize) -> Data<f64>;
    /// Seconds a world-step that each stage takes on one thread: a few groups stepped stage by stage.
    fn profile(&self, calls: &[Call], n: usize, control: Control<'_>) -> Vec<(Stage, f64)>;
}

/// Bytes that worlds of a model take in a number.
pub(crate) struct Bytes {
    /// what is kept of a world between steps
    pub world: u64,
    /// a recorded state
    pub record: u64,
    /// work arrays of a thread
    pub thread: u64,
    /// copies of the model
    pub models: u64,
}

/// Counts them.
struct Count<'m>(&'m Model<f64>, &'m [Field]);

impl WithNumber for Count<'_> {
    type Out = Bytes;
    fn with<T: Compiled>(self) -> Self::Out {
        CpuBatch::<T>::bytes(self.0, self.1)
    }
}

/// Bytes of `nworld` worlds, `lanes` in a register, with some fields of the model and the last `history` states of their own.
pub(crate) fn cpu_need(
    m: &Model<f64>,
    nworld: usize,
    precision: Precision,
    lanes: u32,
    per_world: &[Field],
    history: usize,
) -> Result<Need, Error> {
    let counted = with_lanes(precision != Precision::F64, lanes as usize, Count(m, per_world));
    let bytes = counted.ok_or_else(|| no_such_width(precision, lanes))?;
    let threads = rayon::current_num_threads().min(nworld.div_ceil(lanes.max(1) as usize)) as u64;
    Ok(Need {
        per_world: bytes.world.saturating_add(bytes.record.saturating_mul(history as u64)),
        shared: bytes.models.saturating_add(bytes.thread.saturating_mul(threads)),
    })
}

/// Makes the worlds of a model in a number.
struct Make<'m>(&'m Model<f64>, usize);

impl WithNumber for Make<'_> {
    type Out = Option<Box<dyn CpuWorlds>>;
    fn with<T: Compiled>(self) -> Self::Out {
        Some(Box::new(CpuBatch::<T>::new(self.0, self.1)?))
    }
}

/// How many worlds side by side a register of this processor can hold on the CPU backend, the width that a large batch takes
/// first; 1, a world by itself, is always there.
pub fn lanes(precision: Precision) -> Vec<u32> {
    widths(precision != Precision::F64).into_iter().map(|n| n as u32).collect()
}

/// Worlds of a model, `lanes` in a register; nothing where the system has not the memory.
pub(crate) fn cpu_worlds(
    m: &Model<f64>,
    nworld: usize,
    precision: Precision,
    lanes: u32,
) -> Result<Option<Box<dyn CpuWorlds>>, Error> {
    with_lanes(precision != Precision::F64, lanes as usize, Make(m, nworld))
        .ok_or_else(|| no_such_width(precision, lanes))
}

/// The width that is asked for, or the first that the batch fills on every thread.
pub(crate) fn width(nworld: usize, precision: Precision, asked: Option<u32>) -> u32 {
    let a_thread = nworld.div_ceil(rayon::current_num_threads());
    // one world is fastest by itself
    asked.or_else(|| lanes(precision).into_iter().find(|&n| n as usize <= a_thread)).unwrap_or(1)
}

fn no_such_width(precision: Precision, wanted: u32) -> Error {
    let has: Vec<String> = lanes(precision).iter().map(u32::to_string).collect();
    Error::Lanes { lanes: wanted, has: has.join(", ") }
}
