//! The values of one element at all points, and functions of them.

use std::borrow::Cow;
use std::rc::Rc;

use ngc_numerics::binary64::Binary64;
use ngc_numerics::enclosure::{self, Number};
use ngc_numerics::evaluator::{Class, Logical};
use ngc_numerics::{Big, Cmp, DType, Domain, Enclosure, Format, ScalarFn, StoredTensor, integer};
use rug::Float;
use rug::float::Round;
use smallvec::SmallVec;

use super::Mode;

/// The values of an element at all points.
#[derive(Clone, Debug)]
pub enum Column {
    /// Values of a format, NaN and infinities among them.
    Floats(Vec<f64>),
    /// Enclosures of real numbers or infinities. One that is undefined says that there is no value over the reals; one that
    /// may be NaN, that nothing is known.
    Reals(Vec<Enclosure<Float>>),
    /// The same with ends in `f64`.
    Near(Vec<Enclosure<f64>>),
    /// Integers; nothing where none is certain.
    Integers(Vec<Option<i64>>),
    /// Truth values; nothing where none is certain.
    Truths(Vec<Option<bool>>),
}

impl Column {
    /// The number of points; 1 where all points have the same value.
    pub(super) fn len(&self) -> usize {
        match self {
            Column::Floats(v) => v.len(),
            Column::Reals(v) => v.len(),
            Column::Near(v) => v.len(),
            Column::Integers(v) => v.len(),
            Column::Truths(v) => v.len(),
        }
    }

    /// One value at so many points.
    pub(super) fn repeated(&self, points: usize) -> Rc<Column> {
        fn all<T: Clone>(v: &[T], points: usize) -> Vec<T> {
            v.first().map_or_else(Vec::new, |x| vec![x.clone(); points])
        }
        Rc::new(match self {
            Column::Floats(v) => Column::Floats(all(v, points)),
            Column::Reals(v) => Column::Reals(all(v, points)),
            Column::Near(v) => Column::Near(all(v, points)),
            Column::Integers(v) => Column::Integers(all(v, points)),
            Column::Truths(v) => Column::Truths(all(v, points)),
        })
    }

    /// Truth values as the integers 1 and 0.
    fn integers(&self) -> Option<Cow<'_, [Option<i64>]>> {
        match self {
            Column::Integers(v) => Some(Cow::Borrowed(v)),
            Column::Truths(v) => Some(v.iter().map(|x| x.map(i64::from)).collect()),
            _ => None,
        }
    }
}

/// The value at a point.
pub(super) fn at<T>(column: &[T], point: usize) -> &T {
    if column.len() == 1 { &column[0] } else { &column[point] }
}

/// How many points columns have together.
pub(super) fn joint<'c>(columns: impl IntoIterator<Item = &'c Column>) -> usize {
    columns.into_iter().map(Column::len).find(|&n| n != 1).unwrap_or(1)
}

/// Functions of numbers, in a mode.
pub(super) struct Arithmetic {
    pub mode: Mode,
    pub big: Big,
    bits: u32,
}

impl Arithmetic {
    pub fn new(mode: Mode) -> Arithmetic {
        // Values of all formats and their differences are exact in conversions.
        let bits = if let Mode::Real { bits } = mode { bits.max(64) } else { 64 };
        Arithmetic { mode, big: Big::new(bits), bits }
    }

    /// Numbers from outside, of a type.
    pub fn given(&self, values: Vec<f64>, elem: DType) -> Column {
        match elem {
            DType::Float(_) if self.mode == Mode::Formats => Column::Floats(values),
            DType::Float(_) if self.mode == Mode::Near => {
                Column::Near(values.into_iter().map(Enclosure::point).collect())
            }
            DType::Float(_) => Column::Reals(values.into_iter().map(|x| self.point(x)).collect()),
            DType::BOOL => Column::Truths(values.into_iter().map(|x| Some(x != 0.0)).collect()),
            _ => Column::Integers(values.into_iter().map(|x| Some(elem.wrap(x as i64))).collect()),
        }
    }

    /// An element of a constant, which holds but one where all are alike.
    pub fn constant(&self, tensor: &StoredTensor, flat: usize) -> Option<Column> {
        let flat = if tensor.len() == 1 { 0 } else { flat };
        if flat >= tensor.len() {
            return None;
        }
        Some(match tensor.integer(flat) {
            Some(v) if tensor.dtype == DType::BOOL => Column::Truths(vec![Some(v != 0)]),
            Some(v) => Column::Integers(vec![Some(v)]),
            None => self.given(vec![tensor.number(flat)?], tensor.dtype),
        })
    }

    /// A number as a value of a type; infinities are the ends of an integer type.
    pub fn number(&self, x: f64, elem: DType) -> Column {
        match elem {
            DType::Float(_) | DType::BOOL => self.given(vec![x], elem),
            _ => {
                let (least, greatest) = elem.int_range();
                Column::Integers(vec![Some((x as i64).clamp(least, greatest))])
            }
        }
    }

    fn point(&self, x: f64) -> Enclosure<Float> {
        Enclosure::point(self.big.embed(x))
    }

    /// Of which nothing is known; where values are rounded, no number.
    pub fn unknown(&self) -> Enclosure<Float> {
        if self.mode == Mode::WideRange {
            return self.point(f64::NAN);
        }
        let end = |x| self.big.embed(x);
        Enclosure { lo: end(f64::NEG_INFINITY), hi: end(f64::INFINITY), may_be_nan: true }
    }

    /// The column as `f64`.
    fn floats<'c>(&self, x: &'c Column) -> Cow<'c, [f64]> {
        match x {
            Column::Floats(v) => Cow::Borrowed(v),
            Column::Reals(v) => v.iter().map(|x| Number::to_f64(&x.lo)).collect(),
            Column::Near(v) => v.iter().map(|x| x.lo).collect(),
            _ => {
                let integers = x.integers().unwrap_or_default();
                integers.iter().map(|x| x.map_or(f64::NAN, |x| x as f64)).collect()
            }
        }
    }

    /// The column as enclosures.
    pub fn reals<'c>(&self, x: &'c Column) -> Cow<'c, [Enclosure<Float>]> {
        match x {
            Column::Reals(v) => Cow::Borrowed(v),
            Column::Floats(v) => v.iter().map(|&x| self.point(x)).collect(),
            Column::Near(v) => {
                let end = |x| self.big.embed(x);
                let wide =
                    |x: &Enclosure<f64>| Enclosure { lo: end(x.lo), hi: end(x.hi), may_be_nan: x.may_be_nan };
                v.iter().map(wide).collect()
            }
            _ => {
                let exact = |x: i64| Enclosure::point(Float::with_val(self.bits, x));
                let integers = x.integers().unwrap_or_default();
                integers.iter().map(|x| x.map_or_else(|| self.unknown(), exact)).collect()
            }
        }
    }

    /// The column as enclosures with ends in `f64`.
    pub fn near<'c>(&self, x: &'c Column) -> Cow<'c, [Enclosure<f64>]> {
        match x {
            Column::Near(v) => Cow::Borrowed(v),
            _ => {
                let outward = |x: &Enclosure<Float>| Enclosure {
                    lo: x.lo.to_f64_round(Round::Down),
                    hi: x.hi.to_f64_round(Round::Up),
                    may_be_nan: x.may_be_nan,
                };
                self.reals(x).iter().map(outward).collect()
            }
        }
    }

    /// A number in a format, where the mode rounds.
    pub fn round(&self, x: &Enclosure<Float>, format: Format) -> Enclosure<Float> {
        match self.mode {
            Mode::WideRange => Enclosure::point(Float::with_val(format.precision(), &x.lo)),
            _ => x.clone(),
        }
    }

    /// Values as values of a type: rounded, or reduced modulo `2^width`.
    pub fn cast(&self, x: Rc<Column>, elem: DType) -> Rc<Column> {
        match (&*x, elem) {
            (Column::Integers(v), DType::Float(format)) if self.mode == Mode::Formats => {
                let float = |x: i64| integer::to_float(x, format);
                Rc::new(Column::Floats(v.iter().map(|x| x.map_or(f64::NAN, float)).collect()))
            }
            (Column::Integers(_), DType::Float(_)) if self.mode == Mode::Near => {
                Rc::new(Column::Near(self.near(&x).into_owned()))
            }
            (Column::Integers(_), DType::Float(format)) => {
                let v = self.reals(&x);
                Rc::new(Column::Reals(v.iter().map(|x| self.round(x, format)).collect()))
            }
            (Column::Integers(v), DType::Int(8 | 16 | 32) | DType::Unsigned(_)) => {
                Rc::new(Column::Integers(v.iter().map(|x| x.map(|x| elem.wrap(x))).collect()))
            }
            _ => self.cast_floats(x, elem),
        }
    }

    /// Floating-point values rounded to a type, and others as they are.
    pub fn cast_floats(&self, x: Rc<Column>, elem: DType) -> Rc<Column> {
        match (&*x, elem) {
            (Column::Floats(v), DType::Float(format)) if v.iter().any(|&x| !format.contains(x)) => {
                Rc::new(Column::Floats(v.iter().map(|&x| format.round(x)).collect()))
            }
            (Column::Reals(v), DType::Float(format)) if self.mode == Mode::WideRange => {
                Rc::new(Column::Reals(v.iter().map(|x| self.round(x, format)).collect()))
            }
            _ => x,
        }
    }

    /// A change of type that cuts towards zero.
    pub fn convert(&self, x: &Column, to: DType) -> Column {
        match x {
            Column::Floats(v) => {
                let (least, greatest) = to.int_range();
                Column::Integers(v.iter().map(|&x| Some((x as i64).clamp(least, greatest))).collect())
            }
            _ => {
                let whole = |x: &Enclosure<Float>| {
                    let ends = [&x.lo, &x.hi].map(|end| integer::from_real(end, to));
                    (ends[0] == ends[1] && (x.is_undefined() || !x.may_be_nan)).then_some(ends[0])
                };
                Column::Integers(self.reals(x).iter().map(whole).collect())
            }
        }
    }

    /// A function of numbers: in a format, or of integers of a type if all are.
    pub fn real(
        &self,
        f: &ScalarFn,
        params: &[f64],
        x: &[Rc<Column>],
        [elem, integers]: [DType; 2],
    ) -> Column {
        let points = joint(x.iter().map(|x| &**x));
        if let Some(v) = x.iter().map(|x| x.integers()).collect::<Option<SmallVec<[_; 3]>>>() {
            let value = |i: usize| {
                let x: Option<SmallVec<[i64; 4]>> = v.iter().map(|v| *at(v, i)).collect();
                integer::evaluate(f, integers, params, &x?).ok()
            };
            return Column::Integers((0..points).map(value).collect());
        }
        let format = elem.format().unwrap_or(Format::F64);
        match self.mode {
            Mode::Formats => {
                let v: SmallVec<[Cow<'_, [f64]>; 3]> = x.iter().map(|x| self.floats(x)).collect();
                let value = |i: usize| {
                    let x: SmallVec<[f64; 4]> = v.iter().map(|v| *at(v, i)).collect();
                    f.round_correctly(params, &x, format)
                };
                Column::Floats((0..points).map(value).collect())
            }
            Mode::WideRange => {
                let v: SmallVec<[_; 3]> = x.iter().map(|x| self.reals(x)).collect();
                let value = |i: usize| {
                    let x: SmallVec<[Float; 4]> = v.iter().map(|v| at(v, i).lo.clone()).collect();
                    Enclosure::point(f.eval_real(params, &x, format.precision()))
                };
                Column::Reals((0..points).map(value).collect())
            }
            Mode::Near => {
                let v: SmallVec<[_; 3]> = x.iter().map(|x| self.near(x)).collect();
                Column::Near(enclosures(&Binary64, f, params, &v, points))
            }
            Mode::Real { .. } => {
                let v: SmallVec<[_; 3]> = x.iter().map(|x| self.reals(x)).collect();
                Column::Reals(enclosures(&self.big, f, params, &v, points))
            }
        }
    }

    /// A relation.
    pub fn compare(&self, cmp: Cmp, x: &Column, y: &Column) -> Column {
        let points = joint([x, y]);
        Column::Truths(match (x.integers(), y.integers(), self.mode) {
            (Some(x), Some(y), _) => {
                let holds = |i| Some(cmp.holds((*at(&x, i))?.partial_cmp(&(*at(&y, i))?)));
                (0..points).map(holds).collect()
            }
            (_, _, Mode::Formats) => {
                let (x, y) = (self.floats(x), self.floats(y));
                (0..points).map(|i| Some(cmp.holds(at(&x, i).partial_cmp(at(&y, i))))).collect()
            }
            (_, _, Mode::Near) => {
                let (x, y) = (self.near(x), self.near(y));
                (0..points).map(|i| at(&x, i).compare(cmp, at(&y, i))).collect()
            }
            _ => {
                let (x, y) = (self.reals(x), self.reals(y));
                (0..points).map(|i| at(&x, i).compare(cmp, at(&y, i))).collect()
            }
        })
    }

    /// The one where the condition holds, else the other; both where that is not certain.
    pub fn choose(&self, condition: &Column, x: &Rc<Column>, y: &Rc<Column>) -> Option<Rc<Column>> {
        let Column::Truths(truths) = condition else { return None };
        if let [Some(holds)] = truths[..] {
            return Some(if holds { x } else { y }.clone());
        }
        let points = joint([condition, x, y]);
        fn pick<T: Clone>(
            truths: &[Option<bool>],
            points: usize,
            x: &[T],
            y: &[T],
            both: impl Fn(&T, &T) -> T,
        ) -> Vec<T> {
            let one = |i| match at(truths, i) {
                Some(true) => at(x, i).clone(),
                Some(false) => at(y, i).clone(),
                None => both(at(x, i), at(y, i)),
            };
            (0..points).map(one).collect()
        }
        fn agree<T: Copy + PartialEq>(x: &Option<T>, y: &Option<T>) -> Option<T> {
            x.filter(|_| x == y)
        }
        Some(Rc::new(match (&**x, &**y) {
            (Column::Floats(x), Column::Floats(y)) => {
                Column::Floats(pick(truths, points, x, y, |_, _| f64::NAN))
            }
            (Column::Reals(x), Column::Reals(y)) => {
                Column::Reals(pick(truths, points, x, y, |x, y| x.clone().hull(y.clone())))
            }
            (Column::Near(x), Column::Near(y)) => Column::Near(pick(truths, points, x, y, |x, y| x.hull(*y))),
            (Column::Integers(x), Column::Integers(y)) => Column::Integers(pick(truths, points, x, y, agree)),
            (Column::Truths(x), Column::Truths(y)) => Column::Truths(pick(truths, points, x, y, agree)),
            _ => return None,
        }))
    }
}

/// A function of enclosed numbers at all points.
fn enclosures<D: Domain>(
    domain: &D,
    f: &ScalarFn,
    params: &[f64],
    x: &[Cow<'_, [Enclosure<D::Number>]>],
    points: usize,
) -> Vec<Enclosure<D::Number>> {
    let params: Vec<_> = params.iter().map(|&x| Enclosure::point(domain.embed(x))).collect();
    let value = |i: usize| {
        let x: SmallVec<[&Enclosure<D::Number>; 4]> = x.iter().map(|x| at(x, i)).collect();
        enclose(domain, f, &params, &x)
    };
    (0..points).map(value).collect()
}

fn enclose<D: Domain>(
    domain: &D,
    f: &ScalarFn,
    params: &[Enclosure<D::Number>],
    x: &[&Enclosure<D::Number>],
) -> Enclosure<D::Number> {
    let point = |x: f64| Enclosure::point(domain.embed(x));
    let mut others = None::<Enclosure<D::Number>>;
    for special in f.declared_specials() {
        let asked = || special.at.iter().zip(x).filter_map(|(at, x)| Some(((*at)?, x)));
        if asked().all(|(at, x)| x.lo == at && x.hi == at && !x.may_be_nan) {
            return point(special.value);
        }
        if asked().all(|(at, x)| x.may_be_nan && !x.is_undefined() || x.lo <= at && x.hi >= at) {
            let value = point(special.value);
            others = Some(others.map_or(value.clone(), |other| other.hull(value)));
        }
    }
    let value = match f.as_primitive() {
        Some(prim) if f.declared_limits() == [None; 2] => enclosure::apply(domain, prim, x),
        _ if x.iter().any(|x| x.is_undefined()) => point(f64::NAN),
        _ => {
            let x: SmallVec<[Enclosure<D::Number>; 4]> = x.iter().map(|x| (*x).clone()).collect();
            f.enclose(domain, params, &x)
        }
    };
    match others {
        Some(others) => value.hull(others),
        None => value,
    }
}

/// Whether an enclosed number is of a class, where that is certain.
fn class_of<N: Number>(class: Class, x: &Enclosure<N>) -> Option<bool> {
    let finite = |x: &N| *x > f64::NEG_INFINITY && *x < f64::INFINITY;
    match () {
        () if x.is_undefined() => Some(class == Class::Nan),
        () if x.may_be_nan => None,
        () if class == Class::Nan => Some(false),
        () if finite(&x.lo) && finite(&x.hi) => Some(class == Class::Finite),
        () if x.lo == x.hi => Some(class == Class::Infinite),
        () => None,
    }
}

/// A connective of truth values, or of the bits of integers.
pub(super) fn logical(logical: Logical, x: &Column, y: &Column) -> Option<Column> {
    let points = joint([x, y]);
    Some(match (x, y) {
        (Column::Truths(x), Column::Truths(y)) => {
            let holds = |i: usize| match (logical, *at(x, i), *at(y, i)) {
                (Logical::And, Some(false), _) | (Logical::And, _, Some(false)) => Some(false),
                (Logical::Or, Some(true), _) | (Logical::Or, _, Some(true)) => Some(true),
                (Logical::And, x, y) => Some(x? & y?),
                (Logical::Or, x, y) => Some(x? | y?),
                (Logical::Xor, x, y) => Some(x? ^ y?),
            };
            Column::Truths((0..points).map(holds).collect())
        }
        (Column::Integers(x), Column::Integers(y)) => {
            let bits = |i: usize| {
                let (x, y) = ((*at(x, i))?, (*at(y, i))?);
                Some(match logical {
                    Logical::And => x & y,
                    Logical::Or => x | y,
                    Logical::Xor => x ^ y,
                })
            };
            Column::Integers((0..points).map(bits).collect())
        }
        _ => return None,
    })
}

/// The negation of truth values, or of the bits of integers.
pub(super) fn not(x: &Column, elem: DType) -> Option<Column> {
    Some(match x {
        Column::Truths(v) => Column::Truths(v.iter().map(|x| x.map(|x| !x)).collect()),
        Column::Integers(v) => Column::Integers(v.iter().map(|x| x.map(|x| elem.wrap(!x))).collect()),
        _ => return None,
    })
}

/// Whether values are of a class.
pub(super) fn classify(class: Class, x: &Column) -> Column {
    let of = |x: f64| match class {
        Class::Nan => x.is_nan(),
        Class::Finite => x.is_finite(),
        Class::Infinite => x.is_infinite(),
    };
    Column::Truths(match x {
        Column::Floats(v) => v.iter().map(|&x| Some(of(x))).collect(),
        Column::Reals(v) => v.iter().map(|x| class_of(class, x)).collect(),
        Column::Near(v) => v.iter().map(|x| class_of(class, x)).collect(),
        Column::Integers(v) => v.iter().map(|x| x.map(|_| class == Class::Finite)).collect(),
        Column::Truths(v) => v.iter().map(|x| x.map(|_| class == Class::Finite)).collect(),
    })
}
