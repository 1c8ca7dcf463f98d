//! Timed events of a trace: `STEP:ACTION=EQUALITY`.

use crate::out::names;
use anyhow::{Result, bail};
use kiloworld_model::{Kind, Model};
use kiloworld_sim::Batch;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Attach,
    Release,
    Capture,
}

/// Something that happens before a step, in every world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) step: usize,
    action: Action,
    equality: usize,
}

impl Event {
    /// Reads the events of the command line, in the order in which they happen.
    pub(crate) fn parse(texts: &[String], model: &Model, steps: usize) -> Result<Vec<Self>> {
        let mut events: Vec<Self> = texts.iter().map(|t| Self::read(t, model, steps)).collect::<Result<_>>()?;
        events.sort_by_key(|e| e.step);
        Ok(events)
    }

    fn read(text: &str, model: &Model, steps: usize) -> Result<Self> {
        let Some((step, (action, name))) = text.split_once(':').and_then(|(s, rest)| Some((s, rest.split_once('=')?)))
        else {
            bail!("--at {text}: expected STEP:ACTION=EQUALITY, such as 100:capture=grasp");
        };
        let Ok(step) = step.parse() else { bail!("--at {text}: `{step}` is not a number of a step") };
        if step >= steps {
            bail!("--at {text}: the trace has steps 0 to {}; give more --steps", steps.saturating_sub(1));
        }
        let action = match action {
            "attach" => Action::Attach,
            "release" => Action::Release,
            "capture" => Action::Capture,
            other => bail!("--at {text}: there is no action `{other}`: attach, release or capture"),
        };
        let neq = model.layout.size.neq;
        let found = model.id(Kind::Equality, name).or_else(|| name.parse().ok().filter(|&e| e < neq));
        let Some(equality) = found else {
            let names = names(model.names.of(Kind::Equality).iter().map(|(_, name)| name));
            match neq {
                0 => bail!("--at {text}: the model has no equality constraint"),
                _ => bail!(
                    "--at {text}: there is no equality constraint `{name}`; the model has {names} (0 to {})",
                    neq - 1
                ),
            }
        };
        Ok(Self { step, action, equality })
    }

    /// True where the batch must let each world hold its own pose.
    pub(crate) fn captures(&self) -> bool {
        self.action == Action::Capture
    }

    /// Lets it happen in every world.
    pub(crate) fn apply(&self, batch: &mut Batch) -> Result<()> {
        let all: Vec<usize> = (0..batch.nworld()).collect();
        match self.action {
            Action::Attach => batch.activate(self.equality, &all, true)?,
            Action::Release => batch.activate(self.equality, &all, false)?,
            Action::Capture => batch.capture(self.equality, &all)?,
        }
        Ok(())
    }
}
