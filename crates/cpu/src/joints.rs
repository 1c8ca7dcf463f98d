//! Moves a joint's coordinates, for `integrate` and `rk4`. Twin: `shaders/joints.wgsl`.

use crate::kinematics::qpos_quat;
use crate::math::{Vec3, quat_integrate, st4};
use crate::spatial::{Vec6, zero6};
use crate::two_float::tf_add;
use crate::{Real, World};
use kiloworld_layout::Model;
use kiloworld_layout::consts::jnt;

/// A joint's part of an array over dofs: translation (the only one for slides and hinges) and rotation.
#[inline(always)]
pub fn joint_rate<T: Real>(m: &Model<T>, rate: &[T], j: usize) -> Vec6<T> {
    let mut i = m.jnt_dofadr[j] as usize;
    let mut out = zero6();
    if m.jnt_type[j] != jnt::BALL {
        let n = if m.jnt_type[j] == jnt::FREE { 3 } else { 1 };
        for k in 0..n {
            out.t[k] = rate[i + k];
        }
        i += n;
    }
    if m.jnt_type[j] == jnt::FREE || m.jnt_type[j] == jnt::BALL {
        out.r = Vec3::new(rate[i], rate[i + 1], rate[i + 2]);
    }
    out
}

/// Coordinates of a joint: those at the start of the step moved at `rate` for the time `h`.
#[inline(always)]
pub fn joint_advance<T: Real>(m: &Model<T>, d: &mut World<T>, j: usize, rate: Vec6<T>, h: T) {
    let mut q = m.jnt_qposadr[j] as usize;
    if m.jnt_type[j] == jnt::HINGE {
        d.qpos[q] = d.int_qpos[q] + rate.t[0] * h;
        return;
    }
    if m.jnt_type[j] != jnt::BALL {
        let n = if m.jnt_type[j] == jnt::FREE { 3 } else { 1 };
        for k in 0..n {
            (d.qpos[q + k], d.qpos_lo[q + k]) = tf_add(d.int_qpos[q + k], d.int_qpos_lo[q + k], rate.t[k] * h);
        }
        q += n;
    }
    if m.jnt_type[j] != jnt::SLIDE {
        let quat = quat_integrate(qpos_quat(&d.int_qpos, q), rate.r, h);
        st4(&mut d.qpos[q..], 0, quat);
    }
}
