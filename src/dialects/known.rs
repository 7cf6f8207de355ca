//! What is known of values beside ranges and errors: the tensors of constants, flags, and the extents that their types
//! leave open.

use std::sync::Arc;

use ngc_ir::{Attr, Body, Dim, Op, Resources, Semantics, Signature, Type, Value};
use ngc_numerics::figures::{add, magnitude, mul};
use ngc_numerics::{
    DType, Data, Evaluator, Extent, Facts, Figures, Flags, Interval, Lengths, Mode, Operands, Range, Tensor,
};
use smallvec::SmallVec;

use crate::bounds::sqrt_up;
use crate::facts::{self, Fact, Signs};
use crate::ng::constant::constant_tensor;
use crate::ng::infer;
use crate::transfer::extent;

/// Facts about the values of one body. Copies share the tensors of constants.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    resources: Resources,
    values: Vec<Entry>,
}

#[derive(Clone, Debug, Default)]
struct Entry {
    constant: Option<Arc<Tensor>>,
    flags: Option<Flags>,
    signs: Option<Signs>,
    extents: Option<Extents>,
    lengths: Option<Lengths>,
}

/// The type of a value with the least and with the greatest extents that its `?` may have, where they are known.
#[derive(Clone, Debug)]
struct Extents {
    least: Type,
    most: Type,
    by_dimension: Arc<[Extent]>,
}

impl Extents {
    fn new(ty: Type, least: Type, most: Type) -> Option<Extents> {
        let (shape, lows, highs) = (ty.shape()?, least.shape()?, most.shape()?);
        if lows.len() != shape.len() || highs.len() != shape.len() {
            return None;
        }
        let mut news = false;
        let mut by_dimension = Vec::with_capacity(shape.len());
        for ((dim, low), high) in shape.iter().zip(lows).zip(highs) {
            by_dimension.push(match (dim.known(), low.known(), high.known()) {
                (Some(n), ..) => Extent::exactly(n as f64),
                (None, Some(low), Some(high)) if low <= high => {
                    news = true;
                    Extent { least: low as f64, most: high as f64 }
                }
                _ => Extent::UNKNOWN,
            });
        }
        news.then(|| Extents { least, most, by_dimension: by_dimension.into() })
    }
}

/// What [`Operands`] borrows.
#[derive(Default)]
pub(crate) struct Lent<'a> {
    constants: SmallVec<[Option<&'a Arc<Tensor>>; 4]>,
    flags: SmallVec<[Flags; 4]>,
    extents: SmallVec<[&'a [Extent]; 4]>,
    lengths: SmallVec<[Lengths; 4]>,
}

impl<'a> Lent<'a> {
    pub fn operands<'b>(&'b self, ranges: &'b [Range]) -> Operands<'b>
    where
        'a: 'b,
    {
        let Lent { constants, flags, extents, lengths } = self;
        Operands { ranges, constants, flags, extents, lengths }
    }
}

impl Known {
    /// Nothing but the blobs of a module.
    pub fn new(resources: Resources) -> Known {
        Known { resources, values: Vec::new() }
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
    pub fn constant(&self, value: Value) -> Option<&Arc<Tensor>> {
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
        }
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

    /// The tensor of a constant op, and facts of it.
    pub fn read(&self, body: &Body, op: Op) -> Option<(Arc<Tensor>, Facts)> {
        if !body.op(op).def?.traits.constant {
            return None;
        }
        let blob = |key: &str| self.resources.get(key).map(|blob| &*blob.bytes);
        let tensor = constant_tensor(body.attr(op, "value")?, blob).ok()?;
        let facts = Facts::of(&tensor);
        Some((Arc::new(tensor), facts))
    }

    /// Sets what is known of a constant.
    pub fn set_constant(&mut self, value: Value, tensor: Arc<Tensor>, facts: &Facts) {
        let (flags, signs) = (facts.flags, Fact::of_constant(facts).signs);
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
        let facts = facts::of_results(&s, &facts, &body.result_types(op));
        let flag = |n: usize| flags(&s, &x, body.ty(body.result(op, n)), &found[n].range, &facts[n].fact);
        let flags: SmallVec<[Flags; 2]> = (0..found.len()).map(flag).collect();
        let constant = rearranged(&s, &x, &body.result_types(op));
        let lengths = found.first().and_then(|figures| lengths(&s, &x, figures));
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

    /// The extents of results: what is inferred from the least ones of the operands, and from the greatest.
    fn inferred(
        &self,
        s: &Signature<'_>,
        operands: &[Value],
        results: &[Type],
    ) -> SmallVec<[Option<Extents>; 1]> {
        let known = |v: &Value| self.entry(*v).and_then(|e| e.extents.as_ref());
        let none = || results.iter().map(|_| None).collect();
        if !operands.iter().any(|v| known(v).is_some()) || !grows_with_extents(s) {
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

fn with_extents(ty: Type, extents: &[Extent], end: impl Fn(&Extent) -> f64) -> Option<Type> {
    let dims = ty.shape()?.iter().zip(extents).map(|(&dim, extent)| match end(extent) {
        n if extent.most.is_finite() && dim == Dim::Dynamic => Dim::Static(n as usize),
        _ => dim,
    });
    Some(Type::tensor(dims, ty.elem()?))
}

/// Whether no extent of a result shrinks where one of an operand grows. Slices from the end, splits and windows do not
/// promise it.
fn grows_with_extents(s: &Signature<'_>) -> bool {
    matches!(s.def.semantics, Semantics::Elementwise(_))
        || s.def.short_name().starts_with("reduce_")
        || matches!(
            s.def.short_name(),
            "matmul"
                | "affine"
                | "transpose"
                | "reshape"
                | "flatten"
                | "squeeze"
                | "unsqueeze"
                | "concat"
                | "reverse"
                | "tile"
                | "convert"
                | "select"
                | "where"
                | "compare"
                | "softmax"
                | "log_softmax"
                | "logsumexp"
                | "variance"
                | "norm"
                | "layer_norm"
                | "rms_norm"
                | "group_norm"
                | "batch_norm"
                | "normalize"
                | "attention"
        )
}

/// The rows of normalised values: of a softmax along the last axis no longer than 1, of n numbers over their root mean
/// square no longer than `√n`, scaled and shifted. These hold for every operand, so computed rows differ by the rounding of
/// the op alone.
fn lengths(s: &Signature<'_>, x: &Operands<'_>, found: &Figures) -> Option<Lengths> {
    let rank = s.operands.first()?.shape()?.len();
    let last = rank.checked_sub(1)?;
    let unit = match s.def.short_name() {
        "softmax" => true,
        "layer_norm" | "rms_norm" if s.float("epsilon")? >= 0.0 => false,
        _ => return None,
    };
    let axis = infer::axis(s, rank).ok()?;
    if axis != last || !found.delta.is_finite() || found.range.exact.may_be_nan {
        return None;
    }
    let root = sqrt_up(extent(s, x, 0, last).most);
    let end = |of: fn(&Range) -> Interval| {
        let size = |i: usize| x.get(i).map(|r| magnitude(&of(r)));
        match unit {
            true => 1.0,
            false => add(mul(root, size(1).unwrap_or(1.0)), mul(root, size(2).unwrap_or(0.0))),
        }
    };
    let computed = add(end(|r| r.computed), mul(root, found.delta));
    Some(Lengths { exact: end(|r| r.exact), computed })
}

/// The flags of a result, from what is known of the operands and from its range.
fn flags(s: &Signature<'_>, x: &Operands<'_>, ty: Type, range: &Range, fact: &Fact) -> Flags {
    let by_range = Flags::of(&range.hull());
    if ty.format().is_none() {
        return Flags { integer: true, negative_zero: false, ..by_range };
    }
    match s.def.short_name() {
        // Elements of operands as they are.
        "transpose" | "reshape" | "squeeze" | "unsqueeze" | "flatten" | "broadcast_to" | "slice"
        | "reverse" | "tile" | "gather" | "gather_elements" | "split" => x.flags(0).and(by_range),
        "concat" => (0..x.ranges.len()).map(|i| x.flags(i)).fold(Flags::NONE, Flags::or).and(by_range),
        "select" | "where" if x.ranges.len() == 3 => x.flags(1).or(x.flags(2)).and(by_range),
        _ => Flags { integer: fact.integer || by_range.integer, ..by_range },
    }
}

/// The constant that an op makes of one constant by changing its shape, or its type without loss.
fn rearranged(s: &Signature<'_>, x: &Operands<'_>, results: &[Type]) -> Option<Arc<Tensor>> {
    let (tensor, [ty]) = (x.constant(0)?, results) else { return None };
    let name = s.def.short_name();
    let moves = matches!(name, "transpose" | "reshape" | "squeeze" | "unsqueeze" | "flatten");
    if x.ranges.len() != 1 || !(moves || name == "convert") {
        return None;
    }
    let (rank, dtype) = (ty.static_shape()?.len(), ty.elem()?);
    let alike = tensor.len() == 1;
    if alike || name != "transpose" {
        let shape = if alike { vec![1; rank] } else { ty.static_shape()? };
        let same = match (&tensor.data, tensor.dtype, dtype) {
            (_, from, to) if from == to => true,
            (Data::Float(values), _, DType::Float(to)) => values.iter().all(|&v| to.contains(v)),
            _ => false,
        };
        return same.then(|| Arc::new(Tensor { dtype, shape, data: tensor.data.clone() }));
    }
    let Semantics::Primitive(evaluate) = s.def.semantics else { return None };
    let [moved] = &mut evaluate(&Evaluator { mode: Mode::Rounded }, s, &[tensor]).ok()?[..] else {
        return None;
    };
    Some(Arc::new(std::mem::replace(moved, Tensor::bool_scalar(false))))
}
