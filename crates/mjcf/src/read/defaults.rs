//! Default classes: each starts as a copy of its parent, then takes what it says itself.

use super::Reader;
use super::actuator::ActuatorDefault;
use super::tree::Light;
use crate::dom::Node;
use crate::error::ErrorKind;
use crate::schema::suggest;
use crate::spec::{Camera, Equality, Geom, Joint, Mesh, Pair, Site, Tendon};

/// What a class gives to the elements that use it.
#[derive(Clone, Debug, Default)]
pub(super) struct Class {
    pub(super) name: String,
    pub(super) parent: Option<usize>,
    pub(super) joint: Joint,
    pub(super) geom: Geom,
    pub(super) site: Site,
    pub(super) pair: Pair,
    pub(super) equality: Equality,
    pub(super) tendon: Tendon,
    pub(super) actuator: ActuatorDefault,
    pub(super) mesh: Mesh,
    pub(super) camera: Camera,
    pub(super) light: Light,
    /// the texture of a material
    pub(super) texture: Option<String>,
}

/// All classes; the first is the one that everything inherits from.
#[derive(Debug)]
pub(super) struct Classes {
    all: Vec<Class>,
}

/// The name of the outermost class.
const MAIN: &str = "main";

impl Classes {
    pub(super) fn new() -> Self {
        Self { all: vec![Class { name: MAIN.into(), ..Class::default() }] }
    }

    pub(super) fn get(&self, id: usize) -> &Class {
        &self.all[id]
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.all.iter().position(|c| c.name == name)
    }
}

impl Reader<'_, '_> {
    /// The outermost `default` sections, which all speak of the class "main".
    pub(super) fn defaults(&mut self, node: &Node) {
        if let Some(class) = node.attr("class").filter(|a| !a.value.is_empty() && a.value != MAIN) {
            let remedy = format!("put it inside: <default><default class=\"{}\">…</default></default>", class.value);
            let kind = ErrorKind::BadValue("the outermost default class cannot be renamed".into());
            self.cx.error(class.span, kind, Some(remedy));
        }
        self.class(node, 0);
    }

    /// The default classes of an attached model, which inherit nothing from those of this one.
    pub(super) fn attached_defaults(&mut self, main: &str, sections: &[Node]) {
        self.classes.all.push(Class { name: main.to_owned(), ..Class::default() });
        let id = self.classes.all.len() - 1;
        sections.iter().for_each(|n| self.class(n, id));
    }

    fn class(&mut self, node: &Node, id: usize) {
        for child in node.children.iter().filter(|c| c.tag != "default") {
            let mut class = self.classes.all[id].clone();
            match child.tag.as_str() {
                "joint" => class.joint = self.joint_attrs(child, &class.joint),
                "geom" => class.geom = self.geom_attrs(child, &class.geom),
                "site" => class.site = self.site_attrs(child, &class.site),
                "pair" => class.pair = Self::pair_attrs(child, &class.pair),
                "equality" => class.equality = Self::equality_attrs(child, &class.equality),
                "tendon" => class.tendon = Self::tendon_attrs(child, &class.tendon),
                "camera" => class.camera = self.camera_attrs(child, &class.camera),
                "light" => class.light = self.light_attrs(child, &class.light),
                "texture" => self.texture_attrs(child),
                "material" => child.set_text("texture", &mut class.texture),
                "mesh" => class.mesh = self.mesh_attrs(child, &class.mesh),
                tag if super::actuator::is_actuator(tag) => self.actuator_default(child, &mut class),
                _ => {}
            }
            self.classes.all[id] = class;
        }
        for child in node.children.iter().filter(|c| c.tag == "default") {
            let name = child.owned("class").unwrap_or_default();
            let span = child.attr("class").map_or(child.span, |a| a.span);
            if name.is_empty() {
                let kind = ErrorKind::MissingAttribute { attribute: "class".into(), element: "default".into() };
                self.cx.error(span, kind, Some("only the outermost default class goes without a name".into()));
            } else if self.classes.find(&name).is_some() {
                let kind = ErrorKind::Duplicate { name: name.clone(), kind: "default class".into() };
                self.cx.error(span, kind, Some("give each class one <default class=…>".into()));
            }
            let class = Class { name, parent: Some(id), ..self.classes.all[id].clone() };
            self.classes.all.push(class);
            let new = self.classes.all.len() - 1;
            self.class(child, new);
        }
    }

    /// The class that an element uses: its own, or else the one around it.
    pub(super) fn class_of(&mut self, node: &Node, around: usize) -> usize {
        self.class_named(node, "class").unwrap_or(around)
    }

    /// The class that an element outside the tree uses: its own, or else the outermost of its model.
    pub(super) fn class_outside(&mut self, node: &Node) -> usize {
        let main = if node.scope == 0 { 0 } else { self.classes.find(self.main_class(node)).unwrap_or(0) };
        self.class_of(node, main)
    }

    /// The class that an attribute names.
    pub(super) fn class_named(&mut self, node: &Node, attr: &str) -> Option<usize> {
        let a = node.attr(attr)?;
        let found = self.classes.find(&a.value);
        if found.is_none() {
            let remedy = suggest(&a.value, self.classes.all.iter().map(|c| c.name.as_str()))
                .unwrap_or_else(|| super::names::list(self.classes.all.iter().map(|c| &c.name)));
            let kind = ErrorKind::Dangling { name: a.value.clone(), kind: "default class".into() };
            self.cx.error(a.span, kind, Some(remedy));
        }
        found
    }
}
