//! Times of stages, from timestamps that the device writes.

use crate::device::Gpu;
use crate::error::GpuError;
use kiloworld_layout::Stage;

/// Seconds and runs of each stage since the last [`Timings::take`].
#[derive(Debug, Default)]
pub struct Timings {
    total: Vec<(Stage, f64, usize)>,
    on: bool,
}

/// Timestamps of one submission.
pub(crate) struct Timer {
    set: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    staging: wgpu::Buffer,
    stages: Vec<Stage>,
    capacity: usize,
}

impl Timings {
    /// Switches measuring on or off; off at first, since it splits a step into one pass a stage.
    pub fn enable(&mut self, on: bool) {
        self.on = on;
    }

    pub(crate) fn is_on(&self) -> bool {
        self.on
    }

    /// Stages in the order of a step: stage, seconds, runs.
    pub fn take(&mut self) -> Vec<(Stage, f64, usize)> {
        let mut total = core::mem::take(&mut self.total);
        total.sort_by_key(|t| t.0);
        total
    }

    pub(crate) fn start(
        &self,
        gpu: &Gpu,
        stages: impl Iterator<Item = Stage>,
        steps: usize,
    ) -> Result<Option<Timer>, GpuError> {
        if !self.on || !gpu.info().has_timestamps {
            return Ok(None);
        }
        let mut stages: Vec<_> = stages.collect();
        stages.dedup();
        // WebGPU allows 4,096 queries a set
        let capacity = (stages.len() * steps).min(2048);
        let words = 4 * capacity;
        let resolved =
            gpu.buffer("timestamps", words, wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC)?;
        let staging = gpu.buffer("timestamps", words, wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST)?;
        let set = gpu.scoped("timestamps", || {
            gpu.inner.device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("stages"),
                ty: wgpu::QueryType::Timestamp,
                count: u32::try_from(2 * capacity).unwrap_or(4096),
            })
        })?;
        Ok(Some(Timer { set, resolved, staging, stages: Vec::new(), capacity }))
    }

    pub(crate) fn add(&mut self, gpu: &Gpu, timer: Timer) -> Result<(), GpuError> {
        let mut words = Vec::new();
        gpu.map(&timer.staging, 16 * timer.stages.len() as u64, &mut words)?;
        let period = f64::from(gpu.inner.queue.get_timestamp_period()) * 1e-9;
        let time = |at: &[u32]| f64::from(at[1]) * 4_294_967_296.0 + f64::from(at[0]);
        for (stage, at) in timer.stages.iter().zip(words.chunks_exact(4)) {
            let seconds = (time(&at[2..]) - time(at)).max(0.0) * period;
            match self.total.iter_mut().find(|t| t.0 == *stage) {
                Some(t) => {
                    t.1 += seconds;
                    t.2 += 1;
                }
                None => self.total.push((*stage, seconds, 1)),
            }
        }
        Ok(())
    }
}

impl Timer {
    /// Where the pass of a stage writes its times; `None` when the set is full.
    pub(crate) fn writes(&mut self, stage: Stage) -> Option<wgpu::ComputePassTimestampWrites<'_>> {
        let at = u32::try_from(2 * self.stages.len()).ok()?;
        if self.stages.len() >= self.capacity {
            return None;
        }
        self.stages.push(stage);
        Some(wgpu::ComputePassTimestampWrites {
            query_set: &self.set,
            beginning_of_pass_write_index: Some(at),
            end_of_pass_write_index: Some(at + 1),
        })
    }

    pub(crate) fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        let n = u32::try_from(2 * self.stages.len()).unwrap_or(0);
        encoder.resolve_query_set(&self.set, 0..n, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.staging, 0, Some(8 * u64::from(n)));
    }
}
