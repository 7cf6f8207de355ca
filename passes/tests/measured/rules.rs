//! How often each rule fires over all programs that the repository has, and what would be lost without it.

use std::collections::BTreeMap;
use std::fmt::Write;

use ngc_ir::{Attr, Body, Context, Module, Op};
use ngc_numerics::{Enclosure, Format, Interval};
use ngc_passes::analysis::error::Errors;
use ngc_passes::rewrite::compile::RuleSet;
use ngc_passes::rewrite::drive::Options;
use rayon::prelude::*;

use super::{COMMAND, PAGE};
use crate::support::networks::{NETWORKS, Net};
use crate::support::page::figure;
use crate::support::{corpus, default_rules, functions, search};

/// What a rule did over all functions.
#[derive(Default)]
struct Count {
    /// Applications, and functions with one.
    fired: usize,
    functions: usize,
    /// Bits by which the bound of a function is worse without it, where it is.
    bits: Vec<f64>,
}

fn stabilized(context: &Context, module: &Module, op: Op, rules: &RuleSet) -> (Module, Vec<String>) {
    let mut module = module.clone();
    let report = search(context, &mut module, op, rules, &Options::default());
    (module, report.applied.into_iter().map(|step| step.rule).collect())
}

/// Bounds of the results of a function, relative where they are finite, where nobody stated a range on a nominal one
/// if asked.
fn bounds(module: &Module, op: Op, nominal: bool) -> Vec<[f64; 2]> {
    let body = module.body.body(op).expect("it has a body");
    let errors = match nominal {
        false => Errors::of_function(body, module.body.op(op).attrs.get("arg_attrs"), &module.resources, 0),
        true => Errors::of_body(body, &arguments(body, module.body.op(op).attrs.get("arg_attrs")), 0),
    };
    let floor = |v| body.ty(v).format().map_or(0.0, Format::min_normal);
    errors.results().iter().map(|&v| [errors.relative(v, floor(v)), errors.absolute(v)]).collect()
}

fn arguments(body: &Body, attrs: Option<&Attr>) -> Vec<Interval> {
    let dicts = attrs.and_then(Attr::as_array).unwrap_or_default();
    let stated = |n: usize| {
        let Some(Attr::Dict(dict)) = dicts.get(n) else { return None };
        let [lo, hi] = dict.get("ng.range")?.as_array()? else { return None };
        Some(Enclosure::new(lo.as_float()?, hi.as_float()?))
    };
    let count = body.arguments(body.entry().expect("a block")).len();
    (0..count).map(|n| stated(n).unwrap_or(Enclosure::new(-8.0, 8.0))).collect()
}

/// By how many bits the worst result is better with than without.
fn gain(with: &[[f64; 2]], without: &[[f64; 2]]) -> f64 {
    let each = with.iter().zip(without).map(|(a, b)| {
        let form = usize::from(!a[0].is_finite());
        match (a[form], b[form]) {
            (a, b) if a == b || !a.is_finite() => 0.0,
            (a, b) => (b.max(1e-300) / a.max(1e-300)).log2(),
        }
    });
    each.fold(0.0, f64::max)
}

#[test]
fn what_each_rule_does() {
    let (context, rules) = (ngc_dialects::context(), default_rules());
    let (golden, invalid) = corpus::golden(&context);
    let networks = NETWORKS.iter().map(|(name, shape, make)| {
        let (mut net, x) = Net::new(&context, Format::F32, 3003, shape);
        let y = make(&mut net, x);
        (name.to_string(), net.module(y, (-1.0, 1.0)))
    });
    let programs: Vec<(String, Module)> =
        golden.into_iter().chain(corpus::models(&context)).chain(networks).collect();
    let all: Vec<(usize, Op)> = programs
        .iter()
        .enumerate()
        .flat_map(|(n, (_, m))| functions(m).into_iter().map(move |op| (n, op)))
        .collect();
    let found: Vec<Vec<(String, usize, f64)>> = all
        .par_iter()
        .map(|&(n, op)| {
            let module = &programs[n].1;
            let (after, fired) = stabilized(&context, module, op, &rules);
            let mut counts: BTreeMap<String, usize> = BTreeMap::new();
            fired.into_iter().for_each(|rule| *counts.entry(rule).or_default() += 1);
            let lost = |rule: &str| {
                let others = rules.filter(|c| c.rule.name != rule);
                let (without, _) = stabilized(&context, module, op, &others);
                let stated = bounds(&after, op, false);
                let nominal = stated.iter().any(|b| b.iter().all(|x| !x.is_finite()));
                let with = if nominal { bounds(&after, op, true) } else { stated };
                gain(&with, &bounds(&without, op, nominal))
            };
            counts.into_iter().map(|(rule, n)| (rule.clone(), n, lost(&rule))).collect()
        })
        .collect();
    let mut counts: BTreeMap<String, Count> = BTreeMap::new();
    for (rule, times, bits) in found.into_iter().flatten() {
        let count = counts.entry(rule).or_default();
        (count.fired, count.functions) = (count.fired + times, count.functions + 1);
        count.bits.extend((bits > 0.1).then_some(bits));
    }
    let mut named: Vec<&str> =
        rules.rules().iter().filter(|c| !c.is_view()).map(|c| c.rule.name.as_str()).collect();
    named.sort_unstable();
    named.dedup();
    let silent: Vec<String> =
        named.iter().filter(|r| !counts.contains_key(**r)).map(|r| format!("`{r}`")).collect();
    let mut table = format!(
        "Over {} functions: the inputs of the golden tests (lit-tests/passes/rewrite; {invalid} parts of them are no modules), the\n\
         models of testdata, and the networks above, with the sets that `--stabilize` uses. *Fired* counts applications, *in* the\n\
         functions with one. Then the rule alone is left out: in how many functions is the bound of a result worse, by how\n\
         many bits in the median and at most (inf: no bound is left). A rule whose place others take counts for nothing there.\n\
         Where no range is stated and nothing is bounded, bounds are those on |x| <= 8.\n\n\
         | rule | fired | in | worse without | median bits | most |\n|---|---|---|---|---|---|\n",
        all.len()
    );
    for (rule, Count { fired, functions, mut bits }) in counts {
        bits.sort_by(f64::total_cmp);
        let (median, most) = (bits.get(bits.len() / 2), bits.last());
        let [median, most] = [median, most].map(|x| x.map_or("".into(), |&x| figure(x)));
        let _ = writeln!(table, "| {rule} | {fired} | {functions} | {} | {median} | {most} |", bits.len());
    }
    let _ =
        writeln!(table, "\n{} rules of these sets do not fire on any: {}.", silent.len(), silent.join(", "));
    if std::env::var_os("NGC_BLESS").is_some() {
        PAGE.state("Rules", &table);
        return;
    }
    // Figures change with every program that is added; that a rule fires does not.
    let page = PAGE.section("Rules");
    let rows = |text: &str| -> Vec<String> {
        text.lines().filter_map(|l| Some(l.strip_prefix("| ")?.split_once(" |")?.0.to_string())).collect()
    };
    let (today, stated) = (rows(&table), rows(&page));
    let missing: Vec<&String> = today.iter().filter(|r| !stated.contains(r)).collect();
    assert!(missing.is_empty(), "docs/{} does not have {missing:?}; `{COMMAND}` renews it", PAGE.file);
}
