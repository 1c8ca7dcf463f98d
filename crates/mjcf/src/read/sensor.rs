//! Sensors and cameras.

use super::Reader;
use crate::dom::Node;
use crate::error::ErrorKind;
use crate::refer::referred;
use crate::span::At;
use crate::spec::{Camera, CameraMode, Interp, Object, Sensor};

/// Attributes of a camera that need the size of its sensor.
const INTRINSICS: [&str; 4] = ["focal", "focalpixel", "principal", "principalpixel"];

impl Reader<'_, '_> {
    pub(super) fn sensor(&mut self, root: &Node) {
        for node in &self.elements(root, "sensor", "sensor", &[]) {
            self.define("sensor", node.text("name"), node);
            self.check_user(node, "nuser_sensor");
            for attr in &node.attrs {
                if let Some(kind) = referred(node, &attr.name) {
                    self.refer(kind, &attr.value, attr.span);
                }
            }
            if node.tag == "tactile" {
                self.refer_attr("mesh", node, "mesh");
            }
            if node.tag == "plugin" {
                self.unsupported("sensor/plugin", node);
                continue;
            }
            let sensor = self.one_sensor(node);
            self.spec.sensors.push(sensor);
        }
    }

    fn one_sensor(&mut self, node: &Node) -> Sensor {
        let (object, reference) = self.objects_of_sensor(node);
        let mut s = Sensor {
            at: At::of(&At::default(), node),
            kind: node.tag.clone(),
            name: node.owned("name"),
            object,
            reference,
            num: 1,
            ..Sensor::default()
        };
        node.set("cutoff", &mut s.cutoff);
        node.set("noise", &mut s.noise);
        node.set_int("nsample", &mut s.nsample);
        let ways = [("zoh", Interp::Zoh), ("linear", Interp::Linear), ("cubic", Interp::Cubic)];
        node.word("interp", &ways, &mut s.interp);
        node.set("delay", &mut s.delay);
        node.over("interval", &mut s.interval);
        s.data = node.text("data").unwrap_or("").split_ascii_whitespace().map(str::to_owned).collect();
        s.reduce = node.owned("reduce");
        node.set_int("num", &mut s.num);
        node.set_int("dim", &mut s.dim);
        node.flag("enclosed", &mut s.enclosed);
        (s.datatype, s.needstage) = (node.owned("datatype"), node.owned("needstage"));
        if node.tag == "user" {
            self.cx.required(node, "dim");
        }
        let fixed = [("axis", 3), ("quaternion", 4)].into_iter().find(|(t, _)| s.datatype.as_deref() == Some(t));
        if let Some((word, dim)) = fixed.filter(|(_, dim)| s.dim != *dim) {
            let kind = ErrorKind::BadValue(format!("values of type {word} have {dim} numbers, not {}", s.dim));
            self.cx.error(s.at.attr("dim"), kind, Some(format!("write dim=\"{dim}\"")));
        }
        if s.num < 1 || s.dim < 0 {
            let attr = if s.num < 1 { "num" } else { "dim" };
            let kind = ErrorKind::BadValue(format!("`{attr}` of a sensor is positive"));
            self.cx.error(s.at.attr(attr), kind, Some("write 1 or more".into()));
        }
        s
    }

    /// What a sensor is attached to, and what it measures against.
    fn objects_of_sensor(&mut self, node: &Node) -> (Option<Object>, Option<Object>) {
        let named =
            |attr: &'static str, kind: &str| node.owned(attr).map(|name| Object { kind: kind.to_owned(), name, attr });
        let one_of = |choices: &[(&'static str, &str)]| choices.iter().find_map(|&(attr, kind)| named(attr, kind));
        let typed = |name: &'static str, kind: &str| named(name, node.text(kind).unwrap_or(""));
        let (object, reference) = match node.tag.as_str() {
            "camprojection" => (named("site", "site"), named("camera", "camera")),
            "insidesite" => (typed("objname", "objtype"), named("site", "site")),
            "tactile" => (named("mesh", "mesh"), named("geom", "geom")),
            "distance" | "normal" | "fromto" | "contact" => {
                let first = [("site", "site"), ("subtree1", "xbody"), ("body1", "body"), ("geom1", "geom")];
                let second = [("subtree2", "xbody"), ("body2", "body"), ("geom2", "geom")];
                (one_of(&first), one_of(&second))
            }
            tag if tag.starts_with("frame") || tag == "user" => {
                (typed("objname", "objtype"), typed("refname", "reftype"))
            }
            _ => {
                let kinds = [
                    ("site", "site"),
                    ("camera", "camera"),
                    ("joint", "joint"),
                    ("tendon", "tendon"),
                    ("actuator", "actuator"),
                    ("body", "body"),
                ];
                (one_of(&kinds), None)
            }
        };
        let free = matches!(node.tag.as_str(), "contact" | "user" | "clock" | "e_potential" | "e_kinetic");
        for name in ["obj", "ref"] {
            self.cx.together(node, &format!("{name}type"), &format!("{name}name"));
        }
        match node.tag.as_str() {
            "camprojection" => drop(self.cx.required(node, "camera")),
            "insidesite" => drop(self.cx.required(node, "site")),
            "tactile" => drop(self.cx.required(node, "geom")),
            "rangefinder" => self.cx.exclusive(node, "site", "camera"),
            "distance" | "normal" | "fromto" => {
                if reference.is_none() {
                    self.incomplete(node, "the sensor has one end only", "give `geom2` or `body2`");
                }
                if object.is_some()
                    && object.as_ref().map(|o| (&o.kind, &o.name)) == reference.as_ref().map(|o| (&o.kind, &o.name))
                {
                    self.incomplete(node, "both ends of the sensor are the same", "name two geoms or bodies");
                }
            }
            _ => {}
        }
        let sides = [&["site", "subtree1", "body1", "geom1"][..], &["subtree2", "body2", "geom2"]];
        for side in sides {
            let there: Vec<&str> = side.iter().copied().filter(|a| node.attr(a).is_some()).collect();
            if let [first, second, ..] = there[..] {
                self.cx.exclusive(node, first, second);
            }
        }
        if object.is_none() && !free {
            self.incomplete(node, &format!("the sensor <{}> is attached to nothing", node.tag), "name its object");
        }
        (object, reference)
    }

    /// A camera's attributes over those of a class.
    pub(super) fn camera_attrs(&mut self, node: &Node, base: &Camera) -> Camera {
        let mut c = Camera { at: At::of(&base.at, node), ..base.clone() };
        let modes = [
            ("fixed", CameraMode::Fixed),
            ("track", CameraMode::Track),
            ("trackcom", CameraMode::TrackCom),
            ("targetbody", CameraMode::TargetBody),
            ("targetbodycom", CameraMode::TargetBodyCom),
        ];
        node.word("mode", &modes, &mut c.mode);
        node.over("pos", &mut c.pos);
        c.orientation = self.orientation(node, c.orientation);
        node.set_text("target", &mut c.target);
        if let Some(pixels) = node.list("resolution")
            && let [across, down] = pixels[..]
        {
            // whole numbers that fit 32 bits, as checked before
            c.resolution = [across as i32, down as i32];
        }
        node.set("fovy", &mut c.fovy);
        node.over("sensorsize", &mut c.sensorsize);
        for (attr, value) in INTRINSICS.iter().zip(&mut c.intrinsics) {
            node.over(attr, value);
        }
        self.cx.exclusive(node, "fovy", "sensorsize");
        let mut seen: Vec<&str> = Vec::new();
        for word in node.text("output").unwrap_or("").split_ascii_whitespace() {
            let known = ["rgb", "depth", "distance", "normal", "segmentation"];
            if !known.contains(&word) || seen.contains(&word) {
                let kind = ErrorKind::UnknownKeyword { value: word.to_owned(), attribute: "output".into() };
                let span = node.attr("output").map_or(node.span, |a| a.span);
                self.cx.error(span, kind, Some(format!("the values, each once, are: {}", known.join(", "))));
            }
            seen.push(word);
        }
        c
    }

    /// Reports what a camera cannot be.
    pub(super) fn check_camera(&mut self, c: &Camera) {
        let given = INTRINSICS.iter().zip(c.intrinsics).find(|(_, v)| v[0] != 0.0 || v[1] != 0.0);
        if let (Some((attr, _)), true) = (given, c.sensorsize.contains(&0.0)) {
            let kind = ErrorKind::BadValue(format!("`{attr}` of a camera needs its `sensorsize`"));
            self.cx.error(c.at.attr(attr), kind, Some("add sensorsize=\"WIDTH HEIGHT\"".into()));
        }
        if !c.sensorsize.contains(&0.0) && c.at.has("resolution") && c.resolution.iter().any(|&pixels| pixels <= 0) {
            let kind = ErrorKind::BadValue("`sensorsize` of a camera needs a positive `resolution`".into());
            self.cx.error(c.at.attr("sensorsize"), kind, Some("add resolution=\"ACROSS DOWN\"".into()));
        }
        if c.fovy >= 180.0 {
            let kind = ErrorKind::BadValue(format!("a camera cannot see {} degrees", c.fovy));
            self.cx.error(c.at.attr("fovy"), kind, Some("write less than 180".into()));
        }
    }
}
