//! Combinators: each is one declaration of its type, its meaning over the reals, and its steps in assembly.

mod angle;
mod compose;
mod exponential;
pub mod library;
mod logarithm;
mod periodic;
mod reflection;
mod structure;

use ngc_ir::Diagnostic;
use ngc_numerics::{Cmp, Expr};

use super::function::Function;
use super::infer::Site;
use super::lower::{Emitter, Lowered};
use super::types::{Combined, Type, Typed};

/// What a parameter is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A function of x: a name or a formula.
    Function,
    /// A number.
    Real,
    /// A formula of variables with these names.
    Formula(&'static [&'static str]),
    /// How many, at most so many.
    Count(u32),
    /// A format.
    Format,
}

/// A way to make implementations of implementations.
pub struct Combinator {
    /// Its name.
    pub name: &'static str,
    /// Its type, as text.
    pub ty: &'static str,
    /// What it does.
    pub description: &'static str,
    /// A term that it makes.
    pub example: &'static str,
    /// What stands in `<...>`.
    pub parameters: &'static [(&'static str, Kind)],
    /// How many terms it combines; two may be given as a pair.
    pub arguments: usize,
    /// Types the terms that are combined, proves what must hold, and sets the parameters that are not given.
    pub types: fn(&mut Site<'_, '_>) -> Result<Type, Diagnostic>,
    /// What it computes over the reals, as formulas of x, where the terms that it combines compute these.
    pub meaning: fn(&Combined, &[Vec<Expr>]) -> Vec<Expr>,
    /// Its steps.
    pub lower: fn(&mut Emitter, &Combined, &Typed, &str) -> Result<Lowered, Diagnostic>,
}

impl std::fmt::Debug for Combinator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Combinator({})", self.name)
    }
}

/// All combinators.
pub const ALL: &[&Combinator] = &[
    &reflection::ABS_REDUCTION,
    &reflection::MIRROR,
    &periodic::PERIODIC,
    &periodic::QUADRANT,
    &exponential::EXP_BIT,
    &logarithm::LOGARITHMIC,
    &logarithm::LOG_TABLE,
    &angle::DOUBLE_ANGLE,
    &angle::HALF_ANGLE,
    &compose::RECHARACTERISE,
    &compose::COMPOSE,
    &structure::SPLIT_DOMAIN,
    &structure::CAST,
];

/// The function of a formula of x, from what another one is there.
fn after(f: &Function, x: &Expr) -> Option<Function> {
    f.at(x).map(Function::of)
}

/// `x - k p` with `k` the integer nearest to `x / p`, and `k`.
fn reduced(p: &Expr) -> (Expr, Expr) {
    let x = Expr::var(0);
    let k = ngc_numerics::expr::round_even(x.clone() / p);
    (k.clone(), x - k * p)
}

/// Which of four quarters the whole number `k` says: `k - 4 floor(k / 4)`.
fn quarter(k: &Expr) -> Expr {
    k - ngc_numerics::expr::floor(k / 4) * 4
}

/// One of four formulas, by a number from 0 to 3.
fn one_of(n: &Expr, all: [Expr; 4]) -> Expr {
    let [a, b, c, d] = all;
    Expr::select(Cmp::Lt, n, 0.5, a, Expr::select(Cmp::Lt, n, 1.5, b, Expr::select(Cmp::Lt, n, 2.5, c, d)))
}
