//! Recordings: the dispatches of K steps, sent to the device in few submissions.

use crate::batch::GpuBatch;
use crate::buffers::{ARGUMENT_STRIDE, ARGUMENTS, Slice};
use crate::error::GpuError;
use crate::history;
use crate::stage::{Kernel, argument, fused, kernels};
use kiloworld_layout::{Call, Stage};

/// One dispatch over every slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dispatch {
    pub(crate) kernel: Kernel,
    stage: Stage,
    pub(crate) argument: u32,
}

/// Puts fused kernels where they stand for what is in the list.
fn fuse(list: &[Dispatch]) -> Vec<Dispatch> {
    let (mut out, mut rest) = (Vec::new(), list);
    while let Some(&first) = rest.first() {
        let same = rest.iter().take_while(|d| d.argument == first.argument).map(|d| d.kernel);
        let (kernel, n) = fused(same).unwrap_or((first.kernel, 1));
        out.push(Dispatch { kernel, ..first });
        rest = &rest[n..];
    }
    out
}

/// Dispatches a submission holds: few enough that a driver's watchdog sees none as hung.
const DISPATCHES_A_SUBMISSION: usize = 1024;

impl GpuBatch {
    /// Runs a list of calls `n` times. Returns when the work is sent; reading waits for it.
    pub fn submit(&mut self, calls: &[Call], n: usize) -> Result<(), GpuError> {
        self.run(calls, n, false)
    }

    /// The same of the calls of a step, recorded where a history is kept: see [`GpuBatch::remember`].
    pub fn step(&mut self, calls: &[Call], n: usize) -> Result<(), GpuError> {
        self.run(calls, n, true)
    }

    fn run(&mut self, calls: &[Call], n: usize, record: bool) -> Result<(), GpuError> {
        let list = self.prepare(calls)?;
        if list.is_empty() {
            return Ok(());
        }
        let steps = (DISPATCHES_A_SUBMISSION / list.len()).clamp(1, history::STEPS);
        let mut before = None;
        let mut done = 0;
        while done < n {
            let now = steps.min(n - done);
            let sent = self.send(&list, now, record)?;
            done += now;
            // at most two submissions in flight, so that a long rollout does not pile up in host memory
            if let Some(index) = before.replace(sent) {
                self.wait_for(index)?;
            }
        }
        Ok(())
    }

    /// Runs one stage.
    pub fn run_stage(&mut self, call: Call) -> Result<(), GpuError> {
        self.submit(&[call], 1)
    }

    /// Dispatches that one run of the calls takes, all slices together.
    pub fn dispatch_count(&self, calls: &[Call]) -> Result<usize, GpuError> {
        Ok(self.dispatches(calls).len() * self.slices.len())
    }

    /// Runs one entry point of a shader file, once.
    pub fn run_kernel(&mut self, file: &'static str, entry: &'static str, arg: u32) -> Result<(), GpuError> {
        let kernel = Kernel { file, entry, repeat: 1 };
        self.compile(kernel)?;
        self.send(&[Dispatch { kernel, stage: Stage::Load, argument: arg.min(ARGUMENTS - 1) }], 1, false).map(drop)
    }

    /// Compiles the kernels of these calls, so that the first step is not slower than the rest; the dispatches.
    pub(crate) fn prepare(&mut self, calls: &[Call]) -> Result<Vec<Dispatch>, GpuError> {
        let list = self.dispatches(calls);
        for dispatch in &list {
            self.compile(dispatch.kernel)?;
        }
        Ok(list)
    }

    pub(crate) fn dispatches(&self, calls: &[Call]) -> Vec<Dispatch> {
        let mut list = Vec::new();
        for &call in calls {
            for kernel in kernels(call.stage, &self.model, self.tuning()) {
                // a repetition beyond the last block of parameters keeps the last number
                let arg = |k| argument(call, kernel, k).min(ARGUMENTS - 1);
                list.extend((0..kernel.repeat).map(|k| Dispatch { kernel, stage: call.stage, argument: arg(k) }));
            }
        }
        // stages are timed one by one
        if self.tuning().fused && !self.timings.is_on() { fuse(&list) } else { list }
    }

    fn send(&mut self, list: &[Dispatch], steps: usize, record: bool) -> Result<wgpu::SubmissionIndex, GpuError> {
        let gpu = self.gpu.clone();
        if let Some(history) = self.history.as_mut().filter(|_| record) {
            history.begin(&gpu, steps);
        }
        let history = self.history.as_ref().filter(|_| record);
        let mut timer = self.timings.start(&gpu, list.iter().map(|d| d.stage), steps)?;
        let encoder = gpu.scoped("record", || {
            let mut encoder =
                gpu.inner.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("steps") });
            match &mut timer {
                // one pass a stage, so that each can be timed
                Some(timer) => {
                    for k in 0..steps {
                        if let Some(history) = history {
                            history.encode(&mut encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default()), k);
                        }
                        for part in list.chunk_by(|a, b| a.stage == b.stage) {
                            let writes = timer.writes(part[0].stage);
                            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                                label: Some(part[0].stage.name()),
                                timestamp_writes: writes,
                            });
                            self.encode(&mut pass, part, &self.slices);
                        }
                    }
                    timer.resolve(&mut encoder);
                }
                None => {
                    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                    for k in 0..steps {
                        history.into_iter().for_each(|h| h.encode(&mut pass, k));
                        self.encode(&mut pass, list, &self.slices);
                    }
                }
            }
            encoder.finish()
        })?;
        let index = gpu.inner.queue.submit([encoder]);
        if let Some(timer) = timer {
            self.timings.add(&gpu, timer)?;
        }
        Ok(index)
    }

    pub(crate) fn encode(&self, pass: &mut wgpu::ComputePass<'_>, list: &[Dispatch], slices: &[Slice]) {
        for dispatch in list {
            let Some(pipeline) = self.pipelines.get(&dispatch.kernel) else { continue };
            pass.set_pipeline(pipeline);
            for slice in slices {
                pass.set_bind_group(0, &slice.bind, &[dispatch.argument * ARGUMENT_STRIDE]);
                pass.dispatch_workgroups(slice.groups[0], slice.groups[1], 1);
            }
        }
    }

    fn wait_for(&self, index: wgpu::SubmissionIndex) -> Result<(), GpuError> {
        let wait = wgpu::PollType::Wait { submission_index: Some(index), timeout: None };
        let waited = self.gpu.inner.device.poll(wait);
        waited.map(drop).map_err(|e| GpuError::Wgpu { what: "wait".to_owned(), message: e.to_string() })
    }
}
