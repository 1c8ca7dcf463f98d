//! Meshes and height fields with the bytes that they are made of, and assets without physics.

use std::fmt;
use std::sync::Arc;

use crate::span::At;

/// The content of a file, which several assets can share.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Content(Arc<Vec<u8>>);

impl Content {
    /// These bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Arc::new(bytes))
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// A file that an asset is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssetFile {
    /// its name as written
    pub name: String,
    /// its media type, where one is written
    pub content_type: Option<String>,
    /// what is in it
    pub content: Content,
}

impl AssetFile {
    /// The extension of the name, in lower case.
    pub fn extension(&self) -> String {
        let name = self.name.rsplit(['/', '\\']).next().unwrap_or("");
        name.rsplit_once('.').map_or_else(String::new, |(_, tail)| tail.to_lowercase())
    }
}

/// How volume and inertia follow from a mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MeshInertia {
    /// of the convex hull
    Convex,
    /// of the enclosed volume
    Exact,
    /// of the pyramids over the faces, all counted positive
    #[default]
    Legacy,
    /// of the surface
    Shell,
}

/// `asset/mesh`.
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    /// where
    pub at: At,
    /// its name; for files without one, the file's stem, as in MuJoCo
    pub name: Option<String>,
    /// the file with its vertices, where it has one
    pub file: Option<AssetFile>,
    /// factor on each coordinate of the vertices
    pub scale: [f64; 3],
    /// origin of the vertices \[m\]
    pub refpos: [f64; 3],
    /// orientation of the vertices, not normalized
    pub refquat: [f64; 4],
    /// how volume and inertia follow from it
    pub inertia: MeshInertia,
    /// largest number of vertices of the convex hull, -1: any
    pub maxhullvert: i32,
    /// vertices written in place, (n, 3) \[m\]
    pub vertex: Vec<f64>,
    /// faces written in place, (n, 3)
    pub face: Vec<i32>,
    /// normals written in place, (n, 3); drawn only
    pub normal: Vec<f64>,
    /// texture coordinates written in place, (n, 2); drawn only
    pub texcoord: Vec<f64>,
    /// the name of a procedural mesh
    pub builtin: Option<String>,
    /// its parameters
    pub params: Vec<f64>,
}

impl Default for Mesh {
    fn default() -> Self {
        Self {
            at: At::default(),
            name: None,
            file: None,
            scale: [1.0; 3],
            refpos: [0.0; 3],
            refquat: [1.0, 0.0, 0.0, 0.0],
            inertia: MeshInertia::default(),
            maxhullvert: -1,
            vertex: Vec::new(),
            face: Vec::new(),
            normal: Vec::new(),
            texcoord: Vec::new(),
            builtin: None,
            params: Vec::new(),
        }
    }
}

/// `asset/hfield`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hfield {
    /// where
    pub at: At,
    /// its name; for files without one, the file's stem, as in MuJoCo
    pub name: Option<String>,
    /// the file with its elevations, where it has one
    pub file: Option<AssetFile>,
    /// half sides x and y, height of the top over 0, depth of the base below \[m\]
    pub size: [f64; 4],
    /// rows of the grid, 0: from the file
    pub nrow: i32,
    /// columns of the grid, 0: from the file
    pub ncol: i32,
    /// elevations written in place, the row of the largest y first
    pub elevation: Vec<f64>,
}

/// An asset without physics that other elements may refer to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asset {
    /// where
    pub at: At,
    /// "texture", "material", "skin" or "model"
    pub kind: String,
    /// its name; for files without one, the file's stem, as in MuJoCo
    pub name: Option<String>,
    /// the file, as written
    pub file: Option<String>,
}
