//! Programs as people write them, from folders of testdata: functions of one result, whose arguments have ranges.

use std::path::{Path, PathBuf};

use ngc_interp::Interpreter;
use ngc_ir::text::{ParseOptions, PrintOptions, parse_module, print_module};
use ngc_ir::{Attr, Body, Context, Module, Sources, Type, Value};
use ngc_numerics::{DType, Data, Evaluator, Mode, Random, Tensor};
use rug::Float;

/// Precision of evaluation.
pub const BITS: u32 = 300;

/// A function.
pub struct Program {
    pub name: String,
    pub body: Body,
    /// Types of the arguments, and the ranges of their elements.
    pub arguments: Vec<(Type, (f64, f64))>,
    /// A module with the function alone, as `@f`.
    module: Module,
}

/// All programs of a folder of testdata, in the order of files and text.
pub fn programs(context: &Context, folder: &str) -> Vec<Program> {
    // Tests of other crates read them too.
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let folder = above.map(|p| p.join("testdata").join(folder)).find(|p| p.is_dir()).expect("the folder");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("a folder of programs")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "ngir"))
        .collect();
    files.sort();
    files.iter().flat_map(|path| parsed(context, path)).collect()
}

fn parsed(context: &Context, path: &Path) -> Vec<Program> {
    let text = std::fs::read_to_string(path).expect("a program");
    let mut sources = Sources::new();
    let file = sources.add(path.display().to_string(), text, 1);
    let module = parse_module(context, &sources, file, &ParseOptions::default())
        .unwrap_or_else(|e| panic!("{}: {e:?}", path.display()));
    let each = |op| {
        let name = module.body.attr(op, "sym_name").and_then(Attr::as_str).expect("a name").to_string();
        let body = module.body.body(op).expect("a body").clone();
        let ranges = module.body.attr(op, "arg_attrs").and_then(Attr::as_array).expect("ranges");
        let range = |attr: &Attr| {
            let Attr::Dict(dict) = attr else { panic!("@{name}: an argument without a range") };
            let ends = dict.get("ng.range").and_then(Attr::as_array).expect("a range");
            let end = |n: usize| ends[n].as_float().or(ends[n].as_int().map(|x| x as f64)).expect("an end");
            (end(0), end(1))
        };
        let block = body.entry().expect("a block");
        let types = body.arguments(block).iter().map(|&v| body.ty(v));
        let arguments = types.zip(ranges.iter().map(range)).collect();
        let mut alone = Module::new();
        let top = alone.body.entry().expect("a block");
        let mut state = ngc_ir::OpState::new(context.op("func.func").expect("func"), ngc_ir::Loc::Unknown);
        state.attrs = module.body.op(op).attrs.clone();
        state.attrs.set("sym_name", "f");
        let copy = alone.body.create(state);
        alone.body.append(top, copy);
        Program { name: name.clone(), body, arguments, module: alone }
    };
    module.functions().into_iter().map(each).collect()
}

impl Program {
    /// The function with another body.
    pub fn with(&self, body: &Body) -> Module {
        let mut module = self.module.clone();
        let op = module.ops().next().expect("the function");
        module.body.set_body(op, body.clone());
        module
    }

    /// Whether a constant of it is a mask: an infinity, or a number whose exponential big floats do not hold.
    pub fn masks(&self) -> bool {
        let mask = |op| self.body.attr(op, "value").and_then(Attr::as_float).is_some_and(|x| x.abs() >= 1e9);
        self.body.walk().into_iter().any(mask)
    }

    /// A body of the function as text.
    pub fn text(&self, body: &Body) -> String {
        print_module(&self.with(body), &PrintOptions::default())
    }

    /// Inputs in the ranges of the arguments.
    pub fn inputs(&self, r: &mut Random) -> Vec<Tensor> {
        let input = |&(ty, (lo, hi)): &(Type, (f64, f64))| {
            let shape = ty.static_shape().expect("static extents");
            let count = shape.iter().product::<usize>();
            let data = match ty.elem() {
                Some(DType::Float(format)) => {
                    Data::Float((0..count).map(|_| format.round(r.uniform(lo, hi))).collect())
                }
                _ => Data::Int(
                    (0..count).map(|_| lo as i64 + r.below((hi - lo) as usize + 1) as i64).collect(),
                ),
            };
            Tensor { dtype: ty.elem().expect("numbers"), shape, data }
        };
        self.arguments.iter().map(input).collect()
    }

    /// What a body of the function computes at 300 bits.
    pub fn evaluate(&self, context: &Context, body: &Body, inputs: &[Tensor]) -> Result<Tensor, String> {
        let module = self.with(body);
        let evaluator = Evaluator::new(Mode::Real { bits: BITS });
        let mut results = Interpreter::new(context, &module, evaluator)
            .call("f", inputs)
            .map_err(|e| format!("{}: {}", self.name, e.message))?;
        Ok(results.remove(0))
    }
}

/// The value that a body returns.
pub fn returned(body: &Body) -> Value {
    let block = body.entry().expect("a block");
    body.operands(body.last_op(block).expect("a return"))[0]
}

/// Whether two tensors agree to 60 digits of their greatest element.
pub fn agree(a: &Tensor, b: &Tensor) -> bool {
    let reals = |t: &Tensor| -> Vec<Float> {
        match &t.data {
            Data::Real(values) => values.clone(),
            Data::Float(values) => values.iter().map(|&x| Float::with_val(BITS, x)).collect(),
            Data::Int(values) => values.iter().map(|&x| Float::with_val(BITS, x)).collect(),
        }
    };
    let (a, b) = (reals(a), reals(b));
    let scale = b.iter().filter(|x| x.is_finite()).fold(Float::new(BITS), |s, x| s.max(&x.clone().abs()));
    let tolerance = scale * Float::with_val(BITS, Float::parse("1e-60").expect("a number"));
    a.len() == b.len()
        && a.iter().zip(&b).all(|(x, y)| match x.is_finite() && y.is_finite() {
            true => Float::with_val(BITS, x - y).abs() <= tolerance,
            false => x == y,
        })
}
