//! Stage `actuation`. Twin: `shaders/actuation.wgsl`.

use crate::Scalar;
use kiloworld_layout::{Data, Model};

/// See `Stage`.
pub fn actuation<T: Scalar>(_m: &Model<T>, _d: &mut Data<T>) {}
