//! `kiloworld replay`.

use crate::args::Replay;
use crate::common::Outcome;
use crate::out::one_line;
use anyhow::Result;
use kiloworld_model::shown;
use kiloworld_sim::{Break, Difference, Dump};
use serde_json::json;

pub(crate) fn run(args: &Replay, json: bool) -> Result<Outcome> {
    let replay = Dump::read(&args.file)?.replay();
    let outcome = if replay.breaks.is_some() || replay.breaks_last.is_some() { Outcome::Failed } else { Outcome::Ok };
    if json {
        println!("{}", json!({ "file": args.file, "replay": replay }));
        return Ok(outcome);
    }
    let about = &replay.about;
    println!("{}: world {} of {} of model {}", args.file.display(), about.world, about.nworld, shown(&about.model));
    println!("recorded on {}; at {:.6} s: {}", shown(&about.backend), about.time, one_line(&about.words));
    println!("replayed on the CPU in f64: largest difference of qpos, qvel, act after each step");
    println!("{:>5} {:>12}  {:<34} since the first", "step", "time [s]", "from the recorded state");
    let difference = |d: &Option<Difference>| match d {
        Some(d) if d.size == 0.0 => "0".to_owned(),
        Some(d) => format!("{:.2e} {}[{}]", d.size, d.field, d.index),
        None => "-".to_owned(),
    };
    for s in &replay.steps {
        let note = if s.set { "  (the state was set before it)" } else { "" };
        println!("{:>5} {:>12.6}  {:<34} {}{note}", s.step, s.time, difference(&s.error), difference(&s.drift));
    }
    let worst = replay.steps.iter().filter_map(|s| s.error.as_ref()).max_by(|a, b| a.size.total_cmp(&b.size));
    if let Some(d) = worst.filter(|d| d.size > 0.0) {
        println!(
            "largest difference of one step: {:.2e} in {}[{}], {}",
            d.size,
            d.field,
            d.index,
            one_line(&d.element)
        );
    }
    say("from the last recorded state", &replay.breaks_last);
    say("by itself from the first recorded state", &replay.breaks);
    Ok(outcome)
}

fn say(from: &str, breaks: &Option<Break>) {
    let Some(b) = breaks else {
        println!("{from}, f64 does not break");
        return;
    };
    println!("{from}, f64 breaks in step {} at {:.6} s: {}", b.step, b.time, b.words);
    if !b.stage.is_empty() {
        println!(
            "  first in {}[{}] = {} ({}), written by stage {}",
            b.field,
            b.index,
            b.value,
            one_line(&b.element),
            b.stage
        );
    }
}
