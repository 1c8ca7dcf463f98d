//! Lanes of worlds against the scalar: stage by stage, the numbers of each lane are exactly those of its world alone.

use kiloworld_cpu::constraint_row::dense_rows;
use kiloworld_cpu::lanes::F64x2;
use kiloworld_cpu::{Compiled, Ints, Real, Scalar, WithNumber, World, run, widths, with_lanes};
use kiloworld_layout::consts::{integrator, solver};
use kiloworld_layout::{Data, Field, Model, Stage};
use kiloworld_sim::step;
use kiloworld_tests::golden::Golden;
use kiloworld_tests::models;
use kiloworld_tests::poison::{is_internal, written};

/// Steps that a group of worlds is followed for: their contacts part ways.
const STEPS: usize = 8;

/// A model whose slots hold what all lanes may have together.
fn lanes_model<T: Real>(m: &Model<f64>) -> Model<T> {
    let mut out: Model<T> = m.cast(T::r);
    (out.opt.world_ncon, out.opt.world_nefc) = (m.size.nconmax, m.size.njmax);
    out.size.nconmax *= T::LANES;
    out.size.njmax *= T::LANES;
    out.size.njdual *= T::LANES;
    out
}

/// Worlds side by side.
fn pack<T: Real>(m: &Model<T>, worlds: &[World<T::One>]) -> World<T> {
    let mut d: World<T> = Data::filled(&m.size, T::zero(), T::Int::default());
    for field in Field::TABLE.iter().filter(|f| f.stage == Stage::Load || f.name == "qacc_warmstart") {
        copy_in(&mut d, field.field, worlds);
    }
    for field in [Field::time, Field::qpos, Field::qpos_lo, Field::qvel, Field::act] {
        copy_in(&mut d, field, worlds);
    }
    d
}

fn copy_in<T: Real>(d: &mut World<T>, field: Field, worlds: &[World<T::One>]) {
    for (l, w) in worlds.iter().enumerate() {
        if let (Some(v), Some(x)) = (d.reals_mut(field), w.reals(field)) {
            v.iter_mut().zip(x).for_each(|(v, &x)| v.set_lane(l, x));
        }
        if let (Some(v), Some(x)) = (d.ints_mut(field), w.ints(field)) {
            v.iter_mut().zip(x).for_each(|(v, &x)| v.set(l, x));
        }
    }
}

/// The slots that lane `l` has, in order.
fn slots<I: Ints>(on: &[I], n: i32, l: usize) -> Vec<usize> {
    (0..usize::try_from(n).unwrap_or(0)).filter(|&s| on[s].get(l) != 0).collect()
}

/// The first field that the stage writes whose numbers in lane `l` are not the world's.
fn difference<T: Real>(
    m: &Model<T>,
    fields: &[Field],
    d: &World<T>,
    l: usize,
    world: &World<T::One>,
) -> Option<String> {
    let contacts = slots(&d.contact_on, d.slot_ncon[0], l);
    let rows = slots(&d.efc_on, d.slot_nefc[0], l);
    for &field in fields {
        let (name, info) = (field.name(), field.info());
        let cols = info.cols(&m.size);
        let all: Vec<usize> = (0..info.rows(&m.size)).collect();
        let (places, count) = if name.starts_with("contact_") {
            (&contacts, world.ncon[0])
        } else if name.starts_with("efc_") {
            (&rows, world.nefc[0])
        } else {
            (&all, i32::try_from(all.len()).unwrap_or(i32::MAX))
        };
        if places.len() != usize::try_from(count).unwrap_or(0) {
            return Some(format!("{name}: {} slots for {count}", places.len()));
        }
        for (i, &place) in places.iter().enumerate() {
            // friction of the rows of a contact that has some
            if field == Field::contact_mu && world.contact_efc_address[i] < 0 {
                continue;
            }
            for c in 0..cols {
                if let (Some(v), Some(x)) = (d.reals(field), world.reals(field)) {
                    let (v, x) = (v[place * cols + c].lane(l).to_f64(), x[i * cols + c].to_f64());
                    if v != x && !(v.is_nan() && x.is_nan()) {
                        return Some(format!("{name}[{i}, {c}] is {v:e}, alone {x:e}"));
                    }
                }
                if let (Some(v), Some(x)) = (d.ints(field), world.ints(field)) {
                    let (v, x) = (v[place * cols + c].get(l), x[i * cols + c]);
                    if v != x {
                        return Some(format!("{name}[{i}, {c}] is {v}, alone {x}"));
                    }
                }
            }
        }
    }
    None
}

/// Steps worlds in lanes and alone; the first difference.
fn follow<T: Compiled>(name: &str, edit: impl Fn(&mut Model<f64>), fault: impl Fn(&mut World<T>)) -> Option<String> {
    let golden = Golden::named(name);
    let mut m64 = models::of(&golden);
    edit(&mut m64);
    m64.size.njdual = if m64.size.njdual > 0 || m64.opt.solver == solver::PGS || m64.opt.noslip_iterations > 0 {
        m64.size.njmax
    } else {
        0
    };
    let one: Model<T::One> = m64.cast(T::One::r);
    let m: Model<T> = lanes_model(&m64);
    for first in [0, 3] {
        let mut worlds: Vec<World<T::One>> = (0..T::LANES)
            .map(|l| {
                let from = golden.world(&m64, (first + l) % golden.nstate());
                let mut d: World<T::One> = Data::new(&m64.size, &T::One::r(0.0));
                for field in Field::TABLE.iter().filter(|f| !f.is_model()) {
                    if let (Some(v), Some(x)) = (d.reals_mut(field.field), from.reals(field.field)) {
                        v.iter_mut().zip(x).for_each(|(v, &x)| *v = T::One::r(x));
                    }
                }
                d.eq_active.copy_from_slice(&from.eq_active);
                // the same state in two lanes is not the same world for long
                d.qvel.iter_mut().for_each(|v| *v += T::One::r(0.01 * (l / golden.nstate()) as f64));
                if l % 3 == 2 {
                    d.eq_active.iter_mut().for_each(|e| *e = 0);
                }
                d
            })
            .collect();
        let mut d = pack(&m, &worlds);
        for k in 0..STEPS {
            for call in step::step(&m.opt) {
                run(call, &m, &mut d);
                if call.stage == Stage::Constraint {
                    dense_rows(&m, &mut d);
                }
                fault(&mut d);
                let fields: Vec<Field> = written(call.stage).into_iter().filter(|&f| !is_internal(f)).collect();
                for (l, world) in worlds.iter_mut().enumerate() {
                    run(call, &one, world);
                    if let Some(what) = difference(&m, &fields, &d, l, world) {
                        return Some(format!("{name}, step {k}, {} {}, lane {l}: {what}", call.stage, call.sub));
                    }
                }
            }
        }
    }
    None
}

/// [`follow`] without a fault, in whichever number.
struct Follow<'a, E>(&'a str, E);

impl<E: Fn(&mut Model<f64>)> WithNumber for Follow<'_, E> {
    type Out = Option<String>;
    fn with<T: Compiled>(self) -> Option<String> {
        follow::<T>(self.0, self.1, |_| {})
    }
}

/// All widths over all golden models under some options.
fn all_widths(names: &[&str], edit: impl Fn(&mut Model<f64>) + Copy) {
    for name in names {
        for single in [false, true] {
            for lanes in widths(single).into_iter().filter(|&n| n > 1) {
                let found = with_lanes(single, lanes, Follow(name, edit)).expect("the processor has it");
                assert!(found.is_none(), "{found:?}");
            }
        }
    }
}

#[test]
fn every_stage_is_that_of_a_world_alone() {
    all_widths(&models::names(), |_| {});
}

#[test]
fn so_with_other_solvers_and_integrators() {
    let names = ["mix", "mix_pyr", "constraint_rows"];
    all_widths(&names, |m| m.opt.solver = solver::PGS);
    all_widths(&names, |m| m.opt.noslip_iterations = 4);
    all_widths(&names, |m| m.opt.integrator = integrator::RK4);
    all_widths(&names, |m| m.opt.integrator = integrator::IMPLICITFAST);
}

#[test]
fn a_difference_is_seen() {
    let bent = follow::<F64x2>(
        "mix",
        |_| {},
        |d| {
            let x = d.qvel[0].lane(1);
            d.qvel[0].set_lane(1, x + x * 1e-15);
        },
    );
    assert!(bent.is_some());
    let twisted = follow::<F64x2>(
        "mix",
        |_| {},
        |d| {
            if let Some(on) = d.efc_on.first_mut() {
                on.set(1, 1 - on.get(1));
            }
        },
    );
    assert!(twisted.is_some());
}

/// Registers that the processor lacks cannot be had; those of every processor can.
#[test]
fn only_registers_that_are_there_are_given_out() {
    for (single, base) in [(true, 4), (false, 2)] {
        let has = widths(single);
        assert!(has.ends_with(&[base, 1]), "{has:?}");
        for lanes in [0, 1, 2, 3, 4, 8, 16, 32] {
            let given = with_lanes(single, lanes, Follow("mix", |_: &mut Model<f64>| {})).is_some();
            assert_eq!(given, has.contains(&lanes), "{lanes} lanes, single {single}");
        }
    }
}
