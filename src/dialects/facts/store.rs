//! The facts of the values of a body: signs and flags, the tensors of constants, extents that types leave open, lengths of
//! rows.

use std::sync::Arc;

use ngc_ir::structure::{Element, Index};
use ngc_ir::{Attr, Body, Dim, Op, Resources, Semantics, Signature, Type, Value};
use ngc_numerics::{
    Evaluator, Extent, Figures, Flags, Kinds, Lengths, Mode, Operands, Range, StoredTensor, Tensor,
};
use smallvec::SmallVec;

use super::extents::{self, Extents, with_extents};
use super::{Fact, Signs, moved, of_results, only_chooses};
use crate::fold;
use crate::ng::constant::stored_tensor;
use crate::structure;

/// Facts about the values of one body. Copies share the tensors of constants.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    resources: Resources,
    values: Vec<Entry>,
}

#[derive(Clone, Debug, Default)]
struct Entry {
    constant: Option<Arc<StoredTensor>>,
    flags: Option<Flags>,
    signs: Option<Signs>,
    extents: Option<Extents>,
    lengths: Option<Lengths>,
    kinds: Option<Kinds>,
}

/// What [`Operands`] borrows.
#[derive(Default)]
pub(crate) struct Lent<'a> {
    constants: SmallVec<[Option<&'a Arc<StoredTensor>>; 4]>,
    flags: SmallVec<[Flags; 4]>,
    extents: SmallVec<[&'a [Extent]; 4]>,
    lengths: SmallVec<[Lengths; 4]>,
    kinds: SmallVec<[Option<Kinds>; 4]>,
}

impl<'a> Lent<'a> {
    /// Without what is known of all elements of an operand together.
    pub fn forget(&mut self, operand: usize) {
        (self.constants[operand], self.kinds[operand]) = (None, None);
    }

    pub fn operands<'b>(&'b self, ranges: &'b [Range]) -> Operands<'b>
    where
        'a: 'b,
    {
        let Lent { constants, flags, extents, lengths, kinds } = self;
        Operands { ranges, constants, flags, extents, lengths, kinds }
    }
}

impl Store {
    /// Nothing but the blobs of a module.
    pub fn new(resources: Resources) -> Store {
        Store { resources, values: Vec::new() }
    }

    fn entry(&self, value: Value) -> Option<&Entry> {
        self.values.get(value.index())
    }

    fn entry_mut(&mut self, value: Value) -> &mut Entry {
        if self.values.len() <= value.index() {
            self.values.resize_with(value.index() + 1, Entry::default);
        }
        &mut self.values[value.index()]
    }

    /// The tensor of a constant; one element stands for all where they are alike.
    pub fn constant(&self, value: Value) -> Option<&Arc<StoredTensor>> {
        self.entry(value)?.constant.as_ref()
    }

    /// The flags of a value of a range.
    pub fn flags(&self, value: Value, range: &Range) -> Flags {
        let by_range = Flags::of(&range.hull());
        match self.entry(value).and_then(|e| e.flags) {
            // Ranges may have been narrowed since.
            Some(flags) => flags.and(by_range),
            None => by_range,
        }
    }

    /// What is known of a value of a range, over the reals.
    pub fn fact(&self, value: Value, range: &Range) -> Fact {
        let signs = self.entry(value).and_then(|e| e.signs).unwrap_or(Signs::ANY);
        let integer = self.flags(value, range).integer;
        Fact { integer, ..Fact::of_range(range.exact) }.and(Fact { signs, ..Fact::UNKNOWN })
    }

    /// What is known of values whose ranges are given.
    pub fn lend(&self, values: &[Value], ranges: &[Range]) -> Lent<'_> {
        let extents = |&v: &Value| -> &[Extent] {
            self.entry(v).and_then(|e| e.extents.as_ref()).map_or(&[], |e| &e.by_dimension)
        };
        let lengths = |&v: &Value| self.entry(v).and_then(|e| e.lengths).unwrap_or(Lengths::UNKNOWN);
        Lent {
            constants: values.iter().map(|&v| self.constant(v)).collect(),
            flags: values.iter().zip(ranges).map(|(&v, range)| self.flags(v, range)).collect(),
            extents: values.iter().map(extents).collect(),
            lengths: values.iter().map(lengths).collect(),
            kinds: values.iter().map(|&v| self.kinds(v)).collect(),
        }
    }

    /// The kinds of the elements of a value, where it has two.
    pub fn kinds(&self, value: Value) -> Option<Kinds> {
        self.entry(value)?.kinds
    }

    /// Sets the kinds of the elements of a value.
    pub fn set_kinds(&mut self, value: Value, kinds: Option<Kinds>) {
        self.entry_mut(value).kinds = kinds;
    }

    /// Takes over what is known of operands, of types `types`, for the arguments that stand for them in another body.
    pub fn enter(&mut self, arguments: &[Value], types: &[Type], x: &Operands<'_>) {
        for (i, (&argument, &ty)) in arguments.iter().zip(types).enumerate() {
            let ends = x.extents.get(i).and_then(|extents| {
                let bounded = |end: fn(&Extent) -> f64| with_extents(ty, extents, end);
                Extents::new(ty, bounded(|e| e.least)?, bounded(|e| e.most)?)
            });
            let entry = self.entry_mut(argument);
            entry.constant = x.constants.get(i).copied().flatten().cloned();
            entry.flags = Some(x.flags(i));
            entry.lengths = x.lengths.get(i).copied();
            entry.kinds = x.kinds(i).copied();
            entry.extents = ends;
        }
    }

    /// Bounds the open extents of an argument by its `ng.dim_range`.
    pub fn state_extents(&mut self, argument: Value, ty: Type, ranges: Option<&Attr>) {
        let (Some(shape), Some(ranges)) = (ty.shape(), ranges.and_then(Attr::as_array)) else { return };
        let open: Vec<usize> = (0..shape.len()).filter(|&d| shape[d] == Dim::Dynamic).collect();
        // In the order of all dimensions, or of the open ones.
        let of = |d: usize| match ranges.len() {
            n if n == open.len() => ranges.get(open.iter().position(|&o| o == d)?),
            n if n == shape.len() => ranges.get(d),
            _ => None,
        };
        let end = |which: usize| {
            let dims = shape.iter().enumerate().map(|(d, &dim)| {
                let stated = || usize::try_from(of(d)?.as_array()?.get(which)?.as_int()?).ok();
                if dim == Dim::Dynamic { stated().map_or(dim, Dim::Static) } else { dim }
            });
            ty.elem().map(|elem| Type::tensor(dims, elem))
        };
        let ends = end(0).zip(end(1)).and_then(|(least, most)| Extents::new(ty, least, most));
        self.entry_mut(argument).extents = ends;
    }

    /// The tensor of a constant op.
    pub fn read(&self, body: &Body, op: Op) -> Option<Arc<StoredTensor>> {
        if !body.op(op).def?.traits.constant {
            return None;
        }
        let payload = |key: &str| self.resources.get(key).map(|blob| &blob.bytes);
        stored_tensor(body.attr(op, "value")?, payload).ok().map(Arc::new)
    }

    /// Sets what is known of a constant.
    pub fn set_constant(&mut self, value: Value, tensor: Arc<StoredTensor>) {
        let facts = tensor.facts();
        let (flags, signs) = (facts.flags, Fact::of_constant(&facts).signs);
        let entry = self.entry_mut(value);
        (entry.constant, entry.flags, entry.signs) = (Some(tensor), Some(flags), Some(signs));
    }

    /// What the results of an op inherit from its operands.
    pub fn step(&mut self, body: &Body, op: Op, ranges: &[Range], found: &[Figures]) {
        let Some((s_def, operands)) = body.op(op).def.zip(Some(body.operands(op))) else { return };
        let types = body.operand_types(op);
        let s = Signature { def: s_def, operands: &types, attrs: &body.op(op).attrs };
        let lent = self.lend(operands, ranges);
        let x = lent.operands(ranges);
        let facts: SmallVec<[Fact; 4]> = operands.iter().zip(ranges).map(|(&v, r)| self.fact(v, r)).collect();
        let facts = of_results(&s, &facts, &body.result_types(op));
        let flag = |n: usize| flags(&s, &x, n, body.ty(body.result(op, n)), &found[n].range, &facts[n].fact);
        let flags: SmallVec<[Flags; 2]> = (0..found.len()).map(flag).collect();
        let constant = rearranged(&s, &x, &body.result_types(op));
        let lengths = found.first().and_then(|figures| s.def.lengths?(&s, &x, figures));
        drop(lent);
        let extents = self.inferred(&s, operands, &body.result_types(op));
        for (n, value) in body.results(op).enumerate().take(found.len()) {
            let entry = self.entry_mut(value);
            entry.flags = flags.get(n).copied();
            entry.signs = facts.get(n).map(|found| found.fact.signs);
            entry.constant = constant.clone().filter(|_| n == 0);
            entry.lengths = lengths.filter(|_| n == 0);
            entry.extents = extents.get(n).cloned().flatten();
        }
    }

    /// The value of a result that places, integers and truth values decide, from those of constants.
    pub fn compute(&mut self, body: &Body, op: Op) -> Option<Arc<StoredTensor>> {
        /// Elements of operands and results.
        const MOST: usize = 1 << 16;
        let small = |ty: Type| ty.static_shape().filter(|shape| shape.iter().product::<usize>() <= MOST);
        let value = body.result(op, 0);
        if let Some(known) = self.constant(value) {
            return Some(known.clone());
        }
        body.op(op).def.filter(|def| def.traits.pure)?;
        let ty = body.ty(value);
        let shape = small(ty)?;
        let whole = |&v: &Value| {
            let (tensor, shape) = (self.constant(v)?, small(body.ty(v))?);
            // One element stands for all.
            let view = || tensor.viewed(&shape, tensor.layout().0, &vec![0; shape.len()]);
            Some(if tensor.len() == 1 { view()?.tensor() } else { tensor.tensor() })
        };
        let operands = body.operands(op).iter().map(whole).collect::<Option<Vec<Tensor>>>()?;
        let found = body.with_signature(op, |s| {
            let decides = ty.format().is_none() || only_chooses(s);
            decides.then(|| fold::evaluate(Mode::Rounded, s, &operands, ty))?
        })??;
        if found.dtype != ty.elem()? || found.shape != shape {
            return None;
        }
        let found = Arc::new(StoredTensor::of(&found));
        self.entry_mut(value).constant = Some(found.clone());
        Some(found)
    }

    /// The extents of results: what is inferred from the least ones of the operands, and from the greatest.
    fn inferred(
        &self,
        s: &Signature<'_>,
        operands: &[Value],
        results: &[Type],
    ) -> SmallVec<[Option<Extents>; 1]> {
        let known = |v: &Value| self.entry(*v).and_then(|e| e.extents.as_ref());
        let none = || results.iter().map(|_| None).collect();
        if !operands.iter().any(|v| known(v).is_some()) || !extents::grow(s) {
            return none();
        }
        let end = |of: fn(&Extents) -> Type| -> Option<Vec<Type>> {
            let types: SmallVec<[Type; 4]> =
                operands.iter().zip(s.operands).map(|(v, &ty)| known(v).map_or(ty, of)).collect();
            Signature { operands: &types, ..*s }.infer().ok()
        };
        let (Some(least), Some(most)) = (end(|e| e.least), end(|e| e.most)) else { return none() };
        results.iter().zip(least.iter().zip(&most)).map(|(&ty, (&a, &b))| Extents::new(ty, a, b)).collect()
    }
}

/// The flags of a result, from what is known of the operands and from its range.
fn flags(s: &Signature<'_>, x: &Operands<'_>, n: usize, ty: Type, range: &Range, fact: &Fact) -> Flags {
    let by_range = Flags::of(&range.hull());
    if ty.format().is_none() {
        return Flags { integer: true, negative_zero: false, ..by_range };
    }
    match moved(s, n, ty) {
        Some(from) => from.iter().map(|&i| x.flags(i)).fold(Flags::NONE, Flags::or).and(by_range),
        None => Flags { integer: fact.integer || by_range.integer, ..by_range },
    }
}

/// The constant that an op makes of one constant by moving its elements, or changing their type without loss.
fn rearranged(s: &Signature<'_>, x: &Operands<'_>, results: &[Type]) -> Option<Arc<StoredTensor>> {
    let (tensor, [ty], [from]) = (x.constant(0)?, results, s.operands) else { return None };
    let (shape, dtype) = (ty.static_shape()?, ty.elem()?);
    if tensor.dtype != dtype {
        moved(s, 0, *from)?;
        return tensor.converted(dtype).map(Arc::new);
    }
    moved(s, 0, *ty)?;
    if tensor.len() == 1 && !shape.contains(&0) {
        return tensor.viewed(&vec![1; shape.len()], tensor.layout().0, &vec![0; shape.len()]).map(Arc::new);
    }
    // What has each element many times over would be looked at as often.
    if shape.iter().product::<usize>() > tensor.len() {
        return None;
    }
    viewed(s, tensor, &shape).or_else(|| evaluated(s, tensor)).map(Arc::new)
}

/// The elements of a constant in other places, where these go by equal steps through the store.
fn viewed(s: &Signature<'_>, tensor: &StoredTensor, shape: &[usize]) -> Option<StoredTensor> {
    let extents = structure::known(*s.operands.first()?)?;
    let [of] = &structure::structures(s, &[extents])?[..] else { return None };
    let Element::Read { operand: 0, at } = &of.element else { return None };
    let (offset, strides) = tensor.layout();
    let mut place = Index::number(i64::try_from(offset).ok()?);
    for (index, &stride) in at.iter().zip(&strides) {
        place = place.plus(&index.scaled(i64::try_from(stride).ok()?)?)?;
    }
    let (offset, factors) = place.as_affine()?;
    let stride = |d: usize| {
        let own = factors.iter().find(|(axis, _)| axis.0 as usize == d);
        own.map_or(Some(0), |&(_, factor)| isize::try_from(factor).ok())
    };
    let strides = (0..shape.len()).map(stride).collect::<Option<Vec<isize>>>()?;
    tensor.viewed(shape, isize::try_from(offset).ok()?, &strides)
}

fn evaluated(s: &Signature<'_>, tensor: &StoredTensor) -> Option<StoredTensor> {
    let Semantics::Primitive(evaluate) = s.def.semantics else { return None };
    let results = evaluate(&Evaluator { mode: Mode::Rounded }, s, &[&tensor.tensor()]).ok()?;
    let [moved] = &results[..] else { return None };
    Some(StoredTensor::of(moved))
}
