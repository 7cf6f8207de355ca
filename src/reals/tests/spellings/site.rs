//! An op on its way into a copy of its body, where it may be spelled otherwise.

use ngc_ir::{Attr, AttrDict, Block, Body, Builder, Context, Loc, Op, OpDef, Type, Value};
use ngc_numerics::{DType, Random};

use super::changes::Change;

/// An op that is copied, and what is made in its place.
pub struct Site<'a> {
    pub context: &'a Context,
    pub body: &'a mut Body,
    block: Block,
    pub r: &'a mut Random,
    pub def: &'static OpDef,
    pub attrs: AttrDict,
    /// Its operands in the copy.
    pub x: Vec<Value>,
    /// The type of its result.
    pub ty: Type,
}

/// The extents of a type; a scalar has none.
pub fn shape_of(ty: Type) -> Vec<i64> {
    ty.static_shape().unwrap_or_default().into_iter().map(|n| n as i64).collect()
}

pub fn ints(values: impl IntoIterator<Item = i64>) -> Attr {
    Attr::ints(values)
}

impl Site<'_> {
    /// The name of the op, without its dialect.
    pub fn name(&self) -> &'static str {
        self.def.name.strip_prefix("ng.").unwrap_or(self.def.name)
    }

    pub fn is(&self, name: &str) -> Option<()> {
        (self.name() == name).then_some(())
    }

    pub fn shape(&self, v: Value) -> Vec<i64> {
        shape_of(self.body.ty(v))
    }

    pub fn is_float(&self, v: Value) -> bool {
        self.body.ty(v).format().is_some()
    }

    pub fn is_tensor(&self, v: Value) -> bool {
        self.body.ty(v).as_tensor().is_some()
    }

    /// A new op; nothing where it is none.
    pub fn op(&mut self, name: &str, x: &[Value], attrs: impl Into<AttrDict>) -> Option<Value> {
        let name = format!("ng.{name}");
        let mut b = Builder::at_end(self.context, self.body, self.block, Loc::Unknown);
        b.emit(&name, x, attrs).ok()
    }

    /// All results of a new op.
    pub fn ops(&mut self, name: &str, x: &[Value], attrs: impl Into<AttrDict>) -> Option<Vec<Value>> {
        let name = format!("ng.{name}");
        let mut b = Builder::at_end(self.context, self.body, self.block, Loc::Unknown);
        let op = b.op(&name, x, attrs).ok()?;
        Some(self.body.results(op).collect())
    }

    pub fn builder(&mut self) -> Builder<'_> {
        Builder::at_end(self.context, self.body, self.block, Loc::Unknown)
    }

    /// A new op without attributes.
    pub fn plain(&mut self, name: &str, x: &[Value]) -> Option<Value> {
        self.op(name, x, AttrDict::EMPTY)
    }

    /// The op itself on other operands.
    pub fn again(&mut self, x: &[Value]) -> Option<Value> {
        let attrs = self.attrs.clone();
        self.op(self.name(), x, attrs)
    }

    /// A number of the type of the elements of a value, if it is one there.
    pub fn number(&mut self, number: f64, like: Value) -> Option<Value> {
        let exact = match self.body.ty(like).elem()? {
            DType::Float(format) => format.round(number) == number,
            _ => number.fract() == 0.0,
        };
        exact.then(|| self.builder().scalar(number, like).ok()).flatten()
    }

    /// A tensor of ones.
    pub fn ones(&mut self, shape: &[i64], like: Value) -> Option<Value> {
        let one = self.number(1.0, like)?;
        let start = self.op("reshape", &[one], [("shape", ints(vec![1; shape.len()]))])?;
        self.op("broadcast_to", &[start], [("shape", ints(shape.iter().copied()))])
    }

    pub fn reshape(&mut self, x: Value, shape: &[i64]) -> Option<Value> {
        self.op("reshape", &[x], [("shape", ints(shape.iter().copied()))])
    }

    pub fn transpose(&mut self, x: Value, permutation: &[i64]) -> Option<Value> {
        self.op("transpose", &[x], [("permutation", ints(permutation.iter().copied()))])
    }

    pub fn slice(&mut self, x: Value, axis: usize, start: i64, stop: i64, step: i64) -> Option<Value> {
        let attrs = [
            ("axes", ints([axis as i64])),
            ("starts", ints([start])),
            ("stops", ints([stop])),
            ("steps", ints([step])),
        ];
        self.op("slice", &[x], attrs)
    }

    pub fn concat(&mut self, x: &[Value], axis: usize) -> Option<Value> {
        self.op("concat", x, [("axis", Attr::int(axis as i64))])
    }

    /// One of the axes of a value that are longer than 1.
    pub fn axis(&mut self, x: Value) -> Option<usize> {
        let shape = self.shape(x);
        let long: Vec<usize> = (0..shape.len()).filter(|&n| shape[n] > 1).collect();
        (!long.is_empty()).then(|| self.r.pick(&long))
    }

    /// What a value of the copy is made by: name, operands, attributes.
    pub fn maker(&self, v: Value) -> Option<(&'static str, Vec<Value>, AttrDict)> {
        let op = self.body.defining_op(v)?;
        let name = self.body.name(op).strip_prefix("ng.")?;
        Some((name, self.body.operands(op).to_vec(), self.body.op(op).attrs.clone()))
    }

    /// The operands of the op of this name that makes a value.
    pub fn made_by(&self, v: Value, name: &str) -> Option<Vec<Value>> {
        self.maker(v).filter(|(known, ..)| *known == name).map(|(_, x, _)| x)
    }

    /// The number that a value is.
    pub fn as_number(&self, v: Value) -> Option<f64> {
        let op = self.body.defining_op(v)?;
        let value = self.body.attr(op, "value").filter(|_| self.body.name(op) == "ng.constant")?;
        value.as_float().or_else(|| value.as_int().map(|x| x as f64))
    }

    /// The two operands in either order.
    pub fn pair(&mut self) -> Option<(Value, Value)> {
        let &[a, b] = &self.x[..] else { return None };
        Some(if self.r.chance(50) { (a, b) } else { (b, a) })
    }
}

/// A copy of a body in which the op at a place is spelled otherwise; nothing where the change does not fit.
pub fn changed(
    context: &Context,
    body: &Body,
    change: &Change,
    place: usize,
    r: &mut Random,
) -> Option<Body> {
    let from = body.entry()?;
    let mut copy = Body::new();
    let root = copy.root();
    let block = copy.add_block(root);
    let mut known: Vec<Option<Value>> = vec![None; body.num_values()];
    for &v in body.arguments(from) {
        known[v.index()] = Some(copy.add_argument(block, body.ty(v), Loc::Unknown));
    }
    for (n, op) in body.ops(from).enumerate() {
        let x: Vec<Value> = body.operands(op).iter().map(|v| known[v.index()]).collect::<Option<_>>()?;
        if n != place {
            copied(body, op, &mut copy, block, x, &mut known);
            continue;
        }
        let def = body.op(op).def.filter(|def| def.traits.pure && body.num_results(op) == 1)?;
        let ty = body.ty(body.result(op, 0));
        let attrs = body.op(op).attrs.clone();
        let mut site = Site { context, body: &mut copy, block, r, def, attrs, x, ty };
        let made = (change.make)(&mut site)?;
        assert_eq!(copy.ty(made), ty, "{} makes another type of {}", change.name, def.name);
        known[body.result(op, 0).index()] = Some(made);
    }
    Some(copy)
}

fn copied(body: &Body, op: Op, copy: &mut Body, block: Block, x: Vec<Value>, known: &mut [Option<Value>]) {
    let state = ngc_ir::OpState {
        operands: x.into(),
        results: body.result_types(op).into_iter().collect(),
        attrs: body.op(op).attrs.clone(),
        ..ngc_ir::OpState::new(body.op(op).def.expect("a known op"), Loc::Unknown)
    };
    let new = copy.create(state);
    copy.append(block, new);
    for (old, new) in body.results(op).zip(copy.results(new).collect::<Vec<_>>()) {
        known[old.index()] = Some(new);
    }
}
