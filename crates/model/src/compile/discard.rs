//! `compiler/discardvisual`: the specification without geoms and meshes that have no part in the physics.

use super::{Compiler, start};
use kiloworld_cpu::math::{ld3, ld4};
use kiloworld_mjcf::Errors;
use kiloworld_mjcf::spec::{Geom, InertiaFromGeom, Inertial, Orientation, SpatialStep, Spec, TendonKind};
use std::collections::HashSet;

/// The specification that is compiled in place of one that asks for it. Bodies that had their inertia from geoms that go keep
/// it as an `inertial`.
pub(crate) fn visual(spec: &Spec) -> Result<Spec, Errors> {
    let referred = references(spec);
    let goes = |g: &Geom| {
        let named = g.name.as_deref().is_some_and(|n| referred.contains(n));
        g.contype == 0 && g.conaffinity == 0 && !named && !g.fluid_ellipsoid
    };
    let mut whole = Compiler::of(spec);
    start(&mut whole)?;
    whole.stop_at_errors()?;
    let mut out = spec.clone();
    let mut first = 0;
    for (b, body) in out.bodies.iter_mut().enumerate() {
        let settings = spec.settings(b);
        let [low, high] = settings.inertiagrouprange;
        let weighs =
            |(k, g): (usize, &Geom)| goes(g) && (low..=high).contains(&g.group) && whole.shapes[first + k].mass > 0.0;
        let counts = b > 0 && body.geoms.iter().enumerate().any(weighs);
        first += body.geoms.len();
        let inferred = match settings.inertiafromgeom {
            InertiaFromGeom::False => false,
            InertiaFromGeom::Auto => body.inertial.is_none(),
            InertiaFromGeom::True => counts,
        };
        if counts && settings.inertiafromgeom == InertiaFromGeom::True {
            let text = "a visual geom gives a body its inertia, and cannot be discarded with inertiafromgeom=\"true\"";
            whole.error(spec.compiler.at.attr("discardvisual"), text, "use inertiafromgeom=\"auto\"");
        } else if counts && inferred {
            let quat = ld4(&whole.m.body_iquat, b);
            body.inertial = Some(Inertial {
                at: body.at.clone(),
                pos: ld3(&whole.m.body_ipos, b).into(),
                orientation: Some(Orientation::Quat(quat.into())),
                mass: whole.m.body_mass[b],
                diaginertia: Some(ld3(&whole.m.body_inertia, b).into()),
                ..Inertial::default()
            });
        }
        body.geoms.retain(|g| !goes(g));
    }
    let sites = out.bodies.iter().flat_map(|b| b.sites.iter().filter_map(|s| s.mesh.clone()));
    let geoms = out.bodies.iter().flat_map(|b| b.geoms.iter().filter_map(|g| g.mesh.clone()));
    let sensors = out.sensors.iter().filter_map(|s| s.object.as_ref().filter(|o| o.kind == "mesh"));
    let used: HashSet<String> = sites.chain(geoms).chain(sensors.map(|o| o.name.clone())).collect();
    out.meshes.retain(|m| m.name.as_ref().is_some_and(|n| used.contains(n)));
    whole.stop_at_errors()?;
    Ok(out)
}

/// Names of the geoms that other elements refer to.
fn references(spec: &Spec) -> HashSet<&str> {
    let pairs = spec.pairs.iter().flat_map(|p| [p.geom1.as_str(), p.geom2.as_str()]);
    let steps = spec.tendons.iter().filter_map(|t| match &t.kind {
        TendonKind::Spatial(steps) => Some(steps),
        TendonKind::Fixed(_) => None,
    });
    let wrapped = steps.flatten().filter_map(|s| match s {
        SpatialStep::Geom(name, _) => Some(name.as_str()),
        SpatialStep::Site(_) | SpatialStep::Pulley(_) => None,
    });
    let objects = spec.sensors.iter().flat_map(|s| [&s.object, &s.reference]).flatten();
    let sensed = objects.filter(|o| o.kind == "geom").map(|o| o.name.as_str());
    pairs.chain(wrapped).chain(sensed).collect()
}
