//! Assets: meshes and height fields with the content of their files, the others by name.

use super::Reader;
use crate::dom::Node;
use crate::error::ErrorKind;
use crate::include::stem;
use crate::span::At;
use crate::spec::{Asset, AssetFile, Content, Hfield, Mesh, MeshInertia};

/// No file of an asset is larger than this \[bytes\].
const MAX_FILE: u64 = 1 << 30;
/// Nor are all files of a model together \[bytes\].
const MAX_FILES: u64 = 1 << 32;

impl Reader<'_, '_> {
    pub(super) fn assets(&mut self, section: &Node) {
        for node in &section.children {
            let kind = match node.tag.as_str() {
                "mesh" => "mesh",
                "hfield" => "hfield",
                "texture" => "texture",
                "material" => "material",
                "skin" => "skin",
                "model" => "model",
                _ => continue,
            };
            let class = self.class_outside(node);
            let file = node.owned("file");
            let name = node.owned("name").or_else(|| file.as_deref().filter(|_| kind != "material").map(stem));
            // a sky needs no name, for nothing can refer to it
            if name.is_none() && node.text("type") != Some("skybox") && !matches!(kind, "skin" | "model") {
                self.cx.required(node, "name");
            }
            self.define(kind, name.as_deref(), node);
            match kind {
                "mesh" => self.mesh(node, name, class),
                "hfield" => self.hfield(node, name),
                _ => {
                    match kind {
                        "material" => self.material(node, class),
                        "texture" => self.texture_attrs(node),
                        _ => {}
                    }
                    self.spec.assets.push(Asset { at: At::of(&At::default(), node), kind: kind.into(), name, file });
                }
            }
        }
    }

    fn material(&mut self, node: &Node, class: usize) {
        let texture = node.owned("texture").or_else(|| self.classes.get(class).texture.clone());
        if let Some(texture) = texture {
            self.refer("texture", &texture, node.attr("texture").map_or(node.span, |a| a.span));
        }
        for layer in &node.children {
            self.cx.required(layer, "role");
            self.cx.required(layer, "texture");
            self.refer_attr("texture", layer, "texture");
            if node.text("texture").is_some() {
                let kind = ErrorKind::Misplaced("a material has either `texture` or layers".into());
                self.cx.error(layer.span, kind, Some("write the texture as one more layer".into()));
            }
        }
    }

    /// What can be wrong with a texture without looking at its files.
    pub(super) fn texture_attrs(&mut self, node: &Node) {
        let size: f64 = node.list("gridsize").map_or(1.0, |s| s.iter().product());
        if let Some(layout) = node.attr("gridlayout").filter(|l| l.value.len() as f64 != size) {
            let text = format!("`gridlayout` is {size} letters of .RLUDFB, as many as `gridsize` has squares");
            self.cx.error(layout.span, ErrorKind::BadValue(text), Some("leave both out for one image".into()));
        }
    }

    fn mesh(&mut self, node: &Node, name: Option<String>, class: usize) {
        let mut mesh = self.mesh_attrs(node, &self.classes.get(class).mesh.clone());
        mesh.name = name;
        mesh.file = self.asset_file(node);
        node.over("refpos", &mut mesh.refpos);
        node.over("refquat", &mut mesh.refquat);
        if mesh.refquat == [0.0; 4] {
            let kind = ErrorKind::BadValue("a quaternion of length 0 is no orientation".into());
            self.cx.error(mesh.at.attr("refquat"), kind, Some("write axes and quaternions that are not 0".into()));
        }
        self.cx.exclusive(node, "vertex", "builtin");
        mesh.vertex = node.list("vertex").unwrap_or_default();
        mesh.normal = node.list("normal").unwrap_or_default();
        mesh.texcoord = node.list("texcoord").unwrap_or_default();
        mesh.face = node.text("face").map(whole).unwrap_or_default();
        mesh.builtin = node.owned("builtin").filter(|b| b != "none");
        if mesh.builtin.is_some() {
            self.cx.required(node, "params");
            mesh.params = node.list("params").unwrap_or_default();
        }
        if node.children.iter().any(|c| c.tag == "plugin") {
            self.unsupported("mesh/plugin", node);
        }
        self.spec.meshes.push(mesh);
    }

    /// A mesh's attributes over those of a class.
    pub(super) fn mesh_attrs(&mut self, node: &Node, base: &Mesh) -> Mesh {
        let mut m = Mesh { at: At::of(&base.at, node), ..base.clone() };
        node.over("scale", &mut m.scale);
        let modes = [
            ("convex", MeshInertia::Convex),
            ("exact", MeshInertia::Exact),
            ("legacy", MeshInertia::Legacy),
            ("shell", MeshInertia::Shell),
        ];
        node.word("inertia", &modes, &mut m.inertia);
        node.set_int("maxhullvert", &mut m.maxhullvert);
        if node.attr("maxhullvert").is_some() && m.maxhullvert != -1 && m.maxhullvert < 4 {
            let kind = ErrorKind::BadValue("`maxhullvert` must be larger than 3".into());
            self.cx.error(m.at.attr("maxhullvert"), kind, Some("leave it out for any number of vertices".into()));
        }
        m
    }

    fn hfield(&mut self, node: &Node, name: Option<String>) {
        self.cx.required(node, "size");
        let hfield = Hfield {
            at: At::of(&At::default(), node),
            name,
            file: self.asset_file(node),
            size: node.exact("size").unwrap_or_default(),
            nrow: node.int("nrow").unwrap_or(0),
            ncol: node.int("ncol").unwrap_or(0),
            elevation: node.list("elevation").unwrap_or_default(),
        };
        self.spec.hfields.push(hfield);
    }

    /// The file that an asset names, with its content. An attached model's mesh is looked for beside that model.
    fn asset_file(&mut self, node: &Node) -> Option<AssetFile> {
        let name = node.owned("file")?;
        if self.cx.bare {
            return Some(AssetFile { name, ..AssetFile::default() });
        }
        let paths = self.asset_paths(node, &name);
        let content = paths.iter().find_map(|p| self.contents.get(p)).cloned().or_else(|| {
            let mut first = None;
            for path in paths {
                match self.cx.loader.load(&path, MAX_FILE) {
                    Ok(bytes) => {
                        let content = Content::new(bytes);
                        self.contents.insert(path, content.clone());
                        return Some(content);
                    }
                    Err(e) => first = first.or(Some((path, e))),
                }
            }
            if let Some((path, e)) = first {
                let remedy = format!("looked for {}", path.display());
                let span = node.attr("file").map_or(node.span, |a| a.span);
                self.cx.error(span, ErrorKind::Io(e.to_string()), Some(remedy));
            }
            None
        })?;
        if self.contents.values().map(|c| c.bytes().len() as u64).sum::<u64>() > MAX_FILES {
            let kind = ErrorKind::BadValue(format!("the files of the model have more than {MAX_FILES} bytes together"));
            self.cx.error(node.span, kind, Some("use meshes with fewer faces".into()));
            return None;
        }
        Some(AssetFile { name, content_type: node.owned("content_type"), content })
    }
}

/// Whole numbers; what is wrong with them has been reported.
fn whole(text: &str) -> Vec<i32> {
    text.split_ascii_whitespace().filter_map(|w| w.parse().ok()).collect()
}
