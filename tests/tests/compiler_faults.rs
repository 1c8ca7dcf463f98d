//! Models that once compiled otherwise than by MuJoCo 4.0.0, whose values these are.

use kiloworld_model::Model;
use std::collections::BTreeMap;
use std::path::Path;

fn model(text: &str) -> Model {
    Model::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn near(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (f, e) in found.iter().zip(expected) {
        assert!((f - e).abs() < 1e-12, "{what}: {found:?}, MuJoCo has {expected:?}");
    }
}

/// Copy i is turned by i times the angles, in every sequence and unit, within other replicas too.
#[test]
fn replicas_turn_about_several_axes() {
    let cases: [(&str, &str, &str, [f64; 14]); 3] = [
        (
            r#""#,
            "0 20 10",
            "15 0 35",
            [
                0.4719596443705136,
                0.5000056324357733,
                0.42482221539085807,
                0.7912401152362238,
                0.21201214989665462,
                -0.1484525055496845,
                0.5540322932223234,
                0.744318592803861,
                1.0455976767319568,
                0.7103863297568295,
                0.6792327251732041,
                0.4540275333886885,
                0.1308189681917445,
                0.5615944279816292,
            ],
        ),
        (
            r#" eulerseq="zYx""#,
            "0 20 10",
            "15 5 35",
            [
                0.7474648455735516,
                0.28592258546008303,
                0.13281254773068157,
                0.7752907193318944,
                0.5704021094754607,
                0.21684871888218687,
                0.16291828363609984,
                1.0225668439444244,
                0.5681218743649359,
                0.26611409189964264,
                0.5610270368821539,
                0.7221220405758774,
                0.4013507989160266,
                -0.0520188293911796,
            ],
        ),
        (
            r#" angle="radian" eulerseq="XYZ""#,
            "0 .2 .1",
            ".15 .3 .35",
            [
                0.6496787049352042,
                0.3713749852526846,
                -0.08336193663490532,
                0.9024830523758437,
                0.03391295696386998,
                0.323439788833871,
                0.2824198196363839,
                0.7177226772028773,
                0.8911406771706636,
                0.24437480774481685,
                0.7891778573872416,
                0.039352609085198054,
                0.502728484888975,
                0.3505905760985394,
            ],
        ),
    ];
    for (compiler, outer, inner, expected) in cases {
        let text = format!(
            "<mujoco><compiler{compiler}/><worldbody><replicate count='3' offset='.1 .2 .3' euler='{outer}'>\
             <replicate count='3' offset='0.2 0.05 0.1' euler='{inner}'><geom size='.1' pos='.4 0 0'/></replicate>\
             </replicate></worldbody></mujoco>"
        );
        let m = model(&text).layout;
        let pose = |g: usize| [&m.geom_pos[3 * g..][..3], &m.geom_quat[4 * g..][..4]].concat();
        near(&[pose(2), pose(8)].concat(), &expected, &text);
    }
}

/// Directions within 1e-7 of the z axis are along or against it.
#[test]
fn z_axes_against_the_z_axis() {
    let half = [6.123_233_995_736_766e-17, 1.0, 0.0, 0.0];
    let cases = [
        ("zaxis='0 0 -1'", half),
        ("zaxis='1e-8 0 -1'", half),
        ("zaxis='1e-7 0 -1'", half),
        ("zaxis='0 1e-6 -1'", [4.999_999_999_090_558e-7, -0.999_999_999_999_875, 0.0, 0.0]),
        ("zaxis='1e-8 0 1'", [1.0, 0.0, 0.0, 0.0]),
        ("fromto='0 0 0 1e-9 0 1'", half),
    ];
    for (attribute, expected) in cases {
        let text = format!("<mujoco><worldbody><geom type='box' size='.1 .2 .3' {attribute}/></worldbody></mujoco>");
        near(&model(&text).layout.geom_quat, &expected, attribute);
    }
}

/// The world, mocap bodies and what stands on them make no contacts with each other, and still with what moves.
#[test]
fn bodies_without_dofs_make_no_contacts() {
    let pairs = |bodies: &str| {
        let text = format!("<mujoco><worldbody><geom type='plane' size='1 1 1'/>{bodies}</worldbody></mujoco>");
        model(&text).layout.coll_geom1.len()
    };
    let mocap = "<body mocap='true'><geom type='box' size='.1 .1 .1'/><body><geom size='.1'/></body></body>";
    assert_eq!(pairs(mocap), 0);
    assert_eq!(pairs(&mocap.repeat(2)), 0);
    assert_eq!(pairs(&format!("{mocap}<body><freejoint/><geom size='.1'/></body>")), 3);
}

/// Of an OBJ file the faces of the first group that has any count.
#[test]
fn an_obj_file_of_two_groups() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("faults/obj/two_groups.xml");
    let m = Model::from_path(&path).expect("compiles").layout;
    near(&m.body_mass[1..], &[500.0 / 3.0], "mass");
}

/// Where MuJoCo finds no more ears of a polygon it drops the rest.
#[test]
fn an_obj_polygon_of_which_a_part_is_dropped() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("faults/obj/pentagon.xml");
    let m = Model::from_path(&path).expect("compiles").layout;
    near(&m.body_mass[1..], &[690.271_759_681_920_1], "mass");
}

/// Vertices and triangles of random OBJ files are MuJoCo's, in its order: polygons of three to nine corners (convex, indented,
/// crossing themselves, in no plane), numbers counted from the end, faces before their vertices, groups, line ends of three kinds.
#[test]
fn random_obj_files_are_cut_as_in_mujoco() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/obj.json");
    let text = std::fs::read_to_string(path).expect("the golden");
    let rows: Vec<(String, i32, Vec<i32>)> = serde_json::from_str(&text).expect("the golden");
    let xml = "<mujoco><asset><mesh name='a' file='a.obj' inertia='shell'/></asset><worldbody><geom type='mesh' mesh='a'/>\
               </worldbody></mujoco>";
    assert!(rows.len() >= 200);
    for (i, (file, vertices, faces)) in rows.iter().enumerate() {
        let files = BTreeMap::from([("a.obj".to_owned(), file.clone().into_bytes())]);
        let m = Model::from_str_with(xml, &files).unwrap_or_else(|e| panic!("{i}: {file}\n{e}")).layout;
        assert_eq!(m.mesh_vertnum, [*vertices], "{i}: {file}");
        assert_eq!(&m.mesh_face, faces, "{i}: {file}");
    }
}

/// A chain as deep as MuJoCo's reader takes, and an error beyond.
#[test]
fn chains_of_bodies_are_deep() {
    let chain = |n: usize| {
        let bodies = "<body><joint/><geom size='.1'/>".repeat(n) + &"</body>".repeat(n);
        Model::from_str(&format!("<mujoco><worldbody>{bodies}</worldbody></mujoco>"))
    };
    assert_eq!(chain(300).expect("compiles").layout.size.nv, 300);
    assert!(chain(600).is_err_and(|e| e.to_string().contains("nested more than")));
}

#[test]
fn scaled_frames_are_refused_by_name_and_place() {
    for (attribute, place) in [("scale='2'", 51), ("massscale='3'", 55)] {
        let text =
            format!("<mujoco><worldbody><frame name='f' {attribute}><geom size='.1'/></frame></worldbody></mujoco>");
        let errors = Model::from_str(&text).expect_err("refused").to_string();
        let name = attribute.split('=').next().expect("a name");
        assert!(errors.contains(&format!("unsupported: frame/{name} of \"f\"")), "{place}: {errors}");
    }
}

/// Every kind of unsupported feature is there once, with its number, however often the first one is.
#[test]
fn every_kind_of_unsupported_feature_is_listed() {
    let joint = "<body><joint springyield='1'/><geom size='.1'/></body>".repeat(150);
    let text = format!("<mujoco><option density='1'/><worldbody>{joint}</worldbody></mujoco>");
    let listed: Vec<String> = model(&text).unsupported.iter().map(|e| e.kind.to_string()).collect();
    assert_eq!(listed.len(), 2, "{listed:?}");
    assert!(listed[1].contains("springyield of joint and 149 more of this kind"), "{listed:?}");
}

#[test]
fn inheritrange_asks_for_a_dyntype() {
    for (dyntype, loads) in
        [("none", true), ("filterexact", true), ("integrator", true), ("filter", false), ("user", false)]
    {
        let text = format!(
            "<mujoco><worldbody><body><joint name='j' range='-30 30'/><geom size='.1'/></body></worldbody><actuator>\
             <general joint='j' inheritrange='1' gainprm='5' biasprm='0 -5' biastype='affine' dyntype='{dyntype}'/>\
             </actuator></mujoco>"
        );
        assert_eq!(Model::from_str(&text).is_ok(), loads, "{dyntype}");
    }
    let text = "<mujoco><worldbody><body><joint name='j' range='-30 30'/><geom size='.1'/></body></worldbody><actuator>\
                <position joint='j' inheritrange='1' ctrllimited='true'/></actuator></mujoco>";
    near(&model(text).layout.actuator_ctrlrange, &[-30f64.to_radians(), 30f64.to_radians()], "inherited");
}

/// Spellings of infinity, and the ends of ranges that may be so.
#[test]
fn ends_of_ranges_may_be_infinite() {
    let joint = |attributes: &str| {
        Model::from_str(&format!(
            "<mujoco><worldbody><body><joint name='j' type='slide' {attributes}/><geom size='.1'/></body></worldbody>\
             </mujoco>"
        ))
    };
    for word in ["inf", "+inf", "Inf", "INF", "infinity", "+Infinity", "INFINITY"] {
        let m = joint(&format!("range='0 {word}'")).unwrap_or_else(|e| panic!("{word}: {e}"));
        assert_eq!((m.layout.jnt_limited[0], &m.layout.jnt_range[..]), (1, &[0.0, f64::INFINITY][..]), "{word}");
    }
    for word in ["nan", "1e999", "-1e999", "infin", "1.5inf"] {
        assert!(joint(&format!("range='0 {word}'")).is_err(), "{word}");
    }
    let (up, down) = (f64::INFINITY, f64::NEG_INFINITY);
    for (range, limited, ends) in [
        ("-inf inf", 1, [down, up]),
        ("-inf -1", 1, [down, -1.0]),
        ("inf inf", 0, [up, up]),
        ("-inf -inf", 0, [down, down]),
        ("inf 0", 0, [up, 0.0]),
    ] {
        let m = joint(&format!("range='{range}' actuatorfrcrange='{range}'")).expect(range).layout;
        assert_eq!((m.jnt_limited[0], m.jnt_actfrclimited[0]), (limited, limited), "{range}");
        assert_eq!((&m.jnt_range[..], &m.jnt_actfrcrange[..]), (&ends[..], &ends[..]), "{range}");
    }
    assert!(joint("range='inf inf' limited='true'").is_err());
    for other in ["margin='inf'", "armature='inf'", "pos='0 0 inf'", "solreflimit='inf 1'", "ref='-inf'"] {
        let error = joint(other).expect_err(other).to_string();
        assert!(error.contains("is not a finite number"), "{other}: {error}");
    }
}

/// A file in a wide encoding says so, as the main file, an included one and an attached one.
#[test]
fn wide_encodings_are_named() {
    let main = "<mujoco><include file='part.xml'/></mujoco>";
    let attached = "<mujoco><asset><model name='p' file='part.xml'/></asset><worldbody><attach model='p' prefix='a'/>\
                    </worldbody></mujoco>";
    let part = "<mujoco><worldbody/></mujoco>";
    let little = |mark: &[u8]| [mark, &part.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>()].concat();
    let big = |mark: &[u8]| [mark, &part.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>()].concat();
    for bytes in [little(&[0xff, 0xfe]), little(&[]), big(&[0xfe, 0xff]), big(&[])] {
        let alone = Model::from_reader(&bytes[..]).expect_err("refused").to_string();
        let files = BTreeMap::from([("part.xml".to_owned(), bytes)]);
        let inside = [main, attached].map(|xml| Model::from_str_with(xml, &files).expect_err("refused").to_string());
        for error in inside.into_iter().chain([alone]) {
            assert!(error.contains("the file is UTF-16, not UTF-8"), "{error}");
            assert!(error.contains("save it as UTF-8"), "{error}");
        }
    }
    assert!(Model::from_reader("\u{feff}<mujoco/>".as_bytes()).is_ok());
}

/// An attribute that stands twice is named, with both places.
#[test]
fn an_attribute_that_stands_twice() {
    let text =
        "<mujoco>\n<worldbody>\n <geom name='size=' size='1'\n type='box'pos='0 0 0' size = '2'/></worldbody></mujoco>";
    let errors = Model::from_str(text).expect_err("refused");
    let error = &errors.errors[0];
    assert_eq!((error.line, error.column), (4, 24), "{error}");
    let text = error.to_string();
    assert!(text.contains("a second `size` of <geom>; the first is in line 3, column 21"), "{text}");
    assert!(text.contains("keep one of them"), "{text}");
}
