//! How many contacts and constraint rows a world can need at most.

use kiloworld_layout::Model;
use kiloworld_layout::consts::{cone, geom, jnt, solver};

/// Sets `nconmax` to the number of contacts of all pairs at once, and `njmax` to the rows of these and of everything else.
/// `nconmax` may be far more than a world meets: see how a batch chooses its capacities.
pub(crate) fn capacities(m: &mut Model<f64>) {
    m.size.nconmax = contacts_at_most(m);
    m.size.njmax = rows_always(m) + m.size.nconmax * rows_per_contact(m);
    let dual = m.opt.solver == solver::PGS || m.opt.noslip_iterations > 0;
    m.size.njdual = if dual { m.size.njmax } else { 0 };
}

/// Contacts of a world at most: of all pairs at once.
pub fn contacts_at_most(m: &Model<f64>) -> usize {
    let kind = |id: &i32| m.geom_type[*id as usize];
    m.coll_geom1.iter().zip(&m.coll_geom2).map(|(a, b)| contacts(kind(a), kind(b)).0).sum()
}

/// Contacts of two geoms, the lower type first: the most of one world, and the slots of worlds that share them. A slot is there
/// where any of the worlds has the contact: worlds have different corners of a box on a plane, and capsules that are parallel
/// have other slots than those that are not.
fn contacts(a: i32, b: i32) -> (usize, usize) {
    match (a, b) {
        (geom::PLANE, geom::SPHERE) | (geom::SPHERE, _) => (1, 1),
        (geom::PLANE, geom::CAPSULE) => (2, 2),
        (geom::PLANE, _) => (4, 8),
        (geom::CAPSULE, geom::CAPSULE) => (2, 3),
        // world by world: contact i of each is in slot i
        (geom::CAPSULE, _) => (2, 2),
        _ => (8, 8),
    }
}

/// Contact slots and row slots that worlds which share them can need together at most: both ends of a range count.
pub fn slots(m: &Model<f64>) -> (usize, usize) {
    let kind = |id: &i32| m.geom_type[*id as usize];
    let ncon = m.coll_geom1.iter().zip(&m.coll_geom2).map(|(a, b)| contacts(kind(a), kind(b)).1).sum::<usize>();
    let limits = m.jnt_limited.iter().chain(&m.tendon_limited).filter(|&&l| l != 0).count();
    // friction loss may be given to any of them in some world
    let friction = m.size.nv + m.size.ntendon;
    (ncon, rows_equality(m) + friction + 2 * limits + ncon * rows_per_contact(m))
}

/// Rows of one contact at most.
pub fn rows_per_contact(m: &Model<f64>) -> usize {
    let dim = m.geom_condim.iter().chain(&m.pair_dim).copied().max().unwrap_or(1);
    let dim = usize::try_from(dim).unwrap_or(1);
    if dim > 1 && m.opt.cone == cone::PYRAMIDAL { 2 * (dim - 1) } else { dim }
}

/// Rows of equality constraints at most.
fn rows_equality(m: &Model<f64>) -> usize {
    m.eq_rownum.iter().filter_map(|&n| usize::try_from(n).ok()).sum()
}

/// Rows at most of equality constraints, friction loss and limits.
pub fn rows_always(m: &Model<f64>) -> usize {
    let friction = m.dof_frictionloss.iter().chain(&m.tendon_frictionloss).filter(|&&f| f > 0.0).count();
    // a slide or hinge can be at both ends when its range is shorter than the margins
    let joint = (0..m.size.njnt).filter(|&j| m.jnt_limited[j] != 0).map(|j| {
        let both = m.jnt_type[j] != jnt::BALL && m.jnt_range[2 * j + 1] - m.jnt_range[2 * j] < 2.0 * m.jnt_margin[j];
        1 + usize::from(both)
    });
    let tendon = (0..m.size.ntendon)
        .filter(|&t| m.tendon_limited[t] != 0)
        .map(|t| 1 + usize::from(m.tendon_range[2 * t + 1] - m.tendon_range[2 * t] < 2.0 * m.tendon_margin[t]));
    rows_equality(m) + friction + joint.sum::<usize>() + tendon.sum::<usize>()
}
