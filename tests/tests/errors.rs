//! Mistakes: what MuJoCo refuses is refused, at the right place and with a remedy; what it accepts is accepted.

#![expect(clippy::print_stdout, reason = "how many were compared, shown with --nocapture")]

use std::fmt::Write as _;

use kiloworld_mjcf::Errors;
use kiloworld_model::Model;
use kiloworld_tests::corpus::{made_golden, root};

/// Two bodies with a few things in them, as `tests/golden/errors.py` has them.
const WORLD: &str = concat!(
    r#"<worldbody><body name="b"><joint name="j"/><geom name="g" size="1"/><site name="s"/></body>"#,
    r#"<body name="c"><joint name="ball" type="ball"/><geom name="g2" size="1"/><site name="s2"/></body></worldbody>"#
);

/// A case of `errors.txt`.
struct Case<'a> {
    name: &'a str,
    mujoco: &'a str,
    text: String,
    /// line and column of every mark
    marks: Vec<(usize, usize)>,
}

fn cases(table: &str) -> Vec<Case<'_>> {
    let case = |part| {
        let (name, rest) = str::split_once(part, "\n> ").expect("a name and MuJoCo's message");
        let (mujoco, body) = rest.split_once('\n').expect("a message and a file");
        let body = format!("{}\n", body.trim_end().replace("{world}", WORLD));
        let marked =
            if body.trim_start_matches('¦').starts_with("<?") { body } else { format!("<mujoco>\n{body}</mujoco>") };
        let mut marks = Vec::new();
        for (i, line) in marked.lines().enumerate() {
            let columns = line.chars().enumerate().filter(|(_, c)| *c == '¦').map(|(k, _)| k);
            marks.extend(columns.enumerate().map(|(before, k)| (i + 1, k + 1 - before)));
        }
        Case { name, mujoco, text: marked.replace('¦', ""), marks }
    };
    table.split("\n## ").skip(1).map(case).collect()
}

/// Every message of MuJoCo has its counterpart, and every mistake of a file is reported, in the order of the file.
#[test]
fn mistakes_that_mujoco_refuses_are_explained() {
    let table = std::fs::read_to_string(root().join("tests/mjcf/errors.txt")).expect("readable");
    let (mut list, mut wrong) = (String::new(), Vec::new());
    let cases = cases(&table);
    for case in &cases {
        assert_ne!(case.mujoco, "accepted", "{}", case.name);
        let Err(Errors { errors, .. }) = Model::from_str(&case.text) else {
            wrong.push(format!("{} is accepted", case.name));
            continue;
        };
        let mut places: Vec<_> = errors.iter().map(|e| (e.line, e.column)).collect();
        places.dedup();
        if places != case.marks {
            wrong.push(format!("{}: errors at {places:?}, marks at {:?}", case.name, case.marks));
        }
        let _ = writeln!(list, "{}: {}", case.name, case.mujoco);
        for e in &errors {
            let remedy = e.remedy.as_deref().unwrap_or("");
            if remedy.is_empty() || e.file.is_empty() {
                wrong.push(format!("{}: no remedy or no file: {e}", case.name));
            }
            let _ = writeln!(list, "    {}:{}: {}\n        {remedy}", e.line, e.column, e.kind);
        }
    }
    assert!(cases.len() >= 290, "{} cases are too few", cases.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("errors", list);
    });
}

/// What MuJoCo takes and we refuse: a part of our message, and why.
const REFUSED: &[(&str, &str)] = &[
    ("timestep` must be positive", "MuJoCo looks when it steps, and not at all at what follows"),
    ("impratio` must be positive", "it divides by it"),
    ("`mean", "it takes statistics that are no mean of anything, and divides by some"),
    ("` must be positive, it is", "it divides by it"),
    ("iterations` cannot be negative", "a solver cannot do that"),
    ("armature` cannot be negative", "mass matrices would not be positive definite"),
    ("cannot rest at an infinite length", "a spring whose force is infinite"),
    ("frictionloss` cannot be negative", "a force that pushes on what moves"),
    ("exclude each other", "of two things that an actuator acts on MuJoCo takes one in silence"),
    ("three letters of x, y, z", "MuJoCo looks when an angle needs it, and points at the angle"),
    ("too far away", "coordinates that no single precision holds"),
    ("lie in a plane", "MuJoCo looks when something collides with the mesh"),
    ("a sensor cannot be attached to", "MuJoCo takes any word as the kind of a user sensor's object"),
    ("unknown attribute", "MuJoCo overlooks attributes of frame and replicate that it does not know"),
    ("`count` must be from 0", "MuJoCo makes no copies"),
    ("in `params`", "MuJoCo reads the parameters of a built-in mesh only where there is one"),
    ("it has no convex hull", "MuJoCo looks when something collides with the mesh"),
    ("unsupported: frame/", "fields of elements that are not scaled would pass for the scaled ones"),
];

/// What MuJoCo refuses and we take: a part of its message, and why.
const TAKEN: &[(&str, &str)] = &[
    ("exture", "images are for drawing: they are named and referred to, but not made"),
    ("cubefiles", "the same"),
    ("unsupported content type", "the same"),
    ("'pid'", "dynamics that are refused by name when a batch is made"),
    ("pid requires", "the same"),
    ("DC motor", "the same"),
    ("dcmotor", "the same"),
    ("so3", "the same"),
    ("out of memory", "MuJoCo's memory is not ours"),
    ("optional suffix", "the same"),
    ("must have exactly 3 characters", "an empty attribute counts as not written"),
    ("('site1', 'site2')", "the same"),
    ("principal axes", "numbers so large that the sum of inertias is rounding"),
    ("inertia must satisfy", "the same"),
];

/// Every attribute at its edges, and pairs of attributes: refused where MuJoCo refuses, accepted where it accepts.
#[test]
fn edges_are_taken_and_refused_as_by_mujoco() {
    let Some(path) = made_golden("edges.txt") else { return };
    let text = std::fs::read_to_string(path).expect("readable");
    let parts: Vec<&str> = text.split_terminator('\0').collect();
    let (mut refused, mut deliberate, mut wrong) = (0, 0, Vec::new());
    for pair in parts.chunks(2) {
        let [xml, theirs] = pair else { continue };
        let ours = Model::from_str(xml).err().map(|e| e.to_string());
        refused += usize::from(!theirs.is_empty());
        let known = |list: &[(&str, &str)], text: &str| list.iter().any(|(part, _)| text.contains(part));
        match (&ours, theirs.is_empty()) {
            (Some(text), true) if known(REFUSED, text) => deliberate += 1,
            (None, false) if known(TAKEN, theirs) => deliberate += 1,
            (Some(text), true) => wrong.push(format!("MuJoCo takes this:\n{xml}\nours: {text}")),
            (None, false) => wrong.push(format!("MuJoCo refuses this:\n{xml}\n{theirs}")),
            _ => {}
        }
    }
    println!("{} models, {refused} refused by MuJoCo; {deliberate} otherwise here on purpose", parts.len() / 2);
    assert!(parts.len() > 20_000 && refused > 5_000, "too few models");
    assert!(wrong.is_empty(), "{} models\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n\n"));
}
