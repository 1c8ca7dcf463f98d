//! `compiler`, `option`, `size`, `statistic`: of repeated sections the last setting counts.

use super::Reader;
use crate::dom::Node;
use crate::error::ErrorKind;
use crate::spec::{Cone, InertiaFromGeom, Integrator, Jacobian, LengthRangeMode, Solver};

impl Reader<'_, '_> {
    pub(super) fn compiler(&mut self, node: &Node) {
        let mut c = std::mem::take(&mut self.spec.compiler);
        c.at.span = node.span;
        c.at.absorb(node);
        node.word("angle", &[("radian", false), ("degree", true)], &mut c.degrees);
        node.flag("autolimits", &mut c.autolimits);
        let words =
            [("false", InertiaFromGeom::False), ("true", InertiaFromGeom::True), ("auto", InertiaFromGeom::Auto)];
        node.word("inertiafromgeom", &words, &mut c.inertiafromgeom);
        if let Some(list) = node.list("inertiagrouprange")
            && let [first, last] = list[..]
        {
            // whole numbers that fit 32 bits, as checked before
            c.inertiagrouprange = [first as i32, last as i32];
        }
        node.set("boundmass", &mut c.boundmass);
        node.set("boundinertia", &mut c.boundinertia);
        node.set("settotalmass", &mut c.settotalmass);
        node.flag("balanceinertia", &mut c.balanceinertia);
        node.flag("discardvisual", &mut c.discardvisual);
        node.flag("fusestatic", &mut c.fusestatic);
        node.flag("alignfree", &mut c.alignfree);
        node.flag("fitaabb", &mut c.fitaabb);
        node.flag("strippath", &mut c.strippath);
        if let Some(dir) = node.owned("assetdir") {
            c.meshdir = Some(dir.clone());
            c.texturedir = Some(dir);
        }
        if let Some(conflict) = node.owned("conflict") {
            c.conflict = Some(conflict).filter(|c| c != "warning");
        }
        for child in node.children.iter().filter(|n| n.tag == "lengthrange") {
            let r = &mut c.lengthrange;
            let modes = [
                ("none", LengthRangeMode::None),
                ("muscle", LengthRangeMode::Muscle),
                ("muscleuser", LengthRangeMode::MuscleUser),
                ("all", LengthRangeMode::All),
            ];
            child.word("mode", &modes, &mut r.mode);
            child.flag("useexisting", &mut r.useexisting);
            child.flag("uselimit", &mut r.uselimit);
            child.set("accel", &mut r.accel);
            child.set("maxforce", &mut r.maxforce);
            child.set("timeconst", &mut r.timeconst);
            child.set("timestep", &mut r.timestep);
            child.set("inttotal", &mut r.inttotal);
            child.set("interval", &mut r.interval);
            child.set("tolrange", &mut r.tolrange);
        }
        node.set_text("meshdir", &mut c.meshdir);
        node.set_text("texturedir", &mut c.texturedir);
        if let Some(text) = node.text("eulerseq") {
            match text.chars().collect::<Vec<_>>()[..] {
                [x, y, z] if text.chars().all(|c| "xyzXYZ".contains(c)) => c.eulerseq = [x, y, z],
                _ => {
                    let kind = ErrorKind::BadValue("`eulerseq` is three letters of x, y, z, X, Y, Z".into());
                    self.cx.error(c.at.attr("eulerseq"), kind, Some("the default is \"xyz\"".into()));
                }
            }
        }
        if node.text("coordinate") == Some("global") {
            let kind = ErrorKind::Unsupported("compiler coordinate=\"global\"".into());
            let remedy = "MuJoCo dropped global coordinates; load and save the model with MuJoCo 2.3.3 or older";
            self.cx.error(c.at.attr("coordinate"), kind, Some(remedy.into()));
        }
        if node.real("settotalmass").is_some_and(|m| m > 0.0) {
            let kind = ErrorKind::BadValue("`settotalmass` is deprecated in MuJoCo".into());
            self.cx.warn(c.at.attr("settotalmass"), kind, Some("scale the masses in the file".into()));
        }
        self.spec.compiler = c;
    }

    pub(super) fn option(&mut self, node: &Node) {
        let mut o = std::mem::take(&mut self.spec.option);
        o.at.span = node.span;
        o.at.absorb(node);
        node.set("timestep", &mut o.timestep);
        if node.attr("timestep").is_some() && o.timestep <= 0.0 {
            let kind = ErrorKind::BadValue("`timestep` must be positive".into());
            self.cx.error(o.at.attr("timestep"), kind, Some("the default is 0.002 seconds".into()));
        }
        node.set("impratio", &mut o.impratio);
        node.set("tolerance", &mut o.tolerance);
        node.set("ls_tolerance", &mut o.ls_tolerance);
        node.set("noslip_tolerance", &mut o.noslip_tolerance);
        node.set("ccd_tolerance", &mut o.ccd_tolerance);
        node.set("sleep_tolerance", &mut o.sleep_tolerance);
        node.over("gravity", &mut o.gravity);
        node.over("wind", &mut o.wind);
        node.over("magnetic", &mut o.magnetic);
        node.set("density", &mut o.density);
        node.set("viscosity", &mut o.viscosity);
        node.set("o_margin", &mut o.o_margin);
        node.over("o_solref", &mut o.o_solref);
        node.over("o_solimp", &mut o.o_solimp);
        node.over("o_friction", &mut o.o_friction);
        let integrators = [
            ("Euler", Integrator::Euler),
            ("RK4", Integrator::Rk4),
            ("implicit", Integrator::Implicit),
            ("implicitfast", Integrator::ImplicitFast),
            ("discrete", Integrator::Discrete),
        ];
        node.word("integrator", &integrators, &mut o.integrator);
        node.word("cone", &[("pyramidal", Cone::Pyramidal), ("elliptic", Cone::Elliptic)], &mut o.cone);
        let jacobians = [("dense", Jacobian::Dense), ("sparse", Jacobian::Sparse), ("auto", Jacobian::Auto)];
        node.word("jacobian", &jacobians, &mut o.jacobian);
        node.word("solver", &[("PGS", Solver::Pgs), ("CG", Solver::Cg), ("Newton", Solver::Newton)], &mut o.solver);
        node.set_int("iterations", &mut o.iterations);
        node.set_int("ls_iterations", &mut o.ls_iterations);
        node.set_int("noslip_iterations", &mut o.noslip_iterations);
        node.set_int("ccd_iterations", &mut o.ccd_iterations);
        node.set_int("sdf_iterations", &mut o.sdf_iterations);
        node.set_int("sdf_initpoints", &mut o.sdf_initpoints);
        if let Some(groups) = node.list("actuatorgroupdisable") {
            o.actuatorgroupdisable = 0;
            for group in groups {
                if (0.0..=30.0).contains(&group) {
                    o.actuatorgroupdisable |= 1 << group as u32;
                } else {
                    let kind = ErrorKind::BadValue("actuator groups to disable are from 0 to 30".into());
                    let remedy = "list numbers of groups, such as \"0 2\"".into();
                    self.cx.error(o.at.attr("actuatorgroupdisable"), kind, Some(remedy));
                }
            }
        }
        for flag in node.children.iter().filter(|c| c.tag == "flag") {
            o.at.absorb(flag);
            for attr in &flag.attrs {
                if matches!(attr.value.as_str(), "enable" | "disable") {
                    o.flags.set(&attr.name, attr.value == "enable");
                }
            }
        }
        self.spec.option = o;
    }

    pub(super) fn size(&mut self, node: &Node) {
        let s = &mut self.spec.size;
        s.at.span = node.span;
        s.at.absorb(node);
        node.set_text("memory", &mut s.memory);
        let counts = [
            ("njmax", &mut s.njmax),
            ("nconmax", &mut s.nconmax),
            ("nstack", &mut s.nstack),
            ("nuserdata", &mut s.nuserdata),
            ("nkey", &mut s.nkey),
        ];
        for (name, slot) in counts {
            *slot = node.int(name).or(*slot);
        }
        let least = |name: &str| match name {
            "nuserdata" => Some(0),
            "nconmax" | "njmax" | "nstack" => Some(-1),
            _ => name.starts_with("nuser_").then_some(-1),
        };
        for a in &node.attrs {
            let (Some(n), Some(least)) = (node.int(&a.name), least(&a.name)) else { continue };
            if n < least {
                let kind = ErrorKind::BadValue(format!("`{}` cannot be less than {least}", a.name));
                self.cx.error(a.span, kind, Some("leave it out: it follows from the model".into()));
            }
            self.most_user.insert(a.name.clone(), n);
        }
        for old in ["njmax", "nstack"] {
            self.cx.exclusive(node, "memory", old);
        }
        if let Some(text) = node.text("memory") {
            let digits = text.trim_end_matches(|c| "KMGTPEkmgtpe".contains(c));
            if text != "-1" && (text.len() - digits.len() > 1 || digits.parse::<u64>().is_err()) {
                let kind =
                    ErrorKind::BadValue("`memory` is a number of bytes with an optional K, M, G, T, P or E".into());
                let span = node.attr("memory").map_or(node.span, |a| a.span);
                self.cx.error(span, kind, Some("it is not needed here: capacities follow from the model".into()));
            }
        }
    }

    /// Reports user data that are more than a `size` allows.
    pub(super) fn check_user(&mut self, node: &Node, size: &str) {
        let (Some(a), Some(&most)) = (node.attr("user"), self.most_user.get(size)) else { return };
        let found = a.value.split_ascii_whitespace().count();
        if usize::try_from(most).is_ok_and(|most| found > most) {
            let expected = format!("at most {most}, as `{size}` says");
            let kind = ErrorKind::WrongCount { attribute: "user".into(), found, expected };
            self.cx.error(a.span, kind, Some(format!("leave `{size}` out: it follows from the model")));
        }
    }

    pub(super) fn statistic(&mut self, node: &Node) {
        let s = &mut self.spec.statistic;
        s.at.span = node.span;
        s.at.absorb(node);
        s.center = node.exact("center").or(s.center);
        let values = [
            ("meaninertia", &mut s.meaninertia),
            ("meanmass", &mut s.meanmass),
            ("meansize", &mut s.meansize),
            ("extent", &mut s.extent),
        ];
        let mut bad = Vec::new();
        for (name, slot) in values {
            if let Some(value) = node.real(name) {
                *slot = Some(value);
                if value <= 0.0 {
                    bad.push(name);
                }
            }
        }
        for name in bad {
            let kind = ErrorKind::BadValue(format!("`{name}` must be positive"));
            let span = node.attr(name).map_or(node.span, |a| a.span);
            self.cx.error(span, kind, Some("leave it out to have it computed".into()));
        }
    }
}
