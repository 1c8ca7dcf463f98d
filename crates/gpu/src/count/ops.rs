//! Values of WGSL and what operators make of them, counting floating-point operations.

use wgpu::naga::{BinaryOperator, MathFunction, RelationalFunction, ScalarKind, TypeInner, UnaryOperator, VectorSize};

/// A value: its words, components in order, matrices column by column, structures member by member.
pub(super) type Words = Vec<u32>;

/// What a thing of some type looks like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Shape {
    Scalar,
    Vector(usize),
    Matrix { columns: usize, rows: usize },
    Other,
}

/// Kind of the components, and shape; `Uint` and `Other` for what has no arithmetic.
pub(super) fn shape(inner: &TypeInner) -> (ScalarKind, Shape) {
    match *inner {
        TypeInner::Scalar(s) | TypeInner::Atomic(s) => (s.kind, Shape::Scalar),
        TypeInner::Vector { size, scalar } => (scalar.kind, Shape::Vector(number(size))),
        TypeInner::Matrix { columns, rows, scalar } => {
            (scalar.kind, Shape::Matrix { columns: number(columns), rows: number(rows) })
        }
        _ => (ScalarKind::Uint, Shape::Other),
    }
}

pub(super) fn number(size: VectorSize) -> usize {
    size as u8 as usize
}

fn float(word: u32) -> f32 {
    f32::from_bits(word)
}

fn signed(word: u32) -> i32 {
    word.cast_signed()
}

pub(super) fn unary(op: UnaryOperator, kind: ScalarKind, x: &[u32]) -> Words {
    let one = |&w: &u32| match (op, kind) {
        (UnaryOperator::Negate, ScalarKind::Float) => (-float(w)).to_bits(),
        (UnaryOperator::Negate, _) => w.wrapping_neg(),
        (UnaryOperator::LogicalNot, _) => u32::from(w == 0),
        (UnaryOperator::BitwiseNot, _) => !w,
    };
    x.iter().map(one).collect()
}

/// An operand: shape and words.
pub(super) type Operand<'a> = (Shape, &'a [u32]);

/// `left op right`, and the floating-point operations that it takes.
pub(super) fn binary(
    op: BinaryOperator,
    kind: ScalarKind,
    (ls, l): Operand<'_>,
    (rs, r): Operand<'_>,
) -> Result<(Words, u64), String> {
    if op == BinaryOperator::Multiply
        && let Some(out) = product((ls, l), (rs, r))
    {
        return Ok(out);
    }
    let n = l.len().max(r.len());
    let at = |x: &[u32], k: usize| if x.len() == 1 { x[0] } else { x[k] };
    let mut out = Vec::with_capacity(n);
    for k in 0..n {
        out.push(scalar(op, kind, at(l, k), at(r, k))?);
    }
    use BinaryOperator as B;
    let counts = kind == ScalarKind::Float && matches!(op, B::Add | B::Subtract | B::Multiply | B::Divide);
    Ok((out, if counts { n as u64 } else { 0 }))
}

/// Products with a matrix that are not component by component.
fn product((ls, l): Operand<'_>, (rs, r): Operand<'_>) -> Option<(Words, u64)> {
    // (rows, inner, columns)
    let (rows, inner, columns) = match (ls, rs) {
        (Shape::Matrix { columns, rows }, Shape::Vector(n)) if n == columns => (rows, columns, 1),
        (Shape::Vector(n), Shape::Matrix { columns, rows }) if n == rows => (1, rows, columns),
        (Shape::Matrix { columns, rows }, Shape::Matrix { columns: c, rows: r }) if columns == r => (rows, columns, c),
        _ => return None,
    };
    let mut out = Vec::with_capacity(rows * columns);
    for j in 0..columns {
        for i in 0..rows {
            let terms = (0..inner).map(|k| float(l[k * rows + i]) * float(r[j * inner + k]));
            out.push(terms.reduce(|a, b| a + b).unwrap_or(0.0).to_bits());
        }
    }
    Some((out, (rows * columns * (2 * inner - 1)) as u64))
}

fn scalar(op: BinaryOperator, kind: ScalarKind, l: u32, r: u32) -> Result<u32, String> {
    use BinaryOperator as B;
    let by_order = |order: Option<core::cmp::Ordering>| {
        u32::from(match op {
            B::Equal => order.is_some_and(core::cmp::Ordering::is_eq),
            B::NotEqual => !order.is_some_and(core::cmp::Ordering::is_eq),
            B::Less => order.is_some_and(core::cmp::Ordering::is_lt),
            B::LessEqual => order.is_some_and(core::cmp::Ordering::is_le),
            B::Greater => order.is_some_and(core::cmp::Ordering::is_gt),
            _ => order.is_some_and(core::cmp::Ordering::is_ge),
        })
    };
    let compares = matches!(op, B::Equal | B::NotEqual | B::Less | B::LessEqual | B::Greater | B::GreaterEqual);
    let (a, b) = (float(l), float(r));
    Ok(match (kind, op) {
        (ScalarKind::Float, _) if compares => by_order(a.partial_cmp(&b)),
        (ScalarKind::Sint, _) if compares => by_order(Some(signed(l).cmp(&signed(r)))),
        _ if compares => by_order(Some(l.cmp(&r))),
        (ScalarKind::Float, B::Add) => (a + b).to_bits(),
        (ScalarKind::Float, B::Subtract) => (a - b).to_bits(),
        (ScalarKind::Float, B::Multiply) => (a * b).to_bits(),
        (ScalarKind::Float, B::Divide) => (a / b).to_bits(),
        (_, B::Add) => l.wrapping_add(r),
        (_, B::Subtract) => l.wrapping_sub(r),
        (_, B::Multiply) => l.wrapping_mul(r),
        // WGSL: division by 0 gives the dividend, and no remainder
        (ScalarKind::Sint, B::Divide) if r != 0 => signed(l).wrapping_div(signed(r)).cast_unsigned(),
        (ScalarKind::Sint, B::Modulo) if r != 0 => signed(l).wrapping_rem(signed(r)).cast_unsigned(),
        (ScalarKind::Uint, B::Divide) => l.checked_div(r).unwrap_or(l),
        (ScalarKind::Uint, B::Modulo) => l.checked_rem(r).unwrap_or(0),
        (_, B::And | B::LogicalAnd) => l & r,
        (_, B::InclusiveOr | B::LogicalOr) => l | r,
        (_, B::ExclusiveOr) => l ^ r,
        (_, B::ShiftLeft) => l.wrapping_shl(r),
        (ScalarKind::Sint, B::ShiftRight) => signed(l).wrapping_shr(r).cast_unsigned(),
        (_, B::ShiftRight) => l.wrapping_shr(r),
        (ScalarKind::Sint, B::Divide) => l,
        (ScalarKind::Sint, B::Modulo) => 0,
        _ => return Err(format!("{op:?} of {kind:?}")),
    })
}

pub(super) fn relational(fun: RelationalFunction, x: &[u32]) -> Result<Words, String> {
    let one = match fun {
        RelationalFunction::All => x.iter().all(|&w| w != 0),
        RelationalFunction::Any => x.iter().any(|&w| w != 0),
        _ => return Err(format!("{fun:?}")),
    };
    Ok(vec![u32::from(one)])
}

/// `convert`: by value, else by bits.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "WGSL's")]
pub(super) fn cast(from: ScalarKind, to: ScalarKind, convert: bool, x: &[u32]) -> Words {
    use ScalarKind::{Bool, Float, Sint, Uint};
    let one = |&w: &u32| match (from, to) {
        _ if !convert || from == to => w,
        (Float, Sint) => (float(w) as i32).cast_unsigned(),
        (Float, Uint) => float(w) as u32,
        (Sint, Float) => (signed(w) as f32).to_bits(),
        (Uint, Float) => (w as f32).to_bits(),
        (Bool, Float) => (w as f32).to_bits(),
        (Float, Bool) => u32::from(float(w) != 0.0),
        (_, Bool) => u32::from(w != 0),
        _ => w,
    };
    x.iter().map(one).collect()
}

/// A function of WGSL, and the floating-point operations that it takes: 1 a root, power or exponential, none for what only
/// compares or moves.
pub(super) fn math(fun: MathFunction, kind: ScalarKind, shape: Shape, args: &[&[u32]]) -> Result<(Words, u64), String> {
    use MathFunction as F;
    let n = args[0].len();
    let of = |a: usize, k: usize| if args[a].len() == 1 { args[a][0] } else { args[a][k] };
    let floats = |f: &dyn Fn(usize) -> f32, flops: u64| {
        Ok(((0..n).map(|k| f(k).to_bits()).collect::<Words>(), flops * n as u64))
    };
    let words = |f: &dyn Fn(usize) -> u32| Ok(((0..n).map(f).collect::<Words>(), 0));
    let x = |a: usize, k: usize| float(of(a, k));
    match (fun, kind) {
        // of 0 it is 0, of no number too
        (F::Sign, ScalarKind::Float) => {
            floats(&|k| f32::from(u8::from(x(0, k) > 0.0)) - f32::from(u8::from(x(0, k) < 0.0)), 0)
        }
        (F::Abs, ScalarKind::Float) => floats(&|k| x(0, k).abs(), 0),
        (F::Min, ScalarKind::Float) => floats(&|k| x(0, k).min(x(1, k)), 0),
        (F::Max, ScalarKind::Float) => floats(&|k| x(0, k).max(x(1, k)), 0),
        (F::Clamp, ScalarKind::Float) => floats(&|k| x(0, k).max(x(1, k)).min(x(2, k)), 0),
        (F::Round, _) => floats(&|k| x(0, k).round_ties_even(), 0),
        (F::Floor, _) => floats(&|k| x(0, k).floor(), 1),
        (F::Sqrt, _) => floats(&|k| x(0, k).sqrt(), 1),
        (F::InverseSqrt, _) => floats(&|k| 1.0 / x(0, k).sqrt(), 1),
        (F::Exp, _) => floats(&|k| x(0, k).exp(), 1),
        (F::Pow, _) => floats(&|k| x(0, k).powf(x(1, k)), 1),
        (F::Min, ScalarKind::Sint) => words(&|k| signed(of(0, k)).min(signed(of(1, k))).cast_unsigned()),
        (F::Max, ScalarKind::Sint) => words(&|k| signed(of(0, k)).max(signed(of(1, k))).cast_unsigned()),
        (F::Clamp, ScalarKind::Sint) => {
            words(&|k| signed(of(0, k)).max(signed(of(1, k))).min(signed(of(2, k))).cast_unsigned())
        }
        (F::Abs, ScalarKind::Sint) => words(&|k| signed(of(0, k)).wrapping_abs().cast_unsigned()),
        (F::Min, _) => words(&|k| of(0, k).min(of(1, k))),
        (F::Max, _) => words(&|k| of(0, k).max(of(1, k))),
        (F::Clamp, _) => words(&|k| of(0, k).max(of(1, k)).min(of(2, k))),
        (F::CountOneBits, _) => words(&|k| of(0, k).count_ones()),
        (F::CountTrailingZeros, _) => words(&|k| of(0, k).trailing_zeros()),
        (F::Dot, ScalarKind::Float) => {
            let sum = (0..n).map(|k| x(0, k) * x(1, k)).reduce(|a, b| a + b).unwrap_or(0.0);
            Ok((vec![sum.to_bits()], 2 * n as u64 - 1))
        }
        (F::Length, ScalarKind::Float) => {
            let sum = (0..n).map(|k| x(0, k) * x(0, k)).reduce(|a, b| a + b).unwrap_or(0.0);
            Ok((vec![sum.sqrt().to_bits()], 2 * n as u64))
        }
        (F::Cross, _) => {
            let at = |i: usize, j: usize| x(0, i) * x(1, j) - x(0, j) * x(1, i);
            Ok(([at(1, 2), at(2, 0), at(0, 1)].map(f32::to_bits).to_vec(), 9))
        }
        (F::Transpose, _) => match shape {
            Shape::Matrix { columns, rows } => {
                Ok(((0..n).map(|k| of(0, (k % columns) * rows + k / columns)).collect(), 0))
            }
            _ => Err("transpose".to_owned()),
        },
        _ => Err(format!("{fun:?} of {kind:?}")),
    }
}
