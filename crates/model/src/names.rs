//! Names and ids of the elements of a model.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;

/// Most letters of a name that are shown.
const LONG: usize = 120;

/// True for characters that do something instead of showing something: controls, and those that turn the direction of text or
/// have no width.
pub fn acts(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    turns || c.is_control()
}

/// A text with the characters that `bad` tells written as `\uXXXX`, which means the same in JSON; they are all of four digits.
pub fn escaped(text: &str, bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&bad) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if bad(c) {
            // a text takes whatever is written to it
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// A name, or a few words with names in them, as people are shown it: on one line, nothing in it steers a terminal, and cut where
/// it is long.
pub fn shown(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(LONG) {
        Some((at, _)) => Cow::Owned(format!("{}…", escaped(&name[..at], acts))),
        None => escaped(name, acts),
    }
}

/// Kinds of elements that have names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "MJCF's own words")]
pub enum Kind {
    Body,
    Joint,
    Geom,
    Site,
    Pair,
    Equality,
    Tendon,
    Actuator,
    Key,
    Mesh,
    Hfield,
    Camera,
    Sensor,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 13] = [
        Self::Body,
        Self::Joint,
        Self::Geom,
        Self::Site,
        Self::Pair,
        Self::Equality,
        Self::Tendon,
        Self::Actuator,
        Self::Key,
        Self::Mesh,
        Self::Hfield,
        Self::Camera,
        Self::Sensor,
    ];

    /// The word for it in messages.
    pub fn word(self) -> &'static str {
        match self {
            Self::Body => "body",
            Self::Joint => "joint",
            Self::Geom => "geom",
            Self::Site => "site",
            Self::Pair => "pair",
            Self::Equality => "equality constraint",
            Self::Tendon => "tendon",
            Self::Actuator => "actuator",
            Self::Key => "keyframe",
            Self::Mesh => "mesh",
            Self::Hfield => "height field",
            Self::Camera => "camera",
            Self::Sensor => "sensor",
        }
    }
}

/// Names of the elements of one kind, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameTable {
    names: Vec<Option<String>>,
    ids: HashMap<String, usize>,
}

impl NameTable {
    /// Adds the next element.
    pub(crate) fn push(&mut self, name: Option<&str>) {
        if let Some(name) = name {
            self.ids.entry(name.to_owned()).or_insert(self.names.len());
        }
        self.names.push(name.map(str::to_owned));
    }

    /// The element of this name.
    pub fn id(&self, name: &str) -> Option<usize> {
        self.ids.get(name).copied()
    }

    /// The name of an element, if it has one.
    pub fn name(&self, id: usize) -> Option<&str> {
        self.names.get(id)?.as_deref()
    }

    /// The names that there are, in order of ids.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &str)> {
        self.names.iter().enumerate().filter_map(|(i, n)| Some((i, n.as_deref()?)))
    }

    /// Number of elements, named or not.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// True where the model has no element of the kind.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// Names of all elements of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    tables: [NameTable; Kind::ALL.len()],
}

impl Names {
    /// The names of one kind.
    pub fn of(&self, kind: Kind) -> &NameTable {
        &self.tables[kind as usize]
    }

    pub(crate) fn push(&mut self, kind: Kind, name: Option<&str>) {
        self.tables[kind as usize].push(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_short_and_on_one_line() {
        assert_eq!(shown("left arm ünï ✓"), "left arm ünï ✓");
        assert_eq!(shown("a\nb\u{1b}[31m\u{202e}\u{9b}"), "a\\u000ab\\u001b[31m\\u202e\\u009b");
        let long = shown(&"ü".repeat(1000)).into_owned();
        assert!(long.chars().count() == LONG + 1 && long.ends_with('…'));
    }
}
