//! Host arrays to device words and back; two-float positions split and joined.

use crate::consts::jnt;
use crate::offsets::{Binding, Layout};
use crate::{Buffer, Data, Field, Model, Slice, SliceMut};

/// Fields whose low parts live in a field of their own.
const SPLIT: [(Field, Field); 3] =
    [(Field::qpos, Field::qpos_lo), (Field::xpos, Field::xpos_lo), (Field::int_qpos, Field::int_qpos_lo)];

/// The words of a buffer that all worlds share; `vary`: one world's words as the model has them.
pub fn pack_model(m: &Model<f32>, layout: &Layout, binding: Binding) -> Vec<u32> {
    let mut words = vec![0; layout.words(binding)];
    for (field, slot) in layout.fields(binding) {
        if let Some(values) = m.get(field) {
            put(values, &mut words[slot.offset..slot.offset + slot.len()]);
            // a limit that is none is far away instead: shader compilers may take every number to be finite
            if let Slice::F(v) = values {
                let infinite = words[slot.offset..].iter_mut().zip(v).filter(|(_, v)| v.is_infinite());
                infinite.for_each(|(w, v)| *w = f32::MAX.copysign(*v).to_bits());
            }
        }
    }
    words
}

/// One world's words of a per-world buffer, written over `words`.
pub fn pack_world(d: &Data<f32>, layout: &Layout, binding: Binding, words: &mut [u32]) {
    for (field, slot) in layout.fields(binding) {
        if let Some(values) = d.get(field) {
            put(values, &mut words[slot.offset..slot.offset + slot.len()]);
        }
    }
}

/// The inverse of [`pack_world`].
pub fn unpack_world(words: &[u32], layout: &Layout, binding: Binding, d: &mut Data<f32>) {
    for (field, slot) in layout.fields(binding) {
        let words = &words[slot.offset..slot.offset + slot.len()];
        match d.get_mut(field) {
            Some(SliceMut::I(v)) => v.iter_mut().zip(words).for_each(|(v, &w)| *v = w.cast_signed()),
            Some(SliceMut::F(v)) => v.iter_mut().zip(words).for_each(|(v, &w)| *v = f32::from_bits(w)),
            None => {}
        }
    }
}

/// Copies what fits: a field that its owner left empty packs as zeros.
fn put(values: Slice<'_, f32>, words: &mut [u32]) {
    match values {
        Slice::I(v) => words.iter_mut().zip(v).for_each(|(w, v)| *w = v.cast_unsigned()),
        Slice::F(v) => words.iter_mut().zip(v).for_each(|(w, v)| *w = v.to_bits()),
    }
}

/// True for the coordinates that have a low part: positions of free and slide joints.
pub fn has_low_part<T>(m: &Model<T>) -> Vec<bool> {
    let mut low = vec![false; m.size.nq];
    for (&ty, &adr) in m.jnt_type.iter().zip(&m.jnt_qposadr) {
        let n = match ty {
            jnt::FREE => 3,
            jnt::SLIDE => 1,
            _ => 0,
        };
        let adr = usize::try_from(adr).unwrap_or(usize::MAX);
        low.iter_mut().skip(adr).take(n).for_each(|l| *l = true);
    }
    low
}

impl Data<f64> {
    /// The world in f32; positions keep what f32 cannot hold in their low parts.
    #[allow(clippy::cast_possible_truncation, reason = "rounding to f32 is what is wanted")]
    pub fn split<T>(&self, m: &Model<T>) -> Data<f32> {
        let mut out = Data::new(&m.size, &0.0_f32);
        for info in Field::TABLE.iter().filter(|f| !f.is_model()) {
            match (self.get(info.field), out.get_mut(info.field)) {
                (Some(Slice::I(a)), Some(SliceMut::I(b))) => *b = a.to_vec(),
                (Some(Slice::F(a)), Some(SliceMut::F(b))) => *b = a.iter().map(|&x| x as f32).collect(),
                _ => unreachable!("the table gives a field one kind"),
            }
        }
        let low = has_low_part(m);
        for (high, lo) in SPLIT {
            let (Some(Slice::F(x)), Some(Slice::F(x_lo))) = (self.get(high), self.get(lo)) else { continue };
            let Some(SliceMut::F(out_lo)) = out.get_mut(lo) else { continue };
            for (i, ((o, &x), &l)) in out_lo.iter_mut().zip(x).zip(x_lo).enumerate() {
                let keep = high == Field::xpos || low.get(i).copied().unwrap_or(false);
                *o = if keep { (x - f64::from(x as f32) + l) as f32 } else { 0.0 };
            }
        }
        out
    }
}

impl Data<f32> {
    /// The world in f64: positions are the sums of their parts, low parts are 0.
    pub fn join<T>(&self, m: &Model<T>) -> Data<f64> {
        let mut out = Data::new(&m.size, &0.0_f64);
        for info in Field::TABLE.iter().filter(|f| !f.is_model()) {
            match (self.get(info.field), out.get_mut(info.field)) {
                (Some(Slice::I(a)), Some(SliceMut::I(b))) => *b = a.to_vec(),
                (Some(Slice::F(a)), Some(SliceMut::F(b))) => *b = a.iter().map(|&x| f64::from(x)).collect(),
                _ => unreachable!("the table gives a field one kind"),
            }
        }
        for (high, lo) in SPLIT {
            let Some(SliceMut::F(l)) = out.get_mut(lo) else { continue };
            let l = core::mem::replace(l, vec![0.0; l.len()]);
            if let Some(SliceMut::F(h)) = out.get_mut(high) {
                h.iter_mut().zip(l).for_each(|(h, l)| *h += l);
            }
        }
        out
    }
}

/// True for fields that a device's buffers hold.
pub fn on_device(field: Field) -> bool {
    matches!(
        field.info().buffer,
        Buffer::Topo | Buffer::Model | Buffer::State | Buffer::Work | Buffer::Contact | Buffer::Efc | Buffer::Status
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sizes;
    use std::collections::BTreeSet;

    fn size() -> Sizes {
        Sizes { nq: 9, nv: 7, nvpad: 8, nbody: 3, njnt: 3, neq: 1, nconmax: 2, njmax: 5, ..Sizes::default() }
    }

    #[test]
    fn a_world_survives_the_words() {
        let size = size();
        let layout = Layout::new(&size, &BTreeSet::new()).expect("nothing per world");
        let mut d = Data::new(&size, &0.0_f32);
        let mut n = 0_u16;
        for info in Field::TABLE.iter().filter(|f| !f.is_model() && on_device(f.field)) {
            match d.get_mut(info.field) {
                Some(SliceMut::I(v)) => v.iter_mut().for_each(|x| {
                    n += 1;
                    *x = -i32::from(n);
                }),
                Some(SliceMut::F(v)) => v.iter_mut().for_each(|x| {
                    n += 1;
                    *x = f32::from(n);
                }),
                None => {}
            }
        }
        let mut back = Data::new(&size, &0.0_f32);
        for binding in Binding::ALL.into_iter().filter(|b| !b.is_shared()) {
            let mut words = vec![0; layout.words(binding)];
            pack_world(&d, &layout, binding, &mut words);
            unpack_world(&words, &layout, binding, &mut back);
        }
        assert_eq!(d, back);
    }

    #[test]
    fn positions_keep_their_low_parts() {
        let size = size();
        let m = Model::<f64> {
            size: size.clone(),
            jnt_type: vec![jnt::FREE, jnt::SLIDE, jnt::HINGE],
            jnt_qposadr: vec![0, 7, 8],
            ..Model::default()
        };
        let mut d = Data::new(&size, &0.0_f64);
        d.qpos = (0..9).map(|i| 0.1 + f64::from(i)).collect();
        let back = d.split(&m).join(&m);
        for (i, low) in has_low_part(&m).into_iter().enumerate() {
            let error = (back.qpos[i] - d.qpos[i]).abs();
            assert_eq!(error < 1e-13, low, "coordinate {i}: {error}");
        }
        assert_eq!(back.qpos_lo, vec![0.0; 9]);
    }
}
