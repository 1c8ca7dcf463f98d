//! `kiloworld doctor`.

use crate::common::Outcome;
use anyhow::Result;
use kiloworld_gpu::{Gpu, GpuOptions, adapters};
use serde_json::json;

pub(crate) fn run(json: bool) -> Result<Outcome> {
    let threads = rayon::current_num_threads();
    let list = adapters();
    let gpu = Gpu::new(&GpuOptions::default());
    let selftest = gpu.as_ref().ok().map(Gpu::selftest);
    let auto = match &gpu {
        Ok(gpu) if !gpu.info().is_cpu => format!("gpu: {} is not a software device", gpu.info().name),
        Ok(gpu) => format!("cpu: {} is a software device, slower than the stages in Rust", gpu.info().name),
        Err(error) => format!("cpu: {error}"),
    };
    let healthy = selftest.as_ref().is_none_or(|t| t.as_ref().is_ok_and(|t| t.two_float_is_exact()));
    if json {
        let adapters: Vec<_> = list
            .iter()
            .map(|a| {
                json!({
                    "name": a.name, "driver": a.driver, "backend": a.backend, "software": a.is_cpu, "timestamps": a.has_timestamps,
                    "max_binding_bytes": a.limits.binding, "max_buffer_bytes": a.limits.buffer,
                    "workgroup_bytes": a.workgroup_bytes, "invocations": a.invocations,
                })
            })
            .collect();
        let selftest = selftest.as_ref().map(|t| match t {
            Ok(t) => json!({ "two_float": t.two_float_is_exact(), "two_float_error": t.two_float_error, "loop_limit": t.loop_limit() }),
            Err(error) => json!({ "error": error.to_string() }),
        });
        println!("{}", json!({ "cpu_threads": threads, "adapters": adapters, "auto": auto, "selftest": selftest }));
        return Ok(if healthy { Outcome::Ok } else { Outcome::Failed });
    }
    println!("cpu: {threads} threads");
    if list.is_empty() {
        println!("no GPU adapter; on Debian and Ubuntu mesa-vulkan-drivers brings a software one");
    }
    for a in &list {
        println!("adapter: {} ({}, {}){}", a.name, a.backend, a.driver, if a.is_cpu { ", software" } else { "" });
        println!(
            "  binding {} MiB, buffer {} MiB, workgroup memory {} KiB, {} invocations a workgroup, timestamps {}",
            a.limits.binding >> 20,
            a.limits.buffer >> 20,
            a.workgroup_bytes >> 10,
            a.invocations,
            if a.has_timestamps { "yes" } else { "no" }
        );
    }
    println!("--backend auto takes {auto}");
    match selftest {
        None => {}
        Some(Err(error)) => println!("self-test: could not run: {error}"),
        Some(Ok(t)) => {
            let verdict = if t.two_float_is_exact() {
                "exact"
            } else {
                "BROKEN: the shader compiler folds error-free sums; slow creep and stiff welds will be wrong"
            };
            println!("two-float self-test: {verdict} (largest error {:.1e})", t.two_float_error);
            match t.loop_limit() {
                Some(n) => {
                    println!("loop limit: loops end silently after {n} iterations an invocation; kernels stay below");
                }
                None => println!("loop limit: none found"),
            }
        }
    }
    Ok(if healthy { Outcome::Ok } else { Outcome::Failed })
}
