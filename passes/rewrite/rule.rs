//! A rewrite rule as it is written: the syntax tree of grammar/rules.pest, and its rendering.

use std::fmt;

use ngc_ir::{Ident, Loc};
use ngc_numerics::Format;

/// A rule of a rule file.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Unique name, shown in remarks.
    pub name: String,
    /// The doc comment.
    pub doc: String,
    /// The set the rule belongs to: `stability`, `precision`, `normal-form` ..., or several: `fusion+nlp`.
    pub category: String,
    /// How much of the equality holds.
    pub label: Label,
    /// What is looked for.
    pub left: Pattern,
    /// What takes its place.
    pub right: Pattern,
    /// Whether it is used from right to left too.
    pub both_ways: bool,
    /// `where`: what the equality of the two sides needs. Must be proven.
    pub conditions: Vec<Expr>,
    /// `when`: what makes the right side better.
    pub benefits: Vec<Expr>,
    /// `bound`: what is stated of errors.
    pub bounds: Vec<Stated>,
    /// Where it is written.
    pub loc: Loc,
    /// How it is written, without its doc comment.
    pub text: String,
    /// Name of its file, as given to [`load`](super::load); empty before.
    pub file: String,
}

impl Rule {
    /// The sets that it belongs to.
    pub fn sets(&self) -> impl Iterator<Item = &str> {
        self.category.split('+')
    }

    /// The first sentence of the documentation, on one line.
    pub fn summary(&self) -> String {
        let text = self.doc.split_whitespace().collect::<Vec<_>>().join(" ");
        let end = text.find(". ").unwrap_or(text.len());
        text[..end].trim_end_matches('.').to_string()
    }
}

impl Rule {
    /// Whether both sides round alike: they differ in signs, in zeros that are added and in ones that are factors.
    pub fn is_neutral(&self) -> bool {
        bare(&self.left) == bare(&self.right)
    }
}

/// A term without what rounds nothing and moves no digit; differences are sums here, and sums and products have no order.
fn bare(pattern: &Pattern) -> String {
    let Pattern::Op(op) = pattern else { return pattern.to_string() };
    let is = |n: usize, number: f64| matches!(op.args.get(n), Some(Pattern::Number(x, _)) if *x == number);
    let name = op.op.as_str().trim_start_matches("ng.");
    match name {
        "neg" | "abs" => return op.args.first().map_or(String::new(), bare),
        "add" | "sub" if is(1, 0.0) => return bare(&op.args[0]),
        "add" if is(0, 0.0) => return op.args.get(1).map_or(String::new(), bare),
        "mul" | "div" if is(1, 1.0) => return bare(&op.args[0]),
        "mul" if is(0, 1.0) => return op.args.get(1).map_or(String::new(), bare),
        _ => {}
    }
    let mut args: Vec<String> = op.args.iter().map(bare).collect();
    if matches!(name, "add" | "sub" | "mul") {
        args.sort();
    }
    let attrs: Vec<String> = op.attrs.iter().map(|(k, v)| format!("{k} = {v}")).collect();
    let name = if name == "sub" { "add" } else { name };
    format!("{name}({}; {})", args.join(", "), attrs.join(", "))
}

/// How much of a rule's equality holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Label {
    /// Equal over the reals, wherever the left side is defined.
    Exact,
    /// The right side holds constants that were computed and rounded.
    ErrorBounded,
    /// Equal over the reals where the conditions hold.
    DomainRestricted,
}

impl Label {
    /// The label as written.
    pub fn name(self) -> &'static str {
        match self {
            Label::Exact => "exact",
            Label::ErrorBounded => "error-bounded",
            Label::DomainRestricted => "domain-restricted",
        }
    }

    /// The inverse of [`name`](Label::name).
    pub fn from_name(name: &str) -> Option<Label> {
        [Label::Exact, Label::ErrorBounded, Label::DomainRestricted].into_iter().find(|l| l.name() == name)
    }
}

/// A stated bound of an error.
#[derive(Clone, PartialEq, Debug)]
pub struct Stated {
    /// Of which error.
    pub of: Side,
    /// What it is at most, in units of the value.
    pub at_most: Expr,
    /// Where it is written.
    pub loc: Loc,
}

impl fmt::Display for Stated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} <= {}", self.of.name(), self.at_most)
    }
}

/// What a bound speaks of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The rounding errors of the left side.
    Left,
    /// The rounding errors of the right side.
    Right,
    /// The difference of the two over the reals.
    Difference,
}

impl Side {
    /// As written.
    pub fn name(self) -> &'static str {
        match self {
            Side::Left => "left",
            Side::Right => "right",
            Side::Difference => "difference",
        }
    }

    /// The inverse of [`name`](Side::name).
    pub fn from_name(name: &str) -> Option<Side> {
        [Side::Left, Side::Right, Side::Difference].into_iter().find(|s| s.name() == name)
    }
}

/// Whether a constant of a format is a rounding of a number: within a unit roundoff of it.
pub fn is_rounding(constant: f64, of: f64, format: Format) -> bool {
    (constant - of).abs() <= format.unit_roundoff() * of.abs()
}

/// A term with variables.
#[derive(Clone, PartialEq, Debug)]
pub enum Pattern {
    /// `?x`: any value.
    Var(Ident, Loc),
    /// `?c : const`: a constant of which all elements are equal.
    Const(Ident, Loc),
    /// A constant of which all elements are exactly this number.
    Number(f64, Loc),
    /// `rounded(e)`, on the left only: a constant of which all elements are a rounding of this number, which the closed
    /// term gives exactly.
    Rounded(f64, Box<Pattern>, Loc),
    /// `const(e)`, on the right only.
    Computed(Expr, Loc),
    /// `rational(...)`, a whole right side: the [normal form](super::rational) of a term.
    Rational(Box<Pattern>, Loc),
    /// An op.
    Op(OpPattern),
}

/// An op of a pattern.
#[derive(Clone, PartialEq, Debug)]
pub struct OpPattern {
    /// Full name, `ng.exp`.
    pub op: Ident,
    /// The variable that stands for its result, `?t @ op(...)`.
    pub bind: Option<Ident>,
    /// Operands.
    pub args: Vec<Pattern>,
    /// The attributes that are mentioned.
    pub attrs: Vec<(Ident, Expr)>,
    /// Where it is written.
    pub loc: Loc,
}

impl Pattern {
    /// The op at the root.
    pub fn root(&self) -> Option<&OpPattern> {
        match self {
            Pattern::Op(op) => Some(op),
            _ => None,
        }
    }

    /// Number of ops.
    pub fn size(&self) -> usize {
        self.root().map_or(0, |op| 1 + op.args.iter().map(Pattern::size).sum::<usize>())
    }

    /// The term with the exact numbers in place of their roundings; nothing if it has none.
    pub fn exact(&self) -> Option<Pattern> {
        match self {
            Pattern::Rounded(_, term, _) => Some((**term).clone()),
            Pattern::Op(op) => {
                let args: Vec<Option<Pattern>> = op.args.iter().map(Pattern::exact).collect();
                args.iter().any(Option::is_some).then(|| {
                    let args = args.into_iter().zip(&op.args).map(|(new, old)| new.unwrap_or(old.clone()));
                    Pattern::Op(OpPattern { args: args.collect(), ..op.clone() })
                })
            }
            _ => None,
        }
    }
}

/// An attribute value, a condition or the value of a computed constant.
#[derive(Clone, PartialEq, Debug)]
pub enum Expr {
    /// A number.
    Number(f64),
    /// `true`, `false`, a format, or a string attribute's text.
    Word(Ident),
    /// `?a`.
    Var(Ident, Loc),
    /// `[e, ...]`.
    List(Vec<Expr>),
    /// `lo(?x)`.
    Call(Ident, Vec<Expr>, Loc),
    /// `-e`.
    Neg(Box<Expr>),
    /// `not e`.
    Not(Box<Expr>),
    /// `e + e`.
    Binary(Infix, Box<Expr>, Box<Expr>),
}

/// Infix operators, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Infix {
    Or,
    Eq,
    Ne,
    Le,
    Ge,
    Lt,
    Gt,
    Add,
    Sub,
    Mul,
    Div,
}

impl Infix {
    /// The sign.
    pub fn symbol(self) -> &'static str {
        match self {
            Infix::Or => "or",
            Infix::Eq => "==",
            Infix::Ne => "!=",
            Infix::Le => "<=",
            Infix::Ge => ">=",
            Infix::Lt => "<",
            Infix::Gt => ">",
            Infix::Add => "+",
            Infix::Sub => "-",
            Infix::Mul => "*",
            Infix::Div => "/",
        }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Number(n) if n.abs() >= 1e9 || (*n != 0.0 && n.abs() < 1e-6) => write!(f, "{n:e}"),
            Expr::Number(n) => write!(f, "{n}"),
            Expr::Word(w) => write!(f, "{w}"),
            Expr::Var(v, _) => write!(f, "{v}"),
            Expr::List(items) => write!(f, "[{}]", comma(items)),
            Expr::Call(function, args, _) => write!(f, "{function}({})", comma(args)),
            Expr::Neg(e) => write!(f, "-{e}"),
            Expr::Not(e) => write!(f, "not {e}"),
            Expr::Binary(op, a, b) => write!(f, "{a} {} {b}", op.symbol()),
        }
    }
}

fn comma<T: ToString>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

/// How a term reads in a remark: mathematics without attributes, such as `exp(x) / sum(exp(x))`.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(self, 0, f)
    }
}

/// The sign of a relation.
fn relation(direction: &str) -> Option<&'static str> {
    let signs = [("EQ", " = "), ("NE", " != "), ("LT", " < "), ("LE", " <= "), ("GT", " > "), ("GE", " >= ")];
    signs.into_iter().find(|(name, _)| *name == direction).map(|(_, sign)| sign)
}

/// Writes a term where operators of a lower `level` need parentheses: 1 in sums, 2 in products, 3 after `/` and `-`.
fn show(pattern: &Pattern, level: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let op = match pattern {
        Pattern::Var(name, _) | Pattern::Const(name, _) => return write!(f, "{name}"),
        Pattern::Number(n, _) => return write!(f, "{n}"),
        Pattern::Rounded(_, term, _) => return show(term, level, f),
        Pattern::Computed(e, _) => return write!(f, "({e})"),
        Pattern::Rational(..) => return f.write_str("one fraction"),
        Pattern::Op(op) => op,
    };
    let name = op.op.as_str();
    let name = name.strip_prefix("ng.").unwrap_or(name);
    let infix = match name {
        "add" => Some((" + ", 1, 1, 2)),
        "sub" => Some((" - ", 1, 1, 2)),
        "mul" => Some((" * ", 2, 2, 3)),
        "div" => Some((" / ", 2, 2, 3)),
        "compare" => op.attrs.iter().find_map(|(_, e)| relation(&e.to_string())).map(|sign| (sign, 0, 1, 1)),
        _ => None,
    };
    match (infix, &op.args[..]) {
        (Some((sign, own, left, right)), [a, b]) => {
            f.write_str(if own < level { "(" } else { "" })?;
            show(a, left, f)?;
            f.write_str(sign)?;
            show(b, right, f)?;
            f.write_str(if own < level { ")" } else { "" })
        }
        (_, [a]) if name == "neg" => {
            f.write_str(if level > 1 { "(-" } else { "-" })?;
            show(a, 2, f)?;
            f.write_str(if level > 1 { ")" } else { "" })
        }
        (_, args) => {
            write!(f, "{}(", name.strip_prefix("reduce_").unwrap_or(name))?;
            for (i, arg) in args.iter().enumerate() {
                f.write_str(if i > 0 { ", " } else { "" })?;
                show(arg, 0, f)?;
            }
            f.write_str(")")
        }
    }
}
