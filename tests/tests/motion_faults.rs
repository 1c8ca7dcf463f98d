//! Motion that once differed from MuJoCo 4.0.0: what it gives for small models, by its Python package, on every backend.

use kiloworld_layout::Field;
use kiloworld_layout::consts::status;
use kiloworld_model::Model;
use kiloworld_sim::{Dump, Precision};
use kiloworld_tests::corpus;
use kiloworld_tests::on::numbers;

/// More than a register holds.
pub(crate) const WORLDS: usize = 9;

/// A model of `tests/faults`.
pub(crate) fn fault(name: &str) -> Model {
    let path = corpus::root().join("tests/faults").join(name).with_extension("xml");
    Model::from_path(&path).unwrap_or_else(|e| panic!("{e}"))
}

/// The field of the model's start is MuJoCo's, in every world of every backend.
pub(crate) fn check(what: &str, model: &Model, field: Field, mujoco: &[f64]) {
    for on in numbers() {
        let mut batch = on.batch(model, WORLDS);
        let ids: Vec<usize> = (0..WORLDS).collect();
        let found = batch.forward(&ids, &[field]).expect("a forward pass").remove(0);
        assert_eq!(found.len(), WORLDS * mujoco.len(), "{what}");
        let scale = mujoco.iter().fold(1.0, |a: f64, b| a.max(b.abs()));
        let tolerance = if on.1 == Precision::F64 { 1e-7 } else { 1e-4 } * scale;
        for row in found.chunks(mujoco.len()) {
            let off = row.iter().zip(mujoco).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < tolerance, "{what} on {on:?}: {row:?}, MuJoCo {mujoco:?}");
        }
    }
}

/// Models of the folder: name, field, MuJoCo's number.
#[test]
fn models_start_as_in_mujoco() {
    let table: [(&str, Field, &[f64]); 9] = [
        ("infinite_range_joint", Field::qacc, &[0.0]),
        ("infinite_range_actuator", Field::qacc, &[0.0]),
        ("ball_position_wrap", Field::qacc, &[0.0, 0.0, -2.853_981_634]),
        ("solreffriction_mixed", Field::qacc, &[-2.051_770_897, 0.0, -0.023_506_493_51, 0.0, 0.266_284_179_4, 0.0]),
        ("inheritrange_general", Field::qacc, &[746.582_676_989]),
        ("inheritrange_general_free", Field::actuator_force, &[0.0]),
        ("actgravcomp_no_actuator", Field::qacc, &[-9.81]),
        ("negative_gravcomp_only", Field::qacc, &[-9.81]),
        (
            "box_box_separated",
            Field::qacc,
            &[-4.380_398_756, 0.501_467_978, -0.160_274_644, -66.191_107_97, 32.662_672_8, -78.362_576_47],
        ),
    ];
    for (name, field, mujoco) in table {
        check(name, &fault(name), field, mujoco);
    }
}

/// Servos of a ball joint at the quaternion (0.3, 0.5, -0.4, 0.7), normalized: actuator, its control, activation, MuJoCo's force.
#[test]
fn servos_of_a_ball_joint_take_the_short_way() {
    let affine = "biastype='affine' biasprm='0 -1 0'";
    let table = [
        ("position joint='j' gear='0 0 2' kp='3'", 1.0, None, -8.196_528_14),
        ("position joint='j' gear='0 0 2' kp='3'", -6.0, None, 8.502_583_70),
        ("position joint='j' gear='0 0 2' kp='3'", 9.0, None, 15.803_471_86),
        ("position joint='j' gear='1 2 2' kp='3'", -6.0, None, -26.797_272_11),
        ("position joint='j' gear='.5 .2 0' kp='3'", 1.0, None, 1.640_421_58),
        ("position joint='j' gear='.5 .2 0' kp='3'", 4.0, None, 0.489_625_06),
        ("position joint='j' gear='.5 .2 0' kp='3'", -6.0, None, 0.942_014_62),
        ("position joint='j' gear='.5 .2 0' kp='3'", 9.0, None, -4.811_967_97),
        ("position joint='j' gear='0 0 -1' kp='3'", -6.0, None, 6.447_819_99),
        ("position joint='j' gear='0 0 1 5 6 7' kp='1' kv='2'", 9.0, None, 0.850_726_67),
        ("position jointinparent='j' gear='0 0 1' kp='1'", 9.0, None, 0.850_726_67),
        ("position joint='j' gear='0 0 1' kp='1' timeconst='.1'", 4.0, Some(9.0), 0.850_726_67),
        ("position joint='j' gear='0 0 1' kp='1' timeconst='.1'", 9.0, Some(1.0), -0.866_088_02),
        ("intvelocity joint='j' gear='0 0 1' kp='1'", 9.0, Some(9.0), 0.850_726_67),
        (&format!("general joint='j' gear='0 0 1' gainprm='1' {affine}"), 9.0, None, 0.850_726_67),
        ("general joint='j' gear='0 0 1' gainprm='1' biastype='affine' biasprm='.5 -1 0'", 9.0, None, 1.350_726_67),
        // no servo: no way round
        (&format!("general joint='j' gear='0 0 1' gainprm='2' {affine}"), 9.0, None, 16.133_911_98),
        ("general joint='j' gear='0 0 1' gainprm='-1' biastype='affine' biasprm='0 1 0'", 9.0, None, -0.850_726_67),
        (&format!("general joint='j' gear='0 0 1' gaintype='affine' gainprm='1' {affine}"), 9.0, None, 7.133_911_98),
        ("general joint='j' gear='0 0 1' gainprm='1'", 9.0, None, 9.0),
        ("position joint='j' gear='0 0 0' kp='1'", 9.0, None, 9.0),
    ];
    // all of them on one joint: a model that the GPU compiles once
    let list = |f: &dyn Fn(usize) -> String| (0..table.len()).map(f).collect::<Vec<_>>().join(" ");
    let actuators = list(&|k| format!("<{}/>", table[k].0));
    let ctrl = list(&|k| table[k].1.to_string());
    let act = list(&|k| table[k].2.map_or(String::new(), |a: f64| a.to_string()));
    let force: Vec<f64> = table.iter().map(|row| row.3).collect();
    let model = format!(
        "<mujoco><option gravity='0 0 0'/><worldbody><body><joint name='j' type='ball'/>
        <geom type='box' size='.1 .2 .3'/></body></worldbody><actuator>{actuators}</actuator>
        <keyframe><key qpos='.3 .5 -.4 .7' ctrl='{ctrl}' act='{act}'/></keyframe></mujoco>"
    );
    let model = Model::from_str(&model).unwrap_or_else(|e| panic!("{e}"));
    check("servos", &model, Field::actuator_force, &force);
}

/// A pair's references in the friction dimensions: `solref`, `solreffriction`, MuJoCo's damping of the tangential rows.
#[test]
fn friction_follows_the_contact_where_its_reference_is_none() {
    let table = [
        (".1 1", ".04", 21.052_631_58),
        ("-100 -10", ".04", 10.526_315_79),
        (".1 -1", ".04", 105.263_157_9),
        ("-100 -10", "0 1", 10.526_315_79),
        (".1 1", ".04 -1", 21.052_631_58),
        (".1 1", "-100 1", 21.052_631_58),
        (".1 1", "-100 0", 0.0),
        (".1 -1", "0 -5", 5.263_157_895),
        (".1 1", "-100 -5", 5.263_157_895),
        ("-100 -10", "0 0", 10.526_315_79),
        ("-100 -10", ".04 .5", 52.631_578_95),
    ];
    for (solref, friction, damping) in table {
        let model = format!(
            "<mujoco><option cone='elliptic'/><worldbody><geom name='f' type='plane' size='1 1 1'/>
            <body pos='0 0 .099'><freejoint/><geom name='b' type='sphere' size='.1'/></body></worldbody>
            <contact><pair geom1='f' geom2='b' solref='{solref}' solreffriction='{friction}' friction='5 5 0 0 0'/></contact></mujoco>"
        );
        let model = Model::from_str(&model).unwrap_or_else(|e| panic!("{e}"));
        for on in numbers() {
            let found = on.batch(&model, WORLDS).world(WORLDS - 1).expect("a world");
            let off = (found.efc_KBIP[5] - damping).abs();
            assert!(off < 1e-4, "solref {solref}, solreffriction {friction} on {on:?}: {}", found.efc_KBIP[5]);
        }
    }
}

/// What inherits a range in MuJoCo: attributes of the actuator and its target, its range of controls and of activations.
#[test]
fn position_servos_alone_inherit_a_range() {
    let hinge = "type='hinge' range='-30 30'";
    let r = std::f64::consts::FRAC_PI_6;
    let table: [(&str, &str, Option<[f64; 2]>, Option<[f64; 2]>); 11] = [
        ("general gainprm='5'", hinge, None, None),
        ("general gainprm='5' biastype='affine' biasprm='0 -4 0'", hinge, None, None),
        ("general gainprm='5' biastype='affine' biasprm='1 -5 -2'", hinge, Some([-r, r]), None),
        ("general gainprm='5' biasprm='0 -5'", hinge, None, None),
        ("general gainprm='5' biastype='affine' biasprm='0 -5' dyntype='integrator'", hinge, None, Some([-r, r])),
        ("general gainprm='5' dyntype='integrator'", hinge, None, None),
        ("general gaintype='affine' gainprm='5' biastype='affine' biasprm='0 -5'", hinge, None, None),
        ("general gainprm='5' ctrlrange='-1 1'", hinge, Some([-1.0, 1.0]), None),
        ("position", "type='slide' range='1 2' limited='false'", Some([1.0, 2.0]), None),
        ("intvelocity", "type='slide' range='-3 1'", None, Some([-3.0, 1.0])),
        ("position ctrllimited='false'", hinge, None, None),
    ];
    let model = |actuator: &str, joint: &str| {
        Model::from_str(&format!(
            "<mujoco><worldbody><body><joint name='h' {joint}/><geom size='.05' pos='.2 0 0'/></body></worldbody>
            <actuator><{actuator} joint='h' inheritrange='1'/></actuator></mujoco>"
        ))
    };
    for (actuator, joint, ctrl, act) in table {
        let m = model(actuator, joint).unwrap_or_else(|e| panic!("{actuator}: {e}")).layout;
        for (limited, range, expected) in [
            (m.actuator_ctrllimited[0], &m.actuator_ctrlrange, ctrl),
            (m.actuator_actlimited[0], &m.actuator_actrange, act),
        ] {
            assert_eq!(limited != 0, expected.is_some(), "{actuator}, {joint}");
            let off = expected.map_or(0.0, |e| (e[0] - range[0]).abs().max((e[1] - range[1]).abs()));
            assert!(off < 1e-12, "{actuator}, {joint}: {range:?}");
        }
    }
    for joint in ["type='ball' range='0 30'", "type='free'", "type='slide'", "type='slide' range='1 1' limited='false'"]
    {
        model("position", joint).expect_err("MuJoCo refuses it");
    }
}

/// Gravity compensation: bodies' `gravcomp`, whether there is an actuator elsewhere, MuJoCo's acceleration.
#[test]
fn gravity_compensation_needs_a_positive_one_and_an_actuator() {
    let table = [
        ([-0.5, -0.2], false, false, [-9.81, -9.81]),
        ([0.5, -0.2], false, false, [-4.905, -11.772]),
        ([1.0, 1.0], true, false, [-9.81, -9.81]),
        ([1.0, 1.0], true, true, [0.0, 0.0]),
        ([-1.0, 0.5], true, false, [-9.81, -9.81]),
    ];
    for (comp, by_actuators, actuator, qacc) in table {
        let body = |c: f64, x: usize| {
            format!(
                "<body gravcomp='{c}' pos='{x} 0 0'><joint name='j{x}' type='slide' axis='0 0 1'
                actuatorgravcomp='{by_actuators}'/><geom type='box' size='.1 .1 .1' mass='1'/></body>"
            )
        };
        let motor = if actuator { "<actuator><motor joint='j1'/></actuator>" } else { "" };
        let model = format!("<mujoco><worldbody>{}{}</worldbody>{motor}</mujoco>", body(comp[0], 1), body(comp[1], 2));
        check(&format!("{comp:?}"), &Model::from_str(&model).expect("a model"), Field::qacc, &qacc);
    }
}

/// MuJoCo has no bound on activations: after three steps of 10 ms, 1 N m has turned the hinge by 0.035 809 86 rad.
#[test]
fn a_large_activation_is_no_divergence() {
    let model = fault("act_diverged");
    for on in numbers() {
        let mut batch = on.batch(&model, WORLDS);
        batch.step(3).expect("steps");
        assert!(batch.status().expect("status").iter().all(|s| s & status::FROZEN == 0), "{on:?}");
        let qpos = batch.get(Field::qpos).expect("qpos");
        assert!(qpos.iter().all(|q| (q - 0.035_809_86).abs() < 1e-6), "{on:?}: {qpos:?}");
    }
}

/// In f32 the stiff edges of a pyramid of little friction do not drown the solver: 2 s of a push of 1 m/s².
#[test]
fn little_friction_slides_in_f32() {
    let model = fault("low_friction_f32");
    for on in numbers() {
        let mut batch = on.batch(&model, WORLDS);
        batch.step(1000).expect("steps");
        let qpos = batch.get(Field::qpos).expect("qpos");
        for row in qpos.chunks(7) {
            assert!((row[0] - 1.988).abs() < 0.004, "{on:?}: {} m, MuJoCo 1.988", row[0]);
        }
    }
}

/// MuJoCo's coordinates after 40 steps of [`INFINITE`].
const INFINITE_QPOS: [f64; 7] = [
    0.381_871_491_037_658_4,
    0.963_495_022_231_202_9,
    0.0,
    0.267_726_244_764_486_37,
    0.0,
    -0.003_111_448_982_430_471_8,
    -0.004_160_704_322_886_909,
];

const INFINITE: &str = "<mujoco><option timestep='.004'/><worldbody>
<body><joint name='a' axis='0 1 0' range='-inf 20' damping='.2'/><geom size='.1' pos='.3 0 0'/></body>
<body pos='0 1 0'><joint name='b' type='ball' range='0 inf' damping='.1'/><geom type='box' size='.1 .2 .1' pos='.2 0 0'/></body>
<body pos='0 2 0'><joint name='c' type='slide' axis='1 0 0' range='-inf inf' margin='.1' actuatorfrcrange='-1 inf'/><geom size='.1'/></body>
<body pos='0 3 0'><joint name='d' type='slide' axis='1 0 0' range='-.02 +Infinity' damping='3'/><geom size='.1'/></body></worldbody>
<tendon><fixed name='t' range='-INF .01' springlength='0 inf' stiffness='40'><joint joint='c' coef='1'/><joint joint='d' coef='-1'/></fixed></tendon>
<actuator><motor joint='a' ctrlrange='-inf inf' forcerange='-inf 1'/><motor joint='c' ctrlrange='-2 inf' forcerange='-inf inf'/>
<general joint='d' dyntype='integrator' actrange='-inf .3' ctrlrange='-inf 0'/><position joint='a' inheritrange='1' kp='3'/>
<motor tendon='t' forcerange='0 inf'/></actuator>
<keyframe><key ctrl='9 -7 -30 .5 -3' act='.2'/></keyframe></mujoco>";

/// Ranges with infinite ends, on joints, tendons, springs of tendons and actuators: they never limit, nor make a number that is
/// none. The controls are far outside of what the finite ends allow.
#[test]
fn infinite_ends_of_ranges_never_limit() {
    let model = Model::from_str(INFINITE).unwrap_or_else(|e| panic!("{e}"));
    for on in numbers() {
        let mut batch = on.batch(&model, WORLDS);
        for (lo, hi) in batch.ctrl_ranges() {
            assert!(lo.is_finite() && hi.is_finite() && lo < hi, "{on:?}: controls are drawn from {lo} to {hi}");
        }
        batch.step(40).expect("steps");
        assert_eq!(batch.status().expect("status"), [0; WORLDS], "{on:?}");
        let found = batch.get(Field::qpos).expect("coordinates");
        let tolerance = if on.1 == Precision::F64 { 1e-9 } else { 2e-5 };
        for row in found.chunks(INFINITE_QPOS.len()) {
            let off = row.iter().zip(INFINITE_QPOS).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < tolerance, "on {on:?}: {row:?}, MuJoCo {INFINITE_QPOS:?}");
        }
        // a dump keeps them
        let path = std::env::temp_dir().join(format!("kiloworld-infinite-{}.npz", std::process::id()));
        batch.dump(0, &path).expect("written");
        let dump = Dump::read(&path).expect("read");
        assert_eq!(dump.model.jnt_range, model.layout.jnt_range, "{on:?}");
        assert_eq!(dump.model.actuator_forcerange, model.layout.actuator_forcerange, "{on:?}");
        assert!(dump.replay().breaks_last.is_none(), "{on:?}");
    }
}

/// Equalities between bodies that cannot move apart. Those whose rows hold zeros only have none with a dense Jacobian, as in MuJoCo:
/// between what stands still (always), and between what the same slides move. What turns both ends still has rows.
#[test]
fn equalities_between_bodies_that_cannot_move_apart() {
    for (jacobian, rows) in [("dense", 6.0), ("sparse", 15.0), ("auto", 6.0)] {
        let text = HELD_TOGETHER.replace("JACOBIAN", jacobian);
        let model = Model::from_str(&text).unwrap_or_else(|e| panic!("{e}"));
        check(jacobian, &model, Field::qacc, &[-6.936_717_523, 29.658_653_59]);
        for on in numbers() {
            let mut batch = on.batch(&model, WORLDS);
            batch.step(1).expect("a step");
            assert_eq!(batch.get(Field::nefc).expect("counts"), [rows; WORLDS], "{jacobian} on {on:?}");
        }
    }
}

const HELD_TOGETHER: &str = "<mujoco><option jacobian='JACOBIAN'/><worldbody><geom name='s' size='.1' contype='0'/><body name='s1' pos='0 2 0'><geom size='.1' contype='0' conaffinity='0'/></body>
<body name='r'><joint type='slide' axis='1 0 1'/><geom size='.1' contype='0' conaffinity='0'/><body name='a' pos='.2 0 0'><geom size='.1' contype='0' conaffinity='0'/></body>
<body name='b' pos='.3 .1 0'><geom size='.1' contype='0' conaffinity='0'/></body></body>
<body name='p' pos='0 1 0'><joint axis='0 1 0'/><geom size='.1' pos='.3 0 0' contype='0' conaffinity='0'/><body name='c' pos='.3 .1 0'><geom size='.1' contype='0' conaffinity='0'/></body></body>
</worldbody><equality><weld body1='s1' solref='.03 1'/><connect body1='a' body2='b' anchor='.1 0 0' solref='.03 1'/>
<weld body1='a' body2='b' relpose='.11 .1 .02 1 .01 .02 0' solref='.03 1'/>
<weld body1='p' body2='c' relpose='.31 .1 .02 1 .01 .02 0' solref='.03 1'/></equality>
<keyframe><key qpos='.1 .3' qvel='.2 -.4'/></keyframe></mujoco>";

/// A body whose rows of M are diagonal, with an actuator that drives all of its dofs against their velocity: the implicit step damps
/// them together.
#[test]
fn an_actuator_damps_all_dofs_of_a_simple_body_together() {
    let model = Model::from_str(
        "<mujoco><option timestep='.01' integrator='implicitfast' gravity='0 0 0'/><worldbody><body><freejoint name='f'/>
        <geom type='box' size='.1 .2 .3' density='100'/></body></worldbody>
        <actuator><general joint='f' gear='.4 -.9 .7 .3 -.2 .5' gaintype='affine' gainprm='1 0 -3' biastype='affine' biasprm='0 0 -2'/>
        </actuator><keyframe><key qpos='0 0 0 .9 .1 -.3 .2' qvel='1 -2 .5 3 1 -4' ctrl='1.5'/></keyframe></mujoco>",
    )
    .expect("a model");
    let mujoco = [0.995_710_078, -1.990_347_68, 0.492_492_637, 2.906_675_51, 1.164_594_64, -4.301_341_39];
    for on in numbers() {
        let mut batch = on.batch(&model, WORLDS);
        batch.step(1).expect("a step");
        let tolerance = if on.1 == Precision::F64 { 1e-7 } else { 1e-5 };
        for row in batch.get(Field::qvel).expect("qvel").chunks(6) {
            let off = row.iter().zip(mujoco).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < tolerance, "{on:?}: {row:?}, MuJoCo {mujoco:?}");
        }
    }
}

/// A model in which nothing can move is a model, on the GPU too.
#[test]
fn a_model_without_dofs_runs() {
    let model = Model::from_str(
        "<mujoco><worldbody><geom type='plane' size='1 1 .1'/><body mocap='true'><geom size='.1'/></body></worldbody></mujoco>",
    )
    .expect("a model");
    for on in numbers() {
        let mut batch = on.batch(&model, WORLDS);
        batch.step(3).expect("steps");
        let time = batch.get(Field::time).expect("time");
        assert!(time.iter().all(|t| (t - 0.006).abs() < 1e-6), "{on:?}: {time:?}");
        assert!(batch.status().expect("status").iter().all(|&s| s == 0), "{on:?}");
    }
}
