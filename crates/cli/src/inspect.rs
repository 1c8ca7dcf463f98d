//! `kiloworld inspect`.

use crate::args::Inspect;
use crate::common::{Outcome, load};
use crate::out::one_line;
use anyhow::{Result, bail};
use kiloworld_layout::{Field, Sizes, Slice};
use kiloworld_model::{Kind, Model, shown};
use kiloworld_sim::{RowRule, equalities};
use serde_json::{Map, Value, json};
use std::time::Instant;

pub(crate) fn run(args: &Inspect, json: bool) -> Result<Outcome> {
    let start = Instant::now();
    let model = load(&args.model)?;
    let seconds = start.elapsed().as_secs_f64();
    if !args.field.is_empty() {
        return fields(&model, &args.field, json);
    }
    if args.equalities {
        return show_equalities(&model, args, json);
    }
    let size = &model.layout.size;
    let sizes: Map<String, Value> =
        Sizes::NAMES.iter().map(|&(name, id)| (name.to_owned(), json!(size.get(id)))).collect();
    let unsupported: Vec<String> = model.unsupported.iter().map(ToString::to_string).collect();
    let warnings: Vec<String> = model.warnings.iter().map(ToString::to_string).collect();
    if json {
        println!(
            "{}",
            json!({ "model": args.model, "seconds": seconds, "sizes": sizes, "names": names(&model), "unsupported": unsupported, "warnings": warnings })
        );
        return Ok(Outcome::Ok);
    }
    println!("{}: read and compiled in {:.1} ms", args.model.display(), 1e3 * seconds);
    let line: Vec<String> = sizes.iter().map(|(name, n)| format!("{name} {n}")).collect();
    for part in line.chunks(8) {
        println!("  {}", part.join("  "));
    }
    println!("tree");
    tree(&model);
    println!(
        "capacities: {} contacts, {} constraint rows a world at most; a batch chooses less where a probe allows",
        size.nconmax, size.njmax
    );
    for feature in &unsupported {
        println!("unsupported (a batch refuses it): {}", one_line(feature));
    }
    Ok(Outcome::Ok)
}

/// What the equality constraints hold.
fn show_equalities(model: &Model, args: &Inspect, json: bool) -> Result<Outcome> {
    let h = args.timestep.unwrap_or(model.layout.opt_timestep[0]);
    if !(h > 0.0 && h.is_finite()) {
        bail!("a time step of {h} s is none: it must be positive and finite");
    }
    let rows = equalities(model, args.welds.into(), Some(h));
    if json {
        println!("{}", json!({ "model": args.model, "timestep": h, "equalities": rows }));
        return Ok(Outcome::Ok);
    }
    println!("{}: {} equality constraints at a step of {} ms", args.model.display(), rows.len(), 1e3 * h);
    let word = |rule: Option<RowRule>| match rule {
        Some(RowRule::Stiff) => "stiff rule",
        Some(RowRule::File) => "from the file",
        _ => "MuJoCo's default",
    };
    for r in &rows {
        let title = r.name.clone().unwrap_or_else(|| format!("equality {}", r.id));
        let off = if r.active { "" } else { " (off at the start)" };
        let objects: Vec<_> = r.objects.iter().map(|name| shown(name)).collect();
        println!("{} {}: {}{off}, {}", r.kind, shown(&title), objects.join(" - "), word(r.rule));
        let turn = r.weight_rotation.map_or(String::new(), |w| format!(" and {w:.5} /(kg m2)"));
        println!("  W {:.6} /kg{turn}; k {:.6} /s2, b {:.5} /s, d {:.4}", r.weight, r.k, r.b, r.d);
        let shift = r.compliance.map(|c| format!("{c:.3e} m/N"));
        let twist = r.compliance_rotation.map(|c| format!("{c:.3e} rad/(N m)"));
        println!("  compliance {}", shift.into_iter().chain(twist).collect::<Vec<_>>().join(", "));
        if let (Some(load), Some(sag)) = (r.load, r.sag) {
            let tilt = r.tilt.map_or(String::new(), |t| format!(" and {:.4} mrad", 1e3 * t));
            println!("  {load:.4} kg hang on it: {:.4} mm{tilt}", 1e3 * sag);
        }
        for warning in &r.warnings {
            println!("  warning: {}", one_line(warning));
        }
    }
    Ok(Outcome::Ok)
}

/// The body tree with joints and geoms.
fn tree(model: &Model) {
    let m = &model.layout;
    let mut depth = vec![0_usize; m.size.nbody];
    for b in 0..m.size.nbody {
        let parent = usize::try_from(m.body_parentid[b]).unwrap_or(0);
        if b > 0 {
            depth[b] = depth[parent] + 1;
        }
        let of_body = |ids: &[i32], kind: Kind| {
            let on_body = ids.iter().enumerate().filter(|(_, id)| usize::try_from(**id) == Ok(b));
            let list: Vec<String> = on_body.map(|(i, _)| name(model, kind, i)).collect();
            if list.is_empty() { String::new() } else { format!("  {}s: {}", kind.word(), list.join(", ")) }
        };
        println!(
            "  {}{} {:.4} kg{}{}",
            "  ".repeat(depth[b]),
            name(model, Kind::Body, b),
            m.body_mass[b],
            of_body(&m.jnt_bodyid, Kind::Joint),
            of_body(&m.geom_bodyid, Kind::Geom),
        );
    }
}

/// An element's name, or its kind and id where it has none.
fn name(model: &Model, kind: Kind, id: usize) -> String {
    model.names.of(kind).name(id).map_or_else(|| format!("{}{id}", kind.word()), |name| shown(name).into_owned())
}

/// Names of every kind, by id; null where an element has none.
fn names(model: &Model) -> Map<String, Value> {
    let of =
        |kind: Kind| (0..model.names.of(kind).len()).map(|id| json!(model.names.of(kind).name(id))).collect::<Value>();
    Kind::ALL.into_iter().map(|kind| (kind.word().to_owned(), of(kind))).collect()
}

/// Prints compiled fields as nested lists.
fn fields(model: &Model, asked: &[String], json: bool) -> Result<Outcome> {
    let m = &model.layout;
    let mut out = Map::new();
    for name in asked {
        let value = if let Some(&(_, id)) = Sizes::NAMES.iter().find(|s| s.0 == name) {
            json!(m.size.get(id))
        } else if let Some(n) = opt(m, name) {
            json!(n)
        } else {
            let Some((field, slice)) = Field::from_name(name).and_then(|f| Some((f, m.get(f)?))) else {
                bail!("there is no compiled field `{name}`; {}", close(name));
            };
            let cols = field.info().cols(&m.size);
            let scalar = field.info().shape.len() == 1;
            match slice {
                Slice::I(v) => nested(v, cols, scalar),
                Slice::F(v) => nested(&v.iter().map(|&x| number(x)).collect::<Vec<_>>(), cols, scalar),
            }
        };
        out.insert(name.clone(), value);
    }
    if json {
        println!("{}", Value::Object(out));
    } else {
        for (name, value) in out {
            println!("{name}: {value}");
        }
    }
    Ok(Outcome::Ok)
}

fn nested<T: serde::Serialize>(v: &[T], cols: usize, scalar: bool) -> Value {
    if scalar { json!(v) } else { v.chunks(cols.max(1)).map(|row| json!(row)).collect() }
}

/// A number; JSON has none for infinity, so a word stands for it.
fn number(x: f64) -> Value {
    if x.is_finite() { json!(x) } else { json!(x.to_string()) }
}

/// An integer option by the name `opt_X`.
fn opt(m: &kiloworld_layout::Model<f64>, name: &str) -> Option<i32> {
    let o = &m.opt;
    Some(match name.strip_prefix("opt_")? {
        "integrator" => o.integrator,
        "cone" => o.cone,
        "jacobian" => o.jacobian,
        "solver" => o.solver,
        "iterations" => o.iterations,
        "ls_iterations" => o.ls_iterations,
        "noslip_iterations" => o.noslip_iterations,
        "ccd_iterations" => o.ccd_iterations,
        "disableflags" => o.disableflags,
        "enableflags" => o.enableflags,
        "disableactuator" => o.disableactuator,
        _ => return None,
    })
}

/// Names that share their beginning with the one asked for.
fn close(name: &str) -> String {
    let shared = |other: &str| name.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let mut known: Vec<&str> = Field::TABLE.iter().filter(|f| f.is_model()).map(|f| f.name).collect();
    known.sort_by_key(|other| std::cmp::Reverse((shared(other), usize::MAX - other.len().abs_diff(name.len()))));
    format!("close to it: {}", known[..5].join(", "))
}
