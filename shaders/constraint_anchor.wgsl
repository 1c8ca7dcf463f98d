// What connects and welds hold together: bodies, points and orientations.
import package::layout::{
    EQ_WELD, OBJ_SITE, ld_eq_data, ld_eq_obj1id, ld_eq_obj2id, ld_eq_objtype, ld_eq_type, ld_site_bodyid, ld_site_pos, ld_site_quat
};
import package::math::{quat_conj, quat_mul};

// Where an object of an equality is fixed: its body, and the fixed point and orientation in the body's frame.
struct Anchor { body: u32, pos: vec3<f32>, quat: vec4<f32> }

// GPU only: an id pair is one load.
// Object k, 0 or 1, of equality e.
fn eq_object(w: u32, e: u32, k: u32) -> u32 {
    return u32(select(ld_eq_obj2id(w, e), ld_eq_obj1id(w, e), k == 0u));
}

// The body of object k of equality e.
fn eq_body(w: u32, e: u32, k: u32) -> u32 {
    let o = eq_object(w, e, k);
    if ld_eq_objtype(w, e) == OBJ_SITE {
        return u32(ld_site_bodyid(w, o));
    }
    return o;
}

// GPU only: a slice in Rust.
// Three numbers of an equality's data.
fn eq_data3(w: u32, e: u32, j: u32) -> vec3<f32> {
    return vec3<f32>(ld_eq_data(w, e, j), ld_eq_data(w, e, j + 1u), ld_eq_data(w, e, j + 2u));
}

// The anchor of object k of equality e.
fn eq_anchor(w: u32, e: u32, k: u32) -> Anchor {
    let body = eq_body(w, e, k);
    if ld_eq_objtype(w, e) == OBJ_SITE {
        let s = eq_object(w, e, k);
        return Anchor(body, ld_site_pos(w, s), ld_site_quat(w, s));
    }
    let unit = vec4<f32>(1.0, 0.0, 0.0, 0.0);
    if ld_eq_type(w, e) == EQ_WELD {
        // a weld keeps the second body's anchor first, then the relative pose in the first body
        if k == 0u {
            return Anchor(body, eq_data3(w, e, 3u), vec4<f32>(ld_eq_data(w, e, 6u), eq_data3(w, e, 7u)));
        }
        return Anchor(body, eq_data3(w, e, 0u), unit);
    }
    return Anchor(body, eq_data3(w, e, 3u * k), unit);
}

// Half the vector part of conj(g2) turn g1.
fn half_relative(g1: vec4<f32>, g2: vec4<f32>, turn: vec4<f32>) -> vec3<f32> {
    return quat_mul(quat_mul(quat_conj(g2), turn), g1).yzw * 0.5;
}
