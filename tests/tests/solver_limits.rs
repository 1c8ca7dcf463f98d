//! How many steps the solver takes, and what a world says that would need more, on every backend.

use crate::motion_faults::{WORLDS, fault};
use kiloworld_layout::Field;
use kiloworld_sim::{Backend, Flag, GPU_ITERATIONS, Precision};
use kiloworld_tests::on::numbers;

/// MuJoCo's acceleration of `many_newton_steps`, after 15 steps.
const QACC: [f64; 32] = [
    -7.516_664_981,
    -359.237_415_8,
    18.591_519_75,
    -329.136_330_8,
    -105.932_901_6,
    -567.765_227_1,
    8.181_164_738,
    -152.541_796_2,
    12.483_038_17,
    1_206.689_518,
    187.144_964_1,
    -229.304_666_8,
    170.540_595_9,
    145.772_796_3,
    96.298_763_55,
    242.505_829_8,
    233.455_914_6,
    -55.509_157_95,
    -1_322.805_416,
    -3_122.722_01,
    -465.186_195_4,
    961.193_900_6,
    -236.436_410_1,
    238.065_569_4,
    -460.616_873_7,
    -4_164.565_571,
    10.757_800_26,
    -1_481.305_719,
    2_517.354_579,
    1_662.725_85,
    -838.711_958_9,
    2_222.420_686,
];

/// The model allows 300 steps and needs 15: ten would leave the acceleration wrong by 70 %.
#[test]
fn newton_takes_the_steps_that_the_model_allows() {
    let model = fault("many_newton_steps");
    for on in numbers() {
        let mut batch = on.builder(&model, WORLDS).build().expect("a batch");
        let found = batch.forward(&[0, WORLDS - 1], &[Field::qacc]).expect("a forward pass").remove(0);
        // rows of stiffness 1e5 on dofs of 1e-3 kg: in f32 some digits go
        let tolerance = if on.1 == Precision::F64 { 1e-6 } else { 1e-3 } * 4_164.6;
        for row in found.chunks(QACC.len()) {
            let off = row.iter().zip(QACC).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < tolerance, "{on:?}: off by {off}");
        }
        let routes = batch.routes();
        let bound = if on.0 == Backend::Gpu { GPU_ITERATIONS } else { 300 };
        assert_eq!((routes.iterations, routes.model_iterations), (bound, 300), "{on:?}");
        assert_eq!(
            routes.to_string().contains("up to 200 iterations (the model: 300)"),
            on.0 == Backend::Gpu,
            "{routes}"
        );
    }
}

/// A world that has not converged within the bound says so, and with a bound that is enough does not; a batch may ask for more than
/// a device has blocks of parameters.
#[test]
fn too_few_steps_are_told() {
    let model = fault("many_newton_steps");
    for on in numbers() {
        for (iterations, short) in [(5, true), (10, true), (40, false), (1000, false)] {
            let mut batch = on.builder(&model, WORLDS).iterations(iterations).build().expect("a batch");
            batch.step(1).expect("a step");
            let health = batch.health().expect("health");
            let worlds: Vec<usize> = health.of(Flag::NotConverged).map(|f| f.world).collect();
            let expected: Vec<usize> = if short { (0..WORLDS).collect() } else { Vec::new() };
            assert_eq!(worlds, expected, "{iterations} on {on:?}: {health}");
        }
    }
}
