//! Bodies, frames and what is in them.

use super::Reader;
use super::replicate::{self, Suffix};
use super::scope::Element;
use crate::dom::Node;
use crate::error::ErrorKind;
use crate::span::At;
use crate::spec::{Body, Frame, Geom, GeomKind, Inertial, Joint, JointKind, Orientation, Site, Sleep};

const GEOM_KINDS: &[(&str, GeomKind)] = &[
    ("plane", GeomKind::Plane),
    ("hfield", GeomKind::Hfield),
    ("sphere", GeomKind::Sphere),
    ("capsule", GeomKind::Capsule),
    ("ellipsoid", GeomKind::Ellipsoid),
    ("cylinder", GeomKind::Cylinder),
    ("box", GeomKind::Box),
    ("mesh", GeomKind::Mesh),
    ("sdf", GeomKind::Sdf),
];

const JOINT_KINDS: &[(&str, JointKind)] =
    &[("free", JointKind::Free), ("ball", JointKind::Ball), ("slide", JointKind::Slide), ("hinge", JointKind::Hinge)];

/// Where in the tree an element stands.
#[derive(Clone)]
pub(super) struct Place {
    /// the body
    body: usize,
    /// the innermost frame in that body
    frame: Option<usize>,
    /// the default class of what does not name its own
    class: usize,
    /// what is appended to names, inside `replicate`
    suffix: Suffix,
}

/// What can be wrong with a light.
#[derive(Clone, Debug)]
pub(super) struct Light {
    at: At,
    dir: [f64; 3],
    softness: f64,
}

impl Default for Light {
    fn default() -> Self {
        Self { at: At::default(), dir: [0.0, 0.0, -1.0], softness: 0.0 }
    }
}

impl Reader<'_, '_> {
    /// All `worldbody` sections: the tree.
    pub(super) fn world(&mut self, root: &Node) {
        self.spec.bodies.push(Body { name: Some("world".into()), simple: true, ..Body::default() });
        self.names.define_world();
        let mut first = true;
        for node in root.children.iter().filter(|c| c.tag == "worldbody") {
            if std::mem::take(&mut first) {
                self.spec.bodies[0].at.span = node.span;
            }
            let place = Place { body: 0, frame: None, class: 0, suffix: Suffix::default() };
            self.children(node, &place);
        }
        // a body's elements come before those of its children: MuJoCo's order is depth first
    }

    fn children(&mut self, node: &Node, place: &Place) {
        for child in &node.children {
            if place.suffix.len() > 0 {
                let text = child.attrs.iter().map(|a| a.value.len()).sum::<usize>();
                self.made += 1 + (text + place.suffix.len()) / 512;
            }
            match child.tag.as_str() {
                "body" => self.body(child, place),
                "frame" => self.frame(child, place),
                "replicate" => self.replicate(child, place),
                "inertial" => self.inertial(child, place),
                "joint" | "freejoint" => self.joint(child, place),
                "geom" => self.geom(child, place),
                "site" => self.site(child, place),
                "camera" => self.camera(child, place),
                "light" => self.light(child, place),
                "attach" => self.attach(child),
                "flexcomp" => self.unsupported("flexcomp", child),
                "plugin" => self.unsupported("body/plugin", child),
                _ => {}
            }
        }
    }

    fn body(&mut self, node: &Node, place: &Place) {
        let class = self.class_named(node, "childclass").unwrap_or(place.class);
        let name = self.named("body", node, place);
        let mut body = Body {
            at: At::of(&At::default(), node),
            name,
            parent: place.body,
            frame: place.frame,
            pos: node.exact("pos").unwrap_or_default(),
            orientation: self.orientation(node, None),
            gravcomp: node.real("gravcomp").unwrap_or(0.0),
            simple: node.text("simple") != Some("false"),
            whole: node.text("fuse") == Some("false"),
            settings: self.settings(node),
            user: node.list("user").unwrap_or_default(),
            ..Body::default()
        };
        self.check_user(node, "nuser_body");
        node.flag("mocap", &mut body.mocap);
        let policies =
            [("auto", Sleep::Auto), ("never", Sleep::Never), ("allowed", Sleep::Allowed), ("init", Sleep::Init)];
        node.word("sleep", &policies, &mut body.sleep);
        if body.mocap
            && (place.body != 0 || node.children.iter().any(|c| matches!(c.tag.as_str(), "joint" | "freejoint")))
        {
            let kind = ErrorKind::Misplaced("a mocap body is a child of the world without joints".into());
            let remedy = "move it to the top and weld the moving body to it";
            self.cx.error(body.at.attr("mocap"), kind, Some(remedy.into()));
        }
        if body.mocap {
            self.note(node, Element::Mocap(self.spec.bodies.len()));
        }
        let moves = node.children.iter().any(|c| matches!(c.tag.as_str(), "joint" | "freejoint"));
        let hangs = std::iter::successors(Some(place.body), |&b| (b > 0).then(|| self.spec.bodies[b].parent))
            .any(|b| !self.spec.bodies[b].joints.is_empty());
        if body.sleep != Sleep::Auto && (!moves || hangs) {
            let kind = ErrorKind::BadValue("only a body that moves against the world can sleep".into());
            self.cx.error(body.at.attr("sleep"), kind, Some("move `sleep` to the body with the first joint".into()));
        }
        self.spec.bodies.push(body);
        let inside = Place { body: self.spec.bodies.len() - 1, frame: None, class, suffix: place.suffix.clone() };
        self.children(node, &inside);
    }

    fn frame(&mut self, node: &Node, place: &Place) {
        let class = self.class_named(node, "childclass").unwrap_or(place.class);
        let name = self.named("frame", node, place);
        if node.list("scale").is_some_and(|s| s.len() == 2) {
            let kind = ErrorKind::WrongCount { attribute: "scale".into(), found: 2, expected: "1 or 3".into() };
            let span = node.attr("scale").map_or(node.span, |a| a.span);
            self.cx.error(span, kind, Some("give one factor, or one for each axis".into()));
        }
        let scale = node.list("scale").unwrap_or_default();
        let uneven = scale.iter().any(|&x| x != scale[0]) && node.text("scaling") != Some("geometry");
        let faults = [
            (scale.iter().any(|&x| x <= 0.0), "scale", "`scale` is positive"),
            (uneven, "scale", "factors that differ need scaling=\"geometry\""),
            (node.real("massscale").is_some_and(|s| s < 0.0), "massscale", "`massscale` cannot be negative"),
        ];
        for (_, attr, text) in faults.into_iter().filter(|f| f.0) {
            let span = node.attr(attr).map_or(node.span, |a| a.span);
            self.cx.error(span, ErrorKind::BadValue(text.into()), Some("scale the meshes instead".into()));
        }
        if node.real("massscale").is_some_and(|s| s != 0.0)
            || node.list("scale").is_some_and(|s| s.iter().any(|&x| x != 1.0))
        {
            // what is inside would be compiled as if it were not scaled
            let attr =
                if node.list("scale").is_some_and(|s| s.iter().any(|&x| x != 1.0)) { "scale" } else { "massscale" };
            let span = node.attr(attr).map_or(node.span, |a| a.span);
            let of = name.as_ref().map_or(String::new(), |n| format!(" of \"{n}\""));
            let kind = ErrorKind::Unsupported(format!("frame/{attr}{of}"));
            self.cx.error(span, kind, Some("write the elements in their final size, or scale the meshes".into()));
        }
        let frame = Frame {
            at: At::of(&At::default(), node),
            name,
            parent: place.frame,
            pos: node.exact("pos").unwrap_or_default(),
            orientation: self.orientation(node, None),
        };
        self.spec.frames.push(frame);
        let frame = Some(self.spec.frames.len() - 1);
        self.children(node, &Place { frame, class, ..place.clone() });
    }

    /// The children of `replicate`, once for each copy: copy i is turned by i times the angles, and lies off the one before
    /// it by the offset in that one's axes.
    fn replicate(&mut self, node: &Node, place: &Place) {
        let count = node.int("count").unwrap_or(0);
        if !(0..=replicate::MAX_COPIES).contains(&count) || node.int("count").is_none() {
            let span = node.attr("count").map_or(node.span, |a| a.span);
            let kind = ErrorKind::BadValue(format!("`count` must be from 0 to {}", replicate::MAX_COPIES));
            self.cx.error(span, kind, Some("write count=\"NUMBER OF COPIES\"".into()));
            return;
        }
        if let Some(child) = node.children.iter().find(|c| matches!(c.tag.as_str(), "joint" | "freejoint")) {
            let kind = ErrorKind::Misplaced("a joint cannot be replicated within its body".into());
            self.cx.error(child.span, kind, Some("put it into a <body> inside <replicate>".into()));
            return;
        }
        let (at, offset) = (At::of(&At::default(), node), node.exact("offset").unwrap_or_default());
        let turn = self.orientation(node, None);
        let (mut pos, mut frame) = ([0.0; 3], place.frame);
        for i in 0..count {
            self.made += 1;
            if self.made > replicate::MAX_ELEMENTS {
                self.too_many(node);
                return;
            }
            if i > 0 {
                let before = replicate::turned(turn.as_ref(), f64::from(i - 1), &self.spec.compiler, offset);
                pos = std::array::from_fn(|k| pos[k] + before[k]);
                let orientation = turn.as_ref().map(|t| replicate::times(t, f64::from(i)));
                self.spec.frames.push(Frame { at: at.clone(), name: None, parent: place.frame, pos, orientation });
                frame = Some(self.spec.frames.len() - 1);
            }
            let suffix = place.suffix.inside(node.text("sep").unwrap_or(""), i, count);
            self.children(node, &Place { frame, suffix, ..place.clone() });
        }
    }

    fn inertial(&mut self, node: &Node, place: &Place) {
        if place.body == 0 {
            let kind = ErrorKind::Misplaced("the world has no inertia".into());
            self.cx.error(node.span, kind, Some("put <inertial> into a <body>".into()));
            return;
        }
        self.cx.required(node, "pos");
        self.cx.required(node, "mass");
        if node.list("fullinertia").is_some_and(|l| !l.is_empty()) {
            self.cx.exclusive(node, "diaginertia", "fullinertia");
            for form in FORMS {
                self.cx.exclusive(node, "fullinertia", form);
            }
        }
        if self.spec.bodies[place.body].inertial.is_some() {
            let kind = ErrorKind::Repeated { element: "inertial".into(), parent: "body".into() };
            self.cx.error(node.span, kind, Some("keep one of them".into()));
        }
        let inertial = Inertial {
            at: At::of(&At::default(), node),
            frame: place.frame,
            pos: node.exact("pos").unwrap_or_default(),
            orientation: self.orientation(node, None),
            mass: node.real("mass").unwrap_or(0.0),
            diaginertia: node.exact("diaginertia"),
            fullinertia: node.exact("fullinertia"),
        };
        self.spec.bodies[place.body].inertial = Some(inertial);
    }

    fn joint(&mut self, node: &Node, place: &Place) {
        if place.body == 0 {
            let kind = ErrorKind::Misplaced("the world has no joints".into());
            self.cx.error(node.span, kind, Some("put it into a <body>".into()));
            return;
        }
        let mut joint = if node.tag == "freejoint" {
            // takes nothing from default classes
            let mut joint = self.joint_attrs(node, &Joint::default());
            joint.kind = JointKind::Free;
            node.tri("align", &mut joint.align);
            joint
        } else {
            let class = self.class_of(node, place.class);
            let base = self.classes.get(class).joint.clone();
            self.joint_attrs(node, &base)
        };
        self.check_user(node, "nuser_jnt");
        joint.name = self.named("joint", node, place);
        joint.frame = place.frame;
        self.joint_in_main_unit(node, &mut joint);
        self.settle(node, &mut joint.limited, joint.range);
        self.settle(node, &mut joint.actuatorfrclimited, joint.actuatorfrcrange);
        self.check_joint(&joint, place.body);
        self.note(node, Element::Joint(place.body, self.spec.bodies[place.body].joints.len()));
        self.spec.bodies[place.body].joints.push(joint);
    }

    fn check_joint(&mut self, joint: &Joint, body: usize) {
        let others = &self.spec.bodies[body].joints;
        if joint.kind == JointKind::Free && self.spec.bodies[body].parent != 0 {
            let kind = ErrorKind::Misplaced("a free joint stands in a child of the world only".into());
            self.cx.error(joint.at.span, kind, Some("move the body to the top, or use other joints".into()));
        } else if (joint.kind == JointKind::Free && !others.is_empty())
            || others.iter().any(|j| j.kind == JointKind::Free)
        {
            let kind = ErrorKind::Misplaced("a body with a free joint has no other joint".into());
            self.cx.error(joint.at.span, kind, Some("remove one of them".into()));
        } else {
            let turns = |k: JointKind| matches!(k, JointKind::Ball | JointKind::Hinge);
            let ball = joint.kind == JointKind::Ball && others.iter().any(|j| turns(j.kind));
            if ball || (turns(joint.kind) && others.iter().any(|j| j.kind == JointKind::Ball)) {
                let kind = ErrorKind::Misplaced("a body with a ball joint has no other joint that turns".into());
                self.cx.error(joint.at.span, kind, Some("remove one of them".into()));
            }
        }
    }

    /// A joint's attributes over those of a class.
    pub(super) fn joint_attrs(&mut self, node: &Node, base: &Joint) -> Joint {
        let mut j = Joint { at: At::of(&base.at, node), ..base.clone() };
        node.word("type", JOINT_KINDS, &mut j.kind);
        node.set_int("group", &mut j.group);
        node.over("pos", &mut j.pos);
        node.over("axis", &mut j.axis);
        node.over("springdamper", &mut j.springdamper);
        node.tri("limited", &mut j.limited);
        node.over("range", &mut j.range);
        node.tri("actuatorfrclimited", &mut j.actuatorfrclimited);
        node.over("actuatorfrcrange", &mut j.actuatorfrcrange);
        node.flag("actuatorgravcomp", &mut j.actuatorgravcomp);
        node.over("solreflimit", &mut j.solreflimit);
        node.over("solimplimit", &mut j.solimplimit);
        node.over("solreffriction", &mut j.solreffriction);
        node.over("solimpfriction", &mut j.solimpfriction);
        node.over("stiffness", &mut j.stiffness);
        node.over("damping", &mut j.damping);
        node.set("margin", &mut j.margin);
        node.set("ref", &mut j.reference);
        node.set("springref", &mut j.springref);
        node.set("springyield", &mut j.springyield);
        node.set("armature", &mut j.armature);
        node.set("frictionloss", &mut j.frictionloss);
        if let Some(user) = node.list("user") {
            j.user = user;
        }
        self.made += j.user.len() / 64;
        j
    }

    fn geom(&mut self, node: &Node, place: &Place) {
        let class = self.class_of(node, place.class);
        let base = self.classes.get(class).geom.clone();
        let mut geom = self.geom_attrs(node, &base);
        self.check_user(node, "nuser_geom");
        geom.name = self.named("geom", node, place);
        geom.frame = place.frame;
        for (kind, name) in [("mesh", &geom.mesh), ("hfield", &geom.hfield), ("material", &geom.material)] {
            if let Some(name) = name {
                self.refer(kind, name, geom.at.attr(kind));
            }
        }
        if node.children.iter().any(|c| c.tag == "plugin") {
            self.unsupported("geom/plugin", node);
        }
        self.spec.bodies[place.body].geoms.push(geom);
    }

    /// A geom's attributes over those of a class.
    pub(super) fn geom_attrs(&mut self, node: &Node, base: &Geom) -> Geom {
        let mut g = Geom { at: At::of(&base.at, node), ..base.clone() };
        node.word("type", GEOM_KINDS, &mut g.kind);
        node.set_int("contype", &mut g.contype);
        node.set_int("conaffinity", &mut g.conaffinity);
        node.set_int("condim", &mut g.condim);
        node.set_int("group", &mut g.group);
        node.set_int("priority", &mut g.priority);
        node.over("size", &mut g.size);
        g.fromto = node.exact("fromto").or(g.fromto);
        node.over("pos", &mut g.pos);
        g.orientation = self.orientation(node, g.orientation);
        node.over("friction", &mut g.friction);
        g.mass = node.real("mass").or(g.mass);
        node.set("density", &mut g.density);
        node.flag("shellinertia", &mut g.shellinertia);
        node.set("solmix", &mut g.solmix);
        node.over("solref", &mut g.solref);
        node.over("solimp", &mut g.solimp);
        node.set("margin", &mut g.margin);
        node.set("gap", &mut g.gap);
        node.over("surfacevel", &mut g.surfacevel);
        node.set("adhesion", &mut g.adhesion);
        node.set_text("hfield", &mut g.hfield);
        node.set_text("mesh", &mut g.mesh);
        node.set("fitscale", &mut g.fitscale);
        node.word("fluidshape", &[("none", false), ("ellipsoid", true)], &mut g.fluid_ellipsoid);
        node.over("fluidcoef", &mut g.fluidcoef);
        node.set_text("material", &mut g.material);
        node.over("rgba", &mut g.rgba);
        if let Some(user) = node.list("user") {
            g.user = user;
        }
        self.made += g.user.len() / 64;
        if !matches!(g.condim, 1 | 3 | 4 | 6) && node.attr("condim").is_some() {
            let kind = ErrorKind::BadValue(format!("`condim` is 1, 3, 4 or 6, not {}", g.condim));
            self.cx.error(g.at.attr("condim"), kind, Some("3 is friction against sliding, 1 is none".into()));
        }
        g
    }

    fn site(&mut self, node: &Node, place: &Place) {
        let class = self.class_of(node, place.class);
        let base = self.classes.get(class).site.clone();
        let mut site = self.site_attrs(node, &base);
        self.check_user(node, "nuser_site");
        site.name = self.named("site", node, place);
        site.frame = place.frame;
        for (kind, name) in [("mesh", &site.mesh), ("material", &site.material)] {
            if let Some(name) = name {
                self.refer(kind, name, site.at.attr(kind));
            }
        }
        self.spec.bodies[place.body].sites.push(site);
    }

    /// A site's attributes over those of a class.
    pub(super) fn site_attrs(&mut self, node: &Node, base: &Site) -> Site {
        let mut s = Site { at: At::of(&base.at, node), ..base.clone() };
        node.word("type", GEOM_KINDS, &mut s.kind);
        node.set_int("group", &mut s.group);
        node.over("size", &mut s.size);
        s.fromto = node.exact("fromto").or(s.fromto);
        node.over("pos", &mut s.pos);
        s.orientation = self.orientation(node, s.orientation);
        node.set_text("mesh", &mut s.mesh);
        node.set_text("material", &mut s.material);
        node.over("rgba", &mut s.rgba);
        if let Some(user) = node.list("user") {
            s.user = user;
        }
        self.made += s.user.len() / 64;
        s
    }

    /// Lights, which have no physics.
    fn light(&mut self, node: &Node, place: &Place) {
        let class = self.class_of(node, place.class);
        let light = self.light_attrs(node, &self.classes.get(class).light.clone());
        let zero = light.dir.iter().map(|x| x * x).sum::<f64>() < 1e-28;
        let faults = [
            (zero, "dir", "a light shines in a direction that has a length", "write a direction, such as 0 0 -1"),
            (
                !(0.0..=1.0).contains(&light.softness),
                "softness",
                "`softness` is from 0 to 1",
                "write a value from 0 to 1",
            ),
        ];
        for (_, attr, text, remedy) in faults.into_iter().filter(|f| f.0) {
            self.cx.error(light.at.attr(attr), ErrorKind::BadValue(text.into()), Some(remedy.into()));
        }
        self.named("light", node, place);
        self.refer_attr("body", node, "target");
        self.refer_attr("texture", node, "texture");
    }

    /// A light's attributes over those of a class.
    pub(super) fn light_attrs(&mut self, node: &Node, base: &Light) -> Light {
        let mut light = Light { at: At::of(&base.at, node), ..*base };
        node.over("dir", &mut light.dir);
        node.set("softness", &mut light.softness);
        self.orientation(node, None);
        self.cx.exclusive(node, "directional", "type");
        light
    }

    fn camera(&mut self, node: &Node, place: &Place) {
        let class = self.class_of(node, place.class);
        let base = self.classes.get(class).camera.clone();
        let mut camera = self.camera_attrs(node, &base);
        self.check_user(node, "nuser_cam");
        camera.name = self.named("camera", node, place);
        (camera.body, camera.frame) = (place.body, place.frame);
        self.refer_attr("body", node, "target");
        self.check_camera(&camera);
        self.spec.cameras.push(camera);
    }

    /// The element's name with the suffix of its place, taken in.
    fn named(&mut self, kind: &'static str, node: &Node, place: &Place) -> Option<String> {
        let base = node.text("name")?;
        let name = place.suffix.apply(base);
        self.define(kind, Some(&name), node);
        if name != base {
            let suffixes = self.names.replicas.entry((kind, base.to_owned())).or_default();
            suffixes.push(name[base.len()..].to_owned());
        }
        Some(name)
    }

    /// The orientation in whichever form it is written, over that of a class.
    pub(super) fn orientation(&mut self, node: &Node, base: Option<Orientation>) -> Option<Orientation> {
        let written: Vec<&str> = FORMS.into_iter().filter(|f| node.text(f).is_some()).collect();
        if let [first, second, ..] = written[..] {
            self.cx.exclusive(node, first, second);
        }
        let Some(&first) = written.first() else { return base };
        let form = match first {
            "quat" => node.exact("quat").map(Orientation::Quat),
            "axisangle" => node.exact("axisangle").map(Orientation::AxisAngle),
            "euler" => node.exact("euler").map(Orientation::Euler),
            "xyaxes" => node.exact("xyaxes").map(Orientation::XyAxes),
            _ => node.exact("zaxis").map(Orientation::ZAxis),
        };
        form.map(|f| self.in_main_unit(node, f)).or(base)
    }
}

/// The attributes that give an orientation.
const FORMS: [&str; 5] = ["quat", "axisangle", "euler", "xyaxes", "zaxis"];
