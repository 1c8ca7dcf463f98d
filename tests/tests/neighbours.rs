//! Worlds that share registers share slots of contacts and rows: a world has the bits, the status and the needs that it has by
//! itself, whatever its neighbours touch.

use kiloworld_layout::Field;
use kiloworld_layout::consts::status;
use kiloworld_model::{Model, rows_always};
use kiloworld_sim::{Backend, Batch, Precision, lanes, rng};

const SPHERE: (&str, &str) = ("sphere", "0.1");
const CAPSULE: (&str, &str) = ("capsule", "0.1 0.3");
const BOX: (&str, &str) = ("box", "0.2 0.15 0.1");
const PLANE: (&str, &str) = ("plane", "5 5 1");

/// A geom that stands and one that floats at it.
fn pair(a: (&str, &str), b: (&str, &str), option: &str) -> Model {
    let text = format!(
        r#"<mujoco><option timestep="0.002" gravity="0 0 0" {option}/><worldbody>
        <geom type="{}" size="{}"/>
        <body><freejoint/><geom type="{}" size="{}" mass="1"/></body></worldbody></mujoco>"#,
        a.0, a.1, b.0, b.1
    );
    Model::from_str(&text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// Bodies of every type about one another on a plane, beside joints and tendons whose rows differ from world to world: a slide
/// that may be at both of its ends, friction loss, limits.
fn heap(option: &str) -> Model {
    let body = |(kind, size): (&str, &str)| {
        format!(r#"<body><freejoint/><geom type="{kind}" size="{size}" mass="1"/></body>"#)
    };
    let bodies: String = [SPHERE, CAPSULE, CAPSULE, BOX, BOX].map(body).concat();
    let text = format!(
        r#"<mujoco><option timestep="0.002" {option}/><worldbody><geom type="plane" size="5 5 1"/>{bodies}
        <body pos="3 0 1"><joint name="s" type="slide" range="-0.1 0.1" margin="0.15" limited="true" frictionloss="0.1"/>
          <geom size="0.1"/></body>
        <body pos="3 1 1"><joint name="h" range="-10 10" limited="true"/><geom size="0.1" pos="0.3 0 0"/></body>
        <body pos="3 2 1"><joint name="b" type="ball" range="0 20" limited="true"/><geom size="0.1" pos="0.3 0 0"/></body>
        </worldbody>
        <tendon><fixed limited="true" range="-0.05 0.05" frictionloss="0.1"><joint joint="s" coef="1"/><joint joint="h" coef="0.2"/></fixed></tendon>
        <equality><joint joint1="s" joint2="h" active="false"/></equality></mujoco>"#
    );
    Model::from_str(&text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// Poses of a world: free bodies near the origin, turned by quarters, by one angle for all, or anyhow; so that bodies of one world
/// are parallel and those of its neighbours are not. Other joints are anywhere about their ranges.
fn pose(m: &Model, seed: u64, w: usize) -> Vec<f64> {
    let mut q = m.layout.qpos0.clone();
    let mut at = 0;
    let half = std::f64::consts::FRAC_1_SQRT_2;
    let mut i = 0;
    let mut draw = || {
        i += 1;
        rng::uniform(seed, w, 0, i)
    };
    for j in 0..m.layout.size.njnt {
        let len = match m.layout.jnt_type[j] {
            0 => 7,
            1 => 4,
            _ => 1,
        };
        let row = &mut q[at..at + len];
        if len == 7 {
            row[..3].iter_mut().for_each(|x| *x = 0.5 * (draw() - 0.5));
            let kind = draw();
            let quat = if kind < 0.3 {
                [1.0, 0.0, 0.0, 0.0]
            } else if kind < 0.6 {
                let axis = (3.0 * draw()) as usize;
                std::array::from_fn(|k| if k == 0 || k == axis + 1 { half } else { 0.0 })
            } else {
                let v: [f64; 4] = std::array::from_fn(|_| draw() - 0.5);
                let n = v.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-3);
                v.map(|x| x / n)
            };
            row[3..].copy_from_slice(&quat);
        } else if len == 1 {
            row[0] = 0.5 * (draw() - 0.5);
        } else {
            let (sin, cos) = (0.5 * draw()).sin_cos();
            row.copy_from_slice(&[cos, sin, 0.0, 0.0]);
        }
        at += len;
    }
    q
}

/// What is to be the same: of each world its state, counts and needs, by bits. The second capacity is of rows beyond those that no
/// contact has.
fn stepped(m: &Model, on: (Precision, u32), capacities: (Option<usize>, Option<usize>), seed: u64) -> Vec<Vec<u64>> {
    let mut builder = Batch::builder(m).nworld(WORLDS).backend(Backend::Cpu).precision(on.0).lanes(on.1);
    builder = capacities.0.into_iter().fold(builder, |b, n| b.nconmax(n));
    builder = capacities.1.into_iter().fold(builder, |b, n| b.njmax(rows_always(&m.layout) + n));
    let mut b = builder.build().expect("a batch");
    let qpos: Vec<f64> = (0..WORLDS).flat_map(|w| pose(m, seed, w)).collect();
    b.set(Field::qpos, &qpos).expect("set");
    let neq = m.layout.size.neq;
    b.set(Field::eq_active, &(0..WORLDS * neq).map(|i| f64::from(u8::from(i % 3 == 0))).collect::<Vec<_>>())
        .expect("set");
    b.step(3).expect("steps");
    let fields = [
        Field::qpos,
        Field::qvel,
        Field::time,
        Field::qacc_warmstart,
        Field::status,
        Field::ncon,
        Field::nefc,
        Field::ncon_need,
        Field::nefc_need,
    ];
    let all: Vec<usize> = (0..WORLDS).collect();
    let rows = b.forward(&all, &fields).expect("read");
    let of = |w: usize| rows.iter().flat_map(move |v| &v[w * v.len() / WORLDS..(w + 1) * v.len() / WORLDS]);
    all.iter().map(|&w| of(w).map(|x| x.to_bits()).collect()).collect()
}

const WORLDS: usize = 37;

/// In all widths that this processor has, with room for everything, as shipped, and with little room.
fn neighbours_do_not_matter(what: &str, m: &Model, seed: u64) {
    for precision in [Precision::F64, Precision::F32] {
        for capacities in [(None, None), (Some(1), None), (Some(3), None), (None, Some(3)), (Some(2), Some(7))] {
            let alone = stepped(m, (precision, 1), capacities, seed);
            for width in lanes(precision).into_iter().filter(|&n| n > 1) {
                let got = stepped(m, (precision, width), capacities, seed);
                for w in 0..WORLDS {
                    assert_eq!(got[w], alone[w], "{what}, {precision:?} x {width}, {capacities:?}: world {w}");
                }
            }
        }
    }
}

#[test]
fn pairs_of_every_type_touch_in_lanes_as_alone() {
    let pairs = [
        (PLANE, SPHERE),
        (PLANE, CAPSULE),
        (PLANE, BOX),
        (SPHERE, SPHERE),
        (SPHERE, CAPSULE),
        (SPHERE, BOX),
        (CAPSULE, CAPSULE),
        (CAPSULE, BOX),
        (BOX, BOX),
    ];
    for (k, (a, b)) in pairs.into_iter().enumerate() {
        neighbours_do_not_matter(&format!("{}-{}", a.0, b.0), &pair(a, b, ""), k as u64);
    }
}

#[test]
fn heaps_of_every_type_touch_in_lanes_as_alone() {
    for (k, option) in
        ["", r#"integrator="RK4" cone="elliptic""#, r#"solver="PGS" noslip_iterations="2""#].into_iter().enumerate()
    {
        neighbours_do_not_matter(option, &heap(option), 100 + k as u64);
    }
}

/// Parallel capsules need two slots, skew ones a third: no room that one world can have holds them all.
#[test]
fn capsules_that_are_parallel_and_skew_share_a_register() {
    let m = pair(CAPSULE, CAPSULE, "");
    for precision in [Precision::F64, Precision::F32] {
        for width in lanes(precision) {
            for nconmax in [None, Some(8)] {
                let builder = Batch::builder(&m).nworld(64).backend(Backend::Cpu).precision(precision).lanes(width);
                let mut b = nconmax.into_iter().fold(builder, |b, n| b.nconmax(n)).build().expect("a batch");
                let (sin, cos) = 0.3_f64.sin_cos();
                let one = |w: usize| {
                    if w.is_multiple_of(2) {
                        [0.19, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
                    } else {
                        [0.19, 0.0, 0.0, cos, sin, 0.0, 0.0]
                    }
                };
                b.set(Field::qpos, &(0..64).flat_map(one).collect::<Vec<_>>()).expect("set");
                b.step(1).expect("a step");
                let status = b.status().expect("status");
                assert!(status.iter().all(|s| s & status::FROZEN == 0), "{precision:?} x {width}: {status:?}");
                let ncon: Vec<f64> = (0..64).map(|w| if w % 2 == 0 { 2.0 } else { 1.0 }).collect();
                assert_eq!(b.get(Field::ncon_need).expect("kept"), ncon, "{precision:?} x {width}");
            }
        }
    }
}

/// Threads finish in any order; a trace shows worlds in theirs.
#[test]
fn a_trace_shows_worlds_in_their_order() {
    let m = pair(PLANE, SPHERE, "");
    for nworld in [1, 2, 9, 200] {
        for width in lanes(Precision::F64) {
            for _ in 0..20 {
                let builder = Batch::builder(&m).nworld(nworld).backend(Backend::Cpu).precision(Precision::F64);
                let mut b = builder.lanes(width).build().expect("a batch");
                let mut seen = Vec::new();
                b.trace(3, None, &mut |w, k, _| seen.push((k, w))).expect("steps");
                let order: Vec<(usize, usize)> = (0..3).flat_map(|k| (0..nworld).map(move |w| (k, w))).collect();
                assert_eq!(seen, order, "{nworld} worlds, {width} lanes");
            }
        }
    }
}
