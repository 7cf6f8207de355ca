//! Writes terms back as ops.
//!
//! A term over given extents becomes a tensor of these dimensions; along a dimension on which a part does not depend it
//! has the extent 1, as broadcasting wants it. What is moved is moved by the plainest op that does it: a transpose where
//! places are dimensions, a slice where they go by equal steps, a gather by constant places otherwise.

mod movement;

use ngc_dialects::ng::compare::direction_name;
use ngc_dialects::ng::constant::tensor_to_attr;
use ngc_ir::structure::{Index, Size, Test};
use ngc_ir::{Attr, AttrDict, Builder, Type, Value};
use ngc_numerics::tensor::element_count;
use ngc_numerics::{Class, DType, Format, Logical, Prim, Reduce, Tensor};
use rug::Rational;
use rustc_hash::FxHashMap;

use crate::store::{ANYWHERE, Leaf, Operand, Store, within};
use crate::term::{Function, Id, Map, Node, Number, Use, at, unflattened};

/// Writes terms of a store at the place of a builder.
pub struct Writer<'a, 'b> {
    store: &'a Store,
    builder: Builder<'b>,
    /// The format of numbers.
    format: Format,
    /// The values that leaves are.
    leaves: &'a FxHashMap<u32, Value>,
    /// Terms that were written, over their own slots.
    written: FxHashMap<Id, Value>,
    rounded: bool,
}

impl<'a, 'b> Writer<'a, 'b> {
    /// Writes numbers in one format. `leaves` are the values that are there already.
    pub fn new(
        store: &'a Store,
        builder: Builder<'b>,
        format: Format,
        leaves: &'a FxHashMap<u32, Value>,
    ) -> Writer<'a, 'b> {
        Writer { store, builder, format, leaves, written: FxHashMap::default(), rounded: false }
    }

    /// Whether a number was written that no quotient of two numbers of f64 is, rounded to one.
    pub fn has_rounded(&self) -> bool {
        self.rounded
    }

    /// The value of a term, of these extents.
    ///
    /// # Errors
    /// A sentence that says what cannot be written: places along dimensions of unknown extent that are no dimension
    /// themselves, numbers that no format holds, functions without an op.
    pub fn value(&mut self, of: &Use, extents: &[Size]) -> Result<Value, String> {
        let value = self.term(of, extents)?;
        self.filled(value, extents)
    }

    /// A written value in a type: its elements converted, and a scalar where the type is one.
    ///
    /// # Errors
    /// When the type has no elements.
    pub fn typed(&mut self, value: Value, ty: Type) -> Result<Value, String> {
        let value = self.converted(value, ty.elem().ok_or("a type without elements")?)?;
        match (self.builder.ty(value).as_tensor(), ty.as_tensor()) {
            (None, Some(_)) => self.with("ng.broadcast_to", &[value], [("shape", Attr::ints([]))]),
            (Some(_), None) => Err("a tensor of no dimensions where a scalar is needed".into()),
            _ => Ok(value),
        }
    }

    /// The value of a term, with the extent 1 where it does not depend on a dimension.
    fn term(&mut self, of: &Use, extents: &[Size]) -> Result<Value, String> {
        if let Node::Leaf(leaf) = self.store.node(of.id) {
            let value = self.leaf(*leaf)?;
            return self.moved(value, self.store.sizes(of.id), &of.map, extents);
        }
        let sizes = self.store.sizes(of.id);
        let bounded = sizes.iter().all(|size| size.number() != Some(ANYWHERE));
        if bounded && !sizes.is_empty() && !self.is_plain(of, extents) {
            let value = self.over_slots(of.id)?;
            return self.moved(value, sizes, &of.map, extents);
        }
        if sizes.is_empty() {
            let value = self.over_slots(of.id)?;
            return self.moved(value, &[], &of.map, extents);
        }
        self.node(of, extents)
    }

    /// Whether places are all places along the dimensions in order, so that nothing would be moved.
    fn is_plain(&self, of: &Use, extents: &[Size]) -> bool {
        of.map.len() == extents.len() && of.map.iter().enumerate().all(|(n, index)| *index == at(n))
    }

    fn over_slots(&mut self, id: Id) -> Result<Value, String> {
        if let Some(&value) = self.written.get(&id) {
            return Ok(value);
        }
        let sizes = self.store.sizes(id).to_vec();
        let map: Map = (0..sizes.len()).map(at).collect();
        let value = self.node(&Use { id, map }, &sizes)?;
        let value = self.filled(value, &sizes)?;
        self.written.insert(id, value);
        Ok(value)
    }

    fn node(&mut self, of: &Use, extents: &[Size]) -> Result<Value, String> {
        let store = self.store;
        let part = |part: &Use| {
            store.compose(part, &of.map, extents).ok_or_else(|| "its places are too large".to_string())
        };
        let parts = |parts: &[Use]| parts.iter().map(part).collect::<Result<Vec<Use>, String>>();
        match store.node(of.id) {
            Node::Number(number) => self.number(number),
            Node::Size(_) => Err("the number of an unknown extent has no op".into()),
            Node::Place => self.places(&of.map[0], extents),
            Node::Leaf(_) => self.term(of, extents),
            Node::Linear(constant, terms) => {
                let mut sum: Option<Value> = None;
                for (factor, term) in terms {
                    let term = self.term(&part(term)?, extents)?;
                    sum = Some(self.added(sum, factor, term)?);
                }
                match sum {
                    Some(sum) if constant.is_zero() => Ok(sum),
                    Some(sum) => {
                        let constant = self.rational(constant)?;
                        self.op("ng.add", &[sum, constant])
                    }
                    None => self.rational(constant),
                }
            }
            Node::Product(factors) => {
                let mut product: Option<Value> = None;
                for (base, exponent) in factors {
                    let base = self.term(&part(base)?, extents)?;
                    product = Some(self.multiplied(product, base, exponent)?);
                }
                product.ok_or_else(|| "an empty product".into())
            }
            Node::Max(all) => {
                let all = self.terms(&parts(all)?, extents)?;
                self.chained("ng.max", &all)
            }
            Node::Apply(function, all) => {
                let all = self.terms(&parts(all)?, extents)?;
                self.function(*function, &all)
            }
            Node::Reduce(kind, over, body) => {
                let inner = within(extents, over);
                let behind = (0..over.len()).map(|n| at(extents.len() + n));
                let map: Map = of.map.iter().cloned().chain(behind).collect();
                let body = store.compose(body, &map, &inner).ok_or("its places are too large")?;
                let value = self.term(&body, &inner)?;
                // What does not depend on a bound dimension would be counted once.
                let value = self.stretched(value, &inner, extents.len())?;
                let axes = Attr::ints((extents.len()..inner.len()).map(|n| n as i64));
                self.with(reduction(*kind), &[value], [("axes", axes)])
            }
            Node::Holds(tests) => self.tests(tests, &of.map, extents),
            Node::Where(tests, yes, no) => {
                let holds = self.tests(tests, &of.map, extents)?;
                let (yes, no) = (self.term(&part(yes)?, extents)?, self.term(&part(no)?, extents)?);
                self.op("ng.where", &[holds, yes, no])
            }
        }
    }

    fn terms(&mut self, parts: &[Use], extents: &[Size]) -> Result<Vec<Value>, String> {
        parts.iter().map(|part| self.term(part, extents)).collect()
    }

    fn chained(&mut self, name: &str, values: &[Value]) -> Result<Value, String> {
        let (&first, rest) = values.split_first().ok_or("no operands")?;
        rest.iter().try_fold(first, |so_far, &next| self.op(name, &[so_far, next]))
    }

    fn added(&mut self, sum: Option<Value>, factor: &Rational, term: Value) -> Result<Value, String> {
        let scaled = |w: &mut Self, factor: &Rational| match *factor == 1 {
            true => Ok(term),
            false => {
                let factor = w.rational(factor)?;
                w.op("ng.mul", &[factor, term])
            }
        };
        match sum {
            None if *factor == -1 => self.op("ng.neg", &[term]),
            None => scaled(self, factor),
            Some(sum) if *factor < 0 => {
                let term = scaled(self, &Rational::from(-factor))?;
                self.op("ng.sub", &[sum, term])
            }
            Some(sum) => {
                let term = scaled(self, factor)?;
                self.op("ng.add", &[sum, term])
            }
        }
    }

    fn multiplied(
        &mut self,
        product: Option<Value>,
        base: Value,
        exponent: &Rational,
    ) -> Result<Value, String> {
        if let (Some(product), true) = (product, *exponent == -1) {
            return self.op("ng.div", &[product, base]);
        }
        let half = Rational::from((1, 2));
        let power = match exponent {
            e if *e == 1 => base,
            e if *e == 2 => self.op("ng.square", &[base])?,
            e if *e == -1 => self.op("ng.reciprocal", &[base])?,
            e if *e == half => self.op("ng.sqrt", &[base])?,
            e if *e == -half => self.op("ng.rsqrt", &[base])?,
            e => {
                let e = self.rational(e)?;
                self.op("ng.pow", &[base, e])?
            }
        };
        match product {
            Some(product) => self.op("ng.mul", &[product, power]),
            None => Ok(power),
        }
    }

    fn function(&mut self, function: Function, x: &[Value]) -> Result<Value, String> {
        match function {
            Function::Prim(Prim::RoundEven) => self.op("ng.round", x),
            Function::Prim(Prim::Trunc) => {
                let (sign, size) = (self.op("ng.sign", x)?, self.op("ng.abs", x)?);
                let whole = self.op("ng.floor", &[size])?;
                self.op("ng.mul", &[sign, whole])
            }
            Function::Prim(prim) => self.op(&format!("ng.{}", prim.name()), x),
            Function::Compare(cmp) => {
                let direction = direction_name(cmp);
                self.with("ng.compare", x, [("direction", Attr::from(direction))])
            }
            Function::Logical(Logical::And) => self.op("ng.and", x),
            Function::Logical(Logical::Or) => self.op("ng.or", x),
            Function::Logical(Logical::Xor) => self.op("ng.xor", x),
            Function::Not => self.op("ng.not", x),
            Function::Choose => self.op("ng.where", x),
            Function::Classify(Class::Nan) => self.op("ng.is_nan", x),
            Function::Classify(Class::Finite) => self.op("ng.is_finite", x),
            Function::Classify(Class::Infinite) => self.op("ng.is_inf", x),
            Function::Convert(_, to) => {
                let whole = self.converted(x[0], to)?;
                self.as_number(whole)
            }
        }
    }

    /// A leaf over its slots: the value that it is, without dimensions of extent 1.
    fn leaf(&mut self, leaf: u32) -> Result<Value, String> {
        let value = match self.leaves.get(&leaf) {
            Some(&value) => value,
            None => self.opaque(leaf)?,
        };
        let shape = self.builder.ty(value).shape().unwrap_or_default().to_vec();
        let short = shape.iter().enumerate().filter(|(_, d)| d.known() == Some(1)).map(|(n, _)| n as i64);
        let short: Vec<i64> = short.collect();
        let value = match short.is_empty() {
            true => value,
            false => self.with("ng.squeeze", &[value], [("axes", Attr::ints(short))])?,
        };
        self.as_number(value)
    }

    /// An op that has no index form.
    fn opaque(&mut self, leaf: u32) -> Result<Value, String> {
        let Leaf::Opaque { name, attrs, result, operands } = self.store.leaf(leaf) else {
            return Err("a leaf has no value".into());
        };
        let mut values = Vec::new();
        for Operand { element, extents, ty } in operands {
            let value = self.value(element, extents)?;
            values.push(self.converted(value, ty.elem().ok_or("an operand has no elements")?)?);
        }
        let op = self.builder.op(name.as_str(), &values, attrs.clone())?;
        Ok(self.builder.body.result(op, *result as usize))
    }

    /// Integers as numbers of the format; truth values stay.
    fn as_number(&mut self, value: Value) -> Result<Value, String> {
        match self.builder.ty(value).elem() {
            Some(DType::BOOL) => Ok(value),
            _ => self.converted(value, DType::Float(self.format)),
        }
    }

    /// A value in another element type.
    pub fn converted(&mut self, value: Value, to: DType) -> Result<Value, String> {
        if self.builder.ty(value).elem() == Some(to) {
            return Ok(value);
        }
        self.with("ng.convert", &[value], [("to", Attr::Type(Type::scalar(to)))])
    }

    fn number(&mut self, number: &Number) -> Result<Value, String> {
        let value = match number {
            Number::Finite(x) => return self.rational(x),
            Number::Infinite { negative: true } => f64::NEG_INFINITY,
            Number::Infinite { negative: false } => f64::INFINITY,
            Number::Nan => f64::NAN,
            Number::E => {
                let one = self.constant(1.0)?;
                return self.op("ng.exp", &[one]);
            }
            // As 4 atan 1, of which high precision makes π.
            Number::Pi => {
                let (one, four) = (self.constant(1.0)?, self.constant(4.0)?);
                let quarter = self.op("ng.atan", &[one])?;
                return self.op("ng.mul", &[four, quarter]);
            }
        };
        self.constant(value)
    }

    /// A rational number: as it is where the format holds it, else as a quotient of two numbers that it holds, else
    /// rounded.
    fn rational(&mut self, x: &Rational) -> Result<Value, String> {
        let exact = |x: &Rational| {
            Some(x.to_f64()).filter(|v| v.is_finite() && Rational::from_f64(*v).as_ref() == Some(x))
        };
        if let Some(value) = exact(x) {
            return self.constant(value);
        }
        let (numer, denom) = (Rational::from(x.numer()), Rational::from(x.denom()));
        match exact(&numer).zip(exact(&denom)) {
            Some((numer, denom)) => {
                let (numer, denom) = (self.constant(numer)?, self.constant(denom)?);
                self.op("ng.div", &[numer, denom])
            }
            None => {
                self.rounded = true;
                self.constant(x.to_f64())
            }
        }
    }

    fn constant(&mut self, value: f64) -> Result<Value, String> {
        if self.format.contains(value) || !value.is_finite() {
            return self.builder.constant(Attr::Float(value, Type::float(self.format)));
        }
        let wide = self.builder.constant(Attr::Float(value, Type::float(Format::F64)))?;
        self.converted(wide, DType::Float(self.format))
    }

    /// The numbers of places.
    fn places(&mut self, index: &Index, extents: &[Size]) -> Result<Value, String> {
        let (values, shape) = self.table(extents, &[index], |at| index.value(at, &|_| None))?;
        let table = Tensor::ints(DType::Int(64), shape, values)?;
        let table = self.builder.constant(tensor_to_attr(&table))?;
        self.as_number(table)
    }

    /// Whether all tests hold, at every place.
    fn tests(&mut self, tests: &[Test], map: &Map, extents: &[Size]) -> Result<Value, String> {
        let by = |axis: ngc_ir::structure::Axis| map.get(axis.0 as usize).cloned().unwrap_or(Index::ZERO);
        let placed = tests.iter().map(|test| Some(test.of(test.index().substituted(&by, extents)?)));
        let placed: Vec<Test> = placed.collect::<Option<_>>().ok_or("its places are too large")?;
        let indices: Vec<&Index> = placed.iter().map(Test::index).collect();
        let holds = |at: &[i64]| {
            placed.iter().try_fold(1, |all, test| {
                let value = test.index().value(at, &|_| None)?;
                let holds = match test {
                    Test::AtLeastZero(_) => value >= 0,
                    Test::Zero(_) => value == 0,
                };
                Some(all & i64::from(holds))
            })
        };
        let (values, shape) = self.table(extents, &indices, holds)?;
        let table = Tensor::ints(DType::BOOL, shape, values)?;
        self.builder.constant(tensor_to_attr(&table))
    }

    /// A function of places, with the extent 1 along dimensions that none of the indices speaks of.
    fn table(
        &self,
        extents: &[Size],
        indices: &[&Index],
        value: impl Fn(&[i64]) -> Option<i64>,
    ) -> Result<(Vec<i64>, Vec<usize>), String> {
        let speaks = |n: usize| indices.iter().any(|index| index.mentions(ngc_ir::structure::Axis(n as u32)));
        let extent =
            |(n, size): (usize, &Size)| if speaks(n) { size.number().map(|n| n as usize) } else { Some(1) };
        let shape: Option<Vec<usize>> = extents.iter().enumerate().map(extent).collect();
        let shape = shape.ok_or("places along a dimension of unknown extent are no constant")?;
        let mut values = Vec::with_capacity(element_count(&shape)?);
        for flat in 0..element_count(&shape)? {
            values.push(value(&unflattened(flat, &shape)).ok_or("a place is unknown")?);
        }
        Ok((values, shape))
    }

    fn op(&mut self, name: &str, operands: &[Value]) -> Result<Value, String> {
        self.with(name, operands, AttrDict::EMPTY)
    }

    fn with(&mut self, name: &str, operands: &[Value], attrs: impl Into<AttrDict>) -> Result<Value, String> {
        self.builder.emit(name, operands, attrs)
    }
}

fn reduction(kind: Reduce) -> &'static str {
    match kind {
        Reduce::Sum => "ng.reduce_sum",
        Reduce::Prod => "ng.reduce_prod",
        Reduce::Max => "ng.reduce_max",
        Reduce::Min => "ng.reduce_min",
    }
}
