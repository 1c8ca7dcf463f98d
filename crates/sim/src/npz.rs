//! Arrays in npz files. Everything that a file of others says of itself is compared with what is there before it is used.

use std::collections::BTreeMap;
use std::io::{Cursor, Read, Write};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

/// Most members of an archive.
const MOST_MEMBERS: usize = 4096;
/// Bytes that an archive may unpack to, whatever its own size ...
const MOST_BYTES: u64 = 64 << 20;
/// ... and times its own size: numbers of simulations shrink less.
const MOST_SHRINK: u64 = 100;
/// Bytes from which on a member has sizes of 8 bytes.
const LARGE: usize = u32::MAX as usize - MOST_HEADER;
/// Bytes of an array's header.
const MOST_HEADER: usize = 1 << 16;

/// An array: shape and values, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// elements along each axis
    pub shape: Vec<usize>,
    /// the elements
    pub values: Values,
}

/// Elements, by their type in the file.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the types' names")]
pub enum Values {
    F64(Vec<f64>),
    F32(Vec<f32>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    Bool(Vec<bool>),
}

/// Why a file gives no arrays.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NpzError {
    /// it is something else
    #[error("it is no npz archive")]
    NotNpz,
    /// it was cut short or changed, or is more than is read
    #[error("{0}")]
    Damaged(String),
}

/// Arrays by name.
pub type Arrays = BTreeMap<String, Array>;

/// The bytes of an archive of arrays; there is no time in it, so that the same arrays are the same bytes.
///
/// # Errors
/// An array is not as large as its shape.
pub fn write(arrays: &Arrays) -> std::io::Result<Vec<u8>> {
    let mut npz = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(DateTime::default());
    for (name, Array { shape, values }) in arrays {
        macro_rules! put {
            ($kind:literal, $v:ident, $bytes:expr) => {{
                if shape.iter().try_fold(1_usize, |n, &d| n.checked_mul(d)) != Some($v.len()) {
                    let what = format!("{name}: {} elements are not of shape {shape:?}", $v.len());
                    return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, what));
                }
                let bytes: Vec<u8> = $v.iter().flat_map($bytes).collect();
                npz.start_file(format!("{name}.npy"), options.large_file(bytes.len() >= LARGE))?;
                npz.write_all(&header($kind, shape))?;
                npz.write_all(&bytes)?;
            }};
        }
        match values {
            Values::F64(v) => put!("<f8", v, |x| x.to_le_bytes()),
            Values::F32(v) => put!("<f4", v, |x| x.to_le_bytes()),
            Values::I32(v) => put!("<i4", v, |x| x.to_le_bytes()),
            Values::I64(v) => put!("<i8", v, |x| x.to_le_bytes()),
            Values::U8(v) => put!("|u1", v, |&x| [x]),
            Values::Bool(v) => put!("|b1", v, |&x| [u8::from(x)]),
        }
    }
    Ok(npz.finish()?.into_inner())
}

/// What stands before the elements of an npy file, version 1.0: a dictionary, filled up so that elements start at a multiple
/// of 64 bytes (NumPy documentation, `numpy.lib.format`).
fn header(kind: &str, shape: &[usize]) -> Vec<u8> {
    let mut text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': (");
    for n in shape {
        text.push_str(&format!("{n}, "));
    }
    text.push_str("), }");
    let before = b"\x93NUMPY\x01\x00".len() + 2;
    let whole = (before + text.len() + 1).next_multiple_of(64);
    let text = format!("{text:<width$}\n", width = whole - before - 1);
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
    [&b"\x93NUMPY\x01\x00"[..], &length.to_le_bytes(), text.as_bytes()].concat()
}

/// Every array of an archive by name; its checksums are compared, and what is no array is left out.
///
/// # Errors
/// The archive cannot be read, or unpacks to more than 64 MiB and more than 100 times its size, or an array says of itself what is
/// not so.
pub fn read(bytes: &[u8]) -> Result<Arrays, NpzError> {
    let damaged = |what: String| NpzError::Damaged(what);
    if has_zip64_end(bytes) {
        return Err(damaged("its list of contents is longer than 65,535".to_owned()));
    }
    let mut zip = ZipArchive::new(Cursor::new(bytes)).map_err(|e| match (bytes.starts_with(b"PK"), e) {
        (true, e) => damaged(format!("its list of contents cannot be read ({e}); it may be cut short")),
        (false, ZipError::Io(e)) => damaged(e.to_string()),
        (false, _) => NpzError::NotNpz,
    })?;
    if zip.len() > MOST_MEMBERS {
        return Err(damaged(format!("it has {} members, at most {MOST_MEMBERS} are read", zip.len())));
    }
    let mut room = MOST_BYTES.max((bytes.len() as u64).saturating_mul(MOST_SHRINK));
    let mut out = BTreeMap::new();
    for k in 0..zip.len() {
        let file = zip.by_index(k).map_err(|e| damaged(e.to_string()))?;
        let name = file.name().map_err(|e| damaged(e.to_string()))?;
        let Some(name) = name.strip_suffix(".npy").map(str::to_owned) else { continue };
        let size = file.size();
        room = room.checked_sub(size).ok_or_else(|| {
            damaged(format!(
                "{name}: its arrays unpack to more than {} bytes",
                MOST_BYTES.max(bytes.len() as u64 * MOST_SHRINK)
            ))
        })?;
        let mut npy = Vec::new();
        // to the end, where the checksum is compared, and no further than it says
        file.take(size + 1).read_to_end(&mut npy).map_err(|e| damaged(format!("{name}: {e}")))?;
        if npy.len() as u64 != size {
            return Err(damaged(format!("{name} has not the {size} bytes that the list of contents says")));
        }
        let array = parse(&npy).map_err(|e| damaged(format!("{name}: {e}")))?;
        if out.insert(name.clone(), array).is_some() {
            return Err(damaged(format!("{name} is there twice")));
        }
    }
    Ok(out)
}

/// True where the archive ends as those do that count more than 65,535 members: room is made for the count before it is checked.
fn has_zip64_end(bytes: &[u8]) -> bool {
    // the end is 22 bytes and a comment; the locator of the longer one stands 20 before it
    let tail = &bytes[bytes.len().saturating_sub(22 + 0xffff + 20)..];
    tail.windows(24).any(|w| w.starts_with(b"PK\x06\x07") && w.ends_with(b"PK\x05\x06"))
}

/// An array from the bytes of an npy file.
fn parse(bytes: &[u8]) -> Result<Array, String> {
    let cut = || "it is cut short".to_owned();
    let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or("it is no npy array")?;
    let (header, data) = match rest {
        [1, _, a, b, rest @ ..] => rest.split_at_checked(usize::from(u16::from_le_bytes([*a, *b]))),
        [2 | 3, _, a, b, c, d, rest @ ..] => {
            let len = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
            if len > MOST_HEADER {
                return Err(format!("its header has {len} bytes"));
            }
            rest.split_at_checked(len)
        }
        _ => return Err("it is of an unknown version of npy".to_owned()),
    }
    .ok_or_else(cut)?;
    let header = std::str::from_utf8(header).map_err(|_| "its header is no text")?;
    let shape = shape(header)?;
    if shape.len() > 1 && item(header, "fortran_order")?.starts_with("True") {
        return Err("it is in Fortran order; save np.ascontiguousarray of it".to_owned());
    }
    let kind = item(header, "descr")?.trim_start_matches(['\'', '"']);
    let kind = kind.split(['\'', '"']).next().unwrap_or_default();
    let width = match kind.trim_start_matches(['<', '|', '=']) {
        "f8" | "i8" => 8,
        "f4" | "i4" => 4,
        "u1" | "b1" => 1,
        _ => return Err(format!("element type {}; save it as float64", kind.chars().take(20).collect::<String>())),
    };
    let count = shape.iter().try_fold(1_usize, |n, &d| n.checked_mul(d));
    if count.and_then(|n| n.checked_mul(width)) != Some(data.len()) {
        return Err(format!(
            "its shape {shape:?} asks for another number of bytes than the {} that are there",
            data.len()
        ));
    }
    macro_rules! elements {
        ($t:ty) => {{
            let (all, _) = data.as_chunks::<{ size_of::<$t>() }>();
            all.iter().map(|b| <$t>::from_le_bytes(*b)).collect()
        }};
    }
    let values = match kind.trim_start_matches(['<', '|', '=']) {
        "f8" => Values::F64(elements!(f64)),
        "f4" => Values::F32(elements!(f32)),
        "i8" => Values::I64(elements!(i64)),
        "i4" => Values::I32(elements!(i32)),
        "b1" => Values::Bool(data.iter().map(|&b| b != 0).collect()),
        _ => Values::U8(data.to_vec()),
    };
    Ok(Array { shape, values })
}

/// What follows the key of a header's dictionary.
fn item<'h>(header: &'h str, key: &str) -> Result<&'h str, String> {
    let after = [format!("'{key}'"), format!("\"{key}\"")].iter().find_map(|k| header.split_once(k.as_str()));
    let value = after.and_then(|(_, rest)| rest.trim_start().strip_prefix(':'));
    value.map(str::trim_start).ok_or_else(|| format!("its header has no `{key}`"))
}

fn shape(header: &str) -> Result<Vec<usize>, String> {
    let inside = item(header, "shape")?.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let (inside, _) = inside.ok_or("its header has no shape")?;
    let numbers = inside.split(',').map(str::trim).filter(|n| !n.is_empty());
    numbers.map(|n| n.parse().map_err(|_| format!("its shape ({inside}) is not of counts"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npz(members: &[(&str, &[u8])], deflated: bool) -> Vec<u8> {
        let mut out = ZipWriter::new(Cursor::new(Vec::new()));
        let method = if deflated { CompressionMethod::Deflated } else { CompressionMethod::Stored };
        for (name, bytes) in members {
            out.start_file(*name, SimpleFileOptions::default().compression_method(method)).expect("a member");
            out.write_all(bytes).expect("written");
        }
        out.finish().expect("an archive").into_inner()
    }

    fn npy(header: &str, data: &[u8]) -> Vec<u8> {
        let mut out = b"\x93NUMPY\x01\x00".to_vec();
        out.extend(u16::try_from(header.len()).expect("short").to_le_bytes());
        [out, header.as_bytes().to_vec(), data.to_vec()].concat()
    }

    #[test]
    fn what_is_written_is_read() {
        let array = |shape: &[usize], values| Array { shape: shape.to_vec(), values };
        let whole: Arrays = [
            array(&[2, 2], Values::F64(vec![1.0, -2.5, f64::INFINITY, 1e-300])),
            array(&[3], Values::F32(vec![1.0, -2.5, 3.0])),
            array(&[1, 0], Values::I32(vec![])),
            array(&[2], Values::I64(vec![i64::MIN, 7])),
            array(&[], Values::U8(vec![255])),
            array(&[2], Values::Bool(vec![true, false])),
        ]
        .into_iter()
        .enumerate()
        .map(|(k, a)| (format!("folder/{k}"), a))
        .collect();
        assert_eq!(read(&write(&whole).expect("written")), Ok(whole));
        assert_eq!(read(&npz(&[("note.txt", b"no array")], true)), Ok(Arrays::new()));
    }

    #[test]
    fn what_is_not_so_is_refused() {
        let head = |shape: &str| format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
        let one = |npy: Vec<u8>| read(&npz(&[("a.npy", &npy)], false)).map_err(|e| e.to_string());
        assert!(one(npy(&head("()"), &[0; 8])).is_ok() && one(npy(&head("(0,)"), &[])).is_ok(), "controls");
        for (npy, part) in [
            (npy(&head("(2,)"), &[0; 8]), "asks for another number of bytes"),
            (npy(&head("(18446744073709551615, 3)"), &[0; 8]), "asks for another number of bytes"),
            (npy(&head("(-1,)"), &[0; 8]), "not of counts"),
            (npy(&head(&"(".repeat(60_000)), &[0; 8]), "no shape"),
            (npy("{}", &[]), "no `shape`"),
            (npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", &[0; 8]), "element type |O"),
            (npy("{'descr': '>f8', 'fortran_order': False, 'shape': (1,), }", &[0; 8]), "element type >f8"),
            (npy("{'descr': '<f8', 'fortran_order': True, 'shape': (1,1), }", &[0; 8]), "Fortran"),
            (b"\x93NUMPY\x02\x00\xff\xff\xff\xff".to_vec(), "its header has 4294967295 bytes"),
            (b"\x93NUMPY\x01\x00\xff\xff".to_vec(), "cut short"),
            (b"\x93NUM".to_vec(), "no npy"),
        ] {
            let text = one(npy).expect_err(part);
            assert!(text.contains(part), "{part}: {text}");
        }
        let good = npy(&head("()"), &[0; 8]);
        // 200 MB of zeros in 200 KB
        let bomb = npz(&[("a.npy", &vec![0; 200 << 20])], true);
        assert!(bomb.len() < 1 << 20 && read(&bomb).expect_err("a bomb").to_string().contains("unpack to more"));
        let names: Vec<String> = (0..MOST_MEMBERS + 1).map(|k| format!("{k}.npy")).collect();
        let many: Vec<(&str, &[u8])> = names.iter().map(|n| (n.as_str(), &good[..])).collect();
        assert!(read(&npz(&many, false)).expect_err("many").to_string().contains("4097 members"));
        assert_eq!(read(b"<mujoco/>"), Err(NpzError::NotNpz));
        // a list of contents that counts 2^40 members
        let mut end = b"PK\x06\x06".to_vec();
        end.extend([0; 52]);
        end[32..40].copy_from_slice(&(1_u64 << 40).to_le_bytes());
        end.extend(b"PK\x06\x07");
        end.extend([0; 16]);
        end.extend(b"PK\x05\x06");
        end.extend([0xff; 18]);
        assert!(read(&end).expect_err("counts").to_string().contains("65,535"));
    }
}
