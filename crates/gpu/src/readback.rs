//! Words from the device back to the host.

use crate::device::Gpu;
use crate::error::GpuError;

impl Gpu {
    /// Reads `words` words from `first` on; waits for all work that was submitted before.
    pub(crate) fn read(&self, buffer: &wgpu::Buffer, first: usize, words: usize) -> Result<Vec<u32>, GpuError> {
        let mut out = Vec::with_capacity(words);
        // in pieces: a mapped copy is host memory too
        const PIECE: usize = 1 << 24;
        let staging = self.buffer(
            "readback",
            words.clamp(1, PIECE),
            wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        )?;
        while out.len() < words {
            let n = (words - out.len()).min(PIECE);
            let bytes = 4 * n as u64;
            let command = self.scoped("readback", || {
                let mut encoder = self.inner.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
                encoder.copy_buffer_to_buffer(buffer, 4 * (first + out.len()) as u64, &staging, 0, Some(bytes));
                encoder.finish()
            })?;
            self.inner.queue.submit([command]);
            self.map(&staging, bytes, &mut out)?;
        }
        Ok(out)
    }

    /// Appends the first bytes of a mappable buffer.
    pub(crate) fn map(&self, staging: &wgpu::Buffer, bytes: u64, out: &mut Vec<u32>) -> Result<(), GpuError> {
        let failed = |message: String| GpuError::Wgpu { what: "readback".to_owned(), message };
        let (send, receive) = std::sync::mpsc::channel();
        staging.map_async(wgpu::MapMode::Read, ..bytes, move |result| {
            // the receiver waits below; it is gone only if the wait failed
            let _ = send.send(result);
        });
        self.wait()?;
        receive.recv().map_err(|e| failed(e.to_string()))?.map_err(|e| failed(e.to_string()))?;
        let view = staging.get_mapped_range(..bytes).map_err(|e| failed(e.to_string()))?;
        out.extend(view.chunks_exact(4).map(|b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]])));
        drop(view);
        staging.unmap();
        Ok(())
    }

    /// Waits for everything that was submitted.
    pub fn wait(&self) -> Result<(), GpuError> {
        let waited = self.inner.device.poll(wgpu::PollType::wait_indefinitely());
        waited.map_err(|e| GpuError::Wgpu { what: "wait".to_owned(), message: e.to_string() })?;
        self.reported()
    }
}
