//! STL, binary and ASCII. Own code: the readers of the registry merge vertices in an order of their own, and MuJoCo's order
//! (that of first appearance, vertices equal bit by bit) is what other tools know the vertices by.

use super::{DAMAGED, Fault, Raw, word};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Bytes before the first triangle of a binary file.
const HEADER: usize = 84;
/// Bytes of a triangle.
const TRIANGLE: usize = 50;

pub(super) fn read(bytes: &[u8]) -> Result<Raw, Fault> {
    let count = word(bytes, 80).map_or(0, u32::from_le_bytes) as usize;
    if count > 0 && count.checked_mul(TRIANGLE).and_then(|n| n.checked_add(HEADER)) == Some(bytes.len()) {
        return Ok(binary(bytes));
    }
    if bytes.trim_ascii_start().starts_with(b"solid")
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        return ascii(text);
    }
    let text = if bytes.len() < HEADER {
        format!("an STL file has at least {HEADER} bytes, this one has {}", bytes.len())
    } else {
        format!("the STL file says that it has {count} triangles, and has {} bytes", bytes.len())
    };
    Err(Fault::new(text, DAMAGED))
}

fn binary(bytes: &[u8]) -> Raw {
    let triangles = bytes[HEADER..].chunks_exact(TRIANGLE);
    let mut merge = Merge::with_capacity(triangles.len());
    for t in triangles {
        // the normal comes first
        let coordinate = |k: usize| word(t, 12 + 4 * k).map_or(0.0, f32::from_le_bytes);
        let corner = |c: usize| [coordinate(3 * c), coordinate(3 * c + 1), coordinate(3 * c + 2)];
        merge.triangle([corner(0), corner(1), corner(2)]);
    }
    merge.raw
}

fn ascii(text: &str) -> Result<Raw, Fault> {
    let (mut merge, mut corners) = (Merge::with_capacity(0), Vec::new());
    for (line, content) in text.lines().enumerate() {
        let mut words = content.split_ascii_whitespace();
        if words.next().is_some_and(|w| w.eq_ignore_ascii_case("vertex")) {
            let numbers: Vec<f32> = words.map_while(|w| w.parse().ok()).collect();
            let Ok(corner) = numbers.try_into() else {
                let text = format!("line {} of the STL file is no vertex of three numbers", line + 1);
                return Err(Fault::new(text, DAMAGED));
            };
            corners.push(corner);
            if let [a, b, c] = corners[..] {
                merge.triangle([a, b, c]);
                corners.clear();
            }
        }
    }
    if !corners.is_empty() || merge.raw.face.is_empty() {
        return Err(Fault::new("the STL file ends within a triangle, or has none", DAMAGED));
    }
    Ok(merge.raw)
}

/// Triangles put together to a mesh whose vertices are shared.
struct Merge {
    raw: Raw,
    ids: HashMap<[u32; 3], u32, BuildHasherDefault<Mixer>>,
}

impl Merge {
    fn with_capacity(triangles: usize) -> Self {
        let mut ids = HashMap::default();
        // half as many vertices as faces in a closed mesh
        ids.reserve(triangles / 2);
        Self { raw: Raw { vert: Vec::with_capacity(triangles / 2), face: Vec::with_capacity(triangles) }, ids }
    }

    fn triangle(&mut self, corners: [[f32; 3]; 3]) {
        let face = corners.map(|corner| {
            let next = self.raw.vert.len() as u32;
            let id = *self.ids.entry(corner.map(f32::to_bits)).or_insert(next);
            if id == next {
                self.raw.vert.push(corner);
            }
            id
        });
        self.raw.face.push(face);
    }
}

/// Mixes the words of a key; the standard hasher takes most of the time of reading a file.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(4) {
            let word = chunk.iter().fold(0_u64, |w, &b| (w << 8) | u64::from(b));
            self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tetrahedron's triangles.
    const FACES: [[[f32; 3]; 3]; 4] = {
        let [o, x, y, z] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
        [[o, y, x], [o, x, z], [o, z, y], [x, y, z]]
    };

    fn file() -> Vec<u8> {
        let mut bytes = vec![b' '; 80];
        bytes.extend((FACES.len() as u32).to_le_bytes());
        for f in FACES {
            bytes.extend([0; 12]);
            f.as_flattened().iter().for_each(|x| bytes.extend(x.to_le_bytes()));
            bytes.extend([0; 2]);
        }
        bytes
    }

    #[test]
    fn vertices_are_merged_in_order_of_appearance() {
        let raw = read(&file()).expect("a mesh");
        assert_eq!(raw.vert, [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]);
        assert_eq!(raw.face, [[0, 1, 2], [0, 2, 3], [0, 3, 1], [2, 1, 3]]);
        let mut text = "solid t\n".to_owned();
        for f in FACES {
            text += "facet normal 0 0 0\n outer loop\n";
            f.iter().for_each(|[x, y, z]| text += &format!("  vertex {x} {y} {z}\n"));
            text += " endloop\nendfacet\n";
        }
        assert_eq!(read(text.as_bytes()), Ok(raw));
    }

    #[test]
    fn damaged_files_are_explained() {
        let whole = file();
        for n in 0..whole.len() {
            assert!(read(&whole[..n]).is_err(), "{n} bytes");
        }
        let mut huge = whole;
        huge[80..84].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(read(&huge).is_err());
        assert!(read(b"solid\nvertex 1 2\n").is_err_and(|e| e.text.contains("line 2")));
        assert!(read(b"solid\nvertex 1 2 3\n").is_err());
    }
}
