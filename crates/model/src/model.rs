//! The compiled model.

use crate::compile::{self, Simple};
use crate::names::{Kind, Names};
use kiloworld_layout::{self as layout, Field, Slice};
use kiloworld_mjcf::{Error, Errors, Load, Sources, Spec};
use std::io::Read;
use std::path::Path;

/// Why constants could not be recomputed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetConstError {
    /// the sizes differ
    #[error("these are the fields of another model")]
    OtherModel,
    /// a dof has no inertia of its own
    #[error("the inertia matrix is singular at dof {0}")]
    Singular(usize),
}

/// A compiled model: MuJoCo's fields by MuJoCo's names, and what a person wants to know about them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// the compiled fields; `size.nconmax` and `size.njmax` are what a world can need at most, and may be lowered or raised
    pub layout: layout::Model<f64>,
    /// the model's name
    pub name: String,
    /// names of its elements
    pub names: Names,
    /// bodies whose inertia matrix stays diagonal, which MuJoCo weighs in its own way
    pub(crate) simple: Vec<Simple>,
    /// what cannot be simulated, each with its place; see [`Model::check_supported`]
    pub unsupported: Vec<Error>,
    /// what is left out without a difference to the motion
    pub warnings: Vec<Error>,
    /// the files that it was read from
    pub sources: Sources,
}

impl Model {
    /// Reads and compiles an MJCF file.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self, Errors> {
        Self::read(kiloworld_mjcf::read_path(path.as_ref())?)
    }

    /// Reads and compiles an MJCF file whose parts, meshes and height fields come from `files`: [`Files`] says how far outside its
    /// folder the model may reach.
    ///
    /// [`Files`]: kiloworld_mjcf::Files
    pub fn from_path_with(path: impl AsRef<Path>, files: &dyn Load) -> Result<Self, Errors> {
        Self::read(kiloworld_mjcf::read_path_with(path.as_ref(), files)?)
    }

    /// Compiles an MJCF text that stands alone.
    #[expect(clippy::should_implement_trait, reason = "callable without importing a trait")]
    pub fn from_str(xml: &str) -> Result<Self, Errors> {
        Self::read(kiloworld_mjcf::read_str(xml, "model")?)
    }

    /// Compiles an MJCF text with its files in memory: a map of bytes by the name that the text gives, folders of the compiler
    /// before it.
    ///
    /// ```
    /// # use std::collections::HashMap;
    /// let files = HashMap::from([("meshes/a.obj".to_owned(), b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n")]);
    /// let xml = r#"<mujoco><compiler meshdir="meshes"/><asset><mesh file="a.obj"/></asset>
    ///   <worldbody><geom type="mesh" mesh="a"/></worldbody></mujoco>"#;
    /// let model = kiloworld_model::Model::from_str_with(xml, &files)?;
    /// assert_eq!(model.layout.size.nmeshface, 4);
    /// # Ok::<(), kiloworld_mjcf::Errors>(())
    /// ```
    pub fn from_str_with(xml: &str, files: &dyn Load) -> Result<Self, Errors> {
        Self::read(kiloworld_mjcf::read_with(xml.to_owned(), "model", Path::new("model"), files)?)
    }

    /// Compiles an MJCF text from a reader.
    pub fn from_reader(reader: impl Read) -> Result<Self, Errors> {
        Self::read(kiloworld_mjcf::read_reader(reader, "model")?)
    }

    fn read((spec, warnings): (Spec, Vec<Error>)) -> Result<Self, Errors> {
        let mut model = Self::from_spec(&spec)?;
        model.warnings.splice(..0, warnings);
        Ok(model)
    }

    /// Compiles a specification.
    pub fn from_spec(spec: &Spec) -> Result<Self, Errors> {
        compile::compile(spec)
    }

    /// A compiled field by its name.
    pub fn field(&self, name: &str) -> Option<Slice<'_, f64>> {
        self.layout.get(Field::from_name(name)?)
    }

    /// The id of a named element.
    pub fn id(&self, kind: Kind, name: &str) -> Option<usize> {
        self.names.of(kind).id(name)
    }

    /// Recomputes what follows from other fields at the reference pose, after masses, inertias, frames, joints or `qpos0` of a
    /// copy of this model's fields were changed: subtree masses, inverse weights, lengths, second anchors and relative poses
    /// of equality constraints. Statistics stay.
    ///
    /// # Errors
    /// The fields are those of another model, or the changes make the inertia matrix singular.
    pub fn set_const(&self, fields: &mut layout::Model<f64>) -> Result<(), SetConstError> {
        if fields.size.nbody != self.layout.size.nbody || fields.size.nv != self.layout.size.nv {
            return Err(SetConstError::OtherModel);
        }
        compile::set_const(fields, &self.simple).map(|_| ()).map_err(SetConstError::Singular)
    }

    /// An error that lists everything in the model that cannot be simulated.
    pub fn check_supported(&self) -> Result<(), Errors> {
        if self.unsupported.is_empty() {
            return Ok(());
        }
        Err(Errors { errors: self.unsupported.clone(), sources: self.sources.clone() })
    }
}
