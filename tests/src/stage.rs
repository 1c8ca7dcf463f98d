//! The stage test: the same inputs, the stage's outputs poisoned, the stage on the CPU and on the GPU, every field compared.

use crate::compare::{Report, compare, first_difference};
use crate::golden::Golden;
use crate::poison::{due, is_internal, left_over, poison, written};
use crate::{adapter, models};
use kiloworld_cpu::run;
use kiloworld_gpu::{BatchOptions, GpuBatch, Shaders, Tuning};
use kiloworld_layout::{Call, Data, Field, Model, Stage};

/// A model with worlds at the golden's states, ready for a call: everything before it has run.
pub struct Subject {
    name: String,
    call: Call,
    /// rounded to f32
    m: Model<f64>,
    m32: Model<f32>,
    /// inputs of the call, rounded to f32, outputs poisoned
    worlds: Vec<Data<f32>>,
}

impl Subject {
    /// Brings a model's states to just before `call`; `edit` changes the model first.
    pub fn new(name: &str, call: Call, edit: impl Fn(&mut Model<f64>)) -> Self {
        let golden = Golden::named(name);
        let mut m = models::of(&golden);
        edit(&mut m);
        let m32 = m.cast(|x| x as f32);
        let m = m32.cast(f64::from);
        let worlds = (0..golden.nstate())
            .map(|k| {
                // what f32 cannot hold of the inputs is gone on both sides
                let mut d = golden.world(&m, k).split(&m).join(&m);
                before(&golden, &m, &mut d, call, k);
                if call.stage == Stage::Health {
                    // as if there had been a step before
                    d.health_memory.copy_from_slice(&[0.1, 2.0, 0.0, 0.5, 4.0, 1.0]);
                }
                let mut d = d.split(&m);
                poison(&mut d, call);
                d
            })
            .collect();
        Self { name: name.to_owned(), call, m, m32, worlds }
    }

    /// Number of states.
    pub fn nstate(&self) -> usize {
        self.worlds.len()
    }

    /// The call on the GPU, world `w` at state `states[w]`.
    pub fn on_gpu(&self, states: &[usize], tuning: Tuning, shaders: Option<Shaders>) -> Result<Vec<Data<f32>>, String> {
        let gpu = adapter::gpu().ok_or("no adapter")?;
        let options = BatchOptions { tuning: Some(tuning), shaders, ..BatchOptions::default() };
        let mut batch = GpuBatch::new(&gpu, &self.m, states.len(), options).map_err(|e| e.to_string())?;
        let worlds: Vec<_> = states.iter().map(|&k| self.worlds[k].clone()).collect();
        batch.write_worlds(&worlds).map_err(|e| e.to_string())?;
        batch.run_stage(self.call).map_err(|e| e.to_string())?;
        batch.read_worlds().map_err(|e| e.to_string())
    }

    /// What the call writes and is due has the same bits; bits beyond that and in scratch are nobody's business.
    ///
    /// # Panics
    /// Where bits differ.
    fn same_bits(&self, place: &str, a: &Data<f32>, b: &Data<f32>) {
        let outputs = written(self.call.stage);
        let look = |f: Field| (outputs.contains(&f) && !is_internal(f)).then(|| due(&self.m, a, f));
        if let Some(what) = first_difference(a, b, look) {
            panic!("{place}: {what}");
        }
    }

    /// Compares the GPU's worlds with the CPU's.
    pub fn compare(&self, states: &[usize], after: &[Data<f32>]) -> Report {
        let mut report = Report::default();
        let outputs = written(self.call.stage);
        for (&k, gpu) in states.iter().zip(after) {
            let place = format!("{} state {k}", self.name);
            let before = &self.worlds[k];
            let mut cpu = before.join(&self.m);
            poison(&mut cpu, self.call);
            run(self.call, &self.m, &mut cpu);
            let mut witness = before.clone();
            run(self.call, &self.m32, &mut witness);
            let (joined, witness) = (gpu.join(&self.m), witness.join(&self.m));
            if let Some((field, i)) = left_over(&self.m, &cpu, self.call) {
                report.faults.push(format!("{place}: the CPU left {}[{i}] unwritten or not finite", field.name()));
            }
            if let Some((field, i)) = left_over(&self.m, &joined, self.call) {
                report.faults.push(format!("{place}: the GPU left {}[{i}] unwritten or not finite", field.name()));
            }
            let other = |f: Field| (!outputs.contains(&f)).then(|| f.info().len(&self.m.size));
            if let Some(what) = first_difference(before, gpu, other) {
                report.faults.push(format!("{place}: a stray write: {what}"));
            }
            report.merge(compare(&place, self.call, &self.m, &joined, &cpu, &witness));
        }
        report
    }
}

/// Runs what comes before a call in a step, in f64. A stage that leaves its outputs unwritten is replaced by MuJoCo's
/// outputs, so that later stages can be tested first.
fn before(golden: &Golden, m: &Model<f64>, d: &mut Data<f64>, call: Call, k: usize) {
    for c in kiloworld_sim::step::step(&m.opt).into_iter().take_while(|c| *c != call) {
        poison(d, c);
        run(c, m, d);
        if left_over(m, d, c).is_some() {
            for field in crate::poison::poisoned(c) {
                if golden.arrays.contains_key(&format!("out/{}", field.name())) {
                    golden.load(m, d, field, k);
                }
            }
            // what MuJoCo does not have
            for x in [&mut d.xpos_lo, &mut d.contact_solreffriction] {
                x.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = 0.0);
            }
        }
    }
}

/// How work is spread in tests.
pub fn tuning(lanes: u32) -> Tuning {
    Tuning { lanes, worlds_per_group: if lanes == 1 { 8 } else { 2 }, ..Tuning::default() }
}

/// The stage test over models and lanes. Every batch size gives a state the same bits.
///
/// # Panics
/// Where the stage differs.
pub fn check(call: impl Into<Call>, names: &[&str], edit: impl Fn(&mut Model<f64>) + Copy) {
    let call = call.into();
    if adapter::gpu().is_none() {
        return;
    }
    for (i, name) in chosen(names).into_iter().enumerate() {
        let subject = Subject::new(name, call, edit);
        let all: Vec<_> = (0..subject.nstate()).collect();
        // the first models in full, the rest at the setting that software devices are fast at
        let lanes: &[u32] = if i < 2 { &[1, 8] } else { &[1] };
        for &lanes in lanes {
            let label = format!("{call:?}, {name}, {lanes} lanes");
            let on_gpu = |states: &[usize]| {
                subject.on_gpu(states, tuning(lanes), None).unwrap_or_else(|e| panic!("{label}: {e}"))
            };
            let whole = on_gpu(&all);
            let report = subject.compare(&all, &whole);
            assert!(report.passed(), "{label}:\n{report}");
            let sizes: &[usize] = match (i, lanes) {
                (0, 1) => &[1, 7, 64, 1024],
                (0, _) => &[1, 7, 64],
                _ => &[],
            };
            for &n in sizes {
                let states: Vec<_> = (0..n).map(|w| (3 * w + 2) % subject.nstate()).collect();
                for (w, (&k, world)) in states.iter().zip(on_gpu(&states)).enumerate() {
                    subject.same_bits(&format!("{label}: world {w} of {n}, state {k}"), &whole[k], &world);
                }
            }
        }
    }
}

/// Plants a fault in the text of a shader file and demands that the stage test sees it.
///
/// # Panics
/// Where the text is not there, or the fault goes unseen.
pub fn must_catch(call: impl Into<Call>, name: &str, edit: impl Fn(&mut Model<f64>), file: &str, from: &str, to: &str) {
    let call = call.into();
    if adapter::gpu().is_none() {
        return;
    }
    let mut shaders = Shaders::load().expect("readable");
    let text = shaders.get_mut(file).unwrap_or_else(|| panic!("no shaders/{file}.wgsl"));
    assert!(text.contains(from), "shaders/{file}.wgsl has no `{from}`");
    *text = text.replacen(from, to, 1);
    let subject = Subject::new(name, call, edit);
    let all: Vec<_> = (0..subject.nstate()).collect();
    match subject.on_gpu(&all, tuning(1), Some(shaders)) {
        Ok(after) => {
            let report = subject.compare(&all, &after);
            assert!(!report.passed(), "{call:?}: `{to}` for `{from}` in shaders/{file}.wgsl goes unseen:\n{report}");
        }
        Err(e) => panic!("the planted fault must compile: {e}"),
    }
}

/// The models to run over: those that `KILOWORLD_MODELS` lists, where it is set.
fn chosen<'a>(names: &[&'a str]) -> Vec<&'a str> {
    match std::env::var("KILOWORLD_MODELS") {
        Ok(list) => names.iter().copied().filter(|n| list.split(',').any(|l| l == *n)).collect(),
        Err(_) => names.to_vec(),
    }
}
