//! What a narrow phase sees and what it gives. Twin: `shaders/contact_set.wgsl`.

use crate::math::{Mat3, Vec3};
use crate::{Real, Scalar};

/// The most contacts of a pair.
pub const MAXCONPAIR: usize = 8;

/// Two geoms as a narrow phase sees them.
#[derive(Clone, Copy, Debug)]
pub struct Pose<T: Real> {
    /// size of geom 1 [m]
    pub s1: Vec3<T>,
    /// orientation of geom 1
    pub m1: Mat3<T>,
    /// size of geom 2 [m]
    pub s2: Vec3<T>,
    /// orientation of geom 2
    pub m2: Mat3<T>,
    /// centre of geom 2 minus centre of geom 1 [m]
    pub r: Vec3<T>,
}

/// The contacts of a pair.
#[derive(Clone, Copy, Debug)]
pub struct ContactSet<T: Real> {
    /// how many
    pub count: usize,
    /// distances [m]
    pub dist: [T; MAXCONPAIR],
    /// midpoints relative to the centre of geom 1 [m]
    pub pos: [Vec3<T>; MAXCONPAIR],
    /// directions from geom 1 to geom 2
    pub normal: [Vec3<T>; MAXCONPAIR],
    /// where the first tangent shall point; 0: anywhere
    pub tangent: Vec3<T>,
}

impl<T: Scalar> ContactSet<T> {
    /// No contacts.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        let zero = Vec3::zeros();
        Self { count: 0, dist: [T::zero(); _], pos: [zero; _], normal: [zero; _], tangent: zero }
    }

    /// Adds a contact; none beyond [`MAXCONPAIR`].
    #[inline(always)]
    pub(crate) fn push(&mut self, dist: T, pos: Vec3<T>, normal: Vec3<T>) {
        if self.count < MAXCONPAIR {
            self.dist[self.count] = dist;
            self.pos[self.count] = pos;
            self.normal[self.count] = normal;
            self.count += 1;
        }
    }
}
