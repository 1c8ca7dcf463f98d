//! Which static bodies `fusestatic` leaves alone, as MuJoCo does; what fused bodies weigh is compared in `model.rs`.

use kiloworld_model::{Kind, Model};

/// A moving body with a static one, `s`, in it; `attrs` of that one, and sections behind the world.
fn compiled(settings: &str, attrs: &str, world: &str, sections: &str) -> Result<Model, kiloworld_model::Errors> {
    Model::from_str(&format!(
        r#"<mujoco>{settings}<worldbody>
  <body name="m"><freejoint/><geom name="gm" size=".1"/><site name="sm"/>
    <body name="s" {attrs}><geom name="gs" size=".1"/><site name="ss"/><camera name="cs"/></body></body>
  <body name="o" pos="1 0 0"><joint name="jo"/><geom name="go" size=".1"/><site name="so"/></body>{world}
</worldbody>{sections}</mujoco>"#
    ))
}

fn kept(settings: &str, attrs: &str, world: &str, sections: &str) -> bool {
    let settings = format!(r#"<compiler fusestatic="true"/>{settings}"#);
    let model = compiled(&settings, attrs, world, sections).unwrap_or_else(|e| panic!("{e}"));
    let found = model.id(Kind::Body, "s").is_some();
    // whatever is fused, nothing that it holds is lost
    assert_eq!(model.layout.size.nbody, if found { 4 } else { 3 });
    assert_eq!((model.layout.size.ngeom, model.layout.size.nsite), (3, 3));
    found
}

#[test]
fn bodies_that_something_refers_to_stay() {
    assert!(!kept("", "", "", ""));
    for sections in [
        r#"<equality><connect body1="s" anchor="0 0 0"/></equality>"#,
        r#"<equality><weld body1="o" body2="s"/></equality>"#,
        r#"<contact><exclude body1="s" body2="o"/></contact>"#,
        r#"<sensor><framepos objtype="body" objname="s"/></sensor>"#,
        r#"<sensor><framepos objtype="site" objname="so" reftype="xbody" refname="s"/></sensor>"#,
        r#"<sensor><subtreecom body="s"/></sensor>"#,
        r#"<sensor><force site="ss"/></sensor>"#,
        r#"<sensor><torque site="ss"/></sensor>"#,
        r#"<actuator><adhesion body="s" ctrlrange="0 1"/></actuator>"#,
        r#"<custom><tuple name="t"><element objtype="body" objname="s" prm="1"/></tuple></custom>"#,
        r#"<deformable><skin vertex="0 0 0 1 0 0 0 1 0" face="0 1 2"><bone body="s" bindpos="0 0 0" bindquat="1 0 0 0" vertid="0 1 2" vertweight="1 1 1"/></skin></deformable>"#,
    ] {
        assert!(kept("", "", "", sections), "{sections}");
    }
    for world in [r#"<camera mode="targetbody" target="s"/>"#, r#"<light mode="targetbody" target="s"/>"#] {
        assert!(kept("", "", world, ""), "{world}");
    }
    // what refers to elements in it does not hold it
    for sections in [
        r#"<equality><weld site1="ss" site2="so"/></equality>"#,
        r#"<contact><pair geom1="gs" geom2="go"/></contact>"#,
        r#"<sensor><gyro site="ss"/></sensor>"#,
        r#"<sensor><framepos objtype="geom" objname="gs"/></sensor>"#,
        r#"<actuator><motor site="ss"/></actuator>"#,
        r#"<tendon><spatial><site site="ss"/><geom geom="gs"/><site site="so"/></spatial></tendon>"#,
    ] {
        assert!(!kept("", "", "", sections), "{sections}");
    }
}

#[test]
fn bodies_whose_forces_would_differ_stay() {
    for (settings, attrs) in [
        ("", r#"fuse="false""#),
        ("", r#"gravcomp="1""#),
        (r#"<option density="1"/>"#, ""),
        (r#"<option viscosity="1"/>"#, ""),
        (r#"<compiler inertiafromgeom="true" boundmass="100"/>"#, ""),
    ] {
        assert!(kept(settings, attrs, "", ""), "{settings} {attrs}");
    }
    for (settings, attrs) in [
        ("", r#"simple="false""#),
        (r#"<option wind="1 0 0"/>"#, ""),
        (r#"<compiler boundmass="100"/>"#, ""),
        (r#"<compiler inertiafromgeom="true"/>"#, ""),
    ] {
        assert!(!kept(settings, attrs, "", ""), "{settings} {attrs}");
    }
    // off by default
    assert!(compiled("", "", "", "").is_ok_and(|m| m.id(Kind::Body, "s").is_some()));
}

#[test]
fn a_body_without_inertia_is_refused_where_it_is_put_together() {
    let xml = r#"<mujoco><compiler fusestatic="true" boundmass="1.5"/><worldbody>
      <body><freejoint/><geom size=".1"/><body name="hub" fuse="false"><body/></body></body></worldbody></mujoco>"#;
    let error = Model::from_str(xml).expect_err("two points in one place").to_string();
    assert!(error.contains("no inertia about some axis"), "{error}");
}
