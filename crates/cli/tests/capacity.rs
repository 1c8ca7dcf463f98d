//! Capacities and memory on the command line: what does not fit is said before it is taken, what is printed is what is taken, advice
//! works at the first try, and worlds that freeze end every command with the same code.

mod common;

use common::{command, file, json, kiloworld, no_file, text};
use serde_json::Value;

/// Sizes that no machine has: an error with what is needed, what there is, and what would fit.
#[cfg(target_os = "linux")]
#[test]
fn too_much_is_an_error_with_sizes() {
    let (humanoid, end) = ("models/humanoid.xml", no_file("too-much.npz"));
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("rollout", &["--worlds", "1000000000"], &["1000000000 worlds need", "are available", "worlds fit"]),
        ("rollout", &["--worlds", "18446744073709551615"], &["are available", "worlds fit"]),
        ("rollout", &["--history", "1000000", "--backend", "cpu"], &["4096 worlds need", "are available"]),
        ("rollout", &["--history", "18446744073709551615"], &["not one world fits", "history"]),
        ("rollout", &["--nconmax", "18446744073709551615"], &["nconmax = 18446744073709551615 is too large"]),
        ("rollout", &["--njmax", "18446744073709551615"], &["njmax = 18446744073709551615 is too large"]),
        ("rollout", &["--backend", "gpu", "--worlds", "1000000000"], &["are available", "worlds fit"]),
        ("health", &["--worlds", "1000000000"], &["are available", "worlds fit"]),
        ("bench", &["--worlds", "1000000000"], &["are available", "worlds fit"]),
        (
            "bench",
            &["--worlds", "8", "--steps", "1000000000000"],
            &["the controls of 1000000000000 steps", "are available"],
        ),
        ("trace", &["--steps", "18446744073709551615", "--out", &end], &["of 1 worlds need", "are available"]),
    ];
    for (name, more, parts) in cases {
        let out = kiloworld(&[&[*name, humanoid][..], *more].concat());
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(1), "{name} {more:?}: {said}");
        for part in *parts {
            assert!(said.contains(part), "{name} {more:?}: no {part:?} in {said}");
        }
    }
    // as much as there seems to be, but more than this process may have
    let limited = "ulimit -v 1000000; exec \"$0\" rollout models/humanoid.xml --backend cpu --worlds 1000000";
    let binary = env!("CARGO_BIN_EXE_kiloworld");
    let out = std::process::Command::new("sh").current_dir(common::root()).args(["-c", limited, binary]).output();
    let out = out.expect("a shell");
    assert_eq!(out.status.code(), Some(1), "{}", text(&out.stderr));
    assert!(text(&out.stderr).contains("1000000 worlds need"), "{}", text(&out.stderr));
}

/// What would be chosen for a batch is known without it.
#[cfg(target_os = "linux")]
#[test]
fn routes_take_no_memory_for_worlds() {
    for backend in ["cpu", "gpu"] {
        let out = kiloworld(&["routes", "models/humanoid.xml", "--worlds", "1000000000", "--backend", backend]);
        let said = text(&out.stdout);
        assert_eq!(out.status.code(), Some(0), "{said}{}", text(&out.stderr));
        assert!(said.contains("are available: at most") && said.contains("1000000000 worlds"), "{said}");
    }
}

/// The memory of the process besides that of a run of one small world is what was printed; slots that no world uses take none.
#[cfg(target_os = "linux")]
#[test]
fn what_is_printed_is_what_is_taken() {
    let run = |model: &str, more: &[&str]| -> [f64; 3] {
        let out = kiloworld(&[&["rollout", model, "--steps", "1", "--backend", "cpu", "--json"][..], more].concat());
        let v = json(&out);
        ["bytes_peak", "bytes_per_world", "bytes_shared"].map(|name| v[name].as_f64().unwrap_or_else(|| panic!("{v}")))
    };
    let [base, ..] = run("models/pendulum.xml", &["--worlds", "1"]);
    for precision in ["f32", "f64"] {
        let worlds = 200_000.0;
        let [peak, each, shared] = run("models/humanoid.xml", &["--worlds", "200000", "--precision", precision]);
        let (took, said) = (peak - base, worlds * each + shared);
        assert!((took / said - 1.0).abs() < 0.2, "{precision}: {took} bytes, {said} were said");
    }
    // 144 balls on a plane: 1.2 GB with a dense J, MuJoCo takes 21 MB for a world
    let ball = |i: usize| format!("<body pos='{} {} .049'><freejoint/><geom size='.05'/></body>", i % 12, i / 12);
    let balls: String = (0..144).map(ball).collect();
    let xml = format!("<mujoco><worldbody><geom type='plane' size='5 5 1'/>{balls}</worldbody></mujoco>");
    let [peak, each, shared] = run(&file("balls.xml", xml.as_bytes()), &["--worlds", "16"]);
    assert!(peak - base < 16.0 * each + shared, "{peak} bytes, {base} without worlds, {shared} were said");
    assert!(peak - base < 100e6, "{peak} bytes, {base} without worlds");
    // a history grows as states are recorded
    let [peak, each, _] = run("models/humanoid.xml", &["--worlds", "4", "--history", "100000"]);
    assert!(4.0 * each > 300e6 && peak - base < 100e6, "{peak} bytes, {each} a world were said");
}

/// The command line that is advised, with the rest of the arguments.
fn advised(said: &str) -> Vec<String> {
    let words = said.split("overflow: run again with ").nth(1).and_then(|rest| rest.lines().next());
    words.unwrap_or_else(|| panic!("no advice: {said}")).split(' ').map(str::to_owned).collect()
}

/// Worlds that overflow late, or at once, or whose contacts found no slot at all.
#[test]
fn advice_works_at_the_first_try() {
    let late = "tests/faults/overflow_late.xml";
    let cases: &[(&str, &str, &str, &[&str])] = &[
        ("rollout", "models/humanoid.xml", "300", &["--nconmax", "0"]),
        ("rollout", "models/pallet.xml", "100", &["--nconmax", "1"]),
        ("health", "models/pallet.xml", "100", &["--nconmax", "1"]),
        ("bench", "models/box_stack.xml", "50", &["--njmax", "8"]),
        ("rollout", late, "1500", &[]),
        ("rollout --on-failure error", "models/box_stack.xml", "50", &["--nconmax", "1"]),
    ];
    for &(name, model, steps, few) in cases {
        let run = |room: &[&str]| {
            let name: Vec<&str> = name.split(' ').collect();
            let args = [model, "--worlds", "3", "--steps", steps, "--backend", "cpu"];
            kiloworld(&[&name[..], &args, room].concat())
        };
        let first = run(few);
        let said = [text(&first.stdout), text(&first.stderr)].concat();
        assert_eq!(first.status.code(), Some(3), "{name} {model}: {said}");
        let advice = advised(&said);
        let again = run(&advice.iter().map(String::as_str).collect::<Vec<_>>());
        let said = text(&again.stdout);
        assert!(!said.contains("run again"), "{name} {model}, given {advice:?}: {said}");
        // health may find something else
        assert!(name == "health" || again.status.code() == Some(0), "{name} {model}, given {advice:?}: {said}");
    }
}

/// Every command that makes a batch says what its worlds can hold, and why so much.
#[test]
fn commands_say_what_worlds_can_hold() {
    let out = no_file("room.npz");
    let cases: [&[&str]; 5] = [
        &["rollout", "--worlds", "2", "--steps", "2"],
        &["bench", "--worlds", "2", "--steps", "2", "--warmup", "2"],
        &["health", "--worlds", "2", "--steps", "2"],
        &["trace", "--steps", "2", "--out", &out],
        &["routes", "--worlds", "2"],
    ];
    for case in cases {
        let said = text(&kiloworld(&[case, &["models/humanoid.xml", "--backend", "cpu"]].concat()).stdout);
        assert!(said.contains("room for") && said.contains("a probe saw"), "{case:?}: {said}");
    }
}

/// Worlds that fail end every command with code 3, whatever is done with them, and worlds that do not with 0.
#[test]
fn worlds_that_fail_end_every_command_alike() {
    let cases: [&[&str]; 6] = [
        &["rollout", "--worlds", "3", "--steps", "20"],
        &["rollout", "--worlds", "3", "--steps", "20", "--on-failure", "reset"],
        &["rollout", "--worlds", "3", "--steps", "20", "--on-failure", "error"],
        &["bench", "--worlds", "3", "--steps", "20", "--warmup", "2", "--repeats", "1"],
        &["health", "--worlds", "3", "--steps", "20", "--limit", "penetration=1", "--limit", "residual=1e9"],
        &["trace", "--steps", "20"],
    ];
    // no room, and a state that runs away: a servo of a stiffness that no step can follow
    let wild = r#"<mujoco><worldbody><body><joint name="j" type="slide"/><geom size=".1" mass=".001"/></body></worldbody>
        <actuator><position joint="j" kp="1e9"/></actuator></mujoco>"#;
    let wild = file("wild.xml", wild.as_bytes());
    let models: [(&str, &[&str], i32); 3] =
        [("models/box_stack.xml", &[], 0), ("models/box_stack.xml", &["--nconmax", "0"], 3), (&wild, &[], 3)];
    for (model, more, code) in models {
        for case in cases {
            // a trace has zero controls unless it is told
            if model == wild && case[0] == "trace" {
                continue;
            }
            let out = kiloworld(&[case, &[model, "--backend", "cpu"], more].concat());
            let said = [text(&out.stdout), text(&out.stderr)].concat();
            assert_eq!(out.status.code(), Some(code), "{case:?} {model} {more:?}: {said}");
        }
    }
}

/// Without a world that moves there is no speed to hold a prediction against.
#[test]
fn a_prediction_of_frozen_worlds_is_no_number() {
    let args =
        ["bench", "models/box_stack.xml", "--backend", "gpu", "--worlds", "2", "--nconmax", "0", "--warmup", "1"];
    let more = ["--steps", "1", "--repeats", "1", "--bandwidth", "100", "--peak", "1000"];
    let out = command(&[&args[..], &more].concat()).output().expect("starts");
    let said = text(&out.stdout);
    if out.status.code() == Some(1) && text(&out.stderr).contains("no GPU adapter") {
        kiloworld_tests::left_out::left_out("a prediction of frozen worlds: no GPU");
        return;
    }
    assert_eq!(out.status.code(), Some(3), "{said}{}", text(&out.stderr));
    assert!(said.contains("no world moved") && !said.contains("NaN") && !said.contains("inf"), "{said}");
    let v: Value = json(&kiloworld(&[&args[..], &more, &["--json"]].concat()));
    assert_eq!(v["world_steps_per_s"]["median"], 0.0, "{v}");
}
