//! `kiloworld rollout`.

use crate::args::{CtrlArg, Rollout};
use crate::arrays::{Array, write_npz};
use crate::common::{Outcome, builder, keyframe, load, progress, random_control, thousands};
use anyhow::Result;
use kiloworld_sim::Field;
use serde_json::json;
use std::time::Instant;

pub(crate) fn run(args: &Rollout, json: bool) -> Result<Outcome> {
    let start = Instant::now();
    let model = load(&args.model)?;
    let mut batch = builder(&model, args.worlds, &args.place).build()?;
    let (bytes, shared) = batch.memory();
    let keyframe = keyframe(&model, args.keyframe.as_deref())?;
    if keyframe.is_some() {
        batch.reset(None, keyframe)?;
    }
    if !json {
        println!("{}: {} worlds on {}", args.model.display(), thousands(args.worlds), batch.backend_name());
        println!(
            "memory: {} bytes a world, {:.1} MB in all, {:.1} MB of shared work arrays",
            thousands(bytes),
            (bytes * args.worlds) as f64 / 1e6,
            shared as f64 / 1e6
        );
    }
    let control = random_control(&batch, args.seed);
    let step = |batch: &mut kiloworld_sim::Batch, at: usize, n: usize| match args.ctrl {
        CtrlArg::Zero => batch.step(n),
        CtrlArg::Random => batch.step_with(n, &|w, k, ctrl| control(w, at + k, ctrl)),
    };

    // the first step compiles kernels and touches memory: it is the cold start, not the throughput
    let first = args.steps.min(1);
    step(&mut batch, 0, first)?;
    batch.report()?;
    let cold = start.elapsed().as_secs_f64();

    let bar = progress(args.steps, json);
    let chunk = (args.steps / 50).clamp(1, 100);
    let clock = Instant::now();
    let mut done = first;
    while done < args.steps {
        let n = chunk.min(args.steps - done);
        step(&mut batch, done, n)?;
        done += n;
        bar.set_position(done as u64);
    }
    let report = batch.report()?;
    let elapsed = clock.elapsed().as_secs_f64();
    bar.finish_and_clear();

    let timed = (args.steps - first) * args.worlds;
    let rate = if timed == 0 { 0.0 } else { timed as f64 / elapsed };
    let factor = rate * batch.model().opt_timestep[0];
    if let Some(path) = &args.out {
        let fields = [Field::time, Field::qpos, Field::qvel, Field::act, Field::status];
        let mut arrays = Vec::new();
        for field in fields {
            let data = batch.get(field)?;
            arrays.push((field.name(), Array { shape: vec![args.worlds, data.len() / args.worlds], data }));
        }
        write_npz(path, arrays)?;
    }
    if json {
        println!(
            "{}",
            json!({
                "model": args.model, "backend": batch.backend_name(), "worlds": args.worlds, "steps": args.steps,
                "world_steps_per_s": rate, "real_time_factor": factor, "cold_start_s": cold,
                "bytes_per_world": bytes, "bytes_shared": shared, "report": report,
            })
        );
    } else {
        println!("cold start to the end of the first step: {cold:.2} s");
        if timed > 0 {
            println!(
                "{} world-steps/s, {} times real time ({} steps in {elapsed:.2} s)",
                thousands(rate as usize),
                thousands(factor as usize),
                args.steps - first
            );
        }
        println!("contacts: mean {:.1}, most {} of {}", report.ncon_mean, report.ncon_max, report.nconmax);
        println!(
            "rows: mean {:.1}, most {} of {}; solver iterations {:.1}",
            report.nefc_mean, report.nefc_max, report.njmax, report.niter_mean
        );
        println!(
            "worlds: {} ok, {} contact overflow, {} row overflow, {} non-finite, {} bad control",
            thousands(report.ok),
            report.contact_overflow,
            report.row_overflow,
            report.nonfinite,
            report.bad_ctrl
        );
        if report.contact_overflow + report.row_overflow > 0 {
            println!("overflow: run again with --nconmax {} --njmax {}", report.ncon_max + 8, report.nefc_max + 16);
        }
    }
    Ok(if report.all_ok() { Outcome::Ok } else { Outcome::Failed })
}
