//! The language of the e-graph: terms over the reals, with what is known of every class.
//!
//! Two nodes are in one class if they are equal over the reals wherever the one that was there first is defined, and have
//! one type. How they round differs; that is for extraction to look at.

use egg::{Analysis, DidMerge, EGraph, Id, Language};
use ngc_dialects::facts::Signs;
use ngc_ir::{Attr, AttrDict, Body, Context, Ident, InternalError, Loc, OpDef, Signature, Type, Value};
use ngc_numerics::figures::common;
use ngc_numerics::{Enclosure, Format, Interval, Range};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::analysis::range::signs;
use crate::rewrite::graph::{is_default, passes_number};

/// A term whose operands are classes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Node {
    /// An op: its operands, then a leaf for each declared attribute.
    Op(Ident, SmallVec<[Id; 6]>),
    /// An attribute, by its text, or one that is left out.
    Attr(Option<Ident>),
    /// A constant of which all elements are this number (its bits), and its type.
    Number(u64, Ident),
    /// A value that is not taken apart: an argument, a result of an op beyond the region, a constant of several values.
    Value(u32),
}

/// What distinguishes nodes beside their children.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An op with so many children.
    Op(Ident, usize),
    /// Any leaf.
    Leaf,
}

impl Language for Node {
    type Discriminant = Kind;

    fn discriminant(&self) -> Kind {
        match self {
            Node::Op(name, children) => Kind::Op(*name, children.len()),
            _ => Kind::Leaf,
        }
    }

    fn matches(&self, other: &Node) -> bool {
        match (self, other) {
            (Node::Op(a, x), Node::Op(b, y)) => a == b && x.len() == y.len(),
            _ => self == other,
        }
    }

    fn children(&self) -> &[Id] {
        if let Node::Op(_, children) = self { children } else { &[] }
    }

    fn children_mut(&mut self) -> &mut [Id] {
        if let Node::Op(_, children) = self { children } else { &mut [] }
    }
}

/// What is known of a class.
#[derive(Clone, Debug)]
pub enum Data {
    /// An attribute.
    Attr(Option<Attr>),
    /// A term.
    Term(Facts),
}

/// What is known of the terms of a class.
#[derive(Clone, Debug)]
pub struct Facts {
    /// Their type.
    pub ty: Type,
    /// Encloses the value over the reals: what each of the terms says, intersected.
    pub exact: Interval,
    /// The same as far as it is proven, where ranges are assumed.
    pub proven: Interval,
    /// Where the terms lie over the reals, as far as is proven.
    pub signs: Signs,
    /// The number that all elements are.
    pub uniform: Option<f64>,
    /// Whether one of the terms depends on no argument.
    pub fixed: bool,
    /// The values of the body that are in the class.
    pub values: SmallVec<[Value; 1]>,
    /// How often it was found that more is known, or less.
    pub revisions: u32,
}

/// After so many revisions the enclosure of a class is narrowed no more, for a class that is part of its own terms might
/// be revised by a unit in the last place for ever.
const MOST_REVISIONS: u32 = 64;

/// The next enclosure of a class: `new`, or one that encloses it and need not be revised again.
fn settled(old: &Interval, new: Interval, revisions: u32) -> Interval {
    let inside = old.lo <= new.lo && new.hi <= old.hi && (old.may_be_nan || !new.may_be_nan);
    match (revisions < MOST_REVISIONS, inside) {
        (true, _) => new,
        (false, true) => *old,
        (false, false) => Range::WHOLE.exact,
    }
}

/// What nodes refer to.
pub struct World<'a> {
    /// The declared ops.
    pub context: &'a Context,
    /// Where values come from.
    pub body: &'a Body,
    /// What the leaves [`Node::Value`] are.
    pub leaves: Vec<(Value, Facts)>,
    /// Uses of every value of the body, by its index.
    pub uses: Vec<u32>,
    /// Whether ranges are assumed.
    pub assumes: bool,
    /// Whether a term may be undefined where a result is defined all the same.
    pub partial: bool,
    attrs: FxHashMap<Ident, Attr>,
    types: FxHashMap<Ident, Type>,
}

impl<'a> World<'a> {
    /// Without leaves.
    pub fn new(context: &'a Context, body: &'a Body, uses: Vec<u32>, assumes: bool) -> World<'a> {
        World {
            context,
            body,
            leaves: Vec::new(),
            uses,
            assumes,
            partial: false,
            attrs: FxHashMap::default(),
            types: FxHashMap::default(),
        }
    }

    /// The leaf of an attribute.
    pub fn attr(&mut self, attr: Option<Attr>) -> Node {
        Node::Attr(attr.map(|attr| {
            let name = Ident::new(&format!("{attr:?}"));
            self.attrs.entry(name).or_insert(attr);
            name
        }))
    }

    /// The leaf of a constant.
    pub fn number(&mut self, number: f64, ty: Type) -> Node {
        let name = Ident::new(&ty.to_string());
        self.types.insert(name, ty);
        Node::Number(number.to_bits(), name)
    }

    /// The type of a constant.
    pub fn ty(&self, name: Ident) -> Option<Type> {
        self.types.get(&name).copied()
    }
}

/// The e-graph of a region.
pub type Egraph<'a> = EGraph<Node, World<'a>>;

/// What is known of a class of terms; nothing of an attribute.
pub fn facts<'g>(egraph: &'g Egraph<'_>, id: Id) -> Option<&'g Facts> {
    match &egraph[id].data {
        Data::Term(facts) => Some(facts),
        Data::Attr(_) => None,
    }
}

/// The attribute that a leaf is.
pub fn attribute<'g>(egraph: &'g Egraph<'_>, id: Id) -> Option<&'g Attr> {
    match &egraph[id].data {
        Data::Attr(attr) => attr.as_ref(),
        Data::Term(_) => None,
    }
}

/// An op node, taken apart.
pub struct Parts {
    /// Declaration.
    pub def: &'static OpDef,
    /// Classes of the operands.
    pub operands: SmallVec<[Id; 4]>,
    /// Attributes that are not at their defaults.
    pub attrs: AttrDict,
}

/// The parts of an op node.
pub fn parts(egraph: &Egraph<'_>, node: &Node) -> Option<Parts> {
    let Node::Op(name, children) = node else { return None };
    let def = egraph.analysis.context.op(name.as_str())?;
    let count = children.len().checked_sub(def.attributes.len())?;
    let mut attrs = AttrDict::EMPTY;
    for (declared, &leaf) in def.attributes.iter().zip(&children[count..]) {
        if let Some(value) = attribute(egraph, leaf).filter(|v| !is_default(v, declared.default)) {
            attrs.set(declared.name, value.clone());
        }
    }
    Some(Parts { def, operands: children[..count].into(), attrs })
}

/// The format in which a node is told to accumulate.
pub fn accumulates(egraph: &Egraph<'_>, node: &Node) -> Option<Format> {
    let Node::Op(name, children) = node else { return None };
    let def = egraph.analysis.context.op(name.as_str())?;
    let place = def.attributes.iter().position(|a| a.name == "accumulate")?;
    let first = children.len().checked_sub(def.attributes.len())?;
    attribute(egraph, children[first + place])?.as_type()?.format()
}

impl<'a> Analysis<Node> for World<'a> {
    type Data = Data;

    fn make(egraph: &mut Egraph<'a>, node: &Node, _: Id) -> Data {
        let world = &egraph.analysis;
        match node {
            Node::Attr(name) => Data::Attr(name.and_then(|n| world.attrs.get(&n).cloned())),
            Node::Number(bits, ty) => {
                let (number, ty) = (f64::from_bits(*bits), world.ty(*ty).unwrap_or(Type::float(Format::F64)));
                let (exact, values) = (Enclosure::point(number), SmallVec::new());
                Data::Term(Facts {
                    ty,
                    exact,
                    proven: exact,
                    signs: Signs::of(&exact),
                    uniform: Some(number),
                    fixed: true,
                    values,
                    revisions: 0,
                })
            }
            Node::Value(n) => Data::Term(world.leaves[*n as usize].1.clone()),
            Node::Op(..) => Data::Term(known(egraph, node).unwrap_or_else(|| Facts {
                ty: Type::float(Format::F64),
                exact: Range::WHOLE.exact,
                proven: Range::WHOLE.exact,
                signs: Signs::ANY,
                uniform: None,
                fixed: false,
                values: SmallVec::new(),
                revisions: 0,
            })),
        }
    }

    fn merge(&mut self, a: &mut Data, b: Data) -> DidMerge {
        let (Data::Term(a), Data::Term(b)) = (a, b) else { return DidMerge(false, false) };
        let values = || a.values.iter().chain(&b.values);
        let raise = |contradiction: String| -> ! {
            let made = values().find_map(|&v| self.body.defining_op(v));
            let loc = made.map_or(Loc::Unknown, |op| self.body.op(op).loc.clone());
            InternalError::raise(loc, format!("terms that rules make equal differ: {contradiction}"))
        };
        let next = |a: &Interval, b: &Interval, revisions| {
            settled(
                a,
                common(a, b).unwrap_or_else(|contradiction| raise(contradiction.to_string())),
                revisions,
            )
        };
        let exact = next(&a.exact, &b.exact, a.revisions);
        let proven = next(&a.proven, &b.proven, a.revisions);
        let signs = common_signs(a, &b)
            .unwrap_or_else(|| raise(format!("one is {:?}, the other {:?}", a.signs, b.signs)));
        let (uniform, fixed) = (a.uniform.or(b.uniform), a.fixed || b.fixed);
        let merged = DidMerge(
            exact != a.exact
                || proven != a.proven
                || signs != a.signs
                || uniform != a.uniform
                || fixed != a.fixed
                || !b.values.is_empty(),
            exact != b.exact
                || proven != b.proven
                || signs != b.signs
                || uniform != b.uniform
                || fixed != b.fixed
                || !a.values.is_empty(),
        );
        let revised = exact != a.exact || proven != a.proven || signs != a.signs;
        a.revisions = a.revisions.max(b.revisions) + u32::from(revised);
        (a.exact, a.proven, a.signs, a.uniform, a.fixed) = (exact, proven, signs, uniform, fixed);
        a.values.extend(b.values);
        merged
    }
}

/// As [`common`], of the signs, if they have any in common; they are narrowed no more after so many revisions, and said nothing of where that is not enough.
fn common_signs(a: &Facts, b: &Facts) -> Option<Signs> {
    let common = match (a.signs.may_be(Signs::UNDEFINED), b.signs.may_be(Signs::UNDEFINED)) {
        (false, false) if !a.signs.may_be(b.signs) => return None,
        (false, false) => a.signs.and(b.signs),
        (false, true) => a.signs,
        (true, false) => b.signs,
        (true, true) => a.signs.or(b.signs),
    };
    Some(match (a.revisions < MOST_REVISIONS, common.within(a.signs)) {
        (true, _) => common,
        (false, true) => a.signs,
        (false, false) => Signs::ANY,
    })
}

/// Whether an op has no value whatever its operands are, such as a quotient by 0. Rules that meet in such a term would make
/// everything equal.
pub fn has_no_value(s: &Signature<'_>, operands: &[&Facts], ty: Type) -> bool {
    let of_operands = operands.iter().map(|f| (f.exact, f.signs));
    signs(s, of_operands, ty, &Range::WHOLE.exact) == Signs::UNDEFINED
}

/// What an op says of its result.
fn known(egraph: &Egraph<'_>, node: &Node) -> Option<Facts> {
    let Parts { def, operands, attrs } = parts(egraph, node)?;
    let operands: Option<SmallVec<[&Facts; 4]>> = operands.iter().map(|&id| facts(egraph, id)).collect();
    let operands = operands?;
    let types: SmallVec<[Type; 4]> = operands.iter().map(|f| f.ty).collect();
    let s = Signature { def, operands: &types, attrs: &attrs };
    let [ty] = s.infer().ok()?[..] else { return None };
    let range = |of: fn(&Facts) -> Interval| {
        let ranges: SmallVec<[Range; 4]> = operands.iter().map(|f| Range::both(of(f))).collect();
        ngc_dialects::transfer::transfer(&s, &ranges, &[ty])[0].range.exact
    };
    let exact = range(|f| f.exact);
    let proven = if egraph.analysis.assumes { range(|f| f.proven) } else { exact };
    let signs = signs(&s, operands.iter().map(|f| (f.proven, f.signs)), ty, &proven);
    let uniform = match operands[..] {
        [operand] => operand.uniform.filter(|_| passes_number(&s, ty)),
        _ => None,
    };
    let fixed = operands.iter().all(|f| f.fixed);
    Some(Facts { ty, exact, proven, signs, uniform, fixed, values: SmallVec::new(), revisions: 0 })
}
