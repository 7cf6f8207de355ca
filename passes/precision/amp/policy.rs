//! Assignments of formats as AMP makes them: by lists of ops, or by a file.

use std::collections::BTreeSet;

use ngc_ir::{Body, Context, Loc, Op, Type};
use ngc_numerics::Format;
use rustc_hash::FxHashMap;
use serde_json::Value as Json;

use crate::precision::assign::explain::is_called;
use crate::precision::assign::node::{Node, takes};
use crate::precision::storage::Storage;
use crate::precision::{constant, conversion};

/// Which format an op runs in.
#[derive(Clone, Debug)]
pub struct Policy {
    /// What it is called.
    pub name: String,
    /// The lower of its formats.
    pub low: Format,
    /// The higher one.
    pub high: Format,
    /// Names of ops, and where it is from a file of modules and of values too, and their formats; of several the longest counts.
    named: Vec<(String, Format)>,
    /// Whether the names are those of ops alone.
    lists: bool,
    /// The format of all else; where there is none, the widest that an op reads.
    other: Option<Format>,
}

/// Ops that autocast of torch runs in the lower format on CUDA (torch 2.15, ATen/autocast_mode.h, AT_FORALL_LOWER_PRECISION_FP).
const CUDA_LOW: &[&str] = &["matmul", "affine", "conv", "attention", "prelu"];
/// Those that it runs in f32 there (AT_FORALL_FP32 and AT_FORALL_FP32_SET_OPT_DTYPE).
const CUDA_HIGH: &[&str] = &[
    "acos",
    "asin",
    "cosh",
    "exp",
    "expm1",
    "log",
    "log10",
    "log2",
    "log1p",
    "reciprocal",
    "rsqrt",
    "sinh",
    "tan",
    "pow",
    "softplus",
    "layer_norm",
    "rms_norm",
    "group_norm",
    "norm",
    "normalize",
    "nll",
    "cross_entropy",
    "logsumexp",
    "reduce_sum",
    "reduce_prod",
    "softmax",
    "log_softmax",
    "cumprod",
    "cumsum",
];
/// Ops that have the format of what they are of, whatever their parameters have.
const OF_FIRST: &[&str] = &["ng.batch_norm"];
/// Ops that autocast of torch runs in the lower format on a CPU (torch 2.15, found by running each).
const CPU_LOW: &[&str] = &["matmul", "affine", "conv", "attention"];
/// Those that it runs in f32 there.
const CPU_HIGH: &[&str] = &["reduce_prod", "nll", "cross_entropy"];

impl Policy {
    /// The names of policies that there are.
    pub const NAMES: &'static [&'static str] = &["torch-cuda", "torch-cpu"];

    /// A policy of these.
    pub fn of(name: &str) -> Option<Policy> {
        let (low, lower, higher) = match name {
            "torch-cuda" => (Format::F16, CUDA_LOW, CUDA_HIGH),
            "torch-cpu" => (Format::Bf16, CPU_LOW, CPU_HIGH),
            _ => return None,
        };
        let of = |names: &[&str], format| names.iter().map(|n| (n.to_string(), format)).collect::<Vec<_>>();
        let named = [of(lower, low), of(higher, Format::F32)].concat();
        Some(Policy { name: name.to_string(), low, high: Format::F32, named, lists: true, other: None })
    }

    /// A policy from JSON: an object with the member `formats`, from names of ops (`matmul`), of modules or of values (as locations
    /// have them) to names of formats, and perhaps `default`, the format of all else.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn parse(name: &str, text: &str) -> Result<Policy, String> {
        let json: Json = serde_json::from_str(text).map_err(|e| format!("it is no JSON: {e}"))?;
        let format = |name: &str, json: &Json| {
            let text = json.as_str().ok_or_else(|| format!("the format of '{name}' is no text"))?;
            Format::from_name(text)
                .filter(|f| f.width() >= 16 && *f != Format::Tf32)
                .ok_or_else(|| format!("'{text}' of '{name}' is none of f16, bf16, f32 and f64"))
        };
        let formats = json.get("formats").and_then(Json::as_object);
        let formats = formats.ok_or(
            "it has no member 'formats', as in {\"formats\": {\"matmul\": \"f16\"}, \"default\": \"f32\"}",
        )?;
        let named = formats.iter().map(|(own, f)| Ok((own.clone(), format(own, f)?)));
        let named = named.collect::<Result<Vec<_>, String>>()?;
        let other = json.get("default").map(|f| format("default", f)).transpose()?;
        let all = || named.iter().map(|(_, f)| *f).chain(other);
        let least = all().min_by_key(|f| (f.width(), f.precision())).ok_or("it names no format")?;
        let high = all()
            .max_by_key(|f| (f.width(), f.precision()))
            .map_or(Format::F32, |f| if f.width() > 32 { f } else { Format::F32 });
        Ok(Policy { name: name.to_string(), low: least, high, named, lists: false, other })
    }

    /// The formats of nodes, in order. Numbers in `f64` stay so, as does what converts to a format that it names.
    pub fn formats(&self, body: &Body, nodes: &[Node]) -> Vec<Storage> {
        let mut taken: FxHashMap<Op, Format> = FxHashMap::default();
        let formats = nodes.iter().map(|node| {
            let stays = node.given == Format::F64 || conversion(body, node.op).is_some();
            let given = node.given.word();
            let own = if stays { given } else { self.format(body, node.op, &taken).unwrap_or(given) };
            let own = if takes(body, node.op, own) { own } else { given };
            taken.insert(node.op, own);
            own.into()
        });
        formats.collect()
    }

    /// Those names of a file that are neither of an op that there is, nor of anything in a body.
    pub fn unknown(&self, context: &Context, body: &Body) -> BTreeSet<&str> {
        let ops = body.walk();
        let is_op = |name: &str| context.op(name).is_some() || context.op(&format!("ng.{name}")).is_some();
        let is_here = |name: &str| ops.iter().any(|&op| is_called(body.name(op), &body.op(op).loc, name));
        let names = self.named.iter().map(|(name, _)| name.as_str()).filter(|_| !self.lists);
        names.filter(|name| !is_op(name) && !is_here(name)).collect()
    }

    fn format(&self, body: &Body, op: Op, taken: &FxHashMap<Op, Format>) -> Option<Format> {
        let loc = if self.lists { &Loc::Unknown } else { &body.op(op).loc };
        let called = self.named.iter().filter(|(name, _)| is_called(body.name(op), loc, name));
        if let Some((_, format)) = called.max_by_key(|(name, _)| name.len()) {
            return Some(*format);
        }
        self.other.or_else(|| {
            // A single number takes the format of what it meets.
            let scalar = |ty: Type| ty.shape().is_some_and(<[_]>::is_empty);
            let count = if OF_FIRST.contains(&body.name(op)) { 1 } else { usize::MAX };
            let read = body
                .operands(op)
                .iter()
                .take(count)
                .filter(|v| !(constant(body, **v) && scalar(body.ty(**v))));
            let formats = read.filter_map(|v| {
                let own = body.ty(*v).format()?;
                Some(body.defining_op(*v).and_then(|op| taken.get(&op)).copied().unwrap_or(own))
            });
            formats.max_by_key(|f| (f.width(), f.precision()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_no_assignments() {
        for text in [
            "",
            "[]",
            "{}",
            r#"{"formats": {"matmul": 16}}"#,
            r#"{"formats": {"matmul": "f8E4M3FN"}}"#,
            r#"{"formats": {}}"#,
        ] {
            assert!(Policy::parse("file", text).is_err(), "{text}");
        }
        let policy =
            Policy::parse("file", r#"{"formats": {"matmul": "bf16", "a.b": "f64"}, "default": "f32"}"#);
        assert!(policy.is_ok_and(|policy| policy.low == Format::Bf16 && policy.high == Format::F64));
    }
}
