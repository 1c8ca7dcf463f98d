//! `kiloworld health`.

use crate::args::Health;
use crate::arrays;
use crate::common::{Outcome, advice, builder, in_pieces, keyframe, load, random_control, set_state, step, thousands};
use crate::out::names;
use anyhow::{Context, Result, bail};
use kiloworld_model::{Kind, Model};
use kiloworld_sim::{Field, HealthLimits, Verdict};
use serde_json::json;

/// Findings that are printed one by one.
const SHOWN: usize = 20;

pub(crate) fn run(args: &Health, json: bool) -> Result<Outcome> {
    if args.place.no_health {
        bail!("--no-health leaves nothing to report; drop it");
    }
    let mut worst = Verdict::Ok;
    for path in &args.models {
        let model = load(path)?;
        let mut batch = builder(&model, args.worlds, &args.place).health(limits(&args.limit)?).build()?;
        batch.reset(None, keyframe(&model, args.drive.keyframe.as_deref())?)?;
        if let Some(state) = &args.state {
            set_state(&mut batch, &arrays::read(state)?)?;
        }
        let force = forces(&model, &args.force)?;
        if !force.is_empty() {
            batch.set(Field::xfrc_applied, &force.repeat(args.worlds))?;
        }
        let control = random_control(&batch, args.drive.seed);
        in_pieces(0, args.drive.steps, json, |at, n| Ok(step(&mut batch, args.drive.ctrl, &control, at, n)?))?;
        let health = batch.health()?;
        let advice = advice(&mut batch)?;
        worst = worst.max(health.verdict);
        if json {
            println!(
                "{}",
                json!({
                    "model": path, "backend": batch.backend_name(), "steps": args.drive.steps, "nconmax": batch.routes().nconmax,
                    "njmax": batch.routes().njmax, "capacities": batch.capacities(), "health": health, "advice": advice,
                })
            );
            continue;
        }
        println!(
            "{}: {} worlds, {} steps on {}",
            path.display(),
            thousands(args.worlds),
            thousands(args.drive.steps),
            batch.backend_name()
        );
        println!("{}", batch.routes().room());
        println!("{health}");
        if let Some(advice) = advice {
            println!("{advice}");
        }
        if args.all {
            for finding in health.findings.iter().take(SHOWN) {
                println!("  {finding}");
            }
            if health.findings.len() > SHOWN {
                println!("  and {} more: --json lists them all", health.findings.len() - SHOWN);
            }
        }
    }
    Ok(if worst == Verdict::Ok { Outcome::Ok } else { Outcome::Failed })
}

/// The default limits with what `NAME=VALUE` changes.
fn limits(changes: &[String]) -> Result<HealthLimits> {
    let mut limits = HealthLimits::default();
    for change in changes {
        let (name, value) = change.split_once('=').unwrap_or((change, ""));
        let value: f64 = match value.trim().parse() {
            Ok(x) if x >= 0.0 => x,
            _ => bail!("--limit {change}: write NAME=VALUE with a number that is not negative, as position=0.001"),
        };
        match name.trim() {
            "position" => limits.position = value,
            "angle" => limits.angle = value,
            "penetration" => limits.penetration = value,
            "energy" => limits.energy = value,
            "residual" => limits.residual = value,
            name => bail!(
                "--limit {name}: there is no such check; there are position, angle, penetration, energy, residual"
            ),
        }
    }
    Ok(limits)
}

/// `xfrc_applied` of a world with the forces of `BODY=FX,FY,FZ` at the bodies' centres of mass; empty where there are none.
fn forces(model: &Model, asked: &[String]) -> Result<Vec<f64>> {
    let mut out = Vec::new();
    for force in asked {
        out.resize(6 * model.layout.size.nbody, 0.0);
        let shape = || format!("--force {force}: write BODY=FX,FY,FZ in newtons, as box=0,100,0");
        let (name, numbers) = force.split_once('=').with_context(shape)?;
        let numbers: Result<Vec<f64>, _> = numbers.split(',').map(|x| x.trim().parse::<f64>()).collect();
        let numbers = numbers.ok().filter(|n| n.len() == 3 && n.iter().all(|x| x.is_finite())).with_context(shape)?;
        // nothing moves the world
        let Some(body) = model.id(Kind::Body, name).filter(|&id| id > 0) else {
            let names = names(model.names.of(Kind::Body).iter().skip(1).map(|(_, name)| name));
            bail!("--force {force}: there is no body named {name}; there are {names}");
        };
        for k in 0..3 {
            out[6 * body + k] += numbers[k];
        }
    }
    Ok(out)
}
