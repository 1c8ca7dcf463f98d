//! Stage `velocity`. Twin: `shaders/velocity.wgsl`.

use crate::Scalar;
use kiloworld_layout::{Data, Model};

/// See `Stage`.
pub fn velocity<T: Scalar>(_m: &Model<T>, _d: &mut Data<T>) {}
