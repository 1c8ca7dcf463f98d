//! Opening files and putting included ones in place.

use std::io;
use std::path::{Path, PathBuf};

use crate::dom::{self, Attr, Node};
use crate::error::ErrorKind;
use crate::files::{Load, normalize};
use crate::read::Cx;
use crate::span::Span;

/// No text of a model is longer than this \[bytes\].
const MAX_TEXT: u64 = 1 << 28;

/// The text of a file.
pub(crate) fn text(loader: &dyn Load, path: &Path) -> io::Result<String> {
    loader.load(path, MAX_TEXT).and_then(decode)
}

/// Bytes as text. What is not UTF-8 is in comments and names at most, unless it is one of the wide encodings.
pub(crate) fn decode(bytes: Vec<u8>) -> io::Result<String> {
    let wide = match bytes[..] {
        [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => "UTF-32",
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [b'<', 0, ..] | [0, b'<', ..] => "UTF-16",
        _ => return Ok(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())),
    };
    Err(io::Error::new(io::ErrorKind::InvalidData, format!("the file is {wide}, not UTF-8")))
}

/// What to do about a file that cannot be read; `otherwise` where it is not one of what [`decode`] refuses.
pub(crate) fn remedy(error: &io::Error, otherwise: impl Into<String>) -> Option<String> {
    Some(if error.kind() == io::ErrorKind::InvalidData { "save it as UTF-8".into() } else { otherwise.into() })
}

/// Reads a file and everything that it includes into one tree; `None` if that failed, with the errors noted.
pub(crate) fn open(cx: &mut Cx<'_>, text: String, name: &str, path: &Path) -> Option<Node> {
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    let file = cx.sources.add(name, text);
    let parsed = dom::parse(&cx.sources.files[file as usize].text, file);
    let mut root = match parsed {
        Ok(root) => root,
        Err((span, kind)) => {
            let remedy =
                if matches!(kind, ErrorKind::RepeatedAttribute { .. }) { "keep one of them" } else { XML_REMEDY };
            cx.error(span, kind, Some(remedy.into()));
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
    if let Some(child) = node.children.first() {
        let kind = ErrorKind::Misplaced("<include> holds no elements".into());
        cx.error(child.span, kind, Some("put them beside it".into()));
        return None;
    }
    let Some(Attr { value, span, .. }) = node.attr("file").filter(|a| !a.value.is_empty()) else {
        let kind = ErrorKind::MissingAttribute { attribute: "file".into(), element: "include".into() };
        cx.error(node.span, kind, Some("name the file: <include file=\"part.xml\"/>".into()));
        return None;
    };
    let first = normalize(&main_dir.join(value));
    let second = normalize(&dir.join(value));
    let (path, text) = match text(cx.loader, &first) {
        Ok(_) if included.contains(&first) => return twice(cx, *span, value),
        Ok(text) => (first, text),
        Err(e) if first == second => return missing(cx, *span, &first, &e),
        Err(e) => {
            if included.contains(&second) {
                return twice(cx, *span, value);
            }
            match text(cx.loader, &second) {
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
            let remedy =
                if matches!(kind, ErrorKind::RepeatedAttribute { .. }) { "keep one of them" } else { XML_REMEDY };
            cx.error(span, kind, Some(remedy.into()));
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
    let beside = format!("file names are relative to the main file; looked for {}", path.display());
    cx.error(span, ErrorKind::Io(error.to_string()), remedy(error, beside));
    None
}

/// A file's name without folders and extension.
pub(crate) fn stem(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.rsplit_once('.').map_or(name, |(head, _)| head).to_owned()
}
