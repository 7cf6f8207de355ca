//! What the elements of values are made of: the ops of a body, and those by which they are defined.

use std::rc::Rc;

use ngc_dialects::structure::{pointwise, structures};
use ngc_ir::module::Resources;
use ngc_ir::structure::{Coordinate, Element, Function, Size};
use ngc_ir::{AttrDict, Body, Builder, Context, Dim, Loc, Op, OpDef, Semantics, Signature, Type, Value};
use ngc_numerics::{DType, StoredTensor, SumMethod};
use rustc_hash::FxHashMap;

/// A value.
pub struct Node {
    /// Its extents, all known.
    pub shape: Vec<usize>,
    /// The type of its elements.
    pub elem: DType,
    /// Its type.
    ty: Type,
    /// What its elements are.
    pub meaning: Meaning,
}

/// What the elements of a value are.
pub enum Meaning {
    /// Given from outside.
    Argument(Value),
    /// Those of a tensor, or all its only one.
    Constant(StoredTensor),
    /// Made of elements of other values.
    Made(Made),
    /// Elements of the first operand, each from a place along its dimensions that other operands give.
    Picked(Vec<Coordinate>, Vec<Option<usize>>),
    /// Not known.
    Opaque,
}

/// How the elements of a value are made.
pub struct Made {
    /// Of which elements of the operands.
    pub element: Element,
    /// The operands, by number; nothing where not even the type is known.
    pub operands: Vec<Option<usize>>,
    /// The type in which they are computed.
    pub format: DType,
    /// The type in which integers are: places that are reckoned with do not leave 64 bits.
    pub integers: DType,
    /// Whether operands are rounded to it first.
    pub rounds: bool,
    /// How sums are added up.
    pub method: SumMethod,
    /// Whether reductions run from the last place to the first.
    pub backwards: bool,
    /// Whether what a choice by place leaves out of a reduction is no term of it. Otherwise it is one that changes nothing
    /// but where other terms stand in a tree of sums.
    pub sparse: bool,
}

/// The values that were asked for so far, and what they are made of.
pub struct Graph<'a> {
    context: &'a Context,
    resources: &'a Resources,
    extents: super::Extent<'a>,
    /// All values, operands first.
    pub nodes: Vec<Rc<Node>>,
    known: FxHashMap<Value, Option<usize>>,
}

impl<'a> Graph<'a> {
    /// Of no value yet.
    pub fn new(context: &'a Context, resources: &'a Resources, extents: super::Extent<'a>) -> Graph<'a> {
        Graph { context, resources, extents, nodes: Vec::new(), known: FxHashMap::default() }
    }

    /// The node of a value of the body; nothing where its extents are not known.
    pub fn node(&mut self, body: &Body, value: Value) -> Option<usize> {
        let mut open = vec![value];
        while let Some(&value) = open.last() {
            let Some(op) = body.defining_op(value).filter(|_| !self.known.contains_key(&value)) else {
                open.pop();
                if !self.known.contains_key(&value) {
                    let node = self.argument(body, value);
                    self.known.insert(value, node);
                }
                continue;
            };
            let before = open.len();
            open.extend(body.operands(op).iter().filter(|v| !self.known.contains_key(v)));
            if open.len() == before {
                let operands = body.operands(op).iter().map(|v| self.known[v]).collect();
                let results = self.op(body, op, operands);
                self.known.extend(body.results(op).zip(results));
            }
        }
        self.known[&value]
    }

    fn add(&mut self, ty: Type, meaning: Meaning) -> Option<usize> {
        let shape = match ty.shape() {
            Some(_) => ty.static_shape()?,
            None => Vec::new(),
        };
        ngc_numerics::tensor::element_count(&shape).ok()?;
        self.nodes.push(Rc::new(Node { shape, elem: ty.elem()?, ty, meaning }));
        Some(self.nodes.len() - 1)
    }

    fn argument(&mut self, body: &Body, value: Value) -> Option<usize> {
        let ty = body.ty(value);
        let ty = match ty.as_tensor() {
            None => ty,
            Some(tensor) => {
                let extent =
                    |(n, dim): (usize, &Dim)| dim.known().unwrap_or_else(|| (self.extents)(value, n));
                let shape = ty.shape()?.iter().enumerate();
                Type::tensor(shape.map(extent).map(Dim::Static).collect::<Vec<_>>(), tensor.elem)
            }
        };
        self.add(ty, Meaning::Argument(value))
    }

    /// The nodes of the results of an op.
    fn op(&mut self, body: &Body, op: Op, operands: Vec<Option<usize>>) -> Vec<Option<usize>> {
        let data = body.op(op);
        let types: Option<Vec<Type>> = operands.iter().map(|n| Some(self.nodes[(*n)?].ty)).collect();
        let found = data.def.filter(|def| def.traits.pure).zip(types.as_deref());
        let found = found.and_then(|(def, types)| self.meaning(def, types, &data.attrs, &operands));
        found.unwrap_or_else(|| {
            body.result_types(op).iter().map(|&ty| self.add(ty, Meaning::Opaque)).collect()
        })
    }

    fn meaning(
        &mut self,
        def: &'static OpDef,
        types: &[Type],
        attrs: &AttrDict,
        operands: &[Option<usize>],
    ) -> Option<Vec<Option<usize>>> {
        let s = Signature { def, operands: types, attrs };
        if def.traits.constant {
            let tensor = super::tensor(attrs.get("value")?, self.resources)?;
            return Some(vec![self.add(s.infer().ok()?.pop()?, Meaning::Constant(tensor))]);
        }
        if let Semantics::Decomposition(_) = def.semantics
            && let Some(results) = self.steps(&s, operands)
        {
            return Some(results);
        }
        let results = s.infer().ok()?;
        let shape = |ty: &Type| ty.static_shape().unwrap_or_default().into_iter().map(Size::from).collect();
        let extents: Vec<Vec<Size>> = types.iter().map(shape).collect();
        let elementwise = matches!(def.semantics, Semantics::Elementwise(_));
        let found = match def.semantics {
            Semantics::Elementwise(of) => {
                let of = of(&s).ok()?;
                pointwise(&extents, Function::Real(of.function, of.params))
            }
            _ => structures(&s, &extents),
        };
        let Some(found) = found.filter(|found| found.len() == results.len()) else {
            let picked = def.pick.and_then(|pick| pick(&s, &extents));
            let picked = picked.map(|pick| Meaning::Picked(pick.at, operands.to_vec()));
            return match (picked, &results[..]) {
                (Some(picked), &[ty]) => Some(vec![self.add(ty, picked)]),
                _ => Some(results.iter().map(|&ty| self.add(ty, Meaning::Opaque)).collect()),
            };
        };
        let mut nodes = Vec::new();
        for (structure, ty) in found.into_iter().zip(results) {
            let elem = ty.elem()?;
            let made = Made {
                element: structure.element,
                operands: operands.to_vec(),
                format: elem.format().map_or(elem, |format| DType::Float(s.accumulate(format))),
                integers: if elementwise && !elem.is_float() { elem } else { DType::Index },
                rounds: s.attr("accumulate").is_some(),
                method: s.sum_method(),
                backwards: s.flag("reverse"),
                sparse: def.attribute("sum").is_none(),
            };
            nodes.push(self.add(ty, Meaning::Made(made)));
        }
        Some(nodes)
    }

    /// The results of an op that is defined by others.
    fn steps(&mut self, s: &Signature<'_>, operands: &[Option<usize>]) -> Option<Vec<Option<usize>>> {
        let Semantics::Decomposition(decompose) = s.def.semantics else { return None };
        let mut inner = Body::new();
        let root = inner.root();
        let block = inner.add_block(root);
        let arguments: Vec<Value> =
            s.operands.iter().map(|&ty| inner.add_argument(block, ty, Loc::Unknown)).collect();
        let mut builder = Builder::at_end(self.context, &mut inner, block, Loc::Unknown);
        let ends = decompose(&mut builder, s, &arguments).ok()?;
        let mut known: FxHashMap<Value, Option<usize>> =
            arguments.into_iter().zip(operands.iter().copied()).collect();
        for op in inner.ops(block) {
            let operands = inner.operands(op).iter().map(|v| known.get(v).copied().flatten()).collect();
            let results = self.op(&inner, op, operands);
            known.extend(inner.results(op).zip(results));
        }
        Some(ends.iter().map(|end| known.get(end).copied().flatten()).collect())
    }
}
