//! tests
mod batch_bits;
mod constraint;
mod layout;
mod mirror;
mod smooth;
mod solver;
mod stages;
