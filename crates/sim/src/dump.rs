//! A world in one file: its model, its last states and controls, and why it stopped. An npz archive that numpy opens.

use crate::batch::{Batch, Inner};
use crate::npz::{self, Array, Arrays, NpzError, Values};
use crate::sound::{may_be_empty, sound};
use crate::{Error, Record, WholeFile};
use kiloworld_layout::{Field, Kind, Model, Opt, Sizes, Slice, SliceMut};
use kiloworld_model::Kind as Named;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// What the array `about` of a dump says first.
const FORMAT: &str = "kiloworld dump";
/// Raised whenever a reader of the version before would misunderstand a file.
const VERSION: u32 = 1;
/// Most numbers that a dump may ask to have room for: 2 GiB.
const MOST: f64 = (1_u64 << 28) as f64;
/// Most bytes of a file that is read.
const MOST_BYTES: u64 = 1 << 31;

/// Why a file is not a dump that can be used.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// it cannot be opened, read or written
    #[error("{path}: {error}")]
    Io {
        /// the file
        path: String,
        /// the system's words
        error: std::io::Error,
    },
    /// it is something else
    #[error("{path} is not a dump of a world ({what}); `kiloworld rollout --dump-failed` and `Batch::dump` write them")]
    NotADump {
        /// the file
        path: String,
        /// what it is instead
        what: String,
    },
    /// it is one of another version
    #[error(
        "{path} is a dump of {found}; this is kiloworld {}, which reads version {VERSION}: replay it with the version that wrote it",
        env!("CARGO_PKG_VERSION")
    )]
    Version {
        /// the file
        path: String,
        /// its version
        found: String,
    },
    /// it was cut short or changed
    #[error("{path} is damaged: {what}; write it again")]
    Damaged {
        /// the file
        path: String,
        /// what is wrong
        what: String,
    },
}

/// What is said of a dumped world in words and numbers; the array `about` holds it as JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// always `kiloworld dump`
    pub format: String,
    /// version of the format
    pub version: u32,
    /// version of the program that wrote it
    pub kiloworld: String,
    /// name of the model
    pub model: String,
    /// where the batch ran
    pub backend: String,
    /// number of the world in its batch
    pub world: usize,
    /// worlds of the batch
    pub nworld: usize,
    /// bits of the status when it failed, 0: it did not
    pub reason: i32,
    /// bits of the arrays whose numbers froze it
    pub bad: i32,
    /// the reason in words
    pub words: String,
    /// steps since reset that it finished
    pub step: usize,
    /// simulation time of the last good state [s]
    pub time: f64,
    /// fields of the model that the batch has world by world; the values are this world's
    pub per_world: Vec<String>,
    /// sizes, capacities included
    pub size: BTreeMap<String, usize>,
    /// integer options
    pub opt: BTreeMap<String, i32>,
    /// names of the elements by kind and id
    pub names: BTreeMap<String, Vec<Option<String>>>,
}

/// A world out of a file; see [`Dump::replay`].
#[derive(Clone, Debug)]
pub struct Dump {
    /// what is said of it
    pub about: About,
    /// the model as the batch ran it
    pub model: Model<f64>,
    /// what its last steps began with, the oldest first; of a failed world the last is what the failing step began with
    pub history: Vec<Record>,
    /// its state when it was dumped
    pub last: Record,
}

const NAMED: [Named; 7] =
    [Named::Body, Named::Joint, Named::Geom, Named::Site, Named::Equality, Named::Tendon, Named::Actuator];

impl Batch {
    /// Writes a world into one file: the model as the batch runs it (with the world's own values of fields that differ from world
    /// to world), the states and controls of its [`history`](crate::BatchBuilder::history), its present state, and why it failed
    /// if it did. `kiloworld replay` and [`Dump`] read it; so does numpy. The file ends in `.npz`; it is written whole or not at
    /// all, and replaces what was there.
    pub fn dump(&mut self, world: usize, path: impl AsRef<Path>) -> Result<(), Error> {
        let dump = self.dumped(world)?;
        Ok(dump.write(path.as_ref())?)
    }

    /// What [`Batch::dump`] writes.
    pub fn dumped(&mut self, world: usize) -> Result<Dump, Error> {
        self.ids(Some(&[world]))?;
        let failure = self.failure_of(world)?;
        let fields: Vec<Field> = Record::list().collect();
        let values = self.forward(&[world], &fields)?;
        let last = Record { fields: fields.into_iter().zip(values).collect() };
        let mut history = self.history(world)?;
        if history.is_empty() {
            // what a failed step began with: a frozen world went back to it
            history.push(last.clone());
        }
        let mut model = self.m.clone();
        for &field in &self.per_world {
            let row = match &mut self.inner {
                Inner::Cpu(c) => c.model_row(field, world),
                Inner::Gpu(g) => g.forward(&[], &[world], &[field])?.remove(0),
            };
            if let Some(SliceMut::F(v)) = model.get_mut(field) {
                v.copy_from_slice(&row);
            }
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let nstep = self.forward(&[world], &[Field::nstep])?.concat().first().map_or(0, |&n| n as usize);
        let size = &model.size;
        let names = |kind: Named| {
            let table = self.names().of(kind);
            let each = (0..table.len()).map(|i| table.name(i).map(str::to_owned)).collect();
            (kind.word().to_owned(), each)
        };
        let about = About {
            format: FORMAT.to_owned(),
            version: VERSION,
            kiloworld: env!("CARGO_PKG_VERSION").to_owned(),
            model: self.quarantine.model_name.clone(),
            backend: self.backend_name(),
            world,
            nworld: self.nworld,
            reason: failure.as_ref().map_or(0, |f| f.reason),
            bad: failure.as_ref().map_or(0, |f| f.bad),
            step: failure.as_ref().map_or(nstep, |f| f.step),
            words: failure.as_ref().map_or_else(|| "it has not failed".to_owned(), |f| f.words.clone()),
            time: failure.as_ref().map_or_else(|| last.time(), |f| f.time),
            per_world: self.per_world.iter().map(|f| f.name().to_owned()).collect(),
            size: Sizes::NAMES.iter().map(|&(name, id)| (name.to_owned(), size.get(id))).collect(),
            opt: options(&model.opt),
            names: NAMED.into_iter().map(names).collect(),
        };
        Ok(Dump { about, model, history, last })
    }
}

/// The integer options by name, and back. A new one that is not listed does not compile.
macro_rules! options {
    ($($name:ident)*) => {
        fn options(opt: &Opt) -> BTreeMap<String, i32> {
            // capacities that lanes share are no part of a world's model
            let Opt { $($name,)* world_ncon: _, world_nefc: _ } = opt;
            [$((stringify!($name).to_owned(), *$name),)*].into_iter().collect()
        }

        fn set_options(opt: &mut Opt, from: &BTreeMap<String, i32>) -> Result<(), String> {
            let get = |name: &str| from.get(name).copied().ok_or_else(|| format!("option {name} is missing"));
            $(opt.$name = get(stringify!($name))?;)*
            Ok(())
        }
    };
}

options! {
    integrator cone jacobian solver iterations ls_iterations noslip_iterations ccd_iterations disableflags enableflags
    disableactuator
}

impl Dump {
    /// True where the file is a dump, of this version or another, as far as a look at its start tells.
    pub fn is_one(path: impl AsRef<Path>) -> bool {
        let head = kiloworld_model::read_file(path.as_ref(), MOST_BYTES).ok();
        let about = head.and_then(|bytes| npz::read(&bytes).ok()).and_then(|mut arrays| arrays.remove("about"));
        let Some(Array { values: Values::U8(about), .. }) = about else { return false };
        serde_json::from_slice::<serde_json::Value>(&about).is_ok_and(|head| head["format"] == FORMAT)
    }

    /// Writes it to an npz file, whole or not at all, over what was there.
    pub fn write(&self, path: &Path) -> Result<(), DumpError> {
        let write = || -> std::io::Result<()> {
            let mut file = WholeFile::create(path)?;
            file.write_all(&self.to_bytes()?)?;
            file.finish()
        };
        write().map_err(|error| DumpError::Io { path: path.display().to_string(), error })
    }

    /// The bytes of the npz file.
    pub fn to_bytes(&self) -> std::io::Result<Vec<u8>> {
        npz::write(&self.to_arrays()?)
    }

    /// The arrays of the npz file.
    pub fn to_arrays(&self) -> std::io::Result<Arrays> {
        let about = serde_json::to_vec_pretty(&self.about)?;
        let mut out = Arrays::new();
        out.insert("about".to_owned(), Array { shape: vec![about.len()], values: Values::U8(about) });
        for info in Field::TABLE.iter().filter(|f| f.is_model()) {
            let (n, values) = match self.model.get(info.field) {
                Some(Slice::F(v)) => (v.len(), Values::F64(v.to_vec())),
                Some(Slice::I(v)) => (v.len(), Values::I32(v.to_vec())),
                None => continue,
            };
            out.insert(format!("model/{}", info.name), Array { shape: vec![n], values });
        }
        for (folder, records) in [("history", &self.history[..]), ("last", core::slice::from_ref(&self.last))] {
            for (k, (field, values)) in records.first().iter().flat_map(|r| r.fields.iter().enumerate()) {
                let all: Vec<f64> = records.iter().flat_map(|r| r.fields[k].1.iter().copied()).collect();
                let shape = vec![records.len(), values.len()];
                out.insert(format!("{folder}/{}", field.name()), Array { shape, values: Values::F64(all) });
            }
        }
        Ok(out)
    }

    /// Reads it back. Whatever the file is: what is returned can be replayed.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, DumpError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        match kiloworld_model::read_file(path, MOST_BYTES) {
            Ok(bytes) => Self::from_bytes(name, &bytes),
            Err(error) => Err(DumpError::Io { path: name, error }),
        }
    }

    /// Reads it from the bytes of a file of this name.
    pub fn from_bytes(name: String, bytes: &[u8]) -> Result<Self, DumpError> {
        match npz::read(bytes) {
            Ok(arrays) => Self::from_arrays(name, &arrays),
            Err(NpzError::Damaged(what)) => Err(DumpError::Damaged { path: name, what }),
            Err(e) => Err(DumpError::NotADump { path: name, what: e.to_string() }),
        }
    }

    /// Reads it from the arrays of a file of this name.
    pub fn from_arrays(name: String, arrays: &Arrays) -> Result<Self, DumpError> {
        let other = |what: &str| DumpError::NotADump { path: name.clone(), what: what.to_owned() };
        let Some(Array { values: Values::U8(about), .. }) = arrays.get("about") else {
            return Err(other("it has no text `about`"));
        };
        let head: serde_json::Value = serde_json::from_slice(about).map_err(|_| other("its `about` is no JSON"))?;
        if head["format"] != FORMAT {
            return Err(other("its `about` says so"));
        }
        if head["version"] != VERSION {
            return Err(DumpError::Version { path: name, found: format!("version {}", head["version"]) });
        }
        let damaged = |what: String| DumpError::Damaged { path: name.clone(), what };
        let about: About = serde_json::from_value(head).map_err(|e| damaged(format!("`about`: {e}")))?;
        let model = model(&about, arrays).map_err(|fault| match fault {
            // written by another table of fields
            Fault::Table(what) => DumpError::Version {
                path: name.clone(),
                found: format!("kiloworld {}, whose models differ: {what}", about.kiloworld),
            },
            Fault::Content(what) => damaged(what),
        })?;
        let history = records("history", &model.size, arrays).map_err(&damaged)?;
        let mut last = records("last", &model.size, arrays).map_err(&damaged)?;
        let (Some(last), true) = (last.pop(), last.is_empty()) else {
            return Err(damaged("it has not one last state".to_owned()));
        };
        Ok(Self { about, model, history, last })
    }
}

/// What is wrong with the model in a file.
enum Fault {
    /// fields that are not those of this program
    Table(String),
    /// numbers that do not fit each other
    Content(String),
}

fn model(about: &About, arrays: &Arrays) -> Result<Model<f64>, Fault> {
    let mut m = Model::<f64>::default();
    for &(name, id) in Sizes::NAMES {
        let n = about.size.get(name).ok_or_else(|| Fault::Table(format!("size {name} is missing")))?;
        *m.size.get_mut(id) = *n;
    }
    set_options(&mut m.opt, &about.opt).map_err(Fault::Table)?;
    let room: f64 = Field::TABLE.iter().map(|f| f.shape.iter().map(|&d| m.size.dim(d) as f64).product::<f64>()).sum();
    if room > MOST {
        return Err(Fault::Content(format!(
            "its sizes ask for room for {room:.1e} numbers, at most {MOST:.1e} are given; a smaller njmax takes less"
        )));
    }
    for info in Field::TABLE.iter().filter(|f| f.is_model()) {
        let Some(Array { values, .. }) = arrays.get(&format!("model/{}", info.name)) else {
            return Err(Fault::Table(format!("{} is missing", info.name)));
        };
        let need = info.len(&m.size);
        let got = match (values, m.get_mut(info.field)) {
            (Values::F64(v), Some(SliceMut::F(to))) => {
                to.clone_from(v);
                v.len()
            }
            (Values::I32(v), Some(SliceMut::I(to))) => {
                to.clone_from(v);
                v.len()
            }
            _ => return Err(Fault::Table(format!("{} holds another kind of numbers", info.name))),
        };
        if got != need && !(got == 0 && may_be_empty(info.field)) {
            return Err(Fault::Content(format!("{} has {got} numbers, expected {need}", info.name)));
        }
    }
    sound(&m).map_err(Fault::Content)?;
    Ok(m)
}

/// The records of a folder: every field of a record, as often as there are times.
fn records(folder: &str, size: &Sizes, arrays: &Arrays) -> Result<Vec<Record>, String> {
    let of = |field: Field| {
        let name = format!("{folder}/{}", field.name());
        let Some(array) = arrays.get(&name) else { return Err(format!("{name} is missing")) };
        let Values::F64(v) = &array.values else { return Err(format!("{name} holds no reals")) };
        Ok((name, &array.shape, v))
    };
    let count = of(Field::time)?.2.len();
    let mut out = vec![Record::default(); count];
    for field in Record::list() {
        let (name, shape, v) = of(field)?;
        let n = field.info().len(size);
        if shape[..] != [count, n] {
            return Err(format!("{name} has shape {shape:?}, expected ({count}, {n})"));
        }
        out.iter_mut().enumerate().for_each(|(k, r)| r.fields.push((field, v[k * n..(k + 1) * n].to_vec())));
    }
    Ok(out)
}

impl About {
    /// An element in words: its kind, id, and name if it has one.
    pub(crate) fn element(&self, kind: Named, id: usize) -> String {
        let name = self.names.get(kind.word()).and_then(|n| n.get(id)?.as_deref());
        match (kind, id, name) {
            (Named::Body, 0, _) => "the world".to_owned(),
            (_, _, Some(name)) => format!("{} {id} (`{name}`)", kind.word()),
            _ => format!("{} {id}", kind.word()),
        }
    }
}

/// Reals of a record that are kept as integers in a world.
pub(crate) fn is_flag(field: Field) -> bool {
    field.info().kind == Kind::I
}
