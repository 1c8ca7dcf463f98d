//! Expressions of law files: numbers, names, `name[i]`, `name[i,j]`, calls, `+ - * /` and parentheses.

use std::collections::BTreeSet;

/// Most bytes of an expression: each may stand a level below the one before, and a level is a call.
const LONGEST: usize = 1000;
/// Most levels of parentheses, calls, indices and signs.
const DEEPEST: usize = 64;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expr {
    Number(f64),
    /// a variable of the law, or a whole field of one number
    Name(String),
    /// an element of a field: row, column
    Element(String, Box<Self>, Option<Box<Self>>),
    Call(String, Vec<Self>),
    Negative(Box<Self>),
    Binary(char, Box<Self>, Box<Self>),
}

/// What names stand for.
pub(crate) trait Names {
    /// The value of a name, `None` where there is none.
    fn name(&self, name: &str) -> Result<Option<f64>, String>;
    /// An element of a field.
    fn element(&self, name: &str, row: usize, column: Option<usize>) -> Result<f64, String>;
    /// A function that asks the world.
    fn call(&self, name: &str, args: &[f64]) -> Option<f64>;
}

impl Expr {
    /// Parses a text; the error says what was expected where.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!("an expression of {} bytes: at most {LONGEST} are read", text.len()));
        }
        let mut p = Parser { text, at: 0, depth: 0 };
        let e = p.sum()?;
        p.space();
        if p.at < text.len() { Err(p.expected("an operator or the end")) } else { Ok(e) }
    }

    /// Every name in it.
    pub(crate) fn names(&self, into: &mut BTreeSet<String>) {
        match self {
            Self::Number(_) => {}
            Self::Name(n) => {
                into.insert(n.clone());
            }
            Self::Element(n, row, column) => {
                into.insert(n.clone());
                row.names(into);
                if let Some(c) = column {
                    c.names(into);
                }
            }
            Self::Call(n, args) => {
                into.insert(n.clone());
                args.iter().for_each(|a| a.names(into));
            }
            Self::Negative(a) => a.names(into),
            Self::Binary(_, a, b) => {
                a.names(into);
                b.names(into);
            }
        }
    }

    /// Its value.
    pub(crate) fn eval(&self, names: &dyn Names) -> Result<f64, String> {
        Ok(match self {
            Self::Number(x) => *x,
            Self::Name(n) => match names.name(n)? {
                Some(x) => x,
                None if n == "pi" => core::f64::consts::PI,
                None => return Err(format!("unknown name `{n}`")),
            },
            Self::Element(n, row, column) => {
                let index = |e: &Self| -> Result<usize, String> {
                    let x = e.eval(names)?;
                    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be a count")]
                    let i = x as usize;
                    #[allow(clippy::float_cmp, reason = "an index is whole")]
                    if i as f64 == x { Ok(i) } else { Err(format!("index {x} of `{n}` is not a whole number")) }
                };
                names.element(n, index(row)?, column.as_deref().map(index).transpose()?)?
            }
            Self::Call(n, args) => {
                let args = args.iter().map(|a| a.eval(names)).collect::<Result<Vec<_>, _>>()?;
                match function(n, &args).or_else(|| names.call(n, &args)) {
                    Some(x) => x,
                    None => return Err(format!("no function `{n}` of {} arguments", args.len())),
                }
            }
            Self::Negative(a) => -a.eval(names)?,
            Self::Binary(op, a, b) => {
                let (a, b) = (a.eval(names)?, b.eval(names)?);
                match op {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    _ => a / b,
                }
            }
        })
    }
}

/// The functions of mathematics that laws use.
fn function(name: &str, args: &[f64]) -> Option<f64> {
    Some(match (name, args) {
        ("sin", [x]) => x.sin(),
        ("cos", [x]) => x.cos(),
        ("tan", [x]) => x.tan(),
        ("asin", [x]) => x.asin(),
        ("acos", [x]) => x.acos(),
        ("atan", [x]) => x.atan(),
        ("atan2", [y, x]) => y.atan2(*x),
        ("sqrt", [x]) => x.sqrt(),
        ("exp", [x]) => x.exp(),
        ("log", [x]) => x.ln(),
        ("abs", [x]) => x.abs(),
        ("pow", [x, y]) => x.powf(*y),
        ("deg", [x]) => x.to_radians(),
        ("hypot", xs) => xs.iter().map(|x| x * x).sum::<f64>().sqrt(),
        ("min", [x, y]) => x.min(*y),
        ("max", [x, y]) => x.max(*y),
        // arithmetic-geometric mean
        ("agm", [x, y]) => (0..60).fold((*x, *y), |(a, b), _| ((a + b) / 2.0, (a * b).sqrt())).0,
        _ => return None,
    })
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn space(&mut self) {
        self.at += self.text[self.at..].len() - self.text[self.at..].trim_start().len();
    }

    fn expected(&self, what: &str) -> String {
        format!("`{}`: expected {what} at position {}", self.text, self.at)
    }

    fn take(&mut self, c: char) -> bool {
        self.space();
        let hit = self.text[self.at..].starts_with(c);
        self.at += if hit { c.len_utf8() } else { 0 };
        hit
    }

    fn must(&mut self, c: char) -> Result<(), String> {
        if self.take(c) { Ok(()) } else { Err(self.expected(&format!("`{c}`"))) }
    }

    fn sum(&mut self) -> Result<Expr, String> {
        let mut a = self.product()?;
        loop {
            let op = if self.take('+') {
                '+'
            } else if self.take('-') {
                '-'
            } else {
                return Ok(a);
            };
            a = Expr::Binary(op, Box::new(a), Box::new(self.product()?));
        }
    }

    fn product(&mut self) -> Result<Expr, String> {
        let mut a = self.factor()?;
        loop {
            let op = if self.take('*') {
                '*'
            } else if self.take('/') {
                '/'
            } else {
                return Ok(a);
            };
            a = Expr::Binary(op, Box::new(a), Box::new(self.factor()?));
        }
    }

    fn factor(&mut self) -> Result<Expr, String> {
        if self.depth == DEEPEST {
            return Err(self.expected(&format!("at most {DEEPEST} levels")));
        }
        self.depth += 1;
        let factor = self.one_factor();
        self.depth -= 1;
        factor
    }

    fn one_factor(&mut self) -> Result<Expr, String> {
        if self.take('-') {
            return Ok(Expr::Negative(Box::new(self.factor()?)));
        }
        if self.take('(') {
            let e = self.sum()?;
            self.must(')')?;
            return Ok(e);
        }
        let rest = &self.text[self.at..];
        if rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return self.number();
        }
        let len = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        if len == 0 {
            return Err(self.expected("a number, a name or `(`"));
        }
        let name = rest[..len].to_owned();
        self.at += len;
        if self.take('(') {
            let mut args = vec![self.sum()?];
            while self.take(',') {
                args.push(self.sum()?);
            }
            self.must(')')?;
            return Ok(Expr::Call(name, args));
        }
        if self.take('[') {
            let row = Box::new(self.sum()?);
            let column = if self.take(',') { Some(Box::new(self.sum()?)) } else { None };
            self.must(']')?;
            return Ok(Expr::Element(name, row, column));
        }
        Ok(Expr::Name(name))
    }

    fn number(&mut self) -> Result<Expr, String> {
        let rest = &self.text[self.at..];
        let bytes = rest.as_bytes();
        let mut len = 0;
        while len < bytes.len() {
            let sign = (bytes[len] == b'-' || bytes[len] == b'+') && len > 0 && matches!(bytes[len - 1], b'e' | b'E');
            if !(bytes[len].is_ascii_digit() || matches!(bytes[len], b'.' | b'e' | b'E') || sign) {
                break;
            }
            len += 1;
        }
        let x = rest[..len].parse().map_err(|_| self.expected("a number"))?;
        self.at += len;
        Ok(Expr::Number(x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Plain;

    impl Names for Plain {
        fn name(&self, name: &str) -> Result<Option<f64>, String> {
            Ok((name == "a").then_some(2.0))
        }
        fn element(&self, _: &str, row: usize, column: Option<usize>) -> Result<f64, String> {
            Ok(10.0 * row as f64 + column.unwrap_or(0) as f64)
        }
        fn call(&self, _: &str, _: &[f64]) -> Option<f64> {
            None
        }
    }

    fn eval(text: &str) -> Result<f64, String> {
        Expr::parse(text)?.eval(&Plain)
    }

    #[test]
    fn values() {
        for (text, x) in [
            ("1 - 2 - 3", -4.0),
            ("2*3 + 4/2*a", 10.0),
            ("-(1 + 2)*-1.5e-1", 0.45),
            ("hypot(3, 0, 4)", 5.0),
            ("q[a, 1 + 2]", 23.0),
            ("q[1]", 10.0),
            ("agm(1, 1)*cos(pi)", -1.0),
            ("1/2/2", 0.25),
        ] {
            assert!((eval(text).expect(text) - x).abs() < 1e-15, "{text}");
        }
    }

    #[test]
    fn depth_and_length_have_an_end() {
        let nested = |n: usize| format!("{}1{}", "(".repeat(n), ")".repeat(n));
        assert_eq!(eval(&nested(50)), Ok(1.0));
        assert!(eval(&nested(400)).expect_err("deep").contains("at most 64 levels"));
        assert!(eval(&nested(1_000_000)).expect_err("long").contains("at most 1000"));
        assert_eq!(eval(&format!("1{}", "+1".repeat(499))), Ok(500.0));
        assert!(eval(&format!("{}1", "-".repeat(900))).expect_err("deep").contains("levels"));
        assert!(eval(&"q[".repeat(400)).expect_err("deep").contains("levels"));
        assert!(eval(&"hypot(1,".repeat(120)).expect_err("deep").contains("levels"));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, what) in [
            ("1 +", "a number, a name"),
            ("(1", "`)`"),
            ("1 2", "an operator"),
            ("b", "unknown name `b`"),
            ("sin(1, 2)", "no function `sin` of 2"),
            ("q[0.5]", "not a whole number"),
        ] {
            assert!(eval(text).expect_err(text).contains(what), "{text}");
        }
    }
}
