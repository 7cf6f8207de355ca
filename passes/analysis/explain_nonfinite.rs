//! `explain-nonfinite`: which op can first make an infinity or a NaN, why, and on which input.

use ngc_ir::pass::{Anchor, Changed, OptionDef, OptionKind, Pass, PassContext, RemarkKind, StatisticDef};
use ngc_ir::{Attr, Body, Context, Diagnostic, Diagnostics, Loc, Module, Op, Severity, Value, ValueDef};
use ngc_numerics::{DType, Tensor};
use rayon::prelude::*;

use super::cause::{self, show_range};
use super::nonfinite::{Nonfinite, Root};
use super::range;
use super::report::Exchange;
use super::witness::{self, Effect, Outcome, Target, Witness};
use crate::transform::inline;

/// The pass.
pub struct ExplainNonfinite;

/// Steps of a chain that are shown.
const STEPS: usize = 8;
/// Elements of an input that are shown.
const ELEMENTS: usize = 8;
/// Calls are followed until a function has so many ops.
const MOST_OPS: usize = 1_000_000;

impl Pass for ExplainNonfinite {
    fn name(&self) -> &'static str {
        "explain-nonfinite"
    }

    fn summary(&self) -> &'static str {
        "Say which op can first overflow, divide by zero or make a NaN, and on which input"
    }

    fn description(&self) -> &'static str {
        "Inputs lie in the arguments' `ng.range`, or else anywhere in the finite range of their types. Silence is a \
         proof: every value that is computed is finite then, and no integer is divided by zero. Otherwise a warning \
         stands at each op whose operands are proven finite and whose result is not; ops that are not proven because \
         of it are only counted. Its notes give the ranges that lead there, from the operand to blame back to an \
         argument, and a witness: an input on which the op, evaluated in its format, does go wrong. With a witness \
         the op *can* go wrong; without one it *may*, since the bound may be loose. The search for witnesses is \
         limited by `tries` and by the size of the function, never by time, and finds the same on every machine. An \
         infinity that is stated, in a constant or in an `ng.range`, is no finding, and neither is what it makes \
         infinite, but a NaN is. Calls are followed: what a private function does is told where it is called. The module \
         stays as it is. `ngc-opt --witnesses=DIR` writes the witnesses as .npz files. Each finding \
         is also an analysis remark, named by its kind: overflow, division-by-zero, invalid, unknown."
    }

    fn anchor(&self) -> Anchor {
        Anchor::Module
    }

    fn options(&self) -> &'static [OptionDef] {
        &[
            OptionDef {
                name: "tries",
                kind: OptionKind::Int { default: 1000, min: 0 },
                doc: "most inputs tried in a function in search of witnesses",
            },
            OptionDef {
                name: "limit",
                kind: OptionKind::Int { default: 20, min: 1 },
                doc: "most findings shown of a function",
            },
            OptionDef {
                name: "error",
                kind: OptionKind::Bool(false),
                doc: "whether findings are errors, so that the exit code is 1",
            },
        ]
    }

    fn statistics(&self) -> &'static [StatisticDef] {
        &[
            StatisticDef { name: "proven", doc: "ops whose results are proven finite" },
            StatisticDef { name: "findings", doc: "ops that may be the first to go wrong" },
            StatisticDef { name: "witnesses", doc: "findings with a witness" },
            StatisticDef { name: "dependent", doc: "ops not proven because of an earlier one" },
        ]
    }

    fn run_on_module(&self, module: &mut Module, cx: &mut PassContext<'_>) -> Result<Changed, Diagnostics> {
        let (tries, limit) = (cx.options.int("tries") as usize, cx.options.int("limit") as usize);
        let severity = if cx.options.flag("error") { Severity::Error } else { Severity::Warning };
        // What a helper can do is told where it is called.
        let helpers = inline::helpers(module);
        let mut inlined = module.clone();
        inline::inline_calls(&mut inlined, MOST_OPS, &mut |_, _, _| {});
        let (module, context) = (&inlined, cx.context);
        let mut functions = module.functions();
        functions.retain(|f| !helpers.contains(f));
        let explained: Vec<Option<Explained<'_>>> = functions
            .into_par_iter()
            .map(|op| Explained::of_function(context, module, op, tries, limit))
            .collect();
        let wanted = cx.supply::<Exchange>().and_then(|e| e.witnesses.as_ref());
        for explained in explained.iter().flatten() {
            let Explained { body, found, outcome, .. } = explained;
            let shown = found.roots.iter().zip(&outcome.witnesses);
            for (root, witness) in shown {
                let diagnostic = explained.diagnostic(severity, root, witness.as_ref());
                let remark = cx.remark(
                    RemarkKind::Analysis,
                    root.cause.kind.name(),
                    diagnostic.loc.clone(),
                    diagnostic.message.clone(),
                );
                remark
                    .arg("op", body.name(root.op))
                    .arg("function", explained.name)
                    .arg("certain", witness.is_some())
                    .arg("dependent", root.dependents);
                if let Some(witness) = witness {
                    remark.arg("witness", describe_all(&witness.inputs));
                    if let Some(sink) = wanted {
                        let found = Found { function: explained.name.into(), inputs: witness.inputs.clone() };
                        sink.lock().unwrap_or_else(|e| e.into_inner()).push(found);
                    }
                }
                cx.diagnostics.push(diagnostic);
            }
            let hidden = found.roots.len().saturating_sub(limit);
            if hidden > 0 {
                let message =
                    format!("@{}: {hidden} more ops may go wrong; limit=N shows more", explained.name);
                cx.diagnostics.push(Diagnostic::new(severity, explained.loc.clone(), message));
            }
            cx.count("proven", found.proven);
            cx.count("findings", found.roots.len());
            cx.count("witnesses", outcome.witnesses.iter().flatten().count());
            cx.count("dependent", found.ops - found.proven - found.roots.len());
        }
        Ok(Changed::No)
    }
}

/// Inputs on which an op of a function goes wrong.
#[derive(Clone, Debug)]
pub struct Found {
    /// The function.
    pub function: String,
    /// By argument.
    pub inputs: Vec<Tensor>,
}

/// What is found of one function.
struct Explained<'a> {
    name: &'a str,
    loc: Loc,
    body: &'a Body,
    found: Nonfinite,
    outcome: Outcome,
}

impl<'a> Explained<'a> {
    /// Nothing for a declaration.
    fn of_function(
        context: &Context,
        module: &'a Module,
        op: Op,
        tries: usize,
        limit: usize,
    ) -> Option<Explained<'a>> {
        let data = module.body.op(op);
        let body = module.body.body(op)?;
        let name = data.attrs.get("sym_name").and_then(Attr::as_str).unwrap_or("");
        let arg_attrs = data.attrs.get("arg_attrs");
        let ranges = range::stated(body, arg_attrs);
        let found = Nonfinite::of_function(module, body, arg_attrs, &ranges);
        let roots = found.roots.iter().take(limit);
        let targets: Vec<Target> = roots.map(|r| Target { op: r.op, goal: r.cause.goal }).collect();
        let outcome = witness::search(context, module, op, &ranges, &targets, tries);
        Some(Explained { name, loc: data.loc.clone(), body, found, outcome })
    }

    fn diagnostic(&self, severity: Severity, root: &Root, witness: Option<&Witness>) -> Diagnostic {
        let body = self.body;
        let (cause, loc) = (&root.cause, &body.op(root.op).loc);
        let may = if witness.is_some() { "can" } else { "may" };
        let message = format!("'{}' {may} {}: {}", body.name(root.op), cause.what, cause.detail);
        let mut diagnostic = Diagnostic::new(severity, loc.clone(), message);
        let chain = cause::chain(body, |v| self.found.range(v), root.op, cause.operand);
        for &value in chain.iter().take(STEPS) {
            let (loc, text) = self.step(value);
            diagnostic = diagnostic.note(loc, text);
        }
        if chain.len() > STEPS {
            let (loc, text) = self.step(chain[chain.len() - 1]);
            let between = chain.len() - STEPS - 1;
            let text = if between == 0 { text } else { format!("{text}, {between} steps before") };
            diagnostic = diagnostic.note(loc, text);
        }
        let text = match witness {
            Some(Witness { inputs, effect }) => {
                let effect = match effect {
                    Effect::Value(x) => {
                        format!("it makes {}", if x.is_nan() { "NaN".into() } else { x.to_string() })
                    }
                    Effect::Refused => "it has no value".to_string(),
                };
                let of =
                    if inputs.is_empty() { String::new() } else { format!(" for {}", describe_all(inputs)) };
                format!("certain: {effect}{of}")
            }
            None if self.outcome.tries == 0 => {
                "possible: no input was tried in search of a witness; the bound may be loose".into()
            }
            None => {
                format!("possible: no witness found in {} tries; the bound may be loose", self.outcome.tries)
            }
        };
        diagnostic = diagnostic.note(Loc::Unknown, text);
        match root.dependents {
            0 => diagnostic,
            1 => diagnostic.note(Loc::Unknown, "a later op is not proven finite because of it"),
            n => diagnostic.note(Loc::Unknown, format!("{n} later ops are not proven finite because of it")),
        }
    }

    /// A value on the way, with its range.
    fn step(&self, value: Value) -> (Loc, String) {
        let range = show_range(&self.found.range(value));
        match self.body.def(value) {
            ValueDef::Argument(block, n) => {
                let loc = self.body.argument_loc(block, n as usize);
                (loc, format!("argument {n} of @{} lies in {range}", self.name))
            }
            ValueDef::Result(op, _) => {
                let text = format!("'{}' lies in {range}", self.body.name(op));
                (self.body.op(op).loc.clone(), text)
            }
        }
    }
}

/// Inputs by number.
fn describe_all(inputs: &[Tensor]) -> String {
    let of = |(n, t): (usize, &Tensor)| format!("argument {n} = {}", describe(t));
    inputs.iter().enumerate().map(of).collect::<Vec<_>>().join(", ")
}

/// A tensor in short, each number in full.
fn describe(tensor: &Tensor) -> String {
    let number = |x: f64| match tensor.dtype {
        DType::Float(ngc_numerics::Format::F64) | DType::Int(_) => format!("{x:?}"),
        // As many digits as an `f32` needs tell apart the values of all narrower formats.
        _ => format!("{:?}", x as f32),
    };
    let values = match tensor.as_ints() {
        Some(ints) => ints.iter().map(i64::to_string).collect(),
        None => tensor.to_f64s().into_iter().map(number).collect::<Vec<_>>(),
    };
    match values.as_slice() {
        [] => "empty".into(),
        [one] => one.clone(),
        [first, rest @ ..] if rest.iter().all(|x| x == first) => format!("all {first}"),
        all if all.len() <= ELEMENTS => format!("[{}]", all.join(", ")),
        all => format!("[{}, ... {} elements]", all[..ELEMENTS].join(", "), all.len()),
    }
}
