//! `kiloworld bench --sweep`: how work is best spread on a device.

use crate::args::{BackendArg, Bench, Where};
use crate::bench::{Measured, measure, restore, save};
use crate::common::{builder, load, random_control, thousands};
use anyhow::{Result, bail};
use serde_json::json;
use std::path::Path;
use std::time::Instant;

/// Lanes a world that are tried.
const LANES: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Invocations a workgroup that are tried.
const INVOCATIONS: [u32; 3] = [8, 32, 64];

/// Measures a model from the same settled states under every setting, then fused kernels and Newton steps a dispatch at the
/// fastest one; false where worlds failed. Groups of other sizes hold the same worlds: nothing but the time may change.
pub(crate) fn sweep(args: &Bench, path: &Path, worlds: usize, json: bool) -> Result<bool> {
    let model = load(path)?;
    let place = Where { backend: BackendArg::Gpu, ..args.place.clone() };
    let mut batch = builder(&model, worlds, &place).build()?;
    let control = random_control(&batch, 0);
    batch.step_with(args.warmup, &control)?;
    let saved = save(&mut batch)?;
    let Some(numbers) = batch.device_numbers(0)? else { bail!("a sweep is of a GPU") };
    // the capacities are chosen once
    let size = &batch.model().size;
    let fixed = Where { nconmax: Some(size.nconmax), njmax: Some(size.njmax), ..place };
    let name = batch.backend_name();
    // a device made of CPU cores shares them with whatever else runs: its own time is the fairer measure
    let software = batch.on_software_device();
    drop(batch);
    if !json {
        println!("{} × {} on {name}", path.display(), thousands(worlds));
    }

    let mut fine = true;
    let mut rate = |place: &Where| -> Result<f64> {
        let start = Instant::now();
        let mut batch = builder(&model, worlds, place).build()?;
        restore(&mut batch, &saved)?;
        batch.step_with(1, &control)?;
        fine &= batch.report()?.all_ok();
        let cold = start.elapsed().as_secs_f64();
        let later = |w: usize, k: usize, ctrl: &mut [f64]| control(w, k + 1 + args.warmup, ctrl);
        let used = cpu_seconds();
        let Measured { rates, world_steps } = measure(&mut batch, &saved, args, &later)?;
        let median = rates[rates.len() / 2];
        let used = used.zip(cpu_seconds()).map(|(before, after)| after - before).filter(|s| software && *s > 0.0);
        let a_cpu_second = used.map(|s| world_steps / s);
        let Some(n) = batch.device_numbers(0)? else { bail!("a sweep is of a GPU") };
        if json {
            println!(
                "{}",
                json!({ "model": path, "backend": &name, "worlds": worlds, "world_steps_per_s": median, "world_steps_per_cpu_s": a_cpu_second, "cold_start_s": cold, "device": n })
            );
        } else {
            let cpu = a_cpu_second.map_or(String::new(), |r| format!(", {} a CPU second", thousands(r as usize)));
            println!(
                "  {:>2} lanes x {:>2} worlds a group, {:>2} dispatches: {:>9} world-steps/s{cpu}; cold start {cold:.1} s",
                n.lanes,
                n.worlds_per_group,
                n.dispatches,
                thousands(median as usize)
            );
        }
        Ok(a_cpu_second.unwrap_or(median))
    };
    let mut tried = Vec::new();
    for lanes in LANES.into_iter().filter(|&l| args.place.lanes.is_none_or(|asked| asked == l)) {
        for worlds_per_group in INVOCATIONS.map(|n| n / lanes).into_iter().filter(|&n| n > 0) {
            let place = Where { lanes: Some(lanes), worlds_per_group: Some(worlds_per_group), ..fixed.clone() };
            tried.push((rate(&place)?, place));
        }
    }
    let fastest = |tried: &[(f64, Where)]| tried.iter().max_by(|a, b| a.0.total_cmp(&b.0)).cloned();
    if let Some((_, spread)) = fastest(&tried) {
        for place in [
            Where { fused: Some(!numbers.fused), ..spread.clone() },
            Where { newton_steps: Some(if numbers.newton_steps > 1 { 1 } else { u32::MAX }), ..spread },
        ] {
            tried.push((rate(&place)?, place));
        }
    }
    if let (Some((rate, place)), false) = (fastest(&tried), json) {
        let number = |n: Option<u32>| n.map_or("default".to_owned(), |n| n.to_string());
        println!(
            "  fastest: {} world-steps a second with {} lanes, {} worlds a group, Newton steps a dispatch {}, fused {}",
            thousands(rate as usize),
            number(place.lanes),
            number(place.worlds_per_group),
            number(place.newton_steps),
            place.fused.unwrap_or(numbers.fused)
        );
    }
    Ok(fine)
}

/// CPU time that this process has used [s], where the system tells.
fn cpu_seconds() -> Option<f64> {
    // Linux counts hundredths of a second
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let mut words = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut next = || words.next()?.parse::<f64>().ok();
    Some((next()? + next()?) / 100.0)
}
