//! Operands that fit an op, with the attributes that they determine.

use ngc_ir::op_def::{Arity, ValueKind};
use ngc_ir::{Attr, AttrDict, OpDef, Type, Value};
use ngc_numerics::{DType, Format, Tensor};

use super::{Sketch, numbers};

const I64: DType = DType::Int(64);

impl Sketch<'_> {
    fn extent(&mut self) -> usize {
        match self.r.below(100) {
            0..2 => 0,
            2..16 => 1,
            16..97 => 2 + self.r.below(3),
            _ => 5 + self.r.below(60),
        }
    }

    /// A shape of at most three dimensions and, with few exceptions, 24 elements.
    pub(super) fn shape(&mut self) -> Vec<usize> {
        let rank = self.r.below(4);
        let mut shape: Vec<usize> = (0..rank).map(|_| self.extent()).collect();
        while shape.iter().product::<usize>() > 24 && shape.len() > 1 {
            shape.pop();
        }
        shape
    }

    fn shape_of(&self, v: Value) -> Vec<usize> {
        self.body.ty(v).static_shape().unwrap_or_default()
    }

    fn elem_of(&self, v: Value) -> DType {
        self.body.ty(v).elem().unwrap_or(I64)
    }

    /// An earlier value for which `fits` holds, a recent one more often.
    fn earlier(&mut self, fits: impl Fn(&Self, Value) -> bool) -> Option<Value> {
        let found: Vec<Value> = self.pool.iter().copied().filter(|&v| fits(self, v)).collect();
        let recent = &found[found.len().saturating_sub(4)..];
        (!found.is_empty()).then(|| if self.r.chance(40) { self.r.pick(recent) } else { self.r.pick(&found) })
    }

    fn element(&mut self, kind: ValueKind) -> DType {
        let integer = self.r.pick(&[I64, DType::Int(32), DType::Int(8), DType::Unsigned(8), DType::Index]);
        match kind {
            ValueKind::Bool => DType::BOOL,
            ValueKind::Int => integer,
            ValueKind::Any if self.r.chance(5) => DType::BOOL,
            ValueKind::Number | ValueKind::Any if self.r.chance(12) => integer,
            _ => DType::Float(self.format),
        }
    }

    /// Any value of a kind, of a rank of at least `rank`.
    fn first(&mut self, kind: ValueKind, rank: usize) -> Value {
        let integers = kind != ValueKind::Float && self.r.chance(20);
        let fits = |s: &Self, v: Value| {
            let ty = s.body.ty(v);
            kind.admits(ty) && s.shape_of(v).len() >= rank && (!integers || ty.format().is_none())
        };
        if !self.r.chance(8)
            && let Some(v) = self.earlier(fits)
        {
            return v;
        }
        let elem = self.element(kind);
        let mut shape = self.shape();
        while shape.len() < rank {
            let extent = self.extent().min(8);
            shape.push(extent);
        }
        if self.r.chance(40) { self.constant(elem, &shape) } else { self.argument(elem, &shape) }
    }

    /// A value of a type: an earlier one, a constant, or a new argument.
    fn of(&mut self, elem: DType, shape: &[usize]) -> Value {
        let fits = |s: &Self, v: Value| s.elem_of(v) == elem && s.shape_of(v) == shape;
        match self.r.below(10) {
            0..6 => self.earlier(fits).unwrap_or_else(|| self.argument(elem, shape)),
            6..9 => self.constant(elem, shape),
            _ => self.argument(elem, shape),
        }
    }

    /// A value whose shape broadcasts with `shape`, or nearly always.
    fn beside(&mut self, elem: DType, shape: &[usize]) -> Value {
        let mut own = shape[self.r.below(shape.len() + 1) * usize::from(self.r.chance(30))..].to_vec();
        for n in &mut own {
            if self.r.chance(12) {
                *n = 1;
            }
        }
        if self.r.chance(20) {
            let fits = |s: &Self, v: Value| s.elem_of(v) == elem;
            if let Some(v) = self.earlier(fits) {
                return v;
            }
        }
        self.of(elem, &own)
    }

    /// Indices from `least` to before `end`: constants, arguments, or computed numbers that are cut to what is valid.
    fn indices(&mut self, shape: &[usize], least: i64, end: i64) -> Value {
        let range = (least as f64, (end - 1) as f64);
        match self.r.below(10) {
            0..5 => {}
            5..7 => return self.argument_in(I64, shape, range),
            _ => {
                if let Some(v) = self.computed_indices(shape, range) {
                    return v;
                }
            }
        }
        let tensor = numbers::integers(self.r, I64, shape, least, end - 1);
        self.constant_of(&tensor)
    }

    /// Numbers clamped to a range and cut to integers.
    fn computed_indices(&mut self, shape: &[usize], (least, greatest): (f64, f64)) -> Option<Value> {
        let format = self.format;
        if !format.contains(least) || !format.contains(greatest) {
            return None;
        }
        let fits = |s: &Self, v: Value| s.elem_of(v) == DType::Float(format) && s.shape_of(v) == shape;
        let x = self.earlier(fits).unwrap_or_else(|| self.argument(DType::Float(format), shape));
        let [low, high] = [least, greatest].map(|end| self.constant_of(&Tensor::scalar(format, end)));
        let cut = self.op("ng.clamp", &[x, low, high], AttrDict::EMPTY)?;
        let cut = self.body.result(cut, 0);
        let to = AttrDict::from([("to", Attr::Type(Type::scalar(I64)))]);
        let whole = self.op("ng.convert", &[cut], to)?;
        Some(self.body.result(whole, 0))
    }

    /// A value of an integer type that something rounded has decided, so that it may wrap in one way as computed and in
    /// another over the reals.
    pub(super) fn decided_integer(&mut self) {
        let format = self.format;
        let Some(x) = self.earlier(|s, v| s.elem_of(v) == DType::Float(format)) else { return };
        let elem = self.r.pick(&[
            DType::Int(8),
            DType::Unsigned(8),
            DType::Int(16),
            DType::Unsigned(16),
            DType::Int(32),
            I64,
        ]);
        self.op("ng.convert", &[x], AttrDict::from([("to", Attr::Type(Type::scalar(elem)))]));
    }

    /// A reduction, contraction or normalisation of thousands of elements.
    pub(super) fn long(&mut self) {
        let n = 1000 + self.r.below(3500);
        let elem = DType::Float(self.format);
        let range = self.r.pick(&[(-1.0, 1.0), (0.0, 1.0), (0.5, 1.0), (-8.0, 8.0)]);
        let x = self.argument_in(elem, &[n], range);
        let mut attrs = AttrDict::EMPTY;
        let methods = ["naive", "pairwise", "kahan", "neumaier"];
        attrs.set("sum", Attr::from(self.r.pick(&methods)));
        if self.r.chance(50) {
            attrs.set("accumulate", Attr::Type(Type::float(self.r.pick(&[Format::F32, Format::F64]))));
        }
        let reductions =
            ["reduce_sum", "reduce_mean", "logsumexp", "variance", "norm", "softmax", "log_softmax"];
        if self.r.chance(30) {
            let w = if self.r.chance(50) {
                self.argument_in(elem, &[n], range)
            } else {
                self.constant(elem, &[n])
            };
            self.op("ng.matmul", &[x, w], attrs);
        } else {
            let name = format!("ng.{}", self.r.pick(&reductions));
            self.op(&name, &[x], attrs);
        }
    }

    /// A shape no longer than `shape` in any dimension.
    fn within(&mut self, shape: &[usize]) -> Vec<usize> {
        shape.iter().map(|&n| if n == 0 { 0 } else { 1 + self.r.below(n) }).collect()
    }

    /// Operands of an op, and the attributes that go with them.
    pub(super) fn operands(&mut self, op: &'static OpDef) -> Option<(Vec<Value>, AttrDict)> {
        let Some(first) = op.operands.first() else { return Some((Vec::new(), AttrDict::EMPTY)) };
        let rank = match op.short_name() {
            "matmul" | "gather" | "gather_elements" | "gather_nd" | "scatter_elements" | "scatter_nd"
            | "split" | "slice" | "topk" | "concat" | "cross_entropy" | "nll" | "argmax" | "argmin"
            | "softmax" | "log_softmax" | "sort" | "cumsum" | "cumprod" | "layer_norm" | "rms_norm" => 1,
            "affine" | "batch_norm" | "group_norm" | "attention" | "tril" | "triu" | "global_avg_pool" => 2,
            "conv" => 3,
            _ => 0,
        };
        let x = self.first(first.kind, rank);
        let (shape, elem) = (self.shape_of(x), self.elem_of(x));
        let rank = shape.len();
        let axis = self.r.below(rank.max(1));
        let n = shape.get(axis).copied().unwrap_or(1);
        let mut attrs = AttrDict::EMPTY;
        let mut operands = vec![x];
        let axes = |attrs: &mut AttrDict, s: &mut Self| {
            let negative = s.r.chance(50);
            attrs.set("axis", Attr::int(if negative { axis as i64 - rank as i64 } else { axis as i64 }));
        };
        let indexed = ["gather", "gather_elements", "gather_nd", "scatter_elements", "scatter_nd", "nll"];
        if shape.contains(&0) && (indexed.contains(&op.short_name()) || op.short_name() == "cross_entropy") {
            // There is no valid index.
            return None;
        }
        match op.short_name() {
            "matmul" => {
                let k = shape[rank - 1];
                let columns = self.extent().min(4);
                let batch = if rank > 2 && self.r.chance(50) { &shape[..rank - 2] } else { &[][..] };
                let right = if self.r.chance(20) { vec![k] } else { [batch, &[k, columns]].concat() };
                operands.push(self.of(elem, &right));
            }
            "affine" => {
                let flags = [self.r.chance(30) && rank == 2, self.r.chance(50)];
                let k = shape[rank - 1 - usize::from(flags[0])];
                let columns = self.extent().min(4);
                let weight = if flags[1] { [columns, k] } else { [k, columns] };
                operands.push(self.of(elem, &weight));
                if self.r.chance(70) {
                    operands.push(self.of(elem, &[columns]));
                }
                attrs.set("transpose_x", Attr::Bool(flags[0]));
                attrs.set("transpose_w", Attr::Bool(flags[1]));
            }
            "conv" => {
                let channels = shape[1];
                let groups = match self.r.below(5) {
                    0 if channels > 0 => channels,
                    1 | 2 if channels % 2 == 0 && channels > 0 => 2,
                    _ => 1,
                };
                let out = groups * (1 + self.r.below(2));
                let kernel: Vec<usize> = shape[2..].iter().map(|_| 1 + self.r.below(2)).collect();
                let weight = [&[out, channels / groups], &kernel[..]].concat();
                operands.push(self.of(elem, &weight));
                if self.r.chance(50) {
                    operands.push(self.of(elem, &[out]));
                }
                attrs.set("groups", Attr::int(groups as i64));
            }
            "batch_norm" => {
                for _ in 0..3 {
                    operands.push(self.of(elem, &shape[1..2]));
                }
                let variance = match self.r.below(4) {
                    0 => self.of(elem, &shape[1..2]),
                    _ => self.argument_in(elem, &shape[1..2], (0.5, 2.0)),
                };
                operands.push(variance);
            }
            "group_norm" => {
                let channels = shape[1];
                let groups = if channels > 0 && self.r.chance(50) { channels } else { 1 };
                attrs.set("num_groups", Attr::int(groups as i64));
                for _ in 0..self.r.below(3) {
                    operands.push(self.of(elem, &[channels]));
                }
            }
            "layer_norm" | "rms_norm" => {
                axes(&mut attrs, self);
                for _ in 0..self.r.below(op.operands.len()) {
                    operands.push(self.of(elem, &shape[axis..]));
                }
            }
            "attention" if self.r.chance(30) => {
                // Heads in groups that share keys and values.
                let (groups, each) = (1 + self.r.below(2), 1 + self.r.below(2));
                let (queries, keys, depth) = (1 + self.r.below(2), 1 + self.r.below(3), 1 + self.r.below(2));
                let elem = DType::Float(self.format);
                operands = vec![self.of(elem, &[1, groups * each, queries, depth])];
                operands.push(self.of(elem, &[1, groups, keys, depth]));
                operands.push(self.of(elem, &[1, groups, keys, 1 + depth]));
            }
            "attention" => {
                let (lead, depth) = (&shape[..rank - 2], shape[rank - 1]);
                let (keys, width) = (1 + self.r.below(4), 1 + self.r.below(3));
                operands.push(self.of(elem, &[lead, &[keys, depth]].concat()));
                operands.push(self.of(elem, &[lead, &[keys, width]].concat()));
                if self.r.chance(40) {
                    let mask = if self.r.chance(50) { DType::BOOL } else { elem };
                    operands.push(self.of(mask, &[shape[rank - 2], keys]));
                }
            }
            "gather" => {
                axes(&mut attrs, self);
                let picked = self.r.pick(&[&[][..], &[2], &[1, 3], &[0]]);
                operands.push(self.indices(picked, -(n as i64), n as i64));
            }
            "gather_elements" | "scatter_elements" => {
                axes(&mut attrs, self);
                let picked = self.within(&shape);
                operands.push(self.indices(&picked, -(n as i64), n as i64));
                if op.operands.len() > 2 {
                    operands.push(self.of(elem, &picked));
                }
            }
            "gather_nd" | "scatter_nd" => {
                let batches =
                    if op.operands.len() == 2 && self.r.chance(30) { self.r.below(rank) } else { 0 };
                let k = 1 + self.r.below(rank - batches);
                let least = shape[batches..batches + k].iter().min().copied().unwrap_or(1) as i64;
                let outer = [&shape[..batches], &[1 + self.r.below(3)]].concat();
                operands.push(self.indices(&[&outer[..], &[k]].concat(), -least, least));
                if batches > 0 {
                    attrs.set("batch_dims", Attr::int(batches as i64));
                }
                if op.operands.len() > 2 {
                    operands.push(self.of(elem, &[&outer, &shape[k..]].concat()));
                }
            }
            "one_hot" if self.r.chance(50) => operands = vec![self.indices(&[3], -3, 4)],
            "nll" | "cross_entropy" => {
                axes(&mut attrs, self);
                if op.short_name() == "cross_entropy" && self.r.chance(40) {
                    operands.push(self.of(elem, &shape));
                } else {
                    let mut without = shape.clone();
                    without.remove(axis);
                    operands.push(self.indices(&without, 0, n as i64));
                    if self.r.chance(20) {
                        attrs.set("ignore_index", Attr::int(self.r.below(2) as i64));
                    }
                }
                if self.r.chance(40) {
                    operands.push(self.of(elem, &[n]));
                }
            }
            "concat" => {
                axes(&mut attrs, self);
                for _ in 0..self.r.below(3) {
                    let mut other = shape.clone();
                    other[axis] = self.extent().min(4);
                    operands.push(self.of(elem, &other));
                }
            }
            "split" => {
                axes(&mut attrs, self);
                let cut = self.r.below(n + 1) as i64;
                attrs.set("sizes", Attr::ints([cut, n as i64 - cut]));
            }
            "slice" => {
                attrs.set("axes", Attr::ints([axis as i64]));
                let (start, stop, step) = match self.r.below(3) {
                    0 => (0, i64::MAX, 2),
                    1 => (-1, i64::MIN, -1),
                    _ => (self.r.below(n + 1) as i64 - 1, n as i64, 1),
                };
                attrs.set("starts", Attr::ints([start]));
                attrs.set("stops", Attr::ints([stop]));
                attrs.set("steps", Attr::ints([step]));
            }
            "topk" => {
                axes(&mut attrs, self);
                attrs.set("k", Attr::int(self.r.below(n + 1) as i64));
            }
            // The divisor of integers is not 0.
            "div" | "rem" if !elem.is_float() => {
                let divisor = numbers::integers(self.r, elem, &[], 1, 5);
                operands.push(self.constant_of(&divisor));
            }
            // Nor is an exponent of integers negative.
            "pow" if !elem.is_float() => {
                let exponent = numbers::integers(self.r, elem, &[], 0, 3);
                operands.push(self.constant_of(&exponent));
            }
            "select" => {
                let condition = if self.r.chance(70) { shape } else { Vec::new() };
                let x = self.first(ValueKind::Any, 0);
                let (shape, elem) = (self.shape_of(x), self.elem_of(x));
                let condition = if condition.is_empty() { condition } else { shape.clone() };
                operands = vec![self.of(DType::BOOL, &condition), x];
                operands.push(self.of(elem, &shape));
            }
            "where" => {
                let second = self.first(ValueKind::Any, 0);
                let (shape, elem) = (self.shape_of(second), self.elem_of(second));
                operands = vec![self.beside(DType::BOOL, &shape), second];
                operands.push(self.beside(elem, &shape));
            }
            _ => {
                for def in &op.operands[1..] {
                    if def.arity == Arity::Optional && self.r.chance(50) {
                        break;
                    }
                    let elem = if def.kind.admits(self.body.ty(x)) { elem } else { self.element(def.kind) };
                    // The same value twice, now and then: what intervals lose.
                    let next = if self.r.chance(10) { x } else { self.beside(elem, &shape) };
                    operands.push(next);
                }
                if operands.len() == 2 && op.traits.commutative && self.r.chance(50) {
                    operands.reverse();
                }
            }
        }
        Some((operands, attrs))
    }
}
