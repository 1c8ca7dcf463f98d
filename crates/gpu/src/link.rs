//! Links shader files into one text: `import package::module::{a, b};`, a subset of WESL, names left as they are.

use kiloworld_layout::wgsl::LayoutModule;
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
    /// every file in it is as this crate embeds it
    pub(crate) is_ours: bool,
}

impl Linked {
    /// The stems of the files in it.
    pub(crate) fn modules(&self) -> impl Iterator<Item = &str> {
        self.chunks.iter().filter_map(|(_, file, _)| file.strip_prefix("shaders/")?.strip_suffix(".wgsl"))
    }

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

/// A declaration at the top level of a file, with the comments and attributes above it.
struct Declaration {
    name: String,
    /// first and last line, from 0
    lines: (usize, usize),
}

/// The declarations of a file. A declaration begins at the left edge and ends with a line that starts with `}` or, where it
/// has no body, with the first line that ends in `;` or `}`.
fn declarations(body: &str) -> Vec<Declaration> {
    let (mut out, mut start, mut name) = (Vec::new(), None::<usize>, None::<String>);
    for (i, line) in body.lines().enumerate() {
        if name.is_none() {
            if line.trim().is_empty() {
                start = None;
                continue;
            }
            start = start.or(Some(i));
            name = declared(line).pop_first();
        }
        let code = line.split("//").next().unwrap_or("").trim_end();
        let ends =
            if line.starts_with(char::is_whitespace) { false } else { code.ends_with(';') || code.ends_with('}') };
        if let (true, Some(first), Some(known)) = (ends, start, &name) {
            out.push(Declaration { name: known.clone(), lines: (first, i) });
            (start, name) = (None, None);
        }
    }
    out
}

/// Words of a text, comments left out.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .flat_map(|l| l.split("//").next().unwrap_or("").split(|c: char| !c.is_alphanumeric() && c != '_'))
        .filter(|w| !w.is_empty())
}

/// Leaves of the imported files only what the entry file needs, directly or through others; lines keep their places.
fn prune(done: &mut [(String, String)]) {
    let Some(((_, entry), imported)) = done.split_last_mut() else { return };
    let all: Vec<(usize, Declaration)> = imported
        .iter()
        .enumerate()
        .flat_map(|(f, (_, body))| declarations(body).into_iter().map(move |d| (f, d)))
        .collect();
    let text = |(f, d): &(usize, Declaration)| -> String {
        imported[*f].1.lines().skip(d.lines.0).take(d.lines.1 + 1 - d.lines.0).collect::<Vec<_>>().join("\n")
    };
    let mut open: Vec<String> = words(entry).map(str::to_owned).collect();
    let mut kept = BTreeSet::new();
    while let Some(word) = open.pop() {
        // entry points are not called
        let found = all.iter().position(|(_, d)| d.name == word && word != "main" && !word.starts_with("main_"));
        if let Some(k) = found
            && kept.insert(k)
        {
            open.extend(words(&text(&all[k])).map(str::to_owned));
        }
    }
    let mut keep: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); imported.len()];
    for k in kept {
        let (f, d) = &all[k];
        keep[*f].extend(d.lines.0..=d.lines.1);
    }
    for ((_, body), keep) in imported.iter_mut().zip(keep) {
        let lines = body.lines().enumerate().map(|(i, l)| if keep.contains(&i) { l } else { "" });
        *body = lines.flat_map(|l| [l, "\n"]).collect();
    }
}

/// Links the file `entry` with what it imports. `find` gives the text of a module; `layout` is the generated one. Of both
/// only what is used is taken, since compile time grows with the text.
pub fn link<'a>(
    entry: &str,
    find: &dyn Fn(&str) -> Option<&'a str>,
    layout: &LayoutModule,
) -> Result<Linked, LinkError> {
    let mut linker = Linker { find, layout, done: Vec::new(), open: Vec::new() };
    let source = find(entry).ok_or_else(|| LinkError::NoEntry(entry.to_owned()))?;
    linker.visit(entry, source)?;
    let mut done = linker.done;
    prune(&mut done);
    let used: BTreeSet<&str> = done.iter().flat_map(|(_, body)| words(body)).collect();
    let items = layout.items.iter().filter(|i| used.contains(i.name.as_str()));
    let wanted: BTreeSet<&str> = items.flat_map(|i| i.needs.as_deref().into_iter().chain([i.name.as_str()])).collect();
    let mut text = layout.prelude.clone();
    layout.items.iter().filter(|i| wanted.contains(i.name.as_str())).for_each(|i| text.push_str(&i.text));
    let mut out = Linked { text: String::new(), chunks: Vec::new(), is_ours: false };
    out.push("layout", 1, &text);
    done.iter().for_each(|(module, body)| out.push(&format!("shaders/{module}.wgsl"), 1, body));
    Ok(out)
}

struct Linker<'f, 'a> {
    find: &'f dyn Fn(&str) -> Option<&'a str>,
    layout: &'f LayoutModule,
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
                    if !self.layout.has(name) {
                        return Err(unknown(name));
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
                "// a\nimport package::b::{f, K};\nimport package::c::g;\nimport package::layout::{ld_qpos};\nfn a() {}\nfn u() { f(K); g(ld_qpos(0u, 0u)); }\n",
            ),
            ("b", "// b\nimport package::c::{g};\nfn f() {}\nconst K = 1;\n// no one's\nfn spare() {\n}\n"),
            ("c", "// c\n\nfn g() {}\n@compute @workgroup_size(1)\nfn main() {\n}\n"),
        ];
        let linked = run("a", &files).expect("links");
        assert_eq!(linked.text.matches("fn g()").count(), 1);
        assert!(linked.text.contains("fn ld_qpos") && linked.text.contains("const AT_QPOS:"));
        assert!(!linked.text.contains("fn st_qpos") && !linked.text.contains("import"));
        assert!(linked.text.contains("const K") && !linked.text.contains("spare") && !linked.text.contains("main"));
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
