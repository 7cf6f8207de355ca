//! Calibration: a function evaluated on samples of its inputs, in its formats and at higher precision.
//!
//! What samples show is an estimate and never takes the place of a bound. Results do not depend on the number of threads:
//! samples are cut into the same pieces always, and the pieces are joined in order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ngc_interp::{Constants, Execution, Interpreter};
use ngc_ir::{Body, Context, Diagnostic, Loc, Module, Type, Value};
use ngc_numerics::tensor::{element_count, show};
use ngc_numerics::{DType, Data, Evaluator, Format, Mode, Tensor};
use rayon::prelude::*;
use rug::Float;

/// Pieces into which samples are cut.
const PIECES: usize = 32;

/// Bits of the reference of functions that compute in f64.
const BITS: u32 = 200;

/// What samples showed of one value, all elements of all samples together. Estimates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampled {
    /// Least and greatest finite value that was computed.
    pub range: Option<(f64, f64)>,
    /// Mean of the finite values.
    pub mean: Option<f64>,
    /// Standard deviation of the finite values (of all of them, not of a population behind them).
    pub std: Option<f64>,
    /// How many values were infinite or NaN.
    pub not_finite: u64,
    /// Largest distance from the reference; infinite where only one of the two is finite or they are different infinities.
    pub absolute: f64,
    /// Largest distance over the magnitude of the reference; infinite where only the reference is 0.
    pub relative: f64,
}

/// What samples showed of a function.
pub struct Calibration {
    /// How many samples.
    pub samples: usize,
    /// How the reference was evaluated.
    pub reference: &'static str,
    /// By value.
    values: Vec<Option<Sampled>>,
}

impl Calibration {
    /// What is known of a value.
    pub fn of(&self, value: Value) -> Option<Sampled> {
        self.values.get(value.index()).copied().flatten()
    }
}

/// Samples of the inputs of one function.
pub struct Samples {
    function: String,
    sets: Vec<Set>,
}

/// One tensor for each argument.
struct Set {
    count: usize,
    /// With whether its first axis runs over the samples.
    arguments: Vec<(Tensor, bool)>,
}

/// An argument for which an array is looked for.
pub struct Parameter {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its type.
    pub ty: Type,
}

impl Samples {
    /// No samples yet, of a function of the module.
    pub fn of(function: &str) -> Samples {
        Samples { function: function.into(), sets: Vec::new() }
    }

    /// The function's symbol.
    pub fn function(&self) -> &str {
        &self.function
    }

    /// The number of samples.
    pub fn count(&self) -> usize {
        self.sets.iter().map(|set| set.count).sum()
    }

    /// Adds the samples in named arrays. An array stands for the argument of its name, or by position as `arg0`, `arr_0`
    /// or `0`; with one axis more than the argument its first axis runs over the samples, otherwise it serves all of them.
    /// Values are rounded to the argument's format; what was changed by that is returned in words.
    ///
    /// # Errors
    /// Says which array does not fit, and what would: unknown or missing arrays, other extents or kinds of elements,
    /// different numbers of samples or none, values that are infinite or NaN, integers out of range.
    pub fn add(
        &mut self,
        parameters: &[Parameter],
        arrays: Vec<(String, Tensor)>,
    ) -> Result<Vec<String>, String> {
        if arrays.is_empty() && !parameters.is_empty() {
            return Err(format!("there are no arrays; {}", self.wanted(parameters)));
        }
        let mut given: Vec<Option<(String, Tensor)>> = parameters.iter().map(|_| None).collect();
        for (name, array) in arrays {
            let Some(n) = position(parameters, &name) else {
                return Err(format!("array '{name}' stands for no argument; {}", self.wanted(parameters)));
            };
            if let Some((other, _)) = &given[n] {
                return Err(format!(
                    "arrays '{other}' and '{name}' both stand for argument {n}; leave one out"
                ));
            }
            given[n] = Some((name, array));
        }
        let mut notes = Vec::new();
        let mut set = Set { count: 1, arguments: Vec::new() };
        let mut first: Option<(String, usize)> = None;
        for (n, (found, parameter)) in given.into_iter().zip(parameters).enumerate() {
            let Some((name, array)) = found else {
                return Err(format!(
                    "no array stands for {}; {}",
                    spell(n, parameter),
                    self.wanted(parameters)
                ));
            };
            let many = fit(&name, &array, n, parameter)?;
            if many {
                let count = array.shape[0];
                if count == 0 {
                    return Err(format!("array '{name}' ({}) holds no samples", show(&array.shape)));
                }
                match &first {
                    Some((other, known)) if *known != count => {
                        return Err(format!(
                            "array '{other}' holds {known} samples, but '{name}' holds {count}; all must hold as many"
                        ));
                    }
                    _ => first = Some((name.clone(), count)),
                }
            }
            set.arguments.push((convert(&name, array, parameter.ty, &mut notes)?, many));
        }
        set.count = first.map_or(1, |(_, count)| count);
        self.sets.push(set);
        Ok(notes)
    }

    fn wanted(&self, parameters: &[Parameter]) -> String {
        let list: Vec<String> = parameters.iter().enumerate().map(|(n, p)| spell(n, p)).collect();
        format!("@{} takes {}", self.function, list.join(", "))
    }

    /// The inputs of sample `n`.
    fn inputs(&self, n: usize) -> Vec<Tensor> {
        let mut n = n;
        for set in &self.sets {
            if n < set.count {
                return set
                    .arguments
                    .iter()
                    .map(|(t, many)| if *many { slice(t, n) } else { t.clone() })
                    .collect();
            }
            n -= set.count;
        }
        Vec::new()
    }

    /// Evaluates the function on all samples. `progress` is told how many steps are done, of how many.
    ///
    /// # Errors
    /// When the function is not there, its arguments are others than those the samples were read for, or an op cannot
    /// be evaluated.
    pub fn evaluate(
        &self,
        context: &Context,
        module: &Module,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Calibration, Diagnostic> {
        let wide = module
            .functions()
            .into_iter()
            .filter_map(|f| module.body.body(f))
            .any(|body| values(body).any(|v| body.ty(v).format() == Some(Format::F64)));
        let (mode, reference) = if wide {
            (Mode::Real { bits: BITS }, "evaluation in 200 bits")
        } else {
            (Mode::Uniform(Format::F64), "evaluation with every op rounded to f64")
        };
        let own = Interpreter::new(context, module, Evaluator::new(Mode::Rounded));
        let exact = Interpreter::new(context, module, Evaluator::new(mode));
        let name = self.function.as_str();
        let known = (own.constants(name)?, exact.constants(name)?);
        let Some(body) = module.symbol(name).and_then(|f| module.body.body(f)) else {
            return Err(Diagnostic::error(Loc::Unknown, format!("there is no function @{name}")));
        };
        let pair = Pair { samples: self, own, exact, known, body };

        let total = self.count();
        let steps = body.num_ops().saturating_sub(1).max(1);
        let done = AtomicUsize::new(0);
        let step = || progress(done.fetch_add(1, Ordering::Relaxed) + 1, total * steps);
        let size = total.div_ceil(PIECES).max(1);
        let pieces: Vec<Result<Vec<Tally>, Diagnostic>> = (0..total.div_ceil(size))
            .into_par_iter()
            .with_max_len(1)
            .map(|piece| {
                let mut tallies = vec![Tally::default(); body.num_values()];
                (piece * size..total.min((piece + 1) * size))
                    .try_for_each(|n| pair.sample(n, &mut tallies, &step))
                    .map(|()| tallies)
            })
            .collect();
        let mut all = vec![Tally::default(); body.num_values()];
        for piece in pieces {
            all.iter_mut().zip(piece?).for_each(|(sum, tally)| sum.join(&tally));
        }
        let values = all.iter().map(Tally::sampled).collect();
        Ok(Calibration { samples: total, reference, values })
    }
}

/// A function in its own formats and at higher precision, side by side.
struct Pair<'a> {
    samples: &'a Samples,
    own: Interpreter<'a>,
    exact: Interpreter<'a>,
    known: (Constants, Constants),
    body: &'a Body,
}

impl Pair<'_> {
    fn sample(&self, n: usize, tallies: &mut [Tally], step: &dyn Fn()) -> Result<(), Diagnostic> {
        let name = self.samples.function();
        let inputs = self.samples.inputs(n);
        let start = |interpreter, known| -> Result<Execution<'_>, Diagnostic> {
            Ok(Interpreter::start(interpreter, name, &inputs)?.with_constants(known))
        };
        let mut own = start(&self.own, &self.known.0)?;
        let mut exact = start(&self.exact, &self.known.1)?;
        let arguments = self.body.entry().map_or(&[][..], |b| self.body.arguments(b));
        for (v, input) in arguments.iter().zip(&inputs) {
            tallies[v.index()].add(input, input);
        }
        while let (Some((op, computed)), Some((_, reference))) = (own.step()?, exact.step()?) {
            let pairs: Vec<(Arc<Tensor>, Arc<Tensor>)> = computed.into_iter().zip(reference).collect();
            for (v, (computed, reference)) in self.body.results(op).zip(&pairs) {
                // What is the same in every sample is looked at once.
                if n == 0 || !self.known.0.has(v) {
                    tallies[v.index()].add(computed, reference);
                }
            }
            step();
        }
        Ok(())
    }
}

/// What was seen of a value so far.
#[derive(Clone, Copy)]
struct Tally {
    seen: bool,
    finite: u64,
    not_finite: u64,
    lo: f64,
    hi: f64,
    mean: f64,
    /// Squared distances from the mean, summed.
    squares: f64,
    absolute: f64,
    relative: f64,
}

impl Default for Tally {
    fn default() -> Tally {
        Tally {
            seen: false,
            finite: 0,
            not_finite: 0,
            lo: f64::INFINITY,
            hi: f64::NEG_INFINITY,
            mean: 0.0,
            squares: 0.0,
            absolute: 0.0,
            relative: 0.0,
        }
    }
}

impl Tally {
    fn add(&mut self, computed: &Tensor, reference: &Tensor) {
        self.seen = true;
        match (&computed.data, &reference.data) {
            (Data::Float(a), Data::Float(b)) => {
                self.observe(a.iter().copied());
                a.iter().zip(b).for_each(|(&x, &y)| self.distance(x, y, (x - y).abs()));
            }
            (Data::Float(a), Data::Real(b)) => {
                self.observe(a.iter().copied());
                for (&x, y) in a.iter().zip(b) {
                    // Beyond the range of f64 is beyond the range of every format.
                    let apart = Float::with_val(y.prec().max(BITS), y - x).to_f64().abs();
                    self.distance(x, y.to_f64(), apart);
                }
            }
            _ => {
                let (a, b) = (computed.to_f64s(), reference.to_f64s());
                self.observe(a.iter().copied());
                a.iter().zip(&b).for_each(|(&x, &y)| self.distance(x, y, (x - y).abs()));
            }
        }
    }

    /// Moments as Chan, Golub and LeVeque (1983) join them.
    fn observe(&mut self, values: impl Iterator<Item = f64> + Clone) {
        let finite = values.clone().filter(|x| x.is_finite());
        let (count, all) = (finite.clone().count() as u64, values.count() as u64);
        let mean = finite.clone().sum::<f64>() / count.max(1) as f64;
        let squares = finite.clone().map(|x| (x - mean) * (x - mean)).sum();
        let (lo, hi) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), x| (lo.min(x), hi.max(x)));
        let one = Tally { finite: count, not_finite: all - count, lo, hi, mean, squares, ..Tally::default() };
        self.join(&one);
    }

    fn distance(&mut self, x: f64, reference: f64, apart: f64) {
        let alike = apart == 0.0 || x == reference && apart.is_nan() || x.is_nan() && reference.is_nan();
        if alike {
            return;
        }
        let apart = if apart.is_nan() { f64::INFINITY } else { apart };
        let relative = if apart == f64::INFINITY { apart } else { apart / reference.abs() };
        self.absolute = self.absolute.max(apart);
        self.relative = self.relative.max(relative);
    }

    fn join(&mut self, other: &Tally) {
        self.seen |= other.seen;
        self.not_finite += other.not_finite;
        self.absolute = self.absolute.max(other.absolute);
        self.relative = self.relative.max(other.relative);
        if other.finite == 0 {
            return;
        }
        let (n, m) = (self.finite as f64, other.finite as f64);
        let apart = other.mean - self.mean;
        self.finite += other.finite;
        self.mean += apart * (m / (n + m));
        self.squares += other.squares + apart * apart * (n * m / (n + m));
        self.lo = self.lo.min(other.lo);
        self.hi = self.hi.max(other.hi);
    }

    fn sampled(&self) -> Option<Sampled> {
        let some = self.finite > 0;
        self.seen.then(|| Sampled {
            range: some.then_some((self.lo, self.hi)),
            mean: some.then_some(self.mean),
            std: some.then(|| (self.squares / self.finite as f64).sqrt()),
            not_finite: self.not_finite,
            absolute: self.absolute,
            relative: self.relative,
        })
    }
}

fn values(body: &Body) -> impl Iterator<Item = Value> {
    (0..body.num_values()).map(Value::from_index)
}

fn position(parameters: &[Parameter], array: &str) -> Option<usize> {
    let bare = array.strip_prefix('%').unwrap_or(array);
    parameters.iter().position(|p| p.name.as_deref() == Some(bare)).or_else(|| {
        let digits = bare.strip_prefix("arg").or(bare.strip_prefix("arr_")).unwrap_or(bare);
        digits.parse().ok().filter(|n| *n < parameters.len())
    })
}

fn spell(n: usize, parameter: &Parameter) -> String {
    match &parameter.name {
        Some(name) => format!("'{name}' (or 'arg{n}'): {}", parameter.ty),
        None => format!("'arg{n}': {}", parameter.ty),
    }
}

/// Whether the first axis of an array runs over samples.
fn fit(name: &str, array: &Tensor, n: usize, parameter: &Parameter) -> Result<bool, String> {
    let extents = parameter.ty.shape().unwrap_or(&[]);
    let agree = |shape: &[usize]| {
        shape.len() == extents.len()
            && shape.iter().zip(extents).all(|(&have, want)| want.known().is_none_or(|want| want == have))
    };
    if agree(&array.shape) {
        return Ok(false);
    }
    if array.rank() > 0 && agree(&array.shape[1..]) {
        return Ok(true);
    }
    let shape: String = extents.iter().map(|d| d.known().map_or("?x".into(), |n| format!("{n}x"))).collect();
    let one = if extents.is_empty() { "a scalar".into() } else { shape.trim_end_matches('x').to_string() };
    let many = format!("Nx{shape}");
    Err(format!(
        "array '{name}' is {}, which does not fit {}: it must be {one} for one sample, or {} for N samples",
        show(&array.shape),
        spell(n, parameter),
        many.trim_end_matches('x'),
    ))
}

/// The array in the argument's element type.
fn convert(name: &str, array: Tensor, ty: Type, notes: &mut Vec<String>) -> Result<Tensor, String> {
    let Some(to) = ty.elem() else {
        return Err(format!("array '{name}' stands for an argument of type {ty}, which holds no numbers"));
    };
    let from = array.dtype;
    let values = array.to_f64s();
    if let Some(i) = values.iter().position(|x| !x.is_finite()) {
        return Err(format!(
            "array '{name}' holds {} at index {i}: samples must be finite, since arguments are",
            values[i]
        ));
    }
    let data = match (to, &array.data) {
        (DType::Float(format), _) => {
            let rounded: Vec<f64> = values.iter().map(|&x| format.round(x)).collect();
            if let Some(i) = rounded.iter().position(|r| !r.is_finite()) {
                return Err(format!(
                    "array '{name}' holds {:?} at index {i}, beyond the range of {to}, whose largest value is {:?}",
                    values[i],
                    format.max_finite()
                ));
            }
            let changed = rounded.iter().zip(&values).filter(|(r, x)| r != x).count();
            if changed > 0 {
                notes.push(format!(
                    "array '{name}' is {from}, and its argument {to}: {changed} of {} values were rounded",
                    values.len()
                ));
            }
            Data::Float(rounded)
        }
        (_, Data::Int(ints)) => {
            let (least, greatest) = if to == DType::BOOL { (0, 1) } else { to.int_range() };
            if let Some(x) = ints.iter().find(|x| !(least..=greatest).contains(*x)) {
                return Err(format!(
                    "array '{name}' holds {x}, beyond the range of {to}, which is [{least}, {greatest}]"
                ));
            }
            Data::Int(ints.clone())
        }
        _ => {
            return Err(format!(
                "array '{name}' holds floating-point values ({from}), but its argument is {to}: store integers, as \
                 with astype(\"int64\")"
            ));
        }
    };
    Tensor::new(to, array.shape, data)
}

/// Element `n` along the first axis.
fn slice(tensor: &Tensor, n: usize) -> Tensor {
    let shape = tensor.shape[1..].to_vec();
    let size = element_count(&shape).unwrap_or(0);
    let part = n * size..(n + 1) * size;
    let data = match &tensor.data {
        Data::Float(v) => Data::Float(v[part].to_vec()),
        Data::Int(v) => Data::Int(v[part].to_vec()),
        Data::Real(v) => Data::Real(v[part].to_vec()),
    };
    Tensor { dtype: tensor.dtype, shape, data }
}
