//! Operators that work in place, as the functions of values that they are.
//!
//! A program that was not decomposed may change a tensor: `x += 1`, `relu(inplace=True)`. What is read from then on is another
//! value, and what was a view before of the same elements has changed with it. Each such operator becomes the one without the
//! underscore, and later names of the tensor become the name of its result. Refused is what asks for a tensor whose elements
//! were changed under another name, for that is no function of the values so far, what changes an input, and what works in
//! place and is not read: an effect must not get lost because nobody asks for the result by its name.

use std::collections::{HashMap, HashSet};

use super::super::schema::{Argument, ExportedProgram, InputSpec, Named, Node, OptionalTensor, OutputSpec};
use super::{OPERATORS, alias, location};
use crate::error::{Result, unsupported};

/// Operators whose results share no elements with their operands, each with its aliases; of all others they may.
const FRESH: &str = "
    _adaptive_avg_pool2d _log_softmax _native_batch_norm_legit_no_training _softmax _to_copy abs acos acosh
    adaptive_avg_pool1d adaptive_avg_pool2d add addbmm addcdiv addcmul addmm amax amin arange asin asinh atan atan2
    atanh avg_pool1d avg_pool2d baddbmm batch_norm bmm cat ceil clamp clamp_max clamp_min clone conv1d conv2d conv3d
    conv_transpose1d conv_transpose2d convolution cos cosh cumsum div elu embedding empty_like eq erf erfc exp exp2
    expm1 floor full full_like gather ge gelu group_norm gt hardsigmoid hardswish hardtanh index_select
    instance_norm layer_norm le leaky_relu lerp lift_fresh_copy linear log log10 log1p log2 log_sigmoid log_softmax
    logical_and logical_not logical_or logsumexp lt masked_fill matmul max_pool1d max_pool2d maximum mean minimum
    mish mm mul mv native_layer_norm ne neg new_full new_ones new_zeros ones ones_like pow prelu reciprocal relu
    relu6 repeat rms_norm rsqrt rsub scalar_tensor selu sigmoid sign silu sin sinh softmax softplus sqrt square
    stack sub sum tan tanh tril triu upsample_bilinear2d upsample_nearest2d var where zeros zeros_like
";

/// Operators that call their tensor `self` where they work in place, and `input` where they do not.
const OF_INPUT: &[&str] = &["dropout"];

/// What is known of the tensors of a program at a node.
#[derive(Default)]
struct Tensors {
    /// The tensor that a name stands for.
    of: HashMap<String, usize>,
    /// By tensor, the elements that it is a view of.
    elements: Vec<usize>,
    /// By tensor, the name of its last value where that is another one.
    last: HashMap<usize, String>,
    /// Tensors whose elements were changed under another name.
    stale: HashSet<usize>,
    /// Elements that a call would leave changed.
    given: HashSet<usize>,
    /// Those of buffers, which may change where nothing else reads them.
    buffers: HashSet<usize>,
    /// Elements that were read otherwise than to be changed.
    asked: HashSet<usize>,
}

/// Replaces the operators that work in place.
pub(super) fn replace(program: &mut ExportedProgram) -> Result<()> {
    let graph = &mut program.graph_module.graph;
    if !graph.nodes.iter().any(|node| works_in_place(&node.target)) {
        return Ok(());
    }
    let mut tensors = Tensors::default();
    for spec in &program.graph_module.signature.input_specs {
        let name = match spec {
            InputSpec::UserInput(input) => match &input.arg {
                Argument::AsTensor(tensor) => tensor,
                _ => continue,
            },
            InputSpec::Parameter { arg, .. }
            | InputSpec::Buffer { arg, .. }
            | InputSpec::TensorConstant { arg, .. } => arg,
            _ => continue,
        };
        let tensor = tensors.define(&name.name, None);
        tensors.given.insert(tensor);
        if let InputSpec::Buffer { .. } = spec {
            tensors.buffers.insert(tensor);
        }
    }
    for (index, node) in graph.nodes.iter_mut().enumerate() {
        let name = node.name.as_deref().unwrap_or("").escape_debug();
        let target = node.target.strip_prefix("torch.ops.").unwrap_or(&node.target).escape_debug();
        let place = format!("node {index} '{name}' ({target})");
        tensors.node(node).map_err(|e| e.within(place))?;
    }
    for spec in &mut program.graph_module.signature.output_specs {
        if let OutputSpec::UserOutput(output) = spec {
            each(&mut output.arg, &mut |name| tensors.read(name))?;
        }
    }
    Ok(())
}

impl Tensors {
    fn define(&mut self, name: &str, elements: Option<usize>) -> usize {
        let tensor = self.elements.len();
        self.elements.push(elements.unwrap_or(tensor));
        self.of.insert(name.to_string(), tensor);
        tensor
    }

    /// Gives a name that is read its last value.
    fn read(&self, name: &mut Named) -> Result<()> {
        let Some(tensor) = self.of.get(&name.name) else { return Ok(()) };
        if self.stale.contains(tensor) {
            return unsupported(format!(
                "'{}' was changed in place under another name, or as a part of another tensor; export with \
                 .run_decompositions({{}})",
                name.name.escape_debug()
            ));
        }
        if let Some(last) = self.last.get(tensor) {
            name.name.clone_from(last);
        }
        Ok(())
    }

    fn node(&mut self, node: &mut Node) -> Result<()> {
        let in_place = works_in_place(&node.target);
        let changed = match (in_place, function_of(&node.target), node.inputs.first().map(|x| &x.arg)) {
            (false, ..) => None,
            (true, None, _) => return unsupported("this operator is not read, and works in place"),
            (true, Some(target), Some(Argument::AsTensor(own))) => {
                Some((target, self.of.get(&own.name).copied()))
            }
            (true, ..) => return unsupported("an operator that works in place on no tensor"),
        };
        let (mut shared, mut asked) = (Vec::new(), Vec::new());
        for (n, input) in node.inputs.iter_mut().enumerate() {
            each(&mut input.arg, &mut |name| {
                let elements = self.of.get(&name.name).map(|&tensor| self.elements[tensor]);
                shared.extend(elements);
                asked.extend(elements.filter(|_| !in_place || n > 0));
                self.read(name)
            })?;
        }
        self.asked.extend(asked);
        let mut results = Vec::new();
        for output in &mut node.outputs {
            each(output, &mut |name| {
                results.push(name.name.clone());
                Ok(())
            })?;
        }
        if let Some((target, tensor)) = changed {
            let (Some(tensor), [result]) = (tensor, &results[..]) else {
                return unsupported("an operator that works in place on what is no tensor of the program");
            };
            let elements = self.elements[tensor];
            let unread = self.buffers.contains(&elements) && !self.asked.contains(&elements);
            if unread {
                // Nothing may read it later; so the operator is left, and left out.
                self.stale.extend((0..self.elements.len()).filter(|&n| self.elements[n] == elements));
                self.of.insert(result.clone(), tensor);
                return Ok(());
            }
            if self.given.contains(&elements) {
                let from = location::source(node);
                let from = from.map_or_else(String::new, |(file, line)| format!(" at {file}:{line}"));
                return unsupported(format!("it changes an input of the program in place{from}"));
            }
            if OF_INPUT.iter().any(|name| target.contains(&format!(".{name}."))) {
                node.inputs[0].name = "input".into();
            }
            node.target = target;
            let others = (0..self.elements.len()).filter(|&n| n != tensor && self.elements[n] == elements);
            self.stale.extend(others);
            self.last.insert(tensor, result.clone());
            self.of.insert(result.clone(), tensor);
            return Ok(());
        }
        if is_fresh(&node.target) {
            shared.clear();
        }
        // What may be a view of several tensors makes them one.
        shared.sort_unstable();
        shared.dedup();
        if let Some((&first, others)) = shared.split_first() {
            self.elements.iter_mut().filter(|own| others.contains(own)).for_each(|own| *own = first);
            if others.iter().any(|other| self.given.contains(other)) {
                self.given.insert(first);
                self.buffers.remove(&first);
            }
            if others.iter().any(|other| self.asked.contains(other)) {
                self.asked.insert(first);
            }
        }
        for result in results {
            self.define(&result, shared.first().copied());
        }
        Ok(())
    }
}

/// Whether an operator changes an operand: its name ends in an underscore, or the overload takes its result as an operand.
fn works_in_place(target: &str) -> bool {
    let Some((operator, overload)) = operator(target) else { return false };
    let name = operator.ends_with('_') && !operator.ends_with("__") && !is_read(operator);
    name || overload == "out" || overload.ends_with("_out")
}

/// The operator without the underscore, where that is read.
fn function_of(target: &str) -> Option<String> {
    let (operator, overload) = operator(target)?;
    let own = operator.strip_suffix('_').filter(|own| is_read(own))?;
    Some(format!("torch.ops.aten.{own}.{overload}"))
}

/// The name of an operator and its overload.
fn operator(target: &str) -> Option<(&str, &str)> {
    target.strip_prefix("torch.ops.aten.")?.split_once('.')
}

fn is_read(operator: &str) -> bool {
    OPERATORS.contains_key(alias::canonical(operator))
}

fn is_fresh(target: &str) -> bool {
    let canonical = operator(target).map(|(operator, _)| alias::canonical(operator));
    canonical.is_some_and(|own| FRESH.split_whitespace().any(|name| name == own))
}

/// The names of tensors in an argument.
fn each(argument: &mut Argument, of: &mut dyn FnMut(&mut Named) -> Result<()>) -> Result<()> {
    match argument {
        Argument::AsTensor(name) => of(name),
        Argument::AsTensors(list) => list.iter_mut().try_for_each(of),
        Argument::AsOptionalTensor(OptionalTensor::AsTensor(name)) => of(name),
        Argument::AsOptionalTensors(list) => list.iter_mut().try_for_each(|each| match each {
            OptionalTensor::AsTensor(name) => of(name),
            OptionalTensor::AsNone(_) => Ok(()),
        }),
        _ => Ok(()),
    }
}
