//! What is known of results that are integers. Their arithmetic is exact, modulo the width of the type.
//!
//! An integer means the same over the reals and as computed: a number modulo 2^width, which wraps in both. The two differ
//! only where something rounded has decided them. As long as the numbers that an op would give without wrapping stay in
//! the type, on all of the hull of exact and computed operands, it is as continuous as its formula; where they may leave
//! it, an error of any size may carry the result from one end of the type to the other, and its sensitivity is that jump.
//!
//! So a transfer function states the numbers of a result as if there were no end to integers, and [`within_type`] does the
//! rest for all of them. Only a result that is an element of an operand ([`Form::Selection`]) is in the type already.
//! Enclosures are pairs of `f64`: ends beyond 2^53 are rounded outward, and the greatest integer of 64 bits lies below the
//! `f64` that stands for it.

use ngc_ir::Type;
use ngc_ir::op_def::Elementwise;
use ngc_numerics::figures::{add, integer};
use ngc_numerics::program::Step;
use ngc_numerics::{
    Binary64, DType, Enclosure, Figures, Form, Interval, Mixed, Prim, Range, Sensitivity, enclosure,
};
use smallvec::SmallVec;

/// All values of an integer type; and a part of it whose ends are values of the type themselves.
fn ends(elem: DType) -> (Interval, Interval) {
    let (least, greatest) = elem.int_range();
    let (least, greatest) = (integer(least), integer(greatest));
    (least.hull(greatest), Enclosure::new(least.hi, greatest.lo))
}

/// Whether numbers are values of an integer type for sure.
fn fits(x: &Interval, elem: DType) -> bool {
    let (_, sure) = ends(elem);
    !x.may_be_nan && !x.is_undefined() && x.lo >= sure.lo && x.hi <= sure.hi
}

/// The farthest that two values of an integer type are apart.
pub(crate) fn width(elem: DType) -> f64 {
    let (all, _) = ends(elem);
    add(all.hi, -all.lo)
}

/// The figures of a result of a type, from those that do not know where integers end: none leaves its type, and what may
/// wrap is not continuous.
pub(crate) fn within_type(figures: &mut Figures, ty: Type) {
    let Some(elem) = ty.elem().filter(|elem| !elem.is_float()) else { return };
    let (all, _) = ends(elem);
    let selects = figures.form == Form::Selection;
    let cut = |x: Interval| {
        if fits(&x, elem) {
            x
        } else if selects && !x.may_be_nan && !x.is_undefined() && x.lo <= all.hi && x.hi >= all.lo {
            Enclosure::new(x.lo.max(all.lo), x.hi.min(all.hi))
        } else {
            all
        }
    };
    let wraps = !selects && !fits(&figures.range.hull(), elem);
    figures.range = Range { exact: cut(figures.range.exact), computed: cut(figures.range.computed) };
    figures.delta = figures.delta.min(width(elem));
    for way in &mut figures.sensitivity {
        let bounded = way.lipschitz.is_finite() && way.jump.is_finite();
        if *way != Sensitivity::NONE && (wraps || !bounded) {
            *way = Sensitivity { lipschitz: 0.0, jump: width(elem) };
        }
    }
    if wraps {
        (figures.condition, figures.curvature) = (f64::INFINITY, f64::INFINITY);
    }
}

/// Whole numbers moved to the nearest end of an integer type where they are beyond it.
pub(crate) fn saturated(x: Interval, elem: DType) -> Interval {
    let (all, sure) = ends(elem);
    Enclosure::new(x.lo.clamp(all.lo, sure.hi), x.hi.clamp(all.lo, all.hi))
}

/// Integers computed without rounding: `value` encloses them for all operands in the hulls of their ranges, as if they did
/// not wrap, and `ways` says how errors of the operands pass as long as they do not.
pub(crate) fn whole_numbers(value: Interval, ways: impl IntoIterator<Item = Sensitivity>) -> Figures {
    Figures {
        range: Range::both(value),
        sensitivity: ways.into_iter().collect(),
        delta: 0.0,
        relative: Mixed::UNBOUNDED,
        form: Form::General,
        condition: f64::INFINITY,
        curvature: 0.0,
    }
}

/// The integers that a formula gives on a box, by the steps in which it is evaluated; nothing where one of them may wrap or
/// has no meaning on integers.
pub(crate) fn image(e: &Elementwise, hull: &[Interval], elem: DType) -> Option<Interval> {
    use Prim::{
        Abs, Add, Ceil, Div, Floor, Fma, Max, Min, Mul, Neg, Pow, Rem, RoundEven, Sign, Square, Sub, Trunc,
    };
    let program = e.function.program();
    let mut values: SmallVec<[Interval; 16]> = SmallVec::new();
    for step in program.steps() {
        let value = match step {
            Step::Var(i) => *hull.get(*i)?,
            Step::Param(i) => Enclosure::point(*e.params.get(*i)?),
            Step::Const(i) => enclosure::constant(&Binary64, &program.constants()[*i]),
            Step::Apply(prim, places) => {
                let args: SmallVec<[&Interval; 3]> =
                    places[..prim.arity()].iter().map(|&i| &values[i]).collect();
                let value = enclosure::apply(&Binary64, *prim, &args);
                match prim {
                    Add | Sub | Mul | Fma | Square | Neg | Abs | Sign | Min | Max | Rem | Pow | Floor
                    | Ceil | RoundEven | Trunc => value,
                    // A quotient is cut towards zero.
                    Div => Enclosure { lo: value.lo.trunc(), hi: value.hi.trunc(), ..value },
                    _ => return None,
                }
            }
            Step::Select(cmp, [a, b, yes, no]) => match values[*a].compare(*cmp, &values[*b]) {
                Some(true) => values[*yes],
                Some(false) => values[*no],
                None => values[*yes].hull(values[*no]),
            },
        };
        if !fits(&value, elem) && !matches!(step, Step::Var(_)) {
            return None;
        }
        values.push(value);
    }
    values.pop()
}
