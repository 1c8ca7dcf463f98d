//! What the binary reads and writes besides its answers: files of others, names that mean no good, readers that go away.

mod common;

use common::{command, kiloworld, text};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// An empty folder of a test's own.
fn folder(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("kiloworld-output-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a folder");
    dir
}

fn refused(args: &[&str], parts: &[&str]) {
    let out = kiloworld(args);
    let said = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{args:?}: {said}");
    for part in parts {
        assert!(said.contains(part), "{args:?}: no {part:?} in {said}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_program_quietly() {
    let trace = ["trace", "models/pendulum.xml", "--steps", "20000", "--backend", "cpu"];
    for args in [&trace[..], &["inspect", "models/humanoid.xml", "--field", "key_qpos,qpos0"]] {
        let mut child = command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
        let mut reader = BufReader::new(child.stdout.take().expect("a pipe"));
        if args.len() == trace.len() {
            let mut line = String::new();
            reader.read_line(&mut line).expect("a line");
            assert!(line.contains("qpos"), "{line}");
        }
        drop(reader);
        let mut said = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
        let code = child.wait().expect("ends").code();
        assert_eq!((code, said.as_str()), (Some(141), ""), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("the device");
    let out = command(&["inspect", "models/pendulum.xml"]).stdout(full).output().expect("starts");
    assert_eq!(out.status.code(), Some(1));
    assert!(text(&out.stderr).contains("cannot write to standard output"), "{}", text(&out.stderr));
}

#[test]
fn files_of_others_are_not_overwritten() {
    let dir = folder("force");
    let list = || {
        let mut names: Vec<_> =
            std::fs::read_dir(&dir).expect("a folder").map(|e| e.expect("an entry").file_name()).collect();
        names.sort();
        names
    };
    let at = |name: &str| dir.join(name).display().to_string();
    for (name, command) in [("a.npz", "rollout"), ("a.json", "rollout"), ("t.npz", "trace"), ("t.jsonl", "trace")] {
        let path = at(name);
        let mut args = vec![command, "models/pendulum.xml", "--steps", "2", "--backend", "cpu", "--out", &path];
        if command == "rollout" {
            args.extend(["--worlds", "2"]);
        }
        assert_eq!(kiloworld(&args).status.code(), Some(0), "{name}");
        std::fs::write(&path, "mine").expect("written");
        refused(&args, &[name, "is there already", "--force"]);
        assert_eq!(std::fs::read(&path).expect("there"), b"mine");
        args.push("--force");
        assert_eq!(kiloworld(&args).status.code(), Some(0), "{name}");
        assert!(std::fs::read(&path).expect("there").len() > 50, "{name}");
    }
    assert_eq!(list(), ["a.json", "a.npz", "t.jsonl", "t.npz"], "nothing unfinished is left");

    // what is written can be read: as a start state, and line by line
    let state = at("a.json");
    let value: Value = serde_json::from_slice(&std::fs::read(&state).expect("there")).expect("JSON");
    assert_eq!(value["qpos"].as_array().map(Vec::len), Some(2), "{value}");
    let lines = std::fs::read_to_string(at("t.jsonl")).expect("there");
    let steps: Vec<Value> = lines.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    assert!(steps.len() == 2 && steps[1]["step"] == 1, "{lines}");
    let state = |name: &str| {
        kiloworld(&["trace", "models/pendulum.xml", "--backend", "cpu", "--state", &at(name)]).status.code()
    };
    std::fs::write(at("s.json"), r#"{"qpos": [[0.1], [0.2]]}"#).expect("written");
    assert_eq!(state("s.json"), Some(0));

    // a million million worlds without coordinates
    let npy = |shape: &str| {
        let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
        let len = u16::try_from(header.len()).expect("short").to_le_bytes();
        [b"\x93NUMPY\x01\x00", &len[..], header.as_bytes()].concat()
    };
    std::fs::write(at("many.npz"), stored("act.npy", &npy("(1000000000000, 0)"))).expect("written");
    assert_eq!(state("many.npz"), Some(0));
    std::fs::write(at("many.npz"), stored("qpos.npy", &npy("(1000000000000, 1)"))).expect("written");
    assert_eq!(state("many.npz"), Some(1));

    // the ending decides
    for name in ["x", "x.csv", "x.npy", "x.jsonl"] {
        refused(&["rollout", "models/pendulum.xml", "--out", &at(name)], &[name, "there are .npz, .json"]);
    }
    refused(&["trace", "models/pendulum.xml", "--out", &at("x.json")], &["there are .npz, .jsonl"]);
    // before anything is computed
    refused(&["rollout", "models/pendulum.xml", "--steps", "1000000000", "--out", &at("x.csv")], &["x.csv"]);
}

/// A zip archive of one member, which is not compressed.
fn stored(name: &str, content: &[u8]) -> Vec<u8> {
    let mut sum = u32::MAX;
    for &b in content {
        sum ^= u32::from(b);
        (0..8).for_each(|_| sum = (sum >> 1) ^ (0xedb8_8320 & (sum & 1).wrapping_neg()));
    }
    let (len, name_len) = (content.len() as u32, name.len() as u16);
    let sizes = [(!sum).to_le_bytes(), len.to_le_bytes(), len.to_le_bytes()].concat();
    let common = [&[20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0][..], &sizes, &name_len.to_le_bytes(), &[0, 0]].concat();
    let local = [b"PK\x03\x04", &common[..], name.as_bytes(), content].concat();
    let central = [b"PK\x01\x02\x14\x00", &common[..], &[0; 14], name.as_bytes()].concat();
    let at = [(central.len() as u32).to_le_bytes(), (local.len() as u32).to_le_bytes()].concat();
    let end = [b"PK\x05\x06\0\0\0\0\x01\0\x01\0", &at[..], &[0, 0]].concat();
    [local, central, end].concat()
}

#[test]
fn a_folder_of_dumps_may_replace_dumps_only() {
    let dir = folder("dumps");
    let at = dir.display().to_string();
    let mut args = vec!["rollout", "models/box_stack.xml", "--worlds", "2", "--steps", "20", "--backend", "cpu"];
    args.extend(["--nconmax", "4", "--dump-failed", &at]);
    assert_eq!(kiloworld(&args).status.code(), Some(3));
    assert_eq!(kiloworld(&args).status.code(), Some(3), "its own dumps");
    let files: Vec<PathBuf> = std::fs::read_dir(&dir).expect("a folder").map(|e| e.expect("an entry").path()).collect();
    assert_eq!(files.len(), 2);
    std::fs::write(&files[0], "mine").expect("written");
    refused(&args, &["is no dump", "--force"]);
    assert_eq!(std::fs::read(&files[0]).expect("there"), b"mine");
    args.push("--force");
    assert_eq!(kiloworld(&args).status.code(), Some(3));
    assert_ne!(std::fs::read(&files[0]).expect("there"), b"mine");
}

#[test]
fn what_is_no_regular_file_is_refused() {
    let dir = folder("files");
    let at = dir.display().to_string();
    refused(&["replay", &at], &["it is a folder"]);
    for option in ["--state", "--ctrl"] {
        refused(&["trace", "models/pendulum.xml", option, &at], &["it is a folder"]);
    }
    #[cfg(unix)]
    {
        let pipe = dir.join("pipe.npz").display().to_string();
        assert!(Command::new("mkfifo").arg(&pipe).status().expect("starts").success());
        refused(&["replay", &pipe], &["not a regular file"]);
        refused(&["replay", "/dev/zero"], &["not a regular file"]);
        refused(&["inspect", &pipe], &["not a regular file"]);
        for option in ["--state", "--ctrl"] {
            refused(&["trace", "models/pendulum.xml", option, &pipe], &["not a regular file"]);
        }
        refused(&["trace", "models/pendulum.xml", "--out", &pipe], &["is there already"]);
        refused(
            &["trace", "models/pendulum.xml", "--backend", "cpu", "--out", &pipe, "--force"],
            &["not a regular file"],
        );
    }
}

/// A model whose names, and whose mistakes, carry what terminals obey.
#[test]
fn names_cannot_steer_a_terminal() {
    let dir = folder("names");
    let name = "red\u{9b}31m\u{202e}\u{7f}&#10;error: all is lost&#9;";
    let long = "x".repeat(5000);
    let write = |file: &str, more: &str| {
        let xml = format!(
            "<mujoco model=\"{name}\"><worldbody><body name=\"{name}\"><joint name=\"{name}\" axis=\"0 1 0\" pos=\"1 0 0\"/><geom name=\"{long}\" size=\".1\"/>\
             <body name=\"b\" pos=\"0 0 1\"><freejoint/><geom size=\".1\"/></body></body></worldbody>\
             <equality><weld name=\"{name}\" body1=\"b\"/></equality>{more}</mujoco>"
        );
        let xml = xml.replace(
            "<body name=\"b\" pos=\"0 0 1\"><freejoint/>",
            "<body name=\"b\" pos=\"0 0 1\"><joint name=\"j\" axis=\"0 1 0\" pos=\"1 0 0\"/>",
        );
        let path = dir.join(file);
        std::fs::write(&path, xml).expect("written");
        path.display().to_string()
    };
    let good = write("good.xml", "<keyframe><key name=\"k\u{9b}\"/></keyframe>");
    let bad = write("bad.xml", "<actuator><motor name=\"\u{9b}2J\" joint=\"no\u{9b}&#10;where\"/></actuator>");
    let clean = |args: &[&str]| {
        let out = kiloworld(args);
        for said in [text(&out.stdout), text(&out.stderr)] {
            let acts = |c: char| (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{202a}'..='\u{202e}');
            assert!(!said.contains(acts), "{args:?}: {said:?}");
            assert!(!said.contains("\nerror: all is lost"), "{args:?}: {said}");
        }
        out
    };
    let out = clean(&["inspect", &good]);
    let said = text(&out.stdout);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert!(said.contains("red\\u009b31m\\u202e\\u007f\\u000aerror: all is lost"), "{said}");
    assert!(said.contains("xxx…") && !said.contains(&"x".repeat(1000)), "{said}");
    clean(&["inspect", &good, "--equalities"]);
    clean(&["inspect", &bad]);
    clean(&["rollout", &good, "--backend", "cpu", "--keyframe", "none"]);
    clean(&["trace", &good, "--backend", "cpu", "--at", "0:attach=none"]);
    clean(&["health", &good, "--backend", "cpu", "--force", "none=1,2,3"]);
    let limits = ["--limit", "position=0", "--limit", "energy=0", "--steps", "20", "--worlds", "1"];
    let out = clean(&[&["health", &good, "--backend", "cpu", "--all"][..], &limits].concat());
    assert!(text(&out.stdout).contains("red\\u009b"), "{}", text(&out.stdout));
    // JSON says exactly what the file says
    let out = clean(&["inspect", &good, "--json"]);
    let value: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    assert_eq!(value["names"]["body"][1], name.replace("&#10;", "\n").replace("&#9;", "\t"));
    assert_eq!(value["names"]["geom"][0], long);
}

/// What libwayland says of those who have no desktop.
#[cfg(target_os = "linux")]
#[test]
fn the_drivers_word_about_a_desktop_is_kept_from_users() {
    for dir in [None, Some(""), Some("relative")] {
        let mut doctor = command(&["doctor"]);
        match dir {
            Some(dir) => doctor.env("XDG_RUNTIME_DIR", dir),
            None => doctor.env_remove("XDG_RUNTIME_DIR"),
        };
        let out = doctor.output().expect("starts");
        assert!(!text(&out.stderr).contains("XDG_RUNTIME_DIR"), "{dir:?}: {}", text(&out.stderr));
        assert!(text(&out.stdout).contains("cpu:"));
    }
}

/// What is accepted and probably not meant goes to stderr, from every command that reads a model, once; the answer on stdout stays
/// what a program expects.
#[test]
fn every_command_warns_on_stderr() {
    let path = folder("warnings").join("doubtful.xml");
    let model =
        "<mujoco><worldbody><body><joint name='j' axis='0 1 0' range='1 0'/><geom size='.1'/></body></worldbody>
        <sensor><jointpos joint='j'/><clock/></sensor></mujoco>";
    std::fs::write(&path, model).expect("written");
    let path = path.display().to_string();
    let few = ["--worlds", "2", "--steps", "2"];
    let commands: [(&str, &[&str], bool); 7] = [
        ("inspect", &[], false),
        ("rollout", &few, true),
        ("bench", &["--worlds", "2", "--steps", "2", "--warmup", "1", "--repeats", "1"], true),
        ("health", &few, true),
        ("routes", &["--worlds", "2"], true),
        ("trace", &["--steps", "2"], true),
        ("size", &few, false),
    ];
    for (name, more, place) in commands {
        for json in [false, true] {
            let mut args = vec![name, &path];
            args.extend(more);
            args.extend(if place { &["--backend", "cpu"][..] } else { &[] });
            args.extend(json.then_some("--json"));
            let out = kiloworld(&args);
            let (said, answer) = (text(&out.stderr), text(&out.stdout));
            assert_eq!(out.status.code(), Some(0), "{args:?}: {said}");
            for warning in ["2 sensors are not evaluated", "`range` limits nothing: 1 is not less than 0"] {
                assert_eq!(said.matches(warning).count(), 1, "{args:?}: {said}");
                let line = said.lines().find(|line| line.contains(warning)).expect("found above");
                assert!(line.starts_with("warning: ") && line.contains("doubtful.xml:"), "{args:?}: {line}");
                // inspect's JSON lists them too
                assert!(name == "inspect" && json || !answer.contains(warning), "{args:?}: {answer}");
            }
            if json {
                for line in answer.lines().filter(|line| !line.is_empty()) {
                    assert!(serde_json::from_str::<Value>(line).is_ok(), "{args:?}: {line}");
                }
            }
        }
    }
}
