//! Every model of the corpus against MuJoCo's compiled fields, names and convex hulls.

#![expect(clippy::print_stdout, reason = "the table of agreement, shown with --nocapture")]

use kiloworld_layout::{Field, SliceMut};
use kiloworld_model::{Kind, Model};
use kiloworld_tests::compiled::{GROUPS, compare};
use kiloworld_tests::corpus::{corpus, corpus_models, made_golden};
use kiloworld_tests::golden::Golden;

/// Relative to the element's row, or to a thousandth of the field's largest value.
const TOLERANCE: f64 = 1e-9;
/// Volume and support of hulls: MuJoCo's hull leaves out what is nearly on a face, and its vertices are rounded.
const HULL_TOLERANCE: f64 = 1e-6;

/// Fields that depend on a tendon that passes through a geom: MuJoCo's iteration for the point where it touches stops early
/// enough to show in the ninth digit.
const THROUGH: f64 = 1e-7;
/// The models that have such tendons, and the fields.
const LOOSE: (&str, [&str; 2]) = ("myoarm_bionic", ["tendon_invweight0", "actuator_acc0"]);

fn load(name: &str) -> Option<(Model, Golden)> {
    let (_, path) = corpus_models(&corpus()?).into_iter().find(|(n, _)| n == name)?;
    let golden = Golden::read(&made_golden(&format!("compiled/{name}.npz"))?);
    Some((Model::from_path(path).unwrap_or_else(|e| panic!("{name}: {e}")), golden))
}

/// The worst relative difference of each part of each model goes to the file in `KILOWORLD_AGREEMENT`, if it is set.
#[test]
fn the_corpus_compiles_to_mujocos_fields() {
    let Some(dir) = corpus() else { return };
    let mut wrong = Vec::new();
    let mut table = format!("| model | {} |\n|---|{}\n", GROUPS.join(" | "), "--:|".repeat(GROUPS.len()));
    for (name, _) in corpus_models(&dir) {
        let Some((model, golden)) = load(&name) else { continue };
        let (mut errors, mut faults) = compare(&model, &golden, TOLERANCE);
        faults.extend(names(&model, &golden));
        let (hull, of_hulls) = hulls(&model, &golden);
        errors.extend(hull.map(|e| ("hull", e)));
        faults.extend(of_hulls);
        if name == LOOSE.0 {
            let (_, apart) = compare(&model, &golden, THROUGH);
            faults.retain(|f| !LOOSE.1.iter().any(|field| f.starts_with(field)));
            faults.extend(apart);
        }
        let cell =
            |g: &&str| errors.get(g).map_or(String::new(), |&e| if e == 0.0 { "0".into() } else { format!("{e:.0e}") });
        table += &format!("| {name} | {} |\n", GROUPS.iter().map(cell).collect::<Vec<_>>().join(" | "));
        wrong.extend(faults.iter().map(|f| format!("{name}: {}", f.chars().take(500).collect::<String>())));
    }
    println!("{table}");
    if let Some(file) = std::env::var_os("KILOWORLD_AGREEMENT") {
        std::fs::write(file, table).expect("a file for the table");
    }
    assert!(wrong.is_empty(), "{} fields differ\n{}", wrong.len(), wrong.join("\n"));
}

/// Names of every kind, by id.
fn names(model: &Model, golden: &Golden) -> Vec<String> {
    let mut faults = Vec::new();
    for kind in Kind::ALL {
        let codes = &golden.get(&format!("names/{}", kind.word())).data;
        let text: String = codes.iter().filter_map(|&c| char::from_u32(c as u32)).collect();
        let theirs: Vec<&str> = text.split_terminator('\0').collect();
        let table = model.names.of(kind);
        let ours: Vec<&str> = (0..table.len()).map(|i| table.name(i).unwrap_or_default()).collect();
        if ours != theirs {
            faults.push(format!("{}_names: {ours:?}, MuJoCo's {theirs:?}", kind.word()));
        }
    }
    faults
}

/// Directions spread over the sphere along a spiral, as in `make_compiled.py`.
fn directions() -> Vec<[f64; 3]> {
    let direction = |k: i32| {
        let z = 1.0 - f64::from(2 * k + 1) / 64.0;
        let (turn, r) = (f64::from(k) * std::f64::consts::PI * (3.0 - 5_f64.sqrt()), (1.0 - z * z).sqrt());
        [r * turn.cos(), r * turn.sin(), z]
    };
    (0..64).map(direction).collect()
}

/// The hull of a mesh, if it has one: its vertices and faces.
fn hull(model: &Model, mesh: usize) -> Option<(Vec<[f64; 3]>, Vec<[usize; 3]>)> {
    let m = &model.layout;
    let at = usize::try_from(m.mesh_graphadr[mesh]).ok()?;
    let (nvert, nface) = (m.mesh_graph[at] as usize, m.mesh_graph[at + 1] as usize);
    let vert = |id: usize| {
        let k = 3 * (m.mesh_vertadr[mesh] as usize + id);
        [m.mesh_vert[k], m.mesh_vert[k + 1], m.mesh_vert[k + 2]]
    };
    let faces = &m.mesh_graph[at + 2 + 3 * nvert + 3 * nface..][..3 * nface];
    let vertices = (0..m.mesh_vertnum[mesh] as usize).map(vert).collect();
    Some((vertices, faces.chunks(3).map(|f| [f[0] as usize, f[1] as usize, f[2] as usize]).collect()))
}

/// Volume and support function of every hull: the worst difference, if there are hulls, and what is out of tolerance.
fn hulls(model: &Model, golden: &Golden) -> (Option<f64>, Vec<String>) {
    let (mut worst, mut faults) = (None, Vec::new());
    let mut note = |e: f64| worst = Some(worst.map_or(e, |w: f64| w.max(e)));
    let (volumes, supports) = (golden.get("hull/volume"), golden.get("hull/support"));
    for mesh in 0..model.layout.size.nmesh.min(volumes.data.len()) {
        let Some((vert, face)) = hull(model, mesh) else { continue };
        let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        let volume = face.iter().map(|f| {
            let [a, b, c] = f.map(|v| vert[v]);
            dot(a, [b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]]) / 6.0
        });
        let (volume, theirs) = (volume.sum::<f64>(), volumes.data[mesh]);
        note((volume - theirs).abs() / theirs);
        if (volume - theirs).abs() > HULL_TOLERANCE * theirs {
            faults.push(format!("mesh_graph: the hull of mesh {mesh} has the volume {volume}, MuJoCo's {theirs}"));
        }
        let size = supports.row(mesh).iter().fold(0.0_f64, |s, x| s.max(x.abs()));
        for (direction, theirs) in directions().into_iter().zip(supports.row(mesh)) {
            let ours = face.as_flattened().iter().map(|&v| dot(vert[v], direction)).fold(f64::NEG_INFINITY, f64::max);
            note((ours - theirs).abs() / size);
            if (ours - theirs).abs() > HULL_TOLERANCE * size {
                faults.push(format!("mesh_graph: mesh {mesh} reaches {ours} along {direction:?}, MuJoCo's {theirs}"));
            }
        }
    }
    (worst, faults)
}

/// A comparison that cannot fail proves nothing: a vertex, a face of a hull and a name that are wrong.
#[test]
fn planted_faults_in_meshes_are_found() {
    let Some((model, golden)) = load("jaco") else { return };
    let mut moved = model.clone();
    moved.layout.mesh_vert[301] += 1e-6;
    assert!(compare(&moved, &golden, TOLERANCE).1.iter().any(|f| f.starts_with("mesh_vert")));
    for field in [Field::mesh_face, Field::geom_dataid, Field::mesh_pos, Field::mesh_quat, Field::geom_aabb] {
        let mut planted = model.clone();
        match planted.layout.get_mut(field) {
            Some(SliceMut::I(v)) => v[1] += 1,
            Some(SliceMut::F(v)) => v[1] += 1e-7,
            None => unreachable!("fields of a model"),
        }
        assert!(compare(&planted, &golden, TOLERANCE).1.iter().any(|f| f.starts_with(field.name())), "{field:?}");
    }
    let mut dented = model.clone();
    let at = dented.layout.mesh_graphadr[0] as usize;
    let (nvert, nface) = (dented.layout.mesh_graph[at] as usize, dented.layout.mesh_graph[at + 1] as usize);
    let first = at + 2 + 3 * nvert + 3 * nface;
    dented.layout.mesh_graph[first] = dented.layout.mesh_graph[first + 3 * nface - 2];
    assert!(!hulls(&dented, &golden).1.is_empty());
    let mut other = golden;
    if let Some(codes) = other.arrays.get_mut("names/mesh") {
        codes.data[0] += 1.0;
    }
    assert!(!names(&model, &other).is_empty());
}

/// The graph of a hull is that of its faces: every edge in both directions, lists that end.
#[test]
fn hull_graphs_are_sound() {
    let Some((model, _)) = load("jaco") else { return };
    let m = &model.layout;
    for mesh in 0..m.size.nmesh {
        let Ok(at) = usize::try_from(m.mesh_graphadr[mesh]) else { continue };
        let (nvert, nface) = (m.mesh_graph[at] as usize, m.mesh_graph[at + 1] as usize);
        assert_eq!(2 * nvert, nface + 4, "Euler's formula");
        let (adr, ids) = (&m.mesh_graph[at + 2..][..nvert], &m.mesh_graph[at + 2 + nvert..][..nvert]);
        let edges = &m.mesh_graph[at + 2 + 2 * nvert..][..nvert + 3 * nface];
        let neighbors = |v: usize| edges[adr[v] as usize..].iter().take_while(|&&e| e >= 0).map(|&e| e as usize);
        assert_eq!((0..nvert).map(|v| neighbors(v).count()).sum::<usize>(), 3 * nface);
        assert!((0..nvert).all(|v| neighbors(v).all(|n| neighbors(n).any(|back| back == v))));
        assert!(ids.is_sorted());
    }
}
