//! Stages `constraint` and `reference` on registers with a world in each lane: every world's rows are those that it has alone,
//! to the last bit, whatever the others are.

use kiloworld_cpu::constraint_row::dense_rows;
use kiloworld_cpu::lanes::{F32x4, F64x2};
use kiloworld_cpu::{Compiled, Ints, Real, Scalar, WithNumber, World, run, widths, with_lanes};
use kiloworld_layout::consts::{eq, status};
use kiloworld_layout::{Buffer, Data, Field, FieldInfo, Model, Slice, SliceMut, Stage};
use kiloworld_sim::step::forward;
use kiloworld_tests::golden::Golden;
use kiloworld_tests::models;
use std::collections::BTreeMap;

const NAMES: [&str; 5] = ["constraint_rows", "constraint_pyramid", "mix", "humanoid", "half_cheetah"];

fn world_fields() -> impl Iterator<Item = &'static FieldInfo> {
    Field::TABLE.iter().filter(|f| !f.is_model())
}

/// The model as lane `l` sees it: some friction and some limits are gone.
fn model_of_lane<S: Real>(m: &Model<f64>, l: usize) -> Model<S> {
    let mut m = m.clone();
    for i in (0..m.size.nv).filter(|i| (i + l) % 3 == 1) {
        m.dof_frictionloss[i] *= (l % 2) as f64;
    }
    for j in (0..m.size.njnt).filter(|j| (j + l) % 3 == 2) {
        m.jnt_margin[j] += 0.3;
    }
    // lanes with other powers, and with the other format of references
    if l % 3 == 1 {
        m.jnt_solimp.iter_mut().skip(4).step_by(5).for_each(|p| *p += 0.5);
        m.eq_solref.iter_mut().for_each(|x| *x = -100.0);
    }
    m.cast(S::r)
}

/// State `k` up to the stage, in the lane's precision; some equalities are off.
fn before<S: Scalar>(g: &Golden, m: &Model<f64>, own: &Model<S>, k: usize, l: usize) -> Data<S> {
    let state = g.world(m, k);
    let mut d = Data::new(&m.size, &S::zero());
    for info in world_fields() {
        match (state.get(info.field), d.get_mut(info.field)) {
            (Some(Slice::I(a)), Some(SliceMut::I(b))) => b.copy_from_slice(a),
            (Some(Slice::F(a)), Some(SliceMut::F(b))) => b.iter_mut().zip(a).for_each(|(b, &a)| *b = S::r(a)),
            _ => unreachable!("fields of a world"),
        }
    }
    for e in (0..m.size.neq).filter(|e| (e + l) % 4 == 1) {
        d.eq_active[e] ^= 1;
    }
    for call in forward(&m.opt) {
        if call.stage == Stage::Actuation {
            break;
        }
        if call.stage != Stage::Constraint && call.stage != Stage::Reference {
            run(call, own, &mut d);
        }
    }
    d
}

/// Worlds in lanes, their contacts in common slots; and which contact of each world a slot holds.
fn packed<T: Real>(m: &Model<T>, worlds: &[Data<T::One>]) -> (World<T>, Vec<Vec<Option<usize>>>) {
    let nan = T::r(f64::NAN);
    let mut d = World::<T>::filled(&m.size, nan, T::Int::splat(-7));
    let mut slots = BTreeMap::<(usize, usize), Vec<Option<usize>>>::new();
    for (l, one) in worlds.iter().enumerate() {
        for info in world_fields().filter(|f| !f.name.starts_with("contact_")) {
            if let (Some(a), Some(b)) = (one.reals(info.field), d.reals_mut(info.field)) {
                a.iter().zip(b).for_each(|(&a, b)| b.set_lane(l, a));
            }
            if let (Some(a), Some(b)) = (one.ints(info.field), d.ints_mut(info.field)) {
                a.iter().zip(b).for_each(|(&a, b)| b.set(l, a));
            }
        }
        let mut last = (usize::MAX, 0);
        for c in 0..one.ncon[0] as usize {
            let here = |k: &usize| [m.coll_geom1[*k], m.coll_geom2[*k]] == one.contact_geom[2 * c..2 * c + 2];
            let pair = (0..m.size.ncoll).find(here).expect("of the list");
            last = if last.0 == pair { (pair, last.1 + 1) } else { (pair, 0) };
            slots.entry(last).or_insert_with(|| vec![None; T::LANES])[l] = Some(c);
        }
    }
    let slots: Vec<_> = slots.into_values().collect();
    d.slot_ncon[0] = slots.len() as i32;
    for (s, contacts) in slots.iter().enumerate() {
        for (l, one) in worlds.iter().enumerate() {
            d.contact_on[s].set(l, i32::from(contacts[l].is_some()));
            let Some(c) = contacts[l] else { continue };
            for info in world_fields().filter(|f| f.name.starts_with("contact_")) {
                let cols = info.cols(&m.size);
                if let (Some(a), Some(b)) = (one.reals(info.field), d.reals_mut(info.field)) {
                    (0..cols).for_each(|k| b[s * cols + k].set_lane(l, a[c * cols + k]));
                }
            }
            d.contact_exclude[s].set(l, one.contact_exclude[c]);
            d.contact_dim[s] = one.contact_dim[c];
            d.contact_geom[2 * s..2 * s + 2].copy_from_slice(&one.contact_geom[2 * c..2 * c + 2]);
        }
    }
    (d, slots)
}

/// World `l` of the register has the rows of the world alone, and zeros in the slots of others.
fn assert_same<T: Real>(
    place: &str,
    m: &Model<T>,
    d: &World<T>,
    l: usize,
    slots: &[Vec<Option<usize>>],
    one: &Data<T::One>,
) {
    for field in [Field::ne, Field::nf, Field::nl, Field::nefc, Field::nefc_need, Field::status] {
        let (got, want) = (d.ints(field).expect("a count")[0].get(l), one.ints(field).expect("a count")[0]);
        assert_eq!(got, want, "{place}: {}", field.name());
    }
    let (nv, nvpad) = (m.size.nv, m.size.nvpad);
    let zero = T::One::zero();
    let used = d.slot_nefc[0] as usize;
    let mut held = 0;
    let mut row = vec![None; used];
    for r in 0..used {
        let on = d.efc_on[r].get(l) == 1;
        let class =
            if r < d.slot_ne[0] as usize { 0 } else { 1 + usize::from(r >= (d.slot_ne[0] + d.slot_nf[0]) as usize) };
        for info in world_fields().filter(|f| f.name.starts_with("efc_")) {
            let written = matches!(info.stage, Stage::Constraint | Stage::Reference) && info.buffer != Buffer::Scratch;
            let (Some(all), Some(want), true) = (d.reals(info.field), one.reals(info.field), written) else { continue };
            let cols = info.cols(&m.size);
            for k in 0..cols {
                let got = all[r * cols + k].lane(l);
                let want = if on { want[held * cols + k] } else { zero };
                assert!(got == want, "{place}: {}[{r}, {k}], row {held}: {got:?} for {want:?}", info.name);
            }
        }
        let columns = &d.efc_J_colind[r * nv..][..d.efc_J_rownnz[r] as usize];
        assert!(columns.windows(2).all(|w| w[0] < w[1]));
        for k in (0..nvpad).filter(|&k| d.efc_J[r * nvpad + k].lane(l) != zero) {
            assert!(columns.contains(&(k as i32)), "{place}: column {k} of row {r}");
        }
        if on {
            assert_eq!(d.efc_type[r], one.efc_type[held], "{place}");
            let contact = d.efc_type[r] >= kiloworld_layout::consts::cnstr::CONTACT_FRICTIONLESS;
            let id = d.efc_id[r] as usize;
            let id = if contact { slots[id][l].expect("the world has it") } else { id };
            assert_eq!(id as i32, one.efc_id[held], "{place}");
            let (ne, nf) = (one.ne[0] as usize, one.nf[0] as usize);
            assert_eq!(class, usize::from(held >= ne) + usize::from(held >= ne + nf), "{place}");
            row[r] = Some(held as i32);
            held += 1;
        }
    }
    assert_eq!(held as i32, one.nefc[0], "{place}");
    let alone = |first: i32| usize::try_from(first).ok().and_then(|r| row[r]).unwrap_or(-1);
    for e in 0..m.size.neq {
        assert_eq!(alone(d.eq_efc_address[e]), one.eq_efc_address[e], "{place}: equality {e}");
    }
    for (s, contacts) in slots.iter().enumerate() {
        let first = alone(d.contact_efc_address[s]);
        assert_eq!(first, contacts[l].map_or(-1, |c| one.contact_efc_address[c]), "{place}: contact {s}");
        let mu = d.contact_mu[s].lane(l);
        match contacts[l] {
            Some(c) if first >= 0 || d.contact_efc_address[s] < 0 => assert_eq!(mu, one.contact_mu[c], "{place}"),
            _ => {
                assert!(
                    mu == T::One::one() || d.contact_efc_address[s] < 0,
                    "{place}: friction of a slot without rows"
                );
            }
        }
    }
}

/// Counts of what the registers had: rows, rows that some lanes lack, worlds with too many rows.
#[derive(Default)]
struct Seen {
    rows: usize,
    shared: usize,
    overflows: usize,
}

fn rows_in_lanes<T: Compiled>(name: &str, world_nefc: Option<usize>, seen: &mut Seen) {
    let Some(g) = Golden::find(name) else { return };
    let mut m = models::of(&g);
    // lower margins bring more limits
    m.size.njmax += 4 * m.size.njnt;
    let most = (0..g.nstate()).map(|k| g.get("out/nefc").data[k] as usize).max().unwrap_or(0);
    if let Some(percent) = world_nefc {
        m.opt.world_nefc = most * percent / 100;
    }
    let mut wide: Model<T> = m.cast(T::r);
    wide.size.njmax *= T::LANES;
    wide.size.nconmax *= T::LANES;
    let own: Vec<Model<T::One>> = (0..T::LANES).map(|l| model_of_lane(&m, l)).collect();
    for info in Field::TABLE.iter().filter(|f| f.is_model()) {
        for (l, own) in own.iter().enumerate() {
            if let (Some(Slice::F(a)), Some(SliceMut::F(b))) = (own.get(info.field), wide.get_mut(info.field)) {
                a.iter().zip(b).for_each(|(&a, b)| b.set_lane(l, a));
            }
        }
    }
    for start in 0..g.nstate() {
        let states = (0..T::LANES).map(|l| (start + 3 * l) % g.nstate());
        let mut worlds: Vec<_> = states.enumerate().map(|(l, k)| before(&g, &m, &own[l], k, l)).collect();
        let (mut d, slots) = packed(&wide, &worlds);
        run(Stage::Constraint.into(), &wide, &mut d);
        dense_rows(&wide, &mut d);
        run(Stage::Reference.into(), &wide, &mut d);
        for (l, one) in worlds.iter_mut().enumerate() {
            run(Stage::Constraint.into(), &own[l], one);
            run(Stage::Reference.into(), &own[l], one);
            assert_same(&format!("{name} from {start}, lane {l} of {}", T::LANES), &wide, &d, l, &slots, one);
            seen.rows += one.nefc[0] as usize;
            seen.shared += (d.slot_nefc[0] - one.nefc[0]) as usize;
            seen.overflows += usize::from(one.status[0] & status::ROW_OVERFLOW != 0);
        }
    }
    assert!(m.eq_type.iter().all(|&t| t != eq::WELD) || seen.shared > 0, "lanes differ");
}

#[test]
fn each_lane_has_the_rows_of_its_world_alone() {
    let mut seen = Seen::default();
    for name in NAMES {
        rows_in_lanes::<F64x2>(name, None, &mut seen);
        rows_in_lanes::<F32x4>(name, None, &mut seen);
    }
    assert!(seen.rows > 1000 && seen.shared > 100 && seen.overflows == 0, "{} {}", seen.rows, seen.shared);
    for percent in [0, 30, 60, 90] {
        rows_in_lanes::<F64x2>(NAMES[0], Some(percent), &mut seen);
        rows_in_lanes::<F32x4>(NAMES[1], Some(percent), &mut seen);
    }
    assert!(seen.overflows > 10, "{}", seen.overflows);
}

/// [`rows_in_lanes`] in whichever number.
struct Rows<'a>(&'static str, Option<usize>, &'a mut Seen);

impl WithNumber for Rows<'_> {
    type Out = ();
    fn with<T: Compiled>(self) {
        rows_in_lanes::<T>(self.0, self.1, self.2);
    }
}

#[test]
fn so_do_the_lanes_of_wide_registers() {
    let mut seen = Seen::default();
    for name in NAMES {
        for (single, base) in [(false, 2), (true, 4)] {
            for (k, lanes) in widths(single).into_iter().filter(|&n| n > base).enumerate() {
                let percent = ((k == 0) != single).then_some(70);
                with_lanes(single, lanes, Rows(name, percent, &mut seen)).expect("the processor has it");
            }
        }
    }
}
