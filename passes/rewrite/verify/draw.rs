//! Random choices for instances of rules.

use ngc_ir::op_def::{AttrKind, ValueKind};
use ngc_ir::{Attr, Context, Ident, Type};
use ngc_numerics::{DType, Format, Random, Tensor};

use super::probe::number;
use crate::rewrite::rule::{Expr, Infix, Pattern};

/// A number of great magnitude that every format holds.
pub const LIMIT: f64 = 1e4;

/// What an instance is drawn for.
#[derive(Clone, Copy, Debug)]
pub struct Aim {
    /// Format of its elements.
    pub format: Format,
    /// Which shapes.
    pub extents: Extents,
    /// Which points.
    pub points: Points,
    /// One variable held at an edge.
    pub held: Option<(Ident, Held)>,
}

impl Aim {
    /// Anything.
    pub fn at_random(format: Format) -> Aim {
        Aim { format, extents: Extents::Any, points: Points::Any, held: None }
    }
}

/// Extents of an instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extents {
    /// Up to four dimensions of 1 to 3.
    Any,
    /// The same, one of them 0.
    Empty,
    /// All of them 1.
    Ones,
    /// No dimensions.
    Scalar,
    /// All of them 2, with ranks that vary freely: no type tells then which axis is which.
    Twos,
    /// Like [`Extents::Any`], but operands differ from the base shape in two or three ways at once.
    Uneven,
}

/// Points of an instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Points {
    /// Of one of several kinds: around zero, positive, in the unit interval, tiny, large, all equal.
    Any,
    /// Zeros, ones of either sign, and their neighbours among the powers of two.
    Special,
    /// Near the least normal number, of either sign.
    Tiny,
    /// Thousands, of either sign.
    Large,
    /// All elements alike.
    Equal,
    /// Zeros and ones of either sign alone, which many functions map to each other.
    Units,
    /// Some elements -inf, as masks have them, and some 0.
    Masked,
    /// Infinities of either sign among them, zeros and ones.
    Infinite,
    /// Positive, some infinite.
    Upward,
    /// Of another one of these kinds for each input: an infinite base meets an exponent of 0.
    Mixed,
    /// Some undefined.
    Undefined,
    /// Some undefined, some infinite: a leg that is infinite decides of a hypotenuse.
    NonFinite,
}

/// The kinds among which [`Points::Mixed`] chooses.
const MIXED: [Points; 6] =
    [Points::Special, Points::Units, Points::Masked, Points::Infinite, Points::Upward, Points::Equal];

/// Where a variable is held.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Held {
    /// An input's least value is the n-th number of the format above this one, and the others lie up to `reach` above.
    Above(f64, i32, f64),
    /// An input's greatest value is the n-th number of the format above this one, and the others lie up to `reach`
    /// below.
    Below(f64, i32, f64),
    /// An input lies between the n-th number above this one and its negative, both taken.
    Within(f64, i32),
    /// A constant is the n-th number of the format above this one.
    Constant(f64, i32),
    /// A constant is the number of elements along some axes, plus this.
    Count(f64),
}

/// The n-th number of a format after `x`, before it if `n` is negative.
fn step(format: Format, x: f64, n: i32) -> f64 {
    let x = format.round(x);
    (0..n.abs()).fold(x, |x, _| if n > 0 { format.next_up(x) } else { format.next_down(x) })
}

/// Chooses shapes, points, constants and attributes.
pub struct Draw<'r> {
    /// Where chance comes from.
    pub random: &'r mut Random,
    /// What for.
    pub aim: Aim,
}

impl Draw<'_> {
    /// The shape from which those of all operands are derived.
    pub fn base(&mut self, least_rank: usize) -> Vec<usize> {
        let rank = (self.random.below(4) + least_rank).min(4);
        let mut any = || (0..rank).map(|_| self.random.pick(&[1, 2, 3, 2])).collect::<Vec<usize>>();
        match self.aim.extents {
            Extents::Any | Extents::Uneven => any(),
            Extents::Twos => vec![2; rank],
            Extents::Empty => {
                let mut shape = any();
                if rank > 0 {
                    shape[self.random.below(rank)] = 0;
                }
                shape
            }
            Extents::Ones => vec![1; rank.max(1)],
            Extents::Scalar => Vec::new(),
        }
    }

    /// The base shape most often; else one that differs from it in the way that the extents ask for.
    pub fn shape(&mut self, base: &[usize]) -> Vec<usize> {
        match self.aim.extents {
            Extents::Twos if self.random.chance(30) => vec![2; self.random.below(5)],
            Extents::Twos => base.to_vec(),
            Extents::Uneven => {
                let changes = self.random.below(4);
                (0..changes).fold(base.to_vec(), |shape, _| self.changed(&shape))
            }
            _ => self.changed(base),
        }
    }

    /// The base shape most often; else one that broadcasts with it, or lacks a dimension, or has the last two swapped,
    /// or a column that a matrix of the base shape may be multiplied by.
    fn changed(&mut self, base: &[usize]) -> Vec<usize> {
        let resizes = matches!(self.aim.extents, Extents::Any | Extents::Uneven);
        let mut shape = base.to_vec();
        if shape.is_empty() {
            return shape;
        }
        match self.random.below(10) {
            0 => {
                let axis = self.random.below(shape.len());
                shape[axis] = 1;
            }
            1 => {
                shape.remove(0);
            }
            2 => {
                let axis = self.random.below(shape.len());
                shape.remove(axis);
            }
            3 if shape.len() >= 2 => {
                let n = shape.len();
                shape.swap(n - 1, n - 2);
            }
            4 if resizes => {
                let n = shape.len();
                shape[n - 1] = self.random.pick(&[1, 2, 3]);
            }
            5 => shape.clear(),
            7 if shape.len() < 4 && self.random.chance(50) => shape.insert(0, self.random.pick(&[1, 2])),
            8 if resizes && self.random.chance(50) => {
                shape.iter_mut().filter(|n| **n == 1).for_each(|n| *n = self.random.pick(&[1, 2, 3]));
            }
            6 => shape = base.last().map_or_else(Vec::new, |&n| vec![n, 1]),
            _ => {}
        }
        shape
    }

    /// An input.
    pub fn tensor(&mut self, name: Ident, dtype: DType, shape: Vec<usize>) -> Option<Tensor> {
        let count: usize = shape.iter().product();
        let DType::Float(format) = dtype else {
            let values = (0..count).map(|_| self.random.below(2) as i64).collect();
            return Tensor::ints(dtype, shape, values).ok();
        };
        let held = self.aim.held.filter(|(of, _)| *of == name).map(|(_, held)| held);
        let values = match held {
            Some(held) => self.held(held, format, count),
            None => self.points(format, count),
        };
        Tensor::floats(format, shape, values).ok()
    }

    /// A kernel whose channels are a column times a row of small whole numbers, most often.
    pub fn kernel(&mut self, format: Format, shape: &[usize]) -> Option<Tensor> {
        let [.., rows, columns] = *shape else { return None };
        let channels = shape[..shape.len() - 2].iter().product::<usize>();
        let mut values = Vec::new();
        for _ in 0..channels {
            let mut some = |n: usize| -> Vec<f64> {
                (0..n).map(|_| self.random.pick(&[1.0, 2.0, -1.0, 0.0, 4.0, 1.0, 3.0])).collect()
            };
            let (column, row) = (some(rows), some(columns));
            values.extend(column.iter().flat_map(|a| row.iter().map(move |b| a * b)));
        }
        if self.random.chance(10) && !values.is_empty() {
            values[0] += 1.0;
        }
        Tensor::floats(format, shape.to_vec(), values).ok()
    }

    /// Elements at an edge: the first one on it, the rest beyond or some on it too.
    fn held(&mut self, held: Held, format: Format, count: usize) -> Vec<f64> {
        // Beside an infinity lie large numbers: the exponential of the greatest one overflows the evaluator itself.
        let at = |c: f64, n: i32| match step(format, c, n) {
            x if c.is_infinite() && x.is_finite() => x.clamp(-LIMIT, LIMIT),
            x => x,
        };
        let finite = |x: f64| if x.is_finite() { x } else { 0.0 };
        let (lo, hi, ends) = match held {
            Held::Above(c, n, reach) => {
                let lo = at(c, n);
                (finite(lo), finite(lo) + reach, vec![lo])
            }
            Held::Below(c, n, reach) => {
                let hi = at(c, n);
                (finite(hi) - reach, finite(hi), vec![hi])
            }
            Held::Within(c, n) => {
                let c = step(format, c, n).abs();
                (-c, c, vec![c, -c])
            }
            Held::Constant(..) | Held::Count(_) => (-1.0, 1.0, vec![0.0]),
        };
        let mut values: Vec<f64> = (0..count)
            .map(|_| if self.random.chance(20) { ends[0] } else { self.random.uniform(lo, hi) })
            .collect();
        values.iter_mut().zip(ends).for_each(|(v, end)| *v = end);
        values
    }

    fn points(&mut self, format: Format, count: usize) -> Vec<f64> {
        let r = &mut *self.random;
        let sign = |r: &mut Random| if r.chance(50) { 1.0 } else { -1.0 };
        match self.aim.points {
            Points::Mixed => {
                let points = r.pick(&MIXED);
                Draw { random: r, aim: Aim { points, ..self.aim } }.points(format, count)
            }
            Points::Any => {
                let (lo, hi) =
                    r.pick(&[(-3.0, 3.0), (0.1, 3.0), (0.0, 1.0), (-1e-3, 1e-3), (-30.0, 30.0), (2.0, 2.0)]);
                (0..count).map(|_| r.uniform(lo, hi)).collect()
            }
            Points::Undefined => (0..count)
                .map(|_| if r.chance(20) { f64::NAN } else { r.pick(&[0.0, 1.0, 0.5, -2.0]) })
                .collect(),
            Points::NonFinite => (0..count)
                .map(|_| r.pick(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, 1.0, 0.5]))
                .collect(),
            Points::Special => {
                (0..count).map(|_| r.pick(&[0.0, 0.0, 1.0, -1.0, -0.0, 2.0, 0.5, -0.5])).collect()
            }
            Points::Tiny => {
                let least = format.min_normal().max(1e-20);
                (0..count).map(|_| sign(r) * r.uniform(least, 4.0 * least)).collect()
            }
            Points::Large => {
                let most = format.max_finite().min(LIMIT);
                (0..count).map(|_| sign(r) * r.uniform(most / 8.0, most)).collect()
            }
            Points::Equal => {
                let value = r.uniform(-4.0, 4.0);
                vec![value; count]
            }
            Points::Units => (0..count).map(|_| r.pick(&[0.0, 1.0, -1.0, 1.0])).collect(),
            Points::Masked => (0..count)
                .map(|_| match r.below(10) {
                    0..3 => f64::NEG_INFINITY,
                    3 | 4 => 0.0,
                    _ => r.uniform(-4.0, 4.0),
                })
                .collect(),
            Points::Infinite => (0..count)
                .map(|_| match r.below(12) {
                    0..2 => f64::INFINITY,
                    2 | 3 => f64::NEG_INFINITY,
                    4 | 5 => 0.0,
                    6 => r.pick(&[1.0, -1.0]),
                    _ => r.uniform(-4.0, 4.0),
                })
                .collect(),
            Points::Upward => (0..count).map(|_| r.pick(&[f64::INFINITY, 0.5, 1.0, 3.0])).collect(),
        }
    }

    /// A constant that conditions may ask for: a number of elements, one less, one, a power of two, zero, a number
    /// without a short binary expansion.
    pub fn constant(&mut self, name: Ident, base: &[usize], conditions: &[Expr]) -> f64 {
        let asked: Vec<f64> = conditions.iter().filter_map(|c| asked_for(c, name)).collect();
        if self.aim.held.is_none() && !asked.is_empty() && self.random.chance(60) {
            return self.random.pick(&asked);
        }
        let count: usize = base.iter().filter(|_| self.random.chance(50)).product();
        let (count, format) = (count as f64, self.aim.format);
        match self.aim.held {
            Some((of, Held::Constant(c, n))) if of == name => step(format, c, n),
            Some((of, Held::Count(plus))) if of == name => format.round(count + plus),
            _ => format.round(match self.random.below(13) {
                12 => 1.0 / count.max(1.0),
                0 | 1 => count,
                2 => count - 1.0,
                3 => self.random.uniform(-3.0, 3.0),
                4 => self.random.uniform(0.0, 1.0),
                5 => 1.0,
                _ => self.random.pick(&[0.125, 0.5, 2.0, 4.0, -2.0, 1e-3, 0.3]),
            }),
        }
    }

    /// An attribute of a kind, named `name`.
    pub fn attribute(&mut self, kind: AttrKind, name: &str, base: &[usize]) -> Attr {
        let (rank, r) = (base.len().max(1), &mut *self.random);
        match kind {
            AttrKind::Int => Attr::int(r.below(rank) as i64),
            AttrKind::Float => Attr::float(r.pick(&[0.5, 1e-3, 2.0, 0.5, 1e-3, 2.0, 0.0, 1.0])),
            AttrKind::Bool => Attr::Bool(r.chance(50)),
            AttrKind::Enum(words) => r.pick(words).into(),
            AttrKind::ElemType | AttrKind::Format => {
                Attr::Type(Type::float(r.pick(&[self.aim.format, Format::F32])))
            }
            _ if name == "permutation" => {
                let mut order: Vec<i64> = (0..rank as i64).collect();
                if rank >= 2 {
                    match r.below(8) {
                        0 => order.swap(0, rank - 1),
                        1 => {}
                        _ => order.swap(rank - 1, rank - 2),
                    }
                }
                order.into()
            }
            _ if name == "shape" => {
                let mut shape = base.to_vec();
                if !shape.is_empty() && r.below(3) > 0 {
                    let axis = r.below(shape.len());
                    shape[axis] = 1;
                }
                Attr::ints(shape.into_iter().map(|n| n as i64))
            }
            _ => {
                let mut axes: Vec<i64> = (0..rank as i64).filter(|_| r.chance(50)).collect();
                if axes.is_empty() {
                    axes.push(r.below(rank) as i64);
                }
                axes.into()
            }
        }
    }
}

/// The number that a condition `value(?c) == n` asks for.
fn asked_for(condition: &Expr, name: Ident) -> Option<f64> {
    let Expr::Binary(Infix::Eq, a, b) = condition else { return None };
    match &**a {
        Expr::Call(f, args, _) if f.as_str() == "value" => {
            number(b).filter(|_| matches!(args.first(), Some(Expr::Var(v, _)) if *v == name))
        }
        _ => None,
    }
}

/// Whether a condition asks that a term be a constant kernel of rank one.
pub fn wants_rank_one(conditions: &[Expr], name: Ident) -> bool {
    conditions.iter().any(|c| match c {
        Expr::Call(f, args, _) => {
            f.as_str() == "rank_one" && matches!(args.first(), Some(Expr::Var(v, _)) if *v == name)
        }
        _ => false,
    })
}

/// What must be chosen for an instance.
#[derive(Default)]
pub struct Variables {
    /// Term variables with the kind of their elements.
    pub terms: Vec<(Ident, ValueKind)>,
    /// Constants.
    pub constants: Vec<Ident>,
    /// Attribute variables with their kind and the attribute's name; an item of a list is an integer.
    pub attrs: Vec<(Ident, AttrKind, Ident)>,
}

impl Variables {
    /// Of a left side.
    pub fn of(context: &Context, pattern: &Pattern) -> Variables {
        let mut variables = Variables::default();
        variables.collect(context, pattern);
        variables
    }

    fn collect(&mut self, context: &Context, pattern: &Pattern) {
        let Pattern::Op(op) = pattern else { return };
        let Some(def) = context.op(op.op.as_str()) else { return };
        for (i, arg) in op.args.iter().enumerate() {
            match arg {
                Pattern::Var(name, _) if subterm(pattern, *name) => {}
                Pattern::Var(name, _) => {
                    let kind = def.operands.get(i).map_or(ValueKind::Float, |o| o.kind);
                    if !self.terms.iter().any(|(n, _)| n == name) {
                        self.terms.push((*name, kind));
                    }
                }
                Pattern::Const(name, _) if !self.constants.contains(name) => self.constants.push(*name),
                _ => self.collect(context, arg),
            }
        }
        for (name, value) in &op.attrs {
            let kind = def.attribute(name.as_str()).map_or(AttrKind::Any, |a| a.kind);
            match value {
                Expr::Var(v, _) => self.attribute(*v, kind, *name),
                Expr::List(items) => items.iter().for_each(|i| {
                    if let Expr::Var(v, _) = i {
                        self.attribute(*v, AttrKind::Int, *name);
                    }
                }),
                _ => {}
            }
        }
    }

    fn attribute(&mut self, name: Ident, kind: AttrKind, of: Ident) {
        if !self.attrs.iter().any(|(n, ..)| *n == name) {
            self.attrs.push((name, kind, of));
        }
    }
}

/// Whether a variable stands for a subterm of the pattern.
fn subterm(pattern: &Pattern, name: Ident) -> bool {
    pattern.root().is_some_and(|op| {
        op.args.iter().any(|a| a.root().is_some_and(|o| o.bind == Some(name)) || subterm(a, name))
    })
}
