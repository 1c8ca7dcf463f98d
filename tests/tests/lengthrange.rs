//! Ranges of actuators' lengths, which the compiler finds by simulation, against MuJoCo's.

use kiloworld_model::Model;
use kiloworld_tests::compiled::compare;
use kiloworld_tests::corpus::root;
use kiloworld_tests::golden::Golden;

/// Of all fields that no simulation makes.
const TOLERANCE: f64 = 1e-9;
/// Of the ranges, relative to them: a pull ends where a soft limit holds the force, which either solver finds to the tolerance at
/// which it stops (1e-8 in MuJoCo), and what is left of the motion after 12 s is under 1e-6 of the way.
const PULLED: f64 = 1e-6;

const NAME: &str = "model_lengthrange";

fn text() -> String {
    std::fs::read_to_string(root().join(format!("tests/mjcf/ok/{NAME}.xml"))).expect("readable")
}

fn compiled(text: &str) -> Model {
    Model::from_str(text).unwrap_or_else(|e| panic!("{e}"))
}

/// How far a model's ranges are from MuJoCo's, relative to them.
fn apart(model: &Model, golden: &Golden) -> f64 {
    let theirs = &golden.get("model/actuator_lengthrange").data;
    assert_eq!(model.layout.actuator_lengthrange.len(), theirs.len());
    let pairs = model.layout.actuator_lengthrange.chunks(2).zip(theirs.chunks(2));
    pairs.fold(0.0, |worst, (a, b)| worst.max((a[0] - b[0]).abs().max((a[1] - b[1]).abs()) / (b[1] - b[0])))
}

#[test]
fn ranges_are_mujocos() {
    let golden = Golden::read_fields(&root().join(format!("tests/golden/{NAME}.json")));
    let mut model = compiled(&text());
    let faults = compare(&model, &golden, TOLERANCE).1;
    let others: Vec<_> = faults.iter().filter(|f| !f.starts_with("actuator_lengthrange")).collect();
    assert!(others.is_empty(), "{others:?}");
    let worst = apart(&model, &golden);
    assert!(worst < PULLED, "{worst:.1e} of the range");
    // control: what a pull of half the time reaches is not the same
    model = compiled(&text().replace(r#"inttotal="12""#, r#"inttotal="3""#).replace("accel", r#"tolrange="9" accel"#));
    assert!(apart(&model, &golden) > PULLED);
}

#[test]
fn ranges_come_from_limits_and_files_where_that_is_asked() {
    let range = |text: &str, name: &str| {
        let m = compiled(text);
        let a = m.id(kiloworld_model::Kind::Actuator, name).expect("there");
        (m.layout.actuator_lengthrange[2 * a], m.layout.actuator_lengthrange[2 * a + 1])
    };
    let limits = text().replace(r#"mode="all""#, r#"mode="all" uselimit="true""#);
    // as in MuJoCo, without the gear of -2
    assert_eq!(range(&limits, "s"), ((-60.0_f64).to_radians(), 80_f64.to_radians()));
    assert_eq!(range(&limits, "brief"), (0.1, 0.35));
    assert_eq!(range(&limits, "written"), (0.2, 0.9));
    let muscles = text().replace(r#"mode="all""#, r#"useexisting="false""#);
    assert_eq!(range(&muscles, "s"), (0.0, 0.0));
    assert_eq!(range(&muscles, "written"), range(&muscles, "long"));
    assert!(range(&muscles, "long").0 > 0.3);
    let none = text().replace(r#"mode="all""#, r#"mode="none""#);
    assert_eq!(range(&none, "long"), (0.0, 0.0));
}

#[test]
fn ranges_that_cannot_be_found_are_errors() {
    let xml = |settings: &str, joint: &str| {
        format!(
            r#"<mujoco><compiler><lengthrange {settings}/></compiler>
<worldbody><body><joint name="j" {joint}/><geom size=".1" pos=".2 0 0"/><site name="s" pos=".2 0 0"/></body></worldbody>
<actuator><muscle name="m" joint="j"/></actuator></mujoco>"#
        )
    };
    assert!(Model::from_str(&xml("", r#"range="-10 20""#)).is_ok());
    for (settings, joint, says) in [
        ("", "", "does not settle"),
        (r#"inttotal="0""#, r#"range="-10 20""#, "cannot change"),
        (r#"accel="0""#, r#"range="-10 20""#, "cannot change"),
        (r#"inttotal="1e9""#, r#"range="-10 20""#, "steps to find"),
        (r#"timestep="1e-300""#, r#"range="-10 20""#, "steps to find"),
        (r#"accel="1e200""#, r#"range="-10 20""#, "cannot change"),
    ] {
        let e = Model::from_str(&xml(settings, joint)).expect_err(settings).to_string();
        assert!(e.contains(says), "{settings}: {e}");
    }
}
