//! Reads the goldens that `tests/golden/make.py` writes.

use kiloworld_layout::{Data, Field, Model, Opt, Sizes, SliceMut};
use kiloworld_sim::npz::{self, Values};
use std::collections::BTreeMap;
use std::path::Path;

/// An array of a golden file.
#[derive(Clone, Debug)]
pub struct Array {
    /// shape
    pub shape: Vec<usize>,
    /// values, row-major; integers as f64
    pub data: Vec<f64>,
}

impl Array {
    /// Row `i` of the first dimension.
    pub fn row(&self, i: usize) -> &[f64] {
        let n = self.shape[1..].iter().product::<usize>();
        &self.data[i * n..(i + 1) * n]
    }
}

/// A golden file: every key with its array.
pub struct Golden {
    /// arrays by key, such as `out/xpos`
    pub arrays: BTreeMap<String, Array>,
}

impl Golden {
    /// Reads a golden file.
    pub fn read(path: &Path) -> Self {
        let fail = |e: &dyn core::fmt::Display| -> ! { panic!("{}: {e}", path.display()) };
        let bytes = std::fs::read(path).unwrap_or_else(|e| fail(&e));
        let arrays = npz::read(&bytes).unwrap_or_else(|e| fail(&e));
        let reals = |(name, npz::Array { shape, values }): (String, npz::Array)| {
            let data = match values {
                Values::F64(v) => v,
                Values::I32(v) => v.into_iter().map(f64::from).collect(),
                other => panic!("{name}: {other:?} is neither f64 nor i32"),
            };
            (name, Array { shape, data })
        };
        let arrays = arrays.into_iter().map(reals).collect();
        Self { arrays }
    }

    /// Reads a golden file that holds compiled fields only.
    pub fn read_fields(path: &Path) -> Self {
        #[derive(serde::Deserialize)]
        struct Row {
            shape: Vec<usize>,
            data: Vec<f64>,
        }
        let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let rows: BTreeMap<String, Row> =
            serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Self { arrays: rows.into_iter().map(|(k, r)| (k, Array { shape: r.shape, data: r.data })).collect() }
    }

    /// Reads a golden that every checkout has.
    pub fn named(name: &str) -> Self {
        Self::read(&Self::path(name).unwrap_or_else(|| panic!("no golden {name}: run `cargo xtask test`")))
    }

    /// Reads a golden that a checkout may lack; the calling test leaves it out where it does.
    pub fn find(name: &str) -> Option<Self> {
        let path = Self::path(name);
        if path.is_none() {
            crate::left_out::left_out(&format!("no golden of {name} (`cargo xtask test` makes it)"));
        }
        path.map(|p| Self::read(&p))
    }

    /// Where a golden is: in `tests/golden`, in the folder that `KILOWORLD_GOLDEN` names, or in `target/golden`, where
    /// `cargo xtask test` makes those of other people's models. `None` where it is not.
    pub fn path(name: &str) -> Option<std::path::PathBuf> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let given = std::env::var_os("KILOWORLD_GOLDEN");
        let dirs =
            [Some(here.join("golden")), given.map(std::path::PathBuf::from), Some(here.join("../target/golden"))];
        dirs.into_iter().flatten().map(|d| d.join(format!("{name}.npz"))).find(|p| p.exists())
    }

    /// The array of a key; panics with the key's name where there is none.
    pub fn get(&self, key: &str) -> &Array {
        self.arrays.get(key).unwrap_or_else(|| panic!("no {key} in the golden file"))
    }

    fn scalar(&self, key: &str) -> f64 {
        self.get(key).data[0]
    }

    /// Number of states.
    pub fn nstate(&self) -> usize {
        self.get("state/qpos").shape[0]
    }

    /// The compiled model as MuJoCo has it, without the tables that only kiloworld has; capacities from the largest counts
    /// of the file.
    pub fn model(&self) -> Model<f64> {
        let int = |key: &str| self.scalar(&format!("model/{key}")) as usize;
        let mut size = Sizes {
            nq: int("nq"),
            nv: int("nv"),
            nvpad: int("nv").next_multiple_of(4),
            nu: int("nu"),
            na: int("na"),
            nbody: int("nbody"),
            njnt: int("njnt"),
            ngeom: int("ngeom"),
            nsite: int("nsite"),
            nmocap: int("nmocap"),
            neq: int("neq"),
            ntendon: int("ntendon"),
            nwrap: int("nwrap"),
            npair: int("npair"),
            nexclude: int("nexclude"),
            nkey: int("nkey"),
            ntree: int("ntree"),
            nC: int("nC"),
            ..Sizes::default()
        };
        let largest = |key: &str| self.get(key).data.iter().fold(0.0_f64, |a, &b| a.max(b)) as usize;
        size.nconmax = largest("out/ncon") + 8;
        size.njmax = largest("out/nefc") + 16;
        if int("opt_solver") == 0 || int("opt_noslip_iterations") > 0 {
            size.njdual = size.njmax;
        }
        let opt_int = |key: &str| self.scalar(&format!("model/opt_{key}")) as i32;
        let opt = Opt {
            integrator: opt_int("integrator"),
            cone: opt_int("cone"),
            jacobian: opt_int("jacobian"),
            solver: opt_int("solver"),
            iterations: opt_int("iterations"),
            ls_iterations: opt_int("ls_iterations"),
            noslip_iterations: opt_int("noslip_iterations"),
            ccd_iterations: opt_int("ccd_iterations"),
            disableflags: opt_int("disableflags"),
            enableflags: opt_int("enableflags"),
            disableactuator: opt_int("disableactuator"),
            world_ncon: usize::MAX,
            world_nefc: usize::MAX,
        };
        let mut m = Model { size, opt, ..Model::default() };
        for info in Field::TABLE.iter().filter(|f| f.is_model()) {
            let Some(array) = self.arrays.get(&format!("model/{}", info.name)) else { continue };
            match m.get_mut(info.field) {
                Some(SliceMut::I(v)) => *v = array.data.iter().map(|&x| x as i32).collect(),
                Some(SliceMut::F(v)) => v.clone_from(&array.data),
                None => unreachable!("a model field"),
            }
        }
        m.health_limit = kiloworld_layout::consts::HEALTH_LIMITS.to_vec();
        kiloworld_model::derived::fill(&mut m).expect("few pairs");
        // MuJoCo's rows keep what rounding leaves of dofs that move both bodies
        m.size.njrow = m.size.nv;
        m
    }

    /// A world at state `k`: the inputs of a forward pass; the rest is 0.
    pub fn world(&self, m: &Model<f64>, k: usize) -> Data<f64> {
        let mut d = Data::new(&m.size, &0.0);
        for (key, array) in self.arrays.iter().filter_map(|(k, a)| Some((k.strip_prefix("state/")?, a))) {
            set(&mut d, key, array.row(k));
        }
        d
    }

    /// The rows of state `k` in an array that holds the contacts or constraint rows of all states one after the other.
    pub fn ragged(&self, key: &str, count: &str, k: usize) -> &[f64] {
        let counts = &self.get(count).data;
        let start: usize = counts[..k].iter().map(|&n| n as usize).sum();
        let array = self.get(key);
        let cols = array.shape[1..].iter().product::<usize>().max(1);
        &array.data[start * cols..(start + counts[k] as usize) * cols]
    }

    /// Sets `efc_J_rownnz`, `efc_J_colind` and `efc_Jc`: the rows of one object share the union of their nonzeros.
    fn load_sparsity(&self, m: &Model<f64>, d: &mut Data<f64>, k: usize) {
        let (nv, nvpad) = (m.size.nv, m.size.nvpad);
        let (types, ids) = (self.ragged("out/efc_type", "out/nefc", k), self.ragged("out/efc_id", "out/nefc", k));
        let mut start = 0;
        while start < types.len() {
            let same = |e: &usize| types[*e] == types[start] && ids[*e] == ids[start];
            let rows = start..(start..types.len()).take_while(same).count() + start;
            let used = |j: &usize| rows.clone().any(|e| d.efc_J[e * nvpad + j] != 0.0);
            let mut list: Vec<i32> = (0..nv).filter(used).map(|j| j as i32).collect();
            let nnz = list.len() as i32;
            list.resize(nv, -1);
            for e in rows.clone() {
                d.efc_J_rownnz[e] = nnz;
                d.efc_J_colind[e * nv..(e + 1) * nv].copy_from_slice(&list);
            }
            start = rows.end;
        }
        compact_rows(m, d);
    }

    /// Sets a world's field from the outputs of state `k`: so that a stage can start from MuJoCo's own inputs.
    /// `efc_J` brings its sparsity (`efc_J_rownnz`, `efc_J_colind`) with it.
    pub fn load(&self, m: &Model<f64>, d: &mut Data<f64>, field: Field, k: usize) {
        let name = field.name();
        let key = format!("out/{name}");
        if name == "efc_J" {
            let rows = self.ragged(&key, "out/nefc", k);
            for (r, row) in rows.chunks(m.size.nv.max(1)).enumerate() {
                d.efc_J[r * m.size.nvpad..][..row.len()].copy_from_slice(row);
            }
            self.load_sparsity(m, d, k);
        } else if name.starts_with("efc_") {
            set(d, name, self.ragged(&key, "out/nefc", k));
        } else if name.starts_with("contact_") {
            set(d, name, self.ragged(&key, "out/ncon", k));
        } else if self.get(&key).shape.len() == 1 {
            set(d, name, &[self.get(&key).data[k]]);
        } else {
            set(d, name, self.get(&key).row(k));
        }
    }
}

/// Copies the nonzeros of `efc_J` to where the stages on the CPU read them.
pub fn compact_rows(m: &Model<f64>, d: &mut Data<f64>) {
    let (nv, nvpad) = (m.size.nv, m.size.nvpad);
    for e in 0..m.size.njmax {
        for n in 0..d.efc_J_rownnz[e].max(0) as usize {
            d.efc_Jc[e * nv + n] = d.efc_J[e * nvpad + d.efc_J_colind[e * nv + n] as usize];
        }
    }
}

fn set(d: &mut Data<f64>, name: &str, values: &[f64]) {
    // one world's counts are those of its register
    match name {
        "ncon" => d.slot_ncon[0] = values[0] as i32,
        "ne" => d.slot_ne[0] = values[0] as i32,
        "nf" => d.slot_nf[0] = values[0] as i32,
        "nefc" => d.slot_nefc[0] = values[0] as i32,
        _ => {}
    }
    let field = Field::from_name(name).unwrap_or_else(|| panic!("no field {name}"));
    match d.get_mut(field) {
        Some(SliceMut::I(v)) => v.iter_mut().zip(values).for_each(|(a, &b)| *a = b as i32),
        Some(SliceMut::F(v)) => v[..values.len()].copy_from_slice(values),
        None => panic!("{name} is a field of the model"),
    }
}

/// The largest difference of two arrays relative to the largest magnitude (at least 1e-3) of the second.
pub fn rel_err(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let scale = b.iter().fold(1e-3_f64, |s, x| s.max(x.abs()));
    a.iter().zip(b).fold(0.0_f64, |e, (x, y)| if x.is_finite() { e.max((x - y).abs()) } else { f64::INFINITY }) / scale
}
