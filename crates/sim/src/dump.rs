//! A world in one file: its model, its last states and controls, and why it stopped. An npz archive that numpy opens.

use crate::batch::{Batch, Inner};
use crate::sound::sound;
use crate::{Error, Record};
use kiloworld_layout::{Field, Kind, Model, Opt, Sizes, Slice, SliceMut};
use kiloworld_model::Kind as Named;
use npyz::WriterBuilder;
use npyz::zip::{DateTime, ZipArchive, result::ZipError, write::FileOptions};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

/// What the array `about` of a dump says first.
const FORMAT: &str = "kiloworld dump";
/// Raised whenever a reader of the version before would misunderstand a file.
const VERSION: u32 = 1;
/// Most numbers that a dump may ask to have room for.
const MOST: f64 = 1e9;

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
    /// if it did. `kiloworld replay` and [`Dump`] read it; so does numpy. The file ends in `.npz`.
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
            let Opt { $($name,)* fixed_iterations, world_ncon: _, world_nefc: _ } = opt;
            let flag = ("fixed_iterations".to_owned(), i32::from(*fixed_iterations));
            [$((stringify!($name).to_owned(), *$name),)*].into_iter().chain([flag]).collect()
        }

        fn set_options(opt: &mut Opt, from: &BTreeMap<String, i32>) -> Result<(), String> {
            let get = |name: &str| from.get(name).copied().ok_or_else(|| format!("option {name} is missing"));
            $(opt.$name = get(stringify!($name))?;)*
            opt.fixed_iterations = get("fixed_iterations")? != 0;
            Ok(())
        }
    };
}

options! {
    integrator cone jacobian solver iterations ls_iterations noslip_iterations ccd_iterations disableflags enableflags
    disableactuator
}

/// The values of an array of a dump.
enum Values {
    F(Vec<f64>),
    I(Vec<i32>),
    Text(Vec<u8>),
}

impl Dump {
    /// Writes it to an npz file.
    pub fn write(&self, path: &Path) -> Result<(), DumpError> {
        let failed = |error| DumpError::Io { path: path.display().to_string(), error };
        let file = BufWriter::new(std::fs::File::create(path).map_err(failed)?);
        let mut npz = npyz::npz::NpzWriter::new(file);
        let mut write = || -> std::io::Result<()> {
            let about = serde_json::to_vec_pretty(&self.about)?;
            array(&mut npz, "about", &[about.len()], &about)?;
            for info in Field::TABLE.iter().filter(|f| f.is_model()) {
                let name = format!("model/{}", info.name);
                match self.model.get(info.field) {
                    Some(Slice::F(v)) => array(&mut npz, &name, &[v.len()], v)?,
                    Some(Slice::I(v)) => array(&mut npz, &name, &[v.len()], v)?,
                    None => {}
                }
            }
            for (folder, records) in [("history", &self.history[..]), ("last", core::slice::from_ref(&self.last))] {
                for (k, (field, values)) in records.first().iter().flat_map(|r| r.fields.iter().enumerate()) {
                    let all: Vec<f64> = records.iter().flat_map(|r| r.fields[k].1.iter().copied()).collect();
                    let name = format!("{folder}/{}", field.name());
                    array(&mut npz, &name, &[records.len(), values.len()], &all)?;
                }
            }
            npz.zip_writer().flush()
        };
        write().map_err(failed)
    }

    /// Reads it back.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, DumpError> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|error| DumpError::Io { path: name.clone(), error })?;
        let arrays = arrays(&name, &bytes)?;
        let other = |what: &str| DumpError::NotADump { path: name.clone(), what: what.to_owned() };
        let Some((_, Values::Text(about))) = arrays.get("about") else {
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
        let model = model(&about, &arrays).map_err(|fault| match fault {
            // written by another table of fields
            Fault::Table(what) => DumpError::Version {
                path: name.clone(),
                found: format!("kiloworld {}, whose models differ: {what}", about.kiloworld),
            },
            Fault::Content(what) => damaged(what),
        })?;
        let history = records("history", &model.size, &arrays).map_err(damaged)?;
        let last = records("last", &model.size, &arrays).map_err(damaged)?.pop();
        let last = last.ok_or_else(|| damaged("it has no state".to_owned()))?;
        Ok(Self { about, model, history, last })
    }
}

fn array<T: npyz::AutoSerialize + Copy>(
    npz: &mut npyz::npz::NpzWriter<BufWriter<std::fs::File>>,
    name: &str,
    shape: &[usize],
    values: &[T],
) -> std::io::Result<()> {
    // no time of writing, so that the same world is the same file
    let options = FileOptions::default().last_modified_time(DateTime::default());
    let shape: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
    let mut writer = npz.array(name, options)?.default_dtype().shape(&shape).begin_nd()?;
    writer.extend(values.iter().copied())?;
    writer.finish()
}

type Arrays = BTreeMap<String, (Vec<usize>, Values)>;

/// Every array of the archive, its checksum compared.
fn arrays(name: &str, bytes: &[u8]) -> Result<Arrays, DumpError> {
    let damaged = |what: String| DumpError::Damaged { path: name.to_owned(), what };
    let mut zip = ZipArchive::new(std::io::Cursor::new(bytes)).map_err(|e| match (bytes.starts_with(b"PK"), e) {
        (true, e) => damaged(format!("its list of contents cannot be read ({e}); it may be cut short")),
        (false, ZipError::Io(e)) => damaged(e.to_string()),
        (false, _) => DumpError::NotADump { path: name.to_owned(), what: "it is no npz archive".to_owned() },
    })?;
    let mut out = Arrays::new();
    for k in 0..zip.len() {
        let mut file = zip.by_index(k).map_err(|e| damaged(e.to_string()))?;
        let Some(array) = npyz::npz::array_name_from_file_name(file.name()).map(str::to_owned) else { continue };
        if file.size() as f64 > 8.0 * MOST {
            return Err(damaged(format!("{array} has {} bytes", file.size())));
        }
        let mut npy = Vec::new();
        // to the end, where the checksum is compared
        file.read_to_end(&mut npy).map_err(|e| damaged(format!("{array}: {e}")))?;
        let value = parse(&npy).map_err(|e| damaged(format!("{array}: {e}")))?;
        out.insert(array, value);
    }
    Ok(out)
}

fn parse(bytes: &[u8]) -> Result<(Vec<usize>, Values), Box<dyn std::error::Error>> {
    let npy = npyz::NpyFile::new(bytes)?;
    let shape = npy.shape().iter().map(|&n| usize::try_from(n)).collect::<Result<Vec<_>, _>>()?;
    let values = match npy.dtype().descr().trim_matches('\'').trim_start_matches(['<', '|']) {
        "f8" => Values::F(npy.into_vec()?),
        "i4" => Values::I(npy.into_vec()?),
        "u1" => Values::Text(npy.into_vec()?),
        other => return Err(format!("element type {other}").into()),
    };
    Ok((shape, values))
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
        return Err(Fault::Content(format!("its sizes ask for room for {room:e} numbers")));
    }
    for info in Field::TABLE.iter().filter(|f| f.is_model()) {
        let Some((_, values)) = arrays.get(&format!("model/{}", info.name)) else {
            return Err(Fault::Table(format!("{} is missing", info.name)));
        };
        let need = info.len(&m.size);
        let got = match (values, m.get_mut(info.field)) {
            (Values::F(v), Some(SliceMut::F(to))) => {
                to.clone_from(v);
                v.len()
            }
            (Values::I(v), Some(SliceMut::I(to))) => {
                to.clone_from(v);
                v.len()
            }
            _ => return Err(Fault::Table(format!("{} holds another kind of numbers", info.name))),
        };
        // fields that nothing reads may be left empty
        if got != need && got != 0 {
            return Err(Fault::Content(format!("{} has {got} numbers, expected {need}", info.name)));
        }
    }
    sound(&m).map_err(Fault::Content)?;
    Ok(m)
}

fn records(folder: &str, size: &Sizes, arrays: &Arrays) -> Result<Vec<Record>, String> {
    let mut out: Vec<Record> = Vec::new();
    for (name, (shape, values)) in arrays {
        let Some(field) = name.strip_prefix(folder).and_then(|n| n.strip_prefix('/')).and_then(Field::from_name) else {
            continue;
        };
        let Values::F(v) = values else { return Err(format!("{name} holds no reals")) };
        let n = field.info().len(size);
        let count = shape.first().copied().unwrap_or(0);
        if field.info().is_model()
            || shape[..] != [count, n]
            || v.len() != count * n
            || (!out.is_empty() && out.len() != count)
        {
            return Err(format!("{name} has shape {shape:?}, expected (records, {n})"));
        }
        out.resize(count, Record::default());
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
