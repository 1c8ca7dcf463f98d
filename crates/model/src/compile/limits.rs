//! Sizes beyond which a small file would take all memory or all day: said before anything is allocated.

use super::Compiler;
use crate::derived::MAX_PAIRS;
use kiloworld_layout::Field;
use kiloworld_mjcf::Span;
use std::collections::HashMap;

/// A world of a model has no more numbers than this, contacts, constraint rows and
/// the solver's matrices not counted (400 MB in double precision).
const MAX_WORLD: usize = 50_000_000;
/// No more pairs of geoms are looked at.
const MAX_CANDIDATES: usize = 200_000_000;
/// All keyframes together have no more numbers.
const MAX_KEYFRAMES: usize = 20_000_000;

/// Reports a model that is too large. Everything but the derived tables has its size.
pub(crate) fn limits(c: &mut Compiler<'_>) {
    let size = c.m.size.clone();
    let world: usize = Field::TABLE.iter().filter(|f| !f.is_model()).map(|f| f.len(&size)).sum();
    if world > MAX_WORLD {
        let text = format!("a world of {} bodies and {} dofs would have {world} numbers", size.nbody, size.nv);
        c.error(Span::default(), text, "make a smaller model");
    }
    // what is welded together never collides
    let mut welded: HashMap<i32, usize> = HashMap::new();
    for b in &c.m.geom_bodyid {
        *welded.entry(c.m.body_weldid[*b as usize]).or_default() += 1;
    }
    let squares = |n: usize| n.saturating_mul(n);
    let candidates = squares(size.ngeom).saturating_sub(welded.into_values().map(squares).sum()) / 2;
    if candidates > MAX_CANDIDATES {
        too_many_pairs(c);
    }
}

/// Reports a model whose pairs of geoms are not listed; there are none then.
pub(crate) fn too_many_pairs(c: &mut Compiler<'_>) -> Vec<(usize, usize)> {
    let text = format!("the {} geoms make more than {MAX_PAIRS} pairs that can collide", c.m.size.ngeom);
    c.error(
        Span::default(),
        text,
        "weld bodies together, or choose contype and conaffinity so that fewer geoms collide",
    );
    Vec::new()
}

/// Reports keyframes that are too many for their size; returns whether they are not.
pub(crate) fn keyframes(c: &mut Compiler<'_>, count: usize) -> bool {
    let size = &c.m.size;
    let numbers = count.saturating_mul(size.nq + size.nv + size.na + size.nu + 7 * size.nmocap);
    if numbers > MAX_KEYFRAMES {
        let span = c.spec.keys.first().map_or_else(Span::default, |k| k.at.span);
        let text = format!("{count} keyframes of this model have {numbers} numbers");
        c.error(span, text, "keep fewer keyframes");
    }
    numbers <= MAX_KEYFRAMES
}
