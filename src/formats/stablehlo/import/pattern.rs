//! Regions of reductions and sorts as terms, to tell which of the known ones they are.

use ngc_ir::{Attr, Body, Op, Region, Value, ValueDef};

use super::node::Node;

/// A term longer or deeper than this is none of the known ones.
const MAX_TERM: usize = 600;
const MAX_DEPTH: usize = 40;

/// What a region of one block returns, in terms of its arguments `a0`, `a1`, ...: `add(a0,a1)`. Nothing if the region is
/// not of that kind or refers to values from outside.
pub(super) fn terms(body: &Body, region: Region) -> Option<Vec<String>> {
    let [block] = *body.blocks(region) else { return None };
    let last = body.last_op(block)?;
    body.operands(last).iter().map(|&v| term(body, v, 0)).collect()
}

fn term(body: &Body, value: Value, depth: usize) -> Option<String> {
    if depth > MAX_DEPTH {
        return None;
    }
    let op = match body.def(value) {
        ValueDef::Argument(_, n) => return Some(format!("a{n}")),
        ValueDef::Result(op, 0) => op,
        ValueDef::Result(..) => return None,
    };
    let name = body.name(op).split_once('.').map_or("", |(_, name)| name);
    if name == "constant" {
        let value = body.properties(op).get("value").or_else(|| body.attr(op, "value"))?;
        let tensor = ngc_dialects::ng::constant::attr_to_tensor(value).ok()?;
        return tensor.to_f64s().first().map(|x| format!("{x}"));
    }
    let head = if name == "compare" { direction(body, op)? } else { name.to_string() };
    let mut text = head + "(";
    for (i, &operand) in body.operands(op).iter().enumerate() {
        text += if i == 0 { "" } else { "," };
        text += &term(body, operand, depth + 1)?;
        if text.len() > MAX_TERM {
            return None;
        }
    }
    Some(text + ")")
}

/// `LT`, or `LT.TOTALORDER`.
fn direction(body: &Body, op: Op) -> Option<String> {
    let word = |name: &str| match body.properties(op).get(name).or_else(|| body.attr(op, name)) {
        Some(Attr::Str(text)) => Some(text.to_string()),
        Some(Attr::Opaque(text)) => {
            text.trim_end_matches('>').rsplit([' ', '<', '.']).next().map(str::to_string)
        }
        _ => None,
    };
    let order = word("compare_type").filter(|t| t == "TOTALORDER").map_or(String::new(), |t| format!(".{t}"));
    Some(word("comparison_direction")? + &order)
}

/// How two values are combined, by a reduction's region or by the op it names.
pub(super) fn combination(node: &Node<'_, '_>) -> Option<&'static str> {
    let known = |name: &str| {
        ["add", "multiply", "maximum", "minimum", "and", "or"].into_iter().find(|known| *known == name)
    };
    if let Some(applies) = node.word("applies") {
        return known(applies.strip_prefix("stablehlo.")?);
    }
    let [term] = &terms(node.body, node.region(0).ok()?)?[..] else { return None };
    known(term.strip_suffix("(a0,a1)").or_else(|| term.strip_suffix("(a1,a0)"))?)
}
