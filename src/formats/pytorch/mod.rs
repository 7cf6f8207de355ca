//! Modules as Python source: a `torch.nn.Module` whose methods are the functions, a line an op.
//!
//! An op is written by the function of PyTorch that means the same, else by the steps of its definition. PyTorch rounds as
//! its kernels do; what is kept is the mathematics. Weights are loaded from a safetensors file beside the source.

mod ops;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write;

use ngc_dialects::ng::constant::attr_to_tensor;
use ngc_ir::{Attr, Block, Body, Builder, Context, Module, Op, Type, Value};
use ngc_numerics::{DType, Format, Tensor};

use crate::error::{FormatError, Result, invalid, unsupported};
use crate::step::{Step, Steps, definition, entry, is_narrow, sums};
use crate::{functions, opaque};

/// A source file, and what there is to say about it.
#[derive(Debug)]
pub struct Exported {
    /// The text.
    pub text: String,
    /// Whether it loads the module's resources from the weights file.
    pub loads_weights: bool,
    /// What the text does not keep, in sentences.
    pub remarks: Vec<String>,
}

/// Decompositions nested deeper than this do not end.
const MAX_DEPTH: usize = 64;

/// Constants of more elements stand in the weights file.
pub const MAX_ELEMENTS: usize = 64;

/// Writes a module; the function that a model is made of (the only one, else `@main`, else the only one that no other
/// calls) becomes `forward`. `weights` is the name of the file with the module's resources, beside the source. Constants of
/// more than [`MAX_ELEMENTS`] elements must be resources.
///
/// # Errors
/// Names the function and the op that PyTorch lacks.
pub fn export(context: &Context, module: &Module, weights: &str) -> Result<Exported> {
    let forward = entry(module)?;
    let mut python = Python {
        context,
        module,
        body: Body::new(),
        names: HashMap::new(),
        used: HashSet::new(),
        lines: String::new(),
        fields: String::new(),
        field_names: HashMap::new(),
        used_fields: HashSet::new(),
        methods: HashMap::new(),
        narrow_sums: BTreeSet::new(),
        depth: 0,
    };
    let symbol = |op: Op| module.body.attr(op, "sym_name").and_then(Attr::as_str).unwrap_or_default();
    let mut taken: HashSet<String> = ["forward".to_string()].into();
    let written = || module.functions().into_iter().filter(|&op| opaque::of(module, symbol(op)).is_none());
    for op in written() {
        let name = match op == forward {
            true => "forward".to_string(),
            false => fresh(&mut taken, &format!("function_{}", identifier(symbol(op)))),
        };
        python.methods.insert(symbol(op).to_string(), name);
    }
    let mut methods = String::new();
    for op in written() {
        methods.push_str(&python.function(op).map_err(|e| e.within(format_args!("@{}", symbol(op))))?);
    }
    let loads_weights = python.field_names.values().any(|field| field.starts_with("w_"));
    let mut text = format!("\"\"\"A PyTorch module, written by ngc {}.\"\"\"\n\n", env!("CARGO_PKG_VERSION"));
    if loads_weights {
        text.push_str("from pathlib import Path\n\n");
    }
    text.push_str("import torch\nimport torch.nn.functional as F\n");
    if loads_weights {
        text.push_str("from safetensors.torch import load_file\n");
    }
    text.push_str("from torch import nn\n\n\nclass Model(nn.Module):\n");
    match loads_weights {
        true => {
            let _ = writeln!(
                text,
                "    def __init__(self, weights=Path(__file__).with_name({})):\n        super().__init__()\n        \
                 tensors = load_file(weights)",
                string(weights)
            );
        }
        false => text.push_str("    def __init__(self):\n        super().__init__()\n"),
    }
    text.push_str(&python.fields);
    text.push_str(&methods);
    let mut remarks = Vec::new();
    if !python.narrow_sums.is_empty() {
        let ops = python.narrow_sums.iter().copied().collect::<Vec<_>>().join(", ");
        remarks.push(format!("PyTorch accumulates sums of narrow formats in f32: {ops}"));
    }
    Ok(Exported { text, loads_weights, remarks })
}

/// A module while it is written.
struct Python<'a> {
    context: &'a Context,
    module: &'a Module,
    /// The function in hand; steps of its ops are added to it.
    body: Body,
    names: HashMap<Value, String>,
    used: HashSet<String>,
    lines: String,
    /// Lines of the constructor.
    fields: String,
    /// Fields by what they hold: the key of a weight, or the expression of a constant.
    field_names: HashMap<String, String>,
    used_fields: HashSet<String>,
    /// Methods by symbol.
    methods: HashMap<String, String>,
    narrow_sums: BTreeSet<&'static str>,
    depth: usize,
}

impl Python<'_> {
    fn function(&mut self, op: Op) -> Result<String> {
        let attrs = &self.module.body.op(op).attrs;
        let symbol = attrs.get("sym_name").and_then(Attr::as_str).unwrap_or_default();
        let Some((body, first)) = self.module.body.body(op).and_then(|b| Some((b.clone(), b.entry()?)))
        else {
            return invalid("the function has no body");
        };
        self.names.clear();
        self.used = RESERVED.iter().map(|word| word.to_string()).collect();
        self.lines.clear();
        let mut head = format!("\n    def {}(self", self.methods[symbol]);
        for (n, &value) in body.arguments(first).iter().enumerate() {
            let own = attrs.get("arg_attrs").and_then(Attr::as_array).and_then(|a| a.get(n));
            let named = match own {
                Some(Attr::Dict(own)) => own.get("ng.name").and_then(Attr::as_str),
                _ => None,
            };
            let name = fresh(&mut self.used, &named.map_or(format!("arg{n}"), identifier));
            let _ = write!(head, ", {name}");
            self.names.insert(value, name);
        }
        let arguments: Vec<String> =
            body.arguments(first).iter().map(|v| format!("{} {}", self.names[v], body.ty(*v))).collect();
        let _ = writeln!(head, "):");
        if !arguments.is_empty() {
            let _ = writeln!(head, "        # {}", comment(&arguments.join(", ")));
        }
        self.body = body;
        self.ops(first)?;
        Ok(head + &self.lines)
    }

    fn ops(&mut self, block: Block) -> Result<()> {
        let ops: Vec<Op> = self.body.ops(block).collect();
        ops.into_iter().try_for_each(|op| self.op(op))
    }

    fn op(&mut self, op: Op) -> Result<()> {
        let step = Step::of(&self.body, op)?;
        match step.def.name {
            "ng.constant" => Ok(()),
            "func.return" => {
                let values = self.operands(&step)?;
                let _ = writeln!(self.lines, "        return {}", values.join(", "));
                Ok(())
            }
            "func.call" => {
                let callee = step.attrs.get("callee").and_then(Attr::as_symbol).unwrap_or_default();
                let values = self.operands(&step)?;
                if let Some((operator, arguments)) = opaque::of(self.module, callee) {
                    let arguments: Vec<String> = arguments.iter().map(|a| filled(a, &values)).collect();
                    self.assign(&step, &format!("torch.ops.{operator}({})", arguments.join(", ")));
                    return Ok(());
                }
                let Some(method) = self.methods.get(callee).cloned() else {
                    return invalid(format!("a call of @{callee}, which has no body"));
                };
                self.assign(&step, &format!("self.{method}({})", values.join(", ")));
                Ok(())
            }
            _ => self.write(&step).map_err(|e| if self.depth == 0 { e.within(step.def.name) } else { e }),
        }
    }

    fn write(&mut self, step: &Step) -> Result<()> {
        for ty in step.types.iter().chain(&step.result_types) {
            dtype(*ty)?;
        }
        if let Some(format) = step.format() {
            if !step.sums_as_runtimes_do() {
                return self.lower(step, &sums(step, format)?);
            }
            let sums = step.def.attribute("accumulate").is_some();
            if sums && is_narrow(format) && step.signature().accumulate(format) == format {
                self.narrow_sums.insert(step.def.name);
            }
        }
        let operands = self.operands(step)?;
        if let Some(expression) = ops::expression(step, &operands)? {
            self.assign(step, &expression);
            return Ok(());
        }
        match definition(step).or_else(|| functions::of(step)) {
            Some(steps) => self.lower(step, &steps),
            None => {
                let types: Vec<String> = step.types.iter().map(Type::to_string).collect();
                unsupported(format!("PyTorch has no such op of {}", types.join(", ")))
            }
        }
    }

    fn lower(&mut self, step: &Step, steps: &Steps) -> Result<()> {
        if self.depth > MAX_DEPTH {
            return unsupported("its steps do not end");
        }
        let root = self.body.root();
        let block = self.body.add_block(root);
        let mut builder = Builder::at_end(self.context, &mut self.body, block, step.loc.clone());
        let values = steps(&mut builder, step).map_err(|e| FormatError::Unsupported(format!("it {e}")))?;
        self.depth += 1;
        let written = self.ops(block);
        self.depth -= 1;
        written?;
        for (&result, &value) in step.results.iter().zip(&values) {
            let name = self.value(value)?;
            self.names.insert(result, name);
        }
        Ok(())
    }

    fn assign(&mut self, step: &Step, expression: &str) {
        let mut names = Vec::new();
        for &result in &step.results {
            let name = fresh(&mut self.used, &format!("v{}", self.names.len()));
            self.names.insert(result, name.clone());
            names.push(name);
        }
        let origin = step.loc.name_in().map_or(String::new(), |name| format!("  # {}", comment(name)));
        let _ = writeln!(self.lines, "        {} = {expression}{origin}", names.join(", "));
    }

    fn operands(&mut self, step: &Step) -> Result<Vec<String>> {
        step.operands.iter().map(|&v| self.value(v)).collect()
    }

    /// The name of a value. A constant becomes a field when it is first asked for.
    fn value(&mut self, value: Value) -> Result<String> {
        if let Some(name) = self.names.get(&value) {
            return Ok(name.clone());
        }
        let op = self.body.defining_op(value).filter(|&op| self.body.name(op) == "ng.constant");
        let Some((op, attr)) = op.and_then(|op| Some((op, self.body.attr(op, "value")?.clone()))) else {
            return invalid("a value is used before it is computed");
        };
        let ty = self.body.ty(value);
        let name = match &attr {
            Attr::Resource(key, _) => self.weight(key.as_str(), ty)?,
            other => {
                // A small tensor with a name is a parameter like larger ones.
                let named = self.body.op(op).loc.name_in().filter(|_| self.depth == 0).map(str::to_string);
                let is_weight = ty.format().is_some() && ty.shape().is_some_and(|s| !s.is_empty());
                self.constant(other, ty, named.filter(|_| is_weight))?
            }
        };
        self.names.insert(value, name.clone());
        Ok(name)
    }

    fn weight(&mut self, key: &str, ty: Type) -> Result<String> {
        dtype(ty)?;
        let what = format!("tensors[{}]", string(key));
        if let Some(field) = self.field_names.get(&what) {
            return Ok(format!("self.{field}"));
        }
        let field = fresh(&mut self.used_fields, &format!("w_{}", identifier(key)));
        let line = match ty.elem().is_some_and(DType::is_float) {
            true => format!("self.{field} = nn.Parameter({what})"),
            false => format!("self.register_buffer(\"{field}\", {what})"),
        };
        let _ = writeln!(self.fields, "        {line}");
        self.field_names.insert(what, field.clone());
        Ok(format!("self.{field}"))
    }

    fn constant(&mut self, attr: &Attr, ty: Type, named: Option<String>) -> Result<String> {
        let what = match attr {
            Attr::Dense(d) if d.splat => {
                let one =
                    ngc_dialects::ng::constant::constant_elements(attr).map_err(FormatError::Invalid)?;
                let shape = ty.static_shape().unwrap_or_default();
                format!("torch.full({shape:?}, {}, dtype={})", number(&one, 0), dtype(ty)?)
            }
            _ => {
                let tensor = attr_to_tensor(attr).map_err(FormatError::Invalid)?;
                if tensor.len() > MAX_ELEMENTS {
                    return unsupported(format!(
                        "a constant of type {ty} in the text; it belongs into a weights file"
                    ));
                }
                let numbers: Vec<String> = (0..tensor.len()).map(|i| number(&tensor, i)).collect();
                match tensor.rank() {
                    0 => format!("torch.tensor({}, dtype={})", numbers.concat(), dtype(ty)?),
                    1 => format!("torch.tensor([{}], dtype={})", numbers.join(", "), dtype(ty)?),
                    _ => format!(
                        "torch.tensor([{}], dtype={}).reshape({:?})",
                        numbers.join(", "),
                        dtype(ty)?,
                        tensor.shape
                    ),
                }
            }
        };
        if let Some(named) = named {
            let field = fresh(&mut self.used_fields, &format!("w_{}", identifier(&named)));
            let _ = writeln!(self.fields, "        self.{field} = nn.Parameter({what})");
            return Ok(format!("self.{field}"));
        }
        if let Some(field) = self.field_names.get(&what) {
            return Ok(format!("self.{field}"));
        }
        let wanted = format!("c{}", self.used_fields.len());
        let field = fresh(&mut self.used_fields, &wanted);
        let _ = writeln!(self.fields, "        self.register_buffer(\"{field}\", {what}, persistent=False)");
        self.field_names.insert(what, field.clone());
        Ok(format!("self.{field}"))
    }
}

/// An argument with the names of the values that its `%N` stand for.
fn filled(argument: &str, values: &[String]) -> String {
    let mut parts = argument.split('%');
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let value = part[..digits].parse().ok().and_then(|n: usize| values.get(n));
        out.push_str(value.map_or("%", String::as_str));
        out.push_str(if value.is_some() { &part[digits..] } else { part });
    }
    out
}

/// Words that no name may be.
const RESERVED: &[&str] = &[
    "False",
    "None",
    "True",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "class",
    "continue",
    "def",
    "del",
    "elif",
    "else",
    "except",
    "finally",
    "for",
    "from",
    "global",
    "if",
    "import",
    "in",
    "is",
    "lambda",
    "nonlocal",
    "not",
    "or",
    "pass",
    "raise",
    "return",
    "try",
    "while",
    "with",
    "yield",
    "self",
    "torch",
    "F",
    "nn",
    "range",
    "slice",
    "tuple",
    "float",
    "max",
    "min",
    "abs",
    "Path",
    "load_file",
];

/// The element type in PyTorch.
pub(crate) fn dtype(ty: Type) -> Result<&'static str> {
    Ok(match ty.elem() {
        Some(DType::Float(Format::F64)) => "torch.float64",
        Some(DType::Float(Format::F32)) => "torch.float32",
        Some(DType::Float(Format::F16)) => "torch.float16",
        Some(DType::Float(Format::Bf16)) => "torch.bfloat16",
        Some(DType::Float(Format::F8E4M3FN)) => "torch.float8_e4m3fn",
        Some(DType::Float(Format::F8E5M2)) => "torch.float8_e5m2",
        Some(DType::Int(1)) => "torch.bool",
        Some(DType::Int(8)) => "torch.int8",
        Some(DType::Int(16)) => "torch.int16",
        Some(DType::Int(32)) => "torch.int32",
        Some(DType::Int(_) | DType::Index) => "torch.int64",
        Some(DType::Unsigned(8)) => "torch.uint8",
        Some(DType::Unsigned(16)) => "torch.uint16",
        Some(DType::Unsigned(32)) => "torch.uint32",
        _ => return unsupported(format!("PyTorch has no elements of {ty}")),
    })
}

/// An element as Python spells it.
fn number(tensor: &Tensor, i: usize) -> String {
    match tensor.as_ints() {
        Some(v) if tensor.dtype == DType::BOOL => if v[i] != 0 { "True" } else { "False" }.into(),
        Some(v) => v[i].to_string(),
        None => float(tensor.to_f64s()[i]),
    }
}

/// A number as Python spells it, exactly.
pub(crate) fn float(x: f64) -> String {
    if x.is_finite() { format!("{x:?}") } else { format!("float(\"{x}\")").to_ascii_lowercase() }
}

/// A string as Python spells it; JSON's spelling is among Python's.
pub(crate) fn string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Text for a comment, on one line.
fn comment(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') { ' ' } else { c })
        .collect()
}

/// A name made of letters, digits and underscores.
fn identifier(text: &str) -> String {
    let kept: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if kept.starts_with(|c: char| c.is_ascii_alphabetic()) { kept } else { format!("x{kept}") }
}

/// The name, or the first of `name_1`, `name_2` ... that is free.
fn fresh(used: &mut HashSet<String>, wanted: &str) -> String {
    let mut name = wanted.to_string();
    let mut n = 0;
    while !used.insert(name.clone()) {
        n += 1;
        name = format!("{wanted}_{n}");
    }
    name
}
