//! Stage `transmission`. Twin: `shaders/transmission.wgsl`.

use crate::Scalar;
use kiloworld_layout::{Data, Model};

/// See `Stage`.
pub fn transmission<T: Scalar>(_m: &Model<T>, _d: &mut Data<T>) {}
