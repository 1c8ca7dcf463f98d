//! The last states of every world, recorded on the device at the start of each step.
//!
//! A dispatch a step copies the words of the buffer `state` and `eq_active`: of what a step moves a few per cent. Where no history
//! is asked for nothing is dispatched.

use crate::batch::GpuBatch;
use crate::buffers::Slice;
use crate::device::Gpu;
use crate::error::GpuError;
use kiloworld_layout::consts::status;
use kiloworld_layout::{Binding, Data, Field, Sizes, pack};

/// The uniform of `history.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
struct Place {
    nworld: u32,
    groups_x: u32,
    depth: u32,
    base: u32,
    state_words: u32,
    status_words: u32,
    status_at: u32,
    eq_at: u32,
    neq: u32,
    frozen: u32,
    pad: [u32; 2],
}

/// Steps that one submission can number: a block of uniform memory each.
pub(crate) const STEPS: usize = 1024;
/// Bytes from one block to the next: WebGPU's alignment of dynamic offsets.
const STRIDE: u32 = 256;

/// What records.
#[derive(Debug)]
pub(crate) struct History {
    pipeline: wgpu::ComputePipeline,
    /// one a slice of worlds
    rings: Vec<Ring>,
    depth: usize,
    /// words of a record
    words: usize,
    /// number of the next step; records that were never written have 0
    next: u32,
}

#[derive(Debug)]
struct Ring {
    records: wgpu::Buffer,
    place: wgpu::Buffer,
    content: Place,
    bind: wgpu::BindGroup,
    groups: [u32; 2],
}

fn small(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

impl GpuBatch {
    /// Keeps the last `depth` states of every world from now on, 0: none.
    pub fn remember(&mut self, depth: usize) -> Result<(), GpuError> {
        self.history = match depth {
            0 => None,
            _ => Some(History::new(self, depth)?),
        };
        Ok(())
    }

    /// The states that the last steps of a world began with, the oldest first: fields of the state and `eq_active`, the rest
    /// empty or 0. A frozen world's last one is what its failed step began with.
    pub fn history(&self, world: usize) -> Result<Vec<Data<f32>>, GpuError> {
        let Some(history) = &self.history else { return Ok(Vec::new()) };
        let inside = |s: &Slice| (s.world0..s.world0 + s.nworld).contains(&world);
        let Some(at) = self.slices.iter().position(inside) else {
            return Err(GpuError::Setting(format!("no world {world} among {}", self.nworld())));
        };
        let (n, each) = (history.depth * history.words, history.words);
        let first = (world - self.slices[at].world0) * n;
        let words = self.gpu.read(&history.rings[at].records, first, n)?;
        let mut records: Vec<&[u32]> = words.chunks_exact(each).filter(|r| r[0] != 0).collect();
        records.sort_by_key(|r| r[0]);
        let size = Sizes { nconmax: 0, njmax: 0, njdual: 0, ..self.model.size.clone() };
        let state = self.layout.words(Binding::State);
        let unpack = |r: &&[u32]| {
            let mut d = Data::new(&size, &0.0);
            pack::unpack_world(&r[1..=state], &self.layout, Binding::State, &mut d);
            d.eq_active.iter_mut().zip(&r[1 + state..]).for_each(|(on, w)| *on = w.cast_signed());
            d
        };
        Ok(records.iter().map(unpack).collect())
    }
}

impl History {
    fn new(batch: &GpuBatch, depth: usize) -> Result<Self, GpuError> {
        let (gpu, layout) = (&batch.gpu, &batch.layout);
        let neq = batch.model.size.neq;
        let words = 1 + layout.words(Binding::State) + neq;
        let limits = gpu.info().limits;
        let most = limits.binding.min(limits.buffer) / 4;
        let largest = batch.slices.iter().map(|s| s.nworld).max().unwrap_or(1);
        if (largest * words) as u64 * depth as u64 > most {
            let fits = most / (largest * words) as u64;
            return Err(GpuError::Setting(format!(
                "a history of {depth} states of {largest} worlds does not fit in a buffer of this device: ask for at most {fits}"
            )));
        }
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let steps = gpu.buffer("steps", STEPS * STRIDE as usize / 4, usage)?;
        let mut blocks = vec![0_u32; STEPS * STRIDE as usize / 4];
        (0..).zip(blocks.chunks_exact_mut(STRIDE as usize / 4)).for_each(|(k, block)| block[0] = k);
        gpu.inner.queue.write_buffer(&steps, 0, bytemuck::cast_slice(&blocks));
        let (bind_layout, pipeline) = pipeline(gpu)?;
        let at = |f: Field| layout.slot(f).map_or(0, |slot| slot.offset);
        let mut rings = Vec::new();
        for slice in &batch.slices {
            let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
            let records = gpu.buffer("history", slice.nworld * depth * words, usage)?;
            let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
            let place = gpu.buffer("place of records", size_of::<Place>() / 4, usage)?;
            let groups = small(slice.nworld * words).div_ceil(64);
            let y = groups.div_ceil(65_535);
            let groups = [groups.div_ceil(y), y];
            let content = Place {
                nworld: small(slice.nworld),
                groups_x: groups[0],
                depth: small(depth),
                base: 0,
                state_words: small(layout.words(Binding::State)),
                status_words: small(layout.words(Binding::Status)),
                status_at: small(at(Field::status)),
                eq_at: small(at(Field::eq_active)),
                neq: small(neq),
                frozen: status::FROZEN.cast_unsigned(),
                pad: [0; 2],
            };
            let block = wgpu::BufferBinding { buffer: &steps, offset: 0, size: core::num::NonZeroU64::new(16) };
            let bindings = [
                slice.buffer(Binding::State).as_entire_buffer_binding(),
                slice.buffer(Binding::Status).as_entire_buffer_binding(),
                records.as_entire_buffer_binding(),
                place.as_entire_buffer_binding(),
                block,
            ];
            let entries: Vec<_> = (0..)
                .zip(bindings)
                .map(|(binding, b)| wgpu::BindGroupEntry { binding, resource: wgpu::BindingResource::Buffer(b) })
                .collect();
            let bind = gpu.scoped("history", || {
                gpu.inner.device.create_bind_group(&wgpu::BindGroupDescriptor {
                    label: Some("history"),
                    layout: &bind_layout,
                    entries: &entries,
                })
            })?;
            rings.push(Ring { records, place, content, bind, groups });
        }
        Ok(Self { pipeline, rings, depth, words, next: 1 })
    }

    /// Numbers the steps of the submission that follows.
    pub(crate) fn begin(&mut self, gpu: &Gpu, steps: usize) {
        for ring in &mut self.rings {
            ring.content.base = self.next;
            gpu.inner.queue.write_buffer(&ring.place, 0, bytemuck::bytes_of(&ring.content));
        }
        self.next = self.next.saturating_add(small(steps));
    }

    /// Records what step `k` of the submission begins with.
    pub(crate) fn encode(&self, pass: &mut wgpu::ComputePass<'_>, k: usize) {
        pass.set_pipeline(&self.pipeline);
        for ring in &self.rings {
            pass.set_bind_group(0, &ring.bind, &[small(k) * STRIDE]);
            pass.dispatch_workgroups(ring.groups[0], ring.groups[1], 1);
        }
    }
}

fn pipeline(gpu: &Gpu) -> Result<(wgpu::BindGroupLayout, wgpu::ComputePipeline), GpuError> {
    let device = &gpu.inner.device;
    gpu.scoped("history", || {
        let storage = |read_only| wgpu::BufferBindingType::Storage { read_only };
        let kinds = [
            (storage(true), false),
            (storage(true), false),
            (storage(false), false),
            (wgpu::BufferBindingType::Uniform, false),
            (wgpu::BufferBindingType::Uniform, true),
        ];
        let entries: Vec<_> = (0..)
            .zip(kinds)
            .map(|(binding, (ty, has_dynamic_offset))| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: None },
                count: None,
            })
            .collect();
        let layout = device
            .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some("history"), entries: &entries });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("history"),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("history"),
            source: wgpu::ShaderSource::Wgsl(include_str!("history.wgsl").into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("history"),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some("record"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        (layout, pipeline)
    })
}
