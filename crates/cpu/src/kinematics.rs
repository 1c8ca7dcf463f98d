//! Stages `kinematics` and `com_pos`: frames, centres of mass, spatial inertias, motion axes. Twin: `shaders/kinematics.wgsl`.

use crate::math::{
    Quat, Vec3, axis_angle_to_quat, ld3, ld4, ld9, quat_mul, quat_normalize, quat_rotate, quat_to_mat, st3, st4, st9,
};
use crate::spatial::{Vec6, inert_at, st6, st10, zero6};
use crate::two_float::tf_add3;
use crate::{Real, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{MINVAL, jnt};

/// Frames of bodies, joints, geoms and sites from `qpos` (`mj_kinematics`).
#[inline(always)]
pub fn kinematics<T: Real>(m: &Model<T>, d: &mut World<T>) {
    for level in 0..m.size.nlevel {
        for k in m.level_adr[level]..m.level_adr[level + 1] {
            body_pose(m, d, m.level_body[k as usize] as usize);
        }
    }
    for g in 0..m.size.ngeom {
        geom_pose(m, d, g);
    }
    for s in 0..m.size.nsite {
        site_pose(m, d, s);
    }
}

/// Frame of a body from its parent's, and the frames of its joints.
#[inline(always)]
fn body_pose<T: Real>(m: &Model<T>, d: &mut World<T>, b: usize) {
    let mut pos = Vec3::zeros();
    let mut lo = Vec3::zeros();
    let mut quat = Quat::new(T::one(), T::zero(), T::zero(), T::zero());
    if m.body_mocapid[b] >= 0 {
        let k = m.body_mocapid[b] as usize;
        pos = ld3(&d.mocap_pos, k);
        quat = ld4(&d.mocap_quat, k);
    } else if b > 0 {
        let p = m.body_parentid[b] as usize;
        let parent_quat = ld4(&d.xquat, p);
        (pos, lo) = tf_add3(ld3(&d.xpos, p), ld3(&d.xpos_lo, p), quat_rotate(parent_quat, ld3(&m.body_pos, b)));
        quat = quat_mul(parent_quat, ld4(&m.body_quat, b));
    }
    for k in 0..m.body_jntnum[b] {
        let j = (m.body_jntadr[b] + k) as usize;
        let a = m.jnt_qposadr[j] as usize;
        if m.jnt_type[j] == jnt::FREE {
            pos = Vec3::new(d.qpos[a], d.qpos[a + 1], d.qpos[a + 2]);
            lo = Vec3::new(d.qpos_lo[a], d.qpos_lo[a + 1], d.qpos_lo[a + 2]);
            quat = quat_normalize(qpos_quat(&d.qpos, a + 3));
            st3(&mut d.xanchor, j, pos);
            st3(&mut d.xaxis, j, ld3(&m.jnt_axis, j));
            continue;
        }
        let axis = quat_rotate(quat, ld3(&m.jnt_axis, j));
        let arm = quat_rotate(quat, ld3(&m.jnt_pos, j));
        st3(&mut d.xaxis, j, axis);
        st3(&mut d.xanchor, j, pos + arm);
        if m.jnt_type[j] == jnt::SLIDE {
            (pos, lo) = tf_add3(pos, lo, axis * ((d.qpos[a] - m.qpos0[a]) + d.qpos_lo[a]));
        } else {
            let turn = if m.jnt_type[j] == jnt::BALL {
                quat_normalize(qpos_quat(&d.qpos, a))
            } else {
                axis_angle_to_quat(ld3(&m.jnt_axis, j), d.qpos[a] - m.qpos0[a])
            };
            quat = quat_mul(quat, turn);
            // the anchor stays
            (pos, lo) = tf_add3(pos, lo, arm - quat_rotate(quat, ld3(&m.jnt_pos, j)));
        }
    }
    quat = quat_normalize(quat);
    st3(&mut d.xpos, b, pos);
    st3(&mut d.xpos_lo, b, lo);
    st4(&mut d.xquat, b, quat);
    st9(&mut d.xmat, b, quat_to_mat(quat));
    st3(&mut d.xipos, b, pos + quat_rotate(quat, ld3(&m.body_ipos, b)));
    st9(&mut d.ximat, b, quat_to_mat(quat_mul(quat, ld4(&m.body_iquat, b))));
}

/// The quaternion that starts at coordinate `a`.
#[inline(always)]
pub fn qpos_quat<T: Real>(qpos: &[T], a: usize) -> Quat<T> {
    Quat::new(qpos[a], qpos[a + 1], qpos[a + 2], qpos[a + 3])
}

/// Frame of a geom.
#[inline(always)]
fn geom_pose<T: Real>(m: &Model<T>, d: &mut World<T>, g: usize) {
    let b = m.geom_bodyid[g] as usize;
    let quat = ld4(&d.xquat, b);
    st3(&mut d.geom_xpos, g, ld3(&d.xpos, b) + quat_rotate(quat, ld3(&m.geom_pos, g)));
    st9(&mut d.geom_xmat, g, quat_to_mat(quat_mul(quat, ld4(&m.geom_quat, g))));
}

/// Frame of a site.
#[inline(always)]
fn site_pose<T: Real>(m: &Model<T>, d: &mut World<T>, s: usize) {
    let b = m.site_bodyid[s] as usize;
    let quat = ld4(&d.xquat, b);
    st3(&mut d.site_xpos, s, ld3(&d.xpos, b) + quat_rotate(quat, ld3(&m.site_pos, s)));
    st9(&mut d.site_xmat, s, quat_to_mat(quat_mul(quat, ld4(&m.site_quat, s))));
}

/// Centres of mass of subtrees, inertias and motion axes about the centre of mass of each tree (`mj_comPos`).
#[inline(always)]
pub fn com_pos<T: Real>(m: &Model<T>, d: &mut World<T>) {
    for level in (0..m.size.nlevel).rev() {
        for k in m.level_adr[level]..m.level_adr[level + 1] {
            body_subtree_com(m, d, m.level_body[k as usize] as usize);
        }
    }
    for b in 0..m.size.nbody {
        body_inertia(m, d, b);
    }
    for j in 0..m.size.njnt {
        joint_axes(m, d, j);
    }
}

/// Centre of mass of a subtree from those of the children's.
#[inline(always)]
fn body_subtree_com<T: Real>(m: &Model<T>, d: &mut World<T>, b: usize) {
    let own = ld3(&d.xipos, b);
    let mut shift = Vec3::zeros();
    for k in 0..m.body_childnum[b] {
        let c = m.level_body[(m.body_childadr[b] + k) as usize] as usize;
        shift += (ld3(&d.subtree_com, c) - own) * m.body_subtreemass[c];
    }
    let mass = m.body_subtreemass[b];
    let massless = mass.lt(T::r(MINVAL));
    let scale = T::select(massless, T::zero(), T::one() / T::select(massless, T::one(), mass));
    st3(&mut d.subtree_com, b, own + shift * scale);
}

/// Spatial inertia of a body about the centre of mass of its tree; the world has none.
#[inline(always)]
fn body_inertia<T: Real>(m: &Model<T>, d: &mut World<T>, b: usize) {
    let offset = ld3(&d.xipos, b) - ld3(&d.subtree_com, m.body_rootid[b] as usize);
    let mass = if b == 0 { T::zero() } else { m.body_mass[b] };
    let inertia = if b == 0 { Vec3::zeros() } else { ld3(&m.body_inertia, b) };
    st10(&mut d.cinert, b, inert_at(inertia, ld9(&d.ximat, b), offset, mass));
}

/// Motion axes of a joint's dofs about the centre of mass of its tree.
#[inline(always)]
fn joint_axes<T: Real>(m: &Model<T>, d: &mut World<T>, j: usize) {
    let b = m.jnt_bodyid[j] as usize;
    let mut i = m.jnt_dofadr[j] as usize;
    let com = ld3(&d.subtree_com, m.body_rootid[b] as usize);
    let offset = com - ld3(&d.xanchor, j);
    if m.jnt_type[j] == jnt::SLIDE {
        st6(&mut d.cdof, i, Vec6 { r: Vec3::zeros(), t: ld3(&d.xaxis, j) });
        return;
    }
    if m.jnt_type[j] == jnt::HINGE {
        let axis = ld3(&d.xaxis, j);
        st6(&mut d.cdof, i, Vec6 { r: axis, t: axis.cross(&offset) });
        return;
    }
    if m.jnt_type[j] == jnt::FREE {
        for k in 0..3 {
            let mut axis = zero6();
            axis.t[k] = T::one();
            st6(&mut d.cdof, i + k, axis);
        }
        i += 3;
    }
    let mat = ld9(&d.xmat, b);
    for k in 0..3 {
        let axis: Vec3<T> = mat.column(k);
        st6(&mut d.cdof, i + k, Vec6 { r: axis, t: axis.cross(&offset) });
    }
}
