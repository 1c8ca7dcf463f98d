//! The table: one row a field, and what is made of it.
//!
//! `name: Buffer [dimension, columns…] Kind Stage "unit" "doc";` — the shape of one world's array (a field of a batch is
//! `(nworld, dimension, columns…)`), its kind, and the stage that writes it. The kind is the scalar `T`, an integer a world
//! `I`, or `i32`: an integer that is the same in all worlds that a SIMD register holds on the CPU.

use crate::{Dim, Sizes, Stage, sizes::SizeName};

/// Where a field lives on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Buffer {
    /// not on the device
    Host,
    /// a world's own work on the host, not on the device
    Scratch,
    /// i32, shared by all worlds
    Topo,
    /// f32, shared by all worlds; a field of it that is randomized moves to the per-world buffer `vary`
    Model,
    /// f32, per world: what persists from step to step and what the user sets
    State,
    /// f32, per world: smooth stages and solver
    Work,
    /// f32, per world: contacts
    Contact,
    /// f32, per world: constraint rows
    Efc,
    /// i32, per world: counts, ids, flags
    Status,
}

/// Element kind of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// i32
    I,
    /// the scalar: f64 or f32 on the host, f32 on the device
    F,
}

/// A row of the table.
#[derive(Debug)]
pub struct FieldInfo {
    /// the field
    pub field: Field,
    /// its name
    pub name: &'static str,
    /// where it lives on the device
    pub buffer: Buffer,
    /// shape of one world's array: elements, then columns
    pub shape: &'static [Dim],
    /// element kind
    pub kind: Kind,
    /// the stage that writes it
    pub stage: Stage,
    /// unit, empty for ids and counts
    pub unit: &'static str,
    /// what it is
    pub doc: &'static str,
}

impl FieldInfo {
    /// Number of elements (the first dimension) in one world.
    pub fn rows(&self, sizes: &Sizes) -> usize {
        sizes.dim(self.shape[0])
    }

    /// Scalars an element.
    pub fn cols(&self, sizes: &Sizes) -> usize {
        self.shape[1..].iter().map(|&d| sizes.dim(d)).product()
    }

    /// Scalars in one world.
    pub fn len(&self, sizes: &Sizes) -> usize {
        self.rows(sizes) * self.cols(sizes)
    }

    /// True for fields of [`Model`], false for fields of [`Data`].
    pub fn is_model(&self) -> bool {
        matches!(self.buffer, Buffer::Host | Buffer::Topo | Buffer::Model)
    }
}

/// A field's values, borrowed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the element kinds")]
pub enum Slice<'a, T> {
    I(&'a [i32]),
    F(&'a [T]),
}

/// A field's values, borrowed mutably.
#[derive(Debug)]
#[allow(missing_docs, reason = "the element kinds")]
pub enum SliceMut<'a, T> {
    I(&'a mut Vec<i32>),
    F(&'a mut Vec<T>),
}

macro_rules! kind {
    ($of:ident, i32) => {
        $of::I
    };
    ($of:ident, T) => {
        $of::F
    };
    ($of:ident, I) => {
        $of::I
    };
    ($of:ident, i32, $e:expr) => {
        $of::I($e)
    };
    ($of:ident, I, $e:expr) => {
        $of::I($e)
    };
    ($of:ident, T, $e:expr) => {
        $of::F($e)
    };
}

/// `$e` where the kind is the one asked for.
macro_rules! only {
    (T, T, $e:expr) => {
        Some($e)
    };
    (I, I, $e:expr) => {
        Some($e)
    };
    ($want:ident, $kind:ident, $e:expr) => {
        None
    };
}

macro_rules! element {
    (i32, $zero:expr, $none:expr) => {
        0
    };
    (T, $zero:expr, $none:expr) => {
        $zero
    };
    (I, $zero:expr, $none:expr) => {
        $none
    };
}

macro_rules! made {
    ($kind:ident, $len:expr, $room:expr, $zero:expr, $none:expr) => {{
        let (len, room) = ($len, $room);
        if len == room {
            // of plain zeros the system has what takes no memory until it is written
            vec![element!($kind, $zero, $none); len]
        } else {
            let mut made = Vec::with_capacity(room);
            made.resize(len, element!($kind, $zero, $none));
            made
        }
    }};
}

macro_rules! dim {
    ($n:literal) => {
        Dim::Const($n)
    };
    ($n:ident) => {
        Dim::Size(SizeName::$n)
    };
    ((half $n:ident)) => {
        Dim::Half(SizeName::$n)
    };
    ((triangle $n:ident)) => {
        Dim::Triangle(SizeName::$n)
    };
}

macro_rules! fields {
    (model { $($mname:ident: $mbuf:ident [$($mdim:tt),*] $mkind:ident $mstage:ident $munit:literal $mdoc:literal;)* }
     data { $($dname:ident: $dbuf:ident [$($ddim:tt),*] $dkind:ident $dstage:ident $dunit:literal $ddoc:literal;)* }) => {
        /// A field of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(non_camel_case_types, missing_docs, reason = "spelled as MuJoCo spells them, documented in the table")]
        pub enum Field { $($mname,)* $($dname,)* }

        impl Field {
            /// The whole table, in order; `Field as usize` indexes it.
            pub const TABLE: &'static [FieldInfo] = &[
                $(FieldInfo { field: Field::$mname, name: stringify!($mname), buffer: Buffer::$mbuf, shape: &[$(dim!($mdim)),*],
                    kind: kind!(Kind, $mkind), stage: Stage::$mstage, unit: $munit, doc: $mdoc },)*
                $(FieldInfo { field: Field::$dname, name: stringify!($dname), buffer: Buffer::$dbuf, shape: &[$(dim!($ddim)),*],
                    kind: kind!(Kind, $dkind), stage: Stage::$dstage, unit: $dunit, doc: $ddoc },)*
            ];
        }

        /// The compiled arrays of a model, shared by all its worlds. Field names, shapes and meaning: see [`Field::TABLE`].
        #[derive(Clone, Debug, Default, PartialEq)]
        #[allow(non_snake_case, reason = "M_rowadr is MuJoCo's name")]
        pub struct Model<T> {
            /// sizes
            pub size: Sizes,
            /// integer options
            pub opt: crate::Opt,
            $(#[doc = concat!($mdoc, " [", $munit, "]")] pub $mname: Vec<$mkind>,)*
        }

        /// The arrays of one world, or of the worlds that the lanes of `T` and `I` stand for. Field names, shapes and meaning:
        /// see [`Field::TABLE`].
        #[derive(Clone, Debug, Default, PartialEq)]
        #[allow(non_snake_case, reason = "efc_J is MuJoCo's name")]
        pub struct Data<T, I = i32> {
            $(#[doc = concat!($ddoc, " [", $dunit, "]")] pub $dname: Vec<$dkind>,)*
        }

        impl<T> Model<T> {
            /// A field of the model; `None` for a field of [`Data`].
            pub fn get(&self, field: Field) -> Option<Slice<'_, T>> {
                match field { $(Field::$mname => Some(kind!(Slice, $mkind, &self.$mname)),)* _ => None }
            }

            /// A field of the model, mutably; `None` for a field of [`Data`].
            pub fn get_mut(&mut self, field: Field) -> Option<SliceMut<'_, T>> {
                match field { $(Field::$mname => Some(kind!(SliceMut, $mkind, &mut self.$mname)),)* _ => None }
            }
        }

        impl<T: Copy, I: Copy> Data<T, I> {
            /// Worlds of these sizes with every real `zero` and every integer of a world `none`.
            pub fn filled(size: &Sizes, zero: T, none: I) -> Self {
                Self::filled_but(size, zero, none, &[], &[])
            }

            /// The same with some fields left out, and with room but no elements yet for what there are `later` of: see
            /// [`Data::lengthen`].
            pub fn filled_but(size: &Sizes, zero: T, none: I, out: &[Field], later: &[SizeName]) -> Self {
                let room = |f: Field| if out.contains(&f) { 0 } else { f.info().len(size) };
                let len = |f: Field| match f.info().shape[0] {
                    Dim::Size(name) if later.contains(&name) => 0,
                    _ => room(f),
                };
                Self { $($dname: made!($dkind, len(Field::$dname), room(Field::$dname), zero, none),)* }
            }

            /// Lengthens the fields with an element for each of `of`, where they were made at all, to `n` elements.
            pub fn lengthen(&mut self, size: &Sizes, of: &[SizeName], n: usize, zero: T, none: I) {
                $(
                    let info = Field::$dname.info();
                    let counts = matches!(info.shape[0], Dim::Size(name) if of.contains(&name));
                    if counts && self.$dname.capacity() > 0 {
                        self.$dname.resize(n * info.cols(size), element!($dkind, zero, none));
                    }
                )*
            }

            /// A field of reals; `None` for any other.
            #[inline]
            pub fn reals(&self, field: Field) -> Option<&Vec<T>> {
                match field { $(Field::$dname => only!(T, $dkind, &self.$dname),)* _ => None }
            }

            /// A field of reals, mutably; `None` for any other.
            #[inline]
            pub fn reals_mut(&mut self, field: Field) -> Option<&mut Vec<T>> {
                match field { $(Field::$dname => only!(T, $dkind, &mut self.$dname),)* _ => None }
            }

            /// A field of integers a world; `None` for any other.
            #[inline]
            pub fn ints(&self, field: Field) -> Option<&Vec<I>> {
                match field { $(Field::$dname => only!(I, $dkind, &self.$dname),)* _ => None }
            }

            /// A field of integers a world, mutably; `None` for any other.
            #[inline]
            pub fn ints_mut(&mut self, field: Field) -> Option<&mut Vec<I>> {
                match field { $(Field::$dname => only!(I, $dkind, &mut self.$dname),)* _ => None }
            }
        }

        impl<T> Data<T> {
            /// A field of the world; `None` for a field of [`Model`].
            pub fn get(&self, field: Field) -> Option<Slice<'_, T>> {
                match field { $(Field::$dname => Some(kind!(Slice, $dkind, &self.$dname)),)* _ => None }
            }

            /// A field of the world, mutably; `None` for a field of [`Model`].
            pub fn get_mut(&mut self, field: Field) -> Option<SliceMut<'_, T>> {
                match field { $(Field::$dname => Some(kind!(SliceMut, $dkind, &mut self.$dname)),)* _ => None }
            }
        }
    };
}

fields! {
    model {

        // Topo
        body_parentid: Topo [nbody] i32 Load "" "parent body";
        body_rootid: Topo [nbody] i32 Load "" "root body of the kinematic tree";
        body_weldid: Topo [nbody] i32 Load "" "the top body that this body is welded to";
        body_mocapid: Topo [nbody] i32 Load "" "mocap id, -1: not mocap";
        body_jntnum: Topo [nbody] i32 Load "" "number of joints";
        body_jntadr: Topo [nbody] i32 Load "" "first joint, -1: none";
        body_dofnum: Topo [nbody] i32 Load "" "number of dofs";
        body_dofadr: Topo [nbody] i32 Load "" "first dof, -1: none";
        body_geomnum: Topo [nbody] i32 Load "" "number of geoms";
        body_geomadr: Topo [nbody] i32 Load "" "first geom, -1: none";
        body_treeid: Topo [nbody] i32 Load "" "kinematic tree, -1: static";
        level_adr: Topo [nlevel1] i32 Load "" "first entry of a depth level in `level_body`";
        level_body: Topo [nbody] i32 Load "" "bodies sorted by depth, then id";
        body_subtreenum: Topo [nbody] i32 Load "" "bodies of the subtree, itself included: they are the next ones in order";
        body_childadr: Topo [nbody] i32 Load "" "first child in `level_body`, where the children of a body lie side by side";
        body_childnum: Topo [nbody] i32 Load "" "number of children";
        jnt_type: Topo [njnt] i32 Load "" "mjtJoint";
        jnt_qposadr: Topo [njnt] i32 Load "" "first coordinate in qpos";
        jnt_dofadr: Topo [njnt] i32 Load "" "first dof";
        jnt_bodyid: Topo [njnt] i32 Load "" "body of the joint";
        jnt_limited: Topo [njnt] i32 Load "" "has limits";
        jnt_actfrclimited: Topo [njnt] i32 Load "" "has limits on the total actuator force";
        jnt_actgravcomp: Topo [njnt] i32 Load "" "gravity compensation goes through the actuators";
        dof_bodyid: Topo [nv] i32 Load "" "body of the dof";
        dof_jntid: Topo [nv] i32 Load "" "joint of the dof";
        dof_parentid: Topo [nv] i32 Load "" "the dof above, -1: none";
        dof_treeid: Topo [nv] i32 Load "" "kinematic tree";
        dof_Madr: Topo [nv] i32 Load "" "address of the diagonal entry in MuJoCo's older packing; kept for inspection";
        dof_descnum: Topo [nv] i32 Load "" "number of dofs below in the sparsity of M: they are the next ones in order";
        doflevel_adr: Topo [ndoflevel1] i32 Load "" "first entry of a depth level in `doflevel_dof`";
        doflevel_dof: Topo [nv] i32 Load "" "dofs sorted by depth in the sparsity of M (`M_rownnz - 1`), then id";
        M_rownnz: Topo [nv] i32 Load "" "nonzeros in a row of M's lower triangle";
        M_rowadr: Topo [nv] i32 Load "" "first entry of a row of M";
        M_colind: Topo [nC] i32 Load "" "column of an entry of M: ancestors ascending, the diagonal last";
        geom_type: Topo [ngeom] i32 Load "" "mjtGeom";
        geom_contype: Topo [ngeom] i32 Load "" "collision type bits";
        geom_conaffinity: Topo [ngeom] i32 Load "" "collision affinity bits";
        geom_condim: Topo [ngeom] i32 Load "" "contact dimensions: 1, 3, 4, 6";
        geom_bodyid: Topo [ngeom] i32 Load "" "body of the geom";
        geom_priority: Topo [ngeom] i32 Load "" "priority of the contact parameters";

        // Host
        geom_group: Host [ngeom] i32 Load "" "group for visibility";

        // Topo
        site_bodyid: Topo [nsite] i32 Load "" "body of the site";

        // Host
        site_type: Host [nsite] i32 Load "" "mjtGeom for rendering";

        // Topo
        coll_geom1: Topo [ncoll] i32 Load "" "first geom of a pair that can collide (the lower type first)";
        coll_geom2: Topo [ncoll] i32 Load "" "second geom of the pair";
        coll_pairid: Topo [ncoll] i32 Load "" "explicit pair of the file, -1: parameters are mixed from the geoms";
        pair_dim: Topo [npair] i32 Load "" "contact dimensions";
        pair_geom1: Topo [npair] i32 Load "" "first geom";
        pair_geom2: Topo [npair] i32 Load "" "second geom";

        // Host
        pair_signature: Host [npair] i32 Load "" "(body1 << 16) + body2";
        exclude_signature: Host [nexclude] i32 Load "" "(body1 << 16) + body2";

        // Topo
        eq_type: Topo [neq] i32 Load "" "mjtEq";
        eq_rownum: Topo [neq] i32 Load "" "constraint rows while it is active; 0 where nothing moves what it ties together";
        eq_obj1id: Topo [neq] i32 Load "" "first object";
        eq_obj2id: Topo [neq] i32 Load "" "second object, -1: none";
        eq_objtype: Topo [neq] i32 Load "" "mjtObj of both objects";
        eq_active0: Topo [neq] i32 Load "" "active at reset";
        tendon_adr: Topo [ntendon] i32 Load "" "first entry of the tendon's path in wrap_*";
        tendon_num: Topo [ntendon] i32 Load "" "number of entries of the path";
        tendon_limited: Topo [ntendon] i32 Load "" "has length limits";
        wrap_objid: Topo [nwrap] i32 Load "" "joint of a path entry";
        actuator_trntype: Topo [nu] i32 Load "" "mjtTrn";
        actuator_dyntype: Topo [nu] i32 Load "" "mjtDyn";
        actuator_gaintype: Topo [nu] i32 Load "" "mjtGain";
        actuator_biastype: Topo [nu] i32 Load "" "mjtBias";
        actuator_trnid: Topo [nu, 2] i32 Load "" "transmission target: joint or tendon";
        actuator_actadr: Topo [nu] i32 Load "" "first activation, -1: none";
        actuator_actnum: Topo [nu] i32 Load "" "number of activations";
        actuator_group: Topo [nu] i32 Load "" "group that can be disabled";
        actuator_ctrllimited: Topo [nu] i32 Load "" "control is clamped";
        actuator_forcelimited: Topo [nu] i32 Load "" "force is clamped";
        actuator_actlimited: Topo [nu] i32 Load "" "activation is clamped";
        actuator_actearly: Topo [nu] i32 Load "" "force from the next activation";

        // Model
        qpos0: Model [nq] T Load "m, rad, 1" "coordinates of the reference pose";
        qpos_spring: Model [nq] T Load "m, rad, 1" "coordinates where springs rest";
        body_pos: Model [nbody, 3] T Load "m" "frame in the parent";
        body_quat: Model [nbody, 4] T Load "1" "orientation in the parent (w, x, y, z)";
        body_ipos: Model [nbody, 3] T Load "m" "centre of mass in the body frame";
        body_iquat: Model [nbody, 4] T Load "1" "principal axes in the body frame";
        body_mass: Model [nbody] T Load "kg" "mass";
        body_subtreemass: Model [nbody] T Load "kg" "mass of the body and everything below";
        body_inertia: Model [nbody, 3] T Load "kg m²" "principal inertia";
        body_invweight0: Model [nbody, 2] T Load "1/kg, 1/(kg m²)" "mean inverse weight at qpos0: translation, rotation";
        body_gravcomp: Model [nbody] T Load "1" "part of the weight that is compensated";
        jnt_pos: Model [njnt, 3] T Load "m" "anchor in the body frame";
        jnt_axis: Model [njnt, 3] T Load "1" "axis in the body frame";
        jnt_stiffness: Model [njnt] T Load "N/m, N m/rad" "spring";
        jnt_range: Model [njnt, 2] T Load "m, rad" "limits";
        jnt_actfrcrange: Model [njnt, 2] T Load "N, N m" "limits on the total actuator force";
        jnt_margin: Model [njnt] T Load "m, rad" "distance at which a limit becomes active";
        jnt_solref: Model [njnt, 2] T Load "s, 1" "limit reference";
        jnt_solimp: Model [njnt, 5] T Load "1" "limit impedance";

        // Host
        jnt_group: Host [njnt] i32 Load "" "group for visibility";

        // Model
        dof_armature: Model [nv] T Load "kg, kg m²" "added inertia";
        dof_damping: Model [nv] T Load "N s/m, N m s/rad" "viscous damping";
        dof_frictionloss: Model [nv] T Load "N, N m" "dry friction";
        dof_solref: Model [nv, 2] T Load "s, 1" "friction loss reference";
        dof_solimp: Model [nv, 5] T Load "1" "friction loss impedance";
        dof_invweight0: Model [nv] T Load "1/kg, 1/(kg m²)" "diagonal of the inverse inertia at qpos0";

        // Host
        dof_M0: Host [nv] T Load "kg, kg m²" "diagonal of the inertia at qpos0";

        // Model
        geom_size: Model [ngeom, 3] T Load "m" "type-specific size";
        geom_pos: Model [ngeom, 3] T Load "m" "centre in the body frame";
        geom_quat: Model [ngeom, 4] T Load "1" "orientation in the body frame";
        geom_friction: Model [ngeom, 3] T Load "1, m, m" "sliding, torsional, rolling";
        geom_margin: Model [ngeom] T Load "m" "distance at which contacts begin to push";
        geom_gap: Model [ngeom] T Load "m" "contacts are detected up to margin + gap, and push within the margin";
        geom_solmix: Model [ngeom] T Load "1" "weight in the mix of solref and solimp";
        geom_solref: Model [ngeom, 2] T Load "s, 1" "contact reference";
        geom_solimp: Model [ngeom, 5] T Load "1" "contact impedance";
        geom_rbound: Model [ngeom] T Load "m" "radius of the bounding sphere, 0: plane";

        // Host
        geom_aabb: Host [ngeom, 6] T Load "m" "bounding box in the geom frame: centre, half sizes";

        // Model
        site_pos: Model [nsite, 3] T Load "m" "position in the body frame";
        site_quat: Model [nsite, 4] T Load "1" "orientation in the body frame";

        // Host
        site_size: Host [nsite, 3] T Load "m" "size for rendering";

        // Model
        pair_solref: Model [npair, 2] T Load "s, 1" "contact reference";
        pair_solreffriction: Model [npair, 2] T Load "s, 1" "reference of the friction rows, 0 0: as the normal";
        pair_solimp: Model [npair, 5] T Load "1" "contact impedance";
        pair_margin: Model [npair] T Load "m" "see geom_margin";
        pair_gap: Model [npair] T Load "m" "see geom_gap";
        pair_friction: Model [npair, 5] T Load "1, m" "sliding ×2, torsional, rolling ×2";
        eq_solref: Model [neq, 2] T Load "s, 1" "reference";
        eq_solimp: Model [neq, 5] T Load "1" "impedance";
        eq_data: Model [neq, 12] T Load "m, 1" "anchors, relative pose, torque scale; or polynomial coefficients";
        tendon_range: Model [ntendon, 2] T Load "m, rad" "length limits";
        tendon_margin: Model [ntendon] T Load "m, rad" "distance at which a limit becomes active";
        tendon_stiffness: Model [ntendon] T Load "N/m" "spring";
        tendon_damping: Model [ntendon] T Load "N s/m" "viscous damping";
        tendon_frictionloss: Model [ntendon] T Load "N" "dry friction";
        tendon_lengthspring: Model [ntendon, 2] T Load "m" "spring rest length range";
        tendon_length0: Model [ntendon] T Load "m" "length at qpos0";
        tendon_invweight0: Model [ntendon] T Load "1/kg" "inverse weight at qpos0";
        tendon_solref_lim: Model [ntendon, 2] T Load "s, 1" "limit reference";
        tendon_solimp_lim: Model [ntendon, 5] T Load "1" "limit impedance";
        tendon_solref_fri: Model [ntendon, 2] T Load "s, 1" "friction loss reference";
        tendon_solimp_fri: Model [ntendon, 5] T Load "1" "friction loss impedance";
        wrap_prm: Model [nwrap] T Load "1" "coefficient of a path entry";
        actuator_gear: Model [nu, 6] T Load "1" "length and force scaling";
        actuator_dynprm: Model [nu, 10] T Load "" "dynamics parameters";
        actuator_gainprm: Model [nu, 10] T Load "" "gain parameters";
        actuator_biasprm: Model [nu, 10] T Load "" "bias parameters";
        actuator_ctrlrange: Model [nu, 2] T Load "" "control limits";
        actuator_forcerange: Model [nu, 2] T Load "N, N m" "force limits";
        actuator_actrange: Model [nu, 2] T Load "" "activation limits";

        // Host
        actuator_acc0: Host [nu] T Load "" "acceleration from unit force at qpos0";
        actuator_length0: Host [nu] T Load "m, rad" "length at qpos0";
        actuator_lengthrange: Host [nu, 2] T Load "m, rad" "feasible lengths";
        key_time: Host [nkey] T Load "s" "time of a keyframe";
        key_qpos: Host [nkey, nq] T Load "m, rad, 1" "coordinates of a keyframe";
        key_qvel: Host [nkey, nv] T Load "m/s, rad/s" "velocities of a keyframe";
        key_act: Host [nkey, na] T Load "" "activations of a keyframe";
        key_mpos: Host [nkey, nmocap, 3] T Load "m" "mocap positions of a keyframe";
        key_mquat: Host [nkey, nmocap, 4] T Load "1" "mocap orientations of a keyframe";
        key_ctrl: Host [nkey, nu] T Load "" "controls of a keyframe";

        // Model
        opt_timestep: Model [1] T Load "s" "step";
        opt_impratio: Model [1] T Load "1" "ratio of friction to normal impedance";
        opt_gravity: Model [1, 3] T Load "m/s²" "gravity";
        opt_tolerance: Model [1] T Load "1" "main solver tolerance";
        opt_ls_tolerance: Model [1] T Load "1" "line-search tolerance";
        opt_noslip_tolerance: Model [1] T Load "1" "noslip tolerance";
        opt_o_margin: Model [1] T Load "m" "contact margin when override is enabled";
        opt_o_solref: Model [1, 2] T Load "s, 1" "contact reference when override is enabled";
        opt_o_solimp: Model [1, 5] T Load "1" "contact impedance when override is enabled";
        opt_o_friction: Model [1, 5] T Load "1, m" "contact friction when override is enabled";
        health_limit: Model [5] T Load "m, rad, m, 1, 1" "what each check of the stage `health` (consts::health) allows";
        stat_meaninertia: Model [1] T Load "kg, kg m²" "mean diagonal of the inertia at qpos0";

        // Host
        stat_meanmass: Host [1] T Load "kg" "mean body mass";
        stat_meansize: Host [1] T Load "m" "mean body size";
        stat_extent: Host [1] T Load "m" "spatial extent";
        stat_center: Host [1, 3] T Load "m" "centre of the model";
        jnt_stiffnesspoly: Host [njnt, 2] T Load "N/m², N/m³" "quadratic and cubic stiffness";
        jnt_springyield: Host [njnt] T Load "m, rad" "displacement beyond which the spring yields, 0: never";
        dof_dampingpoly: Host [nv, 2] T Load "N s²/m², N s³/m³" "quadratic and cubic damping";
        geom_fluid: Host [ngeom, 12] T Load "" "ellipsoid model of fluid forces: on or off, five coefficients, added mass and inertia";
        geom_surfacevel: Host [ngeom, 6] T Load "m/s, rad/s" "velocity of the surface in the geom frame";
        geom_adhesion: Host [ngeom] T Load "N" "adhesive force of contacts";
        pair_adhesion: Host [npair] T Load "N" "adhesive force of contacts";
        wrap_type: Host [nwrap] i32 Load "" "mjtWrap: 1 joint, 2 pulley, 3 site, 4 sphere, 5 cylinder";
        tendon_group: Host [ntendon] i32 Load "" "group for visibility";
        tendon_actfrclimited: Host [ntendon] i32 Load "" "has limits on the total actuator force";
        tendon_actfrcrange: Host [ntendon, 2] T Load "N" "limits on the total actuator force";
        tendon_stiffnesspoly: Host [ntendon, 2] T Load "N/m², N/m³" "quadratic and cubic stiffness";
        tendon_dampingpoly: Host [ntendon, 2] T Load "N s²/m², N s³/m³" "quadratic and cubic damping";
        tendon_armature: Host [ntendon] T Load "kg" "inertia of the tendon's motion";
        tendon_springyield: Host [ntendon] T Load "m" "displacement beyond which the spring yields, 0: never";
        actuator_cranklength: Host [nu] T Load "m" "length of the crank of a slider-crank";
        actuator_damping: Host [nu] T Load "N s/m" "linear damping at the target";
        actuator_dampingpoly: Host [nu, 2] T Load "N s²/m², N s³/m³" "quadratic and cubic damping at the target";
        actuator_armature: Host [nu] T Load "kg, kg m²" "inertia at the target";
        actuator_delay: Host [nu] T Load "s" "delay of the control";
        actuator_history: Host [nu, 2] i32 Load "" "samples kept, and how they are read: 0 zoh, 1 linear, 2 cubic";
        opt_ccd_tolerance: Host [1] T Load "m" "tolerance of collisions of convex shapes";
        opt_density: Host [1] T Load "kg/m³" "density of the medium";
        opt_viscosity: Host [1] T Load "Pa s" "viscosity of the medium";
        opt_wind: Host [1, 3] T Load "m/s" "velocity of the medium";
        opt_magnetic: Host [1, 3] T Load "" "magnetic field";
        sensor_type: Host [nsensor] i32 Load "" "mjtSensor";
        sensor_datatype: Host [nsensor] i32 Load "" "mjtDataType";
        sensor_needstage: Host [nsensor] i32 Load "" "mjtStage after which it can be read";
        sensor_objtype: Host [nsensor] i32 Load "" "mjtObj of the object";
        sensor_objid: Host [nsensor] i32 Load "" "the object, -1: none";
        sensor_reftype: Host [nsensor] i32 Load "" "mjtObj of the reference";
        sensor_refid: Host [nsensor] i32 Load "" "the reference, -1: the world's frame";
        sensor_intprm: Host [nsensor, 3] i32 Load "" "parameters of the kind";
        sensor_dim: Host [nsensor] i32 Load "" "number of values";
        sensor_adr: Host [nsensor] i32 Load "" "first value in the sensor data";
        sensor_cutoff: Host [nsensor] T Load "" "bound of the values, 0: none";
        sensor_noise: Host [nsensor] T Load "" "standard deviation, kept for inspection";
        sensor_delay: Host [nsensor] T Load "s" "delay of the values";
        sensor_interval: Host [nsensor, 2] T Load "s" "period and phase of the samples";
        sensor_history: Host [nsensor, 2] i32 Load "" "samples kept, and how they are read: 0 zoh, 1 linear, 2 cubic";
        cam_mode: Host [ncam] i32 Load "" "mjtCamLight";
        cam_bodyid: Host [ncam] i32 Load "" "body of the camera";
        cam_targetbodyid: Host [ncam] i32 Load "" "body that it looks at, -1: none";
        cam_pos: Host [ncam, 3] T Load "m" "position in the body frame";
        cam_quat: Host [ncam, 4] T Load "1" "orientation in the body frame";
        geom_dataid: Host [ngeom] i32 Load "" "mesh or height field of the geom, -1: none";
        site_dataid: Host [nsite] i32 Load "" "mesh of the site, -1: none";
        mesh_vertadr: Host [nmesh] i32 Load "" "first vertex";
        mesh_vertnum: Host [nmesh] i32 Load "" "number of vertices";
        mesh_faceadr: Host [nmesh] i32 Load "" "first face";
        mesh_facenum: Host [nmesh] i32 Load "" "number of faces";
        mesh_graphadr: Host [nmesh] i32 Load "" "first number of the convex hull in `mesh_graph`, -1: no geom of the mesh collides";
        mesh_vert: Host [nmeshvert, 3] T Load "m" "vertices in the mesh's own frame: its centre of mass and principal axes";
        mesh_face: Host [nmeshface, 3] i32 Load "" "vertices of a triangle, counted from the mesh's first, counter-clockwise from outside";
        mesh_graph: Host [nmeshgraph] i32 Load "" "convex hulls: numvert, numface, vert_edgeadr[numvert], vert_globalid[numvert], edge_localid[numvert + 3 numface], face_globalid[3 numface]";
        mesh_scale: Host [nmesh, 3] T Load "1" "factor on the vertices of the file";
        mesh_pos: Host [nmesh, 3] T Load "m" "the mesh's own frame in that of the file";
        mesh_quat: Host [nmesh, 4] T Load "1" "the mesh's own frame in that of the file";
        hfield_size: Host [nhfield, 4] T Load "m" "half sides, height of the top over 0, depth of the base below";
        hfield_nrow: Host [nhfield] i32 Load "" "rows of the grid, along y";
        hfield_ncol: Host [nhfield] i32 Load "" "columns of the grid, along x";
        hfield_adr: Host [nhfield] i32 Load "" "first number in `hfield_data`";
        hfield_data: Host [nhfielddata] T Load "1" "elevation from 0 to 1, row by row from -y";
    }
    data {
        // State
        time: State [1] T Integrate "s" "simulation time";
        qpos: State [nq] T Integrate "m, rad, 1" "coordinates";
        qpos_lo: State [nq] T Integrate "m" "low part of the coordinates of free and slide joints (two-float; 0 in f64)";
        qvel: State [nv] T Integrate "m/s, rad/s" "velocities";
        act: State [na] T Integrate "" "activations";
        qacc_warmstart: State [nv] T Integrate "m/s², rad/s²" "where the solver starts";
        ctrl: State [nu] T Load "" "controls";
        qfrc_applied: State [nv] T Load "N, N m" "applied generalized force";
        xfrc_applied: State [nbody, 6] T Load "N, N m" "applied force, then torque, at the centre of mass, world frame";
        mocap_pos: State [nmocap, 3] T Load "m" "mocap positions";
        mocap_quat: State [nmocap, 4] T Load "1" "mocap orientations";

        health_size: State [5] T Health "m, rad, m, 1, 1" "the largest that each check (consts::health) has seen since reset";
        health_time: State [5] T Health "s" "when";
        health_memory: State [6] T Health "" "what passes from step to step: approach speed, work, energy, energy from nowhere, kinetic energy, 1 after the first";

        // Status
        health_id: Status [5, 2] I Health "" "what it was: an equality constraint, or two geoms; -1: nothing or no object";
        health_count: Status [5] I Health "" "steps since reset that were beyond the limit";
        eq_active: Status [neq] I Load "" "equality constraint is on";

        // Work
        xpos: Work [nbody, 3] T Kinematics "m" "body frame, world";
        xpos_lo: Work [nbody, 3] T Kinematics "m" "low part of xpos (two-float; 0 in f64)";
        xquat: Work [nbody, 4] T Kinematics "1" "body orientation, world";
        xmat: Work [nbody, 9] T Kinematics "1" "body orientation, world";
        xipos: Work [nbody, 3] T Kinematics "m" "centre of mass, world";
        ximat: Work [nbody, 9] T Kinematics "1" "principal axes, world";
        xanchor: Work [njnt, 3] T Kinematics "m" "joint anchor, world";
        xaxis: Work [njnt, 3] T Kinematics "1" "joint axis, world";
        geom_xpos: Work [ngeom, 3] T Kinematics "m" "geom centre, world";
        geom_xmat: Work [ngeom, 9] T Kinematics "1" "geom orientation, world";
        site_xpos: Work [nsite, 3] T Kinematics "m" "site position, world";
        site_xmat: Work [nsite, 9] T Kinematics "1" "site orientation, world";
        subtree_com: Work [nbody, 3] T ComPos "m" "centre of mass of the subtree";
        cinert: Work [nbody, 10] T ComPos "kg, kg m, kg m²" "inertia about the tree's centre of mass: xx yy zz xy xz yz, mass × offset, mass";
        cdof: Work [nv, 6] T ComPos "1, m" "motion axis about the tree's centre of mass: rotation, translation";
        ten_length: Work [ntendon] T Transmission "m, rad" "tendon length";
        ten_J: Work [ntendon, nv] T Transmission "1" "tendon Jacobian";
        actuator_length: Work [nu] T Transmission "m, rad" "actuator length";
        actuator_moment: Work [nu, nv] T Transmission "1" "moment arms";
        crb: Work [nbody, 10] T Inertia "kg, kg m, kg m²" "composite inertia, as cinert";
        M: Work [nC] T Inertia "kg, kg m²" "inertia matrix, rows of the lower triangle";
        qLD: Work [nC] T Inertia "kg, kg m²" "LᵀDL factor of M";
        qLDiagInv: Work [nv] T Inertia "1/kg, 1/(kg m²)" "inverse diagonal of D";
        cvel: Work [nbody, 6] T Velocity "rad/s, m/s" "velocity about the tree's centre of mass: rotation, translation";
        cdof_dot: Work [nv, 6] T Velocity "rad/s, m/s" "derivative of cdof";
        ten_velocity: Work [ntendon] T Velocity "m/s" "tendon velocity";
        actuator_velocity: Work [nu] T Velocity "m/s, rad/s" "actuator velocity";
        qfrc_spring: Work [nv] T Passive "N, N m" "springs";
        qfrc_damper: Work [nv] T Passive "N, N m" "dampers";
        qfrc_gravcomp: Work [nv] T Passive "N, N m" "gravity compensation";
        qfrc_passive: Work [nv] T Passive "N, N m" "total of the passive forces";
        cacc: Work [nbody, 6] T Bias "rad/s², m/s²" "acceleration at zero qacc, gravity included";
        cfrc_int: Work [nbody, 6] T Bias "N m, N" "force that moves the subtree at zero qacc";
        qfrc_bias: Work [nv] T Bias "N, N m" "Coriolis, centrifugal, gravitational";
        act_dot: Work [na] T Actuation "1/s" "derivative of the activations";
        actuator_force: Work [nu] T Actuation "N, N m" "actuator force";
        qfrc_actuator: Work [nv] T Actuation "N, N m" "actuator force on the dofs";
        cfrc_applied: Work [nbody, 6] T Acceleration "N m, N" "xfrc_applied on the subtree, about the tree's centre of mass";
        qfrc_smooth: Work [nv] T Acceleration "N, N m" "everything but constraints";
        qacc_smooth: Work [nv] T Acceleration "m/s², rad/s²" "acceleration without constraints";
        qacc: Work [nv] T Solver "m/s², rad/s²" "acceleration";
        qfrc_constraint: Work [nv] T Solver "N, N m" "constraint force";
        solver_Ma: Work [nv] T Solver "N, N m" "M (qacc - qacc_smooth)";
        solver_grad: Work [nv] T Solver "N, N m" "gradient of the cost";
        solver_search: Work [nv] T Solver "m/s²" "search direction";
        solver_Mv: Work [nv] T Solver "N, N m" "M search";
        solver_H: Work [nvpad, nvpad] T Solver "kg, kg m²" "Hessian, then its LᵀDL factor, lower triangle";
        solver_scalar: Work [1, 8] T Solver "" "scalars that pass between the solver's kernels";
        int_qvel: Work [nv] T Integrate "m/s, rad/s" "velocity before the step (Runge-Kutta: at its start)";
        int_qpos: Work [nq] T Integrate "m, rad, 1" "coordinates at the start of a Runge-Kutta step";
        int_qpos_lo: Work [nq] T Integrate "m" "low part of int_qpos";
        int_act: Work [na] T Integrate "" "activations at the start of a Runge-Kutta step";
        int_uvel: Work [nv] T Integrate "m/s, rad/s" "velocity in the chart of the start (Runge-Kutta: of the stage before)";
        int_dvel: Work [nv] T Integrate "m/s, rad/s" "weighted velocity of the Runge-Kutta stages";
        int_dacc: Work [nv] T Integrate "m/s², rad/s²" "weighted acceleration of the Runge-Kutta stages";
        int_dact: Work [na] T Integrate "1/s" "weighted activation derivative of the Runge-Kutta stages";
        int_H: Work [nC] T Integrate "kg, kg m²" "M + h B of the implicit integrators, then its factor";
        int_HDiagInv: Work [nv] T Integrate "1/kg" "inverse diagonal of the factor in int_H";

        // Contact
        contact_dist: Contact [nconmax] T Collision "m" "distance between nearest points, negative: penetration";
        contact_pos: Contact [nconmax, 3] T Collision "m" "midpoint, world";
        contact_frame: Contact [nconmax, 9] T Collision "1" "rows: normal from geom 1 to geom 2, two tangents";
        contact_includemargin: Contact [nconmax] T Collision "m" "distance below which it pushes: the margin";
        contact_friction: Contact [nconmax, 5] T Collision "1, m" "sliding ×2, torsional, rolling ×2";
        contact_solref: Contact [nconmax, 2] T Collision "s, 1" "reference";
        contact_solreffriction: Contact [nconmax, 2] T Collision "s, 1" "reference of the friction rows, 0 0: as the normal";
        contact_solimp: Contact [nconmax, 5] T Collision "1" "impedance";
        contact_mu: Contact [nconmax] T Constraint "1" "regularized friction of the cone";

        // Status
        contact_dim: Status [nconmax] i32 Collision "" "contact dimensions";
        contact_geom: Status [nconmax, 2] i32 Collision "" "the geoms";
        contact_exclude: Status [nconmax] I Collision "" "0: pushes, 1: in the gap, 3: nothing moves the one body against the other";
        contact_efc_address: Status [nconmax] i32 Constraint "" "first row, -1: none";
        eq_efc_address: Status [neq] i32 Constraint "" "first row of an equality constraint, -1: none";

        // Efc
        efc_J: Efc [njmax, nvpad] T Constraint "1, m" "Jacobian, padded with zeros";
        efc_pos: Efc [njmax] T Constraint "m, rad" "residual";
        efc_margin: Efc [njmax] T Constraint "m, rad" "margin";
        efc_frictionloss: Efc [njmax] T Constraint "N, N m" "dry friction";
        efc_diagA: Efc [njmax] T Constraint "1/kg" "estimated diagonal of J M⁻¹ Jᵀ";
        efc_KBIP: Efc [njmax, 4] T Constraint "1/s², 1/s, 1, 1/m" "stiffness, damping, impedance, its derivative";
        efc_D: Efc [njmax] T Constraint "kg" "inverse regularizer";
        efc_R: Efc [njmax] T Constraint "1/kg" "regularizer";
        efc_vel: Efc [njmax] T Reference "m/s, rad/s" "row velocity";
        efc_aref: Efc [njmax] T Reference "m/s²" "reference acceleration";
        efc_force: Efc [njmax] T Solver "N, N m" "constraint force";
        efc_Jaref: Efc [njmax] T Solver "m/s²" "J qacc - aref";
        efc_Jv: Efc [njmax] T Solver "m/s²" "J search";
        solver_weight: Efc [njmax, 4] T Solver "" "what a row weighs in the Hessian; only on the GPU";

        efc_Y: Efc [njdual, nvpad] T Solver "1/kg" "rows of J M⁻¹, for the solvers over forces";
        efc_A: Efc [njdual, 6] T Solver "1/kg" "entries of J M⁻¹ Jᵀ: the row's own, then its pyramid partner's; or a row of an elliptic contact's block";

        solver_last: Efc [njdual] T Solver "N, N m" "forces before the sweep of PGS";

        // Scratch
        contact_on: Scratch [nconmax] I Collision "" "1 in a world that has the contact of the slot";
        efc_on: Scratch [njmax] I Constraint "" "1 in a world that has the row of the slot; in others the row is zero";
        slot_ncon: Scratch [1] i32 Collision "" "contact slots in use: in some world of the register";
        slot_ne: Scratch [1] i32 Constraint "" "row slots in use: equality; those of contacts and limits that a world lacks are zero there";
        slot_nf: Scratch [1] i32 Constraint "" "row slots in use: friction loss";
        slot_nefc: Scratch [1] i32 Constraint "" "row slots in use: all";
        efc_J_rownnz: Scratch [njmax] i32 Constraint "" "nonzeros of a row of efc_J";
        efc_J_colind: Scratch [njmax, njrow] i32 Constraint "" "their columns, ascending; -1 after the last; rows of one object share one list";
        efc_Jc: Scratch [njmax, njrow] T Constraint "1, m" "the nonzeros of efc_J, row by row: what the stages on the CPU read";
        solver_D: Scratch [njmax] T Solver "kg" "what a row weighs in the Hessian: efc_D in its quadratic zone, else 0";
        solver_x: Scratch [nv] T Solver "N, N m" "a sum over rows of J";
        solver_Hc: Scratch [(triangle nv)] T Solver "kg, kg m²" "the lower triangle of solver_H, row by row: what the stages on the CPU work on";
        solver_touch: Scratch [(half nv), (half nv)] i32 Solver "" "pairs of rows of solver_H, from the last up: 1 where the row's pair can have entries in the column's";
        solver_tile: Scratch [(half nv), (half nv)] i32 Solver "" "the same as lists: how many pairs of columns before the row's own, then which";
        solver_live: Scratch [njmax] i32 Solver "" "1: a row of some world that has not converged";
        solver_group: Scratch [njmax] i32 Solver "" "number of rows of the object whose first row this is";

        // Status
        efc_type: Status [njmax] i32 Constraint "" "mjtConstraint";
        efc_id: Status [njmax] i32 Constraint "" "object of the row: equality, dof, joint, tendon or contact";
        efc_state: Status [njmax] I Solver "" "mjtConstraintState";
        ncon: Status [1] I Collision "" "contacts";
        ncon_need: Status [1] I Collision "" "contacts found, held or not; the largest since reset";
        ne: Status [1] I Constraint "" "equality rows";
        nf: Status [1] I Constraint "" "friction loss rows";
        nl: Status [1] I Constraint "" "limit rows";
        nefc: Status [1] I Constraint "" "rows";
        nefc_lost: Status [1] I Collision "" "rows of contacts that found no slot";
        nefc_need: Status [1] I Constraint "" "rows wanted, held or not; the largest since reset";
        solver_order: Status [njdual] i32 Solver "" "order of a sweep of PGS: first rows of what it treats together";
        solver_random: Status [1, 2] i32 Solver "" "state of the numbers that shuffle solver_order, low word first";
        solver_niter: Status [1] I Solver "" "solver iterations";
        noslip_niter: Status [1] I Noslip "" "noslip iterations";
        status: Status [1] I Integrate "" "bits of consts::status";
        bad_fields: Status [1] I Integrate "" "bits of consts::bad: the arrays whose numbers froze the world";
        nstep: Status [1] I Integrate "" "steps since reset";
    }
}

impl Field {
    /// The row of the table.
    pub fn info(self) -> &'static FieldInfo {
        &Self::TABLE[self as usize]
    }

    /// The field's name.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The field of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::TABLE.iter().find(|f| f.name == name).map(|f| f.field)
    }

    /// The fields that a stage writes.
    pub fn written_by(stage: Stage) -> impl Iterator<Item = Self> {
        let also: &[Self] = match stage {
            // the post-pass corrects what the solver found
            Stage::Noslip => &[
                Self::efc_force,
                Self::efc_state,
                Self::qacc,
                Self::qfrc_constraint,
                Self::efc_Y,
                Self::efc_A,
                Self::solver_scalar,
            ],
            // overflow is found where the slots are given out
            Stage::Collision | Stage::Constraint => &[Self::status],
            _ => &[],
        };
        Self::TABLE
            .iter()
            .filter(move |f| f.stage == stage && stage != Stage::Load)
            .map(|f| f.field)
            .chain(also.iter().copied())
    }
}

impl<T: Copy> Model<T> {
    /// The same model in another scalar.
    pub fn cast<U: Clone + Default>(&self, to: impl Fn(T) -> U) -> Model<U> {
        let mut out = Model { size: self.size.clone(), opt: self.opt.clone(), ..Model::default() };
        for info in Field::TABLE.iter().filter(|f| f.is_model()) {
            match (self.get(info.field), out.get_mut(info.field)) {
                (Some(Slice::I(a)), Some(SliceMut::I(b))) => *b = a.to_vec(),
                (Some(Slice::F(a)), Some(SliceMut::F(b))) => *b = a.iter().map(|&x| to(x)).collect(),
                _ => unreachable!("the table gives a field one kind"),
            }
        }
        out
    }
}

impl<T: Copy> Data<T> {
    /// A world of these sizes with every real set to `zero` and every integer to 0.
    pub fn new(size: &Sizes, zero: &T) -> Self {
        Self::filled(size, *zero, 0)
    }
}
