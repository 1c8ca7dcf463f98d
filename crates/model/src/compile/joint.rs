//! Joints and dofs: limits, springs, the reference pose; which bodies have a diagonal inertia matrix.

use super::frame::{self, IDENTITY};
use super::{Compiler, Kind, Range, tree};
use kiloworld_cpu::math::{Vec3, ld3, ld4, quat_rotate};
use kiloworld_layout::consts::jnt;
use kiloworld_mjcf::spec::{Actuator, Joint, JointKind, SpatialStep, Tendon, TendonKind, Transmission, Tri};

/// Fills every field of joints and dofs, `qpos0` and `qpos_spring`.
pub(crate) fn joints(c: &mut Compiler<'_>) {
    // the last dof of each body or of the nearest body above that has one
    let mut last = vec![-1; c.m.size.nbody];
    for (b, body) in c.spec.bodies.iter().enumerate().skip(1) {
        last[b] = last[body.parent];
        allowed(c, b);
        for j in &body.joints {
            joint(c, b, j, &mut last[b]);
        }
    }
}

/// Reports joints that cannot be together in a body.
fn allowed(c: &mut Compiler<'_>, b: usize) {
    let body = &c.spec.bodies[b];
    if let Some(free) = body.joints.iter().find(|j| j.kind == JointKind::Free) {
        if body.parent != 0 {
            c.error(
                free.at.span,
                "a free joint is only for children of the world",
                "move the body to the world, or use other joints",
            );
        }
        if body.joints.len() > 1 {
            c.error(
                free.at.span,
                "a free joint must be the only joint of its body",
                "put the other joints in bodies of their own",
            );
        }
    } else if body.joints.iter().map(|j| tree::dofs(j.kind)).sum::<usize>() > 6 {
        c.error(
            body.at.span,
            "a body cannot have more than 6 degrees of freedom",
            "put some joints in bodies of their own",
        );
    }
    let ball = body.joints.iter().position(|j| j.kind == JointKind::Ball).map_or(body.joints.len(), |i| i + 1);
    if let Some(j) = body.joints[ball..].iter().find(|j| j.kind != JointKind::Slide) {
        c.error(
            j.at.span,
            "a ball joint cannot be followed by a rotation",
            "put the ball joint last, or in a body of its own",
        );
    }
}

fn joint(c: &mut Compiler<'_>, b: usize, j: &Joint, last: &mut i32) {
    let id = c.m.jnt_type.len();
    let turns = matches!(j.kind, JointKind::Hinge | JointKind::Ball);
    let free_or_ball = matches!(j.kind, JointKind::Free | JointKind::Ball);
    let angle = |x: f64| if turns && c.spec.compiler.degrees { x.to_radians() } else { x };
    let hinge = |x: f64| if j.kind == JointKind::Hinge { angle(x) } else { x };
    let (reference, springref) = (hinge(j.reference), hinge(j.springref));
    let limit = Range { name: "range", switch: "limited", value: j.range };
    // MuJoCo takes any upper limit of a ball joint that is said to be limited
    let limited = match j.kind {
        JointKind::Free => false,
        JointKind::Ball if j.limited == Tri::True => true,
        _ => c.limited(j.limited, &j.at, &limit),
    };
    // a range that does not limit stays as it is written
    let range = if limited { j.range.map(angle) } else { j.range };
    let force = Range { name: "actuatorfrcrange", switch: "actuatorfrclimited", value: j.actuatorfrcrange };
    let actfrclimited = !free_or_ball && c.limited(j.actuatorfrclimited, &j.at, &force);
    if limited && j.kind == JointKind::Ball && j.range[0] != 0.0 {
        c.error(j.at.attr("range"), "the range of a ball joint starts at 0", "write range=\"0 LARGEST_ANGLE\"");
    }
    let positive = [("armature", j.armature), ("frictionloss", j.frictionloss), ("springyield", j.springyield)];
    for (name, value) in positive {
        if value < 0.0 {
            c.error(j.at.attr(name), format!("`{name}` cannot be negative, it is {value}"), "write 0 or more");
        }
    }
    if j.kind == JointKind::Free && j.springyield > 0.0 {
        c.error(j.at.attr("springyield"), "the spring of a free joint cannot yield", "remove it");
    }
    if j.springdamper != [0.0; 2] && j.springdamper.iter().any(|&x| x <= 0.0) {
        let text = "a time constant and a damping ratio must both be positive";
        c.error(j.at.attr("springdamper"), text, "write two positive numbers, or stiffness and damping instead");
    }

    let within = j.frame.map(|f| c.frames[f]).unwrap_or_default();
    let (mut pos, mut axis) = (Vec3::zeros(), Vec3::z());
    if j.kind != JointKind::Free {
        pos = within.pos + quat_rotate(within.quat, Vec3::from(j.pos));
    }
    if matches!(j.kind, JointKind::Slide | JointKind::Hinge) {
        axis = frame::unit(quat_rotate(within.quat, Vec3::from(j.axis))).unwrap_or_else(|| {
            c.error(j.at.attr("axis"), "the axis has length 0", "write a direction");
            Vec3::z()
        });
    }

    let m = &mut c.m;
    let (qposadr, dofadr) = (m.qpos0.len(), m.dof_bodyid.len());
    m.jnt_type.push(match j.kind {
        JointKind::Free => jnt::FREE,
        JointKind::Ball => jnt::BALL,
        JointKind::Slide => jnt::SLIDE,
        JointKind::Hinge => jnt::HINGE,
    });
    m.jnt_qposadr.push(qposadr as i32);
    m.jnt_dofadr.push(dofadr as i32);
    m.jnt_bodyid.push(b as i32);
    m.jnt_limited.push(i32::from(limited));
    m.jnt_actfrclimited.push(i32::from(actfrclimited));
    m.jnt_actgravcomp.push(i32::from(j.actuatorgravcomp));
    m.jnt_group.push(j.group);
    m.jnt_pos.extend(pos.as_slice());
    m.jnt_axis.extend(axis.as_slice());
    m.jnt_stiffness.push(j.stiffness[0]);
    m.jnt_stiffnesspoly.extend(&j.stiffness[1..]);
    m.jnt_springyield.push(angle(j.springyield));
    m.jnt_range.extend(range);
    m.jnt_actfrcrange.extend(j.actuatorfrcrange);
    m.jnt_margin.push(j.margin);
    m.jnt_solref.extend(j.solreflimit);
    m.jnt_solimp.extend(j.solimplimit);
    match j.kind {
        JointKind::Free => {
            let pose = [ld3(&m.body_pos, b).as_slice(), ld4(&m.body_quat, b).as_slice()].concat();
            m.qpos0.extend(&pose);
            m.qpos_spring.extend(&pose);
        }
        JointKind::Ball => {
            m.qpos0.extend(IDENTITY.as_slice());
            m.qpos_spring.extend(IDENTITY.as_slice());
        }
        JointKind::Slide | JointKind::Hinge => {
            m.qpos0.push(reference);
            m.qpos_spring.push(springref);
        }
    }
    for _ in 0..tree::dofs(j.kind) {
        let dof = m.dof_bodyid.len() as i32;
        m.dof_bodyid.push(b as i32);
        m.dof_jntid.push(id as i32);
        m.dof_parentid.push(*last);
        m.dof_treeid.push(m.body_treeid[b]);
        m.dof_armature.push(j.armature);
        m.dof_damping.push(j.damping[0]);
        m.dof_dampingpoly.extend(&j.damping[1..]);
        m.dof_frictionloss.push(j.frictionloss);
        m.dof_solref.extend(j.solreffriction);
        m.dof_solimp.extend(j.solimpfriction);
        *last = dof;
    }
}

/// How diagonal the inertia matrix of a body's dofs is in every pose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Simple {
    /// it is not
    No,
    /// it is
    Diagonal,
    /// it is, and all joints are slides
    Slides,
}

impl Simple {
    /// Whether the matrix is diagonal.
    pub(crate) fn is_simple(self) -> bool {
        self != Self::No
    }
}

/// Finds the bodies that MuJoCo calls simple: no dofs above, no bodies below, joints at the centre of mass along the
/// principal axes, which are the body's own, and a rotation only as the last joint.
pub(crate) fn simple_bodies(c: &mut Compiler<'_>) {
    let m = &c.m;
    let mut parent = vec![false; m.size.nbody];
    m.body_parentid.iter().for_each(|&p| parent[p as usize] = true);
    // a tendon with armature, its own or of an actuator, couples the bodies along it
    let pulled = |t: &Tendon| {
        let by = |a: &Actuator| match &a.transmission {
            Transmission::Tendon(name) => a.armature != 0.0 && Some(name) == t.name.as_ref(),
            _ => false,
        };
        c.spec.actuators.iter().any(by)
    };
    let heavy = c.spec.tendons.iter().filter(|t| t.armature != 0.0 || pulled(t));
    let coupled: Vec<usize> = heavy
        .flat_map(|t| match &t.kind {
            TendonKind::Fixed(joints) => joints
                .iter()
                .filter_map(|j| c.names.of(Kind::Joint).id(&j.joint))
                .map(|j| m.jnt_bodyid[j] as usize)
                .collect::<Vec<_>>(),
            TendonKind::Spatial(steps) => steps
                .iter()
                .filter_map(|s| if let SpatialStep::Site(name) = s { c.names.of(Kind::Site).id(name) } else { None })
                .map(|s| m.site_bodyid[s] as usize)
                .collect(),
        })
        .collect();
    // MuJoCo looks one fixed body up, not two
    let near_world = |p: usize| p == 0 || (m.body_treeid[p] < 0 && m.body_parentid[p] == 0);
    let simple = (0..m.size.nbody).map(|b| {
        let (adr, num) = (m.body_jntadr[b].max(0) as usize, m.body_jntnum[b] as usize);
        let centred = |v: Vec3<f64>| v.norm() < 1e-6;
        let iquat = ld4(&m.body_iquat, b);
        let diagonal = num > 0
            && c.spec.bodies[b].simple
            && !parent[b]
            && near_world(m.body_parentid[b] as usize)
            && !coupled.contains(&b)
            && centred(ld3(&m.body_ipos, b))
            && centred(Vec3::new(iquat[1], iquat[2], iquat[3]))
            && (adr..adr + num).all(|j| {
                let turns = m.jnt_type[j] == jnt::HINGE || m.jnt_type[j] == jnt::BALL;
                let axis = ld3(&m.jnt_axis, j);
                let off_axis = axis.iter().filter(|x| x.abs() > AXIS).count();
                centred(ld3(&m.jnt_pos, j)) && off_axis == 1 && (!turns || j + 1 == adr + num)
            });
        let slides = (adr..adr + num).all(|j| m.jnt_type[j] == jnt::SLIDE);
        match (diagonal, slides) {
            (false, _) => Simple::No,
            (true, false) => Simple::Diagonal,
            (true, true) => Simple::Slides,
        }
    });
    c.simple = simple.collect();
}

/// Below this a component of an axis counts as 0 (measured).
const AXIS: f64 = 5e-14;
