//! Keyframes: what the file leaves out is the reference pose at rest.

use super::{Compiler, Kind};
use kiloworld_cpu::math::Quat;
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
    let mut count = 0;
    for k in 0..nkey {
        let key = c.spec.keys.get(k).unwrap_or(&empty);
        let slots = Slots::of(c, key);
        if let Some((name, found, wanted)) = slots.mismatch(key) {
            let text =
                format!("a key frame of an attached model has {found} numbers in `{name}`, {wanted} are attached");
            c.warn(&text, key.at.attr(name), "attach the whole model, or write the key frame into the main model");
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

/// Where the numbers of a key frame go, in its own order; `None` where they are those of the whole model.
#[derive(Default)]
struct Slots {
    qpos: Option<Vec<usize>>,
    qvel: Option<Vec<usize>>,
    act: Option<Vec<usize>>,
    ctrl: Option<Vec<usize>>,
    mpos: Option<Vec<usize>>,
    mquat: Option<Vec<usize>>,
}

impl Slots {
    fn of(c: &Compiler<'_>, key: &Key) -> Self {
        let Some(part) = &key.part else { return Self::default() };
        let m = &c.m;
        let ranges = |list: &[usize], range: &dyn Fn(usize) -> (i32, usize)| {
            let span = |i: &usize| {
                let (first, n) = range(*i);
                (0..n).map(move |k| first.max(0) as usize + k)
            };
            Some(list.iter().flat_map(span).collect())
        };
        let kind = |j: usize| match m.jnt_type[j] {
            jnt::FREE => (7, 6),
            jnt::BALL => (4, 3),
            _ => (1, 1),
        };
        Self {
            qpos: ranges(&part.joints, &|j| (m.jnt_qposadr[j], kind(j).0)),
            qvel: ranges(&part.joints, &|j| (m.jnt_dofadr[j], kind(j).1)),
            act: ranges(&part.actuators, &|a| (m.actuator_actadr[a], m.actuator_actnum[a] as usize)),
            ctrl: ranges(&part.actuators, &|a| (a as i32, 1)),
            mpos: ranges(&part.mocaps, &|b| (3 * m.body_mocapid[b], 3)),
            mquat: ranges(&part.mocaps, &|b| (4 * m.body_mocapid[b], 4)),
        }
    }

    /// The first attribute with another number of values than there are slots, that number and the number of slots.
    fn mismatch(&self, key: &Key) -> Option<(&'static str, usize, usize)> {
        let all = [
            ("qpos", &self.qpos, &key.qpos),
            ("qvel", &self.qvel, &key.qvel),
            ("act", &self.act, &key.act),
            ("ctrl", &self.ctrl, &key.ctrl),
            ("mpos", &self.mpos, &key.mpos),
            ("mquat", &self.mquat, &key.mquat),
        ];
        all.into_iter().find_map(|(name, slots, values)| {
            let (found, wanted) = (values.as_ref()?.len(), slots.as_ref()?.len());
            (found != wanted).then_some((name, found, wanted))
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
    slots: Option<&Vec<usize>>,
) -> Vec<f64> {
    if let (Some(written), Some(slots)) = (written, slots) {
        let mut all = default.to_vec();
        slots.iter().zip(written).for_each(|(&slot, &x)| all[slot] = x);
        return all;
    }
    match written {
        Some(v) if v.len() == default.len() => v.clone(),
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
