//! Evaluates terms, at hundreds of bits: what a reading is held against.

use ngc_ir::structure::{Index, Size, Test};
use ngc_ir::{Context, Dim, Semantics, Signature, Type};
use ngc_numerics::{DType, Data, Evaluator, Format, Mode, Prim, SumMethod, Tensor, primitives};
use rug::Float;
use rustc_hash::FxHashMap;

use crate::store::{Leaf, Operand, Store};
use crate::term::{Function, Id, Node, Number, Use, unflattened};

/// A value: a number or a truth value, as a tensor of one element.
type Value = Tensor;

/// Evaluates the terms of a store, whose unknown extents and leaves are given.
pub struct Evaluation<'a> {
    store: &'a Store,
    context: &'a Context,
    evaluator: Evaluator,
    bits: u32,
    unknown: &'a dyn Fn(ngc_ir::structure::Unknown) -> Option<i64>,
    /// The tensor of a leaf; dimensions of extent 1 may be there or not.
    leaf: &'a dyn Fn(&Leaf) -> Option<Tensor>,
    leaves: FxHashMap<u32, Tensor>,
    known: FxHashMap<(Id, Vec<i64>), Value>,
}

impl<'a> Evaluation<'a> {
    /// At so many bits.
    pub fn new(
        store: &'a Store,
        context: &'a Context,
        bits: u32,
        unknown: &'a dyn Fn(ngc_ir::structure::Unknown) -> Option<i64>,
        leaf: &'a dyn Fn(&Leaf) -> Option<Tensor>,
    ) -> Evaluation<'a> {
        let evaluator = Evaluator::new(Mode::Real { bits });
        Evaluation {
            store,
            context,
            evaluator,
            bits,
            unknown,
            leaf,
            leaves: FxHashMap::default(),
            known: FxHashMap::default(),
        }
    }

    /// A term at places; nothing where a leaf or an extent is not given, or a place is none of a leaf.
    pub fn value(&mut self, of: &Use, at: &[i64]) -> Option<Value> {
        let places: Vec<i64> = of.map.iter().map(|index| self.place(index, at)).collect::<Option<_>>()?;
        let key = (of.id, places);
        if let Some(value) = self.known.get(&key) {
            return Some(value.clone());
        }
        let value = self.node(of.id, &key.1)?;
        self.known.insert(key, value.clone());
        Some(value)
    }

    fn place(&self, index: &Index, at: &[i64]) -> Option<i64> {
        index.value(at, &|unknown| (self.unknown)(unknown))
    }

    fn holds(&self, tests: &[Test], at: &[i64]) -> Option<bool> {
        for test in tests {
            let value = self.place(test.index(), at)?;
            let holds = match test {
                Test::AtLeastZero(_) => value >= 0,
                Test::Zero(_) => value == 0,
            };
            if !holds {
                return Some(false);
            }
        }
        Some(true)
    }

    fn number(&self, x: Float) -> Value {
        Tensor { dtype: DType::Float(Format::F64), shape: Vec::new(), data: Data::Real(vec![x]) }
    }

    fn node(&mut self, id: Id, at: &[i64]) -> Option<Value> {
        let store = self.store;
        match store.node(id) {
            Node::Number(number) => Some(self.number(match number {
                Number::Finite(x) => Float::with_val(self.bits, x),
                Number::Infinite { negative } => {
                    Float::with_val(self.bits, if *negative { f64::NEG_INFINITY } else { f64::INFINITY })
                }
                Number::Nan => Float::with_val(self.bits, f64::NAN),
                Number::Pi => Float::with_val(self.bits, rug::float::Constant::Pi),
                Number::E => Float::with_val(self.bits, 1).exp(),
            })),
            Node::Size(size) => Some(self.number(Float::with_val(self.bits, self.extent(size)?))),
            Node::Place => Some(self.number(Float::with_val(self.bits, *at.first()?))),
            Node::Leaf(leaf) => self.element(*leaf, at),
            Node::Linear(constant, terms) => {
                let mut sum = self.number(Float::with_val(self.bits, constant));
                for (factor, term) in terms {
                    let factor = self.number(Float::with_val(self.bits, factor));
                    let term = self.value(term, at)?;
                    let scaled = self.map(&primitives::MUL, &[&factor, &term])?;
                    sum = self.map(&primitives::ADD, &[&sum, &scaled])?;
                }
                Some(sum)
            }
            Node::Product(factors) => {
                let mut product = self.number(Float::with_val(self.bits, 1));
                for (base, exponent) in factors {
                    let base = self.value(base, at)?;
                    let power = self.power(base, exponent)?;
                    product = self.map(&primitives::MUL, &[&product, &power])?;
                }
                Some(product)
            }
            Node::Max(parts) => {
                let mut greatest = self.number(Float::with_val(self.bits, f64::NEG_INFINITY));
                for part in parts {
                    let part = self.value(part, at)?;
                    greatest = self.map(&primitives::MAX, &[&greatest, &part])?;
                }
                Some(greatest)
            }
            Node::Apply(function, parts) => {
                if *function == Function::Choose {
                    let holds = self.value(&parts[0], at)?.to_f64s()[0] != 0.0;
                    return self.value(&parts[if holds { 1 } else { 2 }], at);
                }
                if *function == Function::Prim(Prim::Log)
                    && let Some(log) = self.log_of_sum(&parts[0], at)
                {
                    return Some(log);
                }
                let parts: Vec<Value> = parts.iter().map(|x| self.value(x, at)).collect::<Option<_>>()?;
                self.function(*function, &parts)
            }
            Node::Reduce(kind, over, body) => {
                let sizes = self.extents(over)?;
                let mut all = Vec::new();
                for flat in 0..sizes.iter().product() {
                    let place: Vec<i64> = at.iter().copied().chain(unflattened(flat, &sizes)).collect();
                    let value = self.value(body, &place)?;
                    let Data::Real(mut values) = value.data else { return None };
                    all.append(&mut values);
                }
                let dtype = DType::Float(Format::F64);
                let all = Tensor { dtype, shape: vec![all.len()], data: Data::Real(all) };
                self.evaluator.reduce(*kind, &all, &[0], false, Format::F64, SumMethod::Naive).ok()
            }
            Node::Holds(tests) => Some(Tensor::bool_scalar(self.holds(tests, at)?)),
            Node::Where(tests, yes, no) => {
                let holds = self.holds(tests, at)?;
                self.value(if holds { yes } else { no }, at)
            }
        }
    }

    fn extents(&self, sizes: &[Size]) -> Option<Vec<usize>> {
        sizes.iter().map(|size| usize::try_from(self.extent(size)?).ok()).collect()
    }

    fn extent(&self, size: &Size) -> Option<i64> {
        self.place(&Index::size(size), &[])
    }

    fn element(&mut self, leaf: u32, at: &[i64]) -> Option<Value> {
        if !self.leaves.contains_key(&leaf) {
            let known = self.store.leaf(leaf);
            let tensor = match (self.leaf)(known) {
                Some(tensor) => tensor,
                None => self.opaque(known)?,
            };
            self.leaves.insert(leaf, tensor);
        }
        let tensor = &self.leaves[&leaf];
        let long = tensor.shape.iter().filter(|&&n| n != 1);
        let mut flat = 0;
        for (&n, &place) in long.zip(at) {
            flat = flat * n + usize::try_from(place).ok().filter(|&place| place < n)?;
        }
        let one = tensor.select(Vec::new(), &[flat]);
        Some(match one.dtype {
            DType::BOOL => one,
            _ => self.real(&one),
        })
    }

    fn real(&self, x: &Tensor) -> Tensor {
        match &x.data {
            Data::Int(values) => self.number(Float::with_val(self.bits, values[0])),
            _ => Tensor { dtype: DType::Float(Format::F64), ..self.evaluator.lift(x) },
        }
    }

    /// A result of an op that has no index form, as the op evaluates it.
    fn opaque(&mut self, leaf: &Leaf) -> Option<Tensor> {
        let Leaf::Opaque { name, attrs, result, operands } = leaf else { return None };
        let mut tensors = Vec::new();
        for Operand { element, extents, ty } in operands {
            let shape = self.extents(extents)?;
            let (mut reals, mut ints) = (Vec::new(), Vec::new());
            for flat in 0..shape.iter().product() {
                let value = self.value(element, &unflattened(flat, &shape))?;
                let own = self.evaluator.convert(&value, ty.elem()?);
                match own.data {
                    Data::Real(values) => reals.extend(values),
                    Data::Int(values) => ints.extend(values),
                    Data::Float(_) => return None,
                }
            }
            let data = if ty.format().is_some() { Data::Real(reals) } else { Data::Int(ints) };
            tensors.push(Tensor { dtype: ty.elem()?, shape, data });
        }
        let types: Vec<Type> =
            tensors.iter().map(|t| Type::tensor(t.shape.iter().map(|&n| Dim::Static(n)), t.dtype)).collect();
        let def = self.context.op(name.as_str())?;
        let Semantics::Primitive(evaluate) = def.semantics else { return None };
        let all: Vec<&Tensor> = tensors.iter().collect();
        let mut results =
            evaluate(&self.evaluator, &Signature { def, operands: &types, attrs }, &all).ok()?;
        Some(results.swap_remove(*result as usize))
    }

    fn map(&self, f: &'static ngc_numerics::ScalarFn, x: &[&Value]) -> Option<Value> {
        self.evaluator.map(f, &[], x, DType::Float(Format::F64)).ok()
    }

    fn power(&self, base: Value, exponent: &rug::Rational) -> Option<Value> {
        let Data::Real(values) = &base.data else { return None };
        let x = &values[0];
        let (numer, denom) = (exponent.numer(), exponent.denom());
        use rug::ops::Pow;
        let mut value = match (denom.to_u32(), numer.to_i32()) {
            (Some(1), Some(n)) => Float::with_val(self.bits, x.pow(n)),
            (Some(2), Some(n)) => {
                let root = Float::with_val(self.bits, x.sqrt_ref());
                Float::with_val(self.bits, root.pow(n))
            }
            _ => {
                let exponent = Float::with_val(self.bits, exponent);
                Float::with_val(self.bits, x.pow(&exponent))
            }
        };
        if x.is_zero() && *exponent < 0 {
            value = Float::with_val(self.bits, f64::INFINITY);
        }
        Some(self.number(value))
    }

    fn function(&self, function: Function, x: &[Value]) -> Option<Value> {
        let e = &self.evaluator;
        match function {
            Function::Prim(prim) => {
                let number = |x: &Value| match &x.data {
                    Data::Real(values) => Some(values[0].clone()),
                    _ => None,
                };
                let args: Vec<Float> = x.iter().map(number).collect::<Option<_>>()?;
                Some(self.number(primitives::primitive(prim).eval_real(&[], &args, self.bits)))
            }
            Function::Compare(cmp) => {
                e.compare(cmp, &self.truth_as_number(&x[0]), &self.truth_as_number(&x[1])).ok()
            }
            Function::Logical(logical) => e.logical(logical, &x[0], &x[1]).ok(),
            Function::Not => e.not(&x[0]).ok(),
            Function::Choose => None,
            Function::Classify(class) => Some(e.classify(class, &x[0])),
            Function::Convert(_, to) => {
                let whole = e.convert(&x[0], to);
                Some(if to == DType::BOOL { whole } else { self.real(&whole) })
            }
        }
    }

    /// The logarithm of a sum of exponentials that big floats do not hold.
    fn log_of_sum(&mut self, of: &Use, at: &[i64]) -> Option<Value> {
        let store = self.store;
        let Node::Linear(constant, terms) = store.node(of.id) else { return None };
        let places: Vec<i64> = of.map.iter().map(|index| self.place(index, at)).collect::<Option<_>>()?;
        let real = |x: Value| match x.data {
            Data::Real(mut values) => values.pop(),
            _ => None,
        };
        let mut exponents = Vec::new();
        for (factor, term) in terms {
            let Node::Apply(Function::Prim(Prim::Exp), x) = store.node(term.id) else { return None };
            let inner: Vec<i64> =
                term.map.iter().map(|index| self.place(index, &places)).collect::<Option<_>>()?;
            exponents.push((Float::with_val(self.bits, factor), real(self.value(&x[0], &inner)?)?));
        }
        exponents.push((Float::with_val(self.bits, constant), Float::new(self.bits)));
        let greatest = exponents.iter().map(|(_, x)| x.clone()).reduce(|a, b| a.max(&b))?;
        if !greatest.is_finite() || greatest < 1e9 {
            return None;
        }
        let mut sum = Float::new(self.bits);
        for (factor, exponent) in exponents {
            sum += factor * Float::with_val(self.bits, exponent - &greatest).exp();
        }
        Some(self.number(sum.ln() + greatest))
    }

    fn truth_as_number(&self, x: &Tensor) -> Tensor {
        if x.dtype == DType::BOOL { self.real(x) } else { x.clone() }
    }
}
