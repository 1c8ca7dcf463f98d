//! The stiff rule of welds: which rows it takes, that it follows the time step, and what is said of the rows.

use kiloworld_layout::Field;
use kiloworld_model::Model;
use kiloworld_sim::{
    Backend, Batch, BatchBuilder, Precision, RowRule, STIFF_SOLIMP, Welds, equalities, rule, stiff_solref,
};
use kiloworld_tests::adapter;

/// Two bodies held by every kind of row: nothing written, the defaults written out, one thing written, by a default class.
const ROWS: &str = r#"<mujoco><option timestep="0.002"/>
  <default>
    <default class="soft"><equality solref="0.05 1"/></default>
    <default class="plain"><equality solref="0.02 1" solimp="0.9 0.95 0.001 0.5 2"/></default>
  </default>
  <worldbody>
    <body name="a"><freejoint/><geom size="0.1" mass="1"/><site name="s"/></body>
    <body name="b" pos="1 0 0"><joint name="j"/><geom size="0.1" pos="0.1 0 0" mass="2"/><site name="t"/></body>
  </worldbody>
  <equality>
    <weld body1="a" body2="b"/>
    <connect body1="a" body2="b" anchor="0 0 0"/>
    <weld site1="s" site2="t"/>
    <weld body1="a" body2="b" solref="0.02 1" solimp="0.9 0.95 0.001 0.5 2"/>
    <weld body1="a" body2="b" solref="0.04 1"/>
    <weld body1="a" body2="b" solimp="0.95 0.99 0.001 0.5 2"/>
    <weld class="soft" body1="a" body2="b"/>
    <weld class="plain" body1="a" body2="b"/>
    <joint joint1="j"/>
  </equality></mujoco>"#;

/// Which of them the rule takes.
const STIFF: [usize; 5] = [0, 1, 2, 3, 7];

fn build(f: impl Fn(BatchBuilder<'_>) -> BatchBuilder<'_>) -> Batch {
    let model = Model::from_str(ROWS).expect("reads");
    f(Batch::builder(&model).backend(Backend::Cpu)).build().expect("a batch")
}

#[test]
fn what_a_file_leaves_open_is_stiff_and_what_it_writes_stands() {
    let model = Model::from_str(ROWS).expect("reads");
    let file = &model.layout;
    for (welds, taken) in [(Welds::Stiff, &STIFF[..]), (Welds::Mujoco, &[])] {
        let batch = build(|b| b.welds(welds));
        assert_eq!(batch.stiff_rows(), taken);
        let m = batch.model();
        for e in 0..m.size.neq {
            let (solref, solimp) = (&m.eq_solref[2 * e..2 * e + 2], &m.eq_solimp[5 * e..5 * e + 5]);
            if taken.contains(&e) {
                assert_eq!((solref, solimp), (&stiff_solref(0.002)[..], &STIFF_SOLIMP[..]), "row {e}");
            } else {
                let of_file = (&file.eq_solref[2 * e..2 * e + 2], &file.eq_solimp[5 * e..5 * e + 5]);
                assert_eq!((solref, solimp), of_file, "row {e}");
            }
        }
    }
    assert_eq!(rule(file, 0, Welds::Stiff), RowRule::Stiff);
    assert_eq!(rule(file, 0, Welds::Mujoco), RowRule::Mujoco);
    assert_eq!([4, 5, 6].map(|e| rule(file, e, Welds::Stiff)), [RowRule::File; 3]);
    assert_eq!(rule(file, 8, Welds::Stiff), RowRule::Mujoco, "a joint equality is no weld");
    // the compiled model itself stays MuJoCo's
    assert!(file.eq_solref[..2].iter().eq(&[0.02, 1.0]));
}

#[test]
fn stiff_rows_follow_the_time_step() {
    let first = |batch: &Batch| batch.model().eq_solref[..2].to_vec();
    assert_eq!(first(&build(|b| b)), stiff_solref(0.002));
    assert_eq!(first(&build(|b| b.timestep(0.001))), stiff_solref(0.001));

    let mut batch = build(|b| b.nworld(3).per_world(Field::opt_timestep).precision(Precision::F64));
    let neq = batch.model().size.neq;
    let rows = |batch: &mut Batch| batch.get(Field::eq_solref).expect("per world");
    for steps in [[0.001, 0.002, 0.004], [0.002, 0.001, 0.0005]] {
        batch.set(Field::opt_timestep, &steps).expect("set");
        let solref = rows(&mut batch);
        for (w, &h) in steps.iter().enumerate() {
            let of = |e: usize| &solref[2 * (w * neq + e)..2 * (w * neq + e) + 2];
            STIFF.iter().for_each(|&e| assert_eq!(of(e), stiff_solref(h), "world {w}, row {e}"));
            assert_eq!(of(4), [0.04, 1.0], "world {w}: what the file writes stands");
        }
    }
    // rows that the user has set are the user's, in those worlds
    let mine = [0.1, 1.0].repeat(neq);
    batch.set_rows(Field::eq_solref, &[1], &mine).expect("set");
    batch.set_rows(Field::opt_timestep, &[2, 1], &[0.001, 0.003]).expect("set");
    let solref = rows(&mut batch);
    assert_eq!(solref[..2], stiff_solref(0.002));
    assert_eq!(solref[2 * neq..4 * neq], mine);
    assert_eq!(solref[4 * neq..4 * neq + 2], stiff_solref(0.001));
}

#[test]
fn the_device_follows_the_time_step() {
    let Some(gpu) = adapter::gpu() else { return };
    let model = Model::from_str(ROWS).expect("reads");
    let builder = Batch::builder(&model).nworld(2).backend(Backend::Gpu).gpu(gpu).per_world(Field::opt_timestep);
    let mut batch = builder.build().expect("a batch");
    batch.set(Field::opt_timestep, &[0.001, 0.004]).expect("set");
    let solref = batch.get(Field::eq_solref).expect("per world");
    let neq = batch.model().size.neq;
    for (w, h) in [0.001, 0.004].into_iter().enumerate() {
        let want = stiff_solref(h).map(|x| f64::from(x as f32));
        assert_eq!(&solref[2 * w * neq..2 * w * neq + 2], want, "world {w}");
    }
}

#[test]
fn what_is_no_rule_or_no_time_step_is_refused() {
    let error = "rigid".parse::<Welds>().expect_err("no rule").to_string();
    assert!(error.contains("`rigid`") && error.contains("`stiff`") && error.contains("`mujoco`"), "{error}");
    assert_eq!("mujoco".parse::<Welds>().expect("a rule"), Welds::Mujoco);
    let model = Model::from_str(ROWS).expect("reads");
    for h in [0.0, -0.001, f64::NAN, f64::INFINITY] {
        let error = Batch::builder(&model).backend(Backend::Cpu).timestep(h).build().err().expect("refused");
        assert!(error.to_string().contains("must be positive and finite"), "{error}");
    }
    let mut batch = build(|b| b.nworld(2).per_world(Field::opt_timestep));
    assert!(batch.set(Field::opt_timestep, &[0.001, 0.0]).is_err());
}

fn named(name: &str) -> Model {
    let path = kiloworld_tests::corpus::root().join("models").join(name);
    Model::from_path(&path).unwrap_or_else(|e| panic!("{e}"))
}

/// Whether two numbers agree to a part in a million.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * b.abs()
}

#[test]
fn a_row_is_described_by_what_the_pull_test_measures() {
    let model = named("weld_pull.xml");
    let stiff = &equalities(&model, Welds::Stiff, None)[0];
    // 3 kN stretch it 0.001519 mm, and 7.000 mm with MuJoCo's row
    assert!(close(stiff.weight, 1.0 / 15.0 + 1.0 / 20.0), "{stiff:?}");
    let stretch = |c: Option<f64>| 3e6 * c.expect("a weld resists a force");
    assert!((stretch(stiff.compliance) - 0.001519).abs() < 1e-6, "{stiff:?}");
    assert!(close(stiff.k, 230_400.0 / (0.999 * 0.999)) && close(stiff.d, 0.999), "{stiff:?}");
    let soft = &equalities(&model, Welds::Mujoco, None)[0];
    assert!((stretch(soft.compliance) - 7.0).abs() < 1e-3, "{soft:?}");
    // it grows with the square of the step
    let slow = &equalities(&model, Welds::Stiff, Some(0.0025))[0];
    assert!(close(stretch(slow.compliance), 4.0 * stretch(stiff.compliance)));
}

#[test]
fn a_moment_turns_a_weld_by_its_rotational_compliance() {
    // a moment about y on a body welded at its centre
    let model = named("weld_anchor.xml");
    let row = &equalities(&model, Welds::Stiff, None)[2];
    let mut batch = Batch::builder(&model).backend(Backend::Cpu).precision(Precision::F64).build().expect("a batch");
    batch.set(Field::eq_active, &[0.0, 0.0, 1.0]).expect("set");
    let mut xfrc = vec![0.0; 12];
    xfrc[10] = 50.0;
    batch.set(Field::xfrc_applied, &xfrc).expect("set");
    batch.step(1600).expect("steps");
    let angle = 2.0 * batch.get(Field::qpos).expect("kept")[5];
    let expected = 50.0 * row.compliance_rotation.expect("a weld resists a moment");
    assert!((angle - expected).abs() < 1e-3 * expected, "{angle} rad, expected {expected}");
}

#[test]
fn weak_welds_are_told_with_a_remedy() {
    let warned = |model: &Model, welds, e: usize| equalities(model, welds, None)[e].warnings.join("; ");
    // a heavy body on a carrier of a gram: no weld holds it
    let carrier = |mass: f64| {
        let text = include_str!("../../models/weld_light.xml").replace("mass=\"1\"", &format!("mass=\"{mass}\""));
        Model::from_str(&text).expect("reads")
    };
    let heavy = warned(&carrier(1000.0), Welds::Stiff, 0);
    for part in ["1000.0000 kg", "`carrier` has 100 %", "make `load` a child of `carrier`", "smaller steps"] {
        assert!(heavy.contains(part), "{part}: {heavy}");
    }
    assert!(warned(&carrier(0.01), Welds::Stiff, 0).is_empty(), "{}", warned(&carrier(0.01), Welds::Stiff, 0));
    // the weld point at the world's origin
    let anchor = named("weld_anchor.xml");
    let origin = warned(&anchor, Welds::Stiff, 0);
    assert!(origin.contains("body1=\"world\" body2=\"b\"") && origin.contains("889 times"), "{origin}");
    assert!(warned(&anchor, Welds::Stiff, 1).is_empty() && warned(&anchor, Welds::Stiff, 2).is_empty());
    // five boxes in a row hang on the first weld, one on the last
    let beam = named("cantilever.xml");
    let rows = equalities(&beam, Welds::Mujoco, None);
    assert_eq!([0, 2, 4].map(|e| rows[e].load.expect("hangs")), [5.0, 3.0, 1.0]);
    assert!(rows[0].warnings.join(" ").contains("leave it to the stiff rule"), "{:?}", rows[0]);
    assert!(equalities(&beam, Welds::Stiff, None).iter().all(|r| r.warnings.is_empty()));
    // a row that the file makes soft
    let file = Model::from_str(
        &include_str!("../../models/cantilever.xml")
            .replace("name=\"w1\"", "name=\"w1\" solref=\"0.02 1\" solimp=\"0.9 0.96 0.001 0.5 2\""),
    );
    let file = warned(&file.expect("reads"), Welds::Stiff, 0);
    assert!(file.contains("write a stiffer solref and solimp, up to solref=\"-230400 -960\""), "{file}");
}

#[test]
fn routes_say_what_was_chosen() {
    let routes = build(|b| b.nworld(5).precision(Precision::F64).lanes(1).control_period(4)).routes();
    assert_eq!((routes.welds.stiff, routes.welds.file, routes.welds.mujoco), (5, 3, 1));
    assert_eq!((routes.nworld, routes.precision, routes.lanes, routes.control_period), (5, "f64", 1, 4));
    let text = routes.to_string();
    for part in [
        "cpu f64",
        "step        2 ms, Euler",
        "Newton, up to 100",
        "pyramidal cone",
        "5 under the stiff rule, 3 from the file",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
