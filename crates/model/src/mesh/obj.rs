//! Wavefront OBJ: positions and faces. Own code: the readers of the registry split a file by objects and drop or renumber
//! vertices, and MuJoCo keeps those of the file.

use super::{DAMAGED, Fault, Raw};

/// Faces of one polygon at most.
const MAX_CORNERS: usize = 4096;

pub(super) fn read(bytes: &[u8]) -> Result<Raw, Fault> {
    let mut raw = Raw::default();
    let (mut polygon, mut pending, mut closed) = (Vec::new(), Vec::new(), false);
    for (number, line) in bytes.split(|&b| b == b'\n').enumerate() {
        let joined: Vec<u8>;
        let mut line = line.trim_ascii();
        if let Some(head) = line.strip_suffix(b"\\") {
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
            // as in MuJoCo the first named group with faces is the mesh, and all vertices are its
            closed |= rest.first().is_some_and(u8::is_ascii_whitespace) && !raw.face.is_empty();
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
        polygon.clear();
        for word in words {
            match corner(word, raw.vert.len()) {
                Some(v) => polygon.push(v),
                None => return fault(&format!("`{}` names no vertex", String::from_utf8_lossy(word))),
            }
        }
        match polygon.len() {
            // lines and points have no area
            _ if closed => {}
            0 => return fault("a face without vertices"),
            1..3 => {}
            3..=MAX_CORNERS => triangulate(&polygon, &mut raw),
            _ => return fault(&format!("a face of more than {MAX_CORNERS} vertices")),
        }
    }
    Ok(raw)
}

/// The vertex of a corner `v`, `v/vt`, `v//vn` or `v/vt/vn`: counted from 1, or from the last vertex back.
fn corner(word: &[u8], count: usize) -> Option<u32> {
    let word = word.split(|&b| b == b'/').next()?;
    let (digits, back) = word.strip_prefix(b"-").map_or((word, false), |rest| (rest, true));
    let digit = |n: u32, b: &u8| {
        let d = u32::from(b.checked_sub(b'0').filter(|&d| d < 10)?);
        n.checked_mul(10)?.checked_add(d)
    };
    let index = digits.iter().try_fold(0, digit).filter(|&n| n > 0 && !digits.is_empty())?;
    // a face may name vertices that come later in the file
    if back { u32::try_from(count).ok()?.checked_sub(index) } else { Some(index - 1) }
}

/// A polygon as triangles: a quadrangle along its shorter diagonal, others by cutting off ears.
fn triangulate(polygon: &[u32], raw: &mut Raw) {
    let at = |v: u32| raw.vert.get(v as usize).copied().unwrap_or_default();
    let minus = |a: [f32; 3], b: [f32; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    let cross =
        |a: [f32; 3], b: [f32; 3]| [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    let dot = |a: [f32; 3], b: [f32; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    match *polygon {
        [a, b, c] => raw.face.push([a, b, c]),
        [a, b, c, d] => {
            let (ac, bd) = (minus(at(a), at(c)), minus(at(b), at(d)));
            let across = dot(ac, ac) < dot(bd, bd);
            raw.face.extend(if across { [[a, b, c], [a, c, d]] } else { [[a, b, d], [b, c, d]] });
        }
        _ => {
            // twice the area vector of the polygon
            let normal = polygon.iter().zip(polygon.iter().cycle().skip(1)).fold([0.0; 3], |n, (&a, &b)| {
                let c = cross(at(a), at(b));
                [n[0] + c[0], n[1] + c[1], n[2] + c[2]]
            });
            let turn = |a: u32, b: u32, c: u32| dot(normal, cross(minus(at(b), at(a)), minus(at(c), at(a))));
            let mut rest = polygon.to_vec();
            let mut faces = Vec::with_capacity(polygon.len() - 2);
            while rest.len() > 3 {
                let n = rest.len();
                let ear = (0..n).find(|&i| {
                    let [a, b, c] = [rest[i], rest[(i + 1) % n], rest[(i + 2) % n]];
                    let inside = |p: u32| turn(a, b, p) > 0.0 && turn(b, c, p) > 0.0 && turn(c, a, p) > 0.0;
                    turn(a, b, c) > 0.0 && !rest.iter().any(|&p| ![a, b, c].contains(&p) && inside(p))
                });
                // a polygon that crosses itself has no ear: any corner goes
                let i = ear.unwrap_or(0);
                faces.push([rest[i], rest[(i + 1) % n], rest[(i + 2) % n]]);
                rest.remove((i + 1) % n);
            }
            faces.push([rest[0], rest[1], rest[2]]);
            raw.face.append(&mut faces);
        }
    }
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
        for (text, line) in [("v 1 2\n", 1), ("v 1 2 x\n", 1), ("v 0 0 0\nf 0 1 1\n", 2), ("f 1 2 -1\n", 1)] {
            let fault = read(text.as_bytes()).expect_err(text);
            assert!(fault.text.contains(&format!("line {line} ")), "{text}: {}", fault.text);
        }
    }
}
