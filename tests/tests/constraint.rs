//! Stages `constraint` and `reference` against MuJoCo's rows, from MuJoCo's own frames and contacts.

use kiloworld_cpu::{Real, constraint::constraint, reference::reference};
use kiloworld_gpu::{BatchOptions, GpuBatch};
use kiloworld_layout::consts::{cnstr, disable, status};
use kiloworld_layout::{Data, Field, Model, Slice, Stage};
use kiloworld_tests::golden::Golden;
use kiloworld_tests::{adapter, models};

const NAMES: [&str; 4] = ["constraint_rows", "constraint_pyramid", "constraint_override", "constraint_incline"];

/// What the stages read, apart from the state.
const INPUTS: [Field; 18] = [
    Field::xpos,
    Field::xquat,
    Field::xmat,
    Field::subtree_com,
    Field::cdof,
    Field::ten_length,
    Field::ten_J,
    Field::ncon,
    Field::contact_dist,
    Field::contact_pos,
    Field::contact_frame,
    Field::contact_includemargin,
    Field::contact_friction,
    Field::contact_solref,
    Field::contact_solreffriction,
    Field::contact_solimp,
    Field::contact_dim,
    Field::contact_exclude,
];

/// What they write, row by row.
const OUTPUTS: [Field; 13] = [
    Field::efc_type,
    Field::efc_id,
    Field::efc_J,
    Field::efc_pos,
    Field::efc_margin,
    Field::efc_frictionloss,
    Field::efc_diagA,
    Field::efc_KBIP,
    Field::efc_R,
    Field::efc_D,
    Field::efc_vel,
    Field::efc_aref,
    Field::contact_mu,
];

fn golden(name: &str) -> Golden {
    Golden::read(std::path::Path::new(&format!("{}/golden/{name}.npz", env!("CARGO_MANIFEST_DIR"))))
}

/// State `k` up to the stage.
fn before(g: &Golden, m: &Model<f64>, k: usize) -> Data<f64> {
    let mut d = g.world(m, k);
    for field in INPUTS {
        g.load(m, &mut d, field, k);
    }
    for field in [Field::contact_geom, Field::cvel, Field::cdof_dot] {
        g.load(m, &mut d, field, k);
    }
    // acceleration at zero qacc, without gravity
    for b in 1..m.size.nbody {
        for c in 0..6 {
            d.cacc[6 * b + c] = d.cacc[6 * m.body_parentid[b] as usize + c]
                + (0..m.size.nv)
                    .filter(|&i| m.dof_bodyid[i] as usize == b)
                    .map(|i| d.cdof_dot[6 * i + c] * d.qvel[i])
                    .sum::<f64>();
        }
    }
    d
}

fn after(m: &Model<f64>, mut d: Data<f64>) -> Data<f64> {
    constraint(m, &mut d);
    reference(m, &mut d);
    d
}

/// The largest error of the rows over all fields, each relative to the largest magnitude in its row of the field, and
/// which field of which row has it.
fn compare(g: &Golden, m: &Model<f64>, d: &Data<f64>, k: usize) -> (f64, String) {
    let mut want = g.world(m, k);
    for field in OUTPUTS.into_iter().chain([Field::contact_efc_address]) {
        g.load(m, &mut want, field, k);
    }
    let count = |key: &str| g.get(&format!("out/{key}")).data[k] as i32;
    let counts = [count("ne"), count("nf"), count("nl"), count("nefc")];
    if [d.ne[0], d.nf[0], d.nl[0], d.nefc[0]] != counts {
        return (f64::INFINITY, format!("{:?} for {counts:?}", [d.ne[0], d.nf[0], d.nl[0], d.nefc[0]]));
    }
    let (nefc, ncon) = (counts[3] as usize, count("ncon") as usize);
    if d.contact_efc_address[..ncon] != want.contact_efc_address[..ncon] {
        return (f64::INFINITY, "contact_efc_address".to_owned());
    }
    let mut worst = (0.0, String::new());
    for field in OUTPUTS {
        let rows = if field == Field::contact_mu { ncon } else { nefc };
        let cols = field.info().cols(&m.size);
        for r in 0..rows {
            let at = r * cols..(r + 1) * cols;
            let (a, b): (Vec<f64>, Vec<f64>) = match (d.get(field), want.get(field)) {
                (Some(Slice::F(a)), Some(Slice::F(b))) => (a[at.clone()].to_vec(), b[at].to_vec()),
                (Some(Slice::I(a)), Some(Slice::I(b))) => (
                    a[at.clone()].iter().map(|&x| f64::from(x)).collect(),
                    b[at].iter().map(|&x| f64::from(x)).collect(),
                ),
                _ => unreachable!("fields of a world"),
            };
            // residuals near zero are differences of numbers near 1, good to 1e-16; aref is a residual times some thousands
            let least = if field == Field::efc_aref { 1e-3 } else { 1e-6 };
            let scale = b.iter().fold(least, |s: f64, x| s.max(x.abs()));
            let err =
                a.iter().zip(&b).fold(0.0_f64, |e, (x, y)| if x == y { e } else { e.max(((x - y) / scale).abs()) });
            let err = if a.iter().any(|x| !x.is_finite()) { f64::INFINITY } else { err };
            if err > worst.0 {
                worst = (err, format!("{field:?} row {r} type {}: {a:?} for {b:?}", want.efc_type[r]));
            }
        }
    }
    worst
}

#[test]
fn rows_agree_with_mujoco() {
    let mut seen = [false; 8];
    for name in NAMES {
        let g = golden(name);
        let m = g.model();
        for k in 0..g.nstate() {
            let d = after(&m, before(&g, &m, k));
            let (err, what) = compare(&g, &m, &d, k);
            assert!(err < 1e-9, "{name} state {k}: {err:e} {what}");
            d.efc_type[..d.nefc[0] as usize].iter().for_each(|&t| seen[t as usize] = true);
        }
    }
    assert_eq!(seen, [true; 8], "every kind of row is there");
}

/// A change that the comparison must see.
type Fault = (&'static str, fn(&mut Model<f64>, &mut Data<f64>));

#[test]
fn planted_faults_are_seen() {
    let faults: [Fault; 13] = [
        ("a dof that moves both bodies of a weld", |m, d| {
            d.cdof[6 * m.body_dofadr[m.eq_obj1id[9] as usize] as usize] += 1e-6;
        }),
        ("impratio", |m, _| m.opt_impratio[0] *= 1.0 + 1e-6),
        ("torquescale", |m, _| m.eq_data[12 * 2 + 10] *= 1.0 + 1e-6),
        ("weld anchor", |m, _| m.eq_data[12 * 2] += 1e-6),
        ("site orientation", |m, _| m.site_quat[1] += 1e-6),
        ("the other tree's centre", |m, d| d.subtree_com[3 * m.body_rootid[7] as usize] += 1e-6),
        ("refsafe", |m, _| m.opt.disableflags ^= disable::REFSAFE),
        ("impedance power", |m, _| m.jnt_solimp.iter_mut().skip(4).step_by(5).for_each(|p| *p += 1e-4)),
        ("coupling", |m, _| m.eq_data[12 * 6 + 2] += 1e-6),
        ("a joint's lower limit", |m, _| m.jnt_range[0] += 1e-6),
        ("tendon coefficient", |_, d| d.ten_J[3] += 1e-6),
        ("contact frame", |_, d| d.contact_frame[4] += 1e-6),
        ("acceleration at zero qacc", |_, d| d.cacc.iter_mut().for_each(|a| *a *= 1.0 + 1e-5)),
    ];
    let mut seen = [false; 13];
    for name in NAMES {
        let g = golden(name);
        for (i, (_, plant)) in faults.iter().enumerate() {
            let mut m = g.model();
            if name != NAMES[0] && i != 6 {
                continue;
            }
            for k in 0..g.nstate() {
                let mut d = before(&g, &m, k);
                plant(&mut m, &mut d);
                seen[i] |= compare(&g, &m, &after(&m, d), k).0 > 1e-8;
            }
        }
    }
    for (i, (what, _)) in faults.iter().enumerate() {
        assert!(seen[i], "{what}");
    }
}

#[test]
fn regularizers_of_the_incline_to_the_last_printed_digit() {
    // cone, impratio, time constant, d0, the distance at which MuJoCo's block rests on the first contact after 12 s,
    // and the regularizers there
    let table = [
        (1, 1.0, 0.02, 0.9, -0.000_131_111_518_330_263_26, [0.54496, 0.54496, 0.54496]),
        (1, 10.0, 0.02, 0.9, -0.000_131_111_518_312_989_13, [0.54496, 0.05450, 0.05450]),
        (1, 1.0, 0.01, 0.9, -3.342_441_427_970_778_5e-5, [0.55487, 0.55487, 0.55487]),
        (1, 1.0, 0.02, 0.99, -1.107_488_918_259_714_8e-5, [0.05056, 0.05056, 0.05056]),
        (1, 10.0, 0.02, 0.9, -0.000_132_720_608_042_749_4, [0.54470, 0.05447, 0.05447]),
        (0, 1.0, 0.02, 0.9, -9.968_956_270_234_923e-6, [0.20620, 0.20620, 0.20620]),
    ];
    let g = golden("constraint_incline");
    for (cone, impratio, timeconst, d0, dist, want) in table {
        let mut m = g.model();
        (m.opt.cone, m.opt_impratio[0]) = (cone, impratio);
        let mut d = before(&g, &m, 0);
        (d.contact_dist[0], d.contact_solref[0], d.contact_solimp[0]) = (dist, timeconst, d0);
        constraint(&m, &mut d);
        let first = d.contact_efc_address[0] as usize;
        let got: Vec<String> = d.efc_R[first..first + 3].iter().map(|r| format!("{r:.5}")).collect();
        assert_eq!(got, want.map(|r| format!("{r:.5}")));
    }
}

#[test]
fn rows_that_do_not_fit_are_counted_and_left_out() {
    let g = golden(NAMES[0]);
    let m = g.model();
    let whole = after(&m, before(&g, &m, 1));
    let need = whole.nefc[0] as usize;
    for njmax in 0..=need {
        let mut small = m.clone();
        small.size.njmax = njmax;
        let mut d = before(&g, &m, 1);
        d.efc_D.fill(f64::NAN);
        let d = after(&small, d);
        let held = d.nefc[0] as usize;
        assert!(held <= njmax && held + 6 > njmax, "{held} of {njmax}");
        assert_eq!(d.nefc_need[0] as usize, need);
        assert_eq!(d.status[0], if njmax < need { status::ROW_OVERFLOW } else { 0 });
        assert_eq!(d.efc_R[..held], whole.efc_R[..held]);
        assert!(d.efc_D[held..].iter().all(|x| x.is_nan()), "nothing is written past the rows");
        assert!(d.ne[0] + d.nf[0] + d.nl[0] <= d.nefc[0]);
        for (c, &first) in d.contact_efc_address.iter().enumerate().take(d.ncon[0] as usize) {
            let fits = whole.contact_efc_address[c] < d.nefc[0];
            assert_eq!(first, if fits { whole.contact_efc_address[c] } else { -1 });
        }
    }
}

#[test]
fn flags_and_activity_take_rows_away() {
    let g = golden(NAMES[0]);
    let m = g.model();
    let count = |flag: i32, inactive: Option<usize>| {
        let mut m = m.clone();
        m.opt.disableflags |= flag;
        let mut d = before(&g, &m, 1);
        if let Some(e) = inactive {
            d.eq_active[e] = 0;
        }
        let d = after(&m, d);
        [d.ne[0], d.nf[0], d.nl[0], d.nefc[0] - d.ne[0] - d.nf[0] - d.nl[0]]
    };
    let [ne, nf, nl, nc] = count(0, None);
    assert!(ne > 6 && nf > 0 && nl > 0 && nc > 0);
    assert_eq!(count(disable::CONSTRAINT, None), [0; 4]);
    assert_eq!(count(disable::EQUALITY, None), [0, nf, nl, nc]);
    assert_eq!(count(disable::FRICTIONLOSS, None), [ne, 0, nl, nc]);
    assert_eq!(count(disable::LIMIT, None), [ne, nf, 0, nc]);
    assert_eq!(count(disable::CONTACT, None), [ne, nf, nl, 0]);
    assert_eq!(count(0, Some(0)), [ne - 3, nf, nl, nc]);
    assert_eq!(count(0, Some(2)), [ne - 6, nf, nl, nc]);
}

#[test]
fn sparsity_lists_are_the_nonzeros() {
    for name in NAMES {
        let g = golden(name);
        let m = g.model();
        let mut d = before(&g, &m, 0);
        d.efc_J.fill(f64::NAN);
        d.efc_J_colind.fill(-12345);
        constraint(&m, &mut d);
        for r in 0..d.nefc[0] as usize {
            let n = d.efc_J_rownnz[r] as usize;
            let columns = &d.efc_J_colind[r * m.size.nv..(r + 1) * m.size.nv];
            assert!(columns[..n].windows(2).all(|w| w[0] < w[1]) && columns[n..].iter().all(|&c| c == -1));
            for i in 0..m.size.nvpad {
                let x = d.efc_J[r * m.size.nvpad + i];
                assert!(x == 0.0 || columns[..n].contains(&(i as i32)), "{name} row {r} column {i}: {x}");
            }
        }
    }
}

#[test]
fn f32_is_the_same_but_for_rounding() {
    for name in NAMES {
        let g = golden(name);
        let m = g.model();
        let m32 = m.cast(f32::r);
        for k in 0..g.nstate() {
            let d = before(&g, &m, k);
            let mut d32 = Data::new(&m.size, &0.0_f32);
            for info in Field::TABLE.iter().filter(|f| !f.is_model()) {
                use kiloworld_layout::SliceMut;
                match (d.get(info.field), d32.get_mut(info.field)) {
                    (Some(Slice::I(a)), Some(SliceMut::I(b))) => b.copy_from_slice(a),
                    (Some(Slice::F(a)), Some(SliceMut::F(b))) => b.iter_mut().zip(a).for_each(|(b, &a)| *b = a as f32),
                    _ => unreachable!("fields of a world"),
                }
            }
            let d = after(&m, d);
            constraint(&m32, &mut d32);
            reference(&m32, &mut d32);
            assert_eq!(d32.nefc, d.nefc, "{name} {k}");
            for (field, tol) in
                [(Field::efc_J, 1e-5), (Field::efc_pos, 1e-5), (Field::efc_R, 1e-4), (Field::efc_aref, 1e-3)]
            {
                let (Some(Slice::F(a)), Some(Slice::F(b))) = (d32.get(field), d.get(field)) else { unreachable!() };
                let n = d.nefc[0] as usize * field.info().cols(&m.size);
                for (a, b) in a[..n].iter().zip(&b[..n]) {
                    let err = (f64::from(*a) - b).abs() / b.abs().max(1.0);
                    assert!(err < tol, "{name} {k} {field:?}: {a} for {b}");
                }
            }
        }
    }
}

/// A weld stretched by `STRETCH` at coordinates of half a metre, what the pull test of the stiff rule shows, and turned by
/// 2 µrad about y: the model, the world in f32 with low parts, and the weld.
fn stretched_weld(g: &Golden) -> (Model<f64>, Data<f32>, usize) {
    let (mut m, e) = (models::of(g), 2);
    let (b1, b2) = (m.eq_obj1id[e] as usize, m.eq_obj2id[e] as usize);
    let mut d = before(g, &m, 0);
    let (p1, p2) = ([0.013_41, 0.251, 0.5], [0.213_41, 0.251 + STRETCH[1], 0.5 - STRETCH[2]]);
    for c in 0..3 {
        d.xpos[3 * b1 + c] = p1[c];
        d.xpos[3 * b2 + c] = p2[c];
        m.eq_data[12 * e + c] = 0.0;
        m.eq_data[12 * e + 3 + c] = [0.2 + STRETCH[0], 0.0, 0.0][c];
    }
    for b in [b1, b2] {
        d.xquat[4 * b..4 * b + 4].copy_from_slice(&[1.0, 0.0, 0.0, 0.0]);
        d.xmat[9 * b..9 * b + 9].copy_from_slice(&[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
    }
    m.eq_data[12 * e + 6..12 * e + 10].copy_from_slice(&[1.0, 0.0, 0.0, 0.0]);
    d.xquat[4 * b1 + 2] = 1e-6;
    let d32 = d.split(&m);
    (m, d32, e)
}

const STRETCH: [f64; 3] = [0.2e-6, 1.5e-6, -0.7e-6];

fn assert_stretch(m: &Model<f64>, d: &Data<f32>, e: usize) {
    let r = d.eq_efc_address[e] as usize;
    assert_eq!(d.efc_type[r], cnstr::EQUALITY);
    let turn = 1e-6 * m.eq_data[12 * e + 10];
    for (k, want) in [STRETCH[0], -STRETCH[1], STRETCH[2], 0.0, turn, 0.0].into_iter().enumerate() {
        // x also holds the rounding of the model's anchor (0.2 m in f32: 7 nm)
        let tol = if k == 0 { 8e-9 } else { 1e-9 };
        let got = f64::from(d.efc_pos[r + k]);
        assert!((got - want).abs() < tol, "{k}: {got} for {want}");
    }
}

#[test]
fn f32_resolves_a_micrometre_of_weld_stretch() {
    let (m, mut d, e) = stretched_weld(&golden(NAMES[0]));
    constraint(&m.cast(f32::r), &mut d);
    assert_stretch(&m, &d, e);
}

#[test]
fn the_device_resolves_a_micrometre_of_weld_stretch() {
    let Some(gpu) = adapter::gpu() else { return };
    let (m, d, e) = stretched_weld(&golden(NAMES[0]));
    let mut batch = GpuBatch::new(&gpu, &m, 1, BatchOptions::default()).expect("fits");
    batch.write_worlds(&[d]).expect("written");
    batch.run_stage(Stage::Constraint.into()).expect("run");
    assert_stretch(&m, &batch.read_worlds().expect("read")[0], e);
}

/// A wheel held at its rim and a slider welded to the world have rows with D = 1e15 in MuJoCo: in f32 the rest of the model
/// must still come out right.
#[test]
fn f32_bears_rows_without_a_regularizer() {
    let g = golden("constraint_incline");
    let m = models::of(&g);
    let m32 = m.cast(f32::r);
    let mut d = before(&g, &m, 0);
    for field in [Field::M, Field::qLD, Field::qLDiagInv, Field::qfrc_smooth, Field::qacc_smooth] {
        g.load(&m, &mut d, field, 0);
    }
    let mut d32 = d.split(&m);
    for stage in [Stage::Constraint, Stage::Reference, Stage::Solver] {
        kiloworld_cpu::run(stage.into(), &m32, &mut d32);
    }
    assert!(d32.efc_D[..d32.nefc[0] as usize].iter().all(|&x| x < 1e9));
    let want = g.get("out/qacc").row(0);
    for (i, (got, want)) in d32.qacc.iter().zip(want).enumerate() {
        assert!((f64::from(*got) - want).abs() < 1e-3, "{i}: {got} for {want}");
    }
}
