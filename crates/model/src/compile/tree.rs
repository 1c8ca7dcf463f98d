//! Bodies: the tree, addresses of what they hold, their frames; joints and dofs follow from the same walk.

use super::Compiler;
use super::frame::Pose;
use kiloworld_cpu::math::{Vec3, ld3, ld4, st3, st4};
use kiloworld_mjcf::spec::{JointKind, Tri};

/// Parent, root, weld and tree ids, and the address and number of joints, dofs and geoms of every body.
pub(crate) fn bodies(c: &mut Compiler<'_>) {
    let n = c.spec.bodies.len();
    let (mut nq, mut nv, mut njnt, mut ngeom, mut nmocap, mut ntree) = (0, 0, 0, 0, 0, 0);
    c.m.size.nbody = n;
    for (b, body) in c.spec.bodies.iter().enumerate() {
        let m = &mut c.m;
        let parent = body.parent;
        m.body_parentid.push(parent as i32);
        m.body_rootid.push(if parent == 0 { b as i32 } else { m.body_rootid[parent] });
        m.body_weldid.push(if body.joints.is_empty() && !body.mocap && b > 0 {
            m.body_weldid[parent]
        } else {
            b as i32
        });
        let dofs: usize = body.joints.iter().map(|j| dofs(j.kind)).sum();
        let address = |at: usize, number: usize| if number == 0 { -1 } else { at as i32 };
        m.body_jntadr.push(address(njnt, body.joints.len()));
        m.body_jntnum.push(body.joints.len() as i32);
        m.body_dofadr.push(address(nv, dofs));
        m.body_dofnum.push(dofs as i32);
        m.body_geomadr.push(address(ngeom, body.geoms.len()));
        m.body_geomnum.push(body.geoms.len() as i32);
        let above = if b == 0 { -1 } else { m.body_treeid[parent] };
        let starts = above < 0 && dofs > 0;
        m.body_treeid.push(if starts { ntree } else { above });
        ntree += i32::from(starts);
        m.body_mocapid.push(if body.mocap { nmocap } else { -1 });
        nmocap += i32::from(body.mocap);
        m.body_gravcomp.push(body.gravcomp);
        if body.mocap && (parent != 0 || !body.joints.is_empty()) {
            c.error(
                body.at.attr("mocap"),
                "a mocap body must be a child of the world without joints",
                "move it, or drop `mocap`",
            );
        }
        nq += body.joints.iter().map(|j| coordinates(j.kind)).sum::<usize>();
        nv += dofs;
        njnt += body.joints.len();
        ngeom += body.geoms.len();
    }
    let size = &mut c.m.size;
    (size.nq, size.nv, size.njnt, size.ngeom) = (nq, nv, njnt, ngeom);
    (size.nmocap, size.ntree) = (nmocap as usize, ntree as usize);
    size.nsite = c.spec.sites().count();
    let (nbody, nsite) = (size.nbody, size.nsite);
    c.m.body_pos.resize(3 * nbody, 0.0);
    c.m.body_quat.resize(4 * nbody, 0.0);
    c.m.body_ipos.resize(3 * nbody, 0.0);
    c.m.body_iquat.resize(4 * nbody, 0.0);
    c.m.body_mass.resize(nbody, 0.0);
    c.m.body_inertia.resize(3 * nbody, 0.0);
    c.m.geom_pos.resize(3 * ngeom, 0.0);
    c.m.geom_quat.resize(4 * ngeom, 0.0);
    c.m.site_pos.resize(3 * nsite, 0.0);
    c.m.site_quat.resize(4 * nsite, 0.0);
}

/// Coordinates of a kind of joint in qpos.
pub(crate) fn coordinates(kind: JointKind) -> usize {
    match kind {
        JointKind::Free => 7,
        JointKind::Ball => 4,
        JointKind::Slide | JointKind::Hinge => 1,
    }
}

/// Degrees of freedom of a kind of joint.
pub(crate) fn dofs(kind: JointKind) -> usize {
    match kind {
        JointKind::Free => 6,
        JointKind::Ball => 3,
        JointKind::Slide | JointKind::Hinge => 1,
    }
}

/// The frame of every body in its parent.
pub(crate) fn body_frames(c: &mut Compiler<'_>) {
    for (b, body) in c.spec.bodies.iter().enumerate() {
        let own = if b == 0 { Pose::default() } else { c.own_pose(&body.at, &body.pos, body.orientation.as_ref()) };
        c.own.push(own);
        let pose = c.in_frame(body.frame, own);
        st3(&mut c.m.body_pos, b, pose.pos);
        st4(&mut c.m.body_quat, b, pose.quat);
    }
}

/// Moves the frames of free bodies that ask for it to their inertial frames; what they hold stays where it is.
pub(crate) fn align_free(c: &mut Compiler<'_>) {
    for b in 1..c.m.size.nbody {
        let body = &c.spec.bodies[b];
        let [joint] = body.joints.as_slice() else { continue };
        let wanted = match joint.align {
            Tri::True => true,
            Tri::False => false,
            Tri::Auto => c.spec.settings(b).alignfree,
        };
        let childless = !c.m.body_parentid.contains(&(b as i32));
        if joint.kind != JointKind::Free || !wanted || !childless {
            continue;
        }
        let inertial = Pose { pos: ld3(&c.m.body_ipos, b), quat: ld4(&c.m.body_iquat, b) };
        let body_pose = Pose { pos: ld3(&c.m.body_pos, b), quat: ld4(&c.m.body_quat, b) }.then(&inertial);
        st3(&mut c.m.body_pos, b, body_pose.pos);
        st4(&mut c.m.body_quat, b, body_pose.quat);
        st3(&mut c.m.body_ipos, b, Vec3::zeros());
        st4(&mut c.m.body_iquat, b, super::frame::IDENTITY);
        let back = inertial.inverse();
        let moved = |pos: &mut [f64], quat: &mut [f64], i: usize| {
            let pose = back.then(&Pose { pos: ld3(pos, i), quat: ld4(quat, i) });
            st3(pos, i, pose.pos);
            st4(quat, i, pose.quat);
        };
        for g in (0..c.m.size.ngeom).filter(|&g| c.m.geom_bodyid[g] == b as i32) {
            moved(&mut c.m.geom_pos, &mut c.m.geom_quat, g);
        }
        for s in (0..c.m.size.nsite).filter(|&s| c.m.site_bodyid[s] == b as i32) {
            moved(&mut c.m.site_pos, &mut c.m.site_quat, s);
        }
        for k in (0..c.m.size.ncam).filter(|&k| c.m.cam_bodyid[k] == b as i32) {
            moved(&mut c.m.cam_pos, &mut c.m.cam_quat, k);
        }
    }
}

/// The sparsity of M: a dof and the dofs above it, or the dof alone in bodies whose inertia matrix is diagonal; and the
/// addresses of MuJoCo's older packing, which has no such exception.
pub(crate) fn sparsity(c: &mut Compiler<'_>) {
    let m = &mut c.m;
    let mut packed = 0;
    for i in 0..m.size.nv {
        let mut chain = vec![i as i32];
        while m.dof_parentid[chain[chain.len() - 1] as usize] >= 0 {
            chain.push(m.dof_parentid[chain[chain.len() - 1] as usize]);
        }
        m.dof_Madr.push(packed);
        packed += chain.len() as i32;
        if c.simple[m.dof_bodyid[i] as usize].is_simple() {
            chain.truncate(1);
        }
        m.M_rowadr.push(m.M_colind.len() as i32);
        m.M_rownnz.push(chain.len() as i32);
        m.M_colind.extend(chain.iter().rev());
    }
    m.size.nC = m.M_colind.len();
}
