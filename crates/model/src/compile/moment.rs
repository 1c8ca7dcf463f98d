//! Actuators whose transmission the stages do not know: length and moment arms at a pose.

use super::setconst::last_dof;
use super::wrap::{self, add_point};
use kiloworld_cpu::math::{Quat, Vec3, ld3, ld4, ld9, quat_conj, quat_mul, quat_to_vel};
use kiloworld_layout::consts::{MINVAL, trn};
use kiloworld_layout::{Data, Model};

/// `mjtTrn` of transmissions that are refused when a batch is made.
pub(crate) const SLIDERCRANK: i32 = 2;
/// See [`SLIDERCRANK`].
pub(crate) const SITE: i32 = 4;
/// See [`SLIDERCRANK`].
pub(crate) const BODY: i32 = 5;

/// Whether a tendon is a path in space.
pub(crate) fn is_spatial(m: &Model<f64>, tendon: usize) -> bool {
    m.wrap_type.get(m.tendon_adr[tendon] as usize).is_some_and(|&t| t != wrap::kind::JOINT)
}

/// Whether the stage `transmission` knows what an actuator acts on.
pub(crate) fn is_known(m: &Model<f64>, actuator: usize) -> bool {
    let id = usize::try_from(m.actuator_trnid[2 * actuator]);
    match (m.actuator_trntype[actuator], id) {
        (trn::JOINT | trn::JOINTINPARENT, Ok(_)) => true,
        (trn::TENDON, Ok(tendon)) => !is_spatial(m, tendon),
        _ => false,
    }
}

/// The length of an actuator that the stage does not know; adds its moment arms to a row of zeros. Tendons come first.
pub(crate) fn actuator(m: &Model<f64>, d: &Data<f64>, a: usize, row: &mut [f64]) -> f64 {
    let gear = &m.actuator_gear[6 * a..6 * a + 6];
    let [id, second] = [0, 1].map(|k| usize::try_from(m.actuator_trnid[2 * a + k]).ok());
    let Some(id) = id else { return 0.0 };
    match (m.actuator_trntype[a], second) {
        (trn::TENDON, _) => {
            let nv = m.size.nv;
            row.iter_mut().zip(&d.ten_J[id * nv..(id + 1) * nv]).for_each(|(r, j)| *r = j * gear[0]);
            d.ten_length[id] * gear[0]
        }
        (SITE, second) => site(m, d, id, second, gear, row),
        (SLIDERCRANK, Some(slider)) => slider_crank(m, d, id, slider, m.actuator_cranklength[a], gear[0], row),
        // a body adheres through its contacts, and there are none
        _ => 0.0,
    }
}

/// A force and torque at a site, in its frame or in that of another one.
fn site(m: &Model<f64>, d: &Data<f64>, id: usize, reference: Option<usize>, gear: &[f64], row: &mut [f64]) -> f64 {
    let frame = ld9(&d.site_xmat, reference.unwrap_or(id));
    let (push, twist) = (Vec3::from_row_slice(&gear[..3]), Vec3::from_row_slice(&gear[3..]));
    add_wrench(m, d, id, frame * push, frame * twist, row);
    let Some(reference) = reference else { return 0.0 };
    add_wrench(m, d, reference, -(frame * push), -(frame * twist), row);
    // what moves both sites does not move one against the other
    let body = |s: usize| m.site_bodyid[s] as usize;
    let (mut first, mut second) = (last_dof(m, body(id)), last_dof(m, body(reference)));
    while first != second {
        let later = if first > second { &mut first } else { &mut second };
        *later = m.dof_parentid[*later as usize];
    }
    while let Ok(i) = usize::try_from(first) {
        row[i] = 0.0;
        first = m.dof_parentid[i];
    }
    let away = frame.transpose() * (ld3(&d.site_xpos, id) - ld3(&d.site_xpos, reference));
    let turned = quat_to_vel(quat_mul(quat_conj(orientation(m, d, reference)), orientation(m, d, id)));
    push.dot(&away) + twist.dot(&turned)
}

/// The orientation of a site in the world.
fn orientation(m: &Model<f64>, d: &Data<f64>, site: usize) -> Quat<f64> {
    quat_mul(ld4(&d.xquat, m.site_bodyid[site] as usize), ld4(&m.site_quat, site))
}

/// What a force and torque at a site do to each dof.
fn add_wrench(m: &Model<f64>, d: &Data<f64>, site: usize, force: Vec3<f64>, torque: Vec3<f64>, row: &mut [f64]) {
    let body = m.site_bodyid[site] as usize;
    add_point(m, d, body, ld3(&d.site_xpos, site), force, row);
    add_turn(m, d, body, torque, row);
}

/// Adds to a row how fast a body turns about an axis, for each dof.
fn add_turn(m: &Model<f64>, d: &Data<f64>, body: usize, axis: Vec3<f64>, row: &mut [f64]) {
    let mut dof = last_dof(m, body);
    while let Ok(i) = usize::try_from(dof) {
        row[i] += axis.dot(&ld3(&d.cdof, 2 * i));
        dof = m.dof_parentid[i];
    }
}

/// A rod from a crank's pin to a slider on the z axis of a site: the slider's place on that axis.
fn slider_crank(
    m: &Model<f64>,
    d: &Data<f64>,
    crank: usize,
    slider: usize,
    rod: f64,
    gear: f64,
    row: &mut [f64],
) -> f64 {
    let (body, other) = (m.site_bodyid[slider] as usize, m.site_bodyid[crank] as usize);
    let axis = ld9(&d.site_xmat, slider).column(2);
    let pin = ld3(&d.site_xpos, crank);
    let away = pin - ld3(&d.site_xpos, slider);
    let along = away.dot(&axis);
    let under = along * along + rod * rod - away.dot(&away);
    // where the rod is too short to reach the axis, the nearest place counts
    let root = if under > 0.0 { under.sqrt() } else { 0.0 };
    let length = along - root;
    // derivatives of the length by the axis and by the vector to the pin
    let (by_axis, by_pin) =
        if root > MINVAL { (away - away * (along / root), axis - (axis * along - away) / root) } else { (away, axis) };
    add_point(m, d, other, pin, by_pin * gear, row);
    add_point(m, d, body, ld3(&d.site_xpos, slider), -(by_pin * gear), row);
    add_turn(m, d, body, axis.cross(&by_axis) * gear, row);
    length * gear
}
