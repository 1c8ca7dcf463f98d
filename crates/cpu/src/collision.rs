//! Stage `collision`: contacts of the static pair list, in its order. Twin: `shaders/collision.wgsl`.
//!
//! Narrow phases work relative to the first geom's centre, so that f32 loses nothing to coordinates far from the origin.

use crate::collide_box::collide_box_box;
use crate::collide_capsule::{collide_capsule_box, collide_capsule_capsule};
use crate::collide_plane::{collide_plane_box, collide_plane_capsule, collide_plane_sphere};
use crate::collide_sphere::{collide_sphere_box, collide_sphere_capsule, collide_sphere_sphere};
use crate::constraint_row::contact_rownum;
use crate::contact_set::{ContactSet, MAXCONPAIR, Pose};
use crate::integrate::set_status;
use crate::math::{Mat3, Vec3, ld3, ld9, st3, st9};
use crate::two_float::tf_diff3;
use crate::{Ints, Mask, Real, Scalar, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{MINMU, MINVAL, disable, enable, geom, status};

/// Finds the contacts of a world (`mj_collision`).
#[inline(always)]
pub fn collision<T: Real>(m: &Model<T>, d: &mut World<T>) {
    let capacity = T::r(m.opt.world_ncon.min(m.size.nconmax) as f64);
    // contacts of each world, and those there is room for
    let (mut count, mut kept) = (T::zero(), T::zero());
    // rows of the others
    let mut lost = T::zero();
    let mut slots = 0;
    let mut set = ContactSet::new();
    if m.opt.disableflags & (disable::CONTACT | disable::CONSTRAINT) == 0 {
        for k in 0..m.size.ncoll {
            let (margin, gap) = pair_margin(m, k);
            let near = near_pair(m, d, k, margin + gap);
            if !near.any() {
                continue;
            }
            narrow_phase(m, d, k, near, margin + gap, &mut set);
            for i in 0..set.count {
                let on = set.on[i] & kept.lt(capacity) & T::Mask::splat(slots < m.size.nconmax);
                count += T::select(set.on[i], T::one(), T::zero());
                kept += T::select(on, T::one(), T::zero());
                if on.any() {
                    let len = d.contact_dist.len();
                    if slots == len {
                        crate::lengthen(m, d, crate::CONTACTS, len, slots + 1, m.size.nconmax);
                    }
                    write_contact(m, d, k, slots, &set, i, on, margin);
                    slots += 1;
                }
                let without = set.on[i] & !on & set.dist[i].lt(margin);
                if without.any() {
                    lost += T::select(without, T::r(pair_rows(m, k) as f64), T::zero());
                }
            }
        }
    }
    d.slot_ncon[0] = slots as i32;
    for l in 0..T::LANES {
        d.ncon[0].set(l, kept.lane(l).to_f64() as i32);
        let need = d.ncon_need[0].get(l).max(count.lane(l).to_f64() as i32);
        d.ncon_need[0].set(l, need);
        d.nefc_lost[0].set(l, lost.lane(l).to_f64() as i32);
    }
    set_status::<T>(&mut d.status[0], kept.lt(count), status::CONTACT_OVERFLOW);
}

/// Rows of a contact of pair `k`.
#[inline(always)]
fn pair_rows<T: Real>(m: &Model<T>, k: usize) -> usize {
    let [b1, b2] = [m.coll_geom1[k], m.coll_geom2[k]].map(|g| m.geom_bodyid[g as usize] as usize);
    contact_rownum(m, b1, b2, pair_condim(m, k))
}

/// Dimension of the contacts of pair `k`: its own, that of the geom which goes first, or the larger.
#[inline(always)]
fn pair_condim<T: Real>(m: &Model<T>, k: usize) -> i32 {
    if m.coll_pairid[k] >= 0 {
        return m.pair_dim[m.coll_pairid[k] as usize];
    }
    let (g1, g2) = (m.coll_geom1[k] as usize, m.coll_geom2[k] as usize);
    let (priority1, priority2) = (m.geom_priority[g1], m.geom_priority[g2]);
    let (dim1, dim2) = (m.geom_condim[g1], m.geom_condim[g2]);
    if priority1 > priority2 {
        dim1
    } else if priority1 < priority2 {
        dim2
    } else {
        dim1.max(dim2)
    }
}

/// Margin and gap of pair `k` [m]: sums of the geoms'. Contacts are found up to their sum and push within the margin.
#[inline(always)]
fn pair_margin<T: Real>(m: &Model<T>, k: usize) -> (T, T) {
    let (g1, g2) = (m.coll_geom1[k] as usize, m.coll_geom2[k] as usize);
    let pair = m.coll_pairid[k];
    let (margin, gap) = if pair >= 0 {
        (m.pair_margin[pair as usize], m.pair_gap[pair as usize])
    } else {
        (m.geom_margin[g1] + m.geom_margin[g2], m.geom_gap[g1] + m.geom_gap[g2])
    };
    (if m.opt.enableflags & enable::OVERRIDE == 0 { margin } else { m.opt_o_margin[0] }, gap)
}

/// False where bounding spheres, or a bounding sphere and a plane, are apart by more than `margin`.
#[inline(always)]
fn near_pair<T: Real>(m: &Model<T>, d: &World<T>, k: usize, margin: T) -> T::Mask {
    let (g1, g2) = (m.coll_geom1[k] as usize, m.coll_geom2[k] as usize);
    let r = ld3(&d.geom_xpos, g2) - ld3(&d.geom_xpos, g1);
    let reach = margin + m.geom_rbound[g2];
    if m.geom_type[g1] == geom::PLANE {
        let x = &d.geom_xmat[9 * g1..9 * g1 + 9];
        return (r[0] * x[2] + r[1] * x[5] + r[2] * x[8]).le(reach);
    }
    let reach = reach + m.geom_rbound[g1];
    r.dot(&r).le(reach * reach)
}

/// The contacts of pair `k` up to distance `margin` in the worlds where it is near.
#[inline(always)]
fn narrow_phase<T: Real>(m: &Model<T>, d: &World<T>, k: usize, near: T::Mask, margin: T, out: &mut ContactSet<T>) {
    let (g1, g2) = (m.coll_geom1[k] as usize, m.coll_geom2[k] as usize);
    let p = Pose {
        s1: ld3(&m.geom_size, g1),
        m1: ld9(&d.geom_xmat, g1),
        s2: ld3(&m.geom_size, g2),
        m2: ld9(&d.geom_xmat, g2),
        r: centre_offset(m, d, g1, g2),
    };
    out.clear();
    // where it is not near, no distance is small enough
    let margin = T::select(near, margin, T::r(f64::NEG_INFINITY));
    match (m.geom_type[g1], m.geom_type[g2]) {
        (geom::PLANE, geom::SPHERE) => collide_plane_sphere(&p, margin, out),
        (geom::PLANE, geom::CAPSULE) => collide_plane_capsule(&p, margin, out),
        (geom::PLANE, geom::BOX) => collide_plane_box(&p, margin, out),
        (geom::SPHERE, geom::SPHERE) => collide_sphere_sphere(&p, margin, out),
        (geom::SPHERE, geom::CAPSULE) => collide_sphere_capsule(&p, margin, out),
        (geom::SPHERE, geom::BOX) => collide_sphere_box(&p, margin, out),
        (geom::CAPSULE, geom::CAPSULE) => collide_capsule_capsule(&p, margin, out),
        (geom::CAPSULE, geom::BOX) | (geom::BOX, geom::BOX) => world_by_world(&p, m.geom_type[g1], near, margin, out),
        // the model's list holds no others
        _ => {}
    }
}

/// The contacts of a geom of type `type1` and a box, one world after the other: these narrow phases are all branches.
// CPU only: what lanes of worlds cannot do at once
#[inline(always)]
fn world_by_world<T: Real>(p: &Pose<T>, type1: i32, near: T::Mask, margin: T, out: &mut ContactSet<T>) {
    let mut one = ContactSet::new();
    let mut on = [T::zero(); MAXCONPAIR];
    for l in 0..T::LANES {
        if !near.get(l) {
            continue;
        }
        let (p, margin) = (p.lane(l), margin.lane(l));
        one.clear();
        if type1 == geom::BOX {
            collide_box_box(&p, margin, &mut one);
        } else {
            collide_capsule_box(&p, margin, &mut one);
        }
        for i in 0..one.count {
            on[i].set_lane(l, Real::one());
            out.set_lane(l, &one, i);
        }
        out.count = out.count.max(one.count);
    }
    for i in 0..out.count {
        out.on[i] = on[i].gt(T::zero());
    }
}

/// The centre of geom 2 minus the centre of geom 1 [m]; with two-float positions from the bodies' full positions, since
/// `geom_xpos` is rounded.
#[inline(always)]
fn centre_offset<T: Real>(m: &Model<T>, d: &World<T>, g1: usize, g2: usize) -> Vec3<T> {
    if !T::TWO_FLOAT {
        return ld3(&d.geom_xpos, g2) - ld3(&d.geom_xpos, g1);
    }
    let (b1, b2) = (m.geom_bodyid[g1] as usize, m.geom_bodyid[g2] as usize);
    let bodies = tf_diff3(ld3(&d.xpos, b2), ld3(&d.xpos_lo, b2), ld3(&d.xpos, b1), ld3(&d.xpos_lo, b1));
    bodies + (ld9(&d.xmat, b2) * ld3(&m.geom_pos, g2) - ld9(&d.xmat, b1) * ld3(&m.geom_pos, g1))
}

/// Writes contact `i` of pair `k`, of the worlds that the mask names, into slot `c`; harmless numbers in the others.
#[inline(always)]
fn write_contact<T: Real>(
    m: &Model<T>,
    d: &mut World<T>,
    k: usize,
    c: usize,
    set: &ContactSet<T>,
    i: usize,
    on: T::Mask,
    margin: T,
) {
    let (g1, g2) = (m.coll_geom1[k], m.coll_geom2[k]);
    let dist = T::select(on, set.dist[i], margin);
    let normal = Vec3::select(on, set.normal[i], Vec3::x());
    let tangent = Vec3::select(on, set.tangent, Vec3::zeros());
    d.contact_dist[c] = dist;
    let centre = ld3(&d.geom_xpos, g1 as usize);
    st3(&mut d.contact_pos, c, centre + Vec3::select(on, set.pos[i], Vec3::zeros()));
    st9(&mut d.contact_frame, c, contact_frame(normal, tangent));
    d.contact_includemargin[c] = margin;
    d.contact_geom[2 * c] = g1;
    d.contact_geom[2 * c + 1] = g2;
    let exclude = dist.ge(margin);
    // only explicit pairs are of bodies that nothing moves against each other
    let held = if m.coll_pairid[k] >= 0 && m.size.nv > 0 && pair_rows(m, k) == 0 { 3 } else { 0 };
    for l in 0..T::LANES {
        d.contact_on[c].set(l, i32::from(on.get(l)));
        d.contact_exclude[c].set(l, if exclude.get(l) { 1 } else { held });
    }
    contact_parameters(m, d, k, c);
}

/// The contact frame: the normal and two tangents, row by row (`mju_makeFrame`).
#[inline(always)]
fn contact_frame<T: Real>(normal: Vec3<T>, tangent: Vec3<T>) -> Mat3<T> {
    let (one, half) = (T::one(), T::r(0.5));
    let mut t1 = tangent - normal * normal.dot(&tangent);
    // what is left of a tangent along the normal is rounding: f32 has 1e-7 of it
    let short = t1.dot(&t1).sqrt().le(T::r(if T::TWO_FLOAT { 1e-3 } else { MINVAL }));
    if short.any() {
        // an upright capsule, or no tangent
        let upright = Vec3::select(normal[0].abs().lt(half), Vec3::x(), Vec3::y());
        let free = Vec3::select(normal[1].abs().lt(half), Vec3::y(), Vec3::z());
        let hint = Vec3::select(tangent.dot(&tangent).gt(half), upright, free);
        t1 = Vec3::select(short, hint - normal * normal.dot(&hint), t1);
    }
    t1 *= one / t1.dot(&t1).sqrt();
    if T::TWO_FLOAT {
        // once more: a short rest magnifies its rounding
        t1 -= normal * normal.dot(&t1);
        t1 *= one / t1.dot(&t1).sqrt();
    }
    let t2 = normal.cross(&t1);
    Mat3::new(normal[0], normal[1], normal[2], t1[0], t1[1], t1[2], t2[0], t2[1], t2[2])
}

/// Dimension, friction, references and impedance of slot `c`, which holds a contact of pair `k`.
#[inline(always)]
fn contact_parameters<T: Real>(m: &Model<T>, d: &mut World<T>, k: usize, c: usize) {
    d.contact_dim[c] = pair_condim(m, k);
    let friction = &mut d.contact_friction[5 * c..5 * c + 5];
    let solref = &mut d.contact_solref[2 * c..2 * c + 2];
    let solreffriction = &mut d.contact_solreffriction[2 * c..2 * c + 2];
    let solimp = &mut d.contact_solimp[5 * c..5 * c + 5];
    let (g1, g2) = (m.coll_geom1[k] as usize, m.coll_geom2[k] as usize);
    if m.coll_pairid[k] >= 0 {
        let p = m.coll_pairid[k] as usize;
        friction.copy_from_slice(&m.pair_friction[5 * p..5 * p + 5]);
        solref.copy_from_slice(&m.pair_solref[2 * p..2 * p + 2]);
        solreffriction.copy_from_slice(&m.pair_solreffriction[2 * p..2 * p + 2]);
        solimp.copy_from_slice(&m.pair_solimp[5 * p..5 * p + 5]);
    } else {
        let (priority1, priority2) = (m.geom_priority[g1], m.geom_priority[g2]);
        // the share of geom 1
        let mix = if priority1 != priority2 {
            if priority1 > priority2 { T::one() } else { T::zero() }
        } else {
            solmix_share(m.geom_solmix[g1], m.geom_solmix[g2])
        };
        let (f1, f2) = (&m.geom_friction[3 * g1..3 * g1 + 3], &m.geom_friction[3 * g2..3 * g2 + 3]);
        for (i, f) in friction.iter_mut().enumerate() {
            // sliding twice, torsional, rolling twice
            let j = [0, 0, 1, 2, 2][i];
            *f = if priority1 > priority2 {
                f1[j]
            } else if priority1 < priority2 {
                f2[j]
            } else {
                f1[j].max(f2[j])
            };
        }
        let (r1, r2) = (&m.geom_solref[2 * g1..2 * g1 + 2], &m.geom_solref[2 * g2..2 * g2 + 2]);
        // two standard references are averaged; of direct ones the lesser numbers are taken
        let standard = r1[0].gt(T::zero()) & r2[0].gt(T::zero()) | T::Mask::splat(priority1 != priority2);
        for i in 0..2 {
            solref[i] = T::select(standard, r1[i] * mix + r2[i] * (T::one() - mix), r1[i].min(r2[i]));
            solreffriction[i] = T::zero();
        }
        for i in 0..5 {
            solimp[i] = m.geom_solimp[5 * g1 + i] * mix + m.geom_solimp[5 * g2 + i] * (T::one() - mix);
        }
    }
    if m.opt.enableflags & enable::OVERRIDE != 0 {
        friction.copy_from_slice(&m.opt_o_friction);
        solref.copy_from_slice(&m.opt_o_solref);
        solreffriction.copy_from_slice(&m.opt_o_solref);
        solimp.copy_from_slice(&m.opt_o_solimp);
    }
    for f in friction {
        *f = f.max(T::r(MINMU));
    }
}

/// Weight of the first of two geoms with these `solmix`.
#[inline(always)]
fn solmix_share<T: Real>(mix1: T, mix2: T) -> T {
    let least = T::r(MINVAL);
    let (small1, small2) = (mix1.lt(least), mix2.lt(least));
    let one_is_small = T::select(small1, T::zero(), T::one());
    let mixed = T::select(small1 | small2, one_is_small, mix1 / (mix1 + mix2));
    T::select(small1 & small2, T::r(0.5), mixed)
}
