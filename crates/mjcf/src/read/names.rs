//! Which names there are, and whether those that elements refer to are among them.

use std::collections::{BTreeMap, BTreeSet};

use super::Reader;
use crate::dom::Node;
use crate::error::ErrorKind;
use crate::schema::suggest;
use crate::span::Span;

/// Names by kind, and references to be checked when all names are known.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: BTreeMap<&'static str, BTreeSet<String>>,
    references: Vec<(&'static str, String, Span)>,
    /// prefixes of names that come from models that are not read
    pub(super) foreign: Vec<String>,
    /// names that were replicated, with the suffixes they got, in order
    pub(super) replicas: BTreeMap<(&'static str, String), Vec<String>>,
}

impl Names {
    /// The world is a body that every model has.
    pub(super) fn define_world(&mut self) {
        self.known.entry("body").or_default().insert("world".into());
    }

    /// Whether there is this name.
    pub(super) fn has(&self, kind: &str, name: &str) -> bool {
        self.known.get(kind).is_some_and(|k| k.contains(name))
    }
}

impl Reader<'_, '_> {
    /// Takes in a name; one that the kind has already is an error.
    pub(super) fn define(&mut self, kind: &'static str, name: Option<&str>, node: &Node) {
        let Some(name) = name else { return };
        if !self.names.known.entry(kind).or_default().insert(name.to_owned()) {
            let span = node.attr("name").or_else(|| node.attr("file")).map_or(node.span, |a| a.span);
            let error = ErrorKind::Duplicate { name: name.to_owned(), kind: kind.to_owned() };
            self.cx.error(span, error, Some("names are unique within a kind; change one of them".into()));
        }
    }

    /// Notes a reference.
    pub(super) fn refer(&mut self, kind: &'static str, name: &str, span: Span) {
        if !name.is_empty() {
            self.names.references.push((kind, name.to_owned(), span));
        }
    }

    /// Notes the reference that an attribute makes, if it is there.
    pub(super) fn refer_attr(&mut self, kind: &'static str, node: &Node, attr: &str) {
        if let Some(a) = node.attr(attr) {
            let (name, span) = (a.value.clone(), a.span);
            self.refer(kind, &name, span);
        }
    }

    /// Marks the bodies that an element names.
    pub(super) fn mark_bodies(&mut self) {
        let named: BTreeSet<&str> = self
            .names
            .references
            .iter()
            .filter(|(kind, ..)| *kind == "body")
            .map(|(_, name, _)| name.as_str())
            .collect();
        for body in &mut self.spec.bodies {
            body.whole |= body.name.as_deref().is_some_and(|n| named.contains(n));
        }
    }

    /// Reports every reference to a name that is not there.
    pub(super) fn check_references(&mut self) {
        for (kind, name, span) in std::mem::take(&mut self.names.references) {
            let known = self.names.known.get(kind);
            if known.is_some_and(|k| k.contains(&name)) || self.names.foreign.iter().any(|p| name.starts_with(p)) {
                continue;
            }
            let similar = suggest(&name, known.into_iter().flatten().map(String::as_str));
            let other = || {
                let kinds: Vec<_> =
                    self.names.known.iter().filter(|(_, n)| n.contains(&name)).map(|(k, _)| *k).collect();
                (!kinds.is_empty()).then(|| format!("`{name}` is a {}", kinds.join(" and a ")))
            };
            let replicated = || {
                let suffixes = self.names.replicas.get(&(kind, name.clone()))?;
                Some(format!("it is replicated: name a copy, such as `{name}{}`", suffixes.first()?))
            };
            let remedy = replicated().or_else(other).or(similar).unwrap_or_else(|| list(known.into_iter().flatten()));
            self.cx.error(span, ErrorKind::Dangling { name, kind: kind.to_owned() }, Some(remedy));
        }
    }
}

/// The names that there are, or the first of them.
pub(super) fn list<'a>(known: impl Iterator<Item = &'a String>) -> String {
    const FEW: usize = 8;
    let names: Vec<_> = known.take(FEW + 1).map(String::as_str).collect();
    match names.len() {
        0 => "the model has none".into(),
        n if n > FEW => format!("there are: {}, …", names[..FEW].join(", ")),
        _ => format!("there are: {}", names.join(", ")),
    }
}
