//! Stage `kinematics`. Twin: `shaders/kinematics.wgsl`.

use crate::Scalar;
use kiloworld_layout::{Data, Model};

/// See `Stage`.
pub fn kinematics<T: Scalar>(_m: &Model<T>, _d: &mut Data<T>) {}

/// See `Stage`.
pub fn com_pos<T: Scalar>(_m: &Model<T>, _d: &mut Data<T>) {}
