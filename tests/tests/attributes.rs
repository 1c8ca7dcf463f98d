//! Every attribute of MJCF is simulated and tested, refused by name, or without effect on motion: `tests/attributes.txt` says which.

use crate::dynamics;
use kiloworld_model::Model;
use kiloworld_tests::corpus::{made_golden, root};
use std::collections::{BTreeMap, BTreeSet};

const LISTS: [&str; 3] = ["simulated and tested", "refused by name", "without effect on motion"];

/// Attributes by the path of their element, below the root.
fn schema() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(root().join("crates/mjcf/src/schema.txt")).expect("the schema");
    let (mut path, mut out) = (Vec::new(), Vec::new());
    for line in text.lines().filter(|l| !l.trim().is_empty()) {
        let mut words = line.split_whitespace();
        path.truncate((line.len() - line.trim_start().len()) / 2);
        path.push(words.next().unwrap_or_default());
        let element = if path.len() == 1 { path[0].to_owned() } else { path[1..].join("/") };
        out.extend(words.skip(1).map(|w| (element.clone(), w.split(':').next().unwrap_or_default().to_owned())));
    }
    out
}

/// A line of the lists.
#[derive(Debug)]
struct Line {
    list: usize,
    elements: Vec<String>,
    attributes: Vec<String>,
}

fn lines() -> Vec<Line> {
    let text = std::fs::read_to_string(root().join("tests/attributes.txt")).expect("the lists");
    let (mut list, mut out) = (None, Vec::new());
    for line in text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[') {
            list = LISTS.iter().position(|l| *l == name.trim_end_matches(']'));
            assert!(list.is_some(), "no list {line}");
            continue;
        }
        let (elements, attributes) = line.split_once(": ").unwrap_or_else(|| panic!("no colon in {line}"));
        out.push(Line {
            list: list.expect("a list"),
            elements: elements.split(',').map(str::to_owned).collect(),
            attributes: attributes.split_whitespace().map(str::to_owned).collect(),
        });
    }
    out
}

fn fits(pattern: &str, word: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == word, |head| word.starts_with(head))
}

impl Line {
    fn has(&self, element: &str, attribute: &str) -> bool {
        let name = |a: &String| fits(a.split('=').next().unwrap_or_default(), attribute);
        self.elements.iter().any(|e| fits(e, element)) && self.attributes.iter().any(name)
    }
}

/// The elements that a default is for.
fn stands_for(element: &str) -> Vec<String> {
    let Some(tag) = element.strip_prefix("default/") else { return vec![element.to_owned()] };
    let places: &[&str] = match tag.split('/').next().unwrap_or_default() {
        "mesh" | "texture" | "material" => &["asset/"],
        "joint" | "geom" | "site" | "camera" | "light" => &["body/"],
        "pair" => &["contact/"],
        "equality" => return vec!["equality/weld".into()],
        "tendon" => return vec!["tendon/fixed".into(), "tendon/spatial".into()],
        _ => &["actuator/"],
    };
    places.iter().map(|p| format!("{p}{tag}")).collect()
}

#[test]
fn every_attribute_is_in_one_list() {
    let (schema, lines) = (schema(), lines());
    assert!(schema.len() > 1500, "{} attributes", schema.len());
    for (element, attribute) in &schema {
        if element.starts_with("default/") {
            let known = |e: &String| lines.iter().any(|l| l.has(e, attribute));
            assert!(stands_for(element).iter().any(known), "{element}: {attribute} is in no list");
            continue;
        }
        let found = lines.iter().filter(|l| l.has(element, attribute)).map(|l| LISTS[l.list]).collect::<Vec<_>>();
        assert_eq!(found.len(), 1, "{element}: {attribute} is in the lists {found:?}");
    }
    for line in &lines {
        for pattern in &line.elements {
            assert!(schema.iter().any(|(e, _)| fits(pattern, e)), "there is no element {pattern}");
        }
        for a in &line.attributes {
            assert!(
                schema
                    .iter()
                    .any(|(e, attribute)| line.has(e, attribute)
                        && fits(a.split('=').next().unwrap_or_default(), attribute)),
                "no element of {:?} has {a}",
                line.elements
            );
        }
    }
}

/// The attributes of a text with the tags of their elements and the ones around them.
fn attributes_of(xml: &str, mut each: impl FnMut(&str, &str)) {
    let mut open: Vec<&str> = Vec::new();
    for tag in xml.split('<').skip(1) {
        let (inside, _) = tag.split_once('>').expect("a tag that ends");
        if inside.starts_with('/') {
            open.pop();
            continue;
        }
        let name = inside.split([' ', '/']).next().unwrap_or_default();
        let around = open.last().copied().unwrap_or_default();
        let element = match (around, name) {
            (_, "frame" | "replicate" | "body" | "default" | "mujoco") => name.to_owned(),
            ("worldbody" | "frame" | "replicate", _) => format!("body/{name}"),
            ("mujoco", _) => name.to_owned(),
            ("fixed", _) => format!("tendon/fixed/{name}"),
            _ => format!("{around}/{name}"),
        };
        // every second part between quotes is a value
        for part in inside.split('"').step_by(2) {
            if let Some(attribute) = part.trim().strip_suffix('=').and_then(|p| p.split_whitespace().last()) {
                each(&element, attribute);
            }
        }
        if !inside.ends_with('/') {
            open.push(name);
        }
    }
}

/// What is tested is in the random models.
#[test]
fn random_models_have_every_attribute_that_is_tested() {
    let Some(dir) = made_golden("dynamics") else { return };
    let mut seen: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut models = 0;
    for (_, xml) in dynamics::models(&dir) {
        models += 1;
        let text = std::fs::read_to_string(&xml).expect("a model");
        let mut once = BTreeSet::new();
        attributes_of(&text, |element, attribute| {
            once.extend(stands_for(element).into_iter().map(|e| (e, attribute.to_owned())));
        });
        once.into_iter().for_each(|a| *seen.entry(a).or_default() += 1);
    }
    let mut never = Vec::new();
    for line in lines().iter().filter(|l| l.list == 0) {
        for (element, attribute) in schema().iter().filter(|(e, a)| line.has(e, a)) {
            let in_models = seen.keys().any(|(e, a)| a == attribute && line.elements.iter().any(|p| fits(p, e)));
            if !in_models {
                never.push(format!("{element}: {attribute}"));
            }
        }
    }
    assert!(models >= 200 && never.is_empty(), "{models} models; tested, but in none of them: {never:?}");
}

/// A model with something of everything; `{ELEMENT}` is where attributes or elements are put.
const HOST: &str = r#"<mujoco><compiler {compiler}/><option {option}><flag {option/flag}/></option>
<asset><hfield name="h" nrow="2" ncol="2" size="1 1 1 1"/>{asset}</asset>
<worldbody><frame {frame}><geom size="1"/></frame>
<body name="b" pos="0 0 9"><joint name="j" {body/joint}/><geom name="g1" size="1" {body/geom}/><site name="s1"/>{body}</body>
<body name="b2" pos="0 0 5"><joint name="k" type="ball"/><geom name="g2" size="1"/><site name="s2"/></body></worldbody>
<deformable>{deformable}</deformable><contact><pair geom1="g1" geom2="g2" {contact/pair}/></contact>
<tendon><fixed name="t" {tendon/fixed}><joint joint="j" coef="1"/></fixed>{tendon}</tendon><equality>{equality}</equality>
<actuator>{actuator}</actuator><sensor>{sensor}</sensor><keyframe><key {keyframe/key}/></keyframe>{extension}</mujoco>"#;

fn refused(place: &str, text: &str) -> bool {
    let mut model = HOST.replace(&format!("{{{place}}}"), text);
    while let Some(at) = model.find('{') {
        let end = model[at..].find('}').expect("a place") + at;
        model.replace_range(at..=end, "");
    }
    let error = Model::from_str(&model).and_then(|m| m.check_supported()).err().map(|e| e.to_string());
    // what is a mistake in the file is no refusal
    error.is_some_and(|e| ["unsupported", "plastic", "the flag `ipc`"].iter().any(|w| e.contains(w)))
}

/// Elements that are refused whatever they say.
const WHOLE: [(&str, &str); 16] = [
    ("extension*", r#"<extension><plugin plugin="p"/></extension>"#),
    ("asset/mesh/plugin*", r#"<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"><plugin plugin="p"/></mesh>"#),
    ("body/geom/plugin*", r#"<geom size="1"><plugin plugin="p"/></geom>"#),
    ("body/plugin*", r#"<plugin plugin="p"/>"#),
    ("body/flexcomp*", r#"<flexcomp name="f" type="grid" count="2 2 1" spacing="1 1 1" mass="1"/>"#),
    ("deformable/flex*", r#"<flex name="f" dim="1" body="b b2" element="0 1"/>"#),
    ("tendon/spatial*", r#"<spatial><site site="s1"/><site site="s2"/></spatial>"#),
    ("equality/flex", r#"<flex flex="f"/>"#),
    ("equality/flexstrain", r#"<flexstrain flex="f"/>"#),
    ("actuator/orientation", r#"<orientation joint="k" kp="1"/>"#),
    ("actuator/pid", r#"<pid joint="j" kp="1"/>"#),
    ("actuator/muscle", r#"<muscle joint="j" lengthrange="0 1"/>"#),
    ("actuator/adhesion", r#"<adhesion body="b" ctrlrange="0 1"/>"#),
    ("actuator/dcmotor", r#"<dcmotor joint="j" motorconst="1" resistance="1"/>"#),
    ("actuator/plugin*", r#"<plugin joint="j" plugin="p"/>"#),
    ("sensor/plugin*", r#"<plugin plugin="p"/>"#),
];

#[test]
fn what_is_refused_is_refused() {
    assert!(!refused("none", ""), "the model without anything is none");
    let mut checked = 0;
    for line in lines().iter().filter(|l| l.list == 1) {
        for (element, attribute) in line.elements.iter().flat_map(|e| line.attributes.iter().map(move |a| (e, a))) {
            checked += 1;
            let tag = element.rsplit('/').next().unwrap_or_default();
            let place = element.split(['/', '*']).next().unwrap_or_default();
            let Some((name, value)) = attribute.split_once('=') else {
                // a field of heights is refused where something may touch it
                if element == "asset/hfield" {
                    assert!(refused("body", r#"<geom type="hfield" hfield="h"/>"#));
                    continue;
                }
                let (_, text) =
                    WHOLE.iter().find(|(e, _)| e == element).unwrap_or_else(|| panic!("no model of {element}"));
                assert!(refused(place, text), "{element} is not refused");
                continue;
            };
            let own = format!("{name}='{}'", value.replace(',', " "));
            // what goes with an attribute, so that it is not refused for standing alone
            let with = match name {
                "delay" => "nsample='3'",
                "refsite" => "site='s1'",
                "slidersite" => "cranksite='s1' cranklength='1'",
                "cranksite" => "slidersite='s2' cranklength='1'",
                "cranklength" => "cranksite='s1' slidersite='s2'",
                "scaling" => "scale='2'",
                "actuatorfrclimited" => "actuatorfrcrange='-1 1'",
                _ => "",
            };
            let found = if place == "actuator" {
                let target =
                    if matches!(name, "armature" | "damping" | "delay" | "nsample") { "joint='j'" } else { "" };
                let needs = if tag == "damper" { "kv='1' ctrlrange='0 1'" } else { "" };
                refused(place, &format!("<{tag} {target} {needs} {own} {with}/>"))
            } else if name == "hfield" {
                refused("body", &format!("<geom type='hfield' {own}/>"))
            } else {
                refused(element, &format!("{own} {with}"))
            };
            assert!(found, "{element} {own} is not refused");
        }
    }
    assert!(checked > 80, "{checked} checks");
}
