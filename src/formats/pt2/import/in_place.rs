//! Operators that work in place, as the functions of values that they are.
//!
//! A program that was not decomposed may change a tensor: `x += 1`, `relu(inplace=True)`, `x[:, 0] = 1`. What is read from then
//! on is another value. Each such operator becomes the one without the underscore, and later names of the tensor become the
//! name of its result. What the tensor is a view of becomes what it was with the result put into its place ([`super::views`]),
//! and other views of that are taken again where they are read. What an input, a buffer or a parameter becomes is told as the state that a
//! call changes ([`super::state`]). Refused is what asks for a tensor that may share elements with what was changed, and it is not known
//! which; and what works in place and is not read: an effect must not get lost because nobody asks for the result by its name.

use std::collections::{HashMap, HashSet};

use super::super::schema::{Argument, ExportedProgram, InputSpec, Named, Node, OutputSpec, TensorMeta};
use super::{OPERATORS, alias, views};
use crate::error::{Result, unsupported};

/// Operators whose results share no elements with their operands, each with its aliases; of all others they may.
const FRESH: &str = "
    _adaptive_avg_pool2d _log_softmax _native_batch_norm_legit_no_training _softmax _to_copy abs acos acosh
    adaptive_avg_pool1d adaptive_avg_pool2d add addbmm addcdiv addcmul addmm amax amin angle arange asin asinh atan
    atan2 atanh avg_pool1d avg_pool2d baddbmm batch_norm bmm cat ceil clamp clamp_max clamp_min clone complex conv1d
    conv2d conv3d conv_transpose1d conv_transpose2d convolution cos cosh cumsum div elu embedding empty_like eq erf
    erfc exp exp2 expm1 fft_fft fft_fft2 fft_fftn fft_hfft fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_irfft
    fft_irfft2 fft_irfftn fft_rfft fft_rfft2 fft_rfftn floor full full_like gather ge gelu group_norm gt hardsigmoid
    hardswish hardtanh index_select instance_norm istft layer_norm le leaky_relu lerp lift_fresh_copy linear log
    log10 log1p log2 log_sigmoid log_softmax logical_and logical_not logical_or logsumexp lt masked_fill matmul
    max_pool1d max_pool2d maximum mean minimum mish mm mul mv native_layer_norm ne neg new_full new_ones new_zeros
    ones ones_like polar pow prelu reciprocal relu relu6 repeat rms_norm rsqrt rsub scalar_tensor selu sigmoid sign
    silu sin sinh softmax softplus sqrt square stack stft sub sum tan tanh tril triu upsample_bilinear2d
    upsample_nearest2d var where zeros zeros_like
";

/// Operators that call their tensor `self` where they work in place, and `input` where they do not.
const OF_INPUT: &[&str] = &["dropout"];

/// What is known of a tensor at a node.
struct Tensor {
    /// Its first name.
    name: String,
    /// The name of its value, which may be one of later.
    value: String,
    state: State,
    /// The elements that it may share with others.
    elements: usize,
    /// The tensor that it is a part or another order of, and the operator that says which.
    view: Option<(usize, Node)>,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// The value that has a name is what it is.
    Current,
    /// Elements were changed under another name: it is to be taken again from what it is a view of.
    Behind,
    /// Elements may have been changed under another name, and it is not known which.
    Lost,
}

/// A program while operators that work in place are replaced.
struct Program<'a> {
    values: &'a mut HashMap<String, TensorMeta>,
    /// The operators so far.
    nodes: Vec<Node>,
    tensors: Vec<Tensor>,
    /// The tensor that a name stands for.
    of: HashMap<String, usize>,
    /// Elements that were read otherwise than to be changed.
    asked: HashSet<usize>,
}

/// Replaces the operators that work in place.
pub(super) fn replace(program: &mut ExportedProgram) -> Result<()> {
    let graph = &mut program.graph_module.graph;
    if !graph.nodes.iter().any(|node| works_in_place(&node.target)) {
        return Ok(());
    }
    let given = std::mem::take(&mut graph.nodes);
    let mut own = Program {
        values: &mut graph.tensor_values,
        nodes: Vec::with_capacity(given.len()),
        tensors: Vec::new(),
        of: HashMap::new(),
        asked: HashSet::new(),
    };
    let mut given_tensors = Vec::new();
    for spec in &program.graph_module.signature.input_specs {
        let name = match spec {
            InputSpec::UserInput(input) => match &input.arg {
                Argument::AsTensor(tensor) => &tensor.name,
                _ => continue,
            },
            _ => match spec.stored() {
                Some(name) => name,
                None => continue,
            },
        };
        given_tensors.push((own.define(name, None, None), spec));
    }
    for (index, node) in given.into_iter().enumerate() {
        let name = node.name.as_deref().unwrap_or("").escape_debug();
        let target = node.target.strip_prefix("torch.ops.").unwrap_or(&node.target).escape_debug();
        let place = format!("node {index} '{name}' ({target})");
        own.node(node).map_err(|e| e.within(place))?;
    }
    for spec in &mut program.graph_module.signature.output_specs {
        for name in spec.names_mut() {
            own.read(name)?;
        }
    }
    let mut changed = Vec::new();
    for (tensor, spec) in given_tensors {
        changed.extend(own.left_changed(tensor, spec)?);
    }
    graph.nodes = own.nodes;
    program.graph_module.signature.output_specs.extend(changed);
    Ok(())
}

impl Program<'_> {
    fn define(&mut self, name: &str, elements: Option<usize>, view: Option<(usize, Node)>) -> usize {
        let tensor = self.tensors.len();
        self.tensors.push(Tensor {
            name: name.to_string(),
            value: name.to_string(),
            state: State::Current,
            elements: elements.unwrap_or(tensor),
            view,
        });
        self.of.insert(name.to_string(), tensor);
        tensor
    }

    /// What a call leaves changed of a tensor that it is given.
    fn left_changed(&self, tensor: usize, spec: &InputSpec) -> Result<Option<OutputSpec>> {
        let Tensor { name, value, state, elements, .. } = &self.tensors[tensor];
        let is_buffer = matches!(spec, InputSpec::Buffer { .. });
        if *state != State::Current {
            // What nobody reads may be lost.
            return match is_buffer && !self.asked.contains(elements) {
                true => Ok(None),
                false => unsupported(format!(
                    "it changes '{}' in place under another name, or as a part of another tensor; export with \
                     .run_decompositions({{}})",
                    name.escape_debug()
                )),
            };
        }
        if value == name {
            return Ok(None);
        }
        let arg = Named { name: value.clone() };
        Ok(Some(match spec {
            InputSpec::Buffer { buffer_name, .. } => {
                OutputSpec::BufferMutation { arg, buffer_name: buffer_name.clone() }
            }
            InputSpec::Parameter { parameter_name, .. } => {
                OutputSpec::ParameterMutation { arg, parameter_name: parameter_name.clone() }
            }
            // A constant that is changed is state like a buffer.
            InputSpec::TensorConstant { tensor_constant_name, .. } => {
                OutputSpec::BufferMutation { arg, buffer_name: tensor_constant_name.clone() }
            }
            InputSpec::UserInput(_) => OutputSpec::UserInputMutation { arg, user_input_name: name.clone() },
            _ => return Ok(None),
        }))
    }

    /// Gives a name that is read its last value.
    fn read(&mut self, name: &mut String) -> Result<()> {
        if let Some(&tensor) = self.of.get(name) {
            *name = self.value(tensor)?;
        }
        Ok(())
    }

    /// The name of a tensor's value, which is taken again where it is behind.
    fn value(&mut self, tensor: usize) -> Result<String> {
        let own = &self.tensors[tensor];
        match (own.state, own.view.clone()) {
            (State::Current, _) => {}
            (State::Behind, Some((whole, mut node))) => {
                node.inputs[0].arg = Argument::AsTensor(Named { name: self.value(whole)? });
                self.add(tensor, node);
            }
            _ => {
                return unsupported(format!(
                    "'{}' was changed in place under another name, or as a part of another tensor; export with \
                     .run_decompositions({{}})",
                    own.name.escape_debug()
                ));
            }
        }
        Ok(self.tensors[tensor].value.clone())
    }

    /// Adds an operator whose result is the value of a tensor from now on.
    fn add(&mut self, tensor: usize, mut node: Node) {
        let own = &self.tensors[tensor].name;
        let names = (1..).map(|n| format!("{own}_{n}"));
        let free = |name: &String| !self.values.contains_key(name);
        let Some(name) = { names }.find(free) else { return };
        if let Some(meta) = self.values.get(own).cloned() {
            self.values.insert(name.clone(), meta);
        }
        node.outputs = vec![Argument::AsTensor(Named { name: name.clone() })];
        self.nodes.push(node);
        self.set(tensor, name);
    }

    fn set(&mut self, tensor: usize, value: String) {
        self.of.insert(value.clone(), tensor);
        let own = &mut self.tensors[tensor];
        (own.value, own.state) = (value, State::Current);
    }

    fn node(&mut self, mut node: Node) -> Result<()> {
        let in_place = works_in_place(&node.target);
        let first = node.inputs.first().and_then(|input| match &input.arg {
            Argument::AsTensor(own) => Some(self.of.get(&own.name).copied()),
            _ => None,
        });
        let changed = match (in_place, function_of(&node.target), first) {
            (false, ..) => None,
            (true, None, _) => return unsupported("this operator is not read, and works in place"),
            (true, Some(target), Some(tensor)) => Some((target, tensor)),
            (true, ..) => return unsupported("an operator that works in place on no tensor"),
        };
        let (mut shared, mut asked) = (Vec::new(), Vec::new());
        for (n, input) in node.inputs.iter_mut().enumerate() {
            for name in input.arg.names_mut() {
                let elements = self.of.get(name).map(|&tensor| self.tensors[tensor].elements);
                shared.extend(elements);
                asked.extend(elements.filter(|_| !in_place || n > 0));
                self.read(name)?;
            }
        }
        self.asked.extend(asked);
        let results = node.outputs.iter().flat_map(Argument::names).map(str::to_string);
        let results: Vec<String> = results.collect();
        if let Some((target, tensor)) = changed {
            let (Some(tensor), [result]) = (tensor, &results[..]) else {
                return unsupported("an operator that works in place on what is no tensor of the program");
            };
            return self.change(tensor, node, target, result);
        }
        if is_fresh(&node.target) {
            shared.clear();
        }
        // What may be a view of several tensors makes them one.
        shared.sort_unstable();
        shared.dedup();
        if let Some((&first, others)) = shared.split_first() {
            let joined = self.tensors.iter_mut().filter(|own| others.contains(&own.elements));
            joined.for_each(|own| own.elements = first);
            if others.iter().any(|other| self.asked.contains(other)) {
                self.asked.insert(first);
            }
        }
        for (n, result) in results.iter().enumerate() {
            let taken = |whole: usize| {
                let meta = self.values.get(&self.tensors[whole].name)?;
                Some((whole, views::taken_by(&node, n, meta)?))
            };
            let view = first.flatten().and_then(taken);
            self.define(result, shared.first().copied(), view);
        }
        self.nodes.push(node);
        Ok(())
    }

    /// What a tensor is after an operator that works in place, and with it what it is a view of, and what shares its elements.
    fn change(&mut self, tensor: usize, mut node: Node, target: String, result: &str) -> Result<()> {
        let elements = self.tensors[tensor].elements;
        if OF_INPUT.iter().any(|name| target.contains(&format!(".{name}."))) {
            node.inputs[0].name = "input".into();
        }
        node.target = target;
        let metadata = node.metadata.clone();
        self.nodes.push(node);
        self.set(tensor, result.to_string());
        let (mut changed, mut last) = (vec![tensor], tensor);
        while let Some((whole, view)) = self.tensors[last].view.clone() {
            // What was lost before stays so.
            let Ok(value) = self.value(whole) else { break };
            let part = self.tensors[last].value.clone();
            let Some(mut put) = views::put(&view, value, part) else { break };
            put.metadata = metadata.clone();
            self.add(whole, put);
            changed.push(whole);
            last = whole;
        }
        for other in 0..self.tensors.len() {
            if self.tensors[other].elements == elements && !changed.contains(&other) {
                let whole = |n: &usize| self.tensors[*n].view.as_ref().map(|(whole, _)| *whole);
                let is_view = std::iter::successors(Some(other), whole).any(|n| changed.contains(&n));
                let own = &mut self.tensors[other];
                own.state = if is_view && own.state != State::Lost { State::Behind } else { State::Lost };
            }
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
pub(super) fn operator(target: &str) -> Option<(&str, &str)> {
    target.strip_prefix("torch.ops.aten.")?.split_once('.')
}

fn is_read(operator: &str) -> bool {
    OPERATORS.contains_key(alias::canonical(operator))
}

fn is_fresh(target: &str) -> bool {
    let canonical = operator(target).map(|(operator, _)| alias::canonical(operator));
    canonical.is_some_and(|own| FRESH.split_whitespace().any(|name| name == own))
}
