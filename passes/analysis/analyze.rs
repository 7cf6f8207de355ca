//! `analyze`: ranges and error bounds of every op, as attributes, as remarks and as a report.

use ngc_ir::pass::{
    Anchor, Changed, OptionDef, OptionKind, Pass, PassContext, Remark, RemarkKind, StatisticDef,
};
use ngc_ir::{Attr, AttrDict, Diagnostics, Module, Op};
use rayon::prelude::*;

use super::calibrate::{Calibration, Depth, Sampled};
use super::chains;
use super::error::Errors;
use super::report::{Exchange, Given, Report, Row, down, nearest, up};

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
         share of the sum of all contributions, and the bound of the error of its result: absolute, in units in the last \
         place of its greatest value, and relative to its least magnitude or `floor`. With several results of the \
         function, amplification and share are the largest of those to each. A last remark gives the totals: the largest \
         product of Lipschitz constants on a path, the total curvature, and the error of each result.\n\n\
         With `attributes` the ops keep their figures as `ng.range`, `ng.lipschitz`, `ng.delta`, `ng.condition`, \
         `ng.curvature`, `ng.amplification` and `ng.error`; an op of several results has arrays, an entry a result.\n\n\
         `ngc-opt --analyze --analysis-report` prints the same figures as a table, or as JSON: an object a line for each \
         argument (`kind` is `argument`), result of an op (`op`) and output (`output`) and one of `totals`, amplification \
         and share by output, figures with all their digits, infinities as `\"inf\"` and `\"-inf\"`, `null` for what does \
         not apply. A constant matrix that `ng.matmul` or `ng.affine` takes has there an estimate of its 2-norm by power \
         iteration, labelled as one (`norm2`).\n\n\
         `ngc-opt --analyze --calibrate inputs.npz` also evaluates a function on samples, in its formats and at higher \
         precision (with every op rounded to f64; in 200 bits where the module has values of f64), and puts what it saw \
         beside the bounds: range, mean, standard deviation and errors of each value. These are estimates and change no \
         bound. With `--assume-calibrated` the bounds are those for inputs of which every value lies where the samples showed \
         it to; they are labelled `conditional`, and no attributes are written. The error of a result is then bounded by what the \
         roundings of each op become in it at the samples, element by element (reverse-mode derivatives times running error \
         bounds), where that is less than what the ranges give: it holds where the roundings of no op have a larger part in the \
         result than at the samples, and is far nearer to the error of a deep network than products of Lipschitz constants are. \
         The report says from how many elements of the result derivatives were taken, or why none were: an op without \
         derivatives, a choice that falls otherwise over the reals, an overflow, too much work. Where the error of a result has \
         no finite bound, the report names the first value on the way that has none, and why."
    }

    fn anchor(&self) -> Anchor {
        Anchor::Module
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
                kind: OptionKind::Float { default: 0.0, min: 0.0 },
                doc: "least magnitude to which an error is related",
            },
            OptionDef {
                name: "effort",
                kind: OptionKind::Int { default: chains::EFFORT as i64, min: 0 },
                doc: "operations spent on the error of one chain of elementwise ops, for a sharper bound",
            },
        ]
    }

    fn statistics(&self) -> &'static [StatisticDef] {
        &[
            StatisticDef { name: "ops", doc: "ops analysed" },
            StatisticDef { name: "unbounded", doc: "results whose error has no finite bound" },
        ]
    }

    fn run_on_module(&self, module: &mut Module, cx: &mut PassContext<'_>) -> Result<Changed, Diagnostics> {
        let floor = cx.options.float("floor");
        let effort = usize::try_from(cx.options.int("effort")).unwrap_or(0);
        let exchange = cx.supply::<Exchange>();
        let calibration = exchange.and_then(|e| calibrate(module, cx, e).transpose()).transpose()?;
        let samples = exchange.and_then(|e| e.samples.as_ref());
        let wanted = exchange.is_some_and(|e| e.reports.is_some());
        let runtime = exchange.and_then(|e| e.runtime);
        let given: Option<Given> =
            exchange.filter(|e| e.assume_calibrated).zip(samples).map(|(exchange, samples)| {
                let progress = exchange.following.as_deref().unwrap_or(&|_, _| {});
                samples.follow(cx.context, module, (Depth::Whole, runtime), progress)
            });
        let report = |op: &Op| {
            let attrs = &module.body.op(*op).attrs;
            let name = attrs.get("sym_name").and_then(Attr::as_str).unwrap_or("");
            let body = module.body.body(*op)?;
            let loc = module.body.op(*op).loc.clone();
            let seen = calibration.as_ref().filter(|_| samples.is_some_and(|s| s.function() == name));
            let given = given.as_ref().filter(|_| seen.is_some());
            let assumed = seen.filter(|_| given.is_some());
            let errors =
                Errors::given(body, attrs.get("arg_attrs"), &module.resources, effort, assumed, runtime);
            let report =
                Report::new(attrs, loc, body, &errors, seen, given, floor).in_runtime(runtime, &errors);
            Some((*op, if wanted { report.with_norms(body, &errors) } else { report }))
        };
        let reports: Vec<(Op, Report)> = module.functions().par_iter().filter_map(report).collect();
        let mut changed = false;
        for (function, report) in &reports {
            remarks(report, cx);
            leaves_stated_range(report, cx);
            // What an attribute says must hold for all inputs, wherever the function runs.
            let writes = cx.options.flag("attributes") && !report.assumed && report.table.is_none();
            if let (true, Some(body)) = (writes, module.body.body_mut(*function)) {
                for rows in report.rows.chunk_by(|a, b| a.op == b.op) {
                    if let Some(op) = rows[0].op {
                        write(&mut body.op_mut(op).attrs, rows);
                        changed = true;
                    }
                }
            }
        }
        if let Some(sink) = exchange.and_then(|e| e.reports.as_ref()) {
            let reports = reports.into_iter().map(|(_, report)| report).collect();
            sink.lock().unwrap_or_else(|e| e.into_inner()).push(reports);
        }
        Ok(Changed::from(changed))
    }
}

fn calibrate(
    module: &Module,
    cx: &PassContext<'_>,
    exchange: &Exchange,
) -> Result<Option<Calibration>, Diagnostics> {
    let Some(samples) = &exchange.samples else { return Ok(None) };
    let silent = |_, _| {};
    let found = match &exchange.progress {
        Some(progress) => samples.evaluate(cx.context, module, progress),
        None => samples.evaluate(cx.context, module, &silent),
    };
    found.map(Some).map_err(|d| Diagnostics(vec![d]))
}

/// Figures as attributes; an op of several results has arrays.
fn write(attrs: &mut AttrDict, rows: &[Row]) {
    let range = |row: &Row| Attr::Array([row.lo, row.hi].map(Attr::float).into_iter().collect());
    let set = |attrs: &mut AttrDict, name: &str, of: &dyn Fn(&Row) -> Attr| {
        let value = match rows {
            [row] => of(row),
            rows => Attr::Array(rows.iter().map(of).collect()),
        };
        attrs.set(format!("ng.{name}").as_str(), value);
    };
    set(attrs, "range", &range);
    for (n, (name, _)) in rows[0].figures().into_iter().enumerate() {
        set(attrs, name, &|row| Attr::float(row.figures()[n].1));
    }
}

fn remarks(report: &Report, cx: &mut PassContext<'_>) {
    let mut unbounded = 0;
    let mut ops = 0;
    for row in &report.rows {
        let Some(own) = &row.own else { continue };
        let headroom = row.headroom.map_or_else(|| "-".to_string(), down);
        let share = row.largest_share().map_or_else(|| "-".to_string(), up);
        let mut message = format!(
            "{} in {}, headroom {headroom}, L {}, delta {}, kappa {}, curvature {}, amplification {}, share {share}, {}",
            row.name,
            row.range_text(),
            up(own.lipschitz),
            up(own.delta),
            up(own.condition),
            up(own.curvature),
            up(row.largest_amplification()),
            row.error.text(),
        );
        if let Some(s) = &row.sampled {
            message += &format!(
                "; sampled (estimates): {}, error {}, relative {}",
                s.text(),
                nearest(s.absolute),
                nearest(s.relative)
            );
        }
        ops += usize::from(row.index == 0);
        unbounded += usize::from(!row.error.absolute.is_finite());
        let remark = cx.remark(RemarkKind::Analysis, "op", row.loc.clone(), message);
        remark.arg("op", row.name).arg("lo", row.lo).arg("hi", row.hi).arg("nan", row.nan);
        for (name, figure) in row.figures() {
            remark.arg(name, figure);
        }
        remark.arg("relative", row.error.relative);
        let some = [("headroom", row.headroom), ("share", row.largest_share()), ("ulps", row.error.ulps)];
        for (name, figure) in some {
            if let Some(figure) = figure {
                remark.arg(name, figure);
            }
        }
        remark.arg("label", report.label());
        if let Some(s) = &row.sampled {
            sampled(remark, s);
        }
    }
    let mut totals = vec![format!(
        "@{}: largest path {}, total curvature {}",
        report.function,
        up(report.largest_path),
        up(report.total_curvature)
    )];
    for (n, output) in report.outputs.iter().enumerate() {
        let from = output.unbounded.as_ref().map(|(op, _, why)| format!(", from '{op}' on: {why}"));
        totals.push(format!("result {n}: {}{}", output.error.text(), from.unwrap_or_default()));
        totals.extend(output.followed.as_ref().map(|followed| followed.text()));
    }
    if let Some((samples, reference)) = report.calibration {
        totals.push(format!("sampled: estimates from {samples} samples against {reference}"));
    }
    if report.assumed {
        totals.push("conditional: given that every value lies where the samples showed it to".into());
        totals.extend(report.not_followed.clone());
    }
    totals.extend(report.table.as_ref().map(|table| table.text()));
    cx.remark(RemarkKind::Analysis, "totals", report.loc.clone(), totals.join("; "))
        .arg("largest-path", report.largest_path)
        .arg("total-curvature", report.total_curvature)
        .arg("error", report.largest_error())
        .arg("label", report.label());
    cx.count("ops", ops);
    cx.count("unbounded", unbounded);
}

fn sampled(remark: &mut Remark, s: &Sampled) {
    if let (Some((lo, hi)), Some(mean), Some(std)) = (s.range, s.mean, s.std) {
        remark.arg("sampled-lo", lo).arg("sampled-hi", hi).arg("sampled-mean", mean).arg("sampled-std", std);
    }
    remark
        .arg("sampled-error", s.absolute)
        .arg("sampled-relative", s.relative)
        .arg("sampled-not-finite", s.not_finite)
        .arg("sampled-label", "estimate");
}

/// Bounds say nothing of inputs outside the ranges that were stated.
fn leaves_stated_range(report: &Report, cx: &mut PassContext<'_>) {
    for row in report.rows.iter().filter(|row| row.op.is_none()) {
        let Some((lo, hi)) = row.sampled.and_then(|s| s.range) else { continue };
        if lo < row.lo || hi > row.hi {
            cx.warning(
                row.loc.clone(),
                format!(
                    "samples of argument {} reach [{lo}, {hi}]; the bounds hold only in its range {}",
                    row.index,
                    row.range_text()
                ),
            );
        }
    }
}
