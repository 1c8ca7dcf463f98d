//! Explicit contact pairs and excluded pairs of bodies.

use super::{Compiler, Kind};
use kiloworld_mjcf::At;

/// Fills the fields of the explicit pairs, sorted by their bodies; a pair's parameters are its own or MuJoCo's defaults, never
/// those of its geoms.
pub(crate) fn pairs(c: &mut Compiler<'_>) {
    let mut sorted = Vec::new();
    for (k, p) in c.spec.pairs.iter().enumerate() {
        let geom = |c: &mut Compiler<'_>, name: &str, attr| c.find(Kind::Geom, name, &p.at, attr);
        let (Some(g1), Some(g2)) = (geom(c, &p.geom1, "geom1"), geom(c, &p.geom2, "geom2")) else { continue };
        if g1 == g2 {
            c.error(p.at.span, "a geom cannot collide with itself", "name two geoms");
            continue;
        }
        let (b1, b2) = (c.m.geom_bodyid[g1], c.m.geom_bodyid[g2]);
        let (g1, g2) = if b1 > b2 { (g2, g1) } else { (g1, g2) };
        sorted.push((signature(b1, b2), k, g1, g2));
    }
    sorted.sort_unstable();
    for &(signature, k, g1, g2) in &sorted {
        let (p, m) = (&c.spec.pairs[k], &mut c.m);
        c.names.push(Kind::Pair, p.name.as_deref());
        m.pair_dim.push(p.condim);
        m.pair_geom1.push(g1 as i32);
        m.pair_geom2.push(g2 as i32);
        m.pair_signature.push(signature);
        m.pair_solref.extend(p.solref);
        m.pair_solreffriction.extend(p.solreffriction);
        m.pair_solimp.extend(p.solimp);
        m.pair_margin.push(p.margin);
        m.pair_gap.push(p.gap);
        m.pair_adhesion.push(p.adhesion);
        m.pair_friction.extend(p.friction);
        if !matches!(m.pair_dim[m.pair_dim.len() - 1], 1 | 3 | 4 | 6) {
            c.error(p.at.attr("condim"), "a contact has 1, 3, 4 or 6 dimensions", "write one of these");
        }
    }
    c.m.size.npair = sorted.len();
}

/// Fills the list of body pairs that never collide.
pub(crate) fn excludes(c: &mut Compiler<'_>) {
    let mut sorted = Vec::new();
    for (k, e) in c.spec.excludes.iter().enumerate() {
        let body = |c: &mut Compiler<'_>, name: &str, attr| body(c, name, &e.at, attr);
        let (Some(b1), Some(b2)) = (body(c, &e.body1, "body1"), body(c, &e.body2, "body2")) else { continue };
        sorted.push((signature(b1 as i32, b2 as i32), k));
    }
    sorted.sort_unstable();
    c.m.exclude_signature = sorted.iter().map(|&(s, _)| s).collect();
    c.m.size.nexclude = sorted.len();
}

/// The id of a body that an attribute names.
pub(crate) fn body(c: &mut Compiler<'_>, name: &str, at: &At, attr: &str) -> Option<usize> {
    c.find(Kind::Body, name, at, attr)
}

/// MuJoCo's number of a pair of bodies.
fn signature(b1: i32, b2: i32) -> i32 {
    (b1.min(b2) << 16) + b1.max(b2)
}
