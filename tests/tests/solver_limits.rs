//! How many steps the solver takes, and what a world says that would need more, on every backend.

use crate::motion_faults::{WORLDS, check, fault};
use crate::solver_stopped::{dual, primal};
use kiloworld_layout::Field;
use kiloworld_model::Model;
use kiloworld_sim::{Backend, Flag, GPU_ITERATIONS, Precision};
use kiloworld_tests::on::{On, numbers};

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

/// A heavy arm that folds: at qpos0 the trace of its inertia is 126 kg m², at the keyframe 53. MuJoCo 4.0.0 scales by the latter: by
/// the former it would stop a step or two before.
#[test]
fn termination_is_scaled_by_the_inertia_as_it_is() {
    for (solver, tolerance, steps) in [("Newton", 0.0045, 2), ("PGS", 0.0045, 5), ("PGS", 2.4, 3)] {
        let text = format!(
            "<mujoco><option tolerance='{tolerance}' solver='{solver}' iterations='50'><flag warmstart='disable'/></option>
            <default><geom type='capsule' size='.03' contype='0' conaffinity='0'/><joint type='hinge' axis='0 1 0'/></default><worldbody>
            <body pos='0 0 1'><joint frictionloss='2' range='-20 20' limited='true'/><geom fromto='0 0 0 .5 0 0'/>
            <body pos='.5 0 0'><joint frictionloss='1'/><geom fromto='0 0 0 .5 0 0'/>
            <body pos='.5 0 0'><joint ref='170' frictionloss='.5' range='-30 200' limited='true'/><geom fromto='0 0 0 1.5 0 0'/>
            <geom pos='1.5 0 0' type='sphere' size='.1' mass='8'/></body></body></body></worldbody>
            <keyframe><key qpos='-.4 3.1 0' qvel='-2 -2 1'/></keyframe></mujoco>"
        );
        let model = Model::from_str(&text).unwrap_or_else(|e| panic!("{e}"));
        for on in numbers() {
            let mut batch = on.batch(&model, WORLDS);
            let qacc = batch.forward(&[0], &[Field::qacc]).expect("a forward pass").remove(0);
            let off = qacc
                .iter()
                .zip([327.304_663, -1.094_930_05, -319.745_484])
                .map(|(a, b)| (a - b).abs())
                .fold(0.0, f64::max);
            assert!(off < if on.1 == Precision::F64 { 1e-5 } else { 0.03 }, "{solver} on {on:?}: {qacc:?}");
            batch.step(1).expect("a step");
            let found = batch.get(Field::solver_niter).expect("counts");
            assert!(
                found.iter().all(|&n| n == f64::from(steps)),
                "{solver}, {tolerance} on {on:?}: {found:?}, MuJoCo {steps}"
            );
        }
    }
}

/// A sphere whose hinges and slides are fewer than its friction rows: MuJoCo's noslip leaves a block that it takes for singular as it
/// is. Contact dimensions, joints, MuJoCo's acceleration.
#[test]
fn noslip_leaves_singular_friction_as_it_is() {
    let first = "<joint pos='0.19 -0.19 0.09'/>";
    let second = "<joint pos='-.1 .05 .02' axis='1 .3 0'/>";
    let third = "<joint type='slide' axis='.3 .4 1'/>";
    let table: [(usize, &[&str], &[f64]); 4] = [
        (3, &[first], &[-51.724_137_9]),
        (4, &[first, second], &[-100.223_911, -2_080.481_7]),
        (6, &[first, second, third], &[31.549_707_7, -250.591_343, 73.514_651_2]),
        (6, &[first], &[-51.724_534_5]),
    ];
    for (dim, joints, qacc) in table {
        let key = |of: [&str; 3]| of[..joints.len()].join(" ");
        let text = format!(
            "<mujoco><option cone='elliptic' noslip_iterations='3'/><worldbody><geom type='plane' size='2 2 .1' condim='{dim}'/>
            <body>{}<geom size='0.09' pos='0.08 0.02 0.05' condim='{dim}'/></body></worldbody>
            <keyframe><key qpos='{}' qvel='{}'/></keyframe></mujoco>",
            joints.concat(),
            key([".1", ".05", ".02"]),
            key([".5", ".3", "-.2"])
        );
        let model = Model::from_str(&text).unwrap_or_else(|e| panic!("{e}"));
        check(&format!("condim {dim}, {} joints", joints.len()), &model, Field::qacc, qacc);
    }
}

/// Piles of boxes: after as many sweeps as MuJoCo PGS is as near the minimum, but for a factor that chance makes: the corners of two
/// boxes come in another order. Cone, sweeps, MuJoCo's distance.
#[test]
fn pgs_on_a_pile_is_as_near_as_mujoco() {
    let boxes: String = (0..10)
        .map(|i| {
            format!(
                "<body pos='{} {} {}' euler='0 0 {}'><freejoint/><geom type='box' size='.1 .12 .1' mass='{}'/></body>",
                0.01 * f64::from(i % 3),
                0.013 * f64::from(i % 2),
                0.1 + 0.1995 * f64::from(i),
                7 * i,
                1.0 + 0.3 * f64::from(i)
            )
        })
        .collect();
    for (cone, table) in [
        ("pyramidal", [(1, 64.5), (10, 1.33), (50, 1.26e-5), (100, 1.53e-11)]),
        ("elliptic", [(1, 81.9), (10, 1.37), (50, 5.04e-4), (100, 3.2e-8)]),
    ] {
        let text = format!(
            "<mujoco><option cone='{cone}'><flag warmstart='disable'/></option><worldbody><geom type='plane' size='5 5 .1'/>{boxes}</worldbody></mujoco>"
        );
        let m = Model::from_str(&text).unwrap_or_else(|e| panic!("{e}"));
        let on = On(Backend::Cpu, Precision::F64, Some(1));
        let mut whole = on.builder(&m, 1).iterations(200).build().expect("a batch");
        let d = whole.world(0).expect("a world");
        let least = primal(whole.model(), &d, &d.qacc)[0];
        for (sweeps, distance) in table {
            let text = text.replace("<option ", "<option solver='PGS' tolerance='0' ");
            let m = Model::from_str(&text).unwrap_or_else(|e| panic!("{e}"));
            let mut batch = on.builder(&m, 1).iterations(sweeps).build().expect("a batch");
            let d = batch.world(0).expect("a world");
            // the dual cost falls to minus the primal one
            let found = dual(batch.model(), &d, &d.efc_force[..d.nefc[0] as usize], &d.qacc) + least;
            assert!(found < 4.0 * distance + 1e-9, "{cone}, {sweeps} sweeps: {found:e}, MuJoCo {distance:e}");
        }
    }
}
