//! What cannot be simulated: noted with its place, refused when a batch is made.

use super::{Compiler, Kind};
use kiloworld_layout::consts::geom;
use kiloworld_mjcf::spec::{ActuatorKind, BiasType, DynType, GainType, Integrator, TendonKind};

/// The feature whose elements are missing from the model, so that references to them dangle.
pub(crate) const ATTACH: &str = "attach";

/// Notes every feature of the file that the stages do not know.
pub(crate) fn features(c: &mut Compiler<'_>) {
    options(c);
    joints(c);
    geoms(c);
    tendons(c);
    actuators(c);
    for p in c.spec.pairs.iter().filter(|p| p.adhesion != 0.0) {
        c.refuse("adhesion of a pair", p.name.as_deref(), p.at.attr("adhesion"), "remove it");
    }
    for u in &c.spec.unsupported {
        // where a pass above has refused the same element it knows more about it
        if c.refused.iter().all(|(.., places)| !places.contains(&u.span)) {
            let remedy = if u.feature == ATTACH { "copy the elements into this file" } else { "remove it" };
            c.refuse(&u.feature, u.name.as_deref(), u.span, remedy);
        }
    }
    if let Some(s) = c.spec.sensors.first() {
        let text = format!("{} sensors are not evaluated", c.spec.sensors.len());
        c.warn(&text, s.at.span, "read the state instead");
    }
}

fn options(c: &mut Compiler<'_>) {
    let o = &c.spec.option;
    match o.integrator {
        Integrator::Implicit => c.refuse("integrator \"implicit\"", None, o.at.attr("integrator"), "use implicitfast"),
        Integrator::Discrete => c.refuse("integrator \"discrete\"", None, o.at.attr("integrator"), "use implicitfast"),
        Integrator::Euler | Integrator::Rk4 | Integrator::ImplicitFast => {}
    }
    let fluid = [("density", o.density != 0.0), ("viscosity", o.viscosity != 0.0), ("wind", o.wind != [0.0; 3])];
    for (name, _) in fluid.into_iter().filter(|&(_, on)| on) {
        c.refuse(&format!("fluid forces (option/{name})"), None, o.at.attr(name), "set it to 0");
    }
    let flags = [
        ("sleep", o.flags.sleep),
        ("diagexact", o.flags.diagexact),
        ("ipc", o.flags.ipc),
        ("speculative", o.flags.speculative),
    ];
    for (name, _) in flags.into_iter().filter(|&(_, on)| on) {
        c.refuse(&format!("option/flag {name}"), None, o.at.attr(name), "disable it");
    }
}

fn joints(c: &mut Compiler<'_>) {
    for (_, j) in c.spec.joints() {
        let polynomial = |p: &[f64; 3]| p[1] != 0.0 || p[2] != 0.0;
        let name = j.name.as_deref();
        for (attr, values) in [("stiffness", &j.stiffness), ("damping", &j.damping)] {
            if polynomial(values) {
                c.refuse(&format!("nonlinear {attr} of joint"), name, j.at.attr(attr), "write one number");
            }
        }
        if j.springyield != 0.0 {
            c.refuse("springyield of joint", name, j.at.attr("springyield"), "remove it");
        }
    }
}

fn geoms(c: &mut Compiler<'_>) {
    for (_, g) in c.spec.geoms() {
        let name = g.name.as_deref();
        if g.surfacevel != [0.0; 6] {
            c.refuse("surfacevel of geom", name, g.at.attr("surfacevel"), "remove it");
        }
        if g.adhesion != 0.0 {
            c.refuse("adhesion of geom", name, g.at.attr("adhesion"), "remove it");
        }
    }
}

/// Notes the geoms of the pairs that no narrow phase treats, once each.
pub(crate) fn collisions(c: &mut Compiler<'_>, refused: &[(usize, usize)]) {
    let known = |t: i32| matches!(t, geom::PLANE | geom::SPHERE | geom::CAPSULE | geom::BOX);
    for (i, (_, g)) in c.spec.geoms().enumerate() {
        let unknown = !known(c.m.geom_type[i]);
        if unknown && refused.iter().any(|&(a, b)| a == i || b == i) {
            let kind = format!("{:?}", g.kind).to_lowercase();
            let name = c.names.of(Kind::Geom).name(i).map(str::to_owned);
            let remedy = "replace it by capsules, spheres or boxes, or set contype=\"0\" conaffinity=\"0\"";
            c.refuse(&format!("collision of {kind}"), name.as_deref(), g.at.span, remedy);
        }
    }
}

fn tendons(c: &mut Compiler<'_>) {
    for t in &c.spec.tendons {
        let name = t.name.as_deref();
        let polynomial = |p: &[f64; 3]| p[1] != 0.0 || p[2] != 0.0;
        let found = [
            ("armature", t.armature != 0.0),
            ("springyield", t.springyield != 0.0),
            ("actuatorfrcrange", t.actuatorfrcrange != [0.0; 2]),
            ("stiffness", polynomial(&t.stiffness)),
            ("damping", polynomial(&t.damping)),
        ];
        for (attr, _) in found.into_iter().filter(|&(_, on)| on && matches!(t.kind, TendonKind::Fixed(_))) {
            let what =
                if matches!(attr, "stiffness" | "damping") { format!("nonlinear {attr}") } else { attr.to_owned() };
            c.refuse(&format!("{what} of tendon"), name, t.at.attr(attr), "remove it");
        }
    }
}

fn actuators(c: &mut Compiler<'_>) {
    for a in &c.spec.actuators {
        let name = a.name.as_deref();
        let (ActuatorKind::General(p) | ActuatorKind::Shortcut { general: p, .. }) = &a.kind else { continue };
        if let ActuatorKind::Shortcut { tag: "muscle", .. } = &a.kind {
            c.refuse("actuator/muscle", name, a.at.span, "use a motor on the tendon or joint");
            continue;
        }
        if !matches!(p.dyntype, DynType::None | DynType::Integrator | DynType::Filter | DynType::FilterExact) {
            c.refuse("dynamics of actuator", name, a.at.attr("dyntype"), "use none, integrator, filter or filterexact");
        }
        if !matches!(p.gaintype, GainType::Fixed | GainType::Affine) {
            c.refuse("gain of actuator", name, a.at.attr("gaintype"), "use fixed or affine");
        }
        if !matches!(p.biastype, BiasType::None | BiasType::Affine) {
            c.refuse("bias of actuator", name, a.at.attr("biastype"), "use none or affine");
        }
    }
    for a in &c.spec.actuators {
        let found = [
            ("armature", a.armature != 0.0),
            ("damping", a.damping != [0.0; 3]),
            ("delay", a.delay != 0.0),
            ("nsample", a.nsample != 0),
        ];
        for (attr, _) in found.into_iter().filter(|&(_, on)| on) {
            c.refuse(&format!("{attr} of actuator"), a.name.as_deref(), a.at.attr(attr), "remove it");
        }
    }
}
