//! The twins hold together: the same functions in the same order in a shader and in its Rust file; imports exact.

use kiloworld_gpu::link::{declared, imports};
use kiloworld_gpu::{Shaders, Tuning, kernels};
use kiloworld_layout::wgsl::{PRELUDE_NAMES, emit};
use kiloworld_layout::{Layout, Stage};
use kiloworld_tests::models;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Shader files (stem, text), from the folder itself.
fn shaders() -> Vec<(String, String)> {
    let read = |path: PathBuf| {
        let stem = path.file_stem()?.to_str()?.to_owned();
        (path.extension()? == "wgsl").then(|| (stem, std::fs::read_to_string(&path).expect("readable")))
    };
    let mut all: Vec<_> = std::fs::read_dir(root().join("shaders"))
        .expect("there")
        .filter_map(|e| read(e.expect("readable").path()))
        .collect();
    all.sort();
    all
}

/// Functions at the top level of a text, in order, without those that a comment right above marks as one side's only.
fn functions(text: &str, mark: &str) -> Vec<String> {
    let (mut out, mut only) = (Vec::new(), false);
    for line in text.lines() {
        if line.starts_with("#[cfg(test)]") {
            break;
        }
        let code = line.trim_start_matches("pub(crate) ").trim_start_matches("pub ").trim_start_matches("const ");
        if line.starts_with("//") {
            only |= line.contains(mark);
        } else if let Some(rest) = code.strip_prefix("fn ") {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            if !only {
                out.push(rest[..end].to_owned());
            }
            only = false;
        } else if !line.starts_with("#[") && !line.starts_with('@') {
            only = false;
        }
    }
    out
}

/// Files of helpers: Rust may have more (loads and stores of slices, for one).
const HELPERS: [&str; 2] = ["math", "two_float"];

/// True where `part` is `whole` with some left out.
fn is_part(part: &[String], whole: &[String]) -> bool {
    let mut rest = whole.iter();
    part.iter().all(|p| rest.any(|w| w == p))
}

/// A shader's functions are its twin's, in order; `// GPU only: why` and `// CPU only: why` above a function exempt it, and
/// a shader without a twin says `// No twin: why` in its first lines.
#[test]
fn twins_have_the_same_functions() {
    let mut faults = Vec::new();
    for (stem, text) in shaders() {
        if text.lines().take(8).any(|l| l.starts_with("// No twin: ")) {
            continue;
        }
        let Ok(rust) = std::fs::read_to_string(root().join(format!("crates/cpu/src/{stem}.rs"))) else {
            faults.push(format!("{stem}: no crates/cpu/src/{stem}.rs, and no `// No twin: why`"));
            continue;
        };
        let gpu: Vec<_> =
            functions(&text, "GPU only: ").into_iter().filter(|f| f != "main" && !f.starts_with("main_")).collect();
        let cpu = functions(&rust, "CPU only: ");
        let same = if HELPERS.contains(&stem.as_str()) { is_part(&gpu, &cpu) } else { gpu == cpu };
        if !same {
            faults.push(format!("{stem}:\n  WGSL {}\n  Rust {}", gpu.join(" "), cpu.join(" ")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Words of a text without comments.
fn words(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().map(|l| l.split("//").next().unwrap_or(""));
    lines.flat_map(|l| l.split(|c: char| !c.is_alphanumeric() && c != '_')).filter(|w| !w.is_empty()).collect()
}

#[test]
fn imports_are_what_is_used() {
    let m = models::named("mix");
    let layout = Layout::new(&m.size, &BTreeSet::new()).expect("nothing per world");
    let module = emit(&m, &layout, Tuning::default());
    let files = shaders();
    let mut faults = Vec::new();
    for (stem, text) in &files {
        let list = imports(stem, text).unwrap_or_else(|e| panic!("{e}"));
        let mut modules = BTreeSet::new();
        let mut imported = BTreeSet::new();
        for import in &list {
            if !modules.insert(import.module.clone()) {
                faults.push(format!("{stem}: `{}` is imported twice", import.module));
            }
            for name in &import.names {
                if !imported.insert(name.clone()) {
                    faults.push(format!("{stem}: `{name}` is imported twice"));
                }
            }
        }
        let body: String = text.lines().skip_while(|l| !l.trim().is_empty()).collect::<Vec<_>>().join("\n");
        let body = if list.is_empty() { text.clone() } else { after_imports(text).unwrap_or(body) };
        let used = words(&body);
        for name in imported.iter().filter(|n| !used.contains(n.as_str())) {
            faults.push(format!("{stem}: `{name}` is imported and not used"));
        }
        let own = declared(text);
        let elsewhere = |w: &str| {
            module.has(w)
                || PRELUDE_NAMES.contains(&w)
                || files.iter().any(|(s, t)| s != stem && declared(t).contains(w) && w != "main")
        };
        // a local may be called as another file's function: only calls, constants and types count
        let called = |w: &str| calls(&body, w) || w.chars().all(|c| c.is_uppercase() || c.is_numeric() || c == '_');
        for name in used.iter().filter(|w| !own.contains(**w) && !imported.contains(**w) && elsewhere(w) && called(w)) {
            faults.push(format!("{stem}: `{name}` is used and not imported"));
        }
        if body.contains("buf_") {
            faults.push(format!("{stem}: indexes a buffer itself; only the module `layout` does"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The text calls a function of that name.
fn calls(text: &str, name: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(&format!("{name}(")).any(|(i, _)| !text[..i].ends_with(part_of_name))
}

/// What follows the last import.
fn after_imports(text: &str) -> Option<String> {
    let start = text.rfind("\nimport ").map(|i| i + 1).or_else(|| text.starts_with("import ").then_some(0))?;
    let end = text[start..].find(';')? + start;
    Some(text[end + 1..].to_owned())
}

/// Names are global: no two files declare the same, entry points excepted.
#[test]
fn names_are_unique_across_the_folder() {
    let mut seen = std::collections::BTreeMap::new();
    for (stem, text) in shaders() {
        for name in declared(&text).into_iter().filter(|n| n != "main" && !n.starts_with("main_")) {
            if let Some(other) = seen.insert(name.clone(), stem.clone()) {
                panic!("`{name}` is declared in {other} and in {stem}");
            }
        }
    }
}

/// Every file is embedded, and the entry points that stages name are there.
#[test]
fn stages_name_entry_points_that_exist() {
    let embedded = Shaders::load().expect("readable");
    for (stem, _) in shaders() {
        assert!(embedded.get(&stem).is_some(), "{stem}.wgsl is not in crates/gpu/src/shaders.rs");
    }
    let mut m = models::named("mix");
    for solver in 0..3 {
        (m.opt.solver, m.opt.noslip_iterations) = (solver, 3);
        for &stage in Stage::ALL {
            for kernel in kernels(stage, &m, Tuning::default()) {
                let Some(text) = embedded.get(kernel.file) else { panic!("{stage}: no shaders/{}.wgsl", kernel.file) };
                assert!(
                    text.contains(&format!("fn {}(", kernel.entry)),
                    "{stage}: no `{}` in {}",
                    kernel.entry,
                    kernel.file
                );
            }
        }
    }
}
