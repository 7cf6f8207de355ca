//! The error of a graph over one box.
//!
//! For every operation, the difference of its values at computed and at exact arguments is `Σ D_j (x̂_j - x_j)` with `D_j`
//! among its partial derivatives on the segment between them (mean value theorem; for kinks, Clarke's). So the error of
//! the output is exactly `Σ A_i δ_i`: `δ_i` the rounding error of operation `i`, `A_i` the sum over the paths from there
//! to the output of the products of the `D`. All are enclosed over ranges that hold exact and computed values; there is no
//! remainder of second order left over, and nothing that breaks where such a remainder would not be finite.
//!
//! Where a derivative is not bounded on the segment (√ at zero) or does not exist (a jump), the two values lie in the
//! operation's range all the same: its width takes the place of the operation's own error, and the path ends there. That
//! serves overflow too, for ranges hold infinities: 1/(1 + exp(-x)) is fine where the exponential is not.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::binary64::Binary64;
use crate::derivative;
use crate::enclosure::{self, Enclosure};
use crate::expr::{self, Constant, Expr, Prim};
use crate::figures;

use super::Formula;
use super::affine::{Form, magnitude, mignitude};
use super::fact::Fact;
use super::graph::{Node, Precision, RoundedConstant, RoundedGraph};
use super::rounding::{
    Computed, conversion_error, lattice, lattice_of_format, lattice_of_range, rounding_error,
};
use super::search::Inexact;

/// A step of a derivative's formula; operands are places among the graph's values and the steps before.
enum Step {
    Constant(Enclosure<f64>),
    Apply(Prim, [usize; 3]),
    Select(expr::Cmp, [usize; 4]),
}

/// A derivative of a value with respect to one of its operands.
#[derive(Clone, Copy, PartialEq)]
enum Factor {
    Unit(f64),
    Place(usize),
}

struct Edge {
    operand: usize,
    factor: Factor,
}

/// A graph made ready: its derivatives as shared steps.
pub struct Tape<'g> {
    graph: &'g RoundedGraph,
    inexact_inputs: &'g [Inexact],
    constants: Vec<RoundedConstant>,
    /// Whether a value may differ from the exact one.
    inexact: Vec<bool>,
    /// Of every value, the derivatives with respect to the operands that may be inexact.
    edges: Vec<Vec<Edge>>,
    steps: Vec<Step>,
    facts: Vec<Option<Fact>>,
    /// The derivatives of the primitives in use, by themselves: of the arguments, then the value.
    partials: HashMap<Prim, Vec<Formula>>,
}

/// What a box says of the error.
pub struct Outcome {
    /// Not below the absolute error anywhere in the box.
    pub absolute: f64,
    /// Not below the relative error, where the exact value is replaced by the floor when its magnitude is less.
    pub relative: f64,
    /// Contains the output, exact and computed.
    pub range: Enclosure<f64>,
    /// How much each side of the box contributes to the overestimate, in no unit.
    pub influence: Vec<f64>,
}

impl<'g> Tape<'g> {
    pub fn new(graph: &'g RoundedGraph, inexact_inputs: &'g [Inexact]) -> Tape<'g> {
        let mut tape = Tape {
            graph,
            inexact_inputs,
            constants: graph
                .constants
                .iter()
                .map(|(value, format)| RoundedConstant::new(value, *format))
                .collect(),
            inexact: Vec::new(),
            edges: Vec::new(),
            steps: Vec::new(),
            facts: (0..graph.nodes.len()).map(|place| Fact::of(graph, place)).collect(),
            partials: HashMap::new(),
        };
        let mut known = Known::default();
        let places: Vec<Expr> = (0..graph.nodes.len()).map(Expr::var).collect();
        for (place, (node, precision)) in graph.nodes.iter().enumerate() {
            let from_operands = node.operands().iter().any(|&i| tape.inexact[i]);
            let own = match node {
                Node::Input(k) => tape.inexact_inputs.get(*k).is_some_and(|input| input.error != 0.0),
                Node::Select(..) => false,
                Node::Constant(i) => tape.constants[*i].error != 0.0,
                Node::Apply(..) | Node::Cast(_) => precision.is_some(),
            };
            tape.inexact.push(own || from_operands);
            let derivatives: Vec<Expr> = match node {
                Node::Apply(prim, operands) => {
                    let args: Vec<Expr> =
                        operands[..prim.arity()].iter().map(|&i| places[i].clone()).collect();
                    derivative::partials(*prim, &args, &places[place]).into_vec()
                }
                Node::Select(cmp, [a, b, ..]) => {
                    let [a, b] = [&places[*a], &places[*b]];
                    let zero = || Expr::from(0);
                    vec![zero(), zero(), Expr::select(*cmp, a, b, 1, 0), Expr::select(*cmp, a, b, 0, 1)]
                }
                Node::Cast(_) => vec![Expr::from(1)],
                Node::Input(_) | Node::Constant(_) => Vec::new(),
            };
            let mut edges = Vec::new();
            for (&operand, partial) in node.operands().iter().zip(&derivatives) {
                if tape.inexact[operand] {
                    edges.push(Edge { operand, factor: tape.factor(partial, &mut known) });
                }
            }
            edges.retain(|edge| edge.factor != Factor::Unit(0.0));
            tape.edges.push(edges);
            if let Node::Apply(prim, _) = node {
                tape.require_partials(*prim);
            }
        }
        let prims: Vec<Prim> = tape.steps.iter().filter_map(Step::prim).collect();
        prims.into_iter().for_each(|prim| tape.require_partials(prim));
        tape
    }

    /// The number of forms that an evaluation computes.
    pub fn len(&self) -> usize {
        2 * self.graph.nodes.len() + self.steps.len()
    }

    fn require_partials(&mut self, prim: Prim) {
        self.partials.entry(prim).or_insert_with(|| {
            let args: Vec<Expr> = (0..prim.arity()).map(Expr::var).collect();
            let partials = derivative::partials(prim, &args, &Expr::var(prim.arity()));
            partials.iter().map(Formula::new).collect()
        });
    }

    fn factor(&mut self, partial: &Expr, known: &mut Known) -> Factor {
        match &*partial.0 {
            expr::Node::Const(Constant::Rational(value)) if value.to_f64() == *value => {
                Factor::Unit(value.to_f64())
            }
            _ => Factor::Place(self.place(partial, known)),
        }
    }

    /// The place of a formula over the graph's values, equal terms at one place.
    fn place(&mut self, formula: &Expr, known: &mut Known) -> usize {
        let (key, step) = match &*formula.0 {
            expr::Node::Var(i) => return *i,
            expr::Node::Const(constant) => {
                let key = Key::Constant(format!("{constant:?}"));
                (key, Step::Constant(enclosure::constant(&Binary64, constant)))
            }
            expr::Node::Apply(prim, args) => {
                let places: Vec<usize> = args.iter().map(|arg| self.place(arg, known)).collect();
                let operands = std::array::from_fn(|i| *places.get(i).unwrap_or(&places[0]));
                let squared = *prim == Prim::Mul && operands[0] == operands[1];
                let prim = if squared { Prim::Square } else { *prim };
                (Key::Apply(prim, operands), Step::Apply(prim, operands))
            }
            expr::Node::Select(cmp, parts) => {
                let operands = std::array::from_fn(|i| self.place(&parts[i], known));
                (Key::Select(*cmp, operands), Step::Select(*cmp, operands))
            }
            // Derivatives of primitives have no parameters; an undefined value would end the path.
            expr::Node::Param(_) => {
                (Key::Constant(String::new()), Step::Constant(Enclosure::point(f64::NAN)))
            }
        };
        *known.0.entry(key).or_insert_with(|| {
            self.steps.push(step);
            self.graph.nodes.len() + self.steps.len() - 1
        })
    }

    /// The error over a box.
    pub fn evaluate(&self, sides: &[Enclosure<f64>], floor: f64) -> Outcome {
        let (values, errors) = self.forwards(sides);
        let (adjoints, errors) = self.backwards(&values, errors);
        self.total(&values, &adjoints, &errors, floor, sides.len())
    }

    /// The graph's values and the derivatives' steps, and the values' own rounding errors.
    fn forwards(&self, sides: &[Enclosure<f64>]) -> (Vec<Form>, Vec<f64>) {
        let inputs = sides.len();
        let mut values: Vec<Form> = Vec::with_capacity(self.len());
        let mut errors = Vec::with_capacity(self.graph.nodes.len());
        // Of every value, the range as computed and the lattice.
        let mut computed: Vec<(Enclosure<f64>, i32)> = Vec::with_capacity(self.graph.nodes.len());
        for (place, (node, format)) in self.graph.nodes.iter().enumerate() {
            let as_computed = |i: usize| Computed {
                range: &computed[i].0,
                lattice: computed[i].1,
                format: self.graph.nodes[i].1,
            };
            let (value, error, own) = match node {
                Node::Input(k) => {
                    let side = sides[*k];
                    let own = (side, lattice_of_range(*format, &side));
                    let value = Form::input(side, *k, inputs);
                    match self.inexact_inputs.get(*k) {
                        Some(input) if input.error != 0.0 => {
                            (value.perturbed(input.error, input.around(side)), input.error, own)
                        }
                        _ => (value, 0.0, own),
                    }
                }
                Node::Constant(i) => {
                    let constant = &self.constants[*i];
                    let own = (constant.computed, lattice_of_range(*format, &constant.computed));
                    (Form::interval(constant.range, inputs), constant.error, own)
                }
                Node::Select(cmp, parts) => {
                    let value = select(*cmp, parts.map(|i| &values[i]), inputs);
                    let [t, e] = [computed[parts[2]], computed[parts[3]]];
                    let own = match decide(*cmp, &values[parts[0]], &values[parts[1]]) {
                        Some(true) => t,
                        Some(false) => e,
                        None => (value.range, t.1.min(e.1)),
                    };
                    (value, 0.0, own)
                }
                Node::Cast(i) => {
                    let arg = as_computed(*i);
                    let error = format.map_or(0.0, |format| conversion_error(arg.range, arg.lattice, format));
                    round(values[*i].clone(), error, arg.lattice, *format)
                }
                Node::Apply(prim, operands) => {
                    let operands = &operands[..prim.arity()];
                    let args: SmallVec<[Computed<'_>; 3]> =
                        operands.iter().map(|&i| as_computed(i)).collect();
                    let forms: SmallVec<[&Form; 3]> = operands.iter().map(|&i| &values[i]).collect();
                    let value = self.apply(*prim, &forms);
                    let value = match self.facts[place].as_ref().and_then(|fact| fact.bounds(&values)) {
                        Some((lo, hi)) => value.between(lo, hi),
                        None => value,
                    };
                    let on = lattice(*prim, &args);
                    let error =
                        format.map_or(0.0, |format| rounding_error(*prim, &args, &value.range, on, format));
                    round(value, error, on, *format)
                }
            };
            values.push(value);
            errors.push(error);
            computed.push(own);
        }
        for step in &self.steps {
            let value = match step {
                Step::Constant(range) => Form::interval(*range, inputs),
                Step::Apply(prim, operands) => {
                    let forms: SmallVec<[&Form; 3]> =
                        operands[..prim.arity()].iter().map(|&i| &values[i]).collect();
                    self.apply(*prim, &forms)
                }
                Step::Select(cmp, parts) => select(*cmp, parts.map(|i| &values[i]), inputs),
            };
            values.push(value);
        }
        (values, errors)
    }

    fn apply(&self, prim: Prim, args: &[&Form]) -> Form {
        match (prim, args) {
            (Prim::Add, [x, y]) => x.add(y, 1.0),
            (Prim::Sub, [x, y]) => x.add(y, -1.0),
            (Prim::Mul, [x, y]) => x.mul(y),
            (Prim::Square, [x]) => x.square(),
            (Prim::Neg, [x]) => (*x).clone().negate(),
            (Prim::Fma, [x, y, z]) => x.mul(y).add(z, 1.0),
            _ => {
                let mut ranges: SmallVec<[Enclosure<f64>; 4]> = args.iter().map(|arg| arg.range).collect();
                let of = |ranges: &[Enclosure<f64>]| {
                    let ranges: SmallVec<[&Enclosure<f64>; 3]> = ranges.iter().collect();
                    enclosure::apply(&Binary64, prim, &ranges)
                };
                let range = of(&ranges);
                if jumps(prim) || crosses_cut(prim, args) {
                    return Form::interval(range, args[0].inputs());
                }
                ranges.push(range);
                let partials: SmallVec<[Enclosure<f64>; 3]> =
                    self.partials[&prim].iter().map(|partial| partial.enclose(&ranges)).collect();
                Form::linearised(args, range, &partials, of)
            }
        }
    }

    /// The derivatives of the output with respect to every value's error; `None` is zero. Where a path ends, the value's
    /// own error is widened.
    fn backwards(&self, values: &[Form], mut errors: Vec<f64>) -> (Vec<Option<Form>>, Vec<f64>) {
        let count = self.graph.nodes.len();
        let inputs = values[0].inputs();
        let cut = self.cut(values, &mut errors);
        let mut adjoints: Vec<Option<Form>> = vec![None; count];
        adjoints[self.graph.output] = Some(Form::interval(Enclosure::point(1.0), inputs));
        for place in (0..count).rev() {
            let Some(adjoint) = adjoints[place].take() else { continue };
            if !cut[place] {
                for edge in &self.edges[place] {
                    let term = match edge.factor {
                        Factor::Unit(1.0) => adjoint.clone(),
                        Factor::Unit(-1.0) => adjoint.clone().negate(),
                        Factor::Unit(factor) => adjoint.clone().scale(factor),
                        Factor::Place(i) if values[i].is_zero() => continue,
                        Factor::Place(i) => adjoint.mul(&values[i]),
                    };
                    let total = &mut adjoints[edge.operand];
                    *total = Some(match total.take() {
                        Some(other) => other.add(&term, 1.0),
                        None => term,
                    });
                }
            }
            adjoints[place] = Some(adjoint);
        }
        (adjoints, errors)
    }

    /// Where paths end: where they must, and where a value's range is much narrower than the error that reaches it. The
    /// width becomes the value's own error there.
    fn cut(&self, values: &[Form], errors: &mut [f64]) -> Vec<bool> {
        let mut reaching: Vec<f64> = Vec::with_capacity(errors.len());
        let mut cut = Vec::with_capacity(errors.len());
        for (place, error) in errors.iter_mut().enumerate() {
            let width = width(&values[place].range);
            let through = |edge: &Edge| match edge.factor {
                _ if reaching[edge.operand] == 0.0 => 0.0,
                Factor::Unit(factor) => factor.abs() * reaching[edge.operand],
                Factor::Place(i) => magnitude(&values[i].range) * reaching[edge.operand],
            };
            // An estimate: it only decides which of two bounds to take.
            let estimate: f64 = *error + self.edges[place].iter().map(through).sum::<f64>();
            let cuts = self.breaks(place, values) || !estimate.is_finite() || 2.0 * width < estimate;
            if cuts {
                *error = width;
            }
            reaching.push(if cuts { width } else { estimate });
            cut.push(cuts);
        }
        cut
    }

    /// Whether a value's error is not a bounded multiple of its operands' errors.
    fn breaks(&self, place: usize, values: &[Form]) -> bool {
        let (node, _) = &self.graph.nodes[place];
        let inexact = |i: &usize| self.inexact[*i];
        let undecided = match node {
            Node::Apply(prim, operands) if jumps(*prim) => {
                let changes = match prim {
                    // The remainder is as smooth as its arguments only while the quotient stays in one place.
                    Prim::Rem => {
                        let [x, y] = [&values[operands[0]].range, &values[operands[1]].range];
                        let quotient = enclosure::apply(&Binary64, Prim::Div, &[x, y]);
                        let whole = enclosure::apply(&Binary64, Prim::Trunc, &[&quotient]);
                        whole.lo != whole.hi || whole.may_be_nan
                    }
                    _ => values[place].range.lo != values[place].range.hi,
                };
                changes && operands[..prim.arity()].iter().any(inexact)
            }
            Node::Apply(prim @ Prim::Atan2, [y, x, _]) => {
                crosses_cut(*prim, &[&values[*y], &values[*x]]) && (inexact(y) || inexact(x))
            }
            Node::Select(cmp, [a, b, ..]) => {
                (inexact(a) || inexact(b)) && decide(*cmp, &values[*a], &values[*b]).is_none()
            }
            _ => false,
        };
        let unbounded = |edge: &Edge| match edge.factor {
            Factor::Unit(_) => false,
            Factor::Place(i) => {
                let range = &values[i].range;
                range.may_be_nan || !magnitude(range).is_finite()
            }
        };
        undecided || self.edges[place].iter().any(unbounded)
    }

    fn total(
        &self,
        values: &[Form],
        adjoints: &[Option<Form>],
        errors: &[f64],
        floor: f64,
        inputs: usize,
    ) -> Outcome {
        let output = &values[self.graph.output];
        let mut influence = vec![0.0; inputs];
        let mut sum = Form::interval(Enclosure::point(0.0), inputs);
        for ((adjoint, &error), value) in adjoints.iter().zip(errors).zip(values) {
            let Some(adjoint) = adjoint else { continue };
            if error == 0.0 || adjoint.is_zero() {
                continue;
            }
            let weight = magnitude(&adjoint.range) * error;
            let size = magnitude(&value.range).max(f64::MIN_POSITIVE);
            for (k, total) in influence.iter_mut().enumerate() {
                *total += adjoint.slope(k) * error + weight * (value.slope(k) / size);
            }
            sum = sum.add(&adjoint.above_magnitude().scale(error), 1.0);
        }
        let undefined = output.range.may_be_nan || sum.range.may_be_nan || sum.range.hi.is_nan();
        // Exact and computed output are in one range.
        let width = width(&output.range);
        let absolute = if undefined { f64::INFINITY } else { sum.range.hi.max(0.0).min(width) };
        let size = mignitude(&output.range);
        let relative = if undefined {
            f64::INFINITY
        } else if absolute == 0.0 {
            0.0
        } else {
            let quotient =
                if size >= floor && size > 0.0 { self.apply_quotient(&sum, output) } else { f64::INFINITY };
            quotient.min((absolute / size.max(floor)).next_up())
        };
        Outcome { absolute, relative, range: output.range, influence }
    }

    /// Not below the quotient of a sum of errors and the magnitude of an output without zero: as forms, for both may rise
    /// and fall together.
    fn apply_quotient(&self, sum: &Form, output: &Form) -> f64 {
        let ranges = [&sum.range, &output.range];
        let of = |x: &Enclosure<f64>, y: &Enclosure<f64>| enclosure::apply(&Binary64, Prim::Div, &[x, y]);
        let range = of(ranges[0], ranges[1]);
        let one = Enclosure::point(1.0);
        let (reciprocal, slope) = (of(&one, ranges[1]), of(&range, ranges[1]));
        let slope = Enclosure { lo: -slope.hi, hi: -slope.lo, may_be_nan: slope.may_be_nan };
        let quotient = Form::linearised(&[sum, output], range, &[reciprocal, slope], |at| of(&at[0], &at[1]));
        if quotient.range.may_be_nan { f64::INFINITY } else { magnitude(&quotient.range) }
    }
}

/// Not below the distance of any two values in a range.
fn width(range: &Enclosure<f64>) -> f64 {
    let width = (range.hi - range.lo).next_up();
    if range.may_be_nan || width.is_nan() { f64::INFINITY } else { width }
}

/// Whether the primitive is not continuous.
fn jumps(prim: Prim) -> bool {
    matches!(prim, Prim::Rem | Prim::Sign | Prim::Floor | Prim::Ceil | Prim::RoundEven | Prim::Trunc)
}

/// Whether the angle jumps between -π and π.
fn crosses_cut(prim: Prim, args: &[&Form]) -> bool {
    prim == Prim::Atan2 && args[1].range.lo < 0.0 && mignitude(&args[0].range) == 0.0
}

impl Step {
    fn prim(&self) -> Option<Prim> {
        match self {
            Step::Apply(prim, _) => Some(*prim),
            _ => None,
        }
    }
}

#[derive(Default)]
struct Known(HashMap<Key, usize>);

#[derive(PartialEq, Eq, Hash)]
enum Key {
    Constant(String),
    Apply(Prim, [usize; 3]),
    Select(expr::Cmp, [usize; 4]),
}

/// Whether a comparison has one outcome; a number is equal to itself.
fn decide(cmp: expr::Cmp, a: &Form, b: &Form) -> Option<bool> {
    if std::ptr::eq(a, b) {
        return (!a.range.may_be_nan).then_some(matches!(cmp, expr::Cmp::Eq | expr::Cmp::Le | expr::Cmp::Ge));
    }
    a.range.compare(cmp, &b.range)
}

fn select(cmp: expr::Cmp, [a, b, t, e]: [&Form; 4], inputs: usize) -> Form {
    match decide(cmp, a, b) {
        Some(true) => t.clone(),
        Some(false) => e.clone(),
        None => {
            let undefined = a.range.may_be_nan || b.range.may_be_nan;
            Form::interval(t.range.hull(e.range).flagged(undefined), inputs)
        }
    }
}

/// A real value that is rounded: both it and what it is rounded to, the error, and range and lattice as computed.
fn round(value: Form, error: f64, lattice: i32, precision: Precision) -> (Form, f64, (Enclosure<f64>, i32)) {
    let range = value.range;
    let Some(format) = precision else { return (value, 0.0, (range, lattice)) };
    if error == 0.0 {
        let on = lattice.max(lattice_of_format(format, &range));
        return (value, error, (range, on));
    }
    let rounded = figures::round(format, &range);
    let on = lattice.max(lattice_of_format(format, &rounded));
    (value.perturbed(error, range.hull(rounded)), error, (rounded, on))
}
