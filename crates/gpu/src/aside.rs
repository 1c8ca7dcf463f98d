//! Some worlds worked on aside: copies of them in a slice of their own, so that the batch stays as it is.

use crate::batch::GpuBatch;
use crate::buffers::Slice;
use crate::error::GpuError;
use kiloworld_layout::{Binding, Call, Data, Field, pack};

/// What a world is copied with: all that its computed fields follow from.
const COPIED: [Binding; 3] = [Binding::Vary, Binding::State, Binding::Status];

/// Worlds that are always copied together, where so many are asked for.
const LEAST: usize = 64;
/// The part of the batch that the copies take at most, as a divisor of the number of worlds.
const PART: usize = 8;

impl GpuBatch {
    /// Runs calls once on copies of some worlds, and returns fields of them as words, (worlds, n) each. The batch stays as it
    /// is, bit for bit. The copies take memory once: 64 worlds, or an eighth of the batch; more worlds are treated in turn.
    pub fn aside(&mut self, calls: &[Call], worlds: &[usize], fields: &[Field]) -> Result<Vec<Vec<u32>>, GpuError> {
        let slots: Vec<_> = fields.iter().map(|&f| self.place(f, f.info().kind)).collect::<Result<_, _>>()?;
        let mut out = vec![Vec::new(); fields.len()];
        self.each_aside(calls, worlds, |batch, slice, n| {
            for (out, &slot) in out.iter_mut().zip(&slots) {
                out.extend(batch.gather(slice, slot, n)?);
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// Runs calls once on all worlds in place, lets `read` take what they computed, and puts back what is kept of the worlds: counts,
    /// flags, status. The calls must not write the state.
    pub fn look<R, E: From<GpuError>>(
        &mut self,
        calls: &[Call],
        read: impl FnOnce(&Self) -> Result<R, E>,
    ) -> Result<R, E> {
        let words = self.layout.words(Binding::Status);
        let usage = wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
        while let Some(slice) = self.slices.get(self.saved.len()) {
            self.saved.push(self.gpu.buffer("status aside", words * slice.padded, usage)?);
        }
        self.save_status(true)?;
        self.submit(calls, 1)?;
        let result = read(self);
        self.save_status(false)?;
        result
    }

    /// Copies the buffers `status` to where they are saved, or back.
    fn save_status(&self, save: bool) -> Result<(), GpuError> {
        let command = self.gpu.scoped("status aside", || {
            let mut encoder = self.gpu.inner.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            for (slice, saved) in self.slices.iter().zip(&self.saved) {
                let status = slice.buffer(Binding::Status);
                let (from, to) = if save { (status, saved) } else { (saved, status) };
                encoder.copy_buffer_to_buffer(from, 0, to, 0, None);
            }
            encoder.finish()
        })?;
        self.gpu.inner.queue.submit([command]);
        Ok(())
    }

    /// What [`GpuBatch::aside`] does with one world, and everything in it.
    pub fn world_aside(&mut self, calls: &[Call], world: usize) -> Result<Data<f32>, GpuError> {
        let mut d = Data::new(&self.model.size, &0.0);
        self.each_aside(calls, &[world], |batch, slice, _| batch.read_first(slice, &mut d))?;
        Ok(d)
    }

    fn each_aside(
        &mut self,
        calls: &[Call],
        worlds: &[usize],
        mut read: impl FnMut(&Self, &Slice, usize) -> Result<(), GpuError>,
    ) -> Result<(), GpuError> {
        if let Some(w) = worlds.iter().find(|&&w| w >= self.nworld()) {
            return Err(GpuError::Setting(format!("no world {w} among {}", self.nworld())));
        }
        let list = self.prepare(calls)?;
        let most = worlds.len().min(LEAST.max(self.nworld() / PART));
        let mut slice = match self.aside.take() {
            Some(slice) if slice.nworld >= most => slice,
            _ => self.gpu.slice(&self.layout, self.tuning(), &self.shared, 0, most)?,
        };
        for some in worlds.chunks(slice.nworld.max(1)) {
            slice.cover(some.len(), self.tuning().worlds_per_group);
            let copies = self.copies(some, &slice);
            let command = self.gpu.scoped("worlds aside", || {
                let descriptor = wgpu::CommandEncoderDescriptor { label: Some("worlds aside") };
                let mut encoder = self.gpu.inner.device.create_command_encoder(&descriptor);
                for &(from, first, to, n) in &copies {
                    for binding in COPIED {
                        let row = 4 * self.layout.words(binding) as u64;
                        let (from, bytes) = (self.slices[from].buffer(binding), Some(n as u64 * row));
                        let (first, to) = (first as u64 * row, to as u64 * row);
                        encoder.copy_buffer_to_buffer(from, first, slice.buffer(binding), to, bytes);
                    }
                }
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                self.encode(&mut pass, &list, core::slice::from_ref(&slice));
                drop(pass);
                encoder.finish()
            })?;
            self.gpu.inner.queue.submit([command]);
            read(self, &slice, some.len())?;
        }
        self.aside = Some(slice);
        Ok(())
    }

    /// What to copy so that the worlds stand at the beginning of `to` in their order: (slice, first world in it, first world in
    /// `to`, number). What is left of the worlds that the grid covers holds the first of them again, so that every world in it is a sound one.
    fn copies(&self, worlds: &[usize], to: &Slice) -> Vec<(usize, usize, usize, usize)> {
        let mut copies: Vec<(usize, usize, usize, usize)> = Vec::new();
        let all = worlds
            .iter()
            .copied()
            .chain(core::iter::repeat(worlds[0]))
            .take(to.covered(self.tuning().worlds_per_group));
        for (at, w) in all.enumerate() {
            let from = self.slices.partition_point(|s| s.world0 <= w) - 1;
            let first = w - self.slices[from].world0;
            match copies.last_mut() {
                // worlds that follow each other are one copy
                Some((f, start, _, n)) if *f == from && *start + *n == first => *n += 1,
                _ => copies.push((from, first, at, 1)),
            }
        }
        copies
    }

    /// Reads all fields of the first world of a slice.
    fn read_first(&self, slice: &Slice, d: &mut Data<f32>) -> Result<(), GpuError> {
        for binding in Binding::ALL.into_iter().filter(|&b| !b.is_shared() && b != Binding::Vary) {
            let words = self.gpu.read(slice.buffer(binding), 0, self.layout.words(binding))?;
            pack::unpack_world(&words, &self.layout, binding, d);
        }
        Ok(())
    }
}
