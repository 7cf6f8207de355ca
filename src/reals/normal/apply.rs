//! Functions of corresponding values.

use ngc_ir::structure::{Index, Size, Test};
use ngc_numerics::expr::{Constant, Expr, Node as Formula};
use ngc_numerics::{Logical, Prim, Reduce};
use rug::Rational;

use crate::normal::runs::Weighted;
use crate::store::Store;
use crate::term::{Function, Node, Number, Use};

impl Store {
    /// A real formula of values, with the values of its parameters.
    pub fn formula(&mut self, formula: &Expr, params: &[f64], args: &[Use], space: &[Size]) -> Use {
        match &*formula.0 {
            Formula::Var(n) => args[*n].clone(),
            Formula::Param(n) => self.number(Number::of(params[*n])),
            Formula::Const(constant) => self.number(match constant {
                Constant::Rational(x) => Number::Finite(x.clone()),
                Constant::Pi => Number::Pi,
                Constant::E => Number::E,
                Constant::Infinity { negative } => Number::Infinite { negative: *negative },
                Constant::Nan => Number::Nan,
            }),
            Formula::Apply(prim, parts) => {
                let parts = parts.iter().map(|part| self.formula(part, params, args, space)).collect();
                self.primitive(*prim, parts, space)
            }
            Formula::Select(cmp, parts) => {
                let [a, b, yes, no] = parts.each_ref().map(|part| self.formula(part, params, args, space));
                let holds = self.compare(*cmp, a, b, space);
                self.apply(Function::Choose, vec![holds, yes, no], space)
            }
        }
    }

    /// A primitive of real functions.
    pub fn primitive(&mut self, prim: Prim, x: Vec<Use>, space: &[Size]) -> Use {
        let one = || Rational::from(1);
        let half = || Rational::from((1, 2));
        let mut x = x.into_iter();
        let mut next = || x.next().unwrap_or_else(|| unreachable!("{} has fewer operands", prim.name()));
        match prim {
            Prim::Add => self.linear(Rational::new(), vec![(one(), next()), (one(), next())], space),
            Prim::Sub => self.linear(Rational::new(), vec![(one(), next()), (-one(), next())], space),
            Prim::Neg => self.scaled(-1, next(), space),
            Prim::Mul => self.product(one(), vec![(next(), one()), (next(), one())], space),
            Prim::Div => self.product(one(), vec![(next(), one()), (next(), -one())], space),
            Prim::Square => self.power(next(), 2, space),
            Prim::Sqrt => self.power(next(), half(), space),
            Prim::Fma => {
                let product = self.product(one(), vec![(next(), one()), (next(), one())], space);
                self.linear(Rational::new(), vec![(one(), product), (one(), next())], space)
            }
            Prim::Hypot => {
                let (a, b) = (self.power(next(), 2, space), self.power(next(), 2, space));
                let sum = self.linear(Rational::new(), vec![(one(), a), (one(), b)], space);
                self.power(sum, half(), space)
            }
            Prim::Max => {
                let parts = vec![next(), next()];
                self.greatest(parts, space)
            }
            Prim::Min => {
                let parts = vec![self.scaled(-1, next(), space), self.scaled(-1, next(), space)];
                let greatest = self.greatest(parts, space);
                self.scaled(-1, greatest, space)
            }
            Prim::Expm1 => {
                let exp = self.apply(Function::Prim(Prim::Exp), vec![next()], space);
                self.linear(Rational::from(-1), vec![(one(), exp)], space)
            }
            Prim::Log1p => {
                let sum = self.linear(one(), vec![(one(), next())], space);
                self.apply(Function::Prim(Prim::Log), vec![sum], space)
            }
            Prim::Log2 | Prim::Log10 => {
                let base = self.rational(if prim == Prim::Log2 { 2 } else { 10 });
                let base = self.apply(Function::Prim(Prim::Log), vec![base], space);
                let log = self.apply(Function::Prim(Prim::Log), vec![next()], space);
                self.product(one(), vec![(log, one()), (base, -one())], space)
            }
            Prim::Exp2 => {
                let base = self.rational(2);
                let base = self.apply(Function::Prim(Prim::Log), vec![base], space);
                let exponent = self.product(one(), vec![(next(), one()), (base, one())], space);
                self.apply(Function::Prim(Prim::Exp), vec![exponent], space)
            }
            Prim::Erfc => {
                let erf = self.apply(Function::Prim(Prim::Erf), vec![next()], space);
                self.linear(one(), vec![(-one(), erf)], space)
            }
            Prim::Pow => {
                let (base, exponent) = (next(), next());
                if let Some(exponent) = self.as_rational(&exponent).cloned() {
                    return self.power(base, exponent, space);
                }
                // A power of a positive number is an exponential.
                if self.as_rational(&base).is_none_or(|number| *number <= 0) {
                    return self.apply(Function::Prim(Prim::Pow), vec![base, exponent], space);
                }
                let log = self.apply(Function::Prim(Prim::Log), vec![base], space);
                let exponent = self.product(one(), vec![(exponent, one()), (log, one())], space);
                self.apply(Function::Prim(Prim::Exp), vec![exponent], space)
            }
            _ => self.apply(Function::Prim(prim), x.collect(), space),
        }
    }

    /// The greatest of several values.
    pub fn greatest(&mut self, parts: Vec<Use>, space: &[Size]) -> Use {
        let mut all: Vec<Use> = Vec::new();
        let mut number: Option<Rational> = None;
        let mut open = parts;
        while let Some(part) = open.pop() {
            match self.node(part.id).clone() {
                Node::Number(Number::Finite(x)) => {
                    number = Some(number.map_or(x.clone(), |known| known.max(x)));
                }
                Node::Number(Number::Infinite { negative: true }) => {}
                Node::Max(inner) => {
                    let inner: Option<Vec<Use>> =
                        inner.iter().map(|x| self.compose(x, &part.map, space)).collect();
                    match inner {
                        Some(inner) => open.extend(inner),
                        None => all.push(part),
                    }
                }
                _ if all.contains(&part) => {}
                _ => all.push(part),
            }
        }
        if let Some((n, m)) = self.opposites(&all, space) {
            let magnitude = self.apply(Function::Prim(Prim::Abs), vec![all[n].clone()], space);
            let rest = all.into_iter().enumerate().filter(|(k, _)| *k != n && *k != m).map(|(_, x)| x);
            let mut parts: Vec<Use> = rest.chain([magnitude]).collect();
            parts.extend(number.map(|number| self.rational(number)));
            return self.greatest(parts, space);
        }
        let weighted: Vec<Weighted> = all.iter().map(|x| (1.into(), x.clone())).collect();
        if let Some(joined) = self.joined(Reduce::Max, &weighted, space) {
            let mut parts: Vec<Use> = joined.into_iter().map(|(_, x)| x).collect();
            parts.extend(number.map(|number| self.rational(number)));
            return self.greatest(parts, space);
        }
        if let Some(number) = number {
            all.push(self.rational(number));
        }
        match all.len() {
            0 => self.number(Number::Infinite { negative: true }),
            1 => all.remove(0),
            _ => self.close(Node::Max(all), space),
        }
    }

    /// Two values of which one is the negative of the other.
    fn opposites(&mut self, all: &[Use], space: &[Size]) -> Option<(usize, usize)> {
        for n in 1..all.len() {
            let negative = self.scaled(-1, all[n].clone(), space);
            if let Some(m) = all[..n].iter().position(|x| *x == negative) {
                return Some((m, n));
            }
        }
        None
    }

    /// A truth value.
    pub fn truth(&mut self, holds: bool) -> Use {
        let tests = if holds { Vec::new() } else { vec![Test::Zero(Index::number(1))] };
        self.holds(tests, &[])
    }

    /// The index of which a term is the number.
    pub(crate) fn as_place(&self, of: &Use, space: &[Size]) -> Option<Index> {
        let whole = |x: &Rational| (*x.denom() == 1).then(|| x.numer().to_i64()).flatten();
        match self.node(of.id) {
            Node::Place => of.map.first().cloned(),
            Node::Size(size) => Some(Index::size(size)),
            Node::Number(Number::Finite(x)) => Some(Index::number(whole(x)?)),
            Node::Linear(constant, terms) => {
                let mut sum = Index::number(whole(constant)?);
                let mut places = false;
                for (factor, term) in terms {
                    let term = self.compose(term, &of.map, space)?;
                    places |= matches!(self.node(term.id), Node::Place);
                    sum = sum.plus(&self.as_place(&term, space)?.scaled(whole(factor)?)?)?;
                }
                places.then_some(sum)
            }
            _ => None,
        }
    }

    /// A place as a number.
    pub fn place(&mut self, index: &Index, space: &[Size]) -> Use {
        let mut terms = Vec::new();
        let mut constant = Rational::new();
        for (factor, size, digit) in index.summands() {
            let mut factors = Vec::new();
            if let Some(digit) = digit {
                factors.push((self.bare_place(digit), Rational::from(1)));
            }
            if !size.is_one() {
                factors.push((self.close(Node::Size(size), &[]), Rational::from(1)));
            }
            match factors.is_empty() {
                true => constant += factor,
                false => {
                    terms.push((Rational::from(factor), self.product(Rational::from(1), factors, space)))
                }
            }
        }
        self.linear(constant, terms, space)
    }

    /// A function that no other node expresses, or of which the value is known.
    pub fn apply(&mut self, function: Function, mut x: Vec<Use>, space: &[Size]) -> Use {
        if let Some(value) = self.known_value(function, &x) {
            return self.number(value);
        }
        match function {
            Function::Choose => return self.choose(x, space),
            Function::Not => {
                if let Some(denied) = self.denied(&x[0], space) {
                    return denied;
                }
            }
            Function::Logical(Logical::And | Logical::Or) if x[0] == x[1] => return x.remove(0),
            Function::Logical(Logical::And) => {
                if let (Some(mut a), Some(b)) = (self.tested(&x[0], space), self.tested(&x[1], space)) {
                    a.extend(b);
                    return self.holds(a, space);
                }
            }
            Function::Prim(Prim::Log) => {
                if let Some(of) = self.exponential(&x[0], space) {
                    return of;
                }
            }
            Function::Prim(Prim::Exp) => {
                if let Some(power) = self.power_of_log(&x[0], space) {
                    return power;
                }
            }
            Function::Prim(prim) if parity(prim).is_some() => {
                if let Some(turned) = self.turned(prim, &mut x, space) {
                    return turned;
                }
            }
            _ => {}
        }
        if let Function::Prim(Prim::Abs) = function
            && self.is_nonnegative(x[0].id)
        {
            return x.remove(0);
        }
        if let ([of], Function::Prim(_)) = (&x[..], function)
            && let Some((_, yes, no)) = self.parted(of, space)
            && [yes, no].into_iter().any(|x| self.known_value(function, &[x]).is_some())
        {
            let value = self.over_choice(of, space, |store, x| store.apply(function, vec![x], space));
            return value.unwrap_or_else(|| unreachable!("it is a choice by place"));
        }
        self.close(Node::Apply(function, x), space)
    }

    /// A function of numbers that is a number.
    fn known_value(&self, function: Function, x: &[Use]) -> Option<Number> {
        let Function::Prim(prim) = function else { return None };
        let [of] = x else { return None };
        let zero = || Number::Finite(Rational::new());
        match (prim, self.node(of.id)) {
            (Prim::Exp, Node::Number(Number::Infinite { negative: true })) => Some(zero()),
            (Prim::Exp, Node::Number(Number::Finite(x))) if x.is_zero() => Some(Number::Finite(1.into())),
            (Prim::Log, Node::Number(Number::Finite(x))) if *x == 1 => Some(zero()),
            (Prim::Log, Node::Number(Number::Finite(x))) if x.is_zero() => {
                Some(Number::Infinite { negative: true })
            }
            (Prim::Abs, Node::Number(Number::Finite(x))) => Some(Number::Finite(x.clone().abs())),
            (Prim::Floor, Node::Number(Number::Finite(x))) => Some(Number::Finite(x.clone().floor())),
            (Prim::Ceil, Node::Number(Number::Finite(x))) => Some(Number::Finite(x.clone().ceil())),
            (Prim::Trunc, Node::Number(Number::Finite(x))) => Some(Number::Finite(x.clone().trunc())),
            (prim, Node::Number(Number::Finite(x))) if x.is_zero() && parity(prim) == Some(true) => {
                Some(zero())
            }
            _ => None,
        }
    }

    /// An odd function of a negative multiple is the negative of that of the positive one, an even one is the same. The
    /// absolute value takes any factor.
    fn turned(&mut self, prim: Prim, x: &mut [Use], space: &[Size]) -> Option<Use> {
        let odd = parity(prim)?;
        let Node::Linear(constant, terms) = self.node(x[0].id) else { return None };
        if self.symmetries(x[0].id).iter().any(|s| s.negative) {
            let images = self.symmetries(x[0].id).iter().filter(|s| s.negative).map(|s| s.apply(&x[0].map));
            let map = images.min().filter(|map| *map < x[0].map)?;
            x[0].map = map;
            let value = self.apply(Function::Prim(prim), vec![x[0].clone()], space);
            return Some(if odd { self.scaled(-1, value, space) } else { value });
        }
        let content = self.content(x[0].id, constant, terms, true);
        let factor = match prim {
            Prim::Abs => content.clone().abs(),
            _ if content < 0 => Rational::from(if odd { -1 } else { 1 }),
            _ => return None,
        };
        let by = if prim == Prim::Abs { content.recip() } else { Rational::from(-1) };
        if by == 1 {
            return None;
        }
        let inner = self.scaled(by, x[0].clone(), space);
        // A chart keeps sums that are in no normal form: of some no multiple is turned either.
        if let Node::Linear(constant, terms) = self.node(inner.id) {
            let left = self.content(inner.id, constant, terms, true);
            let settled = if prim == Prim::Abs { left == 1 } else { left > 0 };
            settled.then_some(())?;
        }
        let value = self.apply(Function::Prim(prim), vec![inner], space);
        Some(self.scaled(factor, value, space))
    }
}

/// Whether a primitive of one operand is odd (true) or even (false).
pub(crate) fn parity(prim: Prim) -> Option<bool> {
    match prim {
        Prim::Abs | Prim::Cos | Prim::Cosh | Prim::Sinc | Prim::Stumpff3 | Prim::Stumpff5 => Some(false),
        Prim::Sin
        | Prim::Tan
        | Prim::Asin
        | Prim::Atan
        | Prim::Sinh
        | Prim::Tanh
        | Prim::Asinh
        | Prim::Atanh
        | Prim::Erf
        | Prim::Cbrt
        | Prim::Sign
        | Prim::RoundEven
        | Prim::Trunc => Some(true),
        _ => None,
    }
}
