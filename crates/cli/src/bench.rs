//! `kiloworld bench`.

use crate::args::Bench;
use crate::arrays;
use crate::common::{Outcome, advice, builder, fits, load, random_control, set_state, thousands};
use crate::sweep::sweep;
use anyhow::{Context, Result};
use kiloworld_sim::{Batch, Field};
use serde_json::json;
use std::path::Path;
use std::time::Instant;

/// What a settled world is restored from.
const STATE: [Field; 10] = [
    Field::time,
    Field::qpos,
    Field::qvel,
    Field::act,
    Field::ctrl,
    Field::qacc_warmstart,
    Field::qfrc_applied,
    Field::xfrc_applied,
    Field::mocap_pos,
    Field::mocap_quat,
];

pub(crate) fn run(args: &Bench, json: bool) -> Result<Outcome> {
    let mut outcome = Outcome::Ok;
    for model in &args.models {
        for &worlds in &args.worlds {
            let fine = if args.sweep { sweep(args, model, worlds, json)? } else { row(args, model, worlds, json)? };
            if !fine {
                outcome = Outcome::Failed;
            }
        }
    }
    Ok(outcome)
}

/// Worlds whose step is counted for what it asks of the device.
const COUNTED: usize = 4;

/// Values of the fields of [`STATE`].
pub(crate) type Saved = Vec<(Field, Vec<f64>)>;

pub(crate) fn save(batch: &mut Batch) -> Result<Saved> {
    STATE.iter().map(|&f| Ok((f, batch.get(f)?))).collect()
}

pub(crate) fn restore(batch: &mut Batch, saved: &Saved) -> Result<()> {
    saved.iter().try_for_each(|(field, values)| Ok(batch.set(*field, values)?))
}

/// Repeats of the same steps.
pub(crate) struct Measured {
    /// world-steps a second of each, the slowest first; those of worlds that are frozen do not count
    pub(crate) rates: Vec<f64>,
    /// world-steps of all
    pub(crate) world_steps: f64,
}

/// Steps the worlds from the same state again and again.
pub(crate) fn measure(
    batch: &mut Batch,
    saved: &Saved,
    args: &Bench,
    control: &(dyn Fn(usize, usize, &mut [f64]) + Sync),
) -> Result<Measured> {
    // drawn beforehand: what is timed is the simulator, as where a policy gives the controls
    let (worlds, nu) = (batch.nworld(), batch.model().size.nu);
    let what = format!("the controls of {} steps of {worlds} worlds", args.steps);
    fits(args.steps as u128 * worlds as u128 * nu as u128, &what)?;
    let n = args.steps * worlds * nu;
    let mut drawn = Vec::new();
    drawn.try_reserve_exact(n).with_context(|| format!("no memory for {what}"))?;
    drawn.resize(n, 0.0);
    for (i, ctrl) in drawn.chunks_mut(nu.max(1)).enumerate() {
        control(i % worlds, i / worlds, ctrl);
    }
    let given = |w: usize, k: usize, ctrl: &mut [f64]| ctrl.copy_from_slice(&drawn[(k * worlds + w) * nu..][..nu]);
    let mut rates = Vec::new();
    let start = batch.world_steps()?;
    let mut made = start;
    for _ in 0..args.repeats.max(1) {
        restore(batch, saved)?;
        let clock = Instant::now();
        batch.step_with(args.steps, &given)?;
        // the device has finished when it can be read
        batch.report()?;
        let seconds = clock.elapsed().as_secs_f64();
        let now = batch.world_steps()?;
        rates.push((now - made) as f64 / seconds);
        made = now;
    }
    rates.sort_by(f64::total_cmp);
    Ok(Measured { rates, world_steps: (made - start) as f64 })
}

/// One measurement; false where worlds failed, so that the number does not count.
fn row(args: &Bench, path: &Path, worlds: usize, json: bool) -> Result<bool> {
    let start = Instant::now();
    let model = load(path)?;
    let mut batch = builder(&model, worlds, &args.place).build()?;
    let control = random_control(&batch, 0);
    batch.step_with(1, &control)?;
    batch.report()?;
    let cold = start.elapsed().as_secs_f64();

    match &args.state {
        Some(path) => {
            batch.reset(None, None)?;
            set_state(&mut batch, &arrays::read(path)?)?;
        }
        None => batch.step_with(args.warmup, &|w, k, ctrl| control(w, k + 1, ctrl))?,
    }
    let saved = save(&mut batch)?;
    let later = |w: usize, k: usize, ctrl: &mut [f64]| control(w, k + 1 + args.warmup, ctrl);
    let Measured { rates, .. } = measure(&mut batch, &saved, args, &later)?;
    let report = batch.report()?;
    let advice = advice(&mut batch)?;
    let stages = if args.stages { batch.profile(20, &control)? } else { Vec::new() };
    let stages: Vec<(String, f64)> = stages.into_iter().map(|(s, secs)| (s.name().to_owned(), 1e3 * secs)).collect();
    let device = batch.device_numbers(COUNTED)?;
    let [min, median, max] = [rates[0], rates[rates.len() / 2], rates[rates.len() - 1]];
    let [bandwidth, peak] = [args.bandwidth, args.peak].map(|x| x.map(|x| 1e9 * x));
    let asked = bandwidth.is_some() || peak.is_some();
    if json {
        println!(
            "{}",
            json!({
                "model": path, "backend": batch.backend_name(), "worlds": worlds, "steps": args.steps, "repeats": rates.len(),
                "world_steps_per_s": {"min": min, "median": median, "max": max},
                "stage_ms_per_step": stages.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
                "cold_start_s": cold, "bytes_per_world": batch.routes().bytes_per_world, "bytes_shared": batch.routes().bytes_shared,
                "capacities": batch.capacities(), "report": report, "advice": advice,
                "device": &device,
                "predicted_s_per_step": device.as_ref().filter(|_| asked).map(|d| d.predicted(bandwidth, peak)),
            })
        );
    } else {
        println!("{} × {} on {}", path.display(), thousands(worlds), batch.backend_name());
        println!(
            "  world-steps/s: median {}, min {}, max {} ({} × {} steps{}); cold start {cold:.2} s",
            thousands(median as usize),
            thousands(min as usize),
            thousands(max as usize),
            rates.len(),
            args.steps,
            if report.all_ok() { "" } else { ", frozen worlds not counted" }
        );
        println!("  memory: {}", batch.routes().memory());
        println!("  {}", batch.routes().room());
        println!(
            "  contacts {:.1}, rows {:.1}, solver iterations {:.1} a world; {} of {worlds} worlds ok",
            report.ncon_mean, report.nefc_mean, report.niter_mean, report.ok
        );
        if let Some(advice) = advice {
            println!("  {advice}");
        }
        if let Some(d) = &device {
            println!(
                "  {} lanes x {} worlds a group; a step: {} dispatches, {:.0} barriers, {:.2} MB read, {:.2} MB written ({:.2} MB \
                 loaded and stored), {:.2} Mflop",
                d.lanes,
                d.worlds_per_group,
                d.dispatches,
                d.barriers,
                d.bytes_read / 1e6,
                d.bytes_written / 1e6,
                d.bytes_accessed / 1e6,
                d.flops / 1e6
            );
            if asked {
                let predicted = d.predicted(bandwidth, peak);
                let measured = if median > 0.0 {
                    format!("measured {:.3} ms a step", 1e3 * report.ok as f64 / median)
                } else {
                    "no world moved, so nothing was measured".to_owned()
                };
                println!(
                    "  predicted from bandwidth and peak: {:.3} ms a step, {} world-steps/s; {measured}",
                    1e3 * predicted,
                    thousands((worlds as f64 / predicted) as usize)
                );
            }
        }
        let total: f64 = stages.iter().map(|s| s.1).sum();
        for (name, ms) in stages {
            let ns = 1e6 * ms / worlds as f64;
            println!("  {name:<14} {ms:9.3} ms a step {ns:9.0} ns a world-step {:5.1} %", 100.0 * ms / total);
        }
    }
    Ok(report.all_ok())
}
