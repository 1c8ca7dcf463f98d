//! Stage `bias`. Twin: `shaders/bias.wgsl`.

use crate::Scalar;
use kiloworld_layout::{Data, Model};

/// See `Stage`.
pub fn bias<T: Scalar>(_m: &Model<T>, _d: &mut Data<T>) {}
