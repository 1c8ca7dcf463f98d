//! Energy and momentum of a whole world from its fields, computed in f64 on the host.

use crate::world::Values;
use kiloworld_layout::consts::jnt;
use kiloworld_layout::{Field, Model};

/// Energy (J), momentum (kg m/s) and spin about the common centre of mass (kg m²/s).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) energy: f64,
    pub(crate) momentum: [f64; 3],
    pub(crate) spin: [f64; 3],
}

/// Fields that [`Totals::new`] needs to have been read.
pub(crate) const NEEDS: &[Field] =
    &[Field::qpos, Field::qvel, Field::xipos, Field::ximat, Field::cvel, Field::subtree_com];

impl Totals {
    /// From the fields of a world and the model (mass, inertia, gravity as overridden in `values`).
    pub(crate) fn new(m: &Model<f64>, values: &Values) -> Option<Self> {
        let get = |f: Field| values.get(&f).map(Vec::as_slice);
        let real = |f: Field| {
            get(f).or(match m.get(f) {
                Some(kiloworld_layout::Slice::F(v)) => Some(v),
                _ => None,
            })
        };
        let (mass, inertia, gravity) = (real(Field::body_mass)?, real(Field::body_inertia)?, real(Field::opt_gravity)?);
        let (xipos, ximat, cvel, com) =
            (get(Field::xipos)?, get(Field::ximat)?, get(Field::cvel)?, get(Field::subtree_com)?);
        let mut out = Self::default();
        let mut total = 0.0;
        let mut centre = [0.0; 3];
        let mut parts = Vec::new();
        for b in 1..m.size.nbody {
            let root = usize::try_from(m.body_rootid[b]).ok()?;
            let w = three(&cvel[6 * b..]);
            let x = three(&xipos[3 * b..]);
            let arm = sub(x, three(&com[3 * root..]));
            let v = add(three(&cvel[6 * b + 3..]), cross(w, arm));
            // moment of momentum about the body's own centre: R diag(I) Rᵀ w
            let r = &ximat[9 * b..9 * b + 9];
            let mut spin = [0.0; 3];
            for k in 0..3 {
                let along = inertia[3 * b + k] * (0..3).map(|i| r[3 * i + k] * w[i]).sum::<f64>();
                for i in 0..3 {
                    spin[i] += r[3 * i + k] * along;
                }
            }
            out.energy += 0.5 * (mass[b] * dot(v, v) + dot(w, spin)) - mass[b] * dot(three(gravity), x);
            for i in 0..3 {
                out.momentum[i] += mass[b] * v[i];
                centre[i] += mass[b] * x[i];
            }
            total += mass[b];
            parts.push((mass[b], x, v, spin));
        }
        let centre = centre.map(|c| c / total);
        for (mass, x, v, spin) in parts {
            let about = cross(sub(x, centre), v);
            for i in 0..3 {
                out.spin[i] += mass * about[i] + spin[i];
            }
        }
        out.energy += springs(m, get(Field::qpos)?, real(Field::jnt_stiffness)?)?;
        Some(out)
    }
}

/// Energy of the joints' springs.
fn springs(m: &Model<f64>, qpos: &[f64], stiffness: &[f64]) -> Option<f64> {
    let mut sum = 0.0;
    for (j, k) in stiffness.iter().enumerate() {
        let a = usize::try_from(m.jnt_qposadr[j]).ok()?;
        let (q, s) = (&qpos[a..], &m.qpos_spring[a..]);
        let squared = match m.jnt_type[j] {
            jnt::HINGE | jnt::SLIDE => (q[0] - s[0]).powi(2),
            jnt::BALL => {
                // the angle between two orientations
                let c = (0..4).map(|i| q[i] * s[i]).sum::<f64>().abs().min(1.0);
                (2.0 * c.acos()).powi(2)
            }
            _ => 0.0,
        };
        sum += 0.5 * k * squared;
    }
    Some(sum)
}

fn three(v: &[f64]) -> [f64; 3] {
    [v[0], v[1], v[2]]
}

fn add(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn sub(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
