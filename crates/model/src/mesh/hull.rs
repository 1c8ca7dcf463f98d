//! The convex hull of a set of points: quickhull on exact predicates.
//!
//! Own code, because the hulls of the registry's best (parry) were wrong by up to the size of the shape in one of two thousand
//! sets of points on a grid, which parts drawn in CAD programs are. Here the side of a plane on which a point lies is decided
//! exactly (`robust`), so that a hull is right whatever the points: strictly visible faces are one patch with one rim, and the
//! new faces on the rim have an area. Points on a face are not vertices.

use super::Fault;
use kiloworld_cpu::math::Vec3;
use robust::{Coord3D, orient3d};

/// A convex hull: triangles of point ids, counter-clockwise from outside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hull {
    /// the faces
    pub face: Vec<[u32; 3]>,
}

/// No point or face.
const NONE: u32 = u32::MAX;
/// Sets of points thinner than this, relative to their size, have no hull with an inside.
const FLAT: f64 = 1e-14;

/// A face while the hull is made.
struct Face {
    corners: [u32; 3],
    /// the faces across the edges from each corner to the next
    across: [u32; 3],
    /// twice the area
    size: f64,
    /// points that lie outside this face, the farthest last
    outside: Vec<u32>,
    /// distance of the farthest
    reach: f64,
    alive: bool,
}

struct Builder {
    points: Vec<Coord3D<f64>>,
    faces: Vec<Face>,
    /// for a corner of the rim the new face that starts there
    start: Vec<u32>,
}

/// The hull of some points with at most `most` vertices: where there are more, the points farthest outside the hull so far
/// are taken first.
pub(crate) fn hull(points: &[Vec3<f64>], most: Option<usize>) -> Result<Hull, Fault> {
    let flat = || {
        let text = "all vertices of the mesh lie in a plane: it has no convex hull with an inside";
        Fault::new(
            text,
            "use a plane or a thin box in its place, or set contype=\"0\" conaffinity=\"0\" and inertia=\"shell\"",
        )
    };
    let points = &of_unit_size(points);
    let simplex = simplex(points).ok_or_else(flat)?;
    let mut b = Builder {
        points: points.iter().map(|p| Coord3D { x: p[0], y: p[1], z: p[2] }).collect(),
        faces: Vec::new(),
        start: vec![NONE; points.len()],
    };
    b.begin(simplex).ok_or_else(flat)?;
    let mut next = 0;
    while most.is_none() && next < b.faces.len() {
        match b.faces[next].outside.pop() {
            Some(point) => b.add(next, point),
            None => next += 1,
        }
    }
    // with few vertices it matters which: the farthest of all points comes next
    for _ in 4..most.unwrap_or(0) {
        let reach = |f: &usize| if b.faces[*f].outside.is_empty() { 0.0 } else { b.faces[*f].reach };
        let Some(farthest) = (0..b.faces.len()).max_by(|x, y| reach(x).total_cmp(&reach(y))) else { break };
        let Some(point) = b.faces[farthest].outside.pop() else { break };
        b.add(farthest, point);
    }
    Ok(Hull { face: b.faces.iter().filter(|f| f.alive).map(|f| f.corners).collect() })
}

/// The points scaled by a power of two to coordinates of about 1, those below 1e-60 set to 0: products of three of them are then
/// far from underflow, without which no predicate is exact.
fn of_unit_size(points: &[Vec3<f64>]) -> Vec<Vec3<f64>> {
    let size = points.iter().fold(f64::MIN_POSITIVE, |s, p| p.iter().fold(s, |s, x| s.max(x.abs())));
    let factor = (-size.log2().floor()).clamp(-1000.0, 1000.0).exp2();
    points.iter().map(|p| (*p * factor).map(|x| if x.abs() < 1e-60 { 0.0 } else { x })).collect()
}

/// Four points that span a large volume: the ends along x, then of the points that are extreme along some axis the one that
/// spans the largest area with them as seen along z, and the one that spans the largest volume. MuJoCo's hull begins with the
/// same four, which matters where vertices are few.
fn simplex(points: &[Vec3<f64>]) -> Option<[u32; 4]> {
    let mut extremes = Vec::with_capacity(6);
    for axis in 0..3 {
        extremes.push(first_best(0..points.len(), |i| -points[i][axis])?.1);
        extremes.push(first_best(0..points.len(), |i| points[i][axis])?.1);
    }
    let extent = |axis: usize| points[extremes[2 * axis + 1]][axis] - points[extremes[2 * axis]][axis];
    let size = extent(0).max(extent(1)).max(extent(2));
    let axis = (0..3).find(|&a| extent(a) > 1e-3 * size)?;
    let (a, b) = (extremes[2 * axis], extremes[2 * axis + 1]);
    // the best of the extremes, or of all points where those are poor
    let best = |weight: &dyn Fn(usize) -> f64, enough: f64| {
        let few = first_best(extremes.iter().copied(), weight)?;
        if few.0 > enough { Some(few) } else { first_best(0..points.len(), weight) }
    };
    let along = points[b] - points[a];
    let area = |i: usize| along.cross(&(points[i] - points[a]));
    let (mut seen, mut c) = best(&|i| area(i)[2].abs(), 1e-3 * extent(axis) * size)?;
    if seen <= 1e-6 * size * size {
        (seen, c) = best(&|i| area(i).norm(), 1e-3 * size * size)?;
    }
    let normal = area(c) / area(c).norm();
    if seen <= FLAT * size * size {
        return None;
    }
    let (height, d) = best(&|i| normal.dot(&(points[i] - points[a])).abs(), 1e-3 * size)?;
    (height > FLAT * size).then_some([a, b, c, d].map(|i| i as u32))
}

/// The largest weight of some points, and the first point that has it.
fn first_best(ids: impl Iterator<Item = usize>, weight: impl Fn(usize) -> f64) -> Option<(f64, usize)> {
    ids.map(|i| (weight(i), i)).reduce(|best, next| if next.0 > best.0 { next } else { best })
}

impl Builder {
    /// How far a point lies outside a face; not positive where it lies on it or inside. The sign is exact.
    fn outside(&self, face: &Face, point: u32) -> f64 {
        let [a, b, c] = face.corners.map(|v| self.points[v as usize]);
        -orient3d(a, b, c, self.points[point as usize]) / face.size
    }

    fn face(&self, corners: [u32; 3], across: [u32; 3]) -> Face {
        let [a, b, c] = corners.map(|v| {
            let p = self.points[v as usize];
            Vec3::new(p.x, p.y, p.z)
        });
        // a face has an area, though it may round to 0
        let size = (b - a).cross(&(c - a)).norm().max(f64::MIN_POSITIVE);
        Face { corners, across, size, outside: Vec::new(), reach: 0.0, alive: true }
    }

    /// The first four faces, and every point outside one of them given to the first that it is outside of. `None` where the four
    /// points lie in a plane.
    fn begin(&mut self, [a, b, c, d]: [u32; 4]) -> Option<()> {
        let [pa, pb, pc, pd] = [a, b, c, d].map(|v| self.points[v as usize]);
        let side = orient3d(pa, pb, pc, pd);
        if side == 0.0 {
            return None;
        }
        for (mut corners, mut across) in
            [([a, b, c], [1, 3, 2]), ([b, a, d], [0, 2, 3]), ([a, c, d], [0, 3, 1]), ([c, b, d], [0, 1, 2])]
        {
            if side < 0.0 {
                corners.swap(1, 2);
                across.reverse();
            }
            let face = self.face(corners, across);
            self.faces.push(face);
        }
        for point in 0..self.points.len() as u32 {
            let found = (0..4).map(|f| (f, self.outside(&self.faces[f], point))).find(|&(_, reach)| reach > 0.0);
            if let Some((f, reach)) = found {
                self.faces[f].give(point, reach);
            }
        }
        Some(())
    }

    /// Makes a point outside a face a vertex: the faces that it sees go, and new ones join it to their rim.
    fn add(&mut self, seen: usize, point: u32) {
        let (mut visible, mut rim) = (vec![seen], Vec::new());
        self.faces[seen].alive = false;
        let mut k = 0;
        while k < visible.len() {
            let f = visible[k];
            for edge in 0..3 {
                let other = self.faces[f].across[edge] as usize;
                match self.faces.get(other) {
                    Some(face) if face.alive && self.outside(face, point) > 0.0 => {
                        self.faces[other].alive = false;
                        visible.push(other);
                    }
                    Some(face) if face.alive => rim.push((f, edge, other)),
                    _ => {}
                }
            }
            k += 1;
        }
        let first = self.faces.len();
        for &(f, edge, other) in &rim {
            let (from, to) = (self.faces[f].corners[edge], self.faces[f].corners[(edge + 1) % 3]);
            let id = self.faces.len() as u32;
            let face = self.face([from, to, point], [other as u32, NONE, NONE]);
            self.faces.push(face);
            self.start[from as usize] = id;
            if let Some(back) = self.faces[other].corners.iter().position(|&v| v == to) {
                self.faces[other].across[back] = id;
            }
        }
        for id in first..self.faces.len() {
            let next = self.start[self.faces[id].corners[1] as usize];
            self.faces[id].across[1] = next;
            if let Some(next) = self.faces.get_mut(next as usize) {
                next.across[2] = id as u32;
            }
        }
        let orphans: Vec<u32> = visible.iter().flat_map(|&f| std::mem::take(&mut self.faces[f].outside)).collect();
        for orphan in orphans {
            let mut best = (0.0, NONE);
            for id in first..self.faces.len() {
                let reach = self.outside(&self.faces[id], orphan);
                if reach > best.0 {
                    best = (reach, id as u32);
                }
            }
            if best.1 != NONE {
                self.faces[best.1 as usize].give(orphan, best.0);
            }
        }
    }
}

impl Face {
    /// Takes a point; the farthest stays last.
    fn give(&mut self, point: u32, reach: f64) {
        self.outside.push(point);
        let last = self.outside.len() - 1;
        if reach > self.reach {
            self.reach = reach;
        } else if last > 0 {
            self.outside.swap(last - 1, last);
        }
    }
}

impl Hull {
    /// The ids of the vertices, ascending.
    pub(crate) fn vertices(&self) -> Vec<u32> {
        let mut ids: Vec<u32> = self.face.as_flattened().to_vec();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// The hull as MuJoCo keeps it: numvert, numface, `vert_edgeadr`, `vert_globalid`, `edge_localid`, `face_globalid`, where the
    /// neighbours of a vertex end with -1.
    pub(crate) fn graph(&self) -> Vec<i32> {
        let ids = self.vertices();
        let local = |v: &u32| ids.binary_search(v).unwrap_or(0);
        let mut neighbors = vec![Vec::new(); ids.len()];
        for [a, b, c] in &self.face {
            // each edge is passed once in each direction
            for (from, to) in [(a, b), (b, c), (c, a)] {
                neighbors[local(from)].push(local(to) as i32);
            }
        }
        let mut out = vec![ids.len() as i32, self.face.len() as i32];
        let mut at = 0;
        for n in &neighbors {
            out.push(at);
            at += n.len() as i32 + 1;
        }
        out.extend(ids.iter().map(|&v| v as i32));
        for n in neighbors {
            out.extend(n);
            out.push(-1);
        }
        out.extend(self.face.as_flattened().iter().map(|&v| v as i32));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// A closed surface of triangles with no point outside any of them by more than rounding.
    fn check(points: &[Vec3<f64>], hull: &Hull) {
        let edges: HashSet<(u32, u32)> = hull.face.iter().flat_map(|&[a, b, c]| [(a, b), (b, c), (c, a)]).collect();
        assert_eq!(edges.len(), 3 * hull.face.len(), "an edge is passed twice");
        assert!(edges.iter().all(|&(a, b)| edges.contains(&(b, a))), "the surface is open");
        assert_eq!(2 * hull.vertices().len(), hull.face.len() + 4, "Euler's formula");
        let p = |v: u32| points[v as usize];
        let c = |v: Vec3<f64>| Coord3D { x: v[0], y: v[1], z: v[2] };
        for &[a, b, d] in &hull.face {
            assert!(points.iter().all(|&x| orient3d(c(p(a)), c(p(b)), c(p(d)), c(x)) >= 0.0), "a point is outside");
        }
    }

    /// Numbers in -1..1 from a seed.
    fn noise(seed: &mut u64) -> f64 {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    #[test]
    fn hulls_of_awkward_sets_are_closed_and_hold_every_point() {
        let mut seed = 7;
        for round in 0..3000 {
            let mut x = || noise(&mut seed);
            let n = 4 + round % 50;
            let scale = 10_f64.powi(round % 13 - 6);
            let points: Vec<Vec3<f64>> = (0..n)
                .map(|_| {
                    let v = Vec3::new(x(), x(), x());
                    let v = match round % 6 {
                        0 => v,
                        1 => (v * 3.0).map(f64::round),
                        2 => Vec3::new(v[0], v[1], v[2] * 1e-7),
                        3 => v / v.norm(),
                        4 => Vec3::new((v[0] * 2.0).round(), (v[1] * 2.0).round(), v[2] * 1e-8),
                        _ => {
                            let r = v[0].hypot(v[1]);
                            Vec3::new(v[0] / r, v[1] / r, v[2].signum())
                        }
                    };
                    (v * scale).map(|x| f64::from(x as f32))
                })
                .collect();
            if let Ok(hull) = hull(&points, None) {
                check(&points, &hull);
            } else {
                assert!(round % 6 != 0 && round % 6 != 3 || n < 5, "round {round}: not flat");
            }
        }
    }

    #[test]
    fn a_grid_has_its_corners() {
        let points: Vec<_> =
            (0..125).map(|i| Vec3::new(f64::from(i % 5), f64::from(i / 5 % 5), f64::from(i / 25))).collect();
        let hull = hull(&points, None).expect("a cube");
        check(&points, &hull);
        assert_eq!(hull.vertices(), [0, 4, 20, 24, 100, 104, 120, 124]);
        let graph = hull.graph();
        assert_eq!((graph[0], graph[1], graph.len()), (8, 12, 2 + 3 * 8 + 6 * 12));
        let neighbors = &graph[2 + 16..2 + 16 + 8 + 36];
        assert_eq!(neighbors.iter().filter(|&&v| v == -1).count(), 8);
    }

    #[test]
    fn flat_sets_are_refused() {
        let line: Vec<_> = (0..9).map(|i| Vec3::new(f64::from(i), 0.0, 1.0)).collect();
        let plane: Vec<_> = (0..9).map(|i| Vec3::new(f64::from(i % 3), f64::from(i / 3), 0.5)).collect();
        for points in [&line, &plane, &vec![Vec3::zeros(); 5], &Vec::new()] {
            assert!(hull(points, None).is_err());
        }
    }

    #[test]
    fn a_limit_of_vertices_is_kept() {
        let mut seed = 3;
        let mut x = || noise(&mut seed);
        let points: Vec<_> = (0..500).map(|_| Vec3::new(x(), x(), x())).map(|v| v / v.norm()).collect();
        assert!(hull(&points, None).expect("a ball").vertices().len() == 500);
        assert_eq!(hull(&points, Some(20)).expect("a ball").vertices().len(), 20);
    }

    /// The vertices that MuJoCo 4.0.0 gives a mesh of the same 60 points with this `maxhullvert`. From 11 on the two take the
    /// points in another order.
    #[test]
    fn few_vertices_are_mujocos() {
        let mut seed = 11;
        let mut x = |size: f64| f64::from((noise(&mut seed) * size) as f32);
        let points: Vec<_> = (0..60).map(|_| Vec3::new(x(0.05), x(1.0), x(2.0))).collect();
        let taken = [&[20, 21, 27, 51][..], &[25], &[45], &[3], &[35], &[32], &[31]];
        let mut theirs = Vec::new();
        for (n, more) in (4..).zip(taken) {
            theirs.extend(more);
            theirs.sort_unstable();
            assert_eq!(hull(&points, Some(n)).expect("a hull").vertices(), theirs, "{n} vertices");
        }
    }
}
