//! Registers with a world in each lane: the numbers that the stages run on where a batch has many worlds.
//!
//! The x86 types wrap the vector registers of AVX2 and AVX-512 by intrinsics; a stage for them is compiled as a whole for
//! that set of instructions (see [`crate::dispatch`]), everything in it inlined. The array types are for any processor.
//! They all do what the scalar does, lane by lane: no operation is fused, so the bits are the scalar's.
//!
//! Nobody outside this crate can name the x86 types: whoever wants them asks [`crate::with_lanes`], which first asks the processor.
// CPU only: on the GPU a world has invocations, not lanes.
#![allow(
    unsafe_code,
    reason = "vector intrinsics; the types are private and given out only where their instructions were found, see `dispatch`"
)]

use crate::{Ints, Mask, Real};
use core::fmt;
use core::ops::{Add, AddAssign, BitAnd, BitOr, Div, DivAssign, Mul, MulAssign, Neg, Not, Sub, SubAssign};

/// An integer a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntLanes<const N: usize>([i32; N]);

impl<const N: usize> Default for IntLanes<N> {
    fn default() -> Self {
        Self([0; N])
    }
}

impl<const N: usize> Ints for IntLanes<N> {
    #[inline(always)]
    fn splat(x: i32) -> Self {
        Self([x; N])
    }
    #[inline(always)]
    fn get(&self, l: usize) -> i32 {
        self.0[l]
    }
    #[inline(always)]
    fn set(&mut self, l: usize, x: i32) {
        self.0[l] = x;
    }
}

/// What every type of lanes has in common.
macro_rules! common {
    ($name:ident, $one:ident, $n:literal) => {
        impl $name {
            #[inline(always)]
            fn array(&self) -> &[$one; $n] {
                // SAFETY: the type is as large as the array, aligned at least as strictly, and any bits are numbers
                unsafe { &*(core::ptr::from_ref(self).cast()) }
            }
            #[inline(always)]
            fn array_mut(&mut self) -> &mut [$one; $n] {
                // SAFETY: as above
                unsafe { &mut *(core::ptr::from_mut(self).cast()) }
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.array().fmt(f)
            }
        }
        impl AddAssign for $name {
            #[inline(always)]
            fn add_assign(&mut self, b: Self) {
                *self = *self + b;
            }
        }
        impl SubAssign for $name {
            #[inline(always)]
            fn sub_assign(&mut self, b: Self) {
                *self = *self - b;
            }
        }
        impl MulAssign for $name {
            #[inline(always)]
            fn mul_assign(&mut self, b: Self) {
                *self = *self * b;
            }
        }
        impl DivAssign for $name {
            #[inline(always)]
            fn div_assign(&mut self, b: Self) {
                *self = *self / b;
            }
        }
        impl PartialEq for $name {
            /// Equal in every lane.
            #[inline(always)]
            fn eq(&self, b: &Self) -> bool {
                self.same(*b).all()
            }
        }
    };
}

/// Lanes in an array, for processors without wider registers than every processor of their kind has.
macro_rules! array {
    ($(#[$doc:meta])* $name:ident, $mask:ident, $one:ident, $n:literal, $align:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        #[repr(C, align($align))]
        pub struct $name([$one; $n]);

        /// Truth a lane.
        #[derive(Clone, Copy, Debug)]
        pub struct $mask([bool; $n]);

        impl Default for $name {
            #[inline(always)]
            fn default() -> Self {
                Self([0.0; $n])
            }
        }
        impl BitAnd for $mask {
            type Output = Self;
            #[inline(always)]
            fn bitand(self, b: Self) -> Self {
                Self(core::array::from_fn(|l| self.0[l] & b.0[l]))
            }
        }
        impl BitOr for $mask {
            type Output = Self;
            #[inline(always)]
            fn bitor(self, b: Self) -> Self {
                Self(core::array::from_fn(|l| self.0[l] | b.0[l]))
            }
        }
        impl Not for $mask {
            type Output = Self;
            #[inline(always)]
            fn not(self) -> Self {
                Self(self.0.map(|x| !x))
            }
        }
        impl Mask for $mask {
            #[inline(always)]
            fn splat(b: bool) -> Self {
                Self([b; $n])
            }
            #[inline(always)]
            fn any(self) -> bool {
                self.0.iter().fold(false, |a, &b| a | b)
            }
            #[inline(always)]
            fn get(self, l: usize) -> bool {
                self.0[l]
            }
        }
        impl Add for $name {
            type Output = Self;
            #[inline(always)]
            fn add(self, b: Self) -> Self {
                Self(core::array::from_fn(|l| self.0[l] + b.0[l]))
            }
        }
        impl Sub for $name {
            type Output = Self;
            #[inline(always)]
            fn sub(self, b: Self) -> Self {
                Self(core::array::from_fn(|l| self.0[l] - b.0[l]))
            }
        }
        impl Mul for $name {
            type Output = Self;
            #[inline(always)]
            fn mul(self, b: Self) -> Self {
                Self(core::array::from_fn(|l| self.0[l] * b.0[l]))
            }
        }
        impl Div for $name {
            type Output = Self;
            #[inline(always)]
            fn div(self, b: Self) -> Self {
                Self(core::array::from_fn(|l| self.0[l] / b.0[l]))
            }
        }
        impl Neg for $name {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self(self.0.map(|x| -x))
            }
        }
        common!($name, $one, $n);

        impl Real for $name {
            type Mask = $mask;
            type Int = IntLanes<$n>;
            type One = $one;
            const LANES: usize = $n;
            const TWO_FLOAT: bool = <$one as Real>::TWO_FLOAT;
            const EPSILON: f64 = <$one as Real>::EPSILON;

            #[inline(always)]
            fn r(x: f64) -> Self {
                Self([$one::r(x); $n])
            }
            #[inline(always)]
            fn splat(x: $one) -> Self {
                Self([x; $n])
            }
            #[inline(always)]
            fn lane(&self, l: usize) -> $one {
                self.0[l]
            }
            #[inline(always)]
            fn set_lane(&mut self, l: usize, x: $one) {
                self.array_mut()[l] = x;
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                Self(self.0.map($one::sqrt))
            }
            #[inline(always)]
            fn abs(self) -> Self {
                Self(self.0.map($one::abs))
            }
            #[inline(always)]
            fn min(self, b: Self) -> Self {
                Self(core::array::from_fn(|l| Real::min(self.0[l], b.0[l])))
            }
            #[inline(always)]
            fn max(self, b: Self) -> Self {
                Self(core::array::from_fn(|l| Real::max(self.0[l], b.0[l])))
            }
            #[inline(always)]
            fn lt(self, b: Self) -> $mask {
                $mask(core::array::from_fn(|l| self.0[l] < b.0[l]))
            }
            #[inline(always)]
            fn le(self, b: Self) -> $mask {
                $mask(core::array::from_fn(|l| self.0[l] <= b.0[l]))
            }
            #[inline(always)]
            fn same(self, b: Self) -> $mask {
                $mask(core::array::from_fn(|l| self.0[l] == b.0[l]))
            }
            #[inline(always)]
            fn select(m: $mask, a: Self, b: Self) -> Self {
                Self(core::array::from_fn(|l| if m.0[l] { a.0[l] } else { b.0[l] }))
            }
        }
    };
}

array! {
    /// Four f32.
    F32x4, MaskF32x4, f32, 4, 16
}
array! {
    /// Two f64.
    F64x2, MaskF64x2, f64, 2, 16
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{F32x8, F32x16, F64x4, F64x8};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;
    use core::arch::x86_64::*;

    /// Lanes in a register, arithmetic by intrinsics.
    macro_rules! register {
        ($(#[$doc:meta])* $name:ident, $reg:ident, $one:ident, $n:literal, $set1:ident,
         $add:ident, $sub:ident, $mul:ident, $div:ident, $min:ident, $max:ident, $sqrt:ident) => {
            $(#[$doc])*
            #[derive(Clone, Copy)]
            #[repr(transparent)]
            pub(crate) struct $name($reg);

            impl Default for $name {
                #[inline(always)]
                fn default() -> Self {
                    Self::splat(0.0)
                }
            }
            impl Add for $name {
                type Output = Self;
                #[inline(always)]
                fn add(self, b: Self) -> Self {
                    // SAFETY: see the head of the file; so for every intrinsic below
                    Self(unsafe { $add(self.0, b.0) })
                }
            }
            impl Sub for $name {
                type Output = Self;
                #[inline(always)]
                fn sub(self, b: Self) -> Self {
                    Self(unsafe { $sub(self.0, b.0) })
                }
            }
            impl Mul for $name {
                type Output = Self;
                #[inline(always)]
                fn mul(self, b: Self) -> Self {
                    Self(unsafe { $mul(self.0, b.0) })
                }
            }
            impl Div for $name {
                type Output = Self;
                #[inline(always)]
                fn div(self, b: Self) -> Self {
                    Self(unsafe { $div(self.0, b.0) })
                }
            }
            impl Neg for $name {
                type Output = Self;
                #[inline(always)]
                fn neg(self) -> Self {
                    self.negated()
                }
            }
            common!($name, $one, $n);
        };
    }

    /// The rest of [`Real`], from a mask type and its operations.
    macro_rules! real {
        ($name:ident, $mask:ident, $one:ident, $n:literal, $set1:ident, $min:ident, $max:ident, $sqrt:ident) => {
            impl Real for $name {
                type Mask = $mask;
                type Int = IntLanes<$n>;
                type One = $one;
                const LANES: usize = $n;
                const TWO_FLOAT: bool = <$one as Real>::TWO_FLOAT;
                const EPSILON: f64 = <$one as Real>::EPSILON;

                #[inline(always)]
                fn r(x: f64) -> Self {
                    Self::splat($one::r(x))
                }
                #[inline(always)]
                fn splat(x: $one) -> Self {
                    Self(unsafe { $set1(x) })
                }
                #[inline(always)]
                fn lane(&self, l: usize) -> $one {
                    self.array()[l]
                }
                #[inline(always)]
                fn set_lane(&mut self, l: usize, x: $one) {
                    self.array_mut()[l] = x;
                }
                #[inline(always)]
                fn sqrt(self) -> Self {
                    Self(unsafe { $sqrt(self.0) })
                }
                #[inline(always)]
                fn abs(self) -> Self {
                    self.absolute()
                }
                #[inline(always)]
                fn min(self, b: Self) -> Self {
                    // as the scalar: the second where the comparison fails
                    Self(unsafe { $min(self.0, b.0) })
                }
                #[inline(always)]
                fn max(self, b: Self) -> Self {
                    Self(unsafe { $max(self.0, b.0) })
                }
                #[inline(always)]
                fn lt(self, b: Self) -> $mask {
                    self.less(b)
                }
                #[inline(always)]
                fn le(self, b: Self) -> $mask {
                    self.less_equal(b)
                }
                #[inline(always)]
                fn same(self, b: Self) -> $mask {
                    self.equal(b)
                }
                #[inline(always)]
                fn select(m: $mask, a: Self, b: Self) -> Self {
                    m.choose(a, b)
                }
            }
        };
    }

    /// AVX2: a mask is a register, all bits of a lane alike.
    macro_rules! avx2 {
        ($(#[$doc:meta])* $name:ident, $mask:ident, $reg:ident, $one:ident, $n:literal, $set1:ident, $add:ident, $sub:ident,
         $mul:ident, $div:ident, $min:ident, $max:ident, $sqrt:ident, $xor:ident, $and:ident, $or:ident, $andnot:ident,
         $cmp:ident, $blend:ident, $bits:ident, $ones:expr) => {
            register!($(#[$doc])* $name, $reg, $one, $n, $set1, $add, $sub, $mul, $div, $min, $max, $sqrt);
            real!($name, $mask, $one, $n, $set1, $min, $max, $sqrt);

            /// Truth a lane.
            #[derive(Clone, Copy, Debug)]
            #[repr(transparent)]
            pub(crate) struct $mask($reg);

            impl $name {
                #[inline(always)]
                fn negated(self) -> Self {
                    Self(unsafe { $xor(self.0, $set1(-0.0)) })
                }
                #[inline(always)]
                fn absolute(self) -> Self {
                    Self(unsafe { $andnot($set1(-0.0), self.0) })
                }
                #[inline(always)]
                fn less(self, b: Self) -> $mask {
                    $mask(unsafe { $cmp::<_CMP_LT_OQ>(self.0, b.0) })
                }
                #[inline(always)]
                fn less_equal(self, b: Self) -> $mask {
                    $mask(unsafe { $cmp::<_CMP_LE_OQ>(self.0, b.0) })
                }
                #[inline(always)]
                fn equal(self, b: Self) -> $mask {
                    $mask(unsafe { $cmp::<_CMP_EQ_OQ>(self.0, b.0) })
                }
            }
            impl $mask {
                #[inline(always)]
                fn choose(self, a: $name, b: $name) -> $name {
                    $name(unsafe { $blend(b.0, a.0, self.0) })
                }
            }
            impl BitAnd for $mask {
                type Output = Self;
                #[inline(always)]
                fn bitand(self, b: Self) -> Self {
                    Self(unsafe { $and(self.0, b.0) })
                }
            }
            impl BitOr for $mask {
                type Output = Self;
                #[inline(always)]
                fn bitor(self, b: Self) -> Self {
                    Self(unsafe { $or(self.0, b.0) })
                }
            }
            impl Not for $mask {
                type Output = Self;
                #[inline(always)]
                fn not(self) -> Self {
                    Self(unsafe { $xor(self.0, $set1($ones)) })
                }
            }
            impl Mask for $mask {
                #[inline(always)]
                fn splat(b: bool) -> Self {
                    Self(unsafe { $set1(if b { $ones } else { 0.0 }) })
                }
                #[inline(always)]
                fn any(self) -> bool {
                    unsafe { $bits(self.0) != 0 }
                }
                #[inline(always)]
                fn get(self, l: usize) -> bool {
                    unsafe { $bits(self.0) >> l & 1 != 0 }
                }
            }
        };
    }

    avx2! {
        /// Eight f32 in a register of AVX2.
        F32x8, MaskF32x8, __m256, f32, 8, _mm256_set1_ps, _mm256_add_ps, _mm256_sub_ps, _mm256_mul_ps, _mm256_div_ps,
        _mm256_min_ps, _mm256_max_ps, _mm256_sqrt_ps, _mm256_xor_ps, _mm256_and_ps, _mm256_or_ps, _mm256_andnot_ps,
        _mm256_cmp_ps, _mm256_blendv_ps, _mm256_movemask_ps, f32::from_bits(u32::MAX)
    }
    avx2! {
        /// Four f64 in a register of AVX2.
        F64x4, MaskF64x4, __m256d, f64, 4, _mm256_set1_pd, _mm256_add_pd, _mm256_sub_pd, _mm256_mul_pd, _mm256_div_pd,
        _mm256_min_pd, _mm256_max_pd, _mm256_sqrt_pd, _mm256_xor_pd, _mm256_and_pd, _mm256_or_pd, _mm256_andnot_pd,
        _mm256_cmp_pd, _mm256_blendv_pd, _mm256_movemask_pd, f64::from_bits(u64::MAX)
    }

    /// AVX-512: a mask is a bit a lane.
    macro_rules! avx512 {
        ($(#[$doc:meta])* $name:ident, $mask:ident, $reg:ident, $one:ident, $n:literal, $bits:ident, $set1:ident, $add:ident,
         $sub:ident, $mul:ident, $div:ident, $min:ident, $max:ident, $sqrt:ident, $xor:ident, $abs:ident, $cmp:ident,
         $blend:ident) => {
            register!($(#[$doc])* $name, $reg, $one, $n, $set1, $add, $sub, $mul, $div, $min, $max, $sqrt);
            real!($name, $mask, $one, $n, $set1, $min, $max, $sqrt);

            /// Truth a lane.
            #[derive(Clone, Copy, Debug)]
            #[repr(transparent)]
            pub(crate) struct $mask($bits);

            impl $name {
                #[inline(always)]
                fn negated(self) -> Self {
                    Self(unsafe { $xor(self.0, $set1(-0.0)) })
                }
                #[inline(always)]
                fn absolute(self) -> Self {
                    Self(unsafe { $abs(self.0) })
                }
                #[inline(always)]
                fn less(self, b: Self) -> $mask {
                    $mask(unsafe { $cmp::<_CMP_LT_OQ>(self.0, b.0) })
                }
                #[inline(always)]
                fn less_equal(self, b: Self) -> $mask {
                    $mask(unsafe { $cmp::<_CMP_LE_OQ>(self.0, b.0) })
                }
                #[inline(always)]
                fn equal(self, b: Self) -> $mask {
                    $mask(unsafe { $cmp::<_CMP_EQ_OQ>(self.0, b.0) })
                }
            }
            impl $mask {
                #[inline(always)]
                fn choose(self, a: $name, b: $name) -> $name {
                    $name(unsafe { $blend(self.0, b.0, a.0) })
                }
            }
            impl BitAnd for $mask {
                type Output = Self;
                #[inline(always)]
                fn bitand(self, b: Self) -> Self {
                    Self(self.0 & b.0)
                }
            }
            impl BitOr for $mask {
                type Output = Self;
                #[inline(always)]
                fn bitor(self, b: Self) -> Self {
                    Self(self.0 | b.0)
                }
            }
            impl Not for $mask {
                type Output = Self;
                #[inline(always)]
                fn not(self) -> Self {
                    Self(!self.0)
                }
            }
            impl Mask for $mask {
                #[inline(always)]
                fn splat(b: bool) -> Self {
                    Self(if b { $bits::MAX } else { 0 })
                }
                #[inline(always)]
                fn any(self) -> bool {
                    self.0 != 0
                }
                #[inline(always)]
                fn get(self, l: usize) -> bool {
                    self.0 >> l & 1 != 0
                }
            }
        };
    }

    avx512! {
        /// Sixteen f32 in a register of AVX-512.
        F32x16, MaskF32x16, __m512, f32, 16, __mmask16, _mm512_set1_ps, _mm512_add_ps, _mm512_sub_ps, _mm512_mul_ps,
        _mm512_div_ps, _mm512_min_ps, _mm512_max_ps, _mm512_sqrt_ps, _mm512_xor_ps, _mm512_abs_ps, _mm512_cmp_ps_mask,
        _mm512_mask_blend_ps
    }
    avx512! {
        /// Eight f64 in a register of AVX-512.
        F64x8, MaskF64x8, __m512d, f64, 8, __mmask8, _mm512_set1_pd, _mm512_add_pd, _mm512_sub_pd, _mm512_mul_pd,
        _mm512_div_pd, _mm512_min_pd, _mm512_max_pd, _mm512_sqrt_pd, _mm512_xor_pd, _mm512_abs_pd, _mm512_cmp_pd_mask,
        _mm512_mask_blend_pd
    }
}
