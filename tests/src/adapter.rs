//! The one device of a test process.

use kiloworld_gpu::{Gpu, GpuOptions};
use std::sync::OnceLock;

/// The environment variable that makes a missing adapter a failure instead of a skip.
pub const REQUIRE_VARIABLE: &str = "KILOWORLD_REQUIRE_ADAPTER";

/// The device that all tests of this process share; `None`, said aloud, where there is no adapter.
///
/// # Panics
/// Where [`REQUIRE_VARIABLE`] is 1 and there is no adapter.
#[expect(clippy::print_stderr, reason = "a skip must be seen")]
pub fn gpu() -> Option<Gpu> {
    static GPU: OnceLock<Option<Gpu>> = OnceLock::new();
    GPU.get_or_init(|| match Gpu::new(&GpuOptions::default()) {
        Ok(gpu) => Some(gpu),
        Err(e) if std::env::var(REQUIRE_VARIABLE).is_ok_and(|v| v == "1") => panic!("{REQUIRE_VARIABLE}=1: {e}"),
        Err(e) => {
            eprintln!("SKIPPED: every test on a GPU: {e} (set {REQUIRE_VARIABLE}=1 to make this a failure)");
            None
        }
    })
    .clone()
}
