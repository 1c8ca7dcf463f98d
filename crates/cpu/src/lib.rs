//! The stages of a step on the CPU, one file a stage, each the twin of the WGSL file of the same stem.
//!
//! A stage is a function of a model and one world: `kinematics(m, d)`. `f64` is the reference that MuJoCo is compared
//! with, `f32` the witness that tells a GPU's bug from rounding. This crate knows no files, no GPU and no batches: it sees
//! the arrays of `kiloworld-layout` and nothing else.

#![expect(clippy::needless_range_loop, reason = "kept line for line with the WGSL")]

pub mod acceleration;
pub mod actuation;
pub mod bias;
pub mod collide_box;
pub mod collide_capsule;
pub mod collide_plane;
pub mod collide_sphere;
pub mod collision;
pub mod cone;
pub mod constraint;
pub mod constraint_anchor;
pub mod constraint_contact;
pub mod constraint_equality;
pub mod constraint_row;
pub mod contact_set;
pub mod dispatch;
mod dual;
pub mod health;
pub mod implicit;
pub mod inertia;
pub mod integrate;
pub mod joints;
pub mod kinematics;
pub mod lanes;
pub mod linalg;
mod linesearch;
pub mod math;
pub mod noslip;
pub mod passive;
pub mod pgs;
mod real;
pub mod reference;
pub mod rk4;
mod rows;
pub mod solver;
mod solver_matrix;
pub mod spatial;
pub mod transmission;
mod trig;
pub mod two_float;
pub mod velocity;

pub use dispatch::{Compiled, WithNumber, widths, with_lanes};
pub use real::{Ints, Mask, Real, Scalar};

use kiloworld_layout::{Call, Data, Field, Model, SizeName, Sizes};

/// The arrays of the worlds that `T` stands for.
pub type World<T> = Data<T, <T as Real>::Int>;

/// What there is more or less of from step to step.
const CONTACTS: &[SizeName] = &[SizeName::nconmax];
const ROWS: &[SizeName] = &[SizeName::njmax, SizeName::njdual];

/// Worlds with every number zero, the fields `out` left out. Arrays of contacts and rows have elements once worlds need them: most of
/// the slots that several worlds can need together never are, and what was never written takes no memory.
pub fn world<T: Real>(size: &Sizes, out: &[Field]) -> World<T> {
    World::<T>::filled_but(size, T::zero(), T::Int::splat(0), out, &[CONTACTS, ROWS].concat())
}

/// Lengthens arrays of `len` elements, of which there are `most` at most, so that they have `n`.
#[cold]
fn lengthen<T: Real>(m: &Model<T>, d: &mut World<T>, of: &[SizeName], len: usize, n: usize, most: usize) {
    let len = n.max(2 * len).max(64).min(most);
    d.lengthen(&m.size, of, len, T::zero(), T::Int::splat(0));
}

/// Runs one entry of the step's list on the worlds that `T` stands for.
pub fn run<T: Compiled>(call: Call, m: &Model<T>, d: &mut World<T>) {
    T::run(call, m, d);
}
