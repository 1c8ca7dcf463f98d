//! A specification to a compiled model: a list of calls, in order.

mod actuator;
mod asset;
mod capacity;
mod discard;
mod equality;
mod fluid;
mod frame;
mod fuse;
mod geom;
mod inertia;
mod joint;
mod keys;
mod lengthrange;
mod limits;
mod moment;
mod options;
mod pairs;
mod sensor;
mod setconst;
mod support;
mod tendon;
mod tree;
mod wrap;

pub use capacity::{contacts_at_most, rows_always, rows_per_contact, slots};
pub use equality::capture;
pub(crate) use joint::Simple;
pub(crate) use setconst::set_const;

use crate::names::{Kind, Names};
use crate::{Model, derived};
use frame::Pose;
use geom::Shape;
use kiloworld_layout as layout;
use kiloworld_mjcf::spec::{Orientation, Spec, Tri};
use kiloworld_mjcf::{At, Error, ErrorKind, Errors, Span};
use std::borrow::Cow;
use std::collections::HashSet;

/// Compiles a specification; everything that is wrong with it is reported together.
pub(crate) fn compile(spec: &Spec) -> Result<Model, Errors> {
    let mut spec = Cow::Borrowed(spec);
    if spec.compiler.discardvisual {
        spec = Cow::Owned(discard::visual(&spec)?);
    }
    if spec.compiler.fusestatic {
        spec = Cow::Owned(fuse::fused(&spec)?);
    }
    compile_all(&spec)
}

/// The passes up to the masses of the bodies.
fn start(c: &mut Compiler<'_>) -> Result<(), Errors> {
    c.sound();
    c.stop_at_errors()?;
    c.name_tree();
    options::options(c);
    c.frame_poses();
    tree::bodies(c);
    tree::body_frames(c);
    asset::assets(c);
    geom::geoms(c);
    geom::sites(c);
    inertia::bodies(c);
    Ok(())
}

fn compile_all(spec: &Spec) -> Result<Model, Errors> {
    let mut c = Compiler::of(spec);
    start(&mut c)?;
    inertia::massless(&mut c);
    inertia::total_mass(&mut c);
    sensor::cameras(&mut c);
    tree::align_free(&mut c);
    joint::joints(&mut c);
    joint::simple_bodies(&mut c);
    tree::sparsity(&mut c);
    pairs::pairs(&mut c);
    pairs::excludes(&mut c);
    equality::equalities(&mut c);
    tendon::tendons(&mut c);
    actuator::actuators(&mut c);
    sensor::sensors(&mut c);
    keys::keys(&mut c);
    support::features(&mut c);
    c.stop_at_errors()?;
    limits::limits(&mut c);
    c.stop_at_errors()?;
    let refused = derived::fill(&mut c.m).unwrap_or_else(|| limits::too_many_pairs(&mut c));
    c.stop_at_errors()?;
    support::collisions(&mut c, &refused);
    setconst::constants(&mut c);
    c.stop_at_errors()?;
    lengthrange::ranges(&mut c);
    c.stop_at_errors()?;
    capacity::capacities(&mut c.m);
    let unsupported = c.counted();
    Ok(Model {
        layout: c.m,
        name: spec.model.clone().unwrap_or_default(),
        names: c.names,
        simple: c.simple,
        unsupported,
        warnings: c.warnings,
        sources: spec.sources.clone(),
    })
}

/// Reports a history that is longer than MuJoCo allows.
fn history(c: &mut Compiler<'_>, at: &At, samples: i32) {
    if samples > 1 << 24 {
        c.error(at.attr("nsample"), format!("a history has at most 2^24 samples, not {samples}"), "write fewer");
    }
}

/// The model as far as it is compiled, and what the passes tell each other.
struct Compiler<'a> {
    spec: &'a Spec,
    m: layout::Model<f64>,
    names: Names,
    /// frames of the file in their bodies
    frames: Vec<Pose>,
    /// what the file says about a body's pose, before its frame
    own: Vec<Pose>,
    /// meshes, by id
    meshes: Vec<asset::Shape>,
    shapes: Vec<Shape>,
    simple: Vec<Simple>,
    /// bodies whose inertia is not what the file gives, for the compiler's bounds and balance
    adjusted: Vec<bool>,
    errors: Vec<Error>,
    /// the first place of every feature that cannot be simulated
    unsupported: Vec<Error>,
    /// these features in the same order, how often each is there, and where
    refused: Vec<(String, usize, HashSet<Span>)>,
    warnings: Vec<Error>,
}

/// More errors, refusals or warnings than these help nobody.
const MAX_ERRORS: usize = 100;

/// A range, its attribute, and the attribute that says whether it limits.
struct Range {
    name: &'static str,
    switch: &'static str,
    value: [f64; 2],
}

impl<'a> Compiler<'a> {
    /// Nothing of it compiled yet.
    fn of(spec: &'a Spec) -> Self {
        Self {
            spec,
            m: layout::Model::default(),
            names: Names::default(),
            frames: Vec::new(),
            own: Vec::new(),
            meshes: Vec::new(),
            shapes: Vec::new(),
            simple: Vec::new(),
            adjusted: Vec::new(),
            errors: Vec::new(),
            unsupported: Vec::new(),
            refused: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Everything wrong so far, if there is any.
    fn stop_at_errors(&mut self) -> Result<(), Errors> {
        if self.errors.is_empty() {
            return Ok(());
        }
        let mut errors = std::mem::take(&mut self.errors);
        let missing = ErrorKind::Unsupported(support::ATTACH.to_owned());
        errors.extend(self.unsupported.iter().filter(|e| e.kind == missing).cloned());
        errors.sort_by_key(|e| (e.kind != missing, e.span.file, e.span.start));
        Err(Errors { errors, sources: self.spec.sources.clone() })
    }

    /// Notes something wrong.
    fn error(&mut self, span: Span, text: impl Into<String>, remedy: &str) {
        self.fault(span, ErrorKind::BadValue(text.into()), remedy);
    }

    /// Notes something wrong, of any kind.
    fn fault(&mut self, span: Span, kind: ErrorKind, remedy: &str) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(Error::new(&self.spec.sources, span, kind, Some(remedy.to_owned())));
        }
    }

    /// Notes a feature that cannot be simulated.
    fn refuse(&mut self, feature: &str, name: Option<&str>, span: Span, remedy: &str) {
        if let Some((_, count, places)) = self.refused.iter_mut().find(|(f, ..)| f == feature) {
            *count += 1;
            places.insert(span);
            return;
        }
        self.refused.push((feature.to_owned(), 1, HashSet::from([span])));
        let what = name.map_or_else(|| feature.to_owned(), |n| format!("{feature} \"{n}\""));
        let kind = ErrorKind::Unsupported(what);
        self.unsupported.push(Error::new(&self.spec.sources, span, kind, Some(remedy.to_owned())));
    }

    /// Every feature that cannot be simulated once, at its first place, with the number of the others.
    fn counted(&mut self) -> Vec<Error> {
        let mut all = std::mem::take(&mut self.unsupported);
        for (error, (_, count, _)) in all.iter_mut().zip(&self.refused) {
            if let (ErrorKind::Unsupported(what), 2..) = (&mut error.kind, *count) {
                *what = format!("{what} and {} more of this kind", count - 1);
            }
        }
        all
    }

    /// Notes something that is left out without harm to the motion.
    fn warn(&mut self, feature: &str, span: Span, remedy: &str) {
        if self.warnings.len() >= MAX_ERRORS {
            return;
        }
        let kind = ErrorKind::Unsupported(feature.to_owned());
        self.warnings.push(Error::new(&self.spec.sources, span, kind, Some(remedy.to_owned())));
    }

    /// Notes something that is accepted but probably not meant.
    fn doubt(&mut self, span: Span, text: String, remedy: &str) {
        let kind = ErrorKind::BadValue(text);
        self.warnings.push(Error::new(&self.spec.sources, span, kind, Some(remedy.to_owned())));
    }

    /// The element that an attribute names, or an error.
    fn find(&mut self, kind: Kind, name: &str, at: &At, attr: &str) -> Option<usize> {
        let found = self.names.of(kind).id(name);
        if found.is_none() {
            let error = ErrorKind::Dangling { name: name.to_owned(), kind: kind.word().to_owned() };
            self.fault(at.attr(attr), error, &format!("name an existing {}", kind.word()));
        }
        found
    }

    /// Reports a specification that no file can give: the reader counts bodies and frames in order.
    fn sound(&mut self) {
        let s = self.spec;
        let world = s.bodies.first().is_some_and(|w| w.joints.is_empty() && w.parent == 0);
        let in_order = s.bodies.iter().enumerate().skip(1).all(|(i, b)| b.parent < i);
        let nested = s.frames.iter().enumerate().all(|(i, f)| f.parent.is_none_or(|p| p < i));
        let joints = s.joints().map(|(_, j)| j.frame);
        let bodies = s.bodies.iter().map(|b| b.frame);
        let mut used =
            joints.chain(bodies).chain(s.geoms().map(|(_, g)| g.frame)).chain(s.sites().map(|(_, x)| x.frame));
        if !world || !in_order || !nested || !used.all(|f| f.is_none_or(|f| f < s.frames.len())) {
            let text = "the specification has no world, or bodies or frames that refer to later ones";
            self.error(Span::default(), text, "put the world first and parents before their children");
        }
    }

    /// Names of the elements whose order is that of the file.
    fn name_tree(&mut self) {
        let (s, names) = (self.spec, &mut self.names);
        for (b, body) in s.bodies.iter().enumerate() {
            names.push(Kind::Body, if b == 0 { Some("world") } else { body.name.as_deref() });
        }
        s.joints().for_each(|(_, j)| names.push(Kind::Joint, j.name.as_deref()));
        s.geoms().for_each(|(_, g)| names.push(Kind::Geom, g.name.as_deref()));
        s.sites().for_each(|(_, x)| names.push(Kind::Site, x.name.as_deref()));
        s.tendons.iter().for_each(|t| names.push(Kind::Tendon, t.name.as_deref()));
        s.actuators.iter().for_each(|a| names.push(Kind::Actuator, a.name.as_deref()));
    }

    /// The pose of every frame in its body.
    fn frame_poses(&mut self) {
        for f in &self.spec.frames {
            let own = self.own_pose(&f.at, &f.pos, f.orientation.as_ref());
            let pose = self.in_frame(f.parent, own);
            self.frames.push(pose);
        }
    }

    /// A pose as an element gives it.
    fn own_pose(&mut self, at: &At, pos: &[f64; 3], orientation: Option<&Orientation>) -> Pose {
        let quat = frame::quat(orientation, &self.spec.compiler).unwrap_or_else(|text| {
            let span = orientation.map_or(at.span, |o| at.attr(o.attr()));
            self.error(span, text, frame::REMEDY);
            frame::IDENTITY
        });
        Pose { pos: (*pos).into(), quat }
    }

    /// A pose given in a frame, in the body that holds the frame.
    fn in_frame(&self, within: Option<usize>, own: Pose) -> Pose {
        within.map_or(own, |f| self.frames[f].then(&own))
    }

    /// Whether a range limits; reports ranges that cannot.
    fn limited(&mut self, switch: Tri, at: &At, range: &Range) -> bool {
        let [low, high] = range.value;
        let Range { name, switch: attr, .. } = range;
        if switch == Tri::False {
            return false;
        }
        if low >= high && switch == Tri::True {
            let (span, text) = if at.has(name) {
                (at.attr(name), format!("`{name}` must grow: {low} is not less than {high}"))
            } else {
                (at.attr(attr), format!("`{attr}` needs a `{name}`"))
            };
            self.error(span, text, &format!("write {name}=\"SMALLER LARGER\""));
            return false;
        }
        if switch == Tri::True {
            return true;
        }
        if low > high {
            let text = format!("`{name}` limits nothing: {low} is not less than {high}");
            self.doubt(at.attr(name), text, &format!("write {name}=\"SMALLER LARGER\""));
        }
        if low < high && !self.spec.compiler.autolimits {
            let text = format!("`{name}` without `{attr}` does not say whether it limits: compiler/autolimits is off");
            self.error(at.attr(name), text, &format!("write {attr}=\"true\" or \"false\""));
        }
        low < high
    }
}
