//! Compute pipelines, kept by the text they were made from.

use crate::device::Gpu;
use crate::error::GpuError;
use crate::link::Linked;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Pipelines by text, entry point and whether they are checked.
#[derive(Debug, Default)]
pub(crate) struct Cache(Mutex<HashMap<(String, String, bool), wgpu::ComputePipeline>>);

impl Gpu {
    /// The pipeline of a linked text; made once a device.
    pub(crate) fn pipeline(
        &self,
        label: &str,
        linked: &Linked,
        entry: &str,
    ) -> Result<wgpu::ComputePipeline, GpuError> {
        let key = (linked.text.clone(), entry.to_owned(), self.checks(linked));
        let mut cache = self.inner.pipelines.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pipeline) = cache.get(&key) {
            return Ok(pipeline.clone());
        }
        let pipeline = self.compile(label, linked, entry)?;
        cache.insert(key, pipeline.clone());
        Ok(pipeline)
    }

    fn compile(&self, label: &str, linked: &Linked, entry: &str) -> Result<wgpu::ComputePipeline, GpuError> {
        let device = &self.inner.device;
        let mut found = None;
        let made = self.scoped(label, || {
            let module = self.module(label, linked);
            let messages = pollster::block_on(module.get_compilation_info()).messages;
            found = messages.into_iter().find(|m| m.message_type == wgpu::CompilationMessageType::Error);
            found.is_none().then(|| {
                device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                    label: Some(label),
                    layout: Some(&self.inner.pipeline_layout),
                    module: &module,
                    entry_point: Some(entry),
                    compilation_options: wgpu::PipelineCompilationOptions {
                        // our kernels that need zeroed workgroup memory zero it themselves
                        zero_initialize_workgroup_memory: self.checks(linked),
                        ..Default::default()
                    },
                    cache: None,
                })
            })
        });
        if let Some(m) = found {
            let (file, line) = linked.origin(m.location.map_or(1, |l| l.line_number as usize));
            return Err(GpuError::Shader { file: file.to_owned(), line, message: m.message });
        }
        match made {
            Ok(Some(pipeline)) => Ok(pipeline),
            Ok(None) => Err(GpuError::Wgpu { what: label.to_owned(), message: "no pipeline".to_owned() }),
            Err(e) => Err(e),
        }
    }
}

impl Gpu {
    /// True where wgpu is to put a counter into every loop and to zero workgroup memory: asked for, or the text is not the one that
    /// this crate embeds.
    fn checks(&self, linked: &Linked) -> bool {
        self.inner.checked || !linked.is_ours
    }

    /// A module of a linked text.
    #[allow(unsafe_code, reason = "the only way to leave out wgpu's loop counters")]
    fn module(&self, label: &str, linked: &Linked) -> wgpu::ShaderModule {
        let source = wgpu::ShaderSource::Wgsl(linked.text.as_str().into());
        let descriptor = wgpu::ShaderModuleDescriptor { label: Some(label), source };
        if self.checks(linked) {
            return self.inner.device.create_shader_module(descriptor);
        }
        let checks = wgpu::ShaderRuntimeChecks { force_loop_bounding: false, ..wgpu::ShaderRuntimeChecks::checked() };
        // SAFETY: what is left out is a counter in every loop that breaks endless ones. The texts are those that this crate
        // embeds, and every loop in them counts to a bound that it does not change.
        unsafe { self.inner.device.create_shader_module_trusted(descriptor, checks) }
    }
}

/// Bytes of workgroup memory that a kernel declares.
pub(crate) fn workgroup_bytes(label: &str, linked: &Linked) -> Result<usize, GpuError> {
    use wgpu::naga;
    let fault = |message: String| GpuError::Wgpu { what: label.to_owned(), message };
    let module = naga::front::wgsl::parse_str(&linked.text).map_err(|e| fault(e.to_string()))?;
    let mut layouter = naga::proc::Layouter::default();
    layouter.update(module.to_ctx()).map_err(|e| fault(e.to_string()))?;
    let of_workgroup = module.global_variables.iter().filter(|(_, v)| v.space == naga::AddressSpace::WorkGroup);
    Ok(of_workgroup.map(|(_, v)| layouter[v.ty].size as usize).sum())
}
