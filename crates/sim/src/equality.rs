//! What a model's equalities hold: rule, stiffness and compliance of each, and whether that is enough for what hangs on it.

use crate::welds::StiffRows;
use crate::{RowRule, Welds, rule, sizing};
use kiloworld_cpu::constraint_anchor::{eq_anchor, eq_body};
use kiloworld_cpu::constraint_row::{impedance, ld_solimp, ld_solref, spring_damper};
use kiloworld_cpu::math::{Vec3, ld3, ld9};
use kiloworld_layout::consts::{eq, jnt, obj};
use kiloworld_layout::{Data, Model, Stage};
use kiloworld_model::Kind;

/// Displacement [m] up to which a joint counts as holding: the impedance is taken there.
const LIMIT_M: f64 = 1e-3;
/// Rotation [rad] up to which a joint counts as holding.
const LIMIT_RAD: f64 = 1e-3;
/// Acceleration of gravity [m/s²] where the model has none.
const GRAVITY: f64 = 9.81;
/// How much softer than its own row a weld may be at the body before its point counts as far away.
const FAR: f64 = 10.0;

/// What one equality constraint is made of and holds.
#[derive(Clone, Debug, Default, serde::Serialize)]
pub struct EqualityInfo {
    /// id
    pub id: usize,
    /// name, where it has one
    pub name: Option<String>,
    /// `connect`, `weld`, `joint` or `tendon`
    pub kind: &'static str,
    /// the bodies, joints or tendons that it ties together
    pub objects: Vec<String>,
    /// on at the start
    pub active: bool,
    /// where its softness comes from
    pub rule: Option<RowRule>,
    /// inverse weights of both objects, summed: translation [1/kg], of a hinge rotation [1/(kg m²)]
    pub weight: f64,
    /// the same of a weld's rotation [1/(kg m²)]
    pub weight_rotation: Option<f64>,
    /// stiffness [1/s²]
    pub k: f64,
    /// damping [1/s]
    pub b: f64,
    /// impedance at 1 mm or 1 mrad
    pub d: f64,
    /// displacement a force [m/N], where the row resists one
    pub compliance: Option<f64>,
    /// rotation a moment [rad/(N m)], where the row resists one
    pub compliance_rotation: Option<f64>,
    /// mass [kg] that hangs on a weld or connect alone, or the heavier side's where both sides hang
    pub load: Option<f64>,
    /// displacement [m] under its weight
    pub sag: Option<f64>,
    /// rotation [rad] under its weight, its centre of mass beside the weld point
    pub tilt: Option<f64>,
    /// what it does not hold, and what to do
    pub warnings: Vec<String>,
}

/// Looks at every equality of a model, under a rule for welds and at a time step, the model's where not given.
pub fn equalities(model: &kiloworld_model::Model, welds: Welds, timestep: Option<f64>) -> Vec<EqualityInfo> {
    let mut m = model.layout.clone();
    m.opt_timestep[0] = timestep.unwrap_or(m.opt_timestep[0]);
    // no contacts and rows: only frames are wanted
    sizing::set_capacities(&mut m, 0, Some(0));
    let mut d = Data::new(&m.size, &0.0);
    crate::batch::reset_world(&m, None, |field, values| {
        if let Some(kiloworld_layout::SliceMut::F(v)) = d.get_mut(field) {
            v.copy_from_slice(values);
        }
    });
    for stage in [Stage::Kinematics, Stage::ComPos] {
        kiloworld_cpu::run(stage.into(), &m, &mut d);
    }
    let mut stiff = m.clone();
    StiffRows::apply(&mut stiff, Welds::Stiff);
    if welds == Welds::Stiff {
        m = stiff.clone();
    }
    let look = Look { model, file: &model.layout, m: &m, stiff: &stiff, d: &d, welds };
    (0..m.size.neq).map(|e| look.equality(e)).collect()
}

/// A model at its reference pose.
struct Look<'a> {
    model: &'a kiloworld_model::Model,
    file: &'a Model<f64>,
    /// rows as a batch has them
    m: &'a Model<f64>,
    /// rows under the stiff rule
    stiff: &'a Model<f64>,
    d: &'a Data<f64>,
    welds: Welds,
}

/// Row compliance a unit of inverse weight [s²]: r = F W (1 - d)/(d² k).
fn softness(m: &Model<f64>, e: usize) -> f64 {
    let solimp = ld_solimp(&m.eq_solimp, e);
    let d = impedance(solimp, LIMIT_M).0;
    let k = spring_damper(m, ld_solref(&m.eq_solref, e), solimp, true).0;
    (1.0 - d) / (d * d * k)
}

fn index(id: i32) -> usize {
    usize::try_from(id).unwrap_or(0)
}

impl Look<'_> {
    fn name(&self, kind: Kind, id: usize) -> String {
        self.model.names.of(kind).name(id).map_or_else(|| format!("{}{id}", kind.word()), str::to_owned)
    }

    fn equality(&self, e: usize) -> EqualityInfo {
        let (m, solimp) = (self.m, ld_solimp(&self.m.eq_solimp, e));
        let (k, b) = spring_damper(m, ld_solref(&m.eq_solref, e), solimp, true);
        let mut info = EqualityInfo {
            id: e,
            name: self.model.names.of(Kind::Equality).name(e).map(str::to_owned),
            active: m.eq_active0[e] != 0,
            rule: Some(rule(self.file, e, self.welds)),
            k,
            b,
            d: impedance(solimp, LIMIT_M).0,
            ..EqualityInfo::default()
        };
        let ids: Vec<usize> =
            [m.eq_obj1id[e], m.eq_obj2id[e]].iter().filter_map(|&o| usize::try_from(o).ok()).collect();
        match m.eq_type[e] {
            eq::JOINT => {
                info.kind = "joint";
                info.objects = ids.iter().map(|&j| self.name(Kind::Joint, j)).collect();
                info.weight = ids.iter().map(|&j| m.dof_invweight0[index(m.jnt_dofadr[j])]).sum();
                let c = Some(info.weight * softness(m, e));
                match m.jnt_type[ids[0]] {
                    jnt::SLIDE => info.compliance = c,
                    _ => info.compliance_rotation = c,
                }
            }
            eq::TENDON => {
                info.kind = "tendon";
                info.objects = ids.iter().map(|&t| self.name(Kind::Tendon, t)).collect();
                info.weight = ids.iter().map(|&t| m.tendon_invweight0[t]).sum();
                info.compliance = Some(info.weight * softness(m, e));
            }
            kind => {
                info.kind = if kind == eq::WELD { "weld" } else { "connect" };
                let of = if m.eq_objtype[e] == obj::SITE { Kind::Site } else { Kind::Body };
                info.objects = ids.iter().map(|&o| self.name(of, o)).collect();
                self.bodies(e, &mut info);
            }
        }
        info
    }

    /// What a connect or weld holds.
    fn bodies(&self, e: usize, info: &mut EqualityInfo) {
        let (m, d) = (self.m, self.d);
        let weld = m.eq_type[e] == eq::WELD;
        let sides = [eq_body(m, e, 0), eq_body(m, e, 1)];
        let weight = |part: usize| sides.iter().map(|&b| m.body_invweight0[2 * b + part]).sum::<f64>();
        info.weight = weight(0);
        info.compliance = Some(info.weight * softness(m, e));
        // the row is half the angle times the torque scale, and so is its moment
        let scale = m.eq_data[12 * e + 10];
        let turned = if weld && scale != 0.0 { 4.0 / (scale * scale) * weight(1) } else { 0.0 };
        if weld {
            info.weight_rotation = Some(weight(1));
            info.compliance_rotation = Some(turned * softness(m, e));
        }
        let Some((mass, com)) = self.load(e, sides) else { return };
        let anchor = eq_anchor(m, e, 1);
        let point = ld3(&d.xpos, anchor.body) + ld9(&d.xmat, anchor.body) * anchor.pos;
        let lever = (com - point).norm();
        let gravity = Some(ld3(&m.opt_gravity, 0).norm()).filter(|&g| g > 0.0).unwrap_or(GRAVITY);
        let force = mass * gravity;
        let under = |m: &Model<f64>| (force * info.weight * softness(m, e), force * lever * turned * softness(m, e));
        let (sag, tilt) = under(m);
        (info.load, info.sag, info.tilt) = (Some(mass), Some(sag), weld.then_some(tilt));

        let world = self.name(Kind::Body, 0);
        let body = |k: usize| self.name(Kind::Body, sides[k]);
        // MuJoCo's quirk: a weld's point belongs to its second body
        let origin = weld
            && sides[1] == 0
            && m.eq_objtype[e] != obj::SITE
            && m.eq_data[12 * e..12 * e + 3].iter().all(|&x| x == 0.0);
        let own = ld3(&d.xpos, sides[0]).norm();
        let far = own * own * turned / info.weight;
        if origin && far > FAR {
            let times = far + 1.0;
            info.warnings.push(format!(
                "its point is the origin of `{world}`, {own:.3} m from `{}`, where it gives way {times:.0} times as much as at its point: \
                 write body1=\"{world}\" body2=\"{}\", or anchor= at the body",
                body(0),
                body(0)
            ));
        }
        if sag <= LIMIT_M && tilt <= LIMIT_RAD {
            return;
        }
        let gives = format!(
            "under the {mass:.4} kg that hang on it, it gives way {:.3} mm and {:.3} mrad (1 and 1 are what a joint may)",
            1e3 * sag,
            1e3 * tilt
        );
        let (sag, tilt) = under(self.stiff);
        let enough = sag <= LIMIT_M && tilt <= LIMIT_RAD;
        let light = usize::from(m.body_invweight0[2 * sides[1]] > m.body_invweight0[2 * sides[0]]);
        let child = format!(
            "make `{}` a child of `{}` without a joint between them: it then moves exactly with it",
            body(1 - light),
            body(light)
        );
        let remedy = match info.rule {
            Some(RowRule::Stiff) => {
                let most = weight(0).max(f64::MIN_POSITIVE);
                let share = m.body_invweight0[2 * sides[light]] / most;
                format!(
                    "a weld is as stiff as its lighter body, and `{}` has {:.0} % of the inverse weight; {child}, or take smaller steps",
                    body(light),
                    100.0 * share
                )
            }
            Some(RowRule::Mujoco) if enough => "leave it to the stiff rule (welds = stiff)".to_owned(),
            Some(RowRule::File) => {
                let stiffer = stiff_attributes(m.opt_timestep[0]);
                format!("write a stiffer solref and solimp, up to {stiffer} at this step; or {child}")
            }
            _ => format!("the stiff rule (welds = stiff) is not enough either; {child}"),
        };
        info.warnings.push(format!("{gives}: {remedy}"));
    }

    /// Mass and centre of mass of what hangs on equality `e`: of free trees, held together by other welds and connects, the
    /// side that nothing else holds; the heavier one where nothing holds either. None where both are held.
    fn load(&self, e: usize, sides: [usize; 2]) -> Option<(f64, Vec3<f64>)> {
        let m = self.m;
        let hanging = sides.map(|b| self.hanging(e, b));
        let heavier = |a: Option<(f64, Vec3<f64>)>, b: Option<(f64, Vec3<f64>)>| match (a, b) {
            (Some(a), Some(b)) => Some(if a.0 > b.0 { a } else { b }),
            (a, b) => a.or(b),
        };
        heavier(hanging[0], hanging[1]).or_else(|| {
            // a loop of joints: each side carries what is below it
            let below = |b: usize| {
                let top = index(m.body_weldid[b]);
                (top > 0).then(|| (m.body_subtreemass[top], ld3(&self.d.subtree_com, top)))
            };
            heavier(below(sides[0]), below(sides[1]))
        })
    }

    /// Mass and centre of mass of the free trees that body `b` is part of through equalities other than `e`, where nothing
    /// holds them.
    fn hanging(&self, e: usize, b: usize) -> Option<(f64, Vec3<f64>)> {
        let m = self.m;
        let root = |b: usize| index(m.body_rootid[b]);
        let free = |r: usize| m.body_jntnum[r] == 1 && m.jnt_type[index(m.body_jntadr[r])] == jnt::FREE;
        let mut trees = vec![root(b)];
        let mut at = 0;
        while let Some(&tree) = trees.get(at) {
            if tree == 0 || !free(tree) {
                return None;
            }
            for other in (0..m.size.neq).filter(|&o| o != e && m.eq_active0[o] != 0) {
                if matches!(m.eq_type[other], eq::WELD | eq::CONNECT) {
                    let [a, b] = [0, 1].map(|k| root(eq_body(m, other, k)));
                    for (from, to) in [(a, b), (b, a)] {
                        if from == tree && !trees.contains(&to) {
                            trees.push(to);
                        }
                    }
                }
            }
            at += 1;
        }
        let mass: f64 = trees.iter().map(|&t| m.body_subtreemass[t]).sum();
        let moment = trees.iter().map(|&t| ld3(&self.d.subtree_com, t) * m.body_subtreemass[t]);
        Some((mass, moment.sum::<Vec3<f64>>() / mass.max(f64::MIN_POSITIVE)))
    }
}

/// `solref` and `solimp` of the stiff rule, as attributes.
fn stiff_attributes(h: f64) -> String {
    let [k, b] = crate::stiff_solref(h);
    format!("solref=\"{k:.0} {b:.0}\" solimp=\"0.999 0.999\"")
}
