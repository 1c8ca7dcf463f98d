//! Where each field lies in the device's buffers, and whether the buffers fit.

use crate::{Buffer, Dim, Field, FieldInfo, Sizes};
use std::collections::BTreeSet;

/// A storage buffer on the device, in the order of its binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Binding {
    /// i32, shared by all worlds
    Topo,
    /// f32, shared by all worlds
    Model,
    /// f32, per world: fields of the model that differ from world to world
    Vary,
    /// f32, per world: what persists from step to step
    State,
    /// f32, per world: smooth stages and solver
    Work,
    /// f32, per world: contacts
    Contact,
    /// f32, per world: constraint rows
    Efc,
    /// i32, per world: counts, ids, flags
    Status,
}

impl Binding {
    /// Every buffer, in order of its binding.
    pub const ALL: [Self; 8] =
        [Self::Topo, Self::Model, Self::Vary, Self::State, Self::Work, Self::Contact, Self::Efc, Self::Status];

    /// The name of the variable in WGSL.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Topo => "topo",
            Self::Model => "model",
            Self::Vary => "vary",
            Self::State => "state",
            Self::Work => "work",
            Self::Contact => "contact",
            Self::Efc => "efc",
            Self::Status => "status",
        }
    }

    /// True where all worlds share the buffer.
    pub const fn is_shared(self) -> bool {
        matches!(self, Self::Topo | Self::Model)
    }

    /// True where kernels only read.
    pub const fn is_read_only(self) -> bool {
        matches!(self, Self::Topo | Self::Model | Self::Vary)
    }

    /// True where the words are i32, false where they are f32.
    pub const fn is_int(self) -> bool {
        matches!(self, Self::Topo | Self::Status)
    }
}

/// A field's place: `offset + row * cols + col` words into the world's part of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// the buffer
    pub binding: Binding,
    /// first word
    pub offset: usize,
    /// elements
    pub rows: usize,
    /// words an element
    pub cols: usize,
}

impl Slot {
    /// Words in one world.
    pub const fn len(&self) -> usize {
        self.rows * self.cols
    }

    /// True where the model has no such element.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What a device offers, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// largest storage buffer binding
    pub binding: u64,
    /// largest buffer
    pub buffer: u64,
}

/// Why a model does not fit on a device.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LayoutError {
    /// a shared buffer, or one world's part of a per-world buffer, passes the limit
    #[error(
        "buffer `{buffer}` needs {need} bytes {per}, the device allows {limit} (largest field: `{field}`, {words} words)"
    )]
    TooLarge {
        /// the buffer
        buffer: &'static str,
        /// bytes needed
        need: u64,
        /// "a world" or "in all"
        per: &'static str,
        /// bytes allowed
        limit: u64,
        /// the largest field in the buffer
        field: &'static str,
        /// its words
        words: usize,
    },
    /// a field that cannot differ from world to world
    #[error("`{0}` cannot differ from world to world: only real fields of the model can")]
    NotAModelField(&'static str),
}

/// Offsets of all fields for one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// the model's sizes
    pub size: Sizes,
    slots: Vec<Option<Slot>>,
    words: [usize; 8],
}

impl Layout {
    /// Lays the fields out one after the other. `per_world` are fields of the model's real buffer that differ from world
    /// to world (domain randomization): they move from `model` to `vary`.
    pub fn new(size: &Sizes, per_world: &BTreeSet<Field>) -> Result<Self, LayoutError> {
        if let Some(f) = per_world.iter().find(|f| f.info().buffer != Buffer::Model) {
            return Err(LayoutError::NotAModelField(f.name()));
        }
        let mut words = [0_usize; 8];
        let slots = Field::TABLE
            .iter()
            .map(|info| {
                let binding = match info.buffer {
                    Buffer::Topo => Binding::Topo,
                    Buffer::Model if per_world.contains(&info.field) => Binding::Vary,
                    Buffer::Model => Binding::Model,
                    Buffer::State => Binding::State,
                    Buffer::Work => Binding::Work,
                    Buffer::Contact => Binding::Contact,
                    Buffer::Efc => Binding::Efc,
                    Buffer::Status => Binding::Status,
                    _ => return None,
                };
                let (rows, cols) = (info.rows(size), info.cols(size));
                let end = &mut words[binding as usize];
                // rows that are read four words at a time start at a multiple of four
                if is_padded(info) {
                    *end = end.next_multiple_of(4);
                }
                let slot = Slot { binding, offset: *end, rows, cols };
                *end += slot.len();
                Some(slot)
            })
            .collect();
        // a world starts at a multiple of 16 bytes; wgpu refuses empty buffers
        words.iter_mut().for_each(|w| *w = w.next_multiple_of(4).max(4));
        Ok(Self { size: size.clone(), slots, words })
    }

    /// A field's place; `None` for a field that stays on the host.
    pub fn slot(&self, field: Field) -> Option<Slot> {
        self.slots[field as usize]
    }

    /// Words of a buffer: in all where it is shared, else a world.
    pub fn words(&self, binding: Binding) -> usize {
        self.words[binding as usize]
    }

    /// Bytes of device memory that one more world takes.
    pub fn bytes_per_world(&self) -> u64 {
        Binding::ALL.iter().filter(|b| !b.is_shared()).map(|&b| 4 * self.words(b) as u64).sum()
    }

    /// Bytes of the buffers that all worlds share.
    pub fn bytes_shared(&self) -> u64 {
        Binding::ALL.iter().filter(|b| b.is_shared()).map(|&b| 4 * self.words(b) as u64).sum()
    }

    /// Fields in one buffer with their places, in order.
    pub fn fields(&self, binding: Binding) -> impl Iterator<Item = (Field, Slot)> + '_ {
        Field::TABLE
            .iter()
            .filter_map(|info| Some((info.field, self.slot(info.field)?)))
            .filter(move |(_, slot)| slot.binding == binding)
    }

    /// The largest number of worlds whose buffers keep within the limits: a larger batch is split into slices.
    pub fn worlds_per_slice(&self, limits: Limits) -> Result<usize, LayoutError> {
        let limit = limits.binding.min(limits.buffer);
        let mut worlds = u64::MAX;
        for binding in Binding::ALL {
            let need = 4 * self.words(binding) as u64;
            if need > limit {
                let largest = self.fields(binding).max_by_key(|(_, slot)| slot.len());
                return Err(LayoutError::TooLarge {
                    buffer: binding.name(),
                    need,
                    per: if binding.is_shared() { "in all" } else { "a world" },
                    limit,
                    field: largest.map_or("", |(f, _)| f.name()),
                    words: largest.map_or(0, |(_, slot)| slot.len()),
                });
            }
            if !binding.is_shared() {
                // words are indexed in u32 on the device
                worlds = worlds.min(limit / need).min(u64::from(u32::MAX) * 4 / need);
            }
        }
        Ok(usize::try_from(worlds).unwrap_or(usize::MAX))
    }
}

/// True for fields whose rows are padded to a multiple of four.
pub(crate) fn is_padded(info: &FieldInfo) -> bool {
    info.shape.last() == Some(&Dim::Size(crate::SizeName::nvpad))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sizes(numbers: &[usize]) -> Sizes {
        let mut s = Sizes::default();
        let all = [
            &mut s.nq,
            &mut s.nv,
            &mut s.nu,
            &mut s.na,
            &mut s.nbody,
            &mut s.njnt,
            &mut s.ngeom,
            &mut s.nsite,
            &mut s.nmocap,
            &mut s.neq,
            &mut s.ntendon,
            &mut s.nwrap,
            &mut s.npair,
            &mut s.ntree,
            &mut s.nC,
            &mut s.ncoll,
            &mut s.nlevel,
            &mut s.nconmax,
            &mut s.njmax,
        ];
        all.into_iter().zip(numbers).for_each(|(a, &n)| *a = n);
        s.nvpad = s.nv.next_multiple_of(4);
        s.nlevel1 = s.nlevel + 1;
        s
    }

    proptest! {
        #[test]
        fn fields_do_not_overlap(numbers in prop::collection::vec(0usize..40, 19), vary in prop::collection::vec(0usize..400, 0..8)) {
            let per_world = Field::TABLE.iter().enumerate()
                .filter(|(i, f)| vary.contains(i) && f.buffer == Buffer::Model).map(|(_, f)| f.field).collect();
            let size = sizes(&numbers);
            let layout = Layout::new(&size, &per_world).expect("only fields of the model");
            for binding in Binding::ALL {
                let mut end = 0;
                for (field, slot) in layout.fields(binding) {
                    prop_assert!(slot.offset >= end, "{} starts inside the field before it", field.name());
                    prop_assert_eq!(slot.len(), field.info().len(&size));
                    if is_padded(field.info()) {
                        prop_assert_eq!(slot.offset % 4, 0);
                    }
                    end = slot.offset + slot.len();
                }
                prop_assert!(end <= layout.words(binding) && layout.words(binding).is_multiple_of(4) && layout.words(binding) > 0);
            }
            for info in Field::TABLE {
                prop_assert_eq!(layout.slot(info.field).is_some(), crate::pack::on_device(info.field));
            }
        }
    }

    #[test]
    fn slices_keep_within_the_limit() {
        let layout = Layout::new(&sizes(&[7; 19]), &BTreeSet::new()).expect("no fields per world");
        let largest = Binding::ALL.iter().filter(|b| !b.is_shared()).map(|&b| layout.words(b)).max().expect("eight");
        let limits = Limits { binding: 4 * 1000 * largest as u64 + 3, buffer: 1 << 40 };
        assert_eq!(layout.worlds_per_slice(limits), Ok(1000));
        let small = Limits { binding: 4 * largest as u64 - 4, buffer: 1 << 40 };
        assert!(matches!(layout.worlds_per_slice(small), Err(LayoutError::TooLarge { .. })));
    }

    #[test]
    fn only_model_fields_can_differ() {
        let one = |f| Layout::new(&Sizes::default(), &BTreeSet::from([f]));
        assert_eq!(one(Field::qpos), Err(LayoutError::NotAModelField("qpos")));
        assert_eq!(one(Field::body_parentid), Err(LayoutError::NotAModelField("body_parentid")));
        assert!(
            one(Field::body_mass).is_ok_and(|l| l.slot(Field::body_mass).is_some_and(|s| s.binding == Binding::Vary))
        );
    }
}
