//! What a batch asks of its worlds on the CPU, whatever number they are stepped in, and how that number is chosen.

use crate::cpu_batch::CpuBatch;
use crate::history::Record;
use crate::memory::Need;
use crate::{Error, Precision};
use kiloworld_cpu::{Compiled, WithNumber, widths, with_lanes};
use kiloworld_layout::{Call, Data, Field, Model, Stage};

/// What sets a world's controls before a step: (world, step of this call, controls).
pub(crate) type Control<'a> = &'a (dyn Fn(usize, usize, &mut [f64]) + Sync);

/// What sees a world after a step: (world, step of this call, the world).
pub(crate) type Each<'a, T> = &'a (dyn Fn(usize, usize, &Data<T>) + Sync);

/// The worlds of a batch on the CPU.
pub(crate) trait CpuWorlds: Send + Sync {
    /// The number that the worlds are stepped in, in words.
    fn name(&self) -> String;
    /// The number's precision and its lanes.
    fn number(&self) -> (&'static str, usize);
    /// Bytes that a world keeps between steps.
    fn bytes_per_world(&self) -> usize;
    /// Bytes of work arrays a thread.
    fn bytes_per_thread(&self) -> usize;
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

/// What worlds of a model take in a number: bytes a world, bytes of work arrays a thread, bytes of a recorded state.
struct Bytes<'m>(&'m Model<f64>);

impl WithNumber for Bytes<'_> {
    type Out = [u64; 3];
    fn with<T: Compiled>(self) -> Self::Out {
        CpuBatch::<T>::bytes(self.0)
    }
}

/// Bytes of `nworld` worlds in the number that suits the processor, each with the last `history` states.
pub(crate) fn cpu_need(
    m: &Model<f64>,
    nworld: usize,
    precision: Precision,
    asked: Option<u32>,
    history: usize,
) -> Result<Need, Error> {
    let wanted = width(nworld, precision, asked);
    let out = with_lanes(precision != Precision::F64, wanted as usize, Bytes(m));
    let [world, thread, record] = out.ok_or_else(|| no_such_width(precision, wanted))?;
    let threads = rayon::current_num_threads() as u64;
    Ok(Need {
        per_world: world.saturating_add(record.saturating_mul(history as u64)),
        shared: thread.saturating_mul(threads),
    })
}

/// Makes the worlds of a model in a number.
struct Make<'m>(&'m Model<f64>, usize);

impl WithNumber for Make<'_> {
    type Out = Box<dyn CpuWorlds>;
    fn with<T: Compiled>(self) -> Self::Out {
        Box::new(CpuBatch::<T>::new(self.0, self.1))
    }
}

/// How many worlds side by side a register of this processor can hold on the CPU backend, the width that a large batch takes
/// first; 1, a world by itself, is always there.
pub fn lanes(precision: Precision) -> Vec<u32> {
    widths(precision != Precision::F64).into_iter().map(|n| n as u32).collect()
}

/// Worlds in the number that suits the processor: the first width of the list that the batch fills on every thread, or that
/// of `lanes`.
pub(crate) fn cpu_worlds(
    m: &Model<f64>,
    nworld: usize,
    precision: Precision,
    asked: Option<u32>,
) -> Result<Box<dyn CpuWorlds>, Error> {
    let wanted = width(nworld, precision, asked);
    with_lanes(precision != Precision::F64, wanted as usize, Make(m, nworld))
        .ok_or_else(|| no_such_width(precision, wanted))
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
