//! The terms that rules speak of: values of a body, and terms that are not in it yet.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;

use ngc_dialects::facts::{Signs, moved};
use ngc_dialects::ng::constant::constant_elements;
use ngc_dialects::ng::infer;
use ngc_ir::op_def::Default as AttrDefault;
use ngc_ir::{Attr, AttrDict, Body, Builder, Context, Ident, Op, OpDef, Signature, Type, Value};
use ngc_numerics::{Facts, Format, Interval, Tensor};
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

use crate::analysis::range::{self, Range, Ranges};
use crate::transform::fold_constants::fixed;

/// A value of the body, or a term made while matching.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Term {
    /// A value of the body.
    Value(Value),
    /// A made term, by its number.
    Made(u32),
}

/// What conditions and right sides ask of terms, be they of a body or of an e-graph.
pub trait Terms {
    /// The declared ops.
    fn context(&self) -> &Context;
    /// Type of a term.
    fn ty(&self, term: Term) -> Type;
    /// Ranges of a term.
    fn range(&self, term: Term) -> Range;
    /// The number that all elements of a constant are, if they are equal.
    fn uniform(&self, term: Term) -> Option<f64>;
    /// The elements of a constant that is written out.
    fn elements(&self, term: Term) -> Option<Tensor>;
    /// Whether the term depends on no argument.
    fn is_fixed(&self, term: Term) -> bool;
    /// Whether nothing but the match uses the term.
    fn used_once(&self, term: Term) -> bool;
    /// The widest format in which an op that computes the term is told to accumulate.
    fn accumulates(&self, term: Term) -> Option<Format>;
    /// Where the term lies over the reals: by its range, or as it is computed.
    fn signs(&self, term: Term) -> Signs;
    /// Whether the term is finite over the reals wherever it is defined.
    fn is_real(&self, term: Term) -> bool {
        self.signs(term).within(Signs::REAL)
    }
    /// One name for terms that are known to be the same.
    fn canonical(&self, term: Term) -> Term {
        term
    }
    /// One of the ops of the rational normal form that computes the term, and its operands.
    fn parts(&self, term: Term) -> Option<(&'static str, SmallVec<[Term; 2]>)>;
    /// Makes a term, or finds it if it was made before.
    ///
    /// # Errors
    /// A sentence that says why the op does not fit its operands.
    fn make(&mut self, def: &'static OpDef, operands: &[Term], attrs: AttrDict) -> Result<Term, String>;
}

/// An op applied to terms.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Made {
    op: Ident,
    operands: SmallVec<[Term; 2]>,
    attrs: AttrDict,
}

/// The range of a made term, and where it lies over the reals.
type Known = (Range, Signs);

/// An op with its operands, in the body or made.
pub struct Node<'a> {
    /// Declaration.
    pub def: &'static OpDef,
    /// Operands.
    pub operands: SmallVec<[Term; 2]>,
    /// Attributes.
    pub attrs: &'a AttrDict,
    /// The op of the body.
    pub op: Option<Op>,
}

/// A body under a matcher: made terms are shared and typed, ranged when that is asked for, and leave the body as it is.
pub struct Graph<'a> {
    /// The declared ops.
    pub context: &'a Context,
    /// The body.
    pub body: &'a Body,
    /// Ranges of its values.
    pub ranges: &'a Ranges,
    made: Vec<(Made, &'static OpDef, Type, OnceCell<Known>)>,
    /// Number of uses of every value, counted when first asked for.
    uses: OnceCell<Vec<u32>>,
    /// Values that depend on no argument, found when first asked for.
    fixed: OnceCell<Vec<bool>>,
    index: HashMap<Made, u32, FxBuildHasher>,
    /// What normal-form rules show a term as, by the op that is asked for, after so many views.
    pub(super) views: FxHashMap<(Ident, Term, usize), Views>,
}

/// Terms that a term may be seen as, each with the ops of the body that it covers.
pub(super) type Views = Rc<[(SmallVec<[Op; 8]>, Term)]>;

impl<'a> Graph<'a> {
    /// A graph without made terms.
    pub fn new(context: &'a Context, body: &'a Body, ranges: &'a Ranges) -> Graph<'a> {
        Graph {
            context,
            body,
            ranges,
            uses: OnceCell::new(),
            fixed: OnceCell::new(),
            made: Vec::new(),
            index: HashMap::default(),
            views: FxHashMap::default(),
        }
    }

    /// The op that computes a term; none for arguments, ops with several results and unregistered ops.
    pub fn node(&self, term: Term) -> Option<Node<'_>> {
        match term {
            Term::Value(v) => {
                let op = self.body.defining_op(v)?;
                let data = self.body.op(op);
                let def = data.def.filter(|d| d.traits.pure && self.body.num_results(op) == 1)?;
                let operands = self.body.operands(op).iter().map(|&v| Term::Value(v)).collect();
                Some(Node { def, operands, attrs: &data.attrs, op: Some(op) })
            }
            Term::Made(n) => {
                let (made, def, ..) = &self.made[n as usize];
                Some(Node { def, operands: made.operands.clone(), attrs: &made.attrs, op: None })
            }
        }
    }

    /// Name of the op that computes a term; none for arguments.
    pub fn name(&self, term: Term) -> Option<Ident> {
        match term {
            Term::Value(v) => {
                let data = self.body.op(self.body.defining_op(v)?);
                data.def.map(|_| data.name)
            }
            Term::Made(n) => Some(self.made[n as usize].0.op),
        }
    }

    /// The made terms that `term` needs, operands first: all that emitting it must know once the body is borrowed.
    pub fn plan(&self, term: Term) -> Plan {
        let mut steps = Vec::new();
        self.collect(term, &mut steps);
        Plan(steps)
    }

    fn collect(&self, term: Term, steps: &mut Vec<Step>) {
        let Term::Made(n) = term else { return };
        if steps.iter().any(|s| s.0 == n) {
            return;
        }
        let made = &self.made[n as usize].0;
        made.operands.iter().for_each(|&o| self.collect(o, steps));
        steps.push((n, made.op, made.operands.clone(), made.attrs.clone()));
    }

    fn known(&self, n: u32) -> Known {
        let (made, def, ty, known) = &self.made[n as usize];
        *known.get_or_init(|| {
            let operands = &made.operands;
            let types: SmallVec<[Type; 4]> = operands.iter().map(|&t| self.ty(t)).collect();
            let signature = Signature { def, operands: &types, attrs: &made.attrs };
            let ranges: SmallVec<[Range; 4]> = operands.iter().map(|&t| self.range(t)).collect();
            let range = range::transfer(&signature, &ranges, *ty);
            let of_operands = operands.iter().map(|&t| (self.range(t).exact, self.signs(t)));
            (range, range::signs(&signature, of_operands, *ty, &range.exact))
        })
    }

    /// An attribute of a node as rules see it: its default if absent, axes as ascending positive numbers.
    pub fn attribute(&self, node: &Node<'_>, name: &str) -> Option<Attr> {
        let types: SmallVec<[Type; 4]> = node.operands.iter().map(|&t| self.ty(t)).collect();
        normalized(&Signature { def: node.def, operands: &types, attrs: node.attrs }, name)
    }
}

impl Terms for Graph<'_> {
    fn context(&self) -> &Context {
        self.context
    }

    fn ty(&self, term: Term) -> Type {
        match term {
            Term::Value(v) => self.body.ty(v),
            Term::Made(n) => self.made[n as usize].2,
        }
    }

    fn range(&self, term: Term) -> Range {
        match term {
            Term::Value(v) => self.ranges.of(v),
            Term::Made(n) => self.known(n).0,
        }
    }

    // Made terms are used by the match alone.
    fn used_once(&self, term: Term) -> bool {
        let Term::Value(v) = term else { return true };
        let uses = self.uses.get_or_init(|| {
            let mut uses = vec![0; self.body.num_values()];
            let all = self.body.walk();
            all.iter().flat_map(|&op| self.body.operands(op)).for_each(|v| uses[v.index()] += 1);
            uses
        });
        uses.get(v.index()) == Some(&1)
    }

    fn uniform(&self, term: Term) -> Option<f64> {
        let node = self.node(term)?;
        match node.def.short_name() {
            "constant" => match node.attrs.get("value")? {
                Attr::Float(v, _) => Some(*v),
                Attr::Int(v, _) => Some(*v as f64).filter(|x| *x as i128 == i128::from(*v)),
                value @ Attr::Dense(d) if d.splat || d.bytes.len() <= 64 => {
                    let tensor = constant_elements(value).ok()?;
                    let alike = |x: Interval| (x.lo == x.hi).then_some(x.lo);
                    match tensor.as_floats() {
                        Some([first, rest @ ..]) => rest.iter().all(|v| v == first).then_some(*first),
                        Some([]) => None,
                        None if tensor.is_empty() => None,
                        // No number stands for an integer that is none.
                        None => alike(Facts::of(&tensor).interval),
                    }
                }
                _ => None,
            },
            _ => {
                let [operand] = node.operands[..] else { return None };
                let number = self.uniform(operand)?;
                let types = [self.ty(operand)];
                let s = Signature { def: node.def, operands: &types, attrs: node.attrs };
                passes_number(&s, self.ty(term)).then_some(number)
            }
        }
    }

    fn elements(&self, term: Term) -> Option<Tensor> {
        match term {
            Term::Value(v) => elements(self.body, v),
            Term::Made(_) => None,
        }
    }

    fn is_fixed(&self, term: Term) -> bool {
        match (term, self.node(term)) {
            (Term::Value(v), _) => self.fixed.get_or_init(|| fixed(self.body))[v.index()],
            (Term::Made(_), Some(node)) => node.operands.iter().all(|&o| self.is_fixed(o)),
            (Term::Made(_), None) => false,
        }
    }

    fn signs(&self, term: Term) -> Signs {
        match term {
            Term::Value(v) => self.ranges.signs(v),
            Term::Made(n) => self.known(n).1,
        }
    }

    fn parts(&self, term: Term) -> Option<(&'static str, SmallVec<[Term; 2]>)> {
        let node = self.node(term)?;
        super::rational::OPS.contains(&node.def.name).then_some((node.def.name, node.operands))
    }

    fn accumulates(&self, term: Term) -> Option<Format> {
        self.node(term)?.attrs.get("accumulate")?.as_type()?.format()
    }

    fn make(&mut self, def: &'static OpDef, operands: &[Term], attrs: AttrDict) -> Result<Term, String> {
        let made = Made { op: def.name.into(), operands: operands.into(), attrs };
        if let Some(&n) = self.index.get(&made) {
            return Ok(Term::Made(n));
        }
        let types: SmallVec<[Type; 4]> = operands.iter().map(|&t| self.ty(t)).collect();
        let signature = Signature { def, operands: &types, attrs: &made.attrs };
        signature.check()?;
        let results = signature.infer()?;
        let [ty] = results[..] else { return Err(format!("'{}' has {} results", def.name, results.len())) };
        let n = self.made.len() as u32;
        self.index.insert(made.clone(), n);
        self.made.push((made, def, ty, OnceCell::new()));
        Ok(Term::Made(n))
    }
}

/// Whether an op of one operand, with a result of this type, gives the number that all elements of the operand are. A rule
/// speaks of real numbers, which a conversion to another format does not change; one to integers does.
pub(super) fn passes_number(s: &Signature<'_>, ty: Type) -> bool {
    let [from] = s.operands else { return false };
    let as_it_is = from.elem() == ty.elem() || ty.format().is_some();
    as_it_is && moved(s, 0, *from).is_some()
}

/// The elements of a value that is a constant of the body.
pub(super) fn elements(body: &Body, value: Value) -> Option<Tensor> {
    let data = body.op(body.defining_op(value)?);
    data.def.filter(|d| d.traits.constant)?;
    let shape = body.ty(value).shape().unwrap_or_default();
    let shape: Vec<usize> = shape.iter().map(|d| d.known()).collect::<Option<_>>()?;
    constant_elements(data.attrs.get("value")?).ok()?.broadcast_to(&shape).ok()
}

/// Whether an attribute says no more than its absence.
pub(super) fn is_default(value: &Attr, default: AttrDefault) -> bool {
    match default {
        AttrDefault::Int(v) => value.as_float() == Some(v as f64),
        AttrDefault::Float(v) => value.as_float() == Some(v),
        AttrDefault::Bool(v) => value.as_bool() == Some(v),
        AttrDefault::Str(v) => value.as_str() == Some(v),
        _ => false,
    }
}

/// An attribute with its default filled in and its axes counted from the front.
pub(super) fn normalized(s: &Signature<'_>, name: &str) -> Option<Attr> {
    use ngc_ir::op_def::Default;
    let rank = s.operands.first().and_then(|t| t.shape()).map_or(0, <[_]>::len);
    match name {
        "axes" if matches!(s.def.short_name(), "unsqueeze" | "squeeze") => {
            // Of an unsqueeze they count in the result.
            let list = s.ints("axes")?;
            let rank = if s.def.short_name() == "unsqueeze" { rank + list.len() } else { rank };
            let mut axes: Vec<usize> =
                list.iter().map(|&a| infer::normalize_axis(a, rank).ok()).collect::<Option<_>>()?;
            axes.sort_unstable();
            Some(Attr::ints(axes.into_iter().map(|a| a as i64)))
        }
        "axes" => Some(Attr::ints(infer::axes(s, rank).ok()?.into_iter().map(|a| a as i64))),
        "axis" if s.def.short_name() == "iota" => {
            let rank = s.attr("type")?.as_type()?.shape().map_or(0, <[_]>::len);
            Some(Attr::int(infer::normalize_axis(s.int("axis").unwrap_or(0), rank).ok()? as i64))
        }
        "axis" => Some(Attr::int(infer::normalize_axis(s.int("axis")?, rank).ok()? as i64)),
        _ => s.attr(name).cloned().or_else(|| match s.def.attribute(name)?.default {
            Default::Int(v) => Some(Attr::int(v)),
            Default::Float(v) => Some(Attr::float(v)),
            Default::Bool(v) => Some(Attr::Bool(v)),
            Default::Str(v) => Some(v.into()),
            _ => None,
        }),
    }
}

/// Made terms in the order in which they must be emitted.
pub struct Plan(Vec<Step>);

/// Ops that were emitted, all of them before the place where plans go on.
pub type Emitted = FxHashMap<(Ident, SmallVec<[Value; 4]>, AttrDict), Value>;

type Step = (u32, Ident, SmallVec<[Term; 2]>, AttrDict);

impl Plan {
    /// Emits the ops that are not in `known`, where it notes them, and returns the value of the last, which is `term`.
    ///
    /// # Errors
    /// A sentence of the builder; it cannot fail for terms that a [`Graph`] made.
    pub fn emit(&self, b: &mut Builder<'_>, term: Term, known: &mut Emitted) -> Result<Value, String> {
        let mut done: FxHashMap<u32, Value> = FxHashMap::default();
        let value = |t: Term, done: &FxHashMap<u32, Value>| match t {
            Term::Value(v) => Ok(v),
            Term::Made(n) => {
                done.get(&n).copied().ok_or_else(|| format!("term {n} is used before it is made"))
            }
        };
        for (n, op, operands, attrs) in &self.0 {
            let operands =
                operands.iter().map(|&t| value(t, &done)).collect::<Result<SmallVec<[Value; 4]>, _>>()?;
            let key = (*op, operands, attrs.clone());
            let made = match known.get(&key) {
                Some(&made) => made,
                None => b.emit(op.as_str(), &key.1, attrs.clone())?,
            };
            known.insert(key, made);
            done.insert(*n, made);
        }
        value(term, &done)
    }

    /// The plan with other values in place of those of the body.
    pub fn renamed(&self, rename: impl Fn(Value) -> Value) -> Plan {
        let term = |t: &Term| match *t {
            Term::Value(v) => Term::Value(rename(v)),
            made => made,
        };
        let step =
            |(n, op, operands, attrs): &Step| (*n, *op, operands.iter().map(term).collect(), attrs.clone());
        Plan(self.0.iter().map(step).collect())
    }
}
