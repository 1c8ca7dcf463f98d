//! Meshes: files to vertices and faces, volume and inertia, convex hull.

mod builtin;
mod hull;
mod msh;
mod obj;
mod solid;
mod stl;

pub(crate) use builtin::make;
pub(crate) use hull::hull;
pub(crate) use solid::solid;

use kiloworld_cpu::math::Vec3;
use kiloworld_mjcf::spec::AssetFile;

/// Vertices and faces as a file gives them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Raw {
    /// vertices \[m\]; single precision, as MuJoCo reads them
    pub vert: Vec<[f32; 3]>,
    /// vertices of the faces, counter-clockwise from outside
    pub face: Vec<[u32; 3]>,
}

/// What is wrong with the content of a file, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub text: String,
    pub remedy: &'static str,
}

impl Fault {
    pub(crate) fn new(text: impl Into<String>, remedy: &'static str) -> Self {
        Self { text: text.into(), remedy }
    }
}

/// What to do about a file that is not what its name says.
const DAMAGED: &str = "the file is damaged or of another format; export it again as binary STL or OBJ";

/// No coordinate is larger than this, as in MuJoCo's reader of STL files.
const MAX_COORDINATE: f32 = 1e9;

/// Reads a file by its extension, or else its media type.
pub(crate) fn read(file: &AssetFile) -> Result<Raw, Fault> {
    let by_type = |t: &str| match t {
        "model/stl" => "stl",
        "model/obj" => "obj",
        "model/vnd.mujoco.msh" => "msh",
        _ => "",
    };
    let bytes = file.content.bytes();
    let extension = file.extension();
    let known = |e: &str| matches!(e, "stl" | "obj" | "msh");
    let format = if known(&extension) { &extension } else { by_type(file.content_type.as_deref().unwrap_or("")) };
    match format {
        "stl" => stl::read(bytes),
        "obj" => obj::read(bytes),
        "msh" => msh::read(bytes),
        _ => {
            let text = format!("\"{}\" is no mesh that can be read: the extension is none of stl, obj, msh", file.name);
            Err(Fault::new(text, "convert it to one of these, or give its content_type"))
        }
    }
}

/// Checks what all formats have in common.
pub(crate) fn check(raw: &Raw) -> Result<(), Fault> {
    if raw.vert.len() < 4 {
        return Err(Fault::new(format!("a mesh needs at least 4 vertices, this one has {}", raw.vert.len()), DAMAGED));
    }
    for (i, v) in raw.vert.iter().enumerate() {
        if !v.iter().all(|x| x.abs() <= MAX_COORDINATE) {
            let text = format!("vertex {i} is at {} {} {}: not finite, or too far away", v[0], v[1], v[2]);
            return Err(Fault::new(text, DAMAGED));
        }
    }
    let n = raw.vert.len();
    for (i, f) in raw.face.iter().enumerate() {
        if let Some(v) = f.iter().find(|&&v| v as usize >= n) {
            return Err(Fault::new(format!("face {i} has the vertex {v}, and there are {n}"), DAMAGED));
        }
    }
    Ok(())
}

/// A number of four bytes at an offset of a file.
fn word(bytes: &[u8], at: usize) -> Option<[u8; 4]> {
    bytes.get(at..at.checked_add(4)?)?.try_into().ok()
}

/// The vertices of a face.
pub(crate) fn corners(vert: &[Vec3<f64>], face: &[u32; 3]) -> [Vec3<f64>; 3] {
    face.map(|v| vert[v as usize])
}
