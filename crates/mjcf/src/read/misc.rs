//! Sections without physics, key frames, and features that are kept by name only.

use super::Reader;
use crate::dom::Node;
use crate::error::ErrorKind;
use crate::refer::REFERENCES;
use crate::span::At;
use crate::spec::{Key, Part};

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
            self.define(kind, Some(&name).filter(|n| !n.is_empty()).map(String::as_str), node);
            for element in
                node.children.iter().filter(|c| c.text("objtype").is_some_and(|t| t == "body" || t == "xbody"))
            {
                self.refer_attr("body", element, "objname");
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
        if node.text("plastic").is_some() {
            self.unsupported("key/plastic", node);
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
