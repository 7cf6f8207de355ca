//! Preconditions as ranges of the arguments.

use ngc_numerics::Format;
use rug::{Float, Rational};

use super::number;
use super::parse::{Kind, Node};

/// Arguments by name, each with its format and the least and the greatest value that it takes.
#[derive(Clone)]
pub struct Ranges<'t>(pub Vec<(&'t str, Format, f64, f64)>);

/// What one side of a relation may be.
enum Side {
    Number(Rational),
    Between(f64, f64),
}

impl<'t> Ranges<'t> {
    /// Narrows the ranges by a condition that holds. True: the ranges say all that it says.
    pub fn narrow(&mut self, condition: &Node<'_>) -> bool {
        let parts = match &condition.kind {
            Kind::Symbol("TRUE") => return true,
            Kind::List(parts) => parts,
            _ => return false,
        };
        let Some((head, rest)) = parts.split_first() else { return false };
        match head.symbol() {
            Some("and") => rest.iter().filter(|part| !self.narrow(part)).count() == 0,
            Some("or") => {
                let mut hull: Option<Ranges<'t>> = None;
                let mut whole = rest.len() == 1;
                for part in rest {
                    let mut case = self.clone();
                    whole = case.narrow(part) && whole;
                    hull = Some(hull.map_or(case.clone(), |hull| hull.hull(&case)));
                }
                *self = hull.unwrap_or_else(|| self.clone());
                whole
            }
            Some(relation) => {
                rest.windows(2).fold(rest.len() > 1, |whole, pair| self.relate(relation, pair) && whole)
            }
            None => false,
        }
    }

    /// The least ranges that hold both.
    fn hull(self, other: &Ranges<'_>) -> Ranges<'t> {
        let pairs = self.0.into_iter().zip(&other.0);
        Ranges(pairs.map(|((name, f, lo, hi), o)| (name, f, lo.min(o.2), hi.max(o.3))).collect())
    }

    fn relate(&mut self, relation: &str, pair: &[Node<'_>]) -> bool {
        let [x, y] = pair else { return false };
        let flipped = match relation {
            "<" => ">",
            ">" => "<",
            "<=" => ">=",
            ">=" => "<=",
            "==" => "==",
            _ => return false,
        };
        let (of_x, of_y) = (self.side(x), self.side(y));
        let one = self.restrict(x, relation, &of_y);
        let other = self.restrict(y, flipped, &of_x);
        one || other
    }

    /// Narrows the range of the argument that `node` is about. True: that says all that the relation says.
    fn restrict(&mut self, node: &Node<'_>, relation: &str, side: &Side) -> bool {
        let whole = matches!(side, Side::Number(_));
        if let Some(name) = node.symbol() {
            let Some((_, format, lo, hi)) = self.0.iter_mut().rev().find(|r| r.0 == name) else {
                return false;
            };
            if matches!(relation, "<" | "<=" | "==") {
                *hi = hi.min(side.greatest(*format, relation == "<"));
            }
            if matches!(relation, ">" | ">=" | "==") {
                *lo = lo.max(-side.opposite().greatest(*format, relation == ">"));
            }
            return whole;
        }
        match node.list() {
            Some([head, x]) if head.symbol() == Some("-") => {
                let flipped = match relation {
                    "<" => ">",
                    ">" => "<",
                    "<=" => ">=",
                    ">=" => "<=",
                    same => same,
                };
                self.restrict(x, flipped, &side.opposite())
            }
            Some([head, x]) if head.symbol() == Some("fabs") && matches!(relation, "<" | "<=") => {
                let flipped = if relation == "<" { ">" } else { ">=" };
                let above = self.restrict(x, flipped, &side.opposite());
                self.restrict(x, relation, side) && above
            }
            _ => false,
        }
    }

    /// What an expression may be.
    fn side(&self, node: &Node<'_>) -> Side {
        if let Kind::Number(value) = &node.kind {
            return Side::Number(value.clone());
        }
        if let Some([head, x]) = node.list()
            && let (Some("-"), Kind::Number(value)) = (head.symbol(), &x.kind)
        {
            return Side::Number(Rational::from(-value));
        }
        let (lo, hi) = self.interval(node);
        Side::Between(lo, hi)
    }

    /// Bounds of an expression of the operators that preconditions use.
    fn interval(&self, node: &Node<'_>) -> (f64, f64) {
        const WHOLE: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);
        let outward = |lo: f64, hi: f64| {
            if lo.is_nan() || hi.is_nan() { WHOLE } else { (lo.next_down(), hi.next_up()) }
        };
        match &node.kind {
            Kind::Number(value) => {
                let nearest = number::round(value, Format::F64);
                if number::is(value, nearest) { (nearest, nearest) } else { outward(nearest, nearest) }
            }
            Kind::Symbol(name) => self.0.iter().rev().find(|r| r.0 == *name).map_or(WHOLE, |r| (r.2, r.3)),
            Kind::Text(_) => WHOLE,
            Kind::List(parts) => {
                let Some((head, rest)) = parts.split_first() else { return WHOLE };
                let sides: Vec<(f64, f64)> = rest.iter().map(|x| self.interval(x)).collect();
                match (head.symbol(), &sides[..]) {
                    (Some("-"), &[(lo, hi)]) => (-hi, -lo),
                    (Some("fabs"), &[(lo, hi)]) => {
                        let least = if lo <= 0.0 && hi >= 0.0 { 0.0 } else { lo.abs().min(hi.abs()) };
                        (least, lo.abs().max(hi.abs()))
                    }
                    (Some("+"), &[(a, b), (c, d)]) => outward(a + c, b + d),
                    (Some("-"), &[(a, b), (c, d)]) => outward(a - d, b - c),
                    (Some("fmin"), &[(a, b), (c, d)]) => (a.min(c), b.min(d)),
                    (Some("fmax"), &[(a, b), (c, d)]) => (a.max(c), b.max(d)),
                    (Some("*"), &[(a, b), (c, d)]) => {
                        let corner = |x: f64, y: f64| match x * y {
                            // 0 times anything is 0, exactly; other zeros are underflows.
                            _ if x == 0.0 || y == 0.0 => (0.0, 0.0),
                            product => outward(product, product),
                        };
                        let corners = [corner(a, c), corner(a, d), corner(b, c), corner(b, d)];
                        corners.into_iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), (x, y)| {
                            (lo.min(x), hi.max(y))
                        })
                    }
                    _ => WHOLE,
                }
            }
        }
    }
}

impl Side {
    fn opposite(&self) -> Side {
        match self {
            Side::Number(value) => Side::Number(Rational::from(-value)),
            Side::Between(lo, hi) => Side::Between(-hi, -lo),
        }
    }

    /// The greatest finite value of a format that is not above all that the side may be; if `strict`, below it.
    fn greatest(&self, format: Format, strict: bool) -> f64 {
        let bound = match self {
            Side::Number(value) => value.clone(),
            Side::Between(_, hi) => match Float::with_val(53, *hi).to_rational() {
                Some(value) => value,
                None => return if *hi > 0.0 { format.max_finite() } else { -format.max_finite() },
            },
        };
        let nearest = number::round(&bound, format).clamp(-format.max_finite(), format.max_finite());
        let beyond = |x: f64| {
            let x = Float::with_val(53, x);
            if strict { x >= bound } else { x > bound }
        };
        if beyond(nearest) { format.next_down(nearest) } else { nearest }
    }
}
