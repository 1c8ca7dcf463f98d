//! Keyframes: what the file leaves out is the reference pose at rest.

use super::{Compiler, Kind, actuator, tree};
use kiloworld_cpu::math::Quat;
use kiloworld_layout::Sizes;
use kiloworld_layout::consts::jnt;
use kiloworld_mjcf::At;
use kiloworld_mjcf::spec::Key;

/// Fills the keyframes.
pub(crate) fn keys(c: &mut Compiler<'_>) {
    let size = c.m.size.clone();
    let mocap: Vec<usize> = (0..size.nbody).filter(|&b| c.m.body_mocapid[b] >= 0).collect();
    let mpos: Vec<f64> = mocap.iter().flat_map(|&b| c.m.body_pos[3 * b..3 * b + 3].to_vec()).collect();
    let mquat: Vec<f64> = mocap.iter().flat_map(|&b| c.m.body_quat[4 * b..4 * b + 4].to_vec()).collect();
    // the file can ask for more keyframes than it holds
    let empty = Key::default();
    let asked = c.spec.size.nkey.map_or(0, |n| usize::try_from(n).unwrap_or(0)).min(MAX_KEYS);
    let nkey = c.spec.keys.len().max(asked);
    if !super::limits::keyframes(c, nkey) {
        return;
    }
    let mut count = 0;
    for k in 0..nkey {
        let key = c.spec.keys.get(k).unwrap_or(&empty);
        let slots = Slots::of(c, key);
        if let Some((name, found, wanted)) = slots.mismatch(key, &size) {
            let text = format!("the key frame's `{name}` has {found} numbers, its model has {wanted}");
            c.error(key.at.attr(name), text, "write one number for each, or drop the attribute");
            continue;
        }
        count += 1;
        c.names.push(Kind::Key, key.name.as_deref());
        let mut qpos = values(c, &key.at, "qpos", key.qpos.as_ref(), &c.m.qpos0.clone(), slots.qpos.as_ref());
        for j in 0..size.njnt {
            let adr = c.m.jnt_qposadr[j] as usize;
            match c.m.jnt_type[j] {
                jnt::FREE => normalize(&mut qpos[adr + 3..adr + 7]),
                jnt::BALL => normalize(&mut qpos[adr..adr + 4]),
                _ => {}
            }
        }
        let qvel = values(c, &key.at, "qvel", key.qvel.as_ref(), &vec![0.0; size.nv], slots.qvel.as_ref());
        let act = values(c, &key.at, "act", key.act.as_ref(), &vec![0.0; size.na], slots.act.as_ref());
        let ctrl = values(c, &key.at, "ctrl", key.ctrl.as_ref(), &vec![0.0; size.nu], slots.ctrl.as_ref());
        let pos = values(c, &key.at, "mpos", key.mpos.as_ref(), &mpos, slots.mpos.as_ref());
        let mut quat = values(c, &key.at, "mquat", key.mquat.as_ref(), &mquat, slots.mquat.as_ref());
        quat.chunks_mut(4).for_each(normalize);
        let m = &mut c.m;
        m.key_time.push(key.time);
        m.key_qpos.extend(qpos);
        m.key_qvel.extend(qvel);
        m.key_act.extend(act);
        m.key_ctrl.extend(ctrl);
        m.key_mpos.extend(pos);
        m.key_mquat.extend(quat);
    }
    c.m.size.nkey = count;
}

/// Where the numbers of a key frame go, in its own order: nowhere if what they are of was not attached.
type Places = Vec<Option<usize>>;

/// The places of a key frame's numbers; `None` where they are those of the whole model.
#[derive(Default)]
struct Slots {
    qpos: Option<Places>,
    qvel: Option<Places>,
    act: Option<Places>,
    ctrl: Option<Places>,
    mpos: Option<Places>,
    mquat: Option<Places>,
}

impl Slots {
    fn of(c: &mut Compiler<'_>, key: &Key) -> Self {
        let Some(part) = &key.part else { return Self::default() };
        let mut slots = Self {
            qpos: Some(Vec::new()),
            qvel: Some(Vec::new()),
            act: Some(Vec::new()),
            ctrl: Some(Vec::new()),
            mpos: Some(Vec::new()),
            mquat: Some(Vec::new()),
        };
        let add = |places: &mut Option<Places>, n: usize, first: Option<i32>| {
            let at = |k: usize| first.and_then(|f| usize::try_from(f).ok()).map(|f| f + k);
            places.iter_mut().for_each(|p| p.extend((0..n).map(at)));
        };
        for &(kind, joint) in &part.joints {
            add(&mut slots.qpos, tree::coordinates(kind), joint.map(|j| c.m.jnt_qposadr[j]));
            add(&mut slots.qvel, tree::dofs(kind), joint.map(|j| c.m.jnt_dofadr[j]));
        }
        for (id, actuator) in &part.actuators {
            let nact = match id {
                Some(a) => c.m.actuator_actnum[*a],
                None => actuator::number_of_activations(c, actuator),
            };
            add(&mut slots.act, nact as usize, id.map(|a| c.m.actuator_actadr[a]));
            add(&mut slots.ctrl, 1, id.map(|a| a as i32));
        }
        for body in &part.mocaps {
            add(&mut slots.mpos, 3, body.map(|b| 3 * c.m.body_mocapid[b]));
            add(&mut slots.mquat, 4, body.map(|b| 4 * c.m.body_mocapid[b]));
        }
        slots
    }

    /// The first attribute with another number of values than there are places, in the key frame's model or in the whole; that
    /// number and the number of places.
    fn mismatch(&self, key: &Key, size: &Sizes) -> Option<(&'static str, usize, usize)> {
        let all = [
            ("qpos", &self.qpos, &key.qpos, size.nq),
            ("qvel", &self.qvel, &key.qvel, size.nv),
            ("act", &self.act, &key.act, size.na),
            ("ctrl", &self.ctrl, &key.ctrl, size.nu),
            ("mpos", &self.mpos, &key.mpos, 3 * size.nmocap),
            ("mquat", &self.mquat, &key.mquat, 4 * size.nmocap),
        ];
        all.into_iter().find_map(|(name, slots, values, whole)| {
            let (found, wanted) = (values.as_ref()?.len(), slots.as_ref()?.len());
            (found != wanted && found != whole).then_some((name, found, wanted))
        })
    }
}

/// No file needs more keyframes than this without writing them.
const MAX_KEYS: usize = 10_000;

/// The values of an attribute, or the default where it is not written or has the wrong number of them.
fn values(
    c: &mut Compiler<'_>,
    at: &At,
    name: &str,
    written: Option<&Vec<f64>>,
    default: &[f64],
    slots: Option<&Places>,
) -> Vec<f64> {
    if let (Some(written), Some(slots)) = (written, slots.filter(|s| written.is_some_and(|w| w.len() == s.len()))) {
        let mut all = default.to_vec();
        slots.iter().zip(written).filter_map(|(slot, &x)| Some(((*slot)?, x))).for_each(|(slot, x)| all[slot] = x);
        return all;
    }
    match written {
        Some(v) if v.is_empty() => default.to_vec(),
        Some(v) if v.len() == default.len() => v.clone(),
        Some(v) if v.len() < default.len() && matches!(name, "qpos" | "qvel" | "act") => {
            let text =
                format!("the keyframe's `{name}` has {} numbers, the model {}: the rest is 0", v.len(), default.len());
            c.doubt(at.attr(name), text, "write one number for each");
            v.iter().copied().chain(std::iter::repeat(0.0)).take(default.len()).collect()
        }
        Some(v) => {
            let text = format!("the keyframe's `{name}` has {} numbers, the model has {}", v.len(), default.len());
            c.error(at.attr(name), text, "write one number for each, or drop the attribute");
            default.to_vec()
        }
        None => default.to_vec(),
    }
}

/// Brings a quaternion to unit length; one of length 0 becomes no rotation.
fn normalize(q: &mut [f64]) {
    let v = Quat::new(q[0], q[1], q[2], q[3]);
    let n = v.norm();
    let v = if n > 0.0 { v / n } else { super::frame::IDENTITY };
    q.copy_from_slice(v.as_slice());
}
