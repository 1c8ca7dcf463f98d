//! Picks an adapter and opens a device on it.

use crate::error::GpuError;
use kiloworld_layout::Limits;
use std::sync::{Arc, Mutex, PoisonError};

/// The environment variable that names an adapter, or a part of its name.
pub const ADAPTER_VARIABLE: &str = "KILOWORLD_ADAPTER";

/// Which adapter to take.
#[derive(Clone, Debug, Default)]
pub struct GpuOptions {
    /// part of the adapter's name, any case; else what [`ADAPTER_VARIABLE`] says; else the fastest kind there is
    pub adapter: Option<String>,
    /// keep to WebGPU's default limits even where the adapter offers more
    pub default_limits: bool,
    /// let wgpu put a counter into every loop of our kernels, as it does for texts that nobody vouches for: those that
    /// [`SHADERS_VARIABLE`](crate::SHADERS_VARIABLE) or [`BatchOptions`](crate::BatchOptions) brings
    pub checked: bool,
}

/// What a user changes of the tuning that [`Gpu::tuning`] chooses; see [`Tuning`](crate::Tuning).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TuningChange {
    /// invocations a world
    pub lanes: Option<u32>,
    /// worlds a workgroup
    pub worlds_per_group: Option<u32>,
    /// Newton steps a dispatch
    pub newton_steps: Option<u32>,
    /// stages share kernels
    pub fused: Option<bool>,
}

/// What is known of an adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterInfo {
    /// name
    pub name: String,
    /// driver and its version
    pub driver: String,
    /// the API spoken: vulkan, metal, dx12
    pub backend: String,
    /// true for a device made of CPU cores
    pub is_cpu: bool,
    /// true where stages can be timed on the device
    pub has_timestamps: bool,
    /// largest binding and buffer in force
    pub limits: Limits,
    /// bytes of workgroup memory in force
    pub workgroup_bytes: u32,
    /// invocations a workgroup in force
    pub invocations: u32,
}

/// An open device. Cheap to clone; clones share it.
#[derive(Clone, Debug)]
pub struct Gpu {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) layout: wgpu::BindGroupLayout,
    pub(crate) pipeline_layout: wgpu::PipelineLayout,
    pub(crate) pipelines: crate::pipelines::Cache,
    pub(crate) info: AdapterInfo,
    pub(crate) checked: bool,
    /// what the driver reported while nobody asked, the first of it
    reported: Arc<Mutex<Option<String>>>,
}

/// Every adapter, with what it offers.
pub fn adapters() -> Vec<AdapterInfo> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
    let times = |a: &wgpu::Adapter| a.features().contains(wgpu::Features::TIMESTAMP_QUERY);
    adapters.iter().map(|a| describe(&a.get_info(), times(a), &a.limits())).collect()
}

fn describe(info: &wgpu::AdapterInfo, has_timestamps: bool, limits: &wgpu::Limits) -> AdapterInfo {
    AdapterInfo {
        name: info.name.clone(),
        driver: format!("{} {}", info.driver, info.driver_info),
        backend: info.backend.to_string(),
        is_cpu: info.device_type == wgpu::DeviceType::Cpu,
        has_timestamps,
        limits: Limits { binding: limits.max_storage_buffer_binding_size, buffer: limits.max_buffer_size },
        workgroup_bytes: limits.max_compute_workgroup_storage_size,
        invocations: limits.max_compute_invocations_per_workgroup,
    }
}

/// Storage buffers that every kernel binds.
const STORAGE_BUFFERS: u32 = 8;

impl Gpu {
    /// Opens a device; an error where there is no adapter.
    pub fn new(options: &GpuOptions) -> Result<Self, GpuError> {
        pollster::block_on(Self::open(options))
    }

    /// As [`Gpu::new`], without blocking.
    pub async fn open(options: &GpuOptions) -> Result<Self, GpuError> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
        let adapters = instance.enumerate_adapters(wgpu::Backends::PRIMARY).await;
        let wanted = options.adapter.clone().or_else(|| std::env::var(ADAPTER_VARIABLE).ok()).unwrap_or_default();
        let found = adapters.iter().map(|a| a.get_info().name).collect::<Vec<_>>().join(", ");
        let adapter = adapters
            .into_iter()
            .filter(|a| a.get_info().name.to_lowercase().contains(&wanted.to_lowercase()))
            .min_by_key(|a| rank(a.get_info().device_type))
            .ok_or(GpuError::NoAdapter { wanted, found })?;
        Self::on(&adapter, options).await
    }

    async fn on(adapter: &wgpu::Adapter, options: &GpuOptions) -> Result<Self, GpuError> {
        let info = adapter.get_info();
        let offered = adapter.limits();
        let mut limits = wgpu::Limits::default().or_worse_values_from(&offered);
        if limits.max_storage_buffers_per_shader_stage < STORAGE_BUFFERS {
            let have = u64::from(limits.max_storage_buffers_per_shader_stage);
            let what = "storage buffers a kernel";
            return Err(GpuError::Unfit { adapter: info.name, what, have, need: u64::from(STORAGE_BUFFERS) });
        }
        if !options.default_limits {
            limits.max_storage_buffer_binding_size = offered.max_storage_buffer_binding_size;
            limits.max_buffer_size = offered.max_buffer_size;
            limits.max_compute_workgroup_storage_size = offered.max_compute_workgroup_storage_size;
            limits.max_compute_invocations_per_workgroup = offered.max_compute_invocations_per_workgroup;
            limits.max_compute_workgroup_size_x = offered.max_compute_workgroup_size_x;
            limits.max_compute_workgroup_size_y = offered.max_compute_workgroup_size_y;
        }
        let timing = adapter.features().contains(wgpu::Features::TIMESTAMP_QUERY);
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("kiloworld"),
            required_features: if timing { wgpu::Features::TIMESTAMP_QUERY } else { wgpu::Features::empty() },
            required_limits: limits.clone(),
            ..Default::default()
        };
        let (device, queue) = adapter
            .request_device(&descriptor)
            .await
            .map_err(|e| GpuError::Device { adapter: info.name.clone(), message: e.to_string() })?;
        // wgpu would panic
        let reported = Arc::<Mutex<Option<String>>>::default();
        let note = reported.clone();
        device.on_uncaptured_error(Arc::new(move |e| {
            note.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| e.to_string());
        }));
        let layout = bind_group_layout(&device);
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("kernels"),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let info = describe(&info, timing, &limits);
        log::info!("adapter {} ({}, {})", info.name, info.backend, info.driver);
        let pipelines = crate::pipelines::Cache::default();
        Ok(Self {
            inner: Arc::new(Inner {
                device,
                queue,
                layout,
                pipeline_layout,
                pipelines,
                info,
                checked: options.checked,
                reported,
            }),
        })
    }

    /// What is known of the adapter.
    pub fn info(&self) -> &AdapterInfo {
        &self.inner.info
    }

    /// Runs `f` and turns what wgpu reports meanwhile into an error.
    pub(crate) fn scoped<T>(&self, what: &str, f: impl FnOnce() -> T) -> Result<T, GpuError> {
        let device = &self.inner.device;
        let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let internal = device.push_error_scope(wgpu::ErrorFilter::Internal);
        let value = f();
        let errors = [
            pollster::block_on(internal.pop()),
            pollster::block_on(memory.pop()),
            pollster::block_on(validation.pop()),
        ];
        let what = what.to_owned();
        match errors.into_iter().flatten().next() {
            None => Ok(value),
            Some(e @ wgpu::Error::OutOfMemory { .. }) => Err(GpuError::Memory { what, message: e.to_string() }),
            Some(e) => Err(GpuError::Wgpu { what, message: e.to_string() }),
        }
    }

    /// What the driver reported since the last call outside of [`Self::scoped`], as an error.
    pub(crate) fn reported(&self) -> Result<(), GpuError> {
        let reported = self.inner.reported.lock().unwrap_or_else(PoisonError::into_inner).take();
        reported.map_or(Ok(()), |message| Err(GpuError::Wgpu { what: "the device".to_owned(), message }))
    }
}

/// Preference among kinds of adapters, the least first.
fn rank(kind: wgpu::DeviceType) -> u8 {
    match kind {
        wgpu::DeviceType::DiscreteGpu => 0,
        wgpu::DeviceType::IntegratedGpu => 1,
        wgpu::DeviceType::VirtualGpu => 2,
        wgpu::DeviceType::Other => 3,
        wgpu::DeviceType::Cpu => 4,
    }
}

/// One explicit layout for every kernel: an automatic one drops the buffers that a kernel leaves unused.
fn bind_group_layout(device: &wgpu::Device) -> wgpu::BindGroupLayout {
    let storage = kiloworld_layout::Binding::ALL.into_iter().map(|b| wgpu::BindingType::Buffer {
        ty: wgpu::BufferBindingType::Storage { read_only: b.is_read_only() },
        has_dynamic_offset: false,
        min_binding_size: None,
    });
    let params = wgpu::BindingType::Buffer {
        ty: wgpu::BufferBindingType::Uniform,
        has_dynamic_offset: true,
        min_binding_size: None,
    };
    let entries: Vec<_> = (0..)
        .zip(storage.chain([params]))
        .map(|(binding, ty)| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty,
            count: None,
        })
        .collect();
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some("kernels"), entries: &entries })
}
