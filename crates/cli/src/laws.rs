//! `kiloworld laws`.

use crate::args::{LawBackend, Laws};
use crate::common::Outcome;
use anyhow::{Result, bail};
use kiloworld_gpu::{Gpu, GpuOptions};
use kiloworld_laws::{Backend, Verdict, run_all};

pub(crate) fn run(args: &Laws, json: bool) -> Result<Outcome> {
    let filter = args.filter.as_deref().unwrap_or_default();
    let backends = match args.backend {
        Some(LawBackend::CpuF64) => vec![Backend::CpuF64],
        Some(LawBackend::CpuF32) => vec![Backend::CpuF32],
        Some(LawBackend::CpuF64Lanes) => vec![Backend::CpuF64Lanes],
        Some(LawBackend::CpuF32Lanes) => vec![Backend::CpuF32Lanes],
        Some(LawBackend::Gpu) => vec![Backend::Gpu],
        None => match Gpu::new(&GpuOptions::default()) {
            Ok(_) => Backend::ALL.to_vec(),
            Err(error) => {
                eprintln!("no law is checked on a GPU: {error}");
                Backend::ALL.into_iter().filter(|&b| b != Backend::Gpu).collect()
            }
        },
    };
    if !json {
        println!(
            "{:<18} {:<13} {:<40} {:>13} {:>13} {:>27}  verdict  control",
            "law", "backend", "case and quantity", "expected", "measured", "bounds"
        );
    }
    let (mut held, mut broken) = (0, 0);
    for backend in backends {
        for verdict in run_all(filter, backend, |v| show(v, json))? {
            if verdict.pass {
                held += 1;
            } else {
                broken += 1;
            }
        }
    }
    if held + broken == 0 {
        bail!("no law's name contains `{filter}`; the laws are {}", kiloworld_laws::NAMES.join(", "));
    }
    if !json {
        println!("{held} laws hold, {broken} do not");
    }
    Ok(if broken == 0 { Outcome::Ok } else { Outcome::Failed })
}

fn show(v: &Verdict, json: bool) {
    if json {
        match serde_json::to_string(v) {
            Ok(line) => println!("{line}"),
            Err(error) => eprintln!("{}: {error}", v.law),
        }
        return;
    }
    if let Some(error) = &v.error {
        println!("{:<18} {:<13} could not be measured: {error}", v.law, v.backend.name());
    }
    for row in &v.rows {
        let what = format!("{} {}", row.case, row.check);
        let noticed = row.controls.iter().filter(|c| !c.pass).count();
        let controls = match row.controls.len() {
            0 => "-".to_owned(),
            n if noticed == n => "fails, as it must".to_owned(),
            n => format!("{} OF {n} DO NOT FAIL", n - noticed),
        };
        println!(
            "{:<18} {:<13} {:<40} {:>13.6} {:>13.6} {:>13.6}{:>+14.6}  {:<7}  {controls}",
            v.law,
            v.backend.name(),
            what.trim(),
            row.expected,
            row.measured,
            row.low,
            row.high,
            if row.pass { "holds" } else { "BROKEN" },
        );
    }
}
