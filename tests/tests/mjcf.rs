//! The MJCF reader: messages for every kind of mistake, real models, arbitrary damage.

use std::path::{Path, PathBuf};

use kiloworld_mjcf::{ErrorKind, Errors, Spec, read_path, read_str};
use kiloworld_tests::corpus::{corpus, corpus_models, root};
use proptest::prelude::*;

fn repo(path: &str) -> PathBuf {
    root().canonicalize().unwrap().join(path)
}

/// Each file in `mjcf/err` is refused with the messages of its snapshot: place, cause, text at fault, remedy.
#[test]
fn mistakes_are_explained() {
    let dir = repo("tests/mjcf/err");
    let mut files: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "xml"));
    files.sort();
    assert!(files.len() >= 20);
    for file in files {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let errors = read_path(&file).expect_err(name);
        for e in &errors.errors {
            assert!(e.line >= 1 && e.column >= 1, "{name}: {e}");
            let start = errors.sources.line_col(e.span);
            assert_eq!((start.line, start.column), (e.line, e.column), "{name}");
        }
        let text = errors.to_string().replace(dir.to_str().unwrap(), "…");
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(format!("mjcf_err__{name}"), text);
        });
    }
}

#[test]
fn a_file_that_is_not_there_is_an_error() {
    let errors = read_path(Path::new("/no/such/model.xml")).unwrap_err();
    assert!(matches!(errors.errors[0].kind, ErrorKind::Io(_)));
    assert!(errors.to_string().starts_with("/no/such/model.xml:1:1: cannot read the file"));
}

#[test]
fn nesting_without_end_is_an_error_not_a_crash() {
    for depth in [250, 300, 490, 510, 5_000, 200_000] {
        let text =
            format!("<mujoco><worldbody>{}{}</worldbody></mujoco>", "<body>".repeat(depth), "</body>".repeat(depth));
        assert_eq!(read_str(&text, "deep.xml").is_ok(), depth < 500, "{depth}");
    }
}

/// Bodies, joints, geoms, sites, actuators, tendons, equalities, sensors, as MuJoCo 4.0.0 counts them.
const COUNTS: &[(&str, [usize; 8])] = &[
    ("aero_hand_cube", [25, 17, 98, 92, 7, 20, 5, 21]),
    ("aloha", [21, 16, 95, 7, 14, 0, 2, 0]),
    ("ant", [14, 9, 14, 0, 8, 0, 0, 0]),
    ("balloons", [6, 5, 11, 6, 0, 4, 0, 0]),
    ("cartpole", [3, 2, 5, 0, 1, 0, 0, 0]),
    ("dog", [63, 75, 296, 12, 38, 8, 0, 13]),
    ("fetch_pick_place", [33, 16, 24, 3, 2, 0, 1, 0]),
    ("franka_arrange_boxes", [35, 20, 99, 9, 8, 1, 3, 46]),
    ("fruitfly", [68, 103, 160, 15, 78, 8, 0, 15]),
    ("g1", [31, 30, 72, 4, 29, 0, 0, 4]),
    ("go1_rough_terrain", [14, 13, 51, 6, 12, 0, 0, 21]),
    ("go2", [14, 13, 57, 1, 12, 0, 0, 38]),
    ("half_cheetah", [8, 9, 9, 0, 6, 0, 0, 0]),
    ("humanoid", [17, 22, 20, 0, 21, 2, 0, 0]),
    ("jaco", [8, 6, 12, 1, 0, 0, 0, 0]),
    ("myoarm_bionic", [73, 65, 196, 532, 80, 75, 20, 1]),
    ("openarm_balance", [24, 20, 101, 3, 16, 0, 3, 0]),
    ("panda", [12, 9, 82, 0, 8, 1, 1, 0]),
    ("quadruped", [19, 18, 26, 30, 12, 12, 4, 32]),
    ("robot_arm", [12, 9, 20, 7, 9, 0, 0, 9]),
    ("safety_car", [5, 4, 9, 1, 2, 0, 0, 9]),
    ("sawyer_pick_place", [34, 10, 37, 8, 2, 0, 1, 0]),
    ("shadow_hand_block", [30, 26, 49, 12, 20, 44, 0, 29]),
    ("three_humanoids", [49, 66, 58, 0, 63, 0, 0, 0]),
];

fn counts(spec: &Spec) -> [usize; 8] {
    [
        spec.bodies.len(),
        spec.joints().count(),
        spec.geoms().count(),
        spec.sites().count(),
        spec.actuators.len(),
        spec.tendons.len(),
        spec.equalities.len(),
        spec.sensors.len(),
    ]
}

#[test]
fn every_model_of_the_corpus_reads_with_mujocos_counts() {
    let Some(dir) = corpus() else { return };
    let models = corpus_models(&dir);
    assert!(!models.is_empty());
    for (name, path) in models {
        let (spec, _) = read_path(&path).unwrap_or_else(|e| panic!("{name}:\n{e}"));
        let want = COUNTS.iter().find(|(n, _)| *n == name).unwrap().1;
        assert_eq!(counts(&spec), want, "{name}");
    }
}

#[test]
fn every_model_of_ours_reads() {
    for dir in ["models", "tests/mjcf/ok"] {
        for entry in std::fs::read_dir(repo(dir)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "xml") {
                read_path(&path).unwrap_or_else(|e| panic!("{e}"));
            }
        }
    }
}

/// Models to damage: ours, always there.
fn victims() -> Vec<String> {
    ["humanoid", "quadruped", "servo", "four_bar", "gripper_pinch"]
        .map(|m| std::fs::read_to_string(repo(&format!("models/{m}.xml"))).unwrap())
        .to_vec()
}

/// Whatever came out, its places lie in the text.
fn check_places(result: Result<(Spec, Vec<kiloworld_mjcf::Warning>), Errors>) {
    if let Err(errors) = result {
        assert!(!errors.errors.is_empty());
        for e in &errors.errors {
            let text = &errors.sources.files[e.span.file as usize].text;
            assert!(e.span.start <= e.span.end && e.span.end as usize <= text.len(), "{e}");
        }
        assert!(!errors.to_string().is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Random bytes over random places: an error or a model, never a panic.
    #[test]
    fn damaged_bytes_never_panic(
        which in 0usize..5,
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..3), 1..12),
    ) {
        let mut bytes = victims()[which].clone().into_bytes();
        for (at, byte, how) in edits {
            let i = at.index(bytes.len());
            match how {
                0 => bytes[i] = byte,
                1 => bytes.insert(i, byte),
                _ => { bytes.remove(i); }
            }
        }
        check_places(read_str(&String::from_utf8_lossy(&bytes), "damaged.xml"));
    }

    /// Values taken out, doubled, or replaced by others that are well-formed: mostly past the XML parser.
    #[test]
    fn damaged_values_never_panic(
        which in 0usize..5,
        edits in prop::collection::vec((any::<prop::sample::Index>(), "[-0-9. a-zé<>&;\"]{0,12}"), 1..6),
    ) {
        let mut text = victims()[which].clone();
        for (at, new) in edits {
            let quotes: Vec<usize> = text.match_indices('"').map(|(i, _)| i).collect();
            let pairs = quotes.len() / 2;
            let k = at.index(pairs) * 2;
            let new = new.replace('"', "");
            text.replace_range(quotes[k] + 1..quotes[k + 1], &new);
        }
        check_places(read_str(&text, "damaged.xml"));
    }

    /// Words of MJCF in any order.
    #[test]
    fn soup_never_panics(words in prop::collection::vec(prop::sample::select(SOUP), 0..60)) {
        let text = format!("<mujoco>{}</mujoco>", words.concat());
        check_places(read_str(&text, "soup.xml"));
    }
}

const SOUP: &[&str] = &[
    "<worldbody>",
    "</worldbody>",
    "<body>",
    "<body name='a'>",
    "</body>",
    "<geom size='1'/>",
    "<joint/>",
    "<freejoint/>",
    "<frame>",
    "</frame>",
    "<replicate count='3'>",
    "<replicate count='3' sep='-'>",
    "</replicate>",
    "<default>",
    "<default class='c'>",
    "</default>",
    "<actuator>",
    "</actuator>",
    "<motor joint='j'/>",
    "<position joint='j'/>",
    "<joint name='j'/>",
    "<tendon>",
    "</tendon>",
    "<fixed>",
    "</fixed>",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "<equality>",
    "</equality>",
    "<weld body1='a'/>",
    "<include file='x'/>",
    "<?xml?>",
    "é",
    "&amp;",
];
