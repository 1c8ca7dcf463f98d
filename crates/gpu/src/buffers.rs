//! Device buffers of a batch: slices of worlds, each within the device's limits.

use crate::device::Gpu;
use crate::error::GpuError;
use kiloworld_layout::{Binding, Layout, wgsl::Tuning};

/// `dispatch_arg()` takes values below this; one block of uniform memory each.
pub(crate) const ARGUMENTS: u32 = 256;
/// Bytes from one block to the next: WebGPU's alignment of dynamic offsets.
pub(crate) const ARGUMENT_STRIDE: u32 = 256;

/// The uniform `Params` of the module `layout`.
#[repr(C)]
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
struct Params {
    nworld: u32,
    world0: u32,
    groups_x: u32,
    zero: u32,
    arg: u32,
    pad: [u32; 3],
}

/// Worlds whose buffers are bound together.
#[derive(Debug)]
pub(crate) struct Slice {
    /// first world of the batch
    pub(crate) world0: usize,
    /// worlds that the user has
    pub(crate) nworld: usize,
    /// worlds that have memory: what the grid covers
    pub(crate) padded: usize,
    /// workgroups of a dispatch
    pub(crate) groups: [u32; 2],
    buffers: Vec<wgpu::Buffer>,
    pub(crate) bind: wgpu::BindGroup,
}

impl Slice {
    pub(crate) fn buffer(&self, binding: Binding) -> &wgpu::Buffer {
        &self.buffers[binding as usize]
    }

    /// Lets dispatches cover only the first `n` worlds.
    pub(crate) fn cover(&mut self, n: usize, worlds_per_group: u32) {
        let [x, _] = grid(self.nworld, worlds_per_group);
        let groups = grid(n.min(self.nworld), worlds_per_group);
        let need = groups[0] * groups[1];
        // a row of the grid is as long as `Params` says
        self.groups = if need <= x { [need, 1] } else { [x, need.div_ceil(x)] };
    }

    /// Worlds that the grid covers.
    pub(crate) fn covered(&self, worlds_per_group: u32) -> usize {
        (self.groups[0] * self.groups[1] * worlds_per_group) as usize
    }
}

/// The grid that covers `nworld` worlds: workgroups in two dimensions, at most 65,535 each.
fn grid(nworld: usize, worlds_per_group: u32) -> [u32; 2] {
    const LARGEST: u32 = 65_535;
    let groups = u32::try_from(nworld).unwrap_or(u32::MAX).div_ceil(worlds_per_group).max(1);
    let y = groups.div_ceil(LARGEST);
    [groups.div_ceil(y), y]
}

/// Splits `nworld` worlds into slices of about equal size, none larger than the limits allow.
pub(crate) fn split(nworld: usize, largest: usize, worlds_per_group: u32) -> Result<Vec<usize>, GpuError> {
    // the grid adds at most one group a row of 65,535
    let group = worlds_per_group as usize;
    let rows = largest.div_ceil(group).div_ceil(65_535) + 1;
    let largest = largest.saturating_sub(group * rows);
    if largest == 0 {
        return Err(GpuError::Setting(format!(
            "not even {group} worlds fit in one binding of this device: use fewer worlds a group"
        )));
    }
    let slices = nworld.div_ceil(largest).max(1);
    let each = nworld.div_ceil(slices).next_multiple_of(group);
    Ok((0..slices).map(|i| each.min(nworld.saturating_sub(i * each))).filter(|&n| n > 0).collect())
}

/// Buffers of `n` worlds.
pub(crate) fn of_worlds(gpu: &Gpu, layout: &Layout, n: usize) -> Result<Vec<wgpu::Buffer>, GpuError> {
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
    let own = Binding::ALL.into_iter().filter(|b| !b.is_shared());
    own.map(|binding| gpu.buffer(binding.name(), n * layout.words(binding), usage)).collect()
}

impl Gpu {
    pub(crate) fn buffer(
        &self,
        label: &str,
        words: usize,
        usage: wgpu::BufferUsages,
    ) -> Result<wgpu::Buffer, GpuError> {
        self.scoped(label, || {
            self.inner.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size: 4 * words as u64,
                usage,
                mapped_at_creation: false,
            })
        })
    }

    pub(crate) fn slice(
        &self,
        layout: &Layout,
        tuning: Tuning,
        shared: &[wgpu::Buffer; 2],
        world0: usize,
        nworld: usize,
    ) -> Result<Slice, GpuError> {
        let groups = grid(nworld, tuning.worlds_per_group);
        let padded = groups[0] as usize * groups[1] as usize * tuning.worlds_per_group as usize;
        let mut buffers = shared.to_vec();
        buffers.extend(of_worlds(self, layout, padded)?);
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let params = self.buffer("params", (ARGUMENTS * ARGUMENT_STRIDE / 4) as usize, usage)?;
        let mut bytes = vec![0; (ARGUMENTS * ARGUMENT_STRIDE) as usize];
        let small = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        for (arg, block) in (0..).zip(bytes.chunks_exact_mut(ARGUMENT_STRIDE as usize)) {
            let p =
                Params { nworld: small(nworld), world0: small(world0), groups_x: groups[0], zero: 0, arg, pad: [0; 3] };
            block[..size_of::<Params>()].copy_from_slice(bytemuck::bytes_of(&p));
        }
        self.inner.queue.write_buffer(&params, 0, &bytes);
        let mut entries: Vec<_> = (0..)
            .zip(&buffers)
            .map(|(binding, b)| wgpu::BindGroupEntry { binding, resource: b.as_entire_binding() })
            .collect();
        let block = wgpu::BufferBinding {
            buffer: &params,
            offset: 0,
            size: core::num::NonZeroU64::new(size_of::<Params>() as u64),
        };
        entries.push(wgpu::BindGroupEntry { binding: 8, resource: wgpu::BindingResource::Buffer(block) });
        let bind = self.scoped("bind group", || {
            self.inner.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("worlds"),
                layout: &self.inner.layout,
                entries: &entries,
            })
        })?;
        Ok(Slice { world0, nworld, padded, groups, buffers, bind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_covers_large_slices() {
        assert_eq!(grid(1, 16), [1, 1]);
        assert_eq!(grid(65_535 * 4, 4), [65_535, 1]);
        let [x, y] = grid(100_000, 1);
        assert!(x <= 65_535 && y == 2 && x * y >= 100_000 && x * y < 100_002);
    }

    #[test]
    fn slices_hold_every_world_once() {
        for (nworld, largest, group) in [(1, 100, 8), (4096, 1000, 16), (4096, 5000, 64), (7, 24, 8), (100, 41, 8)] {
            let slices = split(nworld, largest, group).expect("fits");
            assert_eq!(slices.iter().sum::<usize>(), nworld);
            for n in &slices {
                let [x, y] = grid(*n, group);
                assert!(
                    (x * y * group) as usize <= largest,
                    "{n} worlds in {x} x {y} groups of {group} pass {largest}"
                );
            }
        }
        assert!(split(7, 8, 8).is_err());
    }
}
