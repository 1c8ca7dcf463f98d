//! Spatial tendons at a pose: the shortest path through sites and around spheres and cylinders, its length and Jacobian.

use super::setconst::last_dof;
use kiloworld_cpu::math::{Mat3, Vec3, ld3, ld9};
use kiloworld_layout::consts::MINVAL;
use kiloworld_layout::{Data, Model};

/// `mjtWrap`.
pub(crate) mod kind {
    pub(crate) const JOINT: i32 = 1;
    pub(crate) const PULLEY: i32 = 2;
    pub(crate) const SITE: i32 = 3;
    pub(crate) const SPHERE: i32 = 4;
    pub(crate) const CYLINDER: i32 = 5;
}

/// A point of the path, fixed to a body.
#[derive(Clone, Copy)]
struct Point {
    body: usize,
    pos: Vec3<f64>,
}

/// The part of a path that lies on a geom, in the frame of that geom: where it begins and ends, and its length.
type Arc = (Vec3<f64>, Vec3<f64>, f64);

/// The length of a spatial tendon; adds its Jacobian to a row of zeros.
pub(crate) fn spatial(m: &Model<f64>, d: &Data<f64>, tendon: usize, jac: &mut [f64]) -> f64 {
    let first = m.tendon_adr[tendon] as usize;
    let end = first + m.tendon_num[tendon] as usize;
    let site = |k: usize| {
        let id = m.wrap_objid[k] as usize;
        Point { body: m.site_bodyid[id] as usize, pos: ld3(&d.site_xpos, id) }
    };
    let (mut length, mut divisor, mut k) = (0.0, 1.0, first);
    while k + 1 < end {
        if m.wrap_type[k] == kind::PULLEY {
            divisor = m.wrap_prm[k];
            k += 1;
            continue;
        }
        match m.wrap_type[k + 1] {
            kind::PULLEY => k += 1,
            kind::SITE => {
                length += segment(m, d, site(k), site(k + 1), divisor, jac);
                k += 1;
            }
            _ => {
                let (from, to) = (site(k), site(k + 2));
                match around(m, d, k + 1, from.pos, to.pos) {
                    Some((on, off, arc)) => {
                        length += segment(m, d, from, on, divisor, jac) + arc / divisor;
                        length += segment(m, d, off, to, divisor, jac);
                    }
                    None => length += segment(m, d, from, to, divisor, jac),
                }
                k += 2;
            }
        }
    }
    length
}

/// The length of a straight part, and what it adds to the Jacobian.
fn segment(m: &Model<f64>, d: &Data<f64>, from: Point, to: Point, divisor: f64, jac: &mut [f64]) -> f64 {
    let along = to.pos - from.pos;
    let length = along.norm();
    if from.body != to.body {
        let unit = if length < MINVAL { Vec3::x() } else { along / length };
        for (point, sign) in [(from, -1.0), (to, 1.0)] {
            add_point(m, d, point.body, point.pos, unit * (sign / divisor), jac);
        }
    }
    length / divisor
}

/// Adds to a row how fast a point of a body moves along a direction, for each dof.
pub(crate) fn add_point(
    m: &Model<f64>,
    d: &Data<f64>,
    body: usize,
    pos: Vec3<f64>,
    direction: Vec3<f64>,
    row: &mut [f64],
) {
    let arm = pos - ld3(&d.subtree_com, m.body_rootid[body] as usize);
    let mut dof = last_dof(m, body);
    while let Ok(i) = usize::try_from(dof) {
        row[i] += direction.dot(&(ld3(&d.cdof, 2 * i + 1) + ld3(&d.cdof, 2 * i).cross(&arm)));
        dof = m.dof_parentid[i];
    }
}

/// Where the path between two points lies on the geom of a path entry, in the world, and the length of that part; `None` where
/// it is straight.
fn around(m: &Model<f64>, d: &Data<f64>, wrap: usize, from: Vec3<f64>, to: Vec3<f64>) -> Option<(Point, Point, f64)> {
    let geom = m.wrap_objid[wrap] as usize;
    let (center, frame) = (ld3(&d.geom_xpos, geom), ld9(&d.geom_xmat, geom));
    let local = |p: Vec3<f64>| frame.transpose() * (p - center);
    let side = (m.wrap_prm[wrap] >= 0.0).then(|| local(ld3(&d.site_xpos, m.wrap_prm[wrap] as usize)));
    let radius = m.geom_size[3 * geom];
    let arc = if m.wrap_type[wrap] == kind::SPHERE { sphere } else { cylinder };
    let (on, off, length) = arc(local(from), local(to), side, radius)?;
    let body = m.geom_bodyid[geom] as usize;
    let point = |p: Vec3<f64>| Point { body, pos: center + frame * p };
    Some((point(on), point(off), length))
}

/// Around a sphere the path stays in the plane of its ends and the centre.
fn sphere(from: Vec3<f64>, to: Vec3<f64>, side: Option<Vec3<f64>>, radius: f64) -> Option<Arc> {
    let across = |v: Vec3<f64>| Some(from.cross(&v)).filter(|n| n.norm() > MINVAL);
    let sideways = || across(Vec3::x()).or_else(|| across(Vec3::y()));
    let normal = across(to).or_else(|| across(side?)).or_else(sideways)?;
    let x = from / from.norm();
    let y = normal.cross(&from);
    let frame = Mat3::from_columns(&[x, y / y.norm(), normal / normal.norm()]);
    let flat = |v: Vec3<f64>| {
        let v = frame.transpose() * v;
        [v[0], v[1]]
    };
    let inside = side.is_some_and(|s| s.norm() < radius);
    let (on, off, angle) = circle(flat(from), flat(to), side.map(flat), inside, radius)?;
    let point = |p: [f64; 2]| frame * Vec3::new(p[0], p[1], 0.0);
    Some((point(on), point(off), radius * angle))
}

/// Around an endless cylinder the path is that around a circle, and rises evenly along its length.
fn cylinder(from: Vec3<f64>, to: Vec3<f64>, side: Option<Vec3<f64>>, radius: f64) -> Option<Arc> {
    let flat = |v: Vec3<f64>| [v[0], v[1]];
    // a side on the axis but far from the centre counts as outside
    let inside = side.is_some_and(|s| s.norm() < radius);
    let (on, off, angle) = circle(flat(from), flat(to), side.map(flat), inside, radius)?;
    let far = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).hypot(a[1] - b[1]);
    let (before, along, after) = (far(flat(from), on), radius * angle, far(off, flat(to)));
    let whole = before + along + after;
    let rise = |part: f64| from[2] + (to[2] - from[2]) * part / whole;
    let (low, high) = (rise(before), rise(before + along));
    let point = |p: [f64; 2], z: f64| Vec3::new(p[0], p[1], z);
    Some((point(on, low), point(off, high), along.hypot(high - low)))
}

/// The shortest path around a circle: where it touches and leaves it, and the angle between. With a side, the path goes around
/// the way that leads from the first end over the side to the second; with a side inside, it passes through the circle.
fn circle(
    from: [f64; 2],
    to: [f64; 2],
    side: Option<[f64; 2]>,
    inside: bool,
    radius: f64,
) -> Option<([f64; 2], [f64; 2], f64)> {
    let (far, end) = (from[0].hypot(from[1]), to[0].hypot(to[1]));
    if far < radius || end < radius || radius < MINVAL {
        return None;
    }
    let turn = |a: [f64; 2], b: [f64; 2]| (a[0] * b[1] - a[1] * b[0]).atan2(a[0] * b[0] + a[1] * b[1]);
    let at = |angle: f64| {
        let start = from[1].atan2(from[0]) + angle;
        [radius * start.cos(), radius * start.sin()]
    };
    let direct = turn(from, to);
    if inside {
        return through(far, end, direct, radius).map(|angle| (at(angle), at(angle), 0.0));
    }
    let winding = side.map_or(direct, |s| turn(from, s) + turn(s, to));
    // angles from the ends to the points where a tangent through them touches
    let (first, last) = ((radius / far).acos(), (radius / end).acos());
    let angle = winding.abs() - first - last;
    let sign = if winding < 0.0 { -1.0 } else { 1.0 };
    (angle > 0.0).then(|| (at(sign * first), at(sign * (winding.abs() - last)), angle))
}

/// The angle, from the first end, of the point of the circle that a path over it is shortest through; `None` where the straight
/// path passes through the circle. The ends are at distances `far` and `end` from the centre, `turn` apart.
fn through(far: f64, end: f64, turn: f64, radius: f64) -> Option<f64> {
    let straight = (far * far + end * end - 2.0 * far * end * turn.cos()).sqrt();
    // the nearest point of the line, where it lies between the ends
    let (height, from_first) = (far * end * turn.sin().abs() / straight, far * far - far * end * turn.cos());
    let between = from_first > 0.0 && end * end > far * end * turn.cos();
    if straight < MINVAL || (between && height <= radius) {
        return None;
    }
    let (mut low, mut high) = (0.0, turn.abs());
    let slope = |angle: f64| {
        let pull = |distance: f64, angle: f64| {
            distance * angle.sin()
                / (distance * distance + radius * radius - 2.0 * distance * radius * angle.cos()).sqrt()
        };
        pull(far, angle) - pull(end, turn.abs() - angle)
    };
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if slope(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(f64::midpoint(low, high) * if turn < 0.0 { -1.0 } else { 1.0 })
}

/// Halvings after which an angle is known to the last digit.
const HALVINGS: usize = 60;
