//! Actuators: what they act on, dynamics, gain and bias.

use super::wrap::kind;
use super::{Compiler, Kind, Range, moment};
use kiloworld_layout::consts::{bias, dyn_type, gain, jnt, trn};
use kiloworld_mjcf::Span;
use kiloworld_mjcf::spec::{Actuator, ActuatorKind, BiasType, DynType, GainType, General, Transmission, Tri};

/// Fills every field of the actuators that follows from the file alone.
pub(crate) fn actuators(c: &mut Compiler<'_>) {
    for a in &c.spec.actuators {
        let p = parameters(c, a);
        let (trntype, trnid) = target(c, a);
        if let (trn::TENDON, Ok(t), true) = (trntype, usize::try_from(trnid[0]), a.armature != 0.0) {
            let path = c.m.tendon_adr[t] as usize..(c.m.tendon_adr[t] + c.m.tendon_num[t]) as usize;
            if c.m.wrap_type[path].iter().any(|&w| matches!(w, kind::SPHERE | kind::CYLINDER)) {
                let text = "an actuator with armature cannot pull a tendon that wraps around geoms";
                c.error(a.at.attr("armature"), text, "remove the armature");
            }
        }
        let actnum = activations(c, a, &p);
        let mut ctrlrange = a.ctrlrange;
        // of what is no position servo MuJoCo ignores `inheritrange`
        let servo = p.gaintype == GainType::Fixed && p.biastype == BiasType::Affine && p.gainprm[0] == -p.biasprm[1];
        let inherits = servo && a.inheritrange > 0.0;
        // an inherited range comes below; that of an integrator, whose set point is its activation, is not one of controls
        let later = inherits && p.dyntype != DynType::Integrator && ctrlrange == [0.0; 2];
        let switch = if later && a.ctrllimited == Tri::True { Tri::Auto } else { a.ctrllimited };
        let range = Range { name: "ctrlrange", switch: "ctrllimited", value: ctrlrange };
        let mut ctrllimited = c.limited(switch, &a.at, &range);
        let force = Range { name: "forcerange", switch: "forcelimited", value: a.forcerange };
        let forcelimited = c.limited(a.forcelimited, &a.at, &force);
        let act = Range { name: "actrange", switch: "actlimited", value: a.actrange };
        let actlimited = c.limited(a.actlimited, &a.at, &act);
        if actlimited && actnum == 0 && a.actrange != [0.0; 2] {
            c.error(
                a.at.attr("actrange"),
                "an actuator without dynamics has no activation to limit",
                "remove `actrange`",
            );
        }
        super::history(c, &a.at, a.nsample);
        for (name, there) in [("armature", a.armature != 0.0), ("damping", a.damping != [0.0; 3])] {
            if there && !matches!(trntype, trn::JOINT | trn::JOINTINPARENT | trn::TENDON) {
                let text = format!("the `{name}` of an actuator needs a joint or tendon");
                c.error(a.at.attr(name), text, "remove it");
            }
        }
        if a.delay > 0.0 && a.nsample <= 0 {
            c.error(a.at.attr("delay"), "a delay needs a history", "add nsample=\"NUMBER\"");
        }
        let (mut actrange, mut actlimited) = (a.actrange, actlimited);
        // its range would be one of controls behind a filter that is not exact
        let takes = matches!(p.dyntype, DynType::None | DynType::FilterExact | DynType::Integrator);
        if inherits && !takes {
            c.error(
                a.at.attr("inheritrange"),
                "`inheritrange` goes with dyntype none, filterexact or integrator only",
                "write ctrlrange, or another dyntype",
            );
        } else if inherits {
            match inherited(c, trntype, trnid[0]) {
                // as in MuJoCo a range without a middle gives no limits
                Some([low, high]) if low.is_infinite() || high.is_infinite() => {}
                Some([low, high]) => {
                    let (mid, half) = ((low + high) / 2.0, (high - low) / 2.0 * a.inheritrange);
                    if p.dyntype == DynType::Integrator {
                        (actrange, actlimited) = ([mid - half, mid + half], low < high);
                    } else {
                        ctrlrange = [mid - half, mid + half];
                        ctrllimited = low < high && a.ctrllimited != Tri::False;
                    }
                }
                None => c.error(
                    a.at.attr("inheritrange"),
                    "there is no range to inherit: the target has none",
                    "give the target a range, or write ctrlrange",
                ),
            }
        }
        let m = &mut c.m;
        m.actuator_trntype.push(trntype);
        m.actuator_trnid.extend(trnid);
        m.actuator_dyntype.push(dyn_id(p.dyntype));
        m.actuator_gaintype.push(gain_id(p.gaintype));
        m.actuator_biastype.push(bias_id(p.biastype));
        m.actuator_actadr.push(if actnum > 0 { m.size.na as i32 } else { -1 });
        m.actuator_actnum.push(actnum);
        m.size.na += actnum as usize;
        m.actuator_group.push(a.group);
        m.actuator_ctrllimited.push(i32::from(ctrllimited));
        m.actuator_forcelimited.push(i32::from(forcelimited));
        m.actuator_actlimited.push(i32::from(actlimited));
        m.actuator_actearly.push(i32::from(p.actearly));
        m.actuator_gear.extend(a.gear);
        m.actuator_dynprm.extend(p.dynprm);
        m.actuator_gainprm.extend(p.gainprm);
        m.actuator_biasprm.extend(p.biasprm);
        m.actuator_ctrlrange.extend(ctrlrange);
        m.actuator_forcerange.extend(a.forcerange);
        m.actuator_actrange.extend(actrange);
        m.actuator_lengthrange.extend(a.lengthrange);
        m.actuator_cranklength.push(a.cranklength);
        m.actuator_damping.push(a.damping[0]);
        m.actuator_dampingpoly.extend(&a.damping[1..]);
        m.actuator_armature.push(a.armature);
        m.actuator_delay.push(a.delay);
        m.actuator_history.extend([a.nsample, a.interp as i32]);
    }
    c.m.size.nu = c.spec.actuators.len();
}

/// A shortcut's parameters in those of `general`.
fn parameters(c: &mut Compiler<'_>, a: &Actuator) -> General {
    let mut p = General::default();
    match &a.kind {
        ActuatorKind::General(general) | ActuatorKind::Shortcut { general, .. } => p = *general,
        ActuatorKind::Motor => {}
        ActuatorKind::Position(position) => {
            p.gainprm[0] = position.kp;
            p.biastype = BiasType::Affine;
            // a positive third entry stands for a damping ratio until the inertia is known
            let damping = if position.dampratio > 0.0 { position.dampratio } else { -position.kv };
            (p.biasprm[1], p.biasprm[2]) = (-position.kp, damping);
            if a.at.has("timeconst") {
                p.dynprm[0] = position.timeconst;
            }
            if position.timeconst > 0.0 {
                p.dyntype = DynType::FilterExact;
            }
            let negative = [("kv", position.kv), ("dampratio", position.dampratio), ("timeconst", position.timeconst)];
            for (name, _) in negative.into_iter().filter(|&(_, x)| x < 0.0) {
                c.error(a.at.attr(name), format!("`{name}` cannot be negative"), "write 0 or more");
            }
        }
        ActuatorKind::Velocity(velocity) => {
            p.gainprm[0] = velocity.kv;
            p.biastype = BiasType::Affine;
            p.biasprm[2] = -velocity.kv;
        }
        ActuatorKind::Other(tag) => c.refuse(
            &format!("actuator/{tag}"),
            a.name.as_deref(),
            a.at.span,
            "use motor, position, velocity or general",
        ),
    }
    let (gain, bias) = (p.gaintype == GainType::Muscle, p.biastype == BiasType::Muscle);
    // the shortcut writes the same into both
    let muscles = [(gain, &p.gainprm), (bias && !(gain && p.gainprm == p.biasprm), &p.biasprm)];
    for (_, prm) in muscles.into_iter().filter(|(is, _)| *is) {
        let &[low, high, _, scale, lmin, lmax, vmax, fpmax, fvmax, _] = prm;
        if low >= high {
            c.error(a.at.span, "the range of a muscle must grow", "write range=\"0.75 1.05\"");
        }
        if [scale, vmax, fpmax, fvmax].iter().any(|&x| x <= 0.0) {
            c.error(a.at.span, "a muscle's scale, vmax, fpmax and fvmax are positive", "leave them out");
        }
        if lmin >= 1.0 || lmax <= 1.0 {
            c.error(a.at.span, "a muscle's lmin is less than 1 and its lmax more", "write lmin=\"0.5\" lmax=\"1.6\"");
        }
    }
    p
}

/// Kind and ids of what the actuator acts on.
fn target(c: &mut Compiler<'_>, a: &Actuator) -> (i32, [i32; 2]) {
    let name = a.name.as_deref();
    let refuse = |c: &mut Compiler<'_>, what: &str, attr: &str| {
        let span: Span = a.at.attr(attr);
        c.refuse(&format!("actuator on a {what}"), name, span, "act on a joint or a fixed tendon");
    };
    let id = |found: Option<usize>| found.map_or(-1, |i| i as i32);
    let joint = |c: &mut Compiler<'_>, id: i32, joint: &str, attr| {
        let found = c.find(Kind::Joint, joint, &a.at, attr);
        (id, [found.map_or(-1, |j| j as i32), -1])
    };
    match &a.transmission {
        Transmission::Joint(j) => joint(c, trn::JOINT, j, "joint"),
        Transmission::JointInParent(j) => joint(c, trn::JOINTINPARENT, j, "jointinparent"),
        Transmission::Tendon(t) => {
            let found = c.find(Kind::Tendon, t, &a.at, "tendon");
            (trn::TENDON, [found.map_or(-1, |t| t as i32), -1])
        }
        Transmission::SliderCrank(crank, slider) => {
            refuse(c, "slider-crank", "cranksite");
            if slider.is_none() {
                c.error(a.at.span, "a slider-crank needs a slider", "add slidersite=\"NAME\"");
            }
            if a.cranklength <= 0.0 {
                c.error(a.at.attr("cranklength"), "the length of a crank is positive", "add cranklength=\"LENGTH\"");
            }
            let crank = c.find(Kind::Site, crank, &a.at, "cranksite");
            let slider = slider.as_ref().and_then(|s| c.find(Kind::Site, s, &a.at, "slidersite"));
            (moment::SLIDERCRANK, [id(crank), id(slider)])
        }
        Transmission::Site(site, reference) => {
            refuse(c, "site", "site");
            let site = c.find(Kind::Site, site, &a.at, "site");
            let reference = reference.as_ref().and_then(|r| c.find(Kind::Site, r, &a.at, "refsite"));
            (moment::SITE, [id(site), id(reference)])
        }
        Transmission::Body(body) => {
            refuse(c, "body", "body");
            (moment::BODY, [id(c.find(Kind::Body, body, &a.at, "body")), -1])
        }
        Transmission::None => {
            c.error(a.at.span, "the actuator acts on nothing", "add joint=\"NAME\" or tendon=\"NAME\"");
            (trn::JOINT, [-1, -1])
        }
    }
}

/// The number of activations of an actuator that is not in the model.
pub(crate) fn number_of_activations(c: &mut Compiler<'_>, a: &Actuator) -> i32 {
    let p = parameters(c, a);
    activations(c, a, &p)
}

/// Number of activations.
fn activations(c: &mut Compiler<'_>, a: &Actuator, p: &General) -> i32 {
    let expected = i32::from(p.dyntype != DynType::None);
    if p.actdim >= 0 && p.actdim != expected && !matches!(p.dyntype, DynType::User | DynType::Pid | DynType::DcMotor) {
        let text = format!("these dynamics have {expected} activations, not {}", p.actdim);
        c.error(a.at.attr("actdim"), text, "drop `actdim`");
    }
    if p.actdim > 0 { p.actdim } else { expected }
}

/// The range of a hinge, a slide or a tendon, if it has one.
fn inherited(c: &Compiler<'_>, trntype: i32, id: i32) -> Option<[f64; 2]> {
    let i = usize::try_from(id).ok()?;
    let range = match trntype {
        trn::JOINT | trn::JOINTINPARENT if c.m.jnt_type[i] >= jnt::SLIDE => &c.m.jnt_range[2 * i..2 * i + 2],
        trn::TENDON => &c.m.tendon_range[2 * i..2 * i + 2],
        _ => return None,
    };
    (range[0] != range[1]).then_some([range[0], range[1]])
}

fn dyn_id(t: DynType) -> i32 {
    match t {
        DynType::None => dyn_type::NONE,
        DynType::Integrator => dyn_type::INTEGRATOR,
        DynType::Filter => dyn_type::FILTER,
        DynType::FilterExact => dyn_type::FILTEREXACT,
        DynType::Muscle => 4,
        DynType::DcMotor => 5,
        DynType::Pid => 6,
        DynType::User => 7,
    }
}

fn gain_id(t: GainType) -> i32 {
    match t {
        GainType::Fixed => gain::FIXED,
        GainType::Affine => gain::AFFINE,
        GainType::Muscle => 2,
        GainType::DcMotor => 3,
        GainType::So3 => 4,
        GainType::Pid => 5,
        GainType::User => 6,
    }
}

fn bias_id(t: BiasType) -> i32 {
    match t {
        BiasType::None => bias::NONE,
        BiasType::Affine => bias::AFFINE,
        BiasType::Muscle => 2,
        BiasType::DcMotor => 3,
        BiasType::So3 => 4,
        BiasType::User => 5,
    }
}
