//! Checks the present adapter in a few minutes: self-test, every stage against the CPU, bits of batches, throughput by lanes.
//!
//! `device_check [--models ant,mix] [--worlds 4096] [--seconds 2] [--stages no] [--checked yes] [--sweep no]`

#![expect(clippy::print_stdout, reason = "a program that reports")]

use kiloworld_gpu::{BatchOptions, Gpu, GpuBatch, Tuning};
use kiloworld_layout::{Call, Field, Model};
use kiloworld_tests::golden::Golden;
use kiloworld_tests::stage::{Subject, tuning};
use kiloworld_tests::{adapter, models};
use std::time::Instant;

struct Args {
    models: Vec<String>,
    worlds: usize,
    seconds: f64,
    stages: bool,
    checked: bool,
    sweep: bool,
}

fn main() {
    let mut args = Args {
        models: vec!["humanoid".into(), "ant".into()],
        worlds: 4096,
        seconds: 1.0,
        stages: true,
        checked: false,
        sweep: true,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match (word.as_str(), words.next()) {
            ("--models", Some(list)) => args.models = list.split(',').map(str::to_owned).collect(),
            ("--worlds", Some(n)) => args.worlds = n.parse().expect("a number of worlds"),
            ("--seconds", Some(s)) => args.seconds = s.parse().expect("seconds"),
            ("--checked", Some(s)) => args.checked = s != "no",
            ("--sweep", Some(s)) => args.sweep = s != "no",
            ("--stages", Some(s)) => args.stages = s != "no",
            _ => panic!(
                "device_check [--models ant,mix] [--worlds 4096] [--seconds 2] [--stages no] [--checked yes] [--sweep no]"
            ),
        }
    }
    let checked = kiloworld_gpu::GpuOptions { checked: args.checked, ..Default::default() };
    let Some(gpu) = (if args.checked { Gpu::new(&checked).ok() } else { adapter::gpu() }) else {
        std::process::exit(1)
    };
    println!("{:#?}", gpu.info());
    println!("{:?}", gpu.selftest());
    let mut failed = 0;
    for name in &args.models {
        if args.stages {
            failed += stages(name);
        }
        throughput(&gpu, name, &args);
    }
    println!("{failed} stage(s) out of tolerance");
    std::process::exit(i32::from(failed > 0));
}

/// A fixed number of iterations, as the device runs them.
fn fixed(m: &mut Model<f64>) {
    m.opt.iterations = m.opt.iterations.min(8);
    m.opt.ls_iterations = m.opt.ls_iterations.min(10);
}

fn stages(name: &str) -> usize {
    let mut m = models::named(name);
    fixed(&mut m);
    let mut failed = 0;
    for call in kiloworld_sim::step::step(&m.opt) {
        let subject = Subject::new(name, call, fixed);
        let states: Vec<_> = (0..subject.nstate()).collect();
        for lanes in [1, 8, 32] {
            let start = Instant::now();
            match subject.on_gpu(&states, tuning(lanes), None) {
                Ok(after) => {
                    let seconds = start.elapsed().as_secs_f64();
                    let report = subject.compare(&states, &after);
                    let verdict = if report.passed() { "ok" } else { "DIFFERS" };
                    println!(
                        "{name} {} {} lanes {lanes}: {verdict} (compiled and run in {seconds:.2} s)",
                        call.stage, call.sub
                    );
                    if !report.passed() {
                        failed += 1;
                        println!("{report}");
                    }
                }
                Err(e) => {
                    failed += 1;
                    println!("{name} {} lanes {lanes}: {e}", call.stage);
                }
            }
        }
    }
    failed
}

fn throughput(gpu: &Gpu, name: &str, args: &Args) {
    let golden = Golden::named(name);
    let mut m = models::of(&golden);
    fixed(&mut m);
    let calls = kiloworld_sim::step::step(&m.opt);
    let states: Vec<_> = (0..golden.nstate()).map(|k| golden.world(&m, k).split(&m)).collect();
    let worlds: Vec<_> = (0..args.worlds).map(|w| states[w % states.len()].clone()).collect();
    let sweep: &[(u32, u32)] =
        &[(1, 8), (1, 32), (1, 64), (2, 32), (4, 16), (8, 8), (16, 4), (32, 2), (32, 1), (64, 1)];
    for &(lanes, worlds_per_group) in sweep.iter().filter(|_| args.sweep) {
        let tuning = Tuning { lanes, worlds_per_group, ..gpu.tuning(&m) };
        let options = BatchOptions { tuning: Some(tuning), ..BatchOptions::default() };
        let made = GpuBatch::new(gpu, &m, args.worlds, options).and_then(|mut b| b.write_worlds(&worlds).map(|()| b));
        match made.and_then(|mut batch| measure(&mut batch, &calls, args.seconds)) {
            Ok((steps, seconds, bad)) => {
                let rate = args.worlds as f64 * steps as f64 / seconds;
                println!(
                    "{name} {} worlds, {lanes} lanes x {worlds_per_group}: {rate:.0} steps/s ({bad} worlds flagged)",
                    args.worlds
                );
            }
            Err(e) => println!("{name} {lanes} lanes x {worlds_per_group}: {e}"),
        }
    }
    let mut batch = match GpuBatch::new(gpu, &m, args.worlds, BatchOptions::default()) {
        Ok(b) => b,
        Err(e) => return println!("{name}: {e}"),
    };
    println!(
        "{name}: {} bytes a world, {} slices, default {:?}",
        batch.bytes_per_world(),
        batch.nslice(),
        batch.tuning()
    );
    // some drivers compile at the first dispatch
    let warm = batch.write_worlds(&worlds).and_then(|()| batch.submit(&calls, 1)).and_then(|()| gpu.wait());
    if let Err(e) = warm {
        return println!("{name}: {e}");
    }
    batch.timings().enable(true);
    if batch.write_worlds(&worlds).and_then(|()| batch.submit(&calls, 10)).is_ok() {
        for (stage, seconds, runs) in batch.timings().take() {
            println!("    {stage:<14} {:9.1} us a step", seconds / runs as f64 * 1e6);
        }
    }
}

/// Steps, seconds and worlds whose status is set.
fn measure(batch: &mut GpuBatch, calls: &[Call], seconds: f64) -> Result<(usize, f64, usize), kiloworld_gpu::GpuError> {
    batch.submit(calls, 2)?;
    batch.gpu().wait()?;
    let start = Instant::now();
    let mut steps = 0;
    while start.elapsed().as_secs_f64() < seconds {
        batch.submit(calls, 10)?;
        batch.gpu().wait()?;
        steps += 10;
    }
    let seconds = start.elapsed().as_secs_f64();
    let bad = batch.download_int(Field::status)?.into_iter().filter(|&s| s != 0).count();
    Ok((steps, seconds, bad))
}
