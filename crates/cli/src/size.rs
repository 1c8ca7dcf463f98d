//! `kiloworld size`.

use crate::args::Size;
use crate::common::{Outcome, load, thousands};
use anyhow::{Result, bail};
use kiloworld_gpu::adapters;
use kiloworld_sim::sizing::Memory;
use kiloworld_sim::{Probe, Sizing};
use serde_json::{Value, json};

const GIB: f64 = (1_u64 << 30) as f64;

pub(crate) fn run(args: &Size, json: bool) -> Result<Outcome> {
    if args.memory.is_some_and(|m| !(m > 0.0 && m < 1e6)) {
        bail!("--memory is a positive number of GiB");
    }
    let model = load(&args.model)?;
    let probe = Probe { worlds: args.worlds, steps: args.steps, seed: args.seed };
    let sizing = Sizing::of(&model, probe)?;
    let fit = |m: &Memory| m.worlds_in((args.memory.unwrap_or(1.0) * GIB) as u64);
    let slices: Vec<(String, Option<usize>)> =
        adapters().iter().map(|a| (a.name.clone(), sizing.worlds_per_slice(&model, a.limits).ok())).collect();
    if json {
        let mut out = serde_json::to_value(&sizing)?;
        out["memory_gib"] = json!(args.memory.unwrap_or(1.0));
        out["worlds_in_memory"] = sizing.memory.iter().map(|m| (m.place.to_owned(), json!(fit(m)))).collect::<Value>();
        out["adapters"] = slices.iter().map(|(name, n)| json!({ "name": name, "worlds_in_one_slice": n })).collect();
        println!("{out}");
        return Ok(Outcome::Ok);
    }
    let Sizing { seen, bound, .. } = sizing;
    println!(
        "{} worlds, {} steps, seed {}: random controls; every second world starts from a random pose",
        args.worlds, args.steps, args.seed
    );
    println!(
        "contacts: {} seen, {} at most if all pairs touch; --nconmax {} recommended",
        seen.ncon, bound.ncon, sizing.nconmax
    );
    println!("rows: {} seen, {} at most; --njmax {} recommended", seen.nefc, bound.nefc, sizing.njmax);
    if sizing.failed > 0 {
        println!(
            "{} worlds were stopped for a state that was not finite: what they would have met later is not counted",
            sizing.failed
        );
    }
    let room = args.memory.map_or("a GiB".to_owned(), |m| format!("{m} GiB"));
    for m in &sizing.memory {
        println!(
            "{}: {} bytes a world, up to {} bytes besides; {} worlds in {room}",
            m.place,
            thousands(usize::try_from(m.bytes_per_world)?),
            thousands(usize::try_from(m.bytes_shared)?),
            thousands(usize::try_from(fit(m))?)
        );
    }
    if slices.is_empty() {
        println!("no GPU adapter");
    }
    for (name, n) in slices {
        match n {
            Some(n) => println!(
                "{name}: {} worlds in buffers of the size that it binds; larger batches are split, and its memory, which it does not \
                 tell, ends them",
                thousands(n)
            ),
            None => println!("{name}: not one world fits into the buffers that it binds"),
        }
    }
    Ok(Outcome::Ok)
}
