//! Criterion benches of the CPU path: compiling a model, and steps of a batch in either precision.

#![allow(missing_docs, reason = "criterion's macros make public items")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kiloworld_model::Model;
use kiloworld_sim::{Backend, Batch, Precision, rng};
use std::path::Path;

const MODELS: [&str; 3] = ["humanoid", "quadruped", "incline"];
const WORLDS: usize = 256;

fn read(name: &str) -> Model {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models").join(name).with_extension("xml");
    Model::from_path(&path).unwrap_or_else(|e| panic!("{e}"))
}

fn compile(c: &mut Criterion) {
    let mut group = c.benchmark_group("compile");
    for name in MODELS {
        group.bench_function(name, |b| b.iter(|| read(name)));
    }
}

/// A step of settled worlds under random control.
fn step(c: &mut Criterion) {
    let mut group = c.benchmark_group("step");
    group.throughput(Throughput::Elements(WORLDS as u64));
    for name in MODELS {
        let model = read(name);
        for precision in [Precision::F64, Precision::F32] {
            let mut batch = Batch::builder(&model)
                .nworld(WORLDS)
                .backend(Backend::Cpu)
                .precision(precision)
                .build()
                .unwrap_or_else(|e| panic!("{e}"));
            let ranges = batch.ctrl_ranges();
            let mut at = 0;
            let mut run = |n: usize| {
                let control = |w: usize, k: usize, ctrl: &mut [f64]| {
                    for (i, (c, (lo, hi))) in ctrl.iter_mut().zip(&ranges).enumerate() {
                        *c = lo + (hi - lo) * rng::uniform(0, w, at + k, i);
                    }
                };
                batch.step_with(n, &control).unwrap_or_else(|e| panic!("{e}"));
                at += n;
            };
            run(200);
            group.bench_function(format!("{name}/{precision:?}"), |b| b.iter(|| run(1)));
        }
    }
}

criterion_group!(benches, compile, step);
criterion_main!(benches);
