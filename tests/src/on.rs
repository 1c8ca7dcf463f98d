//! Where tests of batches run: backends, precisions, lanes.

use crate::{adapter, corpus};
use kiloworld_model::Model;
use kiloworld_sim::{Backend, Batch, BatchBuilder, Precision};

/// A backend under test, and its lanes where they are not left to it.
#[derive(Clone, Copy, Debug)]
pub struct On(pub Backend, pub Precision, pub Option<u32>);

impl On {
    /// Starts a batch of so many worlds there.
    ///
    /// # Panics
    /// On a GPU where there is none.
    pub fn builder(self, model: &Model, nworld: usize) -> BatchBuilder<'_> {
        let Self(backend, precision, lanes) = self;
        let mut builder = Batch::builder(model).nworld(nworld).backend(backend).precision(precision);
        if backend == Backend::Gpu {
            builder = builder.gpu(adapter::gpu().expect("the caller asked for a GPU"));
        }
        lanes.into_iter().fold(builder, BatchBuilder::lanes)
    }

    /// A batch of so many worlds there, at the model's first keyframe if it has one.
    ///
    /// # Panics
    /// As [`Self::builder`], or where there is no such batch.
    pub fn batch(self, model: &Model, nworld: usize) -> Batch {
        let mut batch = self.builder(model, nworld).build().expect("a batch");
        if model.layout.size.nkey > 0 {
            batch.reset(None, Some(0)).expect("reset");
        }
        batch
    }
}

/// f64 and f32 as large batches have them, and the GPU where there is one.
pub fn backends() -> Vec<On> {
    let mut on = vec![On(Backend::Cpu, Precision::F64, None), On(Backend::Cpu, Precision::F32, None)];
    on.extend(adapter::gpu().map(|_| On(Backend::Gpu, Precision::F32, None)));
    on
}

/// Single worlds and lanes in both precisions, and the GPU where there is one.
pub fn numbers() -> Vec<On> {
    let alone = [Precision::F64, Precision::F32].map(|precision| On(Backend::Cpu, precision, Some(1)));
    alone.into_iter().chain(backends()).collect()
}

/// A model of the folder `models`.
///
/// # Panics
/// Where it is not there or does not compile.
pub fn model(name: &str) -> Model {
    Model::from_path(corpus::root().join("models").join(name)).unwrap_or_else(|e| panic!("{e}"))
}
