//! What the integers of a model may be: ids, addresses, counts and kinds, each with what it points into.

use crate::{Field, SizeName};

/// What an integer field of a model may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// an id or address: 0 to the number of elements, exclusive
    Id(SizeName),
    /// the same, or -1: none
    IdOrNone(SizeName),
    /// a number of elements, or an address that may be the end: 0 to their number, inclusive
    Count(SizeName),
    /// a kind or a flag: one of these
    OneOf(&'static [i32]),
    /// an id of elements of a kind that another field tells
    Object,
    /// any number: bits, groups, and what no stage reads
    Any,
}

impl Rule {
    /// Whether a number may stand in the field; `n` gives the sizes. [`Rule::Object`] is for others to decide.
    pub fn allows(self, x: i32, n: impl Fn(SizeName) -> usize) -> bool {
        let id = usize::try_from(x).ok();
        match self {
            Self::Id(size) => id.is_some_and(|id| id < n(size)),
            Self::IdOrNone(size) => x == -1 || id.is_some_and(|id| id < n(size)),
            Self::Count(size) => id.is_some_and(|id| id <= n(size)),
            Self::OneOf(all) => all.contains(&x),
            Self::Object | Self::Any => true,
        }
    }
}

const FLAG: &[i32] = &[0, 1];
const FOUR: &[i32] = &[0, 1, 2, 3];
const GEOM: &[i32] = &[0, 1, 2, 3, 4, 5, 6, 7, 8];
const DIM: &[i32] = &[1, 3, 4, 6];

macro_rules! rules {
    ($($rule:ident $of:tt { $($field:ident)* })*) => {
        /// The rule of every integer field of a model.
        pub const RULES: &[(Field, Rule)] = &[$($((Field::$field, rules!(@ $rule $of)),)*)*];
    };
    (@ OneOf($all:ident)) => { Rule::OneOf($all) };
    (@ OneOf([$($n:literal)*])) => { Rule::OneOf(&[$($n),*]) };
    (@ $rule:ident()) => { Rule::$rule };
    (@ $rule:ident($size:ident)) => { Rule::$rule(SizeName::$size) };
}

rules! {
    Id(nbody) {
        body_parentid body_rootid body_weldid level_body body_childadr jnt_bodyid dof_bodyid geom_bodyid site_bodyid cam_bodyid
    }
    IdOrNone(nbody) { cam_targetbodyid }
    Count(nbody) { level_adr body_subtreenum body_childnum }
    IdOrNone(nmocap) { body_mocapid }
    Id(njnt) { dof_jntid wrap_objid }
    IdOrNone(njnt) { body_jntadr }
    Count(njnt) { body_jntnum }
    Id(nq) { jnt_qposadr }
    Id(nv) { jnt_dofadr doflevel_dof M_colind }
    IdOrNone(nv) { body_dofadr dof_parentid }
    Count(nv) { body_dofnum dof_descnum doflevel_adr M_rownnz }
    Id(nC) { M_rowadr }
    Id(ntree) { dof_treeid }
    IdOrNone(ntree) { body_treeid }
    Id(ngeom) { coll_geom1 coll_geom2 pair_geom1 pair_geom2 }
    IdOrNone(ngeom) { body_geomadr }
    Count(ngeom) { body_geomnum }
    IdOrNone(npair) { coll_pairid }
    Count(nwrap) { tendon_adr tendon_num }
    IdOrNone(na) { actuator_actadr }
    Count(na) { actuator_actnum }
    IdOrNone(nmesh) { site_dataid }
    Count(nmeshvert) { mesh_vertadr mesh_vertnum mesh_face }
    Count(nmeshface) { mesh_faceadr mesh_facenum }
    IdOrNone(nmeshgraph) { mesh_graphadr }
    Count(nhfielddata) { hfield_nrow hfield_ncol hfield_adr }
    Count(nsensordata) { sensor_adr sensor_dim }
    OneOf(FOUR) { jnt_type eq_type actuator_dyntype }
    OneOf(GEOM) { geom_type site_type }
    OneOf(DIM) { geom_condim pair_dim }
    OneOf(FLAG) {
        jnt_limited jnt_actfrclimited jnt_actgravcomp eq_active0 tendon_limited tendon_actfrclimited actuator_gaintype
        actuator_biastype actuator_ctrllimited actuator_forcelimited actuator_actlimited actuator_actearly
    }
    OneOf([0 1 3]) { actuator_trntype }
    OneOf([0 1 3 6]) { eq_rownum }
    // mjtObj: unknown, body, joint, site, tendon
    OneOf([0 1 3 6 18]) { eq_objtype }
    OneOf([0 1 2 3 4 5]) { wrap_type }
    Object() { eq_obj1id eq_obj2id actuator_trnid geom_dataid }
    Any() {
        dof_Madr geom_contype geom_conaffinity geom_priority geom_group jnt_group pair_signature exclude_signature actuator_group
        tendon_group actuator_history sensor_type sensor_datatype sensor_needstage sensor_objtype sensor_objid sensor_reftype
        sensor_refid sensor_intprm sensor_history cam_mode mesh_graph
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    #[test]
    fn every_integer_of_a_model_has_one_rule() {
        for info in Field::TABLE {
            let rules = RULES.iter().filter(|r| r.0 == info.field).count();
            assert_eq!(rules, usize::from(info.is_model() && info.kind == Kind::I), "{}", info.name);
        }
    }

    #[test]
    fn a_rule_ends_where_its_elements_end() {
        let of = |rule: Rule| -> Vec<i32> { (-2..=6).filter(|&x| rule.allows(x, |_| 3)).collect() };
        assert_eq!(of(Rule::Id(SizeName::nv)), [0, 1, 2]);
        assert_eq!(of(Rule::IdOrNone(SizeName::nv)), [-1, 0, 1, 2]);
        assert_eq!(of(Rule::Count(SizeName::nv)), [0, 1, 2, 3]);
        assert_eq!(of(Rule::OneOf(DIM)), [1, 3, 4, 6]);
        assert!(Rule::Any.allows(i32::MIN, |_| 0));
    }
}
