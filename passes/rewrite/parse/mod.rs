//! Reads rule files into syntax trees.

pub mod fast;

use std::sync::LazyLock;

use ngc_ir::{Diagnostic, Ident, Loc};
use pest::Parser;
use pest::error::InputLocation;
use pest::iterators::Pair;
use pest::pratt_parser::{Assoc, Op, PrattParser};
use rug::Float;

use self::grammar::{Rule as Node, RulesParser};
use super::rule::{Expr, Infix, Label, OpPattern, Pattern, Rule, Side, Stated};

#[allow(missing_docs)]
mod grammar {
    #[derive(pest_derive::Parser)]
    #[grammar = "../grammar/rules.pest"]
    pub struct RulesParser;
}

/// The deepest nesting of brackets: the grammar is recursive, and a rule file is outside data.
const MAX_NESTING: usize = 256;

/// The most operators and operands of one expression: trees are walked by recursion.
const MAX_OPERANDS: usize = 1000;

/// Parses the text of a rule file, which is number `file` in the table of sources.
///
/// # Errors
/// The first violation of the grammar, or an unknown label, located.
pub fn parse(text: &str, file: u16) -> Result<Vec<Rule>, Diagnostic> {
    if let Some(offset) = too_deep(text) {
        let message = format!("brackets are nested more than {MAX_NESTING} levels deep");
        return Err(Diagnostic::error(Loc::Source { file, offset: offset as u32 }, message));
    }
    match fast::parse(text, file) {
        Some(rules) => Ok(rules),
        None => by_grammar(text, file),
    }
}

/// Parses by the grammar alone a text whose brackets are not nested too deeply.
///
/// # Errors
/// Those of [`parse`].
pub fn by_grammar(text: &str, file: u16) -> Result<Vec<Rule>, Diagnostic> {
    let at = |offset: usize| Loc::Source { file, offset: offset as u32 };
    let mut parsed = RulesParser::parse(Node::file, text).map_err(|e| {
        let offset = match e.location {
            InputLocation::Pos(p) | InputLocation::Span((p, _)) => p,
        };
        let e = e.renamed_rules(describe);
        Diagnostic::error(at(offset), e.variant.message().into_owned())
    })?;
    let reader = Reader { file };
    parsed
        .next()
        .into_iter()
        .flat_map(Pair::into_inner)
        .filter(|p| p.as_rule() == Node::rule)
        .map(|p| reader.rule(p))
        .collect()
}

/// The offset of the first bracket beyond the greatest nesting.
fn too_deep(text: &str) -> Option<usize> {
    let (mut depth, mut comment) = (0usize, false);
    for (i, c) in text.bytes().enumerate() {
        match c {
            b'\n' => comment = false,
            _ if comment => {}
            b'/' if text[i + 1..].starts_with('/') => comment = true,
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_NESTING {
            return Some(i);
        }
    }
    None
}

/// What a grammar rule is called in messages.
fn describe(node: &Node) -> String {
    match node {
        Node::EOI => "the end of the file".into(),
        Node::rule => "a rule".into(),
        Node::doc => "a doc comment".into(),
        Node::rule_name => "a rule name (lower case, with hyphens)".into(),
        Node::word | Node::sets => "a category or label".into(),
        Node::arrow => "'=>' or '<=>'".into(),
        Node::clause | Node::clause_kind => "'where', 'when' or 'bound'".into(),
        Node::pattern | Node::op | Node::op_name => "a term".into(),
        Node::variable => "a variable such as ?x".into(),
        Node::number => "a number".into(),
        Node::attribute | Node::attribute_name | Node::argument => "an operand or attribute".into(),
        Node::or
        | Node::equal
        | Node::unequal
        | Node::at_most
        | Node::at_least
        | Node::below
        | Node::above
        | Node::plus
        | Node::minus
        | Node::times
        | Node::over
        | Node::negative
        | Node::negation => "an operator".into(),
        Node::call | Node::function | Node::name => "a name".into(),
        other => format!("{other:?}").replace('_', " "),
    }
}

/// The name of an op, of `ng` where it does not say of what.
fn full_name(name: &str) -> Ident {
    if name.contains('.') { Ident::new(name) } else { Ident::new(&format!("ng.{name}")) }
}

/// The bound that an expression such as `right <= u` states.
fn stated(e: Expr, loc: Loc) -> Option<Stated> {
    let Expr::Binary(Infix::Le, of, at_most) = e else { return None };
    let Expr::Word(of) = *of else { return None };
    Some(Stated { of: Side::from_name(of.as_str())?, at_most: *at_most, loc })
}

/// Spans of the grammar may end behind the blanks that follow.
fn without_trailing_comments(mut text: &str) -> &str {
    loop {
        text = text.trim_end();
        let line = text.rfind('\n').map_or(0, |n| n + 1);
        match text[line..].find("//") {
            Some(comment) => text = &text[..line + comment],
            None => return text,
        }
    }
}

/// The value of a term without variables.
fn closed(term: &Pattern) -> Option<Float> {
    const BITS: u32 = 200;
    let op = match term {
        Pattern::Number(n, _) => return Some(Float::with_val(BITS, *n)),
        Pattern::Op(op) if op.attrs.is_empty() => op,
        _ => return None,
    };
    let args: Vec<Float> = op.args.iter().map(closed).collect::<Option<_>>()?;
    Some(match (op.op.as_str(), &args[..]) {
        ("ng.add", [a, b]) => Float::with_val(BITS, a + b),
        ("ng.sub", [a, b]) => Float::with_val(BITS, a - b),
        ("ng.mul", [a, b]) => Float::with_val(BITS, a * b),
        ("ng.div", [a, b]) => Float::with_val(BITS, a / b),
        ("ng.neg", [a]) => Float::with_val(BITS, -a),
        ("ng.square", [a]) => a.clone().square(),
        ("ng.sqrt", [a]) => a.clone().sqrt(),
        ("ng.exp", [a]) => a.clone().exp(),
        ("ng.log", [a]) => a.clone().ln(),
        ("ng.acos", [a]) => a.clone().acos(),
        _ => return None,
    })
}

static PRECEDENCE: LazyLock<PrattParser<Node>> = LazyLock::new(|| {
    let left = |rules: &[Node]| {
        let mut ops = rules.iter().map(|&r| Op::infix(r, Assoc::Left));
        let first = ops.next();
        ops.fold(first, |all, op| all.map(|all| all | op))
    };
    [
        left(&[Node::or]),
        Some(Op::prefix(Node::negation)),
        left(&[Node::equal, Node::unequal, Node::at_most, Node::at_least, Node::below, Node::above]),
        left(&[Node::plus, Node::minus]),
        left(&[Node::times, Node::over]),
        Some(Op::prefix(Node::negative)),
    ]
    .into_iter()
    .flatten()
    .fold(PrattParser::new(), PrattParser::op)
});

fn infix(node: Node) -> Infix {
    match node {
        Node::or => Infix::Or,
        Node::equal => Infix::Eq,
        Node::unequal => Infix::Ne,
        Node::at_most => Infix::Le,
        Node::at_least => Infix::Ge,
        Node::below => Infix::Lt,
        Node::above => Infix::Gt,
        Node::plus => Infix::Add,
        Node::minus => Infix::Sub,
        Node::times => Infix::Mul,
        _ => Infix::Div,
    }
}

/// Turns parse trees into syntax trees. The grammar fixes which children a node has, so a missing one is reported
/// as an internal inconsistency rather than unwrapped.
struct Reader {
    file: u16,
}

type Parsed<'i> = Pair<'i, Node>;

impl Reader {
    fn loc(&self, pair: &Parsed<'_>) -> Loc {
        Loc::Source { file: self.file, offset: pair.as_span().start() as u32 }
    }

    fn error(&self, pair: &Parsed<'_>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(self.loc(pair), message)
    }

    fn child<'i>(&self, pair: &Parsed<'i>, n: usize) -> Result<Parsed<'i>, Diagnostic> {
        let text = || self.error(pair, format!("'{}' is incomplete", pair.as_str()));
        pair.clone().into_inner().nth(n).ok_or_else(text)
    }

    fn rule(&self, pair: Parsed<'_>) -> Result<Rule, Diagnostic> {
        let mut rule = Rule {
            name: String::new(),
            doc: String::new(),
            category: String::new(),
            label: Label::Exact,
            left: Pattern::Number(0.0, Loc::Unknown),
            right: Pattern::Number(0.0, Loc::Unknown),
            both_ways: false,
            conditions: Vec::new(),
            benefits: Vec::new(),
            bounds: Vec::new(),
            loc: Loc::Unknown,
            text: String::new(),
            file: String::new(),
        };
        let whole = pair.as_span();
        let mut patterns = 0;
        for part in pair.into_inner() {
            match part.as_rule() {
                Node::doc => {
                    rule.doc.push_str(self.child(&part, 0)?.as_str().trim());
                    rule.doc.push('\n');
                }
                Node::rule_name => {
                    rule.loc = self.loc(&part);
                    let text =
                        whole.as_str().get(part.as_span().start() - whole.start()..).unwrap_or_default();
                    rule.text = format!("rule {}", without_trailing_comments(text));
                    rule.name = part.as_str().to_string();
                }
                Node::sets => rule.category = part.as_str().to_string(),
                Node::word => {
                    rule.label = Label::from_name(part.as_str()).ok_or_else(|| {
                        let known = "exact, error-bounded or domain-restricted";
                        self.error(&part, format!("'{}' is not a label; write {known}", part.as_str()))
                    })?;
                }
                Node::arrow => rule.both_ways = part.as_str() == "<=>",
                Node::pattern => {
                    let pattern = self.pattern(self.child(&part, 0)?)?;
                    *(if patterns == 0 { &mut rule.left } else { &mut rule.right }) = pattern;
                    patterns += 1;
                }
                Node::clause => {
                    let mut inner = part.into_inner();
                    let kind = inner.next().map(|kind| kind.as_str().to_string());
                    for e in inner {
                        match kind.as_deref() {
                            Some("bound") => rule.bounds.push(self.bound(e)?),
                            Some("when") => rule.benefits.push(self.expr(e)?),
                            _ => rule.conditions.push(self.expr(e)?),
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(rule)
    }

    /// `right <= 2 * u * abs(right)`.
    fn bound(&self, pair: Parsed<'_>) -> Result<Stated, Diagnostic> {
        let help = || self.error(&pair, "a bound is 'left', 'right' or 'difference' <= an expression");
        stated(self.expr(pair.clone())?, self.loc(&pair)).ok_or_else(help)
    }

    fn pattern(&self, pair: Parsed<'_>) -> Result<Pattern, Diagnostic> {
        let loc = self.loc(&pair);
        match pair.as_rule() {
            Node::binding => {
                let mut parts = pair.clone().into_inner();
                let name = self.name(&self.child(&pair, 0)?);
                Ok(match parts.nth(1) {
                    None => Pattern::Var(name, loc),
                    Some(part) if part.as_rule() == Node::constant => Pattern::Const(name, loc),
                    Some(op) => Pattern::Op(OpPattern { bind: Some(name), ..self.op(op)? }),
                })
            }
            Node::number => Ok(Pattern::Number(self.number(&pair)?, loc)),
            Node::rounded => {
                let term = self.pattern(self.child(&self.child(&pair, 0)?, 0)?)?;
                let value = closed(&term).ok_or_else(|| {
                    let known = "numbers, add, sub, mul, div, neg, square, sqrt, exp, log and acos";
                    self.error(&pair, format!("'rounded' takes a term of {known}"))
                })?;
                Ok(Pattern::Rounded(value.to_f64(), Box::new(term), loc))
            }
            Node::computed => Ok(Pattern::Computed(self.expr(self.child(&pair, 0)?)?, loc)),
            Node::rational => {
                let of = self.pattern(self.child(&self.child(&pair, 0)?, 0)?)?;
                Ok(Pattern::Rational(Box::new(of), loc))
            }
            _ => Ok(Pattern::Op(self.op(pair)?)),
        }
    }

    fn name(&self, variable: &Parsed<'_>) -> Ident {
        Ident::new(variable.as_str().trim_start_matches('?'))
    }

    fn op(&self, pair: Parsed<'_>) -> Result<OpPattern, Diagnostic> {
        let name = self.child(&pair, 0)?;
        let mut op = OpPattern {
            op: full_name(name.as_str()),
            bind: None,
            args: Vec::new(),
            attrs: Vec::new(),
            loc: self.loc(&pair),
        };
        for argument in pair.into_inner().skip(1) {
            let inner = self.child(&argument, 0)?;
            if inner.as_rule() == Node::attribute {
                let name = Ident::new(self.child(&inner, 0)?.as_str());
                op.attrs.push((name, self.expr(self.child(&inner, 1)?)?));
            } else {
                op.args.push(self.pattern(self.child(&inner, 0)?)?);
            }
        }
        Ok(op)
    }

    fn number(&self, pair: &Parsed<'_>) -> Result<f64, Diagnostic> {
        let text = pair.as_str();
        text.parse().map_err(|_| self.error(pair, format!("'{text}' is not a number")))
    }

    fn expr(&self, pair: Parsed<'_>) -> Result<Expr, Diagnostic> {
        if pair.clone().into_inner().count() > MAX_OPERANDS {
            let message = format!("the expression has more than {MAX_OPERANDS} operators and operands");
            return Err(self.error(&pair, message));
        }
        PRECEDENCE
            .map_primary(|p| self.primary(p))
            .map_prefix(|op, e| {
                let e = Box::new(e?);
                Ok(if op.as_rule() == Node::negative { Expr::Neg(e) } else { Expr::Not(e) })
            })
            .map_infix(|a, op, b| Ok(Expr::Binary(infix(op.as_rule()), Box::new(a?), Box::new(b?))))
            .parse(pair.into_inner())
    }

    fn primary(&self, pair: Parsed<'_>) -> Result<Expr, Diagnostic> {
        let loc = self.loc(&pair);
        let list =
            |items: pest::iterators::Pairs<'_, Node>| items.map(|e| self.expr(e)).collect::<Result<_, _>>();
        Ok(match pair.as_rule() {
            Node::number => Expr::Number(self.number(&pair)?),
            Node::variable => Expr::Var(self.name(&pair), loc),
            Node::list => Expr::List(list(pair.into_inner())?),
            Node::name => Expr::Word(Ident::new(pair.as_str())),
            Node::call => {
                let function = Ident::new(self.child(&pair, 0)?.as_str());
                let mut inner = pair.into_inner();
                inner.next();
                Expr::Call(function, list(inner)?, loc)
            }
            _ => self.expr(pair)?,
        })
    }
}
