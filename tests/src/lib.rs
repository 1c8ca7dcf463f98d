//! The harness that the tests share: goldens, comparison.

#![expect(clippy::cast_possible_truncation, reason = "counts in golden files are small")]
pub mod adapter;
pub mod compare;
pub mod compiled;
pub mod corpus;
pub mod dynamics;
pub mod forge;
pub mod fuzz;
pub mod golden;
pub mod left_out;
pub mod models;
pub mod on;
pub mod poison;
pub mod stage;
pub mod tolerance;
