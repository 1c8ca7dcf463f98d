//! Stage `collision`. Twin: `shaders/collision.wgsl`.

use crate::Scalar;
use kiloworld_layout::{Data, Model};

/// See `Stage`.
pub fn collision<T: Scalar>(_m: &Model<T>, _d: &mut Data<T>) {}
