//! A world of a law: its variables, its overrides, and the values that its expressions see.

use crate::expr::{Expr, Names};
use crate::file::{Change, Text, Texts};
use crate::totals::Totals;
use kiloworld_layout::{Field, Model, Slice};
use std::cell::Cell;
use std::collections::BTreeMap;

/// One world as the law file asks for it.
#[derive(Debug)]
pub(crate) struct World {
    /// index of the case
    pub(crate) case: usize,
    /// index of the control; none: the law itself
    pub(crate) control: Option<usize>,
    /// the step is divided by this
    pub(crate) part: usize,
    /// variables, the last change over the earlier ones
    pub(crate) vars: BTreeMap<String, Expr>,
    /// model fields, one list a change
    pub(crate) set: Vec<BTreeMap<String, Texts>>,
    /// state fields, one list a change
    pub(crate) start: Vec<BTreeMap<String, Texts>>,
    /// options of the file, as attributes
    pub(crate) option: BTreeMap<String, String>,
}

impl World {
    /// The law, then the case, then the control.
    pub(crate) fn new(case: usize, control: Option<usize>, part: usize, changes: &[Change<'_>]) -> Self {
        let mut w = Self {
            case,
            control,
            part,
            vars: BTreeMap::new(),
            set: Vec::new(),
            start: Vec::new(),
            option: BTreeMap::new(),
        };
        for c in changes {
            w.vars.extend(c.vars.iter().map(|(k, Text(e))| (k.clone(), e.clone())));
            w.option.extend(
                c.option.iter().map(|(k, v)| (k.clone(), v.as_str().map_or_else(|| v.to_string(), str::to_owned))),
            );
            w.set.push(c.set.clone());
            w.start.push(c.start.clone());
        }
        w
    }

    /// The value of an expression that reads nothing of the batch.
    pub(crate) fn eval(&self, model: &Model<f64>, e: &Expr) -> Result<f64, String> {
        e.eval(&View::new(model, &Values::new(), &self.vars, None))
    }
}

/// Field values of one world.
pub(crate) type Values = BTreeMap<Field, Vec<f64>>;

/// What the expressions of a world see: variables, fields read from the batch, fields of the model.
pub(crate) struct View<'a> {
    pub(crate) model: &'a Model<f64>,
    /// fields of this world, read or overridden
    pub(crate) values: &'a Values,
    pub(crate) vars: &'a BTreeMap<String, Expr>,
    /// the present value of the element being set
    pub(crate) x: Option<f64>,
    /// variables that stand for each other, at present and in all
    inside: Cell<usize>,
    looked_up: Cell<usize>,
}

/// Most variables that stand for each other in a row, and in all of an expression.
const MOST_INSIDE: usize = 32;
const MOST_LOOKED_UP: usize = 10_000;

impl<'a> View<'a> {
    pub(crate) fn new(
        model: &'a Model<f64>,
        values: &'a Values,
        vars: &'a BTreeMap<String, Expr>,
        x: Option<f64>,
    ) -> Self {
        Self { model, values, vars, x, inside: Cell::new(0), looked_up: Cell::new(0) }
    }

    fn field(&self, name: &str) -> Result<(Field, &[f64]), String> {
        let field = Field::from_name(name).ok_or_else(|| format!("unknown name `{name}`"))?;
        if let Some(v) = self.values.get(&field) {
            return Ok((field, v));
        }
        match self.model.get(field) {
            Some(Slice::F(v)) => Ok((field, v)),
            _ => Err(format!("`{name}` was not read")),
        }
    }

    fn totals(&self) -> Result<Totals, String> {
        Totals::new(self.model, self.values).ok_or_else(|| "energy and momentum were not read".to_owned())
    }
}

impl Names for View<'_> {
    fn name(&self, name: &str) -> Result<Option<f64>, String> {
        if name == "x"
            && let Some(x) = self.x
        {
            return Ok(Some(x));
        }
        if let Some(e) = self.vars.get(name) {
            self.looked_up.set(self.looked_up.get() + 1);
            if self.inside.get() == MOST_INSIDE || self.looked_up.get() > MOST_LOOKED_UP {
                return Err(format!("the variable `{name}` stands for itself, or for too many others"));
            }
            self.inside.set(self.inside.get() + 1);
            let value = e.eval(self);
            self.inside.set(self.inside.get() - 1);
            return value.map(Some);
        }
        match name {
            "energy" => Ok(Some(self.totals()?.energy)),
            "pi" => Ok(None),
            _ => match self.field(name)?.1 {
                [x] => Ok(Some(*x)),
                _ => Err(format!("`{name}` is not one number: give an index")),
            },
        }
    }

    fn element(&self, name: &str, row: usize, column: Option<usize>) -> Result<f64, String> {
        let beyond = || format!("`{name}` has no element [{row}, {column:?}]");
        match name {
            "momentum" => self.totals()?.momentum.get(row).copied().ok_or_else(beyond),
            "spin" => self.totals()?.spin.get(row).copied().ok_or_else(beyond),
            _ => {
                let (field, values) = self.field(name)?;
                let info = field.info();
                let cols = info.cols(&self.model.size);
                match column {
                    Some(c) if c < cols && row < info.rows(&self.model.size) => {
                        values.get(row * cols + c).copied().ok_or_else(beyond)
                    }
                    None if cols == 1 || info.rows(&self.model.size) == 1 => {
                        values.get(row).copied().ok_or_else(beyond)
                    }
                    _ => Err(beyond()),
                }
            }
        }
    }

    /// `normal_force(geom, geom)`: the sum of the normal forces of the contacts between two geoms, N.
    fn call(&self, name: &str, args: &[f64]) -> Option<f64> {
        let ("normal_force", &[a, b]) = (name, args) else {
            return None;
        };
        let get = |f: Field| self.values.get(&f);
        let (geom, adr, force) = (get(Field::contact_geom)?, get(Field::contact_efc_address)?, get(Field::efc_force)?);
        let dim = get(Field::contact_dim)?;
        let ncon = get(Field::ncon)?[0];
        let mut sum = 0.0;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts and addresses")]
        for c in 0..ncon as usize {
            let g = (geom[2 * c], geom[2 * c + 1]);
            if (g == (a, b) || g == (b, a)) && adr[c] >= 0.0 {
                let rows = match self.model.opt.cone {
                    // every edge of a pyramid pushes along the normal
                    0 if dim[c] > 1.0 => 2 * (dim[c] as usize - 1),
                    _ => 1,
                };
                sum += force[adr[c] as usize..adr[c] as usize + rows].iter().sum::<f64>();
            }
        }
        Some(sum)
    }
}

/// A key of `set` or `start`: `field`, `field[row]`, `field[row,column]`, `*` for all.
pub(crate) struct Key {
    pub(crate) field: Field,
    row: Option<usize>,
    column: Option<usize>,
    whole: bool,
}

impl Key {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}`: expected field, field[row] or field[row,column]");
        let (name, index) = match text.split_once('[') {
            None => (text, None),
            Some((name, rest)) => (name, Some(rest.strip_suffix(']').ok_or_else(wrong)?)),
        };
        let field = Field::from_name(name).ok_or_else(|| format!("no field `{name}`"))?;
        let mut parts = index.unwrap_or("").split(',').map(str::trim);
        let mut part = || match parts.next() {
            None | Some("" | "*") => Ok(None),
            Some(n) => n.parse().map(Some).map_err(|_| wrong()),
        };
        Ok(Self { field, row: part()?, column: part()?, whole: index.is_none() })
    }
}

/// Applies one list of `set` or `start` to the values of a world.
pub(crate) fn apply(
    model: &Model<f64>,
    values: &mut Values,
    vars: &BTreeMap<String, Expr>,
    list: &BTreeMap<String, Texts>,
) -> Result<(), String> {
    for (key, value) in list {
        let k = Key::parse(key)?;
        let info = k.field.info();
        let (rows, cols) = (info.rows(&model.size), info.cols(&model.size));
        let mut v = values.get(&k.field).cloned().ok_or_else(|| format!("`{key}` cannot be set"))?;
        let eval = |e: &Expr, x: f64| e.eval(&View::new(model, values, vars, Some(x)));
        if k.row.is_some_and(|r| r >= rows) || k.column.is_some_and(|c| c >= cols) {
            return Err(format!("`{key}` is out of range: {rows} × {cols}"));
        }
        let rows = k.row.map_or(0..rows, |r| r..r + 1);
        match value {
            Texts::Row(row) if k.whole && row.len() == v.len() => {
                for (o, Text(e)) in v.iter_mut().zip(row) {
                    *o = eval(e, *o)?;
                }
            }
            Texts::Row(row) if !k.whole && row.len() == cols => {
                for r in rows {
                    for (c, Text(e)) in row.iter().enumerate() {
                        v[r * cols + c] = eval(e, v[r * cols + c])?;
                    }
                }
            }
            Texts::Row(row) => return Err(format!("`{key}` does not take {} numbers", row.len())),
            Texts::One(Text(e)) => {
                for r in rows {
                    for c in k.column.map_or(0..cols, |c| c..c + 1) {
                        v[r * cols + c] = eval(e, v[r * cols + c])?;
                    }
                }
            }
        }
        values.insert(k.field, v);
    }
    Ok(())
}
