//! The custom forms of StableHLO and CHLO: they become the ops of the generic form, with its attributes.
//!
//! Most ops have one shape, `op %a, %b, key = value, ... {attributes} : types`; the others have a function here.

use std::sync::Arc;

use ngc_ir::text::{CustomForms, OpParser};
use ngc_ir::{Attr, AttrDict, Diagnostic, Ident, Type};

/// The custom forms.
pub(super) static FORMS: CustomForms = CustomForms { dialects: &["stablehlo", "chlo"], read };

type Read<T> = Result<T, Diagnostic>;
type Parser<'o, 'p, 'r, 'a> = &'o mut OpParser<'p, 'r, 'a>;

fn read(name: &str, p: Parser<'_, '_, '_, '_>) -> Read<()> {
    match name {
        "stablehlo.constant" | "chlo.constant" => constant(p),
        "stablehlo.compare" => compare(p),
        "stablehlo.slice" => slice(p),
        "stablehlo.convolution" => convolution(p),
        "stablehlo.reduce" => reduce(p),
        "stablehlo.while" => while_loop(p),
        "stablehlo.custom_call" => custom_call(p),
        "stablehlo.composite" => composite(p),
        "chlo.top_k" => top_k(p),
        "stablehlo.return" => {
            p.operands()?;
            let types = if p.num_operands() == 0 { Vec::new() } else { colon_types(p)? };
            p.signature(&types, &[])
        }
        _ => usual(name, p),
    }
}

/// `%a, %b, key = value {attributes} : types`.
fn usual(name: &str, p: Parser<'_, '_, '_, '_>) -> Read<()> {
    p.operands()?;
    let mut settings = AttrDict::EMPTY;
    let mut more = if p.num_operands() == 0 { !p.at(":") && !p.at("{") } else { p.eat(",") };
    while more {
        let key = p.word()?;
        p.expect("=")?;
        settings.set(key, setting(p)?);
        more = p.eat(",");
    }
    for (key, value) in settings.iter() {
        set(name, key.as_str(), value, p);
    }
    attributes(p)?;
    p.expect(":")?;
    let operands = p.num_operands();
    let (mut inputs, outputs) = types(p)?;
    let outputs = match outputs {
        Some(outputs) => {
            if inputs.len() == 1 {
                inputs = vec![inputs[0]; operands];
            }
            outputs
        }
        None if name == "stablehlo.optimization_barrier" => inputs.clone(),
        None => {
            let Some(&last) = inputs.last() else { return Err(p.error("expected a type")) };
            // `select` writes the types of its condition and of its values.
            inputs.resize(operands, last);
            vec![last]
        }
    };
    p.signature(&inputs, &outputs)
}

/// The value of a setting: `[1, 2]`, `[0] x [1]`, a number or a word.
fn setting(p: Parser<'_, '_, '_, '_>) -> Read<Attr> {
    if p.at("<") {
        return Ok(Attr::from(p.bracketed('<', '>')?));
    }
    if !p.at("[") {
        let word = p.word()?;
        return Ok(word.parse().map_or_else(|_| Attr::from(word), Attr::int));
    }
    let first = list(p.bracketed('[', ']')?);
    Ok(if p.eat("x") {
        let second = list(p.bracketed('[', ']')?);
        Attr::Array(Arc::new([first, second]))
    } else {
        first
    })
}

/// The integers of a list, or else its text.
fn list(text: &str) -> Attr {
    let items = text.split(',').map(str::trim).filter(|t| !t.is_empty());
    match items.map(|t| t.parse().ok()).collect::<Option<Vec<i64>>>() {
        Some(ints) => Attr::ints(ints),
        None => Attr::from(text),
    }
}

/// Sets the property that a setting of the custom form stands for.
fn set(op: &str, key: &str, value: &Attr, p: Parser<'_, '_, '_, '_>) {
    let op = op.split_once('.').map_or(op, |(_, op)| op);
    let name = match (op, key) {
        ("broadcast_in_dim" | "dynamic_broadcast_in_dim", "dims") => "broadcast_dimensions",
        ("transpose", "dims") => "permutation",
        ("reverse", "dims") => "dimensions",
        ("iota" | "dynamic_iota", "dim") => "iota_dimension",
        (_, "dim") => "dimension",
        ("dynamic_slice", "sizes") => "slice_sizes",
        (_, "low") => "edge_padding_low",
        (_, "high") => "edge_padding_high",
        (_, "interior") => "interior_padding",
        (_, "precision") => "precision_config",
        ("dot_general", "batching_dims" | "contracting_dims") => {
            let kind = key.trim_end_matches("_dims");
            if let Some([lhs, rhs]) = value.as_array() {
                p.property(&format!("lhs_{kind}_dimensions"), lhs.clone());
                p.property(&format!("rhs_{kind}_dimensions"), rhs.clone());
            }
            return;
        }
        ("reduce_precision", "format") => {
            let bits = value.as_str().and_then(|t| t.strip_prefix('e')?.split_once('m'));
            if let Some((Ok(e), Ok(m))) = bits.map(|(e, m)| (e.parse::<i64>(), m.parse::<i64>())) {
                p.property("exponent_bits", e);
                p.property("mantissa_bits", m);
            }
            return;
        }
        (_, key) => key,
    };
    p.property(name, value.clone());
}

fn attributes(p: Parser<'_, '_, '_, '_>) -> Read<()> {
    if let Some(dict) = p.dictionary()? {
        p.attributes(&dict);
    }
    Ok(())
}

/// Operand types, and result types where an arrow stands before them.
fn types(p: Parser<'_, '_, '_, '_>) -> Read<(Vec<Type>, Option<Vec<Type>>)> {
    let inputs = if p.at("(") {
        p.types()?
    } else {
        let mut inputs = vec![p.ty()?];
        while p.eat(",") {
            inputs.push(p.ty()?);
        }
        inputs
    };
    let outputs = if p.eat("->") { Some(p.types()?) } else { None };
    Ok((inputs, outputs))
}

fn colon_types(p: Parser<'_, '_, '_, '_>) -> Read<Vec<Type>> {
    p.expect(":")?;
    Ok(types(p)?.0)
}

/// `: (types) -> types`.
fn function_type(p: Parser<'_, '_, '_, '_>) -> Read<()> {
    p.expect(":")?;
    let inputs = p.types()?;
    p.expect("->")?;
    let outputs = p.types()?;
    p.signature(&inputs, &outputs)
}

fn constant(p: Parser<'_, '_, '_, '_>) -> Read<()> {
    attributes(p)?;
    let value = p.attribute()?;
    let ty = match &value {
        Attr::Dense(dense) => dense.ty,
        Attr::Resource(_, ty) => *ty,
        _ => return Err(p.error_at_name("the value of a constant is dense<...> or dense_resource<...>")),
    };
    p.property("value", value);
    p.signature(&[], &[ty])
}

/// `compare LT, %a, %b, SIGNED : types`.
fn compare(p: Parser<'_, '_, '_, '_>) -> Read<()> {
    let direction = p.word()?;
    p.expect(",")?;
    p.operands()?;
    p.property("comparison_direction", direction);
    if p.eat(",") {
        let kind = p.word()?;
        p.property("compare_type", kind);
    }
    attributes(p)?;
    function_type(p)
}

/// `slice %x [0:2, 0:8:2] : types`.
fn slice(p: Parser<'_, '_, '_, '_>) -> Read<()> {
    p.operand()?;
    let text = p.bracketed('[', ']')?;
    let mut ranges = [Vec::new(), Vec::new(), Vec::new()];
    for range in text.split(',').map(str::trim).filter(|t| !t.is_empty()) {
        let numbers: Option<Vec<i64>> = range.split(':').map(|n| n.trim().parse().ok()).collect();
        let (start, limit, stride) = match numbers.as_deref() {
            Some([start, limit]) => (*start, *limit, 1),
            Some([start, limit, stride]) => (*start, *limit, *stride),
            _ => return Err(p.error_at_name("a range of a slice is start:limit or start:limit:stride")),
        };
        ranges[0].push(start);
        ranges[1].push(limit);
        ranges[2].push(stride);
    }
    for (name, numbers) in ["start_indices", "limit_indices", "strides"].into_iter().zip(ranges) {
        p.property(name, numbers);
    }
    attributes(p)?;
    function_type(p)
}

/// `(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {...} {...} : types`.
fn convolution(p: Parser<'_, '_, '_, '_>) -> Read<()> {
    p.expect("(")?;
    p.operands()?;
    p.expect(")")?;
    p.expect("dim_numbers")?;
    p.expect("=")?;
    let mut numbers = String::new();
    for (i, separator) in ["x", "->", ","].into_iter().enumerate() {
        numbers += if i == 0 { "" } else { "x" };
        numbers += &format!("[{}]", p.bracketed('[', ']')?);
        p.expect(separator)?;
    }
    p.property("dimension_numbers", numbers.as_str());
    p.expect("window")?;
    p.expect("=")?;
    let window = p.dictionary()?.unwrap_or_default();
    for (key, value) in window.iter() {
        let name = match key.as_str() {
            "stride" => "window_strides",
            "pad" => "padding",
            "lhs_dilate" => "lhs_dilation",
            "rhs_dilate" => "rhs_dilation",
            "reverse" => "window_reversal",
            _ => return Err(p.error_at_name(format!("a window has no '{key}'"))),
        };
        p.property(name, value.clone());
    }
    attributes(p)?;
    function_type(p)
}

/// `(%x init: %i), ... applies stablehlo.add across dimensions = [1] : types`, or with a region after the types.
fn reduce(p: Parser<'_, '_, '_, '_>) -> Read<()> {
    let mut inits = Vec::new();
    loop {
        p.expect("(")?;
        p.operand()?;
        p.expect("init")?;
        p.expect(":")?;
        inits.push(p.delayed_operand()?);
        p.expect(")")?;
        if !p.eat(",") {
            break;
        }
    }
    let count = inits.len();
    inits.into_iter().for_each(|name| p.push_operand(name));
    if p.eat("applies") {
        let op = p.word()?;
        p.property("applies", op);
    }
    p.expect("across")?;
    p.expect("dimensions")?;
    p.expect("=")?;
    let dimensions = list(p.bracketed('[', ']')?);
    p.property("dimensions", dimensions);
    attributes(p)?;
    function_type(p)?;
    if !p.eat("reducer") {
        return Ok(());
    }
    let (mut left, mut right) = (Vec::new(), Vec::new());
    for _ in 0..count {
        p.expect("(")?;
        left.push(argument(p)?);
        p.expect(",")?;
        right.push(argument(p)?);
        p.expect(")")?;
    }
    left.extend(right);
    p.region(&left)
}

/// `%x: type`, with a location or without.
fn argument<'a>(p: Parser<'_, '_, '_, 'a>) -> Read<(&'a str, Type)> {
    let name = p.value_name()?;
    p.expect(":")?;
    let ty = p.ty()?;
    if p.eat("loc") {
        p.bracketed('(', ')')?;
    }
    Ok((name, ty))
}

/// `(%i = %a, ...) : types cond {...} do {...}`.
fn while_loop(p: Parser<'_, '_, '_, '_>) -> Read<()> {
    p.expect("(")?;
    let mut names = Vec::new();
    while p.at("%") {
        names.push(p.value_name()?);
        p.expect("=")?;
        p.operand()?;
        if !p.eat(",") {
            break;
        }
    }
    p.expect(")")?;
    let types = if names.is_empty() { Vec::new() } else { colon_types(p)? };
    if p.eat("attributes") {
        attributes(p)?;
    }
    p.signature(&types, &types)?;
    let arguments: Vec<_> = names.into_iter().zip(types).collect();
    p.expect("cond")?;
    p.region(&arguments)?;
    p.expect("do")?;
    p.region(&arguments)
}

/// `@target(%a, %b) {...} : types`.
fn custom_call(p: Parser<'_, '_, '_, '_>) -> Read<()> {
    let target = p.attribute()?;
    p.property("call_target_name", target.as_symbol().unwrap_or_default());
    p.expect("(")?;
    p.operands()?;
    p.expect(")")?;
    attributes(p)?;
    function_type(p)
}

/// `"name" %a, %b {...} : types`.
fn composite(p: Parser<'_, '_, '_, '_>) -> Read<()> {
    let name = p.attribute()?;
    p.property("name", name);
    p.operands()?;
    attributes(p)?;
    function_type(p)
}

/// `(%x, k = 3) : type -> (types)`.
fn top_k(p: Parser<'_, '_, '_, '_>) -> Read<()> {
    p.expect("(")?;
    p.operand()?;
    while p.eat(",") {
        let key = p.word()?;
        p.expect("=")?;
        let value = setting(p)?;
        p.property(Ident::new(key).as_str(), value);
    }
    p.expect(")")?;
    attributes(p)?;
    p.expect(":")?;
    let (inputs, outputs) = types(p)?;
    p.signature(&inputs, &outputs.unwrap_or_default())
}
