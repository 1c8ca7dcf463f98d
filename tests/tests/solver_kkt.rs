//! The conditions that only the minimum satisfies, on random problems of every kind of row.

use kiloworld_cpu::{Compiled, Ints, Real, WithNumber, World, widths, with_lanes};
use kiloworld_layout::consts::{cnstr, cone, solver};
use kiloworld_layout::{Call, Data, Field, Model, Sizes, Slice, SliceMut, Stage};
use proptest::prelude::*;

/// Numbers from a seed.
struct Random(u64);

impl Random {
    /// In [0, 1).
    fn unit(&mut self) -> f64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn range(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    fn below(&mut self, n: usize) -> usize {
        (self.unit() * n as f64) as usize
    }
}

/// What rows a problem has.
struct Shape {
    nv: usize,
    ne: usize,
    nf: usize,
    nl: usize,
    /// of each contact
    dims: Vec<usize>,
    elliptic: bool,
}

impl Shape {
    fn random(rng: &mut Random, elliptic: bool) -> Self {
        let nv = 1 + rng.below(9);
        let (ne, nf, nl) = (rng.below(3), rng.below(nv + 1), rng.below(3));
        let dims = (0..rng.below(5)).map(|_| [1, 3, 4, 6][rng.below(4)]).collect();
        Self { nv, ne, nf, nl, dims, elliptic }
    }

    /// Rows of a contact of that dimension.
    fn rows_of(&self, dim: usize) -> usize {
        if self.elliptic || dim == 1 { dim } else { 2 * (dim - 1) }
    }
}

/// A random problem of a random shape.
fn problem(seed: u64, elliptic: bool) -> (Model<f64>, Data<f64>) {
    let mut rng = Random(seed);
    let shape = Shape::random(&mut rng, elliptic);
    problem_of(&shape, &mut rng)
}

/// A problem: a chain of dofs (so M is full) with equality, friction loss, limit and contact rows.
fn problem_of(shape: &Shape, rng: &mut Random) -> (Model<f64>, Data<f64>) {
    let &Shape { nv, ne, nf, nl, ref dims, elliptic } = shape;
    let rows_of = |dim: usize| shape.rows_of(dim);
    let nefc = ne + nf + nl + dims.iter().map(|&d| rows_of(d)).sum::<usize>();

    let nvpad = nv.next_multiple_of(4);
    let size = Sizes {
        nv,
        nvpad,
        nC: nv * (nv + 1) / 2,
        nconmax: dims.len(),
        njmax: nefc + 2,
        njdual: nefc + 2,
        njrow: nv,
        ..Sizes::default()
    };
    let mut m = Model { size, ..Model::default() };
    m.opt.cone = if elliptic { cone::ELLIPTIC } else { cone::PYRAMIDAL };
    m.opt_tolerance = vec![1e-22];
    m.opt_ls_tolerance = vec![1e-3];
    m.stat_meaninertia = vec![1.0];
    m.M_rownnz = (1..=nv as i32).collect();
    m.M_rowadr = (0..nv as i32).map(|i| i * (i + 1) / 2).collect();
    m.M_colind = (0..nv as i32).flat_map(|i| 0..=i).collect();

    let mut d = Data::new(&m.size, &0.0);
    // M = Bᵀ B + 0.1, and its factor Lᵀ D L
    let b: Vec<f64> = (0..nv * nv).map(|_| rng.range(-1.0, 1.0)).collect();
    for i in 0..nv {
        for j in 0..=i {
            let sum: f64 = (0..nv).map(|k| b[k * nv + i] * b[k * nv + j]).sum();
            d.M[i * (i + 1) / 2 + j] = sum + if i == j { 0.1 } else { 0.0 };
        }
    }
    d.qLD.clone_from(&d.M);
    let at = |i: usize, j: usize| i * (i + 1) / 2 + j;
    for i in (0..nv).rev() {
        d.qLDiagInv[i] = 1.0 / d.qLD[at(i, i)];
        for j in (0..i).rev() {
            let l = d.qLD[at(i, j)] * d.qLDiagInv[i];
            for k in 0..=j {
                d.qLD[at(j, k)] -= l * d.qLD[at(i, k)];
            }
            d.qLD[at(i, j)] = l;
        }
    }
    for i in 0..nv {
        d.qacc_smooth[i] = rng.range(-10.0, 10.0);
        d.qacc_warmstart[i] = rng.range(-10.0, 10.0);
    }

    (d.ne[0], d.nf[0], d.nl[0], d.nefc[0], d.ncon[0]) =
        (ne as i32, nf as i32, nl as i32, nefc as i32, dims.len() as i32);
    (d.slot_ne[0], d.slot_nf[0], d.slot_nefc[0], d.slot_ncon[0]) = (d.ne[0], d.nf[0], d.nefc[0], d.ncon[0]);
    for e in 0..nefc {
        for j in 0..nv {
            d.efc_J[e * nvpad + j] = rng.range(-1.0, 1.0);
            d.efc_J_colind[e * nv + j] = j as i32;
        }
        d.efc_J_rownnz[e] = nv as i32;
        d.efc_D[e] = 10.0_f64.powf(rng.range(-1.0, 3.0));
        d.efc_aref[e] = rng.range(-10.0, 10.0);
        d.efc_id[e] = e as i32;
        d.efc_type[e] = match e {
            e if e < ne => cnstr::EQUALITY,
            e if e < ne + nf => cnstr::FRICTION_DOF,
            _ => cnstr::LIMIT_JOINT,
        };
        if d.efc_type[e] == cnstr::FRICTION_DOF {
            d.efc_frictionloss[e] = rng.range(0.1, 3.0);
        }
    }
    let mut e = ne + nf + nl;
    for (c, &dim) in dims.iter().enumerate() {
        d.contact_dim[c] = dim as i32;
        d.contact_efc_address[c] = e as i32;
        d.contact_mu[c] = rng.range(0.2, 1.5);
        for j in 0..5 {
            d.contact_friction[5 * c + j] = rng.range(0.05, 1.5);
        }
        for r in 0..rows_of(dim) {
            d.efc_id[e + r] = c as i32;
            d.efc_type[e + r] = match (dim, elliptic) {
                (1, _) => cnstr::CONTACT_FRICTIONLESS,
                (_, true) => cnstr::CONTACT_ELLIPTIC,
                _ => cnstr::CONTACT_PYRAMIDAL,
            };
            if elliptic && r > 0 {
                let ratio = d.contact_friction[5 * c + r - 1] / d.contact_mu[c];
                d.efc_D[e + r] = d.efc_D[e] * ratio * ratio;
            }
        }
        e += rows_of(dim);
    }
    for e in 0..nefc {
        d.efc_R[e] = 1.0 / d.efc_D[e];
    }
    kiloworld_tests::golden::compact_rows(&m, &mut d);
    (m, d)
}

/// By how much a solution misses the conditions of the minimum, relative to the largest force and acceleration.
fn violation(m: &Model<f64>, d: &Data<f64>) -> f64 {
    let (nv, nvpad) = (m.size.nv, m.size.nvpad);
    let (ne, nf, nefc) = (d.ne[0] as usize, d.nf[0] as usize, d.nefc[0] as usize);
    let big = |v: &[f64]| v.iter().fold(1.0_f64, |s, x| s.max(x.abs()));
    let (force_scale, acc_scale) = (big(&d.efc_force[..nefc]), big(&d.qacc));
    let mut worst = 0.0_f64;
    // M (x - x0) = Jᵀ f
    for i in 0..nv {
        let entry = |j: usize| d.M[if j <= i { i * (i + 1) / 2 + j } else { j * (j + 1) / 2 + i }];
        let inertial: f64 = (0..nv).map(|j| entry(j) * (d.qacc[j] - d.qacc_smooth[j])).sum();
        let force: f64 = (0..nefc).map(|e| d.efc_J[e * nvpad + i] * d.efc_force[e]).sum();
        worst = worst.max((inertial - force).abs() / (force_scale + acc_scale));
        worst = worst.max((d.qfrc_constraint[i] - force).abs() / force_scale);
    }
    // y = J x - aref + R f is 0 where f is free, and points outward where f is on the boundary of its set
    let y: Vec<f64> = (0..nefc)
        .map(|e| {
            let ja: f64 = (0..nv).map(|j| d.efc_J[e * nvpad + j] * d.qacc[j]).sum();
            ja - d.efc_aref[e] + d.efc_R[e] * d.efc_force[e]
        })
        .collect();
    let tiny = 1e-12 * force_scale;
    let mut e = 0;
    while e < nefc {
        let f = d.efc_force[e];
        if e < ne {
            worst = worst.max(y[e].abs() / acc_scale);
        } else if e < ne + nf {
            let loss = d.efc_frictionloss[e];
            worst = worst.max((f.abs() - loss) / force_scale);
            let outward = if f >= loss - tiny {
                y[e].max(0.0)
            } else if f <= tiny - loss {
                (-y[e]).max(0.0)
            } else {
                y[e].abs()
            };
            worst = worst.max(outward / acc_scale);
        } else if d.efc_type[e] == cnstr::CONTACT_ELLIPTIC {
            let c = d.efc_id[e] as usize;
            let dim = d.contact_dim[c] as usize;
            let mu = |j: usize| d.contact_friction[5 * c + j - 1];
            let tangent = (1..dim).map(|j| (d.efc_force[e + j] / mu(j)).powi(2)).sum::<f64>().sqrt();
            let dual = (1..dim).map(|j| (y[e + j] * mu(j)).powi(2)).sum::<f64>().sqrt();
            let work: f64 = (0..dim).map(|j| y[e + j] * d.efc_force[e + j]).sum();
            worst = worst.max((tangent - f) / force_scale);
            worst = worst.max((dual - y[e]) / acc_scale);
            worst = worst.max(work.abs() / (force_scale * acc_scale));
            e += dim - 1;
        } else {
            worst = worst.max(-f / force_scale);
            worst = worst.max(if f > tiny { y[e].abs() } else { -y[e] } / acc_scale);
        }
        e += 1;
    }
    worst
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn newton_satisfies_the_conditions_of_the_minimum(seed: u64, elliptic: bool) {
        let (m, mut d) = problem(seed, elliptic);
        kiloworld_cpu::solver::solver(&m, &mut d);
        let v = violation(&m, &d);
        prop_assert!(v < 1e-9, "{v:e} after {} steps", d.solver_niter[0]);
        prop_assert!(d.solver_niter[0] < 40, "{} steps", d.solver_niter[0]);
    }

    #[test]
    fn pgs_satisfies_the_conditions_of_the_minimum(seed: u64, elliptic: bool) {
        let (mut m, mut d) = problem(seed, elliptic);
        (m.opt.solver, m.opt.iterations, m.opt_tolerance[0]) = (solver::PGS, 20_000, 0.0);
        kiloworld_cpu::solver::solver(&m, &mut d);
        let v = violation(&m, &d);
        // a method of first order: what is left depends on how alike the rows are
        prop_assert!(v < 1e-5, "{v:e} after {} sweeps", d.solver_niter[0]);
    }

    /// f32 ends near the same forces, and in few steps: it does not chase its own rounding.
    #[test]
    fn newton_in_f32_is_near_and_stops(seed: u64, elliptic: bool) {
        let (mut m, d) = problem(seed, elliptic);
        m.opt_tolerance[0] = 1e-8;
        let mut exact = d.clone();
        kiloworld_cpu::solver::solver(&m, &mut exact);
        let m32 = m.cast(|x| x as f32);
        let mut d32 = d.split(&m);
        kiloworld_cpu::solver::solver(&m32, &mut d32);
        let scale = exact.qacc.iter().fold(1.0_f64, |s, x| s.max(x.abs()));
        for (a, b) in d32.qacc.iter().zip(&exact.qacc) {
            prop_assert!((f64::from(*a) - b).abs() < 1e-3 * scale, "{a} for {b}");
        }
        prop_assert!(d32.solver_niter[0] < 40, "{} steps", d32.solver_niter[0]);
    }
}

/// A problem of five rows on one dof where PGS once ended at 1.43e-5: a contact's cost was all rounding there, and its steps were not
/// taken any more.
#[test]
fn pgs_goes_on_below_the_rounding_of_its_cost() {
    let (mut m, mut d) = problem(18_129_871_764_620_439_792, true);
    (m.opt.solver, m.opt.iterations, m.opt_tolerance[0]) = (solver::PGS, 10_000, 0.0);
    kiloworld_cpu::solver::solver(&m, &mut d);
    let v = violation(&m, &d);
    assert!(v < 1e-5 && d.solver_niter[0] == 10_000, "{v:e} after {} sweeps", d.solver_niter[0]);
}

/// The problem with some of its objects gone, each of `gone` naming a row by its first; and which rows are left.
fn without(full: &Data<f64>, m: &Model<f64>, gone: &[usize]) -> (Data<f64>, Vec<usize>) {
    let mut d = full.clone();
    let object = |e: usize| (full.efc_type[e], full.efc_id[e]);
    let left: Vec<usize> =
        (0..full.nefc[0] as usize).filter(|&e| !gone.iter().any(|&g| object(g) == object(e))).collect();
    let (ne, nf, nl) = (full.ne[0] as usize, full.nf[0] as usize, full.nl[0] as usize);
    let within = |from: usize, to: usize| left.iter().filter(|&&e| from <= e && e < to).count() as i32;
    (d.ne[0], d.nf[0], d.nl[0]) = (within(0, ne), within(ne, ne + nf), within(ne + nf, ne + nf + nl));
    d.nefc[0] = left.len() as i32;
    (d.slot_ne[0], d.slot_nf[0], d.slot_nefc[0]) = (d.ne[0], d.nf[0], d.nefc[0]);
    let (nv, nvpad) = (m.size.nv, m.size.nvpad);
    for (to, &from) in left.iter().enumerate().rev() {
        if full.efc_type[from] >= cnstr::CONTACT_FRICTIONLESS {
            d.contact_efc_address[full.efc_id[from] as usize] = to as i32;
        }
    }
    for (to, &from) in left.iter().enumerate() {
        for v in [&mut d.efc_D, &mut d.efc_R, &mut d.efc_aref, &mut d.efc_frictionloss] {
            v[to] = v[from];
        }
        d.efc_type[to] = d.efc_type[from];
        d.efc_id[to] = d.efc_id[from];
        d.efc_J.copy_within(from * nvpad..(from + 1) * nvpad, to * nvpad);
        // without the columns that are 0
        let used = (0..nv).filter(|&j| full.efc_J[from * nvpad + j] != 0.0);
        let mut columns: Vec<i32> = used.map(|j| j as i32).collect();
        d.efc_J_rownnz[to] = columns.len() as i32;
        columns.resize(nv, -1);
        d.efc_J_colind[to * nv..][..nv].copy_from_slice(&columns);
    }
    kiloworld_tests::golden::compact_rows(m, &mut d);
    (d, left)
}

/// What both stages leave behind, but for what only passes between their functions.
const RESULTS: [Field; 6] =
    [Field::qacc, Field::qfrc_constraint, Field::solver_Ma, Field::solver_grad, Field::efc_force, Field::efc_Jaref];

/// The two stages.
fn solve<T: Compiled>(m: &Model<T>, d: &mut World<T>) {
    for stage in [Stage::Solver, Stage::Noslip] {
        T::run(Call { stage, sub: 0 }, m, d);
    }
}

/// Runs problems of one shape in the lanes of `T`, some without some of the objects, and each by itself: equal.
fn lanes_agree<T: Compiled>(seed: u64, elliptic: bool, change: impl Fn(&mut Model<f64>)) {
    let mut rng = Random(seed);
    let shape = Shape::random(&mut rng, elliptic);
    let (mut m, _) = problem_of(&shape, &mut rng);
    m.opt.disableflags = if rng.below(4) == 0 { kiloworld_layout::consts::disable::WARMSTART } else { 0 };
    m.opt_tolerance[0] = 1e-8;
    m.opt_noslip_tolerance = vec![1e-6];
    (m.opt.iterations, m.opt.noslip_iterations) = (30, 5);
    change(&mut m);
    let (nv, nvpad) = (m.size.nv, m.size.nvpad);
    let mut lanes: World<T> = Data::filled(&m.size, T::zero(), T::Int::splat(0));
    lanes.contact_mu.fill(T::one());
    lanes.contact_friction.fill(T::one());
    let mut alone = Vec::new();
    for l in 0..T::LANES {
        let (_, mut full) = problem_of(&shape, &mut rng);
        let rows = full.nefc[0] as usize;
        // rows of an object have the same zeros
        for e in 0..rows {
            let mut zeros = Random(seed ^ (full.efc_id[e] as u64) << 8 ^ (full.efc_type[e] as u64) << 16 ^ l as u64);
            for j in 1..nv {
                if zeros.below(4) == 0 {
                    full.efc_J[e * nvpad + j] = 0.0;
                }
            }
        }
        kiloworld_tests::golden::compact_rows(&m, &mut full);
        // sometimes all
        let (dry, most) = (full.ne[0]..full.ne[0] + full.nf[0], 1 + 4 * rng.below(2));
        let gone: Vec<usize> =
            (0..rows).filter(|&e| rng.below(most) == 0 && (!dry.contains(&(e as i32)) || most == 1)).collect();
        let (d, left) = without(&full, &m, &gone);
        for f in Field::TABLE.iter().filter(|f| !f.is_model()) {
            if let (Some(to), Some(from)) = (lanes.reals_mut(f.field), full.reals(f.field)) {
                // rows and contacts that this world lacks keep their zeros and ones
                let cols = f.cols(&m.size).max(1);
                for (k, x) in from.iter().enumerate() {
                    let there = match f.name {
                        n if n.starts_with("efc_") => left.contains(&(k / cols)),
                        n if n.starts_with("contact_") => left.iter().any(|&e| {
                            full.efc_type[e] >= cnstr::CONTACT_FRICTIONLESS && full.efc_id[e] as usize == k / cols
                        }),
                        _ => true,
                    };
                    if there {
                        to[k].set_lane(l, Real::r(*x));
                    }
                }
            }
        }
        for (to, from) in [
            (&mut lanes.ne, &d.ne),
            (&mut lanes.nf, &d.nf),
            (&mut lanes.nl, &d.nl),
            (&mut lanes.nefc, &d.nefc),
            (&mut lanes.ncon, &d.ncon),
        ] {
            to[0].set(l, from[0]);
        }
        for &e in &left {
            lanes.efc_on[e].set(l, 1);
        }
        if l == 0 {
            (lanes.slot_ne, lanes.slot_nf, lanes.slot_nefc) = (full.ne.clone(), full.nf.clone(), full.nefc.clone());
            (lanes.efc_type, lanes.efc_id, lanes.contact_dim) =
                (full.efc_type.clone(), full.efc_id.clone(), full.contact_dim.clone());
            lanes.contact_efc_address.clone_from(&full.contact_efc_address);
            (lanes.efc_J_rownnz, lanes.efc_J_colind) = (full.efc_J_rownnz.clone(), full.efc_J_colind.clone());
        }
        alone.push((d, left));
    }

    let model: Model<T> = m.cast(T::r);
    solve(&model, &mut lanes);
    let model: Model<T::One> = m.cast(Real::r);
    for (l, (d, left)) in alone.iter().enumerate() {
        let mut one: World<T::One> = Data::filled(&m.size, Real::zero(), 0);
        for f in Field::TABLE.iter().filter(|f| !f.is_model()) {
            if let (Some(to), Some(from)) = (one.reals_mut(f.field), d.reals(f.field)) {
                to.iter_mut().zip(from).for_each(|(a, b)| *a = Real::r(*b));
            } else if let (Some(SliceMut::I(to)), Some(Slice::I(from))) = (one.get_mut(f.field), d.get(f.field)) {
                to.copy_from_slice(from);
            }
        }
        solve(&model, &mut one);
        assert_eq!(lanes.solver_niter[0].get(l), one.solver_niter[0], "lane {l}: iterations");
        assert_eq!(lanes.noslip_niter[0].get(l), one.noslip_niter[0], "lane {l}: sweeps");
        for f in RESULTS {
            let (packed, single) = (lanes.reals(f).expect("reals"), one.reals(f).expect("reals"));
            let rows = f.name().starts_with("efc_");
            for k in 0..if rows { left.len() } else { nv } {
                let (a, b) = (packed[if rows { left[k] } else { k }].lane(l), single[k]);
                assert!(a == b, "lane {l}: {}[{k}] {a:?} for {b:?}", f.name());
            }
        }
        for (k, &e) in left.iter().enumerate() {
            assert_eq!(lanes.efc_state[e].get(l), one.efc_state[k], "lane {l}: state of row {k}");
        }
    }
}

/// [`lanes_agree`] in whichever number.
struct Agree<C>(u64, bool, C);

impl<C: Fn(&mut Model<f64>)> WithNumber for Agree<C> {
    type Out = ();
    fn with<T: Compiled>(self) {
        lanes_agree::<T>(self.0, self.1, self.2);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_world_in_a_lane_is_the_world_alone(seed: u64, elliptic: bool, pgs: bool) {
        let change = |m: &mut Model<f64>| m.opt.solver = if pgs { solver::PGS } else { solver::NEWTON };
        for single in [false, true] {
            for lanes in widths(single).into_iter().filter(|&n| n > 1) {
                with_lanes(single, lanes, Agree(seed, elliptic, change)).expect("the processor has it");
            }
        }
    }
}

/// What the conditions are worth: a force that is 1 % off misses them.
#[test]
fn a_wrong_force_is_seen() {
    let (m, mut d) = problem(3, true);
    kiloworld_cpu::solver::solver(&m, &mut d);
    assert!(d.nefc[0] > 5 && violation(&m, &d) < 1e-9);
    let largest = (0..d.nefc[0] as usize).max_by(|&a, &b| d.efc_force[a].abs().total_cmp(&d.efc_force[b].abs()));
    d.efc_force[largest.expect("rows")] *= 1.01;
    assert!(violation(&m, &d) > 1e-6);
}
