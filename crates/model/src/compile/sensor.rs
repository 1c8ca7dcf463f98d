//! Sensors: what they are attached to, how many values they give, when these are known; and cameras.

use super::{Compiler, Kind};
use kiloworld_cpu::math::{st3, st4};
use kiloworld_layout::consts::{geom, jnt};
use kiloworld_mjcf::spec::{Object, Sensor};

/// `mjtDataType`.
mod data {
    pub(super) const REAL: i32 = 0;
    pub(super) const POSITIVE: i32 = 1;
    pub(super) const AXIS: i32 = 2;
    pub(super) const QUATERNION: i32 = 3;
}

/// `mjtStage`.
mod stage {
    pub(super) const POS: i32 = 1;
    pub(super) const VEL: i32 = 2;
    pub(super) const ACC: i32 = 3;
}

/// Tag, number of values, their type, and the stage after which they are known; the place in the table is `mjtSensor`.
const KINDS: [(&str, i32, i32, i32); 49] = {
    use data::{AXIS, POSITIVE, QUATERNION, REAL};
    use stage::{ACC, POS, VEL};
    [
        ("touch", 1, POSITIVE, ACC),
        ("accelerometer", 3, REAL, ACC),
        ("velocimeter", 3, REAL, VEL),
        ("gyro", 3, REAL, VEL),
        ("force", 3, REAL, ACC),
        ("torque", 3, REAL, ACC),
        ("magnetometer", 3, REAL, POS),
        ("rangefinder", 1, REAL, POS),
        ("camprojection", 2, REAL, POS),
        ("jointpos", 1, REAL, POS),
        ("jointvel", 1, REAL, VEL),
        ("tendonpos", 1, REAL, POS),
        ("tendonvel", 1, REAL, VEL),
        ("actuatorpos", 1, REAL, POS),
        ("actuatorvel", 1, REAL, VEL),
        ("actuatorfrc", 1, REAL, ACC),
        ("jointactuatorfrc", 1, REAL, ACC),
        ("tendonactuatorfrc", 1, REAL, ACC),
        ("ballquat", 4, QUATERNION, POS),
        ("ballangvel", 3, REAL, VEL),
        ("jointlimitpos", 1, REAL, POS),
        ("jointlimitvel", 1, REAL, VEL),
        ("jointlimitfrc", 1, REAL, ACC),
        ("tendonlimitpos", 1, REAL, POS),
        ("tendonlimitvel", 1, REAL, VEL),
        ("tendonlimitfrc", 1, REAL, ACC),
        ("framepos", 3, REAL, POS),
        ("framequat", 4, QUATERNION, POS),
        ("framexaxis", 3, AXIS, POS),
        ("frameyaxis", 3, AXIS, POS),
        ("framezaxis", 3, AXIS, POS),
        ("framelinvel", 3, REAL, VEL),
        ("frameangvel", 3, REAL, VEL),
        ("framelinacc", 3, REAL, ACC),
        ("frameangacc", 3, REAL, ACC),
        ("subtreecom", 3, REAL, POS),
        ("subtreelinvel", 3, REAL, VEL),
        ("subtreeangmom", 3, REAL, VEL),
        ("insidesite", 1, POSITIVE, POS),
        ("distance", 1, REAL, POS),
        ("normal", 3, AXIS, POS),
        ("fromto", 6, REAL, POS),
        ("contact", 0, REAL, POS),
        ("e_potential", 1, REAL, POS),
        ("e_kinetic", 1, REAL, POS),
        ("clock", 1, REAL, POS),
        ("tactile", 0, REAL, VEL),
        ("plugin", 0, REAL, ACC),
        ("user", 0, REAL, ACC),
    ]
};

/// What a contact sensor can report, and how many numbers each is.
const CONTACT: [(&str, i32); 9] = [
    ("found", 1),
    ("force", 3),
    ("torque", 3),
    ("dist", 1),
    ("pos", 3),
    ("normal", 3),
    ("tangent", 3),
    ("linvel", 3),
    ("angvel", 3),
];

/// What a range finder can report.
const RANGE: [(&str, i32); 6] = [("dist", 1), ("dir", 3), ("origin", 3), ("point", 3), ("normal", 3), ("depth", 1)];

/// Fills the fields of the cameras, in the order of their bodies.
pub(crate) fn cameras(c: &mut Compiler<'_>) {
    let mut order: Vec<usize> = (0..c.spec.cameras.len()).collect();
    order.sort_by_key(|&i| c.spec.cameras[i].body);
    let n = order.len();
    (c.m.cam_pos, c.m.cam_quat) = (vec![0.0; 3 * n], vec![0.0; 4 * n]);
    for (id, &i) in order.iter().enumerate() {
        let camera = &c.spec.cameras[i];
        c.names.push(Kind::Camera, camera.name.as_deref());
        let own = c.own_pose(&camera.at, &camera.pos, camera.orientation.as_ref());
        let pose = c.in_frame(camera.frame, own);
        let target = camera.target.as_ref().and_then(|t| c.find(Kind::Body, t, &camera.at, "target"));
        let m = &mut c.m;
        m.cam_mode.push(camera.mode as i32);
        m.cam_bodyid.push(camera.body as i32);
        m.cam_targetbodyid.push(target.map_or(-1, |b| b as i32));
        st3(&mut m.cam_pos, id, pose.pos);
        st4(&mut m.cam_quat, id, pose.quat);
    }
    c.m.size.ncam = n;
}

/// Fills the fields of the sensors.
pub(crate) fn sensors(c: &mut Compiler<'_>) {
    let mut address = 0;
    for s in &c.spec.sensors {
        let Some(kind) = KINDS.iter().position(|k| k.0 == s.kind) else { continue };
        let (_, mut dim, mut datatype, mut needstage) = KINDS[kind];
        let (objtype, objid) = object(c, s, s.object.as_ref());
        let (reftype, refid) = object(c, s, s.reference.as_ref());
        let mut intprm = [0; 3];
        match s.kind.as_str() {
            "insidesite" if s.enclosed => {
                (datatype, intprm[0]) = (data::REAL, 1);
            }
            "rangefinder" => {
                let (bits, numbers) = selection(c, s, &RANGE);
                (intprm[0], dim) = (bits, numbers * rays(c, s, objid));
            }
            "contact" => {
                let (bits, numbers) = selection(c, s, &CONTACT);
                let ways = ["none", "mindist", "maxforce", "netforce"];
                let reduce = s.reduce.as_ref().and_then(|r| ways.iter().position(|w| w == r)).unwrap_or(0);
                intprm = [bits, reduce as i32, s.num];
                dim = numbers.saturating_mul(s.num);
                if reduce == 3 && bits & 0b1_1000_0000 != 0 {
                    c.error(
                        s.at.attr("data"),
                        "a net force has no velocity",
                        "leave out linvel and angvel, or write another `reduce`",
                    );
                }
                // forces need the solver, velocities the velocity stage
                let (forces, velocities) = (bits & 0b110 != 0 || reduce >= 2, bits & 0b1_1000_0000 != 0);
                needstage = if forces {
                    stage::ACC
                } else if velocities {
                    stage::VEL
                } else {
                    stage::POS
                };
            }
            "tactile" => {
                let vertices = usize::try_from(objid).map_or(0, |m| c.m.mesh_vertnum[m]);
                dim = 3 * vertices;
            }
            "user" => {
                let word = |text: Option<&String>, words: &[&str]| {
                    text.and_then(|t| words.iter().position(|w| w == t)).map(|i| i as i32)
                };
                dim = s.dim;
                datatype = word(s.datatype.as_ref(), &["real", "positive", "axis", "quaternion"]).unwrap_or(datatype);
                needstage = word(s.needstage.as_ref(), &["none", "pos", "vel", "acc"]).unwrap_or(needstage);
            }
            _ => {}
        }
        check(c, s, datatype, objid);
        shapes(c, s, (objtype, objid), (reftype, refid));
        c.names.push(Kind::Sensor, s.name.as_deref());
        let m = &mut c.m;
        m.sensor_type.push(kind as i32);
        m.sensor_datatype.push(datatype);
        m.sensor_needstage.push(needstage);
        m.sensor_objtype.push(objtype);
        m.sensor_objid.push(objid);
        m.sensor_reftype.push(reftype);
        m.sensor_refid.push(refid);
        m.sensor_intprm.extend(intprm);
        m.sensor_dim.push(dim);
        m.sensor_adr.push(address);
        address = address.saturating_add(dim);
        m.sensor_cutoff.push(s.cutoff);
        m.sensor_noise.push(s.noise);
        m.sensor_delay.push(s.delay);
        m.sensor_interval.extend(s.interval);
        m.sensor_history.extend([s.nsample, s.interp as i32]);
    }
    if address > MAX_VALUES {
        let span = c.spec.sensors.first().map_or_else(Default::default, |s| s.at.span);
        c.error(span, format!("the sensors have {address} values together"), "use fewer or smaller sensors");
    }
    c.m.size.nsensor = c.m.sensor_type.len();
    c.m.size.nsensordata = address as usize;
}

/// No model's sensors give more values than this.
const MAX_VALUES: i32 = 100_000_000;

/// `mjtObj` and id of an object; 0 and -1 where there is none.
fn object(c: &mut Compiler<'_>, s: &Sensor, o: Option<&Object>) -> (i32, i32) {
    let Some(o) = o else { return (0, -1) };
    let (objtype, kind) = match o.kind.as_str() {
        "body" => (1, Kind::Body),
        "xbody" => (2, Kind::Body),
        "joint" => (3, Kind::Joint),
        "geom" => (5, Kind::Geom),
        "site" => (6, Kind::Site),
        "camera" => (7, Kind::Camera),
        "mesh" => (10, Kind::Mesh),
        "tendon" => (18, Kind::Tendon),
        "actuator" => (19, Kind::Actuator),
        other => {
            let text = format!("a sensor cannot be attached to \"{other}\"");
            c.error(s.at.attr("objtype"), text, "use body, xbody, geom, site or camera");
            return (0, -1);
        }
    };
    let id = c.find(kind, &o.name, &s.at, o.attr);
    (objtype, id.map_or(-1, |id| id as i32))
}

/// The bits of what a sensor reports, and how many numbers that is.
fn selection(c: &mut Compiler<'_>, s: &Sensor, known: &[(&str, i32)]) -> (i32, i32) {
    if s.data.is_empty() {
        return (1, known[0].1);
    }
    let (mut bits, mut numbers) = (0, 0);
    for word in &s.data {
        match known.iter().position(|(k, _)| k == word) {
            Some(i) if bits < 1 << i => {
                bits |= 1 << i;
                numbers += known[i].1;
            }
            _ => {
                let words: Vec<&str> = known.iter().map(|(k, _)| *k).collect();
                let text = format!("`{word}` is no value of `data`, or out of order");
                c.error(s.at.attr("data"), text, &format!("in this order: {}", words.join(", ")));
                break;
            }
        }
    }
    (bits, numbers)
}

/// Rays of a range finder: one of a site, one for each pixel of a camera.
fn rays(c: &Compiler<'_>, s: &Sensor, camera: i32) -> i32 {
    let name = match (&s.object, camera) {
        (Some(o), 0..) if o.kind == "camera" => &o.name,
        _ => return 1,
    };
    let found = c.spec.cameras.iter().find(|x| x.name.as_ref() == Some(name));
    found.map_or(1, |x| x.resolution[0].max(1).saturating_mul(x.resolution[1].max(1)))
}

/// Reports geoms whose shape the sensor cannot work with, and bodies that have none.
fn shapes(c: &mut Compiler<'_>, s: &Sensor, object: (i32, i32), reference: (i32, i32)) {
    const GEOM: i32 = 5;
    let endless = |c: &Compiler<'_>, g: usize| matches!(c.m.geom_type[g], geom::PLANE | geom::HFIELD);
    match s.kind.as_str() {
        "insidesite" if s.enclosed => {
            let Ok(id) = usize::try_from(object.1) else { return };
            let geoms: Vec<usize> = match object.0 {
                1 | 2 => (0..c.m.geom_bodyid.len()).filter(|&g| c.m.geom_bodyid[g] == object.1).collect(),
                GEOM => vec![id],
                7 => {
                    c.error(
                        s.at.attr("objname"),
                        "a camera has no shape that a site can enclose",
                        "name another object",
                    );
                    return;
                }
                _ => return,
            };
            let shapeless = matches!(object.0, 1 | 2) && geoms.is_empty();
            if shapeless || geoms.iter().any(|&g| endless(c, g)) {
                let text = "what a site encloses has geoms, and no planes or height fields";
                c.error(s.at.attr("objname"), text, "name another object");
            }
        }
        "distance" | "normal" | "fromto" => {
            let sides = [(object, s.object.as_ref()), (reference, s.reference.as_ref())];
            for ((kind, id), o) in sides {
                if kind == GEOM && usize::try_from(id).is_ok_and(|g| c.m.geom_type[g] == geom::HFIELD) {
                    let at = s.at.attr(o.map_or("geom1", |o| o.attr));
                    c.error(at, "the distance to a height field is not known", "name another geom");
                }
            }
        }
        _ => {}
    }
}

/// Reports what makes no sense.
fn check(c: &mut Compiler<'_>, s: &Sensor, datatype: i32, objid: i32) {
    for (name, value) in [("cutoff", s.cutoff), ("noise", s.noise)] {
        if value < 0.0 {
            c.error(s.at.attr(name), format!("the {name} of a sensor cannot be negative"), "write 0 or more");
        }
    }
    if s.cutoff > 0.0 && matches!(datatype, data::AXIS | data::QUATERNION) && s.kind != "normal" {
        c.error(s.at.attr("cutoff"), "axes and quaternions have no cutoff", "remove it");
    }
    if s.interval[0] < 0.0 || s.interval[1] > 0.0 {
        c.error(
            s.at.attr("interval"),
            "a period is not negative and a phase not positive",
            "write a phase of 0 or less",
        );
    }
    let [period, phase] = s.interval;
    if period > 0.0 && phase <= -period {
        c.error(s.at.attr("interval"), "a phase is shorter than the period", "write a phase above -PERIOD");
    }
    super::history(c, &s.at, s.nsample);
    if s.delay > 0.0 && s.nsample <= 0 {
        c.error(s.at.attr("delay"), "a delay needs a history", "add nsample=\"NUMBER\"");
    }
    let Ok(id) = usize::try_from(objid) else { return };
    let attr = s.object.as_ref().map_or("name", |o| o.attr);
    let scalar = |c: &Compiler<'_>| matches!(c.m.jnt_type[id], jnt::SLIDE | jnt::HINGE);
    match s.kind.as_str() {
        "jointpos" | "jointvel" | "jointactuatorfrc" if !scalar(c) => {
            c.error(s.at.attr(attr), "the sensor is for hinge and slide joints", "name another joint");
        }
        "ballquat" | "ballangvel" if c.m.jnt_type[id] != jnt::BALL => {
            c.error(s.at.attr(attr), "the sensor is for ball joints", "name another joint");
        }
        "jointlimitpos" | "jointlimitvel" | "jointlimitfrc" if c.m.jnt_limited[id] == 0 => {
            c.error(s.at.attr(attr), "the joint has no limits", "give it a range");
        }
        "tendonlimitpos" | "tendonlimitvel" | "tendonlimitfrc" if c.m.tendon_limited[id] == 0 => {
            c.error(s.at.attr(attr), "the tendon has no limits", "give it a range");
        }
        _ => {}
    }
}
