//! Height fields: elevations from a PNG image, a binary file, or numbers in place, brought to the range 0 to 1.

use crate::mesh::Fault;
use kiloworld_layout::consts::MINVAL;
use kiloworld_mjcf::spec::{AssetFile, Hfield};
use std::io::Cursor;

/// A grid of elevations, rows along x, the row of the smallest y first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Grid {
    pub rows: usize,
    pub cols: usize,
    /// from 0 to 1; single precision, as in MuJoCo
    pub data: Vec<f32>,
}

/// No grid has more points.
const MAX_POINTS: usize = 1 << 24;
/// What to do about a file that cannot be read.
const DAMAGED: &str = "the file is damaged or of another format; write it again as a PNG image";

/// The grid of an element.
pub(crate) fn grid(h: &Hfield) -> Result<Grid, Fault> {
    let mut grid = match &h.file {
        Some(file) if is_png(file) => png(file.content.bytes())?,
        Some(file) => binary(file.content.bytes())?,
        None => written(h)?,
    };
    if grid.rows < 2 || grid.cols < 2 {
        let text =
            format!("a height field has at least 2 rows and 2 columns, this one {} and {}", grid.rows, grid.cols);
        return Err(Fault::new(text, "give nrow and ncol, or a file"));
    }
    if let Some(i) = grid.data.iter().position(|x| !x.is_finite()) {
        return Err(Fault::new(format!("elevation {i} of the height field is not finite"), DAMAGED));
    }
    let low = grid.data.iter().copied().fold(f32::INFINITY, f32::min);
    let range = grid.data.iter().copied().fold(f32::NEG_INFINITY, f32::max) - low;
    if !range.is_finite() {
        return Err(Fault::new(
            "the elevations of the height field are too far apart",
            "scale them; their range is made 1",
        ));
    }
    let steps = f64::from(range) > MINVAL;
    grid.data.iter_mut().for_each(|x| *x = if steps { (*x - low) / range } else { *x - low });
    Ok(grid)
}

/// Rows times columns, where a grid may have as many points.
fn points(rows: usize, cols: usize) -> Result<usize, Fault> {
    rows.checked_mul(cols).filter(|&n| n <= MAX_POINTS).ok_or_else(|| {
        let text = format!("a height field of {rows} times {cols} points is too large");
        Fault::new(text, "use at most 17 million points")
    })
}

fn is_png(file: &AssetFile) -> bool {
    match file.content_type.as_deref() {
        Some("image/png") => true,
        Some("image/vnd.mujoco.hfield") => false,
        _ => file.extension() == "png",
    }
}

/// The first channel of an image, in 8 bits as MuJoCo reads it; the bottom row first.
fn png(bytes: &[u8]) -> Result<Grid, Fault> {
    let fault = |e: ::png::DecodingError| Fault::new(format!("the PNG image cannot be read: {e}"), DAMAGED);
    let limits = ::png::Limits { bytes: 4 * MAX_POINTS };
    let mut decoder = ::png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_transformations(::png::Transformations::EXPAND | ::png::Transformations::STRIP_16);
    let mut reader = decoder.read_info().map_err(fault)?;
    let (rows, cols) = (reader.info().height as usize, reader.info().width as usize);
    points(rows, cols)?;
    let size = reader.output_buffer_size().filter(|&n| n <= 4 * MAX_POINTS);
    let mut pixels = vec![0; size.ok_or_else(|| Fault::new("the PNG image is too large", DAMAGED))?];
    let frame = reader.next_frame(&mut pixels).map_err(fault)?;
    let channels = frame.color_type.samples();
    if frame.line_size != cols * channels {
        return Err(Fault::new("the PNG image has pixels of an unknown kind", DAMAGED));
    }
    let lines = pixels.chunks_exact(frame.line_size).rev();
    let data = lines.flat_map(|line| line.iter().step_by(channels)).map(|&p| f32::from(p)).collect();
    Ok(Grid { rows, cols, data })
}

/// MuJoCo's own format: rows, columns, then the elevations.
fn binary(bytes: &[u8]) -> Result<Grid, Fault> {
    let (words, rest) = bytes.as_chunks::<4>();
    let count = |k: usize| words.get(k).and_then(|w| usize::try_from(i32::from_le_bytes(*w)).ok());
    let (Some(rows), Some(cols)) = (count(0), count(1)) else {
        return Err(Fault::new("the file of the height field has no rows and columns", DAMAGED));
    };
    if points(rows, cols)? + 2 != words.len() || !rest.is_empty() {
        let text =
            format!("the height field's file says {rows} rows and {cols} columns, and has {} bytes", bytes.len());
        return Err(Fault::new(text, DAMAGED));
    }
    Ok(Grid { rows, cols, data: words[2..].iter().map(|w| f32::from_le_bytes(*w)).collect() })
}

/// Elevations in the element itself, where the top row comes first; or none: a flat field.
fn written(h: &Hfield) -> Result<Grid, Fault> {
    let [rows, cols] = [h.nrow, h.ncol].map(|n| usize::try_from(n).unwrap_or(0));
    let n = points(rows, cols)?;
    if h.elevation.is_empty() {
        return Ok(Grid { rows, cols, data: vec![0.0; n] });
    }
    if h.elevation.len() != n {
        let text = format!("`elevation` has {} numbers, and nrow times ncol is {n}", h.elevation.len());
        return Err(Fault::new(text, "give one number for each point"));
    }
    let data = h.elevation.chunks(cols.max(1)).rev().flatten().map(|&x| x as f32).collect();
    Ok(Grid { rows, cols, data })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiloworld_mjcf::spec::Content;

    fn file(name: &str, bytes: Vec<u8>) -> Hfield {
        let file = AssetFile { name: name.into(), content_type: None, content: Content::new(bytes) };
        Hfield { file: Some(file), ..Hfield::default() }
    }

    #[test]
    fn numbers_in_place_are_turned_over_and_scaled() {
        let h = Hfield { nrow: 2, ncol: 3, elevation: vec![1.0, 2.0, 3.0, 4.0, 5.0, 9.0], ..Hfield::default() };
        let g = grid(&h).expect("a grid");
        assert_eq!((g.rows, g.cols, g.data), (2, 3, vec![0.375, 0.5, 1.0, 0.0, 0.125, 0.25]));
        assert_eq!(grid(&Hfield { elevation: Vec::new(), ..h.clone() }).expect("a flat grid").data, [0.0; 6]);
        for (nrow, ncol) in [(2, 2), (1, 6), (0, 0), (-1, 3), (i32::MAX, i32::MAX)] {
            assert!(grid(&Hfield { nrow, ncol, ..h.clone() }).is_err());
        }
    }

    #[test]
    fn binary_files_have_exact_sizes() {
        let mut bytes: Vec<u8> = [2_i32, 2].iter().flat_map(|n| n.to_le_bytes()).collect();
        [1.0_f32, 2.0, 3.0, 5.0].iter().for_each(|x| bytes.extend(x.to_le_bytes()));
        assert_eq!(grid(&file("a.bin", bytes.clone())).expect("a grid").data, [0.0, 0.25, 0.5, 1.0]);
        for n in 0..bytes.len() {
            assert!(grid(&file("a.bin", bytes[..n].to_vec())).is_err());
        }
        bytes[8..12].copy_from_slice(&f32::NAN.to_le_bytes());
        assert!(grid(&file("a.bin", bytes.clone())).is_err_and(|e| e.text.contains("not finite")));
        bytes[..8].copy_from_slice(&[0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f]);
        assert!(grid(&file("a.bin", bytes)).is_err_and(|e| e.text.contains("too large")));
    }

    #[test]
    fn images_give_their_first_channel_from_the_bottom_up() {
        for (color, depth, pixels) in [
            (::png::ColorType::Grayscale, ::png::BitDepth::Eight, vec![10, 20, 50, 110]),
            (::png::ColorType::Rgb, ::png::BitDepth::Eight, vec![10, 1, 2, 20, 3, 4, 50, 5, 6, 110, 7, 8]),
            (::png::ColorType::Grayscale, ::png::BitDepth::Sixteen, vec![10, 7, 20, 7, 50, 7, 110, 7]),
        ] {
            let mut bytes = Vec::new();
            let mut encoder = ::png::Encoder::new(&mut bytes, 2, 2);
            encoder.set_color(color);
            encoder.set_depth(depth);
            encoder.write_header().expect("written").write_image_data(&pixels).expect("written");
            assert_eq!(grid(&file("a.PNG", bytes.clone())).expect("a grid").data, [0.4, 1.0, 0.0, 0.1]);
            for n in 0..bytes.len() - 16 {
                assert!(grid(&file("a.png", bytes[..n].to_vec())).is_err(), "{n} bytes");
            }
        }
    }
}
