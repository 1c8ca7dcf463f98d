//! Every law on every backend: `laws::pendulum_period::gpu`.

use kiloworld_laws::{Backend, Law, MODELS, NAMES, for_each_law};

/// Runs a law and fails with what is not as it should be.
fn hold(name: &str, backend: Backend) {
    let verdict = Law::named(name).expect("a law of the list").run(backend);
    let faults = verdict.faults();
    assert!(verdict.pass, "{name} on {backend}, {:.1} s:\n  {}", verdict.seconds, faults.join("\n  "));
    // a verdict passes only where every control failed
    for row in &verdict.rows {
        assert!(row.pass && !row.controls.is_empty() && row.controls.iter().all(|c| !c.pass), "{name}: {row:?}");
    }
}

macro_rules! tests {
    ($($name:ident)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn cpu_f64() {
                hold(stringify!($name), Backend::CpuF64);
            }

            #[test]
            fn cpu_f32() {
                hold(stringify!($name), Backend::CpuF32);
            }

            #[test]
            fn cpu_f64_lanes() {
                hold(stringify!($name), Backend::CpuF64Lanes);
            }

            #[test]
            fn cpu_f32_lanes() {
                hold(stringify!($name), Backend::CpuF32Lanes);
            }

            #[test]
            fn gpu() {
                hold(stringify!($name), Backend::Gpu);
            }
        }
    )*};
}

for_each_law!(tests);

/// Stems of the files of a folder beside this package.
fn stems(folder: &str, suffix: &str) -> Vec<String> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut names: Vec<String> = std::fs::read_dir(path)
        .expect("the folder")
        .filter_map(|e| Some(e.ok()?.file_name().to_str()?.strip_suffix(suffix)?.to_owned()))
        .collect();
    names.sort();
    names
}

#[test]
fn the_list_is_the_folder() {
    assert_eq!(stems("laws", ".toml"), NAMES);
    assert_eq!(Law::all().expect("every law reads").len(), NAMES.len());
}

#[test]
fn every_model_has_a_purpose() {
    let readme = include_str!("../../models/README.md");
    for file in stems("../models", ".xml") {
        assert!(readme.contains(&format!("| `{file}.xml` |")), "{file}.xml has no line in models/README.md");
    }
    assert!(MODELS.iter().all(|(_, text)| text.contains("<mujoco model=")));
}

#[test]
fn a_law_without_a_control_does_not_load() {
    let text = "title='t'\ncites='c'\nmodel='pendulum.xml'\nwhy='w'\ncontrol=[]\n\
        [measure]\nkind='final'\nsteps=1\n[[check]]\nname='q'\nsignal='qpos[0]'\nexpected=0\n";
    let error = Law::parse("bare", text).expect_err("no control").to_string();
    assert!(error.contains("no control covers"), "{error}");
}
