//! Contact pairs, equality constraints, tendons.

use super::Reader;
use crate::dom::Node;
use crate::span::At;
use crate::spec::{
    Equality, EqualityKind, EqualityObjects, Exclude, FixedJoint, Pair, SpatialStep, Tendon, TendonKind,
};

impl Reader<'_, '_> {
    pub(super) fn contact(&mut self, root: &Node) {
        self.elements(root, "contact", "pair", &["pair"]).iter().for_each(|n| self.pair(n));
        self.elements(root, "contact", "exclude", &["exclude"]).iter().for_each(|n| self.exclude(n));
    }

    fn pair(&mut self, node: &Node) {
        let class = self.class_outside(node);
        let mut pair = Self::pair_attrs(node, &self.classes.get(class).pair);
        pair.name = node.owned("name");
        pair.geom1 = self.cx.required(node, "geom1");
        pair.geom2 = self.cx.required(node, "geom2");
        self.define("pair", pair.name.as_deref(), node);
        self.refer_all(node);
        self.spec.pairs.push(pair);
    }

    /// A pair's attributes over those of a class.
    pub(super) fn pair_attrs(node: &Node, base: &Pair) -> Pair {
        let mut p = Pair { at: At::of(&base.at, node), ..base.clone() };
        node.set_int("condim", &mut p.condim);
        node.over("friction", &mut p.friction);
        node.over("solref", &mut p.solref);
        node.over("solreffriction", &mut p.solreffriction);
        node.over("solimp", &mut p.solimp);
        node.set("margin", &mut p.margin);
        node.set("gap", &mut p.gap);
        node.set("adhesion", &mut p.adhesion);
        p
    }

    fn exclude(&mut self, node: &Node) {
        let exclude = Exclude {
            at: At::of(&At::default(), node),
            name: node.owned("name"),
            body1: self.cx.required(node, "body1"),
            body2: self.cx.required(node, "body2"),
        };
        self.define("exclude", exclude.name.as_deref(), node);
        self.refer_all(node);
        self.spec.excludes.push(exclude);
    }

    pub(super) fn equality(&mut self, root: &Node) {
        self.elements(root, "equality", "equality", &[]).iter().for_each(|n| self.one_equality(n));
    }

    fn one_equality(&mut self, node: &Node) {
        let class = self.class_outside(node);
        let mut equality = Self::equality_attrs(node, &self.classes.get(class).equality);
        equality.name = node.owned("name");
        self.define("equality", equality.name.as_deref(), node);
        self.refer_all(node);
        let mut polycoef = [0.0, 1.0, 0.0, 0.0, 0.0];
        node.over("polycoef", &mut polycoef);
        equality.kind = match node.tag.as_str() {
            "connect" => {
                let Some(objects) = self.objects(node, &["anchor"]) else { return };
                let anchor = node.exact("anchor");
                if matches!(objects, EqualityObjects::Bodies(..)) && anchor.is_none() {
                    self.cx.required(node, "anchor");
                }
                EqualityKind::Connect { objects, anchor }
            }
            "weld" => {
                let Some(objects) = self.objects(node, &["anchor", "relpose"]) else { return };
                let mut relpose = [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
                node.over("relpose", &mut relpose);
                EqualityKind::Weld {
                    objects,
                    anchor: node.exact("anchor").unwrap_or_default(),
                    // the default, by which MuJoCo marks that none is given, is a position with no rotation at all
                    relpose,
                    torquescale: node.real("torquescale").unwrap_or(1.0),
                }
            }
            "joint" => {
                EqualityKind::Joint { joint1: self.cx.required(node, "joint1"), joint2: node.owned("joint2"), polycoef }
            }
            "tendon" => EqualityKind::Tendon {
                tendon1: self.cx.required(node, "tendon1"),
                tendon2: node.owned("tendon2"),
                polycoef,
            },
            "flex" | "flexstrain" => {
                self.unsupported(format!("equality/{}", node.tag), node);
                EqualityKind::Other(node.tag.clone())
            }
            _ => return,
        };
        self.spec.equalities.push(equality);
    }

    /// The bodies or sites of a `connect` or `weld`; `only_bodies` are attributes that sites exclude.
    fn objects(&mut self, node: &Node, only_bodies: &[&str]) -> Option<EqualityObjects> {
        let sites = node.owned("site1").or(node.owned("site2"));
        if sites.is_some() {
            for other in ["body1", "body2"].iter().chain(only_bodies) {
                self.cx.exclusive(node, if node.text("site1").is_some() { "site1" } else { "site2" }, other);
            }
            return Some(EqualityObjects::Sites(self.cx.required(node, "site1"), self.cx.required(node, "site2")));
        }
        let Some(body1) = node.owned("body1") else {
            self.incomplete(
                node,
                &format!("<{}> names neither bodies nor sites", node.tag),
                "give `body1`, or `site1` and `site2`",
            );
            return None;
        };
        Some(EqualityObjects::Bodies(body1, node.owned("body2")))
    }

    /// The attributes that all equality constraints have, over those of a class.
    pub(super) fn equality_attrs(node: &Node, base: &Equality) -> Equality {
        let mut e = Equality { at: At::of(&base.at, node), ..base.clone() };
        node.flag("active", &mut e.active);
        node.over("solref", &mut e.solref);
        node.over("solimp", &mut e.solimp);
        e
    }

    pub(super) fn tendon(&mut self, root: &Node) {
        self.elements(root, "tendon", "tendon", &["fixed", "spatial"]).iter().for_each(|n| self.one_tendon(n));
    }

    fn one_tendon(&mut self, node: &Node) {
        let class = self.class_outside(node);
        let mut tendon = Self::tendon_attrs(node, &self.classes.get(class).tendon);
        self.check_user(node, "nuser_tendon");
        tendon.name = node.owned("name");
        self.settle(node, &mut tendon.limited, tendon.range);
        self.settle(node, &mut tendon.actuatorfrclimited, tendon.actuatorfrcrange);
        self.define("tendon", tendon.name.as_deref(), node);
        if let Some(material) = &tendon.material {
            self.refer("material", material, tendon.at.attr("material"));
        }
        node.children.iter().for_each(|c| self.refer_all(c));
        tendon.kind = if node.tag == "fixed" {
            let joints = node.children.iter().filter(|c| c.tag == "joint");
            TendonKind::Fixed(joints.map(|c| self.fixed_joint(c)).collect())
        } else {
            self.unsupported("tendon/spatial", node);
            TendonKind::Spatial(node.children.iter().filter_map(|c| self.step(c)).collect())
        };
        if node.children.is_empty() {
            self.incomplete(node, "the tendon has no path", "put <joint joint=\"…\" coef=\"…\"/> into it");
        }
        self.spec.tendons.push(tendon);
    }

    fn fixed_joint(&mut self, node: &Node) -> FixedJoint {
        self.cx.required(node, "coef");
        let joint = self.cx.required(node, "joint");
        FixedJoint { at: At::of(&At::default(), node), joint, coef: node.real("coef").unwrap_or(0.0) }
    }

    fn step(&mut self, node: &Node) -> Option<SpatialStep> {
        match node.tag.as_str() {
            "site" => Some(SpatialStep::Site(self.cx.required(node, "site"))),
            "geom" => Some(SpatialStep::Geom(self.cx.required(node, "geom"), node.owned("sidesite"))),
            "pulley" => {
                self.cx.required(node, "divisor");
                Some(SpatialStep::Pulley(node.real("divisor").unwrap_or(1.0)))
            }
            _ => None,
        }
    }

    /// A tendon's attributes over those of a class.
    pub(super) fn tendon_attrs(node: &Node, base: &Tendon) -> Tendon {
        let mut t = Tendon { at: At::of(&base.at, node), ..base.clone() };
        node.set_int("group", &mut t.group);
        node.tri("limited", &mut t.limited);
        node.over("range", &mut t.range);
        node.tri("actuatorfrclimited", &mut t.actuatorfrclimited);
        node.over("actuatorfrcrange", &mut t.actuatorfrcrange);
        node.over("solreflimit", &mut t.solreflimit);
        node.over("solimplimit", &mut t.solimplimit);
        node.over("solreffriction", &mut t.solreffriction);
        node.over("solimpfriction", &mut t.solimpfriction);
        node.set("margin", &mut t.margin);
        node.set("frictionloss", &mut t.frictionloss);
        if let Some(list) = node.list("springlength") {
            // one number is both ends
            t.springlength = [list.first().copied().unwrap_or(-1.0), list.last().copied().unwrap_or(-1.0)];
        }
        node.set("springyield", &mut t.springyield);
        node.over("stiffness", &mut t.stiffness);
        node.over("damping", &mut t.damping);
        node.set("armature", &mut t.armature);
        node.set("width", &mut t.width);
        node.set_text("material", &mut t.material);
        node.over("rgba", &mut t.rgba);
        if let Some(user) = node.list("user") {
            t.user = user;
        }
        t
    }
}
