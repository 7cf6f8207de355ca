//! Tensor evaluation: rounded as each format says, as if all were in one format, or in big floats.

use std::borrow::Cow;

use rayon::prelude::*;
use rug::Float;

use crate::enclosure::Number;
use crate::expr::{Cmp, Prim};
use crate::scalar::ScalarFn;
use crate::tensor::{broadcast_index, broadcast_shapes, element_count};
use crate::{DType, Data, Format, Tensor, integer};

/// How floating-point values are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Each in the format of its type.
    Rounded,
    /// All in one format, whatever their types say.
    Uniform(Format),
    /// All in big floats; accumulations exact and rounded once, conversions between formats the identity.
    Real {
        /// Bits of each result.
        bits: u32,
    },
}

/// Evaluates tensor operations in a [`Mode`]. Results do not depend on the number of threads.
#[derive(Clone, Copy, Debug)]
pub struct Evaluator {
    /// The mode.
    pub mode: Mode,
}

/// A logical connective; bit by bit on integers wider than one bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Logical {
    /// Both.
    And,
    /// At least one.
    Or,
    /// Exactly one.
    Xor,
}

/// A class of floating-point values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// NaN.
    Nan,
    /// Neither NaN nor infinite.
    Finite,
    /// Infinite, of either sign.
    Infinite,
}

impl Evaluator {
    /// An evaluator of the mode.
    pub const fn new(mode: Mode) -> Evaluator {
        Evaluator { mode }
    }

    /// The format in which values of a type of `format` are computed; in big-float mode the type's own.
    pub const fn format(&self, format: Format) -> Format {
        match self.mode {
            Mode::Uniform(uniform) => uniform,
            Mode::Rounded | Mode::Real { .. } => format,
        }
    }

    /// Brings an input or constant into the mode: rounded to the uniform format, or as big floats.
    pub fn lift(&self, tensor: &Tensor) -> Tensor {
        let data = match (self.mode, &tensor.data) {
            (Mode::Uniform(format), Data::Float(v)) => {
                Data::Float(v.iter().map(|&x| format.round(x)).collect())
            }
            (Mode::Real { bits }, Data::Float(v)) => {
                Data::Real(v.iter().map(|&x| Float::with_val(bits.max(53), x)).collect())
            }
            (_, data) => data.clone(),
        };
        Tensor { dtype: tensor.dtype, shape: tensor.shape.clone(), data }
    }

    /// Applies a scalar function elementwise, with NumPy's broadcasting; each element is correctly rounded to the format
    /// of `out`. Integers go to an integer type by modular arithmetic (see [`integer`]), and to a float type as reals.
    ///
    /// # Errors
    /// On a wrong number of operands, shapes that do not broadcast, floats for an integer result, a function that is not
    /// defined on integers, and division of integers by zero.
    pub fn map(
        &self,
        f: &ScalarFn,
        params: &[f64],
        inputs: &[&Tensor],
        out: DType,
    ) -> Result<Tensor, String> {
        if inputs.len() != f.arity || params.len() != f.params {
            return Err(format!(
                "{} takes {} operands and {} parameters, but {} and {} were given",
                f.name,
                f.arity,
                f.params,
                inputs.len(),
                params.len()
            ));
        }
        let (shape, access) = broadcast(inputs)?;
        let count = element_count(&shape)?;
        let data = match out {
            DType::Float(format) => match self.mode {
                Mode::Real { bits } => {
                    let reals: Vec<_> = inputs.iter().map(|t| self.reals(t, bits)).collect();
                    Data::Real(fill(count, 64, |i| {
                        let args: Vec<Float> =
                            reals.iter().zip(&access).map(|(v, a)| v[a.at(i)].clone()).collect();
                        f.eval_real(params, &args, bits)
                    }))
                }
                _ => Data::Float(self.map_floats(f, params, inputs, &access, count, self.format(format))),
            },
            _ => {
                let ints = inputs.iter().map(|t| t.as_ints()).collect::<Option<Vec<_>>>();
                let ints = ints.ok_or_else(|| format!("{} of floats has no result of type {out}", f.name))?;
                let values: Result<Vec<i64>, String> = fill(count, 1024, |i| {
                    let args: smallvec::SmallVec<[i64; 4]> =
                        ints.iter().zip(&access).map(|(v, a)| v[a.at(i)]).collect();
                    integer::evaluate(f, out, params, &args)
                })
                .into_iter()
                .collect();
                Data::Int(values?)
            }
        };
        Ok(Tensor { dtype: out, shape, data })
    }

    fn map_floats(
        &self,
        f: &ScalarFn,
        params: &[f64],
        inputs: &[&Tensor],
        access: &[Access],
        count: usize,
        format: Format,
    ) -> Vec<f64> {
        let values: Vec<_> = inputs.iter().map(|t| floats(t)).collect();
        let narrow = |t: &&Tensor| t.dtype.format().is_some_and(|g| self.format(g) != Format::F64);
        if let ([x, y], [ax, ay]) = (&values[..], access)
            && (format == Format::F64 || inputs.iter().all(narrow))
        {
            macro_rules! native {
                ($op:tt) => {
                    match format {
                        Format::F64 => return fill(count, 4096, |i| x[ax.at(i)] $op y[ay.at(i)]),
                        Format::F32 => {
                            return fill(count, 4096, |i| f64::from((x[ax.at(i)] $op y[ay.at(i)]) as f32));
                        }
                        _ => {}
                    }
                };
            }
            match f.as_primitive() {
                Some(Prim::Add) => native!(+),
                Some(Prim::Sub) => native!(-),
                Some(Prim::Mul) => native!(*),
                Some(Prim::Div) => native!(/),
                _ => {}
            }
        }
        fill(count, 512, |i| {
            let args: smallvec::SmallVec<[f64; 4]> =
                values.iter().zip(access).map(|(v, a)| v[a.at(i)]).collect();
            f.round_correctly(params, &args, format)
        })
    }

    /// Compares elementwise, with broadcasting; every relation with NaN is false but `≠`.
    ///
    /// # Errors
    /// When the shapes do not broadcast.
    pub fn compare(&self, cmp: Cmp, a: &Tensor, b: &Tensor) -> Result<Tensor, String> {
        let (shape, access) = broadcast(&[a, b])?;
        let count = element_count(&shape)?;
        let (at_a, at_b) = (&access[0], &access[1]);
        let values: Vec<bool> = match (&a.data, &b.data) {
            (Data::Int(x), Data::Int(y)) => {
                fill(count, 4096, |i| cmp.holds(x[at_a.at(i)].partial_cmp(&y[at_b.at(i)])))
            }
            (Data::Float(x), Data::Float(y)) => {
                fill(count, 4096, |i| cmp.holds(x[at_a.at(i)].partial_cmp(&y[at_b.at(i)])))
            }
            _ => {
                let (x, y) = (self.reals(a, 64), self.reals(b, 64));
                fill(count, 1024, |i| cmp.holds(x[at_a.at(i)].partial_cmp(&y[at_b.at(i)])))
            }
        };
        Ok(truths(shape, values))
    }

    /// Joins truth values (or integers, bit by bit) of one type, with broadcasting.
    ///
    /// # Errors
    /// When the shapes do not broadcast, the types differ, or they are floats.
    pub fn logical(&self, op: Logical, a: &Tensor, b: &Tensor) -> Result<Tensor, String> {
        let (shape, access) = broadcast(&[a, b])?;
        let (Some(x), Some(y), true) = (a.as_ints(), b.as_ints(), a.dtype == b.dtype) else {
            return Err(format!("logical operations need one integer type, not {} and {}", a.dtype, b.dtype));
        };
        let values = fill(element_count(&shape)?, 4096, |i| {
            let (x, y) = (x[access[0].at(i)], y[access[1].at(i)]);
            match op {
                Logical::And => x & y,
                Logical::Or => x | y,
                Logical::Xor => x ^ y,
            }
        });
        Ok(Tensor { dtype: a.dtype, shape, data: Data::Int(values) })
    }

    /// Negates truth values, or the bits of integers.
    ///
    /// # Errors
    /// On floats.
    pub fn not(&self, a: &Tensor) -> Result<Tensor, String> {
        let values = a.as_ints().ok_or_else(|| format!("`not` needs an integer type, not {}", a.dtype))?;
        let values = values.iter().map(|&x| a.dtype.wrap(!x)).collect();
        Ok(Tensor { dtype: a.dtype, shape: a.shape.clone(), data: Data::Int(values) })
    }

    /// Whether each element is of the class; integers are finite.
    pub fn classify(&self, class: Class, a: &Tensor) -> Tensor {
        let test = |x: f64| match class {
            Class::Nan => x.is_nan(),
            Class::Finite => x.is_finite(),
            Class::Infinite => x.is_infinite(),
        };
        let values = match &a.data {
            Data::Float(v) => v.iter().map(|&x| test(x)).collect(),
            Data::Int(v) => vec![class == Class::Finite; v.len()],
            // A big float beyond the range of f64 is finite all the same.
            Data::Real(v) => {
                v.iter().map(|x| test(if x.is_finite() { 0.0 } else { Number::to_f64(x) })).collect()
            }
        };
        truths(a.shape.clone(), values)
    }

    /// `a` where `condition` is not 0, else `b`, with broadcasting.
    ///
    /// # Errors
    /// When the shapes do not broadcast or the types of `a` and `b` differ.
    pub fn choose(&self, condition: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor, String> {
        let (shape, access) = broadcast(&[condition, a, b])?;
        let count = element_count(&shape)?;
        let c = condition
            .as_ints()
            .ok_or_else(|| format!("a condition is of type i1, not {}", condition.dtype))?;
        if a.dtype != b.dtype {
            return Err(format!("cannot choose between {} and {}", a.dtype, b.dtype));
        }
        fn pick<T: Clone>(count: usize, c: &[i64], a: &[T], b: &[T], access: &[Access]) -> Vec<T> {
            (0..count)
                .map(|i| {
                    if c[access[0].at(i)] != 0 { &a[access[1].at(i)] } else { &b[access[2].at(i)] }.clone()
                })
                .collect()
        }
        let data = match (&a.data, &b.data) {
            (Data::Int(x), Data::Int(y)) => Data::Int(pick(count, c, x, y, &access)),
            (Data::Float(x), Data::Float(y)) => Data::Float(pick(count, c, x, y, &access)),
            _ => Data::Real(pick(count, c, &self.reals(a, 64), &self.reals(b, 64), &access)),
        };
        Ok(Tensor { dtype: a.dtype, shape, data })
    }

    /// Converts to another element type.
    ///
    /// Float to float: one rounding to nearest even; the identity in big-float and uniform mode. Float to integer:
    /// truncated toward zero, saturating at the type's ends, NaN to 0; to i1: whether it is not zero. Integer to integer:
    /// modulo 2^width; to i1: whether it is not zero. Integer to float: nearest even.
    pub fn convert(&self, tensor: &Tensor, to: DType) -> Tensor {
        let data = match (&tensor.data, to) {
            (Data::Float(v), DType::Float(format)) => {
                let format = self.format(format);
                Data::Float(v.iter().map(|&x| format.round(x)).collect())
            }
            (Data::Real(v), DType::Float(_)) => Data::Real(v.clone()),
            (Data::Int(v), DType::Float(format)) => match self.mode {
                Mode::Real { bits } => {
                    Data::Real(v.iter().map(|&x| Float::with_val(bits.max(64), x)).collect())
                }
                _ => {
                    let format = self.format(format);
                    Data::Float(v.iter().map(|&x| integer::to_float(x, format)).collect())
                }
            },
            (Data::Int(v), DType::Int(1)) => Data::Int(v.iter().map(|&x| i64::from(x != 0)).collect()),
            (Data::Float(v), DType::Int(1)) => Data::Int(v.iter().map(|&x| i64::from(x != 0.0)).collect()),
            (Data::Real(v), DType::Int(1)) => Data::Int(v.iter().map(|x| i64::from(!x.is_zero())).collect()),
            (Data::Int(v), _) => Data::Int(v.iter().map(|&x| to.wrap(x)).collect()),
            (Data::Float(v), _) => {
                let (least, greatest) = to.int_range();
                // `as` truncates, saturates and maps NaN to 0.
                Data::Int(v.iter().map(|&x| (x as i64).clamp(least, greatest)).collect())
            }
            (Data::Real(v), _) => Data::Int(v.iter().map(|x| integer::from_real(x, to)).collect()),
        };
        Tensor { dtype: to, shape: tensor.shape.clone(), data }
    }

    /// The elements as big floats; of `bits` bits where they are not yet big floats, and at least enough to be exact.
    pub(crate) fn reals<'a>(&self, tensor: &'a Tensor, bits: u32) -> Cow<'a, [Float]> {
        let bits = bits.max(64);
        match &tensor.data {
            Data::Real(v) => Cow::Borrowed(v),
            Data::Float(v) => Cow::Owned(v.iter().map(|&x| Float::with_val(bits, x)).collect()),
            Data::Int(v) => Cow::Owned(v.iter().map(|&x| Float::with_val(bits, x)).collect()),
        }
    }
}

/// The elements as `f64`; see [`Tensor::to_f64s`].
pub(crate) fn floats(tensor: &Tensor) -> Cow<'_, [f64]> {
    match &tensor.data {
        Data::Float(v) => Cow::Borrowed(v),
        _ => Cow::Owned(tensor.to_f64s()),
    }
}

fn truths(shape: Vec<usize>, values: Vec<bool>) -> Tensor {
    Tensor { dtype: DType::BOOL, shape, data: Data::Int(values.into_iter().map(i64::from).collect()) }
}

/// Where an operand keeps element `i` of the result.
enum Access {
    Same,
    Scalar,
    Index(Vec<usize>),
}

impl Access {
    #[inline]
    fn at(&self, i: usize) -> usize {
        match self {
            Access::Same => i,
            Access::Scalar => 0,
            Access::Index(index) => index[i],
        }
    }
}

fn broadcast(inputs: &[&Tensor]) -> Result<(Vec<usize>, Vec<Access>), String> {
    let shape = inputs.iter().try_fold(vec![], |shape, input| broadcast_shapes(&shape, &input.shape))?;
    element_count(&shape)?;
    let access = inputs
        .iter()
        .map(|input| {
            Ok(if input.shape == shape {
                Access::Same
            } else if input.len() == 1 {
                Access::Scalar
            } else {
                Access::Index(broadcast_index(&input.shape, &shape)?)
            })
        })
        .collect::<Result<_, String>>()?;
    Ok((shape, access))
}

/// `f` of `0..count`, in parallel from `grain` elements on.
pub(crate) fn fill<T: Send>(count: usize, grain: usize, f: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    if count <= grain {
        (0..count).map(f).collect()
    } else {
        (0..count).into_par_iter().with_min_len(grain).map(f).collect()
    }
}
