//! Stage `collision` against MuJoCo's contacts: single pairs of geoms at given poses, whole models, and properties.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the agreement is a result to read")]

use kiloworld_cpu::collision::collision;
use kiloworld_cpu::math::{Mat3, Vec3};
use kiloworld_cpu::{Compiled, Ints, Real, Scalar, WithNumber, World, widths, with_lanes};
use kiloworld_gpu::{BatchOptions, GpuBatch, Shaders};
use kiloworld_layout::consts::{disable, geom, status};
use kiloworld_layout::{Data, Field, Model, Sizes, Slice, SliceMut, Stage};
use kiloworld_tests::adapter;
use kiloworld_tests::golden::{Array, Golden};
use std::path::Path;
use std::sync::OnceLock;

const PAIRS: [&str; 9] = [
    "plane_sphere",
    "plane_capsule",
    "plane_box",
    "sphere_sphere",
    "sphere_capsule",
    "sphere_box",
    "capsule_capsule",
    "capsule_box",
    "box_box",
];

/// What the poses of a kind are.
const KINDS: [&str; 4] = ["random", "aligned", "deep", "exact"];

/// Two geoms at a pose and MuJoCo's contacts.
#[derive(Clone)]
struct Case {
    types: [i32; 2],
    kind: usize,
    size: [f64; 6],
    pos: [f64; 6],
    mat: [f64; 18],
    margin: f64,
    contacts: Vec<Contact>,
}

#[derive(Clone, Debug)]
struct Contact {
    dist: f64,
    pos: [f64; 3],
    frame: [f64; 9],
}

fn geom_type(name: &str) -> i32 {
    match name {
        "plane" => geom::PLANE,
        "sphere" => geom::SPHERE,
        "capsule" => geom::CAPSULE,
        _ => geom::BOX,
    }
}

fn row<const N: usize>(array: &Array, i: usize) -> [f64; N] {
    array.data[i * N..(i + 1) * N].try_into().expect("a row of N")
}

/// The cases of `contacts.npz`, or of the file that `KILOWORLD_CONTACTS` names (made by `golden/make_contacts.py`).
fn cases(pair: &str) -> Vec<Case> {
    static FILE: OnceLock<Golden> = OnceLock::new();
    let g = FILE.get_or_init(|| {
        let path = std::env::var("KILOWORLD_CONTACTS")
            .unwrap_or_else(|_| format!("{}/golden/contacts.npz", env!("CARGO_MANIFEST_DIR")));
        Golden::read(Path::new(&path))
    });
    let get = |key: &str| g.get(&format!("{pair}/{key}"));
    let (a, b) = pair.split_once('_').expect("two types");
    let mut first = 0;
    (0..get("ncon").data.len())
        .map(|i| {
            let n = get("ncon").data[i] as usize;
            let contact =
                |c| Contact { dist: get("dist").data[c], pos: row(get("cpos"), c), frame: row(get("frame"), c) };
            first += n;
            Case {
                types: [geom_type(a), geom_type(b)],
                kind: get("kind").data[i] as usize,
                size: row(get("size"), i),
                pos: row(get("pos"), i),
                mat: row(get("mat"), i),
                margin: get("margin").data[i],
                contacts: (first - n..first).map(contact).collect(),
            }
        })
        .collect()
}

/// A world of the geoms of all cases, one a body, in which only the geoms of a case can touch.
fn scene(cases: &[Case]) -> (Model<f64>, Data<f64>) {
    let n = cases.len();
    let size = Sizes { ngeom: 2 * n, nbody: 2 * n, ncoll: n, nconmax: 8 * n, ..Sizes::default() };
    let bound = |t: i32, s: &[f64]| match t {
        geom::PLANE => 0.0,
        geom::SPHERE => s[0],
        geom::CAPSULE => s[0] + s[1],
        _ => (s[0] * s[0] + s[1] * s[1] + s[2] * s[2]).sqrt(),
    };
    let ids = |of: fn(i32) -> i32| (0..n as i32).map(of).collect::<Vec<_>>();
    let reals = |of: fn(&Case) -> &[f64]| cases.iter().flat_map(of).copied().collect::<Vec<_>>();
    let m = Model {
        geom_type: cases.iter().flat_map(|c| c.types).collect(),
        geom_bodyid: (0..2 * n as i32).collect(),
        geom_condim: vec![3; 2 * n],
        geom_priority: vec![0; 2 * n],
        geom_size: reals(|c| &c.size),
        geom_pos: vec![0.0; 6 * n],
        geom_rbound: cases
            .iter()
            .flat_map(|c| [bound(c.types[0], &c.size[..3]), bound(c.types[1], &c.size[3..])])
            .collect(),
        geom_margin: cases.iter().flat_map(|c| [c.margin / 2.0; 2]).collect(),
        geom_gap: vec![0.0; 2 * n],
        geom_solmix: vec![1.0; 2 * n],
        geom_solref: [0.02, 1.0].repeat(2 * n),
        geom_solimp: [0.9, 0.95, 1e-3, 0.5, 2.0].repeat(2 * n),
        geom_friction: [1.0, 5e-3, 1e-4].repeat(2 * n),
        body_weldid: (0..2 * n as i32).collect(),
        body_dofnum: vec![1; 2 * n],
        body_dofadr: (0..2 * n as i32).collect(),
        coll_geom1: ids(|i| 2 * i),
        coll_geom2: ids(|i| 2 * i + 1),
        coll_pairid: vec![-1; n],
        size,
        ..Model::default()
    };
    let mut d = Data::new(&m.size, &0.0);
    d.geom_xpos = reals(|c| &c.pos);
    d.geom_xmat = reals(|c| &c.mat);
    (d.xpos, d.xmat) = (d.geom_xpos.clone(), d.geom_xmat.clone());
    (m, d)
}

/// In f32, positions as two floats.
fn in_f32(m: &Model<f64>, d: &Data<f64>) -> (Model<f32>, Data<f32>) {
    let mut d32 = Data::new(&m.size, &0.0_f32);
    let f = |a: &[f64]| a.iter().map(|&x| x as f32).collect::<Vec<_>>();
    (d32.geom_xpos, d32.geom_xmat, d32.xpos, d32.xmat) = (f(&d.geom_xpos), f(&d.geom_xmat), f(&d.xpos), f(&d.xmat));
    d32.xpos_lo = d.xpos.iter().map(|&x| (x - f64::from(x as f32)) as f32).collect();
    (m.cast(|x| x as f32), d32)
}

fn found<T: Scalar>(d: &Data<T>) -> Vec<Contact> {
    let f = |a: &[T]| a.iter().map(|x| x.to_f64()).collect::<Vec<_>>();
    (0..d.ncon[0] as usize)
        .map(|c| Contact {
            dist: d.contact_dist[c].to_f64(),
            pos: f(&d.contact_pos[3 * c..3 * c + 3]).try_into().expect("3"),
            frame: f(&d.contact_frame[9 * c..9 * c + 9]).try_into().expect("9"),
        })
        .collect()
}

fn run(case: &Case) -> Vec<Contact> {
    let (m, mut d) = scene(std::slice::from_ref(case));
    collision(&m, &mut d);
    found(&d)
}

fn run_f32(case: &Case) -> Vec<Contact> {
    let (m, d) = scene(std::slice::from_ref(case));
    let (m, mut d) = in_f32(&m, &d);
    collision(&m, &mut d);
    found(&d)
}

fn largest<'a>(a: impl IntoIterator<Item = &'a f64>, b: impl IntoIterator<Item = &'a f64>) -> f64 {
    a.into_iter().zip(b).fold(0.0, |e: f64, (x, y)| if (x - y).is_nan() { f64::INFINITY } else { e.max((x - y).abs()) })
}

/// Errors of two lists of contacts: distance, position, frame; `None` where the numbers differ.
fn errors(a: &[Contact], b: &[Contact]) -> Option<[f64; 3]> {
    (a.len() == b.len()).then(|| {
        a.iter().zip(b).fold([0.0; 3], |e: [f64; 3], (a, b)| {
            [
                e[0].max(largest([&a.dist], [&b.dist])),
                e[1].max(largest(&a.pos, &b.pos)),
                e[2].max(largest(&a.frame, &b.frame)),
            ]
        })
    })
}

/// `a` in the order of `b`: each contact of `b` takes the nearest that is left.
fn in_order_of(a: &[Contact], b: &[Contact]) -> Vec<Contact> {
    let mut rest = a.to_vec();
    b.iter()
        .filter_map(|y| {
            let apart = |x: &Contact| largest(&x.pos, &y.pos);
            let k = (0..rest.len()).min_by(|&i, &j| apart(&rest[i]).total_cmp(&apart(&rest[j])))?;
            Some(rest.swap_remove(k))
        })
        .collect()
}

/// Agreement with MuJoCo over the cases of a pair.
#[derive(Default)]
struct Agreement {
    cases: usize,
    same_number: usize,
    same_order: usize,
    close: usize,
    worst: [f64; 3],
}

fn agreement(pair: &str, kind: usize, tol: f64, run: impl Fn(&Case) -> Vec<Contact>) -> Agreement {
    let mut out = Agreement::default();
    for (i, case) in cases(pair).iter().enumerate().filter(|(_, c)| c.kind == kind) {
        let mine = run(case);
        out.cases += 1;
        let Some(ordered) = errors(&mine, &case.contacts) else {
            if verbose() {
                eprintln!("{pair} {i}: {} contacts for {}", mine.len(), case.contacts.len());
            }
            continue;
        };
        out.same_number += 1;
        let free = errors(&in_order_of(&mine, &case.contacts), &case.contacts).expect("equal numbers");
        out.same_order += usize::from(ordered.iter().all(|&e| e <= tol));
        if free.iter().all(|&e| e <= tol) {
            out.close += 1;
            out.worst = [0, 1, 2].map(|k| out.worst[k].max(free[k]));
        } else if verbose() {
            eprintln!("{pair} {i}: dist {:.1e} pos {:.1e} frame {:.1e}", free[0], free[1], free[2]);
        }
    }
    out
}

fn verbose() -> bool {
    std::env::var_os("KILOWORLD_VERBOSE").is_some()
}

fn report(tol: f64, run: impl Fn(&Case) -> Vec<Contact>) -> Vec<(String, Agreement)> {
    let mut all = Vec::new();
    for pair in PAIRS {
        for (kind, name) in KINDS.iter().enumerate() {
            let a = agreement(pair, kind, tol, &run);
            println!(
                "{pair:15} {name:8} {:5} poses: number {:6.2} %, close {:6.2} %, in order {:6.2} %, dist {:.1e} pos {:.1e} frame {:.1e}",
                a.cases,
                100.0 * a.same_number as f64 / a.cases as f64,
                100.0 * a.close as f64 / a.cases as f64,
                100.0 * a.same_order as f64 / a.cases as f64,
                a.worst[0],
                a.worst[1],
                a.worst[2],
            );
            all.push((format!("{pair} {name}"), a));
        }
    }
    all
}

/// Poses in general position agree in number, order, distance, position and frame.
///
/// Where geoms are exactly aligned several answers are equally right and MuJoCo's depends on its last bits: the order of
/// equal contacts, the ball of a capsule that lies flat on a face, the tangents at an upright capsule.
#[test]
fn pairs_agree_with_mujoco() {
    for (name, a) in report(1e-9, run) {
        let (close, ordered) = match name.as_str() {
            // with the axis 1e-6 from the normal MuJoCo's own tangent is good to 1e-9
            "plane_capsule aligned" => (0.98, 0.98),
            "plane_capsule exact" => (0.6, 0.6),
            "capsule_box aligned" => (1.0, 0.99),
            "capsule_box exact" => (0.75, 0.7),
            "box_box exact" => (1.0, 0.7),
            _ => (1.0, 1.0),
        };
        let share = |n: usize| n as f64 / a.cases as f64;
        assert!(share(a.close) >= close, "{name}: {} of {} close", a.close, a.cases);
        assert!(share(a.same_order) >= ordered, "{name}: {} of {} in order", a.same_order, a.cases);
    }
}

/// In f32 the same code finds the same contacts but where a decision hangs on the last bits: a contact at the rim of the
/// margin, the ball of a capsule that lies flat, the tangents at an upright capsule. The deepest contact never does.
#[test]
fn f32_agrees_with_mujoco() {
    for case in PAIRS.iter().flat_map(|p| cases(p)) {
        sound_in_f32(&case, &run_f32(&case));
    }
    for (name, a) in report(2e-5, run_f32) {
        let least = least_close(&name);
        assert!(a.close as f64 >= least * a.cases as f64, "{name}: {} of {}", a.close, a.cases);
    }
}

/// The share of poses whose contacts f32 must find to 2e-5.
fn least_close(name: &str) -> f64 {
    match name {
        // a tangent along an axis 1e-6 or 1e-4 from the normal has that many digits less
        "plane_capsule aligned" | "plane_capsule exact" => 0.6,
        "capsule_box exact" => 0.6,
        _ => 0.95,
    }
}

/// The contacts are finite, their frames orthonormal, and the deepest is as deep as MuJoCo's.
fn sound_in_f32(case: &Case, mine: &[Contact]) {
    let what = format!("{:?} {}", case.types, KINDS[case.kind]);
    for c in mine {
        let f = Mat3::from_row_slice(&c.frame);
        assert!((f * f.transpose() - Mat3::identity()).as_slice().iter().all(|x| x.abs() < 2e-6), "{what}: {c:?}");
        assert!(c.dist.is_finite() && c.pos.iter().all(|x| x.is_finite()), "{what}: {c:?}");
    }
    let deepest = |c: &[Contact]| c.iter().map(|c| c.dist).fold(case.margin, f64::min);
    let (a, b) = (deepest(mine), deepest(&case.contacts));
    assert!((a - b).abs() < 2e-6, "{what}: {a} for {b}");
}

/// All poses in one world on the GPU, with files of `shaders`; the contacts of each.
fn on_gpu(all: &[Case], lanes: u32, shaders: Option<Shaders>) -> Option<Vec<Vec<Contact>>> {
    let gpu = adapter::gpu()?;
    let (m, d) = scene(all);
    let (m32, d32) = in_f32(&m, &d);
    let tuning = kiloworld_tests::stage::tuning(lanes);
    let options = BatchOptions { tuning: Some(tuning), shaders, ..BatchOptions::default() };
    let mut batch = GpuBatch::new(&gpu, &m32.cast(f64::from), 1, options).expect("fits");
    batch.write_worlds(&[d32]).expect("written");
    batch.run_stage(Stage::Collision.into()).expect("run");
    let d = batch.read_worlds().expect("read").swap_remove(0);
    let mut out = vec![Vec::new(); all.len()];
    for (c, contact) in found(&d).into_iter().enumerate() {
        out[d.contact_geom[2 * c] as usize / 2].push(contact);
    }
    Some(out)
}

/// The twins find what the CPU finds in f32, at any number of lanes, and are as right against MuJoCo.
#[test]
fn twins_agree() {
    let all: Vec<_> = PAIRS.iter().flat_map(|p| cases(p)).collect();
    for lanes in [1, 8] {
        let Some(gpu) = on_gpu(&all, lanes, None) else { return };
        let (mut close, mut number, mut worst) = (0, 0, [0.0_f64; 3]);
        for (case, mine) in all.iter().zip(&gpu) {
            sound_in_f32(case, mine);
            let cpu = run_f32(case);
            let Some(e) = errors(mine, &cpu) else { continue };
            number += 1;
            if e.iter().all(|&e| e < 2e-5) {
                close += 1;
                worst = [0, 1, 2].map(|k| worst[k].max(e[k]));
            }
        }
        let n = all.len();
        println!(
            "{lanes} lanes, {n} poses: {number} equal in number, {close} close, dist {:.1e} pos {:.1e} frame {:.1e}",
            worst[0], worst[1], worst[2]
        );
        assert!(close as f64 > 0.95 * n as f64, "{lanes} lanes: {close} of {n}");
    }
}

/// Faults in the narrow phases of the GPU are seen.
#[test]
fn planted_faults_in_the_twins_are_seen() {
    let faults = [
        ("collide_plane", "radius + dist * 0.5", "radius + dist"),
        ("collide_sphere", "gap = -min(", "gap = min("),
        ("collide_capsule", "let lone = select(select(2u", "let lone = select(select(1u"),
        ("collide_capsule", "along * side >= h1", "along * side >= 2.0 * h1"),
        ("collide_box", "const CLEARLY: f32 = 0.95f", "const CLEARLY: f32 = 0.5f"),
        ("collide_box", "dv;\n    poly[3]", "du;\n    poly[3]"),
        ("contact_set", "i + 1u", "min(i + 1u, 3u)"),
        ("collision", "index < near", "index + 1u < near"),
    ];
    let all: Vec<_> = PAIRS.iter().flat_map(|p| cases(p)).filter(|c| c.kind != 3).collect();
    let worst = |gpu: &[Vec<Contact>]| {
        all.iter()
            .zip(gpu)
            .filter(|(case, mine)| errors(mine, &run_f32(case)).is_none_or(|e| e[0] + e[1] > 1e-3))
            .count()
    };
    let Some(right) = on_gpu(&all, 1, None) else { return };
    let right = worst(&right);
    for (file, from, to) in faults {
        let mut shaders = Shaders::load().expect("readable");
        let text = shaders.get_mut(file).expect("a file");
        assert!(text.contains(from), "{file}: no `{from}`");
        *text = text.replacen(from, to, 1);
        let wrong = worst(&on_gpu(&all, 1, Some(shaders)).expect("an adapter"));
        println!("{file}: {to:?}: {wrong} poses wrong, {right} without");
        assert!(wrong > right, "`{to}` in {file} goes unseen");
    }
}

/// The contacts of whole models in the order of MuJoCo's list.
#[test]
fn models_agree_with_mujoco() {
    let own = ["collision_mix", "collision_override", "constraint_rows", "constraint_override"];
    for name in own.into_iter().chain(kiloworld_tests::models::names()) {
        let g = Golden::named(name);
        let m = kiloworld_tests::models::of(&g);
        let (mut number, mut worst) = (0, [0.0_f64; 6]);
        for k in 0..g.nstate() {
            let mut d = g.world(&m, k);
            g.load(&m, &mut d, Field::geom_xpos, k);
            g.load(&m, &mut d, Field::geom_xmat, k);
            collision(&m, &mut d);
            let mut theirs = d.clone();
            for field in CONTACT_FIELDS {
                g.load(&m, &mut theirs, field, k);
            }
            g.load(&m, &mut theirs, Field::ncon, k);
            let n = theirs.ncon[0] as usize;
            assert_eq!(d.ncon[0] as usize, n, "{name} state {k}");
            number += n;
            let e = errors(&found(&d), &found(&theirs)).expect("equal numbers");
            worst = [worst[0].max(e[0]), worst[1].max(e[1]), worst[2].max(e[2]), worst[3], worst[4], worst[5]];
            worst[3] = worst[3].max(largest(&d.contact_friction, &theirs.contact_friction));
            worst[4] = worst[4].max(largest(&d.contact_solref, &theirs.contact_solref));
            worst[5] = worst[5].max(largest(&d.contact_solimp, &theirs.contact_solimp));
            assert_eq!(d.contact_solreffriction, theirs.contact_solreffriction);
            assert_eq!(d.contact_includemargin, theirs.contact_includemargin);
            assert_eq!(d.contact_geom, theirs.contact_geom, "{name} state {k}");
            assert_eq!(d.contact_dim, theirs.contact_dim);
            assert_eq!(d.contact_exclude, theirs.contact_exclude);
        }
        println!("{name}: {number} contacts of {} pairs, errors {worst:.1?} {:.1e}", m.size.ncoll, worst[1]);
        assert!(worst.iter().all(|&e| e < 1e-9), "{name}: {worst:?}");
    }
}

const CONTACT_FIELDS: [Field; 11] = [
    Field::contact_dist,
    Field::contact_pos,
    Field::contact_frame,
    Field::contact_includemargin,
    Field::contact_friction,
    Field::contact_solref,
    Field::contact_solreffriction,
    Field::contact_solimp,
    Field::contact_dim,
    Field::contact_geom,
    Field::contact_exclude,
];

/// A case with its geoms in the other order, where the types allow it.
fn swapped(case: &Case) -> Case {
    let swap = |a: &[f64]| [&a[a.len() / 2..], &a[..a.len() / 2]].concat();
    Case {
        types: [case.types[1], case.types[0]],
        size: swap(&case.size).try_into().expect("6"),
        pos: swap(&case.pos).try_into().expect("6"),
        mat: swap(&case.mat).try_into().expect("18"),
        ..case.clone()
    }
}

/// The other order of the geoms gives the same contacts with the normals turned round.
#[test]
fn swapping_geoms_turns_the_normals() {
    for pair in ["sphere_sphere", "capsule_capsule", "box_box"] {
        for case in cases(pair).iter().filter(|c| c.kind != 3) {
            let (a, b) = (run(case), run(&swapped(case)));
            assert_eq!(a.len(), b.len(), "{pair}");
            for (x, y) in a.iter().zip(&in_order_of(&b, &a)) {
                assert!((x.dist - y.dist).abs() < 1e-12 && largest(&x.pos, &y.pos) < 1e-9, "{pair}: {x:?} {y:?}");
                let sum = [0, 1, 2].map(|k| x.frame[k] + y.frame[k]);
                assert!(largest(&sum, &[0.0; 3]) < 1e-9, "{pair}: {x:?} {y:?}");
            }
        }
    }
}

/// Moving both geoms as one moves the contacts along.
#[test]
fn contacts_move_with_the_scene() {
    let turn = Mat3::new(0.36, 0.48, -0.8, -0.8, 0.6, 0.0, 0.48, 0.64, 0.6);
    let shift = Vec3::new(0.3, -2.0, 1.1);
    let moved = |x: &[f64]| turn * Vec3::from_row_slice(x) + shift;
    for case in PAIRS.iter().flat_map(|p| cases(p)).filter(|c| c.kind != 3) {
        let mut other = case.clone();
        for g in 0..2 {
            other.pos[3 * g..3 * g + 3].copy_from_slice(moved(&case.pos[3 * g..3 * g + 3]).as_slice());
            let mat = turn * Mat3::from_row_slice(&case.mat[9 * g..9 * g + 9]);
            other.mat[9 * g..9 * g + 9].copy_from_slice(mat.as_slice());
        }
        let (a, b) = (run(&case), run(&other));
        assert_eq!(a.len(), b.len(), "{:?}", case.types);
        for (x, y) in a.iter().zip(&b) {
            assert!((x.dist - y.dist).abs() < 1e-12, "{:?}", case.types);
            assert!((moved(&x.pos) - Vec3::from(y.pos)).norm() < 1e-8, "{:?}: {x:?} {y:?}", case.types);
            let normal = turn * Vec3::from_row_slice(&x.frame[..3]);
            assert!((normal - Vec3::from_row_slice(&y.frame[..3])).norm() < 1e-8, "{:?}", case.types);
        }
    }
}

/// What does not fit is counted and flagged, and the first contacts are held.
#[test]
fn overflow_is_flagged() {
    let case = cases("box_box").into_iter().find(|c| c.contacts.len() > 4).expect("a face");
    let (mut m, mut d) = scene(std::slice::from_ref(&case));
    m.size.nconmax = 3;
    collision(&m, &mut d);
    assert_eq!((d.ncon[0], d.ncon_need[0]), (3, case.contacts.len() as i32));
    let pushing = case.contacts.iter().skip(3).filter(|c| c.dist < case.margin).count();
    assert_eq!(d.nefc_lost[0] as usize, 4 * pushing);
    assert_eq!(d.status[0], status::CONTACT_OVERFLOW);
    m.opt.disableflags = disable::CONTACT;
    collision(&m, &mut d);
    assert_eq!((d.ncon[0], d.ncon_need[0]), (0, case.contacts.len() as i32));
}

/// Worlds, each with numbers of its own for the model, in the lanes of `T`.
fn packed<T: Real>(worlds: &[(Model<T::One>, Data<T::One>)]) -> (Model<T>, World<T>) {
    let mut m = worlds[0].0.cast(T::splat);
    // room for the contacts of all
    m.opt.world_ncon = m.size.nconmax;
    m.size.nconmax *= T::LANES;
    let mut d = World::<T>::filled(&m.size, T::zero(), T::Int::default());
    for (l, (one_m, one_d)) in worlds.iter().enumerate() {
        for info in Field::TABLE {
            if let (Some(SliceMut::F(to)), Some(Slice::F(from))) = (m.get_mut(info.field), one_m.get(info.field)) {
                to.iter_mut().zip(from).for_each(|(to, &x)| to.set_lane(l, x));
            } else if let (Some(to), Some(from)) = (d.reals_mut(info.field), one_d.reals(info.field)) {
                to.iter_mut().zip(from).for_each(|(to, &x)| to.set_lane(l, x));
            }
        }
    }
    (m, d)
}

/// Everything that the stage says of world `l`: its counts and status, then its contacts, without the slots that it lacks.
fn said<T: Real>(m: &Model<T>, d: &World<T>, l: usize) -> Vec<Vec<f64>> {
    let counts = [&d.ncon[0], &d.ncon_need[0], &d.status[0]].map(|x| f64::from(x.get(l))).to_vec();
    let contacts = (0..d.slot_ncon[0] as usize).filter(|&c| d.contact_on[c].get(l) == 1).map(|c| {
        let shared = [d.contact_dim[c], d.contact_geom[2 * c], d.contact_geom[2 * c + 1], d.contact_exclude[c].get(l)];
        let reals = CONTACT_FIELDS.into_iter().filter_map(|f| {
            let cols = f.info().cols(&m.size);
            d.reals(f).map(|a| &a[cols * c..cols * (c + 1)])
        });
        shared.map(f64::from).into_iter().chain(reals.flatten().map(|x| x.lane(l).to_f64())).collect()
    });
    std::iter::once(counts).chain(contacts).collect()
}

/// Every lane finds exactly what its world finds alone; slots that a world lacks hold nothing that could harm.
fn lanes_find<T: Real>(what: &str, worlds: &[(Model<T::One>, Data<T::One>)]) {
    let (mut number, mut unlike) = (0, 0);
    // what arrays have room for
    let most = kiloworld_model::slots(&worlds[0].0.cast(|x| x.to_f64())).0;
    // far apart in the list, and each once in every lane
    let stride = (worlds.len() / T::LANES).max(1);
    for i in 0..worlds.len() {
        let group: Vec<_> = (0..T::LANES).map(|l| worlds[(i + l * stride) % worlds.len()].clone()).collect();
        let (m, mut d) = packed::<T>(&group);
        collision(&m, &mut d);
        let alone: Vec<_> = group
            .into_iter()
            .map(|(m, mut d)| {
                collision(&m, &mut d);
                said(&m, &d, 0)
            })
            .collect();
        for (l, alone) in alone.iter().enumerate() {
            assert_eq!(&said(&m, &d, l), alone, "{what}: world {i}, lane {l}");
            number += alone.len() - 1;
        }
        unlike += usize::from(alone.iter().any(|a| a != &alone[0]));
        assert!(d.slot_ncon[0] as usize <= most, "{what}: {} slots, {most} at most", d.slot_ncon[0]);
        for c in 0..d.slot_ncon[0] as usize {
            assert!((0..T::LANES).any(|l| d.contact_on[c].get(l) == 1), "{what}: an empty slot");
            for l in (0..T::LANES).filter(|&l| d.contact_on[c].get(l) == 0) {
                assert_eq!(d.contact_exclude[c].get(l), 1);
                let f = Mat3::from_row_slice(&d.contact_frame[9 * c..9 * c + 9]);
                let f = Mat3::from_fn(|i, j| f[(i, j)].lane(l).to_f64());
                assert!((f * f.transpose() - Mat3::identity()).as_slice().iter().all(|x| x.abs() < 2e-6), "{f:?}");
                let finite = |x: &T| x.lane(l).to_f64().is_finite();
                assert!(d.contact_pos[3 * c..3 * c + 3].iter().all(finite) && finite(&d.contact_dist[c]));
            }
        }
    }
    println!("{what}, {} lanes: {number} contacts, {unlike} of {} groups of unlike worlds", T::LANES, worlds.len());
    // or a lane that were given its neighbour's would go unseen
    assert!(number > 0 && unlike > 0, "{what}");
}

/// Cases as worlds: every third with its margin at its first contact's distance, every third just below.
fn at_the_margin<T: Scalar>(worlds: &mut [(Model<T>, Data<T>)]) {
    for (i, (m, d)) in worlds.iter_mut().enumerate() {
        let mut found = d.clone();
        collision(m, &mut found);
        if found.ncon[0] > 0 && i % 3 > 0 {
            let dist = found.contact_dist[0] - T::r(if i % 3 == 1 { 0.0 } else { 4.0 * T::EPSILON });
            m.geom_margin.fill(dist * T::r(0.5));
        }
        // fewer than a face has
        m.size.nconmax = 3;
    }
}

/// Worlds in lanes find what they find alone, to the last bit, whatever their neighbours.
#[test]
fn lanes_agree() {
    for pair in PAIRS {
        let cases: Vec<_> = cases(pair).into_iter().step_by(3).collect();
        let mut worlds: Vec<_> = cases.iter().map(|c| scene(std::slice::from_ref(c))).collect();
        let mut worlds32: Vec<_> = worlds.iter().map(|(m, d)| in_f32(m, d)).collect();
        at_the_margin(&mut worlds);
        at_the_margin(&mut worlds32);
        any_lanes(pair, worlds, worlds32);
    }
}

/// Whole models too.
#[test]
fn lanes_agree_on_models() {
    for name in ["collision_mix", "collision_override"].into_iter().chain(kiloworld_tests::models::names()) {
        let g = Golden::named(name);
        let m = kiloworld_tests::models::of(&g);
        let world = |k| {
            let mut d = g.world(&m, k);
            for field in [Field::geom_xpos, Field::geom_xmat, Field::xpos, Field::xmat] {
                g.load(&m, &mut d, field, k);
            }
            (m.clone(), d)
        };
        let worlds: Vec<_> = (0..g.nstate()).map(world).collect();
        let worlds32: Vec<_> = worlds.iter().map(|(m, d)| in_f32(m, d)).collect();
        if g.get("out/ncon").data.iter().any(|&n| n > 0.0) {
            any_lanes(name, worlds, worlds32);
        }
    }
}

/// [`lanes_find`] in whichever number, of worlds in that number's scalar.
struct Find<'a>(&'a str, &'a dyn std::any::Any);

impl WithNumber for Find<'_> {
    type Out = ();
    fn with<T: Compiled>(self) {
        let worlds =
            self.1.downcast_ref::<Vec<(Model<T::One>, Data<T::One>)>>().expect("worlds in the number's scalar");
        lanes_find::<T>(self.0, worlds);
    }
}

/// [`lanes_find`] for every kind of lanes that this processor has.
fn any_lanes(what: &str, worlds: Vec<(Model<f64>, Data<f64>)>, worlds32: Vec<(Model<f32>, Data<f32>)>) {
    for (single, worlds) in [(false, &worlds as &dyn std::any::Any), (true, &worlds32)] {
        for lanes in widths(single).into_iter().filter(|&n| n > 1) {
            with_lanes(single, lanes, Find(what, worlds)).expect("the processor has it");
        }
    }
}

/// The comparison sees wrong contacts.
#[test]
fn planted_faults_are_seen() {
    type Fault = fn(&mut Vec<Contact>);
    let faults: [Fault; 4] = [
        |c| {
            c.pop();
        },
        |c| c.iter_mut().for_each(|c| c.dist = -c.dist),
        |c| c.iter_mut().for_each(|c| c.frame[..3].iter_mut().for_each(|x| *x = -*x)),
        |c| c.iter_mut().for_each(|c| c.pos[2] += 1e-6),
    ];
    for pair in PAIRS {
        for fault in faults {
            let a = agreement(pair, 0, 1e-9, |case| {
                let mut c = run(case);
                fault(&mut c);
                c
            });
            assert!(a.close < a.cases / 2, "{pair}: {} of {}", a.close, a.cases);
        }
    }
}
