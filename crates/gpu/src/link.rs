//! Links shader files into one text: `import package::module::{a, b};`, a subset of WESL, names left as they are.

use kiloworld_layout::wgsl::{LayoutModule, PRELUDE_NAMES};
use std::collections::BTreeSet;

/// Why files do not link.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[allow(missing_docs, reason = "the message says what each field is")]
pub enum LinkError {
    #[error("{file}:{line}: cannot read this import: `{text}`")]
    Syntax { file: String, line: usize, text: String },
    #[error("{file}:{line}: no shader module `{module}`")]
    UnknownModule { file: String, line: usize, module: String },
    #[error("{file}:{line}: module `{module}` has no `{name}`")]
    UnknownName { file: String, line: usize, module: String, name: String },
    #[error("{file}:{line}: `{module}` is imported in a circle")]
    Cycle { file: String, line: usize, module: String },
    #[error("no shader `{0}`")]
    NoEntry(String),
}

/// An import statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// line of the file, from 1
    pub line: usize,
    /// the module
    pub module: String,
    /// the names
    pub names: Vec<String>,
}

/// A linked text and where its lines came from.
#[derive(Clone, Debug)]
pub struct Linked {
    /// WGSL
    pub text: String,
    /// (first line in the text from 1, file, first line in the file)
    chunks: Vec<(usize, String, usize)>,
}

impl Linked {
    /// The file and line that a line of the text came from.
    pub fn origin(&self, line: usize) -> (&str, usize) {
        let at = self.chunks.partition_point(|c| c.0 <= line).saturating_sub(1);
        self.chunks.get(at).map_or(("", line), |(start, file, first)| (file, line + first - start))
    }

    fn push(&mut self, file: &str, first: usize, text: &str) {
        self.chunks.push((self.text.lines().count() + 1, file.to_owned(), first));
        self.text.push_str(text);
        if !text.ends_with('\n') {
            self.text.push('\n');
        }
    }
}

/// The imports of a file; they stand at its top, after comments, and may run over lines.
pub fn imports(file: &str, source: &str) -> Result<Vec<Import>, LinkError> {
    Ok(split(file, source)?.0)
}

/// Imports, and the text with their lines left blank.
fn split(file: &str, source: &str) -> Result<(Vec<Import>, String), LinkError> {
    let (mut imports, mut body, mut open) = (Vec::new(), String::new(), None::<(usize, String)>);
    for (i, text) in source.lines().enumerate() {
        let code = text.split("//").next().unwrap_or("").trim();
        if open.is_none() && code.starts_with("import ") {
            open = Some((i + 1, String::new()));
        }
        match &mut open {
            Some((line, statement)) => {
                statement.push_str(code);
                statement.push(' ');
                body.push('\n');
                if code.ends_with(';') {
                    let bad =
                        || LinkError::Syntax { file: file.to_owned(), line: *line, text: statement.trim().to_owned() };
                    imports.push(parse(*line, statement).ok_or_else(bad)?);
                    open = None;
                }
            }
            None => {
                body.push_str(text);
                body.push('\n');
            }
        }
    }
    match open {
        Some((line, text)) => Err(LinkError::Syntax { file: file.to_owned(), line, text: text.trim().to_owned() }),
        None => Ok((imports, body)),
    }
}

fn parse(line: usize, statement: &str) -> Option<Import> {
    let rest = statement.trim().strip_prefix("import")?.trim().strip_prefix("package::")?.strip_suffix(';')?.trim();
    let (module, names) = rest.split_once("::")?;
    let names = names.trim();
    let names = names.strip_prefix('{').map_or(Some(names), |n| n.strip_suffix('}'))?;
    let names: Vec<String> = names.split(',').map(|n| n.trim().to_owned()).filter(|n| !n.is_empty()).collect();
    let is_name = |n: &str| n.chars().all(|c| c.is_alphanumeric() || c == '_');
    (is_name(module) && !names.is_empty() && names.iter().all(|n| is_name(n))).then(|| Import {
        line,
        module: module.to_owned(),
        names,
    })
}

/// The names that a file declares at its top level: functions, constants, structs, aliases, variables.
pub fn declared(source: &str) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for line in source.lines().filter(|l| !l.starts_with(char::is_whitespace)) {
        let mut rest = line;
        while let Some(at) = rest.strip_prefix('@') {
            // skip an attribute and its arguments
            let end = match (at.find('('), at.find(' ')) {
                (Some(open), space) if space.is_none_or(|s| open < s) => at.find(')').map_or(at.len(), |e| e + 1),
                (_, space) => space.unwrap_or(at.len()),
            };
            rest = at[end..].trim_start();
        }
        for word in ["fn ", "const ", "struct ", "alias ", "override ", "var"] {
            let Some(name) = rest.strip_prefix(word) else { continue };
            let name = if word == "var" { name.split_once('>').map_or(name, |n| n.1) } else { name }.trim_start();
            let end = name.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(name.len());
            out.insert(name[..end].to_owned());
        }
    }
    out
}

/// Links the file `entry` with all that it imports. `find` gives the text of a module; `layout` is the generated one, of
/// which only what is imported is taken, since compile time grows with the text.
pub fn link<'a>(
    entry: &str,
    find: &dyn Fn(&str) -> Option<&'a str>,
    layout: &LayoutModule,
) -> Result<Linked, LinkError> {
    let mut linker = Linker { find, layout, wanted: BTreeSet::new(), done: Vec::new(), open: Vec::new() };
    let source = find(entry).ok_or_else(|| LinkError::NoEntry(entry.to_owned()))?;
    linker.visit(entry, source)?;
    let mut text = layout.prelude.clone();
    layout.items.iter().filter(|i| linker.wanted.contains(&i.name)).for_each(|i| text.push_str(&i.text));
    let mut out = Linked { text: String::new(), chunks: Vec::new() };
    out.push("layout", 1, &text);
    linker.done.iter().for_each(|(module, body)| out.push(&format!("shaders/{module}.wgsl"), 1, body));
    Ok(out)
}

struct Linker<'f, 'a> {
    find: &'f dyn Fn(&str) -> Option<&'a str>,
    layout: &'f LayoutModule,
    wanted: BTreeSet<String>,
    done: Vec<(String, String)>,
    open: Vec<String>,
}

impl Linker<'_, '_> {
    fn visit(&mut self, module: &str, source: &str) -> Result<(), LinkError> {
        let file = format!("shaders/{module}.wgsl");
        let (imports, body) = split(&file, source)?;
        self.open.push(module.to_owned());
        for Import { line, module: from, names } in imports {
            let unknown = |name: &String| LinkError::UnknownName {
                file: file.clone(),
                line,
                module: from.clone(),
                name: name.clone(),
            };
            if from == "layout" {
                for name in &names {
                    match self.layout.item(name) {
                        Some(item) => self.wanted.extend(item.needs.iter().cloned().chain([name.clone()])),
                        None if PRELUDE_NAMES.contains(&name.as_str()) => {}
                        None => return Err(unknown(name)),
                    }
                }
                continue;
            }
            if self.open.contains(&from) {
                return Err(LinkError::Cycle { file, line, module: from });
            }
            let Some(source) = (self.find)(&from) else {
                return Err(LinkError::UnknownModule { file, line, module: from });
            };
            let declared = declared(source);
            if let Some(name) = names.iter().find(|n| !declared.contains(*n)) {
                return Err(unknown(name));
            }
            if !self.done.iter().any(|(m, _)| *m == from) {
                self.visit(&from, source)?;
            }
        }
        self.open.pop();
        self.done.push((module.to_owned(), body));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiloworld_layout::{Layout, Model, wgsl};

    fn run(entry: &str, files: &[(&str, &'static str)]) -> Result<Linked, LinkError> {
        let m = Model::<f64>::default();
        let layout = Layout::new(&m.size, &BTreeSet::new()).expect("nothing per world");
        let module = wgsl::emit(&m, &layout, wgsl::Tuning::default());
        let find = |name: &str| files.iter().find(|f| f.0 == name).map(|f| f.1);
        link(entry, &find, &module)
    }

    #[test]
    fn takes_each_module_once_and_only_what_is_used_of_layout() {
        let files = [
            (
                "a",
                "// a\nimport package::b::{f, K};\nimport package::c::g;\nimport package::layout::{ld_qpos};\nfn a() {}\n",
            ),
            ("b", "// b\nimport package::c::{g};\nfn f() {}\nconst K = 1;\n"),
            ("c", "// c\n\nfn g() {}\n"),
        ];
        let linked = run("a", &files).expect("links");
        assert_eq!(linked.text.matches("fn g()").count(), 1);
        assert!(linked.text.contains("fn ld_qpos") && linked.text.contains("const AT_QPOS:"));
        assert!(!linked.text.contains("fn st_qpos") && !linked.text.contains("import"));
        let line = linked.text.lines().position(|l| l == "fn a() {}").expect("there") + 1;
        assert_eq!(linked.origin(line), ("shaders/a.wgsl", 5));
        let line = linked.text.lines().position(|l| l == "fn g() {}").expect("there") + 1;
        assert_eq!(linked.origin(line), ("shaders/c.wgsl", 3));
    }

    #[test]
    fn says_what_does_not_link() {
        let at = |e: Result<Linked, LinkError>| e.expect_err("must not link").to_string();
        assert_eq!(at(run("a", &[("a", "import package::a::x;\n")])), "shaders/a.wgsl:1: `a` is imported in a circle");
        assert_eq!(
            at(run("a", &[("a", "\nimport package::b::x;\n"), ("b", "import package::a::y;")])),
            "shaders/a.wgsl:2: module `b` has no `x`"
        );
        assert_eq!(at(run("a", &[("a", "import package::b::x;\n")])), "shaders/a.wgsl:1: no shader module `b`");
        assert_eq!(
            at(run("a", &[("a", "import package::layout::ld_nothing;\n")])),
            "shaders/a.wgsl:1: module `layout` has no `ld_nothing`"
        );
        assert_eq!(
            at(run("a", &[("a", "import b::c;\n")])),
            "shaders/a.wgsl:1: cannot read this import: `import b::c;`"
        );
        assert_eq!(at(run("z", &[])), "no shader `z`");
    }

    #[test]
    fn finds_what_a_file_declares() {
        let text = "@compute @workgroup_size(LANES, 1) fn main() {}\nvar<workgroup> h: array<f32>;\n  const inner = 1;\nconst K: u32 = 2;\n";
        assert_eq!(declared(text).into_iter().collect::<Vec<_>>(), ["K", "h", "main"]);
    }
}
