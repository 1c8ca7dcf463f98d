//! Stage `solver`. Twin: `shaders/solver.wgsl`.

use crate::Scalar;
use kiloworld_layout::{Data, Model};

/// See `Stage`.
pub fn solver<T: Scalar>(_m: &Model<T>, _d: &mut Data<T>) {}
