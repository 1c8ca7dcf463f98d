//! The shader files, embedded; read from disk instead where `KILOWORLD_SHADERS` names a folder.

use crate::error::GpuError;
use crate::link::{LinkError, Linked, link};
use kiloworld_layout::wgsl::LayoutModule;
use std::collections::BTreeMap;

macro_rules! shaders {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../../shaders/", $name, ".wgsl")))),*]
    };
}

/// Every file of `shaders/` by its stem, sorted.
pub const SHADERS: &[(&str, &str)] = shaders! {
    // one a line, sorted
    "acceleration"
    "actuation"
    "bias"
    "collide_box"
    "collide_capsule"
    "collide_plane"
    "collide_sphere"
    "collision"
    "cone"
    "constraint"
    "constraint_anchor"
    "constraint_contact"
    "constraint_equality"
    "constraint_row"
    "contact_set"
    "dual"
    "fused_force"
    "fused_health"
    "fused_integrate"
    "fused_position"
    "fused_rows"
    "fused_velocity"
    "health"
    "implicit"
    "inertia"
    "integrate"
    "joints"
    "kinematics"
    "lanes"
    "linesearch"
    "loops"
    "math"
    "noslip"
    "passive"
    "pgs"
    "reference"
    "rk4"
    "rows"
    "solver"
    "solver_init"
    "solver_iter"
    "solver_matrix"
    "solver_vector"
    "spatial"
    "transmission"
    "two_float"
    "velocity"
};

/// The kernels of [`Gpu::selftest`](crate::Gpu::selftest).
pub(crate) const SELFTEST: (&str, &str) = ("selftest", include_str!("selftest.wgsl"));

/// The environment variable that names a folder to read shaders from.
pub const SHADERS_VARIABLE: &str = "KILOWORLD_SHADERS";

/// Shader texts by stem.
#[derive(Clone, Debug)]
pub struct Shaders(BTreeMap<String, String>);

impl Shaders {
    /// The embedded files, or those of the folder that [`SHADERS_VARIABLE`] names.
    pub fn load() -> Result<Self, GpuError> {
        let mut files: BTreeMap<_, _> = SHADERS.iter().map(|&(n, t)| (n.to_owned(), t.to_owned())).collect();
        if let Some(folder) = std::env::var_os(SHADERS_VARIABLE) {
            for (name, text) in &mut files {
                let path = std::path::Path::new(&folder).join(format!("{name}.wgsl"));
                let no_file = || std::io::Error::new(std::io::ErrorKind::InvalidInput, "it is not a regular file");
                let found = path.metadata().and_then(|m| if m.is_file() { Ok(()) } else { Err(no_file()) });
                *text = found
                    .and_then(|()| std::fs::read_to_string(&path))
                    .map_err(|e| GpuError::Setting(format!("{SHADERS_VARIABLE}: {}: {e}", path.display())))?;
            }
        }
        Ok(Self(files))
    }

    /// A file's text.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A file's text to change: for tests that plant faults.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut String> {
        self.0.get_mut(name)
    }

    /// Adds or replaces a file.
    pub fn insert(&mut self, name: &str, text: String) {
        self.0.insert(name.to_owned(), text);
    }

    /// Links a file with all that it imports.
    pub fn link(&self, name: &str, layout: &LayoutModule) -> Result<Linked, LinkError> {
        let mut linked = link(name, &|n| self.get(n), layout)?;
        let ours = linked.modules().all(|module| self.is_ours(module));
        linked.is_ours = ours;
        Ok(linked)
    }

    /// True where the file is as this crate embeds it.
    fn is_ours(&self, name: &str) -> bool {
        let text = self.get(name);
        SHADERS.iter().chain([&SELFTEST]).any(|&(n, t)| n == name && Some(t) == text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiloworld_layout::wgsl::{Tuning, emit};
    use kiloworld_layout::{Layout, Model, Sizes};
    use std::collections::BTreeSet;

    #[test]
    fn a_text_that_somebody_changed_is_not_trusted() {
        let size = Sizes { nlevel1: 1, ..Sizes::default() };
        let layout = Layout::new(&size, &BTreeSet::new()).expect("fits");
        let module = emit(&Model::<f64> { size, ..Model::default() }, &layout, Tuning::default());
        let mut shaders = Shaders(SHADERS.iter().map(|&(n, t)| (n.to_owned(), t.to_owned())).collect());
        let ours = |shaders: &Shaders, file: &str| shaders.link(file, &module).expect("links").is_ours;
        assert!(ours(&shaders, "kinematics") && ours(&shaders, "inertia"));
        // in a file that only one of them imports
        shaders.get_mut("two_float").expect("a file").push_str("// mine\n");
        assert!(!ours(&shaders, "kinematics") && ours(&shaders, "inertia"));
        shaders.insert("inertia", "import package::layout::{NV};\nconst A = NV;\n".to_owned());
        assert!(!ours(&shaders, "inertia"));
    }
}
