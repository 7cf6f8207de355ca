//! General clean-up: passes that simplify without changing any value.

pub mod canonicalize;
pub mod cse;
pub mod dce;
pub(crate) mod dims;
pub mod fold_constants;
pub mod infer_shapes;
pub mod inline;
mod movement;
pub mod symbol_dce;

use ngc_dialects::ng::constant::error;
use ngc_ir::{Attr, Body, Context, Module, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

/// Values that stand for others, while a pass goes over a body from definitions to uses.
struct Replacements(Vec<Value>);

impl Replacements {
    fn new(body: &Body) -> Replacements {
        Replacements((0..body.num_values()).map(Value::from_index).collect())
    }

    /// What stands for `value`.
    fn get(&self, value: Value) -> Value {
        self.0.get(value.index()).copied().unwrap_or(value)
    }

    /// From now on `new` stands for `old`. `new` is itself not replaced.
    fn insert(&mut self, old: Value, new: Value) {
        if old.index() < self.0.len() {
            self.0[old.index()] = new;
        }
    }

    /// Brings the operands of `op` up to date. Whether one changed.
    fn apply(&self, body: &mut Body, op: Op) -> bool {
        let mut changed = false;
        for n in 0..body.operands(op).len() {
            let old = body.operands(op)[n];
            let new = self.get(old);
            if new != old {
                body.set_operand(op, n, new);
                changed = true;
            }
        }
        if body.successors(op).iter().any(|s| s.operands.iter().any(|&v| self.get(v) != v)) {
            let mut successors = body.successors(op).to_vec();
            for value in successors.iter_mut().flat_map(|s| &mut s.operands) {
                *value = self.get(*value);
            }
            body.set_successors(op, successors);
        }
        changed
    }
}

/// The value that stands for the single result of `op` by the laws of its declaration.
fn simplified(body: &Body, op: Op) -> Option<Value> {
    let simplify = body.op(op).def?.simplify?;
    if body.num_results(op) != 1 {
        return None;
    }
    simplify(body, op).filter(|&value| can_replace(body, body.result(op, 0), value))
}

/// Uses stay valid if the types are equal. In code that control never reaches, a value may be made from itself.
fn can_replace(body: &Body, old: Value, new: Value) -> bool {
    old != new && body.ty(old) == body.ty(new)
}

/// Erases ops without effects whose results nobody uses, until none is left. Returns how many went.
pub(crate) fn erase_dead(body: &mut Body) -> usize {
    let ops = ngc_ir::dominance::definition_order(body);
    let mut uses = vec![0u32; body.num_values()];
    for &op in &ops {
        each_use(body, op, |v| uses[v.index()] += 1);
    }
    let mut erased = 0;
    for &op in ops.iter().rev() {
        let pure = body.op(op).def.is_some_and(|d| d.traits.pure && !d.traits.terminator);
        if pure && body.results(op).all(|v| uses[v.index()] == 0) {
            each_use(body, op, |v| uses[v.index()] -= 1);
            body.unlink(op);
            erased += 1;
        }
    }
    erased
}

/// What `canonicalize` and `cse` do, until neither changes anything. Whether one of them did.
pub(crate) fn simplify_body(context: &Context, body: &mut Body) -> bool {
    // Each of them makes the body smaller or moves constants to the right.
    const MOST: usize = 10;
    let mut once = || {
        let canonical = canonicalize::Sweep::run_to_end(context, body, MOST as i64).changed();
        cse::Merged::of(body).changed() || canonical
    };
    (0..MOST).take_while(|_| once()).count() > 0
}

fn each_use(body: &Body, op: Op, mut f: impl FnMut(Value)) {
    body.operands(op).iter().for_each(|&v| f(v));
    body.successors(op).iter().flat_map(|s| &s.operands).for_each(|&v| f(v));
}

/// The calls among the functions of a module.
struct CallGraph {
    /// Functions with a body, callees before callers.
    order: Vec<Op>,
    /// Functions by symbol.
    by_name: FxHashMap<String, Op>,
    /// Functions that call themselves, directly or through others, by the call that closes the circle: caller and
    /// callee.
    back_edges: Vec<(Op, Op)>,
    /// Functions that call themselves, directly or through others.
    recursive: FxHashSet<Op>,
}

impl CallGraph {
    fn new(module: &Module) -> CallGraph {
        let functions = module.functions();
        let mut by_name = FxHashMap::default();
        for op in module.ops() {
            if let Some(name) = module.body.attr(op, "sym_name").and_then(Attr::as_str) {
                by_name.insert(name.to_string(), op);
            }
        }
        let callees: FxHashMap<Op, Vec<Op>> = functions
            .iter()
            .map(|&f| {
                let body = module.body.body(f);
                let calls =
                    body.into_iter().flat_map(|b| b.walk().into_iter().filter_map(|op| callee(b, op)));
                let mut list: Vec<Op> = calls.filter_map(|name| by_name.get(name).copied()).collect();
                list.sort_unstable();
                list.dedup();
                (f, list)
            })
            .collect();
        let (order, back_edges) = post_order(&functions, &callees);
        let reached = |from: Op| {
            let mut found: FxHashSet<Op> = FxHashSet::default();
            let mut stack = vec![from];
            while let Some(next) = stack.pop() {
                stack.extend(callees.get(&next).into_iter().flatten().filter(|&&f| found.insert(f)));
            }
            found
        };
        let circle = |&(_, start): &(Op, Op)| {
            let within = reached(start);
            within.into_iter().filter(move |&f| reached(f).contains(&start))
        };
        let recursive = back_edges.iter().flat_map(circle).collect();
        CallGraph { order, by_name, back_edges, recursive }
    }
}

/// Callees before callers, and the edges that close a circle.
fn post_order(functions: &[Op], callees: &FxHashMap<Op, Vec<Op>>) -> (Vec<Op>, Vec<(Op, Op)>) {
    let none = Vec::new();
    let mut order = Vec::new();
    let mut back_edges = Vec::new();
    // false: on the stack; true: done.
    let mut state: FxHashMap<Op, bool> = FxHashMap::default();
    for &root in functions {
        if state.contains_key(&root) {
            continue;
        }
        state.insert(root, false);
        let mut stack: Vec<(Op, std::slice::Iter<'_, Op>)> =
            vec![(root, callees.get(&root).unwrap_or(&none).iter())];
        while let Some((function, rest)) = stack.last_mut() {
            match rest.next() {
                Some(&callee) => match state.get(&callee) {
                    None if callees.contains_key(&callee) => {
                        state.insert(callee, false);
                        stack.push((callee, callees.get(&callee).unwrap_or(&none).iter()));
                    }
                    Some(false) => back_edges.push((*function, callee)),
                    _ => {}
                },
                None => {
                    order.push(*function);
                    state.insert(*function, true);
                    stack.pop();
                }
            }
        }
    }
    (order, back_edges)
}

/// The symbol that a `func.call` calls.
fn callee(body: &Body, op: Op) -> Option<&str> {
    let call = body.op(op).def?.syntax == ngc_ir::op_def::Syntax::Call;
    if call { body.attr(op, "callee").and_then(Attr::as_symbol) } else { None }
}

/// The attribute of a constant op whose elements are what they stand for.
fn constant(body: &Body, value: Value) -> Option<&Attr> {
    let op = body.defining_op(value)?;
    let exact = body.op(op).def?.traits.constant && error(&body.op(op).attrs) == 0.0;
    if exact { body.attr(op, "value") } else { None }
}

/// The operands that are constants.
fn constants<'a>(body: &'a Body, operands: &[Value]) -> SmallVec<[Option<&'a Attr>; 4]> {
    operands.iter().map(|&v| constant(body, v)).collect()
}
