//! Tendons: their paths, limits and springs.

use super::wrap::kind;
use super::{Compiler, Kind, Range};
use kiloworld_layout::consts::{geom, jnt};
use kiloworld_mjcf::spec::{SpatialStep, Tendon, TendonKind};

/// Fills every field of the tendons that follows from the file alone.
pub(crate) fn tendons(c: &mut Compiler<'_>) {
    for t in &c.spec.tendons {
        let start = c.m.wrap_objid.len();
        match &t.kind {
            TendonKind::Fixed(_) => path(c, t),
            TendonKind::Spatial(steps) => {
                c.refuse("spatial tendon", t.name.as_deref(), t.at.span, "use a fixed tendon");
                spatial(c, t, steps);
            }
        }
        let limited = c.limited(t.limited, &t.at, &Range { name: "range", switch: "limited", value: t.range });
        let force = Range { name: "actuatorfrcrange", switch: "actuatorfrclimited", value: t.actuatorfrcrange };
        let force_limited = c.limited(t.actuatorfrclimited, &t.at, &force);
        if force_limited && (t.actuatorfrcrange[0] > 0.0 || t.actuatorfrcrange[1] < 0.0) {
            let text = "the range of forces on a tendon must hold 0";
            c.error(t.at.attr("actuatorfrcrange"), text, "write a smaller number up to 0, a larger one from 0");
        }
        for (name, value) in [("armature", t.armature), ("springyield", t.springyield)] {
            if value < 0.0 {
                c.error(t.at.attr(name), format!("`{name}` of a tendon cannot be negative"), "write 0 or more");
            }
        }
        if t.width <= 0.0 {
            c.error(
                t.at.attr("width"),
                "the width of a tendon must be positive",
                "leave it out, or write a width in metres",
            );
        }
        let [low, high] = t.springlength;
        if low > high {
            c.error(
                t.at.attr("springlength"),
                "the dead band of the spring ends before it starts",
                "write the smaller length first",
            );
        }
        if low == f64::INFINITY || high == f64::NEG_INFINITY {
            let text = "the spring of a tendon cannot rest at an infinite length";
            c.error(
                t.at.attr("springlength"),
                text,
                "write a finite length, or \"0 inf\" for a spring that never pulls",
            );
        }
        let m = &mut c.m;
        m.tendon_adr.push(start as i32);
        m.tendon_num.push((m.wrap_objid.len() - start) as i32);
        m.tendon_limited.push(i32::from(limited));
        m.tendon_group.push(t.group);
        m.tendon_actfrclimited.push(i32::from(force_limited));
        m.tendon_actfrcrange.extend(t.actuatorfrcrange);
        m.tendon_stiffnesspoly.extend(&t.stiffness[1..]);
        m.tendon_dampingpoly.extend(&t.damping[1..]);
        m.tendon_armature.push(t.armature);
        m.tendon_springyield.push(t.springyield);
        m.tendon_range.extend(t.range);
        m.tendon_margin.push(t.margin);
        m.tendon_stiffness.push(t.stiffness[0]);
        m.tendon_damping.push(t.damping[0]);
        m.tendon_frictionloss.push(t.frictionloss);
        m.tendon_lengthspring.extend(t.springlength);
        m.tendon_solref_lim.extend(t.solreflimit);
        m.tendon_solimp_lim.extend(t.solimplimit);
        m.tendon_solref_fri.extend(t.solreffriction);
        m.tendon_solimp_fri.extend(t.solimpfriction);
    }
    c.m.size.ntendon = c.spec.tendons.len();
    c.m.size.nwrap = c.m.wrap_objid.len();
}

/// The joints of a fixed tendon.
fn path(c: &mut Compiler<'_>, t: &Tendon) {
    let TendonKind::Fixed(joints) = &t.kind else { return };
    if joints.is_empty() {
        c.error(t.at.span, "a tendon needs a path", "add a <joint joint=\"NAME\" coef=\"1\"/>");
    }
    let start = c.m.wrap_objid.len();
    for w in joints {
        let Some(j) = c.find(Kind::Joint, &w.joint, &w.at, "joint") else { continue };
        if !matches!(c.m.jnt_type[j], jnt::SLIDE | jnt::HINGE) {
            c.error(w.at.attr("joint"), "a fixed tendon takes hinge and slide joints only", "name another joint");
        }
        if c.m.wrap_objid[start..].contains(&(j as i32)) {
            c.error(
                w.at.attr("joint"),
                format!("the joint \"{}\" is in the tendon twice", w.joint),
                "add up the coefficients",
            );
        }
        c.m.wrap_type.push(kind::JOINT);
        c.m.wrap_objid.push(j as i32);
        c.m.wrap_prm.push(w.coef);
    }
}

/// The sites, geoms and pulleys of a spatial tendon.
fn spatial(c: &mut Compiler<'_>, t: &Tendon, steps: &[SpatialStep]) {
    let kind_of = |k: usize| steps.get(k).map_or("pulley", word);
    if steps.len() < 2 {
        c.error(t.at.span, "a path in space has at least two parts", "add a <site site=\"NAME\"/>");
        return;
    }
    if t.armature != 0.0 && steps.iter().any(|s| matches!(s, SpatialStep::Geom(..))) {
        let text = "a tendon with armature cannot wrap around geoms";
        c.error(t.at.attr("armature"), text, "remove the armature or the geoms");
    }
    for (k, step) in steps.iter().enumerate() {
        let (before, after) = (if k > 0 { kind_of(k - 1) } else { "pulley" }, kind_of(k + 1));
        let fault = match step {
            SpatialStep::Pulley(_) if k + 1 == steps.len() => Some("the path ends with a pulley"),
            SpatialStep::Pulley(_) if k > 0 && before == "pulley" => Some("two pulleys follow each other"),
            SpatialStep::Pulley(divisor) if *divisor <= 0.0 => Some("a pulley divides by a positive number"),
            SpatialStep::Geom(..) if before != "site" || after != "site" => Some("a geom stands between two sites"),
            SpatialStep::Site(_) if before == "pulley" && after == "pulley" => Some("a branch has at least two sites"),
            SpatialStep::Site(_) if k > 0 && steps[k - 1] == *step => Some("a site follows itself"),
            _ => None,
        };
        if let Some(fault) = fault {
            let name = t.name.as_ref().map_or_else(String::new, |n| format!(" \"{n}\""));
            let text = format!("part {} of the tendon{name}: {fault}", k + 1);
            c.error(t.at.span, text, "a path is site, site; or site, geom, site; with pulleys between branches");
        }
        let (kind, id, prm) = match step {
            SpatialStep::Site(name) => (kind::SITE, c.find(Kind::Site, name, &t.at, "site"), 0.0),
            SpatialStep::Pulley(divisor) => (kind::PULLEY, None, *divisor),
            SpatialStep::Geom(name, side) => {
                let id = c.find(Kind::Geom, name, &t.at, "geom");
                let side = side.as_ref().and_then(|s| c.find(Kind::Site, s, &t.at, "sidesite"));
                let kind = match id.map(|g| c.m.geom_type[g]) {
                    Some(geom::SPHERE) | None => kind::SPHERE,
                    Some(geom::CYLINDER) => kind::CYLINDER,
                    Some(_) => {
                        let text = format!("the geom \"{name}\" of a tendon is neither a sphere nor a cylinder");
                        c.error(t.at.span, text, "put an invisible sphere or cylinder in its place");
                        kind::SPHERE
                    }
                };
                (kind, id, side.map_or(-1.0, |s| s as f64))
            }
        };
        c.m.wrap_type.push(kind);
        c.m.wrap_objid.push(id.map_or(-1, |id| id as i32));
        c.m.wrap_prm.push(prm);
    }
}

/// The word for a part of a path.
fn word(step: &SpatialStep) -> &'static str {
    match step {
        SpatialStep::Site(_) => "site",
        SpatialStep::Geom(..) => "geom",
        SpatialStep::Pulley(_) => "pulley",
    }
}
