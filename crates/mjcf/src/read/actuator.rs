//! Actuators. A class has a single actuator default, which any of the shortcuts may write; a shortcut takes its own
//! parameters from a default written with the same shortcut, or from a `general` one of the same gain type.

use super::Reader;
use super::defaults::Class;
use super::scope::Element;
use crate::dom::Node;
use crate::error::ErrorKind;
use crate::span::At;
use crate::spec::{
    Actuator, ActuatorKind, BiasType, DynType, GainType, General, Interp, Position, Transmission, Tri, Velocity,
};

/// All actuator elements.
const TAGS: [&str; 13] = [
    "general",
    "motor",
    "position",
    "velocity",
    "intvelocity",
    "orientation",
    "pid",
    "damper",
    "cylinder",
    "muscle",
    "adhesion",
    "dcmotor",
    "plugin",
];

/// Shortcuts that are read as what they stand for, with their gain types.
const SHORTCUTS: [(&str, GainType); 5] = [
    ("muscle", GainType::Muscle),
    ("adhesion", GainType::Fixed),
    ("cylinder", GainType::Fixed),
    ("damper", GainType::Affine),
    ("intvelocity", GainType::Fixed),
];

/// Parameters of the dynamics and of the gain of a muscle.
const MUSCLE: ([f64; 10], [f64; 10]) =
    ([0.01, 0.04, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.75, 1.05, -1.0, 200.0, 0.5, 1.6, 1.5, 1.3, 1.2, 0.0]);

/// Attributes of a muscle's gain, behind its range.
const MUSCLE_ATTRS: [&str; 7] = ["force", "scale", "lmin", "lmax", "vmax", "fpmax", "fvmax"];

/// Whether a tag is that of an actuator.
pub(super) fn is_actuator(tag: &str) -> bool {
    TAGS.contains(&tag)
}

/// The actuator default of a class.
#[derive(Clone, Debug, Default)]
pub(super) struct ActuatorDefault {
    /// attributes that all actuators share, and the element it is written with
    pub(super) actuator: Actuator,
    /// the same as parameters of `general`
    raw: General,
    /// the shortcut whose parameters a `general` would inherit, where it is one that is not known here
    foreign: Option<String>,
}

impl Reader<'_, '_> {
    /// An actuator in a default class.
    pub(super) fn actuator_default(&mut self, node: &Node, class: &mut Class) {
        let base = class.actuator.clone();
        let from = self.source(&base, class.parent, &node.tag);
        let mut actuator = self.actuator_attrs(node, &base.actuator);
        actuator.kind = self.kind(node, &from, base.raw);
        let raw = raw(&actuator.kind, base.raw);
        let foreign = match &actuator.kind {
            ActuatorKind::Other(tag) => Some(tag.clone()),
            ActuatorKind::General(_) => base.foreign,
            _ => None,
        };
        class.actuator = ActuatorDefault { actuator, raw, foreign };
    }

    /// The nearest class default that a shortcut can take its parameters from.
    fn source(&self, own: &ActuatorDefault, mut parent: Option<usize>, tag: &str) -> ActuatorDefault {
        let mut from = own.clone();
        loop {
            if fits(&from.actuator.kind, from.raw, tag) {
                return from;
            }
            let Some(id) = parent else { return ActuatorDefault::default() };
            let class = self.classes.get(id);
            from = class.actuator.clone();
            parent = class.parent;
        }
    }

    pub(super) fn actuator(&mut self, root: &Node) {
        self.elements(root, "actuator", "actuator", &TAGS).iter().for_each(|n| self.one_actuator(n));
    }

    fn one_actuator(&mut self, node: &Node) {
        let class = self.class_outside(node);
        let Class { actuator: base, parent, .. } = self.classes.get(class).clone();
        let from = self.source(&base, parent, &node.tag);
        let mut actuator = self.actuator_attrs(node, &base.actuator);
        self.check_user(node, "nuser_actuator");
        actuator.name = node.owned("name");
        self.settle(node, &mut actuator.ctrllimited, actuator.ctrlrange);
        self.settle(node, &mut actuator.forcelimited, actuator.forcerange);
        if node.tag == "intvelocity" {
            // as in MuJoCo, which decides by the range alone
            actuator.actlimited = Tri::Auto;
        }
        self.settle(node, &mut actuator.actlimited, actuator.actrange);
        self.define("actuator", actuator.name.as_deref(), node);
        actuator.kind = self.kind(node, &from, base.raw);
        if let (ActuatorKind::General(_), Some(tag)) = (&actuator.kind, base.foreign) {
            actuator.kind = ActuatorKind::Other(tag);
        }
        actuator.transmission = self.transmission(node);
        let inherits = matches!(
            actuator.kind,
            ActuatorKind::Position(_) | ActuatorKind::General(_) | ActuatorKind::Shortcut { tag: "intvelocity", .. }
        );
        if !inherits {
            actuator.inheritrange = 0.0;
        }
        if matches!(actuator.kind, ActuatorKind::Shortcut { tag: "adhesion" | "damper", .. }) {
            actuator.ctrllimited = Tri::True;
        }
        if let ActuatorKind::Other(tag) = &actuator.kind {
            self.unsupported(format!("actuator/{tag}"), node);
        }
        self.refer_all(node);
        self.note(node, Element::Actuator(self.spec.actuators.len()));
        self.spec.actuators.push(actuator);
    }

    /// What the actuator acts on.
    fn transmission(&mut self, node: &Node) -> Transmission {
        let targets = ["joint", "jointinparent", "tendon", "site", "body", "cranksite"];
        let named: Vec<&str> = targets.into_iter().filter(|t| node.attr(t).is_some()).collect();
        if let [first, second, ..] = named[..] {
            self.cx.exclusive(node, first, second);
        }
        let Some(&target) = named.iter().find(|t| node.text(t).is_some()) else {
            if node.tag != "plugin" {
                self.incomplete(
                    node,
                    "the actuator acts on nothing",
                    "give `joint`, `jointinparent`, `tendon` or `site`",
                );
            }
            return Transmission::None;
        };
        let only = [("cranklength", "cranksite"), ("slidersite", "cranksite"), ("refsite", "site")];
        for (attr, with) in only.into_iter().filter(|&(_, with)| with != target) {
            if let Some(a) = node.attr(attr) {
                let kind = ErrorKind::BadValue(format!("`{attr}` makes sense with `{with}` only"));
                self.cx.error(a.span, kind, Some("remove it".into()));
            }
        }
        let name = node.owned(target).unwrap_or_default();
        match target {
            "joint" => Transmission::Joint(name),
            "jointinparent" => Transmission::JointInParent(name),
            "tendon" => Transmission::Tendon(name),
            "site" => Transmission::Site(name, node.owned("refsite")),
            "body" => Transmission::Body(name),
            _ => Transmission::SliderCrank(name, node.owned("slidersite")),
        }
    }

    /// The attributes that all actuators share, over those of a class.
    fn actuator_attrs(&mut self, node: &Node, base: &Actuator) -> Actuator {
        let mut a = Actuator { at: At::of(&base.at, node), ..base.clone() };
        node.set_int("group", &mut a.group);
        node.tri("ctrllimited", &mut a.ctrllimited);
        node.over("ctrlrange", &mut a.ctrlrange);
        node.tri("forcelimited", &mut a.forcelimited);
        node.over("forcerange", &mut a.forcerange);
        node.tri("actlimited", &mut a.actlimited);
        node.over("actrange", &mut a.actrange);
        node.over("lengthrange", &mut a.lengthrange);
        node.over("gear", &mut a.gear);
        node.set("cranklength", &mut a.cranklength);
        if matches!(node.tag.as_str(), "damper" | "adhesion") && a.ctrlrange.iter().any(|&x| x < 0.0) {
            self.negative(node, "ctrlrange");
        }
        node.over("damping", &mut a.damping);
        node.set("armature", &mut a.armature);
        if node.tag == "position" {
            // the later of the two replaces the other
            if node.text("inheritrange").is_some() {
                a.ctrlrange = [0.0; 2];
            } else if node.text("ctrlrange").is_some() {
                a.inheritrange = 0.0;
            }
        }
        node.set("inheritrange", &mut a.inheritrange);
        node.set_int("nsample", &mut a.nsample);
        node.word(
            "interp",
            &[("zoh", Interp::Zoh), ("linear", Interp::Linear), ("cubic", Interp::Cubic)],
            &mut a.interp,
        );
        node.set("delay", &mut a.delay);
        if let Some(user) = node.list("user") {
            a.user = user;
        }
        a
    }

    /// The element's own parameters: `from` is where a shortcut starts, `raw` where `general` starts.
    fn kind(&mut self, node: &Node, from: &ActuatorDefault, raw: General) -> ActuatorKind {
        match node.tag.as_str() {
            "general" => {
                let g = general(node, raw);
                self.inputs(node, g);
                ActuatorKind::General(g)
            }
            "motor" => ActuatorKind::Motor,
            "position" => ActuatorKind::Position(self.position(node, from)),
            "velocity" => {
                let mut v = Velocity::default();
                match from.actuator.kind {
                    ActuatorKind::Velocity(known) => v = known,
                    ActuatorKind::General(_) => v.kv = from.raw.gainprm[0],
                    _ => {}
                }
                node.set("kv", &mut v.kv);
                ActuatorKind::Velocity(v)
            }
            tag => match SHORTCUTS.iter().find(|(t, _)| *t == tag) {
                Some(&(tag, gain)) => ActuatorKind::Shortcut { tag, general: self.shortcut(node, from, tag, gain) },
                None => ActuatorKind::Other(tag.to_owned()),
            },
        }
    }

    /// What a shortcut stands for. It starts from a default written with the same shortcut, or with `general` of its gain type.
    fn shortcut(&mut self, node: &Node, from: &ActuatorDefault, tag: &str, gain: GainType) -> General {
        let known = match &from.actuator.kind {
            ActuatorKind::Shortcut { tag: t, general } if *t == tag => Some(*general),
            ActuatorKind::General(g) if g.gaintype == gain => Some(*g),
            _ => None,
        };
        let start = known.unwrap_or_default();
        let mut g = General { gaintype: gain, ..General::default() };
        match tag {
            "muscle" => {
                (g.dyntype, g.biastype) = (DynType::Muscle, BiasType::Muscle);
                (g.dynprm, g.gainprm) = known.map_or(MUSCLE, |k| (k.dynprm, k.gainprm));
                node.over("timeconst", g.dynprm.first_chunk_mut::<2>().unwrap_or(&mut [0.0; 2]));
                node.set("tausmooth", &mut g.dynprm[2]);
                node.over("range", g.gainprm.first_chunk_mut::<2>().unwrap_or(&mut [0.0; 2]));
                for (name, value) in MUSCLE_ATTRS.iter().zip(&mut g.gainprm[2..]) {
                    node.set(name, value);
                }
                // a negative number stands for MuJoCo's default, whatever the class says
                let numbers = g.gainprm.iter_mut().zip(MUSCLE.1).chain(g.dynprm[..2].iter_mut().zip(MUSCLE.0));
                numbers.filter(|(x, _)| **x < 0.0).for_each(|(x, default)| *x = default);
                g.biasprm = g.gainprm;
                if g.dynprm[2] < 0.0 {
                    self.negative(node, "tausmooth");
                }
            }
            "cylinder" => {
                (g.dyntype, g.biastype) = (DynType::Filter, BiasType::Affine);
                (g.dynprm[0], g.gainprm[0]) = (start.dynprm[0], start.gainprm[0]);
                g.biasprm[..3].copy_from_slice(&start.biasprm[..3]);
                node.set("timeconst", &mut g.dynprm[0]);
                node.set("area", &mut g.gainprm[0]);
                if let Some(d) = node.real("diameter") {
                    g.gainprm[0] = std::f64::consts::PI / 4.0 * d * d;
                }
                node.over("bias", g.biasprm.first_chunk_mut::<3>().unwrap_or(&mut [0.0; 3]));
            }
            "damper" => {
                // MuJoCo's manual gives a gain of 1 where none is written; it takes 0
                let mut kv = -known.map_or(0.0, |k| k.gainprm[2]);
                node.set("kv", &mut kv);
                g.gainprm = [0.0; 10];
                g.gainprm[2] = -kv;
                if kv < 0.0 {
                    self.negative(node, "kv");
                }
            }
            "intvelocity" => {
                let p = self.position(node, from);
                g = raw(&ActuatorKind::Position(Position { timeconst: 0.0, ..p }), g);
                g.dyntype = DynType::Integrator;
            }
            _ => {
                g.gainprm[0] = start.gainprm[0];
                node.set("gain", &mut g.gainprm[0]);
                if g.gainprm[0] < 0.0 {
                    self.negative(node, "gain");
                }
            }
        }
        g
    }

    /// What `input` says about the control, which the motion does not depend on.
    fn inputs(&mut self, node: &Node, g: General) {
        let known = ["pos", "vel", "ff", "voltage", "pressure"];
        let words: Vec<&str> = node.text("input").unwrap_or("").split_ascii_whitespace().collect();
        let plain = matches!(g.gaintype, GainType::Fixed | GainType::Affine);
        let place = |w: &&str| known.iter().position(|k| k == w);
        let sound = match words[..] {
            [] => true,
            [word] if plain => ["pos", "vel", "pressure"].contains(&word),
            ["none"] => !plain,
            _ => !plain && words.iter().all(|w| place(w).is_some()) && words.is_sorted_by(|a, b| place(a) < place(b)),
        };
        if !sound && !matches!(g.gaintype, GainType::So3) {
            let kind = ErrorKind::UnknownKeyword { value: words.join(" "), attribute: "input".into() };
            let span = node.attr("input").map_or(node.span, |a| a.span);
            self.cx.error(span, kind, Some("write `pos`, `vel` or `pressure`, or leave it out".into()));
        }
    }

    /// Reports a number that cannot be negative.
    fn negative(&mut self, node: &Node, name: &str) {
        let span = node.attr(name).map_or(node.span, |a| a.span);
        let kind = ErrorKind::BadValue(format!("`{name}` cannot be negative"));
        self.cx.error(span, kind, Some("give a value of 0 or more".into()));
    }

    fn position(&mut self, node: &Node, from: &ActuatorDefault) -> Position {
        let mut p = Position::default();
        match &from.actuator.kind {
            ActuatorKind::Position(known) => p = *known,
            ActuatorKind::General(g) | ActuatorKind::Shortcut { tag: "intvelocity", general: g } => {
                p.kp = g.gainprm[0];
                p.kv = (-g.biasprm[2]).max(0.0);
                p.dampratio = g.biasprm[2].max(0.0);
                if g.dyntype == DynType::FilterExact {
                    p.timeconst = g.dynprm[0];
                }
            }
            _ => {}
        }
        self.cx.exclusive(node, "kv", "dampratio");
        if node.real("inheritrange").is_some_and(|x| x > 0.0) {
            let range = if node.tag == "intvelocity" { "actrange" } else { "ctrlrange" };
            self.cx.exclusive(node, range, "inheritrange");
        }
        node.set("kp", &mut p.kp);
        if let Some(kv) = node.real("kv") {
            (p.kv, p.dampratio) = (kv, 0.0);
        }
        if let Some(ratio) = node.real("dampratio") {
            (p.kv, p.dampratio) = (0.0, ratio);
        }
        node.set("timeconst", &mut p.timeconst);
        for (name, value) in [("kv", p.kv), ("dampratio", p.dampratio), ("timeconst", p.timeconst)] {
            if value < 0.0 && node.attr(name).is_some() {
                self.negative(node, name);
            }
        }
        p
    }
}

/// Whether a default can give a shortcut its parameters.
fn fits(kind: &ActuatorKind, raw: General, tag: &str) -> bool {
    match kind {
        ActuatorKind::General(_) => {
            let gain = SHORTCUTS.iter().find(|(t, _)| *t == tag).map_or(GainType::Fixed, |(_, gain)| *gain);
            tag == "general" || raw.gaintype == gain
        }
        ActuatorKind::Shortcut { tag: other, .. } => tag == *other,
        ActuatorKind::Motor => tag == "motor",
        ActuatorKind::Position(_) => tag == "position",
        ActuatorKind::Velocity(_) => tag == "velocity",
        ActuatorKind::Other(other) => tag == other,
    }
}

/// A shortcut as parameters of `general`: what a `general` inherits from it.
fn raw(kind: &ActuatorKind, before: General) -> General {
    let mut g = General::default();
    match kind {
        ActuatorKind::General(own) | ActuatorKind::Shortcut { general: own, .. } => g = *own,
        ActuatorKind::Motor => {}
        ActuatorKind::Position(p) => {
            g.gainprm[0] = p.kp;
            g.biastype = BiasType::Affine;
            g.biasprm[1] = -p.kp;
            // a positive value stands for a damping ratio, as in MuJoCo
            g.biasprm[2] = if p.dampratio > 0.0 { p.dampratio } else { -p.kv };
            if p.timeconst > 0.0 {
                g.dyntype = DynType::FilterExact;
                g.dynprm[0] = p.timeconst;
            }
        }
        ActuatorKind::Velocity(v) => {
            g.gainprm[0] = v.kv;
            g.biastype = BiasType::Affine;
            g.biasprm[2] = -v.kv;
        }
        // a `general` below such a class is of no known kind; it keeps what was there
        ActuatorKind::Other(_) => g = before,
    }
    g
}

/// The parameters of `general` over those of a class.
fn general(node: &Node, mut g: General) -> General {
    let dynamics = [
        ("none", DynType::None),
        ("integrator", DynType::Integrator),
        ("filter", DynType::Filter),
        ("filterexact", DynType::FilterExact),
        ("pid", DynType::Pid),
        ("dcmotor", DynType::DcMotor),
        ("muscle", DynType::Muscle),
        ("user", DynType::User),
    ];
    let gains = [
        ("fixed", GainType::Fixed),
        ("affine", GainType::Affine),
        ("muscle", GainType::Muscle),
        ("dcmotor", GainType::DcMotor),
        ("pid", GainType::Pid),
        ("so3", GainType::So3),
        ("user", GainType::User),
    ];
    let biases = [
        ("none", BiasType::None),
        ("affine", BiasType::Affine),
        ("muscle", BiasType::Muscle),
        ("dcmotor", BiasType::DcMotor),
        ("so3", BiasType::So3),
        ("user", BiasType::User),
    ];
    node.word("dyntype", &dynamics, &mut g.dyntype);
    node.word("gaintype", &gains, &mut g.gaintype);
    node.word("biastype", &biases, &mut g.biastype);
    node.over("dynprm", &mut g.dynprm);
    node.over("gainprm", &mut g.gainprm);
    node.over("biasprm", &mut g.biasprm);
    node.set_int("actdim", &mut g.actdim);
    node.flag("actearly", &mut g.actearly);
    g
}
