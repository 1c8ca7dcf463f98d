//! Values that no stage computes, put where a stage must write: what is not written shows.

use kiloworld_layout::{Buffer, Call, Data, Field, Model, Slice, SliceMut, Stage};

/// The integer that stands for "not written".
pub const POISON: i32 = -12345;

/// A real that a stage can be poisoned with.
pub trait Poison: Copy {
    /// Not a number.
    const NAN: Self;
}
impl Poison for f32 {
    const NAN: Self = Self::NAN;
}
impl Poison for f64 {
    const NAN: Self = Self::NAN;
}

/// The fields that a stage writes, on both sides.
pub fn written(stage: Stage) -> Vec<Field> {
    Field::written_by(stage).filter(|f| f.info().buffer != Buffer::Scratch).collect()
}

/// Fields that their stage also reads: they keep their values.
const READ_TOO: &[Field] = &[
    Field::status,
    Field::bad_fields,
    Field::nstep,
    Field::health_size,
    Field::health_time,
    Field::health_memory,
    Field::health_id,
    Field::health_count,
    Field::ncon_need,
    Field::nefc_need,
    Field::time,
    Field::qpos,
    Field::qpos_lo,
    Field::qvel,
    Field::act,
    Field::qacc_warmstart,
];

/// What passes between the parts of one stage: how it is used differs between CPU and GPU, so it is not compared.
pub fn is_internal(field: Field) -> bool {
    let name = field.name();
    name.starts_with("solver_")
        || name.starts_with("int_")
        || matches!(field, Field::efc_Jaref | Field::efc_Jv | Field::efc_Y | Field::efc_A | Field::noslip_niter)
}

/// The fields that are poisoned before a call.
pub fn poisoned(call: Call) -> Vec<Field> {
    let keep = |f: &Field| {
        READ_TOO.contains(f)
            // the post-pass corrects what the solver found
            || (call.stage == Stage::Noslip && f.info().stage == Stage::Solver)
            // Runge-Kutta substages add to what the first one left
            || (call.sub > 0 && f.name().starts_with("int_"))
    };
    written(call.stage).into_iter().filter(|f| !keep(f)).collect()
}

/// Poisons a world.
pub fn poison<T: Poison>(d: &mut Data<T>, call: Call) {
    for field in poisoned(call) {
        match d.get_mut(field) {
            Some(SliceMut::I(v)) => v.fill(POISON),
            Some(SliceMut::F(v)) => v.fill(T::NAN),
            None => {}
        }
    }
}

/// Elements of a field that are due in this world: all, or the rows that its contacts or constraint rows fill.
pub fn due<T, U>(m: &Model<U>, d: &Data<T>, field: Field) -> usize {
    let info = field.info();
    let len = info.len(&m.size);
    let name = info.name;
    let count = if name.starts_with("contact_") {
        d.ncon[0]
    } else if name.starts_with("efc_") {
        d.nefc[0]
    } else {
        return len;
    };
    (usize::try_from(count).unwrap_or(0) * info.cols(&m.size)).min(len)
}

/// The first field of the call with a due value that is still poison or not finite.
pub fn left_over<U>(m: &Model<U>, d: &Data<f64>, call: Call) -> Option<(Field, usize)> {
    poisoned(call).into_iter().filter(|&f| !is_internal(f)).find_map(|field| {
        let n = due(m, d, field);
        let at = match d.get(field)? {
            Slice::I(v) => v[..n].iter().position(|&x| x == POISON),
            Slice::F(v) => v[..n].iter().position(|x| !x.is_finite()),
        }?;
        Some((field, at))
    })
}
