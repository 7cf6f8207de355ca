//! The figures of correctly rounded functions of corresponding elements, from their formulas.

use ngc_ir::op_def::Elementwise;
use ngc_ir::{Signature, Type};
use ngc_numerics::dual::{self, Jet};
use ngc_numerics::figures::{self, WHOLE, add, div, half_ulp, intersect, magnitude, mignitude, mul};
use ngc_numerics::mixed;
use ngc_numerics::program::Step;
use ngc_numerics::{
    Binary64, DType, Enclosure, Figures, Form, Format, Interval, Operands, Prim, Range, ScalarFn, Sensitivity,
};

use smallvec::SmallVec;

use crate::{facts, integers, relative, weighted};

/// The figures of a correctly rounded function of corresponding elements.
pub(crate) fn elementwise(
    s: &Signature<'_>,
    e: &Elementwise,
    known: &Operands<'_>,
    alias: &[usize],
    ty: Type,
) -> Figures {
    let x = known.ranges;
    if x.iter().any(|r| r.exact.is_undefined() || r.computed.is_undefined()) {
        return Figures::unknown(x.len());
    }
    let Some(format) = ty.format() else {
        return ty.elem().map_or_else(|| Figures::unknown(x.len()), |elem| integral(e, x, alias, elem));
    };
    let params: SmallVec<[Interval; 2]> = e.params.iter().map(|&p| Enclosure::point(p)).collect();
    // A range knows no signs of zeros: where a value may only be zero, it may be either.
    let zeros =
        |x: Interval| if x.lo == 0.0 && x.hi == 0.0 { Enclosure { lo: -0.0, hi: 0.0, ..x } } else { x };
    let side =
        |of: fn(&Range) -> Interval| -> SmallVec<[Interval; 3]> { x.iter().map(|r| zeros(of(r))).collect() };
    let (exact, computed, hull) = (side(|r| r.exact), side(|r| r.computed), side(Range::hull));
    let at_hull = Analysed::new(e, &params, &hull, alias);
    let value = |args: &[Interval]| {
        let value =
            if args == &hull[..] { at_hull.value } else { Analysed::new(e, &params, args, alias).value };
        // NaN in, NaN out, even where the formula does not look at it.
        let value = Enclosure { may_be_nan: value.may_be_nan || args.iter().any(|x| x.may_be_nan), ..value };
        // At a pole the sign of a zero decides between the infinities, and an interval does not know it. A product has none.
        let pole = value.may_be_nan && (value.lo.is_infinite() || value.hi.is_infinite());
        if value.is_undefined() || pole && e.function.as_primitive() != Some(Prim::Mul) {
            WHOLE
        } else {
            value
        }
    };
    let image = Range { exact: value(&exact), computed: value(&computed) };
    let exact = weighted::holds_integers(format, magnitude(&image.computed)) && facts::integral(s, known);
    let delta = if exact { 0.0 } else { rounding(s, e, &computed, alias, &image.computed, format) };
    let rounded = figures::round(format, &image.computed);
    let mut sensitivity = at_hull.sensitivity(e);
    for (way, x) in sensitivity.iter_mut().zip(&hull) {
        if x.may_be_nan {
            *way = Sensitivity::UNBOUNDED;
        }
    }
    Figures {
        range: Range { exact: image.exact, computed: rounded },
        sensitivity,
        delta,
        relative: relative::rounding(s, e, format, mignitude(&rounded)),
        form: Form::General,
        condition: at_hull.condition,
        curvature: at_hull.curvature,
    }
}

/// A function over a box: its values, steepest slopes, condition and curvature.
struct Analysed {
    value: Interval,
    slopes: SmallVec<[f64; 3]>,
    condition: f64,
    curvature: f64,
}

/// Ends of the pieces into which the argument of a formula is cut: where activations bend.
const CUTS: [f64; 19] = [
    -1e3, -100.0, -32.0, -16.0, -8.0, -4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0,
    100.0, 1e3,
];
/// Equal pieces between two cuts at most this far apart.
const PIECES: usize = 4;

impl Analysed {
    fn new(e: &Elementwise, params: &[Interval], args: &[Interval], alias: &[usize]) -> Analysed {
        let f = e.function;
        let simple = f.as_primitive().is_some() || args.len() > 1;
        if simple
            || args[0].may_be_nan
            || args[0].lo == args[0].hi
            || args[0].lo.is_infinite()
            || args[0].hi.is_infinite()
        {
            let jet = dual::differentiate(f, params, args, alias);
            let mut value = f.enclose(&Binary64, params, args);
            if alias.iter().enumerate().any(|(i, &a)| i != a) {
                value = intersect(&value, &jet.value);
                if f.name == "xlogy" && args[0].lo >= 0.0 && !args[0].may_be_nan {
                    value = entropy_term(f, args[0]);
                }
            }
            return Analysed::of_jet(e, args, &jet, value);
        }
        // A formula of one argument is bounded piece by piece, and by its ends where it is monotone.
        let x = args[0];
        let mut ends: SmallVec<[f64; 32]> = SmallVec::new();
        ends.push(x.lo);
        ends.extend(CUTS.into_iter().filter(|&c| x.lo < c && c < x.hi));
        ends.push(x.hi);
        let mut total: Option<Analysed> = None;
        for pair in ends.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            let pieces = if to - from <= 8.0 && ends.len() < 14 { PIECES } else { 1 };
            let mut lo = from;
            for k in 1..=pieces {
                let hi = if k == pieces { to } else { from + (to - from) * k as f64 / pieces as f64 };
                let part = [Enclosure::new(lo, hi)];
                let jet = dual::differentiate(f, params, &part, alias);
                let mut value = f.enclose(&Binary64, params, &part);
                let d = jet.slope[0];
                if !d.may_be_nan && !d.is_undefined() && (d.lo >= 0.0 || d.hi <= 0.0) {
                    let at = |x: f64| f.enclose(&Binary64, params, &[Enclosure::point(x)]);
                    value = intersect(&value, &at(lo).hull(at(hi)));
                }
                let piece = Analysed::of_jet(e, &part, &jet, value);
                total = Some(match total {
                    None => piece,
                    Some(total) => total.hull(piece),
                });
                lo = hi;
            }
        }
        total
            .unwrap_or_else(|| Analysed::of_jet(e, args, &dual::differentiate(f, params, args, alias), WHOLE))
    }

    fn of_jet(e: &Elementwise, args: &[Interval], jet: &Jet, value: Interval) -> Analysed {
        let slopes: SmallVec<[f64; 3]> = jet.slope.iter().map(magnitude).collect();
        let second = jet.curve.iter().fold(0.0, |sum, c| add(sum, magnitude(c)));
        let prim = e.function.as_primitive();
        let curvature = match prim {
            Some(Prim::Exp) => mul(magnitude(&value), magnitude(&value)),
            Some(Prim::Log) => {
                let x = mignitude(&args[0]);
                div(1.0, (x * x).next_down().max(0.0))
            }
            Some(Prim::Div) => {
                let d = mignitude(&args[1]);
                div(1.0, ((d * d).next_down() * d).next_down().max(0.0))
            }
            _ => second,
        };
        let general = || {
            let rise = args.iter().zip(&slopes).fold(0.0, |sum, (x, &d)| add(sum, mul(magnitude(x), d)));
            let through_zero = || {
                // A function that vanishes at 0: f(x) = x f'(ξ).
                let [x] = args else { return f64::INFINITY };
                let at_zero = e.function.enclose(
                    &Binary64,
                    &e.params.iter().map(|&p| Enclosure::point(p)).collect::<SmallVec<[Interval; 2]>>(),
                    &[Enclosure::point(0.0)],
                );
                let vanishes = at_zero.lo == 0.0 && at_zero.hi == 0.0 && x.lo <= 0.0 && x.hi >= 0.0;
                if vanishes { div(slopes[0], mignitude(&jet.slope[0])) } else { f64::INFINITY }
            };
            let least = mignitude(&value);
            if rise == 0.0 {
                0.0
            } else if least > 0.0 {
                div(rise, least)
            } else {
                through_zero()
            }
        };
        let condition = match prim {
            Some(Prim::Exp) => magnitude(&args[0]),
            Some(Prim::Square | Prim::Mul | Prim::Div) => 2.0,
            Some(Prim::Neg | Prim::Abs | Prim::Min | Prim::Max) => 1.0,
            Some(Prim::Sqrt) => 0.5,
            Some(Prim::Cbrt) => (1.0f64 / 3.0).next_up(),
            // The zeros and poles of an interval's ends say little of its condition.
            Some(prim @ (Prim::Lgamma | Prim::Digamma)) => mixed::condition(prim, &args[0]).min(general()),
            _ => general(),
        };
        Analysed { value, slopes, condition, curvature }
    }

    fn hull(self, other: Analysed) -> Analysed {
        Analysed {
            value: self.value.hull(other.value),
            slopes: self.slopes.iter().zip(&other.slopes).map(|(a, b)| a.max(*b)).collect(),
            condition: self.condition.max(other.condition),
            curvature: self.curvature.max(other.curvature),
        }
    }

    /// By the slopes; by the extent of the values where there is no bound of them.
    fn sensitivity(&self, e: &Elementwise) -> SmallVec<[Sensitivity; 3]> {
        let extent = if self.value.may_be_nan { f64::INFINITY } else { add(self.value.hi, -self.value.lo) };
        let steps = matches!(
            e.function.as_primitive(),
            Some(Prim::Floor | Prim::Ceil | Prim::RoundEven | Prim::Trunc)
        );
        let of = |&slope: &f64| match slope {
            f64::INFINITY if steps => Sensitivity { lipschitz: 1.0, jump: 1.0 },
            f64::INFINITY if extent.is_finite() => Sensitivity { lipschitz: 0.0, jump: extent },
            f64::INFINITY => Sensitivity::UNBOUNDED,
            slope => Sensitivity::lipschitz(slope),
        };
        self.slopes.iter().map(of).collect()
    }
}

/// `x log x`, which has a limit at 0 although the logarithm has none: it falls to -1/e and rises from there.
fn entropy_term(xlogy: &ScalarFn, x: Interval) -> Interval {
    let at = |x: f64| xlogy.enclose(&Binary64, &[], &[Enclosure::point(x), Enclosure::point(x)]);
    let turn = std::f64::consts::E.recip();
    let ends = at(x.lo).hull(at(x.hi));
    if x.lo <= turn.next_up() && x.hi >= turn.next_down() {
        ends.hull(Enclosure::point(-turn.next_up()))
    } else {
        ends
    }
}

/// The largest rounding error of a correctly rounded function whose values lie in `image`.
fn rounding(
    s: &Signature<'_>,
    e: &Elementwise,
    args: &[Interval],
    alias: &[usize],
    image: &Interval,
    format: Format,
) -> f64 {
    // What an infinity makes certain is certain as computed: -inf beside a number, and 0 as its exponential.
    let is_end = |x: &Interval| x.lo == x.hi && x.lo.is_infinite() && !x.may_be_nan;
    let is_kept = image.lo == image.hi && !image.may_be_nan && format.contains(image.lo);
    if is_kept && args.iter().any(is_end) && !args.iter().any(|x| x.may_be_nan) {
        return 0.0;
    }
    let unbounded = |x: &Interval| x.may_be_nan || x.lo.is_infinite() || x.hi.is_infinite();
    // Neither the operands nor the values may be beyond what is finite.
    if unbounded(image) || args.iter().any(unbounded) {
        return f64::INFINITY;
    }
    // All operands are values of the format of the result, but for integers.
    let representable = s.operands.iter().all(|t| t.format() == Some(format));
    let size = magnitude(image);
    if !representable {
        return half_ulp(format, size);
    }
    if is_exact(e, format) {
        return 0.0;
    }
    let prim = e.function.as_primitive();
    let repeated = alias.len() == 2 && alias[0] == alias[1];
    match (prim, args) {
        (Some(Prim::Add | Prim::Sub), _) if size <= 2.0 * format.min_normal() => 0.0,
        (Some(Prim::Sub | Prim::Div), _) if repeated => 0.0,
        (Some(Prim::Sub), [x, y]) if cancels(x, y) => 0.0,
        (Some(Prim::Add), [x, y]) if cancels(x, &Enclosure::new(-y.hi, -y.lo)) => 0.0,
        (Some(Prim::Mul), [x, y]) if is_scale(x) || is_scale(y) => scaling(format, size),
        (Some(Prim::Div), [_, y]) if is_scale(y) => scaling(format, size),
        _ => half_ulp(format, size),
    }
}

/// Scaling by a power of two rounds in the subnormal range only.
fn scaling(format: Format, size: f64) -> f64 {
    if size > format.max_finite() { f64::INFINITY } else { half_ulp(format, format.min_normal().min(size)) }
}

fn is_scale(x: &Interval) -> bool {
    x.lo == x.hi && x.lo.is_normal() && x.lo.to_bits() & ((1 << 52) - 1) == 0
}

/// Whether every difference is exact: `y / 2 ≤ x ≤ 2 y` (P. Sterbenz, Floating-Point Computation, 1974).
fn cancels(x: &Interval, y: &Interval) -> bool {
    let positive = x.lo > 0.0 && y.lo > 0.0 && y.hi <= 2.0 * x.lo && x.hi <= 2.0 * y.lo;
    let negative = x.hi < 0.0 && y.hi < 0.0 && y.lo >= 2.0 * x.hi && x.lo >= 2.0 * y.hi;
    positive || negative
}

/// Whether every value of the function at values of the format is one of the format.
fn is_exact(e: &Elementwise, format: Format) -> bool {
    use Prim::{Abs, Ceil, Floor, Max, Min, Neg, Rem, RoundEven, Sign, Trunc};
    let program = e.function.program();
    let small = |i: &usize| {
        let value = ngc_numerics::enclosure::constant(&Binary64, &program.constants()[*i]);
        value.lo == value.hi && format.contains(value.lo)
    };
    program.steps().iter().all(|step| match step {
        Step::Var(_) => true,
        Step::Const(i) => small(i),
        Step::Apply(Neg | Abs | Sign | Floor | Ceil | RoundEven | Trunc | Min | Max | Rem, _) => true,
        Step::Select(..) => true,
        _ => false,
    })
}

/// The figures of a function of integers, as long as it does not wrap.
fn integral(e: &Elementwise, x: &[Range], alias: &[usize], elem: DType) -> Figures {
    let hull: SmallVec<[Interval; 3]> = x.iter().map(Range::hull).collect();
    let Some(image) = integers::image(e, &hull, elem) else {
        return Figures { delta: 0.0, ..Figures::unknown(x.len()) };
    };
    let params: SmallVec<[Interval; 2]> = e.params.iter().map(|&p| Enclosure::point(p)).collect();
    let found = Analysed::new(e, &params, &hull, alias);
    let steps = e.function.program().steps();
    let divides = steps.iter().any(|step| matches!(step, Step::Apply(Prim::Div, _)));
    let value = if divides { image } else { intersect(&image, &found.value) };
    let mut ways = found.sensitivity(e);
    if divides {
        // A quotient is cut: by less than one, where nothing follows.
        let last = e.function.as_primitive() == Some(Prim::Div);
        let cut = |way: &Sensitivity| Sensitivity { jump: add(way.jump, 1.0), ..*way };
        let apart = Sensitivity { lipschitz: 0.0, jump: add(value.hi, -value.lo) };
        ways = ways.iter().map(|way| if last { cut(way) } else { apart }).collect();
    }
    let figures = integers::whole_numbers(value, ways);
    Figures { condition: found.condition, curvature: found.curvature, ..figures }
}
