//! Compiled models compared with MuJoCo's fields.

use crate::golden::Golden;
use kiloworld_layout::{Field, FieldInfo, SizeName, Sizes, Slice};
use kiloworld_model::Model;
use std::collections::BTreeMap;

/// The parts of a model, in the order of a table; see [`group`].
pub const GROUPS: [&str; 16] = [
    "body", "inertia", "joint", "dof", "geom", "site", "mesh", "hull", "hfield", "pair", "equality", "tendon",
    "actuator", "sensor", "key", "option",
];

/// The part of a model that a field belongs to.
pub fn group(name: &str) -> &'static str {
    match name {
        "body_mass" | "body_inertia" | "body_ipos" | "body_iquat" | "body_subtreemass" | "body_invweight0" => "inertia",
        _ if name.starts_with("opt_") || name.starts_with("stat_") => "option",
        _ => match name.split('_').next().unwrap_or_default() {
            "jnt" | "qpos0" | "qpos" => "joint",
            "dof" | "M" => "dof",
            "exclude" => "pair",
            "eq" => "equality",
            "wrap" => "tendon",
            "cam" => "sensor",
            other => GROUPS.into_iter().find(|g| *g == other).unwrap_or("body"),
        },
    }
}

/// The largest relative difference of each group of fields; fields that differ in kind or number are faults.
pub fn compare(model: &Model, golden: &Golden, tolerance: f64) -> (BTreeMap<&'static str, f64>, Vec<String>) {
    let (mut errors, mut faults) = (BTreeMap::new(), Vec::new());
    for (name, size) in Sizes::NAMES {
        let Some(theirs) = golden.arrays.get(&format!("model/{name}")) else { continue };
        // capacities are kiloworld's own, and a hull has no one list of faces
        if matches!(size, SizeName::nconmax | SizeName::njmax | SizeName::nmeshgraph) {
            continue;
        }
        if model.layout.size.get(*size) as f64 != theirs.data[0] {
            faults.push(format!("{name} is {}, MuJoCo's {}", model.layout.size.get(*size), theirs.data[0]));
        }
    }
    let o = &model.layout.opt;
    let options = [
        ("integrator", o.integrator),
        ("cone", o.cone),
        ("jacobian", o.jacobian),
        ("solver", o.solver),
        ("iterations", o.iterations),
        ("ls_iterations", o.ls_iterations),
        ("noslip_iterations", o.noslip_iterations),
        ("ccd_iterations", o.ccd_iterations),
        ("disableflags", o.disableflags),
        ("enableflags", o.enableflags),
        ("disableactuator", o.disableactuator),
    ];
    for (name, ours) in options {
        let theirs = golden.get(&format!("model/opt_{name}")).data[0];
        if f64::from(ours) != theirs {
            faults.push(format!("opt_{name} is {ours}, MuJoCo's {theirs}"));
        }
    }
    for info in Field::TABLE.iter().filter(|f| f.is_model()) {
        let Some(theirs) = golden.arrays.get(&format!("model/{}", info.name)) else { continue };
        let ours: Vec<f64> = match model.layout.get(info.field) {
            Some(Slice::I(v)) => v.iter().map(|&x| f64::from(x)).collect(),
            Some(Slice::F(v)) => v.to_vec(),
            None => continue,
        };
        // where a mesh has no hull is compared, but not where the others lie
        let (ours, theirs) = if info.field == Field::mesh_graphadr {
            let there = |v: &[f64]| v.iter().map(|&x| x.clamp(-1.0, 0.0)).collect();
            (there(&ours), there(&theirs.data))
        } else {
            (ours, theirs.data.clone())
        };
        let integer = matches!(model.layout.get(info.field), Some(Slice::I(_)));
        match difference(info, &model.layout.size, &ours, &theirs) {
            Ok(e) => {
                if !ours.is_empty() {
                    let worst = errors.entry(group(info.name)).or_insert(0.0_f64);
                    *worst = worst.max(e);
                }
                if e > tolerance || (integer && e > 0.0) {
                    faults.push(format!(
                        "{}: {e:.1e}\n  ours    {}\n  MuJoCo's {}",
                        info.name,
                        short(&ours),
                        short(&theirs)
                    ));
                }
            }
            Err(text) => faults.push(text),
        }
    }
    single(model, golden, &mut faults);
    (errors, faults)
}

/// Fields that MuJoCo holds in single precision: the same number or its neighbour, where a last bit of the double rounds
/// the other way.
fn single(model: &Model, golden: &Golden, faults: &mut Vec<String>) {
    for (field, ours) in [(Field::mesh_vert, &model.layout.mesh_vert), (Field::hfield_data, &model.layout.hfield_data)]
    {
        let Some(theirs) = golden.arrays.get(&format!("bits/{}", field.name())) else { continue };
        let theirs: Vec<f64> =
            theirs.data.iter().map(|&b| f64::from(f32::from_bits((b as i32).cast_unsigned()))).collect();
        if ours.len() != theirs.len() {
            faults.push(format!("{}: {} numbers, MuJoCo has {}", field.name(), ours.len(), theirs.len()));
        }
        let apart = |a: f64, b: f64| (a - b).abs() > f64::from(f32::EPSILON) * b.abs() + 1e-12;
        if let Some(i) = ours.iter().zip(&theirs).position(|(&a, &b)| apart(a, b)) {
            faults.push(format!("{}: number {i} is {}, MuJoCo's {}", field.name(), ours[i], theirs[i]));
        }
    }
}

/// The first of many numbers.
fn short(v: &[f64]) -> String {
    if v.len() > 2000 { format!("{:?} and {} more", &v[..2000], v.len() - 2000) } else { format!("{v:?}") }
}

fn difference(info: &FieldInfo, size: &Sizes, ours: &[f64], theirs: &[f64]) -> Result<f64, String> {
    if ours.len() != theirs.len() || ours.len() != info.len(size) {
        let (a, b, c) = (ours.len(), theirs.len(), info.len(size));
        return Err(format!("{}: {a} numbers, MuJoCo has {b}, the table says {c}", info.name));
    }
    let largest = |v: &[f64]| v.iter().fold(0.0_f64, |a, x| a.max(x.abs()));
    let (whole, cols) = (largest(theirs), info.cols(size).max(1));
    let rows = ours.chunks(cols).zip(theirs.chunks(cols));
    Ok(rows.fold(0.0, |worst, (a, b)| {
        // below that a number is 0 but for rounding
        let scale = largest(b).max(1e-3 * whole).max(1e-10);
        let apart =
            a.iter().zip(b).fold(0.0_f64, |e, (x, y)| if x.is_nan() { f64::INFINITY } else { e.max((x - y).abs()) });
        worst.max(apart / scale)
    }))
}
