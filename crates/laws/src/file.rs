//! What a law file says.

use crate::expr::Expr;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A law, as its file states it.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct LawFile {
    pub(crate) title: String,
    pub(crate) cites: String,
    pub(crate) model: String,
    pub(crate) why: String,
    /// keyframe to start from
    #[serde(default)]
    pub(crate) key: Option<usize>,
    #[serde(default)]
    vars: BTreeMap<String, Text>,
    #[serde(default)]
    option: BTreeMap<String, toml::Value>,
    #[serde(default)]
    set: BTreeMap<String, Texts>,
    #[serde(default)]
    start: BTreeMap<String, Texts>,
    pub(crate) measure: Measure,
    pub(crate) check: Vec<Check>,
    #[serde(default)]
    pub(crate) case: Vec<Case>,
    pub(crate) control: Vec<Control>,
}

/// Variables, options of the file, model fields and start state: of the law, of a case or of a control.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'a> {
    pub(crate) vars: &'a BTreeMap<String, Text>,
    pub(crate) option: &'a BTreeMap<String, toml::Value>,
    pub(crate) set: &'a BTreeMap<String, Texts>,
    pub(crate) start: &'a BTreeMap<String, Texts>,
}

macro_rules! change {
    ($($of:ident)*) => {$(
        impl $of {
            /// What it changes.
            pub(crate) fn change(&self) -> Change<'_> {
                Change { vars: &self.vars, option: &self.option, set: &self.set, start: &self.start }
            }
        }
    )*};
}

change! { LawFile Case Control }

impl Default for Change<'_> {
    /// No change.
    fn default() -> Self {
        static NONE: (BTreeMap<String, Text>, BTreeMap<String, toml::Value>, BTreeMap<String, Texts>) =
            (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { vars: &NONE.0, option: &NONE.1, set: &NONE.2, start: &NONE.2 }
    }
}

/// What is done and read.
#[derive(Deserialize, Debug)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum Measure {
    /// the signal after `steps`
    Final { steps: usize },
    /// its change over `steps` after `settle` steps
    Change {
        #[serde(default)]
        settle: usize,
        steps: usize,
    },
    /// its change a second
    Rate {
        #[serde(default)]
        settle: usize,
        steps: usize,
    },
    /// its largest departure from the start, looked at every so many steps
    Conserved { samples: usize, every: usize },
    /// its period: upward zero crossings after `first` and after `first + count` periods, looked for in `window` steps
    /// before and after where they are expected
    Period { first: f64, count: f64, window: usize },
    /// the order of its error: log2 of (x(h) - x(h/2))/(x(h/2) - x(h/4)) after the time of `steps` steps of h
    Order { steps: usize },
    /// its difference from the same check of the first case
    Same { steps: usize },
    /// the value of a variable, raised step by step, at which `until` comes true
    Sweep(Box<Sweep>),
    /// the largest displacement of any item from where it was after `settle` steps, as the variable `drift`
    Drift(Drift),
    /// the largest size of the signal at any step of a control's ramp to a target
    Ramp(Ramp),
    /// worlds whose bits differ, as the variable `different`
    Bits(Bits),
}

/// Items that should stay where they are.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Drift {
    pub(crate) settle: usize,
    pub(crate) samples: usize,
    pub(crate) every: usize,
    /// first and last value of the variable `i`
    pub(crate) items: [usize; 2],
    /// the coordinates of item `i`
    pub(crate) parts: [Text; 3],
}

/// A control ramped to a target.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ramp {
    pub(crate) actuator: usize,
    pub(crate) target: Text,
    pub(crate) seconds: f64,
    /// steps that a control is held
    pub(crate) period: Text,
}

/// Runs of batches of one world and its companions, compared bit by bit.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bits {
    pub(crate) what: What,
    pub(crate) steps: usize,
    /// worlds of a batch
    pub(crate) sizes: Vec<usize>,
    /// the largest size tried on software devices and under controls
    #[serde(default)]
    pub(crate) few: usize,
    /// contacts that a world can hold
    #[serde(default)]
    pub(crate) nconmax: Option<usize>,
    /// the keyframe in which there are more
    #[serde(default)]
    pub(crate) crowd: Option<usize>,
}

/// What is compared.
#[derive(Deserialize, Debug, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(crate) enum What {
    /// worlds alone with the same in batches
    Alone,
    /// a run with the same run
    Twice,
    /// worlds beside disturbed ones with the same undisturbed
    Neighbours,
    /// worlds saved and restored with the same never stopped
    Restored,
}

/// A variable raised until something comes true.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sweep {
    pub(crate) var: String,
    pub(crate) from: Text,
    pub(crate) by: f64,
    /// steps at each value
    pub(crate) hold: usize,
    /// values tried
    pub(crate) most: usize,
    pub(crate) until: Until,
    /// state set at the start
    pub(crate) place: BTreeMap<String, Texts>,
    /// state set at each value
    pub(crate) r#move: BTreeMap<String, Texts>,
}

/// The end of a sweep.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Until {
    pub(crate) signal: Text,
    pub(crate) above: Text,
}

/// A quantity with its expected value.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Check {
    pub(crate) name: String,
    /// `final` where the law's kind does not apply to this signal
    #[serde(default)]
    pub(crate) kind: Option<Final>,
    pub(crate) signal: Text,
    pub(crate) expected: Text,
    #[serde(default)]
    pub(crate) abs_tol: f64,
    #[serde(default)]
    pub(crate) rel_tol: f64,
    #[serde(default)]
    pub(crate) below: Option<f64>,
    #[serde(default)]
    pub(crate) above: Option<f64>,
    /// cases that it applies to; all where absent
    #[serde(default)]
    pub(crate) cases: Option<Vec<String>>,
}

/// The only kind that a check can have for itself.
#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Final {
    Final,
}

/// A variant of the law: a world of its own.
#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// expected values that differ from the check's, by its name
    #[serde(default)]
    pub(crate) expected: BTreeMap<String, Text>,
    #[serde(default)]
    vars: BTreeMap<String, Text>,
    #[serde(default)]
    option: BTreeMap<String, toml::Value>,
    #[serde(default)]
    set: BTreeMap<String, Texts>,
    #[serde(default)]
    start: BTreeMap<String, Texts>,
}

/// A change that must make checks fail.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct Control {
    pub(crate) why: String,
    /// checks that must fail; all where absent
    #[serde(default)]
    pub(crate) fails: Option<Vec<String>>,
    /// cases that it is tried on; all where absent
    #[serde(default)]
    pub(crate) cases: Option<Vec<String>>,
    #[serde(default)]
    vars: BTreeMap<String, Text>,
    #[serde(default)]
    option: BTreeMap<String, toml::Value>,
    #[serde(default)]
    set: BTreeMap<String, Texts>,
    #[serde(default)]
    start: BTreeMap<String, Texts>,
}

/// An expression, written as a number or a text.
#[derive(Debug, Clone)]
pub(crate) struct Text(pub(crate) Expr);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Raw {
            Number(f64),
            Text(String),
        }
        match Raw::deserialize(d)? {
            Raw::Number(x) => Ok(Self(Expr::Number(x))),
            Raw::Text(s) => Expr::parse(&s).map(Self).map_err(serde::de::Error::custom),
        }
    }
}

/// One expression or a row of them.
#[derive(Deserialize, Debug, Clone)]
#[serde(untagged)]
pub(crate) enum Texts {
    One(Text),
    Row(Vec<Text>),
}

impl Check {
    /// Lowest and highest value that passes.
    pub(crate) fn bounds(&self, expected: f64) -> (f64, f64) {
        let tol = self.abs_tol + self.rel_tol * expected.abs();
        (expected - self.below.unwrap_or(tol), expected + self.above.unwrap_or(tol))
    }
}

/// True where a list is absent or holds the name.
pub(crate) fn applies(list: Option<&Vec<String>>, name: &str) -> bool {
    list.is_none_or(|l| l.iter().any(|x| x == name))
}
