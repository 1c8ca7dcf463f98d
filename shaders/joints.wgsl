// Moves a joint's coordinates, for integrate and rk4.
import package::layout::{
    JNT_BALL, JNT_FREE, JNT_HINGE, JNT_SLIDE, Vec6, ld_int_dvel, ld_int_qpos, ld_int_qpos_lo, ld_int_uvel, ld_jnt_dofadr,
    ld_jnt_qposadr, ld_jnt_type, ld_qvel, st_qpos, st_qpos_lo,
};
import package::math::{quat_integrate};
import package::spatial::{zero6};
import package::two_float::{tf_add};

const RATE_DVEL: u32 = 0u;
const RATE_UVEL: u32 = 1u;
const RATE_QVEL: u32 = 2u;

// Element i of int_dvel, int_uvel or qvel.
// GPU only: Rust passes the array
fn rate_of(w: u32, which: u32, i: u32) -> f32 {
    if which == RATE_DVEL {
        return ld_int_dvel(w, i);
    }
    if which == RATE_UVEL {
        return ld_int_uvel(w, i);
    }
    return ld_qvel(w, i);
}

// A joint's part of an array over dofs: translation (the only one for slides and hinges) and rotation.
fn joint_rate(w: u32, which: u32, j: u32) -> Vec6 {
    var i = u32(ld_jnt_dofadr(w, j));
    let kind = ld_jnt_type(w, j);
    var out = zero6();
    if kind != JNT_BALL {
        let n = select(1u, 3u, kind == JNT_FREE);
        for (var k = 0u; k < n; k++) {
            out.t[k] = rate_of(w, which, i + k);
        }
        i += n;
    }
    if kind == JNT_FREE || kind == JNT_BALL {
        out.r = vec3<f32>(rate_of(w, which, i), rate_of(w, which, i + 1u), rate_of(w, which, i + 2u));
    }
    return out;
}

// Coordinates of a joint: those at the start of the step moved at `rate` for the time h.
fn joint_advance(w: u32, j: u32, rate: Vec6, h: f32) {
    var q = u32(ld_jnt_qposadr(w, j));
    let kind = ld_jnt_type(w, j);
    if kind == JNT_HINGE {
        st_qpos(w, q, ld_int_qpos(w, q) + rate.t[0] * h);
        return;
    }
    if kind != JNT_BALL {
        let n = select(1u, 3u, kind == JNT_FREE);
        for (var k = 0u; k < n; k++) {
            let x = tf_add(ld_int_qpos(w, q + k), ld_int_qpos_lo(w, q + k), rate.t[k] * h);
            st_qpos(w, q + k, x[0]);
            st_qpos_lo(w, q + k, x[1]);
        }
        q += n;
    }
    if kind != JNT_SLIDE {
        let start =
            vec4<f32>(ld_int_qpos(w, q), ld_int_qpos(w, q + 1u), ld_int_qpos(w, q + 2u), ld_int_qpos(w, q + 3u));
        let quat = quat_integrate(start, rate.r, h);
        for (var k = 0u; k < 4u; k++) {
            st_qpos(w, q + k, quat[k]);
        }
    }
}
