//! A batch on the GPU: f64 arrays in and out of the device's f32 fields.

use crate::history::Record;
use crate::memory::Need;
use crate::row::{COUNTERS, two_float_coordinates};
use crate::{DeviceNumbers, Error};
use kiloworld_gpu::{BatchOptions, Gpu, GpuBatch, GpuError, TuningChange};
use kiloworld_layout::{Binding, Buffer, Call, Data, Field, Kind, Layout, Model, Stage};

/// Bytes that worlds take on a GPU.
pub(crate) fn gpu_need(m: &Model<f64>, per_world: &[Field], history: usize) -> Result<Need, Error> {
    let layout = Layout::new(&m.size, &per_world.iter().copied().collect()).map_err(GpuError::from)?;
    let record = 4 * (1 + layout.words(Binding::State) + m.size.neq) as u64;
    let state = record.saturating_mul(history as u64);
    Ok(Need { per_world: layout.bytes_per_world().saturating_add(state), shared: layout.bytes_shared() })
}

pub(crate) struct GpuWorlds {
    batch: GpuBatch,
    two_float: Vec<bool>,
}

#[allow(clippy::cast_possible_truncation, reason = "rounding to the device's types is what is wanted")]
impl GpuWorlds {
    pub(crate) fn new(
        gpu: &Gpu,
        m: &Model<f64>,
        nworld: usize,
        change: TuningChange,
        per_world: &[Field],
    ) -> Result<Self, Error> {
        let tuning = Some(gpu.tuned(m, change));
        let options =
            BatchOptions { tuning, per_world: per_world.iter().copied().collect(), ..BatchOptions::default() };
        let batch = GpuBatch::new(gpu, m, nworld, options.clone()).map_err(|e| match e {
            GpuError::Memory { .. } => {
                let most = GpuBatch::worlds_that_fit(gpu, m, nworld, &options);
                gpu_need(m, per_world, 0)
                    .map_or_else(|e| e, |need| Error::DeviceMemory { nworld, need: need.of(nworld), most })
            }
            e => e.into(),
        })?;
        Ok(Self { batch, two_float: two_float_coordinates(m) })
    }

    pub(crate) fn is_software(&self) -> bool {
        self.batch.gpu().info().is_cpu
    }

    pub(crate) fn numbers(&self, step: &[Call], worlds: usize) -> Result<DeviceNumbers, Error> {
        let tuning = self.batch.tuning();
        let n = self.batch.nworld();
        let counted: Vec<usize> = (0..worlds.min(n)).map(|k| k * n / worlds.min(n)).collect();
        let counts = self.batch.count(step, &counted, None)?;
        let all = n as f64;
        Ok(DeviceNumbers {
            counted_worlds: counted.len(),
            bytes_read: counts.bytes_read * all + counts.bytes_shared,
            bytes_written: counts.bytes_written * all,
            bytes_accessed: counts.bytes_accessed * all,
            flops: counts.flops * all,
            barriers: counts.barriers,
            loop_turns: counts.loop_turns,
            lanes: tuning.lanes,
            worlds_per_group: tuning.worlds_per_group,
            newton_steps: tuning.newton_steps,
            fused: tuning.fused,
            dispatches: self.batch.dispatch_count(step)?,
            workgroup_bytes: self.batch.workgroup_bytes(step)?,
            slices: self.batch.nslice(),
        })
    }

    /// Sets a field of all worlds, (nworld, n).
    pub(crate) fn set(&mut self, field: Field, values: &[f64]) -> Result<(), Error> {
        self.put(field, None, values)
    }

    /// Sets a field of some worlds, (ids.len(), n).
    pub(crate) fn set_rows(&mut self, field: Field, ids: &[usize], values: &[f64]) -> Result<(), Error> {
        let all = ids.len() == self.batch.nworld() && ids.iter().enumerate().all(|(k, &id)| k == id);
        self.put(field, (!all).then_some(ids), values)
    }

    fn put(&mut self, field: Field, ids: Option<&[usize]>, values: &[f64]) -> Result<(), Error> {
        if values.is_empty() {
            return Ok(());
        }
        if field.info().kind == Kind::I {
            let words: Vec<i32> = values.iter().map(|&x| x as i32).collect();
            match ids {
                None => self.batch.upload_int(field, &words)?,
                Some(ids) => self.batch.upload_int_rows(field, ids, &words)?,
            }
            return Ok(());
        }
        let hi: Vec<f32> = values.iter().map(|&x| x as f32).collect();
        self.put_real(field, ids, &hi)?;
        if field == Field::qpos {
            let nq = self.two_float.len();
            let rest = |k: usize, x: f64| if self.two_float[k % nq] { (x - f64::from(hi[k])) as f32 } else { 0.0 };
            let lo: Vec<f32> = values.iter().enumerate().map(|(k, &x)| rest(k, x)).collect();
            self.put_real(Field::qpos_lo, ids, &lo)?;
        }
        Ok(())
    }

    fn put_real(&mut self, field: Field, ids: Option<&[usize]>, values: &[f32]) -> Result<(), Error> {
        match ids {
            None => self.batch.upload(field, values)?,
            Some(ids) => self.batch.upload_rows(field, ids, values)?,
        }
        Ok(())
    }

    /// Runs `n` steps.
    pub(crate) fn step(&mut self, step: &[Call], n: usize) -> Result<(), Error> {
        Ok(self.batch.step(step, n)?)
    }

    /// Keeps the last `depth` states of every world from now on.
    pub(crate) fn remember(&mut self, depth: usize) -> Result<(), Error> {
        Ok(self.batch.remember(depth)?)
    }

    /// The states that the last steps of a world began with, the oldest first.
    pub(crate) fn history(&self, w: usize) -> Result<Vec<Record>, Error> {
        let record = |d: &Data<f32>| {
            let values = |field: Field| -> Vec<f64> {
                let reals = d.reals(field).into_iter().flatten().map(|&x| f64::from(x));
                match field {
                    Field::qpos => reals.zip(&d.qpos_lo).map(|(hi, &lo)| hi + f64::from(lo)).collect(),
                    Field::eq_active => d.eq_active.iter().map(|&on| f64::from(on)).collect(),
                    _ => reals.collect(),
                }
            };
            Record { fields: Record::list().map(|f| (f, values(f))).collect() }
        };
        Ok(self.batch.history(w)?.iter().map(record).collect())
    }

    /// The fields of the given worlds, (ids.len(), n) each: the kept ones as they are, computed ones after a forward pass, of some
    /// worlds on copies of them. What is kept of the worlds stays as it is.
    pub(crate) fn forward(&mut self, calls: &[Call], ids: &[usize], fields: &[Field]) -> Result<Vec<Vec<f64>>, Error> {
        let kept = |f: &Field| f.info().buffer == Buffer::State || f.info().is_model() || COUNTERS.contains(f);
        let all = ids.len() == self.batch.nworld() && ids.iter().enumerate().all(|(k, &id)| k == id);
        let some = (!all).then_some(ids);
        let computed: Vec<Field> = fields.iter().copied().filter(|f| !kept(f)).collect();
        let mut found: std::vec::IntoIter<Vec<f64>> = if computed.is_empty() {
            Vec::new()
        } else if all {
            self.batch
                .look(calls, |batch| computed.iter().map(|&f| read(batch, f, None)).collect::<Result<_, Error>>())?
        } else {
            let words = self.batch.aside(calls, ids, &computed)?;
            computed.iter().zip(&words).map(|(&f, words)| values(f, words)).collect()
        }
        .into_iter();
        let take =
            |&f: &Field| if kept(&f) { read(&self.batch, f, some) } else { Ok(found.next().unwrap_or_default()) };
        fields.iter().map(take).collect()
    }

    /// Everything of one world as the last call left it.
    pub(crate) fn world(&self, w: usize) -> Result<Data<f64>, Error> {
        Ok(crate::cpu_batch::to_f64(&self.batch.read_world(w)?))
    }

    /// Everything of one world after the calls; the batch stays as it is.
    pub(crate) fn world_after(&mut self, calls: &[Call], w: usize) -> Result<Data<f64>, Error> {
        Ok(crate::cpu_batch::to_f64(&self.batch.world_aside(calls, w)?))
    }

    /// Seconds a step of each stage over `n` steps.
    pub(crate) fn profile(&mut self, step: &[Call], n: usize) -> Result<Vec<(Stage, f64)>, Error> {
        // timed stages have kernels of their own, which drivers compile at their first run
        self.batch.timings().enable(true);
        let result = self.batch.submit(step, 1).and_then(|()| {
            self.batch.timings().take();
            self.batch.submit(step, n)
        });
        self.batch.timings().enable(false);
        result?;
        Ok(self.batch.timings().take().into_iter().map(|(stage, seconds, _)| (stage, seconds / n as f64)).collect())
    }
}

/// A field of all worlds or of some, as it is on the device.
fn read(batch: &GpuBatch, field: Field, ids: Option<&[usize]>) -> Result<Vec<f64>, Error> {
    if field.info().kind == Kind::I {
        let words = match ids {
            None => batch.download_int(field)?,
            Some(ids) => batch.download_int_rows(field, ids)?,
        };
        return Ok(words.into_iter().map(f64::from).collect());
    }
    let real = |f| match ids {
        None => batch.download(f),
        Some(ids) => batch.download_rows(f, ids),
    };
    let mut values: Vec<f64> = real(field)?.into_iter().map(f64::from).collect();
    if field == Field::qpos {
        values.iter_mut().zip(real(Field::qpos_lo)?).for_each(|(x, lo)| *x += f64::from(lo));
    }
    Ok(values)
}

/// Words of a field as numbers.
fn values(field: Field, words: &[u32]) -> Vec<f64> {
    let number = |&w: &u32| match field.info().kind {
        Kind::I => f64::from(w.cast_signed()),
        Kind::F => f64::from(f32::from_bits(w)),
    };
    words.iter().map(number).collect()
}
