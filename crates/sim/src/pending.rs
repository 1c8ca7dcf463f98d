//! Stand-ins for what other crates will bring.
#![allow(missing_docs, reason = "replaced as soon as the crates land")]
#[derive(Default, Debug)]
pub struct Gpu;
impl Gpu {
    pub fn new(_: &()) -> Result<Self, crate::Error> {
        Err(crate::Error::NoGpu)
    }
    pub fn is_software(&self) -> bool {
        true
    }
}
#[derive(Clone, Copy, Debug)]
pub struct Tuning;
pub struct Model {
    pub layout: kiloworld_layout::Model<f64>,
}
impl Model {
    pub fn check_supported(&self) -> Result<(), crate::Error> {
        Ok(())
    }
}
