//! Types, and terms that have them.

use std::fmt;

use ngc_ir::Loc;
use ngc_numerics::{Expr, Format};

use super::combinators::Combinator;
use super::function::Function;
use super::real::{Range, Real};

/// What a term implements.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// A function on a range.
    Impl(Impl),
    /// Two of them.
    Pair(Box<[Type; 2]>),
}

/// A function on a range.
#[derive(Clone, Debug, PartialEq)]
pub struct Impl {
    /// The function.
    pub function: Function,
    /// The range.
    pub range: Range,
}

/// What is wanted of a term, as far as it is known.
#[derive(Clone, Debug, PartialEq)]
pub enum Want {
    /// An implementation.
    Impl(Option<Function>, Option<Range>),
    /// Two.
    Pair(Box<[Want; 2]>),
}

/// Nothing is known but that it is one implementation.
pub const ANY: Want = Want::Impl(None, None);

impl Impl {
    /// The least and the greatest number of f32 in the range at which the function has a value.
    pub fn ends(&self) -> (f32, f32) {
        let inside = |x: f64| x.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32;
        let (low, high) = (self.range.from.to_f64(), self.range.to.to_f64());
        let (mut from, mut to) = (inside(low), inside(high));
        let has_value = |x: f32| self.function.at(&f64::from(x).into()).is_some_and(|y| Real::of(&y).is_ok());
        if f64::from(from) < low || !has_value(from) {
            from = from.next_up();
        }
        if f64::from(to) > high || !has_value(to) {
            to = to.next_down();
        }
        (from, to)
    }
}

impl Type {
    /// A function on a range.
    pub fn of(function: Function, range: Range) -> Type {
        Type::Impl(Impl { function, range })
    }

    /// Two functions on a range.
    pub fn pair(first: Function, second: Function, range: Range) -> Type {
        Type::Pair(Box::new([Type::of(first, range.clone()), Type::of(second, range)]))
    }
}

impl Want {
    /// This type.
    pub fn of(ty: &Type) -> Want {
        match ty {
            Type::Impl(one) => Want::Impl(Some(one.function.clone()), Some(one.range.clone())),
            Type::Pair(parts) => Want::Pair(Box::new([Want::of(&parts[0]), Want::of(&parts[1])])),
        }
    }

    /// The function that is wanted, where that is known.
    pub fn function(&self) -> Option<&Function> {
        match self {
            Want::Impl(function, _) => function.as_ref(),
            Want::Pair(_) => None,
        }
    }

    /// The range on which it is wanted, where that is known: of a pair, that of the first part of which it is.
    pub fn range(&self) -> Option<&Range> {
        match self {
            Want::Impl(_, range) => range.as_ref(),
            Want::Pair(parts) => parts[0].range().or(parts[1].range()),
        }
    }

    /// What is wanted of a part of a pair.
    pub fn part(&self, n: usize) -> &Want {
        match self {
            Want::Impl(..) => &ANY,
            Want::Pair(parts) => &parts[n],
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Impl(one) => write!(f, "Impl<{}, {}, {}>", one.function, one.range.from, one.range.to),
            Type::Pair(parts) => write!(f, "{} * {}", parts[0], parts[1]),
        }
    }
}

/// A term with its type.
#[derive(Clone, Debug)]
pub struct Typed {
    /// What it implements.
    pub ty: Type,
    /// What it is.
    pub node: Node,
    /// Where it is written.
    pub loc: Loc,
}

/// What a term is, with all that is inferred.
#[derive(Clone, Debug)]
pub enum Node {
    /// A polynomial, or one for each of equal parts of the range.
    Polynomial(Polynomial),
    /// A function of a library.
    Reference(Reference),
    /// Two terms.
    Pair(Box<[Typed; 2]>),
    /// One of a pair.
    Part(usize, Box<Typed>),
    /// A combinator and what it combines.
    Combined(Combined),
}

/// A polynomial.
#[derive(Clone, Debug, PartialEq)]
pub struct Polynomial {
    /// The order of evaluation.
    pub scheme: &'static str,
    /// The powers.
    pub powers: Vec<i64>,
    /// For each part of the range the factors, as they are written; nothing where they are to be fitted.
    pub pieces: Vec<Vec<Option<String>>>,
    /// Whether it is in the distance from the middle of a part.
    pub is_piecewise: bool,
    /// The function that it approaches, and where: not less than its type says.
    pub target: Impl,
}

/// A function of a library.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Its name in C.
    pub symbol: String,
    /// Without the letter that says the format.
    pub name: String,
    /// Of its argument and result.
    pub format: Format,
}

/// A combinator and what it combines.
#[derive(Clone, Debug)]
pub struct Combined {
    /// The combinator.
    pub combinator: &'static Combinator,
    /// Its parameters, and behind them what follows from them.
    pub settings: Vec<Setting>,
    /// What it combines.
    pub arguments: Vec<Typed>,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// A number.
    Real(Real),
    /// A function.
    Function(Function),
    /// A formula of variables.
    Formula(Expr),
    /// How many.
    Count(u32),
    /// A format.
    Format(Format),
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Real(x) => write!(f, "{x}"),
            Setting::Function(x) => write!(f, "{x}"),
            Setting::Formula(x) => write!(f, "{x}"),
            Setting::Count(x) => write!(f, "{x}"),
            Setting::Format(x) => write!(f, "{x}"),
        }
    }
}

impl Combined {
    /// A number.
    ///
    /// # Panics
    /// When the types have not set it: a fault of ngc.
    pub fn real(&self, n: usize) -> &Real {
        match &self.settings[n] {
            Setting::Real(x) => x,
            other => panic!("{} has no number {other}", self.combinator.name),
        }
    }

    /// A formula.
    ///
    /// # Panics
    /// As [`real`](Self::real).
    pub fn formula(&self, n: usize) -> &Expr {
        match &self.settings[n] {
            Setting::Formula(x) => x,
            other => panic!("{} has no formula {other}", self.combinator.name),
        }
    }

    /// A count.
    ///
    /// # Panics
    /// As [`real`](Self::real).
    pub fn count(&self, n: usize) -> u32 {
        match &self.settings[n] {
            Setting::Count(x) => *x,
            other => panic!("{} has no count {other}", self.combinator.name),
        }
    }
}
