//! What a law or a chart does to its own left side: both sides written as ops and evaluated at the points at which the search
//! judges, always the same ones.

use ngc_dialects::facts::Fact;
use ngc_ir::structure::Size;
use ngc_ir::{Body, Builder, Context, Loc, Resources, Type, Value};
use ngc_numerics::{DType, Format, Interval};
use ngc_reals::charts::{self, Chart};
use ngc_reals::laws::Law;
use ngc_reals::laws::build::{Bindings, Build};
use ngc_reals::laws::text::{self, Text};
use ngc_reals::store::Leaf as StoreLeaf;
use ngc_reals::write::{Values, Writer};
use ngc_reals::{Facts, Form, Id, Node, Store, Use};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::stabilize::Equalities;
use crate::stabilize::judge::Judge;
use crate::stabilize::window::{Leaf, Window};
use crate::stabilize::{ladder, numbers};

/// The format of the examples.
pub const FORMAT: Format = Format::F32;

/// The extent of an index.
const EXTENT: usize = 3;

/// A value that is lost counts as so many bits.
const LOST: f64 = 64.0;

/// Magnitudes between which numbers are easily read; others count as so many bits less.
const READABLE: (f64, f64, f64) = (1e-6, 1e6, 20.0);

/// Both sides at a point.
#[derive(Clone, Debug)]
pub struct Example {
    /// The elements of each variable.
    pub inputs: Vec<(String, Vec<f64>)>,
    /// The exact value, to the nearest `f64`.
    pub exact: f64,
    /// What the left and the right side compute.
    pub computed: [f64; 2],
    /// The relative errors of both; infinite where a value is lost.
    pub errors: [f64; 2],
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Examples {
    /// The left side as a term.
    pub before: String,
    /// The right side.
    pub after: String,
    /// The right side is better.
    pub better: Option<Example>,
    /// It is not.
    pub not: Option<Example>,
    /// Bits gained where it is better.
    gain: f64,
}

/// Examples of a law; nothing where a side cannot be written as ops.
pub fn of_law(context: &Context, equalities: Equalities<'_>, law: &Law) -> Option<Examples> {
    let mut stage = Stage::new(&law.text);
    let left = stage.term(&law.text.left)?;
    let right = stage.term(&law.text.right)?;
    stage.examples(context, equalities, &law.text, &left, &right)
}

/// Examples of a chart: of the terms that it gives for its own example that which gains most.
pub fn of_chart(context: &Context, equalities: Equalities<'_>, chart: Chart) -> Option<Examples> {
    let text = chart.text()?;
    let mut stage = Stage::new(&text);
    let left = stage.term(&text.left)?;
    let given = charts::given(&mut stage.store, &mut Facts::default(), left.id);
    let own = given.into_iter().filter(|(of, term)| *of == chart && term.id != left.id);
    let found = own.filter_map(|(_, right)| stage.examples(context, equalities, &text, &left, &right));
    found.reduce(|best, other| if other.gain > best.gain { other } else { best })
}

/// An error, where it is more than what exact values are known to.
fn certain(error: f64) -> f64 {
    if error < 1e-11 { 0.0 } else { error }
}

/// Variables as arguments of a body, and as leaves of a store.
struct Stage {
    store: Store,
    bindings: Bindings,
    body: Body,
    arguments: Vec<Value>,
    leaves: FxHashMap<u32, Value>,
}

impl Stage {
    fn new(text: &Text) -> Stage {
        let (mut store, mut body) = (Store::new(), Body::new());
        let root = body.root();
        let block = body.add_block(root);
        let over = [Size::known(EXTENT as u64)];
        let (mut values, mut arguments, mut leaves) = (Vec::new(), Vec::new(), FxHashMap::default());
        for (n, variable) in text.variables.iter().enumerate() {
            let (extents, ty) = match variable.indexed {
                true => (&over[..], Type::tensor([EXTENT.into()], DType::Float(FORMAT))),
                false => (&[][..], Type::scalar(DType::Float(FORMAT))),
            };
            let of = store.leaf_use(StoreLeaf::Value(n as u32), extents);
            let argument = body.add_argument(block, ty, Loc::Unknown);
            if let Node::Leaf(leaf) = store.node(of.id) {
                leaves.insert(*leaf, argument);
            }
            values.push(Some(of));
            arguments.push(argument);
        }
        let bindings = Bindings { values, over: Some(over.to_vec()) };
        Stage { store, bindings, body, arguments, leaves }
    }

    fn term(&mut self, of: &text::Expr) -> Option<Use> {
        let facts = &mut Facts::default();
        Build { store: &mut self.store, facts, bindings: &self.bindings, space: Vec::new() }.expr(of)
    }

    fn write(&mut self, context: &Context, of: &Use, forms: &dyn Fn(Id) -> Form) -> Option<Value> {
        let block = self.body.entry()?;
        let builder = Builder::at_end(context, &mut self.body, block, Loc::Unknown);
        let values = Values::default();
        Writer::new(&self.store, builder, FORMAT, &self.leaves, forms, &values).value(of, &[]).ok()
    }

    /// An op for each part of a term that is one.
    fn ops(&mut self, equalities: Equalities<'_>, of: &Use) -> FxHashMap<Id, Form> {
        let (mut found, mut seen, mut stack) = (FxHashMap::default(), FxHashSet::default(), vec![of.id]);
        while let Some(id) = stack.pop() {
            if !seen.insert(id) {
                continue;
            }
            let forms = equalities.definitions.forms(&mut self.store, id, &|_| true);
            let op = forms.into_iter().find_map(|form| match form {
                Form::Op(op) if op.factor == 1 => Some(op),
                _ => None,
            });
            match op {
                Some(op) => {
                    stack.extend(op.operands.iter().map(|x| x.id));
                    found.insert(id, Form::Op(op));
                }
                None => stack.extend(self.store.node(id).children().iter().map(|x| x.id)),
            }
        }
        found
    }

    fn examples(
        &mut self,
        context: &Context,
        equalities: Equalities<'_>,
        text: &Text,
        left: &Use,
        right: &Use,
    ) -> Option<Examples> {
        let ops = self.ops(equalities, right);
        let before = self.write(context, left, &|_| Form::Plain)?;
        let with_ops = self.write(context, right, &|id| ops.get(&id).cloned().unwrap_or(Form::Plain));
        let after = with_ops.or_else(|| self.write(context, right, &|_| Form::Plain))?;
        let range = Interval::new(-FORMAT.max_finite(), FORMAT.max_finite());
        let leaf = |&value: &Value| Leaf {
            value,
            range,
            alike: range,
            stated: false,
            fact: Fact::UNKNOWN,
            dims: Vec::new(),
        };
        let leaves = self.arguments.iter().map(leaf).collect();
        let (origin, formats) = (FxHashMap::default(), FxHashMap::default());
        let window = Window { body: self.body.clone(), root: before, leaves, origin, formats, apart: false };
        let resources = Resources::default();
        let near = numbers::of_term(&self.store, left.id);
        let mut judge = Judge::new(context, &resources, &window, before, (ladder::Use::Check, &near, &[]))?;
        let body = &window.body;
        let exact = judge.exact(body, before, &[])?;
        let (left_values, right_values) =
            (judge.computed(body, before, &[])?, judge.computed(body, after, &[])?);
        let mut inputs: Vec<(String, Vec<Vec<f64>>)> = Vec::new();
        for (variable, &value) in text.variables.iter().zip(&self.arguments) {
            let places: Vec<Vec<i64>> = if variable.indexed {
                (0..EXTENT as i64).map(|n| vec![n]).collect()
            } else {
                vec![Vec::new()]
            };
            let columns = places.iter().map(|place| judge.computed(body, value, place));
            inputs.push((variable.name.clone(), columns.collect::<Option<_>>()?));
        }
        let name = |leaf: u32| {
            let n = self.leaves.get(&leaf).and_then(|v| self.arguments.iter().position(|a| a == v));
            n.map_or_else(|| format!("x{leaf}"), |n| text.variables[n].name.clone())
        };
        let mut found = Examples {
            before: self.store.show_named(left, &name),
            after: self.store.show_named(right, &name),
            ..Examples::default()
        };
        let (mut best, mut worst) = (1.0, f64::INFINITY);
        for (n, exact) in exact.iter().enumerate() {
            let Some(exact) = exact.filter(|x| x.abs() <= FORMAT.max_finite()) else { continue };
            let computed = [left_values[n], right_values[n]];
            let errors = computed.map(|x| match x.is_finite() {
                true => certain((x - exact).abs() / exact.abs().max(FORMAT.min_normal())),
                false => f64::INFINITY,
            });
            let own: Vec<(String, Vec<f64>)> = inputs
                .iter()
                .map(|(name, columns)| (name.clone(), columns.iter().map(|column| column[n]).collect()))
                .collect();
            let (low, high, penalty) = READABLE;
            let readable = own.iter().flat_map(|(_, x)| x).all(|x| (low..high).contains(&x.abs()));
            let bits = |error: f64| if error.is_finite() { error.max(1e-9).log2() } else { LOST };
            let gain = bits(errors[0]) - bits(errors[1]);
            let score = gain - if readable { 0.0 } else { penalty };
            let example = || Some(Example { inputs: own.clone(), exact, computed, errors });
            if gain > 1.0 && (found.better.is_none() || score > best) {
                (found.better, best) = (example(), score);
                found.gain = found.gain.max(gain);
            }
            // Where a condition does not hold the right side is not used.
            let alike = errors.iter().all(|e| *e < 1e-3);
            let cost = -gain + if readable { 0.0 } else { penalty };
            if gain <= 0.0 && alike && (found.not.is_none() || cost < worst) {
                (found.not, worst) = (example(), cost);
            }
        }
        Some(found)
    }
}
