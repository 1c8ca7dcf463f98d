//! Vectors of three and four and 3×3 matrices, every operation inlined: a stage compiled for a set of instructions must
//! not call functions compiled for another.
// CPU only: WGSL has its own.

use crate::{Real, Scalar};
use core::ops::{Add, AddAssign, Div, Index, IndexMut, Mul, MulAssign, Neg, Sub, SubAssign};

macro_rules! vector {
    ($(#[$doc:meta])* $name:ident, $n:literal, $($arg:ident $k:literal),+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name<T>([T; $n]);

        impl<T: Copy> $name<T> {
            /// From its components.
            #[inline(always)]
            pub const fn new($($arg: T),+) -> Self {
                Self([$($arg),+])
            }
        }

        impl<T: Real> Default for $name<T> {
            #[inline(always)]
            fn default() -> Self {
                Self::zeros()
            }
        }

        impl<T: Real> core::iter::Sum for $name<T> {
            fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
                iter.fold(Self::zeros(), |a, b| a + b)
            }
        }

        impl<T: Real> $name<T> {
            /// The null vector.
            #[inline(always)]
            pub fn zeros() -> Self {
                Self([T::zero(); $n])
            }
            /// The same number in every component.
            #[inline(always)]
            pub fn repeat(x: T) -> Self {
                Self([x; $n])
            }
            /// From the first numbers of a slice.
            #[inline(always)]
            pub fn from_row_slice(a: &[T]) -> Self {
                let a = &a[..$n];
                Self([$(a[$k]),+])
            }
            /// The components.
            #[inline(always)]
            pub fn as_slice(&self) -> &[T] {
                &self.0
            }
            /// The components, in order.
            #[inline(always)]
            pub fn iter(&self) -> core::slice::Iter<'_, T> {
                self.0.iter()
            }
            /// Scalar product.
            #[inline(always)]
            pub fn dot(&self, b: &Self) -> T {
                let mut sum = self.0[0] * b.0[0];
                for k in 1..$n {
                    sum += self.0[k] * b.0[k];
                }
                sum
            }
            /// Square of the length.
            #[inline(always)]
            pub fn norm_squared(&self) -> T {
                self.dot(self)
            }
            /// Length.
            #[inline(always)]
            pub fn norm(&self) -> T {
                self.dot(self).sqrt()
            }
            /// The lesser of each component.
            #[inline(always)]
            pub fn inf(&self, b: &Self) -> Self {
                Self([$(self.0[$k].min(b.0[$k])),+])
            }
            /// The greater of each component.
            #[inline(always)]
            pub fn sup(&self, b: &Self) -> Self {
                Self([$(self.0[$k].max(b.0[$k])),+])
            }
            /// Component by component.
            #[inline(always)]
            pub fn map(self, f: impl Fn(T) -> T) -> Self {
                Self(self.0.map(f))
            }
            /// `a` where the mask holds, else `b`.
            #[inline(always)]
            pub fn select(mask: T::Mask, a: Self, b: Self) -> Self {
                Self([$(T::select(mask, a.0[$k], b.0[$k])),+])
            }
        }

        impl<T: Scalar> $name<T> {
            /// Sum of the components.
            #[inline(always)]
            pub fn sum(&self) -> T {
                self.0.iter().fold(T::zero(), |a, &b| a + b)
            }
            /// The least component.
            #[inline(always)]
            pub fn min(&self) -> T {
                self.0.iter().fold(self.0[0], |a, &b| a.min(b))
            }
            /// The greatest component.
            #[inline(always)]
            pub fn max(&self) -> T {
                self.0.iter().fold(self.0[0], |a, &b| a.max(b))
            }
        }

        impl<T> From<[T; $n]> for $name<T> {
            #[inline(always)]
            fn from(a: [T; $n]) -> Self {
                Self(a)
            }
        }
        impl<T> From<$name<T>> for [T; $n] {
            #[inline(always)]
            fn from(a: $name<T>) -> Self {
                a.0
            }
        }
        impl<T> Index<usize> for $name<T> {
            type Output = T;
            #[inline(always)]
            fn index(&self, k: usize) -> &T {
                &self.0[k]
            }
        }
        impl<T> IndexMut<usize> for $name<T> {
            #[inline(always)]
            fn index_mut(&mut self, k: usize) -> &mut T {
                &mut self.0[k]
            }
        }
        impl<T: Real> Add for $name<T> {
            type Output = Self;
            #[inline(always)]
            fn add(self, b: Self) -> Self {
                Self([$(self.0[$k] + b.0[$k]),+])
            }
        }
        impl<T: Real> Sub for $name<T> {
            type Output = Self;
            #[inline(always)]
            fn sub(self, b: Self) -> Self {
                Self([$(self.0[$k] - b.0[$k]),+])
            }
        }
        impl<T: Real> Neg for $name<T> {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self([$(-self.0[$k]),+])
            }
        }
        impl<T: Real> Mul<T> for $name<T> {
            type Output = Self;
            #[inline(always)]
            fn mul(self, s: T) -> Self {
                Self([$(self.0[$k] * s),+])
            }
        }
        impl<T: Real> Div<T> for $name<T> {
            type Output = Self;
            #[inline(always)]
            fn div(self, s: T) -> Self {
                Self([$(self.0[$k] / s),+])
            }
        }
        impl<T: Real> AddAssign for $name<T> {
            #[inline(always)]
            fn add_assign(&mut self, b: Self) {
                *self = *self + b;
            }
        }
        impl<T: Real> SubAssign for $name<T> {
            #[inline(always)]
            fn sub_assign(&mut self, b: Self) {
                *self = *self - b;
            }
        }
        impl<T: Real> MulAssign<T> for $name<T> {
            #[inline(always)]
            fn mul_assign(&mut self, s: T) {
                *self = *self * s;
            }
        }
    };
}

vector! {
    /// A vector of three.
    Vec3, 3, x 0, y 1, z 2
}
vector! {
    /// A quaternion, stored (w, x, y, z): component 0 is w.
    Quat, 4, w 0, x 1, y 2, z 3
}

impl<T: Real> Vec3<T> {
    /// The unit vector of the first axis.
    #[inline(always)]
    pub fn x() -> Self {
        Self([T::one(), T::zero(), T::zero()])
    }
    /// The unit vector of the second axis.
    #[inline(always)]
    pub fn y() -> Self {
        Self([T::zero(), T::one(), T::zero()])
    }
    /// The unit vector of the third axis.
    #[inline(always)]
    pub fn z() -> Self {
        Self([T::zero(), T::zero(), T::one()])
    }
    /// Vector product.
    #[inline(always)]
    pub fn cross(&self, b: &Self) -> Self {
        let (a, b) = (&self.0, &b.0);
        Self([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
    }
}

impl<T: Real> Vec3<T> {
    /// The matrix `a bᵀ`.
    #[inline(always)]
    pub fn outer(&self, b: &Self) -> Mat3<T> {
        Mat3::from_fn(|i, j| self[i] * b[j])
    }
}

/// A 3×3 matrix; in memory its nine numbers are stored row by row, as MuJoCo does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mat3<T>([[T; 3]; 3]);

impl<T: Real> Mat3<T> {
    /// From its entries, row by row.
    #[expect(clippy::too_many_arguments, reason = "nine entries")]
    #[inline(always)]
    pub fn new(a: T, b: T, c: T, d: T, e: T, f: T, g: T, h: T, i: T) -> Self {
        Self([[a, b, c], [d, e, f], [g, h, i]])
    }
    /// From a function of row and column.
    #[inline(always)]
    pub fn from_fn(f: impl Fn(usize, usize) -> T) -> Self {
        Self([[f(0, 0), f(0, 1), f(0, 2)], [f(1, 0), f(1, 1), f(1, 2)], [f(2, 0), f(2, 1), f(2, 2)]])
    }
    /// From nine numbers, row by row.
    #[inline(always)]
    pub fn from_row_slice(a: &[T]) -> Self {
        let a = &a[..9];
        Self([[a[0], a[1], a[2]], [a[3], a[4], a[5]], [a[6], a[7], a[8]]])
    }
    /// From its columns.
    #[inline(always)]
    pub fn from_columns(c: &[Vec3<T>; 3]) -> Self {
        Self::from_fn(|i, j| c[j][i])
    }
    /// The matrix of zeros.
    #[inline(always)]
    pub fn zeros() -> Self {
        Self([[T::zero(); 3]; 3])
    }
    /// The unit matrix.
    #[inline(always)]
    pub fn identity() -> Self {
        Self::from_diagonal(&Vec3::repeat(T::one()))
    }
    /// The matrix with this diagonal.
    #[inline(always)]
    pub fn from_diagonal(d: &Vec3<T>) -> Self {
        let o = T::zero();
        Self([[d[0], o, o], [o, d[1], o], [o, o, d[2]]])
    }
    /// Its entries, row by row.
    #[inline(always)]
    pub fn as_slice(&self) -> &[T] {
        self.0.as_flattened()
    }
    /// Column `j`.
    #[inline(always)]
    pub fn column(&self, j: usize) -> Vec3<T> {
        Vec3([self.0[0][j], self.0[1][j], self.0[2][j]])
    }
    /// Row `i`.
    #[inline(always)]
    pub fn row(&self, i: usize) -> Vec3<T> {
        Vec3(self.0[i])
    }
    /// The transposed matrix.
    #[inline(always)]
    pub fn transpose(&self) -> Self {
        Self::from_fn(|i, j| self.0[j][i])
    }
    /// Sum of the diagonal.
    #[inline(always)]
    pub fn trace(&self) -> T {
        self.0[0][0] + self.0[1][1] + self.0[2][2]
    }
    /// Determinant.
    #[inline(always)]
    pub fn determinant(&self) -> T {
        self.row(0).dot(&self.row(1).cross(&self.row(2)))
    }
    /// `a` where the mask holds, else `b`.
    #[inline(always)]
    pub fn select(mask: T::Mask, a: Self, b: Self) -> Self {
        Self::from_fn(|i, j| T::select(mask, a.0[i][j], b.0[i][j]))
    }
}

impl<T> Index<(usize, usize)> for Mat3<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, (i, j): (usize, usize)) -> &T {
        &self.0[i][j]
    }
}
impl<T> IndexMut<(usize, usize)> for Mat3<T> {
    #[inline(always)]
    fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut T {
        &mut self.0[i][j]
    }
}
impl<T: Real> Add for Mat3<T> {
    type Output = Self;
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        Self::from_fn(|i, j| self.0[i][j] + b.0[i][j])
    }
}
impl<T: Real> Sub for Mat3<T> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Self::from_fn(|i, j| self.0[i][j] - b.0[i][j])
    }
}
impl<T: Real> AddAssign for Mat3<T> {
    #[inline(always)]
    fn add_assign(&mut self, b: Self) {
        *self = *self + b;
    }
}
impl<T: Real> Mul<T> for Mat3<T> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, s: T) -> Self {
        Self::from_fn(|i, j| self.0[i][j] * s)
    }
}
impl<T: Real> Mul<Vec3<T>> for Mat3<T> {
    type Output = Vec3<T>;
    #[inline(always)]
    fn mul(self, v: Vec3<T>) -> Vec3<T> {
        Vec3([self.row(0).dot(&v), self.row(1).dot(&v), self.row(2).dot(&v)])
    }
}
impl<T: Real> Mul for Mat3<T> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        Self::from_fn(|i, j| self.row(i).dot(&b.column(j)))
    }
}
impl<T: Real> core::iter::Sum for Mat3<T> {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::zeros(), |a, b| a + b)
    }
}
