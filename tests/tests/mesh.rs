//! Meshes and height fields: files with mistakes, damaged files, files in memory, what a model may read.

use kiloworld_model::{Files, Model, Reach};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The corners of a tetrahedron and its faces.
const CORNERS: [[f32; 3]; 4] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
const FACES: [[u32; 3]; 4] = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]];

fn stl() -> Vec<u8> {
    let mut out = vec![b' '; 80];
    out.extend((FACES.len() as u32).to_le_bytes());
    for face in FACES {
        out.extend([0; 12]);
        face.iter().flat_map(|&v| CORNERS[v as usize]).for_each(|x| out.extend(x.to_le_bytes()));
        out.extend([0; 2]);
    }
    out
}

fn obj() -> Vec<u8> {
    let mut out = "# a tetrahedron\nvt 0 0\nvn 0 0 1\n".to_owned();
    CORNERS.iter().for_each(|[x, y, z]| _ = writeln!(out, "v {x} {y} {z}"));
    FACES.iter().for_each(|[a, b, c]| _ = writeln!(out, "f {}/1/1 {}//1 {}", a + 1, b + 1, c + 1));
    out.into_bytes()
}

fn msh() -> Vec<u8> {
    let mut out: Vec<u8> = [4_i32, 0, 0, 4].iter().flat_map(|n| n.to_le_bytes()).collect();
    CORNERS.as_flattened().iter().for_each(|x| out.extend(x.to_le_bytes()));
    FACES.as_flattened().iter().for_each(|v| out.extend(v.to_le_bytes()));
    out
}

/// Two by two points of an image in shades of grey: stored, not compressed.
fn png() -> Vec<u8> {
    let crc = |bytes: &[u8]| {
        !bytes.iter().fold(u32::MAX, |crc, &b| {
            (0..8).fold(crc ^ u32::from(b), |c, _| if c & 1 == 1 { (c >> 1) ^ 0xEDB8_8320 } else { c >> 1 })
        })
    };
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let rows = [0_u8, 10, 60, 0, 30, 110];
    let adler = rows.iter().fold((1_u32, 0_u32), |(a, b), &x| (a + u32::from(x), b + a + u32::from(x)));
    let mut data = vec![0x78, 1, 1, 6, 0, 249, 255];
    data.extend(rows);
    data.extend((adler.1 << 16 | adler.0).to_be_bytes());
    let header = [0, 0, 0, 2, 0, 0, 0, 2, 8, 0, 0, 0, 0];
    for (kind, content) in [(b"IHDR", &header[..]), (b"IDAT", &data), (b"IEND", &[])] {
        out.extend((content.len() as u32).to_be_bytes());
        let chunk = [&kind[..], content].concat();
        out.extend(&chunk);
        out.extend(crc(&chunk).to_be_bytes());
    }
    out
}

fn field() -> Vec<u8> {
    let mut out: Vec<u8> = [2_i32, 3].iter().flat_map(|n| n.to_le_bytes()).collect();
    [1.0_f32, 2.0, 3.0, 5.0, 8.0, 13.0].iter().for_each(|x| out.extend(x.to_le_bytes()));
    out
}

fn files() -> BTreeMap<String, Vec<u8>> {
    let list = [("a.stl", stl()), ("a.obj", obj()), ("a.msh", msh()), ("a.png", png()), ("a.bin", field())];
    list.into_iter().map(|(name, bytes)| (format!("assets/{name}"), bytes)).collect()
}

/// A model that uses one file.
fn with(file: &str) -> String {
    let asset = if file.ends_with(".png") || file.ends_with(".bin") {
        format!(r#"<hfield name="m" file="{file}" size="1 1 1 1"/></asset><worldbody><geom type="hfield" hfield="m"/>"#)
    } else {
        format!(
            r#"<mesh name="m" file="{file}"/></asset><worldbody><body><freejoint/><geom type="mesh" mesh="m"/></body>"#
        )
    };
    format!(r#"<mujoco><compiler meshdir="assets"/><asset>{asset}</worldbody></mujoco>"#)
}

#[test]
fn every_format_gives_the_same_tetrahedron() {
    for name in ["a.stl", "a.obj", "a.msh"] {
        let m = Model::from_str_with(&with(name), &files()).unwrap_or_else(|e| panic!("{e}")).layout;
        assert_eq!((m.size.nmeshvert, m.size.nmeshface), (4, 4), "{name}");
        assert!((m.body_mass[1] - 1000.0 / 6.0).abs() < 1e-9, "{name}: {}", m.body_mass[1]);
        assert_eq!(m.mesh_graph[..2], [4, 4]);
        let back = m.mesh_vert.as_chunks::<3>().0.iter().map(|v| (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt());
        // the corners of the unit tetrahedron as seen from its centre
        let far = back.fold(0.0_f64, f64::max);
        assert!((far - (0.75_f64 * 0.75 + 2.0 * 0.0625).sqrt()).abs() < 1e-6, "{name}: {far}");
    }
    let image = Model::from_str_with(&with("a.png"), &files()).unwrap_or_else(|e| panic!("{e}")).layout;
    assert_eq!(image.hfield_data, [f64::from(0.2_f32), 1.0, 0.0, 0.5]);
    let binary = Model::from_str_with(&with("a.bin"), &files()).unwrap_or_else(|e| panic!("{e}")).layout;
    assert_eq!((binary.hfield_nrow[0], binary.hfield_ncol[0], binary.hfield_data[5]), (2, 3, 1.0));
}

#[test]
fn a_mesh_is_processed_once_and_collisions_with_it_are_refused_by_name() {
    let xml = r#"<mujoco><compiler meshdir="assets"/><asset><mesh file="a.stl"/><mesh name="b" file="a.stl" scale="2 2 2"/></asset>
      <worldbody><geom type="plane" size="1 1 1"/><body><freejoint/><geom name="g" type="mesh" mesh="a"/><geom type="mesh" mesh="a" pos="1 0 0"/>
      <geom type="mesh" mesh="b" contype="0" conaffinity="0"/></body></worldbody></mujoco>"#;
    let model = Model::from_str_with(xml, &files()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(model.layout.geom_dataid, [-1, 0, 0, 1]);
    assert_eq!(model.layout.mesh_graphadr, [0, -1]);
    assert_eq!(model.layout.size.nmeshvert, 8);
    let errors = model.check_supported().expect_err("no narrow phase for meshes").to_string();
    assert!(errors.contains("collision of mesh \"g\"") && errors.contains("model:2:"), "{errors}");
}

/// One mistake each; see the snapshots for what is said about it.
#[test]
fn mistakes_are_explained() {
    let mut damaged = files();
    let mut put = |name: &str, bytes: Vec<u8>| damaged.insert(format!("assets/{name}"), bytes);
    put("short.stl", stl()[..150].to_vec());
    put("text.stl", b"solid t\nvertex 1 2\n".to_vec());
    let mut huge = stl();
    huge[80..84].copy_from_slice(&u32::MAX.to_le_bytes());
    put("huge.stl", huge);
    let mut nan = stl();
    nan[96..100].copy_from_slice(&f32::NAN.to_le_bytes());
    put("nan.stl", nan);
    put("index.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 9\n".to_vec());
    put("word.obj", b"v 0 0 0\nv 1 0 zero\n".to_vec());
    put("few.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\n".to_vec());
    put("flat.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\nf 2 4 3\n".to_vec());
    put("counts.msh", [i32::MAX.to_le_bytes(); 4].concat());
    put("cut.png", png()[..40].to_vec());
    put("counts.bin", [i32::MAX.to_le_bytes(); 2].concat());
    put("a.foo", stl());
    let mut report = String::new();
    for name in [
        "short.stl",
        "text.stl",
        "huge.stl",
        "nan.stl",
        "index.obj",
        "word.obj",
        "few.obj",
        "flat.obj",
        "counts.msh",
        "cut.png",
        "counts.bin",
        "a.foo",
        "missing.stl",
    ] {
        let errors = Model::from_str_with(&with(name), &damaged).expect_err(name);
        let _ = writeln!(report, "# {name}\n{errors}");
    }
    let elements = [
        r#"<mesh vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>"#,
        r#"<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0"/>"#,
        r#"<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 1 -2"/>"#,
        r#"<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 1 2 0 1 3 0 3 2 1 2 3" inertia="exact"/>"#,
        r#"<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1" scale="1e300 1 1"/>"#,
        r#"<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1" maxhullvert="3"/>"#,
        r#"<mesh name="m" builtin="sphere" params="5"/>"#,
        r#"<mesh name="m" builtin="cone" params="3"/>"#,
        r#"<mesh name="m" builtin="supertorus" params="3 0 1 1"/>"#,
        r#"<mesh name="m" builtin="plate" params="1e5 1e5"/>"#,
        r#"<mesh name="m" builtin="disc" params="3 4 1 1 1 1"/>"#,
        r#"<hfield name="h" size="1 1 0 1" nrow="2" ncol="2"/>"#,
        r#"<hfield name="h" size="1 1 1 1" nrow="2" ncol="2" elevation="1 2 3"/>"#,
        r#"<hfield name="h" size="1 1 1 1" nrow="100000" ncol="100000"/>"#,
    ];
    for element in elements {
        let xml = format!("<mujoco><asset>\n{element}\n</asset><worldbody/></mujoco>");
        let errors = Model::from_str(&xml).expect_err(element);
        let _ = writeln!(report, "# {element}\n{errors}");
    }
    let geoms = r#"<mujoco><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><hfield name="h" size="1 1 1 1" nrow="2" ncol="2"/></asset><worldbody>
      <geom type="mesh"/>
      <geom type="hfield"/>
      <geom type="plane" size="1 1 1" mesh="m"/>
      <geom type="capsule" mesh="m" fromto="0 0 0 1 1 1"/>
      <geom type="sphere" size="1" hfield="h"/>
      <geom type="mesh" mesh="m" shellinertia="true"/>
      </worldbody></mujoco>"#;
    let _ = writeln!(report, "# geoms\n{}", Model::from_str(geoms).expect_err("six mistakes"));
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("mesh_mistakes", report);
    });
}

/// What lies outside the model's folder is read where it is an asset; nothing is where the caller says so.
#[test]
fn a_model_reaches_as_far_as_it_may() {
    let root = std::env::temp_dir().join(format!("kiloworld-reach-{}", std::process::id()));
    for (name, bytes) in [("models/main.xml", with("../../parts/a.stl").into_bytes()), ("parts/a.stl", stl())] {
        let file = root.join(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("writable");
        std::fs::write(file, bytes).expect("writable");
    }
    let main = root.join("models/main.xml");
    assert_eq!(Model::from_path(&main).unwrap_or_else(|e| panic!("{e}")).layout.size.nmesh, 1);
    let strict = Files::of(&main).reach(Reach::Folder);
    let errors = Model::from_path_with(&main, &strict).expect_err("refused").to_string();
    assert!(errors.contains("outside the model's folder"), "{errors}");
    assert!(Model::from_path_with(&main, &Files::within(&root)).is_ok());
    std::fs::remove_dir_all(root).expect("removed");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// A file with any bytes changed, cut or put in compiles or is explained, and never panics or allocates without end.
    #[test]
    fn damaged_files_do_not_panic(kind in 0..5_usize, cut in 0..400_usize, changes in proptest::collection::vec((0..400_usize, any::<u8>()), 0..6)) {
        let name = ["a.stl", "a.obj", "a.msh", "a.png", "a.bin"][kind];
        let mut all = files();
        if let Some(bytes) = all.get_mut(&format!("assets/{name}")) {
            for (at, byte) in changes {
                let n = bytes.len().max(1);
                if let Some(b) = bytes.get_mut(at % n) {
                    *b = byte;
                }
            }
            if cut % 3 == 0 {
                bytes.truncate(cut);
            }
        }
        match Model::from_str_with(&with(name), &all) {
            Ok(model) => prop_assert!(model.layout.mesh_vert.iter().all(|x| x.is_finite())),
            Err(e) => prop_assert!(!e.errors.is_empty()),
        }
    }

    /// Text that looks like OBJ.
    #[test]
    fn any_lines_of_an_obj_do_not_panic(lines in proptest::collection::vec("(v|f|vt|#|o|\\\\) ?([-0-9e./ ]{0,20})", 0..40)) {
        let files = BTreeMap::from([("assets/a.obj".to_owned(), lines.join("\n").into_bytes())]);
        if let Err(e) = Model::from_str_with(&with("a.obj"), &files) {
            prop_assert!(!e.errors.is_empty());
        }
    }
}
