//! Which elements and attributes there are, and the check of a document against that.
//!
//! The table is `schema.txt`: a line an element, indented below the element around it; then how often it may be there
//! (`?` once, `*` any number, `R` nested, `!` the root), then its attributes. An attribute alone is text; `r3` is three
//! numbers, `r1-3` one to three, `r1-*` any number, `x` numbers that may be infinite, `i` whole numbers, `I` those of
//! which some must be there, and words are those that the attribute takes.
//! Names are those that MuJoCo 4.0.0 prints (`mj_printSchema`), kinds and counts were found by trying them on it.

use std::sync::OnceLock;

use crate::dom::Node;
use crate::error::ErrorKind;
use crate::read::Cx;
use crate::span::{At, Span};

/// What an attribute holds.
#[derive(Debug)]
pub(crate) enum Kind {
    /// any text
    Text,
    /// numbers, whole or not, and how many
    Numbers {
        /// whole numbers
        whole: bool,
        /// infinity is a number too: a limit that is none
        infinite: bool,
        /// no number at all is too few
        some: bool,
        /// fewest
        min: usize,
        /// most
        max: usize,
    },
    /// one of these words
    Words(Vec<&'static str>),
}

/// An element of the table.
#[derive(Debug)]
pub(crate) struct Element {
    tag: &'static str,
    once: bool,
    attrs: Vec<(&'static str, Kind)>,
    children: Vec<usize>,
}

/// The whole table; the root is the first.
#[derive(Debug)]
pub(crate) struct Schema {
    elements: Vec<Element>,
}

impl Schema {
    /// The table, parsed at the first use.
    pub(crate) fn get() -> &'static Self {
        static SCHEMA: OnceLock<Schema> = OnceLock::new();
        SCHEMA.get_or_init(|| Self::parse(include_str!("schema.txt")))
    }

    fn parse(table: &'static str) -> Self {
        let mut elements: Vec<Element> = Vec::new();
        let mut stack: Vec<usize> = Vec::new();
        for line in table.lines().filter(|l| !l.trim().is_empty()) {
            let depth = (line.len() - line.trim_start().len()) / 2;
            let mut words = line.split_whitespace();
            let tag = words.next().unwrap_or("");
            let card = words.next().unwrap_or("*");
            let attrs = words
                .map(|w| w.split_once(':').map_or((w, Kind::Text), |(name, kind)| (name, Self::kind(kind))))
                .collect();
            let id = elements.len();
            elements.push(Element { tag, once: card == "?", attrs, children: Vec::new() });
            stack.truncate(depth);
            if let Some(&parent) = stack.last() {
                elements[parent].children.push(id);
            }
            stack.push(id);
        }
        let mut schema = Self { elements };
        schema.close_recursion();
        schema
    }

    fn kind(text: &'static str) -> Kind {
        let (head, tail) = text.split_at(1);
        if !matches!(head, "r" | "x" | "i" | "I") || !tail.starts_with(|c: char| c.is_ascii_digit()) {
            return Kind::Words(text.split('|').collect());
        }
        let (min, max) = tail.split_once('-').unwrap_or((tail, tail));
        let max = if max == "*" { usize::MAX } else { max.parse().unwrap_or(usize::MAX) };
        let (whole, infinite) = (matches!(head, "i" | "I"), head == "x");
        Kind::Numbers { whole, infinite, some: head == "I", min: min.parse().unwrap_or(0), max }
    }

    /// Bodies hold bodies, frames and replicas; those hold what bodies hold; default classes hold default classes.
    fn close_recursion(&mut self) {
        let find = |tag: &str| self.elements.iter().position(|e| e.tag == tag).unwrap_or(0);
        let (body, frame, replicate, worldbody, default) =
            (find("body"), find("frame"), find("replicate"), find("worldbody"), find("default"));
        self.elements[body].children.extend([body, frame, replicate]);
        let inside = self.elements[body].children.clone();
        self.elements[worldbody].children = inside.clone();
        self.elements[frame].children = inside.clone();
        self.elements[replicate].children = inside;
        self.elements[default].children.push(default);
        self.elements[0].children.retain(|&c| ![body, frame, replicate].contains(&c));
    }

    /// The table's own copy of an attribute's name, to be kept for ever.
    pub(crate) fn intern(name: &str) -> Option<&'static str> {
        static NAMES: OnceLock<std::collections::BTreeSet<&'static str>> = OnceLock::new();
        let all = || Self::get().elements.iter().flat_map(|e| e.attrs.iter().map(|(n, _)| *n)).collect();
        NAMES.get_or_init(all).get(name).copied()
    }

    /// Checks a document: every element, attribute, number and keyword.
    pub(crate) fn check(&self, cx: &mut Cx<'_>, root: &Node) {
        self.element(cx, root, 0, 0);
    }

    fn element(&self, cx: &mut Cx<'_>, node: &Node, id: usize, parent: usize) {
        if cx.full() {
            return;
        }
        let element = &self.elements[id];
        for attr in &node.attrs {
            match element.attrs.iter().find(|(n, _)| *n == attr.name) {
                Some((name, kind)) => check_value(cx, name, kind, &attr.value, attr.span),
                None if cx.full() => {}
                None if element.tag == "worldbody" => {
                    let kind = ErrorKind::UnknownAttribute { attribute: attr.name.clone(), element: node.tag.clone() };
                    cx.error(attr.name_span, kind, Some("the world body has no attributes".into()));
                }
                None => {
                    let remedy = suggest(&attr.name, element.attrs.iter().map(|(n, _)| *n))
                        .or_else(|| self.owners(parent, &attr.name))
                        .unwrap_or_else(|| "remove it".into());
                    let kind = ErrorKind::UnknownAttribute { attribute: attr.name.clone(), element: node.tag.clone() };
                    cx.error(attr.name_span, kind, Some(remedy));
                }
            }
        }
        let mut seen: Vec<usize> = Vec::new();
        for child in &node.children {
            match element.children.iter().find(|&&c| self.elements[c].tag == child.tag) {
                Some(&c) => {
                    if self.elements[c].once && seen.contains(&c) {
                        let kind = ErrorKind::Repeated { element: child.tag.clone(), parent: node.tag.clone() };
                        cx.error(child.span, kind, Some("keep one of them".into()));
                    }
                    seen.push(c);
                    self.element(cx, child, c, id);
                }
                None => {
                    let remedy = self.suggest_element(element, &child.tag);
                    let kind = ErrorKind::UnknownElement { element: child.tag.clone(), parent: node.tag.clone() };
                    cx.error(child.span, kind, Some(remedy));
                }
            }
        }
    }

    /// Which neighbours of an element take an attribute.
    fn owners(&self, parent: usize, attr: &str) -> Option<String> {
        let children = self.elements[parent].children.iter().map(|&c| &self.elements[c]);
        let owners: Vec<_> = children.filter(|e| e.attrs.iter().any(|(n, _)| *n == attr)).map(|e| e.tag).collect();
        (!owners.is_empty()).then(|| format!("it is an attribute of <{}>", owners.join(">, <")))
    }

    /// A similar element that may stand here, or where this one may stand.
    fn suggest_element(&self, parent: &Element, tag: &str) -> String {
        if tag == "composite" {
            return "MuJoCo dropped it: write <replicate> for many bodies, <flexcomp> for what is soft".into();
        }
        let here = suggest(tag, parent.children.iter().map(|&c| self.elements[c].tag));
        let elsewhere = || {
            let mut places: Vec<_> = (self.elements.iter())
                .filter(|e| e.children.iter().any(|&c| self.elements[c].tag == tag))
                .map(|e| format!("<{}>", e.tag))
                .collect();
            places.dedup();
            (!places.is_empty()).then(|| format!("<{tag}> stands in {}", places.join(", ")))
        };
        here.or_else(elsewhere).unwrap_or_else(|| "remove it; MJCF has no element of this name".into())
    }
}

fn check_value(cx: &mut Cx<'_>, name: &str, kind: &Kind, value: &str, span: Span) {
    match kind {
        Kind::Text => {}
        Kind::Words(words) => {
            if !words.contains(&value) {
                let remedy = suggest(value, words.iter().copied())
                    .unwrap_or_else(|| format!("the values are: {}", words.join(", ")));
                let kind = ErrorKind::UnknownKeyword { value: value.to_owned(), attribute: name.to_owned() };
                cx.error(span, kind, Some(remedy));
            }
        }
        Kind::Numbers { whole, infinite, some, min, max } => {
            let mut found = 0;
            let mut commas = false;
            for (word, at) in words(value, span) {
                found += 1;
                let fine = if *whole {
                    word.parse::<i32>().is_ok()
                } else {
                    number(word).is_some_and(|x| *infinite || x.is_finite())
                };
                if !fine {
                    let (value, attribute) = (word.to_owned(), name.to_owned());
                    let kind = if *whole {
                        ErrorKind::BadInteger { value, attribute }
                    } else {
                        ErrorKind::BadNumber { value, attribute }
                    };
                    commas |= word.contains(',');
                    let remedy = if word.contains(',') {
                        "numbers are separated by spaces, not commas"
                    } else if *whole {
                        "write a whole number, such as 3"
                    } else if !*infinite && number(word).is_some() {
                        "write a finite number: only the ends of ranges, such as `range`, may be infinite"
                    } else if word.parse::<f64>().is_ok() {
                        "nan and numbers beyond 1.8e308 are not accepted"
                    } else {
                        "write a number, such as 0.5 or 1e-3"
                    };
                    cx.error(at, kind, Some(remedy.into()));
                }
            }
            if !commas && (found != 0 || *some) && (found < *min || found > *max) {
                let expected = match (*min, *max) {
                    (min, max) if min == max => format!("{min}"),
                    (min, usize::MAX) => format!("at least {min}"),
                    (min, max) => format!("{min} to {max}"),
                };
                let remedy = if found > *max { "leave out the last ones" } else { "give the missing ones" };
                let kind = ErrorKind::WrongCount { attribute: name.to_owned(), found, expected };
                cx.error(span, kind, Some(remedy.into()));
            }
        }
    }
}

/// The words of a value with their spans. (Where entities stand in a value the spans are those of the whole value.)
fn words(value: &str, span: Span) -> impl Iterator<Item = (&str, Span)> {
    let plain = value.len() == (span.end - span.start) as usize;
    value.split_ascii_whitespace().map(move |word| {
        let start = word.as_ptr() as usize - value.as_ptr() as usize;
        let at = |i: usize| span.start + u32::try_from(i).unwrap_or(0);
        (word, if plain { Span { file: span.file, start: at(start), end: at(start + word.len()) } } else { span })
    })
}

/// A number, infinite only where a word says so, as in MuJoCo; whole ones may be hexadecimal.
pub(crate) fn number(word: &str) -> Option<f64> {
    let hexadecimal = || u32::from_str_radix(word.strip_prefix("0x")?, 16).ok().map(f64::from);
    let in_words = || word.trim_start_matches(['+', '-']).starts_with(['i', 'I']);
    word.parse::<f64>().ok().or_else(hexadecimal).filter(|x| x.is_finite() || (x.is_infinite() && in_words()))
}

/// "did you mean …?", where one of the names is similar.
pub(crate) fn suggest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let close = name.chars().count().div_ceil(3);
    let best = known.map(|k| (distance(name, k), k)).filter(|(d, _)| *d <= close).min_by_key(|(d, _)| *d);
    best.map(|(_, k)| format!("did you mean `{k}`?"))
}

/// Edits between two words, case not counted; long words are taken as different.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.to_lowercase().chars().collect(), b.to_lowercase().chars().collect());
    if a.len().max(b.len()) > 64 || a.len().abs_diff(b.len()) > 8 {
        return usize::MAX;
    }
    // rows of the edit matrix; a swap of neighbours counts as one edit
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let mut best = (rows[i - 1][j] + 1).min(row[j - 1] + 1);
            best = best.min(rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]));
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

impl At {
    /// The place of an element that starts from a class: the class's attributes, then its own.
    pub(crate) fn of(base: &Self, node: &Node) -> Self {
        let mut at = Self { span: node.span, attrs: base.attrs.clone() };
        at.absorb(node);
        at
    }

    /// Notes the attributes of one more element.
    pub(crate) fn absorb(&mut self, node: &Node) {
        for attr in node.attrs.iter().filter(|a| !a.value.is_empty()) {
            if let Some(name) = Schema::intern(&attr.name) {
                self.set(name, attr.span);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_well_formed() {
        let schema = Schema::get();
        assert_eq!(schema.elements[0].tag, "mujoco");
        for e in &schema.elements {
            for (name, kind) in &e.attrs {
                assert!(!name.is_empty());
                if let Kind::Numbers { min, max, .. } = kind {
                    assert!(*min >= 1 && min <= max, "{} {name}", e.tag);
                }
            }
        }
        let geom = schema.elements.iter().filter(|e| e.tag == "geom").max_by_key(|e| e.attrs.len()).unwrap();
        let size = geom.attrs.iter().find(|(n, _)| *n == "size").unwrap();
        assert!(matches!(size.1, Kind::Numbers { whole: false, min: 1, max: 3, .. }));
    }

    #[test]
    fn similar_names_are_suggested() {
        let known = || ["stiffness", "damping", "range"].into_iter();
        assert_eq!(suggest("stifness", known()).as_deref(), Some("did you mean `stiffness`?"));
        assert_eq!(suggest("Damping", known()).as_deref(), Some("did you mean `damping`?"));
        assert_eq!(suggest("mass", known()), None);
    }
}
