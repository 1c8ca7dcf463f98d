//! Stage `noslip`. Twin: `shaders/noslip.wgsl`.

use crate::Scalar;
use kiloworld_layout::{Data, Model};

/// See `Stage`.
pub fn noslip<T: Scalar>(_m: &Model<T>, _d: &mut Data<T>) {}
