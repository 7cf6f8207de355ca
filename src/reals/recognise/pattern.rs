//! The places where a formula speaks of its operands, and what they propose.

use std::hash::{Hash, Hasher};

use ngc_ir::structure::Size;
use ngc_numerics::expr::Expr;
use ngc_numerics::{Prim, Reduce};
use rug::Rational;
use rustc_hash::FxHasher;
use smallvec::{SmallVec, smallvec};

use crate::normal::apply::parity;
use crate::store::{Leaf, Store, function_bit};
use crate::term::{Function, Node, Use};

/// Terms that are looked at, from a term down.
const MOST_PARTS: usize = 64;

/// Ways to a part that are told apart.
const MOST_PATHS: usize = 8;

/// What kind of term it is, at the top.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Head {
    Linear,
    Product,
    Max,
    Apply(Function),
    Reduce(Reduce),
}

impl Head {
    pub fn of(node: &Node) -> Option<Head> {
        match node {
            Node::Linear(..) => Some(Head::Linear),
            Node::Product(_) => Some(Head::Product),
            Node::Max(_) => Some(Head::Max),
            Node::Apply(function, _) => Some(Head::Apply(*function)),
            Node::Reduce(kind, ..) => Some(Head::Reduce(*kind)),
            _ => None,
        }
    }

    /// What kinds of terms one is, and what it is a multiple of. Behind a mask it is what is masked.
    pub fn all(store: &Store, of: &Use) -> Vec<Head> {
        let node = unmasked(store, of);
        let inner = match node {
            Node::Linear(shift, terms) if shift.is_zero() && terms.len() == 1 => {
                Head::of(store.node(terms[0].1.id))
            }
            _ => None,
        };
        Head::of(node).into_iter().chain(inner).collect()
    }
}

/// What stands where a mask is open.
pub(super) fn unmasked<'a>(store: &'a Store, of: &Use) -> &'a Node {
    let mut node = store.node(of.id);
    while let Node::Where(_, yes, no) = node {
        let closed = matches!(store.node(yes.id), Node::Number(_));
        node = store.node(if closed { no.id } else { yes.id });
    }
    node
}

/// Where a term stands in another one.
#[derive(Clone, Debug, PartialEq, Hash)]
enum Role {
    Argument(Function, usize),
    Power(Rational),
    Term,
    Greatest,
    Branch,
}

impl Role {
    /// Whether the negative may as well stand there: normal forms choose which one an odd or even function is of.
    fn is_turned(&self) -> bool {
        matches!(self, Role::Argument(Function::Prim(prim), _) if parity(*prim).is_some())
    }

    /// Whether normal forms put such terms together: sums of sums are one sum.
    fn is_flat(&self) -> bool {
        matches!(self, Role::Term | Role::Power(_))
    }
}

/// The functions within which a part stands, from the top down, sums and products left out: each way to it by its hash. An
/// operand stands in a term within the same ones as in the definition.
#[derive(Clone, Debug, PartialEq)]
enum Paths {
    These(SmallVec<[u64; 2]>),
    /// Too many to be told apart.
    Any,
}

impl Paths {
    fn meet(&self, other: &Paths) -> bool {
        match (self, other) {
            (Paths::These(own), Paths::These(others)) => own.iter().any(|path| others.contains(path)),
            _ => true,
        }
    }

    /// With those that lead on in a role; whether there are more now.
    fn extend(&mut self, above: &Paths, role: &Role) -> bool {
        let Paths::These(own) = self else { return false };
        let Paths::These(above) = above else {
            *self = Paths::Any;
            return true;
        };
        let longer = |path: &u64| {
            let mut hasher = FxHasher::default();
            (path, role).hash(&mut hasher);
            if role.is_flat() { *path } else { hasher.finish() }
        };
        let before = own.len();
        for path in above.iter().map(longer) {
            if !own.contains(&path) {
                own.push(path);
            }
        }
        let more = own.len() > before;
        if own.len() > MOST_PATHS {
            *self = Paths::Any;
        }
        more
    }
}

/// An operand in a formula: `factor · x · by + shift` stands there.
struct Anchor {
    role: Role,
    factor: Rational,
    shift: Rational,
    /// Numbers beside it, with their exponents.
    by: Vec<(Expr, Rational)>,
    /// The ways to what it stands in, and which of all that is.
    paths: Paths,
    under: usize,
}

/// A formula as it proposes its operands.
pub(super) struct Pattern {
    /// What kinds of terms it may be, or may be a multiple of.
    pub heads: Vec<Head>,
    /// The functions that it is made of.
    functions: Functions,
    /// Of each operand.
    anchors: Vec<Vec<Anchor>>,
    /// Whether it is the same of two operands in either order.
    symmetric: bool,
}

/// The functions that a definition is made of: they are in every term that it is a part of.
#[derive(Clone, Copy, Default)]
pub(super) struct Functions(u64);

impl Functions {
    /// Those in a term over operands of which nothing is known.
    pub fn of(store: &Store, of: &Use) -> Functions {
        Functions(store.functions(of.id))
    }

    /// Those that are in both.
    pub fn common(self, other: Functions) -> Functions {
        Functions(self.0 & other.0)
    }

    /// Whether they may be in a term with these where it is read on some operands: what these undo is not there.
    pub fn may_be(self, within: u64, store: &Store, operands: &[Use]) -> bool {
        let mut open = self.0 & !within;
        let [exp, log, sqrt] = [Prim::Exp, Prim::Log, Prim::Sqrt].map(function_bit);
        for x in operands {
            let own = store.functions(x.id);
            match store.node(x.id) {
                // Of numbers a function is a number.
                Node::Number(_) | Node::Place | Node::Size(_) => open = 0,
                Node::Product(_) => open &= !sqrt,
                _ => {}
            }
            open &= if own & log != 0 { !exp } else { !0 };
            open &= if own & exp != 0 { !log } else { !0 };
        }
        open == 0
    }
}

/// A term with its place in the one above it.
#[derive(Clone)]
pub(super) struct Part {
    role: Role,
    factor: Rational,
    of: Use,
    /// The ways to what it stands in, and which of all that is.
    paths: Paths,
    under: usize,
}

/// A term and its parts, down to reductions.
pub(super) fn parts(store: &Store, whole: &Use, space: &[Size]) -> Vec<Part> {
    let mut found: Vec<(Part, usize)> = Vec::new();
    let mut open = vec![whole.clone()];
    let mut under = 0;
    while under < open.len() && found.len() < MOST_PARTS {
        let of = open[under].clone();
        for (role, factor, part) in below(store, &of) {
            let Some(part) = store.compose(part, &of.map, space) else { continue };
            let n = open.iter().position(|known| *known == part).unwrap_or(open.len());
            if n == open.len() {
                open.push(part.clone());
            }
            found.push((Part { role, factor, of: part, paths: Paths::Any, under }, n));
        }
        under += 1;
    }
    let mut paths = vec![Paths::These(smallvec![]); open.len()];
    paths[0] = Paths::These(smallvec![0]);
    let mut more = true;
    while more {
        more = false;
        for (part, n) in &found {
            let above = paths[part.under].clone();
            more |= paths[*n].extend(&above, &part.role);
        }
    }
    found.into_iter().map(|(part, _)| Part { paths: paths[part.under].clone(), ..part }).collect()
}

/// What the terms of short sums of squares are the squares of: numbers and multiples have no power that shows it.
pub(super) fn roots(store: &mut Store, whole: &Use, space: &[Size]) -> Vec<Part> {
    let (half, two) = (Rational::from((1, 2)), Rational::from(2));
    let mut found = Vec::new();
    for of in used(store, whole, space) {
        let Node::Linear(constant, terms) = store.node(of.id).clone() else { continue };
        let count = terms.len() + usize::from(!constant.is_zero());
        // The root of a mere root is further from what is there.
        let square = |(_, x): &(Rational, Use)| match store.node(x.id) {
            Node::Product(factors) => factors.iter().any(|(_, e)| e.clone().abs() >= 1),
            _ => false,
        };
        let squares = terms.iter().all(|(c, x)| *c > 0 && store.is_nonnegative(x.id));
        if count != 2 || constant < 0 || !squares || !terms.iter().any(square) {
            continue;
        }
        let Some(mut parts) = store.placed_terms(&terms, &of, space) else { continue };
        if !constant.is_zero() {
            parts.push((constant, store.rational(1)));
        }
        for (c, x) in parts {
            let number = store.rational(c);
            let root = store.product(1.into(), vec![(number, half.clone()), (x, half.clone())], space);
            let role = Role::Power(two.clone());
            found.push(Part { role, factor: 1.into(), of: root, paths: Paths::Any, under: usize::MAX });
        }
    }
    found
}

/// Steps from a term to the reductions that its definition as an op may have.
const DEEPEST_SUM: usize = 3;

/// A term and what it is made of, down to reductions, along its dimensions.
pub(super) fn used(store: &Store, whole: &Use, space: &[Size]) -> Vec<Use> {
    let mut found = vec![whole.clone()];
    for part in parts(store, whole, space) {
        if !found.contains(&part.of) {
            found.push(part.of);
        }
    }
    found
}

/// The reductions near the top of a term that are in no other one: no definition has its own further down.
pub(super) fn reductions(store: &Store, whole: &Use, space: &[Size]) -> Vec<Use> {
    let (mut found, mut level) = (Vec::new(), vec![whole.clone()]);
    for _ in 0..=DEEPEST_SUM {
        let mut next = Vec::new();
        for of in level {
            if matches!(store.node(of.id), Node::Reduce(..)) {
                if !found.contains(&of) {
                    found.push(of);
                }
                continue;
            }
            let parts = below(store, &of).into_iter();
            next.extend(parts.filter_map(|(_, _, part)| store.compose(part, &of.map, space)));
        }
        level = next;
    }
    found
}

/// The parts of a node, with their roles and factors.
fn below<'a>(store: &'a Store, of: &Use) -> Vec<(Role, Rational, &'a Use)> {
    let one = || Rational::from(1);
    match store.node(of.id) {
        Node::Linear(_, terms) => terms.iter().map(|(c, x)| (Role::Term, c.clone(), x)).collect(),
        Node::Product(factors) => factors.iter().map(|(x, e)| (Role::Power(e.clone()), one(), x)).collect(),
        Node::Max(parts) => parts.iter().map(|x| (Role::Greatest, one(), x)).collect(),
        Node::Apply(function, parts) => {
            let part = |(n, x)| (Role::Argument(*function, n), one(), x);
            parts.iter().enumerate().map(part).collect()
        }
        Node::Where(_, yes, no) => [yes, no].map(|x| (Role::Branch, one(), x)).into(),
        _ => Vec::new(),
    }
}

impl Pattern {
    /// The pattern of a formula that is more than one step; nothing of others.
    pub fn of(formula: &Expr, params: &[f64], arity: usize) -> Option<Pattern> {
        let mut store = Store::new();
        let x: Vec<Use> = (0..arity).map(|n| store.leaf_use(Leaf::Value(n as u32), &[])).collect();
        let whole = store.formula(formula, params, &x, &[]);
        let heads = Head::all(&store, &whole);
        (!heads.is_empty()).then_some(())?;
        let mut anchors: Vec<Vec<Anchor>> = (0..arity).map(|_| Vec::new()).collect();
        let (mut deep, mut curved) = (false, false);
        for Part { role, factor, of, paths, under } in parts(&store, &whole, &[]) {
            deep |= !matches!(store.node(of.id), Node::Leaf(_) | Node::Number(_));
            curved |= match &role {
                Role::Argument(..) | Role::Greatest => true,
                Role::Power(e) => *e.denom() != 1,
                _ => false,
            };
            if let Some((n, mut anchor)) = affine(&store, (role, paths, under), &of, &x) {
                if anchor.role == Role::Term {
                    anchor.factor *= factor;
                }
                anchors[n].push(anchor);
            }
        }
        let complete = anchors.iter().all(|all| !all.is_empty());
        let functions = Functions::of(&store, &whole);
        let turned: Vec<Use> = x.iter().rev().cloned().collect();
        let symmetric = arity == 2 && store.formula(formula, params, &turned, &[]) == whole;
        (curved && deep && complete).then_some(Pattern { heads, functions, anchors, symmetric })
    }

    /// Whether a term with these functions may be one of these operands, or have it as a part.
    pub fn may_be(&self, functions: u64, store: &Store, operands: &[Use]) -> bool {
        self.functions.may_be(functions, store, operands)
    }

    /// Operands that the parts of a term propose.
    pub fn proposals(&self, store: &mut Store, parts: &[Part], space: &[Size], most: usize) -> Vec<Vec<Use>> {
        let mut all: Vec<Vec<Proposal>> = vec![Vec::new()];
        for anchors in &self.anchors {
            let mut own: Vec<Proposal> = Vec::new();
            // The plainest place tells most: a function of the operand before a term of a sum.
            for anchor in anchors {
                let same = |part: &&Part| part.role == anchor.role && part.paths.meet(&anchor.paths);
                for part in parts.iter().filter(same) {
                    let mut solved = vec![anchor.solved(store, part, space)];
                    if part.role.is_turned() {
                        let of = store.scaled(-1, part.of.clone(), space);
                        solved.push(anchor.solved(store, &Part { of, ..part.clone() }, space));
                    }
                    let under = (!part.role.is_flat()).then_some((anchor.under, part.under));
                    for x in solved.into_iter().flatten() {
                        match own.iter_mut().find(|known| known.x == x) {
                            Some(known) => known.under.extend(under),
                            None => own.push(Proposal { x, under: under.into_iter().collect() }),
                        }
                    }
                }
            }
            // Of a value and its negative the former is plainer.
            let negative = |of: &Proposal| matches!(store.node(of.x.id), Node::Linear(_, terms) if terms.iter().all(|(c, _)| *c < 0));
            own.sort_by_key(negative);
            // A function of one value twice is simpler than that.
            let longer = |known: &Vec<Proposal>| {
                let fits = |x: &&Proposal| known.iter().all(|other| x.x != other.x && x.fits(other));
                let new = own.iter().filter(fits);
                new.map(|x| [&known[..], std::slice::from_ref(x)].concat()).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(longer).take(most).collect();
        }
        let operands = |all: Vec<Proposal>| all.into_iter().map(|of| of.x).collect();
        let all: Vec<Vec<Use>> = all.into_iter().map(operands).collect();
        let is_turned =
            |n: usize| matches!(&all[n][..], [x, y] if all[..n].iter().any(|z| z[0] == *y && z[1] == *x));
        let own = (0..all.len()).filter(|&n| !self.symmetric || !is_turned(n));
        own.map(|n| all[n].clone()).collect()
    }
}

/// What may be an operand.
#[derive(Clone)]
struct Proposal {
    x: Use,
    /// In what it stands in the definition, and in what in the term, where that is a function.
    under: SmallVec<[(usize, usize); 2]>,
}

impl Proposal {
    /// Whether what stands in one function in the definition does in the term.
    fn fits(&self, other: &Proposal) -> bool {
        let places = |n: usize| other.under.iter().filter(move |(of, _)| *of == n).map(|(_, at)| *at);
        let shared = |(of, _): &&(usize, usize)| places(*of).next().is_some();
        let mut own = self.under.iter().filter(shared).peekable();
        own.peek().is_none() || own.any(|&(of, at)| places(of).any(|place| place == at))
    }
}

impl Anchor {
    /// The operand, where a part of a term stands as the operand does in the formula.
    fn solved(&self, store: &mut Store, part: &Part, space: &[Size]) -> Option<Use> {
        let inverse = |x: &Rational| Rational::from(x.recip_ref());
        if part.role == Role::Term {
            // What is beside it in the sum is not known: the term by itself, and with its factor.
            return Some(store.scaled(inverse(&self.factor) * &part.factor, part.of.clone(), space));
        }
        // What the formula adds must be there.
        let adds = |of: &Use| matches!(store.node(of.id), Node::Linear(shift, _) if !shift.is_zero());
        if !self.shift.is_zero() && !adds(&part.of) {
            return None;
        }
        let shift = -self.shift.clone() * inverse(&self.factor);
        let value = store.linear(shift, vec![(inverse(&self.factor), part.of.clone())], space);
        if self.by.is_empty() {
            return Some(value);
        }
        let mut factors = vec![(value, Rational::from(1))];
        for (number, exponent) in &self.by {
            factors.push((store.formula(number, &[], &[], space), Rational::from(-exponent)));
        }
        let numbers: Vec<Use> = factors[1..].iter().map(|(x, _)| x.clone()).collect();
        let value = store.product(1.into(), factors, space);
        // So must what it multiplies by.
        let term = match store.node(value.id) {
            Node::Linear(_, terms) if terms.len() == 1 => store.node(terms[0].1.id),
            other => other,
        };
        let left = matches!(term, Node::Product(all) if all.iter().any(|(x, _)| numbers.contains(x)));
        (!left).then_some(value)
    }
}

/// A part that is an operand with factors and a shift.
fn affine(
    store: &Store,
    (role, paths, under): (Role, Paths, usize),
    of: &Use,
    x: &[Use],
) -> Option<(usize, Anchor)> {
    let plain = |of: &Use| x.iter().position(|x| x == of);
    let anchor = |factor: Rational, shift: Rational, by| {
        let (role, paths) = (role.clone(), paths.clone());
        Anchor { role, factor, shift, by, paths, under }
    };
    let beside = |of: &Use| {
        let Node::Product(factors) = store.node(of.id) else { return None };
        let (own, by): (Vec<_>, Vec<_>) = factors.iter().partition(|(x, e)| plain(x).is_some() && *e == 1);
        let [(own, _)] = own[..] else { return None };
        let by = by.into_iter().map(|(x, e)| Some((number(store, x)?, e.clone()))).collect::<Option<_>>()?;
        Some((plain(own)?, by))
    };
    if let Some(n) = plain(of) {
        return Some((n, anchor(1.into(), Rational::new(), Vec::new())));
    }
    if let Some((n, by)) = beside(of) {
        return Some((n, anchor(1.into(), Rational::new(), by)));
    }
    let Node::Linear(shift, terms) = store.node(of.id) else { return None };
    let [(factor, term)] = &terms[..] else { return None };
    match plain(term) {
        Some(n) => Some((n, anchor(factor.clone(), shift.clone(), Vec::new()))),
        None if shift.is_zero() => {
            let (n, by) = beside(term)?;
            Some((n, anchor(factor.clone(), Rational::new(), by)))
        }
        None => None,
    }
}

/// A number as a formula.
fn number(store: &Store, of: &Use) -> Option<Expr> {
    use crate::term::Number;
    use ngc_numerics::expr::{Constant, Node as Formula};
    let constant = |c| Some(Expr(std::sync::Arc::new(Formula::Const(c))));
    match store.node(of.id) {
        Node::Number(Number::Finite(x)) => constant(Constant::Rational(x.clone())),
        Node::Number(Number::Pi) => constant(Constant::Pi),
        Node::Number(Number::E) => constant(Constant::E),
        Node::Apply(Function::Prim(prim), parts) => {
            let parts = parts.iter().map(|x| number(store, x)).collect::<Option<_>>()?;
            Some(Expr::apply(*prim, parts))
        }
        _ => None,
    }
}
