//! Contacts that do not push, and whose margin is overridden: what MuJoCo 4.0.0 gives, on every backend.

use crate::motion_faults::{WORLDS, check};
use kiloworld_layout::Field;
use kiloworld_model::Model;
use kiloworld_tests::on::numbers;

/// The contacts of every world of every backend: their second geoms, and what keeps them from pushing.
fn contacts(what: &str, model: &Model, geoms: &[i32], excluded: &[i32]) {
    for on in numbers() {
        let mut batch = on.batch(model, WORLDS);
        let ids: Vec<usize> = (0..WORLDS).collect();
        let found = batch.forward(&ids, &[Field::contact_geom, Field::contact_exclude]).expect("a forward pass");
        // counts are of the last step
        batch.step(1).expect("a step");
        let rows = 4 * excluded.iter().filter(|&&e| e == 0).count();
        assert_eq!(batch.get(Field::ncon).expect("counts"), [geoms.len() as f64; WORLDS], "{what} on {on:?}");
        assert_eq!(batch.get(Field::nefc).expect("counts"), [rows as f64; WORLDS], "{what} on {on:?}");
        for w in 0..WORLDS {
            let row = |k: usize| &found[k][w * found[k].len() / WORLDS..];
            for (c, (&geom, &excluded)) in geoms.iter().zip(excluded).enumerate() {
                assert_eq!(row(0)[2 * c + 1], f64::from(geom), "{what} on {on:?}, contact {c}");
                assert_eq!(row(1)[c], f64::from(excluded), "{what} on {on:?}, contact {c}");
            }
        }
    }
}

/// With the flag `override` contacts push within o_margin, and are found up to the gap of their geoms, or of their pair, beyond it;
/// their own margins do not count.
#[test]
fn an_overridden_margin_ends_where_the_gap_begins() {
    let balls = [
        (-0.01, 0.0, 0.0),
        (0.015, 0.0, 0.0),
        (0.015, 0.03, 0.05),
        (0.07, 0.03, 0.02),
        (0.07, 0.0, 0.1),
        (0.09, 0.02, 0.06),
    ];
    let bodies: String = (balls.iter().enumerate())
        .map(|(i, (height, margin, gap))| {
            format!(
                "<body pos='{i} 0 {:.4}'><freejoint/><geom name='g{i}' size='.1' margin='{margin}' gap='{gap}'/></body>",
                0.1 + height
            )
        })
        .collect();
    let moving = "-.3 .1 .3 1 2 0 ".repeat(balls.len());
    let table: [(f64, &[i32], &[i32], &[f64]); 3] = [
        (
            0.0,
            &[1, 3, 5],
            &[0, 1, 1],
            &[
                5.397237539,
                0.0,
                3.683093848,
                0.0,
                -128.1843916,
                0.0,
                0.0,
                0.0,
                -9.81,
                0.0,
                0.0,
                0.0,
                0.0,
                0.0,
                -9.81,
                0.0,
                0.0,
                0.0,
                0.0,
                0.0,
                -9.81,
                0.0,
                0.0,
                0.0,
                0.0,
                0.0,
                -9.81,
                0.0,
                0.0,
                0.0,
                0.0,
                0.0,
                -9.81,
                0.0,
                0.0,
                0.0,
            ],
        ),
        (
            0.02,
            &[1, 2, 3, 5],
            &[0, 0, 0, 1],
            &[
                10.30586465,
                -4.12510164,
                33.59956696,
                -97.97116395,
                -244.7642854,
                0.0,
                3.009144758,
                0.0,
                -2.287138106,
                0.0,
                -80.87076536,
                0.0,
                3.009144758,
                0.0,
                -2.287138106,
                0.0,
                -80.87076536,
                0.0,
                0.0,
                0.0,
                -9.81,
                0.0,
                0.0,
                0.0,
                0.0,
                0.0,
                -9.81,
                0.0,
                0.0,
                0.0,
                0.0,
                0.0,
                -9.81,
                0.0,
                0.0,
                0.0,
            ],
        ),
        (
            0.1,
            &[1, 2, 3, 4, 5, 6],
            &[0, 0, 0, 0, 0, 0],
            &[
                10.36564002,
                -4.12510164,
                179.0483364,
                -97.97116395,
                -246.1839504,
                0.0,
                9.149189245,
                -3.686323822,
                133.5832628,
                -99.06995271,
                -245.884461,
                0.0,
                9.149189245,
                -3.686323822,
                133.5832628,
                -99.06995271,
                -245.884461,
                0.0,
                7.12085544,
                -2.935791278,
                33.56010112,
                -99.08295562,
                -240.3288711,
                0.0,
                7.12085544,
                -2.935791278,
                33.56010112,
                -99.08295562,
                -240.3288711,
                0.0,
                4.381069607,
                -0.5853377428,
                2.606018376,
                -21.21849318,
                -158.8137733,
                0.0,
            ],
        ),
    ];
    for (margin, geoms, excluded, qacc) in table {
        let model = format!(
            "<mujoco><option o_margin='{margin}' o_solref='.03 .8' o_friction='.4 .4 .01 .001 .001'><flag override='enable'/>
            </option><worldbody><geom name='p' type='plane' size='9 9 .1'/>{bodies}</worldbody>
            <contact><pair geom1='p' geom2='g5' gap='.02' margin='.3'/></contact>
            <keyframe><key qvel='{moving}'/></keyframe></mujoco>"
        );
        let model = Model::from_str(&model).unwrap_or_else(|e| panic!("{e}"));
        let what = format!("o_margin {margin}");
        contacts(&what, &model, geoms, excluded);
        check(&what, &model, Field::qacc, qacc);
    }
}

/// A pair of geoms that nothing moves against each other makes a contact without rows: on the world, on mocap bodies, on one
/// moving body or on what is fixed to it; in the gap it is one of the gap.
#[test]
fn pairs_that_nothing_moves_make_contacts_that_do_not_push() {
    let geom = |name: &str, x: f64| format!("<geom name='{name}' size='.1' pos='{x} 0 0'/>");
    let moving = format!(
        "<body pos='5 0 0'><freejoint/>{}{}<body>{}</body></body>",
        geom("m1", 0.0),
        geom("m2", 0.15),
        geom("m3", 0.25)
    );
    let model = format!(
        "<mujoco><worldbody>{}<body>{}</body><body mocap='true'>{}</body><body mocap='true'>{}</body>{moving}</worldbody>
        <contact><pair geom1='w' geom2='s'/><pair geom1='s' geom2='c1'/><pair geom1='c1' geom2='c2' gap='.1'/>
        <pair geom1='w' geom2='c1' margin='.2'/><pair geom1='m1' geom2='m2'/><pair geom1='m2' geom2='m3'/></contact></mujoco>",
        geom("w", 0.0),
        geom("s", 0.15),
        geom("c1", 0.3),
        geom("c2", 0.55)
    );
    let model = Model::from_str(&model).unwrap_or_else(|e| panic!("{e}"));
    contacts("nothing moves", &model, &[1, 2, 2, 3, 5, 6], &[3, 3, 3, 1, 3, 3]);
}
