//! Masses and inertias of bodies: from `inertial` elements or from geoms, principal axes, bounds.

use super::Compiler;
use super::frame::{self, IDENTITY, Pose};
use super::geom::Shape;
use kiloworld_cpu::math::{Mat3, Quat, Vec3, quat_mul, quat_to_mat, st3, st4};
use kiloworld_layout::consts::MINVAL;
use kiloworld_mjcf::spec::{InertiaFromGeom, Inertial};

/// Mass, centre of mass, principal axes and principal inertia of a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lump {
    /// mass \[kg\]
    pub mass: f64,
    /// in the body
    pub frame: Pose,
    /// principal inertia \[kg m²\]
    pub inertia: Vec3<f64>,
}

/// Sets mass, centre of mass and inertia of every body but the world.
pub(crate) fn bodies(c: &mut Compiler<'_>) {
    st4(&mut c.m.body_iquat, 0, IDENTITY);
    c.adjusted = vec![false];
    for b in 1..c.m.size.nbody {
        let (body, settings) = (&c.spec.bodies[b], c.spec.settings(b));
        let (bound_mass, bound_inertia) = (settings.boundmass, settings.boundinertia);
        let written = |c: &mut Compiler<'_>| body.inertial.as_ref().map(|i| explicit(c, i));
        let lump = match settings.inertiafromgeom {
            InertiaFromGeom::False => written(c),
            InertiaFromGeom::Auto => written(c).or_else(|| from_geoms(c, b)),
            InertiaFromGeom::True => from_geoms(c, b).or_else(|| written(c)),
        };
        // a body without mass: MuJoCo leaves the pose that the file gives the body in place of the inertial frame
        let own = c.own[b];
        let mut lump = lump.unwrap_or(Lump { mass: 0.0, frame: own, inertia: Vec3::zeros() });
        let given = lump;
        if bound_mass > 0.0 {
            lump.mass = lump.mass.max(bound_mass);
        }
        if bound_inertia > 0.0 {
            lump.inertia = lump.inertia.map(|i| i.max(bound_inertia));
        }
        c.m.body_mass[b] = lump.mass;
        st3(&mut c.m.body_ipos, b, lump.frame.pos);
        st4(&mut c.m.body_iquat, b, lump.frame.quat);
        check(c, b, &mut lump);
        st3(&mut c.m.body_inertia, b, lump.inertia);
        c.adjusted.push((lump.mass, lump.inertia) != (given.mass, given.inertia));
    }
}

/// Scales all masses and inertias to the total that the file asks for.
pub(crate) fn total_mass(c: &mut Compiler<'_>) {
    let (want, have) = (c.spec.compiler.settotalmass, c.m.body_mass.iter().sum::<f64>());
    if want > 0.0 && have > MINVAL {
        c.m.body_mass.iter_mut().chain(&mut c.m.body_inertia).for_each(|x| *x *= want / have);
    }
}

/// Principal inertia must be that of a real body: not negative, the sum of two not less than the third.
fn check(c: &mut Compiler<'_>, b: usize, lump: &mut Lump) {
    let (i, at) = (lump.inertia, &c.spec.bodies[b].at);
    let span = c.spec.bodies[b].inertial.as_ref().map_or(at.span, |i| i.at.span);
    if lump.mass < 0.0 || i.min() < 0.0 {
        c.error(span, "mass and inertia cannot be negative", "write values of 0 or more");
        return;
    }
    let missing = 2.0 * i.max() - i.sum();
    if missing > 0.0 {
        if c.spec.settings(b).balanceinertia {
            lump.inertia = Vec3::repeat(i.sum() / 3.0);
        } else if missing > ROUNDING * i.max() {
            let text = format!(
                "no body has the principal inertia {} {} {}: one exceeds the sum of the others",
                i[0], i[1], i[2]
            );
            c.error(span, text, "correct the inertia, or set compiler/balanceinertia=\"true\"");
        }
    }
}

/// How far the sum of two principal inertias may fall short of the third, relative to it: the rounding of a flat body's
/// inertia is no fault of the file.
const ROUNDING: f64 = 1e-12;

/// The inertia of an `inertial` element.
fn explicit(c: &mut Compiler<'_>, i: &Inertial) -> Lump {
    let quat = match frame::quat(i.orientation.as_ref(), &c.spec.compiler) {
        Ok(q) => q,
        Err(text) => {
            c.error(i.orientation.map_or(i.at.span, |o| i.at.attr(o.attr())), text, frame::REMEDY);
            IDENTITY
        }
    };
    let mut frame = Pose { pos: Vec3::from(i.pos), quat };
    let inertia = if let Some(f) = i.fullinertia {
        let (axes, inertia) = principal(&symmetric(&f), OF_BODIES);
        frame.quat = axes;
        inertia
    } else {
        Vec3::from(i.diaginertia.unwrap_or_default())
    };
    Lump { mass: i.mass, frame: c.in_frame(i.frame, frame), inertia }
}

/// The inertia of the geoms of a body that carry mass and are in the range of groups.
fn from_geoms(c: &mut Compiler<'_>, b: usize) -> Option<Lump> {
    let [low, high] = c.spec.settings(b).inertiagrouprange;
    let first = c.m.body_geomadr[b].max(0) as usize;
    let chosen: Vec<&Shape> = (first..first + c.m.body_geomnum[b] as usize)
        .filter(|&g| (low..=high).contains(&c.m.geom_group[g]) && c.shapes[g].mass >= MINVAL)
        .map(|g| &c.shapes[g])
        .collect();
    match chosen[..] {
        [] => None,
        [one] => Some(Lump { mass: one.mass, frame: one.pose, inertia: one.inertia }),
        _ => {
            let mass: f64 = chosen.iter().map(|s| s.mass).sum();
            let pos = chosen.iter().map(|s| s.pose.pos * s.mass).sum::<Vec3<f64>>() / mass;
            let about = chosen.iter().map(|s| s.about(pos)).sum::<Mat3<f64>>();
            let (quat, inertia) = principal(&about, OF_BODIES);
            Some(Lump { mass, frame: Pose { pos, quat }, inertia })
        }
    }
}

impl Shape {
    /// The inertia about a point of the body frame, along the axes of the body frame.
    fn about(&self, point: Vec3<f64>) -> Mat3<f64> {
        let r = quat_to_mat(self.pose.quat);
        let d = self.pose.pos - point;
        let shift = Mat3::identity() * d.norm_squared() - d.outer(&d);
        r * Mat3::from_diagonal(&self.inertia) * r.transpose() + shift * self.mass
    }
}

/// The inertia of two parts of one body.
pub(crate) fn together(first: &Lump, second: &Lump) -> Lump {
    let parts = [first, second].map(|l| Shape { pose: l.frame, mass: l.mass, inertia: l.inertia });
    let mass = first.mass + second.mass;
    let pos = parts.iter().map(|s| s.pose.pos * s.mass).sum::<Vec3<f64>>() / mass;
    let (quat, inertia) = principal(&(parts[0].about(pos) + parts[1].about(pos)), OF_BODIES);
    Lump { mass, frame: Pose { pos, quat }, inertia }
}

/// The matrix with these entries: xx, yy, zz, xy, xz, yz.
fn symmetric(f: &[f64; 6]) -> Mat3<f64> {
    Mat3::new(f[0], f[3], f[4], f[3], f[1], f[5], f[4], f[5], f[2])
}

/// Entries off the diagonal that do not count, relative to the largest entry: MuJoCo's for the inertia of bodies, and for that
/// of meshes, where it stops early (measured: between 9.1e-8 and 1.01e-7 on 300 meshes). Vertices are given in those axes.
const OF_BODIES: f64 = 4e-15;
/// See [`OF_BODIES`].
pub(crate) const OF_MESHES: f64 = 1e-7;

/// Principal axes as a quaternion, and the principal values, largest first, of a symmetric matrix.
///
/// Jacobi's method on a quaternion: the largest entry off the diagonal is rotated away by the smaller of the two angles
/// that do, until none counts; then quarter turns sort the axes. That path fixes the signs of the axes, as in MuJoCo, whose
/// thresholds (measured on `mju_eig3`; those of meshes on procedural spheres) and choices in ties (measured on files) are the ones below; they matter where principal
/// values coincide and in symmetric bodies.
pub(crate) fn principal(a: &Mat3<f64>, precision: f64) -> (Quat<f64>, Vec3<f64>) {
    let scale = a.as_slice().iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    let (off, apart) = (precision * scale, precision.max(1e-12) * scale);
    let mut q = IDENTITY;
    let turn = |q: Quat<f64>, axis: usize, half_sin: f64| {
        let mut t = Quat::new((1.0 - half_sin * half_sin).sqrt(), 0.0, 0.0, 0.0);
        t[axis + 1] = half_sin;
        let q = quat_mul(q, t);
        q / q.norm()
    };
    let diagonal = |q: Quat<f64>| {
        let r = quat_to_mat(q);
        r.transpose() * *a * r
    };
    let mut d = *a;
    for _ in 0..SWEEPS {
        let (mut i, mut j) = (0, 1);
        for (k, l) in [(0, 2), (1, 2)] {
            if d[(k, l)].abs() >= d[(i, j)].abs() {
                (i, j) = (k, l);
            }
        }
        if d[(i, j)].abs() < off {
            break;
        }
        // tan of the angle in the plane of axes i and j, no larger than 1
        let tau = (d[(j, j)] - d[(i, i)]) / (2.0 * d[(i, j)]);
        let sign = if tau >= 0.0 { 1.0 } else { -1.0 };
        let tan = sign / (tau.abs() + (1.0 + tau * tau).sqrt());
        let cos = 1.0 / (1.0 + tan * tan).sqrt();
        // sin of half the angle without the cancellation of 1 - cos
        let half = tan * cos / (2.0 * (1.0 + cos)).sqrt();
        // the rotation from axis i to axis j is about +z, +x, or -y
        q = turn(q, 3 - i - j, if (i, j) == (0, 2) { half } else { -half });
        d = diagonal(q);
    }
    let mut values = Vec3::new(d[(0, 0)], d[(1, 1)], d[(2, 2)]);
    for i in [0, 1, 0] {
        if values[i] + apart < values[i + 1] {
            (values[i], values[i + 1]) = (values[i + 1], values[i]);
            q = turn(q, (i + 2) % 3, std::f64::consts::FRAC_1_SQRT_2);
        }
    }
    (q, values)
}

/// Rotations after which no 3×3 matrix is left unsolved.
const SWEEPS: usize = 100;

/// Bodies that can move, and have no mass or inertia to move: an error each.
pub(crate) fn massless(c: &mut Compiler<'_>) {
    let n = c.m.size.nbody;
    // mass that is welded to a body moves with it
    let mut carried = vec![false; n];
    for b in (1..n).rev() {
        let heavy = c.m.body_mass[b] >= MINVAL && c.m.body_inertia[3 * b..3 * b + 3].iter().all(|&i| i >= MINVAL);
        carried[b] |= heavy;
        let parent = c.m.body_parentid[b] as usize;
        if carried[b] && c.m.body_jntnum[b] == 0 {
            carried[parent] = true;
        }
        if c.m.body_jntnum[b] > 0 && !carried[b] {
            let name = c.spec.bodies[b].name.as_ref().map_or_else(String::new, |n| format!(" \"{n}\""));
            let text = format!("the body{name} has joints but neither mass nor inertia");
            c.error(c.spec.bodies[b].at.span, text, "give it a geom with mass, or an <inertial> with positive values");
        }
    }
}
