//! Makes functions of the IR from implementations.

use std::collections::HashMap;

use ngc_dialects::ng::constant::tensor_to_attr_of;
use ngc_dialects::num::IMPLEMENTS;
use ngc_ir::op_def::{AttrDef, AttrKind, OperandDef, ValueKind};
use ngc_ir::{
    Attr, AttrDict, Body, Builder, Context, Diagnostic, Dim, Loc, Module, OpDef, OpState, Type, Value,
    nearest,
};
use ngc_numerics::{DType, Data, Format, Tensor};
use rug::Float;
use rustc_hash::FxBuildHasher;

use crate::text::{Item, Operand, Statement, Text, Word};

/// The attribute of a function that may call functions of a library.
pub const CALLS: &str = "ng.calls";

/// The symbol of an implementation in a module: `exp_f32`.
pub fn symbol(text: &Text) -> String {
    format!("{}_{}", text.name, format_of(text).name())
}

/// The format of the result of an implementation, that of its first argument.
pub fn format_of(text: &Text) -> Format {
    text.arguments.first().map_or(Format::F32, |(format, _)| *format)
}

/// A module with a function of scalars for each implementation.
///
/// # Errors
/// What is wrong with the first implementation that is not right, located.
pub fn module(context: &Context, texts: &[Text]) -> Result<Module, Diagnostic> {
    module_of(context, texts, None)
}

/// As [`module`], with arguments that are arrays of this length.
///
/// # Errors
/// As [`module`].
pub fn module_of(context: &Context, texts: &[Text], length: Option<Dim>) -> Result<Module, Diagnostic> {
    let mut module = Module::new();
    let mut made: HashMap<String, &Loc, FxBuildHasher> = HashMap::default();
    for text in texts {
        if let Some(&first) = made.get(&symbol(text)) {
            let message = format!("{} is implemented twice for {}", text.name, format_of(text));
            return Err(Diagnostic::error(text.loc.clone(), message).note(first.clone(), "the first one"));
        }
        made.insert(symbol(text), &text.loc);
        function(context, text, length, &mut module)?;
    }
    Ok(module)
}

fn function(
    context: &Context,
    text: &Text,
    length: Option<Dim>,
    module: &mut Module,
) -> Result<(), Diagnostic> {
    let fail = |message: String| Diagnostic::error(text.loc.clone(), message);
    let def = context.op("func.func").ok_or_else(|| fail("the dialect 'func' is not registered".into()))?;
    let typed = |elem: DType| match length {
        Some(length) => Type::tensor([length], elem),
        None => Type::scalar(elem),
    };
    let mut body = Body::new();
    let root = body.root();
    let block = body.add_block(root);
    let mut writer = Writer { context, names: HashMap::default(), format: format_of(text) };
    let mut inputs = Vec::new();
    for (format, name) in &text.arguments {
        let ty = typed(DType::Float(*format));
        let value = body.add_argument(block, ty, name.loc.clone());
        writer.define(name, value)?;
        inputs.push(ty);
    }
    let mut returned = None;
    for statement in &text.statements {
        if returned.is_some() {
            return Err(Diagnostic::error(statement.op.loc.clone(), "stands behind `ret`, which ends it"));
        }
        let mut builder = Builder::at_end(context, &mut body, block, statement.op.loc.clone());
        if statement.op.text == "ret" {
            returned = Some(writer.returned(&mut builder, statement, inputs[0])?);
        } else {
            writer.statement(&mut builder, statement)?;
        }
    }
    let returned = returned.ok_or_else(|| fail(format!("{} does not end in `ret`", text.name)))?;
    let mut builder = Builder::at_end(context, &mut body, block, text.loc.clone());
    builder.op("func.return", &[returned], AttrDict::EMPTY).map_err(fail)?;
    let mut attrs = AttrDict::EMPTY;
    attrs.set("sym_name", symbol(text).as_str());
    attrs.set(IMPLEMENTS, text.name.as_str());
    if text.calls {
        attrs.set(CALLS, true);
    }
    attrs.set("function_type", Type::function(&inputs, &[inputs[0]]));
    let top = module.body.entry().ok_or_else(|| fail("a module has no block".into()))?;
    let op = module.body.create(OpState { attrs, ..OpState::new(def, text.loc.clone()) });
    module.body.append(top, op);
    module.body.set_body(op, body);
    Ok(())
}

/// Writes the statements of one implementation.
struct Writer<'a> {
    context: &'a Context,
    names: HashMap<String, (Value, Loc), FxBuildHasher>,
    /// Of numbers where nothing else says it.
    format: Format,
}

impl Writer<'_> {
    fn define(&mut self, name: &Word, value: Value) -> Result<(), Diagnostic> {
        if name.text == "_" {
            return Ok(());
        }
        if let Some((_, first)) = self.names.insert(name.text.clone(), (value, name.loc.clone())) {
            let message = format!("'{}' is defined twice; a name stands for one value", name.text);
            return Err(Diagnostic::error(name.loc.clone(), message).note(first, "the first definition"));
        }
        Ok(())
    }

    fn value(&self, name: &Word) -> Result<Value, Diagnostic> {
        self.names.get(&name.text).map(|(value, _)| *value).ok_or_else(|| {
            let near = nearest::nearest(&name.text, self.names.keys().map(String::as_str));
            let hint = near.map_or(String::new(), |n| format!("; did you mean '{n}'?"));
            Diagnostic::error(
                name.loc.clone(),
                format!("there is no value '{}' before this place{hint}", name.text),
            )
        })
    }

    /// The value that `ret` gives.
    fn returned(&self, b: &mut Builder<'_>, s: &Statement, ty: Type) -> Result<Value, Diagnostic> {
        let fail = |message: String| Err(Diagnostic::error(s.op.loc.clone(), message));
        let ([operand], [], []) = (&s.operands[..], &s.results[..], &s.items[..]) else {
            return fail("`ret` gives one value: `ret r`".into());
        };
        let value = match operand {
            Operand::Name(name) => self.value(name)?,
            Operand::Number(number) => constant(b, number, DType::Float(self.format))?,
        };
        let found = b.ty(value);
        if found.elem() != ty.elem() {
            return fail(format!("gives a value of type {found} where the argument has type {ty}"));
        }
        Ok(value)
    }

    fn statement(&mut self, b: &mut Builder<'_>, s: &Statement) -> Result<(), Diagnostic> {
        let fail = |message: String| Diagnostic::error(s.op.loc.clone(), message);
        let def = self.op(&s.op)?;
        let mut known: Vec<Option<Value>> = Vec::new();
        for operand in &s.operands {
            known.push(match operand {
                Operand::Name(name) => Some(self.value(name)?),
                Operand::Number(_) => None,
            });
        }
        let mut operands = Vec::new();
        for (n, (operand, value)) in s.operands.iter().zip(&known).enumerate() {
            operands.push(match (operand, value) {
                (_, Some(value)) => *value,
                (Operand::Number(number), None) => {
                    let kind = kind_of(def, n).ok_or_else(|| {
                        fail(format!("'{}' takes {} operands", s.op.text, def.operands.len()))
                    })?;
                    constant(b, number, self.elem(b, def, &known, kind))?
                }
                (Operand::Name(name), None) => self.value(name)?,
            });
        }
        let like = operands.first().and_then(|&v| b.ty(v).elem());
        let attrs = attributes(def, s, like.unwrap_or(DType::Float(self.format)), self.format)?;
        let op = b.op(def.name, &operands, attrs).map_err(fail)?;
        // Verifiers look beyond types: what they refuse is refused here, at its place.
        if let Some(verify) = def.verify {
            let types = b.body.result_types(op);
            b.body
                .with_signature(op, |s| verify(s, &types))
                .unwrap_or(Ok(()))
                .map_err(|m| fail(format!("'{}' {m}", s.op.text)))?;
        }
        let results: Vec<Value> = b.body.results(op).collect();
        if results.len() != s.results.len() {
            let names: Vec<&str> = def.results.iter().map(|r| r.name).collect();
            return Err(fail(format!(
                "'{}' has {} results ({}), but {} names are given",
                s.op.text,
                results.len(),
                names.join(", "),
                s.results.len()
            )));
        }
        for (name, value) in s.results.iter().zip(results) {
            self.define(name, value)?;
        }
        Ok(())
    }

    /// The op of a statement, in `num` or else in `ng`.
    fn op(&self, word: &Word) -> Result<&'static OpDef, Diagnostic> {
        let found =
            ["num", "ng"].iter().find_map(|dialect| self.context.op(&format!("{dialect}.{}", word.text)));
        found.ok_or_else(|| {
            let all = ngc_dialects::FAMILIES.iter().flat_map(|(_, ops)| ops.iter());
            let names = all.filter_map(|op| op.name.strip_prefix("num.").or(op.name.strip_prefix("ng.")));
            let hint = match nearest::nearest(&word.text, names.chain(["ret"])) {
                Some(near) => format!("did you mean '{near}'?"),
                None => "an implementation calls nothing: its statements are ops of `num` and pointwise ops of `ng`".into(),
            };
            Diagnostic::error(word.loc.clone(), format!("there is no op '{}'; {hint}", word.text))
        })
    }

    /// The type of a number that stands for an operand of a kind.
    fn elem(&self, b: &Builder<'_>, def: &'static OpDef, known: &[Option<Value>], kind: ValueKind) -> DType {
        let same = |other: ValueKind| {
            let general = |k| matches!(k, ValueKind::Number | ValueKind::Any);
            other == kind || general(other) && general(kind)
        };
        let mut alike = known.iter().enumerate().filter(|(n, _)| kind_of(def, *n).is_some_and(same));
        let found = alike.find_map(|(_, value)| b.ty((*value)?).elem());
        found.unwrap_or_else(|| match kind {
            ValueKind::Int => DType::Int(self.format.width() as u8),
            ValueKind::Bool => DType::BOOL,
            _ => DType::Float(self.format),
        })
    }
}

fn kind_of(def: &'static OpDef, n: usize) -> Option<ValueKind> {
    def.operands.get(n).map(|operand: &OperandDef| operand.kind)
}

fn constant(b: &mut Builder<'_>, number: &Word, elem: DType) -> Result<Value, Diagnostic> {
    let value = read(&number.text, elem).map_err(|m| Diagnostic::error(number.loc.clone(), m))?;
    b.constant(tensor_to_attr_of(&tensor(elem, vec![], vec![value]), Type::scalar(elem)))
        .map_err(|m| Diagnostic::error(number.loc.clone(), m))
}

/// A number of a type, exactly.
#[derive(Clone, Copy)]
enum Number {
    Float(f64),
    Int(i64),
}

fn tensor(dtype: DType, shape: Vec<usize>, values: Vec<Number>) -> Tensor {
    let float = |n: &Number| match *n {
        Number::Float(x) => x,
        Number::Int(i) => i as f64,
    };
    let int = |n: &Number| match *n {
        Number::Int(i) => i,
        Number::Float(x) => x as i64,
    };
    let data = match dtype {
        DType::Float(_) => Data::Float(values.iter().map(float).collect()),
        _ => Data::Int(values.iter().map(int).collect()),
    };
    Tensor { dtype, shape, data }
}

/// Bits that decide how a decimal rounds: more than any number of a format and half of one have places.
const DECIMAL_BITS: u32 = 4096;

/// Reads a number, rounded once to the format; integers in decimal, or in hexadecimal as bits.
fn read(text: &str, elem: DType) -> Result<Number, String> {
    let hexadecimal = text.trim_start_matches(['+', '-']).strip_prefix("0x");
    match elem {
        DType::Float(format) => {
            if hexadecimal.is_some() {
                return Err(format!("{text} is an integer; a number of {format} is written in decimal"));
            }
            let (sign, size) = match text.strip_prefix('-') {
                Some(rest) => (-1.0, rest),
                None => (1.0, text.trim_start_matches('+')),
            };
            let value = match size {
                "inf" => f64::INFINITY,
                "nan" => f64::NAN,
                _ => {
                    let parsed = Float::parse(size).map_err(|e| format!("'{text}' is no number: {e}"))?;
                    format.round_real(&Float::with_val(DECIMAL_BITS, parsed))
                }
            };
            if value.is_infinite() && size != "inf" {
                return Err(format!("{text} is beyond the greatest number of {format}"));
            }
            Ok(Number::Float(sign * value))
        }
        DType::BOOL | DType::Index => {
            Err(format!("the number {text} stands where a value of type {elem} is needed"))
        }
        _ => {
            let bits = match hexadecimal {
                Some(digits) => {
                    i128::from_str_radix(digits, 16).map(|v| if text.starts_with('-') { -v } else { v })
                }
                None => text.parse(),
            };
            let value =
                bits.map_err(|_| format!("{text} is no integer, and a value of type {elem} is needed"))?;
            let (least, greatest) = elem.int_range();
            let most =
                if hexadecimal.is_some() { 2 * i128::from(greatest) + 1 } else { i128::from(greatest) };
            if value < i128::from(least) || value > most {
                return Err(format!("{text} is no value of {elem}"));
            }
            Ok(Number::Int(elem.wrap(value as i64)))
        }
    }
}

/// The attributes of a statement, from what stands in its brackets. `like` is the element type of the first operand.
fn attributes(
    def: &'static OpDef,
    s: &Statement,
    like: DType,
    format: Format,
) -> Result<AttrDict, Diagnostic> {
    let mut attrs = AttrDict::EMPTY;
    let (mut powers, mut factors, mut entries) = (Vec::new(), Vec::new(), Vec::new());
    // Entries of a table have no operand to take their type from.
    let of_place = def.operands.first().is_some_and(|o| o.kind == ValueKind::Int);
    let mut elem = if of_place { DType::Float(format) } else { like };
    let kind = |wanted: fn(&AttrKind) -> bool| def.attributes.iter().find(|a| wanted(&a.kind));
    let is_type = |k: &AttrKind| matches!(k, AttrKind::ElemType | AttrKind::Format);
    let is_elements = |k: &AttrKind| matches!(k, AttrKind::Elements);
    for (item, loc) in &s.items {
        let fail = |message: String| Diagnostic::error(loc.clone(), message);
        let known = || {
            let names: Vec<&str> = def.attributes.iter().map(|a| a.name).collect();
            format!(
                "'{}' has the attributes: {}",
                s.op.text,
                if names.is_empty() { "none".into() } else { names.join(", ") }
            )
        };
        match item {
            Item::Term(power, factor) => {
                let exponents = def.attribute("exponents");
                exponents.ok_or_else(|| {
                    fail(format!("{power}: {factor} is a term of a polynomial; {}", known()))
                })?;
                powers.push(
                    power.parse::<i64>().map_err(|_| fail(format!("{power} is no power of a polynomial")))?,
                );
                factors.push(read(factor, like).map_err(fail)?);
            }
            Item::Setting(name, values) => {
                let attribute =
                    def.attribute(name).ok_or_else(|| fail(format!("there is no '{name}'; {}", known())))?;
                attrs.set(attribute.name, setting(attribute, values, like).map_err(fail)?);
            }
            Item::Number(number) => match (kind(is_elements), kind(|k| *k == AttrKind::Int)) {
                (Some(_), _) if def.attribute("exponents").is_none() => entries.push((number, loc)),
                (_, Some(attribute)) => {
                    attrs.set(
                        attribute.name,
                        setting(attribute, std::slice::from_ref(number), like).map_err(fail)?,
                    );
                }
                _ => return Err(fail(format!("no attribute takes the number {number}; {}", known()))),
            },
            Item::Word(word) => {
                let ty = DType::from_name(word);
                let of_word = def
                    .attributes
                    .iter()
                    .find(|a| matches!(a.kind, AttrKind::Enum(n) if n.contains(&word.as_str())));
                match (ty, kind(is_type), of_word) {
                    (Some(ty), Some(attribute), _) => attrs.set(attribute.name, Type::scalar(ty)),
                    (Some(ty), None, _) if kind(is_elements).is_some() && of_place => elem = ty,
                    (None, _, Some(attribute)) => attrs.set(attribute.name, word.as_str()),
                    _ => return Err(fail(format!("no attribute takes the word '{word}'; {}", known()))),
                }
            }
        }
    }
    if !powers.is_empty() {
        attrs.set("exponents", Attr::ints(powers));
        attrs.set("coefficients", elements(like, factors));
    }
    if let (false, Some(attribute)) = (entries.is_empty(), kind(is_elements)) {
        let values: Result<Vec<Number>, Diagnostic> = entries
            .into_iter()
            .map(|(text, loc)| read(text, elem).map_err(|m| Diagnostic::error(loc.clone(), m)))
            .collect();
        attrs.set(attribute.name, elements(elem, values?));
    }
    Ok(attrs)
}

fn elements(elem: DType, values: Vec<Number>) -> Attr {
    let count = values.len();
    tensor_to_attr_of(&tensor(elem, vec![count], values), Type::tensor([Dim::Static(count)], elem))
}

/// The value of an attribute that is set by its name.
fn setting(attribute: &AttrDef, values: &[String], like: DType) -> Result<Attr, String> {
    let name = attribute.name;
    let one = || match values {
        [value] => Ok(value.as_str()),
        _ => Err(format!("'{name}' takes one value")),
    };
    let whole = |text: &str| match read(text, DType::Int(64))? {
        Number::Int(i) => Ok(i),
        Number::Float(_) => Err(format!("{text} is no integer")),
    };
    Ok(match attribute.kind {
        AttrKind::Int => Attr::int(whole(one()?)?),
        AttrKind::Ints => Attr::ints(values.iter().map(|v| whole(v)).collect::<Result<Vec<_>, _>>()?),
        AttrKind::Float => match read(one()?, like)? {
            Number::Float(x) => Attr::Float(x, Type::scalar(like)),
            Number::Int(_) => return Err(format!("'{name}' takes a floating-point number")),
        },
        AttrKind::Elements => {
            elements(like, values.iter().map(|v| read(v, like)).collect::<Result<Vec<_>, _>>()?)
        }
        AttrKind::Enum(_) | AttrKind::Str => Attr::from(one()?),
        AttrKind::ElemType | AttrKind::Format => {
            let value = one()?;
            Attr::Type(Type::scalar(DType::from_name(value).ok_or_else(|| format!("'{value}' is no type"))?))
        }
        _ => return Err(format!("'{name}' cannot be set here")),
    })
}
