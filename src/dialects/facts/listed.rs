//! Facts of structural ops, by name.

use ngc_ir::{Dim, Signature};
use ngc_numerics::{Enclosure, Prim};
use smallvec::SmallVec;

use super::{Fact, Signs, Traced, apply, repeated};

/// What is known of the result of a structural op.
pub(super) fn listed(s: &Signature<'_>, x: &[Traced]) -> Option<SmallVec<[Traced; 1]>> {
    let some = || {
        let shape = s.operands.first().and_then(|ty| ty.shape()).unwrap_or_default();
        shape.iter().all(|d| d.known().is_some_and(|n| n > 0))
    };
    let signs = |n: usize| x.get(n).map_or(Signs::ANY, |x| x.fact.signs);
    let whole = |count: usize| (0..count).all(|i| x.get(i).is_some_and(|x| x.fact.integer));
    let any = |signs: Signs, integer: bool| Traced::of(Fact { signs, integer, ..Fact::UNKNOWN }.reduced());
    let empty = |x: f64| if some() { Signs::NONE } else { Signs::of(&Enclosure::point(x)) };
    let all = || x.iter().copied().reduce(Traced::or);
    Some(SmallVec::from_iter([match s.def.short_name() {
        "transpose" | "reshape" | "squeeze" | "unsqueeze" | "flatten" | "broadcast_to" | "slice"
        | "reverse" | "tile" | "gather" | "sort" => *x.first()?,
        "split" => return Some(SmallVec::from_elem(*x.first()?, 64)),
        "gather_elements" => *x.first()?,
        "convert" if s.operand(0).ok()?.format().is_some() => *x.first()?,
        "convert" => any(Signs::REAL, true),
        "concat" => all()?,
        "where" | "select" => x.get(1)?.or(*x.get(2)?),
        "reduce_sum" => any(repeated(Prim::Add, signs(0)).or(empty(0.0)), whole(1)),
        "reduce_mean" => {
            any(repeated(Prim::Add, signs(0)).or(if some() { Signs::NONE } else { Signs::UNDEFINED }), false)
        }
        "cumsum" => any(repeated(Prim::Add, signs(0)), whole(1)),
        "reduce_prod" => any(repeated(Prim::Mul, signs(0)).or(empty(1.0)), whole(1)),
        "cumprod" => any(repeated(Prim::Mul, signs(0)), whole(1)),
        "reduce_max" => any(signs(0).or(empty(f64::NEG_INFINITY)), whole(1)),
        "reduce_min" => any(signs(0).or(empty(f64::INFINITY)), whole(1)),
        "max_pool" | "global_max_pool" => any(signs(0).or(Signs::MINUS_INF), whole(1)),
        "matmul" | "conv" => {
            let terms = repeated(Prim::Add, apply(Prim::Mul, &[signs(0), signs(1)]));
            let sum = terms.or(Signs::ZERO);
            let biased = if x.len() > 2 { apply(Prim::Add, &[sum, signs(2)]) } else { sum };
            any(biased, whole(x.len()))
        }
        _ if s.operands.iter().any(|ty| ty.shape().is_some_and(|d| d.contains(&Dim::Static(0)))) => {
            return None;
        }
        "iota" | "one_hot" | "range" | "pad" | "tril" | "triu"
            if x.iter().all(|x| x.fact.signs.within(Signs::REAL)) =>
        {
            any(Signs::REAL, false)
        }
        _ => return None,
    }]))
}
