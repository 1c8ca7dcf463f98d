//! tests
mod constraint;
mod layout;
mod solver;
