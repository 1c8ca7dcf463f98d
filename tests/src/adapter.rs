//! The devices of a test process.

use crate::left_out::left_out;
use kiloworld_gpu::{Gpu, GpuOptions};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The environment variable that makes a missing adapter a failure instead of a skip.
pub const REQUIRE_VARIABLE: &str = "KILOWORLD_REQUIRE_ADAPTER";

/// Devices of the process. A software device compiles and runs on one thread of its own, so that one device would leave
/// all cores but one idle; tests of one module share theirs, and with it the kernels that are made already.
const DEVICES: usize = 2;

/// The device of the calling test; `None`, said aloud, where there is no adapter.
///
/// # Panics
/// Where [`REQUIRE_VARIABLE`] is 1 and there is no adapter.
pub fn gpu() -> Option<Gpu> {
    static GPU: [OnceLock<Option<Gpu>>; DEVICES] = [const { OnceLock::new() }; DEVICES];
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        // a test runs on a thread of its own; tests of stages have kernels of their own and are dealt out
        static MINE: usize = match std::thread::current().name() {
            Some(test) if test.starts_with("stages::") => NEXT.fetch_add(1, Ordering::Relaxed) % DEVICES,
            _ => 0,
        };
    }
    let gpu = GPU[MINE.with(|&mine| mine)].get_or_init(|| match Gpu::new(&GpuOptions::default()) {
        Ok(gpu) => Some(gpu),
        Err(e) if std::env::var(REQUIRE_VARIABLE).is_ok_and(|v| v == "1") => panic!("{REQUIRE_VARIABLE}=1: {e}"),
        Err(_) => None,
    });
    if gpu.is_none() {
        left_out("there is no GPU adapter: `kiloworld doctor` says what was looked for");
    }
    gpu.clone()
}
