//! Sections without physics, key frames, and features that are kept by name only.

use super::Reader;
use crate::dom::Node;
use crate::error::ErrorKind;
use crate::refer::REFERENCES;
use crate::span::At;
use crate::spec::{Key, Part};

/// Kinds of elements that a tuple can hold.
const TUPLE_KINDS: [&str; 21] = [
    "body", "joint", "geom", "site", "camera", "light", "mesh", "skin", "hfield", "texture", "material", "pair",
    "exclude", "equality", "tendon", "actuator", "sensor", "numeric", "text", "tuple", "key",
];

impl Reader<'_, '_> {
    pub(super) fn custom(&mut self, section: &Node) {
        for node in &section.children {
            let kind = match node.tag.as_str() {
                "numeric" => "numeric",
                "text" => "text",
                "tuple" => "tuple",
                _ => continue,
            };
            let name = self.cx.required(node, "name");
            let data = node.list("data").unwrap_or_default().len();
            match kind {
                "numeric" if node.int("size").map_or(data == 0, |n| n < 1 || (n as usize) < data) => {
                    self.incomplete(
                        node,
                        "a <numeric> has `size` numbers, at least 1, or as many as `data`",
                        "write data=\"…\"",
                    );
                }
                "text" => drop(self.cx.required(node, "data")),
                "tuple" if node.children.is_empty() => {
                    self.incomplete(node, "the tuple is empty", "put <element> into it");
                }
                "tuple" => node.children.iter().for_each(|n| self.element_of_tuple(n)),
                _ => {}
            }
            self.define(kind, Some(&name).filter(|n| !n.is_empty()).map(String::as_str), node);
            for element in
                node.children.iter().filter(|c| c.text("objtype").is_some_and(|t| t == "body" || t == "xbody"))
            {
                self.refer_attr("body", element, "objname");
            }
        }
    }

    fn element_of_tuple(&mut self, node: &Node) {
        let (kind, name) = (self.cx.required(node, "objtype"), self.cx.required(node, "objname"));
        let kind = if kind == "xbody" { "body" } else { &kind };
        match TUPLE_KINDS.iter().find(|k| **k == kind) {
            Some(kind) => self.refer(kind, &name, node.attr("objname").map_or(node.span, |a| a.span)),
            None if kind.is_empty() => {}
            None => {
                let span = node.attr("objtype").map_or(node.span, |a| a.span);
                let error = ErrorKind::UnknownKeyword { value: kind.to_owned(), attribute: "objtype".into() };
                self.cx.error(span, error, Some(format!("the values are: xbody, {}", TUPLE_KINDS.join(", "))));
            }
        }
    }

    pub(super) fn extension(&mut self, section: &Node) {
        for node in &section.children {
            self.unsupported("extension/plugin", node);
        }
    }

    pub(super) fn deformable(&mut self, section: &Node) {
        for node in &section.children {
            match node.tag.as_str() {
                // a skin is drawn, it has no physics
                "skin" => {
                    self.define("skin", node.text("name"), node);
                    node.children.iter().for_each(|bone| self.refer_attr("body", bone, "body"));
                }
                tag => self.unsupported(tag, node),
            }
        }
    }

    /// A model put into this one. Names that may come from it are not checked.
    pub(super) fn attach(&mut self, node: &Node) {
        self.refer_attr("model", node, "model");
        self.names.foreign.push(node.owned("prefix").unwrap_or_default());
        self.unsupported("attach", node);
    }

    pub(super) fn keyframe(&mut self, section: &Node) {
        let part = self.own_part();
        section.children.iter().filter(|c| c.tag == "key").for_each(|n| self.key(n, part.clone()));
    }

    /// A key frame, of the whole model or of a part of it.
    pub(super) fn key(&mut self, node: &Node, part: Option<Part>) {
        let name = node.owned("name");
        self.define("key", name.as_deref(), node);
        if node.list("plastic").is_some_and(|l| !l.is_empty()) {
            self.incomplete(node, "`plastic` is the state of soft bodies, and the model has none", "remove it");
        }
        self.spec.keys.push(Key {
            at: At::of(&At::default(), node),
            name,
            time: node.real("time").unwrap_or(0.0),
            qpos: node.list("qpos"),
            qvel: node.list("qvel"),
            act: node.list("act"),
            ctrl: node.list("ctrl"),
            mpos: node.list("mpos"),
            mquat: node.list("mquat"),
            part,
        });
    }

    /// Notes every reference that an element's attributes make.
    pub(super) fn refer_all(&mut self, node: &Node) {
        for (attr, kind) in REFERENCES {
            self.refer_attr(kind, node, attr);
        }
    }

    /// Reports an element whose attributes are too few to say what it is.
    pub(super) fn incomplete(&mut self, node: &Node, message: &str, remedy: &str) {
        self.cx.error(node.span, ErrorKind::BadValue(message.to_owned()), Some(remedy.to_owned()));
    }
}
