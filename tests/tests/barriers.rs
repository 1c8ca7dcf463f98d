//! Barriers only in uniform control flow, as browsers demand and naga does not see.
//!
//! A block around a barrier, and a block around a jump that skips one, must have a head of constants, loop counters over
//! constants, and values from `workgroupUniformLoad`. `// uniform: why` on the head's line vouches for anything else.

use std::collections::BTreeSet;
use std::path::Path;

/// A token and its line.
type Token = (String, usize);

fn tokens(text: &str) -> Vec<Token> {
    let mut out = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let vouched = line.contains("// uniform: ");
        let mut word = String::new();
        for c in line.split("//").next().unwrap_or("").chars().chain([' ']) {
            if c.is_alphanumeric() || c == '_' || (c == '.' && !word.is_empty()) {
                word.push(c);
                continue;
            }
            if !word.is_empty() {
                out.push((std::mem::take(&mut word), i + 1));
            }
            if !c.is_whitespace() {
                out.push((c.to_string(), i + 1));
            }
        }
        if vouched {
            out.push(("#vouched".to_owned(), i + 1));
        }
    }
    out
}

/// Functions: name, first token of the body, one past its last.
fn functions(tokens: &[Token]) -> Vec<(String, usize, usize)> {
    let mut out = Vec::new();
    let mut i = 0;
    while i < tokens.len() {
        if tokens[i].0 == "fn" {
            let name = tokens[i + 1].0.clone();
            let start = (i..tokens.len()).find(|&k| tokens[k].0 == "{").expect("a body") + 1;
            let mut depth = 1;
            let mut end = start;
            while depth > 0 {
                depth += match tokens[end].0.as_str() {
                    "{" => 1,
                    "}" => -1,
                    _ => 0,
                };
                end += 1;
            }
            out.push((name, start, end - 1));
            i = end;
        } else {
            i += 1;
        }
    }
    out
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

fn is_constant(word: &str) -> bool {
    word.chars().all(|c| c.is_uppercase() || c.is_numeric() || c == '_')
}

/// A block of a function: where its head starts, where it opens and closes, whether it loops.
struct Block {
    head: usize,
    open: usize,
    close: usize,
    is_loop: bool,
}

fn blocks(tokens: &[Token], start: usize, end: usize) -> Vec<Block> {
    let (mut open, mut out) = (Vec::new(), Vec::new());
    let mut parens = 0;
    let mut statement = start;
    for i in start..end {
        match tokens[i].0.as_str() {
            "(" => parens += 1,
            ")" => parens -= 1,
            ";" if parens == 0 => statement = i + 1,
            "{" => {
                open.push((statement, i));
                statement = i + 1;
            }
            "}" => {
                let (head, at) = open.pop().expect("balanced");
                let is_loop = tokens[head..at].iter().any(|t| matches!(t.0.as_str(), "for" | "while" | "loop"));
                out.push(Block { head, open: at, close: i, is_loop });
                statement = i + 1;
            }
            _ => {}
        }
    }
    out
}

/// Names that are the same for every invocation of the group.
fn uniform_names(tokens: &[Token], start: usize, end: usize) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    // let n = ... of uniform things only, in order of the text
    for i in start..end {
        if !matches!(tokens[i].0.as_str(), "let" | "const") {
            continue;
        }
        let name = tokens[i + 1].0.clone();
        let last = (i..end).find(|&k| tokens[k].0 == ";").unwrap_or(end);
        let value: Vec<&str> = tokens[i + 2..last].iter().map(|t| t.0.as_str()).collect();
        let loaded = value.contains(&"workgroupUniformLoad");
        let is_uniform = |w: &&str| !is_name(w) || is_constant(w) || names.contains(*w) || TYPES.contains(w);
        if loaded || value.iter().all(is_uniform) {
            names.insert(name);
        }
    }
    names
}

/// What keeps uniform things uniform; `rolled` and `dispatch_arg` read the uniform buffer.
const TYPES: [&str; 9] = ["u32", "i32", "f32", "bool", "min", "max", "select", "dispatch_arg", "rolled"];
const KEYWORDS: [&str; 7] = ["for", "while", "loop", "if", "else", "var", "switch"];

fn head_is_uniform(tokens: &[Token], block: &Block, uniform: &BTreeSet<String>) -> bool {
    let head = &tokens[block.head..block.open];
    // a mark after the brace belongs to the head's line
    if tokens.get(block.open + 1).is_some_and(|t| t.0 == "#vouched") {
        return true;
    }
    let counter = head.iter().position(|t| t.0 == "var").map(|v| head[v + 1].0.clone());
    head.iter().all(|(w, _)| {
        !is_name(w)
            || is_constant(w)
            || KEYWORDS.contains(&w.as_str())
            || TYPES.contains(&w.as_str())
            || uniform.contains(w)
            || counter.as_ref() == Some(w)
    })
}

/// Faults of one file; `with` are functions of all files that hold a barrier, themselves or by a call.
fn faults(text: &str, with: &BTreeSet<String>) -> Vec<String> {
    let tokens = tokens(text);
    let mut out = Vec::new();
    for (name, start, end) in functions(&tokens) {
        if !with.contains(&name) {
            continue;
        }
        let blocks = blocks(&tokens, start, end);
        let uniform = uniform_names(&tokens, start, end);
        let barriers: Vec<_> = (start..end).filter(|&i| is_barrier(&tokens, i, with)).collect();
        let around = |i: usize| blocks.iter().filter(move |b| b.open < i && i < b.close);
        let mut complain = |block: &Block, what: &str, at: usize| {
            if !head_is_uniform(&tokens, block, &uniform) {
                let head: Vec<_> = tokens[block.head..block.open].iter().map(|t| t.0.as_str()).collect();
                out.push(format!(
                    "line {}: {what} in `{}` of {name}, which may differ among lanes",
                    tokens[at].1,
                    head.join(" ")
                ));
            }
        };
        for &i in &barriers {
            around(i).for_each(|b| complain(b, "a barrier", i));
        }
        for (i, token) in tokens.iter().enumerate().take(end).skip(start) {
            match token.0.as_str() {
                // a return skips every barrier after it, and in a loop those before it
                "return" => {
                    let outermost_loop = around(i).filter(|b| b.is_loop).map(|b| b.head).min().unwrap_or(i);
                    if barriers.iter().any(|&b| b > outermost_loop) {
                        around(i).for_each(|b| complain(b, "a return before a barrier", i));
                    }
                }
                "break" | "continue" => {
                    let Some(of) = around(i).filter(|b| b.is_loop).max_by_key(|b| b.open) else { continue };
                    if barriers.iter().any(|&b| of.open < b && b < of.close) {
                        around(i).filter(|b| b.open > of.open).for_each(|b| complain(b, "a jump around a barrier", i));
                    }
                }
                _ => {}
            }
        }
    }
    out
}

fn is_barrier(tokens: &[Token], i: usize, with: &BTreeSet<String>) -> bool {
    let called = tokens.get(i + 1).is_some_and(|t| t.0 == "(");
    let word = tokens[i].0.as_str();
    called && (matches!(word, "workgroupBarrier" | "storageBarrier" | "workgroupUniformLoad") || with.contains(word))
}

/// Functions that hold a barrier, themselves or by a call.
fn with_barriers<'a>(texts: impl IntoIterator<Item = &'a str> + Clone) -> BTreeSet<String> {
    let mut with = BTreeSet::new();
    loop {
        let before = with.len();
        for text in texts.clone() {
            let tokens = tokens(text);
            for (name, start, end) in functions(&tokens) {
                // entry points are called by nobody, and are all named alike
                if (start..end).any(|i| is_barrier(&tokens, i, &with)) && !name.starts_with("main") {
                    with.insert(name);
                }
            }
        }
        if with.len() == before {
            return with;
        }
    }
}

#[test]
fn barriers_are_in_uniform_control_flow() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shaders");
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("there") {
        let path = entry.expect("readable").path();
        if path.extension().is_some_and(|e| e == "wgsl") {
            files.push((path.display().to_string(), std::fs::read_to_string(&path).expect("readable")));
        }
    }
    let mut with = with_barriers(files.iter().map(|f| f.1.as_str()));
    with.insert("main".to_owned());
    let all: Vec<_> = files
        .iter()
        .flat_map(|(name, text)| faults(text, &with).into_iter().map(move |f| format!("{name}, {f}")))
        .collect();
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn what_is_not_uniform_is_seen() {
    let good = [
        "fn f(w: u32) { for (var l = 0u; l < NLEVEL; l += 1u) { if w == 0u { g(); } sync(); } }",
        "fn f(w: u32) { let n = workgroupUniformLoad(&count); let m = min(n, 4u); for (var l = 0u; l < m; l += 1u) { sync(); } return; }",
        "fn f(w: u32) { if OPT_CONE == 1 { sync(); } for (var i = 0u; i < ld_n(w); i += 1u) { if ld_x(w, i) { continue; } } }",
        "fn f(w: u32) { for (var l = 0u; l < ld_n(w); l += 1u) { // uniform: one world a group\n sync(); } }",
        "fn f(w: u32) { if w > 3u { h(w); } else { return; } }\nfn h(w: u32) {}",
    ];
    let bad = [
        "fn f(w: u32) { for (var l = 0u; l < ld_n(w); l += 1u) { sync(); } }",
        "fn f(w: u32) { if w > 3u { return; } sync(); }",
        "fn f(w: u32) { let n = ld_n(w); if n > 3 { sync(); } }",
        "fn f(w: u32) { for (var l = 0u; l < 4u; l += 1u) { if ld_x(w, l) { continue; } sync(); } }",
        "fn f(w: u32) { for (var l = 0u; l < 4u; l += 1u) { sync(); if ld_x(w, l) { return; } } }",
        "fn f(w: u32) { if w > 3u { h(w); } }\nfn h(w: u32) { sync(); }",
        "fn main(l: vec3<u32>) { if l.x > 3u { return; } f(l.x); }\nfn f(w: u32) { sync(); }",
    ];
    let count = |text: &str| {
        let text = format!("{text}\nfn sync() {{ workgroupBarrier(); }}");
        let mut with = with_barriers([text.as_str()]);
        with.insert("main".to_owned());
        faults(&text, &with).len()
    };
    for text in good {
        assert_eq!(count(text), 0, "{text}");
    }
    for text in bad {
        assert!(count(text) > 0, "{text}");
    }
}
