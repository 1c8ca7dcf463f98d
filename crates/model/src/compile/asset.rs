//! Meshes and height fields: every mesh is processed once, in its own frame, however many geoms use it.

use super::frame::Pose;
use super::inertia::{OF_MESHES, principal};
use super::{Compiler, Kind};
use crate::hfield;
use crate::mesh::{self, Fault, Raw};
use kiloworld_cpu::math::{Quat, Vec3, quat_conj, quat_rotate, quat_to_mat};
use kiloworld_mjcf::spec::{GeomKind, Mesh, MeshInertia, Spec};
use rayon::prelude::*;
use std::collections::HashSet;

/// What geoms need to know of a mesh.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    /// its own frame in that of the file
    pub pose: Pose,
    /// volume \[m³\], or area \[m²\] where its inertia is that of a shell
    pub content: f64,
    /// principal inertia at density 1
    pub inertia: Vec3<f64>,
    /// corners of its bounding box in its own frame \[m\]
    pub low: Vec3<f64>,
    /// see `low`
    pub high: Vec3<f64>,
}

impl Shape {
    /// In place of a mesh that is wrong: it weighs something, so that no body is reported to have no mass.
    const UNKNOWN: Self = Self {
        pose: Pose { pos: Vec3::new(0.0, 0.0, 0.0), quat: super::frame::IDENTITY },
        content: 1.0,
        inertia: Vec3::new(1.0, 1.0, 1.0),
        low: Vec3::new(-1.0, -1.0, -1.0),
        high: Vec3::new(1.0, 1.0, 1.0),
    };
}

/// A mesh in its own frame.
struct Processed {
    vert: Vec<Vec3<f64>>,
    face: Vec<[u32; 3]>,
    graph: Option<Vec<i32>>,
    shape: Shape,
}

/// Fills the fields of meshes and height fields.
pub(crate) fn assets(c: &mut Compiler<'_>) {
    let wanted = hulls_wanted(c.spec);
    let processed: Vec<Result<Processed, Fault>> = c
        .spec
        .meshes
        .par_iter()
        .map(|m| process(m, m.name.as_ref().is_some_and(|n| wanted.contains(n.as_str()))))
        .collect();
    for (mesh, result) in c.spec.meshes.iter().zip(processed) {
        c.names.push(Kind::Mesh, mesh.name.as_deref());
        if mesh.name.is_none() {
            c.error(mesh.at.span, "the mesh has neither a name nor a file", "give it a name");
        }
        match result {
            Ok(p) => put(c, mesh, p),
            Err(fault) => {
                let attr = ["file", "builtin", "vertex", "name"].into_iter().find(|a| mesh.at.has(a));
                let span = attr.map_or(mesh.at.span, |a| mesh.at.attr(a));
                let name = mesh.name.as_deref().unwrap_or_default();
                c.error(span, format!("mesh \"{name}\": {}", fault.text), fault.remedy);
                c.meshes.push(Shape::UNKNOWN);
            }
        }
    }
    c.m.size.nmesh = c.spec.meshes.len();
    c.m.size.nmeshvert = c.m.mesh_vert.len() / 3;
    c.m.size.nmeshface = c.m.mesh_face.len() / 3;
    c.m.size.nmeshgraph = c.m.mesh_graph.len();
    height_fields(c);
}

/// Names of the meshes whose convex hull collisions or sites need.
fn hulls_wanted(spec: &Spec) -> HashSet<&str> {
    let paired: HashSet<&str> = spec.pairs.iter().flat_map(|p| [p.geom1.as_str(), p.geom2.as_str()]).collect();
    let collides = spec.geoms().filter(|(_, g)| {
        let instance = matches!(g.kind, GeomKind::Mesh | GeomKind::Sdf);
        instance && (g.contype != 0 || g.conaffinity != 0 || g.name.as_deref().is_some_and(|n| paired.contains(n)))
    });
    let sites = spec.sites().filter_map(|(_, s)| s.mesh.as_deref());
    collides.filter_map(|(_, g)| g.mesh.as_deref()).chain(sites).collect()
}

/// Appends a mesh to the fields.
fn put(c: &mut Compiler<'_>, mesh: &Mesh, p: Processed) {
    let m = &mut c.m;
    m.mesh_vertadr.push((m.mesh_vert.len() / 3) as i32);
    m.mesh_vertnum.push(p.vert.len() as i32);
    m.mesh_faceadr.push((m.mesh_face.len() / 3) as i32);
    m.mesh_facenum.push(p.face.len() as i32);
    m.mesh_graphadr.push(if p.graph.is_some() { m.mesh_graph.len() as i32 } else { -1 });
    // single precision, as in MuJoCo
    m.mesh_vert.extend(p.vert.iter().flat_map(|v| v.iter().map(|&x| f64::from(x as f32))));
    m.mesh_face.extend(p.face.as_flattened().iter().map(|&v| v as i32));
    m.mesh_graph.extend(p.graph.unwrap_or_default());
    m.mesh_scale.extend(mesh.scale);
    m.mesh_pos.extend(p.shape.pose.pos.as_slice());
    m.mesh_quat.extend(p.shape.pose.quat.as_slice());
    c.meshes.push(p.shape);
}

/// Vertices and faces from wherever the element has them.
fn raw(m: &Mesh) -> Result<Raw, Fault> {
    if let Some(name) = &m.builtin {
        if m.file.is_some() || !m.vertex.is_empty() || !m.face.is_empty() {
            return Err(Fault::new("a builtin mesh has no file and no vertices of its own", "keep one of them"));
        }
        return mesh::make(name, &m.params);
    }
    let twice = "keep the file or the attribute";
    if let Some(file) = &m.file {
        if !m.vertex.is_empty() || !m.face.is_empty() {
            return Err(Fault::new("a mesh with a file has no vertices and faces of its own", twice));
        }
        return mesh::read(file);
    }
    let (vertices, coordinates) = m.vertex.as_chunks();
    let (faces, corners) = m.face.as_chunks();
    let count =
        "vertices have three coordinates, faces three vertices, normals three and texture coordinates two numbers each";
    let texcoords = m.texcoord.is_empty() || m.texcoord.len() == 2 * vertices.len();
    if !coordinates.is_empty() || !corners.is_empty() || !m.normal.len().is_multiple_of(3) || !texcoords {
        return Err(Fault::new(count, "give as many numbers as that takes"));
    }
    if let Some(i) = m.face.iter().position(|&v| v < 0) {
        let text = format!("face {} has the vertex {}, and they are counted from 0", i / 3, m.face[i]);
        return Err(Fault::new(text, "correct the face"));
    }
    let vert = vertices.iter().map(|v: &[f64; 3]| v.map(|x| x as f32)).collect();
    let face = faces.iter().map(|f: &[i32; 3]| f.map(i32::cast_unsigned)).collect();
    Ok(Raw { vert, face })
}

/// A mesh from its source: moved, scaled, weighed, and put into its own frame.
fn process(m: &Mesh, collides: bool) -> Result<Processed, Fault> {
    let raw = raw(m)?;
    mesh::check(&raw)?;
    let (shift, scale) = (Vec3::from(m.refpos), m.scale);
    let turn = Quat::from(m.refquat);
    let turn = if turn.norm() > 0.0 { quat_conj(turn / turn.norm()) } else { super::frame::IDENTITY };
    let turned = m.refquat != [1.0, 0.0, 0.0, 0.0];
    let moved = |v: &[f32; 3]| {
        let v = Vec3::from(v.map(f64::from)) - shift;
        let v = if turned { quat_rotate(turn, v) } else { v };
        Vec3::new(v[0] * scale[0], v[1] * scale[1], v[2] * scale[2])
    };
    let mut vert: Vec<Vec3<f64>> = raw.vert.iter().map(moved).collect();
    if let Some(i) = vert.iter().position(|v| v.iter().any(|x| x.is_nan() || x.abs() > MAX_COORDINATE)) {
        return Err(Fault::new(format!("vertex {i} is too far away when it is scaled"), "check scale and refpos"));
    }
    let mut face = raw.face;
    // a mirrored mesh is turned inside out, and its faces are turned back
    if scale[0] * scale[1] * scale[2] < 0.0 {
        face.iter_mut().for_each(|f| f.swap(1, 2));
    }
    let hull = (collides || face.is_empty() || m.inertia == MeshInertia::Convex)
        .then(|| mesh::hull(&vert, usize::try_from(m.maxhullvert).ok()))
        .transpose()?;
    if face.is_empty() {
        face = hull.as_ref().map(|h| h.face.clone()).unwrap_or_default();
    }
    let weighed = match &hull {
        Some(hull) if m.inertia == MeshInertia::Convex => &hull.face,
        _ => &face,
    };
    let solid = mesh::solid(&vert, weighed, m.inertia)?;
    let (quat, inertia) = principal(&solid.inertia, OF_MESHES);
    let axes = quat_to_mat(quat).transpose();
    let (mut low, mut high) = (Vec3::repeat(f64::INFINITY), Vec3::repeat(f64::NEG_INFINITY));
    for v in &mut vert {
        *v = axes * (*v - solid.center);
        (low, high) = (low.inf(v), high.sup(v));
    }
    let shape = Shape { pose: Pose { pos: solid.center, quat }, content: solid.content, inertia, low, high };
    Ok(Processed { vert, face, graph: hull.map(|h| h.graph()), shape })
}

/// No coordinate of a scaled mesh is larger \[m\].
const MAX_COORDINATE: f64 = 1e9;

/// The height fields of a model have no more points together.
const MAX_POINTS: usize = 1 << 25;

fn height_fields(c: &mut Compiler<'_>) {
    for h in &c.spec.hfields {
        c.names.push(Kind::Hfield, h.name.as_deref());
        if h.name.is_none() {
            c.error(h.at.span, "the height field has neither a name nor a file", "give it a name");
        }
        if h.size.iter().any(|&s| s <= 0.0) {
            c.error(
                h.at.attr("size"),
                "the sizes of a height field are positive",
                "write four positive sizes in metres",
            );
        }
        let grid = hfield::grid(h).unwrap_or_else(|fault| {
            let attr = ["file", "elevation", "nrow", "ncol"].into_iter().find(|a| h.at.has(a));
            let name = h.name.as_deref().unwrap_or_default();
            let span = attr.map_or(h.at.span, |a| h.at.attr(a));
            c.error(span, format!("height field \"{name}\": {}", fault.text), fault.remedy);
            hfield::Grid::default()
        });
        if c.m.hfield_data.len() + grid.data.len() > MAX_POINTS {
            let text = format!("the height fields have more than {MAX_POINTS} points together");
            c.error(h.at.span, text, "use fewer or coarser height fields");
            return;
        }
        let m = &mut c.m;
        m.hfield_size.extend(h.size);
        m.hfield_nrow.push(grid.rows as i32);
        m.hfield_ncol.push(grid.cols as i32);
        m.hfield_adr.push(m.hfield_data.len() as i32);
        m.hfield_data.extend(grid.data.iter().map(|&x| f64::from(x)));
    }
    c.m.size.nhfield = c.spec.hfields.len();
    c.m.size.nhfielddata = c.m.hfield_data.len();
}
