//! tests
mod solver;
