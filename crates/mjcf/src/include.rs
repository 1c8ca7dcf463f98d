//! Opening files and putting included ones in place.

use std::io;
use std::path::{Path, PathBuf};

use crate::dom::{self, Attr, Node};
use crate::error::ErrorKind;
use crate::read::Cx;
use crate::span::Span;

/// Where the text of a file comes from. A closure `Fn(&Path) -> io::Result<String>` is one.
pub trait Load {
    /// The text of a file; paths are those of the model's files joined with the names in them.
    ///
    /// # Errors
    /// When there is no such file or it cannot be read.
    fn load(&self, path: &Path) -> io::Result<String>;
}

impl<F: Fn(&Path) -> io::Result<String>> Load for F {
    fn load(&self, path: &Path) -> io::Result<String> {
        self(path)
    }
}

/// Files of the file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Files;

impl Load for Files {
    fn load(&self, path: &Path) -> io::Result<String> {
        // what is not UTF-8 is in comments and names at most
        std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// No files: a model that stands alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFiles;

impl Load for NoFiles {
    fn load(&self, _: &Path) -> io::Result<String> {
        Err(io::Error::new(io::ErrorKind::NotFound, "the model was given as text, without files"))
    }
}

/// Removes `.` and resolves `..` as far as the path itself allows, so that one file has one name.
pub(crate) fn normalize(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(out.components().next_back(), Some(Component::Normal(_))) => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// Reads a file and everything that it includes into one tree; `None` if that failed, with the errors noted.
pub(crate) fn open(cx: &mut Cx<'_>, text: String, name: &str, path: &Path) -> Option<Node> {
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    let file = cx.sources.add(name, text);
    let parsed = dom::parse(&cx.sources.files[file as usize].text, file);
    let mut root = match parsed {
        Ok(root) => root,
        Err((span, kind)) => {
            cx.error(span, kind, Some(XML_REMEDY.into()));
            return None;
        }
    };
    let main_dir = path.parent().unwrap_or(Path::new("")).to_path_buf();
    let mut included = vec![normalize(path)];
    expand(cx, &mut root, &main_dir, &main_dir, &mut included, 0);
    Some(root)
}

/// What to do about a text that is not XML.
const XML_REMEDY: &str = "check quotes and closing tags, here and before";

/// Replaces every `include` below a node by the content of its file.
fn expand(cx: &mut Cx<'_>, node: &mut Node, dir: &Path, main_dir: &Path, included: &mut Vec<PathBuf>, depth: usize) {
    if depth > dom::MAX_DEPTH {
        cx.error(node.span, ErrorKind::TooDeep(dom::MAX_DEPTH), Some("nest less deeply".into()));
        node.children.clear();
        return;
    }
    let mut children = Vec::with_capacity(node.children.len());
    for mut child in std::mem::take(&mut node.children) {
        if child.tag == "include" {
            if let Some((mut root, at)) = load(cx, &child, dir, main_dir, included) {
                let dir = at.parent().unwrap_or(Path::new("")).to_path_buf();
                expand(cx, &mut root, &dir, main_dir, included, depth + 1);
                children.append(&mut root.children);
            }
        } else {
            expand(cx, &mut child, dir, main_dir, included, depth + 1);
            children.push(child);
        }
    }
    node.children = children;
}

/// The file that an `include` names, looked for beside the main file, then beside the including one, as MuJoCo does.
fn load(
    cx: &mut Cx<'_>,
    node: &Node,
    dir: &Path,
    main_dir: &Path,
    included: &mut Vec<PathBuf>,
) -> Option<(Node, PathBuf)> {
    for attr in node.attrs.iter().filter(|a| a.name != "file") {
        let kind = ErrorKind::UnknownAttribute { attribute: attr.name.clone(), element: "include".into() };
        cx.error(attr.name_span, kind, Some("<include> takes `file` only".into()));
    }
    let Some(Attr { value, span, .. }) = node.attr("file").filter(|a| !a.value.is_empty()) else {
        let kind = ErrorKind::MissingAttribute { attribute: "file".into(), element: "include".into() };
        cx.error(node.span, kind, Some("name the file: <include file=\"part.xml\"/>".into()));
        return None;
    };
    let first = normalize(&main_dir.join(value));
    let second = normalize(&dir.join(value));
    let (path, text) = match cx.loader.load(&first) {
        Ok(_) if included.contains(&first) => return twice(cx, *span, value),
        Ok(text) => (first, text),
        Err(e) if first == second => return missing(cx, *span, &first, &e),
        Err(e) => {
            if included.contains(&second) {
                return twice(cx, *span, value);
            }
            match cx.loader.load(&second) {
                Ok(text) => (second, text),
                Err(_) => return missing(cx, *span, &first, &e),
            }
        }
    };
    included.push(path.clone());
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    let file = cx.sources.add(path.to_string_lossy(), text);
    match dom::parse(&cx.sources.files[file as usize].text, file) {
        Ok(root) if root.children.is_empty() => {
            cx.error(
                *span,
                ErrorKind::BadValue(format!("the included file `{value}` holds no elements")),
                Some("remove it".into()),
            );
            None
        }
        Ok(root) => Some((root, path)),
        Err((span, kind)) => {
            cx.error(span, kind, Some(XML_REMEDY.into()));
            None
        }
    }
}

fn twice<T>(cx: &mut Cx<'_>, span: Span, name: &str) -> Option<T> {
    let remedy = "a file can be included once in a model, and not by itself; use <attach> or a copy".into();
    cx.error(span, ErrorKind::IncludedTwice(name.to_owned()), Some(remedy));
    None
}

fn missing<T>(cx: &mut Cx<'_>, span: Span, path: &Path, error: &io::Error) -> Option<T> {
    let remedy = format!("file names are relative to the main file; looked for {}", path.display());
    cx.error(span, ErrorKind::Io(error.to_string()), Some(remedy));
    None
}

/// A file's name without folders and extension.
pub(crate) fn stem(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.rsplit_once('.').map_or(name, |(head, _)| head).to_owned()
}
