//! Checks rules against the declared ops and prepares them for matching: commuted spellings, both ways, an index.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

pub use ngc_ir::nearest::nearest;
use ngc_ir::op_def::Arity;
use ngc_ir::{Context, Diagnostic, Diagnostics, Ident};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};

use super::conditions::FUNCTIONS;
use super::rule::{Expr, Infix, Label, OpPattern, Pattern, Rule, Side};

/// The category of rules that add spellings while matching and are never applied by themselves.
pub const NORMAL_FORM: &str = "normal-form";

/// The set of rules that serve where a target has no op for what they spell out.
pub const SPELLED_OUT: &str = "spelled-out";

/// The most commuted spellings of one rule.
const MAX_SPELLINGS: usize = 256;

/// A rule in one direction, ready to be matched.
#[derive(Clone, Debug)]
pub struct CompiledRule {
    /// The rule as written, its sides exchanged for the way back of a `<=>`. Shared by the sets that it is in.
    pub rule: Arc<Rule>,
    /// The left side in all commuted spellings, as written first.
    pub spellings: Arc<[OpPattern]>,
    /// Its place in its set.
    pub id: usize,
    /// Where one side may be undefined and the other not, as far as the checker saw; nothing before it saw the rule.
    pub one_sided: Option<OneSided>,
}

/// Where one side of a rule may be undefined and the other not; the more is greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum OneSided {
    /// Nowhere.
    Nowhere,
    /// Where a variable is infinite.
    Infinite,
    /// Where all are finite, too.
    Somewhere,
}

impl OneSided {
    /// The rules of a list: the name of one a line, and whether it is `infinite` or `somewhere`.
    pub(super) fn listed(text: &str) -> impl Iterator<Item = (&str, OneSided)> {
        text.lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(name, at)| (name, if at == "infinite" { OneSided::Infinite } else { OneSided::Somewhere }))
    }
}

impl CompiledRule {
    /// Whether the rule only adds spellings while matching.
    pub fn is_view(&self) -> bool {
        self.rule.category == NORMAL_FORM
    }
}

/// Rules indexed by what they look for.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    rules: Vec<CompiledRule>,
    /// Rules to try at an op of a name, by itself or seen in a normal form; the largest pattern first.
    candidates: HashMap<Ident, Vec<usize>, FxBuildHasher>,
    /// Pairs of an op and one that it may be seen as, however many views it takes.
    seen_as: FxHashSet<(Ident, Ident)>,
    /// Normal-form rules by the op at the root of their right side.
    views: HashMap<Ident, Vec<usize>, FxBuildHasher>,
}

impl RuleSet {
    /// Checks and prepares rules.
    ///
    /// # Errors
    /// Every error found, located: unknown ops, attributes and functions, wrong numbers of operands, variables of
    /// the right side that the left does not bind, names used twice.
    pub fn compile(context: &Context, rules: Vec<Rule>) -> Result<RuleSet, Diagnostics> {
        let mut set = RuleSet::default();
        let mut errors = Diagnostics::default();
        let mut names: HashMap<String, ngc_ir::Loc> = HashMap::new();
        let both = |rule: Rule| {
            let (name, loc) = (rule.name.clone(), rule.loc.clone());
            let back = rule.both_ways.then(|| {
                let mut back = rule.clone();
                std::mem::swap(&mut back.left, &mut back.right);
                back
            });
            let compiled = std::iter::once(rule).chain(back).map(|rule| compile(context, rule));
            (name, loc, compiled.collect::<Vec<_>>())
        };
        let compiled = super::each(rules, both);
        for (name, loc, compiled) in compiled {
            if let Some(first) = names.insert(name.clone(), loc.clone()) {
                let message = format!("rule '{name}' is defined twice");
                errors.push(Diagnostic::error(loc, message).note(first, "it is defined here first"));
            }
            for found in compiled {
                match found {
                    Ok(compiled) => set.rules.push(compiled),
                    Err(found) => errors.0.extend(found.0),
                }
            }
        }
        set.index();
        if errors.has_errors() { Err(errors) } else { Ok(set) }
    }

    /// Notes what is known of rules by their names.
    pub(super) fn note_domains(&mut self, known: &FxHashMap<String, OneSided>) {
        for c in &mut self.rules {
            c.one_sided = known.get(&c.rule.name).copied().or(c.one_sided);
        }
    }

    fn index(&mut self) {
        self.views.clear();
        self.candidates.clear();
        self.rules.iter_mut().enumerate().for_each(|(i, c)| c.id = i);
        for (i, c) in self.rules.iter().enumerate().filter(|(_, c)| c.is_view()) {
            if let Some(right) = c.rule.right.root() {
                self.views.entry(right.op).or_default().push(i);
            }
        }
        // The ops that may be seen as one, itself first.
        let seen_as = |wanted: Ident| {
            let mut names = vec![wanted];
            let mut next = 0;
            while let Some(name) = names.get(next) {
                for &view in self.views.get(name).into_iter().flatten() {
                    let from = self.rules[view].spellings[0].op;
                    if !names.contains(&from) {
                        names.push(from);
                    }
                }
                next += 1;
            }
            names
        };
        let seen: FxHashMap<Ident, Vec<Ident>> = self.views.keys().map(|&op| (op, seen_as(op))).collect();
        self.seen_as =
            seen.iter().flat_map(|(&wanted, names)| names.iter().map(move |&n| (n, wanted))).collect();
        for (i, c) in self.rules.iter().enumerate().filter(|(_, c)| !c.is_view()) {
            let root = c.spellings[0].op;
            for &name in seen.get(&root).map_or(std::slice::from_ref(&root), Vec::as_slice) {
                self.candidates.entry(name).or_default().push(i);
            }
        }
        for list in self.candidates.values_mut() {
            // The largest pattern says most about what the author meant. The sort is stable: then comes file order.
            list.sort_by_key(|&i| std::cmp::Reverse(self.rules[i].rule.left.size()));
        }
    }

    /// All rules, in the order of their files.
    pub fn rules(&self) -> &[CompiledRule] {
        &self.rules
    }

    /// Rules that may replace an op of this name, largest pattern first.
    pub fn candidates(&self, op: Ident) -> impl Iterator<Item = &CompiledRule> {
        self.candidates.get(&op).into_iter().flatten().map(|&i| &self.rules[i])
    }

    /// Whether an op named `root` is one named `wanted`, or normal-form rules may show it as one.
    pub fn may_be_seen_as(&self, root: Ident, wanted: Ident) -> bool {
        root == wanted || self.seen_as.contains(&(root, wanted))
    }

    /// Normal-form rules that show another op as an op of this name.
    pub fn views_as(&self, op: Ident) -> impl Iterator<Item = &CompiledRule> {
        self.views.get(&op).into_iter().flatten().map(|&i| &self.rules[i])
    }

    /// The categories that [`select`](Self::select) can choose, sorted.
    pub fn categories(&self) -> BTreeSet<&str> {
        let chosen = self.rules.iter().filter(|c| !c.is_view());
        chosen.flat_map(|c| c.rule.sets()).chain(["all"]).collect()
    }

    /// The rules of these categories (`all` is every one); normal forms stay.
    pub fn select(&self, categories: &[&str]) -> RuleSet {
        self.filter(|c| {
            c.is_view() || categories.contains(&"all") || c.rule.sets().any(|set| categories.contains(&set))
        })
    }

    /// Whether a rule spells out what another one that is allowed, of the same left side, has an op for.
    pub fn has_op_for(&self, rule: &CompiledRule, allowed: impl Fn(&CompiledRule) -> bool) -> bool {
        let spelled = |c: &CompiledRule| c.rule.sets().any(|set| set == SPELLED_OUT);
        let alike = |c: &CompiledRule| {
            let (a, b) = (&c.rule.left, &rule.rule.left);
            a.size() == b.size() && a.to_string() == b.to_string()
        };
        spelled(rule) && self.rules.iter().any(|c| !spelled(c) && alike(c) && allowed(c))
    }

    /// The rules that are to stay.
    pub fn filter(&self, keep: impl Fn(&CompiledRule) -> bool) -> RuleSet {
        let rules = self.rules.iter().filter(|c| keep(c)).cloned().collect();
        let mut set = RuleSet { rules, ..RuleSet::default() };
        set.index();
        set
    }
}

fn compile(context: &Context, rule: Rule) -> Result<CompiledRule, Diagnostics> {
    let mut check = Check { context, bound: FxHashSet::default(), errors: Diagnostics::default() };
    check.left(&rule.left);
    if rule.left.root().is_none() {
        check
            .errors
            .error(rule.loc.clone(), "the left side of a rule must be an op, or it would match everything");
    }
    match &rule.right {
        Pattern::Rational(of, _) => check.right(of),
        right => check.right(right),
    }
    if rule.category == NORMAL_FORM && rule.right.root().is_none() {
        check.errors.error(rule.loc.clone(), "the right side of a normal-form rule must be an op");
    }
    if rule.label == Label::Exact && computes(&rule.right) {
        let message = "a rule that computes constants is error-bounded, for the constant is rounded";
        check.errors.error(rule.loc.clone(), message);
    }
    let rounded = rule.left.exact().is_some();
    if rounded && (rule.label != Label::ErrorBounded || !rule.bounds.iter().any(|b| b.of == Side::Difference))
    {
        let message =
            "a rule that recognises rounded constants is error-bounded, and states 'bound difference <= ...'";
        check.errors.error(rule.loc.clone(), message);
    }
    for condition in rule.conditions.iter().chain(&rule.benefits) {
        check.expr(condition);
    }
    for bound in &rule.bounds {
        check.bound(&bound.at_most, &bound.loc);
    }
    if check.errors.has_errors() {
        return Err(check.errors);
    }
    let count = spellings(context, &rule.left);
    if count > MAX_SPELLINGS {
        let message = format!("the left side has {count} commuted spellings, more than {MAX_SPELLINGS}");
        check.errors.error(rule.loc.clone(), message);
        return Err(check.errors);
    }
    let spellings = rule.left.root().into_iter();
    let spellings = spellings.flat_map(|op| (0..count).map(|n| spelling(context, op, n))).collect();
    Ok(CompiledRule { rule: Arc::new(rule), spellings, id: 0, one_sided: None })
}

struct Check<'a> {
    context: &'a Context,
    bound: FxHashSet<Ident>,
    errors: Diagnostics,
}

impl Check<'_> {
    fn op(&mut self, op: &OpPattern) {
        let Some(def) = self.context.op(op.op.as_str()) else {
            let short = op.op.as_str();
            let near = nearest(short, self.context.ops().iter().map(|d| d.name));
            let help = near.map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
            self.errors.error(op.loc.clone(), format!("unknown op '{short}'{help}"));
            return;
        };
        let least = def.operands.iter().filter(|o| o.arity == Arity::One).count();
        let variadic = def.operands.iter().any(|o| o.arity == Arity::Variadic);
        let n = op.args.len();
        if n < least || (n > def.operands.len() && !variadic) {
            let most = if variadic { "or more".into() } else { format!("to {}", def.operands.len()) };
            self.errors.error(
                op.loc.clone(),
                format!("'{}' takes {least} {most} operands, but {n} are given", def.name),
            );
        }
        for (name, _) in &op.attrs {
            if def.attribute(name.as_str()).is_none() {
                let known: Vec<&str> = def.attributes.iter().map(|a| a.name).collect();
                let known = if known.is_empty() { "none".into() } else { known.join(", ") };
                let message = format!("'{}' has no attribute '{name}' (known: {known})", def.name);
                self.errors.error(op.loc.clone(), message);
            }
        }
    }

    fn left(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Var(name, _) | Pattern::Const(name, _) => {
                self.bound.insert(*name);
            }
            Pattern::Number(..) | Pattern::Rounded(..) => {}
            Pattern::Computed(_, loc) => {
                self.errors.error(loc.clone(), "const(...) makes a constant; on the left write ?c : const");
            }
            Pattern::Rational(_, loc) => {
                self.errors.error(loc.clone(), "rational(...) is computed; it stands on the right only");
            }
            Pattern::Op(op) => {
                self.op(op);
                self.bound.extend(op.bind);
                op.args.iter().for_each(|a| self.left(a));
                op.attrs.iter().for_each(|(_, value)| self.attribute_pattern(value, op));
            }
        }
    }

    fn attribute_pattern(&mut self, value: &Expr, op: &OpPattern) {
        match value {
            Expr::Var(name, _) => {
                self.bound.insert(*name);
            }
            Expr::List(items) => items.iter().for_each(|i| self.attribute_pattern(i, op)),
            Expr::Number(_) | Expr::Word(_) | Expr::Neg(_) => {}
            _ => self
                .errors
                .error(op.loc.clone(), format!("'{value}' cannot be matched; use a variable and 'where'")),
        }
    }

    fn right(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Var(name, loc) | Pattern::Const(name, loc) => self.variable(*name, loc),
            Pattern::Number(..) => {}
            Pattern::Rounded(_, _, loc) => {
                self.errors
                    .error(loc.clone(), "rounded(...) recognises a constant; on the right write its term");
            }
            Pattern::Computed(e, _) => self.expr(e),
            Pattern::Rational(_, loc) => {
                self.errors.error(loc.clone(), "rational(...) must be the whole right side");
            }
            Pattern::Op(op) => {
                self.op(op);
                op.args.iter().for_each(|a| self.right(a));
                op.attrs.iter().for_each(|(_, value)| self.expr(value));
            }
        }
    }

    fn variable(&mut self, name: Ident, loc: &ngc_ir::Loc) {
        if !self.bound.contains(&name) {
            self.errors.error(loc.clone(), format!("variable ?{name} is not bound by the left side"));
        }
    }

    /// An expression of one element.
    fn bound(&mut self, e: &Expr, loc: &ngc_ir::Loc) {
        match e {
            Expr::Number(_) => {}
            Expr::Var(name, loc) => self.variable(*name, loc),
            Expr::Word(w) if matches!(w.as_str(), "u" | "left" | "right") => {}
            Expr::Neg(e) => self.bound(e, loc),
            Expr::Binary(Infix::Add | Infix::Sub | Infix::Mul | Infix::Div, a, b) => {
                self.bound(a, loc);
                self.bound(b, loc);
            }
            Expr::Call(name, args, _) if matches!(name.as_str(), "abs" | "sqrt") && args.len() == 1 => {
                self.bound(&args[0], loc);
            }
            Expr::Call(..) => self.expr(e),
            _ => {
                let message = format!("'{e}' is not a number; a bound is made of u, left, right and inputs");
                self.errors.error(loc.clone(), message);
            }
        }
    }

    fn expr(&mut self, e: &Expr) {
        match e {
            Expr::Number(_) | Expr::Word(_) => {}
            Expr::Var(name, loc) => self.variable(*name, loc),
            Expr::List(items) => items.iter().for_each(|i| self.expr(i)),
            Expr::Neg(e) | Expr::Not(e) => self.expr(e),
            Expr::Binary(_, a, b) => {
                self.expr(a);
                self.expr(b);
            }
            Expr::Call(name, args, loc) => {
                match FUNCTIONS.iter().find(|f| f.name == name.as_str()) {
                    None => {
                        let near = nearest(name.as_str(), FUNCTIONS.iter().map(|f| f.name));
                        let help = near.map(|n| format!("; did you mean '{n}'?")).unwrap_or_default();
                        self.errors.error(loc.clone(), format!("unknown function '{name}'{help}"));
                    }
                    Some(f) if f.arity != args.len() => {
                        let message =
                            format!("'{name}' takes {} arguments, but {} are given", f.arity, args.len());
                        self.errors.error(loc.clone(), message);
                    }
                    Some(_) => {}
                }
                args.iter().for_each(|a| self.expr(a));
            }
        }
    }
}

fn computes(pattern: &Pattern) -> bool {
    match pattern {
        // A constant or an attribute taken over as it is.
        Pattern::Computed(Expr::Call(name, ..), _) if name.as_str() == "value" => false,
        Pattern::Computed(Expr::Var(..), _) => false,
        Pattern::Computed(..) => true,
        Pattern::Op(op) => op.args.iter().any(computes),
        _ => false,
    }
}

/// Whether the operands of an op may be exchanged, and are not alike.
fn commutes(context: &Context, op: &OpPattern) -> bool {
    op.args.len() >= 2
        && context.op(op.op.as_str()).is_some_and(|d| d.traits.commutative)
        && !alike(&op.args[0], &op.args[1])
}

/// How many spellings a pattern has with the operands of every commutative op in either order.
fn spellings(context: &Context, pattern: &Pattern) -> usize {
    let Pattern::Op(op) = pattern else { return 1 };
    let counts = op.args.iter().map(|arg| spellings(context, arg));
    counts.fold(1 + usize::from(commutes(context, op)), usize::saturating_mul)
}

/// The spelling of a number below that of all; the first is the pattern as written.
fn spelling(context: &Context, op: &OpPattern, number: usize) -> OpPattern {
    let mut left = number;
    let mut args: Vec<Pattern> = Vec::with_capacity(op.args.len());
    for arg in op.args.iter().rev() {
        args.push(match arg {
            Pattern::Op(inner) => {
                let count = spellings(context, arg);
                let own = left % count;
                left /= count;
                Pattern::Op(spelling(context, inner, own))
            }
            leaf => leaf.clone(),
        });
    }
    args.reverse();
    if left > 0 {
        args.swap(0, 1);
    }
    OpPattern { op: op.op, bind: op.bind, args, attrs: op.attrs.clone(), loc: op.loc.clone() }
}

/// Equality that does not look at locations.
fn alike(a: &Pattern, b: &Pattern) -> bool {
    match (a, b) {
        (Pattern::Var(x, _), Pattern::Var(y, _)) | (Pattern::Const(x, _), Pattern::Const(y, _)) => x == y,
        (Pattern::Number(x, _), Pattern::Number(y, _)) => x == y,
        (Pattern::Rounded(x, ..), Pattern::Rounded(y, ..)) => x == y,
        (Pattern::Op(x), Pattern::Op(y)) => {
            x.op == y.op
                && x.bind == y.bind
                && x.args.len() == y.args.len()
                && x.args.iter().zip(&y.args).all(|(p, q)| alike(p, q))
                && x.attrs.len() == y.attrs.len()
                && x.attrs.iter().zip(&y.attrs).all(|(p, q)| p.0 == q.0 && p.1.to_string() == q.1.to_string())
        }
        _ => false,
    }
}
