//! `widen`: formats of interior values and accumulators, chosen by range alone.
//!
//! A value of f16 does not fit its format in two ways. Over the reals it may lie beyond the greatest number, or it was made
//! by rounding and may be so small that it becomes 0. Neither matters by itself: a product that is stored in f16 anyway is
//! infinite in any case, and what becomes 0 beside 1 is nothing. It matters where the op that reads the value, or one after
//! it, gives a number of the format again ([`need`]): of a square that overflows, a root; of a square that is flushed to 0,
//! a quotient.
//!
//! - Beyond: the op's result, on numbers beyond the format and infinity, may lie in the range of the format, and is not one
//!   number throughout (a sigmoid is 1 there, whatever it was given).
//! - Flushed: the op's result, on numbers up to the least of the format, is a normal number, and varies by more than three
//!   bits of its last digits, the other operands taken as ordinary, that is nearest to 1.
//!
//! All connected values of which this holds make a region. The ops that make and read them compute in the next format whose
//! exponents reach further, f32; f64 for f32 only where the function's own arguments or results are f64. bf16 has the
//! exponents of f32, so only its accumulators change. Values are rounded where they fit again, or must: as results, and as
//! factors of a contraction whose ranges nobody states, since nearly everything may overflow then, and a network of f16
//! would become one of f32.
//!
//! An accumulator holds more terms than its format can tell apart, and partial sums beyond the total, so that of a narrow
//! format is f32. It is no tensor, and costs nothing.
//!
//! What stays: arguments, results, what is asked whether it is a number, what a user converts an argument to, and sums whose
//! difference to one of their own terms is taken, which is there for its rounding.

mod apply;
mod need;

use ngc_ir::op_def::ACCUMULATE;
use ngc_ir::pass::{Anchor, Changed, Function, Pass, PassContext, Property, RemarkKind, StatisticDef};
use ngc_ir::{Attr, Body, Context, Diagnostics, Loc, Op, Type};
use ngc_numerics::{DType, Format};
use rustc_hash::FxHashSet;

use self::need::Needs;
pub use self::need::{constant, conversion, stays};
use crate::analysis::range::Ranges;
use crate::transform::erase_dead;

/// The pass.
pub struct Widen;

/// What was widened, and why.
pub struct Widened {
    /// The op that makes the value, or accumulates.
    pub loc: Loc,
    /// In words.
    pub message: String,
}

impl Pass for Widen {
    fn name(&self) -> &'static str {
        "widen"
    }

    fn summary(&self) -> &'static str {
        "Hold interior values and accumulators in the cheapest format whose range serves"
    }

    fn description(&self) -> &'static str {
        "A value of f16 that may overflow, or be flushed to 0, is computed in f32 with all that reads it, where a number of \
         f16 may come of it in the end; it is rounded where it fits again, or must. Where arguments or results are f64, so \
         is f32. Accumulators of f16 and bf16 become f32. Ranges are those that are stated (`ng.range`), or else the whole \
         finite range of the type; factors of contractions stay as they are where ranges are not stated. Arguments and \
         results keep their types, and over the reals nothing changes. A second run changes nothing."
    }

    fn anchor(&self) -> Anchor {
        Anchor::Function
    }

    fn invalidates(&self) -> &'static [Property] {
        &[Property::Formats]
    }

    fn statistics(&self) -> &'static [StatisticDef] {
        &[StatisticDef { name: "widened", doc: "values and accumulators of another format" }]
    }

    fn run_on_function(
        &self,
        function: &mut Function,
        cx: &mut PassContext<'_>,
    ) -> Result<Changed, Diagnostics> {
        let ranges = cx.analysis::<Ranges>(function);
        let widened = widen(cx.context, function, &ranges, &|_| true);
        for Widened { loc, message } in &widened {
            cx.remark(RemarkKind::Passed, "widen", loc.clone(), message.clone());
        }
        cx.count("widened", widened.len());
        Ok(Changed::from(!widened.is_empty()))
    }
}

/// Times that a function is looked at again after something was widened.
const MOST_ROUNDS: usize = 8;

/// Widens values and accumulators of a function whose values lie in these ranges, to formats that are `allowed`.
pub fn widen(
    context: &Context,
    function: &mut Function,
    ranges: &Ranges,
    allowed: &dyn Fn(Format) -> bool,
) -> Vec<Widened> {
    let mut widened = once(context, function, ranges, allowed);
    if widened.is_empty() {
        return widened;
    }
    // What reads a wider value may want more.
    for _ in 0..MOST_ROUNDS {
        let mut ranges = Ranges::default();
        ranges.renew(function);
        let further = once(context, function, &ranges, allowed);
        if further.is_empty() {
            break;
        }
        widened.extend(further);
    }
    widened
}

/// Lets ops on narrow formats accumulate in f32 before anything else is asked of a function: it costs nothing.
pub fn accumulate(
    function: &mut Function,
    ranges: &Ranges,
    allowed: &dyn Fn(Format) -> bool,
) -> Vec<(Op, Widened)> {
    let stays = need::stays(&function.body, ranges);
    if allowed(Format::F32) { accumulators(&mut function.body, &stays) } else { Vec::new() }
}

fn once(
    context: &Context,
    function: &mut Function,
    ranges: &Ranges,
    allowed: &dyn Fn(Format) -> bool,
) -> Vec<Widened> {
    let widest = widest(function);
    let body = &mut function.body;
    // Control flow is inlined or unrolled before it comes here.
    if body.blocks(body.root()).len() != 1 {
        return Vec::new();
    }
    let wider = |format| wider(format, widest).filter(|wide| allowed(*wide));
    let needs = Needs::of(body, ranges, &wider);
    let stays = needs.stays.clone();
    let (region, mut widened) = needs.region();
    apply::apply(context, body, &region);
    erase_dead(body);
    if allowed(Format::F32) {
        widened.extend(accumulators(body, &stays).into_iter().map(|(_, widened)| widened));
    }
    widened
}

/// The greatest format that a function speaks of where it is called.
fn widest(function: &Function) -> Format {
    let ty = function.ty();
    let types = ty.iter().flat_map(|ty| ty.inputs.iter().chain(ty.results.iter()));
    let wide = types.copied().filter_map(Type::format).any(|format| format == Format::F64);
    if wide { Format::F64 } else { Format::F32 }
}

/// The next format whose exponents reach further than those of a format, up to the widest.
fn wider(format: Format, widest: Format) -> Option<Format> {
    // Narrower ones are quantised, which is a function of its own.
    if format.width() < 16 {
        return None;
    }
    let further = |wide: &Format| wide.max_finite().log2().round() > format.max_finite().log2().round();
    [Format::F32, Format::F64].into_iter().filter(|wide| wide.width() <= widest.width()).find(further)
}

/// Lets ops on narrow formats accumulate in f32.
fn accumulators(body: &mut Body, stays: &FxHashSet<Op>) -> Vec<(Op, Widened)> {
    let mut widened = Vec::new();
    for op in body.walk() {
        let narrow = |body: &Body| {
            body.op(op).def?.attribute(ACCUMULATE.name)?;
            let format = body.ty(*body.operands(op).first()?).format()?;
            let own = body.with_signature(op, |s| s.accumulate(format))?;
            (own.precision() < Format::F32.precision()).then_some(own)
        };
        let Some(own) = narrow(body).filter(|_| !stays.contains(&op)) else { continue };
        let wide = Attr::Type(Type::scalar(DType::Float(Format::F32)));
        body.op_mut(op).attrs.set(ACCUMULATE.name, wide);
        let message = format!("{} accumulates in f32, not in {own}", body.name(op));
        widened.push((op, Widened { loc: body.op(op).loc.clone(), message }));
    }
    widened
}
