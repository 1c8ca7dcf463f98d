//! Compares a world after a stage on the GPU with the same world on the CPU.

use crate::poison::{due, is_internal, written};
use crate::tolerance::tolerance;
use kiloworld_layout::{Call, Data, Field, Model, Slice};
use std::fmt;

/// The largest difference found in a field.
#[derive(Clone, Debug)]
pub struct Residual {
    /// which model and state
    pub place: String,
    /// the field
    pub field: Field,
    /// difference over scale
    pub error: f64,
    /// the same for the CPU in f32
    pub witness: f64,
    /// largest allowed
    pub allowed: f64,
    /// why that much
    pub reason: &'static str,
}

impl Residual {
    /// Error over what is allowed.
    fn badness(&self) -> f64 {
        self.error / self.allowed.max(1e-30)
    }
}

impl fmt::Display for Residual {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, field, error, witness, allowed, reason } = self;
        write!(f, "{:<24} {error:9.1e} (CPU f32 {witness:8.1e}, allowed {allowed:.1e}: {reason}) {place}", field.name())
    }
}

/// What a comparison found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// the worst of each field
    pub residuals: Vec<Residual>,
    /// what is wrong besides tolerances
    pub faults: Vec<String>,
}

impl Report {
    /// True where nothing is out of bounds.
    pub fn passed(&self) -> bool {
        self.faults.is_empty() && self.residuals.iter().all(|r| r.error <= r.allowed)
    }

    /// Takes the worse of both for each field.
    pub fn merge(&mut self, other: Self) {
        self.faults.extend(other.faults);
        for r in other.residuals {
            match self.residuals.iter_mut().find(|s| s.field == r.field) {
                Some(s) if s.badness() >= r.badness() => s.witness = s.witness.max(r.witness),
                Some(s) => *s = r,
                None => self.residuals.push(r),
            }
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.faults.iter().take(12).try_for_each(|s| writeln!(f, "  {s}"))?;
        let mut sorted: Vec<_> = self.residuals.iter().collect();
        sorted.sort_by(|a, b| b.badness().total_cmp(&a.badness()));
        sorted.iter().try_for_each(|r| writeln!(f, "{} {r}", if r.error <= r.allowed { " " } else { "!" }))
    }
}

/// Compares the fields that the call writes: `gpu` with `cpu` (f64 from the same inputs), `witness` (CPU f32) for scale.
pub fn compare(
    place: &str,
    call: Call,
    m: &Model<f64>,
    gpu: &Data<f64>,
    cpu: &Data<f64>,
    witness: &Data<f64>,
) -> Report {
    let mut report = Report::default();
    // where rounding decides how many contacts or rows there are, f32 is compared with f32
    let counts = |d: &Data<f64>| (d.ncon[0], d.nefc[0], d.contact_geom[..2 * d.ncon[0].max(0) as usize].to_vec());
    let cpu = if counts(cpu) == counts(witness) { cpu } else { witness };
    if counts(gpu) != counts(cpu) {
        let f = |d: &Data<f64>| format!("{} contacts, {} rows", d.ncon[0], d.nefc[0]);
        report.faults.push(format!("{place}: {} on the GPU, {} on the CPU", f(gpu), f(cpu)));
        return report;
    }
    for field in written(call.stage).into_iter().filter(|&f| !is_internal(f)) {
        let n = due(m, cpu, field);
        match (gpu.get(field), cpu.get(field), witness.get(field)) {
            (Some(Slice::I(a)), Some(Slice::I(b)), Some(Slice::I(w))) => {
                let differs = |i: &usize| a[*i] != b[*i] && a[*i] != w[*i];
                if let Some(i) = (0..n).find(differs) {
                    report.faults.push(format!("{place}: {}[{i}] is {}, not {}", field.name(), a[i], b[i]));
                }
            }
            (Some(Slice::F(a)), Some(Slice::F(b)), Some(Slice::F(w))) => {
                let tol = tolerance(call.stage, field);
                let scale = b[..n].iter().fold(tol.floor, |s, x| s.max(x.abs()));
                let error = |a: &[f64]| {
                    a[..n].iter().zip(b).fold(0.0_f64, |e, (x, y)| match (x - y).abs() {
                        d if d.is_finite() => e.max(d / scale),
                        _ if x == y => e,
                        _ => f64::INFINITY,
                    })
                };
                let (error, witness) = (error(a), error(w));
                let (allowed, reason) = (tol.relative, tol.reason);
                report.residuals.push(Residual { place: place.to_owned(), field, error, witness, allowed, reason });
            }
            _ => report.faults.push(format!("{} is no field of a world", field.name())),
        }
    }
    report
}

/// The first field, among those that `look` picks, whose bits differ.
pub fn first_difference(a: &Data<f32>, b: &Data<f32>, look: impl Fn(Field) -> Option<usize>) -> Option<String> {
    let fields = Field::TABLE.iter().filter(|f| !f.is_model() && kiloworld_layout::pack::on_device(f.field));
    fields.map(|f| f.field).find_map(|field| {
        let n = look(field)?;
        let (i, x, y) = match (a.get(field)?, b.get(field)?) {
            (Slice::I(x), Slice::I(y)) => {
                let i = (0..n).find(|&i| x[i] != y[i])?;
                (i, f64::from(x[i]), f64::from(y[i]))
            }
            (Slice::F(x), Slice::F(y)) => {
                let i = (0..n).find(|&i| x[i].to_bits() != y[i].to_bits())?;
                (i, f64::from(x[i]), f64::from(y[i]))
            }
            _ => return Some(format!("{field:?} has two kinds")),
        };
        Some(format!("{}[{i}]: {x:e} and {y:e}", field.name()))
    })
}
