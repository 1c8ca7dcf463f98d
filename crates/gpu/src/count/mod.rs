//! What a step asks of a device, counted by running its kernels on the host, world by world.
//!
//! The kernels are those that the device runs, linked for the same model and lanes and interpreted from naga's IR; the worlds
//! are in the state that the device has them in. So loops over contacts, rows and iterations count as often as they turn.

mod machine;
mod memory;
mod ops;

use crate::batch::GpuBatch;
use crate::error::GpuError;
use crate::stage::Kernel;
use kiloworld_layout::wgsl::{Tuning, emit};
use kiloworld_layout::{Binding, Call, Data, pack};
use machine::Program;
use memory::Memory;
use std::collections::HashMap;

/// What calls ask of the device for one world.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Bytes that must come from memory: in each dispatch the words of the world that it loads and has not stored itself, each
    /// once. A cache that holds less than a world's part of a dispatch makes it more; one that holds it from one dispatch to
    /// the next makes it less.
    pub bytes_read: f64,
    /// Bytes that must go to memory: in each dispatch the words that it stores, each once.
    pub bytes_written: f64,
    /// Bytes of what all worlds share (the model) that dispatches load, each word once a dispatch; not a world's, but one batch's.
    pub bytes_shared: f64,
    /// Bytes that kernels load and store, every time: what goes through the first cache, or through memory where there is none.
    pub bytes_accessed: f64,
    /// Floating-point operations: an addition, subtraction, multiplication, division, root, power or exponential is 1 a
    /// component; comparisons, minima, negations and moves are none.
    pub flops: f64,
    /// Points where the lanes of a workgroup wait for each other.
    pub barriers: f64,
    /// The most turns of loops, all loops together, that an invocation made in a dispatch.
    pub loop_turns: u64,
}

impl GpuBatch {
    /// Runs the calls on the host for some worlds as they are now, which stay so, and counts: means over these worlds. Also
    /// what the calls make of the worlds, where `after` is given.
    pub fn count(
        &self,
        calls: &[Call],
        worlds: &[usize],
        mut after: Option<&mut Vec<Data<f32>>>,
    ) -> Result<Counts, GpuError> {
        let tuning = Tuning { worlds_per_group: 1, ..self.tuning() };
        let module = emit(&self.model, &self.layout, tuning);
        let fault =
            |kernel: Kernel, message: String| GpuError::Wgpu { what: format!("counting {}", kernel.file), message };
        let list = self.dispatches(calls);
        let mut programs = HashMap::new();
        for kernel in list.iter().map(|d| d.kernel) {
            if !programs.contains_key(kernel.file) {
                let linked = self.shaders().link(kernel.file, &module)?;
                programs.insert(kernel.file, Program::new(&linked.text).map_err(|m| fault(kernel, m))?);
            }
        }
        let mut counts = Counts::default();
        let share = 1.0 / worlds.len().max(1) as f64;
        for &w in worlds {
            let mut d = self.read_world(w)?;
            let mut memory = Memory::new(Binding::ALL.map(|b| self.words_of(b, &d)).to_vec());
            for dispatch in &list {
                let Some(program) = programs.get(dispatch.kernel.file) else { continue };
                memory.begin(program.workgroup().0, dispatch.argument);
                let work = program.run(dispatch.kernel.entry, tuning.lanes, &memory);
                let work = work.map_err(|m| fault(dispatch.kernel, m))?;
                for binding in Binding::ALL {
                    let (read, written) = memory.touched(binding as usize);
                    let bytes = if binding.is_shared() { &mut counts.bytes_shared } else { &mut counts.bytes_read };
                    *bytes += 4.0 * share * read as f64;
                    counts.bytes_written += 4.0 * share * written as f64;
                }
                for lane in &work {
                    counts.flops += share * lane.flops as f64;
                    counts.bytes_accessed += 4.0 * share * lane.accesses as f64;
                    counts.loop_turns = counts.loop_turns.max(lane.turns);
                }
                counts.barriers += work.first().map_or(0.0, |lane| share * lane.barriers as f64);
            }
            if let Some(after) = &mut after {
                for binding in Binding::ALL.into_iter().filter(|&b| !b.is_shared() && b != Binding::Vary) {
                    pack::unpack_world(&memory.words(binding as usize), &self.layout, binding, &mut d);
                }
                after.push(d);
            }
        }
        Ok(counts)
    }

    /// A world's words of a buffer; fields that differ from world to world as the model has them.
    fn words_of(&self, binding: Binding, d: &Data<f32>) -> Vec<u32> {
        if binding.is_shared() || binding == Binding::Vary {
            return pack::pack_model(&self.model, &self.layout, binding);
        }
        let mut words = vec![0; self.layout.words(binding)];
        pack::pack_world(d, &self.layout, binding, &mut words);
        words
    }
}
