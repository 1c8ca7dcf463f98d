//! Capacities: advice works at the first try, a model's own start fits, what does not fit is said before it is allocated.

use kiloworld_model::Model;
use kiloworld_sim::{Backend, Batch, Error, Precision};
use kiloworld_tests::corpus::root;

fn model(path: &str) -> Model {
    Model::from_path(root().join(path)).unwrap_or_else(|e| panic!("{e}"))
}

type Build = fn(kiloworld_sim::BatchBuilder<'_>) -> kiloworld_sim::BatchBuilder<'_>;

/// f64 by itself, f32, lanes, GPU.
const PLACES: [(&str, usize, Build); 4] = [
    ("f64", 1, |b| b.backend(Backend::Cpu).precision(Precision::F64).lanes(1)),
    ("f32", 1, |b| b.backend(Backend::Cpu).precision(Precision::F32).lanes(1)),
    ("f32 lanes", 8, |b| b.backend(Backend::Cpu).precision(Precision::F32).lanes(8)),
    ("gpu", 1, |b| b.backend(Backend::Gpu)),
];

/// A world that had too few contact slots asks for contacts and rows at once: with both it goes past the step that stopped it.
#[test]
fn advice_works_at_the_first_try() {
    let cases = [
        ("models/humanoid.xml", 0, 120),
        ("models/pallet.xml", 1, 2),
        ("models/quadruped.xml", 0, 60),
        ("models/box_stack.xml", 3, 3),
        ("tests/faults/overflow_late.xml", 8, 1200),
    ];
    for (path, few, steps) in cases {
        let model = model(path);
        for (place, nworld, build) in PLACES {
            if place == "gpu" && steps > 100 {
                continue;
            }
            if nworld > 1 && !kiloworld_sim::lanes(Precision::F32).contains(&8) {
                continue;
            }
            let start = |ncon: usize, nefc: Option<usize>| {
                let mut b = build(Batch::builder(&model).nworld(nworld)).nconmax(ncon);
                if let Some(n) = nefc {
                    b = b.njmax(n);
                }
                b.build().unwrap_or_else(|e| panic!("{path}: {e}"))
            };
            let mut b = start(few, None);
            b.step(steps).expect("steps");
            let failed = b.failures().expect("the log");
            let first = failed.first().unwrap_or_else(|| panic!("{path} {place}: {few} contacts are enough"));
            assert!(first.ncon_need > few, "{path} {place}: {first:?}");
            let mut again = start(first.ncon_need, Some(first.nefc_need));
            again.step(first.step + 1).expect("steps");
            let failed = again.failures().expect("the log");
            assert!(failed.is_empty(), "{path} {place}: given {} and {}, {failed:?}", first.ncon_need, first.nefc_need);
        }
    }
}

/// As many boxes as touch the plane with four corners each from the start.
#[test]
fn a_model_s_own_start_and_keyframes_fit() {
    let boxes = r#"<mujoco><worldbody><geom type="plane" size="1 1 1"/><replicate count="200" offset=".3 0 0">
        <body pos="0 0 .09"><freejoint/><geom type="box" size=".1 .1 .1"/></body></replicate></worldbody></mujoco>"#;
    let model = Model::from_str(boxes).unwrap_or_else(|e| panic!("{e}"));
    let batch = Batch::builder(&model).backend(Backend::Cpu).precision(Precision::F64);
    let mut b = batch.build().unwrap_or_else(|e| panic!("{e}"));
    assert!(b.model().size.nconmax >= 800 && b.model().size.njmax >= 3200, "{:?}", b.model().size);
    let kiloworld_sim::Chosen::Probe { worlds, seen, .. } = b.capacities() else { panic!("{:?}", b.capacities()) };
    assert_eq!(worlds, 1, "there is one start, and nothing to control");
    assert!(seen.ncon >= 800, "{seen:?}");
    b.step(1).expect("a step");
    assert!(b.failures().expect("the log").is_empty());
}

#[test]
fn what_does_not_fit_is_an_error_with_numbers() {
    let model = model("models/humanoid.xml");
    let cpu = || Batch::builder(&model).backend(Backend::Cpu);
    for n in [usize::MAX, usize::MAX / 7, 1 << 40] {
        assert!(matches!(cpu().nconmax(n).build(), Err(Error::TooManyRows { .. })), "{n}");
        assert!(matches!(cpu().njmax(n).build(), Err(Error::TooManyRows { .. })), "{n}");
    }
    if cfg!(target_os = "linux") {
        for builder in [cpu().nworld(1_000_000_000_000), cpu().nworld(1000).history(1_000_000_000)] {
            let Err(e) = builder.build() else { panic!("it fits") };
            let Error::Memory { need, available, most, nworld, .. } = e else { panic!("{e}") };
            assert!(need > u128::from(available) && most < nworld as u64, "{e}");
            assert!(e.to_string().contains("are available"), "{e}");
        }
    }
}

/// Rows of J are as long as two bodies' chains of dofs, not as the model's dofs: a heap of balls costs what its balls do.
#[test]
fn work_arrays_hold_the_nonzeros_of_rows() {
    let balls = |n: usize| {
        format!(
            r#"<mujoco><worldbody><geom type="plane" size="5 5 1"/><replicate count="{n}" offset=".1 0 .2">
            <body><freejoint/><geom size=".05"/></body></replicate></worldbody></mujoco>"#
        )
    };
    let shared = |n: usize| {
        let model = Model::from_str(&balls(n)).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(model.layout.size.njrow, 12);
        let batch = Batch::builder(&model).backend(Backend::Cpu).nconmax(4 * n).lanes(1);
        batch.build().unwrap_or_else(|e| panic!("{e}")).routes().bytes_shared
    };
    let (few, many) = (shared(10), shared(40));
    // J would be 16 times: rows and dofs are four times as many. H (a triangle over nv) is what grows so still.
    assert!(many < 8 * few, "{few} {many}");
}
