//! Stage `acceleration`. Twin: `shaders/acceleration.wgsl`.

use crate::Scalar;
use kiloworld_layout::{Data, Model};

/// See `Stage`.
pub fn acceleration<T: Scalar>(_m: &Model<T>, _d: &mut Data<T>) {}
