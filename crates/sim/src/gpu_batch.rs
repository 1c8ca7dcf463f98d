//! A batch on the GPU.

use crate::Error;
use crate::pending::{Gpu, Tuning};
use kiloworld_layout::{Call, Data, Field, Model, Stage};
use std::sync::Arc;

pub(crate) struct GpuWorlds {}

impl GpuWorlds {
    pub(crate) fn new(_: Arc<Gpu>, _: &Model<f64>, _: usize, _: Option<Tuning>, _: &[Field]) -> Result<Self, Error> {
        Err(Error::NoGpu)
    }
    pub(crate) fn name(&self) -> String {
        String::new()
    }
    pub(crate) fn bytes_per_world(&self) -> usize {
        0
    }
    pub(crate) fn set(&mut self, _: Field, _: &[f64]) -> Result<(), Error> {
        Err(Error::NoGpu)
    }
    pub(crate) fn set_rows(&mut self, _: Field, _: &[usize], _: &[f64]) -> Result<(), Error> {
        Err(Error::NoGpu)
    }
    pub(crate) fn step(&mut self, _: &[Call], _: usize) -> Result<(), Error> {
        Err(Error::NoGpu)
    }
    pub(crate) fn run(&mut self, _: &[Call]) -> Result<(), Error> {
        Err(Error::NoGpu)
    }
    pub(crate) fn forward(&mut self, _: &[Call], _: &[usize], _: &[Field]) -> Result<Vec<Vec<f64>>, Error> {
        Err(Error::NoGpu)
    }
    pub(crate) fn world(&self, _: usize) -> Result<Data<f64>, Error> {
        Err(Error::NoGpu)
    }
    pub(crate) fn stage_times(&mut self) -> Vec<(Stage, f64)> {
        Vec::new()
    }
}
