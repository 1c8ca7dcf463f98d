//! Procedural meshes (`mesh builtin`): shapes, parameters and order of the vertices as MuJoCo's, found by looking at what it makes.

use super::{Fault, Raw};
use std::collections::HashMap;
use std::f64::consts::{FRAC_PI_2, PI};

/// No more vertices than these are made.
const MAX_VERTICES: f64 = 1e6;

/// The mesh of a kind and its parameters. Where it has no faces they are those of its convex hull.
pub(crate) fn make(kind: &str, params: &[f64]) -> Result<Raw, Fault> {
    let wrong = |text: &str| Err(Fault::new(format!("builtin=\"{kind}\": {text}"), "correct `params`"));
    let names: &[&str] = match kind {
        "sphere" => &["subdivision"],
        "hemisphere" => &["resolution"],
        "cone" => &["nvert", "radius"],
        "supersphere" => &["resolution", "e", "n"],
        "supertorus" => &["resolution", "radius", "s", "t"],
        "wedge" => &["res_phi", "res_theta", "fov_phi", "fov_theta", "gamma"],
        "plate" => &["res_x", "res_y"],
        "grid" | "box" | "cylinder" | "ellipsoid" | "square" | "disc" => {
            return Err(Fault::new(
                format!("builtin=\"{kind}\", a shape of flexible bodies, is not generated here"),
                "write the vertices and faces, or give a file",
            ));
        }
        _ => {
            let known = "write sphere, hemisphere, cone, supersphere, supertorus, wedge or plate";
            return Err(Fault::new(format!("there is no builtin mesh \"{kind}\""), known));
        }
    };
    if params.len() != names.len() {
        return wrong(&format!("{} parameters, it has {}: {}", params.len(), names.len(), names.join(", ")));
    }
    let within = |i: usize, low: f64, high: f64| params[i] >= low && params[i] <= high;
    // as in MuJoCo what is behind the point of a whole number is dropped
    let whole = |i: usize| params[i] as usize;
    let positive = |i: usize| params[i] > 0.0 && params[i].is_finite();
    let few = |n: f64| n.is_finite() && n <= MAX_VERTICES;
    match kind {
        "sphere" if !(within(0, 0.0, 5.0) && params[0] < 5.0) => wrong("the subdivision is from 0 to 4"),
        "sphere" => Ok(sphere(whole(0))),
        "hemisphere" if !(within(0, 0.0, 11.0) && params[0] < 11.0) => wrong("the resolution is from 0 to 10"),
        "hemisphere" => Ok(hemisphere(whole(0) as u32 + 1)),
        "cone" if params[0] < 3.0 || !few(2.0 * params[0]) => wrong("a polygon has 3 corners or more, up to 500,000"),
        "cone" if !within(1, 0.0, 1.0) => wrong("the radius is from 0 to 1"),
        "cone" => Ok(cone(whole(0), params[1])),
        "supersphere" if params[0] < 3.0 || !few(params[0].powi(2)) => wrong("the resolution is from 3 to 1,000"),
        "supersphere" if !within(1, 0.0, f64::MAX) || !within(2, 0.0, f64::MAX) => wrong("e and n are 0 or more"),
        "supersphere" => Ok(supersphere(whole(0), params[1], params[2])),
        "supertorus" if params[0] < 3.0 || !few(params[0].powi(2)) => wrong("the resolution is from 3 to 1,000"),
        "supertorus" if !positive(1) || params[1] > 1.0 => wrong("the radius is more than 0, and up to 1"),
        "supertorus" if !positive(2) || !positive(3) => wrong("s and t are positive"),
        "supertorus" => Ok(supertorus(whole(0), params[1], params[2], params[3])),
        "wedge" | "plate" if params[0] < 1.0 || params[1] < 1.0 || !few(params[0] * params[1]) => {
            wrong("the resolutions are 1 or more, up to 1,000,000 vertices")
        }
        "wedge" if !positive(2) || params[2] > 180.0 => wrong("fov_phi is more than 0, and up to 180 degrees"),
        "wedge" if !positive(3) || params[3] >= 90.0 => wrong("fov_theta is between 0 and 90 degrees"),
        "wedge" if !within(4, 0.0, 1.0) => wrong("gamma is from 0 to 1"),
        "wedge" => Ok(wedge([whole(0), whole(1)], [params[2].to_radians(), params[3].to_radians()], params[4])),
        _ => Ok(plate([whole(0), whole(1)])),
    }
}

fn raw(vert: &[[f64; 3]], face: Vec<[u32; 3]>) -> Raw {
    Raw { vert: vert.iter().map(|v| v.map(|x| x as f32)).collect(), face }
}

/// A vector at unit length.
fn unit([x, y, z]: [f64; 3]) -> [f64; 3] {
    let n = (x * x + y * y + z * z).sqrt();
    [x / n, y / n, z / n]
}

/// An icosahedron whose faces are divided in four again and again; in single precision, as MuJoCo does it: the last digits of the
/// vertices decide where the axes of inertia lie.
fn sphere(divisions: usize) -> Raw {
    let unit = |v: [f32; 3]| {
        let n = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
        v.map(|x| x / n)
    };
    let t = f32::midpoint(1.0, 5_f32.sqrt());
    let mut vert: Vec<[f32; 3]> = [
        [-1.0, t, 0.0],
        [1.0, t, 0.0],
        [-1.0, -t, 0.0],
        [1.0, -t, 0.0],
        [0.0, -1.0, t],
        [0.0, 1.0, t],
        [0.0, -1.0, -t],
        [0.0, 1.0, -t],
        [t, 0.0, -1.0],
        [t, 0.0, 1.0],
        [-t, 0.0, -1.0],
        [-t, 0.0, 1.0],
    ]
    .map(unit)
    .to_vec();
    let mut face: Vec<[u32; 3]> = ICOSAHEDRON.to_vec();
    for _ in 0..divisions {
        let mut between: HashMap<(u32, u32), u32> = HashMap::new();
        let mut middle = |a: u32, b: u32| {
            *between.entry((a.min(b), a.max(b))).or_insert_with(|| {
                let (p, q) = (vert[a as usize], vert[b as usize]);
                vert.push(unit([p[0] + q[0], p[1] + q[1], p[2] + q[2]]));
                vert.len() as u32 - 1
            })
        };
        let divided = face.iter().flat_map(|&[a, b, c]| {
            let (ab, bc, ca) = (middle(a, b), middle(b, c), middle(c, a));
            [[a, ab, ca], [b, bc, ab], [c, ca, bc], [ab, bc, ca]]
        });
        face = divided.collect();
    }
    Raw { vert, face }
}

/// Faces of the icosahedron: around its first vertex, the belt, around the opposite vertex, the belt.
const ICOSAHEDRON: [[u32; 3]; 20] = [
    [0, 11, 5],
    [0, 5, 1],
    [0, 1, 7],
    [0, 7, 10],
    [0, 10, 11],
    [1, 5, 9],
    [5, 11, 4],
    [11, 10, 2],
    [10, 7, 6],
    [7, 1, 8],
    [3, 9, 4],
    [3, 4, 2],
    [3, 2, 6],
    [3, 6, 8],
    [3, 8, 9],
    [4, 9, 5],
    [2, 4, 11],
    [6, 2, 10],
    [8, 6, 7],
    [9, 8, 1],
];

/// The upper half of an octahedron, its four faces divided in `n` rows and blown up, closed by a disc at z = 0.
fn hemisphere(n: u32) -> Raw {
    let mut vert = vec![[0.0, 0.0, 1.0]];
    for k in 1..=n {
        for j in 0..4 * k {
            let (t, height) = (f64::from(j % k), f64::from(n - k));
            let (a, b) = (f64::from(k) - t, t);
            let (x, y) = [(a, b), (-b, a), (-a, -b), (b, -a)][(j / k) as usize];
            vert.push(unit([x, y, height]));
        }
    }
    // the first vertex of a row
    let first = |k: u32| if k == 0 { 0 } else { 1 + 2 * k * (k - 1) };
    let mut face: Vec<[u32; 3]> = (0..4).map(|j| [0, 1 + j, 1 + (j + 1) % 4]).collect();
    for k in 1..n {
        let (inner, outer) = (first(k), first(k + 1));
        let mut next = outer;
        for j in 0..4 * k {
            let at = inner + j;
            // a corner of the octahedron has one more neighbour outside
            let steps = if j > 0 && j % k == 0 { 2 } else { 1 };
            for _ in 0..steps {
                face.push([at, next, next + 1]);
                next += 1;
            }
            face.push([at, next, inner + (j + 1) % (4 * k)]);
        }
        face.push([inner, next, outer]);
    }
    let (edge, center) = (first(n), vert.len() as u32);
    vert.push([0.0; 3]);
    face.extend((0..4 * n).map(|j| [edge + j, center, edge + (j + 1) % (4 * n)]));
    raw(&vert, face)
}

/// A regular polygon at z = -1 and a smaller one, or a point, at z = 1.
fn cone(n: usize, radius: f64) -> Raw {
    let ring = |r: f64, z: f64| {
        (0..n).map(move |i| {
            let (sin, cos) = (2.0 * PI * i as f64 / n as f64).sin_cos();
            [r * cos, r * sin, z]
        })
    };
    let mut vert: Vec<[f64; 3]> = ring(1.0, -1.0).collect();
    if radius > 0.0 {
        vert.extend(ring(radius, 1.0));
    } else {
        vert.push([0.0, 0.0, 1.0]);
    }
    raw(&vert, Vec::new())
}

/// A power that keeps the sign.
fn signed(x: f64, p: f64) -> f64 {
    x.abs().powf(p).copysign(x)
}

/// A superellipsoid: latitudes from the south pole, longitudes from -π.
fn supersphere(n: usize, east: f64, north: f64) -> Raw {
    let mut vert = vec![[0.0, 0.0, -1.0]];
    for i in 1..n {
        let (s, c) = (-FRAC_PI_2 + PI * i as f64 / n as f64).sin_cos();
        for j in 0..n {
            let (sin, cos) = (-PI + 2.0 * PI * j as f64 / n as f64).sin_cos();
            let r = signed(c, north);
            vert.push([r * signed(cos, east), r * signed(sin, east), signed(s, north)]);
        }
    }
    vert.push([0.0, 0.0, 1.0]);
    let at = |i: usize, j: usize| (1 + (i - 1) * n + j % n) as u32;
    let top = vert.len() as u32 - 1;
    let mut face: Vec<[u32; 3]> = (0..n).map(|j| [0, at(1, j + 1), at(1, j)]).collect();
    for i in 1..n - 1 {
        for j in 0..n {
            face.push([at(i, j), at(i, j + 1), at(i + 1, j)]);
            face.push([at(i, j + 1), at(i + 1, j + 1), at(i + 1, j)]);
        }
    }
    face.extend((0..n).map(|j| [at(n - 1, j), at(n - 1, j + 1), top]));
    raw(&vert, face)
}

/// A supertoroid of major radius 1.
fn supertorus(n: usize, radius: f64, minor: f64, major: f64) -> Raw {
    let turn = |i: usize| (2.0 * PI * i as f64 / n as f64).sin_cos();
    let (mut vert, mut face) = (Vec::new(), Vec::new());
    let at = |i: usize, j: usize| ((i % n) * n + j % n) as u32;
    for i in 0..n {
        let (sin, cos) = turn(i);
        for j in 0..n {
            let (s, c) = turn(j);
            let r = 1.0 + radius * signed(c, minor);
            vert.push([r * signed(cos, major), r * signed(sin, major), radius * signed(s, minor)]);
            face.push([at(i, j), at(i + 1, j), at(i, j + 1)]);
            face.push([at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]);
        }
    }
    raw(&vert, face)
}

/// A part of the unit sphere around -z. Vertices are in the middle of cells, which are smaller near the axis the larger `gamma` is.
fn wedge(n: [usize; 2], fov: [f64; 2], gamma: f64) -> Raw {
    let edge = |x: f64| (1.0 - gamma) * x + gamma * x.powi(5);
    let angle = |axis: usize, i: usize| {
        let at = |k: usize| edge(2.0 * k as f64 / n[axis] as f64 - 1.0);
        fov[axis] * f64::midpoint(at(i), at(i + 1))
    };
    let mut vert = Vec::new();
    for i in 0..n[0] {
        let (sin, cos) = angle(0, i).sin_cos();
        for j in 0..n[1] {
            let (s, c) = angle(1, j).sin_cos();
            vert.push([sin * c, s, -cos * c]);
        }
    }
    raw(&vert, Vec::new())
}

/// A rectangle at z = -1, vertices in the middle of its cells.
fn plate(n: [usize; 2]) -> Raw {
    let middle = |axis: usize, i: usize| (2.0 * i as f64 + 1.0) / n[axis] as f64 - 1.0;
    let (mut vert, mut face) = (Vec::new(), Vec::new());
    for i in 0..n[0] {
        for j in 0..n[1] {
            vert.push([middle(0, i), middle(1, j), -1.0]);
            if i + 1 < n[0] && j + 1 < n[1] {
                let (here, across) = ((i * n[1] + j) as u32, ((i + 1) * n[1] + j) as u32);
                face.push([here, across, here + 1]);
                face.push([across + 1, here + 1, across]);
            }
        }
    }
    raw(&vert, face)
}
