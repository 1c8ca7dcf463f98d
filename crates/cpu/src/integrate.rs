//! Stage `integrate`. Twin: `shaders/integrate.wgsl`.

use crate::Scalar;
use kiloworld_layout::{Data, Model};

/// See `Stage`.
pub fn integrate<T: Scalar>(_m: &Model<T>, _d: &mut Data<T>, _sub: u32) {}
