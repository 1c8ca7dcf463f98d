//! Stage `constraint`. Twin: `shaders/constraint.wgsl`.

use crate::Scalar;
use kiloworld_layout::{Data, Model};

/// See `Stage`.
pub fn constraint<T: Scalar>(_m: &Model<T>, _d: &mut Data<T>) {}

/// See `Stage`.
pub fn reference<T: Scalar>(_m: &Model<T>, _d: &mut Data<T>) {}
