//! Names inside `replicate`, and elements elsewhere that refer to them.

use super::Reader;
use crate::dom::Node;

/// The most copies one `replicate` makes.
pub(super) const MAX_COPIES: i32 = 100_000;
/// With more bodies and frames than these no further copies are made.
pub(super) const MAX_ELEMENTS: usize = 1_000_000;

/// What is appended to names: of nested replicas the innermost first.
#[derive(Clone, Debug, Default)]
pub(super) struct Suffix(String);

impl Suffix {
    /// The suffix inside one more `replicate`: as many digits as its last copy needs.
    pub(super) fn inside(&self, sep: &str, copy: i32, count: i32) -> Self {
        let digits = (count - 1).max(0).to_string().len();
        Self(format!("{sep}{copy:0digits$}{}", self.0))
    }

    /// A name with the suffix.
    pub(super) fn apply(&self, name: &str) -> String {
        format!("{name}{}", self.0)
    }
}

/// Attributes that refer to elements of the tree or to tendons and actuators, with the kind that they name.
pub(super) const REFERENCES: &[(&str, &str)] = &[
    ("body", "body"),
    ("body1", "body"),
    ("body2", "body"),
    ("subtree1", "body"),
    ("subtree2", "body"),
    ("joint", "joint"),
    ("joint1", "joint"),
    ("joint2", "joint"),
    ("jointinparent", "joint"),
    ("geom", "geom"),
    ("geom1", "geom"),
    ("geom2", "geom"),
    ("site", "site"),
    ("site1", "site"),
    ("site2", "site"),
    ("sidesite", "site"),
    ("refsite", "site"),
    ("cranksite", "site"),
    ("slidersite", "site"),
    ("camera", "camera"),
    ("tendon", "tendon"),
    ("tendon1", "tendon"),
    ("tendon2", "tendon"),
    ("actuator", "actuator"),
];

impl Reader<'_, '_> {
    /// An element outside the tree, once for every copy of what it refers to.
    pub(super) fn copies(&mut self, kind: &'static str, node: &Node) -> Vec<Node> {
        let Some(suffixes) = self.suffixes(node) else { return vec![node.clone()] };
        if let Some(name) = node.owned("name") {
            self.names.replicas.insert((kind, name), suffixes.clone());
        }
        suffixes.iter().map(|suffix| self.with_suffix(node, suffix)).collect()
    }

    /// The suffixes of the replicas that an element refers to; `None` if it refers to none.
    fn suffixes(&self, node: &Node) -> Option<Vec<String>> {
        let own = node.attrs.iter().find_map(|a| {
            let kind = Self::referred(node, &a.name)?;
            let replicas = self.names.replicas.get(&(kind, a.value.clone()))?;
            (!self.names.has(kind, &a.value)).then(|| replicas.clone())
        });
        own.or_else(|| node.children.iter().find_map(|c| self.suffixes(c)))
    }

    fn with_suffix(&self, node: &Node, suffix: &str) -> Node {
        let mut copy = node.clone();
        for attr in &mut copy.attrs {
            let replicas =
                Self::referred(node, &attr.name).and_then(|k| self.names.replicas.get(&(k, attr.value.clone())));
            if attr.name == "name" || replicas.is_some_and(|r| r.iter().any(|s| s == suffix)) {
                attr.value.push_str(suffix);
            }
        }
        copy.children = node.children.iter().map(|c| self.with_suffix(c, suffix)).collect();
        copy
    }

    /// The kind that an attribute names.
    pub(super) fn referred(node: &Node, attr: &str) -> Option<&'static str> {
        let by_type = |t: &str| match node.text(t) {
            Some("body" | "xbody") => Some("body"),
            Some("geom") => Some("geom"),
            Some("site") => Some("site"),
            Some("camera") => Some("camera"),
            Some("joint") => Some("joint"),
            Some("tendon") => Some("tendon"),
            Some("actuator") => Some("actuator"),
            _ => None,
        };
        match attr {
            "objname" => by_type("objtype"),
            "refname" => by_type("reftype"),
            _ => REFERENCES.iter().find(|(a, _)| *a == attr).map(|(_, k)| *k),
        }
    }
}
