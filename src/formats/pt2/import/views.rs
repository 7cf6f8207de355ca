//! Views of a tensor, and how a value is put into their place.
//!
//! A view is a part of a tensor, or its elements in another order or shape. Where one is changed in place, the tensor becomes
//! what it was with the new value in the place of the view: what `slice_scatter` and `select_scatter` are of `slice` and
//! `select`, and of the other views the view the other way round.

use super::super::schema::{Argument, Named, NamedArgument, Node, SymInt, SymIntArgument, TensorMeta};
use super::in_place::operator;

/// How a value is put into the place of a view.
enum Back {
    /// By the operator of this name, with what the view was taken by.
    Scatter(&'static str),
    /// As elements in the shape of the whole.
    Shape,
    /// By the view itself.
    Same,
    /// By the inverse of its permutation.
    Inverse,
}

/// The operator that takes this result of a node from its first operand, where the result is a view of that and of nothing
/// else. A part of several is a slice.
pub(super) fn taken_by(node: &Node, result: usize, whole: &TensorMeta) -> Option<Node> {
    let (name, overload) = operator(&node.target)?;
    let dim = || if argument(node, "dim").is_some() { int(node, "dim") } else { Some(0) };
    let slice = |start: i64, end: i64| {
        Some(node_of(node, "slice.Tensor", &[("dim", dim()?), ("start", start), ("end", end)]))
    };
    let n = i64::try_from(result).ok()?;
    match (name, overload) {
        ("unbind", "int") => Some(node_of(node, "select.int", &[("dim", dim()?), ("index", n)])),
        ("split", "Tensor") => {
            let size = int(node, "split_size")?;
            slice(size.checked_mul(n)?, size.checked_mul(n + 1)?)
        }
        ("split", "sizes") | ("split_with_sizes", "default") => {
            let sizes = ints(node, if name == "split" { "split_size" } else { "split_sizes" })?;
            let start = sizes.get(..result)?.iter().try_fold(0i64, |sum, &size| sum.checked_add(size))?;
            slice(start, start.checked_add(*sizes.get(result)?)?)
        }
        ("chunk", "default") => {
            let axis = dim()?.checked_rem_euclid(whole.sizes.len() as i64)?;
            let SymInt::AsInt(extent) = whole.sizes.get(usize::try_from(axis).ok()?)? else {
                return None;
            };
            let chunks = int(node, "chunks").filter(|&chunks| chunks > 0)?;
            let size = extent.checked_add(chunks - 1)? / chunks;
            slice(size.checked_mul(n)?, size.checked_mul(n + 1)?)
        }
        ("narrow", "default") => {
            let start = int(node, "start")?;
            slice(start, start.checked_add(int(node, "length")?).filter(|&end| start >= 0 || end < 0)?)
        }
        // In the type that it has a tensor stays itself.
        ("to", "dtype" | "dtype_layout" | "device") => {
            let is_same = match argument(node, "dtype") {
                Some(Argument::AsScalarType(dtype)) => *dtype == whole.dtype,
                None | Some(Argument::AsNone(_)) => true,
                _ => false,
            };
            let copies = |name| {
                !matches!(argument(node, name), None | Some(Argument::AsNone(_) | Argument::AsBool(false)))
            };
            (is_same && !copies("copy") && !copies("memory_format"))
                .then(|| node_of(node, "alias.default", &[]))
        }
        // What is in order stays where it is, in any shape.
        ("reshape" | "flatten" | "contiguous", _) => is_in_order(whole).then(|| node.clone()),
        _ => way_back(&node.target).map(|_| node.clone()),
    }
}

fn way_back(target: &str) -> Option<Back> {
    let (name, overload) = operator(target)?;
    Some(match (name, overload) {
        ("slice", "Tensor") => Back::Scatter("slice_scatter.default"),
        ("select", "int") => Back::Scatter("select_scatter.default"),
        ("diagonal", "default") => Back::Scatter("diagonal_scatter.default"),
        ("view" | "reshape" | "contiguous" | "detach" | "alias" | "unsqueeze", "default") => Back::Shape,
        ("squeeze", "default" | "dim" | "dims") | ("flatten", "using_ints") => Back::Shape,
        ("transpose", "int") | ("t" | "mT" | "adjoint", "default") => Back::Same,
        ("permute", "default") => Back::Inverse,
        _ => return None,
    })
}

/// The operator that puts a value into the place of a view of a whole; nothing where there is none.
pub(super) fn put(view: &Node, whole: String, part: String) -> Option<Node> {
    let mut node = view.clone();
    match way_back(&view.target)? {
        Back::Scatter(name) => {
            node.target = format!("torch.ops.aten.{name}");
            node.inputs[0] = tensor("self", whole);
            node.inputs.insert(1, tensor("src", part));
        }
        Back::Shape => {
            node.target = "torch.ops.aten.view_as.default".into();
            node.inputs = vec![tensor("self", part), tensor("other", whole)];
        }
        Back::Same => node.inputs[0] = tensor("self", part),
        Back::Inverse => {
            node.inputs[0] = tensor("self", part);
            let dims = ints(view, "dims")?;
            let mut inverse = vec![0; dims.len()];
            for (n, dim) in dims.iter().enumerate() {
                let dim = dim.checked_rem_euclid(dims.len() as i64)?;
                *inverse.get_mut(usize::try_from(dim).ok()?)? = n as i64;
            }
            let own = node.inputs.iter_mut().find(|input| input.name == "dims")?;
            own.arg = Argument::AsInts(inverse);
        }
    }
    Some(node)
}

/// Whether the elements lie one after the other.
fn is_in_order(of: &TensorMeta) -> bool {
    let mut next = 1;
    of.sizes.iter().zip(&of.strides).rev().all(|pair| match pair {
        (SymInt::AsInt(1), _) => true,
        (SymInt::AsInt(size), SymInt::AsInt(stride)) if *stride == next => {
            next = next.saturating_mul(*size);
            true
        }
        _ => false,
    })
}

/// Another operator on the first operand of a node.
fn node_of(node: &Node, name: &str, numbers: &[(&str, i64)]) -> Node {
    let mut own = node.clone();
    own.target = format!("torch.ops.aten.{name}");
    own.inputs.truncate(1);
    let number = |&(name, n): &(&str, i64)| NamedArgument { name: name.into(), arg: Argument::AsInt(n) };
    own.inputs.extend(numbers.iter().map(number));
    own
}

fn tensor(name: &str, of: String) -> NamedArgument {
    NamedArgument { name: name.into(), arg: Argument::AsTensor(Named { name: of }) }
}

fn argument<'a>(node: &'a Node, name: &str) -> Option<&'a Argument> {
    node.inputs.iter().find(|input| input.name == name).map(|input| &input.arg)
}

fn int(node: &Node, name: &str) -> Option<i64> {
    match argument(node, name)? {
        Argument::AsInt(n) | Argument::AsSymInt(SymIntArgument::AsInt(n)) => Some(*n),
        _ => None,
    }
}

fn ints(node: &Node, name: &str) -> Option<Vec<i64>> {
    match argument(node, name)? {
        Argument::AsInts(all) => Some(all.clone()),
        Argument::AsSymInts(all) => {
            let known = |n: &SymIntArgument| if let SymIntArgument::AsInt(n) = n { Some(*n) } else { None };
            all.iter().map(known).collect()
        }
        _ => None,
    }
}
