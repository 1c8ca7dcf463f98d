//! Stage `inertia`. Twin: `shaders/inertia.wgsl`.

use crate::Scalar;
use kiloworld_layout::{Data, Model};

/// See `Stage`.
pub fn inertia<T: Scalar>(_m: &Model<T>, _d: &mut Data<T>) {}
