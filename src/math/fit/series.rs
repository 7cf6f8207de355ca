//! Taylor series with enclosed coefficients: those of a function at a point, or, over an interval, of which the last encloses the rest of
//! the series (R. E. Moore, 1966).

use std::collections::HashMap;
use std::sync::Arc;

use ngc_numerics::enclosure::{apply, constant};
use ngc_numerics::expr::Node;
use ngc_numerics::{Big, Enclosure, Expr, Prim};
use rug::Float;

type Number = Enclosure<Float>;

/// The series of parts of a formula.
type Known = HashMap<*const Node, Vec<Number>>;

/// Makes series of an order, in so many bits.
pub struct Series {
    bits: u32,
    domain: Big,
    order: usize,
}

impl Series {
    /// Series of this order.
    pub fn new(order: usize, bits: u32) -> Series {
        Series { bits, domain: Big::new(bits), order }
    }

    fn number(&self, x: i32) -> Number {
        Enclosure::point(Float::with_val(self.bits, x))
    }

    fn add(&self, a: &Number, b: &Number) -> Number {
        apply(&self.domain, Prim::Add, &[a, b])
    }

    fn sub(&self, a: &Number, b: &Number) -> Number {
        apply(&self.domain, Prim::Sub, &[a, b])
    }

    fn mul(&self, a: &Number, b: &Number) -> Number {
        apply(&self.domain, Prim::Mul, &[a, b])
    }

    fn div(&self, a: &Number, b: &Number) -> Number {
        apply(&self.domain, Prim::Div, &[a, b])
    }

    /// The coefficients of a formula of x about a point, or about every number of an interval; nothing where one of its functions is
    /// not known in this form, or a value may not exist.
    pub fn of(&self, formula: &Expr, about: &Number) -> Option<Vec<Number>> {
        self.part(formula, about, &mut HashMap::new())
    }

    /// As [`Series::of`] of a part of a formula, each of which is looked at once.
    fn part(&self, formula: &Expr, about: &Number, known: &mut Known) -> Option<Vec<Number>> {
        if let Some(all) = known.get(&Arc::as_ptr(&formula.0)) {
            return Some(all.clone());
        }
        let all = match &*formula.0 {
            Node::Var(_) => {
                let mut all = self.constant(about.clone());
                if self.order > 0 {
                    all[1] = self.number(1);
                }
                all
            }
            Node::Const(c) => self.constant(constant(&self.domain, c)),
            Node::Apply(prim, x) => {
                let x: Option<Vec<Vec<Number>>> = x.iter().map(|x| self.part(x, about, known)).collect();
                self.applied(*prim, &x?)?
            }
            Node::Param(_) | Node::Select(..) => return None,
        };
        if !all.iter().all(|c| !c.may_be_nan && c.lo.is_finite() && c.hi.is_finite()) {
            return None;
        }
        known.insert(Arc::as_ptr(&formula.0), all.clone());
        Some(all)
    }

    fn constant(&self, c: Number) -> Vec<Number> {
        let mut all = vec![self.number(0); self.order + 1];
        all[0] = c;
        all
    }

    fn applied(&self, prim: Prim, x: &[Vec<Number>]) -> Option<Vec<Number>> {
        let zip =
            |of: &dyn Fn(&Number, &Number) -> Number| x[0].iter().zip(&x[1]).map(|(a, b)| of(a, b)).collect();
        Some(match prim {
            Prim::Add => zip(&|a, b| self.add(a, b)),
            Prim::Sub => zip(&|a, b| self.sub(a, b)),
            Prim::Neg => self.negated(&x[0]),
            Prim::Mul => self.product(&x[0], &x[1]),
            Prim::Square => self.product(&x[0], &x[0]),
            Prim::Div => self.quotient(&x[0], &x[1]),
            Prim::Exp => self.exp(&x[0]),
            Prim::Expm1 => {
                let mut all = self.exp(&x[0]);
                all[0] = apply(&self.domain, Prim::Expm1, &[&x[0][0]]);
                all
            }
            Prim::Exp2 => {
                let log2 = apply(&self.domain, Prim::Log, &[&self.number(2)]);
                self.exp(&x[0].iter().map(|a| self.mul(a, &log2)).collect::<Vec<_>>())
            }
            Prim::Log => self.integral(prim, &x[0], &x[0], false),
            Prim::Log1p => self.integral(prim, &x[0], &self.plus(&x[0], 1), false),
            Prim::Log2 | Prim::Log10 => {
                let base = self.number(if prim == Prim::Log2 { 2 } else { 10 });
                let log = apply(&self.domain, Prim::Log, &[&base]);
                let slope: Vec<Number> = x[0].iter().map(|a| self.mul(a, &log)).collect();
                self.integral(prim, &x[0], &slope, false)
            }
            Prim::Fma => {
                let product = self.product(&x[0], &x[1]);
                product.iter().zip(&x[2]).map(|(a, b)| self.add(a, b)).collect()
            }
            Prim::Abs => {
                let negative = sign(&x[0][0])?;
                if negative { self.negated(&x[0]) } else { x[0].clone() }
            }
            Prim::Min | Prim::Max => {
                let less = sign(&self.sub(&x[0][0], &x[1][0]))?;
                x[usize::from(less != (prim == Prim::Min))].clone()
            }
            Prim::Atan => self.integral(prim, &x[0], &self.plus(&self.product(&x[0], &x[0]), 1), false),
            Prim::Asin | Prim::Acos => {
                let root = self.root(&self.plus(&self.negated(&self.product(&x[0], &x[0])), 1));
                let slope = if prim == Prim::Asin { root } else { self.negated(&root) };
                self.integral(prim, &x[0], &slope, false)
            }
            Prim::Asinh | Prim::Acosh => {
                let one = if prim == Prim::Asinh { 1 } else { -1 };
                let root = self.root(&self.plus(&self.product(&x[0], &x[0]), one));
                self.integral(prim, &x[0], &root, false)
            }
            Prim::Atanh => {
                let slope = self.plus(&self.negated(&self.product(&x[0], &x[0])), 1);
                self.integral(prim, &x[0], &slope, false)
            }
            Prim::Erf | Prim::Erfc => {
                let pi = constant(&self.domain, &ngc_numerics::expr::Constant::Pi);
                let two = self.number(if prim == Prim::Erf { 2 } else { -2 });
                let scale = self.div(&two, &apply(&self.domain, Prim::Sqrt, &[&pi]));
                let negative = self.negated(&self.product(&x[0], &x[0]));
                let slope: Vec<Number> = self.exp(&negative).iter().map(|a| self.mul(a, &scale)).collect();
                self.integral(prim, &x[0], &slope, true)
            }
            Prim::Sqrt => self.root(&x[0]),
            Prim::Cbrt => self.cube_root(&x[0]),
            Prim::Sin | Prim::Sinh => self.sines(prim, &x[0]).0,
            Prim::Cos | Prim::Cosh => self.sines(prim, &x[0]).1,
            Prim::Tan | Prim::Tanh => {
                let (s, c) = self.sines(prim, &x[0]);
                self.quotient(&s, &c)
            }
            _ => return None,
        })
    }

    fn plus(&self, a: &[Number], c: i32) -> Vec<Number> {
        let mut all = a.to_vec();
        all[0] = self.add(&all[0], &self.number(c));
        all
    }

    /// The sum of `a_i b_(k-i)` for i from the first to the last.
    fn convolution(&self, a: &[Number], b: &[Number], k: usize, from: usize, to: usize) -> Number {
        (from..=to).fold(self.number(0), |sum, i| self.add(&sum, &self.mul(&a[i], &b[k - i])))
    }

    fn product(&self, a: &[Number], b: &[Number]) -> Vec<Number> {
        (0..=self.order).map(|k| self.convolution(a, b, k, 0, k)).collect()
    }

    fn quotient(&self, a: &[Number], b: &[Number]) -> Vec<Number> {
        let mut q: Vec<Number> = Vec::new();
        for k in 0..=self.order {
            let known = (0..k).fold(self.number(0), |sum, i| self.add(&sum, &self.mul(&q[i], &b[k - i])));
            q.push(self.div(&self.sub(&a[k], &known), &b[0]));
        }
        q
    }

    /// From `y' = x' y`.
    fn exp(&self, x: &[Number]) -> Vec<Number> {
        let mut y = vec![apply(&self.domain, Prim::Exp, &[&x[0]])];
        for k in 1..=self.order {
            let sum = (1..=k).fold(self.number(0), |sum, i| {
                self.add(&sum, &self.mul(&self.mul(&self.number(i as i32), &x[i]), &y[k - i]))
            });
            y.push(self.div(&sum, &self.number(k as i32)));
        }
        y
    }

    /// Sine and cosine, of a circle or a hyperbola, from each other.
    fn sines(&self, prim: Prim, x: &[Number]) -> (Vec<Number>, Vec<Number>) {
        let is_circle = matches!(prim, Prim::Sin | Prim::Cos | Prim::Tan);
        let prims = if is_circle { [Prim::Sin, Prim::Cos] } else { [Prim::Sinh, Prim::Cosh] };
        let [mut s, mut c] = prims.map(|prim| vec![apply(&self.domain, prim, &[&x[0]])]);
        for k in 1..=self.order {
            let sum = |of: &[Number]| {
                let all = (1..=k).fold(self.number(0), |sum, i| {
                    self.add(&sum, &self.mul(&self.mul(&self.number(i as i32), &x[i]), &of[k - i]))
                });
                self.div(&all, &self.number(k as i32))
            };
            let (next, before) = (sum(&c), sum(&s));
            s.push(next);
            c.push(if is_circle { apply(&self.domain, Prim::Neg, &[&before]) } else { before });
        }
        (s, c)
    }

    /// From `3 x y' = x' y`.
    fn cube_root(&self, x: &[Number]) -> Vec<Number> {
        let mut y = vec![apply(&self.domain, Prim::Cbrt, &[&x[0]])];
        for k in 1..=self.order {
            let sum = (1..=k).fold(self.number(0), |sum, i| {
                let factor = self.number(4 * i as i32 - 3 * k as i32);
                self.add(&sum, &self.mul(&factor, &self.mul(&x[i], &y[k - i])))
            });
            y.push(self.div(&sum, &self.mul(&self.number(3 * k as i32), &x[0])));
        }
        y
    }

    fn negated(&self, a: &[Number]) -> Vec<Number> {
        a.iter().map(|a| apply(&self.domain, Prim::Neg, &[a])).collect()
    }

    /// From `y y = x`.
    fn root(&self, x: &[Number]) -> Vec<Number> {
        let mut y = vec![apply(&self.domain, Prim::Sqrt, &[&x[0]])];
        for (k, c) in x.iter().enumerate().skip(1) {
            let known = if k > 1 { self.convolution(&y, &y, k, 1, k - 1) } else { self.number(0) };
            let twice = self.mul(&self.number(2), &y[0]);
            y.push(self.div(&self.sub(c, &known), &twice));
        }
        y
    }

    /// A function whose derivative is that of its argument, divided or multiplied by a series.
    fn integral(&self, prim: Prim, x: &[Number], by: &[Number], multiplied: bool) -> Vec<Number> {
        let slope: Vec<Number> = (0..=self.order)
            .map(|k| {
                if k < self.order { self.mul(&self.number(k as i32 + 1), &x[k + 1]) } else { self.number(0) }
            })
            .collect();
        let slope = if multiplied { self.product(&slope, by) } else { self.quotient(&slope, by) };
        let mut y = vec![apply(&self.domain, prim, &[&x[0]])];
        for k in 1..=self.order {
            y.push(self.div(&slope[k - 1], &self.number(k as i32)));
        }
        y
    }
}

/// Whether a number is negative; nothing where that is open.
fn sign(x: &Number) -> Option<bool> {
    if x.hi < 0.0 {
        Some(true)
    } else if x.lo > 0.0 {
        Some(false)
    } else {
        None
    }
}
