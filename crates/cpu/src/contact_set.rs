//! What a narrow phase sees and what it gives. Twin: `shaders/contact_set.wgsl`.

use crate::math::{Mat3, Vec3};
use crate::{Mask, Real};

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

impl<T: Real> Pose<T> {
    /// The pose in world `l`.
    #[inline(always)]
    pub(crate) fn lane(&self, l: usize) -> Pose<T::One> {
        let vector = |v: &Vec3<T>| Vec3::new(v[0].lane(l), v[1].lane(l), v[2].lane(l));
        let matrix = |m: &Mat3<T>| Mat3::from_fn(|i, j| m[(i, j)].lane(l));
        Pose {
            s1: vector(&self.s1),
            m1: matrix(&self.m1),
            s2: vector(&self.s2),
            m2: matrix(&self.m2),
            r: vector(&self.r),
        }
    }
}

/// The contacts of a pair: those of some world, each world's in its order.
#[derive(Clone, Copy, Debug)]
pub struct ContactSet<T: Real> {
    /// how many
    pub count: usize,
    /// the worlds that have it
    pub on: [T::Mask; MAXCONPAIR],
    /// distances [m]
    pub dist: [T; MAXCONPAIR],
    /// midpoints relative to the centre of geom 1 [m]
    pub pos: [Vec3<T>; MAXCONPAIR],
    /// directions from geom 1 to geom 2
    pub normal: [Vec3<T>; MAXCONPAIR],
    /// where the first tangent shall point; 0: anywhere
    pub tangent: Vec3<T>,
}

impl<T: Real> ContactSet<T> {
    /// No contacts.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        let zero = Vec3::zeros();
        Self {
            count: 0,
            on: [T::Mask::splat(false); _],
            dist: [T::zero(); _],
            pos: [zero; _],
            normal: [zero; _],
            tangent: zero,
        }
    }

    /// Forgets the contacts; their numbers stay, and mean nothing.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.count = 0;
        self.tangent = Vec3::zeros();
    }

    /// Adds a contact of the worlds that the mask names; none where it names none, none beyond [`MAXCONPAIR`].
    #[inline(always)]
    pub(crate) fn push(&mut self, on: T::Mask, dist: T, pos: Vec3<T>, normal: Vec3<T>) {
        if on.any() && self.count < MAXCONPAIR {
            self.on[self.count] = on;
            self.dist[self.count] = dist;
            self.pos[self.count] = pos;
            self.normal[self.count] = normal;
            self.count += 1;
        }
    }

    /// Sets contact `i` of world `l`, but for the mask, to that of a set of this world alone.
    #[inline(always)]
    pub(crate) fn set_lane(&mut self, l: usize, one: &ContactSet<T::One>, i: usize) {
        self.dist[i].set_lane(l, one.dist[i]);
        for k in 0..3 {
            self.pos[i][k].set_lane(l, one.pos[i][k]);
            self.normal[i][k].set_lane(l, one.normal[i][k]);
        }
    }
}
