//! What a batch says of its worlds after a step.

use kiloworld_layout::consts::status;

/// Counts over the worlds of a batch.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Report {
    /// worlds
    pub nworld: usize,
    /// worlds that move
    pub ok: usize,
    /// worlds frozen because a contact had no slot
    pub contact_overflow: usize,
    /// worlds frozen because a constraint row had no slot
    pub row_overflow: usize,
    /// worlds frozen because the next state would not have been finite
    pub nonfinite: usize,
    /// worlds frozen because the next state would have been beyond MuJoCo's limit of 10¹⁰
    pub diverged: usize,
    /// worlds frozen because a control or an applied force was not finite
    pub bad_ctrl: usize,
    /// worlds frozen because the device stopped loops before their end
    pub loop_limit: usize,
    /// contacts of the last step: mean over the worlds
    pub ncon_mean: f64,
    /// contacts of a world, the most of any step since reset
    pub ncon_max: usize,
    /// contacts that a world can hold
    pub nconmax: usize,
    /// constraint rows of the last step: mean over the worlds
    pub nefc_mean: f64,
    /// constraint rows of a world, the most of any step since reset
    pub nefc_max: usize,
    /// constraint rows that a world can hold
    pub njmax: usize,
    /// solver iterations of the last step: mean over the worlds
    pub niter_mean: f64,
}

impl Report {
    pub(crate) fn add(&mut self, bits: i32, ncon: f64, ncon_need: f64, nefc: f64, nefc_need: f64, niter: f64) {
        self.nworld += 1;
        self.ok += usize::from(bits & status::FROZEN == 0);
        self.contact_overflow += usize::from(bits & status::CONTACT_OVERFLOW != 0);
        self.row_overflow += usize::from(bits & status::ROW_OVERFLOW != 0);
        self.nonfinite += usize::from(bits & status::NONFINITE != 0);
        self.diverged += usize::from(bits & status::DIVERGED != 0);
        self.bad_ctrl += usize::from(bits & status::BAD_CTRL != 0);
        self.loop_limit += usize::from(bits & status::LOOP_LIMIT != 0);
        // running means
        let k = 1.0 / self.nworld as f64;
        self.ncon_mean += (ncon - self.ncon_mean) * k;
        self.nefc_mean += (nefc - self.nefc_mean) * k;
        self.niter_mean += (niter - self.niter_mean) * k;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts")]
        {
            self.ncon_max = self.ncon_max.max(ncon_need as usize);
            self.nefc_max = self.nefc_max.max(nefc_need as usize);
        }
    }

    /// True where every world moves.
    pub fn all_ok(&self) -> bool {
        self.ok == self.nworld
    }
}

/// Numbers of a GPU batch that a run on another device can be predicted from.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct DeviceNumbers {
    /// invocations that work on a world
    pub lanes: u32,
    /// worlds a workgroup
    pub worlds_per_group: u32,
    /// Newton steps that share a dispatch, at most the iterations of a step
    pub newton_steps: u32,
    /// stages that follow each other share kernels
    pub fused: bool,
    /// dispatches a step
    pub dispatches: usize,
    /// workgroup memory of the kernel that uses the most [bytes]
    pub workgroup_bytes: usize,
    /// slices that the worlds are split into, so that a buffer fits a binding
    pub slices: usize,
    /// worlds that were counted for what follows, spread over the batch
    pub counted_worlds: usize,
    /// Bytes a step of the whole batch that must come from memory: what the dispatches load of a world, each word once a
    /// dispatch, from the counted worlds as they are, and of the shared model, once a dispatch. Without regard to caches that
    /// keep words from one dispatch to the next.
    pub bytes_read: f64,
    /// bytes a step of the whole batch that must go to memory: words that the dispatches store, each once a dispatch
    pub bytes_written: f64,
    /// bytes a step of the whole batch that kernels load and store, every time
    pub bytes_accessed: f64,
    /// Floating-point operations a step of the whole batch: an addition, multiplication, division, root or power is 1, a
    /// comparison or move none; only those that count, not those of masked lanes.
    pub flops: f64,
    /// points a step where the lanes of a workgroup wait for each other, along the dispatches; 0 with one lane a world, but
    /// for votes of the group
    pub barriers: f64,
    /// the most turns of loops that an invocation makes in one dispatch: llvmpipe stops them near 65,000
    pub loop_turns: u64,
}

impl DeviceNumbers {
    /// Seconds that a step takes at least on a device of that memory bandwidth [B/s] and peak [1/s]: the bytes that must move, or
    /// the arithmetic, whichever is more. What is not known is taken for free. Dispatches cost a few microseconds each besides.
    pub fn predicted(&self, bandwidth: Option<f64>, peak: Option<f64>) -> f64 {
        let moved = bandwidth.map_or(0.0, |b| (self.bytes_read + self.bytes_written) / b);
        moved.max(peak.map_or(0.0, |p| self.flops / p))
    }
}
