//! Positions and orientations: every form in which a file can write them, to a unit quaternion.

use kiloworld_cpu::math::{Mat3, Quat, Vec3, axis_angle_to_quat, quat_conj, quat_mul, quat_rotate};
use kiloworld_layout::consts::MINVAL;
use kiloworld_mjcf::spec::{Compiler, Orientation};

/// A frame in another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pose {
    /// origin \[m\]
    pub pos: Vec3<f64>,
    /// orientation, unit
    pub quat: Quat<f64>,
}

impl Default for Pose {
    fn default() -> Self {
        Self { pos: Vec3::zeros(), quat: IDENTITY }
    }
}

/// No rotation.
pub(crate) const IDENTITY: Quat<f64> = Quat::new(1.0, 0.0, 0.0, 0.0);

impl Pose {
    /// `child`, given in this frame, in the frame that this one is given in.
    pub(crate) fn then(&self, child: &Self) -> Self {
        Self { pos: self.pos + quat_rotate(self.quat, child.pos), quat: quat_mul(self.quat, child.quat) }
    }

    /// The pose that undoes this one.
    pub(crate) fn inverse(&self) -> Self {
        let quat = quat_conj(self.quat);
        Self { pos: -quat_rotate(quat, self.pos), quat }
    }
}

/// A vector at unit length; `None` where it has no direction.
pub(crate) fn unit(v: Vec3<f64>) -> Option<Vec3<f64>> {
    let n = v.norm();
    (n >= MINVAL).then(|| v / n)
}

/// Below this part of its length an axis counts as parallel to another.
const PARALLEL: f64 = 1e-15;

/// What to do about an orientation that is none.
pub(crate) const REMEDY: &str = "write axes and quaternions that are not 0";

/// The unit quaternion of an orientation, or what is wrong with it.
pub(crate) fn quat(o: Option<&Orientation>, c: &Compiler) -> Result<Quat<f64>, String> {
    let angle = |a: f64| if c.degrees { a.to_radians() } else { a };
    match o {
        None => Ok(IDENTITY),
        Some(&Orientation::Quat(q)) => {
            let q = Quat::from(q);
            let n = q.norm();
            if n < MINVAL { Err("a quaternion of length 0 is no orientation".into()) } else { Ok(q / n) }
        }
        Some(&Orientation::AxisAngle([x, y, z, a])) => {
            let axis = unit(Vec3::new(x, y, z)).ok_or("the axis has length 0")?;
            Ok(axis_angle_to_quat(axis, angle(a)))
        }
        Some(&(Orientation::Euler(a) | Orientation::EulerIn(a, _))) => {
            let sequence = if let Some(Orientation::EulerIn(_, own)) = o { own } else { &c.eulerseq };
            let mut q = IDENTITY;
            for (axis, a) in sequence.iter().zip(a) {
                let v = match axis.to_ascii_lowercase() {
                    'x' => Vec3::x(),
                    'y' => Vec3::y(),
                    _ => Vec3::z(),
                };
                let turn = axis_angle_to_quat(v, angle(a));
                q = if axis.is_ascii_lowercase() { quat_mul(q, turn) } else { quat_mul(turn, q) };
            }
            Ok(q / q.norm())
        }
        Some(&Orientation::XyAxes(a)) => {
            let x = unit(Vec3::new(a[0], a[1], a[2])).ok_or("the x axis has length 0")?;
            let y = Vec3::new(a[3], a[4], a[5]);
            // what is left of a parallel axis is rounding
            let across = y - x * x.dot(&y);
            let parallel = across.norm() < PARALLEL * y.norm();
            let y = unit(across).filter(|_| !parallel).ok_or("the y axis is 0 or parallel to the x axis")?;
            Ok(mat_to_quat(&Mat3::from_columns(&[x, y, x.cross(&y)])))
        }
        Some(&Orientation::ZAxis(z)) => z_to(Vec3::from(z)).ok_or_else(|| "the z axis has length 0".into()),
    }
}

/// A direction as near to the z axis as this, as a sine, counts as along or against it, as in MuJoCo.
const ALONG: f64 = 1e-7;

/// The smallest rotation that takes (0, 0, 1) to the direction of `v`; half a turn about x where they are opposite.
pub(crate) fn z_to(v: Vec3<f64>) -> Option<Quat<f64>> {
    let v = unit(v)?;
    let across = Vec3::z().cross(&v);
    let sin = across.norm();
    let (axis, sin) = if sin < ALONG { (Vec3::x(), 0.0) } else { (across / sin, sin) };
    Some(axis_angle_to_quat(axis, sin.atan2(v[2])))
}

/// The unit quaternion of a rotation matrix: the largest component is found from the diagonal, and is positive.
pub(crate) fn mat_to_quat(m: &Mat3<f64>) -> Quat<f64> {
    let (xx, yy, zz) = (m[(0, 0)], m[(1, 1)], m[(2, 2)]);
    let (x, y, z) = (m[(2, 1)] - m[(1, 2)], m[(0, 2)] - m[(2, 0)], m[(1, 0)] - m[(0, 1)]);
    let (xy, xz, yz) = (m[(0, 1)] + m[(1, 0)], m[(0, 2)] + m[(2, 0)], m[(1, 2)] + m[(2, 1)]);
    let q = if xx + yy + zz > 0.0 {
        Quat::new(1.0 + xx + yy + zz, x, y, z)
    } else if xx > yy && xx > zz {
        Quat::new(x, 1.0 + xx - yy - zz, xy, xz)
    } else if yy > zz {
        Quat::new(y, xy, 1.0 - xx + yy - zz, yz)
    } else {
        Quat::new(z, xz, yz, 1.0 - xx - yy + zz)
    };
    q / q.norm()
}
