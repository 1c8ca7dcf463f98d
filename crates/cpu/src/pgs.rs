//! Projected Gauss-Seidel on the constraint forces. Twin: `shaders/pgs.wgsl`.

use crate::Scalar;
use kiloworld_layout::{Data, Model};

/// See `solver`.
pub fn pgs<T: Scalar>(_m: &Model<T>, _d: &mut Data<T>) {}
