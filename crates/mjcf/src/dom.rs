//! The document as a tree of our own: several files in one, every part with its span.

use crate::error::ErrorKind;
use crate::span::Span;

/// The deepest nesting of elements: what MuJoCo's XML library reads, whose limit of 500 counts the root and closing tags too.
pub(crate) const MAX_DEPTH: usize = 500;

/// No element has more attributes.
const MAX_ATTRS: usize = 1000;

/// An attribute.
#[derive(Clone, Debug)]
pub(crate) struct Attr {
    pub(crate) name: String,
    pub(crate) value: String,
    /// the name
    pub(crate) name_span: Span,
    /// the value, without its quotes
    pub(crate) span: Span,
}

/// An element.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) tag: String,
    /// the start tag, without its closing bracket
    pub(crate) span: Span,
    pub(crate) attrs: Vec<Attr>,
    pub(crate) children: Vec<Self>,
    /// the model that it comes from: 0 is the main one, others were attached
    pub(crate) scope: usize,
}

impl Node {
    /// The attribute of this name.
    pub(crate) fn attr(&self, name: &str) -> Option<&Attr> {
        self.attrs.iter().find(|a| a.name == name)
    }

    /// How deep the tree below is.
    pub(crate) fn depth(&self) -> usize {
        self.children.iter().map(|c| c.depth() + 1).max().unwrap_or(0)
    }

    /// Says for a whole tree which model it comes from.
    pub(crate) fn set_scope(&mut self, scope: usize) {
        self.scope = scope;
        self.children.iter_mut().for_each(|c| c.set_scope(scope));
    }

    /// The text of an attribute; empty text counts as not written, as in MuJoCo.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.attr(name).map(|a| a.value.as_str()).filter(|v| !v.is_empty())
    }
}

/// Parses one file. The error comes with the span it concerns.
pub(crate) fn parse(text: &str, file: u32) -> Result<Node, (Span, ErrorKind)> {
    let clean = Clean::new(text);
    let whole = |start: usize, end: usize| clean.span(file, start, end);
    if let Some(at) = clean.crowded {
        let text = format!("an element with more than {MAX_ATTRS} attributes");
        return Err((whole(at, at), ErrorKind::Xml(text)));
    }
    let options = roxmltree::ParsingOptions { allow_dtd: true, nodes_limit: 4_000_000, ..Default::default() };
    let doc = roxmltree::Document::parse_with_options(&clean.text, options).map_err(|e| {
        let at = offset(&clean.text, e.pos());
        if let roxmltree::Error::DuplicatedAttribute(name, _) = &e {
            let kind = repeated(&clean.text, at, name, |at| whole(at, at).start as usize, text);
            return (whole(at, at + name.len()), kind);
        }
        (whole(at, next_break(&clean.text, at)), ErrorKind::Xml(strip_position(&e.to_string())))
    })?;
    convert(doc.root_element(), &whole, 0)
}

/// The error for the second attribute of a name, at `at` in the mended text; `original` takes offsets back to the source.
fn repeated(mended: &str, at: usize, name: &str, original: impl Fn(usize) -> usize, source: &str) -> ErrorKind {
    // no value holds an opening bracket
    let start = mended[..at].rfind('<').unwrap_or(0);
    let tag = &mended[start..at];
    let mut quote = None;
    let outside = |&(i, c): &(usize, char)| {
        match quote {
            None if c == '"' || c == '\'' => quote = Some(c),
            Some(q) if c == q => quote = None,
            None => return tag[i..].starts_with(name) && tag[..i].ends_with(|c: char| c.is_whitespace()),
            Some(_) => {}
        }
        false
    };
    let rest = |i: usize| tag[i + name.len()..].trim_start().starts_with('=');
    let first = tag.char_indices().filter(outside).map(|(i, _)| i).find(|&i| rest(i)).unwrap_or(0);
    let before = source.get(..original(start + first)).unwrap_or("");
    let element = tag.get(1..).unwrap_or("").split(|c: char| c.is_whitespace()).next().unwrap_or("").to_owned();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    ErrorKind::RepeatedAttribute { attribute: name.to_owned(), element, line, column }
}

fn convert(
    node: roxmltree::Node<'_, '_>,
    span: &dyn Fn(usize, usize) -> Span,
    depth: usize,
) -> Result<Node, (Span, ErrorKind)> {
    let start = node.range().start;
    let mut end = start + 1 + node.tag_name().name().len();
    let mut attrs = Vec::new();
    for a in node.attributes() {
        end = end.max(a.range().end);
        // attributes of other namespaces (xsi:schemaLocation) are notes to editors
        if a.namespace().is_none() {
            let (name, value) = (a.range_qname(), a.range_value());
            attrs.push(Attr {
                name: a.name().to_owned(),
                value: a.value().to_owned(),
                name_span: span(name.start, name.end),
                span: span(value.start, value.end.max(value.start)),
            });
        }
    }
    let start_tag = span(start, end);
    if depth > MAX_DEPTH {
        return Err((start_tag, ErrorKind::TooDeep(MAX_DEPTH)));
    }
    let mut children = Vec::new();
    for child in node.children().filter(roxmltree::Node::is_element) {
        children.push(convert(child, span, depth + 1)?);
    }
    Ok(Node { tag: node.tag_name().name().to_owned(), span: start_tag, attrs, children, scope: 0 })
}

/// The byte offset of a position given by line and column (in characters).
fn offset(text: &str, pos: roxmltree::TextPos) -> usize {
    let line_start: usize = text.split_inclusive('\n').take(pos.row.saturating_sub(1) as usize).map(str::len).sum();
    let rest = text.get(line_start..).unwrap_or("");
    rest.char_indices().nth(pos.col.saturating_sub(1) as usize).map_or(text.len(), |(i, _)| line_start + i)
}

/// The end of the word that starts here.
fn next_break(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or("");
    at + rest.char_indices().skip(1).find(|(_, c)| c.is_whitespace() || *c == '>').map_or(rest.len(), |(i, _)| i)
}

/// roxmltree ends its messages with the position, which we show ourselves.
fn strip_position(message: &str) -> String {
    message.rsplit_once(" at ").filter(|(_, tail)| tail.contains(':')).map_or(message, |(head, _)| head).to_owned()
}

/// The text with the liberties mended that MuJoCo allows and XML does not: two hyphens in a comment, no space between
/// attributes, space before the XML declaration.
struct Clean {
    text: String,
    /// offsets in the mended text at which a space was put in, increasing
    inserted: Vec<usize>,
    /// the first element with too many attributes: the parser compares each with all others
    crowded: Option<usize>,
}

impl Clean {
    fn new(source: &str) -> Self {
        let mut text = String::with_capacity(source.len() + 8);
        let (mut inserted, mut crowded) = (Vec::new(), None);
        let mut rest = source;
        // space before the declaration: move it behind, the length stays
        let lead = source.len() - source.trim_start().len();
        if lead > 0 && source[lead..].starts_with("<?xml") {
            let end = source.find("?>").map_or(source.len(), |e| e + 2);
            text.extend(source[..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            // characters outside ASCII would change the length
            if text.len() != end {
                text.clear();
                text.push_str(&source[..end]);
            }
            rest = &source[end..];
        }
        while let Some(open) = rest.find('<') {
            text.push_str(&rest[..open]);
            rest = &rest[open..];
            if let Some(body) = rest.strip_prefix("<!--") {
                let len = body.find("-->").unwrap_or(body.len());
                text.push_str("<!--");
                let comment = body[..len].replace("--", "  ");
                text.push_str(comment.strip_suffix('-').unwrap_or(&comment));
                if comment.ends_with('-') {
                    text.push(' ');
                }
                rest = &body[len..];
            } else if rest.starts_with("<![CDATA[") {
                let len = rest.find("]]>").unwrap_or(rest.len());
                text.push_str(&rest[..len]);
                rest = &rest[len..];
            } else {
                let start = text.len();
                let (len, attrs) = Self::tag(rest, &mut text, &mut inserted);
                if attrs > MAX_ATTRS {
                    crowded = crowded.or(Some(start));
                }
                rest = &rest[len..];
            }
        }
        text.push_str(rest);
        Self { text, inserted, crowded }
    }

    /// Copies a tag with a space after every closing quote that lacks one; returns the length read and the number of attributes.
    fn tag(source: &str, text: &mut String, inserted: &mut Vec<usize>) -> (usize, usize) {
        let (mut quote, mut attrs) = (None, 0);
        let mut closed = false;
        for (i, c) in source.char_indices() {
            if closed && (c.is_alphanumeric() || c == '_' || c == ':') {
                inserted.push(text.len());
                text.push(' ');
            }
            closed = false;
            match (quote, c) {
                (None, '"' | '\'') => quote = Some(c),
                (None, '>') => return (i, attrs),
                (None, '<') if i > 0 => return (i, attrs),
                (Some(q), c) if c == q => {
                    quote = None;
                    closed = true;
                    attrs += 1;
                }
                _ => {}
            }
            text.push(c);
        }
        (source.len(), attrs)
    }

    /// A span of the mended text as a span of the original one.
    fn span(&self, file: u32, start: usize, end: usize) -> Span {
        let back = |p: usize| u32::try_from(p - self.inserted.partition_point(|&i| i < p)).unwrap_or(u32::MAX);
        Span { file, start: back(start), end: back(end) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: &str, span: Span) -> &str {
        &source[span.start as usize..span.end as usize]
    }

    #[test]
    fn spans_point_at_names_values_and_start_tags() {
        let source = "<mujoco>\n <option timestep = '0.01' gravity=\"0 0 1\"/>\n</mujoco>";
        let root = parse(source, 0).unwrap();
        let option = &root.children[0];
        assert_eq!(text(source, option.span), "<option timestep = '0.01' gravity=\"0 0 1\"");
        assert_eq!(text(source, option.attrs[0].span), "0.01");
        assert_eq!(text(source, option.attrs[1].name_span), "gravity");
    }

    #[test]
    fn liberties_that_mujoco_allows_are_mended_and_spans_stay_right() {
        let source = "\n<?xml version=\"1.0\"?>\n<mujoco><!-- a -- b ---><a x=\"1\"y=\"2\"z='3' w=\"4\"/></mujoco>";
        let root = parse(source, 0).unwrap();
        let a = &root.children[0];
        let found: Vec<_> = a.attrs.iter().map(|a| (text(source, a.name_span), text(source, a.span))).collect();
        assert_eq!(found, [("x", "1"), ("y", "2"), ("z", "3"), ("w", "4")]);
        assert_eq!(text(source, a.span), "<a x=\"1\"y=\"2\"z='3' w=\"4\"");
    }

    #[test]
    fn errors_have_a_place() {
        let source = "<mujoco>\n  <a></b>\n</mujoco>";
        let (span, kind) = parse(source, 0).unwrap_err();
        assert!(matches!(kind, ErrorKind::Xml(_)));
        assert_eq!(source[..span.start as usize].matches('\n').count(), 1);
    }

    #[test]
    fn a_crowd_of_attributes_is_an_error() {
        let attrs: String = (0..100_000).map(|i| format!(" a{i}=''")).collect();
        let (span, _) = parse(&format!("<a><b{attrs}/></a>"), 0).unwrap_err();
        assert_eq!(span.start, 3);
    }

    #[test]
    fn deep_nesting_is_an_error() {
        let source = "<a>".repeat(100_000) + &"</a>".repeat(100_000);
        assert!(parse(&source, 0).is_err());
    }
}
