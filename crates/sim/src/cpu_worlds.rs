//! What a batch asks of its worlds on the CPU, whatever number they are stepped in, and how that number is chosen.

use crate::cpu_batch::CpuBatch;
use crate::history::Record;
use crate::{Error, Precision};
use kiloworld_cpu::Compiled;
use kiloworld_cpu::lanes::{F32x4, F64x2};
#[cfg(target_arch = "x86_64")]
use kiloworld_cpu::lanes::{F32x8, F32x16, F64x4, F64x8};
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
    /// Runs `n` steps of every world by itself; `each` sees it after each of them.
    fn trace(&mut self, calls: &[Call], n: usize, control: Option<Control<'_>>, each: Each<'_, f64>);
    /// Runs a forward pass of the given worlds on work arrays and returns fields, (ids.len(), n) each; the worlds stay as
    /// they are.
    fn forward(&self, calls: &[Call], ids: &[usize], fields: &[Field]) -> Vec<Vec<f64>>;
    /// One world after a forward pass.
    fn world(&self, calls: &[Call], w: usize) -> Data<f64>;
    /// Seconds a world-step that each stage takes on one thread: a few groups stepped stage by stage.
    fn profile(&self, calls: &[Call], n: usize, control: Control<'_>) -> Vec<(Stage, f64)>;
}

/// A number that worlds can be stepped in.
struct Width {
    lanes: usize,
    available: fn() -> bool,
    make: fn(&Model<f64>, usize) -> Box<dyn CpuWorlds>,
}

fn width<T: Compiled>() -> Width {
    Width { lanes: T::LANES, available: T::available, make: |m, nworld| Box::new(CpuBatch::<T>::new(m, nworld)) }
}

/// The widths in single or double precision, in the order in which they are taken where the processor has them.
fn widths(single: bool) -> Vec<Width> {
    let mut out = Vec::new();
    #[cfg(target_arch = "x86_64")]
    out.extend(if single { [width::<F32x16>(), width::<F32x8>()] } else { [width::<F64x8>(), width::<F64x4>()] });
    out.extend(if single { [width::<F32x4>(), width::<f32>()] } else { [width::<F64x2>(), width::<f64>()] });
    out
}

fn available(precision: Precision) -> Vec<Width> {
    widths(precision != Precision::F64).into_iter().filter(|w| (w.available)()).collect()
}

/// How many worlds side by side a register of this processor can hold on the CPU backend, the width that a large batch takes
/// first; 1, a world by itself, is always there.
pub fn lanes(precision: Precision) -> Vec<u32> {
    available(precision).iter().map(|w| w.lanes as u32).collect()
}

/// Worlds in the number that suits the processor: the first width of the list that the batch fills on every thread, or that
/// of `lanes`.
pub(crate) fn cpu_worlds(
    m: &Model<f64>,
    nworld: usize,
    precision: Precision,
    asked: Option<u32>,
) -> Result<Box<dyn CpuWorlds>, Error> {
    let widths = available(precision);
    let a_thread = nworld.div_ceil(rayon::current_num_threads());
    let found = match asked {
        Some(lanes) => widths.iter().find(|w| w.lanes == lanes as usize),
        // one world is fastest by itself
        None => widths.iter().find(|w| w.lanes <= a_thread),
    };
    match found {
        Some(w) => Ok((w.make)(m, nworld)),
        None => {
            let has: Vec<String> = lanes(precision).iter().map(u32::to_string).collect();
            Err(Error::Lanes { lanes: asked.unwrap_or(1), has: has.join(", ") })
        }
    }
}
