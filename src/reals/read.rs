//! Reads the ops of a body as terms.
//!
//! Each op is read by its structure, an op that is defined by others through its steps, and anything else as a leaf that
//! depends on all that the op depends on. Integers are read as integers of any size only where they provably stay within
//! their type.

mod constant;
mod gather;

use std::sync::Arc;

use ngc_dialects::ng::constant::stored_tensor;
use ngc_dialects::structure::structures;
use ngc_ir::structure::{Axis, Element, Function as Pointwise, Size, Structure, Unknown};
use ngc_ir::{
    Attr, AttrDict, Body, Builder, Context, Dim, Loc, Op, Resources, Semantics, Signature, Type, Value,
};
use ngc_numerics::{DType, Format, Prim, StoredTensor};
use rustc_hash::FxHashMap;

use crate::store::{Leaf, Operand, Store, digest, within};
use crate::term::{Function, Map, Use};

/// How a value is read: its extents, and its element at place `Axis(0), Axis(1), ...`.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Its extents.
    pub extents: Vec<Size>,
    /// Its element.
    pub element: Use,
}

impl Reading {
    /// The axes that the slots of its term are; nothing where places are no dimensions, or a dimension is left out.
    pub fn axes(&self) -> Option<Vec<usize>> {
        let map = self.element.map.iter();
        let axes: Vec<usize> = map.map(|index| Some(index.as_axis()?.0 as usize)).collect::<Option<_>>()?;
        let long = (0..self.extents.len()).filter(|&n| !self.extents[n].is_one());
        let complete = long.clone().all(|n| axes.contains(&n)) && axes.len() == long.count();
        complete.then_some(axes)
    }
}

/// Reads bodies into a store.
pub struct Reader<'a> {
    store: &'a mut Store,
    context: &'a Context,
    resources: &'a Resources,
    /// The unknown extents that have names.
    names: Vec<(Arc<str>, Unknown)>,
    unknowns: u32,
    values: u32,
}

impl<'a> Reader<'a> {
    /// A reader of bodies whose constants may lie in `resources`.
    pub fn new(store: &'a mut Store, context: &'a Context, resources: &'a Resources) -> Reader<'a> {
        Reader { store, context, resources, names: Vec::new(), unknowns: 0, values: 0 }
    }

    /// Reads all values of the first block of a body. `dims` are the names of the extents that arguments leave open.
    pub fn body(&mut self, body: &Body, dims: &[Vec<Option<Arc<str>>>]) -> FxHashMap<Value, Reading> {
        self.some(body, dims, |_| true)
    }

    /// As [`Reader::body`], where the results of ops that are not wanted are leaves.
    pub fn some(
        &mut self,
        body: &Body,
        dims: &[Vec<Option<Arc<str>>>],
        wanted: impl Fn(Op) -> bool,
    ) -> FxHashMap<Value, Reading> {
        let mut known = FxHashMap::default();
        let Some(block) = body.entry() else { return known };
        for (n, &argument) in body.arguments(block).iter().enumerate() {
            let names = dims.get(n).map_or(&[][..], Vec::as_slice);
            let reading = self.unread(body.ty(argument), names);
            known.insert(argument, reading);
        }
        for op in body.ops(block) {
            if wanted(op) {
                self.op(body, op, &mut known);
            } else {
                known.extend(body.results(op).map(|value| (value, self.unread(body.ty(value), &[]))));
            }
        }
        known
    }

    /// A value of which nothing else is known.
    fn unread(&mut self, ty: Type, names: &[Option<Arc<str>>]) -> Reading {
        let extents = self.extents(ty, names);
        self.values += 1;
        let element = self.store.leaf_use(Leaf::Value(self.values - 1), &extents);
        Reading { extents, element }
    }

    fn extents(&mut self, ty: Type, names: &[Option<Arc<str>>]) -> Vec<Size> {
        let shape = ty.shape().unwrap_or_default();
        let extent = |(n, dim): (usize, &ngc_ir::Dim)| match dim.known() {
            Some(extent) => Size::from(extent),
            None => Size::unknown(self.unknown(names.get(n).cloned().flatten())),
        };
        shape.iter().enumerate().map(extent).collect()
    }

    fn unknown(&mut self, name: Option<Arc<str>>) -> Unknown {
        if let Some((_, known)) = self.names.iter().find(|(known, _)| Some(known) == name.as_ref()) {
            return *known;
        }
        let unknown = Unknown(self.unknowns);
        self.unknowns += 1;
        self.names.extend(name.map(|name| (name, unknown)));
        unknown
    }

    fn op(&mut self, body: &Body, op: Op, known: &mut FxHashMap<Value, Reading>) {
        let operands: Option<Vec<Reading>> =
            body.operands(op).iter().map(|v| known.get(v).cloned()).collect();
        let results = body.result_types(op);
        let pure = body.op(op).def.is_some_and(|def| def.traits.pure);
        let read = operands.filter(|_| pure).and_then(|x| {
            let constant = body.is_constant(op);
            match constant {
                true => Some(vec![self.constant(body.attr(op, "value")?, results.first().copied()?)?]),
                false => body.with_signature(op, |s| self.results(s, &x, &results))?,
            }
        });
        let read = read.unwrap_or_else(|| results.iter().map(|&ty| self.unread(ty, &[])).collect());
        known.extend(body.results(op).zip(read));
    }

    /// What an op makes of values that are read already, in a format that rounds nothing away: its definition on terms.
    pub fn define(&mut self, name: &str, attrs: &AttrDict, operands: &[Reading]) -> Option<Reading> {
        let mut body = Body::new();
        let root = body.root();
        let block = body.add_block(root);
        let ty = |x: &Reading| {
            let dims = x.extents.iter().map(|size| match size.number() {
                Some(n) => Dim::Static(n as usize),
                None => Dim::Dynamic,
            });
            Type::tensor(dims, DType::Float(Format::F64))
        };
        let arguments: Vec<Value> =
            operands.iter().map(|x| body.add_argument(block, ty(x), Loc::Unknown)).collect();
        let mut builder = Builder::at_end(self.context, &mut body, block, Loc::Unknown);
        let op = builder.op(name, &arguments, attrs.clone()).ok()?;
        let mut known: FxHashMap<Value, Reading> =
            arguments.into_iter().zip(operands.iter().cloned()).collect();
        self.op(&body, op, &mut known);
        known.remove(&body.results(op).next()?)
    }

    fn results(&mut self, s: &Signature<'_>, x: &[Reading], results: &[Type]) -> Option<Vec<Reading>> {
        let extents: Vec<Vec<Size>> = x.iter().map(|x| x.extents.clone()).collect();
        let declared = structures(s, &extents).and_then(|found| self.structured(found, x, results));
        if let Some(read) = declared {
            return Some(read);
        }
        if let Some(read) = self.steps(s, x) {
            return Some(read);
        }
        if let Some(picked) = gather::gathered(self.store, s, x) {
            return Some(vec![picked]);
        }
        // What only picks elements does so in every format.
        let picks = s.def.source(s).is_some();
        let operand = |(x, &ty): (&Reading, &Type)| Operand {
            element: x.element.clone(),
            extents: x.extents.clone(),
            ty: if picks && ty.format().is_some() { ty.with_elem(DType::Float(Format::F64)) } else { ty },
        };
        let operands: Vec<Operand> = x.iter().zip(s.operands).map(operand).collect();
        let mut leaves = Vec::new();
        for (n, &ty) in results.iter().enumerate() {
            let extents = self.extents(ty, &[]);
            let leaf = Leaf::Opaque {
                name: ngc_ir::Ident::new(s.def.name),
                attrs: s.attrs.clone(),
                result: n as u32,
                operands: operands.clone(),
            };
            let element = self.store.leaf_use(leaf, &extents);
            leaves.push(Reading { extents, element });
        }
        Some(leaves)
    }

    /// The results of an op that is defined by others.
    fn steps(&mut self, s: &Signature<'_>, x: &[Reading]) -> Option<Vec<Reading>> {
        let Semantics::Decomposition(decompose) = s.def.semantics else { return None };
        let mut inner = Body::new();
        let root = inner.root();
        let block = inner.add_block(root);
        let arguments: Vec<Value> =
            s.operands.iter().map(|&ty| inner.add_argument(block, ty, Loc::Unknown)).collect();
        let mut builder = Builder::at_end(self.context, &mut inner, block, Loc::Unknown);
        let ends = decompose(&mut builder, s, &arguments).ok()?;
        let mut known: FxHashMap<Value, Reading> = arguments.into_iter().zip(x.iter().cloned()).collect();
        for op in inner.ops(block) {
            self.op(&inner, op, &mut known);
        }
        ends.iter().map(|end| known.get(end).cloned()).collect()
    }

    fn structured(&mut self, found: Vec<Structure>, x: &[Reading], results: &[Type]) -> Option<Vec<Reading>> {
        if found.len() != results.len() {
            return None;
        }
        let mut readings = Vec::new();
        for (structure, &ty) in found.into_iter().zip(results) {
            let unknown = self.extents(ty, &[]);
            let extents: Vec<Size> =
                structure.extents.into_iter().zip(unknown).map(|(own, new)| own.unwrap_or(new)).collect();
            let of_integers = ty.elem().is_some_and(|elem| !elem.is_float() && elem != DType::BOOL);
            let truth = ty.elem() == Some(DType::BOOL);
            let element = self.element(&structure.element, truth, x, &extents)?;
            if of_integers && !self.stays_within(&structure.element, &element, ty.elem()?, &extents) {
                return None;
            }
            readings.push(Reading { extents, element });
        }
        Some(readings)
    }

    /// Whether an integer is proven to lie in its type, so that it is what it is over the reals.
    fn stays_within(&self, structure: &Element, element: &Use, elem: DType, extents: &[Size]) -> bool {
        let (least, greatest) = elem.int_range();
        let inside = |low: i128, high: i128| low >= i128::from(least) && high <= i128::from(greatest);
        let mut moves = true;
        structure.each(&mut |part| {
            moves &= match part {
                Element::Read { .. } | Element::Where { .. } => true,
                Element::Number(x) => x.fract() == 0.0 && inside(*x as i128, *x as i128),
                Element::Place(index) => index.range(extents).is_some_and(|(low, high)| inside(low, high)),
                Element::Apply(Pointwise::Choose | Pointwise::Convert(..), _) => true,
                Element::Apply(function, _) => !matches!(function, Pointwise::Real(..)),
                Element::Reduce { .. } => false,
            };
        });
        let place = || self.store.as_place(element, extents)?.range(extents);
        moves || place().is_some_and(|(low, high)| inside(low, high))
    }

    /// An expression over dimensions of these extents, whose value is a number or a truth value.
    fn element(&mut self, element: &Element, truth: bool, x: &[Reading], space: &[Size]) -> Option<Use> {
        match element {
            Element::Number(x) if truth => Some(self.store.truth(*x != 0.0)),
            Element::Number(x) => Some(self.store.number(crate::Number::of(*x))),
            Element::Place(index) => Some(self.store.place(index, space)),
            Element::Read { operand, at } => {
                let by = |Axis(n): Axis| at[n as usize].clone();
                let of = &x[*operand].element;
                let map =
                    of.map.iter().map(|index| index.substituted(&by, space)).collect::<Option<Map>>()?;
                Some(self.store.narrowed(Use { id: of.id, map }, space))
            }
            Element::Apply(function, parts) => {
                let truth = truth && matches!(function, Pointwise::Choose);
                let parts: Option<Vec<Use>> =
                    parts.iter().map(|part| self.element(part, truth, x, space)).collect();
                let parts = parts?;
                Some(self.apply(function, parts, space))
            }
            Element::Reduce { kind, over, body } => {
                let body = self.element(body, false, x, &within(space, over))?;
                Some(self.store.reduce(*kind, over.clone(), body, space))
            }
            Element::Where { tests, yes, no } => {
                let (yes, no) = (self.element(yes, truth, x, space)?, self.element(no, truth, x, space)?);
                Some(self.store.choose_by_place(tests.clone(), yes, no, space))
            }
        }
    }

    fn apply(&mut self, function: &Pointwise, parts: Vec<Use>, space: &[Size]) -> Use {
        let store = &mut *self.store;
        match function {
            Pointwise::Real(f, params) => match f.as_primitive() {
                Some(prim) => store.primitive(prim, parts, space),
                None => store.formula(&f.expr(), params, &parts, space),
            },
            Pointwise::Compare(cmp) => {
                let [a, b] = [parts[0].clone(), parts[1].clone()];
                store.compare(*cmp, a, b, space)
            }
            Pointwise::Logical(logical) => store.apply(Function::Logical(*logical), parts, space),
            Pointwise::Not => store.apply(Function::Not, parts, space),
            Pointwise::Choose => store.apply(Function::Choose, parts, space),
            Pointwise::Classify(class) => store.apply(Function::Classify(*class), parts, space),
            Pointwise::Convert(DType::Float(_), to) if !to.is_float() => {
                let whole = store.primitive(Prim::Trunc, parts.clone(), space);
                let place = store.as_place(&whole, space).and_then(|index| index.range(space));
                let (least, greatest) = to.int_range();
                let inside = place.is_some_and(|(a, b)| a >= i128::from(least) && b <= i128::from(greatest));
                match inside {
                    true => whole,
                    false => store.apply(Function::Convert(DType::Float(Format::F64), *to), parts, space),
                }
            }
            Pointwise::Convert(from, to) => store.apply(Function::Convert(*from, *to), parts, space),
        }
    }

    /// A constant: a number where all elements are alike, a formula of the place where one gives them, else a leaf.
    fn constant(&mut self, value: &Attr, ty: Type) -> Option<Reading> {
        let payload = |key: &str| self.resources.get(key).map(|blob| &blob.bytes);
        let tensor = stored_tensor(value, payload).ok()?;
        let extents = self.extents(ty, &[]);
        let element = match tensor.len() {
            1 if tensor.dtype == DType::BOOL => self.store.truth(tensor.integer(0)? != 0),
            1 => self.store.number(exact(&tensor)?),
            _ => match constant::formula(self.store, &tensor, &extents) {
                Some(formula) => formula,
                None => self.store.leaf_use(Leaf::Constant(content(&tensor)), &extents),
            },
        };
        Some(Reading { extents, element })
    }
}

/// The number that a tensor of one element holds.
fn exact(tensor: &StoredTensor) -> Option<crate::Number> {
    match tensor.integer(0) {
        Some(value) => Some(crate::Number::Finite(value.into())),
        None => tensor.number(0).map(crate::Number::of),
    }
}

/// What the elements of a tensor are.
fn content(tensor: &StoredTensor) -> u128 {
    let places = 0..tensor.len();
    match tensor.dtype.is_float() {
        false => {
            let values: Vec<i64> = places.filter_map(|n| tensor.integer(n)).collect();
            digest(&(tensor.dtype, &tensor.shape()[..], values))
        }
        true => {
            let bits: Vec<u64> = places.filter_map(|n| Some(tensor.number(n)?.to_bits())).collect();
            digest(&(&tensor.shape()[..], bits))
        }
    }
}
