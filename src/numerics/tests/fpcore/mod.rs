//! Just enough of FPCore (fpbench.org) to read the test kernels, and their constraints in infix.

use ngc_numerics::Expr;
use ngc_numerics::expr::{Constant, Node, atan, cos, exp, log, sin, sqrt};
use rug::Rational;

/// A row of testdata/error-bounds.tsv.
pub struct Kernel {
    pub name: String,
    pub formula: Expr,
    pub sides: Vec<(f64, f64)>,
    /// At least zero for all inputs that count.
    pub constraints: Vec<Expr>,
    pub observed64: f64,
    pub observed32: f64,
    pub fptaylor64: Option<f64>,
    pub fptaylor32: Option<f64>,
}

pub fn kernels() -> Vec<Kernel> {
    let table = include_str!("../../../../testdata/error-bounds.tsv");
    table.lines().filter(|line| !line.starts_with('#')).skip(1).map(kernel).collect()
}

fn kernel(line: &str) -> Kernel {
    let fields: Vec<&str> = line.split('\t').collect();
    let number = |i: usize| fields[i].trim().parse::<f64>().ok();
    let pre = Tree::read(fields[1]);
    let Tree::List(parts) = &pre else { panic!("a precondition is a list") };
    let ranges = if parts[0].is("and") { &parts[1..] } else { std::slice::from_ref(&pre) };
    let (mut names, mut sides) = (Vec::new(), Vec::new());
    for range in ranges {
        let Tree::List(parts) = range else { panic!("a range is a list") };
        let [_, Tree::Atom(lo), Tree::Atom(name), Tree::Atom(hi)] = &parts[..] else {
            panic!("(<= lo x hi)")
        };
        names.push(name.clone());
        sides.push((lo.parse().unwrap(), hi.parse().unwrap()));
    }
    let mut scope: Vec<(String, Expr)> = names.into_iter().zip((0..).map(Expr::var)).collect();
    let constraints = fields[3]
        .split([',', ';'])
        .filter_map(|constraint| constraint.split_once(':'))
        .map(|(_, text)| Infix::read(text.split(">=").next().unwrap(), &scope))
        .collect();
    Kernel {
        name: fields[0].into(),
        formula: Tree::read(fields[2]).formula(&mut scope),
        sides,
        constraints,
        observed64: number(4).unwrap(),
        observed32: number(5).unwrap(),
        fptaylor64: number(6),
        fptaylor32: number(8),
    }
}

/// A decimal number, exactly.
pub fn decimal(text: &str) -> Option<Expr> {
    let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let value = Rational::parse(format!("{whole}{fraction}")).ok()?;
    let exponent = exponent.parse::<i32>().ok()? - fraction.len() as i32;
    let scale = Rational::from(rug::Integer::from(rug::Integer::u_pow_u(10, exponent.unsigned_abs())));
    let value = Rational::from(value);
    Some(Node::Const(Constant::Rational(if exponent < 0 { value / scale } else { value * scale })).into())
}

fn lookup(scope: &[(String, Expr)], name: &str) -> Expr {
    let found = scope.iter().rev().find(|(known, _)| known == name);
    found.map_or_else(|| panic!("{name} has no value"), |(_, value)| value.clone())
}

enum Tree {
    Atom(String),
    List(Vec<Tree>),
}

impl Tree {
    fn read(text: &str) -> Tree {
        let spaced = text.replace('(', " ( ").replace(')', " ) ");
        Tree::next(&mut spaced.split_whitespace())
    }

    fn next<'t>(tokens: &mut impl Iterator<Item = &'t str>) -> Tree {
        let mut open: Vec<Vec<Tree>> = Vec::new();
        loop {
            let done = match tokens.next().expect("a closing parenthesis") {
                "(" => {
                    open.push(Vec::new());
                    continue;
                }
                ")" => Tree::List(open.pop().expect("an opening parenthesis")),
                atom => Tree::Atom(atom.into()),
            };
            match open.last_mut() {
                Some(list) => list.push(done),
                None => return done,
            }
        }
    }

    fn is(&self, text: &str) -> bool {
        matches!(self, Tree::Atom(atom) if atom == text)
    }

    fn formula(&self, scope: &mut Vec<(String, Expr)>) -> Expr {
        let list = match self {
            Tree::Atom(atom) => return decimal(atom).unwrap_or_else(|| lookup(scope, atom)),
            Tree::List(list) => list,
        };
        let Tree::Atom(head) = &list[0] else { panic!("an operator stands first") };
        if head == "let" {
            let Tree::List(bindings) = &list[1] else { panic!("(let (bindings) body)") };
            let outer = scope.len();
            for binding in bindings {
                let Tree::List(binding) = binding else { panic!("(name value)") };
                let [Tree::Atom(name), value] = &binding[..] else { panic!("(name value)") };
                let value = value.formula(scope);
                scope.push((name.clone(), value));
            }
            let body = list[2].formula(scope);
            scope.truncate(outer);
            return body;
        }
        let args: Vec<Expr> = list[1..].iter().map(|arg| arg.formula(scope)).collect();
        match (head.as_str(), &args[..]) {
            ("+", [x, y]) => x + y,
            ("-", [x, y]) => x - y,
            ("*", [x, y]) => x * y,
            ("/", [x, y]) => x / y,
            ("-", [x]) => -x,
            ("sqrt", [x]) => sqrt(x),
            ("exp", [x]) => exp(x),
            ("log", [x]) => log(x),
            ("sin", [x]) => sin(x),
            ("cos", [x]) => cos(x),
            ("atan", [x]) => atan(x),
            _ => panic!("{head} of {} arguments is not read here", args.len()),
        }
    }
}

/// Sums and products in infix, as constraints are written.
struct Infix<'t> {
    tokens: std::iter::Peekable<std::vec::IntoIter<String>>,
    scope: &'t [(String, Expr)],
}

impl Infix<'_> {
    fn read(text: &str, scope: &[(String, Expr)]) -> Expr {
        let spaced = ["(", ")", "*", "+", "-"]
            .iter()
            .fold(text.to_string(), |text, token| text.replace(token, &format!(" {token} ")));
        let tokens: Vec<String> = spaced.split_whitespace().map(String::from).collect();
        Infix { tokens: tokens.into_iter().peekable(), scope }.sum()
    }

    fn takes(&mut self, token: &str) -> bool {
        self.tokens.next_if(|next| next == token).is_some()
    }

    fn sum(&mut self) -> Expr {
        let mut total = self.product();
        loop {
            if self.takes("+") {
                total = total + self.product();
            } else if self.takes("-") {
                total = total - self.product();
            } else {
                return total;
            }
        }
    }

    fn product(&mut self) -> Expr {
        let mut total = self.factor();
        while self.takes("*") {
            total = total * self.factor();
        }
        total
    }

    fn factor(&mut self) -> Expr {
        if self.takes("-") {
            return -self.factor();
        }
        if self.takes("(") {
            let inner = self.sum();
            assert!(self.takes(")"), "a closing parenthesis");
            return inner;
        }
        let token = self.tokens.next().expect("a term");
        decimal(&token).unwrap_or_else(|| lookup(self.scope, &token))
    }
}
