//! tests
mod batch_bits;
mod constraint;
mod layout;
mod mirror;
mod solver;
mod stages;
mod smooth;
