//! What parts of the document that come from attached models need: their unit of angles, their limits, their folders.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

use super::Reader;
use crate::attach;
use crate::dom::Node;
use crate::error::ErrorKind;
use crate::files::normalize;
use crate::span::Span;
use crate::spec::{Compiler, Joint, JointKind, Orientation, Part, Tri, Unsupported};

/// A model that parts of the document come from.
#[derive(Debug)]
pub(super) struct Scope {
    source: attach::Scope,
    compiler: Compiler,
    /// factor from its unit of angles to that of the main model
    scale: f64,
    /// whether it infers limits from ranges, where the main model does otherwise
    autolimits: Option<bool>,
    /// elements that came from it, with the places where they are written
    part: Vec<(Span, Element)>,
}

/// An element that key frames have values for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Element {
    /// body, and number of the joint in it
    Joint(usize, usize),
    /// body
    Mocap(usize),
    /// number of the actuator
    Actuator(usize),
}

impl Scope {
    pub(super) fn new(source: attach::Scope) -> Self {
        Self { source, compiler: Compiler::default(), scale: 1.0, autolimits: None, part: Vec::new() }
    }
}

impl Reader<'_, '_> {
    /// Settings and default classes of the attached models.
    pub(super) fn attached(&mut self) {
        let main = self.spec.compiler.clone();
        let mut scopes = std::mem::take(&mut self.scopes);
        for scope in &mut scopes[1..] {
            self.spec.compiler = Compiler::default();
            scope.source.compiler.iter().for_each(|n| self.compiler(n));
            let own = std::mem::replace(&mut self.spec.compiler, main.clone());
            scope.scale = match (own.degrees, main.degrees) {
                (true, false) => std::f64::consts::PI / 180.0,
                (false, true) => 180.0 / std::f64::consts::PI,
                _ => 1.0,
            };
            scope.autolimits = (own.autolimits != main.autolimits).then_some(own.autolimits);
            self.not_taken_over(&scope.source, &main);
            self.spec.attached.push(own.clone());
            scope.compiler = own;
        }
        scopes[0].compiler = main;
        self.scopes = scopes;
        for i in 1..self.scopes.len() {
            let source = &mut self.scopes[i].source;
            let (name, sections) = (source.main.clone(), std::mem::take(&mut source.defaults));
            self.attached_defaults(&name, &sections);
        }
    }

    /// Notes an element that key frames of its model may have values for.
    pub(super) fn note(&mut self, node: &Node, element: Element) {
        let scope = &mut self.scopes[node.scope];
        scope.part.push((node.span, element));
    }

    /// Key frames of attached models: they come after those of the main model.
    pub(super) fn attached_keys(&mut self) {
        for scope in 1..self.scopes.len() {
            let sections = std::mem::take(&mut self.scopes[scope].source.keys);
            let keys: Vec<&Node> = sections.iter().flat_map(|s| &s.children).filter(|c| c.tag == "key").collect();
            if keys.is_empty() {
                continue;
            }
            if let Some(part) = self.part(scope) {
                keys.into_iter().for_each(|node| self.key(node, Some(part.clone())));
            }
        }
    }

    /// The number of joints of the bodies before each.
    fn joints_before(&self) -> Vec<usize> {
        let mut next = 0;
        let add = |n: usize| {
            next += n;
            next - n
        };
        self.spec.bodies.iter().map(|b| b.joints.len()).map(add).collect()
    }

    /// What key frames of the main model may have values of, where others were attached: its own elements.
    pub(super) fn own_part(&self) -> Option<Part> {
        if self.scopes.len() == 1 {
            return None;
        }
        let (before, mut part) = (self.joints_before(), Part::default());
        for (_, element) in &self.scopes[0].part {
            match *element {
                Element::Joint(body, joint) => {
                    part.joints.push((self.spec.bodies[body].joints[joint].kind, Some(before[body] + joint)));
                }
                Element::Mocap(body) => part.mocaps.push(Some(body)),
                Element::Actuator(id) => part.actuators.push((Some(id), self.spec.actuators[id].clone())),
            }
        }
        Some(part)
    }

    /// What key frames of an attached model have values of: its elements, as its own file has them, each with its place in the
    /// whole where it was attached. As in MuJoCo an attachment knows elements that later ones of the same model brought.
    fn part(&mut self, scope: usize) -> Option<Part> {
        let path = self.scopes[scope].source.path.clone();
        let (own, sources) = super::read_bare(self.cx, &path)?;
        let before = self.joints_before();
        let mut found: HashMap<(String, u32), VecDeque<usize>> = HashMap::new();
        let model = self.scopes[scope].source.model;
        let attachments = (scope..self.scopes.len()).filter(|&s| self.scopes[s].source.model == model);
        let scopes = attachments.flat_map(|s| s..self.scopes[s].source.end);
        for (span, element) in scopes.flat_map(|s| &self.scopes[s].part) {
            let id = match *element {
                Element::Joint(body, joint) => before[body] + joint,
                Element::Mocap(id) | Element::Actuator(id) => id,
            };
            found.entry((self.cx.sources.name(*span).to_owned(), span.start)).or_default().push_back(id);
        }
        // replicas are written in one place, and come in order
        let mut place = |span: Span| found.get_mut(&(sources.name(span).to_owned(), span.start))?.pop_front();
        Some(Part {
            joints: own.joints().map(|(_, j)| (j.kind, place(j.at.span))).collect(),
            mocaps: own.bodies.iter().filter(|b| b.mocap).map(|b| place(b.at.span)).collect(),
            actuators: own.actuators.into_iter().map(|a| (place(a.at.span), a)).collect(),
        })
    }

    /// The name of the outermost default class of the model that an element comes from.
    pub(super) fn main_class(&self, node: &Node) -> &str {
        &self.scopes[node.scope].source.main
    }

    /// Which of the attached models' settings a node's body has.
    pub(super) fn settings(&self, node: &Node) -> Option<usize> {
        node.scope.checked_sub(1)
    }

    /// Says that options of an attached model are not those of the whole. As in MuJoCo the main model's stand, unless it asks for
    /// something else to be done about conflicts.
    fn not_taken_over(&mut self, source: &attach::Scope, main: &Compiler) {
        for &span in &source.options {
            if main.conflict.is_some() {
                let feature = "compiler/conflict, with options of an attached model".to_owned();
                self.spec.unsupported.push(Unsupported { feature, name: None, span });
            } else {
                let kind = ErrorKind::BadValue("options of an attached model are not those of the whole".into());
                self.cx.warn(span, kind, Some("write them into the main model".into()));
            }
        }
    }

    /// An orientation in the main model's unit of angles.
    pub(super) fn in_main_unit(&self, node: &Node, orientation: Orientation) -> Orientation {
        let scale = self.scopes[node.scope].scale;
        let (own, main) = (self.scopes[node.scope].compiler.eulerseq, self.spec.compiler.eulerseq);
        match orientation {
            Orientation::Euler(angles) if node.scope > 0 && own != main => {
                Orientation::EulerIn(angles.map(|a| a * scale), own)
            }
            _ if scale == 1.0 => orientation,
            Orientation::Euler(angles) => Orientation::Euler(angles.map(|a| a * scale)),
            Orientation::AxisAngle([x, y, z, angle]) => Orientation::AxisAngle([x, y, z, angle * scale]),
            other => other,
        }
    }

    /// A joint with its angles in the main model's unit.
    pub(super) fn joint_in_main_unit(&self, node: &Node, joint: &mut Joint) {
        let scale = self.scopes[node.scope].scale;
        if scale != 1.0 && matches!(joint.kind, JointKind::Hinge | JointKind::Ball) {
            joint.range = joint.range.map(|a| a * scale);
            joint.springyield *= scale;
            if joint.kind == JointKind::Hinge {
                joint.reference *= scale;
                joint.springref *= scale;
            }
        }
    }

    /// Settles a limit as the element's own model does, where the main model does otherwise.
    pub(super) fn settle(&self, node: &Node, limited: &mut Tri, range: [f64; 2]) {
        if let (Tri::Auto, Some(auto)) = (*limited, self.scopes[node.scope].autolimits) {
            *limited = if auto && range != [0.0; 2] { Tri::True } else { Tri::False };
        }
    }

    /// Where the file of a mesh or height field may lie: in the folder for them, beside the main file of its model; else
    /// beside the included file that names it.
    pub(super) fn asset_paths(&self, node: &Node, file: &str) -> Vec<PathBuf> {
        let scope = &self.scopes[node.scope];
        let file = if scope.compiler.strippath { file.rsplit(['/', '\\']).next().unwrap_or(file) } else { file };
        let dir = scope.compiler.meshdir.as_deref();
        let base = scope.source.path.parent().unwrap_or(Path::new(""));
        let first = normalize(&base.join(dir.unwrap_or("")).join(file));
        let beside = Path::new(self.cx.sources.name(node.span)).parent().unwrap_or(Path::new(""));
        let second = normalize(&beside.join(file));
        let included = node.span.file != 0 && Path::new(self.cx.sources.name(node.span)) != scope.source.path;
        if included && first != second { vec![first, second] } else { vec![first] }
    }
}
