//! Geoms and sites: pose, size, mass, bounds.

use super::frame::{self, Pose};
use super::{Compiler, Kind, asset, fluid};
use kiloworld_cpu::math::{Vec3, st3, st4};
use kiloworld_layout::consts::geom;
use kiloworld_mjcf::At;
use kiloworld_mjcf::spec::{Geom, GeomKind, Orientation};
use std::f64::consts::PI;

/// A compiled geom as a part of its body's mass.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    /// in the body
    pub pose: Pose,
    /// mass \[kg\]
    pub mass: f64,
    /// principal inertia in the geom's frame \[kg m²\]
    pub inertia: Vec3<f64>,
}

/// MuJoCo's number of a geom kind.
pub(crate) fn type_id(kind: GeomKind) -> i32 {
    match kind {
        GeomKind::Plane => geom::PLANE,
        GeomKind::Hfield => geom::HFIELD,
        GeomKind::Sphere => geom::SPHERE,
        GeomKind::Capsule => geom::CAPSULE,
        GeomKind::Ellipsoid => geom::ELLIPSOID,
        GeomKind::Cylinder => geom::CYLINDER,
        GeomKind::Box => geom::BOX,
        GeomKind::Mesh => geom::MESH,
        GeomKind::Sdf => geom::SDF,
    }
}

/// Fills every field of the geoms and their [`Shape`]s.
pub(crate) fn geoms(c: &mut Compiler<'_>) {
    for (i, (b, g)) in c.spec.geoms().enumerate() {
        let (mut pose, mut size) = placed(c, &g.at, g.kind, g.frame, &Placement::of(g));
        let mesh = g.mesh.as_ref().and_then(|name| c.find(Kind::Mesh, name, &g.at, "mesh"));
        let field = g.hfield.as_ref().and_then(|name| c.find(Kind::Hfield, name, &g.at, "hfield"));
        let shape = mesh.map(|id| c.meshes[id]);
        let instance = matches!(g.kind, GeomKind::Mesh | GeomKind::Sdf);
        source(c, g);
        if let Some(shape) = &shape {
            pose = pose.then(&shape.pose);
            if instance {
                size = shape.reach();
            } else {
                fit(c.spec.compiler.fitaabb, g, shape, &mut pose, &mut size);
            }
        }
        let field = field.filter(|_| g.kind == GeomKind::Hfield);
        let terrain = field.map(|id| terrain(&c.m.hfield_size[4 * id..4 * id + 4]));
        if let Some(terrain) = &terrain {
            size = terrain.0;
        }
        sizes(c, g, &size, b);
        let (mass, inertia) = mass(c, g, &size, shape.as_ref().filter(|_| instance));
        c.shapes.push(Shape { pose, mass, inertia });
        let m = &mut c.m;
        m.geom_type.push(type_id(g.kind));
        m.geom_contype.push(g.contype);
        m.geom_conaffinity.push(g.conaffinity);
        m.geom_condim.push(g.condim);
        m.geom_bodyid.push(b as i32);
        m.geom_dataid.push(mesh.filter(|_| instance).or(field).map_or(-1, |id| id as i32));
        m.geom_priority.push(g.priority);
        m.geom_group.push(g.group);
        m.geom_size.extend(size);
        st3(&mut m.geom_pos, i, pose.pos);
        st4(&mut m.geom_quat, i, pose.quat);
        m.geom_friction.extend(g.friction);
        m.geom_margin.push(g.margin);
        m.geom_gap.push(g.gap);
        m.geom_surfacevel.extend(g.surfacevel);
        m.geom_adhesion.push(g.adhesion);
        m.geom_fluid.extend(fluid::coefficients(g, &size));
        m.geom_solmix.push(g.solmix);
        m.geom_solref.extend(g.solref);
        m.geom_solimp.extend(g.solimp);
        let (rbound, aabb) = match (&shape, terrain) {
            (Some(shape), _) if instance => (Vec3::from(size).norm(), shape.aabb()),
            (_, Some((_, rbound, aabb))) => (rbound, aabb),
            _ => bounds(g.kind, &size),
        };
        m.geom_rbound.push(rbound);
        m.geom_aabb.extend(aabb);
        if !matches!(g.condim, 1 | 3 | 4 | 6) {
            c.error(
                g.at.attr("condim"),
                format!("a contact cannot have {} dimensions", g.condim),
                "write 1, 3, 4 or 6",
            );
        }
    }
}

/// Fills every field of the sites.
pub(crate) fn sites(c: &mut Compiler<'_>) {
    for (i, (b, s)) in c.spec.sites().enumerate() {
        let placement = Placement { pos: s.pos, orientation: s.orientation, size: s.size, fromto: s.fromto };
        let (pose, mut size) = placed(c, &s.at, s.kind, s.frame, &placement);
        let mesh = s.mesh.as_ref().and_then(|name| c.find(Kind::Mesh, name, &s.at, "mesh"));
        match (s.kind, mesh) {
            // unlike a geom, a site with a mesh stays where the file puts it
            (GeomKind::Mesh, Some(id)) => size = c.meshes[id].reach(),
            (GeomKind::Mesh, None) => {
                c.error(s.at.span, "a site of this type needs a mesh", "add mesh=\"NAME\"");
            }
            (_, Some(_)) => c.error(s.at.attr("mesh"), "only a site of type \"mesh\" has a mesh", "remove it"),
            (_, None) => {}
        }
        positive(c, &s.at, s.kind, &size);
        c.m.site_bodyid.push(b as i32);
        c.m.site_type.push(type_id(s.kind));
        c.m.site_dataid.push(mesh.map_or(-1, |id| id as i32));
        st3(&mut c.m.site_pos, i, pose.pos);
        st4(&mut c.m.site_quat, i, pose.quat);
        c.m.site_size.extend(size);
    }
}

/// What a file says about where a geom or site is.
struct Placement {
    pos: [f64; 3],
    orientation: Option<Orientation>,
    size: [f64; 3],
    fromto: Option<[f64; 6]>,
}

impl Placement {
    fn of(g: &Geom) -> Self {
        Self { pos: g.pos, orientation: g.orientation, size: g.size, fromto: g.fromto }
    }
}

/// Pose in the body and size of a geom or site, `fromto` resolved: the z axis points from its second point to its first.
fn placed(c: &mut Compiler<'_>, at: &At, kind: GeomKind, within: Option<usize>, p: &Placement) -> (Pose, [f64; 3]) {
    let mut size = p.size;
    let own = if let Some(f) = p.fromto {
        let (from, to) = (Vec3::new(f[0], f[1], f[2]), Vec3::new(f[3], f[4], f[5]));
        let half = (from - to).norm() / 2.0;
        if p.pos != [0.0; 3] {
            c.error(at.attr("pos"), "`fromto` and `pos` both say where it is", "remove one of them");
        }
        match kind {
            GeomKind::Capsule | GeomKind::Cylinder => size[1] = half,
            GeomKind::Ellipsoid | GeomKind::Box => size = [size[0], size[0], half],
            _ => {
                let text = "`fromto` is for capsules, cylinders, ellipsoids and boxes";
                c.error(at.attr("fromto"), text, "write pos and size instead, or another type");
            }
        }
        let quat = frame::z_to(from - to).unwrap_or_else(|| {
            c.error(at.attr("fromto"), "the two points of `fromto` coincide", "write two points that differ");
            // the length that follows from them is no second mistake
            size = [1.0; 3];
            frame::IDENTITY
        });
        Pose { pos: (from + to) / 2.0, quat }
    } else {
        c.own_pose(at, &p.pos, p.orientation.as_ref())
    };
    (c.in_frame(within, own), size)
}

/// Reports sizes that make no shape.
fn positive(c: &mut Compiler<'_>, at: &At, kind: GeomKind, size: &[f64; 3]) {
    let need: &[usize] = match kind {
        GeomKind::Plane => &[2],
        GeomKind::Sphere => &[0],
        GeomKind::Capsule | GeomKind::Cylinder => &[0, 1],
        GeomKind::Ellipsoid | GeomKind::Box => &[0, 1, 2],
        GeomKind::Hfield | GeomKind::Mesh | GeomKind::Sdf => &[],
    };
    if let Some(&i) = need.iter().find(|&&i| size[i] <= 0.0) {
        let text = format!("number {} of the size must be positive, it is {}", i + 1, size[i]);
        c.error(at.attr("size"), text, "write a positive size in metres");
    }
}

/// Reports sizes that make no shape, and planes that could move.
fn sizes(c: &mut Compiler<'_>, g: &Geom, size: &[f64; 3], b: usize) {
    positive(c, &g.at, g.kind, size);
    if g.kind == GeomKind::Plane {
        if size[0] < 0.0 || size[1] < 0.0 {
            c.error(g.at.attr("size"), "the sides of a plane cannot be negative", "write 0 for a plane without end");
        }
        if c.m.body_treeid[b] >= 0 {
            c.error(
                g.at.span,
                "a plane cannot move",
                "put it in the world or in a body without joints, or write a box",
            );
        }
    }
}

/// Reports geoms without the asset that their kind needs, or with one that it cannot have.
fn source(c: &mut Compiler<'_>, g: &Geom) {
    match g.kind {
        GeomKind::Mesh | GeomKind::Sdf if g.mesh.is_none() => {
            c.error(g.at.span, "a geom of this type needs a mesh", "add mesh=\"NAME\"");
        }
        GeomKind::Hfield if g.hfield.is_none() => {
            c.error(g.at.span, "a geom of this type needs a height field", "add hfield=\"NAME\"");
        }
        GeomKind::Plane | GeomKind::Hfield if g.mesh.is_some() => {
            c.error(g.at.attr("mesh"), "a plane or height field cannot be fitted to a mesh", "use another type");
        }
        _ if g.mesh.is_some() && g.fromto.is_some() => {
            c.error(g.at.attr("fromto"), "`fromto` and `mesh` both say where the geom is", "remove one of them");
        }
        _ => {}
    }
    if g.hfield.is_some() && g.kind != GeomKind::Hfield {
        c.error(g.at.attr("hfield"), "only a geom of type \"hfield\" has a height field", "remove it");
    }
}

/// Size and centre of a primitive in place of a mesh: that of the box of equal inertia, or that whose bounding box holds the
/// mesh's.
fn fit(aabb: bool, g: &Geom, mesh: &asset::Shape, pose: &mut Pose, size: &mut [f64; 3]) {
    let half = if aabb {
        *pose = pose.then(&Pose { pos: (mesh.low + mesh.high) / 2.0, ..Pose::default() });
        (mesh.high - mesh.low) / 2.0
    } else {
        mesh.equivalent_box()
    };
    let [x, y, z] = half.into();
    let round = if aabb { x.max(y) } else { (x + y) / 2.0 };
    match g.kind {
        GeomKind::Sphere => size[0] = if aabb { half.max() } else { half.sum() / 3.0 },
        GeomKind::Capsule if aabb => size[..2].copy_from_slice(&[round, (z - round).max(0.0)]),
        GeomKind::Capsule => size[..2].copy_from_slice(&[round, (z - round / 2.0).max(0.0)]),
        GeomKind::Cylinder => size[..2].copy_from_slice(&[round, z]),
        _ => *size = half.into(),
    }
    let fitted = match g.kind {
        GeomKind::Sphere => 1,
        GeomKind::Capsule | GeomKind::Cylinder => 2,
        _ => 3,
    };
    size[..fitted].iter_mut().for_each(|s| *s *= g.fitscale);
}

/// Size, bounding radius and bounding box of a height field.
fn terrain(size: &[f64]) -> ([f64; 3], f64, [f64; 6]) {
    let (x, y, top, base) = (size[0], size[1], size[2], size[3]);
    let rbound = Vec3::new(x, y, top.max(base)).norm();
    ([x, y, 0.25 * top + 0.5 * base], rbound, [0.0, 0.0, (top - base) / 2.0, x, y, (top + base) / 2.0])
}

impl asset::Shape {
    /// Half sizes of the box around it that is centred in its frame.
    fn reach(&self) -> [f64; 3] {
        (-self.low).sup(&self.high).into()
    }

    /// Centre and half sizes of the bounding box.
    fn aabb(&self) -> [f64; 6] {
        let (center, half) = ((self.low + self.high) / 2.0, (self.high - self.low) / 2.0);
        [center[0], center[1], center[2], half[0], half[1], half[2]]
    }

    /// Half sides of the box of the same mass and inertia.
    fn equivalent_box(&self) -> Vec3<f64> {
        self.inertia.map(|i| (6.0 * (self.inertia.sum() - 2.0 * i).max(0.0) / self.content).sqrt() / 2.0)
    }
}

/// Mass and principal inertia of a geom.
fn mass(c: &mut Compiler<'_>, g: &Geom, size: &[f64; 3], mesh: Option<&asset::Shape>) -> (f64, Vec3<f64>) {
    for (name, value) in [("mass", g.mass.unwrap_or(0.0)), ("density", g.density)] {
        if value < 0.0 {
            c.error(g.at.attr(name), format!("the {name} cannot be negative, it is {value}"), "write 0 or more");
        }
    }
    if g.shellinertia && mesh.is_some() {
        let remedy = "write inertia=\"shell\" in the mesh";
        c.error(g.at.attr("shellinertia"), "a geom with a mesh has the inertia that the mesh says", remedy);
    }
    let (content, per_mass) = match mesh {
        Some(mesh) if mesh.content > 0.0 => (mesh.content, mesh.inertia / mesh.content),
        _ if g.shellinertia => shell(g.kind, size),
        _ => solid(g.kind, size),
    };
    let mass = g.mass.unwrap_or(g.density * content);
    (mass, per_mass * mass)
}

/// Volume, and inertia of unit mass.
fn solid(kind: GeomKind, &[x, y, z]: &[f64; 3]) -> (f64, Vec3<f64>) {
    match kind {
        GeomKind::Sphere => (4.0 / 3.0 * PI * x.powi(3), Vec3::repeat(0.4 * x * x)),
        GeomKind::Capsule => {
            let (r, h) = (x, y);
            let (tube, caps) = (2.0 * PI * r * r * h, 4.0 / 3.0 * PI * r.powi(3));
            let v = tube + caps;
            let long = (tube * r * r / 2.0 + caps * 0.4 * r * r) / v;
            let flat = (tube * (r * r / 4.0 + h * h / 3.0) + caps * (0.4 * r * r + h * h + 0.75 * h * r)) / v;
            (v, Vec3::new(flat, flat, long))
        }
        GeomKind::Cylinder => {
            let flat = x * x / 4.0 + y * y / 3.0;
            (2.0 * PI * x * x * y, Vec3::new(flat, flat, x * x / 2.0))
        }
        GeomKind::Ellipsoid => {
            (4.0 / 3.0 * PI * x * y * z, Vec3::new(y * y + z * z, x * x + z * z, x * x + y * y) / 5.0)
        }
        GeomKind::Box => (8.0 * x * y * z, Vec3::new(y * y + z * z, x * x + z * z, x * x + y * y) / 3.0),
        _ => (0.0, Vec3::zeros()),
    }
}

/// Surface area, and inertia of unit mass spread over the surface.
fn shell(kind: GeomKind, &[x, y, z]: &[f64; 3]) -> (f64, Vec3<f64>) {
    match kind {
        GeomKind::Sphere => (4.0 * PI * x * x, Vec3::repeat(2.0 / 3.0 * x * x)),
        GeomKind::Capsule => {
            let (r, h) = (x, y);
            let (tube, caps) = (4.0 * PI * r * h, 4.0 * PI * r * r);
            let a = tube + caps;
            let long = (tube * r * r + caps * 2.0 / 3.0 * r * r) / a;
            let flat = (tube * (r * r / 2.0 + h * h / 3.0) + caps * (2.0 / 3.0 * r * r + h * h + h * r)) / a;
            (a, Vec3::new(flat, flat, long))
        }
        GeomKind::Cylinder => {
            let (r, h) = (x, y);
            let (tube, lids) = (4.0 * PI * r * h, 2.0 * PI * r * r);
            let a = tube + lids;
            let long = (tube * r * r + lids * r * r / 2.0) / a;
            let flat = (tube * (r * r / 2.0 + h * h / 3.0) + lids * (r * r / 4.0 + h * h)) / a;
            (a, Vec3::new(flat, flat, long))
        }
        GeomKind::Ellipsoid => {
            // Thomsen's approximation of the area, as in MuJoCo
            let p = 1.6075;
            let mean = ((x * y).powf(p) + (x * z).powf(p) + (y * z).powf(p)) / 3.0;
            // what a layer of even thickness adds to a solid; MuJoCo's is so thick that it shows in the sixth digit
            let (v0, i0) = solid(kind, &[x, y, z]);
            let (v1, i1) = solid(kind, &[x + LAYER, y + LAYER, z + LAYER]);
            (4.0 * PI * mean.powf(1.0 / p), (i1 * v1 - i0 * v0) / (v1 - v0))
        }
        GeomKind::Box => {
            let (fx, fy, fz) = (8.0 * y * z, 8.0 * x * z, 8.0 * x * y);
            let a = fx + fy + fz;
            // mean square of a coordinate: its own two faces lie at the full half size
            let square = |s: f64, own: f64| s * s * (own + (a - own) / 3.0) / a;
            let (xx, yy, zz) = (square(x, fx), square(y, fy), square(z, fz));
            (a, Vec3::new(yy + zz, xx + zz, xx + yy))
        }
        _ => (0.0, Vec3::zeros()),
    }
}

/// Thickness of the layer that stands for the shell of an ellipsoid \[m\].
const LAYER: f64 = 1e-6;

/// Radius of the bounding sphere and the bounding box (centre, half sizes) of a geom in its frame.
fn bounds(kind: GeomKind, &[x, y, z]: &[f64; 3]) -> (f64, [f64; 6]) {
    let half = match kind {
        GeomKind::Plane => return (0.0, [0.0, 0.0, -FAR / 2.0, FAR, FAR, FAR / 2.0]),
        GeomKind::Sphere => [x; 3],
        GeomKind::Capsule => [x, x, x + y],
        GeomKind::Cylinder => [x, x, y],
        GeomKind::Ellipsoid | GeomKind::Box => [x, y, z],
        GeomKind::Hfield | GeomKind::Mesh | GeomKind::Sdf => [0.0; 3],
    };
    let radius = match kind {
        GeomKind::Sphere => x,
        GeomKind::Capsule => x + y,
        GeomKind::Cylinder => x.hypot(y),
        GeomKind::Ellipsoid => x.max(y).max(z),
        _ => Vec3::from(half).norm(),
    };
    (radius, [0.0, 0.0, 0.0, half[0], half[1], half[2]])
}

/// Half the side of the box around a plane, `mjMAXVAL`.
const FAR: f64 = kiloworld_layout::consts::MAXVAL;
