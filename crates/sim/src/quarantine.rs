//! What becomes of a world that cannot go on: frozen at its last good state, put back to its start, or an error; and the log.

use crate::batch::Batch;
use crate::{BatchBuilder, Error, bad_arrays};
use kiloworld_layout::Field;
use kiloworld_layout::consts::{MAXVAL, status};
use kiloworld_model::Names;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What a batch does with a world whose contacts or rows overflow, whose next state would not be finite, or that was given a
/// control or force that is not. Its neighbours keep their bits whatever is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// it stays at its last good state, with its status set, until it is reset
    #[default]
    Freeze,
    /// it is noted in the log and put back to the reference pose, or to the keyframe that it was last reset to, at the end of
    /// the call that stepped it
    Reset,
    /// the call that steps finishes for all worlds and returns [`Error::Failed`], as long as a world is frozen
    Error,
}

/// A world that could not go on.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Failure {
    /// the world
    pub world: usize,
    /// bits of [`status`]
    pub reason: i32,
    /// the reason in words
    pub words: String,
    /// bits of [`bad`](kiloworld_layout::consts::bad): the arrays whose numbers froze it
    pub bad: i32,
    /// steps since reset that it finished
    pub step: usize,
    /// simulation time of its last good state [s]
    pub time: f64,
    /// contacts that it had at most, of any step since reset: what `nconmax` would have to be
    pub ncon_need: usize,
    /// constraint rows that it had at most: what `njmax` would have to be
    pub nefc_need: usize,
}

impl core::fmt::Display for Failure {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "world {} at {:.6} s, step {}: {}", self.world, self.time, self.step, self.words)
    }
}

/// Failures that the log holds; older ones are forgotten.
const LOG: usize = 1 << 16;
/// Failures that an error spells out.
const SPELLED: usize = 8;

/// A batch's policy, log, and what it needs for both.
#[derive(Clone, Debug, Default)]
pub(crate) struct Quarantine {
    pub(crate) policy: Policy,
    pub(crate) names: Names,
    pub(crate) model_name: String,
    /// worlds that were started from a keyframe
    start: BTreeMap<usize, usize>,
    /// frozen worlds that are in the log
    known: BTreeSet<usize>,
    log: VecDeque<Failure>,
}

impl Quarantine {
    pub(crate) fn new(model: &kiloworld_model::Model, policy: Policy) -> Self {
        Self { policy, names: model.names.clone(), model_name: model.name.clone(), ..Self::default() }
    }

    /// Notes that worlds were reset.
    pub(crate) fn started(&mut self, ids: &[usize], keyframe: Option<usize>) {
        for &w in ids {
            self.known.remove(&w);
            match keyframe {
                Some(k) => self.start.insert(w, k),
                None => self.start.remove(&w),
            };
        }
    }
}

impl BatchBuilder<'_> {
    /// What is done with worlds that cannot go on ([`Policy::Freeze`]).
    pub fn on_failure(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }
}

/// The bits of a status in words.
pub(crate) fn words(reason: i32, bad: i32, need: [usize; 2], have: [usize; 2]) -> String {
    let arrays = bad_arrays(bad).join(", ");
    let of = if arrays.is_empty() { arrays } else { format!(" ({arrays})") };
    let mut parts = Vec::new();
    if reason & status::CONTACT_OVERFLOW != 0 {
        parts.push(format!("{} contacts, nconmax is {}", need[0], have[0]));
    }
    if reason & status::ROW_OVERFLOW != 0 {
        parts.push(format!("{} constraint rows, njmax is {}", need[1], have[1]));
    }
    if reason & status::NONFINITE != 0 {
        parts.push(format!("the next state would not be finite{of}"));
    }
    if reason & status::DIVERGED != 0 {
        parts.push(format!("the next state would be beyond {MAXVAL:e}{of}"));
    }
    if reason & status::BAD_CTRL != 0 {
        parts.push(format!("a control or an applied force is not finite{of}"));
    }
    if reason & status::LOOP_LIMIT != 0 {
        parts.push("the device stopped loops before their end".to_owned());
    }
    parts.join("; ")
}

/// Several failures and what to do about them.
pub(crate) fn describe(failures: &[Failure]) -> String {
    let any = |bits: i32| failures.iter().any(|f| f.reason & bits != 0);
    let most = |need: fn(&Failure) -> usize| failures.iter().map(need).max().unwrap_or(0);
    let mut out = format!("{} {} failed: ", failures.len(), if failures.len() == 1 { "world" } else { "worlds" });
    let spelled: Vec<String> = failures.iter().take(SPELLED).map(ToString::to_string).collect();
    out.push_str(&spelled.join("; "));
    if failures.len() > SPELLED {
        out.push_str(&format!("; and {} more", failures.len() - SPELLED));
    }
    let mut remedies = Vec::new();
    if any(status::CONTACT_OVERFLOW | status::ROW_OVERFLOW) {
        remedies.push(format!("give nconmax {} and njmax {}", most(|f| f.ncon_need), most(|f| f.nefc_need)));
    }
    if any(status::BAD_CTRL) {
        remedies.push("look for the numbers in ctrl, qfrc_applied and xfrc_applied that are not finite".to_owned());
    }
    if any(status::LOOP_LIMIT) {
        remedies.push("share a world among more lanes, or take another device".to_owned());
    }
    if any(status::NONFINITE | status::DIVERGED) {
        remedies.push("dump such a world and replay it in f64; often the time step is too large".to_owned());
    }
    format!("{out}; to go on, {}, and reset the worlds (or choose another policy)", remedies.join("; "))
}

impl Batch {
    /// The worlds that failed since the batch was made, or since [`Batch::clear_failures`], the newest last: those that are
    /// frozen now, and those that were put back. The log holds the last 65,536.
    pub fn failures(&mut self) -> Result<Vec<Failure>, Error> {
        self.look_for_failures()?;
        Ok(self.quarantine.log.iter().cloned().collect())
    }

    /// Empties the log; worlds that are frozen stay so, and are not entered again.
    pub fn clear_failures(&mut self) -> Result<(), Error> {
        self.look_for_failures()?;
        self.quarantine.log.clear();
        Ok(())
    }

    /// The newest entry of a world.
    pub(crate) fn failure_of(&mut self, world: usize) -> Result<Option<Failure>, Error> {
        self.look_for_failures()?;
        Ok(self.quarantine.log.iter().rev().find(|f| f.world == world).cloned())
    }

    /// Enters the worlds that are frozen and not in the log yet; returns all that are frozen.
    fn look_for_failures(&mut self) -> Result<Vec<usize>, Error> {
        let status = self.status()?;
        let frozen: Vec<usize> = (0..self.nworld).filter(|&w| status[w] & status::FROZEN != 0).collect();
        let new: Vec<usize> = frozen.iter().copied().filter(|w| !self.quarantine.known.contains(w)).collect();
        if new.is_empty() {
            return Ok(frozen);
        }
        let found = self.describe_failures(&new, &status)?;
        let log = &mut self.quarantine.log;
        log.extend(found);
        log.drain(..log.len().saturating_sub(LOG));
        self.quarantine.known.extend(new);
        Ok(frozen)
    }

    fn describe_failures(&mut self, worlds: &[usize], status: &[i32]) -> Result<Vec<Failure>, Error> {
        let fields = [Field::time, Field::ncon_need, Field::nefc_need, Field::bad_fields, Field::nstep];
        let v = self.forward(worlds, &fields)?;
        let have = [self.m.size.nconmax, self.m.size.njmax];
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts")]
        let failure = |(k, &world): (usize, &usize)| {
            let (reason, need) = (status[world] & status::FROZEN, [v[1][k] as usize, v[2][k] as usize]);
            let (bad, step) = (v[3][k] as i32, v[4][k] as usize);
            let words = words(reason, bad, need, have);
            Failure { world, reason, words, bad, step, time: v[0][k], ncon_need: need[0], nefc_need: need[1] }
        };
        Ok(worlds.iter().enumerate().map(failure).collect())
    }

    /// Enters what a reset would wipe out; under other policies the call that stepped has done so.
    pub(crate) fn enter_failures(&mut self) -> Result<(), Error> {
        if self.quarantine.policy == Policy::Freeze {
            self.look_for_failures()?;
        }
        Ok(())
    }

    /// Does what the policy says at the end of a call that stepped the worlds.
    pub(crate) fn settle(&mut self) -> Result<(), Error> {
        if self.quarantine.policy == Policy::Freeze {
            return Ok(());
        }
        let frozen = self.look_for_failures()?;
        if frozen.is_empty() {
            return Ok(());
        }
        if self.quarantine.policy == Policy::Error {
            let status = self.status()?;
            return Err(Error::Failed(self.describe_failures(&frozen, &status)?));
        }
        let mut starts: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
        for w in frozen {
            starts.entry(self.quarantine.start.get(&w).copied()).or_default().push(w);
        }
        starts.into_iter().try_for_each(|(keyframe, ids)| self.reset(Some(&ids), keyframe))
    }
}
