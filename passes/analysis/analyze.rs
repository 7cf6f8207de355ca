//! `analyze`: ranges and error bounds of every op, as attributes and as remarks.

use ngc_ir::pass::{
    Anchor, Changed, Function, OptionDef, OptionKind, OptionValue, Pass, PassContext, RemarkKind,
    StatisticDef,
};
use ngc_ir::{Attr, Diagnostics};
use ngc_numerics::figures::{add, div, magnitude};

use super::error::Errors;

/// The pass.
pub struct Analyze;

impl Pass for Analyze {
    fn name(&self) -> &'static str {
        "analyze"
    }

    fn summary(&self) -> &'static str {
        "Bound the ranges and the rounding errors of every op"
    }

    fn description(&self) -> &'static str {
        "Ranges start from the arguments' `ng.range`, or else from the whole finite range of their types; arguments are \
         exact. Every figure is a bound, rounded outward, and infinite where nothing is known: none is an estimate. An \
         analysis remark of each op gives its range over the reals, the headroom (the format's largest value over the \
         greatest magnitude), the Lipschitz constant L (of all operands together), the rounding error delta that the op \
         itself adds, the condition number kappa, the curvature, the amplification of its rounding to the results, its \
         share of the sum of all contributions, and the bound of the absolute error of its result. With several results \
         the amplification is that to all of them together. A last remark gives the totals: the largest product of \
         Lipschitz constants on a path, the total curvature, and the error of each result, absolute, in units in the \
         last place of its greatest value, and relative to its magnitude or `floor`. With `attributes` the ops of one \
         result keep their figures as `ng.range`, `ng.lipschitz`, `ng.delta`, `ng.condition`, `ng.curvature`, \
         `ng.amplification` and `ng.error`."
    }

    fn anchor(&self) -> Anchor {
        Anchor::Function
    }

    fn options(&self) -> &'static [OptionDef] {
        &[
            OptionDef {
                name: "attributes",
                kind: OptionKind::Bool(true),
                doc: "whether the figures are written to the ops",
            },
            OptionDef {
                name: "floor",
                kind: OptionKind::Float(0.0),
                doc: "least magnitude to which an error is related",
            },
        ]
    }

    fn statistics(&self) -> &'static [StatisticDef] {
        &[
            StatisticDef { name: "ops", doc: "ops analysed" },
            StatisticDef { name: "unbounded", doc: "results whose error has no finite bound" },
        ]
    }

    fn run_on_function(
        &self,
        function: &mut Function,
        cx: &mut PassContext<'_>,
    ) -> Result<Changed, Diagnostics> {
        let attributes = cx.options.get("attributes") == OptionValue::Bool(true);
        let floor = match cx.options.get("floor") {
            OptionValue::Float(floor) => floor,
            _ => 0.0,
        };
        let errors = cx.analysis::<Errors>(function);
        let body = &function.body;
        let mut all = 0.0;
        for (op, figures) in errors.ops() {
            for (own, v) in figures.iter().zip(body.results(*op)) {
                all = add(all, errors.contribution(v, own));
            }
        }
        let mut unbounded = 0;
        let mut written = Vec::new();
        for (op, figures) in errors.ops() {
            for (own, v) in figures.iter().zip(body.results(*op)) {
                let range = errors.range(v);
                let lipschitz = own.sensitivity.iter().fold(0.0, |sum, way| {
                    add(sum, if way.jump > 0.0 { f64::INFINITY } else { way.lipschitz })
                });
                let amplification = errors.amplification(v);
                let amplification =
                    if amplification.jump > 0.0 { f64::INFINITY } else { amplification.lipschitz };
                let contribution = errors.contribution(v, own);
                let share = if contribution == 0.0 { 0.0 } else { contribution / all };
                let error = errors.absolute(v);
                unbounded += usize::from(!error.is_finite());
                let headroom = body.ty(v).format().map(|f| div(f.max_finite(), magnitude(&range.exact)));
                let figures = [
                    ("lipschitz", lipschitz),
                    ("delta", own.delta),
                    ("condition", own.condition),
                    ("curvature", own.curvature),
                    ("amplification", amplification),
                    ("share", share),
                    ("error", error),
                ];
                let nan = if range.exact.may_be_nan { " or NaN" } else { "" };
                let (lo, hi) = (range.exact.lo, range.exact.hi);
                let headroom_text = headroom.map_or_else(|| "-".to_string(), show);
                let message = format!(
                    "{} in [{}, {}]{nan}, headroom {headroom_text}, L {}, delta {}, kappa {}, curvature {}, \
                     amplification {}, share {}, error bound {}",
                    body.name(*op),
                    show(lo),
                    show(hi),
                    show(lipschitz),
                    show(own.delta),
                    show(own.condition),
                    show(own.curvature),
                    show(amplification),
                    show(share),
                    show(error),
                );
                let remark = cx.remark(RemarkKind::Analysis, "op", body.op(*op).loc.clone(), message);
                remark
                    .arg("op", body.name(*op))
                    .arg("lo", lo)
                    .arg("hi", hi)
                    .arg("nan", range.exact.may_be_nan);
                if let Some(headroom) = headroom {
                    remark.arg("headroom", headroom);
                }
                for (name, value) in figures {
                    remark.arg(name, value);
                }
                remark.arg("label", "bound");
                if attributes && body.num_results(*op) == 1 {
                    written.push((*op, [lo, hi], figures));
                }
            }
        }
        let loc =
            errors.results().first().and_then(|&v| body.defining_op(v)).map(|op| body.op(op).loc.clone());
        let message = format!(
            "@{}: largest path {}, total curvature {}",
            function.name(),
            show(errors.largest_path()),
            show(errors.total_curvature()),
        );
        let mut totals = vec![message];
        for (n, &v) in errors.results().iter().enumerate() {
            let Some(format) = body.ty(v).format() else { continue };
            totals.push(format!(
                "result {n}: error bound {}, {} ulp, relative {}",
                show(errors.absolute(v)),
                show(errors.ulps(v, format)),
                show(errors.relative(v, floor)),
            ));
        }
        let worst = errors.results().iter().map(|&v| errors.absolute(v)).fold(0.0, f64::max);
        cx.remark(RemarkKind::Analysis, "totals", loc.unwrap_or(ngc_ir::Loc::Unknown), totals.join("; "))
            .arg("largest-path", errors.largest_path())
            .arg("total-curvature", errors.total_curvature())
            .arg("error", worst)
            .arg("label", "bound");
        cx.count("ops", errors.ops().len());
        cx.count("unbounded", unbounded);
        let changed = !written.is_empty();
        for (op, [lo, hi], figures) in written {
            let attrs = &mut function.body.op_mut(op).attrs;
            attrs.set("ng.range", Attr::Array([Attr::float(lo), Attr::float(hi)].into_iter().collect()));
            for (name, value) in figures {
                if name != "share" {
                    attrs.set(format!("ng.{name}").as_str(), Attr::float(value));
                }
            }
        }
        Ok(Changed::from(changed))
    }
}

/// Three digits are what a reader needs; bounds are rounded up.
fn show(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return x.to_string();
    }
    if x.fract() == 0.0 && x.abs() < 1e5 {
        return format!("{x}");
    }
    let digits = format!("{x:.2e}");
    let shown: f64 = digits.parse().unwrap_or(x);
    if shown >= x {
        return digits;
    }
    let step = 10f64.powi(x.abs().log10().floor() as i32 - 2);
    format!("{:.2e}", shown + step)
}
