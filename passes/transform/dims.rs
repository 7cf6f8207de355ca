//! Names of dimensions: which `?` of a function's results equal which `?` of its arguments.
//!
//! Shape inference knows extents only as numbers, so names are found by trying numbers: the function's types are
//! inferred with distinct extents in the place of each name, and a result dimension that equals a name's extent
//! every time carries that name. Two trials use large extents and one small ones, so that clamped extents
//! (`min(b, 64)`, `max(b, 64)`) are not mistaken for `b`.

use std::collections::BTreeMap;

use ngc_ir::dominance::definition_order;
use ngc_ir::op_def::{Signature, Syntax};
use ngc_ir::pass::Function;
use ngc_ir::{Attr, AttrDict, Dim, Type};

/// A name with its range, if one is given.
struct Name {
    name: String,
    range: Option<Attr>,
}

/// Sets `ng.dims` and `ng.dim_range` of results whose `?` dimensions all have a name. Returns for how many results
/// that changed something.
pub(super) fn name_results(function: &mut Function) -> usize {
    let Some(ty) = function.ty() else { return 0 };
    let mut names: Vec<Name> = Vec::new();
    let arguments: Vec<BTreeMap<usize, usize>> =
        (0..ty.inputs.len()).map(|n| argument_names(function, n, ty.inputs[n], &mut names)).collect();
    if names.is_empty() || !ty.results.iter().any(|&t| is_dynamic(t)) {
        return 0;
    }
    let trials: Vec<Vec<usize>> = (0..3).map(|trial| extents(names.len(), trial)).collect();
    let shapes: Option<Vec<Vec<Type>>> =
        trials.iter().map(|e| try_extents(function, &arguments, e)).collect();
    let Some(shapes) = shapes else { return 0 };

    let mut changed = 0;
    let mut all: Vec<AttrDict> = (0..ty.results.len()).map(|n| result_attrs(function, n)).collect();
    for (n, attrs) in all.iter_mut().enumerate() {
        let found: Option<Vec<usize>> = dynamic_dims(ty.results[n])
            .map(|d| {
                (0..names.len()).find(|&k| (0..3).all(|t| extent(shapes[t][n], d) == Some(trials[t][k])))
            })
            .collect();
        let Some(found) = found.filter(|f| !f.is_empty()) else { continue };
        let before = attrs.clone();
        attrs
            .set("ng.dims", Attr::Array(found.iter().map(|&k| Attr::from(names[k].name.as_str())).collect()));
        let ranges: Option<Vec<Attr>> = found.iter().map(|&k| names[k].range.clone()).collect();
        if let Some(ranges) = ranges {
            attrs.set("ng.dim_range", Attr::Array(ranges.into()));
        }
        changed += usize::from(*attrs != before);
    }
    if changed > 0 {
        function.attrs.set("res_attrs", Attr::Array(all.into_iter().map(Attr::Dict).collect()));
    }
    changed
}

fn is_dynamic(ty: Type) -> bool {
    dynamic_dims(ty).next().is_some()
}

fn dynamic_dims(ty: Type) -> impl Iterator<Item = usize> {
    let shape = ty.shape().unwrap_or(&[]);
    shape.iter().enumerate().filter(|(_, d)| **d == Dim::Dynamic).map(|(i, _)| i)
}

fn extent(ty: Type, dimension: usize) -> Option<usize> {
    ty.shape()?.get(dimension)?.known()
}

/// The names that a function gives the `?` dimensions of an argument: the dimension, the place in `ng.dims`, the name. They
/// are given for all dimensions or for the open ones; another number of them says nothing.
pub(crate) fn named_dims(function: &Function, n: usize, ty: Type) -> Vec<(usize, usize, &str)> {
    let given = function.argument_attr(n, "ng.dims").and_then(Attr::as_array).unwrap_or(&[]);
    let rank = ty.shape().map_or(0, |s| s.len());
    let dynamic: Vec<usize> = dynamic_dims(ty).collect();
    if given.len() != rank && given.len() != dynamic.len() {
        return Vec::new();
    }
    let open = given.iter().enumerate().map(|(k, name)| {
        let dimension = if given.len() == dynamic.len() { dynamic[k] } else { k };
        (dimension, k, name)
    });
    let open = open.filter(|(dimension, ..)| dynamic.contains(dimension));
    open.filter_map(|(dimension, k, name)| Some((dimension, k, name.as_str()?))).collect()
}

/// The names of an argument's `?` dimensions, as indices into `names`.
fn argument_names(function: &Function, n: usize, ty: Type, names: &mut Vec<Name>) -> BTreeMap<usize, usize> {
    let list = |attr: &str| function.argument_attr(n, attr).and_then(Attr::as_array).unwrap_or(&[]);
    let (given, ranges) = (list("ng.dims"), list("ng.dim_range"));
    let mut out = BTreeMap::new();
    for (dimension, k, name) in named_dims(function, n, ty) {
        let index = names.iter().position(|n| n.name == name).unwrap_or_else(|| {
            names.push(Name { name: name.into(), range: None });
            names.len() - 1
        });
        let range = if ranges.len() == given.len() { ranges.get(k).cloned() } else { None };
        names[index].range = names[index].range.take().or(range);
        out.insert(dimension, index);
    }
    out
}

/// Distinct extents for `n` names: large ones with many divisors, so that reshapes divide them, then small ones.
fn extents(n: usize, trial: usize) -> Vec<usize> {
    const DIVISORS: usize = 2 * 2 * 2 * 2 * 3 * 5;
    let primes = (0usize..).filter(|p| *p > 1 && (2..*p).take_while(|d| d * d <= *p).all(|d| p % d != 0));
    match trial {
        0 => primes.skip_while(|p| *p < 1009).take(n).map(|p| p * DIVISORS).collect(),
        1 => primes.skip_while(|p| *p < 2003).take(n).map(|p| p * DIVISORS).collect(),
        _ => primes.take(n).collect(),
    }
}

/// The function's result types when the names have these extents.
fn try_extents(
    function: &Function,
    arguments: &[BTreeMap<usize, usize>],
    extents: &[usize],
) -> Option<Vec<Type>> {
    let body = &function.body;
    let mut types: Vec<Type> =
        (0..body.num_values()).map(|i| body.ty(ngc_ir::Value::from_index(i))).collect();
    for (&value, named) in body.arguments(body.entry()?).iter().zip(arguments) {
        let Some(tensor) = body.ty(value).as_tensor() else { continue };
        let shape = tensor.shape.iter().enumerate();
        let shape: Vec<Dim> =
            shape.map(|(d, &old)| named.get(&d).map_or(old, |&k| Dim::Static(extents[k]))).collect();
        types[value.index()] = Type::tensor(shape, tensor.elem);
    }
    for op in definition_order(body) {
        let Some(def) = body.op(op).def else { continue };
        let operands: Vec<Type> = body.operands(op).iter().map(|v| types[v.index()]).collect();
        match def.syntax {
            Syntax::Return => return Some(operands),
            Syntax::Call | Syntax::Func | Syntax::Module => continue,
            _ => {}
        }
        // An op that does not take these extents keeps its `?`, and nothing is named after it.
        if let Ok(inferred) = (Signature { def, operands: &operands, attrs: &body.op(op).attrs }).infer() {
            for (value, inferred) in body.results(op).zip(inferred) {
                types[value.index()] = inferred;
            }
        }
    }
    None
}

fn result_attrs(function: &Function, n: usize) -> AttrDict {
    match function.attrs.get("res_attrs").and_then(Attr::as_array).and_then(|a| a.get(n)) {
        Some(Attr::Dict(dict)) => dict.clone(),
        _ => AttrDict::EMPTY,
    }
}
