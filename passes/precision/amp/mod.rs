//! `debug-amp`: what is wrong with an assignment of formats that AMP or a file makes.

pub mod layers;
pub mod policy;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Mutex;

use ngc_ir::pass::{Anchor, Changed, Function, OptionDef, OptionKind, Pass, PassContext, RemarkKind};
use ngc_ir::{Diagnostic, Diagnostics, Loc, Module, Severity};
use ngc_numerics::Format;
use ngc_sheaf::Levels;

use self::layers::{Fault, sentences};
use self::policy::Policy;
use super::assign::chain::Chain;
use super::assign::evidence::Evidence;
use super::assign::node::{Known, Nodes};
use super::assign::program::bytes;
use super::assign::search::{name, written};
use super::assign::wanted::{DEVIATIONS, MEASURE, TARGET, Wanted};
use crate::analysis::calibrate::Depth;
use crate::analysis::range::reach;
use crate::analysis::report::up;
use crate::precision::storage::Storage;

/// The pass.
pub struct DebugAmp;

/// What the pass tells, for a driver to print; and the assignment that a driver read from a file.
#[derive(Default)]
pub struct Debugged {
    /// Instead of one of [`Policy::NAMES`].
    pub policy: Option<Policy>,
    texts: Mutex<Vec<String>>,
}

impl Debugged {
    /// With an assignment from a file, if there is one.
    pub fn new(policy: Option<Policy>) -> Debugged {
        Debugged { policy, ..Debugged::default() }
    }

    /// What was told, in order.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.texts.lock().unwrap_or_else(|e| e.into_inner()))
    }
}

impl Pass for DebugAmp {
    fn name(&self) -> &'static str {
        "debug-amp"
    }

    fn summary(&self) -> &'static str {
        "Say where formats that AMP chooses overflow or cost accuracy"
    }

    fn description(&self) -> &'static str {
        "Gives each op the format in which autocast of torch would run it, or the one that a file names (`--amp-assignment`), and \
         changes nothing: ops whose numbers leave their format over the reals are told with their ranges, and so are those whose \
         rounding alone adds more than `target` to the error of a result. Ops of the same name in layers that follow each other \
         are told in one sentence. The error bound of the whole is that of `analyze` for the function with these formats."
    }

    fn anchor(&self) -> Anchor {
        Anchor::Module
    }

    fn options(&self) -> &'static [OptionDef] {
        &[
            OptionDef {
                name: "amp",
                kind: OptionKind::Choice(Policy::NAMES),
                doc: "autocast of torch on CUDA (f16) or on a CPU (bf16)",
            },
            TARGET,
            MEASURE,
        ]
    }

    fn run_on_module(&self, module: &mut Module, cx: &mut PassContext<'_>) -> Result<Changed, Diagnostics> {
        let wanted = Wanted::of(cx.options, Levels::MOST);
        let debugged = cx.supply::<Debugged>();
        let named = cx.options.string("amp");
        let policy = debugged.and_then(|d| d.policy.clone()).or_else(|| Policy::of(&named));
        let Some(policy) = policy else { return Ok(Changed::No) };
        let mut unknown: Option<BTreeSet<&str>> = None;
        let changed = Evidence::each(module, cx, |evidence, cx| {
            let own = policy.unknown(evidence.context, &evidence.function.body);
            unknown = Some(match unknown.take() {
                Some(before) => before.intersection(&own).copied().collect(),
                None => own,
            });
            let text = debug(evidence, &policy, &wanted)?;
            for line in text.lines().skip(1) {
                cx.remark(
                    RemarkKind::Analysis,
                    "amp",
                    evidence.function.loc.clone(),
                    line.trim().to_string(),
                );
            }
            if let Some(debugged) = cx.supply::<Debugged>() {
                debugged.texts.lock().unwrap_or_else(|e| e.into_inner()).push(text);
            }
            Ok(None)
        })?;
        match unknown.unwrap_or_default().first() {
            None => Ok(changed),
            Some(name) => {
                let why = format!(
                    "{} names '{name}', as which no op, module or value is known; `--assign-precision --precision-output=FILE.json` writes \
                     the names that there are",
                    policy.name
                );
                Err(Diagnostics(vec![Diagnostic::new(Severity::Error, Loc::Unknown, why)]))
            }
        }
    }
}

/// What is told of a function.
fn debug(evidence: &Evidence<'_>, policy: &Policy, wanted: &Wanted) -> Result<String, String> {
    let Function { body, .. } = evidence.function;
    let facts = evidence.facts(wanted.asked())?;
    let allowed = wanted.allowed(&facts.errors);
    let chain = Chain::of([policy.low, policy.high, Format::F64].map(Storage::from));
    let context = evidence.context;
    let known = Known {
        context,
        body,
        facts: &facts,
        allowed: allowed.as_deref(),
        chain: &chain,
        curvature: None,
        accumulates: false,
    };
    let nodes = Nodes::of(&known);
    let formats = policy.formats(body, &nodes.nodes);
    let bits = |op: usize| nodes.nodes[op].bits;
    let mut faults = Vec::new();
    for (n, (node, &format)) in nodes.nodes.iter().zip(&formats).enumerate() {
        let operands = body.operands(node.op).iter();
        let read = operands.filter_map(|v| nodes.of.get(&body.defining_op(*v)?).copied());
        let fault = |why: String, gap: i64, from: Option<usize>| Fault {
            op: name(body, node.op),
            from: from.map(|from| name(body, nodes.nodes[from].op)),
            format: format.word(),
            gap,
            why,
        };
        if let Some(why) = known.leaves(node.op, format) {
            let beyond = |n: usize| (reach(&nodes.nodes[n].range) / format.max_finite()).log2().ceil();
            let worst = read.max_by(|a, b| beyond(*a).total_cmp(&beyond(*b)).then(b.cmp(a)));
            let gap = worst.map_or(f64::NEG_INFINITY, beyond).max(beyond(n));
            faults.push(fault(why, gap.clamp(0.0, 4096.0) as i64, worst));
            continue;
        }
        let added = node.errors.iter().find(|(level, _)| chain.format(*level) == format);
        if let Some((_, error)) = added.filter(|(_, error)| *error > 1.0) {
            let own = bits(n).unwrap_or(0.0);
            let least = read
                .min_by(|a, b| bits(*a).unwrap_or(0.0).total_cmp(&bits(*b).unwrap_or(0.0)).then(a.cmp(b)));
            let gap = (own - f64::from(format.precision())).clamp(0.0, 4096.0) as i64;
            faults.push(fault(
                format!("its rounding adds {} times what is allowed to the error", up(*error)),
                gap,
                least,
            ));
        }
    }
    let mut text = format!("debug-amp: @{} as {} has it\n", evidence.function.name(), policy.name);
    for line in sentences(&faults) {
        let _ = writeln!(text, "  {line}");
    }
    let chosen = nodes.nodes.iter().zip(formats.iter().copied());
    let total: f64 = chosen.clone().map(|(node, format)| node.elements * bytes(format)).sum();
    let bound =
        evidence.bound(&written(evidence, chosen.map(|(node, format)| (node, format.into())))?, Depth::Whole);
    let told: Vec<String> = bound.errors.iter().map(|e| up(*e)).collect();
    let given = evidence.given(&bound).map(|given| format!(", {given}")).unwrap_or_default();
    let asked = wanted.told();
    let _ = writeln!(text, "  error bound of the results: {}{asked}{given}", told.join(", "));
    if let Some(deviations) = &bound.deviations {
        let told: Vec<String> = deviations.iter().map(|e| up(*e)).collect();
        let _ = writeln!(
            text,
            "  {DEVIATIONS} standard deviations of the errors, an estimate: {}",
            told.join(", ")
        );
    }
    let _ = writeln!(text, "  bytes of values: {total:.0}");
    if faults.is_empty() {
        let _ = writeln!(text, "  no op leaves its format, and none adds more to the error than is allowed");
    }
    Ok(text)
}
