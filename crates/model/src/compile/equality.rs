//! Equality constraints; what depends on the reference pose comes from `setconst`.

use super::{Compiler, Kind, pairs};
use kiloworld_cpu::math::{Quat, Vec3, ld3, ld4, quat_conj, quat_mul, quat_rotate};
use kiloworld_layout::consts::{eq, jnt, obj};
use kiloworld_layout::{Data, Model};
use kiloworld_mjcf::At;
use kiloworld_mjcf::spec::{EqualityKind, EqualityObjects};

/// Columns of `eq_data` beyond the anchors and the relative pose: the torque scale, and whether the relative pose is to be
/// that of the reference configuration.
const TORQUESCALE: usize = 10;
pub(crate) const FROM_REFERENCE: usize = 11;

/// Fills every field of the equality constraints.
pub(crate) fn equalities(c: &mut Compiler<'_>) {
    for e in &c.spec.equalities {
        // MuJoCo's defaults, which show through where a kind does not use a column
        let mut data = [0.0; 12];
        (data[1], data[TORQUESCALE]) = (1.0, 1.0);
        let (kind, ids, objtype) = match &e.kind {
            EqualityKind::Connect { objects, anchor } => {
                if let EqualityObjects::Sites(..) = objects {
                    data = [0.0; 12];
                } else {
                    data[..3].copy_from_slice(&anchor.unwrap_or_default());
                }
                let (ids, objtype) = objects_of(c, objects, &e.at);
                (eq::CONNECT, ids, objtype)
            }
            EqualityKind::Weld { objects, anchor, relpose, torquescale } => {
                data[TORQUESCALE] = *torquescale;
                if let EqualityObjects::Bodies(..) = objects {
                    let quat = Quat::new(relpose[3], relpose[4], relpose[5], relpose[6]);
                    data[..3].copy_from_slice(anchor);
                    data[3..6].copy_from_slice(&relpose[..3]);
                    if quat.norm() == 0.0 {
                        data[FROM_REFERENCE] = 1.0;
                    } else {
                        data[6..10].copy_from_slice((quat / quat.norm()).as_slice());
                    }
                }
                let (ids, objtype) = objects_of(c, objects, &e.at);
                (eq::WELD, ids, objtype)
            }
            EqualityKind::Joint { joint1, joint2, polycoef } => {
                data[..5].copy_from_slice(polycoef);
                let id1 = joint(c, joint1, &e.at, "joint1");
                let id2 = joint2.as_deref().map(|j| joint(c, j, &e.at, "joint2"));
                (eq::JOINT, [id1.unwrap_or(-1), id2.flatten().unwrap_or(-1)], 0)
            }
            EqualityKind::Tendon { tendon1, tendon2, polycoef } => {
                data[..5].copy_from_slice(polycoef);
                let mut tendon = |name: &str, attr| c.find(Kind::Tendon, name, &e.at, attr).map_or(-1, |t| t as i32);
                let ids = [tendon(tendon1, "tendon1"), tendon2.as_deref().map_or(-1, |t| tendon(t, "tendon2"))];
                (eq::TENDON, ids, 0)
            }
            EqualityKind::Other(kind) => {
                c.refuse(&format!("equality/{kind}"), e.name.as_deref(), e.at.span, "remove it");
                continue;
            }
        };
        if ids[0] == ids[1] && ids[0] >= 0 {
            c.error(e.at.span, "the constraint ties an element to itself", "name two different elements");
        }
        c.names.push(Kind::Equality, e.name.as_deref());
        let m = &mut c.m;
        m.eq_type.push(kind);
        m.eq_obj1id.push(ids[0]);
        m.eq_obj2id.push(ids[1]);
        m.eq_objtype.push(objtype);
        m.eq_active0.push(i32::from(e.active));
        m.eq_solref.extend(e.solref);
        m.eq_solimp.extend(e.solimp);
        m.eq_data.extend(data);
    }
    c.m.size.neq = c.m.eq_type.len();
}

/// Writes into `data`, the row of `eq_data` of connect or weld `e` between bodies, what makes its residual zero where the bodies are
/// now: the second anchor from the first of a connect; of a weld the pose of the second body's anchor in the first body.
/// `d` has the frames that kinematics computed.
pub fn capture(m: &Model<f64>, d: &Data<f64>, e: usize, data: &mut [f64]) {
    let (b1, b2) = (m.eq_obj1id[e] as usize, m.eq_obj2id[e] as usize);
    let anchor = Vec3::from_row_slice(&data[..3]);
    let world = |b: usize, v: Vec3<f64>| ld3(&d.xpos, b) + quat_rotate(ld4(&d.xquat, b), v);
    let local = |b: usize, v: Vec3<f64>| quat_rotate(quat_conj(ld4(&d.xquat, b)), v - ld3(&d.xpos, b));
    if m.eq_type[e] == eq::CONNECT {
        data[3..6].copy_from_slice(local(b2, world(b1, anchor)).as_slice());
    } else {
        let quat: Quat<f64> = quat_mul(quat_conj(ld4(&d.xquat, b1)), ld4(&d.xquat, b2));
        data[3..6].copy_from_slice(local(b1, world(b2, anchor)).as_slice());
        data[6..10].copy_from_slice(quat.as_slice());
    }
}

/// Ids and kind of the bodies or sites that a constraint holds together.
fn objects_of(c: &mut Compiler<'_>, objects: &EqualityObjects, at: &At) -> ([i32; 2], i32) {
    let id = |found: Option<usize>| found.map_or(-1, |i| i as i32);
    match objects {
        EqualityObjects::Bodies(body1, body2) => {
            let second = body2.as_deref().map_or(Some(0), |name| pairs::body(c, name, at, "body2"));
            ([id(pairs::body(c, body1, at, "body1")), id(second)], obj::BODY)
        }
        EqualityObjects::Sites(site1, site2) => {
            let mut site = |name: &str, attr| id(c.find(Kind::Site, name, at, attr));
            ([site(site1, "site1"), site(site2, "site2")], obj::SITE)
        }
    }
}

/// The id of a hinge or slide joint.
fn joint(c: &mut Compiler<'_>, name: &str, at: &At, attr: &str) -> Option<i32> {
    let j = c.find(Kind::Joint, name, at, attr)?;
    if !matches!(c.m.jnt_type[j], jnt::SLIDE | jnt::HINGE) {
        c.error(
            at.attr(attr),
            "a joint equality takes hinge and slide joints only",
            "name another joint, or use a weld",
        );
    }
    Some(j as i32)
}
