//! Sizes of a model: the numbers that every shape in the field table is made of.

/// A number of elements that a field's shape refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types, reason = "spelled as MuJoCo spells its sizes")]
pub enum Dim {
    /// A constant.
    Const(usize),
    /// A size of the model, by name.
    Size(SizeName),
    /// Half of a size, rounded up: pairs.
    Half(SizeName),
    /// Entries on and below the diagonal of a square of this size.
    Triangle(SizeName),
}

macro_rules! sizes {
    ($($(#[doc = $doc:literal])+ $name:ident,)*) => {
        /// Which size.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(non_camel_case_types, non_snake_case, missing_docs, reason = "one variant a field of `Sizes`, documented there")]
        pub enum SizeName { $($name,)* }

        /// Sizes of a compiled model and the capacities of its worlds.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        #[allow(non_snake_case, reason = "nC is MuJoCo's name")]
        pub struct Sizes { $($(#[doc = $doc])+ pub $name: usize,)* }

        impl Sizes {
            /// Every size's name, in order.
            pub const NAMES: &'static [(&'static str, SizeName)] = &[$((stringify!($name), SizeName::$name),)*];

            /// The value of one size.
            pub fn get(&self, name: SizeName) -> usize {
                match name { $(SizeName::$name => self.$name,)* }
            }

            /// One size, to set it.
            pub fn get_mut(&mut self, name: SizeName) -> &mut usize {
                match name { $(SizeName::$name => &mut self.$name,)* }
            }
        }
    };
}

sizes! {
    /// generalized coordinates
    nq,
    /// degrees of freedom
    nv,
    /// `nv` rounded up to a multiple of 4: the row stride of dense matrices over dofs
    nvpad,
    /// controls (one an actuator)
    nu,
    /// activation states
    na,
    /// bodies, the world included
    nbody,
    /// joints
    njnt,
    /// geoms
    ngeom,
    /// sites
    nsite,
    /// mocap bodies
    nmocap,
    /// equality constraints
    neq,
    /// fixed tendons
    ntendon,
    /// joints wrapped by tendons, summed over tendons
    nwrap,
    /// explicit contact pairs of the file
    npair,
    /// excluded body pairs
    nexclude,
    /// keyframes
    nkey,
    /// kinematic trees
    ntree,
    /// nonzeros in the lower triangle of the inertia matrix, diagonal included
    nC,
    /// geom pairs that can collide: the static pair list
    ncoll,
    /// depth levels of the kinematic tree (the world is level 0)
    nlevel,
    /// `nlevel + 1`
    nlevel1,
    /// bodies whose gravity is compensated
    ngravcomp,
    /// depth levels of the dofs in the sparsity of M
    ndoflevel,
    /// `ndoflevel + 1`
    ndoflevel1,
    /// meshes
    nmesh,
    /// vertices of all meshes
    nmeshvert,
    /// triangles of all meshes
    nmeshface,
    /// numbers that describe the convex hulls of all meshes
    nmeshgraph,
    /// height fields
    nhfield,
    /// elevations of all height fields
    nhfielddata,
    /// sensors
    nsensor,
    /// values of all sensors
    nsensordata,
    /// cameras
    ncam,
    /// contacts a world can hold
    nconmax,
    /// constraint rows a world can hold
    njmax,
    /// `njmax` where forces are solved for (PGS, noslip), else 0
    njdual,
    /// the most nonzeros that a row of the constraint Jacobian can have
    njrow,
}

/// Entries of the first `n` rows of a lower triangle, so also where its row `n` begins.
#[inline(always)]
pub const fn triangle(n: usize) -> usize {
    n * (n + 1) / 2
}

impl SizeName {
    /// Sizes of fields that are not on the device: kernels have no constant for them.
    pub const HOST: &'static [Self] = &[
        Self::nmesh,
        Self::nmeshvert,
        Self::nmeshface,
        Self::nmeshgraph,
        Self::nhfield,
        Self::nhfielddata,
        Self::nsensor,
        Self::nsensordata,
        Self::ncam,
        Self::njrow,
    ];
}

impl Sizes {
    /// The value of a dimension.
    pub fn dim(&self, dim: Dim) -> usize {
        match dim {
            Dim::Const(n) => n,
            Dim::Size(name) => self.get(name),
            Dim::Half(name) => self.get(name).div_ceil(2),
            // a size out of a file may be anything
            Dim::Triangle(name) => {
                let n = self.get(name);
                n.saturating_mul(n.saturating_add(1)) / 2
            }
        }
    }
}

/// Integer options of a model: `mjOption`'s, in force for every world of a batch. Constants in the WGSL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opt {
    /// `mjtIntegrator`: see [`crate::consts::integrator`]
    pub integrator: i32,
    /// `mjtCone`: 0 pyramidal, 1 elliptic
    pub cone: i32,
    /// `mjtJacobian`; kept for inspection, it changes no result here
    pub jacobian: i32,
    /// `mjtSolver`: 0 PGS, 1 CG, 2 Newton
    pub solver: i32,
    /// maximum number of main solver iterations
    pub iterations: i32,
    /// maximum number of line-search iterations
    pub ls_iterations: i32,
    /// maximum number of noslip iterations
    pub noslip_iterations: i32,
    /// maximum number of convex collision iterations; kept for inspection
    pub ccd_iterations: i32,
    /// `mjtDisableBit` mask
    pub disableflags: i32,
    /// `mjtEnableBit` mask
    pub enableflags: i32,
    /// actuator groups switched off, a bit a group
    pub disableactuator: i32,
    /// contacts that a world may have, where `Sizes::nconmax` counts slots that several worlds share
    pub world_ncon: usize,
    /// constraint rows that a world may have, where `Sizes::njmax` counts slots that several worlds share
    pub world_nefc: usize,
}

impl Default for Opt {
    fn default() -> Self {
        Self {
            integrator: 0,
            cone: 0,
            jacobian: crate::consts::jac::AUTO,
            solver: 2,
            iterations: 100,
            ls_iterations: 50,
            noslip_iterations: 0,
            ccd_iterations: 35,
            disableflags: 0,
            enableflags: 0,
            disableactuator: 0,
            world_ncon: usize::MAX,
            world_nefc: usize::MAX,
        }
    }
}
