//! Assets: names, files and scales only.

use super::Reader;
use crate::dom::Node;
use crate::include::stem;
use crate::span::At;
use crate::spec::Asset;

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
            self.define(kind, name.as_deref(), node);
            let mut scale = self.classes.get(class).mesh_scale.unwrap_or([1.0; 3]);
            node.over("scale", &mut scale);
            if kind == "material" {
                self.refer_attr("texture", node, "texture");
            }
            let paths = file.as_deref().map(|f| self.asset_paths(node, kind, f)).unwrap_or_default();
            self.spec.assets.push(Asset {
                at: At::of(&At::default(), node),
                kind: kind.into(),
                name,
                file,
                paths,
                scale,
            });
        }
    }
}
