//! Putting other models into this one: `attach` becomes a frame with a copy of the other model's subtree, names
//! prefixed, and what refers to that subtree is copied too. What depends on the other model's own settings (unit of
//! angles, folders, default classes) is found through [`Node::scope`].

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::dom::{Attr, Node};
use crate::error::ErrorKind;
use crate::include;
use crate::read::Cx;
use crate::refer::referred;
use crate::schema::{Schema, suggest};
use crate::span::Span;

/// Models within models within models … end here.
const MAX_DEPTH: usize = 16;
/// More than this many attachments are taken for a mistake.
const MAX_SCOPES: usize = 4096;

/// A model and what the elements that come from it need to know about it.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    /// the file
    pub(crate) path: PathBuf,
    /// its `compiler` sections
    pub(crate) compiler: Vec<Node>,
    /// its `default` sections
    pub(crate) defaults: Vec<Node>,
    /// the name of its outermost default class in the whole
    pub(crate) main: String,
    /// its `keyframe` sections, which are not taken over
    pub(crate) keys: Vec<Node>,
    /// its `option` sections, which are not taken over either
    pub(crate) options: Vec<Span>,
    /// one past the last of the models that it attached itself, which follow it
    pub(crate) end: usize,
    /// the model as the one around it names it: that one, and the place of the name
    pub(crate) model: (usize, Span),
}

/// A model named in `asset`.
struct Model {
    name: String,
    span: Span,
    path: PathBuf,
    root: Node,
}

/// Elements with names, by tag: the kind that they belong to.
const KINDS: &[(&str, &str)] = &[
    ("body", "body"),
    ("frame", "frame"),
    ("joint", "joint"),
    ("freejoint", "joint"),
    ("geom", "geom"),
    ("site", "site"),
    ("camera", "camera"),
    ("light", "light"),
];

/// Sections of elements that refer to the tree, in the order in which they refer to each other.
const SECTIONS: [&str; 5] = ["contact", "tendon", "equality", "actuator", "sensor"];

type Names = BTreeSet<(&'static str, String)>;

/// Expands every `attach` of a model. The scopes are those of the models that were put in; the first is the model itself.
pub(crate) fn expand(cx: &mut Cx<'_>, root: &mut Node, path: &Path) -> Vec<Scope> {
    let mut scopes = vec![Scope { path: path.to_path_buf(), main: "main".into(), ..Scope::default() }];
    within(cx, root, path, &mut scopes, 0);
    scopes
}

fn within(cx: &mut Cx<'_>, root: &mut Node, path: &Path, scopes: &mut Vec<Scope>, depth: usize) {
    if !root.children.iter().filter(|c| c.tag == "worldbody").any(has_attach) {
        return;
    }
    let mut models = Vec::new();
    let dir = path.parent().unwrap_or(Path::new(""));
    for node in root.children.iter().filter(|c| c.tag == "asset").flat_map(|a| &a.children) {
        if node.tag == "model" {
            models.extend(load(cx, node, dir));
        }
    }
    let mut sections = Vec::new();
    for world in root.children.iter_mut().filter(|c| c.tag == "worldbody") {
        replace(cx, world, &models, scopes, &mut sections, depth);
    }
    root.children.append(&mut sections);
}

fn has_attach(node: &Node) -> bool {
    node.tag == "attach" || node.children.iter().any(has_attach)
}

/// The model that an `asset/model` names.
fn load(cx: &mut Cx<'_>, node: &Node, dir: &Path) -> Option<Model> {
    let Some(file) = node.attr("file").filter(|a| !a.value.is_empty()) else {
        cx.required(node, "file");
        return None;
    };
    let path = crate::files::normalize(&dir.join(&file.value));
    let text = match include::text(cx.loader, &path) {
        Ok(text) => text,
        Err(e) => {
            let remedy = include::remedy(&e, format!("looked for {}", path.display()));
            cx.error(file.span, ErrorKind::Io(e.to_string()), remedy);
            return None;
        }
    };
    let root = include::open(cx, text, &path.to_string_lossy(), &path)?;
    if root.tag != "mujoco" {
        cx.error(file.span, ErrorKind::WrongRoot(root.tag), Some("an attached model is an MJCF file".into()));
        return None;
    }
    Schema::get().check(cx, &root);
    let name = node.owned("name").or_else(|| root.owned("model")).unwrap_or_default();
    Some(Model { name, span: node.span, path, root })
}

/// Replaces every `attach` below a node.
fn replace(
    cx: &mut Cx<'_>,
    node: &mut Node,
    models: &[Model],
    scopes: &mut Vec<Scope>,
    sections: &mut Vec<Node>,
    depth: usize,
) {
    for child in &mut node.children {
        if child.tag == "attach" && child.text("model").is_some() {
            match attach(cx, child, models, scopes, sections, depth) {
                Some(frame) => *child = frame,
                None => child.tag = "frame".into(),
            }
        } else {
            replace(cx, child, models, scopes, sections, depth);
        }
    }
}

/// The frame that an `attach` stands for.
fn attach(
    cx: &mut Cx<'_>,
    node: &Node,
    models: &[Model],
    scopes: &mut Vec<Scope>,
    sections: &mut Vec<Node>,
    depth: usize,
) -> Option<Node> {
    if node.attr("prefix").is_none() {
        cx.required(node, "prefix");
    }
    cx.exclusive(node, "body", "frame");
    let attr = node.attr("model")?;
    let Some(model) = models.iter().find(|m| m.name == attr.value) else {
        let remedy = suggest(&attr.value, models.iter().map(|m| m.name.as_str()));
        let remedy = remedy.unwrap_or_else(|| "name it in <asset>: <model name=\"…\" file=\"…\"/>".into());
        cx.error(attr.span, ErrorKind::Dangling { name: attr.value.clone(), kind: "model".into() }, Some(remedy));
        return None;
    };
    if depth >= MAX_DEPTH || scopes.len() >= MAX_SCOPES {
        cx.error(node.span, ErrorKind::TooDeep(MAX_DEPTH), Some("does a model attach itself?".into()));
        return None;
    }
    let prefix = node.owned("prefix").unwrap_or_default();
    let scope = scopes.len();
    scopes.push(Scope::default());
    let mut root = model.root.clone();
    root.set_scope(scope);
    within(cx, &mut root, &model.path, scopes, depth + 1);
    // what the model attached itself has its own scopes, and its names get this prefix too
    let main = format!("{prefix}main");
    let taken = scopes.iter().any(|s| s.main == main) || prefix.is_empty();
    let main = if taken { format!("{main}\u{0}{scope}") } else { main };
    for inner in &mut scopes[scope + 1..] {
        inner.main.insert_str(0, &prefix);
        inner.defaults.iter_mut().for_each(|d| rename(d, &prefix, &main, scope));
        inner.keys.iter_mut().for_each(|k| rename_keys(k, &prefix));
    }
    let worlds: Vec<&Node> = root.children.iter().filter(|c| c.tag == "worldbody").collect();
    let all = names(&worlds);
    let chosen = ["body", "frame"].into_iter().find_map(|kind| node.attr(kind).filter(|a| !a.value.is_empty()));
    let content: Vec<Node> = match chosen {
        None => worlds.iter().flat_map(|w| w.children.clone()).collect(),
        Some(wanted) => match worlds.iter().find_map(|w| find(w, &wanted.name, &wanted.value)) {
            Some(found) => vec![found.clone()],
            None => {
                let (name, kind) = (wanted.value.clone(), format!("{} in the model `{}`", wanted.name, model.name));
                let similar = all.iter().filter(|(k, _)| *k == wanted.name).map(|(_, n)| n.as_str());
                let remedy = suggest(&wanted.value, similar).unwrap_or_else(|| "see the model's file".into());
                cx.error(wanted.span, ErrorKind::Dangling { name, kind }, Some(remedy));
                return None;
            }
        },
    };
    let mut kept = names(&content.iter().collect::<Vec<_>>());
    let mut frame =
        Node { tag: "frame".into(), span: node.span, attrs: Vec::new(), children: content, scope: node.scope };
    rename(&mut frame, &prefix, &main, scope);
    frame.attrs.push(Attr { name: "childclass".into(), value: main.clone(), name_span: node.span, span: node.span });
    for tag in SECTIONS.into_iter().chain(["asset", "deformable", "extension"]) {
        for section in root.children.iter().filter(|c| c.tag == tag) {
            let mut section = section.clone();
            if SECTIONS.contains(&tag) {
                section.children.retain(|e| keep(e, tag, &mut kept, &all));
            }
            for element in &mut section.children {
                rename(element, &prefix, &main, scope);
            }
            sections.push(section);
        }
    }
    let of = |tag: &str| root.children.iter().filter(|c| c.tag == tag && c.scope == scope).cloned().collect::<Vec<_>>();
    let mut defaults = of("default");
    defaults.iter_mut().for_each(|d| rename(d, &prefix, &main, scope));
    let mut keys = of("keyframe");
    keys.iter_mut().for_each(|k| rename_keys(k, &prefix));
    let options = of("option").iter().map(|n| n.span).collect();
    let (end, named) = (scopes.len(), (node.scope, model.span));
    scopes[scope] =
        Scope { path: model.path.clone(), compiler: of("compiler"), defaults, main, keys, options, end, model: named };
    Some(frame)
}

/// Puts the prefix before the names of key frames; one without a name is called by the prefix.
fn rename_keys(section: &mut Node, prefix: &str) {
    for key in &mut section.children {
        match key.attrs.iter_mut().find(|a| a.name == "name") {
            Some(name) => name.value.insert_str(0, prefix),
            None => {
                let (name_span, span) = (key.span, key.span);
                key.attrs.push(Attr { name: "name".into(), value: prefix.to_owned(), name_span, span });
            }
        }
    }
}

/// Whether all that an element refers to is kept. A name that is nowhere is kept too, to be reported.
fn keep(element: &Node, section: &str, kept: &mut Names, all: &Names) -> bool {
    for node in std::iter::once(element).chain(&element.children) {
        for attr in node.attrs.iter().filter(|a| !a.value.is_empty() && a.value != "world") {
            let Some(kind) = referred(node, &attr.name) else { continue };
            let key = (kind, attr.value.clone());
            let outside = matches!(kind, "tendon" | "actuator") || all.contains(&key);
            if outside && !kept.contains(&key) {
                return false;
            }
        }
    }
    let kind = if section == "tendon" { "tendon" } else { "actuator" };
    if matches!(section, "tendon" | "actuator")
        && let Some(name) = element.owned("name")
    {
        kept.insert((kind, name));
    }
    true
}

/// All names below some nodes.
fn names(nodes: &[&Node]) -> Names {
    let mut out = Names::new();
    let mut stack = nodes.to_vec();
    while let Some(node) = stack.pop() {
        if let (Some((_, kind)), Some(name)) = (KINDS.iter().find(|(t, _)| *t == node.tag), node.owned("name")) {
            out.insert((*kind, name));
        }
        stack.extend(&node.children);
    }
    out
}

/// The element of this tag and name.
fn find<'n>(node: &'n Node, tag: &str, name: &str) -> Option<&'n Node> {
    node.children
        .iter()
        .find_map(|c| if c.tag == tag && c.text("name") == Some(name) { Some(c) } else { find(c, tag, name) })
}

/// Puts the prefix before names, those defined and those referred to.
fn rename(node: &mut Node, prefix: &str, main: &str, scope: usize) {
    let reference: Vec<bool> = node.attrs.iter().map(|a| referred(node, &a.name).is_some()).collect();
    for (attr, reference) in node.attrs.iter_mut().zip(reference) {
        let world = attr.value == "world" && (reference || attr.name == "target");
        match attr.name.as_str() {
            _ if attr.value.is_empty() || world => {}
            // classes of models attached within have their final place in their own scope
            "class" | "childclass" if attr.value == "main" && node.scope == scope => attr.value = main.to_owned(),
            "name" | "class" | "childclass" | "mesh" | "hfield" | "material" | "texture" | "target" | "flex" => {
                attr.value.insert_str(0, prefix);
            }
            _ if reference => attr.value.insert_str(0, prefix),
            _ => {}
        }
    }
    // an asset without a name is called after its file
    let unnamed = matches!(node.tag.as_str(), "mesh" | "hfield" | "texture" | "skin") && node.text("name").is_none();
    if let (true, Some(file)) = (unnamed, node.attr("file").cloned()) {
        let value = format!("{prefix}{}", include::stem(&file.value));
        node.attrs.push(Attr { name: "name".into(), value, ..file });
    }
    for child in &mut node.children {
        rename(child, prefix, main, scope);
    }
}
