//! tests
mod constraint;
mod layout;
mod solver;
mod stages;
