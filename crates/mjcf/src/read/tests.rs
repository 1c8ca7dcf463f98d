//! Reading: defaults, frames, replicas, includes, attachments. The expected values are MuJoCo's.

use std::io;
use std::path::Path;

use crate::spec::*;
use crate::{Errors, Spec, read_reader, read_str, read_with};

fn read(inside: &str) -> Spec {
    let text = format!("<mujoco>{inside}</mujoco>");
    read_str(&text, "test.xml").unwrap_or_else(|e| panic!("{e}")).0
}

fn refuse(inside: &str) -> Errors {
    read_str(&format!("<mujoco>{inside}</mujoco>"), "test.xml").unwrap_err()
}

/// Files in memory.
fn files(list: &'static [(&'static str, &'static str)]) -> impl Fn(&Path) -> io::Result<Vec<u8>> {
    move |path| {
        let found = list.iter().find(|(name, _)| Path::new(name) == path);
        found.map(|(_, text)| text.as_bytes().to_vec()).ok_or_else(|| io::Error::other("no such file"))
    }
}

const JOINT: &str = "<worldbody><body><geom size='.1'/><joint name='j' range='0 1'/></body></worldbody>";

fn actuator(default: &str, element: &str) -> Actuator {
    let spec = read(&format!("<default>{default}</default>{JOINT}<actuator>{element}</actuator>"));
    spec.actuators[0].clone()
}

fn position(kp: f64, kv: f64, dampratio: f64, timeconst: f64) -> ActuatorKind {
    ActuatorKind::Position(Position { kp, kv, dampratio, timeconst })
}

#[test]
fn elements_take_from_their_class_what_they_do_not_say() {
    let spec = read(
        "<default><geom density='5' friction='1 2 3'/><default class='a'><geom rgba='1 0 0 1' size='.1'/>\
         <joint stiffness='3' group='2'/></default><default class='b'><geom density='7'/></default></default>\
         <worldbody><body childclass='a'><geom friction='.5'/><joint/><geom class='b'/>\
         <frame childclass='b'><geom/></frame><body><geom/><joint/></body></body>\
         <body><freejoint/></body></worldbody>",
    );
    let geoms: Vec<_> = spec.geoms().map(|(_, g)| (g.density, g.rgba[0], g.friction)).collect();
    assert_eq!(geoms[0], (5.0, 1.0, [0.5, 2.0, 3.0]));
    assert_eq!(geoms[1], (7.0, 0.5, [1.0, 2.0, 3.0]));
    assert_eq!(geoms[2], (7.0, 0.5, [1.0, 2.0, 3.0]));
    assert_eq!(geoms[3], (5.0, 1.0, [1.0, 2.0, 3.0]));
    let joints: Vec<_> = spec.joints().map(|(_, j)| (j.stiffness[0], j.group)).collect();
    assert_eq!(joints, [(3.0, 2), (3.0, 2), (0.0, 0)]);
}

#[test]
fn a_class_takes_what_its_parent_says_wherever_that_stands() {
    let spec = read(
        "<worldbody><geom size='1' class='a'/></worldbody>\
         <default><default class='a'/><geom density='2'/></default><default><geom density='3'/></default>",
    );
    assert_eq!(spec.bodies[0].geoms[0].density, 2.0);
}

#[test]
fn one_form_of_orientation_replaces_another_of_the_class() {
    let spec = read(
        "<default><geom euler='90 0 0' size='1'/></default>\
         <worldbody><geom/><geom quat='0 1 0 0'/><geom zaxis='1 0 0'/></worldbody>",
    );
    let found: Vec<_> = spec.geoms().map(|(_, g)| g.orientation.unwrap()).collect();
    assert_eq!(found[0], Orientation::Euler([90.0, 0.0, 0.0]));
    assert_eq!(found[1], Orientation::Quat([0.0, 1.0, 0.0, 0.0]));
    assert_eq!(found[2], Orientation::ZAxis([1.0, 0.0, 0.0]));
}

#[test]
fn an_attribute_of_a_class_has_its_place_there() {
    let spec = read("<default><geom size='1 2'/></default><worldbody><geom mass='3'/></worldbody>");
    let at = &spec.bodies[0].geoms[0].at;
    assert_eq!(spec.sources.text(at.attr("size")), "1 2");
    assert_eq!(spec.sources.text(at.attr("mass")), "3");
    assert_eq!(spec.sources.text(at.attr("pos")), "<geom mass='3'");
    assert!(at.has("size") && !at.has("pos"));
}

#[test]
fn shortcuts_take_from_defaults_as_in_mujoco() {
    let kind = |default, element| actuator(default, element).kind;
    assert_eq!(kind("<position kp='5'/>", "<position joint='j'/>"), position(5.0, 0.0, 0.0, 0.0));
    assert_eq!(kind("<position kp='5' kv='2'/>", "<position joint='j' kp='7'/>"), position(7.0, 2.0, 0.0, 0.0));
    assert_eq!(kind("<position kp='5' dampratio='1'/>", "<position joint='j' kv='1'/>"), position(5.0, 1.0, 0.0, 0.0));
    assert_eq!(kind("<position kv='1'/>", "<position joint='j' dampratio='2'/>"), position(1.0, 0.0, 2.0, 0.0));
    assert_eq!(kind("<velocity kv='5'/>", "<position joint='j'/>"), position(1.0, 0.0, 0.0, 0.0));
    assert_eq!(kind("<position kp='5'/>", "<motor joint='j'/>"), ActuatorKind::Motor);
    assert_eq!(kind("<general gainprm='5' biasprm='0 -3 -2'/>", "<position joint='j'/>"), position(5.0, 2.0, 0.0, 0.0));
    assert_eq!(
        kind("<general gainprm='5' dyntype='filterexact' dynprm='.5'/>", "<position joint='j'/>"),
        position(5.0, 0.0, 0.0, 0.5)
    );
    assert_eq!(kind("<general gaintype='affine' gainprm='5'/>", "<position joint='j'/>"), position(1.0, 0.0, 0.0, 0.0));
    assert_eq!(kind("<general gainprm='5'/>", "<velocity joint='j'/>"), ActuatorKind::Velocity(Velocity { kv: 5.0 }));
    // the nearest class above that was written with the same shortcut
    let nested = "<position kp='5'/><default class='c'><velocity kv='3'/></default>";
    assert_eq!(kind(nested, "<position class='c' joint='j'/>"), position(5.0, 0.0, 0.0, 0.0));
    assert_eq!(kind(nested, "<velocity class='c' joint='j'/>"), ActuatorKind::Velocity(Velocity { kv: 3.0 }));
    let motor = "<general gainprm='7'/><default class='c'><motor/></default>";
    assert_eq!(kind(motor, "<position class='c' joint='j'/>"), position(7.0, 0.0, 0.0, 0.0));
}

#[test]
fn general_takes_the_raw_parameters_of_any_default() {
    let general = |default, element| match actuator(default, element).kind {
        ActuatorKind::General(g) => (g.gainprm[0], g.biastype, [g.biasprm[0], g.biasprm[1], g.biasprm[2]]),
        other => panic!("{other:?}"),
    };
    let (affine, none) = (BiasType::Affine, BiasType::None);
    assert_eq!(general("<position kp='5'/>", "<general joint='j'/>"), (5.0, affine, [0.0, -5.0, 0.0]));
    assert_eq!(general("<velocity kv='5'/>", "<general joint='j'/>"), (5.0, affine, [0.0, 0.0, -5.0]));
    assert_eq!(general("<motor/>", "<general joint='j' gainprm='3'/>"), (3.0, none, [0.0; 3]));
    let both = "<position kp='5'/><general gainprm='3'/>";
    assert_eq!(general(both, "<general joint='j'/>"), (3.0, affine, [0.0, -5.0, 0.0]));
    let both = "<general gainprm='3'/><position kp='5'/>";
    assert_eq!(general(both, "<general joint='j' biasprm='9'/>"), (5.0, affine, [9.0, -5.0, 0.0]));
    // parameters of a shortcut that is not known here must not be lost in silence
    let spec =
        read(&format!("<default><pid/></default>{JOINT}<actuator><general joint='j'/><motor joint='j'/></actuator>"));
    assert_eq!(spec.actuators[0].kind, ActuatorKind::Other("pid".into()));
    assert_eq!(spec.actuators[1].kind, ActuatorKind::Motor);
    assert_eq!(spec.unsupported.len(), 1);
}

/// Shortcuts that are read as what they stand for: from the same shortcut, or from `general` of their gain type.
#[test]
fn shortcuts_take_parameters_from_their_like() {
    let general = |default, element| match actuator(default, element).kind {
        ActuatorKind::Shortcut { general, .. } | ActuatorKind::General(general) => general,
        other => panic!("{other:?}"),
    };
    let muscle = general("<muscle force='9' timeconst='.1 .2'/>", "<muscle joint='j' lmax='2'/>");
    assert_eq!((muscle.gainprm[2], muscle.gainprm[5], muscle.dynprm[1]), (9.0, 2.0, 0.2));
    assert_eq!(muscle.biasprm, muscle.gainprm);
    let raw = "<general gaintype='muscle' gainprm='.1 .2 .3' dynprm='.5'/>";
    assert_eq!(general(raw, "<muscle joint='j'/>").gainprm[..3], [0.1, 0.2, 0.3]);
    assert_eq!(general("<general gainprm='3'/>", "<muscle joint='j'/>").gainprm[..3], [0.75, 1.05, -1.0]);
    assert_eq!(general("<muscle force='4'/>", "<general joint='j'/>").gainprm[2], 4.0);
    let cylinder = general("<general gainprm='3' biasprm='6 7 8' dynprm='.5'/>", "<cylinder joint='j'/>");
    assert_eq!((cylinder.gainprm[0], cylinder.biasprm[2], cylinder.dynprm[0]), (3.0, 8.0, 0.5));
    assert_eq!(general("", "<cylinder joint='j' diameter='2'/>").gainprm[0], std::f64::consts::PI);
    let servo = general("<position kp='7'/>", "<intvelocity joint='j' kv='2'/>");
    assert_eq!(
        (servo.dyntype, servo.gainprm[0], servo.biasprm[1], servo.biasprm[2]),
        (DynType::Integrator, 1.0, -1.0, -2.0)
    );
    assert_eq!(general("<damper kv='9' ctrlrange='0 1'/>", "<damper joint='j'/>").gainprm[2], -9.0);
}

#[test]
fn of_ctrlrange_and_inheritrange_the_nearer_counts() {
    let ranges = |default, element| {
        let a = actuator(default, element);
        (a.ctrlrange, a.inheritrange)
    };
    let none = [0.0; 2];
    assert_eq!(ranges("<position ctrlrange='0 .2'/>", "<position joint='j' inheritrange='1'/>"), (none, 1.0));
    assert_eq!(ranges("<position inheritrange='1'/>", "<position joint='j' ctrlrange='0 1'/>"), ([0.0, 1.0], 0.0));
    assert_eq!(ranges("<position inheritrange='1'/>", "<velocity joint='j'/>"), (none, 0.0));
}

#[test]
fn frames_nest_and_belong_to_their_body() {
    let spec = read(
        "<worldbody><frame name='f' pos='1 0 0'><frame euler='0 0 90'><body name='b'><frame pos='0 1 0'>\
         <inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/><joint/><geom size='1'/></frame></body></frame><geom size='1'/></frame></worldbody>",
    );
    assert_eq!(spec.frames.iter().map(|f| f.parent).collect::<Vec<_>>(), [None, Some(0), None]);
    assert_eq!(spec.bodies[1].frame, Some(1));
    assert_eq!(spec.bodies[1].joints[0].frame, Some(2));
    assert_eq!(spec.bodies[1].inertial.as_ref().unwrap().frame, Some(2));
    assert_eq!(spec.bodies[0].geoms[0].frame, Some(0));
}

#[test]
fn replicas_and_what_refers_to_them_come_in_mujocos_order() {
    let spec = read(
        "<worldbody><body name='a'><joint name='k'/><geom size='.1'/></body><replicate count='2' offset='0 1 0'>\
         <body name='r'><joint name='j'/><geom size='.1'/></body></replicate></worldbody>\
         <actuator><motor name='m' joint='j'/><motor name='n' joint='k'/><motor joint='j' gear='2'/></actuator>\
         <tendon><fixed name='t'><joint joint='j' coef='1'/></fixed></tendon>\
         <contact><exclude body1='r' body2='world'/></contact>",
    );
    let names =
        |list: Vec<&Option<String>>| list.iter().map(|n| n.as_deref().unwrap_or("").to_owned()).collect::<Vec<_>>();
    assert_eq!(names(spec.bodies.iter().map(|b| &b.name).collect()), ["world", "a", "r0", "r1"]);
    assert_eq!(names(spec.actuators.iter().map(|a| &a.name).collect()), ["n", "m0", "", "m1", ""]);
    assert_eq!(spec.actuators[4].transmission, Transmission::Joint("j1".into()));
    assert_eq!(names(spec.tendons.iter().map(|t| &t.name).collect()), ["t0", "t1"]);
    assert_eq!(spec.excludes.iter().map(|e| e.body1.as_str()).collect::<Vec<_>>(), ["r0", "r1"]);
    assert_eq!((spec.bodies[2].frame, spec.bodies[3].frame), (None, Some(0)));
}

#[test]
fn nested_replicas_put_the_innermost_number_first() {
    let spec = read(
        "<worldbody><replicate count='2' sep='-'><replicate count='12' sep='_'><site name='g'/></replicate>\
         </replicate></worldbody>",
    );
    let sites = &spec.bodies[0].sites;
    assert_eq!(sites.len(), 24);
    assert_eq!(sites[1].name.as_deref(), Some("g_01-0"));
    assert_eq!(sites[23].name.as_deref(), Some("g_11-1"));
}

#[test]
fn includes_are_found_beside_the_main_file_or_the_including_one() {
    let loader = files(&[
        ("dir/parts/a.xml", "<x><worldbody><geom size='1'/></worldbody><include file='b.xml'/></x>"),
        ("dir/parts/b.xml", "<x><worldbody><site/></worldbody><include file='top.xml'/></x>"),
        ("dir/parts/top.xml", "<x><option timestep='9'/></x>"),
        ("dir/top.xml", "\u{feff}<x><option timestep='0.5'/></x>"),
    ]);
    let text = "<mujoco><include file='parts/a.xml'/></mujoco>".to_owned();
    let (spec, _) = read_with(text, "main.xml", Path::new("dir/main.xml"), &loader).unwrap();
    assert_eq!((spec.bodies[0].geoms.len(), spec.bodies[0].sites.len()), (1, 1));
    assert_eq!(spec.option.timestep, 0.5);
    assert_eq!(spec.sources.files.len(), 4);
}

#[test]
fn attached_models_keep_their_own_unit_and_classes() {
    let loader = files(&[(
        "arm.xml",
        "<mujoco model='arm'><compiler angle='radian'/><option gravity='0 0 -1'/>\
         <default><geom density='1'/><default class='k'><joint damping='2'/></default></default>\
         <worldbody><geom name='floor' size='1'/><body name='arm' euler='0 0 1.5'>\
         <joint name='j' class='k' range='0 1'/><joint type='slide' range='0 1'/><geom name='g' size='1'/></body>\
         <body name='other'><joint name='o'/></body></worldbody>\
         <tendon><fixed name='t'><joint joint='j' coef='1'/></fixed>\
         <fixed name='u'><joint joint='j' coef='1'/><joint joint='o' coef='1'/></fixed></tendon>\
         <actuator><motor name='m' joint='j'/><motor joint='o'/><motor tendon='t'/><motor tendon='u'/></actuator>\
         </mujoco>",
    )]);
    let text = "<mujoco><asset><model file='arm.xml'/></asset><default><geom density='9' friction='3'/></default>\
                <worldbody><attach model='arm' body='arm' prefix='x_'/><geom size='1'/></worldbody>\
                <actuator><motor joint='x_j'/></actuator></mujoco>";
    let (spec, _) = read_with(text.to_owned(), "main.xml", Path::new("main.xml"), &loader).unwrap();
    assert_eq!(spec.option.gravity[2], -9.81);
    assert_eq!(spec.bodies.len(), 2);
    let arm = &spec.bodies[1];
    assert_eq!(arm.name.as_deref(), Some("x_arm"));
    assert_eq!(arm.orientation, Some(Orientation::Euler([0.0, 0.0, 1.5f64.to_degrees()])));
    assert_eq!(arm.joints[0].range[1], 1f64.to_degrees());
    assert_eq!(arm.joints[1].range[1], 1.0);
    assert_eq!(arm.joints[0].damping[0], 2.0);
    assert_eq!((arm.geoms[0].density, arm.geoms[0].friction[0]), (1.0, 1.0));
    assert_eq!(spec.bodies[0].geoms[0].density, 9.0);
    assert_eq!(spec.tendons.len(), 1);
    let targets: Vec<_> = spec.actuators.iter().map(|a| a.transmission.clone()).collect();
    let (joint, tendon) = (Transmission::Joint("x_j".into()), Transmission::Tendon("x_t".into()));
    assert_eq!(targets, [joint.clone(), joint, tendon]);
}

#[test]
fn flags_options_and_keys() {
    let spec = read(
        "<option cone='elliptic' actuatorgroupdisable='1 3'><flag gravity='disable' energy='enable'/></option>\
         <option iterations='7'/><compiler angle='radian' eulerseq='XYz'/><keyframe><key time='1' qvel='1 2'/></keyframe>",
    );
    let o = &spec.option;
    assert_eq!((o.cone, o.iterations, o.actuatorgroupdisable), (Cone::Elliptic, 7, 0b1010));
    assert!(!o.flags.gravity && o.flags.energy && o.flags.contact);
    assert_eq!((spec.compiler.degrees, spec.compiler.eulerseq), (false, ['X', 'Y', 'z']));
    assert_eq!((spec.keys[0].qpos.clone(), spec.keys[0].qvel.clone()), (None, Some(vec![1.0, 2.0])));
}

#[test]
fn one_spring_length_is_both_ends() {
    let spec = read(&format!(
        "<default><tendon springlength='.1 .5'/></default>{JOINT}\
         <tendon><fixed springlength='.3'><joint joint='j' coef='2'/></fixed></tendon>"
    ));
    assert_eq!(spec.tendons[0].springlength, [0.3, 0.3]);
}

#[test]
fn several_mistakes_are_reported_at_once_in_order() {
    let errors = refuse("<option timestep='x'/><worldbody><geom siez='1'/></worldbody><sensors/>").errors;
    assert_eq!(errors.len(), 3);
    assert!(errors.windows(2).all(|w| w[0].column < w[1].column));
}

#[test]
fn a_reader_and_a_mark_at_the_start_do() {
    let (spec, _) = read_reader("\u{feff}<mujoco model='m'/>".as_bytes(), "pipe").unwrap();
    assert_eq!(spec.model.as_deref(), Some("m"));
}
