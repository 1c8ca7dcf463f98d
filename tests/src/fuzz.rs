//! What the fuzz targets do with an input, and what has to hold of the outcome. `tests/fuzz` runs it on random inputs, the
//! test `fuzz` on those that were worth keeping.

use kiloworld_layout::{Field, Sizes, Slice};
use kiloworld_mjcf::{Error, Errors, Sources};
use kiloworld_model::{Kind, Model};
use std::io;
use std::path::Path;

/// Files that a fuzzed model finds beside it, by extension.
fn beside(path: &Path) -> io::Result<Vec<u8>> {
    let missing = || io::Error::new(io::ErrorKind::NotFound, "no file of this name was given");
    let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
    let bytes: &[u8] = match path.extension().and_then(|e| e.to_str()).unwrap_or_default() {
        _ if stem.starts_with("missing") => return Err(missing()),
        "stl" => include_bytes!("../fuzz/beside/a.stl"),
        "obj" => include_bytes!("../fuzz/beside/a.obj"),
        "msh" => include_bytes!("../fuzz/beside/a.msh"),
        "png" => include_bytes!("../fuzz/beside/a.png"),
        "bin" => include_bytes!("../fuzz/beside/a.bin"),
        "xml" if stem.starts_with("part") => include_bytes!("../fuzz/beside/part.xml"),
        "xml" => include_bytes!("../fuzz/beside/child.xml"),
        _ => return Err(missing()),
    };
    Ok(bytes.to_vec())
}

/// A model that uses one file; how, depends on the file's length.
fn user(target: &str, len: usize) -> String {
    let asset = if matches!(target, "png" | "hfield") {
        r#"<hfield name="m" file="input" size="1 1 1 1"/></asset><worldbody><geom type="hfield" hfield="m"/>"#
            .to_owned()
    } else {
        let how = [
            "",
            r#"inertia="exact""#,
            r#"inertia="convex" scale="-1 2 3""#,
            r#"inertia="shell" refquat="0 1 2 3" refpos="1 2 3""#,
            r#"maxhullvert="6""#,
        ];
        let geom = [r#"type="mesh""#, r#"type="capsule" contype="0""#, r#"type="mesh""#][len % 3];
        format!(
            r#"<mesh name="m" file="input" {}/></asset><worldbody><body><freejoint/><geom {geom} mesh="m"/></body>"#,
            how[len % how.len()]
        )
    };
    let kind = match target {
        "stl" | "obj" => format!("model/{target}"),
        "msh" => "model/vnd.mujoco.msh".to_owned(),
        "png" => "image/png".to_owned(),
        _ => "image/vnd.mujoco.hfield".to_owned(),
    };
    let asset = asset.replace(r#"file="input""#, &format!(r#"file="input" content_type="{kind}""#));
    format!("<mujoco><asset>{asset}</worldbody></mujoco>")
}

/// Compiles an input of a target.
pub fn compile(target: &str, input: &[u8]) -> Result<Model, Errors> {
    if target == "xml" {
        let files = |path: &Path| if path == Path::new("model.xml") { Ok(input.to_vec()) } else { beside(path) };
        return Model::from_path_with("model.xml", &files);
    }
    let files = |_: &Path| Ok(input.to_vec());
    Model::from_str_with(&user(target, input.len()), &files)
}

/// Compiles an input, and panics where the outcome is not a sound model or errors that help.
pub fn run(target: &str, input: &[u8]) {
    if let Err(fault) = check(&compile(target, input)) {
        panic!("{fault}");
    }
}

/// What is wrong with the outcome of a compilation.
pub fn check(outcome: &Result<Model, Errors>) -> Result<(), String> {
    match outcome {
        Ok(model) => sound(model),
        Err(errors) => {
            ensure(!errors.errors.is_empty(), "refused without a reason")?;
            errors.errors.iter().try_for_each(|e| helpful(e, &errors.sources))
        }
    }
}

fn ensure(holds: bool, fault: impl std::fmt::Display) -> Result<(), String> {
    if holds { Ok(()) } else { Err(fault.to_string()) }
}

/// An error has a place that exists, a cause, and a remedy.
fn helpful(e: &Error, sources: &Sources) -> Result<(), String> {
    let source = sources.files.get(e.span.file as usize).ok_or_else(|| format!("no such file: {e:?}"))?;
    ensure(!e.file.is_empty() && e.file == source.name, format_args!("the file: {e:?}"))?;
    let lines = source.text.matches('\n').count() + 1;
    ensure(e.line >= 1 && e.column >= 1 && e.line <= lines, format_args!("the line: {e:?}"))?;
    let (start, end) = (e.span.start as usize, e.span.end as usize);
    ensure(start <= end && source.text.get(start..end).is_some(), format_args!("the span: {e:?}"))?;
    ensure(!e.kind.to_string().trim().is_empty(), format_args!("the cause: {e:?}"))?;
    ensure(e.remedy.as_ref().is_some_and(|r| !r.trim().is_empty()), format_args!("the remedy: {e:?}"))
}

/// A model's arrays have the sizes that the table says, numbers in them are numbers, ids are of elements that exist.
fn sound(model: &Model) -> Result<(), String> {
    let (m, mut numbers) = (&model.layout, 0);
    for info in Field::TABLE.iter().filter(|f| f.is_model()) {
        let Some(slice) = m.get(info.field) else { continue };
        let (len, finite) = match slice {
            Slice::I(v) => (v.len(), true),
            Slice::F(v) => (v.len(), v.iter().all(|x| x.is_finite())),
        };
        ensure(len == info.len(&m.size), format_args!("{len} numbers in {}", info.name))?;
        ensure(finite, format_args!("{} is not finite", info.name))?;
        numbers += len;
    }
    ensure(numbers < MAX_NUMBERS, format_args!("{numbers} numbers"))?;
    for (field, count, least) in ids(&m.size) {
        let Some(Slice::I(v)) = m.get(field) else { return Err(format!("{field:?} is no field of ids")) };
        let inside = v.iter().all(|&i| i >= least && i64::from(i) < count as i64);
        ensure(inside, format_args!("{field:?}: {v:?}, of {count}"))?;
    }
    let positive = m.body_mass.iter().chain(&m.body_inertia).all(|&x| x >= 0.0);
    ensure(positive, "a negative mass or inertia")?;
    for (name, units, n) in [
        ("body_quat", &m.body_quat, 4),
        ("geom_quat", &m.geom_quat, 4),
        ("site_quat", &m.site_quat, 4),
        ("jnt_axis", &m.jnt_axis, 3),
    ] {
        let norms = units.chunks(n).map(|q| q.iter().map(|x| x * x).sum::<f64>());
        ensure(norms.into_iter().all(|norm| (norm - 1.0).abs() < 1e-9), format_args!("{name} is not of unit length"))?;
    }
    for (kind, n) in
        [(Kind::Body, m.size.nbody), (Kind::Joint, m.size.njnt), (Kind::Geom, m.size.ngeom), (Kind::Mesh, m.size.nmesh)]
    {
        ensure(model.names.of(kind).len() == n, format_args!("names of kind {kind:?}"))?;
    }
    model.unsupported.iter().chain(&model.warnings).try_for_each(|e| helpful(e, &model.sources))?;
    ensure(model.check_supported().is_err() != model.unsupported.is_empty(), "what is not supported")
}

/// No small file makes a model with more numbers: 1 GB.
const MAX_NUMBERS: usize = 1 << 27;

/// Fields of ids: the number of elements, and the least id.
fn ids(s: &Sizes) -> [(Field, usize, i32); 15] {
    [
        (Field::body_parentid, s.nbody, 0),
        (Field::body_weldid, s.nbody, 0),
        (Field::body_rootid, s.nbody, 0),
        (Field::jnt_bodyid, s.nbody, 0),
        (Field::jnt_qposadr, s.nq, 0),
        (Field::jnt_dofadr, s.nv, 0),
        (Field::dof_bodyid, s.nbody, 0),
        (Field::dof_jntid, s.njnt, 0),
        (Field::dof_parentid, s.nv, -1),
        (Field::geom_bodyid, s.nbody, 0),
        (Field::site_bodyid, s.nbody, 0),
        (Field::coll_geom1, s.ngeom, 0),
        (Field::coll_geom2, s.ngeom, 0),
        (Field::level_body, s.nbody, 0),
        (Field::mesh_graphadr, s.nmeshgraph.max(1), -1),
    ]
}
