//! Physical laws that the engine checks itself against, on every backend.
//!
//! A law is a file of `tests/laws`: an equation or a reference with its source, a model, a protocol, a tolerance with its
//! reason, and a *control*, a change that must make the same law fail. The files and their models are part of the binary.

mod bits;
mod expr;
mod file;
mod list;
mod ramp;
mod run;
mod totals;
mod world;

use kiloworld_gpu::Gpu;
use kiloworld_layout::Field;
use kiloworld_sim::{Batch, Precision};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

pub use list::{MODELS, NAMES};

/// Where a law is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// the CPU in double precision: the reference
    CpuF64,
    /// the CPU in single precision: the witness of rounding
    CpuF32,
    /// the CPU in double precision, worlds in the lanes of the processor's registers
    CpuF64Lanes,
    /// the CPU in single precision, worlds in the lanes of the processor's registers
    CpuF32Lanes,
    /// the GPU, single precision
    Gpu,
}

impl Backend {
    /// Every backend.
    pub const ALL: [Self; 5] = [Self::CpuF64, Self::CpuF32, Self::CpuF64Lanes, Self::CpuF32Lanes, Self::Gpu];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CpuF64 => "cpu-f64",
            Self::CpuF32 => "cpu-f32",
            Self::CpuF64Lanes => "cpu-f64-lanes",
            Self::CpuF32Lanes => "cpu-f32-lanes",
            Self::Gpu => "gpu",
        }
    }
}

impl core::fmt::Display for Backend {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

/// What keeps a law from being measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// the file does not read
    #[error("the law file does not read: {0}")]
    File(#[from] toml::de::Error),
    /// an expression or a name of the file
    #[error("the law file is wrong: {0}")]
    Law(String),
    /// the model does not load
    #[error("the model {file} does not load: {error}")]
    Model {
        /// its file
        file: String,
        /// what the loader says
        error: String,
    },
    /// the batch
    #[error(transparent)]
    Batch(#[from] kiloworld_sim::Error),
    /// the device
    #[error(transparent)]
    Gpu(#[from] kiloworld_gpu::GpuError),
}

/// One value of a law in one case.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// the case, empty where the law has only one
    pub case: String,
    /// the quantity, with its unit
    pub check: String,
    /// what the law says
    pub expected: f64,
    /// what was measured
    pub measured: f64,
    /// lowest value that passes
    pub low: f64,
    /// highest value that passes
    pub high: f64,
    /// the value is in these bounds
    pub pass: bool,
    /// the same quantity under changes that must make it fail
    pub controls: Vec<ControlRow>,
}

/// A quantity under a change that must make it fail.
#[derive(Clone, Debug, Serialize)]
pub struct ControlRow {
    /// the change
    pub why: String,
    /// what was measured
    pub measured: f64,
    /// true: the law did not notice, which is a fault of the law
    pub pass: bool,
}

/// What a law found on a backend.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// the law's name: its file's stem
    pub law: String,
    /// the law in words
    pub title: String,
    /// where
    pub backend: Backend,
    /// every quantity of every case passes, and fails under its controls
    pub pass: bool,
    /// quantities of cases
    pub rows: Vec<Row>,
    /// why nothing was measured
    pub error: Option<String>,
    /// time taken
    pub seconds: f64,
}

impl Verdict {
    /// The rows that are not as they should be, in words.
    pub fn faults(&self) -> Vec<String> {
        let mut out: Vec<String> = self.error.iter().cloned().collect();
        for r in &self.rows {
            let what = format!("{} {}", r.case, r.check);
            if !r.pass {
                out.push(format!("{what}: {:.7} is not in [{:.7}, {:.7}]", r.measured, r.low, r.high));
            }
            for c in r.controls.iter().filter(|c| c.pass) {
                let bounds = format!("[{:.7}, {:.7}]", r.low, r.high);
                out.push(format!("{what}: still {:.7} in {bounds} with {}", c.measured, c.why));
            }
        }
        out
    }
}

/// A law of the list.
#[derive(Debug)]
pub struct Law {
    name: String,
    file: file::LawFile,
}

impl Law {
    /// Every law, in the order of their names.
    pub fn all() -> Result<Vec<Self>, Error> {
        list::LAWS.iter().map(|(name, text)| Self::parse(name, text)).collect()
    }

    /// The law of a name.
    pub fn named(name: &str) -> Result<Self, Error> {
        match list::LAWS.iter().find(|(n, _)| *n == name) {
            Some((name, text)) => Self::parse(name, text),
            None => Err(Error::Law(format!("no law `{name}`"))),
        }
    }

    /// Reads a law from the text of its file.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        let mut file: file::LawFile = toml::from_str(text)?;
        if file.case.is_empty() {
            file.case.push(file::Case::default());
        }
        match run::lint(&file).first() {
            Some(fault) => Err(Error::Law(format!("{name}: {fault}"))),
            None => Ok(Self { name: name.to_owned(), file }),
        }
    }

    /// Its name: the file's stem.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The law in words.
    pub fn title(&self) -> &str {
        &self.file.title
    }

    /// The equation or the source of the reference.
    pub fn cites(&self) -> &str {
        &self.file.cites
    }

    /// Why the tolerances are what they are.
    pub fn why(&self) -> &str {
        &self.file.why
    }

    /// Measures the law.
    pub fn run(&self, backend: Backend) -> Verdict {
        let start = Instant::now();
        let make =
            |model: &str,
             option: &BTreeMap<String, String>,
             nworld: usize,
             fields: &[Field],
             nconmax: Option<usize>| { batch(backend, model, option, nworld, fields, nconmax) };
        let measured = self.fields().and_then(|fields| run::measure(&self.file, &fields, &make));
        let (rows, error) = match measured {
            Ok(outcomes) => (self.rows(&outcomes), None),
            Err(e) => (Vec::new(), Some(e.to_string())),
        };
        let good = |r: &Row| r.pass && r.controls.iter().all(|c| !c.pass);
        Verdict {
            law: self.name.clone(),
            title: self.file.title.clone(),
            backend,
            pass: error.is_none() && !rows.is_empty() && rows.iter().all(good),
            rows,
            error,
            seconds: start.elapsed().as_secs_f64(),
        }
    }

    /// The model fields that differ from world to world: those of all laws of the model, so that its kernels are made once.
    fn fields(&self) -> Result<BTreeSet<Field>, Error> {
        static FIELDS: OnceLock<BTreeMap<String, BTreeSet<Field>>> = OnceLock::new();
        let listed = FIELDS.get_or_init(|| {
            let mut out: BTreeMap<String, BTreeSet<Field>> = BTreeMap::new();
            for law in Self::all().unwrap_or_default() {
                out.entry(law.file.model.clone()).or_default().extend(run::fields(&law.file).unwrap_or_default());
            }
            out
        });
        let mut fields = run::fields(&self.file).map_err(Error::Law)?;
        fields.extend(listed.get(&self.file.model).into_iter().flatten());
        Ok(fields)
    }

    fn rows(&self, outcomes: &[run::Outcome]) -> Vec<Row> {
        let mut rows = Vec::new();
        for o in outcomes.iter().filter(|o| o.control.is_none()) {
            let case = &self.file.case[o.case].name;
            for (i, check) in self.file.check.iter().enumerate() {
                if !file::applies(check.cases.as_ref(), case) {
                    continue;
                }
                let (expected, measured) = (o.expected[i], o.measured[i]);
                let (low, high) = check.bounds(expected);
                let mut controls = Vec::new();
                for c in outcomes.iter().filter(|c| c.case == o.case) {
                    let Some(control) = c.control.map(|k| &self.file.control[k]) else { continue };
                    if file::applies(control.fails.as_ref(), &check.name) {
                        let pass = (low..=high).contains(&c.measured[i]);
                        controls.push(ControlRow { why: control.why.clone(), measured: c.measured[i], pass });
                    }
                }
                let pass = (low..=high).contains(&measured);
                rows.push(Row {
                    case: case.clone(),
                    check: check.name.clone(),
                    expected,
                    measured,
                    low,
                    high,
                    pass,
                    controls,
                });
            }
        }
        rows
    }
}

/// Runs the laws whose names contain `filter`, on one backend, and hands each verdict to `each` as it comes.
pub fn run_all(filter: &str, backend: Backend, mut each: impl FnMut(&Verdict)) -> Result<Vec<Verdict>, Error> {
    let mut out = Vec::new();
    for law in Law::all()?.iter().filter(|l| l.name.contains(filter)) {
        let verdict = law.run(backend);
        each(&verdict);
        out.push(verdict);
    }
    Ok(out)
}

/// Devices that laws share, one a thread in turn: pipelines of the same text are made once a device, and a software device
/// keeps one core busy.
const DEVICES: usize = 2;

/// The device of the calling thread.
fn gpu() -> Result<Gpu, Error> {
    static GPU: [Mutex<Option<Gpu>>; DEVICES] = [const { Mutex::new(None) }; DEVICES];
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static MINE: usize = NEXT.fetch_add(1, Ordering::Relaxed) % DEVICES;
    }
    let mut gpu = GPU[MINE.with(|&mine| mine)].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(gpu) = &*gpu {
        return Ok(gpu.clone());
    }
    let opened = Gpu::new(&Default::default())?;
    *gpu = Some(opened.clone());
    Ok(opened)
}

fn batch(
    backend: Backend,
    file: &str,
    option: &BTreeMap<String, String>,
    nworld: usize,
    fields: &[Field],
    nconmax: Option<usize>,
) -> Result<Batch, Error> {
    let fail = |error: String| Error::Model { file: file.to_owned(), error };
    let text = MODELS.iter().find(|(n, _)| *n == file).ok_or_else(|| fail("no such model".to_owned()))?.1;
    let model = load(text, option).map_err(fail)?;
    let mut builder = Batch::builder(&model).nworld(nworld);
    for &f in fields {
        builder = builder.per_world(f);
    }
    if let Some(n) = nconmax {
        builder = builder.nconmax(n);
    }
    // a law has few worlds: they go into lanes because they are told to
    let widest = |precision| (precision, kiloworld_sim::lanes(precision)[0]);
    let cpu = match backend {
        Backend::CpuF64 => Some((Precision::F64, 1)),
        Backend::CpuF32 => Some((Precision::F32, 1)),
        Backend::CpuF64Lanes => Some(widest(Precision::F64)),
        Backend::CpuF32Lanes => Some(widest(Precision::F32)),
        Backend::Gpu => None,
    };
    builder = match cpu {
        Some((precision, lanes)) => builder.backend(kiloworld_sim::Backend::Cpu).precision(precision).lanes(lanes),
        None => builder.backend(kiloworld_sim::Backend::Gpu).gpu(gpu()?),
    };
    Ok(builder.build()?)
}

/// Loads a model with options put over those of its file.
fn load(text: &str, option: &BTreeMap<String, String>) -> Result<kiloworld_model::Model, String> {
    let attributes: String = option.iter().map(|(k, v)| format!(" {k}=\"{v}\"")).collect();
    // a second <option> element goes over the first
    let text = text.replace("</mujoco>", &format!("<option{attributes}/></mujoco>"));
    kiloworld_model::Model::from_str(&text).map_err(|e| e.to_string())
}
