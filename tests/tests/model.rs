//! The compiler against MuJoCo, field by field; the static pair list; files with mistakes.

#![expect(clippy::print_stdout, reason = "the table of errors, shown with --nocapture")]

use kiloworld_layout::{Field, Slice};
use kiloworld_model::Model;
use kiloworld_tests::compiled::compare;
use kiloworld_tests::corpus::{corpus, corpus_golden, made_golden, root};
use kiloworld_tests::golden::Golden;
use proptest::prelude::*;

/// Models of our own with compiled fields in `tests/golden/NAME.json`, each with what it covers in its first line.
const OWN: [&str; 14] = [
    "model_orientations",
    "model_inertia",
    "model_align",
    "model_defaults",
    "model_actuators",
    "model_constraints",
    "model_meshes",
    "model_fitaabb",
    "model_paths",
    "model_discard",
    "model_fuse",
    "model_keys",
    "model_builtin",
    "model_attached",
];

/// Relative to the element's row, or to a thousandth of the field's largest value.
const TOLERANCE: f64 = 1e-9;
/// The same for random models: their inertia matrices have condition numbers up to 1e9, which carries rounding that far.
const RANDOM_TOLERANCE: f64 = 1e-7;

/// Prints a line of the table, and fails with every field that differs.
fn agree(name: &str, model: &Model, golden: &Golden) {
    let (errors, faults) = compare(model, golden, TOLERANCE);
    let line: Vec<String> = errors.iter().map(|(g, e)| format!("{g} {e:.0e}")).collect();
    println!("{name}: {}", line.join(" | "));
    assert!(faults.is_empty(), "{name}: {} fields differ\n{}", faults.len(), faults.join("\n"));
}

fn own(name: &str) -> (Model, Golden) {
    let xml = root().join(format!("tests/mjcf/ok/{name}.xml"));
    let model = Model::from_path(&xml).unwrap_or_else(|e| panic!("{e}"));
    (model, Golden::read_fields(&root().join(format!("tests/golden/{name}.json"))))
}

#[test]
fn fields_of_our_models_are_mujocos() {
    for name in OWN {
        let (model, golden) = own(name);
        agree(name, &model, &golden);
    }
}

#[test]
fn fields_of_corpus_models_are_mujocos() {
    let Some(dir) = corpus() else { return };
    for name in ["humanoid", "ant", "half_cheetah", "cartpole"] {
        let xml = dir.join(name).join(format!("{name}.xml"));
        // a model that is missing is said by the corpus
        let (true, Some(golden)) = (xml.is_file(), corpus_golden(name)) else { continue };
        let model = Model::from_path(xml).unwrap_or_else(|e| panic!("{e}"));
        agree(name, &model, &Golden::read(&golden));
        model.check_supported().unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

/// Random models: the same fields where MuJoCo takes the model, a refusal where it refuses.
#[test]
fn random_models_are_compiled_as_by_mujoco() {
    let Some(dir) = made_golden("random") else { return };
    let (mut compared, mut worst) = (0, 0.0_f64);
    for entry in std::fs::read_dir(&dir).expect("readable") {
        let xml = entry.expect("readable").path();
        if xml.extension().is_none_or(|e| e != "xml") {
            continue;
        }
        let (model, golden) = (Model::from_path(&xml), xml.with_extension("json"));
        if !golden.exists() {
            assert!(model.is_err(), "{}: MuJoCo refuses this model", xml.display());
            continue;
        }
        let model = model.unwrap_or_else(|e| panic!("{e}"));
        let (errors, faults) = compare(&model, &Golden::read_fields(&golden), RANDOM_TOLERANCE);
        assert!(faults.is_empty(), "{}: {}", xml.display(), faults.join("\n"));
        worst = errors.values().fold(worst, |a, &b| a.max(b));
        compared += 1;
    }
    assert!(compared >= 300, "{compared} models are too few");
    println!("{compared} random models: {worst:.0e}");
}

/// A comparison that cannot fail proves nothing: each group with one number off by 1e-7.
#[test]
fn a_planted_fault_in_any_field_is_found() {
    for name in OWN {
        let (model, golden) = own(name);
        for info in
            Field::TABLE.iter().filter(|f| f.is_model() && golden.arrays.contains_key(&format!("model/{}", f.name)))
        {
            let mut planted = model.clone();
            match planted.layout.get_mut(info.field) {
                Some(kiloworld_layout::SliceMut::I(v)) if !v.is_empty() => v[0] += 1,
                Some(kiloworld_layout::SliceMut::F(v)) if !v.is_empty() => {
                    let i = v.len() / 2;
                    v[i] += 1e-7 * v.iter().fold(1e-3_f64, |a, x| a.max(x.abs()));
                }
                _ => continue,
            }
            let faults = compare(&planted, &golden, TOLERANCE).1;
            assert!(
                faults.iter().any(|f| f.starts_with(info.name)),
                "{name}: {} changed and nothing was found",
                info.name
            );
        }
    }
}

#[test]
fn static_pairs_hold_every_contact_in_order() {
    for name in ["humanoid", "ant", "half_cheetah"] {
        let Some(path) = corpus_golden(name) else { continue };
        let golden = Golden::read(&path);
        let m = golden.model();
        for k in 0..golden.nstate() {
            let mut at = 0;
            for c in golden.ragged("out/contact_geom", "out/ncon", k).chunks(2) {
                let is = |p: usize| (f64::from(m.coll_geom1[p]), f64::from(m.coll_geom2[p])) == (c[0], c[1]);
                at = (at..m.size.ncoll).find(|&p| is(p)).unwrap_or_else(|| panic!("{name}: {c:?} not in order"));
            }
        }
    }
}

/// One mistake each; see the snapshots for what is said about it.
const MISTAKES: &[(&str, &str)] = &[
    ("timestep", r#"<option timestep="0" impratio="-1" iterations="-2"/><worldbody/>"#),
    (
        "geom_size",
        r#"<worldbody><geom size="-1"/><geom type="box" size=".1 .1 0"/><geom type="plane" size="1 1 0"/></worldbody>"#,
    ),
    ("geom_mass", r#"<worldbody><geom size="1" mass="-1"/><geom size="1" density="-3"/></worldbody>"#),
    ("condim", r#"<worldbody><geom size="1" condim="2"/></worldbody>"#),
    ("nan", r#"<worldbody><geom size="nan"/></worldbody>"#),
    (
        "massless_body",
        r#"<worldbody><body name="b"><joint/></body><body><joint/><geom size="1" mass="0"/></body></worldbody>"#,
    ),
    ("inertia", r#"<worldbody><body><inertial pos="0 0 0" mass="1" diaginertia="1 1 3"/></body></worldbody>"#),
    (
        "negative_inertia",
        r#"<worldbody><body><inertial pos="0 0 0" mass="-1" diaginertia="1 1 1"/></body></worldbody>"#,
    ),
    ("zero_quaternion", r#"<worldbody><body quat="0 0 0 0"/><geom size="1" quat="0 0 0 0"/></worldbody>"#),
    (
        "zero_axis",
        r#"<worldbody><body zaxis="0 0 0"><joint axis="0 0 0"/><geom size="1" axisangle="0 0 0 1"/></body></worldbody>"#,
    ),
    (
        "parallel_axes",
        r#"<worldbody><site xyaxes="1 0 0 2 0 0"/><site type="capsule" size=".1" fromto="1 1 1 1 1 1"/></worldbody>"#,
    ),
    (
        "range",
        r#"<worldbody><body><geom size="1"/><joint name="j" limited="true" range="20 -20" actuatorfrclimited="true" actuatorfrcrange="1 -1"/></body></worldbody>
      <actuator><motor joint="j" ctrllimited="true" ctrlrange="1 -1"/></actuator>"#,
    ),
    (
        "range_without_limited",
        r#"<compiler autolimits="false"/><worldbody><body><geom size="1"/><joint range="-20 20"/></body></worldbody>"#,
    ),
    ("limited_without_range", r#"<worldbody><body><geom size="1"/><joint limited="true"/></body></worldbody>"#),
    ("ball_range", r#"<worldbody><body><geom size="1"/><joint type="ball" range="10 20"/></body></worldbody>"#),
    (
        "free_joint",
        r#"<worldbody><body><geom size="1"/><freejoint/><joint/><body><geom size="1"/><freejoint/></body></body></worldbody>"#,
    ),
    ("ball_then_hinge", r#"<worldbody><body><geom size="1"/><joint type="ball"/><joint/></body></worldbody>"#),
    (
        "too_many_dofs",
        r#"<worldbody><body><geom size="1"/><joint type="slide"/><joint type="slide"/><joint/><joint/><joint/><joint/><joint/></body></worldbody>"#,
    ),
    (
        "moving_plane",
        r#"<worldbody><body><geom size="1"/><freejoint/><geom type="plane" size="1 1 1"/></body></worldbody>"#,
    ),
    ("mocap", r#"<worldbody><body><body mocap="true"/></body></worldbody>"#),
    (
        "singular",
        r#"<worldbody><body><geom size="1" pos="1 0 0"/><joint name="a"/><joint name="b"/></body></worldbody>"#,
    ),
    ("springdamper", r#"<worldbody><body><geom size="1"/><joint springdamper="1 0"/></body></worldbody>"#),
    (
        "actuator",
        r#"<worldbody><body><geom size="1"/><joint name="j"/></body></worldbody>
      <actuator><position joint="j" inheritrange="1"/><general joint="j" actdim="1"/><velocity joint="j" kv="-1"/></actuator>"#,
    ),
    (
        "tendon",
        r#"<worldbody><body><geom size="1"/><joint name="b" type="ball"/></body><body><geom size="1"/><joint name="j"/></body></worldbody>
      <tendon><fixed springlength="2 1"><joint joint="j" coef="1"/><joint joint="j" coef="1"/></fixed><fixed><joint joint="b" coef="1"/></fixed></tendon>"#,
    ),
    (
        "equality",
        r#"<worldbody><body name="a"><geom size="1"/><joint name="b" type="ball"/></body></worldbody>
      <equality><joint joint1="b"/><weld body1="a" body2="a"/></equality>"#,
    ),
    (
        "keyframe",
        r#"<worldbody><body><geom size="1"/><joint name="j"/></body></worldbody><actuator><motor joint="j"/></actuator>
      <keyframe><key qpos="1 2" qvel="1" ctrl="1 2 3"/></keyframe>"#,
    ),
];

#[test]
fn mistakes_are_explained() {
    for (name, body) in MISTAKES {
        let xml = format!("<mujoco>\n  {body}\n</mujoco>");
        let errors = Model::from_str(&xml).expect_err(name);
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(format!("model_err__{name}"), errors.to_string());
        });
    }
}

#[test]
fn unsupported_features_are_refused_by_name() {
    let xml = r#"<mujoco>
  <option integrator="implicit" density="1.2"><flag sleep="enable"/></option>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="b"><freejoint/><geom name="c" type="cylinder" size=".1 .1"/><geom type="ellipsoid" size=".1 .1 .1" contype="0" conaffinity="0"/><site name="s"/></body>
    <body name="h"><joint name="j" damping="1 2" springyield="1"/><geom size=".1"/><site name="t"/></body>
  </worldbody>
  <tendon><spatial name="sp"><site site="s"/><site site="t"/></spatial><fixed name="f" armature="1"><joint joint="j" coef="1"/></fixed></tendon>
  <actuator><muscle name="m" joint="j" lengthrange="0 1"/><motor site="s"/><motor joint="j" armature=".1"/></actuator>
  <sensor><gyro site="s"/></sensor>
</mujoco>"#;
    let model = Model::from_str(xml).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(model.field("geom_size"), Some(Slice::F(&model.layout.geom_size)));
    assert_eq!(model.warnings.len(), 1);
    let errors = model.check_supported().expect_err("refused");
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("model_unsupported", errors.to_string());
    });
}

/// Fields changed in place and constants recomputed are those of a file that says so.
#[test]
fn constants_follow_changed_fields() {
    let xml = |mass: &str, pos: &str, reference: &str| {
        format!(
            r#"<mujoco><worldbody><body name="a" pos="0 0 {pos}"><joint name="h" ref="{reference}" axis="0 1 0"/><inertial pos=".1 0 0" mass="{mass}" diaginertia="1 1 1"/>
            <body name="b" pos=".3 0 0"><joint name="s" type="slide" axis="1 0 1"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></body>
            <body name="c"><joint type="slide"/><inertial pos="0 0 0" mass="{mass}" diaginertia="1 1 1"/></body></worldbody>
            <tendon><fixed name="t"><joint joint="h" coef="1"/><joint joint="s" coef="2"/></fixed></tendon>
            <equality><connect body1="b" anchor=".1 0 0"/><weld body1="a" body2="c"/></equality>
            <actuator><motor tendon="t"/></actuator></mujoco>"#
        )
    };
    let model = Model::from_str(&xml("2", "1", "10")).expect("compiles");
    let want = Model::from_str(&xml("5", "1.5", "30")).expect("compiles").layout;
    let mut fields = model.layout.clone();
    fields.body_mass.clone_from(&want.body_mass);
    fields.body_pos.clone_from(&want.body_pos);
    fields.qpos0.clone_from(&want.qpos0);
    assert_ne!(fields.body_invweight0, want.body_invweight0);
    model.set_const(&mut fields).expect("regular");
    // statistics stay as they were compiled
    for name in ["stat_meaninertia", "stat_meanmass", "stat_meansize", "stat_extent", "stat_center"] {
        let field = Field::from_name(name).expect("a field");
        if let (Some(kiloworld_layout::SliceMut::F(a)), Some(Slice::F(b))) = (fields.get_mut(field), want.get(field)) {
            a.clone_from(&b.to_vec());
        }
    }
    assert_eq!(fields, want);
    fields.body_mass.fill(0.0);
    fields.body_inertia.fill(0.0);
    assert!(model.set_const(&mut fields).is_err());
}

/// References are checked where files are read; a specification made by hand can still be wrong.
#[test]
fn dangling_references_of_a_specification_are_errors() {
    let mut spec = kiloworld_mjcf::Spec { bodies: vec![kiloworld_mjcf::spec::Body::default()], ..Default::default() };
    let transmission = kiloworld_mjcf::spec::Transmission::Joint("nowhere".into());
    spec.actuators.push(kiloworld_mjcf::spec::Actuator { transmission, ..Default::default() });
    let errors = Model::from_spec(&spec).expect_err("no such joint");
    assert!(errors.to_string().contains("there is no joint named `nowhere`"), "{errors}");
    spec.bodies[0].parent = 1;
    assert!(Model::from_spec(&spec).is_err(), "a loop");
    spec.bodies.clear();
    assert!(Model::from_spec(&spec).is_err(), "no world");
}

#[test]
fn names_lead_to_ids_and_back() {
    let (model, _) = own("model_constraints");
    assert_eq!(model.id(kiloworld_model::Kind::Body, "world"), Some(0));
    // pairs are sorted by their bodies
    for (kind, name, id) in [
        (kiloworld_model::Kind::Joint, "ball", 2),
        (kiloworld_model::Kind::Pair, "p2", 0),
        (kiloworld_model::Kind::Equality, "e11", 10),
        (kiloworld_model::Kind::Tendon, "t3", 2),
        (kiloworld_model::Kind::Key, "k1", 0),
    ] {
        assert_eq!(model.id(kind, name), Some(id), "{name}");
        assert_eq!(model.names.of(kind).name(id), Some(name));
    }
    assert_eq!(model.id(kiloworld_model::Kind::Geom, "nothing"), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// A model with any of its numbers replaced or any of its lines lost compiles or is explained, and never panics.
    #[test]
    fn damaged_models_do_not_panic(model in 0..OWN.len(), at in 0..400_usize, with in 0..9_usize, line in 0..80_usize) {
        let numbers = ["0", "-1", "1e308", "-1e308", "1e-308", "1e19", "1 2 3 4 5 6 7 8", "", "2147483647"];
        let text = std::fs::read_to_string(root().join(format!("tests/mjcf/ok/{}.xml", OWN[model]))).expect("readable");
        let lines: Vec<&str> = text.lines().enumerate().filter(|&(i, _)| i != line).map(|(_, l)| l).collect();
        let text = if line % 4 == 0 { lines.join("\n") } else { text };
        let mut values = text.split('"').map(str::to_owned).collect::<Vec<_>>();
        let numeric: Vec<usize> = (1..values.len()).step_by(2).filter(|&i| values[i].parse::<f64>().is_ok() || values[i].contains(' ')).collect();
        if let Some(&i) = numeric.get(at % numeric.len().max(1)) {
            values[i] = numbers[with].to_owned();
        }
        match Model::from_str(&values.join("\"")) {
            Ok(model) => prop_assert!(model.layout.size.nbody > 0),
            Err(e) => prop_assert!(!e.errors.is_empty()),
        }
    }
}
