//! Stand-ins for what other crates will bring.
#![allow(missing_docs, reason = "replaced as soon as the crates land")]
pub struct Model {
    pub layout: kiloworld_layout::Model<f64>,
}
impl Model {
    pub fn check_supported(&self) -> Result<(), crate::Error> {
        Ok(())
    }
}
