//! tests
mod constraint;
mod solver;
