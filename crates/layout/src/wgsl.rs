//! The text of the WGSL module `layout`: bindings, constants, and one accessor a field and direction.
//!
//! Kernels never index a buffer; what lies where is known here and in [`Layout`] and nowhere else.

use crate::offsets::{Binding, Layout, Slot, is_padded};
use crate::{Dim, Field, FieldInfo, Kind, Model, SizeName, Sizes, consts};
use core::fmt::Write as _;

/// How work is spread on the device: text constants of the module, so data and not code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// invocations that share one world, 1 to 64
    pub lanes: u32,
    /// worlds in a workgroup; `lanes * worlds_per_group` keeps within the device's workgroup size
    pub worlds_per_group: u32,
    /// words of workgroup memory that a kernel may use for all the worlds of a group
    pub workgroup_words: u32,
    /// Newton steps a dispatch does, at least 1: more save dispatches, but software devices bound the loops of one
    pub newton_steps: u32,
    /// stages that follow each other share kernels where `gpu::stage` has one for them
    pub fused: bool,
}

impl Default for Tuning {
    fn default() -> Self {
        Self { lanes: 1, worlds_per_group: 16, workgroup_words: 4096, newton_steps: 1, fused: false }
    }
}

impl Tuning {
    /// The same with another number of lanes: groups of 64 invocations, 8 worlds where a lane is a world.
    pub fn with_lanes(self, lanes: u32) -> Self {
        let worlds_per_group = if lanes == 1 { 8 } else { (64 / lanes.max(1)).max(1) };
        Self { lanes, worlds_per_group, ..self }
    }
}

/// A declaration of the module.
#[derive(Clone, Debug)]
pub struct Item {
    /// its name
    pub name: String,
    /// another item that the text refers to, besides the prelude
    pub needs: Option<String>,
    /// one declaration, ending in a newline
    pub text: String,
}

/// The module: what every kernel needs, and declarations of which each kernel takes those it imports.
#[derive(Clone, Debug)]
pub struct LayoutModule {
    /// bindings, strides, `Params`, `Vec6`, `world_of`, `lane_of`, `opaque_zero`, `dispatch_arg`
    pub prelude: String,
    /// constants and accessors, in order
    pub items: Vec<Item>,
}

/// Names that the prelude declares and kernels may import.
pub const PRELUDE_NAMES: &[&str] =
    &["Vec6", "world_of", "lane_of", "opaque_zero", "dispatch_arg", "LANES", "WORLDS_PER_GROUP"];

impl LayoutModule {
    /// The whole module.
    pub fn text(&self) -> String {
        let mut out = self.prelude.clone();
        self.items.iter().for_each(|i| out.push_str(&i.text));
        out
    }

    /// The item of that name.
    pub fn item(&self, name: &str) -> Option<&Item> {
        self.items.iter().find(|i| i.name == name)
    }

    /// True where kernels may import the name.
    pub fn has(&self, name: &str) -> bool {
        PRELUDE_NAMES.contains(&name) || self.item(name).is_some()
    }

    fn constant(&mut self, name: String, ty: &str, value: impl core::fmt::Display) {
        let text = format!("const {name}: {ty} = {value};\n");
        self.items.push(Item { name, needs: None, text });
    }
}

/// Emits the module for a model.
pub fn emit<T>(m: &Model<T>, layout: &Layout, tuning: Tuning) -> LayoutModule {
    let mut out = LayoutModule { prelude: prelude(layout, tuning), items: Vec::new() };
    for &(name, size) in Sizes::NAMES.iter().filter(|(_, size)| !SizeName::HOST.contains(size)) {
        out.constant(name.to_uppercase(), "u32", format_args!("{}u", m.size.get(size)));
    }
    let o = &m.opt;
    for (name, value) in [
        ("INTEGRATOR", o.integrator),
        ("CONE", o.cone),
        ("SOLVER", o.solver),
        ("ITERATIONS", o.iterations),
        ("LS_ITERATIONS", o.ls_iterations),
        ("NOSLIP_ITERATIONS", o.noslip_iterations),
        ("DISABLEFLAGS", o.disableflags),
        ("ENABLEFLAGS", o.enableflags),
        ("DISABLEACTUATOR", o.disableactuator),
    ] {
        out.constant(format!("OPT_{name}"), "i32", value);
    }
    for &(prefix, name, value) in consts::INTEGERS {
        out.constant(format!("{prefix}_{name}"), "i32", value);
    }
    for &(name, value) in consts::REALS {
        out.constant(name.to_owned(), "f32", format_args!("{value:e}f"));
    }
    presence(m, &mut out);
    out.constant("WORKGROUP_WORDS".into(), "u32", format_args!("{}u", tuning.workgroup_words));
    out.constant("NEWTON_STEPS".into(), "u32", format_args!("{}u", tuning.newton_steps));
    for info in Field::TABLE {
        if let Some(slot) = layout.slot(info.field) {
            accessors(info, slot, &mut out);
        }
    }
    out
}

/// Flags that say which kinds of joints, equalities and geom pairs the model has, so that kernels drop what it has not.
fn presence<T>(m: &Model<T>, out: &mut LayoutModule) {
    let of = |prefix: &str| consts::INTEGERS.iter().filter(move |c| c.0 == prefix).collect::<Vec<_>>();
    for c in of("JNT") {
        out.constant(format!("HAS_JNT_{}", c.1), "bool", m.jnt_type.contains(&c.2));
    }
    for c in of("EQ") {
        out.constant(format!("HAS_EQ_{}", c.1), "bool", m.eq_type.contains(&c.2));
    }
    let geom_type = |g: &i32| usize::try_from(*g).ok().and_then(|g| m.geom_type.get(g)).copied();
    for a in of("GEOM") {
        for b in of("GEOM").into_iter().filter(|b| b.2 >= a.2) {
            let has = m.coll_geom1.iter().zip(&m.coll_geom2).any(|(g1, g2)| {
                (geom_type(g1), geom_type(g2)) == (Some(a.2), Some(b.2))
                    || (geom_type(g1), geom_type(g2)) == (Some(b.2), Some(a.2))
            });
            out.constant(format!("HAS_{}_{}", a.1, b.1), "bool", has);
        }
    }
}

fn prelude(layout: &Layout, tuning: Tuning) -> String {
    let mut s = String::from("// generated: module layout\n");
    for (i, b) in Binding::ALL.into_iter().enumerate() {
        let access = if b.is_read_only() { "read" } else { "read_write" };
        let ty = if b.is_int() { "i32" } else { "f32" };
        let _ = writeln!(s, "@group(0) @binding({i}) var<storage, {access}> buf_{}: array<{ty}>;", b.name());
    }
    for b in Binding::ALL {
        let words = if b.is_shared() { 0 } else { layout.words(b) };
        let _ = writeln!(s, "const WORDS_{}: u32 = {words}u;", b.name().to_uppercase());
    }
    let _ = write!(
        s,
        "const LANES: u32 = {}u;
const WORLDS_PER_GROUP: u32 = {}u;
struct Params {{ nworld: u32, world0: u32, groups_x: u32, zero: u32, arg: u32, pad0: u32, pad1: u32, pad2: u32 }}
@group(0) @binding(8) var<uniform> params: Params;
struct Vec6 {{ r: vec3<f32>, t: vec3<f32> }}
// the world of an invocation, in its slice; the grid covers the padded slice exactly
fn world_of(group: vec3<u32>, local: vec3<u32>) -> u32 {{
    return (group.y * params.groups_x + group.x) * WORLDS_PER_GROUP + local.y;
}}
// The lane of an invocation. Where a world has one lane a compiler would know it to be 0, count the turns of every loop over
// elements and unroll them: kernels that take thirty times as long to compile.
fn lane_of(local: vec3<u32>) -> u32 {{
    return local.x + params.zero;
}}
// 0, unknown to the compiler
fn opaque_zero() -> u32 {{ return params.zero; }}
// which of the repeated dispatches of a kernel this is
fn dispatch_arg() -> u32 {{ return params.arg; }}
",
        tuning.lanes, tuning.worlds_per_group
    );
    s
}

/// How an element is seen by kernels.
enum Shape {
    Scalar,
    Vector(usize),
    Mat3,
    Vec6,
    Row,
}

fn accessors(info: &FieldInfo, slot: Slot, out: &mut LayoutModule) {
    let (name, buf) = (info.name, slot.binding.name());
    let int = info.kind == Kind::I;
    let scalar = if int { "i32" } else { "f32" };
    let shape = match info.shape {
        [_] => Shape::Scalar,
        [_, Dim::Const(n @ 2..=4)] => Shape::Vector(*n),
        [_, Dim::Const(9)] if !int => Shape::Mat3,
        [_, Dim::Const(6)] if !int => Shape::Vec6,
        _ => Shape::Row,
    };
    let single = info.shape[0] == Dim::Const(1);
    let at = format!("AT_{}", name.to_uppercase());
    out.items.push(Item {
        name: at.clone(),
        needs: None,
        text: format!("const {at}: u32 = {}u; // {buf}, {} x {}\n", slot.offset, slot.rows, slot.cols),
    });
    let mut args = String::from("w: u32");
    let mut index = format!("w * WORDS_{} + {at}", buf.to_uppercase());
    if !single {
        args.push_str(", i: u32");
        let _ = if slot.cols == 1 { write!(index, " + i") } else { write!(index, " + i * {}u", slot.cols) };
    }
    let row = format!("    let a = {index};\n");
    if matches!(shape, Shape::Row) {
        args.push_str(", j: u32");
        index.push_str(" + j");
    }
    let word = |k: usize| if k == 0 { format!("buf_{buf}[a]") } else { format!("buf_{buf}[a + {k}u]") };
    let list = |ks: &[usize]| ks.iter().map(|&k| word(k)).collect::<Vec<_>>().join(", ");
    let all = (0..slot.cols).collect::<Vec<_>>();
    let (ty, load, stores): (String, String, Vec<String>) = match shape {
        Shape::Scalar | Shape::Row => {
            (scalar.into(), format!("    return buf_{buf}[{index}];\n"), vec![format!("buf_{buf}[{index}] = v;")])
        }
        Shape::Vector(n) => {
            let ty = format!("vec{n}<{scalar}>");
            let load = format!("{row}    return {ty}({});\n", list(&all));
            (ty, load, all.iter().map(|&k| format!("{} = v[{k}];", word(k))).collect())
        }
        Shape::Mat3 => (
            "mat3x3<f32>".into(),
            format!("{row}    return mat3x3<f32>({});\n", list(&[0, 3, 6, 1, 4, 7, 2, 5, 8])),
            all.iter().map(|&k| format!("{} = v[{}][{}];", word(k), k % 3, k / 3)).collect(),
        ),
        Shape::Vec6 => (
            "Vec6".into(),
            format!("{row}    return Vec6(vec3<f32>({}), vec3<f32>({}));\n", list(&[0, 1, 2]), list(&[3, 4, 5])),
            all.iter().map(|&k| format!("{} = v.{}[{}];", word(k), ["r", "t"][k / 3], k % 3)).collect(),
        ),
    };
    let mut function = |name: String, args: &str, result: &str, body: &str| {
        let text = format!("fn {name}({args}){result} {{\n{body}}}\n");
        out.items.push(Item { name, needs: Some(at.clone()), text });
    };
    function(format!("ld_{name}"), &args, &format!(" -> {ty}"), &load);
    let read_only = slot.binding.is_read_only();
    if !read_only {
        let first = if matches!(shape, Shape::Scalar | Shape::Row) { String::new() } else { row };
        let body = format!("{first}{}", stores.iter().map(|s| format!("    {s}\n")).collect::<String>());
        function(format!("st_{name}"), &format!("{args}, v: {ty}"), "", &body);
    }
    if is_padded(info) {
        let a = format!("    let a = w * WORDS_{} + {at} + i * {}u + 4u * j4;\n", buf.to_uppercase(), slot.cols);
        let load = format!("{a}    return vec4<f32>({});\n", list(&[0, 1, 2, 3]));
        function(format!("ld4_{name}"), "w: u32, i: u32, j4: u32", " -> vec4<f32>", &load);
        if !read_only {
            let stores = (0..4).map(|k| format!("    {} = v[{k}];\n", word(k))).collect::<String>();
            function(format!("st4_{name}"), "w: u32, i: u32, j4: u32, v: vec4<f32>", "", &format!("{a}{stores}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// A model of a few elements: emission needs sizes and types only.
    fn tiny() -> Model<f64> {
        let size = Sizes {
            nq: 7,
            nv: 6,
            nvpad: 8,
            nbody: 2,
            njnt: 1,
            ngeom: 2,
            nC: 21,
            ntree: 1,
            ncoll: 1,
            nlevel: 2,
            nlevel1: 3,
            nconmax: 4,
            njmax: 12,
            ..Sizes::default()
        };
        Model {
            size,
            jnt_type: vec![0],
            geom_type: vec![0, 2],
            coll_geom1: vec![0],
            coll_geom2: vec![1],
            ..Model::default()
        }
    }

    #[test]
    fn the_module_of_a_tiny_model() {
        let m = tiny();
        let layout = Layout::new(&m.size, &BTreeSet::from([Field::body_mass])).expect("a model field");
        insta::assert_snapshot!(emit(&m, &layout, Tuning::default()).text());
    }

    #[test]
    fn names_are_unique() {
        let m = tiny();
        let layout = Layout::new(&m.size, &BTreeSet::new()).expect("nothing per world");
        let module = emit(&m, &layout, Tuning::default());
        let names: BTreeSet<_> = module.items.iter().map(|i| &i.name).collect();
        assert_eq!(names.len(), module.items.len());
        assert!(module.items.iter().all(|i| i.needs.as_ref().is_none_or(|n| module.item(n).is_some())));
    }
}
