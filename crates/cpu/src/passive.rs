//! Stage `passive`. Twin: `shaders/passive.wgsl`.

use crate::Scalar;
use kiloworld_layout::{Data, Model};

/// See `Stage`.
pub fn passive<T: Scalar>(_m: &Model<T>, _d: &mut Data<T>) {}
