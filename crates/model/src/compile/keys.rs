//! Keyframes: what the file leaves out is the reference pose at rest.

use super::{Compiler, Kind};
use kiloworld_cpu::math::Quat;
use kiloworld_layout::consts::jnt;
use kiloworld_mjcf::At;

/// Fills the keyframes.
pub(crate) fn keys(c: &mut Compiler<'_>) {
    let size = c.m.size.clone();
    let mocap: Vec<usize> = (0..size.nbody).filter(|&b| c.m.body_mocapid[b] >= 0).collect();
    let mpos: Vec<f64> = mocap.iter().flat_map(|&b| c.m.body_pos[3 * b..3 * b + 3].to_vec()).collect();
    let mquat: Vec<f64> = mocap.iter().flat_map(|&b| c.m.body_quat[4 * b..4 * b + 4].to_vec()).collect();
    // the file can ask for more keyframes than it holds
    let empty = kiloworld_mjcf::spec::Key::default();
    let asked = c.spec.size.nkey.map_or(0, |n| usize::try_from(n).unwrap_or(0)).min(MAX_KEYS);
    let nkey = c.spec.keys.len().max(asked);
    for k in 0..nkey {
        let key = c.spec.keys.get(k).unwrap_or(&empty);
        c.names.push(Kind::Key, key.name.as_deref());
        let mut qpos = values(c, &key.at, "qpos", key.qpos.as_ref(), &c.m.qpos0.clone());
        for j in 0..size.njnt {
            let adr = c.m.jnt_qposadr[j] as usize;
            match c.m.jnt_type[j] {
                jnt::FREE => normalize(&mut qpos[adr + 3..adr + 7]),
                jnt::BALL => normalize(&mut qpos[adr..adr + 4]),
                _ => {}
            }
        }
        let qvel = values(c, &key.at, "qvel", key.qvel.as_ref(), &vec![0.0; size.nv]);
        let act = values(c, &key.at, "act", key.act.as_ref(), &vec![0.0; size.na]);
        let ctrl = values(c, &key.at, "ctrl", key.ctrl.as_ref(), &vec![0.0; size.nu]);
        let pos = values(c, &key.at, "mpos", key.mpos.as_ref(), &mpos);
        let mut quat = values(c, &key.at, "mquat", key.mquat.as_ref(), &mquat);
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
    c.m.size.nkey = nkey;
}

/// No file needs more keyframes than this without writing them.
const MAX_KEYS: usize = 10_000;

/// The values of an attribute, or the default where it is not written or has the wrong number of them.
fn values(c: &mut Compiler<'_>, at: &At, name: &str, written: Option<&Vec<f64>>, default: &[f64]) -> Vec<f64> {
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
