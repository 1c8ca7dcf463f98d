//! The tables that only kiloworld has: padded sizes, depth levels and children, the static list of geom pairs that can collide.

use kiloworld_cpu::constraint_anchor::eq_body;
use kiloworld_cpu::constraint_row::{chain_length, last_dof};
use kiloworld_layout::Model;
use kiloworld_layout::consts::{disable, eq, geom, jac, jnt};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Fills `nvpad`, the depth levels of bodies and dofs, the children and the static pair list from MuJoCo's own fields of the same model.
///
/// Returns the pairs of geoms that could collide but whose types no narrow phase here knows; `None` where there are too many pairs
/// to list.
pub fn fill(m: &mut Model<f64>) -> Option<Vec<(usize, usize)>> {
    orders(m);
    let unknown = pairs(m);
    m.size.njrow = row_nonzeros(m);
    unknown
}

/// The most nonzeros that a constraint row of the model can have: of a contact those dofs that move one body against the other.
pub fn row_nonzeros(m: &Model<f64>) -> usize {
    let body = |g: &i32| m.geom_bodyid[*g as usize] as usize;
    let pairs = m.coll_geom1.iter().zip(&m.coll_geom2).map(|(a, b)| chain_length(m, body(a), body(b), false));
    let tendon = |t: i32| usize::try_from(t).map_or(0, |t| (m.tendon_num[t] as usize).min(m.size.nv));
    let equality = (0..m.size.neq).map(|e| match m.eq_type[e] {
        eq::CONNECT | eq::WELD => chain_length(m, eq_body(m, e, 0), eq_body(m, e, 1), true),
        eq::TENDON => tendon(m.eq_obj1id[e]) + tendon(m.eq_obj2id[e]),
        _ => 2,
    });
    let tendons = (0..m.size.ntendon).map(|t| tendon(t as i32));
    // a ball joint's limit has three
    let most = pairs.chain(equality).chain(tendons).max().unwrap_or(0).max(3);
    most.min(m.size.nv)
}

/// Fills all of that but the pairs: what follows from the trees of bodies and dofs, whose ids are in depth-first order.
pub fn orders(m: &mut Model<f64>) {
    m.size.nvpad = m.size.nv.next_multiple_of(4);
    levels(m);
    children(m);
    dof_levels(m);
    m.eq_rownum = (0..m.size.neq).map(|e| equality_rows(m, e)).collect();
}

/// Rows of an equality. As in MuJoCo there are none where no dof moves what it ties, nor, with a dense Jacobian, where they would
/// hold zeros only: between bodies that the same slides move.
fn equality_rows(m: &Model<f64>, e: usize) -> i32 {
    let rows = match m.eq_type[e] {
        eq::CONNECT => 3,
        eq::WELD => 6,
        eq::JOINT | eq::TENDON => return 1,
        _ => return 0,
    };
    let [mut dof, other] = [0, 1].map(|k| last_dof(m, eq_body(m, e, k)));
    let sparse = m.opt.jacobian == jac::SPARSE || (m.opt.jacobian == jac::AUTO && m.size.nv >= MANY_DOFS);
    if dof != other || (dof >= 0 && sparse) {
        return rows;
    }
    while let Ok(i) = usize::try_from(dof) {
        if m.jnt_type[m.dof_jntid[i] as usize] != jnt::SLIDE {
            return rows;
        }
        dof = m.dof_parentid[i];
    }
    0
}

/// MuJoCo's Jacobian is sparse from so many dofs on, where the model does not say.
const MANY_DOFS: usize = 60;

/// The first entry of each depth, and the entries sorted by depth, then id.
fn by_depth(depth: &[usize]) -> (Vec<i32>, Vec<i32>) {
    let nlevel = depth.iter().max().map_or(0, |d| d + 1);
    let mut first = vec![0; nlevel + 1];
    depth.iter().for_each(|&d| first[d + 1] += 1);
    (0..nlevel).for_each(|level| first[level + 1] += first[level]);
    let mut sorted: Vec<i32> = (0..depth.len() as i32).collect();
    sorted.sort_by_key(|&i| depth[i as usize]);
    (first, sorted)
}

/// Sorts the bodies by depth, then id.
fn levels(m: &mut Model<f64>) {
    let mut depth = vec![0usize; m.size.nbody];
    for b in 1..m.size.nbody {
        depth[b] = depth[m.body_parentid[b] as usize] + 1;
    }
    (m.level_adr, m.level_body) = by_depth(&depth);
    m.size.nlevel1 = m.level_adr.len();
    m.size.nlevel = m.size.nlevel1 - 1;
}

/// Finds the children of each body in `level_body` and the size of its subtree: ids are in depth-first order, so that they lie side by side there.
fn children(m: &mut Model<f64>) {
    (m.body_childadr, m.body_childnum) = (vec![0; m.size.nbody], vec![0; m.size.nbody]);
    for (k, &b) in m.level_body.iter().enumerate().skip(1) {
        let parent = m.body_parentid[b as usize] as usize;
        if m.body_childnum[parent] == 0 {
            m.body_childadr[parent] = k as i32;
        }
        m.body_childnum[parent] += 1;
        debug_assert_eq!(m.body_childadr[parent] + m.body_childnum[parent], k as i32 + 1, "body ids are depth first");
    }
    m.body_subtreenum = vec![1; m.size.nbody];
    for b in (1..m.size.nbody).rev() {
        m.body_subtreenum[m.body_parentid[b] as usize] += m.body_subtreenum[b];
    }
    // MuJoCo does not look at compensation where no body has a positive one
    m.size.ngravcomp = m.body_gravcomp.iter().filter(|&&c| c > 0.0).count();
}

/// Sorts the dofs by depth in the sparsity of M and counts the dofs below each.
fn dof_levels(m: &mut Model<f64>) {
    let depth: Vec<usize> = m.M_rownnz.iter().map(|&n| n as usize - 1).collect();
    (m.doflevel_adr, m.doflevel_dof) = by_depth(&depth);
    m.dof_descnum = vec![0; m.size.nv];
    for (&adr, &depth) in m.M_rowadr.iter().zip(&depth) {
        for &above in &m.M_colind[adr as usize..][..depth] {
            m.dof_descnum[above as usize] += 1;
        }
    }
    m.size.ndoflevel1 = m.doflevel_adr.len();
    m.size.ndoflevel = m.size.ndoflevel1 - 1;
}

/// The most pairs of geoms that can collide.
pub(crate) const MAX_PAIRS: usize = 4_000_000;

/// A row of the static pair list with the key that orders it.
struct Pair {
    key: (i32, bool, usize, usize),
    geom1: usize,
    geom2: usize,
    pairid: i32,
}

/// Lists the pairs that can collide in the order in which MuJoCo lists contacts: by body pair; the explicit pairs of the
/// file first, then the others by geom ids, with the lower geom type first in a pair (see `midphase` below).
fn pairs(m: &mut Model<f64>) -> Option<Vec<(usize, usize)>> {
    let by_type = |a: usize, b: usize| if m.geom_type[a] > m.geom_type[b] { (b, a) } else { (a, b) };
    let mut list = Vec::new();
    let excluded: HashSet<i32> = m.exclude_signature.iter().copied().collect();
    let mut explicit = HashMap::new();
    for k in 0..m.size.npair {
        let (geom1, geom2) = by_type(m.pair_geom1[k] as usize, m.pair_geom2[k] as usize);
        explicit.insert((geom1.min(geom2), geom1.max(geom2)), k);
        list.push(Pair { key: (m.pair_signature[k], false, k, 0), geom1, geom2, pairid: k as i32 });
    }
    // without midphase MuJoCo leaves the pairs of two bodies in the order of its loops; with it they are sorted afterwards
    let midphase = m.opt.disableflags & disable::MIDPHASE == 0;
    // geoms of bodies that are welded together never collide, and most geoms of large models are part of the world
    let mut welded: BTreeMap<i32, Vec<usize>> = BTreeMap::new();
    for g in (0..m.size.ngeom).filter(|&g| m.geom_contype[g] != 0 || m.geom_conaffinity[g] != 0) {
        welded.entry(m.body_weldid[m.geom_bodyid[g] as usize]).or_default().push(g);
    }
    let groups: Vec<Vec<usize>> = welded.into_values().collect();
    for (i, group) in groups.iter().enumerate() {
        let others = groups[i + 1..].iter().flatten();
        for (x, y) in others.flat_map(|&y| group.iter().map(move |&x| (x, y))) {
            let (g1, g2) = (x.min(y), x.max(y));
            if !bits_match(m, g1, g2) || explicit.contains_key(&(g1, g2)) {
                continue;
            }
            let (a, b) = (m.geom_bodyid[g1], m.geom_bodyid[g2]);
            let (b1, b2) = (a.min(b), a.max(b));
            let signature = (b1 << 16) + b2;
            if bodies_filtered(m, b1 as usize, b2 as usize) || excluded.contains(&signature) {
                continue;
            }
            if list.len() >= MAX_PAIRS {
                return None;
            }
            let (geom1, geom2) = by_type(g1, g2);
            let (k1, k2) = if midphase { (geom1, geom2) } else { (g1, g2) };
            list.push(Pair { key: (signature, true, k1, k2), geom1, geom2, pairid: -1 });
        }
    }
    list.sort_unstable_by_key(|p| p.key);

    let known = |g: usize| matches!(m.geom_type[g], geom::PLANE | geom::SPHERE | geom::CAPSULE | geom::BOX);
    let never = |g: usize| matches!(m.geom_type[g], geom::PLANE | geom::HFIELD);
    list.retain(|p| !(never(p.geom1) && never(p.geom2)));
    let (listed, refused): (Vec<_>, Vec<_>) = list.into_iter().partition(|p| known(p.geom1) && known(p.geom2));
    m.coll_geom1 = listed.iter().map(|p| p.geom1 as i32).collect();
    m.coll_geom2 = listed.iter().map(|p| p.geom2 as i32).collect();
    m.coll_pairid = listed.iter().map(|p| p.pairid).collect();
    m.size.ncoll = listed.len();
    Some(refused.into_iter().map(|p| (p.geom1, p.geom2)).collect())
}

/// The collision bits of either geom accept the other.
fn bits_match(m: &Model<f64>, g1: usize, g2: usize) -> bool {
    m.geom_contype[g1] & m.geom_conaffinity[g2] != 0 || m.geom_contype[g2] & m.geom_conaffinity[g1] != 0
}

/// Two bodies never touch when they are welded together or neither has dofs to move it (the world, mocap bodies and what is
/// welded to them), or, with the parent filter, when one is the other's parent in the tree of welded groups and neither is
/// part of the world.
fn bodies_filtered(m: &Model<f64>, b1: usize, b2: usize) -> bool {
    let (w1, w2) = (m.body_weldid[b1], m.body_weldid[b2]);
    // a group's first body is where its joints are, and only the world and children of it stand without any
    let fixed = |w: i32| m.body_dofnum[w as usize] == 0;
    if w1 == w2 || (fixed(w1) && fixed(w2)) {
        return true;
    }
    let parent = |w: i32| m.body_weldid[m.body_parentid[w as usize] as usize];
    let filter_parent = m.opt.disableflags & disable::FILTERPARENT == 0;
    filter_parent && w1 != 0 && w2 != 0 && (parent(w1) == w2 || parent(w2) == w1)
}
