//! Wavefront OBJ: positions and faces. Own code: the readers of the registry split a file by objects and drop or renumber
//! vertices, and MuJoCo keeps those of the file.

use super::{DAMAGED, Fault, Raw};

/// Faces of one polygon at most.
const MAX_CORNERS: usize = 4096;

pub(super) fn read(bytes: &[u8]) -> Result<Raw, Fault> {
    let mut raw = Raw::default();
    let (mut polygons, mut pending, mut closed) = (Polygons::default(), Vec::new(), false);
    // a carriage return ends a line too
    let lines = bytes.split(|&b| b == b'\n').enumerate().flat_map(|(n, line)| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        line.split(|&b| b == b'\r').enumerate().map(move |(k, part)| (n + k, part))
    });
    for (number, line) in lines {
        let joined: Vec<u8>;
        let mut line = line.trim_ascii_start();
        let comment = line.starts_with(b"#") && pending.is_empty();
        if let (Some(head), false) = (line.trim_ascii_end().strip_suffix(b"\\"), comment) {
            pending.extend(head);
            pending.push(b' ');
            continue;
        }
        if !pending.is_empty() {
            pending.extend(line);
            joined = std::mem::take(&mut pending);
            line = &joined;
        }
        let fault = |text: &str| Err(Fault::new(format!("line {} of the OBJ file: {text}", number + 1), DAMAGED));
        // most lines are normals and texture coordinates, which are drawn only
        let Some((kind @ (b'v' | b'f' | b'o' | b'g'), rest)) = line.split_first() else { continue };
        if matches!(kind, b'o' | b'g') {
            // as in MuJoCo the first group with faces is the mesh, and all vertices are its; a letter alone begins none
            if rest.first().is_some_and(u8::is_ascii_whitespace) {
                polygons.cut(&mut raw);
                closed = !raw.face.is_empty();
            }
            continue;
        }
        if !rest.first().is_some_and(u8::is_ascii_whitespace) {
            continue;
        }
        let mut words = rest.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
        if *kind == b'v' {
            let mut next = || std::str::from_utf8(words.next()?).ok()?.parse::<f32>().ok();
            let (Some(x), Some(y), Some(z)) = (next(), next(), next()) else {
                return fault("a vertex has three numbers");
            };
            raw.vert.push([x, y, z]);
            continue;
        }
        let start = polygons.corners.len();
        for word in words {
            match corner(word, raw.vert.len()) {
                Some(v) => polygons.corners.push(v),
                None => return fault(&format!("`{}` names no vertex", String::from_utf8_lossy(word))),
            }
        }
        match polygons.corners.len() - start {
            3..=MAX_CORNERS if !closed => polygons.ends.push(polygons.corners.len()),
            // lines and points have no area
            0..=MAX_CORNERS => polygons.corners.truncate(start),
            _ => return fault(&format!("a face of more than {MAX_CORNERS} vertices")),
        }
    }
    polygons.cut(&mut raw);
    Ok(raw)
}

/// The polygons of a group: their vertices may come after them in the file.
#[derive(Default)]
struct Polygons {
    corners: Vec<u32>,
    ends: Vec<usize>,
}

impl Polygons {
    /// Leaves none, and the triangles that they are cut into.
    fn cut(&mut self, raw: &mut Raw) {
        let mut start = 0;
        for end in self.ends.drain(..) {
            triangulate(&self.corners[start..end], raw);
            start = end;
        }
        self.corners.clear();
    }
}

/// The vertex of a corner `v`, `v/vt`, `v//vn` or `v/vt/vn`: counted from 1, or from the last vertex back.
fn corner(word: &[u8], count: usize) -> Option<u32> {
    let word = word.split(|&b| b == b'/').next()?;
    let (digits, back) = match word.split_first()? {
        (b'-', rest) => (rest, true),
        (b'+', rest) => (rest, false),
        _ => (word, false),
    };
    let digit = |n: u32, b: &u8| {
        let d = u32::from(b.checked_sub(b'0').filter(|&d| d < 10)?);
        n.checked_mul(10)?.checked_add(d)
    };
    let index = digits.iter().try_fold(0, digit).filter(|&n| n > 0 && !digits.is_empty())?;
    // a face may name vertices that come later in the file
    if back { u32::try_from(count).ok()?.checked_sub(index) } else { Some(index - 1) }
}

/// A polygon as triangles, as in MuJoCo: a quadrangle along its shorter diagonal, others by cutting off ears.
fn triangulate(polygon: &[u32], raw: &mut Raw) {
    let at = |v: u32| raw.vert.get(v as usize).copied().unwrap_or_default();
    let square = |[a, b]: [u32; 2]| (0..3).map(|k| at(a)[k] - at(b)[k]).map(|x| x * x).sum::<f32>();
    match *polygon {
        [a, b, c] => raw.face.push([a, b, c]),
        [a, b, c, d] => {
            let across = square([a, c]) < square([b, d]);
            raw.face.extend(if across { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] });
        }
        _ => {
            let [u, v] = plane(polygon, at);
            let mut faces = ears(polygon, |corner| [at(corner)[u], at(corner)[v]]);
            raw.face.append(&mut faces);
        }
    }
}

/// The two axes that a polygon is cut on: without the largest of the normal of its first corner that has an area.
fn plane(polygon: &[u32], at: impl Fn(u32) -> [f32; 3]) -> [usize; 2] {
    let n = polygon.len();
    let minus = |a: [f32; 3], b: [f32; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    for i in 0..n {
        let [a, b, c] = [0, 1, 2].map(|k| at(polygon[(i + k) % n]));
        let (p, q) = (minus(b, a), minus(c, b));
        let [x, y, z] = [[1, 2], [2, 0], [0, 1]].map(|[j, k]| (p[j] * q[k] - p[k] * q[j]).abs());
        if [x, y, z].iter().any(|&part| part > f32::EPSILON) {
            return match () {
                () if x > y && x > z => [1, 2],
                () if z > x && z > y => [0, 1],
                () => [0, 2],
            };
        }
    }
    [1, 2]
}

/// Triangles of a polygon in a plane, ear by ear. As in MuJoCo whether a corner points in is told from the area of its first edge
/// with the origin, so that where a polygon lies decides too; when no corner of a round is an ear, the rest is dropped, and so it is
/// where only the last corner of the first round was one.
fn ears(polygon: &[u32], at: impl Fn(u32) -> [f32; 2]) -> Vec<[u32; 3]> {
    let mut rest = polygon.to_vec();
    let mut faces = Vec::with_capacity(polygon.len() - 2);
    let (mut first, mut tries) = (0, polygon.len());
    while rest.len() > 3 && tries > 0 {
        tries -= 1;
        let n = rest.len();
        first %= n;
        let corner = |k: usize| rest[(first + k) % n];
        let ear = [0, 1, 2].map(corner);
        let [a, b, c] = ear.map(&at);
        let turn = (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0]);
        let area = (a[0] * b[1] - a[1] * b[0]) * 0.5;
        if turn * area < 0.0 || (3..n).any(|k| inside([a, b, c], at(corner(k)))) {
            first += 1;
            continue;
        }
        faces.push(ear);
        rest.remove((first + 1) % n);
        tries = if tries > 0 { rest.len() + 1 } else { 0 };
    }
    if let [a, b, c] = rest[..] {
        faces.push([a, b, c]);
    }
    faces
}

/// Whether a point lies in a triangle: a ray from it crosses an odd number of edges.
fn inside(triangle: [[f32; 2]; 3], [x, y]: [f32; 2]) -> bool {
    let crosses = |i: usize| {
        let ([px, py], [qx, qy]) = (triangle[i], triangle[(i + 2) % 3]);
        (py > y) != (qy > y) && x < (qx - px) * (y - py) / (qy - py) + px
    };
    (0..3).filter(|&i| crosses(i)).count() % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_count_from_either_end_and_polygons_are_cut() {
        let text = "# \u{e9}\nv 0 0 0\nv 1 0 0 1\nv 1 1 0\nv 0 \\\n 2 0\nvt 0 0\nf 1 2/1 3//2 4/1/2\nf -4 -3 -2\n";
        let raw = read(text.as_bytes()).expect("a mesh");
        assert_eq!(raw.vert[3], [0.0, 2.0, 0.0]);
        assert_eq!(raw.face, [[0, 1, 2], [0, 2, 3], [0, 1, 2]]);
        // an arrow's head: the corner that points in is no ear
        let text = "v 0 0 0\nv 4 2 0\nv 0 4 0\nv 1 3 0\nv 1 1 0\nf 1 2 3 4 5\n";
        let raw = read(text.as_bytes()).expect("a mesh");
        assert_eq!(raw.face.len(), 3);
        let area = |f: &[u32; 3]| {
            let [a, b, c] = f.map(|v| raw.vert[v as usize]);
            ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) / 2.0
        };
        assert!(raw.face.iter().all(|f| area(f) > 0.0));
        assert_eq!(raw.face.iter().map(area).sum::<f32>(), 5.0);
    }

    #[test]
    fn mistakes_have_a_line() {
        for (text, line) in [("v 1 2\n", 1), ("v 1 2 x\n", 1), ("v 0 0 0\r\nf 0 1 1\r\n", 2), ("#\r\rf 1 2 -1\r", 3)] {
            let fault = read(text.as_bytes()).expect_err(text);
            assert!(fault.text.contains(&format!("line {line} ")), "{text}: {}", fault.text);
        }
    }
}
