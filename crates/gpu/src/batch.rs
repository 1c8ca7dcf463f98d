//! A batch of worlds on the device.

use crate::buffers::{self, Slice};
use crate::device::Gpu;
use crate::error::GpuError;
use crate::link::Linked;
use crate::shaders::Shaders;
use crate::stage::Kernel;
use crate::tuning::least_newton_steps;
use kiloworld_layout::wgsl::{LayoutModule, Tuning, emit};
use kiloworld_layout::{Binding, Call, Data, Field, Layout, Model, Slice as Values, pack};
use std::collections::{BTreeSet, HashMap};

/// What a batch is made with, besides its model.
#[derive(Clone, Debug, Default)]
pub struct BatchOptions {
    /// how work is spread; `None`: as [`Gpu::tuning`] says
    pub tuning: Option<Tuning>,
    /// real fields of the model that differ from world to world
    pub per_world: BTreeSet<Field>,
    /// the largest slice of worlds; `None`: what the device allows
    pub worlds_per_slice: Option<usize>,
    /// shader texts; `None`: the embedded ones
    pub shaders: Option<Shaders>,
}

/// Worlds of one model on a device.
#[derive(Debug)]
pub struct GpuBatch {
    pub(crate) gpu: Gpu,
    pub(crate) model: Model<f32>,
    pub(crate) layout: Layout,
    pub(crate) slices: Vec<Slice>,
    pub(crate) pipelines: HashMap<Kernel, wgpu::ComputePipeline>,
    pub(crate) timings: crate::timing::Timings,
    pub(crate) fields: crate::fields::FieldCopier,
    /// copies of some worlds: see `aside`
    pub(crate) aside: Option<Slice>,
    /// the buffers `status` of the slices while a look runs: see `aside`
    pub(crate) saved: Vec<wgpu::Buffer>,
    pub(crate) shared: [wgpu::Buffer; 2],
    pub(crate) history: Option<crate::history::History>,
    module: LayoutModule,
    shaders: Shaders,
    tuning: Tuning,
    nworld: usize,
}

impl GpuBatch {
    /// A batch of `nworld` worlds at the model's reference state: `qpos0`, mocap bodies at their frames, everything else 0.
    #[allow(clippy::cast_possible_truncation, reason = "rounding to f32 is what is wanted")]
    pub fn new(gpu: &Gpu, model: &Model<f64>, nworld: usize, options: BatchOptions) -> Result<Self, GpuError> {
        if nworld == 0 {
            return Err(GpuError::Setting("a batch has at least one world".into()));
        }
        let mut tuning = options.tuning.unwrap_or_else(|| gpu.tuning(model));
        tuning.newton_steps = tuning.newton_steps.max(least_newton_steps(model));
        let invocations = tuning.lanes.saturating_mul(tuning.worlds_per_group);
        if invocations == 0 || tuning.lanes > 64 || invocations > gpu.info().invocations {
            let most = gpu.info().invocations;
            let Tuning { lanes, worlds_per_group, .. } = tuning;
            return Err(GpuError::Setting(format!(
                "{lanes} lanes x {worlds_per_group} worlds a group: lanes are 1 to 64, a group has 1 to {most} invocations"
            )));
        }
        let layout = Layout::new(&model.size, &options.per_world)?;
        let largest = layout.worlds_per_slice(gpu.info().limits)?.min(options.worlds_per_slice.unwrap_or(usize::MAX));
        let module = emit(model, &layout, tuning);
        let rounded = model.cast(|x| x as f32);
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
        let shared = [
            gpu.buffer("topo", layout.words(Binding::Topo), usage)?,
            gpu.buffer("model", layout.words(Binding::Model), usage)?,
        ];
        for (buffer, binding) in shared.iter().zip([Binding::Topo, Binding::Model]) {
            let words = pack::pack_model(&rounded, &layout, binding);
            gpu.inner.queue.write_buffer(buffer, 0, bytemuck::cast_slice(&words));
        }
        let mut slices = Vec::new();
        let mut world0 = 0;
        for n in buffers::split(nworld, largest, tuning.worlds_per_group)? {
            slices.push(gpu.slice(&layout, tuning, &shared, world0, n)?);
            world0 += n;
        }
        let mut batch = Self {
            fields: crate::fields::FieldCopier::new(gpu)?,
            gpu: gpu.clone(),
            model: rounded,
            layout,
            slices,
            aside: None,
            saved: Vec::new(),
            history: None,
            shared,
            pipelines: HashMap::new(),
            timings: crate::timing::Timings::default(),
            module,
            shaders: match options.shaders {
                Some(s) => s,
                None => Shaders::load()?,
            },
            tuning,
            nworld,
        };
        batch.reset()?;
        Ok(batch)
    }

    /// How many worlds, fewer than `nworld`, the device has memory for: found by asking for it, to a sixteenth. Devices do not tell what
    /// they have.
    pub fn worlds_that_fit(gpu: &Gpu, model: &Model<f64>, nworld: usize, options: &BatchOptions) -> usize {
        let tuning = options.tuning.unwrap_or_else(|| gpu.tuning(model));
        let buffers = |n: usize| -> Result<(), GpuError> {
            let layout = Layout::new(&model.size, &options.per_world)?;
            let largest = layout.worlds_per_slice(gpu.info().limits)?;
            let mut held = Vec::new();
            for n in buffers::split(n, largest, tuning.worlds_per_group)? {
                held.push(buffers::of_worlds(gpu, &layout, n)?);
            }
            Ok(())
        };
        let (mut fit, mut too_many) = (0, nworld);
        while too_many - fit > 1 + fit / 16 {
            let n = fit + (too_many - fit) / 2;
            match buffers(n) {
                Ok(()) => fit = n,
                Err(_) => too_many = n,
            }
            // what was tried is given back
            if gpu.wait().is_err() {
                break;
            }
        }
        fit
    }

    /// Number of worlds.
    pub fn nworld(&self) -> usize {
        self.nworld
    }

    /// The device.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// The offsets in force.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(crate) fn shaders(&self) -> &Shaders {
        &self.shaders
    }

    /// How work is spread.
    pub fn tuning(&self) -> Tuning {
        self.tuning
    }

    /// Number of slices that the batch is split into.
    pub fn nslice(&self) -> usize {
        self.slices.len()
    }

    /// Device memory that one more world takes.
    pub fn bytes_per_world(&self) -> u64 {
        self.layout.bytes_per_world()
    }

    /// Puts every world, those of the padding too, at the model's reference state.
    fn reset(&mut self) -> Result<(), GpuError> {
        let d = reference(&self.model);
        let vary = pack::pack_model(&self.model, &self.layout, Binding::Vary);
        let mut staged = 0;
        for slice in &self.slices {
            for binding in Binding::ALL.into_iter().filter(|b| !b.is_shared()) {
                let words = if binding == Binding::Vary {
                    vary.clone()
                } else {
                    let mut words = vec![0; self.layout.words(binding)];
                    pack::pack_world(&d, &self.layout, binding, &mut words);
                    words
                };
                // in chunks of worlds: staging memory is a copy of what is written
                let chunk = (1_usize << 22).div_ceil(words.len()).min(slice.padded);
                let many = words.repeat(chunk);
                for w in (0..slice.padded).step_by(chunk) {
                    let n = chunk.min(slice.padded - w) * words.len();
                    let at = 4 * (w * words.len()) as u64;
                    self.gpu.inner.queue.write_buffer(slice.buffer(binding), at, bytemuck::cast_slice(&many[..n]));
                    staged += n;
                    if staged > 1 << 24 {
                        // the copies would be kept until the next submission
                        self.gpu.inner.queue.submit([]);
                        self.gpu.wait()?;
                        staged = 0;
                    }
                }
            }
        }
        Ok(())
    }

    /// The linked text of every kernel that the calls need, each once.
    pub fn linked(&self, calls: &[Call]) -> Result<Vec<(Kernel, Linked)>, GpuError> {
        let mut kernels: Vec<Kernel> = self.dispatches(calls).into_iter().map(|d| d.kernel).collect();
        let mut seen = std::collections::HashSet::new();
        kernels.retain(|&k| seen.insert(k));
        kernels.into_iter().map(|k| Ok((k, self.shaders.link(k.file, &self.module)?))).collect()
    }

    /// Bytes of workgroup memory of the kernel that uses the most.
    pub fn workgroup_bytes(&self, calls: &[Call]) -> Result<usize, GpuError> {
        let each = self.linked(calls)?.into_iter();
        let bytes: Result<Vec<_>, _> =
            each.map(|(kernel, linked)| crate::pipelines::workgroup_bytes(kernel.file, &linked)).collect();
        Ok(bytes?.into_iter().max().unwrap_or(0))
    }

    /// Times of the stages, where the device can measure them.
    pub fn timings(&mut self) -> &mut crate::timing::Timings {
        &mut self.timings
    }

    pub(crate) fn compile(&mut self, kernel: Kernel) -> Result<(), GpuError> {
        if !self.pipelines.contains_key(&kernel) {
            let linked = self.shaders.link(kernel.file, &self.module)?;
            let label = if kernel.entry == "main" { kernel.file } else { kernel.entry };
            self.pipelines.insert(kernel, self.gpu.pipeline(label, &linked, kernel.entry)?);
        }
        Ok(())
    }

    /// Writes all fields of all worlds.
    pub fn write_worlds(&mut self, worlds: &[Data<f32>]) -> Result<(), GpuError> {
        if worlds.len() != self.nworld {
            return Err(GpuError::Length { field: "worlds", need: self.nworld, got: worlds.len() });
        }
        for slice in &self.slices {
            for binding in Binding::ALL.into_iter().filter(|&b| !b.is_shared() && b != Binding::Vary) {
                let n = self.layout.words(binding);
                let mut words = vec![0; n * slice.nworld];
                for (d, words) in worlds[slice.world0..].iter().zip(words.chunks_exact_mut(n)) {
                    pack::pack_world(d, &self.layout, binding, words);
                }
                self.gpu.inner.queue.write_buffer(slice.buffer(binding), 0, bytemuck::cast_slice(&words));
            }
        }
        Ok(())
    }

    /// Reads all fields of all worlds.
    pub fn read_worlds(&self) -> Result<Vec<Data<f32>>, GpuError> {
        let mut worlds = vec![Data::new(&self.model.size, &0.0); self.nworld];
        for slice in &self.slices {
            for binding in Binding::ALL.into_iter().filter(|&b| !b.is_shared() && b != Binding::Vary) {
                let n = self.layout.words(binding);
                let words = self.gpu.read(slice.buffer(binding), 0, n * slice.nworld)?;
                for (d, words) in worlds[slice.world0..].iter_mut().zip(words.chunks_exact(n)) {
                    pack::unpack_world(words, &self.layout, binding, d);
                }
            }
        }
        Ok(worlds)
    }

    /// Reads all fields of one world.
    pub fn read_world(&self, world: usize) -> Result<Data<f32>, GpuError> {
        let slice = self.slices.iter().find(|s| (s.world0..s.world0 + s.nworld).contains(&world));
        let Some(slice) = slice else {
            return Err(GpuError::Setting(format!("no world {world} among {}", self.nworld)));
        };
        let mut d = Data::new(&self.model.size, &0.0);
        for binding in Binding::ALL.into_iter().filter(|&b| !b.is_shared() && b != Binding::Vary) {
            let n = self.layout.words(binding);
            let words = self.gpu.read(slice.buffer(binding), (world - slice.world0) * n, n)?;
            pack::unpack_world(&words, &self.layout, binding, &mut d);
        }
        Ok(d)
    }
}

/// A world at the model's reference state.
fn reference(m: &Model<f32>) -> Data<f32> {
    let mut d = Data::new(&m.size, &0.0);
    let n = d.qpos.len().min(m.qpos0.len());
    d.qpos[..n].copy_from_slice(&m.qpos0[..n]);
    d.eq_active.iter_mut().zip(&m.eq_active0).for_each(|(a, &b)| *a = b);
    for (b, &mocap) in m.body_mocapid.iter().enumerate() {
        let Ok(i) = usize::try_from(mocap) else { continue };
        if let (Some(Values::F(pos)), Some(Values::F(quat))) = (m.get(Field::body_pos), m.get(Field::body_quat)) {
            d.mocap_pos[3 * i..3 * i + 3].copy_from_slice(&pos[3 * b..3 * b + 3]);
            d.mocap_quat[4 * i..4 * i + 4].copy_from_slice(&quat[4 * b..4 * b + 4]);
        }
    }
    d
}
