//! The rational normal form is equal to the term at every rational point where the term is defined, and smaller.

use ngc_dialects::facts::Signs;
use ngc_ir::{AttrDict, Context, Ident, Loc, OpDef, Type};
use ngc_numerics::{Enclosure, Format, Random, Tensor};
use ngc_passes::analysis::range::Range;
use ngc_passes::rewrite::apply::Refusal;
use ngc_passes::rewrite::conditions::{Bindings, Bound};
use ngc_passes::rewrite::graph::{Term, Terms};
use ngc_passes::rewrite::rational::{OPS, normal_form};
use ngc_passes::rewrite::rule::{OpPattern, Pattern};
use proptest::prelude::*;
use rug::Rational;
use rug::ops::Pow;
use smallvec::SmallVec;

/// Terms by themselves.
struct Arena {
    context: Context,
    nodes: Vec<Node>,
    range: f64,
}

#[derive(Clone, PartialEq)]
enum Node {
    Argument(usize),
    Number(f64),
    Op(&'static str, SmallVec<[Term; 2]>),
}

impl Arena {
    fn new(range: f64) -> Arena {
        Arena { context: ngc_dialects::context(), nodes: (0..3).map(Node::Argument).collect(), range }
    }

    fn add(&mut self, node: Node) -> Term {
        let place = self.nodes.iter().position(|known| *known == node).unwrap_or(self.nodes.len());
        if place == self.nodes.len() {
            self.nodes.push(node);
        }
        Term::Made(place as u32)
    }

    fn op(&mut self, name: &str, operands: &[Term]) -> Term {
        let def = self.context.op(name).expect("a declared op");
        self.add(Node::Op(def.name, operands.into()))
    }

    fn node(&self, term: Term) -> &Node {
        match term {
            Term::Made(n) => &self.nodes[n as usize],
            Term::Value(_) => panic!("there is no body"),
        }
    }

    /// The exact value; nothing where a divisor is zero.
    fn value(&self, term: Term, at: &[Rational]) -> Option<Rational> {
        let (name, operands) = match self.node(term) {
            Node::Argument(i) => return Some(at[*i].clone()),
            Node::Number(n) => return Rational::from_f64(*n),
            Node::Op(name, operands) => (*name, operands),
        };
        let x: Vec<Rational> = operands.iter().map(|&t| self.value(t, at)).collect::<Option<_>>()?;
        let quotient = |a: &Rational, b: &Rational| (!b.is_zero()).then(|| Rational::from(a / b));
        match (name, &x[..]) {
            ("ng.add", [a, b]) => Some(Rational::from(a + b)),
            ("ng.sub", [a, b]) => Some(Rational::from(a - b)),
            ("ng.mul", [a, b]) => Some(Rational::from(a * b)),
            ("ng.fma", [a, b, c]) => Some(Rational::from(a * b) + c),
            ("ng.broadcast_to", [a]) => Some(a.clone()),
            ("ng.neg", [a]) => Some(Rational::from(-a)),
            ("ng.square", [a]) => Some(Rational::from(a * a)),
            ("ng.div", [a, b]) => quotient(a, b),
            ("ng.reciprocal", [a]) => quotient(&Rational::from(1), a),
            ("ng.pow", [a, n]) if !(a.is_zero() && n.is_negative()) => {
                Some(a.clone().pow(n.numer().to_i32()?))
            }
            _ => None,
        }
    }

    fn text(&self, term: Term) -> String {
        match self.node(term) {
            Node::Argument(i) => ["x", "y", "z"][*i].into(),
            Node::Number(n) => n.to_string(),
            Node::Op(name, operands) => {
                let operands: Vec<String> = operands.iter().map(|&t| self.text(t)).collect();
                format!("{}({})", &name[3..], operands.join(", "))
            }
        }
    }

    /// Ops, those that are shared counted once; a constant alone takes the shape of the whole by one that does not count.
    fn ops(&self, term: Term, seen: &mut Vec<Term>) -> usize {
        match self.node(term) {
            Node::Op(name, operands) if !seen.contains(&term) => {
                seen.push(term);
                let own = usize::from(*name != "ng.broadcast_to");
                own + operands.iter().map(|&t| self.ops(t, seen)).sum::<usize>()
            }
            _ => 0,
        }
    }

    fn random(&mut self, random: &mut Random, depth: usize) -> Term {
        if depth == 0 || random.chance(15) {
            return match random.below(4) {
                3 => self.add(Node::Number(random.pick(&[1.0, 2.0, -1.0, 0.5, 3.0, 0.1]))),
                n => Term::Made(n as u32),
            };
        }
        let name = random.pick(&OPS);
        let arity = self.context.op(name).expect("a declared op").operands.len();
        let mut operands: Vec<Term> = (0..arity).map(|_| self.random(random, depth - 1)).collect();
        if name == "ng.pow" {
            operands[1] = self.add(Node::Number(random.pick(&[-2.0, -1.0, 1.0, 2.0, 3.0])));
        }
        self.op(name, &operands)
    }

    /// The form of a sum or difference.
    fn form(&mut self, op: &str, x: Term, y: Term) -> Result<Term, Refusal> {
        let names = [Ident::new("x"), Ident::new("y")];
        let mut bindings = Bindings::default();
        bindings.bind(names[0], Bound::Term(x));
        bindings.bind(names[1], Bound::Term(y));
        let args = names.map(|name| Pattern::Var(name, Loc::Unknown)).to_vec();
        let pattern = OpPattern { op: op.into(), bind: None, args, attrs: Vec::new(), loc: Loc::Unknown };
        normal_form(self, &Pattern::Op(pattern), &bindings, Type::float(Format::F64))
    }
}

impl Terms for Arena {
    fn context(&self) -> &Context {
        &self.context
    }
    fn ty(&self, _: Term) -> Type {
        Type::float(Format::F64)
    }
    fn range(&self, _: Term) -> Range {
        Range::both(Enclosure::new(-self.range, self.range))
    }
    fn uniform(&self, term: Term) -> Option<f64> {
        match self.node(term) {
            Node::Number(n) => Some(*n),
            _ => None,
        }
    }
    fn elements(&self, _: Term) -> Option<Tensor> {
        None
    }
    fn is_fixed(&self, _: Term) -> bool {
        false
    }

    fn used_once(&self, _: Term) -> bool {
        false
    }
    fn accumulates(&self, _: Term) -> Option<Format> {
        None
    }
    fn signs(&self, _: Term) -> Signs {
        Signs::of(&self.range(Term::Made(0)).exact)
    }
    fn parts(&self, term: Term) -> Option<(&'static str, SmallVec<[Term; 2]>)> {
        match self.node(term) {
            Node::Op(name, operands) => Some((name, operands.clone())),
            _ => None,
        }
    }
    fn make(&mut self, def: &'static OpDef, operands: &[Term], attrs: AttrDict) -> Result<Term, String> {
        Ok(match attrs.get("value").and_then(|v| v.as_float()) {
            Some(n) => self.add(Node::Number(n)),
            None => self.add(Node::Op(def.name, operands.into())),
        })
    }
}

/// Small fractions, among them those at which denominators vanish.
fn points(random: &mut Random) -> Vec<Rational> {
    let mut one = || {
        let denominator = random.pick(&[1, 1, 2, 3, 7]);
        Rational::from((random.below(9) as i64 - 4, denominator))
    };
    vec![one(), one(), one()]
}

/// Whether there is a smaller form; it is checked.
fn check(seed: u64) -> bool {
    let mut random = Random::seeded(&seed.to_string());
    let mut arena = Arena::new(1e3);
    let (x, y) = (arena.random(&mut random, 4), arena.random(&mut random, 3));
    let op = random.pick(&["ng.add", "ng.sub"]);
    let whole = arena.op(op, &[x, y]);
    let Ok(form) = arena.form(op, x, y) else { return false };
    assert!(arena.ops(form, &mut vec![]) < arena.ops(whole, &mut vec![]), "{}", arena.text(whole));
    for _ in 0..8 {
        let at = points(&mut random);
        if let Some(value) = arena.value(whole, &at) {
            let (before, after) = (arena.text(whole), arena.text(form));
            assert_eq!(arena.value(form, &at), Some(value), "{before} is not {after} at {at:?}");
        }
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(2000), failure_persistence: None, ..Default::default() })]

    #[test]
    fn the_form_is_equal_wherever_the_term_is_defined(seed in any::<u64>()) {
        check(seed);
    }
}

#[test]
fn forms_are_found() {
    let found = (0..400).filter(|&seed| check(seed)).count();
    assert!(found > 50, "of 400 random terms {found} have a smaller form");
}

#[test]
fn three_fractions() {
    let mut arena = Arena::new(1e3);
    let (x, one, two) = (Term::Made(0), arena.add(Node::Number(1.0)), arena.add(Node::Number(2.0)));
    let (above, below) = (arena.op("ng.add", &[x, one]), arena.op("ng.sub", &[x, one]));
    let quotients = [[one, above], [two, x], [one, below]].map(|q| arena.op("ng.div", &q));
    let difference = arena.op("ng.sub", &quotients[..2]);
    let form = arena.form("ng.add", difference, quotients[2]).expect("there is a form");
    let denominator = arena.op("ng.mul", &[above, x]);
    let denominator = arena.op("ng.mul", &[denominator, below]);
    assert!(form == arena.op("ng.div", &[two, denominator]));
}

#[test]
fn what_is_collected_must_be_finite() {
    let mut arena = Arena::new(f64::INFINITY);
    let (x, y) = (Term::Made(0), Term::Made(1));
    let sum = arena.op("ng.add", &[x, y]);
    let refused = arena.form("ng.sub", sum, x);
    assert!(matches!(refused, Err(Refusal::Unproven(why)) if why.contains("infinite")));
}

#[test]
fn coefficients_are_exact_or_the_form_is_not_made() {
    // x (1 + 2^-30) squared needs 61 bits.
    let mut arena = Arena::new(1e3);
    let (x, c) = (Term::Made(0), arena.add(Node::Number(1.0 + 2f64.powi(-30))));
    let product = arena.op("ng.mul", &[x, c]);
    let square = arena.op("ng.square", &[product]);
    let twice = arena.op("ng.add", &[square, square]);
    assert!(arena.form("ng.add", twice, square).is_err());
}
