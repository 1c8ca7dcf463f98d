//! Which attributes name other elements.

use crate::dom::Node;

/// Attributes that refer to elements of the tree or to tendons and actuators, with the kind that they name.
pub(crate) const REFERENCES: &[(&str, &str)] = &[
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

/// The kind that an attribute of an element names.
pub(crate) fn referred(node: &Node, attr: &str) -> Option<&'static str> {
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
