//! `kiloworld trace`.

use crate::args::Trace;
use crate::arrays::{self, Array};
use crate::common::{Outcome, advice, builder, fits, keyframe, load, set_state};
use crate::events::Event;
use crate::out::{self, Out};
use anyhow::{Result, bail};
use kiloworld_layout::Sizes;
use kiloworld_model::{Kind, Model};
use kiloworld_sim::{Batch, Data, Field, Ramp};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;

/// What every step yields of a world, besides contacts.
const SERIES: [Field; 4] = [Field::time, Field::qpos, Field::qvel, Field::qacc];

pub(crate) fn run(args: &Trace, _json: bool) -> Result<Outcome> {
    let out = args.out.as_deref().map(|path| Out::new(path, &["npz", "jsonl"], args.force)).transpose()?;
    let model = load(&args.model)?;
    let start = args.state.as_deref().map(arrays::read).transpose()?.unwrap_or_default();
    let size = &model.layout.size;
    // an array without numbers may have any number of rows
    let nworld =
        start.values().filter(|a| a.shape.len() == 2 && !a.data.is_empty()).map(|a| a.shape[0]).max().unwrap_or(1);
    if out.is_some() {
        let each = 5 + size.nq as u128 + 2 * size.nv as u128;
        fits(args.steps as u128 * nworld as u128 * each, &format!("{} steps of {nworld} worlds", args.steps))?;
    }
    let events = Event::parse(&args.at, &model, args.steps)?;
    let mut builder = builder(&model, nworld, &args.place).control_period(args.control_period);
    if events.iter().any(Event::captures) {
        builder = builder.attachable();
    }
    let mut batch = builder.build()?;
    if out.is_some() {
        println!("{}", batch.routes().room());
    }
    batch.reset(None, keyframe(&model, args.keyframe.as_deref())?)?;
    set_state(&mut batch, &start)?;
    let ctrl = args.ctrl.as_deref().map(|path| controls(path, size, nworld)).transpose()?;
    let ramp = if args.target.is_empty() { None } else { Some(targets(args, &model, &mut batch)?) };
    let control = (ctrl.is_some() || ramp.is_some()).then_some(|w: usize, k: usize, out: &mut [f64]| {
        if let Some(ramp) = &ramp {
            ramp.ctrl(w, k, out);
        }
        if let Some(ctrl) = &ctrl
            && let Some(rows) = ctrl.get(k.min(ctrl.len().saturating_sub(1)))
        {
            out.copy_from_slice(&rows[w * out.len()..(w + 1) * out.len()]);
        }
    });

    let mut series: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut contacts: Vec<f64> = Vec::new();
    let to_arrays = out.as_ref().is_some_and(|out| out.format == "npz");
    let mut lines = out.as_ref().filter(|_| !to_arrays).map(|_| String::new());
    let nv = size.nv;
    let mut each = |w: usize, k: usize, d: &Data<f64>| {
        let ncon = usize::try_from(d.ncon[0]).unwrap_or(0).min(d.contact_dist.len());
        if to_arrays {
            for (name, values) in [("time", &d.time), ("qpos", &d.qpos), ("qvel", &d.qvel), ("qacc", &d.qacc)] {
                series.entry(name).or_default().extend(values);
            }
            for (name, v) in
                [("ncon", d.ncon[0]), ("nefc", d.nefc[0]), ("solver_niter", d.solver_niter[0]), ("status", d.status[0])]
            {
                series.entry(name).or_default().push(f64::from(v));
            }
            for c in 0..ncon {
                contacts.extend([
                    k as f64,
                    w as f64,
                    f64::from(d.contact_geom[2 * c]),
                    f64::from(d.contact_geom[2 * c + 1]),
                    d.contact_dist[c],
                ]);
                contacts.extend(&d.contact_pos[3 * c..3 * c + 3]);
                contacts.extend(&d.contact_frame[9 * c..9 * c + 9]);
            }
            return;
        }
        let contact: Vec<_> = (0..ncon)
            .map(|c| {
                json!({
                    "geom": &d.contact_geom[2 * c..2 * c + 2], "dist": d.contact_dist[c], "pos": &d.contact_pos[3 * c..3 * c + 3],
                    "frame": &d.contact_frame[9 * c..9 * c + 9], "dim": d.contact_dim[c], "efc_address": d.contact_efc_address[c],
                })
            })
            .collect();
        let nefc = usize::try_from(d.nefc[0]).unwrap_or(0).min(d.efc_force.len());
        let line = json!({
                "step": k, "world": w, "time": d.time[0], "qpos": d.qpos, "qvel": d.qvel, "qacc": &d.qacc[..nv],
                "ncon": d.ncon[0], "nefc": d.nefc[0], "solver_niter": d.solver_niter[0], "status": d.status[0],
                "efc_force": &d.efc_force[..nefc], "contact": contact,
        });
        match &mut lines {
            Some(lines) => {
                lines.push_str(&line.to_string());
                lines.push('\n');
            }
            None => println!("{line}"),
        }
    };
    let mut done = 0;
    let mut run_to = |batch: &mut Batch, end: usize| {
        let now = control.as_ref().map(|c| move |w: usize, k: usize, out: &mut [f64]| c(w, done + k, out));
        let control = now.as_ref().map(|c| c as &(dyn Fn(usize, usize, &mut [f64]) + Sync));
        let result = batch.trace(end - done, control, &mut |w, k, d| each(w, done + k, d));
        done = end;
        result
    };
    for event in &events {
        run_to(&mut batch, event.step)?;
        event.apply(&mut batch)?;
    }
    run_to(&mut batch, args.steps)?;

    match (out, lines) {
        (None, _) => {}
        (Some(out), Some(lines)) => out.write(|file| Ok(file.write_all(lines.as_bytes())?))?,
        (Some(out), None) => {
            let mut arrays: Vec<(&str, Array)> = series
                .into_iter()
                .map(|(name, data)| {
                    let n = data.len() / (args.steps * nworld).max(1);
                    let vector = SERIES.iter().any(|f| f.name() == name && name != "time");
                    let shape = if vector { vec![args.steps, nworld, n] } else { vec![args.steps, nworld] };
                    (name, Array { shape, data })
                })
                .collect();
            // step, world, geom1, geom2, dist, pos (3), frame (9)
            arrays.push(("contact", Array { shape: vec![contacts.len() / 17, 17], data: contacts }));
            arrays::write(out, arrays)?;
        }
    }
    // what is on the terminal is JSON
    if let Some(advice) = advice(&mut batch)? {
        eprintln!("{advice}");
    }
    Ok(if batch.report()?.all_ok() { Outcome::Ok } else { Outcome::Failed })
}

/// The ramp to the targets of the command line.
fn targets(args: &Trace, model: &Model, batch: &mut Batch) -> Result<Ramp> {
    let (mut actuators, mut values) = (Vec::new(), Vec::new());
    for text in &args.target {
        let Some((name, value)) = text.rsplit_once('=') else { bail!("--target {text}: expected NAME=VALUE") };
        let Some(id) = model.id(Kind::Actuator, name) else {
            let known = out::names(model.names.of(Kind::Actuator).iter().map(|(_, name)| name));
            bail!("--target {text}: there is no actuator `{name}`; the model has {known}");
        };
        let Ok(value) = value.parse() else { bail!("--target {text}: `{value}` is not a number") };
        actuators.push(id);
        values.push(value);
    }
    let seconds = args.steps.max(1) as f64 * batch.model().opt_timestep[0];
    Ok(batch.ramp(&actuators, &values, seconds)?)
}

/// The control file's rows, one a step, each (nworld × nu).
fn controls(path: &std::path::Path, size: &Sizes, nworld: usize) -> Result<Vec<Vec<f64>>> {
    let name = path.display();
    let arrays = arrays::read(path)?;
    let Some(array) = arrays.get("ctrl") else { bail!("{name} has no array `ctrl`") };
    let nu = size.nu;
    match array.shape[..] {
        [_, n] if n == nu => Ok(array.data.chunks(nu.max(1)).map(|row| row.repeat(nworld)).collect()),
        [_, w, n] if n == nu && w == nworld => {
            Ok(array.data.chunks((nworld * nu).max(1)).map(<[f64]>::to_vec).collect())
        }
        _ => bail!("{name}: ctrl has shape {:?}, expected (steps, {nu}) or (steps, {nworld}, {nu})", array.shape),
    }
}
