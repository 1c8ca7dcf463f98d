//! `kiloworld rollout`.

use crate::args::{FailureArg, Rollout};
use crate::arrays::{self, Array};
use crate::common::{self, Outcome, advice, builder, in_pieces, keyframe, load, random_control, thousands};
use crate::out::Out;
use anyhow::{Context, Result, bail};
use kiloworld_sim::memory::{bytes, peak};
use kiloworld_sim::{Batch, Dump, Field};
use serde_json::json;
use std::path::PathBuf;
use std::time::Instant;

pub(crate) fn run(args: &Rollout, json: bool) -> Result<Outcome> {
    let start = Instant::now();
    // before hours of steps
    let out = args.out.as_deref().map(|path| Out::new(path, &["npz", "json"], args.force)).transpose()?;
    let model = load(&args.model)?;
    let builder = builder(&model, args.worlds, &args.place).on_failure(args.on_failure.into()).history(args.history);
    let mut batch = builder.build()?;
    let keyframe = keyframe(&model, args.drive.keyframe.as_deref())?;
    if keyframe.is_some() {
        batch.reset(None, keyframe)?;
    }
    if !json {
        println!("{}: {} worlds on {}", args.model.display(), thousands(args.worlds), batch.backend_name());
        println!("memory: {}", batch.routes().memory());
        println!("{}", batch.routes().room());
    }
    let control = random_control(&batch, args.drive.seed);
    let mut dumps = Dumps { dir: args.dump_failed.clone(), force: args.force, seen: 0, written: Vec::new() };
    let mut step = |batch: &mut Batch, at: usize, n: usize| -> Result<()> {
        let result = common::step(batch, args.drive.ctrl, &control, at, n);
        dumps.look(batch)?;
        if result.is_err()
            && let Some(advice) = advice(batch)?
        {
            eprintln!("{advice}");
        }
        Ok(result?)
    };

    // the first step compiles kernels and touches memory: it is the cold start, not the throughput
    let first = args.drive.steps.min(1);
    step(&mut batch, 0, first)?;
    batch.report()?;
    let cold = start.elapsed().as_secs_f64();
    let before = batch.world_steps()?;

    let clock = Instant::now();
    in_pieces(first, args.drive.steps, json, |at, n| step(&mut batch, at, n))?;
    let report = batch.report()?;
    let elapsed = clock.elapsed().as_secs_f64();

    let failures = batch.failures()?;
    let made = batch.world_steps()?;
    let advice = advice(&mut batch)?;
    let timed = args.drive.steps - first;
    let rate = if timed == 0 { 0.0 } else { (made - before) as f64 / elapsed };
    let factor = rate * batch.model().opt_timestep[0];
    if let Some(out) = out {
        let fields = [Field::time, Field::qpos, Field::qvel, Field::act, Field::status];
        let mut arrays = Vec::new();
        for field in fields {
            let data = batch.get(field)?;
            arrays.push((field.name(), Array { shape: vec![args.worlds, data.len() / args.worlds], data }));
        }
        arrays::write(out, arrays)?;
    }
    if json {
        println!(
            "{}",
            json!({
                "model": args.model, "backend": batch.backend_name(), "worlds": args.worlds, "steps": args.drive.steps,
                "world_steps": made as f64, "world_steps_per_s": rate, "real_time_factor": factor, "cold_start_s": cold,
                "bytes_per_world": batch.routes().bytes_per_world, "bytes_shared": batch.routes().bytes_shared, "bytes_peak": peak(),
                "capacities": batch.capacities(), "report": report, "advice": advice,
                "failures": failures.len(), "first_failures": &failures[..failures.len().min(SHOWN)], "dumps": dumps.written,
            })
        );
    } else {
        println!("cold start to the end of the first step: {cold:.2} s");
        if timed > 0 {
            let short = match args.worlds - report.ok {
                0 => String::new(),
                n => format!(
                    "; {} of {} worlds froze, and no more steps of theirs count",
                    thousands(n),
                    thousands(args.worlds)
                ),
            };
            println!(
                "{} world-steps/s, {} times real time ({timed} steps in {elapsed:.2} s){short}",
                thousands(rate as usize),
                thousands(factor as usize)
            );
        }
        println!("contacts: mean {:.1}, most {} of {}", report.ncon_mean, report.ncon_max, report.nconmax);
        println!(
            "rows: mean {:.1}, most {} of {}; solver iterations {:.1}",
            report.nefc_mean, report.nefc_max, report.njmax, report.niter_mean
        );
        println!(
            "worlds: {} ok, {} contact overflow, {} row overflow, {} non-finite, {} diverged, {} bad control{}",
            thousands(report.ok),
            report.contact_overflow,
            report.row_overflow,
            report.nonfinite,
            report.diverged,
            report.bad_ctrl,
            if report.loop_limit > 0 { format!(", {} loops cut", report.loop_limit) } else { String::new() }
        );
        if !failures.is_empty() {
            let what = if args.on_failure == FailureArg::Reset { ", each put back to its start" } else { "" };
            println!("{} worlds could not go on{what}; the first:", thousands(failures.len()));
            failures.iter().take(SHOWN).for_each(|f| println!("  {f}"));
        }
        for file in &dumps.written {
            println!("dumped: kiloworld replay {}", file.display());
        }
        if let Some(advice) = advice {
            println!("{advice}");
        }
        if let Some(peak) = peak() {
            println!("this process took at most {} of memory", bytes(peak.into()));
        }
    }
    // a world that failed and was put back failed
    Ok(if report.all_ok() && failures.is_empty() { Outcome::Ok } else { Outcome::Failed })
}

/// Failures that are printed.
const SHOWN: usize = 8;
/// Worlds that are dumped.
const DUMPS: usize = 16;

/// The files of worlds that failed.
struct Dumps {
    dir: Option<PathBuf>,
    /// replace what is no dump
    force: bool,
    /// entries of the log that were looked at
    seen: usize,
    written: Vec<PathBuf>,
}

impl Dumps {
    /// Writes the worlds that failed since the last look.
    fn look(&mut self, batch: &mut Batch) -> Result<()> {
        let Some(dir) = &self.dir else { return Ok(()) };
        if self.written.len() >= DUMPS {
            return Ok(());
        }
        let failures = batch.failures()?;
        for f in failures.iter().skip(self.seen).take(DUMPS - self.written.len()) {
            std::fs::create_dir_all(dir).with_context(|| format!("cannot make the folder {}", dir.display()))?;
            let file = dir.join(format!("world{}-{}.npz", f.world, self.written.len()));
            if !self.force && file.symlink_metadata().is_ok() && !Dump::is_one(&file) {
                bail!(
                    "{} is there already and is no dump: give another folder, or --force to replace it",
                    file.display()
                );
            }
            batch.dump(f.world, &file)?;
            self.written.push(file);
        }
        self.seen = failures.len();
        Ok(())
    }
}
