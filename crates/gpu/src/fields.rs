//! One field of a batch as a dense (nworld, n) array, up and down; the device gathers and scatters.

use crate::batch::GpuBatch;
use crate::buffers::Slice;
use crate::device::Gpu;
use crate::error::GpuError;
use kiloworld_layout::{Field, Kind, Slot};
use std::sync::{Mutex, PoisonError};

/// The uniform of `fields.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Place {
    stride: u32,
    offset: u32,
    n: u32,
    count: u32,
    all: u32,
    groups_x: u32,
    pad: [u32; 2],
}

/// The kernels that copy fields and the buffers they keep from call to call.
#[derive(Debug)]
pub(crate) struct FieldCopier {
    layout: wgpu::BindGroupLayout,
    gather: wgpu::ComputePipeline,
    scatter: wgpu::ComputePipeline,
    place: wgpu::Buffer,
    grown: Mutex<Grown>,
}

/// Buffers that grow with the largest call so far.
#[derive(Debug, Default)]
struct Grown {
    dense: Option<wgpu::Buffer>,
    staging: Option<wgpu::Buffer>,
    ids: Option<wgpu::Buffer>,
}

impl FieldCopier {
    pub(crate) fn new(gpu: &Gpu) -> Result<Self, GpuError> {
        let device = &gpu.inner.device;
        gpu.scoped("field copies", || {
            let buffer = |binding, ty| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
                count: None,
            };
            let storage = |read_only| wgpu::BufferBindingType::Storage { read_only };
            let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: Some("field copies"),
                entries: &[
                    buffer(0, storage(true)),
                    buffer(1, storage(true)),
                    buffer(2, storage(false)),
                    buffer(3, wgpu::BufferBindingType::Uniform),
                ],
            });
            let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some("field copies"),
                bind_group_layouts: &[Some(&layout)],
                immediate_size: 0,
            });
            let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
                label: Some("field copies"),
                source: wgpu::ShaderSource::Wgsl(include_str!("fields.wgsl").into()),
            });
            let pipeline = |entry| {
                device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                    label: Some(entry),
                    layout: Some(&pipeline_layout),
                    module: &module,
                    entry_point: Some(entry),
                    compilation_options: wgpu::PipelineCompilationOptions::default(),
                    cache: None,
                })
            };
            let place = device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("place"),
                size: size_of::<Place>() as u64,
                usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            let (gather, scatter) = (pipeline("gather"), pipeline("scatter"));
            Self { layout, gather, scatter, place, grown: Mutex::default() }
        })
    }
}

/// The buffer, made anew where it is too small.
fn grow<'a>(
    gpu: &Gpu,
    buffer: &'a mut Option<wgpu::Buffer>,
    label: &str,
    words: usize,
    usage: wgpu::BufferUsages,
) -> Result<&'a wgpu::Buffer, GpuError> {
    let fits = |b: &wgpu::Buffer| b.size() >= 4 * words as u64;
    let kept = buffer.take().filter(fits);
    Ok(buffer.insert(match kept {
        Some(b) => b,
        None => gpu.buffer(label, words.next_power_of_two().max(64), usage)?,
    }))
}

/// A piece of work: worlds of one slice, and which rows of the caller's array they are.
struct Part<'a> {
    slice: &'a Slice,
    /// worlds in the slice; `None`: all
    ids: Option<Vec<u32>>,
    /// rows of the array, in the order of `ids`
    rows: Vec<usize>,
}

impl GpuBatch {
    /// Writes a real field, (nworld, n) row-major.
    pub fn upload(&mut self, field: Field, values: &[f32]) -> Result<(), GpuError> {
        self.put(field, Kind::F, None, bytemuck::cast_slice(values))
    }

    /// Writes an integer field, (nworld, n) row-major.
    pub fn upload_int(&mut self, field: Field, values: &[i32]) -> Result<(), GpuError> {
        self.put(field, Kind::I, None, bytemuck::cast_slice(values))
    }

    /// Writes a real field of some worlds, (worlds, n) row-major.
    pub fn upload_rows(&mut self, field: Field, worlds: &[usize], values: &[f32]) -> Result<(), GpuError> {
        self.put(field, Kind::F, Some(worlds), bytemuck::cast_slice(values))
    }

    /// Writes an integer field of some worlds, (worlds, n) row-major.
    pub fn upload_int_rows(&mut self, field: Field, worlds: &[usize], values: &[i32]) -> Result<(), GpuError> {
        self.put(field, Kind::I, Some(worlds), bytemuck::cast_slice(values))
    }

    /// Reads a real field, (nworld, n) row-major.
    pub fn download(&self, field: Field) -> Result<Vec<f32>, GpuError> {
        Ok(self.take(field, Kind::F, None)?.into_iter().map(f32::from_bits).collect())
    }

    /// Reads an integer field, (nworld, n) row-major.
    pub fn download_int(&self, field: Field) -> Result<Vec<i32>, GpuError> {
        Ok(self.take(field, Kind::I, None)?.into_iter().map(u32::cast_signed).collect())
    }

    /// Reads a real field of some worlds, (worlds, n) row-major.
    pub fn download_rows(&self, field: Field, worlds: &[usize]) -> Result<Vec<f32>, GpuError> {
        Ok(self.take(field, Kind::F, Some(worlds))?.into_iter().map(f32::from_bits).collect())
    }

    /// Reads an integer field of some worlds, (worlds, n) row-major.
    pub fn download_int_rows(&self, field: Field, worlds: &[usize]) -> Result<Vec<i32>, GpuError> {
        Ok(self.take(field, Kind::I, Some(worlds))?.into_iter().map(u32::cast_signed).collect())
    }

    pub(crate) fn place(&self, field: Field, kind: Kind) -> Result<Slot, GpuError> {
        let why = |why| GpuError::Field { field: field.name(), why };
        let slot = self.layout.slot(field).ok_or_else(|| why("lives on the host only"))?;
        if slot.binding.is_shared() {
            return Err(why("is shared by all worlds: name it as a field that differs from world to world"));
        }
        if field.info().kind != kind {
            return Err(why(if kind == Kind::F { "holds integers" } else { "holds reals" }));
        }
        Ok(slot)
    }

    fn put(&mut self, field: Field, kind: Kind, worlds: Option<&[usize]>, words: &[u32]) -> Result<(), GpuError> {
        let slot = self.place(field, kind)?;
        let need = worlds.map_or(self.nworld(), <[usize]>::len) * slot.len();
        if words.len() != need {
            return Err(GpuError::Length { field: field.name(), need, got: words.len() });
        }
        for part in self.parts(worlds, slot.len())? {
            let dense: Vec<u32> = match worlds {
                None => words[part.rows[0] * slot.len()..][..part.rows.len() * slot.len()].to_vec(),
                Some(_) => part.rows.iter().flat_map(|&r| &words[r * slot.len()..][..slot.len()]).copied().collect(),
            };
            self.copy(&part, slot, Some(&dense))?;
        }
        Ok(())
    }

    fn take(&self, field: Field, kind: Kind, worlds: Option<&[usize]>) -> Result<Vec<u32>, GpuError> {
        let slot = self.place(field, kind)?;
        let mut out = vec![0; worlds.map_or(self.nworld(), <[usize]>::len) * slot.len()];
        for part in self.parts(worlds, slot.len())? {
            let dense = self.copy(&part, slot, None)?;
            for (&r, row) in part.rows.iter().zip(dense.chunks_exact(slot.len())) {
                out[r * slot.len()..][..slot.len()].copy_from_slice(row);
            }
        }
        Ok(out)
    }

    /// Splits the worlds by slice; nothing where the field is empty.
    fn parts(&self, worlds: Option<&[usize]>, len: usize) -> Result<Vec<Part<'_>>, GpuError> {
        if len == 0 {
            return Ok(Vec::new());
        }
        if let Some(w) = worlds.and_then(|ids| ids.iter().find(|&&w| w >= self.nworld())) {
            return Err(GpuError::Setting(format!("no world {w} among {}", self.nworld())));
        }
        let parts = self.slices.iter().map(|slice| match worlds {
            None => Part { slice, ids: None, rows: (slice.world0..slice.world0 + slice.nworld).collect() },
            Some(all) => {
                let inside = |&(_, w): &(usize, &usize)| (slice.world0..slice.world0 + slice.nworld).contains(w);
                let rows: Vec<_> = all.iter().enumerate().filter(inside).map(|(row, _)| row).collect();
                let id = |&r: &usize| u32::try_from(all[r] - slice.world0).unwrap_or(u32::MAX);
                Part { slice, ids: Some(rows.iter().map(id).collect()), rows }
            }
        });
        Ok(parts.filter(|p| !p.rows.is_empty()).collect())
    }

    /// Gathers a field of the first `n` worlds of a slice, (n, words of the field).
    pub(crate) fn gather(&self, slice: &Slice, slot: Slot, n: usize) -> Result<Vec<u32>, GpuError> {
        if slot.is_empty() || n == 0 {
            return Ok(Vec::new());
        }
        self.copy(&Part { slice, ids: None, rows: (0..n).collect() }, slot, None)
    }

    /// Scatters `dense` into the field, or gathers it.
    fn copy(&self, part: &Part<'_>, slot: Slot, dense: Option<&[u32]>) -> Result<Vec<u32>, GpuError> {
        use wgpu::BufferUsages as Usage;
        let (gpu, copier) = (&self.gpu, &self.fields);
        let queue = &gpu.inner.queue;
        let words = part.rows.len() * slot.len();
        let mut grown = copier.grown.lock().unwrap_or_else(PoisonError::into_inner);
        let Grown { dense: dense_buffer, staging, ids } = &mut *grown;
        let array = grow(gpu, dense_buffer, "dense", words, Usage::STORAGE | Usage::COPY_DST | Usage::COPY_SRC)?;
        let id_words = part.ids.as_ref().map_or(1, Vec::len);
        let ids = grow(gpu, ids, "worlds", id_words, Usage::STORAGE | Usage::COPY_DST)?;
        if let Some(list) = &part.ids {
            queue.write_buffer(ids, 0, bytemuck::cast_slice(list));
        }
        if let Some(values) = dense {
            queue.write_buffer(array, 0, bytemuck::cast_slice(values));
        }
        let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let groups = small(words).div_ceil(64);
        let y = groups.div_ceil(65_535);
        let x = groups.div_ceil(y);
        let place = Place {
            stride: small(self.layout.words(slot.binding)),
            offset: small(slot.offset),
            n: small(slot.len()),
            count: small(part.rows.len()),
            all: u32::from(part.ids.is_none()),
            groups_x: x,
            pad: [0; 2],
        };
        queue.write_buffer(&copier.place, 0, bytemuck::bytes_of(&place));
        let field = part.slice.buffer(slot.binding);
        let (pipeline, source, target) =
            if dense.is_some() { (&copier.scatter, array, field) } else { (&copier.gather, field, array) };
        let staging = match dense {
            None => Some(grow(gpu, staging, "staging", words, Usage::MAP_READ | Usage::COPY_DST)?),
            Some(_) => None,
        };
        let command = gpu.scoped("field copy", || {
            let device = &gpu.inner.device;
            let entries: Vec<_> = (0..)
                .zip([ids, source, target, &copier.place])
                .map(|(binding, b)| wgpu::BindGroupEntry { binding, resource: b.as_entire_binding() })
                .collect();
            let bind = device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("field copy"),
                layout: &copier.layout,
                entries: &entries,
            });
            let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, &bind, &[]);
            pass.dispatch_workgroups(x, y, 1);
            drop(pass);
            if let Some(staging) = staging {
                encoder.copy_buffer_to_buffer(array, 0, staging, 0, Some(4 * words as u64));
            }
            encoder.finish()
        })?;
        queue.submit([command]);
        let mut out = Vec::new();
        if let Some(staging) = staging {
            gpu.map(staging, 4 * words as u64, &mut out)?;
        }
        Ok(out)
    }
}
