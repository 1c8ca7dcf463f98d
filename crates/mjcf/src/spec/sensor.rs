//! Sensors and cameras.

use super::{Interp, Orientation};
use crate::span::At;

/// An element that a sensor is attached to or measures against.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object {
    /// "body", "xbody", "joint", "geom", "site", "camera", "tendon", "actuator", "mesh"
    pub kind: String,
    /// its name
    pub name: String,
    /// the attribute that names it
    pub attr: &'static str,
}

/// A sensor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sensor {
    /// where
    pub at: At,
    /// the element's tag
    pub kind: String,
    /// its name
    pub name: Option<String>,
    /// what it is attached to
    pub object: Option<Object>,
    /// what it measures against
    pub reference: Option<Object>,
    /// bound of its values, 0: none
    pub cutoff: f64,
    /// standard deviation, which no simulation applies
    pub noise: f64,
    /// samples of history
    pub nsample: i32,
    /// how history is read
    pub interp: Interp,
    /// delay \[s\]
    pub delay: f64,
    /// period and phase of the samples \[s\]
    pub interval: [f64; 2],
    /// `contact`, `rangefinder`: what is reported, in order
    pub data: Vec<String>,
    /// `contact`: "none", "mindist", "maxforce", "netforce"
    pub reduce: Option<String>,
    /// `contact`: number of contacts reported
    pub num: i32,
    /// `insidesite`: how far the object is outside, or whether it is inside
    pub enclosed: bool,
    /// `user`: number of values
    pub dim: i32,
    /// `user`: "real", "positive", "axis", "quaternion"
    pub datatype: Option<String>,
    /// `user`: "pos", "vel", "acc"
    pub needstage: Option<String>,
}

/// How a camera moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "MuJoCo's own keywords")]
pub enum CameraMode {
    #[default]
    Fixed,
    Track,
    TrackCom,
    TargetBody,
    TargetBodyCom,
}

/// A camera, as far as sensors see it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Camera {
    /// where
    pub at: At,
    /// name
    pub name: Option<String>,
    /// the body that holds it
    pub body: usize,
    /// the innermost frame around it in its body
    pub frame: Option<usize>,
    /// position in the body (or frame) \[m\]
    pub pos: [f64; 3],
    /// orientation in the body (or frame)
    pub orientation: Option<Orientation>,
    /// how it moves
    pub mode: CameraMode,
    /// the body that it looks at
    pub target: Option<String>,
    /// pixels across and down
    pub resolution: [i32; 2],
    /// vertical field of view \[degrees\]
    pub fovy: f64,
    /// size of the sensor \[m\]
    pub sensorsize: [f64; 2],
    /// focal lengths and principal point, each in metres and in pixels
    pub intrinsics: [[f64; 2]; 4],
}
