//! What an element of a primitive op is made of, ready to be evaluated in a run: its value, what roundings on the way add to it, and
//! enclosures of its derivatives between the values of the run and the exact ones.

use ngc_ir::structure::{self, Function, Index, Test};
use ngc_numerics::evaluator::{Class, Logical};
use ngc_numerics::summation::{Summation, narrowing, products_fit};
use ngc_numerics::{Format, Prim, Reduce, SumMethod};
use smallvec::SmallVec;

use super::slopes::{Scalar, Slope, Span, joined, of_extreme, of_product, product};

/// An expression of elements of operands.
pub enum Code {
    Number(f64),
    Place(Index),
    Read {
        operand: usize,
        at: At,
    },
    Real(Scalar, Vec<Code>),
    /// A truth value, which has no derivative.
    Truth(Function, Vec<Code>),
    /// The second where the first holds, else the third.
    Choose(Box<[Code; 3]>),
    /// A change of format.
    Convert(Option<Format>, Box<Code>),
    /// An integer of a number, which has no derivative.
    Whole(Box<Code>),
    Reduce {
        kind: Reduce,
        over: Vec<usize>,
        body: Box<Code>,
    },
    Where(Vec<Test>, Box<[Code; 2]>),
}

/// The number of an element in row-major order.
pub enum At {
    /// A number, and a factor of each dimension.
    Affine(i64, SmallVec<[(usize, i64); 4]>),
    /// Places along the dimensions, with their strides.
    Any(Vec<(Index, i64)>),
}

/// In which formats an op computes.
pub struct Rounding {
    /// That of its sums and products.
    pub of: Format,
    /// That of its result.
    pub to: Format,
    /// How it adds.
    pub method: SumMethod,
    /// Those of its operands, which are rounded to `of` first.
    pub operands: Vec<Option<Format>>,
    /// Whether it adds from the last place to the first.
    pub backwards: bool,
    /// Whether it rounds once, correctly.
    pub correct: bool,
}

impl Rounding {
    /// Whether the result, or what is read, may be held in a narrower format than before.
    fn narrows(&self) -> bool {
        narrowing(self.of, self.to, 1.0) > 0.0
            || self.operands.iter().any(|from| from.is_none_or(|from| narrowing(from, self.of, 1.0) > 0.0))
    }
}

impl Code {
    /// Of an expression over operands of these extents; nothing where an extent is not known.
    pub fn new(element: &structure::Element, shapes: &[&[usize]]) -> Option<Code> {
        let all = |parts: &[structure::Element]| -> Option<Vec<Code>> {
            parts.iter().map(|part| Code::new(part, shapes)).collect()
        };
        Some(match element {
            structure::Element::Number(x) => Code::Number(*x),
            structure::Element::Place(index) => Code::Place(index.clone()),
            structure::Element::Read { operand, at } => {
                Code::Read { operand: *operand, at: At::new(at, shapes.get(*operand)?)? }
            }
            structure::Element::Where { tests, yes, no } => {
                Code::Where(tests.clone(), Box::new([Code::new(yes, shapes)?, Code::new(no, shapes)?]))
            }
            structure::Element::Reduce { kind, over, body } => Code::Reduce {
                kind: *kind,
                over: over.iter().map(|n| usize::try_from(n.number()?).ok()).collect::<Option<_>>()?,
                body: Box::new(Code::new(body, shapes)?),
            },
            structure::Element::Apply(function, parts) => match (function, all(parts)?) {
                (Function::Real(function, params), parts) => {
                    Code::Real(Scalar::new(function, params.clone()), parts)
                }
                (Function::Choose, parts) => Code::Choose(Box::new(<[Code; 3]>::try_from(parts).ok()?)),
                (Function::Convert(_, to), mut parts) => {
                    let part = Box::new(parts.pop()?);
                    if to.is_float() { Code::Convert(to.format(), part) } else { Code::Whole(part) }
                }
                (function, parts) => Code::Truth(function.clone(), parts),
            },
        })
    }

    /// Elements that are read for one element.
    pub fn terms(&self) -> usize {
        let all = |parts: &[Code]| parts.iter().map(Code::terms).fold(0, usize::saturating_add);
        match self {
            Code::Number(_) | Code::Place(_) => 0,
            Code::Read { .. } => 1,
            Code::Real(_, parts) | Code::Truth(_, parts) => all(parts),
            Code::Choose(parts) => all(&parts[..]),
            Code::Convert(_, part) | Code::Whole(part) => part.terms(),
            Code::Where(_, parts) => parts.iter().map(Code::terms).max().unwrap_or(0),
            Code::Reduce { over, body, .. } => {
                over.iter().fold(body.terms().max(1), |n, extent| n.saturating_mul(*extent))
            }
        }
    }

    /// Whether each element is an element of an operand, or a number that the place says.
    fn only_moves(&self) -> bool {
        match self {
            Code::Number(_) | Code::Read { .. } => true,
            Code::Where(_, parts) => parts.iter().all(Code::only_moves),
            Code::Choose(parts) => parts[1..].iter().all(Code::only_moves),
            _ => false,
        }
    }

    /// Whether an element may be none of those that it is made of, so that its op may add an error.
    pub fn rounds(&self, rounding: &Rounding) -> bool {
        !self.only_moves() || rounding.narrows()
    }

    fn format(&self, rounding: &Rounding) -> Option<Format> {
        match self {
            Code::Read { operand, .. } => rounding.operands.get(*operand).copied().flatten(),
            Code::Where(_, parts) => parts.iter().find_map(|part| part.format(rounding)),
            _ => None,
        }
    }
}

impl At {
    fn new(at: &[Index], shape: &[usize]) -> Option<At> {
        let strides = ngc_numerics::tensor::strides(shape);
        if at.len() != strides.len() {
            return None;
        }
        let (mut base, mut factors) = (0, SmallVec::<[(usize, i64); 4]>::new());
        for (index, &stride) in at.iter().zip(&strides) {
            let stride = stride as i64;
            let Some((number, of)) = index.as_affine() else {
                return Some(At::Any(at.iter().cloned().zip(strides.iter().map(|&s| s as i64)).collect()));
            };
            base += number * stride;
            for (axis, factor) in of {
                let axis = axis.0 as usize;
                match factors.iter_mut().find(|(known, _)| *known == axis) {
                    Some((_, sum)) => *sum += factor * stride,
                    None => factors.push((axis, factor * stride)),
                }
            }
        }
        Some(At::Affine(base, factors))
    }

    fn flat(&self, at: &[i64]) -> usize {
        let flat = match self {
            At::Affine(base, factors) => factors.iter().fold(*base, |n, &(axis, by)| n + at[axis] * by),
            At::Any(places) => places.iter().map(|(index, stride)| place(index, at) * stride).sum(),
        };
        flat as usize
    }
}

fn place(index: &Index, at: &[i64]) -> i64 {
    index.value(at, &|_| None).expect("all extents are known")
}

/// The elements of an operand in the run, and the exact ones, rounded to `f64` away from those of the run.
pub type Data<'a> = (&'a [f64], &'a [f64]);

type Place = SmallVec<[i64; 8]>;

/// An element of a result in a run.
pub struct Element<'a> {
    data: &'a [Data<'a>],
    at: Place,
}

impl<'a> Element<'a> {
    /// The element of a number in row-major order of a result of these extents, of elements of the operands.
    pub fn new(data: &'a [Data<'a>], shape: &[usize], mut flat: usize) -> Element<'a> {
        let mut at: Place = shape.iter().rev().map(|&n| (flat % n, flat /= n).0 as i64).collect();
        at.reverse();
        Element { data, at }
    }

    fn read(&self, operand: usize, at: &At) -> Span {
        let (flat, (run, exact)) = (at.flat(&self.at), self.data[operand]);
        (run[flat], exact[flat])
    }

    fn holds(&self, tests: &[Test]) -> bool {
        tests.iter().all(|test| match test {
            Test::AtLeastZero(index) => place(index, &self.at) >= 0,
            Test::Zero(index) => place(index, &self.at) == 0,
        })
    }

    fn branch<'c>(&self, tests: &[Test], parts: &'c [Code; 2]) -> &'c Code {
        if self.holds(tests) { &parts[0] } else { &parts[1] }
    }

    fn choice<'c>(&mut self, parts: &'c [Code; 3]) -> &'c Code {
        if self.value(&parts[0]).0 != 0.0 { &parts[1] } else { &parts[2] }
    }

    /// Calls `f` at all places of further dimensions.
    fn over(&mut self, extents: &[usize], f: &mut dyn FnMut(&mut Element<'a>)) {
        let depth = self.at.len();
        self.at.extend(extents.iter().map(|_| 0));
        let count: usize = extents.iter().product();
        for _ in 0..count {
            f(self);
            for (n, extent) in extents.iter().enumerate().rev() {
                let place = &mut self.at[depth + n];
                *place += 1;
                if *place < *extent as i64 {
                    break;
                }
                *place = 0;
            }
        }
        self.at.truncate(depth);
    }

    fn values(&mut self, parts: &[Code]) -> SmallVec<[Span; 3]> {
        parts.iter().map(|part| self.value(part)).collect()
    }

    fn value(&mut self, code: &Code) -> Span {
        let both = |x: f64| (x, x);
        match code {
            Code::Number(x) => both(*x),
            Code::Place(index) => both(place(index, &self.at) as f64),
            Code::Read { operand, at } => self.read(*operand, at),
            Code::Real(scalar, parts) => each(&self.values(parts), |x| scalar.value(x)),
            Code::Truth(function, parts) => {
                each(&self.values(parts), |x| f64::from(u8::from(truth(function, x))))
            }
            Code::Choose(parts) => {
                let part = self.choice(parts);
                self.value(part)
            }
            Code::Convert(_, part) => self.value(part),
            Code::Whole(part) => each(&[self.value(part)], |x| x[0].trunc()),
            Code::Where(tests, parts) => {
                let part = self.branch(tests, parts);
                self.value(part)
            }
            Code::Reduce { kind, over, body } => {
                let mut all: Option<Span> = None;
                self.over(over, &mut |element| {
                    let x = element.value(body);
                    all = Some(all.map_or(x, |all| (joined(*kind, all.0, x.0), joined(*kind, all.1, x.1))));
                });
                all.unwrap_or_else(|| both(kind.of_nothing()))
            }
        }
    }

    /// A bound of what the op's own roundings add to the element, whose value is given.
    pub fn rounded(&mut self, code: &Code, rounding: &Rounding, value: f64) -> f64 {
        match code {
            Code::Real(scalar, _) if rounding.correct => match scalar.is_exact(rounding.to) {
                true => 0.0,
                false => unit(rounding.to, value),
            },
            _ if narrowing(rounding.of, rounding.to, 1.0) > 0.0 => {
                self.error(code, rounding).1 + unit(rounding.to, value)
            }
            _ => self.error(code, rounding).1,
        }
    }

    /// The value, and what roundings add to it.
    fn error(&mut self, code: &Code, rounding: &Rounding) -> (f64, f64) {
        match code {
            Code::Read { operand, at } => {
                let x = self.read(*operand, at).0;
                let narrows = match rounding.operands[*operand] {
                    Some(from) => narrowing(from, rounding.of, 1.0) > 0.0,
                    // Beyond that integers are rounded here already.
                    None => !rounding.of.contains(x) || x.abs() >= (1u64 << 53) as f64,
                };
                (x, if narrows { unit(rounding.of, x) } else { 0.0 })
            }
            Code::Where(tests, parts) => {
                let part = self.branch(tests, parts);
                self.error(part, rounding)
            }
            Code::Choose(parts) => {
                let part = self.choice(parts);
                self.error(part, rounding)
            }
            // Only of integers: of numbers it is no function.
            Code::Convert(to, part) => {
                let (x, error) = self.error(part, rounding);
                let own = to.filter(|to| !to.contains(x)).map_or(0.0, |to| unit(to, x));
                (x, error + own)
            }
            Code::Real(scalar, parts) => {
                let (mut values, mut errors) = (SmallVec::<[f64; 3]>::new(), SmallVec::<[f64; 3]>::new());
                for part in parts {
                    let (value, error) = self.error(part, rounding);
                    values.push(value);
                    errors.push(error);
                }
                let value = scalar.value(&values);
                let mut error = 0.0;
                if errors.iter().any(|error| *error != 0.0) {
                    let around = |(x, e): (&f64, &f64)| (x - e, x + e);
                    let spans: SmallVec<[Span; 3]> = values.iter().zip(&errors).map(around).collect();
                    let steep = |slope: &Slope| slope.mid.abs() + slope.rad;
                    let slopes = scalar.slopes(&spans);
                    error +=
                        slopes.iter().zip(&errors).map(|(slope, e)| product(*e, steep(slope))).sum::<f64>();
                }
                let fits =
                    |part: &Code| part.format(rounding).is_some_and(|from| products_fit(from, rounding.of));
                let exact = match scalar.primitive {
                    Some(Prim::Mul) => values.contains(&0.0) || parts.iter().all(fits),
                    _ => scalar.is_exact(rounding.of),
                };
                (value, if exact { error } else { error + unit(rounding.of, value.abs() + error) })
            }
            Code::Reduce { kind, over, body } => self.reduced(*kind, over, body, rounding),
            _ => (self.value(code).0, 0.0),
        }
    }

    fn reduced(&mut self, kind: Reduce, over: &[usize], body: &Code, rounding: &Rounding) -> (f64, f64) {
        let mut parts: Vec<(f64, f64)> = Vec::new();
        self.over(over, &mut |element| parts.push(element.error(body, rounding)));
        if rounding.backwards {
            parts.reverse();
        }
        let (mut all, mut total, mut errors, mut terms) = (None::<f64>, 0.0, 0.0f64, 0usize);
        for (x, error) in parts {
            // What is nothing adds no rounding.
            terms += usize::from(x != 0.0);
            total += x.abs();
            let next = all.map_or(x, |all| joined(kind, all, x));
            match kind {
                Reduce::Sum => {
                    errors += error;
                    if rounding.method == SumMethod::Naive && all.is_some_and(|all| all != 0.0) && x != 0.0 {
                        errors += unit(rounding.of, next.abs() + errors);
                    }
                }
                Reduce::Prod => {
                    let before = all.unwrap_or(1.0);
                    errors = errors * (x.abs() + error) + before.abs() * error;
                    if all.is_some() {
                        errors += unit(rounding.of, next.abs() + errors);
                    }
                }
                Reduce::Max | Reduce::Min => errors = errors.max(error),
            }
            all = Some(next);
        }
        if kind == Reduce::Sum && rounding.method != SumMethod::Naive {
            let sum = Summation { format: rounding.of, method: rounding.method, terms: terms as f64 };
            errors += sum.error(total + errors);
        }
        (all.unwrap_or_else(|| kind.of_nothing()), errors)
    }

    /// Tells of each element of the operands (operand, number, derivative times `weight`) of which the value is made.
    pub fn slopes(&mut self, code: &Code, weight: Slope, tell: &mut dyn FnMut(usize, usize, Slope)) {
        match code {
            Code::Number(_) | Code::Place(_) | Code::Truth(..) | Code::Whole(_) => {}
            Code::Read { operand, at } => tell(*operand, at.flat(&self.at), weight),
            Code::Convert(_, part) => self.slopes(part, weight, tell),
            Code::Choose(parts) => {
                let part = self.choice(parts);
                self.slopes(part, weight, tell);
            }
            Code::Where(tests, parts) => {
                let part = self.branch(tests, parts);
                self.slopes(part, weight, tell);
            }
            Code::Real(scalar, parts) => {
                let values = self.values(parts);
                for (part, slope) in parts.iter().zip(scalar.slopes(&values)) {
                    if slope != Slope::NONE {
                        self.slopes(part, weight.times(slope), tell);
                    }
                }
            }
            Code::Reduce { kind: Reduce::Sum, over, body } => {
                self.over(over, &mut |element| element.slopes(body, weight, tell));
            }
            Code::Reduce { kind, over, body } => {
                let mut values = Vec::new();
                self.over(over, &mut |element| values.push(element.value(body)));
                let slopes = match kind {
                    Reduce::Prod => of_product(&values),
                    _ => of_extreme(*kind, &values),
                };
                let mut slopes = slopes.into_iter();
                self.over(over, &mut |element| {
                    if let Some(slope) = slopes.next().filter(|slope| *slope != Slope::NONE) {
                        element.slopes(body, weight.times(slope), tell);
                    }
                });
            }
        }
    }
}

fn each(x: &[Span], f: impl Fn(&[f64]) -> f64) -> Span {
    let (run, exact): (SmallVec<[f64; 3]>, SmallVec<[f64; 3]>) = x.iter().copied().unzip();
    let value = f(&run);
    (value, if run == exact { value } else { f(&exact) })
}

/// The most that rounding adds to a number that is known after it: the number may have come from beyond a power of two.
pub fn unit(format: Format, rounded: f64) -> f64 {
    let magnitude = rounded.abs().max(format.min_subnormal());
    if magnitude <= format.max_finite() {
        (format.ulp(magnitude) * 0.5).max(f64::from_bits(1))
    } else {
        f64::INFINITY
    }
}

fn truth(function: &Function, x: &[f64]) -> bool {
    match (function, x) {
        (Function::Compare(cmp), [x, y]) => cmp.holds(x.partial_cmp(y)),
        (Function::Logical(Logical::And), [x, y]) => *x != 0.0 && *y != 0.0,
        (Function::Logical(Logical::Or), [x, y]) => *x != 0.0 || *y != 0.0,
        (Function::Logical(Logical::Xor), [x, y]) => (*x != 0.0) != (*y != 0.0),
        (Function::Not, [x]) => *x == 0.0,
        (Function::Classify(Class::Nan), [x]) => x.is_nan(),
        (Function::Classify(Class::Finite), [x]) => x.is_finite(),
        (Function::Classify(Class::Infinite), [x]) => x.is_infinite(),
        _ => false,
    }
}
