//! The binary as a person or a script uses it: output, messages, exit codes.

mod common;

use common::{file, json, kiloworld, root, text};
use serde_json::Value;
use std::process::Command;

#[test]
fn rollout_says_how_fast_and_how_the_worlds_are() {
    let out =
        kiloworld(&["rollout", "models/humanoid.xml", "--worlds", "8", "--steps", "20", "--backend", "cpu", "--json"]);
    let v = json(&out);
    assert_eq!(out.status.code(), Some(0), "{v}");
    assert!(v["world_steps_per_s"].as_f64().expect("a rate") > 0.0);
    assert_eq!(v["report"]["ok"], 8);
    assert!(v["bytes_per_world"].as_u64().expect("bytes") > 0);
    let people = kiloworld(&["rollout", "models/humanoid.xml", "--worlds", "8", "--steps", "20", "--backend", "cpu"]);
    for part in ["world-steps/s", "contacts: mean", "rows: mean", "bytes a world", "8 ok"] {
        assert!(text(&people.stdout).contains(part), "{part}: {}", text(&people.stdout));
    }
}

#[test]
fn rollouts_with_one_seed_end_in_the_same_state() {
    let end = |seed: &str, name: &str| {
        let path = file(name, b"");
        std::fs::remove_file(&path).expect("it was there");
        let out = kiloworld(&[
            "rollout",
            "models/quadruped.xml",
            "--worlds",
            "3",
            "--steps",
            "30",
            "--backend",
            "cpu",
            "--seed",
            seed,
            "--out",
            &path,
        ]);
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
        std::fs::read(path).expect("an npz")
    };
    assert_eq!(end("1", "a.npz"), end("1", "b.npz"));
    assert_ne!(end("1", "c.npz"), end("2", "d.npz"));
}

#[test]
fn a_world_that_fails_shows_in_the_exit_code() {
    let out = kiloworld(&[
        "rollout",
        "models/box_stack.xml",
        "--worlds",
        "2",
        "--steps",
        "50",
        "--backend",
        "cpu",
        "--nconmax",
        "1",
    ]);
    assert_eq!(out.status.code(), Some(3), "{}", text(&out.stdout));
    assert!(text(&out.stdout).contains("run again with --nconmax"), "{}", text(&out.stdout));
}

#[test]
fn trace_and_inspect_speak_json() {
    let out = kiloworld(&["trace", "models/pendulum.xml", "--steps", "3", "--backend", "cpu"]);
    let lines: Vec<Value> = text(&out.stdout).lines().map(|l| serde_json::from_str(l).expect("JSON lines")).collect();
    assert_eq!((out.status.code(), lines.len()), (Some(0), 3));
    assert_eq!(lines[2]["step"], 2);
    assert!(lines[0]["qpos"].is_array() && lines[0]["contact"].is_array());
    let out = kiloworld(&["inspect", "models/pendulum.xml", "--field", "body_mass,nv,opt_timestep", "--json"]);
    let v = json(&out);
    assert!(v["body_mass"].is_array() && v["nv"].is_u64() && v["opt_timestep"].is_array(), "{v}");
    let out = kiloworld(&["inspect", "models/pendulum.xml", "--field", "body_masss"]);
    assert_eq!(out.status.code(), Some(1));
    assert!(text(&out.stderr).contains("body_mass"), "{}", text(&out.stderr));
}

#[test]
fn trace_takes_a_state_and_controls_and_says_what_is_wrong_with_them() {
    let model = "models/pendulum.xml";
    let state = file("state.json", br#"{"qpos": [[0.1], [0.2]]}"#);
    let out = kiloworld(&["trace", model, "--state", &state, "--backend", "cpu"]);
    assert_eq!((out.status.code(), text(&out.stdout).lines().count()), (Some(0), 2), "{}", text(&out.stderr));
    let says = |content: &str, part: &str| {
        let path = file("bad.json", content.as_bytes());
        let out = kiloworld(&["trace", model, "--state", &path, "--backend", "cpu"]);
        assert_eq!(out.status.code(), Some(1));
        assert!(text(&out.stderr).contains(part), "{part}: {}", text(&out.stderr));
    };
    says(r#"{"qpos": [[0.1, 3.0, 4.0], [0.2, 1.0, 2.0]]}"#, "qpos has 6 numbers");
    says(r#"{"qpso": [0.1]}"#, "`qpso`, which is not a field");
    says(r#"{"xpos": [0, 0, 0, 0, 0, 0]}"#, "computed by the stage");
    says("{", "is not JSON");
}

/// Every kind of bad file: exit code 1, and a message with what, where and a remedy.
#[test]
fn bad_files_are_refused_with_place_and_remedy() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("not_xml.xml", "<mujoco><worldbody></mujoco>", &["not_xml.xml:1:"]),
        ("root.xml", "<robot/>", &["root.xml:1:", "mujoco"]),
        (
            "attribute.xml",
            "<mujoco><worldbody>\n<geom sise=\".1\"/></worldbody></mujoco>",
            &["attribute.xml:2:", "sise", "size"],
        ),
        ("number.xml", "<mujoco><worldbody>\n<geom size=\".1x\"/></worldbody></mujoco>", &["number.xml:2:", ".1x"]),
        ("nan.xml", "<mujoco><worldbody>\n<geom size=\"nan\"/></worldbody></mujoco>", &["nan.xml:2:", "nan"]),
        (
            "twice.xml",
            "<mujoco><worldbody><body name=\"a\"/>\n<body name=\"a\"/></worldbody></mujoco>",
            &["twice.xml:2:", "a"],
        ),
        (
            "dangling.xml",
            "<mujoco><worldbody/><actuator>\n<motor joint=\"knee\"/></actuator></mujoco>",
            &["dangling.xml:2:", "knee"],
        ),
        (
            "mass.xml",
            "<mujoco><worldbody><body><freejoint/>\n<geom size=\".1\" mass=\"-1\"/></body></worldbody></mujoco>",
            &["mass.xml:2:", "mass"],
        ),
        (
            "massless.xml",
            "<mujoco><worldbody>\n<body><freejoint/></body></worldbody></mujoco>",
            &["massless.xml:2:", "mass"],
        ),
        ("size.xml", "<mujoco><worldbody>\n<geom size=\"0\"/></worldbody></mujoco>", &["size.xml:2:", "size"]),
        ("timestep.xml", "<mujoco>\n<option timestep=\"0\"/></mujoco>", &["timestep.xml:2:", "timestep"]),
        (
            "quat.xml",
            "<mujoco><worldbody>\n<geom size=\".1\" quat=\"0 0 0 0\"/></worldbody></mujoco>",
            &["quat.xml:2:", "quat"],
        ),
    ];
    for (name, content, parts) in cases {
        let path = file(name, content.as_bytes());
        let out = kiloworld(&["rollout", &path, "--steps", "1", "--worlds", "1", "--backend", "cpu"]);
        let message = text(&out.stderr);
        assert_eq!(out.status.code(), Some(1), "{name}: {message}");
        for part in *parts {
            assert!(message.contains(part), "{name}: no {part:?} in\n{message}");
        }
        let machine = json(&kiloworld(&["inspect", &path, "--json"]));
        assert!(machine["errors"][0]["message"].is_string(), "{machine}");
    }
    let out = kiloworld(&["rollout", "no/such/file.xml"]);
    assert_eq!(out.status.code(), Some(1));
    assert!(text(&out.stderr).contains("no/such/file.xml"), "{}", text(&out.stderr));
}

#[test]
fn what_a_batch_cannot_do_is_said() {
    let cases: &[(&[&str], &str)] = &[
        (&["--worlds", "0"], "at least one world"),
        (&["--njmax", "0"], "too small"),
        (&["--keyframe", "nowhere"], "there is no keyframe nowhere"),
        (&["--backend", "gpu", "--precision", "f64"], "the GPU computes in f32"),
    ];
    for (extra, part) in cases {
        let mut args = vec!["rollout", "models/humanoid.xml", "--steps", "1"];
        args.extend(*extra);
        let out = kiloworld(&args);
        assert_eq!(out.status.code(), Some(1), "{extra:?}: {}", text(&out.stdout));
        assert!(text(&out.stderr).contains(part), "{extra:?}: {}", text(&out.stderr));
    }
    // no adapter: the loader finds no driver
    let out = Command::new(env!("CARGO_BIN_EXE_kiloworld"))
        .current_dir(root())
        .env("VK_DRIVER_FILES", "/dev/null")
        .env("VK_ICD_FILENAMES", "/dev/null")
        .args(["rollout", "models/pendulum.xml", "--backend", "gpu", "--worlds", "1", "--steps", "1"])
        .output()
        .expect("starts");
    if cfg!(target_os = "linux") {
        assert_eq!(out.status.code(), Some(1), "{}", text(&out.stdout));
        assert!(text(&out.stderr).contains("adapter"), "{}", text(&out.stderr));
    }
}

/// A box above a hand that lifts: taken at a step, let go at another.
const GRASP: &str = r#"<mujoco><option timestep="0.001"/><worldbody>
  <body name="hand" pos="0 0 1"><joint name="lift" type="slide" axis="0 0 1" damping="20"/><geom size=".05" mass="1"/></body>
  <body name="box" pos=".3 0 1"><freejoint/><geom type="box" size=".02 .02 .02" mass=".2"/></body></worldbody>
  <equality><weld name="grasp" body1="hand" body2="box" active="false"/></equality>
  <actuator><position joint="lift" kp="4000" kv="200"/></actuator></mujoco>"#;

#[test]
fn a_trace_takes_and_lets_go() {
    let model = file("grasp.xml", GRASP.as_bytes());
    let heights = |events: &[&str]| -> Vec<f64> {
        let mut args = vec!["trace", &model, "--steps", "200", "--backend", "cpu", "--precision", "f64"];
        events.iter().for_each(|e| args.extend(["--at", e]));
        let out = kiloworld(&args);
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
        let lines = text(&out.stdout);
        let steps: Vec<Value> = lines.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
        assert!(steps.iter().enumerate().all(|(k, v)| v["step"] == k), "steps are numbered through");
        steps.iter().map(|v| v["qpos"][3].as_f64().expect("a height")).collect()
    };
    let free = heights(&[]);
    assert!((free[199] - (1.0 - 0.5 * 9.81 * 0.04)).abs() < 2e-3, "control: it falls, {}", free[199]);
    let held = heights(&["0:capture=grasp"]);
    assert!(held[199] > 0.99, "{}", held[199]);
    let let_go = heights(&["100:release=grasp", "0:capture=0"]);
    assert_eq!(let_go[..100], held[..100]);
    assert!((let_go[199] - (held[99] - 0.5 * 9.81 * 0.01)).abs() < 3e-3, "{}", let_go[199]);

    for (event, part) in [
        ("5:grab=grasp", "there is no action `grab`: attach, release or capture"),
        ("5:attach=hold", "there is no equality constraint `hold`; the model has grasp (0 to 0)"),
        ("200:attach=grasp", "the trace has steps 0 to 199"),
        ("x:attach=grasp", "`x` is not a number of a step"),
        ("attach", "expected STEP:ACTION=EQUALITY"),
    ] {
        let out = kiloworld(&["trace", &model, "--steps", "200", "--backend", "cpu", "--at", event]);
        assert_eq!(out.status.code(), Some(1), "{event}");
        assert!(text(&out.stderr).contains(part), "{event}: {}", text(&out.stderr));
    }
}

#[test]
fn worlds_that_fail_are_dumped_and_replayed() {
    let dir = file("dumps", b"") + "-folder";
    let rollout = |more: &[&str]| {
        let mut args = vec!["rollout", "models/box_stack.xml", "--worlds", "3", "--steps", "20", "--backend", "cpu"];
        args.extend(["--nconmax", "4"]);
        args.extend(more);
        kiloworld(&args)
    };
    let v = json(&rollout(&["--history", "8", "--dump-failed", &dir, "--json"]));
    assert_eq!(v["failures"], 3, "{v}");
    assert_eq!(v["dumps"].as_array().expect("files").len(), 3, "{v}");
    let path = v["dumps"][0].as_str().expect("a file");
    let out = kiloworld(&["replay", path]);
    let said = text(&out.stdout);
    assert_eq!(out.status.code(), Some(3), "{said}");
    for part in ["world 0 of 3 of model", "recorded on cpu f32", "f64 breaks in step 0", "contacts, nconmax is 4"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let v = json(&kiloworld(&["replay", path, "--json"]));
    assert!(v["replay"]["breaks"]["words"].as_str().expect("why").contains("nconmax is 4"), "{v}");
    let out = kiloworld(&["replay", "models/box_stack.xml"]);
    assert_eq!(out.status.code(), Some(1));
    assert!(text(&out.stderr).contains("is not a dump of a world"), "{}", text(&out.stderr));

    // put back: all move at the end
    let v = json(&rollout(&["--on-failure", "reset", "--json"]));
    assert!(v["failures"].as_u64().expect("a number") >= 3 && v["report"]["ok"] == 3, "{v}");
    assert_eq!(rollout(&["--on-failure", "reset"]).status.code(), Some(3), "they failed nevertheless");
    let out = rollout(&["--on-failure", "error"]);
    assert_eq!(out.status.code(), Some(3));
    assert!(text(&out.stderr).contains("3 worlds failed: world 0 at"), "{}", text(&out.stderr));
}

/// What a frozen world does not do is no speed, and every command ends with the same code.
#[test]
fn frozen_worlds_make_no_steps() {
    let run = |command: &str, more: &[&str]| {
        let mut args = vec![command, "models/box_stack.xml", "--worlds", "4", "--steps", "20", "--backend", "cpu"];
        args.extend(more);
        kiloworld(&args)
    };
    let none = ["--nconmax", "0", "--json"];
    for command in ["rollout", "bench", "health"] {
        let out = run(command, &none);
        let v = json(&out);
        assert_eq!(out.status.code(), Some(3), "{command}: {v}");
        match command {
            "rollout" => assert!(v["world_steps"] == 0.0 && v["world_steps_per_s"] == 0.0, "{v}"),
            "bench" => assert_eq!(v["world_steps_per_s"]["max"], 0.0, "{v}"),
            _ => assert_eq!(v["health"]["failed"], 4, "{v}"),
        }
    }
    assert_eq!(run("rollout", &["--nconmax", "0", "--on-failure", "reset"]).status.code(), Some(3));
    let said = text(&run("rollout", &["--nconmax", "0"]).stdout);
    assert!(said.contains("0 world-steps/s") && said.contains("4 of 4 worlds froze"), "{said}");
    let fine = run("rollout", &["--json"]);
    assert_eq!((fine.status.code(), &json(&fine)["world_steps"]), (Some(0), &80.0.into()));
    assert!(!text(&run("rollout", &[]).stdout).contains("froze"));
    // worlds that are put back again and again finish fewer steps than they were asked for
    let v = json(&run("rollout", &["--nconmax", "4", "--on-failure", "reset", "--json"]));
    let made = v["world_steps"].as_f64().expect("a count");
    assert!((0.0..80.0).contains(&made), "{v}");
}

/// A trace has rows of worlds in their order, whatever thread is first.
#[test]
fn rows_of_a_trace_are_in_order() {
    let heights: Vec<String> = (0..40).map(|w| format!("[0, 0, {}, 1, 0, 0, 0]", 1.0 + 0.01 * f64::from(w))).collect();
    let state = file("order.json", format!("{{\"qpos\": [{}]}}", heights.join(", ")).as_bytes());
    let xml = r#"<mujoco><worldbody><geom type="plane" size="5 5 1"/><body><freejoint/><geom size=".1"/></body></worldbody></mujoco>"#;
    let model = file("order.xml", xml.as_bytes());
    for turn in 0..10 {
        let out = kiloworld(&["trace", &model, "--state", &state, "--steps", "2", "--backend", "cpu"]);
        let lines: Vec<Value> =
            text(&out.stdout).lines().map(|l| serde_json::from_str(l).expect("JSON lines")).collect();
        let worlds: Vec<u64> = lines.iter().map(|l| l["world"].as_u64().expect("a world")).collect();
        assert_eq!(worlds, (0..40).chain(0..40).collect::<Vec<_>>(), "turn {turn}");
    }
    let first = file("order.npz", b"");
    std::fs::remove_file(&first).expect("it was there");
    let trace = || {
        kiloworld(&["trace", &model, "--state", &state, "--steps", "2", "--backend", "cpu", "--out", &first, "--force"])
    };
    assert_eq!(trace().status.code(), Some(0));
    let bytes = std::fs::read(&first).expect("an npz");
    for turn in 0..10 {
        assert_eq!(trace().status.code(), Some(0));
        assert_eq!(std::fs::read(&first).expect("an npz"), bytes, "turn {turn}");
    }
}

#[test]
fn size_recommends_capacities_and_says_what_fits() {
    let args = ["size", "models/box_stack.xml", "--worlds", "6", "--steps", "60", "--seed", "3", "--memory", "2"];
    let out = kiloworld(&[&args[..], &["--json"]].concat());
    let v = json(&out);
    assert_eq!(out.status.code(), Some(0), "{v}");
    let number = |v: &Value| v.as_u64().unwrap_or_else(|| panic!("{v}"));
    assert!(number(&v["seen"]["ncon"]) > 0 && number(&v["nconmax"]) >= number(&v["seen"]["ncon"]), "{v}");
    assert!(number(&v["njmax"]) >= number(&v["seen"]["nefc"]), "{v}");
    assert_eq!(v["memory"].as_array().map(Vec::len), Some(3), "{v}");
    let gpu = &v["memory"][2];
    let fit = ((2_u64 << 30) - number(&gpu["bytes_shared"])) / number(&gpu["bytes_per_world"]);
    assert_eq!(number(&v["worlds_in_memory"]["gpu f32"]), fit, "{v}");
    assert_eq!(v, json(&kiloworld(&[&args[..], &["--json"]].concat())), "one seed, one answer");
    let people = kiloworld(&args);
    for part in ["--nconmax", "--njmax", "cpu f64", "cpu f32", "gpu f32", "bytes a world", "worlds in 2 GiB", "seed 3"]
    {
        assert!(text(&people.stdout).contains(part), "{part}: {}", text(&people.stdout));
    }
    assert_eq!(kiloworld(&["size", "models/box_stack.xml", "--memory", "0"]).status.code(), Some(1));
    assert_eq!(kiloworld(&["size", "models/box_stack.xml", "--worlds", "0"]).status.code(), Some(1));
    // no adapter: the loader finds no driver
    let out = Command::new(env!("CARGO_BIN_EXE_kiloworld"))
        .current_dir(root())
        .env("VK_DRIVER_FILES", "/dev/null")
        .env("VK_ICD_FILENAMES", "/dev/null")
        .args(["size", "models/pendulum.xml", "--worlds", "2", "--steps", "5"])
        .output()
        .expect("starts");
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    if cfg!(target_os = "linux") {
        assert!(text(&out.stdout).contains("no GPU adapter"), "{}", text(&out.stdout));
    }
}

#[test]
fn wrong_usage_has_its_own_code() {
    assert_eq!(kiloworld(&["rollout"]).status.code(), Some(2));
    assert_eq!(kiloworld(&["rollout", "x.xml", "--ctrl", "sideways"]).status.code(), Some(2));
    assert_eq!(kiloworld(&["--help"]).status.code(), Some(0));
}

#[test]
fn inspect_says_what_welds_hold() {
    let out = kiloworld(&["inspect", "models/weld_pull.xml", "--equalities", "--json"]);
    let row = &json(&out)["equalities"][0];
    assert_eq!((&row["rule"], &row["name"]), (&"stiff".into(), &"weld".into()), "{row}");
    let stretch = 3e6 * row["compliance"].as_f64().expect("m/N");
    assert!((stretch - 0.001519).abs() < 1e-6, "3 kN stretch it {stretch} mm");
    let soft = kiloworld(&["inspect", "models/weld_pull.xml", "--equalities", "--welds", "mujoco"]);
    assert!(text(&soft.stdout).contains("MuJoCo's default"), "{}", text(&soft.stdout));
    let weak = kiloworld(&["inspect", "models/weld_anchor.xml", "--equalities"]);
    assert!(text(&weak.stdout).contains("warning: its point is the origin of `world`"), "{}", text(&weak.stdout));
    let none = kiloworld(&["inspect", "models/weld_pull.xml", "--equalities", "--timestep", "0"]);
    assert_eq!(none.status.code(), Some(1));
}

#[test]
fn inspect_shows_infinite_ends_of_ranges() {
    let out =
        kiloworld(&["inspect", "tests/faults/infinite_range_joint.xml", "--field", "jnt_range,jnt_limited", "--json"]);
    let v = json(&out);
    assert_eq!((&v["jnt_range"], &v["jnt_limited"]), (&serde_json::json!([["-inf", "inf"]]), &serde_json::json!([1])));
}

#[test]
fn routes_say_what_was_chosen() {
    let args = ["routes", "models/weld_pull.xml", "--backend", "cpu", "--worlds", "8"];
    let people = text(&kiloworld(&args).stdout);
    for part in ["cpu f32", "step        1.25 ms", "Newton", "1 under the stiff rule"] {
        assert!(people.contains(part), "{part}: {people}");
    }
    let v = json(&kiloworld(&[&args[..], &["--json", "--welds", "mujoco", "--timestep", "0.002"]].concat()));
    assert_eq!((&v["routes"]["welds"]["mujoco"], &v["routes"]["timestep"]), (&1.into(), &0.002.into()), "{v}");
    let unknown = kiloworld(&[&args[..], &["--welds", "rigid"]].concat());
    assert_eq!(unknown.status.code(), Some(2));
    assert!(text(&unknown.stderr).contains("possible values: stiff, mujoco"), "{}", text(&unknown.stderr));
}

#[test]
fn trace_ramps_a_target() {
    let args = ["trace", "models/servo_tool.xml", "--backend", "cpu", "--precision", "f64", "--steps", "80"];
    let out = kiloworld(&[&args[..], &["--target", "swing=0.4", "--control-period", "8"]].concat());
    let lines = text(&out.stdout);
    let last: Value = serde_json::from_str(lines.lines().last().expect("steps")).expect("JSON");
    let angle = last["qpos"][0].as_f64().expect("an angle");
    assert!((angle - 0.4).abs() < 0.05, "{angle}");
    for (target, why) in [("swing", "NAME=VALUE"), ("x=1", "the model has swing"), ("swing=a", "not a number")] {
        let out = kiloworld(&[&args[..], &["--target", target]].concat());
        assert_eq!(out.status.code(), Some(1));
        assert!(text(&out.stderr).contains(why), "{}", text(&out.stderr));
    }
}

/// Other people's models, where they can be had: each can be looked at, by a person and by a program.
#[test]
fn every_model_of_the_corpus_can_be_inspected() {
    let Some(dir) = kiloworld_tests::corpus::corpus() else { return };
    for (name, path) in kiloworld_tests::corpus::corpus_models(&dir) {
        let path = path.display().to_string();
        let out = kiloworld(&["inspect", &path, "--json"]);
        let v = json(&out);
        assert_eq!(out.status.code(), Some(0), "{name}: {v}");
        let nbody = v["sizes"]["nbody"].as_u64().expect("a size") as usize;
        assert_eq!(v["names"]["body"].as_array().map(Vec::len), Some(nbody), "{name}");
        assert_eq!(v["names"]["body"][0], "world", "{name}");
        assert!(v["seconds"].as_f64().expect("a time") > 0.0, "{name}");
        let out = kiloworld(&["inspect", &path]);
        let shown = text(&out.stdout);
        assert_eq!(out.status.code(), Some(0), "{name}: {}", text(&out.stderr));
        let tree = shown.split("\ntree\n").nth(1).and_then(|rest| rest.split("\ncapacities:").next()).expect("a tree");
        assert_eq!(tree.lines().count(), nbody, "{name}: a line a body\n{tree}");
        let refused = v["unsupported"].as_array().map_or(0, Vec::len);
        assert_eq!(shown.matches("unsupported (a batch refuses it):").count(), refused, "{name}");
    }
}

#[test]
fn health_names_the_weld_that_gives_way() {
    let pull = |welds: &str, more: &[&str]| {
        let mut args = vec!["health", "models/weld_pull.xml", "--force", "b=0,3000,0", "--welds", welds];
        args.extend(["--worlds", "2", "--steps", "1600", "--backend", "cpu"]);
        args.extend(more);
        kiloworld(&args)
    };
    let soft = pull("mujoco", &[]);
    let said = text(&soft.stdout);
    assert_eq!(soft.status.code(), Some(3), "{said}");
    for part in ["health: DEGRADED", "JOINT_FAIL", "weld: 7.00", "limit 1.0000 mm", "2 worlds", "help: "] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let stiff = pull("stiff", &[]);
    assert_eq!(stiff.status.code(), Some(0), "{}", text(&stiff.stdout));
    assert!(text(&stiff.stdout).contains("health: OK (2 worlds: 2 ok, 0 degraded, 0 failed)"));
    let v = json(&pull("mujoco", &["--json"]));
    assert_eq!(
        (&v["health"]["verdict"], &v["health"]["findings"][0]["flag"]),
        (&"DEGRADED".into(), &"JOINT_FAIL".into())
    );
    // a limit of the user's
    assert_eq!(pull("stiff", &["--limit", "position=1e-6"]).status.code(), Some(3));
    for (more, part) in [
        (&["--limit", "speed=1"][..], "there are position, angle, penetration, energy, residual"),
        (&["--limit", "position=-1"], "write NAME=VALUE"),
        (&["--force", "c=0,1,0"], "there is no body named c; there are a, b"),
        (&["--force", "a=0,1"], "write BODY=FX,FY,FZ"),
        (&["--no-health"], "leaves nothing to report"),
    ] {
        let out = pull("stiff", more);
        assert_eq!(out.status.code(), Some(1));
        assert!(text(&out.stderr).contains(part), "{part}: {}", text(&out.stderr));
    }
}
