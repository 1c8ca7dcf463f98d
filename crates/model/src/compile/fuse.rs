//! `compiler/fusestatic`: the specification with bodies that cannot move against their parents made part of them.

use super::inertia::{self, Lump};
use super::{Compiler, start};
use crate::compile::frame::Pose;
use kiloworld_cpu::math::{ld3, ld4};
use kiloworld_layout::consts::MINVAL;
use kiloworld_mjcf::Errors;
use kiloworld_mjcf::spec::{Body, Frame, InertiaFromGeom, Inertial, Orientation, Sleep, Spec};
use std::collections::HashSet;

/// The specification that is compiled in place of one that asks for it: a body that is fused becomes a frame of its parent, and its
/// mass is that of the parent. Bodies stay that something refers to, or whose forces would not be the same.
pub(crate) fn fused(spec: &Spec) -> Result<Spec, Errors> {
    let mut whole = Compiler::of(spec);
    start(&mut whole)?;
    whole.stop_at_errors()?;
    let groups = Groups::of(&whole);
    for &b in &groups.points {
        let text = "the body, and the one that it is fused into, have no inertia about some axis";
        whole.error(spec.bodies[b].at.span, text, "give it inertia, or write fuse=\"false\"");
    }
    whole.stop_at_errors()?;
    let mut out = spec.clone();
    for (b, body) in out.bodies.iter_mut().enumerate() {
        if let Some(lump) = groups.written[b] {
            body.inertial = Some(Inertial {
                at: body.at.clone(),
                pos: lump.frame.pos.into(),
                orientation: Some(Orientation::Quat(lump.frame.quat.into())),
                mass: lump.mass,
                diaginertia: Some(lump.inertia.into()),
                ..Inertial::default()
            });
        }
    }
    move_elements(&mut out, &groups.into);
    Ok(out)
}

/// Which bodies are fused, and what the others weigh then.
struct Groups {
    /// the body that each becomes part of, itself where it stays
    into: Vec<usize>,
    /// inertia to be written, where it does not follow from geoms
    written: Vec<Option<Lump>>,
    /// fused bodies after which that inertia is still that of a point or a line of points
    points: Vec<usize>,
}

impl Groups {
    /// From the world outwards: a body is compared with the one that it would become part of.
    fn of(c: &Compiler<'_>) -> Self {
        let n = c.spec.bodies.len();
        let measured: HashSet<usize> = c
            .spec
            .sensors
            .iter()
            .filter(|s| s.kind == "force" || s.kind == "torque")
            .filter_map(|s| c.names.of(super::Kind::Site).id(&s.object.as_ref()?.name))
            .map(|site| c.m.site_bodyid[site] as usize)
            .collect();
        let mut into: Vec<usize> = (0..n).collect();
        let mut lumps: Vec<Lump> = (0..n).map(|b| lump(c, b)).collect();
        let (mut written, mut points) = (vec![None; n], Vec::new());
        // where a body is in the one that its parent is part of
        let mut poses = vec![Pose::default(); n];
        for b in 1..n {
            let body = &c.spec.bodies[b];
            let parent = into[body.parent];
            poses[b] = Pose { pos: ld3(&c.m.body_pos, b), quat: ld4(&c.m.body_quat, b) };
            if parent != body.parent {
                poses[b] = poses[body.parent].then(&poses[b]);
            }
            let heavy = c.m.body_mass[b] >= MINVAL;
            let always = c.spec.settings(parent).inertiafromgeom == InertiaFromGeom::True;
            let adjusted = c.adjusted[b] || c.adjusted[parent];
            let stays = !body.joints.is_empty()
                || body.mocap
                || body.whole
                || body.sleep != Sleep::Auto
                || measured.contains(&b);
            let matters = parent != 0 && (other_forces(c, b, parent, heavy) || (always && heavy && adjusted));
            if stays || matters {
                continue;
            }
            into[b] = parent;
            if !heavy || parent == 0 {
                continue;
            }
            let (first, second) = (lumps[parent], Lump { frame: poses[b].then(&lumps[b].frame), ..lumps[b] });
            lumps[parent] = inertia::together(&first, &second);
            let explicit = written[parent].is_some()
                || adjusted
                || c.spec.bodies[parent].inertial.is_some()
                || body.inertial.is_some();
            // with inertia from geoms always, they give that of both, and the parent's own holds where there are none
            if explicit && !always {
                written[parent] = Some(lumps[parent]);
                // of two points in one place it is no number
                let inertia = lumps[parent].inertia;
                if inertia.iter().any(|i| i.is_nan() || *i < MINVAL) {
                    points.push(b);
                }
            }
        }
        Self { into, written, points }
    }
}

/// Whether compensation of gravity or a fluid acts on a body otherwise than on the one that it would be part of.
fn other_forces(c: &Compiler<'_>, b: usize, parent: usize, heavy: bool) -> bool {
    let (body, option) = (&c.spec.bodies[b], &c.spec.option);
    let fluid = option.density != 0.0 || option.viscosity != 0.0;
    let shaped = |body: &Body| body.geoms.iter().any(|g| g.fluid_ellipsoid);
    (heavy && body.gravcomp != c.spec.bodies[parent].gravcomp) || (fluid && (heavy || shaped(body)))
}

/// The compiled inertia of a body.
fn lump(c: &Compiler<'_>, b: usize) -> Lump {
    let frame = Pose { pos: ld3(&c.m.body_ipos, b), quat: ld4(&c.m.body_iquat, b) };
    Lump { mass: c.m.body_mass[b], frame, inertia: ld3(&c.m.body_inertia, b) }
}

/// Frames in their new order, each still after the one that it is in.
struct Frames {
    old: Vec<Frame>,
    new: Vec<Frame>,
    /// the new place of an old frame
    moved: Vec<Option<usize>>,
}

impl Frames {
    /// The new place of a frame of a body, which itself is now the frame `outer` or still a body.
    fn place(&mut self, frame: Option<usize>, outer: Option<usize>) -> Option<usize> {
        let mut chain = Vec::new();
        let mut next = frame;
        while let Some(f) = next.filter(|&f| self.moved[f].is_none()) {
            chain.push(f);
            next = self.old[f].parent;
        }
        let mut parent = next.map_or(outer, |f| self.moved[f]);
        for f in chain.into_iter().rev() {
            self.new.push(Frame { parent, ..self.old[f].clone() });
            parent = Some(self.new.len() - 1);
            self.moved[f] = parent;
        }
        parent
    }
}

/// Makes frames of bodies that are fused, and gives what they hold to the bodies that they are part of.
fn move_elements(spec: &mut Spec, into: &[usize]) {
    let mut number = vec![0; into.len()];
    let mut stay = (0..into.len()).filter(|&b| into[b] == b);
    stay.by_ref().enumerate().for_each(|(k, b)| number[b] = k);
    let mut cameras = vec![Vec::new(); into.len()];
    for camera in std::mem::take(&mut spec.cameras) {
        cameras[camera.body].push(camera);
    }
    let old = std::mem::take(&mut spec.frames);
    let mut frames = Frames { moved: vec![None; old.len()], old, new: Vec::new() };
    // the frames that bodies have become
    let mut outer: Vec<Option<usize>> = vec![None; into.len()];
    let mut bodies: Vec<Body> = Vec::new();
    for (b, mut body) in std::mem::take(&mut spec.bodies).into_iter().enumerate() {
        body.frame = frames.place(body.frame, outer[body.parent]);
        if into[b] != b {
            let Body { at, pos, orientation, frame: parent, .. } = body.clone();
            frames.new.push(Frame { at, name: None, parent, pos, orientation });
            outer[b] = Some(frames.new.len() - 1);
        }
        let mut place = |frame: &mut Option<usize>| *frame = frames.place(*frame, outer[b]);
        body.joints.iter_mut().for_each(|j| place(&mut j.frame));
        body.geoms.iter_mut().for_each(|g| place(&mut g.frame));
        body.sites.iter_mut().for_each(|s| place(&mut s.frame));
        // an inertia that was written anew is that of the body
        body.inertial.iter_mut().for_each(|i| place(&mut i.frame));
        // those of a body come before those of the bodies that became part of it
        for mut camera in std::mem::take(&mut cameras[b]) {
            place(&mut camera.frame);
            camera.body = number[into[b]];
            spec.cameras.push(camera);
        }
        if into[b] == b {
            body.parent = number[into[body.parent]];
            bodies.push(body);
        } else {
            let whole = &mut bodies[number[into[b]]];
            whole.geoms.append(&mut body.geoms);
            whole.sites.append(&mut body.sites);
        }
    }
    for part in spec.keys.iter_mut().filter_map(|k| k.part.as_mut()) {
        part.mocaps.iter_mut().flatten().for_each(|b| *b = number[*b]);
    }
    (spec.bodies, spec.frames) = (bodies, frames.new);
}
