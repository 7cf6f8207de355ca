//! Cuts a body into regions that a search can handle: runs of ops, so that its cost grows with their number alone.
//!
//! Where the ops of a body repeat, as the layers of a model do, the cuts follow the period, and regions that are alike
//! form one group: it is searched once, on ranges that hold for all of its members.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use ngc_dialects::facts::{Pointwise, Signs};
use ngc_ir::pass::Function;
use ngc_ir::structure;
use ngc_ir::{Attr, AttrDict, Body, Ident, Op, Type, Value};
use ngc_numerics::Interval;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet, FxHasher};
use smallvec::SmallVec;

use crate::analysis::range::Ranges;
use crate::transform::fold_constants::fixed;

/// A body cut into regions.
pub struct Cut {
    /// Ops that a search may replace, in order; ops with effects, regions or several results are in none.
    pub regions: Vec<Vec<Op>>,
    /// Regions that are alike, by their numbers, in order.
    pub groups: Vec<Group>,
    /// Uses of every value, by its index.
    pub uses: Vec<u32>,
    /// Region of every value, by its index; `u32::MAX` for none.
    home: Vec<u32>,
    /// Place in the block of every value, by its index; 0 for arguments.
    places: Vec<usize>,
    /// Values used outside of their region, by their index.
    outside: Vec<bool>,
    /// Ops on the longest way from an argument or a constant, by value; and the most of all.
    heights: Vec<u32>,
    highest: u32,
    /// Values that depend on no argument, by their index.
    fixed: Vec<bool>,
}

/// Regions that differ in nothing but their ranges and their constants of several values.
pub struct Group {
    /// Numbers of the regions; a search looks at the first.
    pub members: Vec<usize>,
    /// The values of each member, ops and operands from elsewhere, in corresponding order.
    values: Vec<Vec<Value>>,
    /// Places of the values of the first member.
    index: FxHashMap<Value, usize>,
}

impl Group {
    /// Encloses a value of the first member, and those that correspond to it.
    pub fn exact(&self, value: Value, ranges: &Ranges) -> Interval {
        match self.index.get(&value) {
            Some(&n) => {
                let all = self.values.iter().map(|values| ranges.of(values[n]).exact);
                all.reduce(|a, b| a.hull(b)).unwrap_or(ranges.of(value).exact)
            }
            None => ranges.of(value).exact,
        }
    }

    /// Where a value of the first member lies over the reals, or one that corresponds to it.
    pub fn signs(&self, value: Value, ranges: &Ranges) -> Signs {
        match self.index.get(&value) {
            Some(&n) => self.values.iter().map(|values| ranges.signs(values[n])).fold(Signs::NONE, Signs::or),
            None => ranges.signs(value),
        }
    }

    /// Whether something holds of a value of the first member, and of those that correspond to it.
    pub fn all(&self, value: Value, holds: impl Fn(Value) -> bool) -> bool {
        match self.index.get(&value) {
            Some(&n) => self.values.iter().all(|values| holds(values[n])),
            None => holds(value),
        }
    }

    /// The value of a member, by its place in the group, that corresponds to one of the first.
    pub fn corresponding(&self, member: usize, value: Value) -> Value {
        self.index.get(&value).map_or(value, |&n| self.values[member][n])
    }
}

/// Ops that ask whether a value is a number, where it may be none, and those that it comes from. They stay as they are: rules
/// hold where all terms have values, and such a function has one where a term of it has none.
pub fn observed(body: &Body, ranges: &Ranges) -> FxHashSet<Op> {
    let may_be_nan = |v: &Value| ranges.of(*v).exact.may_be_nan;
    let asks = |op: &Op| {
        let operands = body.operands(*op);
        match body.with_signature(*op, Pointwise::of).flatten() {
            Some(Pointwise::Function(structure::Function::Classify(_))) => true,
            Some(Pointwise::Function(structure::Function::Compare(_))) => operands.first() == operands.get(1),
            _ => false,
        }
    };
    let mut stack: Vec<Op> = body.walk().into_iter().filter(asks).collect();
    stack.retain(|&op| body.operands(op).iter().any(may_be_nan));
    let mut found: FxHashSet<Op> = stack.iter().copied().collect();
    while let Some(op) = stack.pop() {
        let from = body.operands(op).iter().filter(|v| may_be_nan(v)).filter_map(|&v| body.defining_op(v));
        stack.extend(from.filter(|&op| found.insert(op)));
    }
    found
}

/// The longest period that is looked for, in ops.
const LONGEST: usize = 512;

impl Cut {
    /// Cuts the entry block into runs of about `size` ops; `shifted` by half a run, so that what one cut tears apart another
    /// does not. The ops that stay as they are belong to none.
    pub fn new(
        function: &Function,
        ranges: &Ranges,
        stays: &FxHashSet<Op>,
        size: usize,
        shifted: bool,
    ) -> Cut {
        let body = &function.body;
        let count = body.num_values();
        let mut cut = Cut {
            regions: Vec::new(),
            groups: Vec::new(),
            uses: vec![0; count],
            home: vec![u32::MAX; count],
            places: vec![0; count],
            outside: vec![false; count],
            heights: vec![0; count],
            highest: 1,
            fixed: fixed(body),
        };
        let ops: Vec<Op> = body.entry().map(|b| body.ops(b).collect()).unwrap_or_default();
        let mut eligible = Vec::new();
        for (place, &op) in ops.iter().enumerate() {
            let constant = body.op(op).def.is_some_and(|d| d.traits.constant);
            let below = body.operands(op).iter().map(|v| cut.heights[v.index()]).max().unwrap_or(0);
            let height = if constant { 0 } else { below.saturating_add(1) };
            cut.highest = cut.highest.max(height);
            for v in body.results(op) {
                cut.places[v.index()] = place + 1;
                cut.heights[v.index()] = height;
            }
            let pure = body.op(op).def.is_some_and(|d| d.traits.pure);
            if body.num_results(op) == 1 && pure && !stays.contains(&op) {
                eligible.push(op);
            }
        }
        cut.regions = runs(body, &eligible, size.max(2), shifted);
        for (number, region) in cut.regions.iter().enumerate() {
            for &op in region {
                cut.home[body.result(op, 0).index()] = number as u32;
            }
        }
        for op in body.walk() {
            let own = (body.num_results(op) == 1).then(|| cut.home[body.result(op, 0).index()]);
            for v in body.operands(op) {
                cut.uses[v.index()] += 1;
                cut.outside[v.index()] |= own.is_none_or(|own| own == u32::MAX || own != cut.home[v.index()]);
            }
        }
        cut.groups = cut.alike(body, ranges);
        cut
    }

    /// Whether the value is used beyond its region.
    pub fn is_output(&self, value: Value) -> bool {
        self.outside[value.index()]
    }

    /// Whether the value depends on no argument.
    pub fn is_fixed(&self, value: Value) -> bool {
        self.fixed[value.index()]
    }

    /// Place of the op that defines the value; 0 for arguments.
    pub fn place(&self, value: Value) -> usize {
        self.places[value.index()]
    }

    /// How far the value lies from the arguments, in parts of the longest way to a result.
    pub fn depth(&self, value: Value) -> f64 {
        f64::from(self.heights[value.index()]) / f64::from(self.highest)
    }

    /// The part of the longest way that one op is.
    pub fn step(&self) -> f64 {
        1.0 / f64::from(self.highest)
    }

    fn alike(&self, body: &Body, ranges: &Ranges) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        let mut known: HashMap<Vec<Item>, usize, FxBuildHasher> = HashMap::default();
        for (number, region) in self.regions.iter().enumerate() {
            let (items, values) = self.items(body, region, ranges);
            match known.get(&items) {
                Some(&group) => {
                    groups[group].members.push(number);
                    groups[group].values.push(values);
                }
                None => {
                    known.insert(items, groups.len());
                    let index = values.iter().enumerate().map(|(n, &v)| (v, n)).collect();
                    groups.push(Group { members: vec![number], values: vec![values], index });
                }
            }
        }
        groups
    }

    fn items(&self, body: &Body, region: &[Op], ranges: &Ranges) -> (Vec<Item>, Vec<Value>) {
        let mut items = Vec::with_capacity(region.len());
        let mut values: Vec<Value> = Vec::new();
        let mut places: FxHashMap<Value, u32> = FxHashMap::default();
        for &op in region {
            let mut operands = SmallVec::new();
            for &v in body.operands(op) {
                let place = *places.entry(v).or_insert_with(|| {
                    let kind = if ranges.is_unknown(body, v) { "unknown" } else { "outside" };
                    items.push(Item { name: kind.into(), ty: body.ty(v), ..Item::default() });
                    values.push(v);
                    values.len() as u32 - 1
                });
                operands.push(place);
            }
            let (data, value) = (body.op(op), body.result(op, 0));
            items.push(Item {
                name: data.name,
                attrs: if is_tensor(&data.attrs) { AttrDict::EMPTY } else { data.attrs.clone() },
                operands,
                ty: body.ty(value),
                output: self.outside[value.index()],
            });
            places.insert(value, values.len() as u32);
            values.push(value);
        }
        (items, values)
    }
}

/// An op of a region, or a value from outside.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Item {
    name: Ident,
    attrs: AttrDict,
    operands: SmallVec<[u32; 4]>,
    ty: Type,
    output: bool,
}

impl Default for Item {
    fn default() -> Item {
        Item {
            name: "".into(),
            attrs: AttrDict::EMPTY,
            operands: SmallVec::new(),
            ty: Type::int(64),
            output: false,
        }
    }
}

/// Whether it is a constant of several values.
fn is_tensor(attrs: &AttrDict) -> bool {
    match attrs.get("value") {
        Some(Attr::Dense(d)) => !d.splat && d.bytes.len() > 64,
        Some(Attr::Resource(..)) => true,
        _ => false,
    }
}

/// Runs of about `size` ops; where ops repeat, a whole number of periods.
fn runs(body: &Body, ops: &[Op], size: usize, shifted: bool) -> Vec<Vec<Op>> {
    let mut out: Vec<Vec<Op>> = Vec::new();
    if ops.len() <= size {
        out.extend((!ops.is_empty()).then(|| ops.to_vec()));
        return out;
    }
    let marks: Vec<u64> = ops.iter().map(|&op| mark(body, op)).collect();
    let mut from = 0;
    let cut = |out: &mut Vec<Vec<Op>>, from: usize, to: usize, size: usize| {
        out.extend(ops[from..to].chunks(size).map(<[Op]>::to_vec));
    };
    // A shifted cut begins with half a run.
    let shift = |length: usize| if shifted { length / 2 } else { 0 };
    while from < ops.len() {
        // What repeats in less than one run gains nothing.
        let found = repetition(&marks[from..]).filter(|(.., length)| *length > size);
        let Some((start, period, length)) = found else { break };
        let (start, end) = (from + start, from + start + length);
        let run = period * (size / period).max(1);
        let run = if period > 4 * size { size } else { run };
        let start = (start + shift(run)).min(end);
        cut(&mut out, from, start, size);
        let whole = start + (end - start) / run * run;
        cut(&mut out, start, whole, run);
        from = whole;
        if whole == start {
            cut(&mut out, start, end, size);
            from = end;
        }
    }
    if from < ops.len() {
        let start = if out.is_empty() { (from + shift(size)).min(ops.len()) } else { from };
        cut(&mut out, from, start, size);
        cut(&mut out, start, ops.len(), size);
    }
    out
}

/// What an op looks like beside its operands, and how far behind they are.
fn mark(body: &Body, op: Op) -> u64 {
    let mut state = FxHasher::default();
    let data = body.op(op);
    data.name.as_str().hash(&mut state);
    body.ty(body.result(op, 0)).to_string().hash(&mut state);
    if !is_tensor(&data.attrs) {
        format!("{:?}", data.attrs).hash(&mut state);
    }
    state.finish()
}

/// What a body looks like, whatever its values are called; constants of several values all look alike.
pub fn likeness(body: &Body) -> u64 {
    let mut state = FxHasher::default();
    let mut places: FxHashMap<Value, usize> = FxHashMap::default();
    for op in body.walk() {
        body.name(op).hash(&mut state);
        if body.num_results(op) == 1 {
            mark(body, op).hash(&mut state);
        }
        for v in body.operands(op).iter().copied().chain(body.results(op)) {
            let next = places.len();
            places.entry(v).or_insert(next).hash(&mut state);
        }
    }
    state.finish()
}

/// The longest stretch that repeats with a period, at least twice: its start, the period, its length.
fn repetition(marks: &[u64]) -> Option<(usize, usize, usize)> {
    let mut best: Option<(usize, usize, usize)> = None;
    for period in 2..=LONGEST.min(marks.len() / 2) {
        let mut run = 0;
        for i in 0..marks.len() - period {
            run = if marks[i] == marks[i + period] { run + 1 } else { 0 };
            let length = run + period;
            if run >= period && best.is_none_or(|(.., longest)| length > longest) {
                best = Some((i + 1 - run, period, length));
            }
        }
    }
    best
}
