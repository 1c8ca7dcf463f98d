//! Inputs that random changes found, and what they once brought to light: each compiles or is explained, on every run.

use kiloworld_layout::{Field, SliceMut};
use kiloworld_tests::corpus::root;
use kiloworld_tests::fuzz::{check, compile};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A target of `tests/fuzz` and its inputs.
const TARGETS: [&str; 6] = ["xml", "stl", "obj", "msh", "png", "hfield"];
/// Most take milliseconds. A debug build on a busy machine is slow, but never this slow.
const LONGEST: Duration = Duration::from_secs(120);

fn inputs(target: &str) -> Vec<PathBuf> {
    let dir = root().join("tests/fuzz/corpus").join(target);
    let entries = std::fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut files: Vec<PathBuf> = entries.map(|e| e.expect("an entry").path()).collect();
    files.sort();
    files
}

#[test]
fn what_the_fuzzer_found_compiles_or_is_explained() {
    for target in TARGETS {
        let (mut compiled, mut refused) = (0, 0);
        for file in inputs(target) {
            let input = std::fs::read(&file).expect("readable");
            let start = Instant::now();
            let outcome = compile(target, &input);
            let time = start.elapsed();
            check(&outcome).unwrap_or_else(|fault| panic!("{}: {fault}", file.display()));
            assert!(time < LONGEST, "{}: {time:?}", file.display());
            // hulls and meshes are made in parallel, maps have no order: nothing of that shows
            assert!(outcome == compile(target, &input), "{}: another outcome at the second time", file.display());
            if outcome.is_ok() {
                compiled += 1;
            } else {
                refused += 1;
            }
        }
        assert!(compiled >= 3 && refused >= 3, "{target}: {compiled} inputs compile and {refused} do not");
    }
}

/// Dumps, start states and laws that were worth keeping.
#[test]
fn files_that_are_no_models_are_taken_or_refused() {
    for target in ["dump", "state", "law"] {
        let (mut taken, mut refused) = (0, 0);
        for file in inputs(target) {
            let input = std::fs::read(&file).expect("readable");
            let start = Instant::now();
            match kiloworld_tests::forge::fuzz(target, &input) {
                Ok(()) => taken += 1,
                Err(_) => refused += 1,
            }
            assert!(start.elapsed() < LONGEST, "{}: {:?}", file.display(), start.elapsed());
        }
        assert!(taken >= 2 && refused >= 2, "{target}: {taken} inputs are taken and {refused} refused");
    }
}

/// The check sees a model that is not sound, and errors that do not help.
#[test]
fn planted_faults_in_outcomes_are_found() {
    let xml =
        |body: &str| format!("<mujoco><worldbody><body><joint/><geom size=\"1\"/>{body}</body></worldbody></mujoco>");
    let model = compile("xml", xml("").as_bytes()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(check(&Ok(model.clone())), Ok(()));
    for field in [Field::body_mass, Field::jnt_axis, Field::geom_quat, Field::geom_bodyid, Field::dof_parentid] {
        let mut planted = model.clone();
        match planted.layout.get_mut(field) {
            Some(SliceMut::F(v)) => v[0] = if field == Field::body_mass { f64::NAN } else { 0.5 },
            Some(SliceMut::I(v)) => v[0] += 2,
            None => unreachable!("fields of a model"),
        }
        assert!(check(&Ok(planted)).is_err(), "{field:?}");
    }
    let errors = compile("xml", xml("<geom/>").as_bytes()).expect_err("a geom without a size");
    assert_eq!(check(&Err(errors.clone())), Ok(()));
    for plant in [0, 1, 2, 3] {
        let mut planted = errors.clone();
        match plant {
            0 => planted.errors[0].remedy = None,
            1 => planted.errors[0].line = 7,
            2 => planted.errors[0].span.end = 10_000,
            _ => planted.errors.clear(),
        }
        assert!(check(&Err(planted)).is_err(), "{plant}");
    }
}
