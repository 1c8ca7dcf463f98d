//! Stage `solver` on the CPU: agreement with MuJoCo's converged solution, and the conditions that the minimum satisfies.

use kiloworld_layout::consts::solver;
use kiloworld_layout::{Data, Field, Model};
use kiloworld_tests::golden::{Golden, rel_err};

/// What the stage reads.
const INPUTS: &[Field] = &[
    Field::M,
    Field::qLD,
    Field::qLDiagInv,
    Field::qfrc_smooth,
    Field::qacc_smooth,
    Field::efc_J,
    Field::efc_D,
    Field::efc_R,
    Field::efc_aref,
    Field::efc_frictionloss,
    Field::efc_type,
    Field::efc_id,
    Field::contact_friction,
    Field::contact_mu,
    Field::contact_dim,
    Field::contact_efc_address,
    Field::ncon,
    Field::ne,
    Field::nf,
    Field::nl,
    Field::nefc,
];

/// The world of state `k` with MuJoCo's inputs of the solver.
pub(crate) fn world(g: &Golden, m: &Model<f64>, k: usize) -> Data<f64> {
    let mut d = g.world(m, k);
    for &f in INPUTS {
        g.load(m, &mut d, f, k);
    }
    d
}

const COMMITTED: [&str; 8] = [
    "mix",
    "mix_pyr",
    "solver_elliptic",
    "solver_pyramid",
    "constraint_rows",
    "constraint_pyramid",
    "constraint_override",
    "constraint_incline",
];
/// Goldens of other people's models.
const CORPUS: [&str; 4] = ["ant", "cartpole", "half_cheetah", "humanoid"];

#[test]
fn newton_finds_mujocos_minimum() {
    for name in COMMITTED.iter().chain(&CORPUS) {
        let Some(g) = Golden::find(name) else { continue };
        let mut m = g.model();
        m.opt_tolerance[0] = 0.0;
        m.opt_ls_tolerance[0] = 1e-6;
        for k in 0..g.nstate() {
            let mut d = world(&g, &m, k);
            kiloworld_cpu::solver::solver(&m, &mut d);
            let nefc = d.nefc[0] as usize;
            let e_acc = rel_err(&d.qacc, g.get("out/qacc").row(k));
            let e_force = rel_err(&d.efc_force[..nefc], g.ragged("out/efc_force", "out/nefc", k));
            let e_con = rel_err(&d.qfrc_constraint, g.get("out/qfrc_constraint").row(k));
            // rows that move almost nothing have forces of 1e16 that leave their rounding in the sum
            let largest = d.efc_force[..nefc].iter().fold(0.0_f64, |s, f| s.max(f.abs()));
            let rounding = f64::EPSILON * largest / d.qfrc_constraint.iter().fold(1e-3_f64, |s, f| s.max(f.abs()));
            assert!(
                e_acc < 1e-6 && e_force < 1e-6 && e_con < 1e-6 + rounding,
                "{name} state {k}: {e_acc:e} {e_force:e} {e_con:e}"
            );
        }
    }
}

/// The world, run through `solver` and `noslip` with changed options.
fn solved(g: &Golden, k: usize, change: &dyn Fn(&mut Model<f64>)) -> (Model<f64>, Data<f64>) {
    let mut m = g.model();
    m.opt_tolerance[0] = 0.0;
    m.opt_ls_tolerance[0] = 1e-6;
    m.opt_noslip_tolerance[0] = 0.0;
    m.size.njdual = m.size.njmax;
    change(&mut m);
    let mut d = world(g, &m, k);
    kiloworld_cpu::solver::solver(&m, &mut d);
    kiloworld_cpu::noslip::noslip(&m, &mut d);
    (m, d)
}

/// Accelerations and forces against a golden's; the largest relative error of the two.
pub(crate) fn error(g: &Golden, d: &Data<f64>, k: usize, from: &str) -> f64 {
    let nefc = d.nefc[0] as usize;
    let force = g.ragged(&format!("{from}/efc_force"), "out/nefc", k);
    rel_err(&d.qacc, g.get(&format!("{from}/qacc")).row(k)).max(rel_err(&d.efc_force[..nefc], force))
}

/// PGS is of first order: a thousand sweeps and more for what Newton does in five steps.
#[test]
fn pgs_ends_at_newtons_minimum() {
    // in the incline's a wheel's centre has no inertia to speak of: D = 1e15, out of a first-order method's reach
    for name in COMMITTED.into_iter().filter(|n| *n != "constraint_incline") {
        let g = Golden::named(name);
        for k in 0..g.nstate() {
            let (_, d) = solved(&g, k, &|m| {
                (m.opt.solver, m.opt.iterations, m.opt_tolerance[0]) = (solver::PGS, 20_000, 1e-300);
            });
            let e = error(&g, &d, k, "out");
            assert!(e < 1e-6, "{name} state {k}: {e:e} after {} sweeps", d.solver_niter[0]);
        }
    }
}

/// The same order of rows and the same stopping rule as MuJoCo: equal after one sweep, after three, and at the end.
#[test]
fn noslip_sweeps_as_mujoco_does() {
    for name in ["solver_elliptic", "solver_pyramid"] {
        let (g, swept) = (Golden::named(name), Golden::named(&format!("sweeps_{name}")));
        for n in [1, 3, 100] {
            for k in 0..g.nstate() {
                let (_, d) = solved(&g, k, &|m| m.opt.noslip_iterations = n);
                let e = error(&swept, &d, k, &format!("noslip{n}"));
                // 3e-8 is what MuJoCo's own search for the multiplier leaves
                assert!(e < 1e-6, "{name} state {k}, {n} sweeps: {e:e}");
            }
        }
    }
}

#[test]
fn no_noslip_iterations_change_nothing() {
    let g = Golden::named("solver_elliptic");
    let (m, mut d) = solved(&g, 0, &|_| {});
    let before = d.clone();
    kiloworld_cpu::noslip::noslip(&m, &mut d);
    assert_eq!(before, d);
}
