// Contacts of the static pair list, in its order.
//
// Lanes test bounding spheres of 32 pairs each; what is near is dealt out evenly, and a running sum over the lanes gives every
// contact its slot.
import package::layout::{
    DISABLE_CONSTRAINT, DISABLE_CONTACT, ENABLE_OVERRIDE, GEOM_BOX, GEOM_CAPSULE, GEOM_PLANE, GEOM_SPHERE, HAS_BOX_BOX,
    HAS_CAPSULE_BOX, HAS_CAPSULE_CAPSULE, HAS_PLANE_BOX, HAS_PLANE_CAPSULE, HAS_PLANE_SPHERE, HAS_SPHERE_BOX,
    HAS_SPHERE_CAPSULE, HAS_SPHERE_SPHERE, LANES, MINMU, MINVAL, NCOLL, NCONMAX, NV, OPT_DISABLEFLAGS, OPT_ENABLEFLAGS,
    STATUS_CONTACT_OVERFLOW, WORLDS_PER_GROUP, ld_coll_geom1, ld_coll_geom2, ld_coll_pairid, ld_geom_bodyid, ld_geom_condim,
    ld_geom_friction, ld_geom_gap, ld_geom_margin, ld_geom_pos, ld_geom_priority, ld_geom_rbound, ld_geom_size, ld_geom_solimp,
    ld_geom_solmix, ld_geom_solref, ld_geom_type, ld_geom_xmat, ld_geom_xpos, ld_ncon_need, ld_opt_o_friction, ld_opt_o_margin,
    ld_opt_o_solimp, ld_opt_o_solref, ld_pair_dim, ld_pair_friction, ld_pair_gap, ld_pair_margin, ld_pair_solimp,
    ld_pair_solref, ld_pair_solreffriction, ld_status, ld_xmat, ld_xpos, ld_xpos_lo, st_contact_dim, st_contact_dist,
    st_contact_exclude, st_contact_frame, st_contact_friction, st_contact_geom, st_contact_includemargin, st_contact_pos,
    st_contact_solimp, st_contact_solref, st_contact_solreffriction, st_nefc_lost, st_ncon, st_ncon_need, st_status, lane_of, world_of
};
import package::collide_box::collide_box_box;
import package::collide_capsule::{collide_capsule_box, collide_capsule_capsule};
import package::collide_plane::{collide_plane_box, collide_plane_capsule, collide_plane_sphere};
import package::collide_sphere::{collide_sphere_box, collide_sphere_capsule, collide_sphere_sphere};
import package::constraint_row::contact_rownum;
import package::contact_set::{ContactSet, Pose};
import package::loops::{loops_ran};
import package::two_float::tf_diff3;

// Pairs that a lane tests at a time.
const WINDOW: u32 = 32u;

// By lane: near pairs of its window, a bit each.
var<workgroup> near_bits: array<u32, LANES * WORLDS_PER_GROUP>;
// By world: how many.
var<workgroup> near_count: array<u32, WORLDS_PER_GROUP>;
// Rounds in which the lanes treat them, the same for all worlds of the group.
var<workgroup> rounds: u32;
// By lane: contacts of the pair it treats.
var<workgroup> found: array<u32, LANES * WORLDS_PER_GROUP>;
// By lane: rows of the contacts it found that have no slot.
var<workgroup> lost: array<u32, LANES * WORLDS_PER_GROUP>;

// Finds the contacts of a world.
fn collision(w: u32, lane: u32) {
    var count = 0u;
    let slot = (w % WORLDS_PER_GROUP) * LANES;
    lost[slot + lane] = 0u;
    if (OPT_DISABLEFLAGS & (DISABLE_CONTACT | DISABLE_CONSTRAINT)) == 0 {
        for (var first = 0u; first < NCOLL; first += WINDOW * LANES) {
            count = collide_window(w, lane, first, count);
        }
    }
    workgroupBarrier();
    if lane == 0u {
        var rows = 0u;
        for (var l = 0u; l < LANES; l += 1u) {
            rows += lost[slot + l];
        }
        st_nefc_lost(w, i32(rows));
        st_ncon(w, i32(min(count, NCONMAX)));
        st_ncon_need(w, max(ld_ncon_need(w), i32(count)));
        if count > NCONMAX {
            st_status(w, ld_status(w) | STATUS_CONTACT_OVERFLOW);
        }
    }
    loops_ran(w);
}

// GPU only: in Rust this is the loop over the pairs.
// The pairs from first on, WINDOW a lane; count contacts are there already. The new count.
fn collide_window(w: u32, lane: u32, first: u32, count_: u32) -> u32 {
    let world = w % WORLDS_PER_GROUP;
    let slot = world * LANES;
    var bits = 0u;
    for (var i = 0u; i < WINDOW; i += 1u) {
        let k = first + lane * WINDOW + i;
        if k < NCOLL {
            let margin = pair_margin(w, k);
            if near_pair(w, k, margin.x + margin.y) {
                bits |= 1u << i;
            }
        }
    }
    near_bits[slot + lane] = bits;
    workgroupBarrier();
    var near = 0u;
    for (var l = 0u; l < LANES; l += 1u) {
        near += countOneBits(near_bits[slot + l]);
    }
    if lane == 0u {
        near_count[world] = near;
    }
    workgroupBarrier();
    if world == 0u && lane == 0u {
        var most = 0u;
        for (var i = 0u; i < WORLDS_PER_GROUP; i += 1u) {
            most = max(most, near_count[i]);
        }
        rounds = (most + LANES - 1u) / LANES;
    }
    let n = workgroupUniformLoad(&rounds);
    var count = count_;
    for (var round = 0u; round < n; round += 1u) {
        var contacts = ContactSet();
        let index = round * LANES + lane;
        var k = 0u;
        var margin = vec2<f32>(0.0);
        if index < near {
            k = first + nth_near(slot, index);
            margin = pair_margin(w, k);
            narrow_phase(w, k, margin.x + margin.y, &contacts);
        }
        found[slot + lane] = contacts.count;
        workgroupBarrier();
        var c = count;
        for (var l = 0u; l < LANES; l += 1u) {
            let here = found[slot + l];
            c += select(0u, here, l < lane);
            count += here;
        }
        for (var i = 0u; i < contacts.count; i += 1u) {
            if c + i < NCONMAX {
                write_contact(w, k, c + i, &contacts, i, margin.x);
            } else if contacts.dist[i] < margin.x {
                lost[slot + lane] += u32(pair_rows(w, k));
            }
        }
        workgroupBarrier();
    }
    return count;
}

// GPU only: in Rust this is the loop over the pairs.
// The place of the near pair number index among the pairs of all lanes.
fn nth_near(slot: u32, index: u32) -> u32 {
    var left = index;
    var lane = 0u;
    for (; lane + 1u < LANES; lane += 1u) {
        let here = countOneBits(near_bits[slot + lane]);
        if left < here {
            break;
        }
        left -= here;
    }
    var bits = near_bits[slot + lane];
    for (var i = 0u; i < left; i += 1u) {
        bits &= bits - 1u;
    }
    return lane * WINDOW + countTrailingZeros(bits);
}

// Rows of a contact of pair k.
fn pair_rows(w: u32, k: u32) -> i32 {
    let b1 = u32(ld_geom_bodyid(w, u32(ld_coll_geom1(w, k))));
    let b2 = u32(ld_geom_bodyid(w, u32(ld_coll_geom2(w, k))));
    return contact_rownum(w, b1, b2, pair_condim(w, k));
}

// Dimension of the contacts of pair k: its own, that of the geom which goes first, or the larger.
fn pair_condim(w: u32, k: u32) -> i32 {
    let pair = ld_coll_pairid(w, k);
    if pair >= 0 {
        return ld_pair_dim(w, u32(pair));
    }
    let g1 = u32(ld_coll_geom1(w, k));
    let g2 = u32(ld_coll_geom2(w, k));
    let first = ld_geom_priority(w, g1) > ld_geom_priority(w, g2);
    let second = ld_geom_priority(w, g1) < ld_geom_priority(w, g2);
    let dim1 = ld_geom_condim(w, g1);
    let dim2 = ld_geom_condim(w, g2);
    return select(select(max(dim1, dim2), dim2, second), dim1, first);
}

// Margin and gap of pair k: sums of the geoms'. Contacts are found up to their sum and push within the margin.
fn pair_margin(w: u32, k: u32) -> vec2<f32> {
    let pair = ld_coll_pairid(w, k);
    var out: vec2<f32>;
    if pair >= 0 {
        out = vec2<f32>(ld_pair_margin(w, u32(pair)), ld_pair_gap(w, u32(pair)));
    } else {
        let g1 = u32(ld_coll_geom1(w, k));
        let g2 = u32(ld_coll_geom2(w, k));
        out = vec2<f32>(ld_geom_margin(w, g1) + ld_geom_margin(w, g2), ld_geom_gap(w, g1) + ld_geom_gap(w, g2));
    }
    if (OPT_ENABLEFLAGS & ENABLE_OVERRIDE) != 0 {
        out.x = ld_opt_o_margin(w);
    }
    return out;
}

// False where bounding spheres, or a bounding sphere and a plane, are apart by more than margin.
fn near_pair(w: u32, k: u32, margin: f32) -> bool {
    let g1 = u32(ld_coll_geom1(w, k));
    let g2 = u32(ld_coll_geom2(w, k));
    let r = ld_geom_xpos(w, g2) - ld_geom_xpos(w, g1);
    var reach = margin + ld_geom_rbound(w, g2);
    if ld_geom_type(w, g1) == GEOM_PLANE {
        return dot(r, ld_geom_xmat(w, g1)[2]) <= reach;
    }
    reach += ld_geom_rbound(w, g1);
    return dot(r, r) <= reach * reach;
}

// The contacts of pair k up to distance margin.
fn narrow_phase(w: u32, k: u32, margin: f32, out: ptr<function, ContactSet>) {
    let g1 = u32(ld_coll_geom1(w, k));
    let g2 = u32(ld_coll_geom2(w, k));
    let r = centre_offset(w, g1, g2);
    let p = Pose(ld_geom_size(w, g1), ld_geom_size(w, g2), r, ld_geom_xmat(w, g1), ld_geom_xmat(w, g2));
    let t1 = ld_geom_type(w, g1);
    let t2 = ld_geom_type(w, g2);
    if HAS_PLANE_SPHERE && t1 == GEOM_PLANE && t2 == GEOM_SPHERE {
        collide_plane_sphere(p, margin, out);
    } else if HAS_PLANE_CAPSULE && t1 == GEOM_PLANE && t2 == GEOM_CAPSULE {
        collide_plane_capsule(p, margin, out);
    } else if HAS_PLANE_BOX && t1 == GEOM_PLANE && t2 == GEOM_BOX {
        collide_plane_box(p, margin, out);
    } else if HAS_SPHERE_SPHERE && t1 == GEOM_SPHERE && t2 == GEOM_SPHERE {
        collide_sphere_sphere(p, margin, out);
    } else if HAS_SPHERE_CAPSULE && t1 == GEOM_SPHERE && t2 == GEOM_CAPSULE {
        collide_sphere_capsule(p, margin, out);
    } else if HAS_SPHERE_BOX && t1 == GEOM_SPHERE && t2 == GEOM_BOX {
        collide_sphere_box(p, margin, out);
    } else if HAS_CAPSULE_CAPSULE && t1 == GEOM_CAPSULE && t2 == GEOM_CAPSULE {
        collide_capsule_capsule(p, margin, out);
    } else if HAS_CAPSULE_BOX && t1 == GEOM_CAPSULE && t2 == GEOM_BOX {
        collide_capsule_box(p, margin, out);
    } else if HAS_BOX_BOX && t1 == GEOM_BOX && t2 == GEOM_BOX {
        collide_box_box(p, margin, out);
    }
}

// The centre of geom 2 minus the centre of geom 1, from the bodies' positions in two floats, since geom_xpos is rounded.
fn centre_offset(w: u32, g1: u32, g2: u32) -> vec3<f32> {
    let b1 = u32(ld_geom_bodyid(w, g1));
    let b2 = u32(ld_geom_bodyid(w, g2));
    let bodies = tf_diff3(ld_xpos(w, b2), ld_xpos_lo(w, b2), ld_xpos(w, b1), ld_xpos_lo(w, b1));
    return bodies + (ld_xmat(w, b2) * ld_geom_pos(w, g2) - ld_xmat(w, b1) * ld_geom_pos(w, g1));
}

// Writes contact i of pair k into slot c.
fn write_contact(w: u32, k: u32, c: u32, contacts: ptr<function, ContactSet>, i: u32, margin: f32) {
    let g1 = ld_coll_geom1(w, k);
    st_contact_dist(w, c, (*contacts).dist[i]);
    st_contact_pos(w, c, ld_geom_xpos(w, u32(g1)) + (*contacts).pos[i]);
    st_contact_frame(w, c, contact_frame((*contacts).normal[i], (*contacts).tangent));
    st_contact_includemargin(w, c, margin);
    st_contact_geom(w, c, vec2<i32>(g1, ld_coll_geom2(w, k)));
    // only explicit pairs are of bodies that nothing moves against each other
    let held = select(0, 3, ld_coll_pairid(w, k) >= 0 && NV > 0u && pair_rows(w, k) == 0);
    st_contact_exclude(w, c, select(held, 1, (*contacts).dist[i] >= margin));
    contact_parameters(w, k, c);
}

// The contact frame: the normal and two tangents, row by row.
fn contact_frame(normal: vec3<f32>, tangent: vec3<f32>) -> mat3x3<f32> {
    var t1 = tangent - normal * dot(normal, tangent);
    // what is left of a tangent along the normal is rounding: f32 has 1e-7 of it
    if sqrt(dot(t1, t1)) <= 1e-3 {
        var hint = vec3<f32>(0.0, 0.0, 1.0);
        if dot(tangent, tangent) > 0.5 {
            // an upright capsule
            hint = select(vec3<f32>(0.0, 1.0, 0.0), vec3<f32>(1.0, 0.0, 0.0), abs(normal.x) < 0.5);
        } else if abs(normal.y) < 0.5 {
            hint = vec3<f32>(0.0, 1.0, 0.0);
        }
        t1 = hint - normal * dot(normal, hint);
    }
    t1 *= 1.0 / sqrt(dot(t1, t1));
    // once more: a short rest magnifies its rounding
    t1 -= normal * dot(normal, t1);
    t1 *= 1.0 / sqrt(dot(t1, t1));
    return transpose(mat3x3<f32>(normal, t1, cross(normal, t1)));
}

// Dimension, friction, references and impedance of slot c, which holds a contact of pair k.
fn contact_parameters(w: u32, k: u32, c: u32) {
    // sliding, torsional, rolling for geoms; all five for pairs and overrides
    var friction: array<f32, 5>;
    var solref: vec2<f32>;
    var solreffriction = vec2<f32>(0.0);
    var solimp: array<f32, 5>;
    let pairid = ld_coll_pairid(w, k);
    if pairid >= 0 {
        let p = u32(pairid);
        solref = ld_pair_solref(w, p);
        solreffriction = ld_pair_solreffriction(w, p);
        for (var i = 0u; i < 5u; i += 1u) {
            friction[i] = ld_pair_friction(w, p, i);
            solimp[i] = ld_pair_solimp(w, p, i);
        }
    } else {
        let g1 = u32(ld_coll_geom1(w, k));
        let g2 = u32(ld_coll_geom2(w, k));
        let first = ld_geom_priority(w, g1) > ld_geom_priority(w, g2);
        let second = ld_geom_priority(w, g1) < ld_geom_priority(w, g2);
        // the share of geom 1
        var mix = solmix_share(ld_geom_solmix(w, g1), ld_geom_solmix(w, g2));
        mix = select(select(mix, 0.0, second), 1.0, first);
        let f1 = ld_geom_friction(w, g1);
        let f2 = ld_geom_friction(w, g2);
        let f = select(select(max(f1, f2), f2, second), f1, first);
        friction = array<f32, 5>(f.x, f.x, f.y, f.z, f.z);
        let r1 = ld_geom_solref(w, g1);
        let r2 = ld_geom_solref(w, g2);
        // two standard references are averaged; of direct ones the lesser numbers are taken
        let standard = first || second || (r1.x > 0.0 && r2.x > 0.0);
        solref = select(min(r1, r2), r1 * mix + r2 * (1.0 - mix), standard);
        for (var i = 0u; i < 5u; i += 1u) {
            solimp[i] = ld_geom_solimp(w, g1, i) * mix + ld_geom_solimp(w, g2, i) * (1.0 - mix);
        }
    }
    if (OPT_ENABLEFLAGS & ENABLE_OVERRIDE) != 0 {
        solref = ld_opt_o_solref(w);
        solreffriction = solref;
        for (var i = 0u; i < 5u; i += 1u) {
            friction[i] = ld_opt_o_friction(w, i);
            solimp[i] = ld_opt_o_solimp(w, i);
        }
    }
    st_contact_dim(w, c, pair_condim(w, k));
    st_contact_solref(w, c, solref);
    st_contact_solreffriction(w, c, solreffriction);
    for (var i = 0u; i < 5u; i += 1u) {
        st_contact_friction(w, c, i, max(friction[i], MINMU));
        st_contact_solimp(w, c, i, solimp[i]);
    }
}

// Weight of the first of two geoms with these solmix.
fn solmix_share(mix1: f32, mix2: f32) -> f32 {
    if mix1 >= MINVAL && mix2 >= MINVAL {
        return mix1 / (mix1 + mix2);
    }
    if mix1 < MINVAL && mix2 < MINVAL {
        return 0.5;
    }
    return select(1.0, 0.0, mix1 < MINVAL);
}

@compute @workgroup_size(LANES, WORLDS_PER_GROUP, 1)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    collision(world_of(group, local), lane_of(local));
}
