//! Tendons: their paths, limits and springs.

use super::{Compiler, Kind, Range};
use kiloworld_layout::consts::jnt;
use kiloworld_mjcf::spec::{Tendon, TendonKind};

/// Fills every field of the tendons that follows from the file alone.
pub(crate) fn tendons(c: &mut Compiler<'_>) {
    for t in &c.spec.tendons {
        let start = c.m.wrap_objid.len();
        match &t.kind {
            TendonKind::Fixed(_) => path(c, t),
            TendonKind::Spatial(_) => c.refuse("spatial tendon", t.name.as_deref(), t.at.span, "use a fixed tendon"),
        }
        let limited = c.limited(t.limited, &t.at, &Range { name: "range", switch: "limited", value: t.range });
        let [low, high] = t.springlength;
        if low > high {
            c.error(
                t.at.attr("springlength"),
                "the dead band of the spring ends before it starts",
                "write the smaller length first",
            );
        }
        let m = &mut c.m;
        m.tendon_adr.push(start as i32);
        m.tendon_num.push((m.wrap_objid.len() - start) as i32);
        m.tendon_limited.push(i32::from(limited));
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
        c.m.wrap_objid.push(j as i32);
        c.m.wrap_prm.push(w.coef);
    }
}
