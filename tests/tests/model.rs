//! The compiler against MuJoCo, field by field; the static pair list; files with mistakes.

use kiloworld_layout::{Field, FieldInfo, SizeName, Sizes, Slice};
use kiloworld_model::Model;
use kiloworld_tests::corpus::{corpus, corpus_golden, root};
use kiloworld_tests::golden::Golden;
use std::collections::BTreeMap;

/// Models of our own with compiled fields in `tests/golden/NAME.json`, each with what it covers in its first line.
const OWN: [&str; 6] =
    ["model_orientations", "model_inertia", "model_align", "model_defaults", "model_actuators", "model_constraints"];

/// Relative to the element's row, or to a thousandth of the field's largest value.
const TOLERANCE: f64 = 1e-9;

/// The part of a model that a field belongs to.
fn group(name: &str) -> &str {
    match name.split('_').next() {
        Some("jnt" | "dof" | "qpos0" | "qpos" | "M") => "joints",
        Some("geom" | "site") => "geoms",
        Some("pair" | "exclude") => "pairs",
        Some("eq" | "tendon" | "wrap") => "equality, tendons",
        Some(other) => other,
        None => name,
    }
}

/// The largest relative difference of each group of fields; fields that differ in kind or number are faults.
fn compare(model: &Model, golden: &Golden) -> (BTreeMap<String, f64>, Vec<String>) {
    let (mut errors, mut faults) = (BTreeMap::new(), Vec::new());
    for (name, size) in Sizes::NAMES {
        let Some(theirs) = golden.arrays.get(&format!("model/{name}")) else { continue };
        // capacities are kiloworld's own
        if matches!(size, SizeName::nconmax | SizeName::njmax) {
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
        let integer = matches!(model.layout.get(info.field), Some(Slice::I(_)));
        match difference(info, &model.layout.size, &ours, &theirs.data) {
            Ok(e) => {
                let worst = errors.entry(group(info.name).to_owned()).or_insert(0.0_f64);
                *worst = worst.max(e);
                if e > TOLERANCE || (integer && e > 0.0) {
                    faults.push(format!("{}: {e:.1e}\n  ours    {ours:?}\n  MuJoCo's {:?}", info.name, theirs.data));
                }
            }
            Err(text) => faults.push(text),
        }
    }
    (errors, faults)
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
        let scale = largest(b).max(1e-3 * whole).max(1e-12);
        let apart =
            a.iter().zip(b).fold(0.0_f64, |e, (x, y)| if x.is_nan() { f64::INFINITY } else { e.max((x - y).abs()) });
        worst.max(apart / scale)
    }))
}

/// Prints a line of the table, and fails with every field that differs.
fn agree(name: &str, model: &Model, golden: &Golden) {
    let (errors, faults) = compare(model, golden);
    let line: Vec<String> = errors.iter().map(|(g, e)| format!("{g} {e:.0e}")).collect();
    println!("{name}: {}", line.join(" | "));
    assert!(faults.is_empty(), "{name}: {} fields differ\n{}", faults.len(), faults.join("\n"));
}

fn own(name: &str) -> (Model, Golden) {
    let xml = root().join(format!("tests/mjcf/ok/{name}.xml"));
    let model = Model::from_path(&xml).unwrap_or_else(|e| panic!("{e}"));
    (model, Golden::read_fields(&root().join(format!("tests/golden/{name}.json"))))
}

#[test]
fn fields_of_our_models_are_mujocos() {
    for name in OWN {
        let (model, golden) = own(name);
        agree(name, &model, &golden);
    }
}

#[test]
fn fields_of_corpus_models_are_mujocos() {
    let Some(dir) = corpus() else { return };
    for name in ["humanoid", "ant", "half_cheetah", "cartpole"] {
        let Some(golden) = corpus_golden(name) else { return };
        let model = Model::from_path(dir.join(name).join(format!("{name}.xml"))).unwrap_or_else(|e| panic!("{e}"));
        agree(name, &model, &Golden::read(&golden));
        model.check_supported().unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

/// A comparison that cannot fail proves nothing: each group with one number off by 1e-7.
#[test]
fn a_planted_fault_in_any_field_is_found() {
    for name in OWN {
        let (model, golden) = own(name);
        for info in
            Field::TABLE.iter().filter(|f| f.is_model() && golden.arrays.contains_key(&format!("model/{}", f.name)))
        {
            let mut planted = model.clone();
            match planted.layout.get_mut(info.field) {
                Some(kiloworld_layout::SliceMut::I(v)) if !v.is_empty() => v[0] += 1,
                Some(kiloworld_layout::SliceMut::F(v)) if !v.is_empty() => {
                    let i = v.len() / 2;
                    v[i] += 1e-7 * v.iter().fold(1e-3_f64, |a, x| a.max(x.abs()));
                }
                _ => continue,
            }
            let faults = compare(&planted, &golden).1;
            assert!(
                faults.iter().any(|f| f.starts_with(info.name)),
                "{name}: {} changed and nothing was found",
                info.name
            );
        }
    }
}

#[test]
fn static_pairs_hold_every_contact_in_order() {
    for name in ["humanoid", "ant", "half_cheetah"] {
        let Some(path) = corpus_golden(name) else { return };
        let golden = Golden::read(&path);
        let m = golden.model();
        for k in 0..golden.nstate() {
            let mut at = 0;
            for c in golden.ragged("out/contact_geom", "out/ncon", k).chunks(2) {
                let is = |p: usize| (f64::from(m.coll_geom1[p]), f64::from(m.coll_geom2[p])) == (c[0], c[1]);
                at = (at..m.size.ncoll).find(|&p| is(p)).unwrap_or_else(|| panic!("{name}: {c:?} not in order"));
            }
        }
    }
}
