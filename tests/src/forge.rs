//! Dumps, start states and laws as somebody would write them who means no good: what is made of them. `tests/fuzz` runs it on
//! random inputs, the tests `forged` and `fuzz` on chosen ones.

use kiloworld_laws::Law;
use kiloworld_layout::{Field, Model, SliceMut};
use kiloworld_sim::{Backend, Batch, Dump, DumpError, Precision, npz};
use std::sync::LazyLock;

/// Something of everything that a dump can hold.
pub const MODEL: &str = r#"<mujoco><option timestep="0.002"/><asset>
    <mesh name="m" vertex="0 0 0 .1 0 0 0 .1 0 0 0 .1"/>
    <hfield name="h" nrow="2" ncol="3" size="1 1 .1 .1" elevation="0 1 0 1 0 1"/></asset>
  <worldbody><geom name="floor" type="plane" size="5 5 1"/><geom type="hfield" hfield="h" contype="0" conaffinity="0"/>
    <camera name="eye" pos="0 0 2"/><site name="here" pos="1 0 1"/>
    <body name="hand" mocap="true" pos="0 0 1"><geom size=".02" contype="0" conaffinity="0"/></body>
    <body name="crate" pos="0 0 .099"><freejoint/><geom name="crate" type="box" size=".1 .1 .1"/>
      <geom type="mesh" mesh="m" contype="0" conaffinity="0"/><site name="top" pos="0 0 .1"/></body>
    <body name="ball" pos="0 .3 .1"><freejoint/><geom size=".11" condim="6"/></body>
    <body name="pod" pos=".5 0 .2"><joint name="turn" type="ball" range="0 .1" limited="true" damping=".1"/>
      <geom name="pod" type="capsule" size=".05 .17" condim="1"/>
      <body name="arm" pos="0 0 .2"><joint name="elbow" axis="0 1 0" range="-.1 .1" limited="true" frictionloss=".1"/>
        <joint name="lift" type="slide" axis="0 0 1" stiffness="10"/><geom name="arm" type="capsule" size=".03 .1"/>
        <body name="tip" pos="0 .1 .1" gravcomp="1"><joint name="wrist" axis="1 0 0"/><geom size=".03"/></body>
        <body name="thumb" pos=".1 0 .1"><joint name="thumb" axis="1 0 0"/><geom size=".03"/></body></body></body>
  </worldbody>
  <contact><pair geom1="floor" geom2="pod" condim="4"/><exclude body1="pod" body2="tip"/></contact>
  <tendon><fixed name="cord" limited="true" range="-.1 .1" frictionloss=".1"><joint joint="elbow" coef="1"/>
      <joint joint="wrist" coef="-1"/></fixed><fixed name="string"><joint joint="lift" coef="1"/></fixed></tendon>
  <equality><weld body1="crate" body2="hand" active="false"/><connect site1="here" site2="top" active="false"/>
    <joint joint1="wrist" joint2="elbow" polycoef="0 .5 0 0 0"/><tendon tendon1="cord" tendon2="string"/></equality>
  <actuator><motor joint="turn" gear="1 0 0"/><position joint="elbow" kp="10" timeconst=".1"/>
    <general tendon="cord" dyntype="integrator" actlimited="true" actrange="-1 1" gainprm="2"/>
    <motor joint="lift" ctrllimited="true" ctrlrange="-1 1" forcelimited="true" forcerange="-1 1"/></actuator>
  <sensor><jointpos joint="elbow"/><framepos objtype="site" objname="top"/></sensor>
  <keyframe><key name="k" time="1"/></keyframe></mujoco>"#;

/// Solvers and integrators that a dump is made under.
pub const VARIANTS: usize = 3;

/// The dump of a world of [`MODEL`] after a few steps.
pub fn base(variant: usize) -> Dump {
    let options = [
        r#"cone="elliptic""#,
        r#"solver="PGS" integrator="RK4" iterations="20""#,
        r#"noslip_iterations="3" integrator="implicitfast" iterations="5""#,
    ];
    let xml = MODEL.replacen("<option", &format!("<option {}", options[variant]), 1);
    let model = kiloworld_model::Model::from_str(&xml).unwrap_or_else(|e| panic!("{e}"));
    let builder = Batch::builder(&model).nworld(2).backend(Backend::Cpu).precision(Precision::F64).history(2);
    let mut batch = builder.nconmax(24).njmax(120).build().unwrap_or_else(|e| panic!("{e}"));
    batch.step(3).unwrap_or_else(|e| panic!("{e}"));
    batch.dumped(1).unwrap_or_else(|e| panic!("{e}"))
}

/// Whether the dump, written and read, is replayed; an error says why it was refused.
pub fn replayed(dump: &Dump) -> Result<(), String> {
    let arrays = dump.to_arrays().map_err(|e| e.to_string())?;
    outcome(Dump::from_arrays("FILE".to_owned(), &arrays))
}

/// The same of the bytes of a file.
pub fn run(bytes: &[u8]) -> Result<(), String> {
    outcome(Dump::from_bytes("FILE".to_owned(), bytes))
}

fn outcome(read: Result<Dump, DumpError>) -> Result<(), String> {
    match read {
        Ok(dump) => {
            dump.replay();
            Ok(())
        }
        Err(e) => {
            let text = e.to_string();
            assert!(text.starts_with("FILE is "), "an error says which file: {text}");
            Err(text)
        }
    }
}

/// Integers that are put in place of one that is `x`, of `n` elements.
pub fn integers(x: i32, n: i32) -> [i32; 8] {
    [-1, 0, x.saturating_add(1), n, n.saturating_add(1), -2, i32::MAX, i32::MIN]
}

/// Reals that are put in place of any.
pub const REALS: [f64; 7] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, 1e300, 1e-320];

/// Changes a dump as the bytes say, four a change: where, element, value.
pub fn forge(dump: &mut Dump, bytes: &[u8]) {
    for change in bytes.chunks_exact(4).take(16) {
        let [a, b, c, d] = [change[0], change[1], change[2], change[3]];
        let value = usize::from(d);
        let fields: Vec<Field> = Field::TABLE.iter().filter(|f| f.is_model()).map(|f| f.field).collect();
        match a {
            0..=0xbf => {
                one(&mut dump.model, fields[(usize::from(a) + 192 * usize::from(b & 1)) % fields.len()], c, value);
            }
            0xc0..=0xcf => {
                let name = kiloworld_layout::Sizes::NAMES[usize::from(b) % kiloworld_layout::Sizes::NAMES.len()].0;
                let n = dump.about.size.get(name).copied().unwrap_or(0);
                dump.about.size.insert(
                    name.to_owned(),
                    [0, 1, n.wrapping_add(1), n.wrapping_sub(1), 1 << 40, usize::MAX][value % 6],
                );
            }
            0xd0..=0xdf => {
                let nth = usize::from(b) % dump.about.opt.len();
                if let Some(x) = dump.about.opt.values_mut().nth(nth) {
                    *x = integers(*x, i32::from(c))[value % 8];
                }
            }
            _ => {
                let k = usize::from(b) % (dump.history.len() + 1);
                let record = dump.history.get_mut(k).unwrap_or(&mut dump.last);
                let nth = usize::from(c) % record.fields.len();
                let at = usize::from(a & 0x1f);
                if let Some((_, v)) = record.fields.get_mut(nth)
                    && let Some(x) = v.get_mut(at)
                {
                    *x = REALS[value % REALS.len()];
                }
            }
        }
    }
}

/// Changes one number of a field of the model, or how many there are.
fn one(m: &mut Model<f64>, field: Field, at: u8, value: usize) {
    let n = field.info().rows(&m.size) as i32;
    match m.get_mut(field) {
        Some(SliceMut::I(v)) if at == 0xff => v.truncate(value),
        Some(SliceMut::F(v)) if at == 0xff => v.truncate(value),
        Some(SliceMut::I(v)) if !v.is_empty() => {
            let at = usize::from(at) % v.len();
            // any small number too
            v[at] = if value < 128 { value as i32 - 16 } else { integers(v[at], n)[value % 8] };
        }
        Some(SliceMut::F(v)) if !v.is_empty() => {
            let at = usize::from(at) % v.len();
            v[at] = REALS[value % REALS.len()];
        }
        _ => {}
    }
}

/// The dumps that are forged.
static BASES: LazyLock<[Dump; VARIANTS]> = LazyLock::new(|| [0, 1, 2].map(base));

/// Does with an input what its target does; `Ok` where it was taken, else why it was refused.
pub fn fuzz(target: &str, input: &[u8]) -> Result<(), String> {
    let (&first, rest) = input.split_first().ok_or("an empty input")?;
    match target {
        // a whole file, or changes of one
        "dump" if first == b'P' => run(input),
        "dump" => {
            let mut dump = BASES[usize::from(first) % VARIANTS].clone();
            forge(&mut dump, rest);
            replayed(&dump)
        }
        "state" if first == b'P' => start(&npz::read(input).map_err(|e| e.to_string())?),
        "state" => start(&arrays(input)),
        "law" => {
            let text = std::str::from_utf8(input).map_err(|e| e.to_string())?;
            Law::parse("law", text).map(|_| ()).map_err(|e| e.to_string())
        }
        other => panic!("no target {other}"),
    }
}

/// Arrays as the bytes say, four an array: field, how long, which number, where.
fn arrays(bytes: &[u8]) -> npz::Arrays {
    let array = |change: &[u8]| {
        let field = &Field::TABLE[(usize::from(change[0]) + 256 * usize::from(change[1] >> 7)) % Field::TABLE.len()];
        let n = field.len(&BASES[0].model.size);
        let n = [n, 2 * n, n + 1, 0, 1, 1000][usize::from(change[1]) % 6];
        let mut values = vec![0.5; n];
        if let Some(x) = values.get_mut(usize::from(change[3])) {
            *x = REALS[usize::from(change[2]) % REALS.len()];
        }
        (field.name.to_owned(), npz::Array { shape: vec![n], values: npz::Values::F64(values) })
    };
    bytes.chunks_exact(4).map(array).collect()
}

/// Starts two worlds from a state file's arrays, as `--state` does, and steps them.
pub fn start(arrays: &npz::Arrays) -> Result<(), String> {
    let model = kiloworld_model::Model::from_str(MODEL).map_err(|e| e.to_string())?;
    let builder = Batch::builder(&model).nworld(2).backend(Backend::Cpu).precision(Precision::F64);
    let mut batch = builder.nconmax(24).njmax(120).build().map_err(|e| e.to_string())?;
    for (name, array) in arrays {
        let field = Field::from_name(name).ok_or_else(|| format!("no field {name}"))?;
        let npz::Values::F64(v) = &array.values else { return Err("no reals".to_owned()) };
        let all = if v.len() == field.info().len(&batch.model().size) { v.repeat(2) } else { v.clone() };
        batch.set(field, &all).map_err(|e| e.to_string())?;
    }
    batch.step(2).map_err(|e| e.to_string())?;
    batch.health().map_err(|e| e.to_string())?;
    Ok(())
}
