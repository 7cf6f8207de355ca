//! Programs over drawn inputs, made term by term.

use ngc_dialects::facts::Fact;
use ngc_ir::structure::{Axis, Index, Size};
use ngc_numerics::{Prim, Random, Reduce};
use ngc_reals::store::Leaf;
use ngc_reals::{Store, Use};
use rug::Rational;

use super::best::Input;

/// How many points each program is evaluated at.
const POINTS: usize = 5;

pub struct Program {
    pub store: Store,
    pub inputs: Vec<Input>,
    random: Random,
    /// The extents of the dimensions that are in scope.
    pub space: Vec<Size>,
}

impl Program {
    pub fn new(seed: &str) -> Program {
        Program { store: Store::new(), inputs: Vec::new(), random: Random::seeded(seed), space: Vec::new() }
    }

    /// An input whose elements are drawn point by point, of some extents.
    pub fn input(&mut self, extents: &[usize], fact: Fact, draw: impl Fn(&mut Random, usize) -> f64) -> Use {
        let count = extents.iter().product();
        let points =
            (0..POINTS).map(|point| (0..count).map(|_| draw(&mut self.random, point)).collect()).collect();
        let sizes: Vec<Size> = extents.iter().map(|&n| Size::from(n)).collect();
        self.inputs.push(Input { extents: extents.to_vec(), points, fact });
        self.store.leaf_use(Leaf::Value(self.inputs.len() as u32 - 1), &sizes)
    }

    /// Numbers between two ends, of which nothing else is known; the scale rises from point to point.
    pub fn numbers(&mut self, extents: &[usize], size: f64) -> Use {
        self.input(extents, Fact::UNKNOWN, |r, point| {
            r.uniform(-1.0, 1.0) * size * 10f64.powi(-(point as i32 % 6))
        })
    }

    /// An input read at places along the dimensions in scope: each is a dimension, or a number.
    pub fn at(&self, of: &Use, places: &[Index]) -> Use {
        let map =
            of.map.iter().map(|i| places[i.as_axis().expect("a dimension").0 as usize].clone()).collect();
        Use { id: of.id, map }
    }

    /// A sum, a product or a maximum over one more dimension.
    pub fn over(&mut self, kind: Reduce, n: usize, body: impl FnOnce(&mut Program, Index) -> Use) -> Use {
        let index = Index::axis(Axis(self.space.len() as u32));
        self.space.push(Size::from(n));
        let body = body(self, index);
        self.space.pop();
        self.store.reduce(kind, vec![Size::from(n)], body, &self.space.clone())
    }

    pub fn apply(&mut self, prim: Prim, x: &[&Use]) -> Use {
        let x = x.iter().map(|x| (*x).clone()).collect();
        self.store.primitive(prim, x, &self.space.clone())
    }

    pub fn exp(&mut self, x: &Use) -> Use {
        self.apply(Prim::Exp, &[x])
    }

    pub fn log(&mut self, x: &Use) -> Use {
        self.apply(Prim::Log, &[x])
    }

    pub fn add(&mut self, a: &Use, b: &Use) -> Use {
        self.apply(Prim::Add, &[a, b])
    }

    pub fn sub(&mut self, a: &Use, b: &Use) -> Use {
        self.apply(Prim::Sub, &[a, b])
    }

    pub fn mul(&mut self, a: &Use, b: &Use) -> Use {
        self.apply(Prim::Mul, &[a, b])
    }

    pub fn div(&mut self, a: &Use, b: &Use) -> Use {
        self.apply(Prim::Div, &[a, b])
    }

    /// `c · x`
    pub fn scaled(&mut self, c: (i64, i64), x: &Use) -> Use {
        self.store.scaled(Rational::from(c), x.clone(), &self.space.clone())
    }

    /// `1 - x`
    pub fn rest(&mut self, x: &Use) -> Use {
        self.store.linear(1.into(), vec![((-1).into(), x.clone())], &self.space.clone())
    }

    /// `c + x`
    pub fn plus(&mut self, c: i64, x: &Use) -> Use {
        self.store.linear(c.into(), vec![(1.into(), x.clone())], &self.space.clone())
    }

    pub fn power(&mut self, x: &Use, e: (i64, i64)) -> Use {
        self.store.power(x.clone(), Rational::from(e), &self.space.clone())
    }

    pub fn sigmoid(&mut self, x: &Use) -> Use {
        let minus = self.scaled((-1, 1), x);
        let e = self.exp(&minus);
        let sum = self.plus(1, &e);
        self.power(&sum, (-1, 1))
    }

    /// Separate scalars.
    pub fn scalars(&mut self, n: usize, size: f64) -> Vec<Use> {
        (0..n).map(|_| self.numbers(&[], size)).collect()
    }

    pub fn total(&mut self, terms: &[Use]) -> Use {
        let terms = terms.iter().map(|x| (1.into(), x.clone())).collect();
        self.store.linear(Rational::new(), terms, &self.space.clone())
    }

    /// `exp(x[i]) / Σ exp(x[j])` at a place.
    pub fn softmax(&mut self, x: &Use, n: usize, place: Index) -> Use {
        let one = self.at(x, &[place]);
        let above = self.exp(&one);
        let below = self.over(Reduce::Sum, n, |p, j| {
            let xj = p.at(x, &[j]);
            p.exp(&xj)
        });
        self.div(&above, &below)
    }
}
