//! No target may hold more than 1 GB: an allocation beyond that fails, which ends the process and shows the input.

use cap::Cap;
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: Cap<System> = Cap::new(System, 1 << 30);
