//! What several commands share.

use crate::args::{BackendArg, CtrlArg, PrecisionArg, Where};
use crate::arrays::Array;
use crate::out::{names, one_line};
use anyhow::{Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use kiloworld_gpu::TuningChange;
use kiloworld_model::{Kind, Model};
use kiloworld_sim::{Backend, Batch, BatchBuilder, Field, Precision, memory, rng};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::Path;

/// How a command ended, when it ran to its end.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// as it should: exit code 0
    Ok,
    /// worlds failed, or a law does not hold: exit code 3
    Failed,
}

/// Reads and compiles a model; its warnings go to stderr, so that what a command prints stays its own.
pub(crate) fn load(path: &Path) -> Result<Model> {
    let model = Model::from_path(path)?;
    for warning in &model.warnings {
        eprintln!("warning: {}", one_line(&warning.to_string()));
    }
    Ok(model)
}

/// A builder as the command line asks for.
pub(crate) fn builder<'m>(model: &'m Model, nworld: usize, place: &Where) -> BatchBuilder<'m> {
    let mut builder = Batch::builder(model)
        .nworld(nworld)
        .backend(match place.backend {
            BackendArg::Auto => Backend::Auto,
            BackendArg::Cpu => Backend::Cpu,
            BackendArg::Gpu => Backend::Gpu,
        })
        .precision(match place.precision {
            PrecisionArg::Auto => Precision::Auto,
            PrecisionArg::F32 => Precision::F32,
            PrecisionArg::F64 => Precision::F64,
        });
    builder = builder.welds(place.welds.into());
    if let Some(h) = place.timestep {
        builder = builder.timestep(h);
    }
    if place.no_health {
        builder = builder.without_health();
    }
    if let Some(n) = place.nconmax {
        builder = builder.nconmax(n);
    }
    if let Some(n) = place.njmax {
        builder = builder.njmax(n);
    }
    if let Some(n) = place.iterations {
        builder = builder.iterations(n);
    }
    builder.tuning(TuningChange {
        lanes: place.lanes,
        worlds_per_group: place.worlds_per_group,
        newton_steps: place.newton_steps,
        fused: place.fused,
    })
}

/// The keyframe that a user names, by name or number.
pub(crate) fn keyframe(model: &Model, asked: Option<&str>) -> Result<Option<usize>> {
    let Some(asked) = asked else { return Ok(None) };
    let nkey = model.layout.size.nkey;
    if let Some(k) = model.id(Kind::Key, asked).or_else(|| asked.parse().ok().filter(|&k| k < nkey)) {
        return Ok(Some(k));
    }
    let names = names(model.names.of(Kind::Key).iter().map(|(_, name)| name));
    match nkey {
        0 => bail!("there is no keyframe {asked}: the model has none"),
        _ => bail!("there is no keyframe {asked}: the model has {names} (0 to {})", nkey - 1),
    }
}

/// Sets the fields of a state file: arrays (nworld, n), or (n) for all worlds alike.
pub(crate) fn set_state(batch: &mut Batch, state: &BTreeMap<String, Array>) -> Result<()> {
    for (name, array) in state {
        let Some(field) = Field::from_name(name) else {
            bail!(
                "the state file has `{name}`, which is not a field; a state has time, qpos, qvel, act, ctrl, qacc_warmstart, \
                 qfrc_applied, xfrc_applied, mocap_pos, mocap_quat, eq_active"
            );
        };
        let n = field.info().len(&batch.model().size);
        if array.data.len() == n {
            batch.set(field, &array.data.repeat(batch.nworld()))?;
        } else {
            batch.set(field, &array.data)?;
        }
    }
    Ok(())
}

/// Controls uniform in their ranges, new every step.
pub(crate) fn random_control(batch: &Batch, seed: u64) -> impl Fn(usize, usize, &mut [f64]) + Sync + use<> {
    let ranges = batch.ctrl_ranges();
    move |w, k, ctrl| {
        for (i, (c, (lo, hi))) in ctrl.iter_mut().zip(&ranges).enumerate() {
            *c = lo + (hi - lo) * rng::uniform(seed, w, k, i);
        }
    }
}

/// Steps `at` to `at + n` under the controls that are asked for, `random` being those of [`random_control`].
pub(crate) fn step(
    batch: &mut Batch,
    ctrl: CtrlArg,
    random: &(impl Fn(usize, usize, &mut [f64]) + Sync),
    at: usize,
    n: usize,
) -> Result<(), kiloworld_sim::Error> {
    match ctrl {
        CtrlArg::Zero => batch.step(n),
        CtrlArg::Random => batch.step_with(n, &|w, k, ctrl| random(w, at + k, ctrl)),
    }
}

/// The capacities to run again with, where worlds froze for want of them.
pub(crate) fn advice(batch: &mut Batch) -> Result<Option<String>> {
    let advice = batch.advice()?;
    Ok(advice.map(|room| format!("overflow: run again with --nconmax {} --njmax {}", room.ncon, room.nefc)))
}

/// An error where so many numbers do not fit into memory, before they are asked for.
pub(crate) fn fits(numbers: u128, what: &str) -> Result<()> {
    let bytes = 8 * numbers;
    match memory::available() {
        Some(there) if bytes > u128::from(there) => {
            bail!("{what} need {} of memory, {} are available", memory::bytes(bytes), memory::bytes(there.into()))
        }
        _ => Ok(()),
    }
}

/// Takes steps `done` to `steps` in pieces, with a progress bar: `step(at, n)`.
pub(crate) fn in_pieces(
    mut done: usize,
    steps: usize,
    json: bool,
    mut step: impl FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    let bar = progress(steps, json);
    let piece = (steps / 50).clamp(1, 100);
    while done < steps {
        let n = piece.min(steps - done);
        step(done, n)?;
        done += n;
        bar.set_position(done as u64);
    }
    bar.finish_and_clear();
    Ok(())
}

/// A progress bar on a terminal; nothing elsewhere.
fn progress(steps: usize, json: bool) -> ProgressBar {
    if json || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} steps, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(steps as u64).with_style(style)
}

/// A count with separators: 1,234,567.
pub(crate) fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::thousands;

    #[test]
    fn separators_stand_every_three_digits() {
        assert_eq!(
            ["7", "999", "1,000", "12,345,678"],
            [7, 999, 1000, 12_345_678].map(thousands).each_ref().map(|s| s.as_str())
        );
    }
}
