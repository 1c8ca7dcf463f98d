//! Names inside `replicate`, and elements elsewhere that refer to them.

use super::Reader;
use crate::dom::Node;
use crate::error::ErrorKind;
use crate::refer::referred;
use crate::spec::{Compiler, Orientation};
use std::collections::VecDeque;

/// The most copies one `replicate` makes.
pub(super) const MAX_COPIES: i32 = 100_000;
/// With more elements than these no further copies are made.
pub(super) const MAX_ELEMENTS: usize = 250_000;

/// What is appended to names: of nested replicas the innermost first.
#[derive(Clone, Debug, Default)]
pub(super) struct Suffix(String);

impl Suffix {
    /// The suffix inside one more `replicate`: as many digits as its last copy needs.
    pub(super) fn inside(&self, sep: &str, copy: i32, count: i32) -> Self {
        let digits = (count - 1).max(0).to_string().len();
        Self(format!("{sep}{copy:0digits$}{}", self.0))
    }

    /// Bytes that it adds to a name; 0 outside of any `replicate`.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// A name with the suffix.
    pub(super) fn apply(&self, name: &str) -> String {
        format!("{name}{}", self.0)
    }
}

/// The orientation of a copy: Euler angles times its number.
pub(super) fn times(turn: &Orientation, n: f64) -> Orientation {
    match turn {
        Orientation::Euler(angles) => Orientation::Euler(angles.map(|a| n * a)),
        Orientation::EulerIn(angles, sequence) => Orientation::EulerIn(angles.map(|a| n * a), *sequence),
        other => *other,
    }
}

/// A vector in the axes of a copy, seen from around the replicas.
pub(super) fn turned(turn: Option<&Orientation>, n: f64, compiler: &Compiler, v: [f64; 3]) -> [f64; 3] {
    let (angles, sequence) = match turn {
        Some(Orientation::Euler(angles)) => (angles, &compiler.eulerseq),
        Some(Orientation::EulerIn(angles, sequence)) => (angles, sequence),
        _ => return v,
    };
    // the turn that acts first on a vector comes last: small letters turn about moved axes, capital ones about fixed axes
    let mut turns = VecDeque::with_capacity(3);
    for (&letter, a) in sequence.iter().zip(angles) {
        let turn = (letter.to_ascii_lowercase(), n * if compiler.degrees { a.to_radians() } else { *a });
        if letter.is_ascii_lowercase() { turns.push_back(turn) } else { turns.push_front(turn) }
    }
    turns.iter().rev().fold(v, |v, &(letter, angle)| {
        let k = match letter {
            'x' => 0,
            'y' => 1,
            _ => 2,
        };
        let (i, j, (sin, cos)) = ((k + 1) % 3, (k + 2) % 3, angle.sin_cos());
        let mut out = v;
        (out[i], out[j]) = (cos * v[i] - sin * v[j], sin * v[i] + cos * v[j]);
        out
    })
}

impl Reader<'_, '_> {
    /// The elements of a kind in all its sections, in MuJoCo's order: first those that stand as they are, then those
    /// that refer to replicated elements, once for every copy and all of one copy together.
    pub(super) fn elements(&mut self, root: &Node, section: &str, kind: &'static str, tags: &[&str]) -> Vec<Node> {
        let sections = root.children.iter().filter(|c| c.tag == section);
        let all = sections.flat_map(|s| &s.children).filter(|c| tags.is_empty() || tags.contains(&c.tag.as_str()));
        let mut plain = Vec::new();
        let mut groups: Vec<(Vec<String>, Vec<&Node>)> = Vec::new();
        for node in all {
            match self.suffixes(node) {
                None => plain.push(node.clone()),
                Some(suffixes) => {
                    if let Some(name) = node.owned("name") {
                        self.names.replicas.insert((kind, name), suffixes.clone());
                    }
                    match groups.iter_mut().find(|(s, _)| *s == suffixes) {
                        Some((_, nodes)) => nodes.push(node),
                        None => groups.push((suffixes, vec![node])),
                    }
                }
            }
        }
        for (suffixes, nodes) in groups {
            self.made += suffixes.len() * nodes.len();
            if self.made > MAX_ELEMENTS {
                self.too_many(nodes[0]);
                break;
            }
            for suffix in suffixes {
                plain.extend(nodes.iter().map(|node| self.with_suffix(node, &suffix)));
            }
        }
        plain
    }

    /// Reports copies without end.
    pub(super) fn too_many(&mut self, node: &Node) {
        let kind = ErrorKind::BadValue(format!("copies make more than {MAX_ELEMENTS} elements"));
        self.cx.error(node.span, kind, Some("make fewer copies; replicas within replicas multiply".into()));
    }

    /// The suffixes of the replicas that an element refers to; `None` unless all that it refers to is replicated.
    fn suffixes(&self, node: &Node) -> Option<Vec<String>> {
        let mut found: Option<Vec<String>> = None;
        for element in std::iter::once(node).chain(&node.children) {
            for attr in element.attrs.iter().filter(|a| !a.value.is_empty()) {
                let Some(kind) = referred(element, &attr.name) else { continue };
                if kind == "body" && attr.value == "world" {
                    continue;
                }
                let suffixes = self.names.replicas.get(&(kind, attr.value.clone()));
                let suffixes = suffixes.filter(|_| !self.names.has(kind, &attr.value))?;
                found.get_or_insert_with(|| suffixes.clone());
            }
        }
        found
    }

    fn with_suffix(&self, node: &Node, suffix: &str) -> Node {
        let mut copy = node.clone();
        for attr in copy.attrs.iter_mut().filter(|a| !a.value.is_empty()) {
            let world = attr.value == "world";
            if attr.name == "name" || (referred(node, &attr.name).is_some() && !world) {
                attr.value.push_str(suffix);
            }
        }
        copy.children = node.children.iter().map(|c| self.with_suffix(c, suffix)).collect();
        copy
    }
}
