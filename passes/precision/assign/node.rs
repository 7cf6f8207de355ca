//! Which ops take a format, which formats each may take, and what error it adds in each.

use ngc_dialects::transfer::transfer_aliased;
use ngc_ir::op_def::ACCUMULATE;
use ngc_ir::{Attr, AttrDict, Body, Context, Op, Signature, Type, Value};
use ngc_numerics::figures::{Interval, add};
use ngc_numerics::summation::Summation;
use ngc_numerics::{DType, Figures, Format, Range, SumMethod};
use ngc_sheaf::cut::Crossing;
use ngc_sheaf::{Level, Levels};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::accumulation::{Accumulates, Accumulation, Form};
use super::chain::Chain;
use super::evidence::Facts;
use super::probe::Parts;
use super::report::Against;
use super::{curvature, double};
use crate::analysis::calibrate::{Alternatives, least, of_name, roundings};
use crate::analysis::range::reach;
use crate::analysis::report::{down, up};
use crate::analysis::work::work;
use crate::precision::attributes;
use crate::precision::conversion;
use crate::precision::storage::Storage;

/// An op that takes a format: for its operands, for what it computes, and for its result.
#[derive(Clone, Debug)]
pub struct Node {
    /// The op.
    pub op: Op,
    /// Its result.
    pub value: Value,
    /// The format that it is given in.
    pub given: Storage,
    /// The formats of its levels.
    pub chain: Chain,
    /// Where its result lies over the reals.
    pub range: Interval,
    /// The levels that it may take.
    pub admissible: Levels,
    /// The levels that it may not take, and why.
    pub refused: Vec<(Level, Against, String)>,
    /// For each level that it may take: the error of the function's results that it adds, in units of what is allowed.
    pub errors: Vec<(Level, f64)>,
    /// By node that it reads, and by level of the chain: the error that it adds to take what is made there in this level, where it is
    /// made in a higher one.
    pub reads: Vec<(usize, Vec<f64>)>,
    /// How it may accumulate, the errors falling; none where that is not chosen.
    pub accumulates: Vec<Accumulates>,
    /// Bits that it demands; nothing where nothing is asked.
    pub bits: Option<f64>,
    /// Elements of the result.
    pub elements: f64,
    /// Operations on elements.
    pub work: f64,
}

impl Node {
    /// An op that is given in a format, with a result in a range, and may take levels of a chain; it adds no error.
    pub fn of(
        body: &Body,
        op: Op,
        (given, range): (Storage, Interval),
        chain: Chain,
        admissible: Levels,
    ) -> Option<Node> {
        let value = body.result(op, 0);
        let ty = body.ty(value);
        Some(Node {
            op,
            value,
            given,
            chain,
            range,
            admissible,
            refused: Vec::new(),
            errors: Vec::new(),
            reads: Vec::new(),
            accumulates: Vec::new(),
            bits: None,
            elements: if ty.format().is_some() { elements(ty) } else { 0.0 },
            work: work(body.op(op).def?, &body.operand_types(op), ty),
        })
    }

    /// The error that it adds in a level, if all that it reads is made in the highest.
    pub fn alone(&self, (level, own): (Level, f64)) -> f64 {
        own + self.reads.iter().filter_map(|(_, errors)| errors.get(usize::from(level))).sum::<f64>()
    }
}

/// The nodes of a body, in the order of its ops.
#[derive(Default)]
pub struct Nodes {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// By op: its node.
    pub of: FxHashMap<Op, usize>,
}

/// What is known of the function that nodes are made of.
pub struct Known<'a> {
    /// The declared ops.
    pub context: &'a Context,
    /// Its body.
    pub body: &'a Body,
    /// What is known of it as it is given.
    pub facts: &'a Facts,
    /// By result: the error that it may have, in units of the result; no one where nothing is asked.
    pub allowed: Option<&'a [f64]>,
    /// The formats that there are.
    pub chain: &'a Chain,
    /// The error for which the curvature of an op says how many bits it takes, where that decides.
    pub curvature: Option<f64>,
    /// Whether it is chosen how ops accumulate.
    pub accumulates: bool,
}

impl Nodes {
    /// The ops of a function that take a format of a chain.
    pub fn of(known: &Known<'_>) -> Nodes {
        let body = known.body;
        let mut found = Nodes::default();
        for op in body.entry().map(|block| body.ops(block).collect::<Vec<Op>>()).unwrap_or_default() {
            let Some(given) = own_format(body, op).filter(|_| is_open(body, op, &known.facts.fixed)) else {
                continue;
            };
            let node = known.node(op, given.into(), &found);
            found.extend(node);
        }
        found
    }

    /// Adds the node of a further op.
    pub fn extend(&mut self, node: Option<Node>) {
        if let Some(node) = node {
            self.of.insert(node.op, self.nodes.len());
            self.nodes.push(node);
        }
    }

    /// The nodes that choose how they accumulate.
    pub fn accumulators(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(|node| !node.accumulates.is_empty())
    }

    /// The nodes in the forms that they have at levels: those of the nodes, then those of the accumulators.
    pub fn forms<'a>(&'a self, levels: &'a [Level]) -> impl Iterator<Item = (&'a Node, Form)> {
        let (own, mut further) = (&levels[..self.nodes.len()], levels[self.nodes.len()..].iter());
        self.nodes.iter().zip(own).map(move |(node, level)| {
            let chosen = (!node.accumulates.is_empty()).then(|| further.next()).flatten();
            let accumulation = chosen.and_then(|place| node.accumulates.get(usize::from(*place)));
            (node, Form { storage: node.chain.format(*level), accumulation: accumulation.map(|a| a.how) })
        })
    }

    /// Errors that nodes add where they take what others make in a lower level: that of the lower level, less that of the higher one.
    pub fn crossings(&self) -> Vec<Crossing<f64>> {
        let reads =
            self.nodes.iter().enumerate().flat_map(|(n, node)| node.reads.iter().map(move |of| (n, of)));
        let steps = reads.flat_map(|(below, (above, errors))| {
            let between = move |(level, pair): (usize, &[f64])| {
                let cost = pair[0] - pair[1];
                let crossing = Crossing { above: *above, below, level: level as Level, cost };
                (cost > 0.0).then_some(crossing)
            };
            errors.windows(2).enumerate().filter_map(between)
        });
        steps.collect()
    }
}

impl Known<'_> {
    fn node(&self, op: Op, given: Storage, before: &Nodes) -> Option<Node> {
        let (body, value) = (self.body, self.body.result(op, 0));
        let exact = self.facts.errors.range(value).exact;
        let curved = self.curvature.and_then(|epsilon| {
            let figures = self.figures(op, given, None)?;
            Some(curvature::bits(body, op, &figures, &self.facts.errors, epsilon))
        });
        let (mut refused, mut levels) = (Vec::new(), Vec::new());
        for (level, format) in self.chain.iter() {
            let last = level + 1 == self.chain.len();
            match self.refusal(op, format, given, curved.filter(|_| !last)) {
                Some((kind, why)) => refused.push((level, kind, why)),
                None if self.takes(op, format) => levels.push(level),
                None => {}
            }
        }
        if levels.is_empty() {
            // No format holds it: it is as it was given, where that is one of the chain, and else in the widest.
            let own = self.chain.level(given).filter(|_| self.takes(op, given));
            levels.extend(own.or_else(|| {
                let last = self.chain.len().checked_sub(1)?;
                self.takes(op, self.chain.format(last)).then_some(last)
            }));
        }
        if levels.is_empty() {
            return None;
        }
        let accumulates = self.accumulations(op, &levels, before);
        // What it adds by accumulating is chosen apart.
        let finest = (!accumulates.is_empty()).then_some(Accumulation::FINEST);
        let own = |level: Level| self.allowed.map_or(0.0, |of| self.added(op, (level, finest), of, before));
        let mut errors: Vec<(Level, f64)> = levels.iter().map(|&level| (level, own(level))).collect();
        let reads = self.allowed.map_or_else(Vec::new, |of| self.reads(op, &levels, of, before));
        // A wider format never adds more.
        for n in (1..errors.len()).rev() {
            errors[n - 1].1 = errors[n - 1].1.max(errors[n].1);
        }
        let bits = curved.or_else(|| demanded_bits(self.facts, (value, given), self.allowed));
        let admissible = levels.into_iter().collect();
        let node = Node::of(body, op, (given, exact), self.chain.clone(), admissible)?;
        Some(Node { bits, refused, errors, reads, accumulates, ..node })
    }

    /// How an op may accumulate, if that is chosen: each way that adds less to the error than those before.
    fn accumulations(&self, op: Op, levels: &[Level], before: &Nodes) -> Vec<Accumulates> {
        let Some(allowed) = self.allowed.filter(|_| self.accumulates && Accumulation::is_open(self.body, op))
        else {
            return Vec::new();
        };
        let narrow = |level: &&Level| self.chain.format(**level).precision() <= Format::F32.precision();
        let Some(&level) = levels.iter().rfind(narrow) else { return Vec::new() };
        let added = |how| self.added(op, (level, Some(how)), allowed, before);
        let finest = added(Accumulation::FINEST);
        let sums = self.additions(op);
        let mut found: Vec<Accumulates> = Vec::new();
        for (how, work) in Accumulation::all(self.chain.format(self.chain.len() - 1).word()) {
            let error = (added(how) - finest).max(0.0);
            if found.last().is_none_or(|before| error < before.error) {
                found.push(Accumulates { how, error, work: sums * work });
            }
        }
        // Where nothing is gained there is nothing to choose.
        if found.len() < 2 || !finest.is_finite() { Vec::new() } else { found }
    }

    /// Additions of an op: half the operations of a contraction, which are products and sums, and else one for each element.
    fn additions(&self, op: Op) -> f64 {
        let (body, def) = (self.body, self.body.op(op).def);
        let operands = body.operand_types(op);
        let work = def.map_or(0.0, |def| work(def, &operands, body.ty(body.result(op, 0))));
        let most = operands.iter().map(|ty| elements(*ty)).fold(0.0, f64::max);
        if def.is_some_and(|def| def.traits.contraction) { work / 2.0 } else { most.min(work) }
    }

    /// Why an op may not take a format.
    fn refusal(
        &self,
        op: Op,
        format: Storage,
        given: Storage,
        curved: Option<f64>,
    ) -> Option<(Against, String)> {
        let leaves = self.leaves(op, format).map(|why| (Against::Range, why));
        if self.curvature.is_some() {
            let short = curved.filter(|bits| *bits > f64::from(format.precision()));
            let why = |bits| {
                (
                    Against::Curvature,
                    format!("its curvature demands {bits} bits, and {format} has {}", format.precision()),
                )
            };
            return leaves.or_else(|| short.map(why));
        }
        let narrower = || self.allowed.is_none() && format != given && !format.holds(given);
        let unasked = || format!("it was given in {given}, and nothing says how accurate it must be");
        leaves.or_else(|| narrower().then(|| (Against::Unasked, unasked())))
    }

    /// Whether an op makes a result of a format of operands of the format.
    pub fn takes(&self, op: Op, format: Storage) -> bool {
        let (body, word) = (self.body, format.word());
        let double = || {
            let def = body.op(op).def.filter(|_| conversion(body, op).is_none());
            let (types, attrs) = (types(body, op, word), attrs(body, op, word, None));
            def.is_some_and(|def| double::takes(self.context, def, &types, &attrs, word))
        };
        takes(body, op, word) && (!format.is_double() || double())
    }

    /// What of the numbers that an op makes and reads over the reals leaves a format.
    pub fn leaves(&self, op: Op, format: Storage) -> Option<String> {
        let ends = |x: &Interval| {
            let most = reach(x);
            (!(most.is_finite() && format.word().round(most).is_finite()))
                .then(|| format!("reaches {}, and {format} ends at {}", up(most), down(format.max_finite())))
        };
        let value = self.body.result(op, 0);
        if let Some(why) = ends(&self.facts.errors.range(value).exact) {
            return Some(format!("it {why}"));
        }
        let operands = self.body.operands(op).iter().filter(|v| self.body.ty(**v).format().is_some());
        let mut whys = operands.filter_map(|v| {
            let why = ends(&self.facts.errors.range(*v).exact)?;
            let name = self.body.defining_op(*v).map_or("an argument", |op| self.body.name(op));
            Some(format!("its operand {name} {why}"))
        });
        whys.next()
    }

    /// The error of the results that an op adds in a format, in units of what is allowed: its own rounding, and that of the arguments
    /// and constants that it rounds. What it adds by rounding what nodes make depends on their formats ([`Known::reads`]).
    fn added(
        &self,
        op: Op,
        (level, how): (Level, Option<Accumulation>),
        allowed: &[f64],
        before: &Nodes,
    ) -> f64 {
        let (body, format) = (self.body, self.chain.format(level));
        if let Some(parts) = &self.facts.parts {
            return self.part(op, (level, how), (parts, allowed), before);
        }
        let Some(figures) = self.figures(op, format, how) else { return f64::INFINITY };
        let value = body.result(op, 0);
        let rounded = |(n, v): (usize, &Value)| {
            let own = body.ty(*v).format()?;
            if self.node_of(*v, before).is_some() || format.holds(own.into()) {
                return None;
            }
            let error = format.half_ulp(reach(&self.facts.errors.range(*v).exact));
            Some(figures.sensitivity.get(n)?.pass(error))
        };
        let operands = body.operands(op).iter().enumerate().filter_map(rounded).fold(0.0, add);
        let mut own = add(figures.delta, operands);
        // A result of the function is rounded to the type that it has there.
        let given = body.ty(value).format().map(Storage::from).filter(|given| !given.holds(format));
        if let Some(given) = given.filter(|_| self.facts.errors.results().contains(&value)) {
            own = add(own, given.half_ulp(reach(&self.facts.errors.range(value).exact)));
        }
        self.onward(value, own, allowed)
    }

    /// The error of the results that an error of a value becomes, in units of what is allowed.
    fn onward(&self, value: Value, error: f64, allowed: &[f64]) -> f64 {
        let amplification = self.facts.errors.amplification(value);
        let worst = worst(amplification.zip(allowed).map(|(onward, allowed)| onward.pass(error) / allowed));
        if worst == 0.0 { 0.0 } else { worst }
    }

    /// The nodes that an op reads, and for each level of the chain the error that it adds to take what they make in it, in units of
    /// what is allowed. It falls with the level; what no level of the op is, is as the next one.
    fn reads(&self, op: Op, levels: &[Level], allowed: &[f64], before: &Nodes) -> Vec<(usize, Vec<f64>)> {
        let mut found: Vec<(usize, Vec<f64>)> = Vec::new();
        let operands = self.body.operands(op);
        for (at, &v) in operands.iter().enumerate().filter(|(at, v)| !operands[..*at].contains(v)) {
            let Some(node) = self.node_of(v, before) else { continue };
            let mut errors = vec![0.0f64; usize::from(self.chain.len())];
            for level in (0..errors.len()).rev() {
                let next = errors.get(level + 1).copied().unwrap_or(0.0);
                let own = levels.contains(&(level as Level));
                let own = if own { self.read(op, (at, v), level as Level, allowed) } else { 0.0 };
                errors[level] = next.max(own);
            }
            found.push((node, errors));
        }
        found
    }

    /// The error of the results that an op adds by rounding an operand to a format, in units of what is allowed.
    fn read(&self, op: Op, (at, v): (usize, Value), level: Level, allowed: &[f64]) -> f64 {
        let (body, format) = (self.body, self.chain.format(level));
        if let Some(parts) = &self.facts.parts {
            let of =
                |(parts, allowed): (&Parts, &f64)| parts.of(self.converted(parts, op, v, format), *allowed);
            return worst(parts.iter().zip(allowed).map(of));
        }
        let error = format.half_ulp(reach(&self.facts.errors.range(v).exact));
        let Some(figures) = self.figures(op, format, None) else { return f64::INFINITY };
        let same = body.operands(op).iter().enumerate().skip(at).filter(|(_, w)| **w == v);
        let own = same.filter_map(|(n, _)| Some(figures.sensitivity.get(n)?.pass(error))).fold(0.0, add);
        self.onward(body.result(op, 0), own, allowed)
    }

    /// What rounding an operand of an op to a format became at samples.
    fn converted(&self, parts: &Parts, op: Op, v: Value, format: Storage) -> f64 {
        let kept = self.body.ty(v).format().map_or(format, Storage::from);
        let power = parts.criterion.power();
        // Double words are made of other ops, of which no table knows.
        let runtime = self.facts.runtime.filter(|_| !format.is_double());
        let known = of_name("ng.convert", (format.word(), SumMethod::Naive, parts.reach(op)), runtime);
        let [unit, one] = parts.read(v, op);
        let rounded = unit * coarser(kept, format, power);
        least(&underflowing(known, format), [rounded, rounded, one], power)
    }

    /// The same, of what roundings became at samples: what a rounding becomes is as many times more as the format has fewer bits.
    fn part(
        &self,
        op: Op,
        (level, how): (Level, Option<Accumulation>),
        (parts, allowed): (&[Parts], &[f64]),
        before: &Nodes,
    ) -> f64 {
        let (body, format) = (self.body, self.chain.format(level));
        let value = body.result(op, 0);
        let given = body.ty(value).format().map_or(format, Storage::from);
        let accumulated = |attrs: &AttrDict, format: Storage| {
            let own = attrs.get(ACCUMULATE.name).and_then(Attr::as_type).and_then(Type::format);
            own.map(Storage::from).filter(|_| !format.is_double()).unwrap_or(format)
        };
        let was = accumulated(&body.op(op).attrs, given);
        let now = accumulated(&attrs(body, op, format.word(), how), format);
        let fewer = self.fewer(op, how.map_or(SumMethod::Naive, |how| how.method));
        let returned = self.facts.errors.results();
        let of = |(n, parts): (usize, &Parts)| {
            let power = parts.criterion.power();
            let [all, last, one] = parts.errors(op);
            let inside = if was == given { all } else { (all - last).max(0.0) };
            let unit = last * coarser(given, format, power);
            let own = inside * coarser(was, now, power) * fewer.powi(power)
                + if now == format { 0.0 } else { unit };
            let most = parts.reach(op);
            // Double words are made of other ops, of which no table knows.
            let runtime = self.facts.runtime.filter(|_| !format.is_double());
            let known = roundings(body, op, format.word(), most, runtime);
            // What is exact in one format is so in another.
            let known = if all > 0.0 { underflowing(known, format) } else { known };
            let own = least(&known, [own, unit, one], power);
            let operands = body.operands(op).iter().filter(|v| {
                let rounds = body.ty(**v).format().is_some_and(|own| !format.holds(own.into()));
                rounds && self.node_of(**v, before).is_none()
            });
            let operands = operands.map(|v| self.converted(parts, op, *v, format));
            let mut sum = own + operands.sum::<f64>();
            if returned.get(n) == Some(&value) && !given.holds(format) {
                sum += parts.rounded(given.half_ulp(reach(&self.facts.errors.range(value).exact)));
            }
            parts.of(sum, allowed.get(n).copied().unwrap_or(f64::INFINITY))
        };
        worst(parts.iter().enumerate().map(of))
    }

    /// By how many times a method adds less than a naive sum does, where each adds as much as it may.
    fn fewer(&self, op: Op, method: SumMethod) -> f64 {
        if method == SumMethod::Naive {
            return 1.0;
        }
        let terms = (self.additions(op) / elements(self.body.ty(self.body.result(op, 0))).max(1.0)).max(2.0);
        let of = |method| Summation { format: Format::F32, method, terms }.relative();
        (of(method) / of(SumMethod::Naive)).min(1.0)
    }

    /// The node that makes a value.
    fn node_of(&self, v: Value, before: &Nodes) -> Option<usize> {
        before.of.get(&self.body.defining_op(v)?).copied()
    }

    /// The figures of an op in a format.
    fn figures(&self, op: Op, storage: Storage, how: Option<Accumulation>) -> Option<Figures> {
        let (body, format) = (self.body, storage.word());
        let operands = body.operands(op);
        let ranges: SmallVec<[Range; 4]> =
            operands.iter().map(|&v| Range::both(self.facts.errors.range(v).exact)).collect();
        let alias: SmallVec<[usize; 4]> =
            operands.iter().map(|v| operands.iter().position(|w| w == v).unwrap_or(0)).collect();
        let types = types(body, op, format);
        let attrs = attrs(body, op, format, how);
        let result = with(body.ty(body.result(op, 0)), format);
        let s = Signature { def: body.op(op).def?, operands: &types, attrs: &attrs };
        let mut figures = transfer_aliased(&s, &ranges, &alias, &[result]).into_iter().next()?;
        figures.delta *= f64::from(storage.precision() - format.precision()).exp2().recip();
        Some(figures)
    }
}

/// The greatest; what is no number is unbounded.
pub(super) fn worst(parts: impl Iterator<Item = f64>) -> f64 {
    parts.fold(0.0, |worst: f64, part| if part.is_nan() { f64::INFINITY } else { worst.max(part) })
}

/// Roundings, where half the least number of the format is added to each: numbers that are normal in the given format may be subnormal in
/// this one.
fn underflowing(mut known: Alternatives, format: Storage) -> Alternatives {
    known.iter_mut().for_each(|own| own.beside = add(own.beside, format.word().min_subnormal() / 2.0));
    known
}

/// By what a rounding becomes larger, or the square of it, in another format.
fn coarser(own: Storage, to: Storage, power: i32) -> f64 {
    f64::from((own.precision() as i32 - to.precision() as i32) * power).exp2()
}

/// Bits that the rounding of a value alone needs for what is allowed; nothing where nothing is asked.
fn demanded_bits(facts: &Facts, (value, given): (Value, Storage), allowed: Option<&[f64]>) -> Option<f64> {
    let allowed = allowed?;
    let most = match &facts.parts {
        Some(parts) => {
            let own = parts.iter().zip(allowed).map(|(of, &allowed)| {
                of.of(of.rounding(value)[0], allowed).powf(1.0 / f64::from(of.criterion.power()))
            });
            own.fold(0.0, f64::max) * f64::from(given.precision()).exp2()
        }
        None => {
            let onward = facts.errors.amplification(value).zip(allowed);
            onward
                .map(|(to, allowed)| to.lipschitz * reach(&facts.errors.range(value).exact) / allowed)
                .fold(0.0, f64::max)
        }
    };
    Some(most.log2().ceil())
}

/// The format of an op's result, if it has one result of a format.
fn own_format(body: &Body, op: Op) -> Option<Format> {
    (body.num_results(op) == 1).then(|| body.ty(body.result(op, 0)).format()).flatten()
}

/// Whether an op may be computed in another format at all.
fn is_open(body: &Body, op: Op, fixed: &FxHashSet<Op>) -> bool {
    let pure = body.op(op).def.is_some_and(|def| def.traits.pure && !def.traits.constant);
    let of = body.ty(body.result(op, 0)).format().is_some_and(|f| f.width() >= 16 && f != Format::Tf32);
    // Quantisation is a function of its own.
    let quantised = conversion(body, op)
        .is_some_and(|(from, to)| [body.ty(from).format(), to].into_iter().flatten().any(|f| f.width() < 16));
    pure && of && !quantised && body.regions(op).is_empty() && !fixed.contains(&op)
}

/// Whether an op makes a result of a format of operands of the format.
pub fn takes(body: &Body, op: Op, format: Format) -> bool {
    if conversion(body, op).is_some() {
        return true;
    }
    let (operands, attrs) = (types(body, op, format), attrs(body, op, format, None));
    let result = with(body.ty(body.result(op, 0)), format).elem();
    body.op(op).def.is_some_and(|def| {
        let s = Signature { def, operands: &operands, attrs: &attrs };
        s.infer().is_ok_and(|found| found.len() == 1 && found[0].elem() == result)
    })
}

/// A type with elements of a format, if its own are of one.
pub fn with(ty: Type, format: Format) -> Type {
    if ty.format().is_some() { ty.with_elem(DType::Float(format)) } else { ty }
}

/// The types of an op's operands in a format.
fn types(body: &Body, op: Op, format: Format) -> SmallVec<[Type; 4]> {
    body.operand_types(op).into_iter().map(|ty| with(ty, format)).collect()
}

/// The attributes of an op in a format: it accumulates as is said, and else in f32 at least, and in no less than the format.
pub fn attrs(body: &Body, op: Op, format: Format, how: Option<Accumulation>) -> AttrDict {
    let mut attrs = attributes(body, op);
    if matches!(conversion(body, op), Some((_, Some(_)))) {
        attrs.set("to", Attr::Type(Type::scalar(DType::Float(format))));
    }
    if let Some(how) = how {
        how.give(&mut attrs, format);
        return attrs;
    }
    let accumulates = body.op(op).def.is_some_and(|def| def.attribute(ACCUMULATE.name).is_some());
    if accumulates {
        let own = attrs.get(ACCUMULATE.name).and_then(Attr::as_type).and_then(Type::format);
        let least = if format.precision() < Format::F32.precision() { Some(Format::F32) } else { None };
        match own
            .filter(|own| own.precision() > format.precision())
            .into_iter()
            .chain(least)
            .max_by_key(|f| f.precision())
        {
            Some(wide) => attrs.set(ACCUMULATE.name, Attr::Type(Type::scalar(DType::Float(wide)))),
            None => drop(attrs.remove(ACCUMULATE.name)),
        }
    }
    attrs
}

/// How many elements a value has; extents that are not known count as one.
pub fn elements(ty: Type) -> f64 {
    ty.shape().unwrap_or_default().iter().map(|d| d.known().unwrap_or(1) as f64).product()
}
