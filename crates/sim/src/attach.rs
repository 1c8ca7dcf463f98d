//! Attaching at run time: equality constraints on and off world by world, and the capture of the pose that bodies have now.

use crate::batch::Batch;
use crate::{BatchBuilder, Error};
use kiloworld_layout::consts::{eq, obj};
use kiloworld_layout::{Data, Field, Sizes, SliceMut};
use kiloworld_model::Kind;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Fields of the model that decide where bodies are.
const POSED: [Field; 5] = [Field::body_pos, Field::body_quat, Field::jnt_pos, Field::jnt_axis, Field::qpos0];

impl BatchBuilder<'_> {
    /// Lets connects and welds hold each world's own pose: see [`Batch::capture`]. The same as `per_world(Field::eq_data)`.
    pub fn attachable(self) -> Self {
        self.per_world(Field::eq_data)
    }
}

/// Rows that were captured, by world and equality: what they were before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Captured(BTreeMap<usize, BTreeMap<usize, [f64; 12]>>);

impl Captured {
    fn note(&mut self, equality: usize, worlds: &[usize], data: &[f64]) {
        for (&w, row) in worlds.iter().zip(data.chunks(data.len() / worlds.len())) {
            let mut before = [0.0; 12];
            before.copy_from_slice(&row[12 * equality..12 * (equality + 1)]);
            // a second capture does not change where the world started
            self.0.entry(w).or_default().entry(equality).or_insert(before);
        }
    }

    /// Takes out the rows of worlds.
    pub(crate) fn forget(&mut self, worlds: &[usize]) -> Vec<(usize, BTreeMap<usize, [f64; 12]>)> {
        if self.0.is_empty() {
            return Vec::new();
        }
        worlds.iter().filter_map(|w| self.0.remove_entry(w)).collect()
    }
}

impl Batch {
    /// Switches an equality constraint on or off in some worlds; what it holds stays as it is.
    pub fn activate(&mut self, equality: usize, worlds: &[usize], on: bool) -> Result<(), Error> {
        let neq = self.equality(equality)?;
        let mut rows = self.forward(worlds, &[Field::eq_active])?.remove(0);
        rows.chunks_mut(neq).for_each(|row| row[equality] = f64::from(u8::from(on)));
        self.set_rows(Field::eq_active, worlds, &rows)
    }

    /// "Grasp this now": makes a connect or weld between two bodies hold them as they are in each of the given worlds, and switches
    /// it on. A weld takes the present pose of its anchor in the first body, a connect its second anchor from the first; the
    /// residual is zero now. A reset puts the row back to what it was. Computed in f64 from the worlds' coordinates whatever the backend, so the same everywhere.
    ///
    /// # Errors
    /// The batch is not [`attachable`](BatchBuilder::attachable); the constraint is not one between bodies, or its bodies cannot
    /// move against each other.
    pub fn capture(&mut self, equality: usize, worlds: &[usize]) -> Result<(), Error> {
        let neq = self.equality(equality)?;
        self.capturable(equality)?;
        let worlds = self.ids(Some(worlds))?;
        if worlds.is_empty() {
            return Ok(());
        }
        let own: Vec<Field> = POSED.into_iter().filter(|f| self.per_world.contains(f)).collect();
        let fields: Vec<Field> = [Field::qpos, Field::mocap_pos, Field::mocap_quat].into_iter().chain(own).collect();
        let values = self.forward(&worlds, &fields)?;
        let mut data = self.forward(&worlds, &[Field::eq_data])?.remove(0);
        let before = data.clone();
        // a copy is made only where worlds differ in it
        let mut m = Cow::Borrowed(&self.m);
        // room for bodies, not for contacts and rows
        let size = Sizes { nconmax: 0, njmax: 0, njdual: 0, ..m.size.clone() };
        let mut d: Data<f64> = Data::new(&size, &0.0);
        for (k, row) in data.chunks_mut(12 * neq).enumerate() {
            for (field, all) in fields.iter().zip(&values) {
                let n = all.len() / worlds.len();
                let from = &all[k * n..(k + 1) * n];
                let to = if field.info().is_model() { m.to_mut().get_mut(*field) } else { d.get_mut(*field) };
                if let Some(SliceMut::F(to)) = to {
                    to.copy_from_slice(from);
                }
            }
            kiloworld_cpu::kinematics::kinematics(&m, &mut d);
            kiloworld_model::capture(&m, &d, equality, &mut row[12 * equality..12 * (equality + 1)]);
        }
        self.captured.note(equality, &worlds, &before);
        self.put_model(Field::eq_data, &worlds, &data)?;
        self.activate(equality, &worlds, true)
    }

    /// Gives worlds that are reset the rows that they had before they captured.
    pub(crate) fn uncapture(&mut self, worlds: &[usize]) -> Result<(), Error> {
        let rows = self.captured.forget(worlds);
        if rows.is_empty() {
            return Ok(());
        }
        let ids: Vec<usize> = rows.iter().map(|r| r.0).collect();
        let mut data = self.forward(&ids, &[Field::eq_data])?.remove(0);
        for (data, (_, rows)) in data.chunks_mut(12 * self.m.size.neq).zip(&rows) {
            rows.iter().for_each(|(e, row)| data[12 * e..12 * (e + 1)].copy_from_slice(row));
        }
        self.put_model(Field::eq_data, &ids, &data)
    }

    fn equality(&self, id: usize) -> Result<usize, Error> {
        let neq = self.m.size.neq;
        if id < neq { Ok(neq) } else { Err(Error::Equality { id, neq }) }
    }

    fn capturable(&self, e: usize) -> Result<(), Error> {
        let m = &self.m;
        let name = self.names().of(Kind::Equality).name(e).map_or_else(|| e.to_string(), |n| format!("{e} (`{n}`)"));
        let refuse = |what: &'static str, remedy| Err(Error::Capture { name: name.clone(), what, remedy });
        if !matches!(m.eq_type[e], eq::CONNECT | eq::WELD) {
            return refuse("ties joints or tendons, which have no pose", "capture a weld or a connect");
        }
        if m.eq_objtype[e] == obj::SITE {
            return refuse("is defined by sites, whose places are the model's", "define it by body1 and body2");
        }
        let [b1, b2] = [m.eq_obj1id[e], m.eq_obj2id[e]].map(|b| usize::try_from(b).unwrap_or(0));
        if b1 == b2 || m.body_weldid[b1] == m.body_weldid[b2] {
            return refuse(
                "is between bodies that cannot move against each other",
                "name two bodies with a joint between them",
            );
        }
        if !self.per_world.contains(&Field::eq_data) {
            return refuse("has one pose for all worlds", "make the batch with `attachable()`");
        }
        Ok(())
    }
}
