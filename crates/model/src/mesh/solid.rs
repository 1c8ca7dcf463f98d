//! Volume or area, centre and inertia of a mesh, by pyramids over its faces.

use super::{Fault, corners};
use kiloworld_cpu::math::{Mat3, Vec3};
use kiloworld_layout::consts::MINVAL;
use kiloworld_mjcf::spec::MeshInertia;
use std::collections::HashSet;

/// A mesh as a body of density 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Solid {
    /// centre of mass \[m\]
    pub center: Vec3<f64>,
    /// volume \[m³\], or area \[m²\] of a shell
    pub content: f64,
    /// about the centre
    pub inertia: Mat3<f64>,
}

/// A part of the body: a pyramid, or a triangle of the shell.
struct Part {
    content: f64,
    corners: [Vec3<f64>; 3],
}

/// The body that a mesh encloses, or its shell. `mode` says what the faces mean; those of a convex hull are exact.
pub(crate) fn solid(vert: &[Vec3<f64>], face: &[[u32; 3]], mode: MeshInertia) -> Result<Solid, Fault> {
    if mode == MeshInertia::Exact {
        oriented(face)?;
    }
    let area = |[a, b, c]: [Vec3<f64>; 3]| (b - a).cross(&(c - a)).norm() / 2.0;
    let (mut total, mut centroid) = (0.0, Vec3::zeros());
    for f in face {
        let t = corners(vert, f);
        let weight = area(t);
        total += weight;
        centroid += (t[0] + t[1] + t[2]) * (weight / 3.0);
    }
    if total.is_nan() || total < MINVAL {
        return Err(Fault::new(format!("the faces of the mesh have an area of {total}"), "scale it up"));
    }
    let centroid = centroid / total;
    let part = |origin: Vec3<f64>, f: &[u32; 3]| {
        let t = corners(vert, f).map(|v| v - origin);
        let content = match mode {
            MeshInertia::Shell => area(t),
            MeshInertia::Legacy => (t[0].dot(&t[1].cross(&t[2])) / 6.0).abs(),
            MeshInertia::Exact | MeshInertia::Convex => t[0].dot(&t[1].cross(&t[2])) / 6.0,
        };
        Part { content, corners: t }
    };
    // a pyramid's centre is at 3/4 of the way from its tip to its base
    let (reach, spread) = if mode == MeshInertia::Shell { (1.0 / 3.0, 12.0) } else { (1.0 / 4.0, 20.0) };
    let (mut content, mut moment) = (0.0, Vec3::zeros());
    for f in face {
        let p = part(centroid, f);
        content += p.content;
        moment += (p.corners[0] + p.corners[1] + p.corners[2]) * (p.content * reach);
    }
    enough(content)?;
    let center = centroid + moment / content;
    // again about the centre of mass: the pyramids of the legacy mode depend on where their tips are
    let (mut content, mut second) = (0.0, Mat3::zeros());
    for f in face {
        let p = part(center, f);
        content += p.content;
        let sum = p.corners[0] + p.corners[1] + p.corners[2];
        let squares = p.corners.iter().map(|c| c.outer(c)).sum::<Mat3<f64>>() + sum.outer(&sum);
        second += squares * (p.content / spread);
    }
    enough(content)?;
    Ok(Solid { center, content, inertia: Mat3::identity() * second.trace() - second })
}

fn enough(content: f64) -> Result<(), Fault> {
    if content >= MINVAL {
        Ok(())
    } else if content <= -MINVAL {
        Err(Fault::new(
            format!("the mesh has a volume of {content}: its faces are turned inside out"),
            "flip its faces",
        ))
    } else {
        Err(Fault::new(format!("the mesh has a volume of {content}"), "set the mesh's inertia to \"shell\""))
    }
}

/// Every edge is passed once in a direction at most, or the faces disagree about what is inside.
fn oriented(face: &[[u32; 3]]) -> Result<(), Fault> {
    let mut edges = HashSet::with_capacity(3 * face.len());
    for [a, b, c] in face {
        for edge in [(a, b), (b, c), (c, a)] {
            if a != b && b != c && c != a && !edges.insert(edge) {
                let text = format!("the faces at the vertices {} and {} are not oriented alike", edge.0, edge.1);
                return Err(Fault::new(text, "orient the faces alike, or use inertia=\"convex\""));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUBE: [[u32; 3]; 12] = [
        [0, 2, 1],
        [1, 2, 3],
        [4, 5, 6],
        [5, 7, 6],
        [0, 1, 4],
        [1, 5, 4],
        [2, 6, 3],
        [3, 6, 7],
        [0, 4, 2],
        [2, 4, 6],
        [1, 3, 5],
        [3, 7, 5],
    ];

    fn cube(at: Vec3<f64>) -> Vec<Vec3<f64>> {
        (0..8).map(|i| Vec3::new(f64::from(i & 1), f64::from(i >> 1 & 1), f64::from(i >> 2)) * 2.0 + at).collect()
    }

    #[test]
    fn a_cube_weighs_what_a_box_weighs() {
        let at = Vec3::new(3.0, -2.0, 1.0);
        for mode in [MeshInertia::Exact, MeshInertia::Convex, MeshInertia::Legacy] {
            let s = solid(&cube(at), &CUBE, mode).expect("a solid");
            assert!((s.content - 8.0).abs() < 1e-12 && (s.center - at - Vec3::repeat(1.0)).norm() < 1e-12);
            let wrong = s.inertia - Mat3::identity() * (8.0 * 2.0 / 3.0);
            assert!(wrong.as_slice().iter().all(|x| x.abs() < 1e-12), "{wrong:?}");
        }
        let s = solid(&cube(at), &CUBE, MeshInertia::Shell).expect("a shell");
        // two faces at distance 1 and four around with a mean square of 1/3
        let moment = 4.0 * (2.0 * 1.0 + 4.0 / 3.0) * 2.0;
        assert!((s.content - 24.0).abs() < 1e-12 && (s.inertia[(0, 0)] - moment).abs() < 1e-12);
    }

    #[test]
    fn bad_faces_are_explained() {
        let v = cube(Vec3::zeros());
        let flipped = CUBE.map(|[a, b, c]| [a, c, b]);
        assert!(solid(&v, &flipped, MeshInertia::Exact).is_err_and(|e| e.text.contains("inside out")));
        let mut one = CUBE;
        one[3].swap(0, 1);
        assert!(solid(&v, &one, MeshInertia::Exact).is_err_and(|e| e.text.contains("alike")));
        assert!(solid(&v, &CUBE[..2], MeshInertia::Legacy).is_err_and(|e| e.remedy.contains("shell")));
        assert!(solid(&v, &[], MeshInertia::Shell).is_err());
    }
}
