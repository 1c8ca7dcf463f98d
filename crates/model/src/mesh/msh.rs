//! MuJoCo's binary MSH: counts of vertices, normals, texture coordinates and faces, then these.

use super::{DAMAGED, Fault, Raw, word};

/// Bytes of the counts.
const HEADER: usize = 16;

pub(super) fn read(bytes: &[u8]) -> Result<Raw, Fault> {
    let count = |k: usize| word(bytes, 4 * k).map(i32::from_le_bytes).and_then(|n| usize::try_from(n).ok());
    let (Some(verts), Some(normals), Some(coords), Some(faces)) = (count(0), count(1), count(2), count(3)) else {
        return Err(Fault::new("the MSH file has no header of four counts", DAMAGED));
    };
    let per_vertex = |n: usize| n == 0 || n == verts;
    // counts fit 31 bits, and so does their weighted sum in 64
    let size = HEADER as u64 + 12 * (verts as u64 + normals as u64 + faces as u64) + 8 * coords as u64;
    if !per_vertex(normals) || !per_vertex(coords) || size != bytes.len() as u64 {
        let text = format!(
            "the MSH file says {verts} vertices, {normals} normals, {coords} texture coordinates, {faces} faces, and has {} bytes",
            bytes.len()
        );
        return Err(Fault::new(text, DAMAGED));
    }
    let words = |from: usize, n: usize| (0..n).map(move |k| word(bytes, from + 4 * k).unwrap_or_default());
    let coordinates: Vec<f32> = words(HEADER, 3 * verts).map(f32::from_le_bytes).collect();
    let indices: Vec<u32> = words(bytes.len() - 12 * faces, 3 * faces).map(u32::from_le_bytes).collect();
    Ok(Raw { vert: coordinates.as_chunks().0.to_vec(), face: indices.as_chunks().0.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_must_be_exact() {
        let header = |n: [i32; 4]| n.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>();
        let mut file = header([4, 0, 4, 1]);
        (0..12).for_each(|k: u8| file.extend(f32::from(k).to_le_bytes()));
        file.extend([0; 32]);
        [0_i32, 1, 2].iter().for_each(|k| file.extend(k.to_le_bytes()));
        let raw = read(&file).expect("a mesh");
        assert_eq!((raw.vert[3], raw.face.as_slice()), ([9.0, 10.0, 11.0], &[[0, 1, 2]][..]));
        for n in 0..file.len() {
            assert!(read(&file[..n]).is_err());
        }
        for counts in [[-1, 0, 0, 0], [i32::MAX; 4], [4, 3, 0, 0]] {
            assert!(read(&header(counts)).is_err());
        }
    }
}
