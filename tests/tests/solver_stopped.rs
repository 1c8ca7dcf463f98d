//! The solvers stopped early: after as many steps or sweeps as MuJoCo, from its rows, no further from the minimum than MuJoCo.

use crate::solver::{error, world};
use kiloworld_cpu::solver::solver;
use kiloworld_layout::consts::{cnstr, solver as kind};
use kiloworld_layout::{Data, Model};
use kiloworld_tests::golden::Golden;

const MODELS: [&str; 4] = ["solver_elliptic", "solver_pyramid", "mix", "mix_pyr"];
/// Other people's models, whose goldens `cargo xtask test` makes.
const CORPUS: [&str; 4] = ["ant", "cartpole", "half_cheetah", "humanoid"];

/// A model's golden and that of its solvers stopped early.
fn goldens(name: &str) -> Option<[Golden; 2]> {
    Some([Golden::find(name)?, Golden::find(&format!("sweeps_{name}"))?])
}

/// M times a vector over dofs.
fn mul_m(m: &Model<f64>, d: &Data<f64>, x: &[f64]) -> Vec<f64> {
    let mut y = vec![0.0; m.size.nv];
    for i in 0..m.size.nv {
        let (first, n) = (m.M_rowadr[i] as usize, m.M_rownnz[i] as usize);
        for k in first..first + n {
            let j = m.M_colind[k] as usize;
            y[i] += d.M[k] * x[j];
            if j != i {
                y[j] += d.M[k] * x[i];
            }
        }
    }
    y
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The cost that Newton's method minimizes, at an acceleration; and the size of its largest term.
pub(crate) fn primal(m: &Model<f64>, d: &Data<f64>, qacc: &[f64]) -> [f64; 2] {
    let from: Vec<f64> = qacc.iter().zip(&d.qacc_smooth).map(|(a, b)| a - b).collect();
    let mut terms = vec![0.5 * dot(&from, &mul_m(m, d, &from))];
    let (ne, nf, nefc) = (d.ne[0] as usize, d.nf[0] as usize, d.nefc[0] as usize);
    let x: Vec<f64> = (0..nefc).map(|e| dot(&d.efc_J[e * m.size.nvpad..], qacc) - d.efc_aref[e]).collect();
    let mut e = 0;
    while e < nefc {
        let quadratic = |e: usize| 0.5 * d.efc_D[e] * x[e] * x[e];
        if e < ne {
            terms.push(quadratic(e));
        } else if e < ne + nf {
            let (loss, knee) = (d.efc_frictionloss[e], d.efc_R[e] * d.efc_frictionloss[e]);
            terms.push(if x[e].abs() < knee { quadratic(e) } else { loss * (x[e].abs() - 0.5 * knee) });
        } else if d.efc_type[e] == cnstr::CONTACT_ELLIPTIC {
            let c = d.efc_id[e] as usize;
            let (dim, mu) = (d.contact_dim[c] as usize, d.contact_mu[c]);
            let normal = mu * x[e];
            let tangent = (1..dim).map(|j| (d.contact_friction[5 * c + j - 1] * x[e + j]).powi(2)).sum::<f64>().sqrt();
            let middle = d.efc_D[e] / (mu * mu * (1.0 + mu * mu));
            if mu * normal + tangent <= 0.0 {
                terms.extend((0..dim).map(|j| quadratic(e + j)));
            } else if normal < mu * tangent {
                terms.push(0.5 * middle * (normal - mu * tangent).powi(2));
            }
            e += dim - 1;
        } else if x[e] < 0.0 {
            terms.push(quadratic(e));
        }
        e += 1;
    }
    [terms.iter().sum(), terms.iter().fold(0.0, |a: f64, b| a.max(*b))]
}

/// The cost that PGS minimizes, at forces and the acceleration that follows from them.
pub(crate) fn dual(m: &Model<f64>, d: &Data<f64>, force: &[f64], qacc: &[f64]) -> f64 {
    let row = |e: usize, x: &[f64]| dot(&d.efc_J[e * m.size.nvpad..], x);
    let terms = force
        .iter()
        .enumerate()
        .map(|(e, f)| 0.5 * f * (row(e, qacc) + row(e, &d.qacc_smooth) + d.efc_R[e] * f) - f * d.efc_aref[e]);
    terms.sum()
}

/// Robots in the field run with 1 to 5 steps: after one, and after more where MuJoCo has turns enough for its line search, the
/// acceleration costs no more than MuJoCo's.
#[test]
fn newton_stopped_early_is_no_worse_than_mujoco() {
    let mut bad = Vec::new();
    let (mut better, mut worse, mut all) = (0, 0, 0);
    for name in MODELS.into_iter().chain(CORPUS) {
        let Some([g, stopped]) = goldens(name) else { continue };
        for steps in 1..=5 {
            for turns in [4, 5, 6, 8, 50] {
                let mut m = g.model();
                (m.opt.solver, m.opt.iterations, m.opt.ls_iterations) = (kind::NEWTON, steps, turns);
                for k in 0..g.nstate() {
                    let mut d = world(&g, &m, k);
                    solver(&m, &mut d);
                    let least = primal(&m, &d, g.get("out/qacc").row(k));
                    let mujoco = primal(&m, &d, stopped.get(&format!("newton{steps}_{turns}/qacc")).row(k));
                    let found = primal(&m, &d, &d.qacc);
                    // the tolerance of the model is one of the cost over the trace of M; rounding is one of its terms
                    let trace: f64 = (0..m.size.nv).map(|i| d.M[(m.M_rowadr[i] + m.M_rownnz[i] - 1) as usize]).sum();
                    let slack = m.opt_tolerance[0] * trace + 1e-12 * least[1];
                    let (ours, theirs) = (found[0] - least[0], mujoco[0] - least[0]);
                    all += 1;
                    better += i32::from(ours < theirs - slack);
                    // MuJoCo's line search stops within its own tolerance
                    if ours > theirs + slack + 1e-7 * theirs {
                        worse += 1;
                        if steps == 1 || turns == 50 {
                            bad.push(format!(
                                "{name} state {k}, {steps} steps, {turns} turns: {ours:e}, MuJoCo {theirs:e}"
                            ));
                        }
                    }
                }
            }
        }
    }
    let told = format!("of {all} better {better}, worse {worse}");
    assert!(bad.is_empty(), "{told}; above the minimum:\n{}", bad.join("\n"));
    // a line search that MuJoCo ends short of its minimum may by chance make a better start for the next step
    assert!(worse < all / 20 && better > 2 * worse, "{told}");
}

/// The same sweeps in the same order as MuJoCo's, and the same number of them, but where a contact that stays at the tip of its
/// elliptic cone for good in MuJoCo leaves it here.
#[test]
fn pgs_sweeps_as_mujoco_does() {
    let (mut same, mut told) = (0, Vec::new());
    for name in MODELS.into_iter().chain(CORPUS) {
        let Some([g, stopped]) = goldens(name) else { continue };
        for k in 0..g.nstate() {
            let mut parted = false;
            for n in [1, 2, 3, 4, 10, 40] {
                let mut m = g.model();
                (m.opt.solver, m.opt.iterations, m.opt_tolerance[0]) = (kind::PGS, n, 0.0);
                m.size.njdual = m.size.njmax;
                let mut d = world(&g, &m, k);
                solver(&m, &mut d);
                let key = format!("pgs{n}");
                let e = error(&stopped, &d, k, &key);
                if e < 1e-6 {
                    same += 1;
                    continue;
                }
                parted = true;
                let theirs = dual(
                    &m,
                    &d,
                    stopped.ragged(&format!("{key}/efc_force"), "out/nefc", k),
                    stopped.get(&format!("{key}/qacc")).row(k),
                );
                let ours = dual(&m, &d, &d.efc_force[..d.nefc[0] as usize], &d.qacc);
                // from there on it goes a way of its own, which ends no higher
                let higher = n == 40 && ours > theirs + 1e-4 * theirs.abs();
                let what = format!("{name} state {k}, {n} sweeps: {e:e}, cost {ours}, MuJoCo {theirs}");
                assert!(g.model().opt.cone == 1 && !higher, "{what}");
                told.push(what);
            }
            let mut m = g.model();
            (m.opt.solver, m.opt.iterations, m.opt_tolerance[0]) = (kind::PGS, 1000, 1e-6);
            m.size.njdual = m.size.njmax;
            let mut d = world(&g, &m, k);
            solver(&m, &mut d);
            // without rows MuJoCo does not count the sweep that finds nothing
            let parted = parted || d.nefc[0] == 0;
            let niter = stopped.get("pgs/solver_niter").row(k)[0] as i32;
            assert!(
                parted || d.solver_niter[0] == niter,
                "{name} state {k}: {} sweeps, MuJoCo {niter}",
                d.solver_niter[0]
            );
        }
    }
    assert!(same > 4 * told.len(), "{same} the same, others:\n{}", told.join("\n"));
}
