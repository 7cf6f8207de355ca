//! What an analysis found in one function: one structure behind remarks, the table and JSON.

mod json;
pub mod table;

use std::sync::Mutex;

use ngc_dialects::runtime::Runtime;
use ngc_ir::location::LocKind;
use ngc_ir::{Attr, AttrDict, Body, Loc, Op, Sources, Type, Value};
use ngc_numerics::Figures;
use ngc_numerics::figures::{add, magnitude};
use smallvec::SmallVec;

use super::calibrate::{Calibration, Followed, Sampled, Samples};
use super::error::Errors;
use super::explain_nonfinite::Found;
use super::unbounded::{self, Unbounded};

pub use table::{LEGEND, down, nearest, up};

/// What a driver hands to the pass `analyze` beside its options, and where it finds the reports of each run of it.
#[derive(Default)]
pub struct Exchange {
    /// Inputs on which a function is evaluated too.
    pub samples: Option<Samples>,
    /// Whether bounds are those for inputs of which every value lies where the samples showed it to.
    pub assume_calibrated: bool,
    /// The runtime that bounds are for, given its table; nothing where they are for functions that round correctly, and sums in
    /// the order that is written.
    pub runtime: Option<&'static Runtime>,
    /// Told how many steps of the evaluation are done, of how many.
    pub progress: Option<Box<dyn Fn(usize, usize) + Send + Sync>>,
    /// Told how many groups of elements of results were followed back, of how many.
    pub following: Option<Box<dyn Fn(usize, usize) + Send + Sync>>,
    /// The reports of each run of the pass, by function; `None` where nobody wants them.
    pub reports: Option<Mutex<Vec<Vec<Report>>>>,
    /// Witnesses that `explain-nonfinite` found, in order; `None` where nobody wants them.
    pub witnesses: Option<Mutex<Vec<Found>>>,
}

/// The figures of one function. All are bounds but those in [`Sampled`] and [`Row::norm2`], which are estimates.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Symbol of the function.
    pub function: String,
    /// Its location.
    pub loc: Loc,
    /// Its arguments, then the results of its ops in order.
    pub rows: Vec<Row>,
    /// What it returns.
    pub outputs: Vec<Output>,
    /// The largest product of Lipschitz constants on a path.
    pub largest_path: f64,
    /// The curvatures of all ops, summed.
    pub total_curvature: f64,
    /// How many samples the function was evaluated on, and how the reference was evaluated.
    pub calibration: Option<(usize, &'static str)>,
    /// Whether bounds are those for inputs of which every value lies where the samples showed it to.
    pub assumed: bool,
    /// Why it is not known what roundings became in the results at the samples, where bounds are given these.
    pub not_followed: Option<String>,
    /// The table of a runtime that bounds are given, and the ops that it says nothing of.
    pub table: Option<Table>,
}

/// The table of a runtime, of which [`Report::label`] says that bounds rest on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name and version.
    pub of: String,
    /// Ops with their formats of which it says nothing.
    pub without: Vec<String>,
}

impl Table {
    /// What bounds rest on.
    pub fn of(runtime: &Runtime, errors: &Errors) -> Table {
        let without = errors.flow().unmeasured().iter();
        let without = without.map(|(name, format)| format!("{name} in {format}")).collect();
        Table { without, ..Table::whole(runtime) }
    }

    /// As if it knew all ops.
    pub fn whole(runtime: &Runtime) -> Table {
        Table { of: format!("{} {}", runtime.name, runtime.version), without: Vec::new() }
    }

    /// In a sentence.
    pub fn text(&self) -> String {
        let without = match self.without.is_empty() {
            true => String::new(),
            false => format!("; of {} it says nothing", self.without.join(", ")),
        };
        format!("given table {}, which was measured and not proved{without}", self.of)
    }
}

/// The figures of one value.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The op; nothing for an argument.
    pub op: Option<Op>,
    /// The op's name, or `argument`.
    pub name: &'static str,
    /// The name that an argument has by its attribute `ng.name`.
    pub label: Option<String>,
    /// Which result of the op, or which argument, from 0.
    pub index: usize,
    /// How many results the op has.
    pub results: usize,
    /// Where the op or the argument stands.
    pub loc: Loc,
    /// The value's type.
    pub ty: Type,
    /// Least value over the reals.
    pub lo: f64,
    /// Greatest value over the reals.
    pub hi: f64,
    /// Whether the value may be undefined over the reals.
    pub nan: bool,
    /// The format's largest value over the greatest magnitude.
    pub headroom: Option<f64>,
    /// What the op itself does; nothing for an argument.
    pub own: Option<Own>,
    /// What an error of the value becomes in each output.
    pub amplification: SmallVec<[f64; 1]>,
    /// Bound of the error of the value.
    pub error: Bound,
    /// What samples showed.
    pub sampled: Option<Sampled>,
    /// Estimate of the 2-norm of a constant matrix that contractions take.
    pub norm2: Option<f64>,
}

/// What an op itself does to errors.
#[derive(Clone, Debug, PartialEq)]
pub struct Own {
    /// Lipschitz constant, all operands together.
    pub lipschitz: f64,
    /// The rounding error that it adds.
    pub delta: f64,
    /// Relative condition number.
    pub condition: f64,
    /// Curvature.
    pub curvature: f64,
    /// By output: the part of all contributions to its error; nothing where this and others are unbounded.
    pub share: SmallVec<[Option<f64>; 1]>,
}

/// A bound of an error in three forms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// In units of the value.
    pub absolute: f64,
    /// In units in the last place of the greatest value; nothing for integers.
    pub ulps: Option<f64>,
    /// Relative to the value's least magnitude, or to the option `floor`.
    pub relative: f64,
}

/// What a function returns.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// The value's type.
    pub ty: Type,
    /// Bound of its error.
    pub error: Bound,
    /// The place and the reason where it has no finite one: the first value on the way that has none.
    pub unbounded: Option<(&'static str, Loc, String)>,
    /// What roundings became in the result at samples, where the bound rests on that.
    pub followed: Option<Followed>,
    /// What samples showed.
    pub sampled: Option<Sampled>,
}

/// What bounds are given beside what holds for all inputs: what roundings became in the results at samples, or why that is not known.
pub type Given = Result<Vec<Followed>, String>;

impl Row {
    /// The name of an argument.
    fn argument_name(&self, sources: &Sources) -> Option<String> {
        self.label.clone().or_else(|| argument_name(&self.loc, sources))
    }

    /// The largest amplification to an output.
    pub fn largest_amplification(&self) -> f64 {
        self.amplification.iter().copied().fold(0.0, f64::max)
    }

    /// The largest share in the error of an output; nothing where the share of none is known.
    pub fn largest_share(&self) -> Option<f64> {
        let known = self.own.iter().flat_map(|own| own.share.iter().copied().flatten());
        known.reduce(f64::max)
    }

    /// The figures that become attributes and arguments of remarks, by name.
    pub fn figures(&self) -> Vec<(&'static str, f64)> {
        let own = self.own.iter().flat_map(|own| {
            [
                ("lipschitz", own.lipschitz),
                ("delta", own.delta),
                ("condition", own.condition),
                ("curvature", own.curvature),
            ]
        });
        own.chain([("amplification", self.largest_amplification()), ("error", self.error.absolute)]).collect()
    }
}

impl Report {
    /// The report of a function with the given attributes and body. Relative errors are related to at least `floor`. With `given`, the
    /// figures are those for inputs of which every value lies where the samples of the calibration showed it to.
    pub fn new(
        attrs: &AttrDict,
        loc: Loc,
        body: &Body,
        errors: &Errors,
        calibration: Option<&Calibration>,
        given: Option<&Given>,
        floor: f64,
    ) -> Report {
        let build = Builder { attrs, body, errors, calibration, given, floor };
        let mut report = Report {
            function: attrs.get("sym_name").and_then(Attr::as_str).unwrap_or("").into(),
            loc,
            rows: build.rows(),
            outputs: errors.results().iter().enumerate().map(|(n, &v)| build.output(n, v)).collect(),
            largest_path: errors.largest_path(),
            total_curvature: errors.total_curvature(),
            calibration: calibration.map(|c| (c.samples, c.reference)),
            assumed: given.is_some(),
            not_followed: given.and_then(|followed| followed.as_ref().err().cloned()),
            table: None,
        };
        report.set_shares(&build.contributions());
        report
    }

    /// What the figures are: `bound`, or `conditional` where they rest on samples; and the table that they are given.
    pub fn label(&self) -> String {
        let label = if self.assumed { "conditional" } else { "bound" };
        let table = self.table.as_ref().map(|table| format!(" given table {}", table.of));
        label.to_string() + &table.unwrap_or_default()
    }

    /// Takes it that the figures are those in a runtime.
    pub fn in_runtime(mut self, runtime: Option<&Runtime>, errors: &Errors) -> Report {
        self.table = runtime.map(|runtime| Table::of(runtime, errors));
        self
    }

    /// Adds estimates of the 2-norms of constant matrices, which take time for large ones.
    pub fn with_norms(mut self, body: &Body, errors: &Errors) -> Report {
        let norms = errors.norm2_estimates(body);
        for row in &mut self.rows {
            let value = row.op.map(|op| body.result(op, row.index));
            row.norm2 = value.and_then(|v| norms.get(&v).copied());
        }
        self
    }

    fn set_shares(&mut self, contributions: &[SmallVec<[f64; 1]>]) {
        let mut all: SmallVec<[f64; 1]> = SmallVec::from_elem(0.0, self.outputs.len());
        for of in contributions {
            all.iter_mut().zip(of).for_each(|(sum, &x)| *sum = add(*sum, x));
        }
        let part = |x: f64, all: f64| match () {
            () if x == 0.0 => Some(0.0),
            () if all.is_finite() => Some(x / all),
            () => x.is_finite().then_some(0.0),
        };
        let owns = self.rows.iter_mut().filter_map(|row| row.own.as_mut());
        for (own, of) in owns.zip(contributions) {
            own.share = of.iter().zip(&all).map(|(&x, &all)| part(x, all)).collect();
        }
    }

    /// The greatest bound of the absolute error of an output.
    pub fn largest_error(&self) -> f64 {
        self.outputs.iter().map(|output| output.error.absolute).fold(0.0, f64::max)
    }
}

struct Builder<'a> {
    attrs: &'a AttrDict,
    body: &'a Body,
    errors: &'a Errors,
    calibration: Option<&'a Calibration>,
    given: Option<&'a Given>,
    floor: f64,
}

impl Builder<'_> {
    fn rows(&self) -> Vec<Row> {
        let body = self.body;
        let entry = body.entry();
        let arguments = entry.map_or(&[][..], |b| body.arguments(b)).iter().enumerate();
        let arguments = arguments.filter_map(|(n, &v)| {
            let loc = body.argument_loc(entry?, n);
            let label = argument_label(self.attrs, n);
            Some(self.row(v, Row { name: "argument", label, index: n, loc, ..self.blank(v) }))
        });
        let results = self.errors.ops().iter().flat_map(|(op, figures)| {
            figures.iter().zip(body.results(*op)).enumerate().map(|(n, (own, v))| {
                let loc = body.op(*op).loc.clone();
                let row = Row {
                    op: Some(*op),
                    name: body.name(*op),
                    index: n,
                    results: figures.len(),
                    loc,
                    ..self.blank(v)
                };
                self.row(v, Row { own: Some(own_figures(own)), ..row })
            })
        });
        arguments.chain(results).collect()
    }

    fn blank(&self, value: Value) -> Row {
        let range = self.errors.range(value).exact;
        let ty = self.body.ty(value);
        Row {
            op: None,
            name: "",
            label: None,
            index: 0,
            results: 1,
            loc: Loc::Unknown,
            ty,
            lo: range.lo,
            hi: range.hi,
            nan: range.may_be_nan,
            headroom: ty.format().map(|f| f.max_finite() / magnitude(&range)),
            own: None,
            amplification: SmallVec::new(),
            error: self.bound(value, f64::INFINITY),
            sampled: None,
            norm2: None,
        }
    }

    fn row(&self, value: Value, row: Row) -> Row {
        let steepest = |s: ngc_numerics::Sensitivity| if s.jump > 0.0 { f64::INFINITY } else { s.lipschitz };
        let amplification = self.errors.amplification(value).map(steepest).collect();
        Row { amplification, sampled: self.sampled(value), ..row }
    }

    fn output(&self, n: usize, value: Value) -> Output {
        let followed = self.given.and_then(|followed| followed.as_ref().ok()?.get(n));
        let followed = followed.filter(|f| f.error < self.errors.absolute(value));
        let first = unbounded::first(self.body, self.errors, value).filter(|_| followed.is_none());
        let place = |u: Unbounded| (self.body.name(u.op), self.body.op(u.op).loc.clone(), u.why);
        Output {
            ty: self.body.ty(value),
            error: self.bound(value, followed.map_or(f64::INFINITY, |f| f.error)),
            unbounded: first.map(place),
            followed: followed.cloned(),
            sampled: self.sampled(value),
        }
    }

    /// Of an error that is known to be below a limit.
    fn bound(&self, value: Value, limit: f64) -> Bound {
        let absolute = self.errors.absolute(value).min(limit);
        let format = self.body.ty(value).format();
        Bound {
            absolute,
            ulps: format.map(|f| self.errors.ulps_of(value, absolute, f)),
            relative: self.errors.relative_of(value, absolute, self.floor),
        }
    }

    fn sampled(&self, value: Value) -> Option<Sampled> {
        self.calibration.and_then(|c| c.of(value))
    }

    /// What the rounding of each result of an op adds to each output.
    fn contributions(&self) -> Vec<SmallVec<[f64; 1]>> {
        let values =
            self.errors.ops().iter().flat_map(|(op, figures)| figures.iter().zip(self.body.results(*op)));
        let results = self.errors.results();
        let of = |(own, v): (&Figures, Value)| {
            let carried = self.errors.contribution(v, own).zip(results).enumerate();
            let part = |(n, (carried, &end)): (usize, (f64, &Value))| self.part(n, end, v).unwrap_or(carried);
            carried.map(part).collect()
        };
        values.map(of).collect()
    }

    /// What the op's roundings became in a result at the samples, where the bound rests on that.
    fn part(&self, n: usize, result: Value, value: Value) -> Option<f64> {
        let followed = self.given?.as_ref().ok()?.get(n)?;
        let op = self.body.defining_op(value)?;
        let known = followed.parts.iter().find(|(of, _)| *of == op);
        (followed.error < self.errors.absolute(result)).then(|| known.map_or(0.0, |(_, part)| *part))
    }
}

fn own_figures(own: &Figures) -> Own {
    let steep = own.sensitivity.iter().map(|way| if way.jump > 0.0 { f64::INFINITY } else { way.lipschitz });
    Own {
        lipschitz: steep.fold(0.0, add),
        delta: own.delta,
        condition: own.condition,
        curvature: own.curvature,
        share: SmallVec::new(),
    }
}

/// The name that the attributes of a function give its `n`-th argument: `ng.name`, as importers write it.
pub fn argument_label(attrs: &AttrDict, n: usize) -> Option<String> {
    match attrs.get("arg_attrs")?.as_array()?.get(n)? {
        Attr::Dict(dict) => dict.get("ng.name")?.as_str().map(str::to_string),
        _ => None,
    }
}

/// The name of an argument without a label: as its location says, or as the source spells it, without `%`.
pub fn argument_name(loc: &Loc, sources: &Sources) -> Option<String> {
    match loc {
        Loc::Source { file, offset } => {
            let rest = sources.file(*file)?.text.get(*offset as usize..)?.strip_prefix('%')?;
            let end = rest.find(|c: char| !(c.is_alphanumeric() || "_$.-".contains(c))).unwrap_or(rest.len());
            Some(rest[..end].to_string())
        }
        Loc::Explicit(kind) => match &**kind {
            LocKind::Name(name, _) => Some(name.to_string()),
            _ => None,
        },
        Loc::Unknown => None,
    }
}
