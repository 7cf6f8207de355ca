//! A small search for the best way to compute a term in a format, among its node and what charts give: each term by the form
//! whose values are nearest to the exact ones.

use std::collections::HashSet;
use std::rc::Rc;

use ngc_dialects::facts::{Fact, Signs};
use ngc_ir::Context;
use ngc_ir::structure::{Axis, Index, Size, Test};
use ngc_numerics::{DType, Data, Enclosure, Format, Logical, Prim, Reduce, Tensor, primitives};
use ngc_reals::evaluate::Evaluation;
use ngc_reals::store::Leaf;
use ngc_reals::term::Number;
use ngc_reals::{Facts, Function, Id, Node, Store, Use, charts};
use rug::Float;
use rustc_hash::FxHashMap;

/// The bits at which terms are compared.
pub const BITS: u32 = 2600;

/// Leaves by their numbers: the extents of one, and its elements at every point.
#[derive(Clone)]
pub struct Input {
    pub extents: Vec<usize>,
    pub points: Vec<Vec<f64>>,
    pub fact: Fact,
}

/// A fact of numbers between two ends.
pub fn between(lo: f64, hi: f64) -> Fact {
    Fact {
        signs: Signs::of(&Enclosure::new(lo, hi)).and(Signs::NUMBERS),
        ..Fact::of_range(Enclosure::new(lo, hi))
    }
}

/// The elements of a term at all points and places, in row-major order.
type Values = Rc<Vec<Vec<f64>>>;

/// What was found for a term.
#[derive(Clone)]
pub struct Found {
    pub values: Values,
    /// The greatest error in units of the last place; infinite where a value is not finite and should be.
    pub error: f64,
    /// How it is computed, for people.
    pub how: String,
}

pub struct Search<'a> {
    pub store: &'a mut Store,
    pub facts: Facts,
    context: Context,
    inputs: Rc<Vec<Input>>,
    format: Format,
    with_charts: bool,
    best: FxHashMap<Id, Found>,
    exact: FxHashMap<Id, Rc<Vec<Vec<Float>>>>,
    open: HashSet<Id>,
    /// How many forms are tried within each other.
    nested: usize,
}

fn round(x: f64, format: Format) -> f64 {
    if format == Format::F32 { f64::from(x as f32) } else { x }
}

fn places(sizes: &[usize]) -> Vec<Vec<i64>> {
    sizes.iter().fold(vec![Vec::new()], |all, &n| {
        all.iter().flat_map(|p| (0..n as i64).map(move |k| [&p[..], &[k]].concat())).collect()
    })
}

impl<'a> Search<'a> {
    pub fn new(store: &'a mut Store, inputs: &[Input], format: Format, with_charts: bool) -> Search<'a> {
        let inputs = Rc::new(inputs.to_vec());
        let known = inputs.clone();
        let facts = Facts::new(Box::new(move |leaf| known[leaf as usize].fact));
        let (best, exact, open) = (FxHashMap::default(), FxHashMap::default(), HashSet::new());
        Search {
            store,
            facts,
            context: ngc_dialects::context(),
            inputs,
            format,
            with_charts,
            best,
            exact,
            open,
            nested: 0,
        }
    }

    fn points(&self) -> usize {
        self.inputs[0].points.len()
    }

    fn sizes(&self, id: Id) -> Vec<usize> {
        self.store.sizes(id).iter().map(|n| n.number().expect("known") as usize).collect()
    }

    /// The exact values of a term.
    pub fn exact(&mut self, id: Id) -> Rc<Vec<Vec<Float>>> {
        if let Some(known) = self.exact.get(&id) {
            return known.clone();
        }
        let sizes = self.sizes(id);
        let of = Use { id, map: (0..sizes.len()).map(|n| Index::axis(Axis(n as u32))).collect() };
        let mut all = Vec::new();
        for point in 0..self.points() {
            let inputs = self.inputs.clone();
            let leaf = |leaf: &Leaf| {
                let Leaf::Value(n) = leaf else { return None };
                let input = &inputs[*n as usize];
                let values = input.points[point].iter().map(|&x| Float::with_val(BITS, x)).collect();
                let dtype = DType::Float(Format::F64);
                Some(Tensor { dtype, shape: input.extents.clone(), data: Data::Real(values) })
            };
            let mut evaluation = Evaluation::new(self.store, &self.context, BITS, &|_| None, &leaf);
            let element = |place: &Vec<i64>| match evaluation.value(&of, place).map(|x| x.data) {
                Some(Data::Real(x)) => x[0].clone(),
                Some(Data::Int(x)) => Float::with_val(BITS, x[0]),
                _ => Float::with_val(BITS, f64::NAN),
            };
            all.push(places(&sizes).iter().map(element).collect());
        }
        let all = Rc::new(all);
        self.exact.insert(id, all.clone());
        all
    }

    fn error(&mut self, id: Id, values: &Values) -> f64 {
        let exact = self.exact(id);
        let (unit, most, least) = match self.format {
            Format::F32 => (2f64.powi(-24), f64::from(f32::MAX), 2f64.powi(-126)),
            _ => (2f64.powi(-53), f64::MAX, f64::MIN_POSITIVE),
        };
        let mut worst: f64 = 0.0;
        for (exact, values) in exact.iter().flatten().zip(values.iter().flatten()) {
            let size = exact.to_f64().abs();
            if exact.is_nan() || size > most {
                continue;
            }
            if !values.is_finite() {
                return f64::INFINITY;
            }
            let error = Float::with_val(BITS, exact - *values).to_f64().abs();
            worst = worst.max(error / (size.max(least) * unit));
        }
        worst
    }

    /// The best way to compute a term.
    pub fn best(&mut self, id: Id) -> Found {
        if let Some(known) = self.best.get(&id) {
            return known.clone();
        }
        if !self.open.insert(id) {
            // A form that is made of what it should compute is none.
            let values = Rc::new(vec![vec![f64::NAN; places(&self.sizes(id)).len()]; self.points()]);
            return Found { values, error: f64::INFINITY, how: "itself".into() };
        }
        let values = self.plain(id);
        let error = self.error(id, &values);
        let mut found = Found { values, error, how: String::new() };
        if self.with_charts && found.error > 8.0 && self.nested < 2 {
            self.nested += 1;

            let mut all = charts::alternatives(self.store, &mut self.facts, id);
            all.extend(charts::recentred(self.store, &mut self.facts, id));
            for equal in all {
                assert_ne!(equal.term.id, id, "{}", self.store.show(&equal.term));
                let inner = self.best(equal.term.id);
                let sizes = self.sizes(id);
                let values = self.read(&inner.values, &equal.term, &sizes);
                let error = self.error(id, &Rc::new(values.clone()));
                let name = equal.law.as_str();
                self.equal(id, &equal.term, name);
                if error < found.error / 2.0 {
                    let how = format!("{name}: {}", self.store.show(&equal.term));
                    found = Found { values: Rc::new(values), error, how };
                }
            }
            self.nested -= 1;
        }
        self.open.remove(&id);
        self.best.insert(id, found.clone());
        found
    }

    /// Holds a term against another one that should be equal.
    fn equal(&mut self, id: Id, term: &Use, law: &str) {
        let sizes = self.sizes(id);
        let (old, new) = (self.exact(id), self.exact(term.id));
        let inner = self.sizes(term.id);
        for (point, (old, new)) in old.iter().zip(new.iter()).enumerate() {
            for (place, old) in places(&sizes).iter().zip(old) {
                let at: Vec<i64> =
                    term.map.iter().map(|i| i.value(place, &|_| None).expect("a place")).collect();
                let new = &new[flat(&at, &inner)];
                if !old.is_finite() {
                    continue;
                }
                let apart = Float::with_val(BITS, old - new).abs();
                let close = Float::with_val(BITS, old.abs_ref()) >> 150u32;
                // What is left after bits cancelled is nothing beside 1.
                let close = close + Float::with_val(BITS, 1e-200);
                assert!(
                    apart <= close,
                    "{law} is false at point {point}, {place:?}: {:e} is not {:e}\n{}\n{}",
                    new.to_f64(),
                    old.to_f64(),
                    self.store.show(&Use {
                        id,
                        map: (0..sizes.len()).map(|n| Index::axis(Axis(n as u32))).collect()
                    }),
                    self.store.show(term),
                );
            }
        }
    }

    /// Values of a part, as they are read along dimensions of these sizes.
    fn read(&self, values: &Values, of: &Use, sizes: &[usize]) -> Vec<Vec<f64>> {
        let inner = self.sizes(of.id);
        let at: Vec<usize> = places(sizes)
            .iter()
            .map(|place| {
                let at: Vec<i64> =
                    of.map.iter().map(|i| i.value(place, &|_| None).expect("a place")).collect();
                flat(&at, &inner)
            })
            .collect();
        values
            .iter()
            .map(|values| at.iter().map(|&n| values.get(n).copied().unwrap_or(f64::NAN)).collect())
            .collect()
    }

    fn part(&mut self, of: &Use, sizes: &[usize]) -> Vec<Vec<f64>> {
        if let Node::Place = self.store.node(of.id) {
            let index = of.map[0].clone();
            let row: Vec<f64> =
                places(sizes).iter().map(|p| index.value(p, &|_| None).expect("a place") as f64).collect();
            return vec![row; self.points()];
        }
        let values = self.best(of.id).values;
        self.read(&values, of, sizes)
    }

    /// A term as its node says, and as ops would compute it that are known by their definitions.
    fn plain(&mut self, id: Id) -> Values {
        let sizes = self.sizes(id);
        let format = self.format;
        let count = places(&sizes).len();
        let points = self.points();
        let all = |x: f64| vec![vec![round(x, format); count]; points];
        let zip = |a: Vec<Vec<f64>>, b: Vec<Vec<f64>>, f: &dyn Fn(f64, f64) -> f64| -> Vec<Vec<f64>> {
            let row = |(a, b): (Vec<f64>, Vec<f64>)| {
                a.into_iter().zip(b).map(|(a, b)| round(f(a, b), format)).collect()
            };
            a.into_iter().zip(b).map(row).collect()
        };
        if let Some(values) = self.known_op(id, &sizes) {
            return Rc::new(values);
        }
        let node = self.store.node(id).clone();
        Rc::new(match node {
            Node::Number(Number::Finite(x)) => all(x.to_f64()),
            Node::Number(Number::Infinite { negative }) => {
                all(if negative { f64::NEG_INFINITY } else { f64::INFINITY })
            }
            Node::Leaf(n) => self.inputs[n as usize].points.clone(),
            Node::Linear(constant, terms) => {
                let mut sum: Option<Vec<Vec<f64>>> = None;
                for (c, x) in terms {
                    let c = c.to_f64();
                    let x = self.part(&x, &sizes);
                    let x: Vec<Vec<f64>> = x
                        .into_iter()
                        .map(|row| row.into_iter().map(|x| round(c * x, format)).collect())
                        .collect();
                    sum = Some(match sum {
                        Some(sum) => zip(sum, x, &|a, b| a + b),
                        None => x,
                    });
                }
                match (sum, constant.is_zero()) {
                    (Some(sum), true) => sum,
                    (Some(sum), false) => zip(sum, all(constant.to_f64()), &|a, b| a + b),
                    (None, _) => all(constant.to_f64()),
                }
            }
            Node::Product(factors) => {
                let (mut above, mut below) = (None::<Vec<Vec<f64>>>, None::<Vec<Vec<f64>>>);
                for (x, e) in factors {
                    let x = self.part(&x, &sizes);
                    let size = e.clone().abs().to_f64();
                    let power = |x: f64| match size {
                        1.0 => x,
                        0.5 => x.sqrt(),
                        2.0 => x * x,
                        _ => x.powf(size),
                    };
                    let x: Vec<Vec<f64>> = x
                        .into_iter()
                        .map(|row| row.into_iter().map(|x| round(power(x), format)).collect())
                        .collect();
                    let side = if e > 0 { &mut above } else { &mut below };
                    *side = Some(match side.take() {
                        Some(known) => zip(known, x, &|a, b| a * b),
                        None => x,
                    });
                }
                let above = above.unwrap_or_else(|| all(1.0));
                match below {
                    Some(below) => zip(above, below, &|a, b| a / b),
                    None => above,
                }
            }
            Node::Max(parts) => {
                let mut greatest = all(f64::NEG_INFINITY);
                for x in parts {
                    let x = self.part(&x, &sizes);
                    greatest =
                        zip(greatest, x, &|a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) });
                }
                greatest
            }
            Node::Apply(Function::Choose, parts) => {
                let [c, a, b] = [0, 1, 2].map(|n| self.part(&parts[n], &sizes));
                let row = |((c, a), b): ((Vec<f64>, Vec<f64>), Vec<f64>)| {
                    let values = c.into_iter().zip(a).zip(b);
                    values.map(|((c, a), b)| if c != 0.0 { a } else { b }).collect()
                };
                c.into_iter().zip(a).zip(b).map(row).collect()
            }
            Node::Apply(Function::Logical(logical), parts) => {
                let (a, b) = (self.part(&parts[0], &sizes), self.part(&parts[1], &sizes));
                let holds = |a: bool, b: bool| match logical {
                    Logical::And => a && b,
                    Logical::Or => a || b,
                    Logical::Xor => a != b,
                };
                zip(a, b, &|a, b| f64::from(u8::from(holds(a != 0.0, b != 0.0))))
            }
            Node::Apply(Function::Compare(cmp), parts) => {
                let (a, b) = (self.part(&parts[0], &sizes), self.part(&parts[1], &sizes));
                zip(a, b, &|a, b| f64::from(u8::from(cmp.holds(a.partial_cmp(&b)))))
            }
            Node::Apply(Function::Prim(prim), parts) => {
                let parts: Vec<_> = parts.iter().map(|x| self.part(x, &sizes)).collect();
                let f = primitives::primitive(prim);
                let value = |point: usize, n: usize| {
                    let args: Vec<f64> = parts.iter().map(|part| part[point][n]).collect();
                    f.round_correctly(&[], &args, format)
                };
                (0..points).map(|point| (0..count).map(|n| value(point, n)).collect()).collect()
            }
            Node::Reduce(kind, over, body) => {
                let over: Vec<usize> = over.iter().map(|n| n.number().expect("known") as usize).collect();
                let inner: usize = over.iter().product();
                let body = self.part(&body, &[&sizes[..], &over[..]].concat());
                let join = |a: f64, b: f64| match kind {
                    Reduce::Sum => a + b,
                    Reduce::Prod => a * b,
                    _ if a.is_nan() || b.is_nan() => f64::NAN,
                    Reduce::Max => a.max(b),
                    Reduce::Min => a.min(b),
                };
                let one = |values: &[f64]| {
                    values.iter().copied().reduce(|a, b| round(join(a, b), format)).expect("an element")
                };
                body.iter().map(|row| row.chunks(inner).map(one).collect()).collect()
            }
            Node::Holds(tests) => {
                let row: Vec<f64> =
                    places(&sizes).iter().map(|p| f64::from(u8::from(holds(&tests, p)))).collect();
                vec![row; points]
            }
            Node::Where(tests, yes, no) => {
                let (yes, no) = (self.part(&yes, &sizes), self.part(&no, &sizes));
                let places = places(&sizes);
                let row = |(yes, no): (Vec<f64>, Vec<f64>)| {
                    let sides = places.iter().zip(yes.into_iter().zip(no));
                    sides.map(|(p, (yes, no))| if holds(&tests, p) { yes } else { no }).collect()
                };
                yes.into_iter().zip(no).map(row).collect()
            }
            other => panic!("{other:?} is not evaluated here"),
        })
    }

    /// Terms that are ops of the dialect: log1p, expm1, erfc, logsumexp.
    fn known_op(&mut self, id: Id, sizes: &[usize]) -> Option<Vec<Vec<f64>>> {
        let format = self.format;
        let map = |x: Vec<Vec<f64>>, f: &dyn Fn(f64) -> f64| -> Vec<Vec<f64>> {
            x.into_iter().map(|row| row.into_iter().map(|x| round(f(x), format)).collect()).collect()
        };
        let space: Vec<Size> = self.store.sizes(id).to_vec();
        match self.store.node(id).clone() {
            Node::Apply(Function::Prim(Prim::Log), x) => match self.store.node(x[0].id).clone() {
                Node::Linear(one, _) if one == 1 => {
                    let rest = self.store.linear((-1).into(), vec![(1.into(), x[0].clone())], &space);
                    let rest = self.part(&rest, sizes);
                    Some(map(rest, &f64::ln_1p))
                }
                Node::Reduce(Reduce::Sum, over, body) => {
                    let Node::Apply(Function::Prim(Prim::Exp), y) = self.store.node(body.id).clone() else {
                        return None;
                    };
                    let own: Vec<usize> = self.sizes(x[0].id);
                    let over: Vec<usize> = over.iter().map(|n| n.number().expect("known") as usize).collect();
                    let inner: usize = over.iter().product();
                    let outer: Vec<Size> = self
                        .store
                        .sizes(x[0].id)
                        .iter()
                        .cloned()
                        .chain(over.iter().map(|&n| Size::from(n)))
                        .collect();
                    let y = self.store.compose(&y[0], &body.map, &outer)?;
                    let y = self.part(&y, &[&own[..], &over[..]].concat());
                    let lse = |values: &[f64]| {
                        let m = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                        if m == f64::NEG_INFINITY {
                            return m;
                        }
                        round(m + values.iter().map(|x| (x - m).exp()).sum::<f64>().ln(), format)
                    };
                    let values = Rc::new(y.iter().map(|row| row.chunks(inner).map(lse).collect()).collect());
                    Some(self.read(&values, &x[0], sizes))
                }
                _ => None,
            },
            Node::Linear(constant, terms) => match &terms[..] {
                [(c, x)] if *c == -constant.clone() => {
                    let (c, x) = (c.to_f64(), x.clone());
                    match self.store.node(x.id).clone() {
                        Node::Apply(Function::Prim(Prim::Exp), y) => {
                            let y = self.store.compose(&y[0], &x.map, &space)?;
                            Some(map(self.part(&y, sizes), &|y| c * y.exp_m1()))
                        }
                        _ => None,
                    }
                }
                _ => None,
            },
            _ => None,
        }
    }
}

fn holds(tests: &[Test], at: &[i64]) -> bool {
    tests.iter().all(|test| {
        let value = test.index().value(at, &|_| None).expect("a place");
        match test {
            Test::AtLeastZero(_) => value >= 0,
            Test::Zero(_) => value == 0,
        }
    })
}

fn flat(at: &[i64], sizes: &[usize]) -> usize {
    at.iter()
        .zip(sizes)
        .fold(0, |flat, (&p, &n)| flat * n + usize::try_from(p).unwrap_or(usize::MAX / 64).min(n))
}
