//! From the document to the specification: the list of sections, in the order in which they depend on each other.

mod actuator;
mod asset;
mod attr;
mod constraint;
mod defaults;
mod misc;
mod names;
mod option;
mod replicate;
mod scope;
mod sensor;
mod tree;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::attach;
use crate::dom::{MAX_DEPTH, Node};
use crate::error::{Error, ErrorKind, Errors, Warning};
use crate::files::{Files, Load, NoFiles};
use crate::include;
use crate::schema::Schema;
use crate::span::{Sources, Span};
use crate::spec::{Content, Spec, Unsupported};

use defaults::Classes;
use names::Names;
use scope::Scope;

/// More errors than these help nobody.
const MAX_ERRORS: usize = 100;

/// What every part of the reader writes to.
pub(crate) struct Cx<'l> {
    pub(crate) sources: Sources,
    pub(crate) errors: Vec<Error>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) loader: &'l dyn Load,
    /// only the structure counts: no files of assets, no key frames
    pub(crate) bare: bool,
}

impl Cx<'_> {
    /// Whether there are as many errors as are noted.
    pub(crate) fn full(&self) -> bool {
        self.errors.len() >= MAX_ERRORS
    }

    /// Notes an error.
    pub(crate) fn error(&mut self, span: Span, kind: ErrorKind, remedy: Option<String>) {
        if !self.full() {
            self.errors.push(Error::new(&self.sources, span, kind, remedy));
        }
    }

    /// Notes a warning.
    pub(crate) fn warn(&mut self, span: Span, kind: ErrorKind, remedy: Option<String>) {
        if self.warnings.len() < MAX_ERRORS {
            self.warnings.push(Error::new(&self.sources, span, kind, remedy));
        }
    }

    /// A required attribute; its absence is an error.
    pub(crate) fn required(&mut self, node: &Node, name: &str) -> String {
        match node.text(name) {
            Some(text) if !text.trim().is_empty() => text.to_owned(),
            _ => {
                let kind = ErrorKind::MissingAttribute { attribute: name.to_owned(), element: node.tag.clone() };
                self.error(node.span, kind, Some(format!("add {name}=\"…\"")));
                String::new()
            }
        }
    }

    /// Two attributes that go together.
    pub(crate) fn together(&mut self, node: &Node, first: &str, second: &str) {
        for (there, missing) in [(first, second), (second, first)] {
            if node.attr(there).is_some() && node.text(missing).is_none() {
                let kind = ErrorKind::MissingAttribute { attribute: missing.to_owned(), element: node.tag.clone() };
                let span = node.attr(there).map_or(node.span, |a| a.span);
                self.error(span, kind, Some(format!("`{first}` and `{second}` go together")));
            }
        }
    }

    /// Two attributes of which only one may be there.
    pub(crate) fn exclusive(&mut self, node: &Node, first: &str, second: &str) {
        if let (Some(_), Some(at)) = (node.attr(first), node.attr(second)) {
            let (first, second) = (first.to_owned(), second.to_owned());
            let remedy = Some("keep one of them".into());
            self.error(at.span, ErrorKind::Conflict { first, second, element: node.tag.clone() }, remedy);
        }
    }
}

/// What the sections share.
pub(crate) struct Reader<'c, 'l> {
    cx: &'c mut Cx<'l>,
    spec: Spec,
    classes: Classes,
    names: Names,
    /// the models that parts of the document come from; the first is the main one
    scopes: Vec<Scope>,
    /// files of assets that were loaded
    contents: HashMap<PathBuf, Content>,
    /// elements of the tree and copies of others, larger ones counted more than once
    made: usize,
    /// numbers in `size`
    most_user: HashMap<String, i32>,
}

impl Reader<'_, '_> {
    /// Keeps a feature by name that the model compiler has to refuse.
    fn unsupported(&mut self, feature: impl Into<String>, node: &Node) {
        self.spec.unsupported.push(Unsupported { feature: feature.into(), name: node.owned("name"), span: node.span });
    }

    /// All sections of one kind below the root.
    fn sections<'n>(root: &'n Node, tag: &'static str) -> impl Iterator<Item = &'n Node> {
        root.children.iter().filter(move |c| c.tag == tag)
    }

    fn read(&mut self, root: &Node) {
        self.spec.model = root.owned("model");
        Self::sections(root, "compiler").for_each(|n| self.compiler(n));
        Self::sections(root, "option").for_each(|n| self.option(n));
        Self::sections(root, "size").for_each(|n| self.size(n));
        Self::sections(root, "statistic").for_each(|n| self.statistic(n));
        Self::sections(root, "default").for_each(|n| self.defaults(n));
        self.attached();
        Self::sections(root, "custom").for_each(|n| self.custom(n));
        Self::sections(root, "extension").for_each(|n| self.extension(n));
        Self::sections(root, "asset").for_each(|n| self.assets(n));
        self.world(root);
        Self::sections(root, "deformable").for_each(|n| self.deformable(n));
        self.contact(root);
        self.tendon(root);
        self.equality(root);
        self.actuator(root);
        self.sensor(root);
        if !self.cx.bare {
            Self::sections(root, "keyframe").for_each(|n| self.keyframe(n));
            self.attached_keys();
        }
        self.mark_bodies();
        self.check_references();
    }
}

/// Reads a document; what is wrong with it is noted.
fn read(cx: &mut Cx<'_>, text: String, name: &str, path: &Path) -> Spec {
    let Some(mut root) = include::open(cx, text, name, path) else { return Spec::default() };
    if root.tag != "mujoco" {
        let remedy = match root.tag.as_str() {
            "robot" => "this is a URDF file; convert it to MJCF",
            "mujocoinclude" => "this file is a part; read the file that includes it",
            _ => "an MJCF file is one element <mujoco>…</mujoco>",
        };
        cx.error(root.span, ErrorKind::WrongRoot(root.tag), Some(remedy.into()));
        return Spec::default();
    }
    Schema::get().check(cx, &root);
    let scopes = attach::expand(cx, &mut root, path).into_iter().map(Scope::new).collect();
    if root.depth() > MAX_DEPTH {
        cx.error(root.span, ErrorKind::TooDeep(MAX_DEPTH), Some("nest attached models less deeply".into()));
        return Spec::default();
    }
    let (classes, names) = (Classes::new(), Names::default());
    let mut reader = Reader {
        cx,
        spec: Spec::default(),
        classes,
        names,
        scopes,
        contents: HashMap::new(),
        made: 0,
        most_user: HashMap::new(),
    };
    reader.read(&root);
    reader.spec
}

/// The elements of an attached model as its own file has them, without the content of assets.
fn read_bare(cx: &mut Cx<'_>, path: &Path) -> Option<(Spec, Sources)> {
    let text = include::text(cx.loader, path).ok()?;
    let (errors, warnings) = (Vec::new(), Vec::new());
    let mut own = Cx { sources: Sources::default(), errors, warnings, loader: cx.loader, bare: true };
    let spec = read(&mut own, text, &path.to_string_lossy(), path);
    Some((spec, own.sources))
}

/// Reads a model's main file and what it includes.
///
/// # Errors
/// Everything found wrong, with file, line and column.
pub fn read_path(path: &Path) -> Result<(Spec, Vec<Warning>), Errors> {
    read_path_with(path, &Files::of(path))
}

/// Reads a model's main file and what it includes, from anywhere or with another reach than the default.
///
/// # Errors
/// Everything found wrong, with file, line and column.
pub fn read_path_with(path: &Path, loader: &dyn Load) -> Result<(Spec, Vec<Warning>), Errors> {
    let name = path.to_string_lossy().into_owned();
    include::text(loader, path)
        .map_err(|e| unreadable(&name, &e, "give the path of an MJCF file"))
        .and_then(|text| read_with(text, &name, path, loader))
}

/// The error of a file of which nothing can be read.
fn unreadable(name: &str, error: &std::io::Error, remedy: &str) -> Errors {
    let mut sources = Sources::default();
    sources.add(name, "");
    let (kind, remedy) = (ErrorKind::Io(error.to_string()), include::remedy(error, remedy));
    let error = Error::new(&sources, Span::default(), kind, remedy);
    Errors { errors: vec![error], sources }
}

/// Reads a model that stands alone, without files.
///
/// # Errors
/// Everything found wrong, with line and column.
pub fn read_str(text: &str, name: &str) -> Result<(Spec, Vec<Warning>), Errors> {
    read_with(text.to_owned(), name, Path::new(name), &NoFiles)
}

/// Reads a model that stands alone from an open file, a socket, an archive …
///
/// # Errors
/// Everything found wrong, with line and column.
pub fn read_reader(mut reader: impl Read, name: &str) -> Result<(Spec, Vec<Warning>), Errors> {
    let mut bytes = Vec::new();
    let text = reader.read_to_end(&mut bytes).and_then(|_| include::decode(bytes));
    text.map_err(|e| unreadable(name, &e, "read from another source")).and_then(|text| read_str(&text, name))
}

/// Reads a model from text, with its files from anywhere: memory (a map), an archive, the file system ([`Files`]).
/// `name` is shown in messages, `path` is what names of included files are relative to.
///
/// # Errors
/// Everything found wrong, with file, line and column.
pub fn read_with(text: String, name: &str, path: &Path, loader: &dyn Load) -> Result<(Spec, Vec<Warning>), Errors> {
    let mut cx = Cx { sources: Sources::default(), errors: Vec::new(), warnings: Vec::new(), loader, bare: false };
    let mut spec = read(&mut cx, text, name, path);
    if cx.errors.is_empty() {
        spec.sources = cx.sources;
        return Ok((spec, cx.warnings));
    }
    cx.errors.sort_by_key(|e| (e.span.file, e.span.start));
    cx.errors.dedup();
    Err(Errors { errors: cx.errors, sources: cx.sources })
}
