//! What a device must be able to do, tried on the device itself.

use crate::batch::{BatchOptions, GpuBatch};
use crate::device::Gpu;
use crate::error::GpuError;
use crate::shaders::{SELFTEST, Shaders};
use kiloworld_layout::wgsl::Tuning;
use kiloworld_layout::{Field, Model, Sizes};

/// What the self-test found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelfTest {
    /// relative error of 10,000 sums in two floats; plain f32 leaves about 1e-5, an exact device below 1e-12
    pub two_float_error: f64,
    /// loop iterations that one invocation ran of 100,000; fewer where the device stops loops early
    pub loop_iterations: u32,
}

impl SelfTest {
    /// True where positions in two floats are worth what they cost.
    pub fn two_float_is_exact(&self) -> bool {
        self.two_float_error < 1e-12
    }

    /// The number of iterations, all loops of an invocation together, after which the device stops; `None`: it does not.
    pub fn loop_limit(&self) -> Option<u32> {
        (self.loop_iterations < LOOP).then_some(self.loop_iterations)
    }
}

/// Iterations that the kernel asks for.
const LOOP: u32 = 100_000;

impl Gpu {
    /// Tries the device: error-free sums (compilers that reassociate break them) and long loops (llvmpipe stops them).
    pub fn selftest(&self) -> Result<SelfTest, GpuError> {
        let size = Sizes { nq: 4, nv: 4, nvpad: 4, nlevel1: 1, ..Sizes::default() };
        let model = Model::<f64> { size, qpos0: vec![0.0; 4], ..Model::default() };
        let mut shaders = Shaders::load()?;
        shaders.insert(SELFTEST.0, SELFTEST.1.to_owned());
        let tuning = Some(Tuning { lanes: 1, worlds_per_group: 1, ..Tuning::default() });
        let options = BatchOptions { tuning, shaders: Some(shaders), ..BatchOptions::default() };
        let mut batch = GpuBatch::new(self, &model, 1, options)?;
        let (start, add) = (0.3_f32, 1.3e-7_f32);
        batch.upload(Field::qpos, &[start, add, 12345.0, 0.0])?;
        batch.run_kernel("selftest", "main", 0)?;
        batch.run_kernel("selftest", "main_loop", 0)?;
        let got = batch.download(Field::qvel)?;
        let exact = f64::from(start) + 1e4 * f64::from(add);
        let error = (f64::from(got[0]) + f64::from(got[1]) - exact).abs() / exact;
        // `count` is a whole number, at least the iterations and exact in f32 up to 2^24
        let ran = f64::from(got[2]).clamp(0.0, f64::from(LOOP));
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to u32's range")]
        Ok(SelfTest { two_float_error: if error.is_nan() { 1.0 } else { error }, loop_iterations: ran as u32 })
    }
}
